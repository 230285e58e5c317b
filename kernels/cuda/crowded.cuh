// The columns that stand most often in a matrix, renumbered, so that what is read most often lies together, and stays in a cache. Others
// come after them, as they lie.
namespace vxm {

// A vector's elements under such numbers: `count` of them lie together.
template <class V, class W> struct Nearby {
    typedef typename V::Elem Elem;
    static const bool full = V::full && W::full;
    V near;
    W far;
    u64 count;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        return i < (u32)count ? near.at(g, i, x) : far.at(g, i - (u32)count, x);
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class T> struct Nearby<Stored<T, true>, Stored<T, true>> {
    typedef T Elem;
    static const bool full = true;
    Stored<T, true> near, far;
    u64 count;
    // one load, wherever it is
    template <class G> VXM_FN bool at(G, u32 i, T& x) const {
        x = *(i < (u32)count ? near.values + i : far.values + (i - (u32)count));
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// How often each column stands there, below u32's greatest: what is most frequent ranks first.
struct CountColumns {
    const u32* columns;
    u64 entries;
    u32* counts; // the greatest u32 at first
    VXM_FN void run() const {
        each_thread(entries, [&](u64 p) { atomicSub(counts + columns[p], 1); });
    }
};

// The columns under their new numbers, and how many entries stand in the `near` most frequent ones.
struct Renumber {
    const u32* columns;
    u64 entries;
    const u32* ranks;
    u32* renumbered;
    u64 near;
    u64* count;
    VXM_FN void run() const {
        u32 held = 0;
        each_thread(entries, [&](u64 p) {
            const u32 column = columns[p], rank = ranks[column];
            renumbered[p] = rank < near ? rank : (u32)near + column;
            held += rank < near;
        });
        atomicAdd(count, (u64)held);
    }
};

// The `near` most frequent columns, in the order of their new numbers.
struct Invert {
    const u32* ranks;
    u64 count;
    u32* order;
    u64 near;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) {
            if (ranks[i] < near) order[ranks[i]] = (u32)i;
        });
    }
};

} // namespace vxm
