// A matrix as 16 x 16 tiles of bits, read: counted with, and folded with. A tile-row's tiles ascend by column; row r of a tile is a
// word of 16 bits.
namespace vxm {

typedef unsigned short u16;
const u32 SIDE = 16;

// `value` folded `times` times, by doubling; for exact monoids, as Monoid::repeat.
template <class M, class T> VXM_FN T repeat(T value, u32 times) {
    if (M::terminal(value)) return value;
    Maybe<T> total = nothing<T>();
    for (T power = value;; power = M::call(power, power)) {
        Maybe<T> held = {power, true};
        if (times & 1) total = join<M>(total, held);
        times >>= 1;
        if (times == 0) return total.value;
    }
}

// A thread whose row of the leading product was counted already, with its tile-row's others.
struct Tallied {
    static const u32 flight = Thread::flight;
    static const bool staged = false, wide = false, knows = false, watches = false;
    u32 count;
    static VXM_FN bool first() { return true; }
};
VXM_FN Thread alone(Tallied) { return Thread(); }
template <class T> VXM_FN Maybe<T> of_first(Tallied, Maybe<T> x) { return x; }

// A product that only counts: row i is a constant folded as often as its bits and those of the vector's presence meet. `leads` says
// that its rows are those that a terminal may tally.
template <class T, class Add, bool leads> struct Count {
    typedef T Elem;
    static const bool full = false;
    const u16* present; // a slice a tile column; null where all are present
    const u64* offsets;
    const u32* columns;
    const u16* bits;
    u64 constant;
    // Whether one meeting decides.
    VXM_FN bool decides() const { return Add::terminal(element<T>(constant)); }
    VXM_FN u32 slice(u64 t) const { return present ? present[columns[t]] : 0xffffu; }
    // A tile whose slice is empty is not read: where rows are long.
    VXM_FN u32 meet(u64 t, u32 r) const {
        const u32 s = slice(t);
        return s ? __popc(s & bits[t * SIDE + r]) : 0;
    }
    // `once` says that one meeting decides.
    VXM_FN u32 count(Thread, u64 t, u64 end, u32 r, bool once) const {
        u32 count = 0;
        // four at a time, and their bits before it is known whether they are needed, so that the loads overlap
        for (; t + 4 <= end; t += 4) {
            u32 s[4], word[4];
            for (u32 k = 0; k < 4; k++) s[k] = slice(t + k);
            for (u32 k = 0; k < 4; k++) word[k] = bits[(t + k) * SIDE + r];
            for (u32 k = 0; k < 4; k++) count += __popc(s[k] & word[k]);
            if (once && count) return count;
        }
        u32 s[3], word[3];
        for (u32 k = 0; k < 3; k++) s[k] = t + k < end ? slice(t + k) : 0;
        for (u32 k = 0; k < 3; k++) word[k] = t + k < end ? bits[(t + k) * SIDE + r] : 0;
        for (u32 k = 0; k < 3; k++) count += __popc(s[k] & word[k]);
        return count;
    }
    template <class L> VXM_FN u32 count_by_lanes(u64 begin, u64 end, u64 step, u32 r, bool once) const {
        u32 count = 0;
        for (u64 t = begin; t < end; t += step) {
            if (t + L::rank() < end) count += meet(t + L::rank(), r);
            if (once && __any_sync(L::mask(), count)) break;
        }
        return __reduce_add_sync(L::mask(), count);
    }
    template <u32 width> VXM_FN u32 count(Lanes<width>, u64 t, u64 end, u32 r, bool once) const {
        return count_by_lanes<Lanes<width>>(t, end, width, r, once);
    }
    VXM_FN u32 count(Block, u64 t, u64 end, u32 r, bool once) const {
        __shared__ u32 held[32];
        const u32 part = count_by_lanes<Warp>(t + warp() * 32, end, blockDim.x, r, once);
        if (lane() == 0) held[warp()] = part;
        __syncthreads();
        u32 count = 0;
        for (u32 w = 0; w < blockDim.x / 32; w++) count += held[w];
        __syncthreads();
        return count;
    }
    // Eight rows of a tile-row at once: rows 2 k and 2 k + 1 in met[k] and met[k + 4]; 1 for those that meet at all where `once` says that
    // this decides. Several tiles are loaded before the first is used.
    VXM_FN void tally(u64 tile_row, u32 half, bool once, u32 (&met)[8]) const {
        u64 t = offsets[tile_row];
        const u64 end = offsets[tile_row + 1];
        const uint4* words = (const uint4*)bits + half;
        u32 seen[4] = {0, 0, 0, 0};
        if (once && !present) {
            // the first tile decides most rows
            bool open = true;
            for (; open && t < end; t++) {
                take(words[t * 2], 0xffffffffu, seen);
                open = false;
#pragma unroll
                for (u32 k = 0; k < 4; k++) open |= !(seen[k] & 0xffff) || !(seen[k] >> 16);
            }
        }
#pragma unroll
        for (u32 k = 0; k < 8; k++) met[k] = 0;
        const u32 flight = 4;
        for (; t < end && !(once && !present); t += flight) {
            u32 s[flight];
            uint4 word[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                const bool inside = t + k < end;
                s[k] = inside ? slice(t + k) : 0;
                word[k] = inside ? words[(t + k) * 2] : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                const u32 both = s[k] | s[k] << 16;
                if (once) {
                    take(word[k], both, seen);
                } else {
                    const u32 w[4] = {word[k].x & both, word[k].y & both, word[k].z & both, word[k].w & both};
#pragma unroll
                    for (u32 r = 0; r < 4; r++) {
                        met[r] += __popc(w[r] & 0xffff);
                        met[r + 4] += __popc(w[r] >> 16);
                    }
                }
            }
        }
        if (!once) return;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            met[k] = (seen[k] & 0xffff) != 0;
            met[k + 4] = (seen[k] >> 16) != 0;
        }
    }
    static VXM_FN void take(uint4 word, u32 both, u32 (&seen)[4]) {
        seen[0] |= word.x & both;
        seen[1] |= word.y & both;
        seen[2] |= word.z & both;
        seen[3] |= word.w & both;
    }
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        const T value = element<T>(constant);
        u32 met;
        if constexpr (leads && is_same<G, Tallied>::value) met = g.count;
        else met = count(alone(g), offsets[i / SIDE], offsets[i / SIDE + 1], i % SIDE, decides());
        if (met) y = repeat<Add>(value, met);
        return met;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// A kernel that tallies the rows of `lead`: two lanes a tile-row, so that whole tiles are loaded by wide loads, and many are in flight.
template <class Lead> struct Tallying {
    const Lead& lead;
};
// A warp goes through 16 tile-rows, and then through their rows in order; it owns their words of bits.
template <class Lead, class K> VXM_FN void each(Tallying<Lead> tallying, const Range& range, u32* bits, const K& kernel) {
    __shared__ uint4 held[STAGING_WARPS][16 * SIDE / 4];
    const Lead& lead = tallying.lead;
    const bool once = lead.decides();
    u32* counts = (u32*)held[warp()];
    const u64 tile_rows = (range.count + SIDE - 1) / SIDE;
    for (u64 from = first_of(Warp()) * 16; from < tile_rows; from += step_of(Warp()) * 16) {
        u32 met[8];
        const u64 row = from + lane() / 2;
        if (row < tile_rows) {
            lead.tally(row, lane() & 1, once, met);
            held[warp()][lane() * 2] = make_uint4(met[0], met[4], met[1], met[5]);
            held[warp()][lane() * 2 + 1] = make_uint4(met[2], met[6], met[3], met[7]);
        }
        __syncwarp();
        // words of 64 bits are written whole
        const u64 end = (range.count + 63) / 64 * 64;
        for (u64 at = from * SIDE; at < end && at < (from + 16) * SIDE; at += 32) {
            const u64 i = at + lane();
            const Tallied g = {i < range.count ? counts[i - from * SIDE] : 0};
            const bool has = i < range.count && kernel.step(g, (u32)i);
            const u32 now = __ballot_sync(~0u, has);
            if (bits && lane() == 0) bits[at / 32] = now;
        }
        __syncwarp();
    }
}

// The same where the counts are known.
template <class T, class Add> struct Counted {
    typedef T Elem;
    static const bool full = false;
    const u32* counts;
    u64 constant;
    template <class G> VXM_FN bool at(G, u32 i, T& y) const {
        const u32 met = counts[i];
        if (met) y = repeat<Add>(element<T>(constant), met);
        return met;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// Row i folded with a vector, as Pull does. An exact monoid folds tile by tile, and the tiles' folds as a row's positions; an inexact
// one goes over the fixed tree of the row's entries.
template <class V, class A, class T, class Mul, class Add, class Limit> struct PullTiles {
    typedef T Elem;
    static const bool full = false;
    V operand;
    const u64* offsets;
    const u32* columns;
    const u16* bits;
    const A* weights; // 256 a tile
    // The entry at column c of row r of tile t, as far as the limit takes it.
    VXM_FN Maybe<T> item(const Limit& limit, u64 t, u32 r, u32 c) const {
        Maybe<T> product = nothing<T>();
        typename V::Elem x;
        const u32 column = columns[t] * SIDE + c;
        product.present = limit.joins(column) && operand.at(Thread(), column, x) && limit.takes(x);
        if (product.present) product.value = Mul::call(x, weight_at(weights, (t * SIDE + r) * SIDE + c));
        return product;
    }
    VXM_FN Maybe<T> run(const Limit& limit, u64 t, u32 r) const {
        Maybe<T> sum = nothing<T>();
        for (u32 word = bits[t * SIDE + r]; word; word &= word - 1) {
            sum = join<Add>(sum, item(limit, t, r, __ffs(word) - 1));
            if (sum.present && (Add::terminal(sum.value) || limit(sum.value))) break;
        }
        return sum;
    }
    // Calls `piece(t, word, p)` for the entries of tile t at positions p on, cut where a segment ends, and `close()` there.
    template <class Piece, class Close> VXM_FN void segments(u64 begin, u64 end, u32 r, Piece piece, Close close) const {
        u64 p = 0;
        for (u64 t = begin; t < end; t++) {
            u32 word = bits[t * SIDE + r];
            while (word) {
                const u32 room = SEGMENT - (u32)(p % SEGMENT);
                u32 now = word;
                if (__popc(word) > room) {
                    now = 0;
                    for (u32 k = 0; k < room; k++) now |= (word & ~now) & -(word & ~now);
                }
                piece(t, now, p);
                p += __popc(now);
                word &= ~now;
                if (p % SEGMENT == 0) close();
            }
        }
        if (p % SEGMENT) close();
    }
    // By one thread: the lanes in an array.
    VXM_FN Maybe<T> tree(const Limit& limit, Thread, u64 begin, u64 end, u32 r) const {
        Maybe<T> lanes[32];
        Pairs<Add, T> pairs;
        for (u32 l = 0; l < 32; l++) lanes[l] = nothing<T>();
        auto piece = [&](u64 t, u32 word, u64 p) {
            for (; word; word &= word - 1, p++) lanes[p & 31] = join<Add>(lanes[p & 31], item(limit, t, r, __ffs(word) - 1));
        };
        auto close = [&] {
            for (u32 step = 16; step > 0; step /= 2)
                for (u32 l = 0; l < step; l++) {
                    lanes[l] = join<Add>(lanes[l], lanes[l + step]);
                    lanes[l + step] = nothing<T>();
                }
            pairs.add(lanes[0]);
            lanes[0] = nothing<T>();
        };
        segments(begin, end, r, piece, close);
        return pairs.total();
    }
    // By a few lanes each the same: there are 32 to deal to.
    template <u32 width> VXM_FN Maybe<T> tree(const Limit& limit, Lanes<width>, u64 begin, u64 end, u32 r) const {
        return tree(limit, Thread(), begin, end, r);
    }
    // By a warp: position p is lane p % 32's. A tile's row has at most one entry for a lane.
    VXM_FN Maybe<T> tree(const Limit& limit, Warp, u64 begin, u64 end, u32 r) const {
        Maybe<T> sum = nothing<T>();
        Pairs<Add, T> pairs;
        auto piece = [&](u64 t, u32 word, u64 p) {
            const u32 mine = (lane() - (u32)p) & 31;
            if (mine >= __popc(word)) return;
            for (u32 k = 0; k < mine; k++) word &= word - 1;
            sum = join<Add>(sum, item(limit, t, r, __ffs(word) - 1));
        };
        auto close = [&] {
            __syncwarp();
            pairs.add(join_halves<Warp, Add>(sum));
            sum = nothing<T>();
        };
        segments(begin, end, r, piece, close);
        return pairs.total();
    }
    // Each warp of a block the same: segments follow one another, and rounding has an order to keep.
    VXM_FN Maybe<T> tree(const Limit& limit, Block, u64 begin, u64 end, u32 r) const {
        return tree(limit, Warp(), begin, end, r);
    }
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        const u64 begin = offsets[i / SIDE], end = offsets[i / SIDE + 1];
        const u32 r = i % SIDE;
        const Limit limit(g, operand, i);
        Maybe<T> sum;
        if constexpr (Add::exact) {
            const auto tile = [&](u64 k) { return run(limit, begin + k, r); };
            sum = fold<Add, T>(alone(g), end - begin, computed(tile), limit);
        } else {
            sum = tree(limit, alone(g), begin, end, r);
        }
        if (sum.present) y = sum.value;
        return sum.present;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

} // namespace vxm
