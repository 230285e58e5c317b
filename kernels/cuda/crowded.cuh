// Columns renumbered by how often they stand in a matrix, so that what is read most often lies together, and stays in a cache.
namespace vxm {

// How often each column stands there, below u32's greatest: what is most frequent ranks first.
struct CountColumns {
    const u32* columns;
    u64 entries;
    u32* counts; // the greatest u32 at first
    VXM_FN void run() const {
        each_thread(entries, [&](u64 p) { atomicSub(counts + columns[p], 1); });
    }
};

// The columns under their new numbers, and how many of them are below `near`.
struct Renumber {
    const u32* columns;
    u64 entries;
    const u32* ranks;
    u32* renumbered;
    u64 near;
    u64* count;
    VXM_FN void run() const {
        u32 held = 0;
        each_loaded(
            entries, [&](u64 p) { return ranks[columns[p]]; },
            [&](u64 p, u32 rank) {
                renumbered[p] = rank;
                held += rank < near;
            });
        held = __reduce_add_sync(~0u, held);
        if (lane() == 0) atomicAdd(count, (u64)held);
    }
};

// The columns in the order of their new numbers.
struct Invert {
    const u32* ranks;
    u64 count;
    u32* order;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) { order[ranks[i]] = (u32)i; });
    }
};

} // namespace vxm
