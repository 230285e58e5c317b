// A fold over positions 0 .. len of something that may hold a value at each: `items.load(p)` fetches what lies there,
// `items.reach(loaded)` what that points to, and `items.make(loaded, reached)` is its worth, a Maybe<T>. Several positions are fetched
// before the first is used, so that their latencies overlap: so many that a thread folds alone as `Items::flight` says. `Items::full`
// says that none is absent. One strategy a group; each has the bits of the reference: exact monoids in order (regrouped, or reordered
// where they commute), inexact ones over the fixed tree. `stop(partial)` may end an exact fold early.
namespace vxm {

// Items that are computed from their positions.
template <class F> struct Computed {
    static const bool full = false;
    static const u32 flight = 4;
    const F& f;
    u64 base;
    VXM_FN Computed from(u64 p) const { return {f, base + p}; }
    VXM_FN u64 load(u32 p) const { return base + p; }
    VXM_FN auto reach(u64 p) const { return f(p); }
    template <class T> VXM_FN T make(u64, T x) const { return x; }
};
template <class F> VXM_FN Computed<F> computed(const F& f) { return {f, 0}; }

// The item at p.
template <class Items> VXM_FN auto item(const Items& items, u32 p) {
    const auto loaded = items.load(p);
    return items.make(loaded, items.reach(loaded));
}

// The items at p, p + step, ... below end: loaded, reached, then made.
template <u32 step, u32 count, class T, class Items>
VXM_FN void fetch(const Items& items, u32 p, u32 end, Maybe<T> (&x)[count]) {
    decltype(items.load(p)) loaded[count];
#pragma unroll
    for (u32 k = 0; k < count; k++)
        if (p + k * step < end) loaded[k] = items.load(p + k * step);
    decltype(items.reach(loaded[0])) reached[count];
#pragma unroll
    for (u32 k = 0; k < count; k++)
        if (p + k * step < end) reached[k] = items.reach(loaded[k]);
#pragma unroll
    for (u32 k = 0; k < count; k++) {
        const bool inside = p + k * step < end;
        if constexpr (Items::full) {
            // what isn't there is not asked for
            x[k] = items.make(loaded[k], reached[k]);
            x[k].present = inside;
        } else {
            x[k] = nothing<T>();
            if (inside) x[k] = items.make(loaded[k], reached[k]);
        }
    }
}

// Upper halves joined to lower ones until one is left: items k and k + step for each of `step`.
template <class M, u32 step, u32 count, class T> VXM_FN void halve(Maybe<T> (&x)[count]) {
    if constexpr (step > 0) {
#pragma unroll
        for (u32 k = 0; k < step; k++) x[k] = join<M>(x[k], x[k + step]);
        halve<M, step / 2>(x);
    }
}
template <class M, u32 count, class T> VXM_FN Maybe<T> halves(Maybe<T> (&x)[count]) {
    halve<M, count / 2>(x);
    return x[0];
}
// The same where the first `len` are there and no others.
template <class M, u32 step, u32 count, class T> VXM_FN void halve(Maybe<T> (&x)[count], u32 len) {
    if constexpr (step > 0) {
        if (step < len)
#pragma unroll
            for (u32 k = 0; k < step; k++)
                if (k + step < len) x[k].value = M::call(x[k].value, x[k + step].value);
        halve<M, step / 2>(x, len);
    }
}
template <class M, u32 count, class T> VXM_FN Maybe<T> halves(Maybe<T> (&x)[count], u32 len) {
    halve<M, count / 2>(x, len);
    x[0].present = len > 0;
    return x[0];
}
// The same over the threads of a group; in all of them.
template <class L, class M, class T> VXM_FN Maybe<T> join_halves(Maybe<T> x) {
#pragma unroll
    for (u32 step = L::size / 2; step > 0; step /= 2) {
        Maybe<T> y = from_lane<L>(x, L::rank() + step & L::size - 1);
        if (L::rank() < step) x = join<M>(x, y);
    }
    return from_lane<L>(x, 0);
}

// The same where the first `len` threads, or all, have one.
template <class L, class M, class T> VXM_FN Maybe<T> join_halves_full(Maybe<T> x, u32 len) {
#pragma unroll
    for (u32 step = L::size / 2; step > 0; step /= 2) {
        const T y = from_lane<L>(x.value, L::rank() + step & L::size - 1);
        if (L::rank() < step && L::rank() + step < len) x.value = M::call(x.value, y);
    }
    x.value = from_lane<L>(x.value, 0);
    x.present = len > 0;
    return x;
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

// A segment of the fixed tree, four rounds of lanes in flight.
template <class M, class T, class Items> VXM_FN Maybe<T> segment(u32 len, const Items& items) {
    Maybe<T> sum = nothing<T>();
    for (u32 p = lane(); p < len; p += 4 * 32) {
        Maybe<T> x[4];
        fetch<32>(items, p, len, x);
#pragma unroll
        for (u32 k = 0; k < 4; k++) sum = join<M>(sum, x[k]);
    }
    if constexpr (!Items::full) return join_halves<Warp, M>(sum);
    else return join_halves_full<Warp, M>(sum, len);
}

// The fixed tree of a row that is long for its group: the thread of rank r has lanes r, r + width, ..., one after the other, the pair
// that joins last outermost; segments likewise. Apart and plain, so that short rows don't pay for its registers.
template <class M, class T, class L, class Items> __noinline__ __device__ Maybe<T> long_tree(u64 len, const Items& items) {
    const u32 each = 32 / L::size;
    Pairs<M, T> pairs;
#pragma unroll 1
    for (u64 first = 0; first < len; first += SEGMENT) {
        const u64 end = first + SEGMENT < len ? first + SEGMENT : len;
        Pairs<M, T> lanes;
#pragma unroll 1
        for (u32 k = 0; k < each; k++) {
            // the bits of k backwards, of as many as `each` takes
            const u32 group = __brev(k) >> 27 >> (__popc(L::size - 1));
            Maybe<T> lane = nothing<T>();
#pragma unroll 1
            for (u64 p = first + L::rank() + group * L::size; p < end; p += 32) {
                const Items rest = items.from(p);
                lane = join<M>(lane, item(rest, 0));
            }
            lanes.add(lane);
        }
        pairs.add(join_halves<L, M>(lanes.total()));
    }
    return pairs.total();
}

// A short row's items p, p + step, ... of which `len` are left, four at a time from number `first`: as many lanes as x has, and the
// items beyond are joined to theirs.
template <class M, u32 step, u32 first, u32 most, u32 count, class T, class Items>
VXM_FN void deal(const Items& items, u32 p, u32 len, Maybe<T> (&x)[count]) {
    if constexpr (first < most) {
        if (first > 0 && p + first * step >= len) return;
        Maybe<T> y[4];
        fetch<step>(items, p + first * step, len, y);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 lane = first % count + k;
            if (first < count) x[lane] = y[k];
            else if (!Items::full) x[lane] = join<M>(x[lane], y[k]);
            else if (p + (first + k) * step < len) x[lane].value = M::call(x[lane].value, y[k].value);
        }
        deal<M, step, first + 4, most>(items, p, len, x);
    }
}

// Short rows are all in flight at once: of up to `most` entries.
template <class M, class T, u32 most, class Items> VXM_FN Maybe<T> tree_of(u32 len, const Items& items) {
    const u32 lanes = most < 16 ? most : 16;
    Maybe<T> x[lanes];
    if constexpr (Items::full) {
        deal<M, 1, 0, most>(items, 0, len, x);
        return halves<M>(x, len);
    } else {
#pragma unroll
        for (u32 k = 0; k < lanes; k++) x[k] = nothing<T>();
        deal<M, 1, 0, most>(items, 0, len, x);
        return halves<M>(x);
    }
}
template <class M, class T, class Items> VXM_FN Maybe<T> tree(Thread, u64 len, const Items& items) {
    if (len > SHORT) return long_tree<M, T, Lanes<1>>(len, items);
    return tree_of<M, T, SHORT>((u32)len, items);
}
template <class M, class T, u32 width, class Items> VXM_FN Maybe<T> tree(Lanes<width>, u64 len, const Items& items) {
    typedef Lanes<width> L;
    if constexpr (width == 32) {
        if (len <= SEGMENT) return segment<M, T>((u32)len, items);
        Pairs<M, T> pairs;
        for (u64 p = 0; p < len; p += SEGMENT)
            pairs.add(segment<M, T>((u32)(len - p < SEGMENT ? len - p : SEGMENT), items.from(p)));
        return pairs.total();
    } else {
        if (len > SHORT) return long_tree<M, T, L>(len, items);
        const u32 few = (u32)len, rank = L::rank();
        Maybe<T> x[SHORT / width];
        if constexpr (Items::full) {
            deal<M, width, 0, SHORT / width>(items, rank, few, x);
            return join_halves_full<L, M>(halves<M>(x, few > rank ? (few - rank + width - 1) / width : 0), few);
        } else {
#pragma unroll
            for (u32 k = 0; k < SHORT / width; k++) x[k] = nothing<T>();
            deal<M, width, 0, SHORT / width>(items, rank, few, x);
            return join_halves<L, M>(halves<M>(x));
        }
    }
}

// A short row's staged products folded over the fixed tree, where all are there.
template <class M, class T> VXM_FN Maybe<T> fold_staged_full(Staged g) {
    const T* x = (const T*)g.products + g.begin;
    Maybe<T> y[16];
#pragma unroll
    for (u32 k = 0; k < 16; k++)
        if (k < g.len) y[k].value = x[k];
    if (g.len > 16)
#pragma unroll
        for (u32 k = 0; k < 16; k++)
            if (k + 16 < g.len) y[k].value = M::call(y[k].value, x[k + 16]);
    return halves<M>(y, g.len);
}

// A short row's staged products folded over the fixed tree, in place.
template <class M, class T, bool full> VXM_FN Maybe<T> fold_staged(Staged g) {
    if constexpr (full) return fold_staged_full<M, T>(g);
    Maybe<T> sum = nothing<T>();
    if (g.len == 0) return sum;
    const u64 words = (u64)g.present[g.begin / 32 + 1] << 32 | g.present[g.begin / 32];
    u32 there = (u32)(words >> g.begin % 32) & ~0u >> (32 - g.len);
    T* x = (T*)g.products + g.begin;
    for (u32 step = 16; step > 0; step /= 2)
        for (u32 k = 0; k < step && k + step < g.len; k++) {
            if (!(there >> (k + step) & 1)) continue;
            x[k] = there >> k & 1 ? M::call(x[k], x[k + step]) : x[k + step];
            there |= 1u << k;
        }
    sum.present = there & 1;
    sum.value = x[0];
    return sum;
}

// Products that are staged, as items of a fold.
template <class T> struct Kept {
    static const bool full = true;
    static const u32 flight = 4;
    const T* x;
    VXM_FN Kept from(u64 p) const { return {x + p}; }
    VXM_FN T load(u32 p) const { return x[p]; }
    VXM_FN T reach(T y) const { return y; }
    VXM_FN Maybe<T> make(T y, T) const { return {y, true}; }
};
template <class M, class T, bool full> VXM_FN Maybe<T> fold_staged(StagedRow g) {
    return tree<M, T>(Warp(), (u64)g.row.len, Kept<T>{(const T*)g.row.products + g.row.begin});
}
template <class M, class T, bool full> VXM_FN Maybe<T> fold_staged(StagedMedium g) {
    const T* x = (const T*)g.products + g.begin;
    Maybe<T> y[16];
#pragma unroll
    for (u32 k = 0; k < 16; k++) {
        T low = x[k], high = x[k + 16];
#pragma unroll
        for (u32 p = SHORT; p < MEDIUM; p += SHORT) {
            if (k + p < g.len) low = M::call(low, x[k + p]);
            if (k + 16 + p < g.len) high = M::call(high, x[k + 16 + p]);
        }
        y[k] = {M::call(low, high), true};
    }
    return halves<M>(y, SHORT);
}

// A fold that nothing stops.
struct Unstopped {
    static const bool stops = false;
    template <class T> VXM_FN bool operator()(T) const { return false; }
};

// The warps' values of a block joined in ascending order, pairs first; in every thread. If one of them is a partial result at which the
// fold may stop, that one.
template <class M, class T, class Stop> VXM_FN Maybe<T> join_warps(Maybe<T> part, Stop stop) {
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
    if (Stop::stops) {
        const u32 held = __ballot_sync(~0u, x.present && stop(x.value));
        if (held) return from_lane<Warp>(x, __ffs(held) - 1);
    }
    return join_lanes<Warp, M>(x);
}
template <class M, class T> VXM_FN Maybe<T> join_warps(Maybe<T> part) { return join_warps<M>(part, Unstopped()); }

// N is the length's type: a matrix' rows are of fewer entries than 32 bits count.
template <class M, class T, class N, class Items, class Stop>
VXM_FN Maybe<T> fold(Thread g, N len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        Maybe<T> sum = empty<M, T>();
        const u32 flight = Items::flight;
        for (N p = 0; p < len; p += flight) {
            decltype(items.load(0)) loaded[flight];
            decltype(items.reach(loaded[0])) reached[flight];
            const Items rest = items.from(p);
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (p + k < len) loaded[k] = rest.load(k);
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (p + k < len) reached[k] = rest.reach(loaded[k]);
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                const Maybe<T> x = rest.make(loaded[k], reached[k]);
                add<M>(sum, (p + k < len) & x.present, x.value);
            }
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
        }
        return sum;
    } else {
        return tree<M, T>(g, len, items);
    }
}

