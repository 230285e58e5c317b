// Counting products on tensor cores (sm_80 and later), for whole tile-rows and for one vector or 16 at once. Bits become f16 ones and zeros
// in registers. Products are summed in f32, which is exact up to 2^24.
namespace vxm {

// Bits 0 and 1 of x as a pair of f16, each 1.0 or 0.0.
VXM_FN u32 ones(u32 x) { return ((x & 1) | (x & 2) << 15) * 0x3c00u; }

// c += a b, where a is 16 x 16, b is 16 x 8 and c is 16 x 8. Let g = lane / 4 and k = lane % 4. The lane holds these (row, column)
// elements:
// a: (g, 2k), (g + 8, 2k), (g, 2k + 8), (g + 8, 2k + 8), each with its right neighbour;
// b: (2k, g), (2k + 8, g), each with the one below;
// c: (g, 2k), (g, 2k + 1), (g + 8, 2k), (g + 8, 2k + 1).
VXM_FN void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A tile of bits as the operand a. The inner index and the rows may be numbered in any order, if both operands agree. So lane (g, k) reads
// one word, which holds the tile's rows 2g and 2g + 1, and uses them as rows g and g + 8. Its columns 4k to 4k + 3 stand for 2k, 2k + 1, 2k
// + 8, 2k + 9; the vector's slice is numbered likewise.
struct Tile {
    u32 a[4];
    VXM_FN Tile(u32 word) {
        const u32 low = word >> lane() % 4 * 4, high = low >> 16;
        a[0] = ones(low);
        a[1] = ones(high);
        a[2] = ones(low >> 2);
        a[3] = ones(high >> 2);
    }
    VXM_FN void accumulate(float (&c)[4], u32 slice) const {
        const u32 s = slice >> lane() % 4 * 4;
        multiply(c, a, ones(s), ones(s >> 2));
    }
};

// Counts tile-rows, each by `split` warps: those of the list, or, if `list` is null, all that have at most `longest` tiles.
template <class Vectors> struct CountTiles {
    const u32* list;
    u64 count;
    u64 split;
    u64 longest;
    const u64* offsets;
    const u32* columns;
    const u32* bits; // 8 words a tile, each with two rows
    Vectors vectors;
    VXM_FN void run() const {
        for (u64 k = first_of(Warp()); k < count * split; k += step_of(Warp())) {
            const u64 tile_row = list ? list[k / split] : k / split;
            const u64 begin = offsets[tile_row], end = offsets[tile_row + 1];
            if (!list && end - begin > longest) continue;
            float c[2][4] = {};
            for (u64 t = begin + k % split * 32; t < end; t += split * 32) tiles(t, end, c);
            vectors.put(tile_row, c, split > 1);
        }
    }
    // Handles up to 32 tiles. Each lane reads the vector's slice of one tile. Tiles with a nonzero slice are multiplied; their bits are
    // loaded four tiles at a time.
    VXM_FN void tiles(u64 first, u64 end, float (&c)[2][4]) const {
        u32 column = 0, slice = 0;
        if (first + lane() < end) {
            column = columns[first + lane()];
            slice = vectors.slice(column);
        }
        u32 live = __ballot_sync(~0u, slice != 0);
        while (live) {
            u32 at[4];
            for (u32 j = 0; j < 4; j++) {
                at[j] = live ? __ffs(live) - 1 : 32;
                live &= live - 1;
            }
            const u32 quarter = lane() / 8;
            const u32 mine = quarter < 2 ? (quarter == 0 ? at[0] : at[1]) : (quarter == 2 ? at[2] : at[3]);
            const u32 word = mine < 32 ? bits[(first + mine) * 8 + lane() % 8] : 0;
            for (u32 j = 0; j < 4; j++) {
                if (at[j] == 32) break;
                const Tile tile(__shfl_sync(~0u, word, j * 8 + lane() / 4));
                vectors.accumulate(c, j, tile, __shfl_sync(~0u, column, at[j]), __shfl_sync(~0u, slice, at[j]));
            }
        }
    }
};

// Writes a pair of counts. If `shared`, several warps contribute, and it adds to them instead.
template <class C> VXM_FN void put(u32* counts, C x, C y, bool shared) {
    if (shared) {
        if (x != 0) atomicAdd(counts, (u32)x);
        if (y != 0) atomicAdd(counts + 1, (u32)y);
    } else {
        const uint2 both = {(u32)x, (u32)y};
        *(uint2*)counts = both;
    }
}

// Counts the set bits of tiles with one vector, a warp a tile-row. The lane has rows 2g and 2g + 1 of every fourth tile, where g is its number
// by eight. If `split` is above 1, as many warps count a tile-row, and add to its counts.
template <class Vector> struct CountTileBits {
    const u32* list;
    u64 count;
    u64 split;
    u64 longest;
    const u64* offsets;
    const u32* columns;
    const u32* bits; // 8 words a tile, each with two rows
    Vector vector;
    VXM_FN void run() const {
        const u32 batch = 4;
        for (u64 k = first_of(Warp()); k < count * split; k += step_of(Warp())) {
            const u64 tile_row = list ? list[k / split] : k / split;
            const u64 begin = offsets[tile_row], end = offsets[tile_row + 1];
            if (begin == end || (!list && end - begin > longest)) continue;
            u32 low = 0, high = 0;
            for (u64 t = begin + k % split * 4 * batch; t < end; t += split * 4 * batch) {
                u32 slice[batch], word[batch];
#pragma unroll
                for (u32 j = 0; j < batch; j++) {
                    const u64 tile = t + 4 * j + lane() / 8;
                    slice[j] = tile < end ? vector.slice(columns[tile]) : 0;
                }
                // a tile with an empty slice isn't read
#pragma unroll
                for (u32 j = 0; j < batch; j++) word[j] = slice[j] ? bits[(t + 4 * j) * 8 + lane()] : 0;
#pragma unroll
                for (u32 j = 0; j < batch; j++) {
                    low += __popc(word[j] & slice[j]);
                    high += __popc(word[j] >> 16 & slice[j]);
                }
            }
#pragma unroll
            for (u32 step = 8; step < 32; step *= 2) {
                low += __shfl_xor_sync(~0u, low, step);
                high += __shfl_xor_sync(~0u, high, step);
            }
            if (lane() < 8) put(vector.counts + tile_row * 16 + 2 * lane(), low, high, split > 1);
        }
    }
};

// One vector. Its slice is repeated in all eight columns of b, so all columns of c are equal. Two accumulators let multiplications overlap.
struct OneVector {
    const unsigned short* present; // a slice for each tile column; null if all elements are present
    u32* counts;                   // 16 for each tile-row
    VXM_FN u32 slice(u32 column) const { return present ? present[column] : 0xffffu; }
    VXM_FN void accumulate(float (&c)[2][4], u32 j, const Tile& tile, u32, u32 slice) const { tile.accumulate(c[j & 1], slice); }
    VXM_FN void put(u64 tile_row, float (&c)[2][4], bool shared) const {
        if (lane() % 4 == 0)
            vxm::put(counts + tile_row * 16 + lane() / 4 * 2, c[0][0] + c[1][0], c[0][2] + c[1][2], shared);
    }
};

// 16 vectors. The even ones are the columns of one b, the odd ones those of another. So a lane reads the slices of two vectors as one word.
struct ManyVectors {
    const u32* packed; // 8 words for each tile column, each with two slices
    u32* counts;       // `pitch` for each vector
    u64 pitch;
    VXM_FN u32 slice(u32 column) const {
        const uint4* words = (const uint4*)(packed + (u64)column * 8);
        const uint4 x = words[0], y = words[1];
        return x.x | x.y | x.z | x.w | y.x | y.y | y.z | y.w;
    }
    VXM_FN void accumulate(float (&c)[2][4], u32, const Tile& tile, u32 column, u32) const {
        const u32 word = packed[(u64)column * 8 + lane() / 4];
        tile.accumulate(c[0], word & 0xffff);
        tile.accumulate(c[1], word >> 16);
    }
    // In the first c, column 2k is vector 4k and column 2k + 1 is vector 4k + 2. In the second c, they are vectors 4k + 1 and 4k + 3.
    template <class C> VXM_FN void put(u64 tile_row, C (&c)[2][4], bool shared) const {
        u32* place = counts + lane() % 4 * 4 * pitch + tile_row * 16 + lane() / 4 * 2;
        vxm::put(place, c[0][0], c[0][2], shared);
        vxm::put(place + pitch, c[1][0], c[1][2], shared);
        vxm::put(place + 2 * pitch, c[0][1], c[0][3], shared);
        vxm::put(place + 3 * pitch, c[1][1], c[1][3], shared);
    }
};

// Interleaves the presence bits of up to 16 vectors: for each tile column, the slices of all vectors side by side.
struct PackVectors {
    u64 tile_columns;
    u64 count;
    const unsigned short* present[16]; // null if all elements are present
    unsigned short* packed;
    VXM_FN void run() const {
        each_thread(tile_columns * 16, [&](u64 k) {
            const u32 s = k % 16;
            packed[k] = s >= count ? 0 : present[s] ? present[s][k / 16] : 0xffff;
        });
    }
};

} // namespace vxm
