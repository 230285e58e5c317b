// What runs a view: a fresh vector, a write through a mask, a reduction. A kernel is one of these with its view as a type.
namespace vxm {

// Which indices a kernel goes through, and where to: a list (the rows of one class), or 0 .. count where it is null.
struct Range {
    const u32* list;
    u64 count;
    VXM_FN u32 index(u64 k) const { return list ? list[k] : (u32)k; }
};
template <class T> struct Out {
    T* values;
    u32* bits;
    VXM_FN void put(u32 i, T x) const { values[i] = x; }
};
template <> VXM_FN void Out<vxm_unit>::put(u32, vxm_unit) const {}

// Whether there is an element at i.
VXM_FN void put_bit(u32* bits, u32 i, bool present) {
    if (present) atomicOr(bits + (i >> 5), 1u << (i & 31));
    else atomicAnd(bits + (i >> 5), ~(1u << (i & 31)));
}

// Calls `kernel.step(group, i)` for each index: whether there is an element then. One thread an index. Without a list a warp owns a word of
// bits, and all words of 64 bits are written whole. `K::fresh` says that bits hold nothing before.
template <class G, class K> VXM_FN void each_alone(G g, const Range& range, u32* bits, const K& kernel) {
    // not by each_thread: in its lambda `present` is a register and no predicate, and this is where most time goes
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < (range.count + 63) / 64 * 64; k += step) {
        const bool inside = k < range.count;
        const u32 i = inside ? range.index(k) : 0;
        bool present = inside && kernel.step(g, i);
        if (!bits) continue;
        if (range.list) {
            if (inside) put_bit(bits, i, present);
        } else {
            const u32 word = __ballot_sync(~0u, present);
            if (lane() == 0) bits[k >> 5] = word;
        }
    }
}
template <class K> VXM_FN void each(Thread g, const Range& range, u32* bits, const K& kernel) { each_alone(g, range, bits, kernel); }
template <u32 most, class K> VXM_FN void each(Few<most> g, const Range& range, u32* bits, const K& kernel) {
    each_alone(g, range, bits, kernel);
}
template <u32 width> VXM_FN u64 first_of(Lanes<width>) { return ((u64)blockIdx.x * blockDim.x + threadIdx.x) / width; }
VXM_FN u64 first_of(Block) { return blockIdx.x; }
template <u32 width> VXM_FN u64 step_of(Lanes<width>) { return (u64)gridDim.x * blockDim.x / width; }
VXM_FN u64 step_of(Block) { return gridDim.x; }
// A few lanes, a warp or a block an index; words of bits are shared.
template <class G, class K> VXM_FN void each_sharing(G g, const Range& range, u32* bits, const K& kernel) {
    for (u64 k = first_of(g); k < range.count; k += step_of(g)) {
        const u32 i = range.index(k);
        bool present = kernel.step(g, i);
        if (bits && G::first()) put_bit(bits, i, present);
    }
}

// A few lanes an index, a warp a word of bits.
template <u32 width, class K> VXM_FN void each_word(Lanes<width> g, const Range& range, u32* bits, const K& kernel) {
    const u32 rows = 32 / width;
    for (u64 word = first_of(Warp()); word < (range.count + 63) / 64 * 2; word += step_of(Warp())) {
        u32 held = 0;
        for (u32 first = 0; first < 32; first += rows) {
            const u64 i = word * 32 + first + lane() / width;
            const u32 present = __ballot_sync(~0u, i < range.count && kernel.step(g, (u32)i));
#pragma unroll
            for (u32 r = 0; r < rows; r++) held |= (present >> r * width & 1) << first + r;
        }
        if (lane() == 0) bits[word] = held;
    }
}
template <u32 width, class K> VXM_FN void each(Lanes<width> g, const Range& range, u32* bits, const K& kernel) {
    if (width == 32 || range.list || !bits) each_sharing(g, range, bits, kernel);
    else each_word(g, range, bits, kernel);
}
template <class K> VXM_FN void each(Block g, const Range& range, u32* bits, const K& kernel) { each_sharing(g, range, bits, kernel); }

// A fresh vector.
template <class V> struct Eval {
    typedef typename V::Elem T;
    static const bool fresh = true;
    Range range;
    Out<T> out;
    V view;
    template <class G> VXM_FN void run(G g) const { each(g, range, out.bits, *this); }
    template <class G> VXM_FN bool step(G g, u32 i) const {
        T x;
        if (!view.at(g, i, x)) return false;
        if (g.first()) out.put(i, x);
        return true;
    }
};

// The new element, or its absence, takes the place; or an accumulator joins old and new.
struct Replace {
    template <class T> static VXM_FN bool merge(bool, T&, bool has_new, T y, T& out) {
        if (has_new) out = y;
        return has_new;
    }
};
template <class F> struct Accumulate {
    template <class T> static VXM_FN bool merge(bool had, T& x, bool has_new, T y, T& out) {
        if (has_new) out = had ? F::call(x, y) : y;
        else out = x;
        return had || has_new;
    }
};

