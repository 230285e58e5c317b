// Products over 16 x 16 tiles of bits: counting and folding. The tiles of a tile-row ascend by column. Row r of a tile is a 16-bit word.
namespace vxm {

typedef unsigned short u16;
const u32 SIDE = 16;

// `value` folded with itself `times` times, by doubling. For exact monoids; the same as Monoid::repeat.
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

// A thread with a row of the primary product that was counted before, together with the rest of its tile-row.
struct CountedRow {
    static const u32 unroll = Thread::unroll;
    static const bool staged = false, wide = false, has_own_state = false, records_blockers = false;
    u32 count;
    static VXM_FN bool first() { return true; }
};
VXM_FN Thread unstaged(CountedRow) { return Thread(); }
template <class T> VXM_FN Maybe<T> from_first(CountedRow, Maybe<T> x) { return x; }

template <> struct KnowsCount<CountedRow> {
    static const bool value = true;
};

// A product that only counts. Let n be the number of columns in which both row i and the vector have an element. Element i is a constant
// folded n times. `is_primary` says that a terminal may count its rows by whole tile-rows.
template <class T, class Add, bool is_primary> struct CountProduct {
    typedef T Elem;
    static const bool full = false;
    const u16* present; // the vector's presence bits, 16 for each tile column; null if all are present
    const u64* offsets;
    const u32* columns;
    const u16* bits;
    Bits<T> constant;
    // Whether a single hit decides the result, because the constant is the monoid's terminal value.
    VXM_FN bool decides() const { return Add::terminal(element<T>(constant)); }
    VXM_FN u32 slice(u64 t) const { return present ? present[columns[t]] : 0xffffu; }
    // Hits in tile t of row r. If the vector's slice is empty, the tile isn't read. Used for long rows.
    VXM_FN u32 hits_in(u64 t, u32 r) const {
        const u32 s = slice(t);
        VXM_TALLY(tiles, 1);
        VXM_TALLY(useful_tiles, bits[t * SIDE + r] != 0);
        return s ? __popc(s & bits[t * SIDE + r]) : 0;
    }
    // Counts the hits of row r in tiles t .. end. `one_decides` says that one hit is enough.
    VXM_FN u32 count(Thread, u64 t, u64 end, u32 r, bool one_decides) const {
        u32 count = 0;
        // four tiles at a time; their bits are loaded before it is known whether they are needed, so that the loads overlap
        for (; t + 4 <= end; t += 4) {
            u32 s[4], word[4];
            for (u32 k = 0; k < 4; k++) s[k] = slice(t + k);
            for (u32 k = 0; k < 4; k++) word[k] = bits[(t + k) * SIDE + r];
            for (u32 k = 0; k < 4; k++) count += __popc(s[k] & word[k]);
            VXM_TALLY(tiles, 4);
            VXM_TALLY(useful_tiles, (word[0] != 0) + (word[1] != 0) + (word[2] != 0) + (word[3] != 0));
            if (one_decides && count) return count;
        }
        u32 s[3], word[3];
        for (u32 k = 0; k < 3; k++) s[k] = t + k < end ? slice(t + k) : 0;
        for (u32 k = 0; k < 3; k++) word[k] = t + k < end ? bits[(t + k) * SIDE + r] : 0;
        for (u32 k = 0; k < 3; k++) count += __popc(s[k] & word[k]);
        VXM_TALLY(tiles, t < end ? (u32)(end - t) : 0);
        VXM_TALLY(useful_tiles, (word[0] != 0) + (word[1] != 0) + (word[2] != 0));
        return count;
    }
    template <class L> VXM_FN u32 count_by_lanes(u64 begin, u64 end, u64 step, u32 r, bool one_decides) const {
        u32 count = 0;
        for (u64 t = begin; t < end; t += step) {
            if (t + L::rank() < end) count += hits_in(t + L::rank(), r);
            if (one_decides && __any_sync(L::mask(), count)) break;
        }
        return __reduce_add_sync(L::mask(), count);
    }
    template <u32 width> VXM_FN u32 count(Lanes<width>, u64 t, u64 end, u32 r, bool one_decides) const {
        return count_by_lanes<Lanes<width>>(t, end, width, r, one_decides);
    }
    VXM_FN u32 count(Block, u64 t, u64 end, u32 r, bool one_decides) const {
        __shared__ u32 held[32];
        const u32 part = count_by_lanes<Warp>(t + warp() * 32, end, blockDim.x, r, one_decides);
        if (lane() == 0) held[warp()] = part;
        __syncthreads();
        u32 count = 0;
        for (u32 w = 0; w < blockDim.x / 32; w++) count += held[w];
        __syncthreads();
        return count;
    }
    // Counts eight rows of a tile-row at once, those of its lower or upper `half`. Rows 2k and 2k + 1 of the half go to hits[k] and hits[k
    // + 4]. If `one_decides`, each is 0 or 1. Several tiles are loaded before the first is used.
    VXM_FN void count_tile_row(u64 tile_row, u32 half, bool one_decides, u32 (&hits)[8]) const {
        u64 t = offsets[tile_row];
        const u64 end = offsets[tile_row + 1];
        VXM_TALLY(tiles, half ? 0 : (u32)(end - t));
        const uint4* words = (const uint4*)bits + half;
        u32 seen[4] = {0, 0, 0, 0};
        if (one_decides && !present) {
            // every set bit is a hit, so the first tile decides most rows
            bool open = true;
            for (; open && t < end; t++) {
                accumulate(words[t * 2], 0xffffffffu, seen);
                open = false;
#pragma unroll
                for (u32 k = 0; k < 4; k++) open |= !(seen[k] & 0xffff) || !(seen[k] >> 16);
            }
        }
#pragma unroll
        for (u32 k = 0; k < 8; k++) hits[k] = 0;
        const u32 unroll = 4;
        for (; t < end && !(one_decides && !present); t += unroll) {
            u32 s[unroll];
            uint4 word[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                const bool inside = t + k < end;
                s[k] = inside ? slice(t + k) : 0;
                word[k] = inside ? words[(t + k) * 2] : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                const u32 both = s[k] | s[k] << 16;
                if (one_decides) {
                    accumulate(word[k], both, seen);
                } else {
                    const u32 w[4] = {word[k].x & both, word[k].y & both, word[k].z & both, word[k].w & both};
#pragma unroll
                    for (u32 r = 0; r < 4; r++) {
                        hits[r] += __popc(w[r] & 0xffff);
                        hits[r + 4] += __popc(w[r] >> 16);
                    }
                }
            }
        }
        if (!one_decides) return;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            hits[k] = (seen[k] & 0xffff) != 0;
            hits[k + 4] = (seen[k] >> 16) != 0;
        }
    }
    static VXM_FN void accumulate(uint4 word, u32 both, u32 (&seen)[4]) {
        seen[0] |= word.x & both;
        seen[1] |= word.y & both;
        seen[2] |= word.z & both;
        seen[3] |= word.w & both;
    }
    // The hits of row i, which may have been counted before.
    template <class G> VXM_FN u32 hits_of(G g, u32 i) const {
        if constexpr (is_primary && KnowsCount<G>::value) return g.count;
        else return count(unstaged(g), offsets[i / SIDE], offsets[i / SIDE + 1], i % SIDE, decides());
    }
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        const u32 hits = hits_of(g, i);
        if (hits) y = repeat<Add>(element<T>(constant), hits);
        return hits;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// The same over tiles with many entries, and over rows of the other entries, which are few.
template <class T, class Add, bool is_primary, class Offset> struct CountHybrid : CountProduct<T, Add, is_primary> {
    const Offset* rest_offsets;
    const u32* rest_columns;
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        u32 hits = this->hits_of(g, i);
        const u16* present = this->present;
        if (!(hits && this->decides()))
            for (Offset p = rest_offsets[i]; p < rest_offsets[i + 1]; p++) {
                const u32 column = rest_columns[p];
                hits += present ? present[column / SIDE] >> column % SIDE & 1 : 1;
            }
        if (hits) y = repeat<Add>(element<T>(this->constant), hits);
        return hits;
    }
};

