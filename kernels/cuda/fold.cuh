// A fold over positions 0 .. len of something that may hold a value at each: `Maybe<T> item(u64 position)`. One strategy a group;
// each has the bits of the reference: exact monoids in order (regrouped, or reordered where they commute), inexact ones over the
// fixed tree. `stop(partial)` may end an exact fold early.
namespace vxm {

// Left to right, from `begin`.
template <class M, class T, class Item, class Stop>
VXM_FN Maybe<T> fold_run(u64 begin, u64 end, Item item, Stop stop) {
    Maybe<T> sum = nothing<T>();
    for (u64 p = begin; p < end; p++) {
        sum = join<M>(sum, item(p));
        if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
    }
    return sum;
}

// A segment of the fixed tree by one thread: 32 lanes in an array.
template <class M, class T, class Item> VXM_FN Maybe<T> fold_segment(u64 begin, u64 end, Item item) {
    Maybe<T> lanes[32];
    if (end - begin <= 32) {
        Maybe<T> sum = nothing<T>();
        for (u64 p = begin; p < end; p++) sum = join<M>(sum, item(p));
        return sum;
    }
    for (u32 l = 0; l < 32; l++) lanes[l] = nothing<T>();
    for (u64 p = begin; p < end; p++) lanes[p & 31] = join<M>(lanes[p & 31], item(p));
    for (u32 step = 16; step > 0; step /= 2)
        for (u32 l = 0; l < step; l++) lanes[l] = join<M>(lanes[l], lanes[l + step]);
    return lanes[0];
}

// The same segment by a warp: position p is lane p % 32's.
template <class M, class T, class Item> VXM_FN Maybe<T> fold_segment_by_lanes(u64 begin, u64 end, Item item) {
    Maybe<T> sum = nothing<T>();
    for (u64 p = begin + lane(); p < end; p += 32) sum = join<M>(sum, item(p));
    return end - begin > 32 ? join_halves<M>(sum) : join_serially<M>(sum);
}

// At most 32 positions by a few lanes: read together, joined left to right.
template <class L, class M, class T, class Item> VXM_FN Maybe<T> fold_short(u64 len, Item item) {
    Maybe<T> sum = nothing<T>();
    for (u64 p = 0; p < len; p += L::size) {
        Maybe<T> mine = nothing<T>();
        if (p + L::rank() < len) mine = item(p + L::rank());
        for (u32 l = 0; l < L::size && p + l < len; l++) sum = join<M>(sum, from_lane<L>(mine, l));
    }
    return sum;
}

template <class M, class T, class Item, class Stop> VXM_FN Maybe<T> fold(Thread, u64 len, Item item, Stop stop) {
    if constexpr (M::exact) {
        return fold_run<M, T>(0, len, item, stop);
    } else {
        Maybe<T> sum = nothing<T>();
        for (u64 p = 0; p < len; p += SEGMENT)
            sum = join<M>(sum, fold_segment<M, T>(p, p + SEGMENT < len ? p + SEGMENT : len, item));
        return sum;
    }
}

// Positions begin .. end of an exact fold by lanes.
template <class L, class M, class T, class Item, class Stop>
VXM_FN Maybe<T> fold_by_lanes(u64 begin, u64 end, Item item, Stop stop) {
    Maybe<T> sum = nothing<T>();
    if constexpr (M::commutative) {
        for (u64 p = begin; p < end; p += L::size) {
            if (p + L::rank() < end) sum = join<M>(sum, item(p + L::rank()));
            if (M::stops || Stop::stops) {
                if (__any_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)))) break;
            }
        }
        return join_lanes<L, M>(sum);
    } else {
        for (u64 p = begin; p < end; p += L::size) {
            Maybe<T> chunk = nothing<T>();
            if (p + L::rank() < end) chunk = item(p + L::rank());
            sum = join<M>(sum, join_lanes<L, M>(chunk));
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
        }
        return sum;
    }
}

// A run of an exact fold, or a segment of an inexact one, by a warp.
template <class M, class T, class Item, class Stop>
VXM_FN Maybe<T> fold_part(u64 begin, u64 end, Item item, Stop stop) {
    if constexpr (M::exact) return fold_by_lanes<Warp, M, T>(begin, end, item, stop);
    else return fold_segment_by_lanes<M, T>(begin, end, item);
}

template <class M, class T, u32 width, class Item, class Stop>
VXM_FN Maybe<T> fold(Lanes<width>, u64 len, Item item, Stop stop) {
    if constexpr (M::exact) {
        return fold_by_lanes<Lanes<width>, M, T>(0, len, item, stop);
    } else {
        if (len <= 32) return fold_short<Lanes<width>, M, T>(len, item);
        // a long row among short ones: a product that does not lead
        if constexpr (width < 32) return fold<M, T>(Thread(), len, item, stop);
        Maybe<T> sum = nothing<T>();
        for (u64 p = 0; p < len; p += SEGMENT)
            sum = join<M>(sum, fold_segment_by_lanes<M, T>(p, p + SEGMENT < len ? p + SEGMENT : len, item));
        return sum;
    }
}

// Each warp a run of positions (exact) or a segment (inexact); their folds are joined in order.
template <class M, class T, class Item, class Stop> VXM_FN Maybe<T> fold(Block, u64 len, Item item, Stop stop) {
    __shared__ u64 held[32];
    __shared__ bool present[32];
    const u32 warps = blockDim.x / 32;
    Maybe<T> sum = nothing<T>();
    const u64 share = M::exact ? ((len + warps - 1) / warps + 31) / 32 * 32 : SEGMENT;
    for (u64 begin = 0; begin < len; begin += share * warps) {
        u64 from = begin + warp() * share;
        u64 upto = from + share < len ? from + share : len;
        Maybe<T> part = nothing<T>();
        if (from < len) part = fold_part<M, T>(from, upto, item, stop);
        if (lane() == 0) {
            memcpy(&held[warp()], &part.value, sizeof(T));
            present[warp()] = part.present;
        }
        __syncthreads();
        for (u32 w = 0; w < warps; w++) {
            Maybe<T> other;
            memcpy(&other.value, &held[w], sizeof(T));
            other.present = present[w];
            sum = join<M>(sum, other);
        }
        __syncthreads();
    }
    return sum;
}

} // namespace vxm
