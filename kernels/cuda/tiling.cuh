// Makes 16 x 16 tiles from compressed rows. Half a warp merges the 16 rows of a tile-row, one lane a row. The least tile column in which
// some row has entries left is the next tile, and each lane gathers its row's 16-bit word of it. So tiles come out in order, and each word
// is written once.
//
// Tiles with fewer than `least` entries aren't made: their entries are written as compressed rows.
namespace vxm {

template <class A> struct MakeTiles {
    const u64* offsets;
    const u32* columns;
    const A* weights;
    u64 rows;
    u64 tile_rows;
    u64 tile_columns;
    u64 parts;         // half-warps for each tile-row; each handles a range of tile columns
    u64* sums;         // a part's number of tiles, written at part + 1; running sums in the filling pass
    u64* tile_offsets; // null if `parts` is 1: then `sums` already are the offsets
    u32* tile_column;
    unsigned short* bits;
    A* tile_weights; // 256 for each tile, zero before
    u64 least;
    u64* rest_sums;    // of each part of each row, the number of entries that are in no tile, as `sums`
    u64* rest_offsets; // null if `parts` is 1: then `rest_sums` already are the offsets
    u32* rest_columns;
    static const u32 none = ~0u;

    // The position of a row's first entry at tile column `from` or after.
    VXM_FN u64 find(u64 row, u64 from) const {
        u64 low = offsets[row], high = offsets[row + 1];
        if (from == 0) return low;
        if (from >= tile_columns) return high;
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (columns[middle] / 16 < from) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    template <class Use> VXM_FN void each_part(Use use) const {
        const u64 part_width = (tile_columns + parts - 1) / parts;
        const u32 r = lane() & 15;
        for (u64 first = 2 * first_of(Warp()); first < tile_rows * parts; first += 2 * step_of(Warp())) {
            const u64 k = first + lane() / 16, row = k / parts * 16 + r, part = k % parts;
            u64 p = 0, end = 0;
            if (k < tile_rows * parts && row < rows) {
                p = find(row, part * part_width);
                end = find(row, (part + 1) * part_width);
            }
            u64 made = 0, left = 0;
            for (;;) {
                u32 next = p < end ? columns[p] / 16 : none;
                for (u32 step = 8; step > 0; step /= 2) {
                    const u32 other = __shfl_xor_sync(~0u, next, step);
                    next = other < next ? other : next;
                }
                if (__all_sync(~0u, next == none)) break;
                u32 word = 0;
                for (; p < end && columns[p] / 16 == next; p++) {
                    word |= 1u << columns[p] % 16;
                    // weights are written at once, so they can't be those of a tile that isn't made
                    if (least <= 1) use.entry(*this, k, made, r * 16 + columns[p] % 16, p);
                }
                if (least > 1) {
                    u32 fill = __popc(word);
                    for (u32 step = 8; step > 0; step /= 2) fill += __shfl_xor_sync(~0u, fill, step);
                    if (fill < least) {
                        if (next != none) use.rest(*this, row * parts + part, left, next, word);
                        left += __popc(word);
                        continue;
                    }
                }
                if (next == none) continue;
                use.tile(*this, k, made, r, next, word);
                made++;
            }
            if (r == 0 && k < tile_rows * parts) use.part(*this, k, made);
            if (least > 1 && k < tile_rows * parts && row < rows) use.rest_part(*this, row, part, left);
        }
    }
    struct Count {
        VXM_FN void entry(const MakeTiles&, u64, u64, u32, u64) const {}
        VXM_FN void tile(const MakeTiles&, u64, u64, u32, u32, u32) const {}
        VXM_FN void part(const MakeTiles& m, u64 k, u64 made) const { m.sums[k + 1] = made; }
        VXM_FN void rest(const MakeTiles&, u64, u64, u32, u32) const {}
        VXM_FN void rest_part(const MakeTiles& m, u64 row, u64 part, u64 left) const { m.rest_sums[row * m.parts + part + 1] = left; }
    };
    struct Fill {
        VXM_FN void entry(const MakeTiles& m, u64 k, u64 made, u32 place, u64 p) const {
            copy_entry(m.tile_weights, (m.sums[k] + made) * 256 + place, m.weights, p);
        }
        VXM_FN void tile(const MakeTiles& m, u64 k, u64 made, u32 r, u32 column, u32 word) const {
            const u64 t = m.sums[k] + made;
            m.bits[t * 16 + r] = (unsigned short)word;
            if (r == 0) m.tile_column[t] = column;
        }
        VXM_FN void part(const MakeTiles& m, u64 k, u64) const {
            if (!m.tile_offsets) return;
            if (k % m.parts == 0) m.tile_offsets[k / m.parts] = m.sums[k];
            if (k + 1 == m.tile_rows * m.parts) m.tile_offsets[m.tile_rows] = m.sums[k + 1];
        }
        VXM_FN void rest(const MakeTiles& m, u64 k, u64 left, u32 column, u32 word) const {
            for (u64 p = m.rest_sums[k] + left; word; word &= word - 1) m.rest_columns[p++] = column * 16 + __ffs(word) - 1;
        }
        VXM_FN void rest_part(const MakeTiles& m, u64 row, u64 part, u64) const {
            if (!m.rest_offsets) return;
            if (part == 0) m.rest_offsets[row] = m.rest_sums[row * m.parts];
            if (row + 1 == m.rows && part + 1 == m.parts) m.rest_offsets[m.rows] = m.rest_sums[m.rows * m.parts];
        }
    };
    VXM_FN void run(Counting) const { each_part(Count()); }
    VXM_FN void run(Filling) const { each_part(Fill()); }
};

} // namespace vxm