template <class M, class T, u32 most, class N, class Items, class Stop>
VXM_FN Maybe<T> fold(Few<most>, N len, const Items& items, Stop stop) {
    if constexpr (M::exact) return fold<M, T>(Thread(), len, items, stop);
    else return tree_of<M, T, most>(len, items);
}

// An exact fold by lanes.
template <class L, class M, class T, class Items, class Stop>
VXM_FN Maybe<T> fold_by_lanes(u64 len, const Items& items, Stop stop) {
    Maybe<T> sum = nothing<T>();
    if constexpr (M::commutative) {
        const bool stops = M::stops || Stop::stops;
        u64 p = 0;
        if (stops) {
            // one each, because that may be enough
            if (L::rank() < len) sum = item(items, L::rank());
            const u32 held = __ballot_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)));
            // what one of them has is a partial result at which the row may stop; joined to others' it might not be
            if (held) return from_lane<L>(sum, __ffs(held) - 1 & L::size - 1);
            p = L::size;
        }
        for (; p < len; p += 4 * L::size) {
            Maybe<T> x[4];
            fetch<L::size>(items.from(p), L::rank(), (u32)(len - p < 4 * L::size ? len - p : 4 * L::size), x);
#pragma unroll
            for (u32 k = 0; k < 4; k++) sum = join<M>(sum, x[k]);
            if (stops) {
                const u32 held = __ballot_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)));
                if (held) return from_lane<L>(sum, __ffs(held) - 1 & L::size - 1);
            }
        }
        return join_lanes<L, M>(sum);
    } else {
        for (u64 p = 0; p < len; p += L::size) {
            const Items rest = items.from(p);
            Maybe<T> chunk = nothing<T>();
            if (p + L::rank() < len) chunk = item(rest, L::rank());
            sum = join<M>(sum, join_lanes<L, M>(chunk));
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) break;
        }
        return sum;
    }
}