// A write through a mask: `out` holds the old elements, and the new ones after.
template <class V, class Merge> struct Write {
    typedef typename V::Elem T;
    static const bool fresh = false;
    Range range;
    Out<T> out;
    u64 dense; // whether every place held an element; then there may be no bits to read
    V view;
    template <class G> VXM_FN void run(G g) const { each(g, range, out.bits, *this); }
    template <class G> VXM_FN bool step(G g, u32 i) const {
        const Stored<T> old = {out.values, dense ? nullptr : out.bits};
        T x, y, z;
        const bool had = old.at(g, i, x);
        if (!view.selects(g, i)) return had;
        const bool has_new = view.at(g, i, y);
        const bool has = Merge::merge(had, x, has_new, y, z);
        if (has && g.first()) out.put(i, z);
        return has;
    }
};

// A view whose elements are written as they are read.
template <class V> struct Written {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    V inner;
    Elem* values;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        const bool has = inner.at(g, i, x);
        if (has) Out<Elem>{values, nullptr}.put(i, x);
        return has;
    }
};

// A reduction: each warp folds segments of the fixed tree to one part, and the last block joins the parts in order, pairs first; where any
// order will do, each block makes one part of what its threads have folded, some elements at a time. `out`, the host's, is the answer's
// bits and whether there is one, or in one word its bits and above them whether there is none: it looks at the last four bytes. `arrived` is
// 0 before and after.
template <class V, class M> struct Reduce {
    typedef typename V::Elem T;
    u64 len;
    T* parts;
    u32* present; // a word a part
    u32* arrived;
    u64* out;
    V view;
    static const bool any_order = M::exact && M::commutative;
    VXM_FN void run() const {
        if constexpr (any_order) put(blockIdx.x, join_warps<M>(join_lanes<Warp, M>(share())));
        else fold_segments();
        if (last_block(arrived)) join_parts();
    }
    // What this thread has of all.
    VXM_FN Maybe<T> share() const {
        const u32 flight = 4;
        const u64 step = (u64)gridDim.x * blockDim.x;
        Maybe<T> sum = nothing<T>();
        for (u64 p = (u64)blockIdx.x * blockDim.x + threadIdx.x; p < len; p += flight * step) {
            Maybe<T> x[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                x[k] = nothing<T>();
                if (p + k * step < len) x[k].present = view.at(Thread(), (u32)(p + k * step), x[k].value);
            }
#pragma unroll
            for (u32 k = 0; k < flight; k++) sum = join<M>(sum, x[k]);
        }
        return sum;
    }
    // Writes a part, by a thread.
    VXM_FN void put(u64 at, Maybe<T> part) const {
        if (threadIdx.x % 32 > 0 || (any_order && threadIdx.x > 0)) return;
        const Out<T> out = {parts, nullptr};
        out.put((u32)at, part.value);
        present[at] = part.present;
    }
    VXM_FN void fold_segments() const {
        for (u64 s = first_of(Warp()); s * SEGMENT < len; s += step_of(Warp())) {
            const u64 begin = s * SEGMENT, end = begin + SEGMENT < len ? begin + SEGMENT : len;
            const auto item = [&](u64 p) {
                Maybe<T> x = nothing<T>();
                x.present = view.at(Thread(), (u32)p, x.value);
                return x;
            };
            const auto items = computed(item);
            Maybe<T> part;
            if constexpr (M::exact) part = fold_by_lanes<Warp, M, T>(end - begin, items.from(begin), Unstopped());
            else part = segment<M, T>((u32)(end - begin), items.from(begin));
            put(s, part);
        }
    }
    VXM_FN void join_parts() const {
        const Stored<T> stored = {parts, nullptr};
        const u64 count = any_order ? gridDim.x : (len + SEGMENT - 1) / SEGMENT;
        Pairs<M, T> pairs;
        // four neighbours a thread
        for (u64 first = 0; first < count; first += 4 * blockDim.x) {
            Maybe<T> x[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const u64 p = first + 4 * threadIdx.x + k;
                x[k] = nothing<T>();
                // both are on their way before it is known whether there is one
                if (p < count) x[k].present = stored.at(Thread(), (u32)p, x[k].value) & (present[p] != 0);
            }
            const Maybe<T> four = join<M>(join<M>(x[0], x[1]), join<M>(x[2], x[3]));
            pairs.add(join_warps<M>(join_lanes<Warp, M>(four)));
        }
        const Maybe<T> sum = pairs.total();
        if (threadIdx.x > 0) return;
        u64 bits = 0;
        memcpy(&bits, &sum.value, sizeof(T));
        // at once, if it can be: a fence waits for the host's memory
        if constexpr (sizeof(T) <= 4) {
            *(volatile u64*)out = (u64)!sum.present << 32 | bits;
        } else {
            *(volatile u64*)out = bits;
            __threadfence_system();
            *(volatile u64*)(out + 1) = sum.present;
        }
    }
};

// w[indices[k]] = u[k]; no index stands twice.
template <class V> struct Scatter {
    typedef typename V::Elem T;
    const u32* indices;
    u64 count;
    Out<T> out;
    u32* region;
    V view;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) {
            const u32 i = indices[k];
            T x;
            atomicOr(region + (i >> 5), 1u << (i & 31));
            if (!view.at(Thread(), (u32)k, x)) return;
            out.put(i, x);
            atomicOr(out.bits + (i >> 5), 1u << (i & 31));
        });
    }
};

// How many bits are set.
struct CountBits {
    const u32* bits;
    u64 words;
    u64* total;
    VXM_FN void run() const {
        u32 count = 0;
        each_thread(words, [&](u64 w) { count += __popc(bits[w]); });
        count = __reduce_add_sync(~0u, count);
        if (lane() == 0 && count) atomicAdd(total, (u64)count);
    }
};

} // namespace vxm