// The group of a kernel that counts the rows of the primary product by tile-rows. Two lanes share a tile-row, so that tiles are read by
// wide loads and many loads are in flight.
template <class Primary> struct TileRowCounting {
    const Primary& primary;
};
// A warp counts 16 tile-rows, then handles their rows in order. It owns their words of bits.
template <class Primary, class K> VXM_FN void each(TileRowCounting<Primary> counting, const Range& range, u32* bits, const K& kernel) {
    __shared__ uint4 held[Config::staging_warps][16 * SIDE / 4];
    const Primary& primary = counting.primary;
    const bool one_decides = primary.decides();
    u32* counts = (u32*)held[warp()];
    const u64 tile_rows = (range.count + SIDE - 1) / SIDE;
    for (u64 from = first_of(Warp()) * 16; from < tile_rows; from += step_of(Warp()) * 16) {
        u32 hits[8];
        const u64 row = from + lane() / 2;
        if (row < tile_rows) {
            primary.count_tile_row(row, lane() & 1, one_decides, hits);
            held[warp()][lane() * 2] = make_uint4(hits[0], hits[4], hits[1], hits[5]);
            held[warp()][lane() * 2 + 1] = make_uint4(hits[2], hits[6], hits[3], hits[7]);
        }
        __syncwarp();
        // bitmaps consist of 64-bit words, which are written whole
        const u64 end = (range.count + 63) / 64 * 64;
        for (u64 at = from * SIDE; at < end && at < (from + 16) * SIDE; at += 32) {
            const u64 i = at + lane();
            const CountedRow g = {i < range.count ? counts[i - from * SIDE] : 0};
            const bool has = i < range.count && kernel.step(g, (u32)i);
            const u32 now = __ballot_sync(~0u, has);
            if (bits && lane() == 0) bits[at / 32] = now;
        }
        __syncwarp();
    }
}