template <class M, class T, u32 width, class Items, class Stop>
VXM_FN Maybe<T> fold(Lanes<width> g, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) return fold_by_lanes<Lanes<width>, M, T>(len, items, stop);
    else return tree<M, T>(g, len, items);
}

// By the warps of a block: each a run of positions (exact), or a segment at a time.
template <class M, class T, class Items, class Stop> VXM_FN Maybe<T> fold(Block, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        const u32 warps = blockDim.x / 32;
        const u64 share = ((len + warps - 1) / warps + 31) / 32 * 32, from = warp() * share;
        Maybe<T> part = nothing<T>();
        if (from < len) part = fold_by_lanes<Warp, M, T>(len - from < share ? len - from : share, items.from(from), stop);
        return join_warps<M>(part, stop);
    } else {
        Pairs<M, T> pairs;
        // as many at a time as there are warps: a power of two, so that pairs stay pairs
        for (u64 p = 0; p < len; p += blockDim.x / 32 * SEGMENT) {
            const u64 from = p + warp() * SEGMENT;
            Maybe<T> part = nothing<T>();
            if (from < len) part = segment<M, T>((u32)(len - from < SEGMENT ? len - from : SEGMENT), items.from(from));
            pairs.add(join_warps<M>(part));
        }
        return pairs.total();
    }
}

} // namespace vxm
