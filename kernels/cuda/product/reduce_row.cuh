// Folds over positions 0 .. len, each of which may hold a value. `items.load(p)` loads what lies at p, `items.reach(loaded)` loads what
// that refers to, and `items.make(loaded, reached)` computes the value, a Maybe<T>.
// Several positions are loaded before the first is used, so that latencies overlap; a single thread loads `Items::unroll` at once.
// `Items::full` says that no value is absent. `Items::are_entries` says that items are entries of a row, which are counted as edges; others are
// counted as tiles.
// There is one strategy for each kind of group. All give the same bits as the reference: exact monoids fold in order (regrouped, and
// reordered if they commute), inexact ones over the fixed tree. `stop(partial)` may end an exact fold early.
namespace vxm {

// Items computed from their positions by `f`.
template <class F> struct Computed {
    static const bool full = false, are_entries = false;
    static const u32 unroll = 4;
    const F& f;
    u64 base;
    VXM_FN Computed from(u64 p) const { return {f, base + p}; }
    VXM_FN u64 load(u32 p) const { return base + p; }
    VXM_FN auto reach(u64 p) const { return f(p); }
    template <class T> VXM_FN T make(u64, T x) const { return x; }
};
template <class F> VXM_FN Computed<F> computed(const F& f) { return {f, 0}; }

// The value at p.
template <class Items> VXM_FN auto item(const Items& items, u32 p) {
    const auto loaded = items.load(p);
    return items.make(loaded, items.reach(loaded));
}

// Fetches the values at p, p + step, ... below `end`: all are loaded, then reached, then made.
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
            // Positions past the end weren't loaded. Their values are undefined but marked absent, which needs no branch.
            x[k] = items.make(loaded[k], reached[k]);
            x[k].present = inside;
        } else {
            x[k] = nothing<T>();
            if (inside) x[k] = items.make(loaded[k], reached[k]);
        }
    }
}

// Joins x[k + step] to x[k] for step = count / 2, count / 4, ..., 1; the result is x[0].
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
// The same if exactly the first `len` values are present.
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
// The same over the threads of a group. All of them get the result.
template <class L, class M, class T> VXM_FN Maybe<T> join_halves(Maybe<T> x) {
#pragma unroll
    for (u32 step = L::size / 2; step > 0; step /= 2) {
        Maybe<T> y = from_lane<L>(x, L::rank() + step & L::size - 1);
        if (L::rank() < step) x = join<M>(x, y);
    }
    return from_lane<L>(x, 0);
}

// The same if exactly the first `len` threads have a value; all of them, if `len` is at least the group's size.
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

