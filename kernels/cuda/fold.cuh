// A fold over positions 0 .. len of something that may hold a value at each: `items.load(p)` fetches what lies there, and
// `items.make(loaded)` is its worth, a Maybe<T>. Several positions are loaded before the first is used, so that their latencies
// overlap. One strategy a group; each has the bits of the reference: exact monoids in order (regrouped, or reordered where they
// commute), inexact ones over the fixed tree. `stop(partial)` may end an exact fold early.
namespace vxm {

// Items that are computed from their positions.
template <class F> struct Computed {
    F f;
    VXM_FN u64 load(u64 p) const { return p; }
    VXM_FN auto make(u64 p) const { return f(p); }
};
template <class F> VXM_FN Computed<F> computed(F f) { return Computed<F>{f}; }

// The items at p, p + step, ... below end: loaded, then made.
template <u32 count, class T, class Items> VXM_FN void fetch(const Items& items, u64 p, u64 step, u64 end, Maybe<T> (&x)[count]) {
    decltype(items.load(p)) loaded[count];
#pragma unroll
    for (u32 k = 0; k < count; k++)
        if (p + k * step < end) loaded[k] = items.load(p + k * step);
#pragma unroll
    for (u32 k = 0; k < count; k++) {
        x[k] = nothing<T>();
        if (p + k * step < end) x[k] = items.make(loaded[k]);
    }
}

// Upper halves joined to lower ones until one is left.
template <class M, u32 count, class T> VXM_FN Maybe<T> halves(Maybe<T> (&x)[count]) {
#pragma unroll
    for (u32 step = count / 2; step > 0; step /= 2)
#pragma unroll
        for (u32 k = 0; k < step; k++) x[k] = join<M>(x[k], x[k + step]);
    return x[0];
}

// Segments of the fixed tree, joined in pairs as they come: where bit l of the count is set, `held[l]` is the fold of 2^l of them.
template <class M, class T> struct Pairs {
    Maybe<T> held[23]; // 2^32 positions
    u32 count;
    VXM_FN Pairs() : count(0) {}
    VXM_FN void add(Maybe<T> x) {
        u32 level = 0;
        for (; count >> level & 1; level++) x = join<M>(held[level], x);
        held[level] = x;
        count++;
    }
    VXM_FN Maybe<T> total() const {
        Maybe<T> sum = nothing<T>();
        for (u32 level = 0; count >> level; level++)
            if (count >> level & 1) sum = join<M>(held[level], sum);
        return sum;
    }
};

// A segment by one thread: few positions at once, many a lane after the other, the pair that joins last outermost.
template <class M, class T, class Items> VXM_FN Maybe<T> segment(Thread, u64 begin, u64 end, const Items& items) {
    if (end - begin <= 8) {
        Maybe<T> x[8];
        fetch(items, begin, 1, end, x);
        return halves<M>(x);
    }
    if (end - begin <= 16) {
        Maybe<T> x[16];
        fetch(items, begin, 1, end, x);
        return halves<M>(x);
    }
    Pairs<M, T> lanes;
    for (u32 k = 0; k < 32; k++) {
        Maybe<T> lane = nothing<T>();
        for (u64 p = begin + (__brev(k) >> 27); p < end; p += 32) lane = join<M>(lane, items.make(items.load(p)));
        lanes.add(lane);
    }
    return lanes.total();
}

// The same by a few threads: the one of rank r has lanes r, r + width, r + 2 width, ...
template <class M, class T, u32 width, class Items>
VXM_FN Maybe<T> segment(Lanes<width>, u64 begin, u64 end, const Items& items) {
    typedef Lanes<width> L;
    const u32 each = 32 / width, rows = width < 32 ? 1 : 4;
    Maybe<T> lanes[each];
#pragma unroll
    for (u32 k = 0; k < each; k++) lanes[k] = nothing<T>();
    for (u64 p = begin + L::rank(); p < end; p += 32 * rows) {
        Maybe<T> x[each * rows];
        fetch(items, p, width, end, x);
#pragma unroll
        for (u32 k = 0; k < each * rows; k++) lanes[k % each] = join<M>(lanes[k % each], x[k]);
    }
    Maybe<T> sum = halves<M>(lanes);
#pragma unroll
    for (u32 step = width / 2; step > 0; step /= 2) {
        Maybe<T> y = from_lane<L>(sum, L::rank() + step & width - 1);
        if (L::rank() < step) sum = join<M>(sum, y);
    }
    return from_lane<L>(sum, 0);
}

// The fixed tree by one group, a segment after the other.
template <class M, class T, class G, class Items> VXM_FN Maybe<T> tree(G g, u64 len, const Items& items) {
    if (len <= SEGMENT) return segment<M, T>(g, 0, len, items);
    Pairs<M, T> pairs;
    for (u64 p = 0; p < len; p += SEGMENT)
        pairs.add(segment<M, T>(g, p, p + SEGMENT < len ? p + SEGMENT : len, items));
    return pairs.total();
}

// The warps' values of a block joined in ascending order, pairs first; in every thread.
template <class M, class T> VXM_FN Maybe<T> join_warps(Maybe<T> part) {
    __shared__ u64 held[32];
    __shared__ bool present[32];
    if (lane() == 0) {
        memcpy(&held[warp()], &part.value, sizeof(T));
        present[warp()] = part.present;
    }
    __syncthreads();
    Maybe<T> x = nothing<T>();
    if (lane() < blockDim.x / 32 && present[lane()]) {
        memcpy(&x.value, &held[lane()], sizeof(T));
        x.present = true;
    }
    __syncthreads();
    return join_lanes<Warp, M>(x);
}

template <class M, class T, class Items, class Stop>
VXM_FN Maybe<T> fold(Thread g, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        Maybe<T> sum = nothing<T>();
        for (u64 p = 0; p < len; p += 4) {
            Maybe<T> x[4];
            fetch(items, p, 1, len, x);
#pragma unroll
            for (u32 k = 0; k < 4; k++) sum = join<M>(sum, x[k]);
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
        }
        return sum;
    } else {
        return tree<M, T>(g, len, items);
    }
}

