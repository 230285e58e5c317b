// Counting over tiles by the 1-bit matrix units of tensor cores (sm_80 to sm_90). One instruction multiplies 16 tiles with their slices of
// the vector, straight from the words that are stored. Its eight columns are eight segments: the tiles of up to eight tile-rows are counted
// together, each in the column of its own tile-row. Tiles with an empty slice are skipped. After tiles.cuh.
namespace vxm {

// c += popc(a & b), where a is 16 x 256 bits, b is 256 x 8 and c is 16 x 8. Let g = lane / 4 and k = lane % 4. The lane holds these parts:
// a: of rows g and g + 8, words k and k + 4 of 32 bits, in the order (g, k), (g + 8, k), (g, k + 4), (g + 8, k + 4);
// b: of column g, words k and k + 4;
// c: (g, 2k), (g, 2k + 1), (g + 8, 2k), (g + 8, 2k + 1).
VXM_FN void multiply_bits(u32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four tiles' words as a lane's part of the operand a. Word g of a tile holds its rows 2g and 2g + 1, which are used as rows g and g + 8.
// The inner index may be numbered in any order, so the lane's four tiles are those that b's column lists in the same places.
struct FourTiles {
    u32 a[4];
    VXM_FN FourTiles(const u32 (&word)[4]) {
        a[0] = __byte_perm(word[0], word[1], 0x5410);
        a[1] = __byte_perm(word[0], word[1], 0x7632);
        a[2] = __byte_perm(word[2], word[3], 0x5410);
        a[3] = __byte_perm(word[2], word[3], 0x7632);
    }
};

// The number of tile-rows that a warp counts together.
[[maybe_unused]] const u32 SEGMENTS = 8;
// A tile that takes part: its number, and its slice of the vector below the number of its segment.
struct LiveTile {
    u32 tile, slice_of;
};

// The counts of up to eight tile-rows, as the matrix units leave them: the lane holds rows 2g and 2g + 1 of segments 2k and 2k + 1.
struct SegmentCounts {
    u32 c[4] = {0, 0, 0, 0};
    // The count of row `row` of a tile-row, from segment `segment`. All lanes must call.
    VXM_FN u32 of(u32 row, u32 segment) const {
        const u32 from = row / 2 * 4 + segment / 2, low = row % 2 * 2;
        const u32 x0 = __shfl_sync(~0u, c[0], from), x1 = __shfl_sync(~0u, c[1], from);
        const u32 x2 = __shfl_sync(~0u, c[2], from), x3 = __shfl_sync(~0u, c[3], from);
        return segment % 2 ? (low ? x3 : x1) : (low ? x2 : x0);
    }
};

// A counting product by 1-bit matrix units. A row that is read alone is counted by popcounts, as by `CountProduct`.
template <class T, class Add, bool is_primary> struct BitTensorProduct : CountProduct<T, Add, is_primary> {
    typedef CountProduct<T, Add, is_primary> Base;
    // The tiles that wait to be multiplied, of each warp of a block of `THREADS` threads.
    static VXM_FN LiveTile* queue() {
        __shared__ LiveTile all[8][48];
        return all[warp()];
    }
    // Multiplies up to 16 waiting tiles, from number `from` on.
    VXM_FN void multiply(SegmentCounts& counts, const LiveTile* waiting, u32 from, u32 count) const {
        const u32 g = lane() / 4, first = lane() % 4 * 4;
        u32 word[4], slice[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            const bool inside = first + j < count;
            const LiveTile tile = waiting[inside ? from + first + j : from];
            word[j] = inside ? ((const u32*)this->bits)[(u64)tile.tile * 8 + g] : 0;
            slice[j] = inside && tile.slice_of >> 16 == g ? tile.slice_of & 0xffff : 0;
        }
        multiply_bits(counts.c, FourTiles(word).a, slice[0] | slice[1] << 16, slice[2] | slice[3] << 16);
    }
    // Counts up to eight tile-rows. The lanes 4n to 4n + 3 pass the tiles of segment n: `begin` to `end`.
    VXM_FN SegmentCounts count_segments(u64 begin, u64 end) const {
        SegmentCounts counts;
        LiveTile* waiting = queue();
        // the tiles of all segments are numbered one after another: `until` is the number after this segment's last
        u32 until = (u32)(end - begin);
#pragma unroll
        for (u32 step = 4; step < 32; step *= 2) {
            const u32 other = __shfl_up_sync(~0u, until, step);
            if (lane() >= step) until += other;
        }
        const u64 shift = end - until; // a tile's number plus this is its place
        const u32 all = __shfl_sync(~0u, until, 31);
        u32 queued = 0;
        for (u32 from = 0; from < all; from += 32) {
            const u32 p = from + lane();
            u32 segment = 0;
#pragma unroll
            for (u32 s = 0; s < SEGMENTS - 1; s++) segment += p >= __shfl_sync(~0u, until, 4 * s);
            const u64 tile = p + __shfl_sync(~0u, shift, 4 * segment);
            const u32 slice = p < all ? this->slice(tile) : 0;
            const u32 live = __ballot_sync(~0u, slice != 0);
            if (slice) waiting[queued + __popc(live & ((1u << lane()) - 1))] = {(u32)tile, segment << 16 | slice};
            queued += __popc(live);
            __syncwarp();
            u32 done = 0;
            for (; queued - done >= 16; done += 16) multiply(counts, waiting, done, 16);
            // what is left moves to the front
            const LiveTile left = waiting[done + lane() % 16];
            __syncwarp();
            if (lane() < queued - done) waiting[lane()] = left;
            queued -= done;
            __syncwarp();
        }
        if (queued > 0) multiply(counts, waiting, 0, queued);
        __syncwarp();
        return counts;
    }
    // Counts eight adjacent tile-rows; `begin` and `end` are the tiles of the lane's segment. Neither a queue nor a
    // search is needed, and loads of several tiles overlap.
    VXM_FN SegmentCounts count_adjacent(u64 begin, u64 end) const {
        SegmentCounts counts;
        const u32 g = lane() / 4;
        const u64 all = __shfl_sync(~0u, end, 31);
        const u32* words = (const u32*)this->bits;
        const u64 base = __shfl_sync(~0u, begin, 0);
        const u32 length = (u32)(all - base), from = (u32)(begin - base), until = (u32)(end - base);
        words += base * 8 + g;
        const u32* own_columns = this->columns + base;
        const u32 batches = 2;
        for (u32 t = lane() % 4 * 4; t - lane() % 4 * 4 < length; t += 16 * batches) {
            u32 word[batches][4], slice[batches][4];
#pragma unroll
            for (u32 b = 0; b < batches; b++)
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    const u32 place = t + 16 * b + j;
                    slice[b][j] = place >= from && place < until ? own_columns[place] : ~0u;
                    word[b][j] = place < length ? words[place * 8] : 0;
                }
#pragma unroll
            for (u32 b = 0; b < batches; b++)
#pragma unroll
                for (u32 j = 0; j < 4; j++)
                    slice[b][j] = slice[b][j] == ~0u ? 0 : this->present ? this->present[slice[b][j]] : 0xffffu;
#pragma unroll
            for (u32 b = 0; b < batches; b++)
                multiply_bits(counts.c, FourTiles(word[b]).a, slice[b][0] | slice[b][1] << 16, slice[b][2] | slice[b][3] << 16);
        }
        return counts;
    }
    // The count of row `i` of each lane with `wanted`. Lanes with adjacent rows should be adjacent.
    VXM_FN u32 count_rows(u32 i, bool wanted) const {
        __shared__ u32 rows_of[8][SEGMENTS];
        const u32 tile_row = i / SIDE;
        u32 count = 0;
        for (u32 todo = __ballot_sync(~0u, wanted); todo;) {
            // the segments are the tile-rows of the lanes that are left, each taken once if its lanes are adjacent
            const u32 before = todo & ((1u << lane()) - 1);
            const u32 last = __shfl_sync(~0u, tile_row, before ? 31 - __clz(before) : 0);
            const bool waits = todo >> lane() & 1, opens = waits && (!before || last != tile_row);
            const u32 heads = __ballot_sync(~0u, opens), segment = __popc(heads & (2u << lane()) - 1) - 1;
            if (opens && segment < SEGMENTS) rows_of[warp()][segment] = tile_row;
            __syncwarp();
            const u32 mine = lane() / 4;
            u64 begin = 0, end = 0;
            if (mine < __popc(heads)) {
                const u32 row = rows_of[warp()][mine];
                begin = this->offsets[row], end = this->offsets[row + 1];
            }
            VXM_TALLY(tiles, lane() % 4 == 0 ? (u32)(end - begin) : 0);
            const SegmentCounts counts = count_segments(begin, end);
            const bool counted = waits && segment < SEGMENTS;
            const u32 found = counts.of(i % SIDE, segment % SEGMENTS);
            if (counted) count = found;
            todo &= ~__ballot_sync(~0u, counted);
        }
        return count;
    }
};

// The group of a kernel that counts the rows of the primary product by 1-bit matrix units, eight tile-rows at a time.
template <class Primary> struct TileRowMultiplying {
    const Primary& primary;
};
// A warp counts eight tile-rows, then handles their rows in order. It owns their words of bits.
template <class Primary, class K>
VXM_FN void each(TileRowMultiplying<Primary> multiplying, const Range& range, u32* bits, const K& kernel) {
    const Primary& primary = multiplying.primary;
    const u64 tile_rows = (range.count + SIDE - 1) / SIDE;
    for (u64 from = first_of(Warp()) * SEGMENTS; from < tile_rows; from += step_of(Warp()) * SEGMENTS) {
        const u64 row = from + lane() / 4;
        // beyond the last tile-row, segments are empty
        const u64 begin = primary.offsets[row < tile_rows ? row : tile_rows], stop = primary.offsets[row < tile_rows ? row + 1 : tile_rows];
        const SegmentCounts counts = primary.count_adjacent(begin, stop);
        // bitmaps consist of 64-bit words, which are written whole
        const u64 end = (range.count + 63) / 64 * 64;
#pragma unroll
        for (u32 k = 0; k < SEGMENTS / 2; k++) {
            const u64 i = from * SIDE + k * 32 + lane();
            const CountedRow g = {counts.of(lane() % SIDE, k * 2 + lane() / SIDE)};
            if (i - lane() >= end) break;
            const bool has = i < range.count && kernel.step(g, (u32)i);
            const u32 now = __ballot_sync(~0u, has);
            if (bits && lane() == 0) bits[i / 32] = now;
        }
    }
}

// 16 vectors at once: the columns of two products are the vectors, the even ones first. A warp counts a tile-row, 16 tiles at a time.
template <class Vectors> struct MultiplyTiles {
    const u32* list;
    u64 count;
    u64 split;
    u64 longest;
    const u64* offsets;
    const u32* columns;
    const u32* bits; // 8 words a tile, each with two rows
    Vectors vectors;
    VXM_FN void run() const {
        const u32 g = lane() / 4, first = lane() % 4 * 4;
        for (u64 k = first_of(Warp()); k < count * split; k += step_of(Warp())) {
            const u64 tile_row = list ? list[k / split] : k / split;
            const u64 begin = offsets[tile_row], end = offsets[tile_row + 1];
            if (!list && end - begin > longest) continue;
            u32 c[2][4] = {};
            for (u64 t = begin + k % split * 16; t < end; t += split * 16) {
                u32 column[4], word[4], packed[4];
#pragma unroll
                for (u32 j = 0; j < 4; j++) column[j] = t + first + j < end ? columns[t + first + j] : ~0u;
#pragma unroll
                for (u32 j = 0; j < 4; j++) packed[j] = column[j] != ~0u ? vectors.packed[(u64)column[j] * 8 + g] : 0;
                // a tile is read only if some vector has an element in its columns
                u32 live = 0;
#pragma unroll
                for (u32 j = 0; j < 4; j++) live |= (packed[j] != 0) << j;
#pragma unroll
                for (u32 step = 4; step < 32; step *= 2) live |= __shfl_xor_sync(~0u, live, step);
#pragma unroll
                for (u32 j = 0; j < 4; j++) word[j] = live >> j & 1 ? bits[(t + first + j) * 8 + g] : 0;
                const FourTiles tiles(word);
                multiply_bits(c[0], tiles.a, __byte_perm(packed[0], packed[1], 0x5410), __byte_perm(packed[2], packed[3], 0x5410));
                multiply_bits(c[1], tiles.a, __byte_perm(packed[0], packed[1], 0x7632), __byte_perm(packed[2], packed[3], 0x7632));
            }
            vectors.put(tile_row, c, split > 1);
        }
    }
};

// Bits k, k + 4, ..., k + 28 of a word, side by side but one place apart: bit 4 g + k goes to place 2 g.
VXM_FN u32 every_fourth(u32 word, u32 k) {
    u32 x = word >> k & 0x11111111u;
    x = (x | x >> 2) & 0x05050505u;
    x = (x | x >> 4) & 0x00550055u;
    return (x | x >> 8) & 0x5555u;
}
// Multiplies with up to 16 vectors, where no tile-row is long. A warp counts four adjacent tile-rows at once: it reads their tiles 16 at a
// time, and multiplies them once for each tile-row, with the slices of the other tile-rows' tiles left out.
template <class Results> struct MultiplyTileRows {
    u64 count; // the number of tile-rows
    const u64* offsets;
    const u32* columns;
    const u32* bits; // 8 words a tile, each with two rows
    Results results;
    VXM_FN void run() const {
        const u32 rows = 4, g = lane() / 4, first = lane() % 4 * 4;
        for (u64 row = first_of(Warp()) * rows; row < count; row += step_of(Warp()) * rows) {
            const u64 mine = row + lane() < count ? row + lane() : count;
            const u64 offset = lane() <= rows ? offsets[mine] : 0;
            const u64 base = __shfl_sync(~0u, offset, 0);
            u32 end[rows + 1];
#pragma unroll
            for (u32 r = 0; r <= rows; r++) end[r] = (u32)(__shfl_sync(~0u, offset, r) - base);
            const u32* words = bits + base * 8 + g;
            u32 c[rows][2][4] = {};
            for (u32 t = first; t - first < end[rows]; t += 16) {
                u32 packed[4], word[4];
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    const bool inside = t + j < end[rows];
                    word[j] = inside ? words[(t + j) * 8] : 0;
                    packed[j] = inside ? columns[base + t + j] : ~0u;
                }
#pragma unroll
                for (u32 j = 0; j < 4; j++) packed[j] = packed[j] == ~0u ? 0 : results.packed[(u64)packed[j] * 8 + g];
                const FourTiles tiles(word);
#pragma unroll
                for (u32 r = 0; r < rows; r++) {
                    u32 slice[4];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) slice[j] = t + j >= end[r] && t + j < end[r + 1] ? packed[j] : 0;
                    multiply_bits(c[r][0], tiles.a, __byte_perm(slice[0], slice[1], 0x5410), __byte_perm(slice[2], slice[3], 0x5410));
                    multiply_bits(c[r][1], tiles.a, __byte_perm(slice[0], slice[1], 0x7632), __byte_perm(slice[2], slice[3], 0x7632));
                }
            }
#pragma unroll
            for (u32 r = 0; r < rows; r++)
                if (row + r < count) results.put(row + r, c[r]);
        }
    }
};
// The results of up to 16 vectors: the counts, and a bitmap of those that are not 0.
struct ManyResults {
    const u32* packed; // 8 words for each tile column, each with two slices
    u64 count;         // the number of vectors
    u64 rows;
    u64 bitmap; // the length of a bitmap, in parts of 16 bits
    u32* values[16];
    unsigned short* present[16];
    // In the first c, column 2k is vector 4k and column 2k + 1 is vector 4k + 2. In the second c, they are vectors 4k + 1 and 4k + 3.
    VXM_FN void put(u64 tile_row, u32 (&c)[2][4]) const {
        const u32 g = lane() / 4, k = lane() % 4;
        const u64 row = tile_row * 16 + 2 * g;
#pragma unroll
        for (u32 part = 0; part < 4; part++) {
            const u32 v = 4 * k + part, low = c[part % 2][part / 2], high = c[part % 2][part / 2 + 2];
            const u32 even = __ballot_sync(~0u, low != 0), odd = __ballot_sync(~0u, high != 0);
            if (v >= count) continue;
            if (row + 1 < rows) {
                const uint2 both = {low, high};
                *(uint2*)(values[v] + row) = both;
            } else if (row < rows) {
                values[v][row] = low;
            }
            if (g > 0) continue;
            present[v][tile_row] = (unsigned short)(every_fourth(even, k) | every_fourth(odd, k) << 1);
            // a bitmap consists of words of 64 bits, which are written whole
            if (tile_row * 16 + 16 >= rows)
                for (u64 rest = tile_row + 1; rest < bitmap; rest++) present[v][rest] = 0;
        }
    }
};

} // namespace vxm
