// Push: each element of the vector is multiplied with the entries of its row, and products are folded into the target by compare-and-swap,
// in any order. So the monoid must be exact and commutative. Threads take equal numbers of products, however long the rows are.
namespace vxm {

// Where products are folded, one word a position: the element's bits, and the word's highest bit if there is an element.
template <class T, class W> struct PushTarget {
    typedef T Elem;
    static const bool full = false;
    W* words;
    static VXM_FN W present_bit() { return (W)1 << (8 * sizeof(W) - 1); }
    template <class G> VXM_FN bool at(G, u32 i, T& x) const {
        const W word = words[i];
        x = element<T>(word);
        return (word & present_bit()) != 0;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
    template <class Add> VXM_FN void accumulate(u32 j, T x) const {
        W held = *(volatile W*)(words + j);
        for (;;) {
            const T sum = held & present_bit() ? Add::call(element<T>(held), x) : x;
            const W joined = (W)word_of(sum) | present_bit();
            if (joined == held) return;
            const W seen = atomicCAS(words + j, held, joined);
            if (seen == held) return;
            held = seen;
        }
    }
};

// The same for 8-byte elements. They start as the monoid's identity, and a bitmap says which positions a product has reached.
template <class T> struct PushTargetWide {
    u64* words;
    u32* bits;
    template <class Add> VXM_FN void accumulate(u32 j, T x) const {
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

// The same for patterns: a bitmap.
struct PushTargetPattern {
    u32* bits;
    template <class Add> VXM_FN void accumulate(u32 j, vxm_unit) const {
        const u32 mark = 1u << (j & 31);
        if (!(*(volatile u32*)(bits + (j >> 5)) & mark)) atomicOr(bits + (j >> 5), mark);
    }
};

// Pushes the listed elements; all, if `list` is null. `sums` are the running sums of their rows' lengths.
template <class V, class A, class Ring, class Target> struct Push {
    typedef typename Ring::Result T;
    typedef typename Ring::Multiply Mul;
    typedef typename Ring::Monoid Add;
    const u32* list;
    u64 count;
    const u64* sums;
    const u64* offsets;
    const u32* columns;
    const A* weights;
    Target target;
    V operand;
    VXM_FN void run() const {
        each_place(sums, count, [&](u64 q, u64 k) {
            const u32 i = list ? list[k] : (u32)k;
            typename V::Elem x;
            if (!operand.at(Thread(), i, x)) return;
            const u64 p = offsets[i] + (q - sums[k]);
            const T product = Mul::call(x, weight_at(weights, p));
            target.template accumulate<Add>(columns[p], product);
        });
    }
};

} // namespace vxm