// Positions begin .. end of an exact fold by lanes.
template <class L, class M, class T, class Items, class Stop>
VXM_FN Maybe<T> fold_by_lanes(u64 begin, u64 end, const Items& items, Stop stop) {
    Maybe<T> sum = nothing<T>();
    if constexpr (M::commutative) {
        u64 p = begin;
        if (M::stops || Stop::stops) {
            // one each, because that may be enough
            if (p + L::rank() < end) sum = items.make(items.load(p + L::rank()));
            if (__any_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value))))
                return join_lanes<L, M>(sum);
            p += L::size;
        }
        for (; p < end; p += 4 * L::size) {
            Maybe<T> x[4];
            fetch(items, p + L::rank(), L::size, end, x);
#pragma unroll
            for (u32 k = 0; k < 4; k++) sum = join<M>(sum, x[k]);
            if (M::stops || Stop::stops) {
                if (__any_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)))) break;
            }
        }
        return join_lanes<L, M>(sum);
    } else {
        for (u64 p = begin; p < end; p += L::size) {
            Maybe<T> chunk = nothing<T>();
            if (p + L::rank() < end) chunk = items.make(items.load(p + L::rank()));
            sum = join<M>(sum, join_lanes<L, M>(chunk));
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
        }
        return sum;
    }
}

template <class M, class T, u32 width, class Items, class Stop>
VXM_FN Maybe<T> fold(Lanes<width> g, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) return fold_by_lanes<Lanes<width>, M, T>(0, len, items, stop);
    else return tree<M, T>(g, len, items);
}

// By 32 warps: each a run of positions (exact), or a segment of 32 at a time.
template <class M, class T, class Items, class Stop> VXM_FN Maybe<T> fold(Block, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        const u32 warps = blockDim.x / 32;
        const u64 share = ((len + warps - 1) / warps + 31) / 32 * 32, from = warp() * share;
        Maybe<T> part = nothing<T>();
        if (from < len) part = fold_by_lanes<Warp, M, T>(from, from + share < len ? from + share : len, items, stop);
        return join_warps<M>(part);
    } else {
        Pairs<M, T> pairs;
        for (u64 p = 0; p < len; p += 32 * SEGMENT) {
            const u64 from = p + warp() * SEGMENT;
            Maybe<T> part = nothing<T>();
            if (from < len) part = segment<M, T>(Warp(), from, from + SEGMENT < len ? from + SEGMENT : len, items);
            pairs.add(join_warps<M>(part));
        }
        return pairs.total();
    }
}

} // namespace vxm