// Joins a series of values in pairs, the pairs in pairs, and so on, as the fixed tree joins segments. If bit l of `count` is set, `held[l]`
// is the fold of 2^l values. Higher levels hold earlier values.
template <class M, class T> struct Pairs {
    Maybe<T> held[23]; // enough for the segments of 2^32 positions
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

// One segment of the fixed tree, by a warp. Each lane has four loads in flight.
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

// The fixed tree of a row that is long for its group. The thread of rank r handles the tree's lanes r, r + size, ..., one after the other.
// It visits them in bit-reversed order, so that joining consecutive ones in pairs gives the same tree as joining by halves.
// A function of its own that isn't inlined or unrolled, so that short rows don't need its registers.
template <class M, class T, class L, class Items> __noinline__ __device__ Maybe<T> long_tree(u64 len, const Items& items) {
    const u32 each = 32 / L::size;
    Pairs<M, T> pairs;
#pragma unroll 1
    for (u64 first = 0; first < len; first += SEGMENT) {
        const u64 end = first + SEGMENT < len ? first + SEGMENT : len;
        Pairs<M, T> lanes;
#pragma unroll 1
        for (u32 k = 0; k < each; k++) {
            // k with its lowest log2(each) bits reversed
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

// Fetches the items p, p + step, ... below `len` of a short row, four at a time, starting with number `first`. Item number n goes to x[n %
// count]; from number `count` on, items are joined to what is there.
template <class M, u32 step, u32 first, u32 most, u32 count, class T, class Items>
VXM_FN void fetch_lanes(const Items& items, u32 p, u32 len, Maybe<T> (&x)[count]) {
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
        fetch_lanes<M, step, first + 4, most>(items, p, len, x);
    }
}

// The fixed tree of a row of up to `most` entries, by one thread, with all loads in flight at once. With 16 lanes, item k + 16 is joined to
// item k, which is the tree's first step.
template <class M, class T, u32 most, class Items> VXM_FN Maybe<T> short_tree(u32 len, const Items& items) {
    const u32 lanes = most < 16 ? most : 16;
    Maybe<T> x[lanes];
    if constexpr (Items::full) {
        fetch_lanes<M, 1, 0, most>(items, 0, len, x);
        return halves<M>(x, len);
    } else {
#pragma unroll
        for (u32 k = 0; k < lanes; k++) x[k] = nothing<T>();
        fetch_lanes<M, 1, 0, most>(items, 0, len, x);
        return halves<M>(x);
    }
}
template <class M, class T, class Items> VXM_FN Maybe<T> tree(Thread, u64 len, const Items& items) {
    if (len > SHORT) return long_tree<M, T, Lanes<1>>(len, items);
    return short_tree<M, T, SHORT>((u32)len, items);
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
            fetch_lanes<M, width, 0, SHORT / width>(items, rank, few, x);
            return join_halves_full<L, M>(halves<M>(x, few > rank ? (few - rank + width - 1) / width : 0), few);
        } else {
#pragma unroll
            for (u32 k = 0; k < SHORT / width; k++) x[k] = nothing<T>();
            fetch_lanes<M, width, 0, SHORT / width>(items, rank, few, x);
            return join_halves<L, M>(halves<M>(x));
        }
    }
}

// The fixed tree of a staged short row. All of its products are present.
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

// The fixed tree of a staged short row, computed in place.
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

// Staged products as items of a fold; all are present.
template <class T> struct StagedItems {
    static const bool full = true, are_entries = true;
    static const u32 unroll = 4;
    const T* x;
    VXM_FN StagedItems from(u64 p) const { return {x + p}; }
    VXM_FN T load(u32 p) const { return x[p]; }
    VXM_FN T reach(T y) const { return y; }
    VXM_FN Maybe<T> make(T y, T) const { return {y, true}; }
};
template <class M, class T, bool full> VXM_FN Maybe<T> fold_staged(StagedRow g) {
    return tree<M, T>(Warp(), (u64)g.row.len, StagedItems<T>{(const T*)g.row.products + g.row.begin});
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

// The stop condition of a fold that isn't stopped early.
struct Unstopped {
    static const bool stops = false;
    template <class T> VXM_FN bool operator()(T) const { return false; }
};

// Joins the values of a block's warps in order, in pairs; all threads get the result. If the fold may stop at one of the values, the result
// is the first such value alone.
template <class M, class T, class Stop> VXM_FN Maybe<T> join_warps(Maybe<T> part, Stop stop) {
    __shared__ Bits<T> held[32];
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

// N is the type of the length. A matrix' rows have fewer than 2^32 entries.
template <class M, class T, class N, class Items, class Stop>
VXM_FN Maybe<T> fold(Thread g, N len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        Maybe<T> sum = empty<M, T>();
        const u32 unroll = Items::unroll;
        for (N p = 0; p < len; p += unroll) {
            VXM_TALLY_READ(Items, len - p < unroll ? (u32)(len - p) : unroll);
            decltype(items.load(0)) loaded[unroll];
            decltype(items.reach(loaded[0])) reached[unroll];
            const Items rest = items.from(p);
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (p + k < len) loaded[k] = rest.load(k);
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (p + k < len) reached[k] = rest.reach(loaded[k]);
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                const Maybe<T> x = rest.make(loaded[k], reached[k]);
                add<M>(sum, (p + k < len) & x.present, x.value);
            }
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) {
                VXM_TALLY(early_exits, p + unroll < len);
                break;
            }
        }
        return sum;
    } else {
        VXM_TALLY_READ(Items, (u32)len);
        return tree<M, T>(g, len, items);
    }
}

