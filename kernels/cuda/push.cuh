// Push: each element of a vector is sent along its row, and products are folded where they land, in whatever order they come. So it
// is for monoids that are exact and commute. Products are shared out evenly, however long the rows are.
namespace vxm {

// What landed at each place, in one word: an element's bits, and the highest bit where there is one.
template <class T, class W> struct Landed {
    typedef T Elem;
    static const bool full = false;
    W* words;
    static VXM_FN W there() { return (W)1 << (8 * sizeof(W) - 1); }
    template <class G> VXM_FN bool at(G, u32 i, T& x) const {
        const W word = words[i];
        x = element<T>(word);
        return (word & there()) != 0;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
    template <class Add> VXM_FN void land(u32 j, T x) const {
        W held = *(volatile W*)(words + j);
        for (;;) {
            const T sum = held & there() ? Add::call(element<T>(held), x) : x;
            const W joined = (W)word_of(sum) | there();
            if (joined == held) return;
            const W seen = atomicCAS(words + j, held, joined);
            if (seen == held) return;
            held = seen;
        }
    }
};

// Of 8 bytes: elements that began as the monoid's identity, and bits that say where something landed.
template <class T> struct LandedWide {
    u64* words;
    u32* bits;
    template <class Add> VXM_FN void land(u32 j, T x) const {
        u64 held = *(volatile u64*)(words + j);
        for (;;) {
            const u64 joined = word_of<T>(Add::call(element<T>(held), x));
            if (joined == held) break;
            const u64 seen = atomicCAS(words + j, held, joined);
            if (seen == held) break;
            held = seen;
        }
        const u32 mark = 1u << (j & 31);
        if (!(*(volatile u32*)(bits + (j >> 5)) & mark)) atomicOr(bits + (j >> 5), mark);
    }
};

// Of a pattern: bits alone.
struct LandedBits {
    u32* bits;
    template <class Add> VXM_FN void land(u32 j, vxm_unit) const {
        const u32 mark = 1u << (j & 31);
        if (!(*(volatile u32*)(bits + (j >> 5)) & mark)) atomicOr(bits + (j >> 5), mark);
    }
};

// Sources are listed, or all; `sums` are the running sums of their rows' lengths.
template <class V, class A, class T, class Mul, class Add, class L> struct Push {
    const u32* list;
    u64 count;
    const u64* sums;
    const u64* offsets;
    const u32* columns;
    const A* weights;
    L landing;
    V operand;
    VXM_FN void run() const {
        each_place(sums, count, [&](u64 q, u64 k) {
            const u32 i = list ? list[k] : (u32)k;
            typename V::Elem x;
            if (!operand.at(Thread(), i, x)) return;
            const u64 p = offsets[i] + (q - sums[k]);
            const T product = Mul::call(x, weight_at(weights, p));
            landing.template land<Add>(columns[p], product);
        });
    }
};

} // namespace vxm
