// Terminals: they evaluate a view to a new vector, write it through a mask and accumulator, or reduce it. A kernel is one of these types,
// with the view as a type argument.
namespace vxm {

// The indices that a kernel handles: a list (the rows of one class), or 0 .. count if `list` is null.
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

// Sets or clears bit i. Atomic, because other threads may write other bits of the word.
VXM_FN void put_bit(u32* bits, u32 i, bool present) {
    if (present) atomicOr(bits + (i >> 5), 1u << (i & 31));
    else atomicAnd(bits + (i >> 5), ~(1u << (i & 31)));
}

// Calls `kernel.step(group, i)` for each index, one thread an index; `step` returns whether the result has an element there.
// Without a list each warp owns whole words of `bits`. Bitmaps consist of 64-bit words, so the bits past the last index are written too, as
// zeros. `K::fresh` says that `bits` holds nothing before.
template <class G, class K> VXM_FN void each_per_thread(G g, const Range& range, u32* bits, const K& kernel) {
    // Not by each_thread: in its lambda `present` becomes a register instead of a predicate, and this loop is hot.
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
template <class K> VXM_FN void each(Thread g, const Range& range, u32* bits, const K& kernel) { each_per_thread(g, range, bits, kernel); }
template <u32 most, class K> VXM_FN void each(BoundedRowThread<most> g, const Range& range, u32* bits, const K& kernel) {
    each_per_thread(g, range, bits, kernel);
}
template <u32 width> VXM_FN u64 first_of(Lanes<width>) { return ((u64)blockIdx.x * blockDim.x + threadIdx.x) / width; }
VXM_FN u64 first_of(Block) { return blockIdx.x; }
template <u32 width> VXM_FN u64 step_of(Lanes<width>) { return (u64)gridDim.x * blockDim.x / width; }
VXM_FN u64 step_of(Block) { return gridDim.x; }
// The same by a group for each index: some lanes, a warp or a block. Groups share words of `bits`, so bits are written atomically.
template <class G, class K> VXM_FN void each_per_group(G g, const Range& range, u32* bits, const K& kernel) {
    for (u64 k = first_of(g); k < range.count; k += step_of(g)) {
        const u32 i = range.index(k);
        bool present = kernel.step(g, i);
        if (bits && G::first()) put_bit(bits, i, present);
    }
}

// The same by some lanes for each index, while a warp owns each word of `bits`.
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
    if (width == 32 || range.list || !bits) each_per_group(g, range, bits, kernel);
    else each_word(g, range, bits, kernel);
}
template <class K> VXM_FN void each(Block g, const Range& range, u32* bits, const K& kernel) { each_per_group(g, range, bits, kernel); }

// Evaluates a view to a new vector.
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

// How a write combines the old element with the new one. `Replace` takes the new element, or its absence. `Accumulate` joins both by F.
// `merge` returns whether there is a result.
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

// Writes a view through its mask into `out`, which holds the old elements before and the new ones after.
template <class V, class Merge> struct Write {
    typedef typename V::Elem T;
    static const bool fresh = false;
    Range range;
    Out<T> out;
    u64 dense; // nonzero if all elements were present; the old bits are then not read
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

// A view that also stores each element that is read, in `values`.
template <class V> struct WriteThrough {
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

// A reduction. Each warp folds segments of the fixed tree to one partial result each, and the last block to finish joins those in pairs, in
// order. If the monoid is exact and commutative, each block instead makes one partial result from elements in any order.
// `out` is page-locked host memory; the host polls its last four bytes. Elements of up to four bytes take one word: the bits below, and
// above them 1 if there is no result, else 0. Wider ones take two words: the bits, then 1 if there is a result, else 0.
// `arrived` is 0 before and after.
template <class V, class M> struct Reduce {
    typedef typename V::Elem T;
    u64 len;
    T* partials;
    u32* present; // one word for each partial result
    u32* arrived;
    u64* out;
    V view;
    static const bool any_order = M::exact && M::commutative;
    VXM_FN void run() const {
        if constexpr (any_order) put(blockIdx.x, join_warps<M>(join_lanes<Warp, M>(fold_by_thread())));
        else fold_segments();
        if (last_block(arrived)) join_partials();
    }
    // The fold of the elements that are this thread's, several loads at a time.
    VXM_FN Maybe<T> fold_by_thread() const {
        const u32 unroll = 4;
        const u64 step = (u64)gridDim.x * blockDim.x;
        Maybe<T> sum = nothing<T>();
        for (u64 p = (u64)blockIdx.x * blockDim.x + threadIdx.x; p < len; p += unroll * step) {
            Maybe<T> x[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                x[k] = nothing<T>();
                if (p + k * step < len) x[k].present = view.at(Thread(), (u32)(p + k * step), x[k].value);
            }
#pragma unroll
            for (u32 k = 0; k < unroll; k++) sum = join<M>(sum, x[k]);
        }
        return sum;
    }
    // Writes a partial result; called by all threads of the warp or block that made it, and one of them writes.
    VXM_FN void put(u64 at, Maybe<T> partial) const {
        if (threadIdx.x % 32 > 0 || (any_order && threadIdx.x > 0)) return;
        const Out<T> out = {partials, nullptr};
        out.put((u32)at, partial.value);
        present[at] = partial.present;
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
            Maybe<T> partial;
            if constexpr (M::exact) partial = fold_by_lanes<Warp, M, T>(end - begin, items.from(begin), Unstopped());
            else partial = segment<M, T>((u32)(end - begin), items.from(begin));
            put(s, partial);
        }
    }
    VXM_FN void join_partials() const {
        const Stored<T> stored = {partials, nullptr};
        const u64 count = any_order ? gridDim.x : (len + SEGMENT - 1) / SEGMENT;
        Pairs<M, T> pairs;
        // each thread joins four neighbours first
        for (u64 first = 0; first < count; first += 4 * blockDim.x) {
            Maybe<T> x[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const u64 p = first + 4 * threadIdx.x + k;
                x[k] = nothing<T>();
                // both loads are issued before either is used
                if (p < count) x[k].present = stored.at(Thread(), (u32)p, x[k].value) & (present[p] != 0);
            }
            const Maybe<T> four = join<M>(join<M>(x[0], x[1]), join<M>(x[2], x[3]));
            pairs.add(join_warps<M>(join_lanes<Warp, M>(four)));
        }
        const Maybe<T> sum = pairs.total();
        if (threadIdx.x > 0) return;
        const Bits<T> bits = word_of(sum.value);
        // one store if it fits a word: between two, a fence would wait for the host's memory
        if constexpr (sizeof(T) <= 4) {
            *(volatile u64*)out = (u64)!sum.present << 32 | bits;
        } else {
            const TwoWords words = two_words(bits);
            const u32 last = sizeof(T) / 8;
            *(volatile u64*)out = words.low;
            if (last > 1) *(volatile u64*)(out + 1) = words.high;
            __threadfence_system();
            *(volatile u64*)(out + last) = sum.present;
        }
    }
};

// out[indices[k]] = view[k]. No index occurs twice; without a list, index k is k. `region` marks all the indices, also those of absent elements.
template <class V> struct Scatter {
    typedef typename V::Elem T;
    const u32* indices;
    u64 count;
    Out<T> out;
    u32* region;
    V view;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) {
            const u32 i = indices ? indices[k] : (u32)k;
            T x;
            atomicOr(region + (i >> 5), 1u << (i & 31));
            if (!view.at(Thread(), (u32)k, x)) return;
            out.put(i, x);
            atomicOr(out.bits + (i >> 5), 1u << (i & 31));
        });
    }
};

// Adds the number of set bits to `total`.
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