// A counting product with counts that were computed before.
template <class T, class Add> struct KnownCounts {
    typedef T Elem;
    static const bool full = false;
    const u32* counts;
    Bits<T> constant;
    template <class G> VXM_FN bool at(G, u32 i, T& y) const {
        const u32 hits = counts[i];
        if (hits) y = repeat<Add>(element<T>(constant), hits);
        return hits;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// Row i folded with a vector, as by Pull. An exact monoid folds each tile, and then the tiles' results as if they were a row's entries. An
// inexact one folds over the fixed tree of the row's entries.
template <class V, class A, class Ring, class Policy> struct PullTiles {
    typedef typename Ring::Result T;
    typedef typename Ring::Multiply Mul;
    typedef typename Ring::Monoid Add;
    typedef T Elem;
    static const bool full = false;
    V operand;
    const u64* offsets;
    const u32* columns;
    const u16* bits;
    const A* weights; // 256 for each tile
    // The product of the entry at column c of row r of tile t; absent if the edge policy or the vector leaves it out.
    VXM_FN Maybe<T> item(const Policy& policy, u64 t, u32 r, u32 c) const {
        Maybe<T> product = nothing<T>();
        typename V::Elem x;
        const u32 column = columns[t] * SIDE + c;
        product.present = policy.key_passes(column) && operand.at(Thread(), column, x) && policy.state_passes(x);
        if (product.present) product.value = Mul::call(x, weight_at(weights, (t * SIDE + r) * SIDE + c));
        return product;
    }
    VXM_FN Maybe<T> run(const Policy& policy, u64 t, u32 r) const {
        Maybe<T> sum = nothing<T>();
        for (u32 word = bits[t * SIDE + r]; word; word &= word - 1) {
            sum = join<Add>(sum, item(policy, t, r, __ffs(word) - 1));
            if (sum.present && (Add::terminal(sum.value) || policy(sum.value))) break;
        }
        return sum;
    }
    // Calls `chunk(t, word, p)` for the entries of each tile. The set bits of `word` are entries of tile t at positions p, p + 1, ... of
    // the row. Chunks are cut where a segment of the fixed tree ends, and `close()` is called there.
    template <class Chunk, class Close> VXM_FN void segments(u64 begin, u64 end, u32 r, Chunk chunk, Close close) const {
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
                chunk(t, now, p);
                p += __popc(now);
                word &= ~now;
                if (p % SEGMENT == 0) close();
            }
        }
        if (p % SEGMENT) close();
    }
    // By one thread, which keeps the tree's 32 lanes in an array.
    VXM_FN Maybe<T> tree(const Policy& policy, Thread, u64 begin, u64 end, u32 r) const {
        Maybe<T> lanes[32];
        Pairs<Add, T> pairs;
        for (u32 l = 0; l < 32; l++) lanes[l] = nothing<T>();
        auto chunk = [&](u64 t, u32 word, u64 p) {
            for (; word; word &= word - 1, p++) lanes[p & 31] = join<Add>(lanes[p & 31], item(policy, t, r, __ffs(word) - 1));
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
        segments(begin, end, r, chunk, close);
        return pairs.total();
    }
    // By a few lanes, each of which computes the whole fold, since the fixed tree assigns positions to 32 lanes.
    template <u32 width> VXM_FN Maybe<T> tree(const Policy& policy, Lanes<width>, u64 begin, u64 end, u32 r) const {
        return tree(policy, Thread(), begin, end, r);
    }
    // By a warp: position p belongs to lane p % 32. A tile's row has at most 16 entries, so at most one for each lane.
    VXM_FN Maybe<T> tree(const Policy& policy, Warp, u64 begin, u64 end, u32 r) const {
        Maybe<T> sum = nothing<T>();
        Pairs<Add, T> pairs;
        auto chunk = [&](u64 t, u32 word, u64 p) {
            const u32 mine = (lane() - (u32)p) & 31;
            if (mine >= __popc(word)) return;
            for (u32 k = 0; k < mine; k++) word &= word - 1;
            sum = join<Add>(sum, item(policy, t, r, __ffs(word) - 1));
        };
        auto close = [&] {
            __syncwarp();
            pairs.add(join_halves<Warp, Add>(sum));
            sum = nothing<T>();
        };
        segments(begin, end, r, chunk, close);
        return pairs.total();
    }
    // By a block, each warp of which computes the whole fold: where a segment begins is known only once all tiles before it are counted.
    VXM_FN Maybe<T> tree(const Policy& policy, Block, u64 begin, u64 end, u32 r) const {
        return tree(policy, Warp(), begin, end, r);
    }
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        const u64 begin = offsets[i / SIDE], end = offsets[i / SIDE + 1];
        const u32 r = i % SIDE;
        const Policy policy(g, operand, i);
        Maybe<T> sum;
        if constexpr (Add::exact) {
            const auto tile = [&](u64 k) { return run(policy, begin + k, r); };
            sum = fold<Add, T>(unstaged(g), end - begin, computed(tile), policy);
        } else {
            sum = tree(policy, unstaged(g), begin, end, r);
        }
        if (sum.present) y = sum.value;
        return sum.present;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

} // namespace vxm