template <class M, class T, u32 most, class N, class Items, class Stop>
VXM_FN Maybe<T> fold(BoundedRowThread<most>, N len, const Items& items, Stop stop) {
    if constexpr (M::exact) return fold<M, T>(Thread(), len, items, stop);
    VXM_TALLY_READ(Items, (u32)len);
    return short_tree<M, T, most>(len, items);
}

// An exact fold by the lanes of a group.
template <class L, class M, class T, class Items, class Stop>
VXM_FN Maybe<T> fold_by_lanes(u64 len, const Items& items, Stop stop) {
    Maybe<T> sum = nothing<T>();
    if constexpr (M::commutative) {
        const bool stops = M::stops || Stop::stops;
        u64 p = 0;
        if (stops) {
            // one position a lane first, because that may already be enough to stop
            if (L::rank() < len) sum = item(items, L::rank());
            VXM_TALLY_READ(Items, L::rank() < len);
            const u32 held = __ballot_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)));
            // A single lane's partial result that satisfies `stop` is returned alone: joined to the others' it might no longer do so.
            VXM_TALLY(early_exits, held && L::rank() == 0 && L::size < len);
            if (held) return from_lane<L>(sum, __ffs(held) - 1 & L::size - 1);
            p = L::size;
        }
        for (; p < len; p += 4 * L::size) {
            Maybe<T> x[4];
            fetch<L::size>(items.from(p), L::rank(), (u32)(len - p < 4 * L::size ? len - p : 4 * L::size), x);
#pragma unroll
            for (u32 k = 0; k < 4; k++) sum = join<M>(sum, x[k]);
            VXM_TALLY_READ(Items, L::rank() > 0 ? 0 : len - p < 4 * L::size ? (u32)(len - p) : 4 * L::size);
            if (stops) {
                const u32 held = __ballot_sync(L::mask(), sum.present && (M::terminal(sum.value) || stop(sum.value)));
                VXM_TALLY(early_exits, held && L::rank() == 0 && p + 4 * L::size < len);
                if (held) return from_lane<L>(sum, __ffs(held) - 1 & L::size - 1);
            }
        }
        return join_lanes<L, M>(sum);
    } else {
        for (u64 p = 0; p < len; p += L::size) {
            const Items rest = items.from(p);
            Maybe<T> chunk = nothing<T>();
            if (p + L::rank() < len) chunk = item(rest, L::rank());
            VXM_TALLY_READ(Items, p + L::rank() < len);
            sum = join<M>(sum, join_lanes<L, M>(chunk));
            if (sum.present && (M::terminal(sum.value) || stop(sum.value))) {
                VXM_TALLY(early_exits, L::rank() == 0 && p + L::size < len);
                break;
            }
        }
        return sum;
    }
}

template <class M, class T, u32 width, class Items, class Stop>
VXM_FN Maybe<T> fold(Lanes<width> g, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) return fold_by_lanes<Lanes<width>, M, T>(len, items, stop);
    VXM_TALLY_READ(Items, g.first() ? (u32)len : 0);
    return tree<M, T>(g, len, items);
}

// By the warps of a block: each folds a contiguous range (exact monoids), or one segment at a time (inexact ones).
template <class M, class T, class Items, class Stop> VXM_FN Maybe<T> fold(Block g, u64 len, const Items& items, Stop stop) {
    if constexpr (M::exact) {
        const u32 warps = blockDim.x / 32;
        const u64 share = ((len + warps - 1) / warps + 31) / 32 * 32, from = warp() * share;
        Maybe<T> part = nothing<T>();
        if (from < len) part = fold_by_lanes<Warp, M, T>(len - from < share ? len - from : share, items.from(from), stop);
        return join_warps<M>(part, stop);
    } else {
        VXM_TALLY_READ(Items, g.first() ? (u32)len : 0);
        Pairs<M, T> pairs;
        // One segment a warp at a time. The number of warps is a power of two, so the pairs are those of the fixed tree.
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
