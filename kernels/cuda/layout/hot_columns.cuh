// Columns renumbered by frequency, so that the most frequently read vector elements lie together and stay cached.
namespace vxm {

// Subtracts the number of occurrences of each column from `counts`. Ascending order of `counts` then begins with the most frequent column.
struct CountColumns {
    const u32* columns;
    u64 entries;
    u32* counts; // all ones before
    VXM_FN void run() const {
        each_thread(entries, [&](u64 p) { atomicSub(counts + columns[p], 1); });
    }
};

// Renumbers the entries' columns, and adds to `count` how many of the new numbers are below `bound`.
struct Renumber {
    const u32* columns;
    u64 entries;
    const u32* ranks;
    u32* renumbered;
    u64 bound;
    u64* count;
    VXM_FN void run() const {
        u32 below = 0;
        each_loaded(
            entries, [&](u64 p) { return ranks[columns[p]]; },
            [&](u64 p, u32 rank) {
                renumbered[p] = rank;
                below += rank < bound;
            });
        below = __reduce_add_sync(~0u, below);
        if (lane() == 0) atomicAdd(count, (u64)below);
    }
};

// The inverse of a renumbering: order[ranks[i]] = i.
struct Invert {
    const u32* ranks;
    u64 count;
    u32* order;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) { order[ranks[i]] = (u32)i; });
    }
};

} // namespace vxm
