// Builds the bins of propagation blocking: estimates whether they pay, cuts rows into chunks, bins the entries, and schedules the bins.
namespace vxm {

[[maybe_unused]] const u32 MAX_COLUMN_CHUNKS = 1024; // at most
[[maybe_unused]] const u32 LINE = 32;                // elements of a cache line
[[maybe_unused]] const u32 SAMPLE_SLOTS = 4096;

// Counts the distinct cache lines of a vector that each of some samples of consecutive entries reads, and adds them up in `lines`. `slots`
// is a hash set of the lines of one sample.
struct CountLines {
    const u32* columns;
    u64 entries;
    u64 samples;
    u64* lines;
    VXM_FN void run() const {
        __shared__ u32 slots[SAMPLE_SLOTS];
        for (u64 w = blockIdx.x; w < samples; w += gridDim.x) {
            for (u32 s = threadIdx.x; s < SAMPLE_SLOTS; s += blockDim.x) slots[s] = ~0u;
            __syncthreads();
            u32 found = 0;
            const u64 first = entries / samples * w;
            for (u32 e = threadIdx.x; e < Config::bin_sample; e += blockDim.x) {
                const u32 line = columns[first + e] / LINE;
                u32 slot = line * 0x9e3779b9u >> 20;
                while (true) {
                    const u32 held = atomicCAS(slots + slot, ~0u, line);
                    found += held == ~0u;
                    if (held == ~0u || held == line) break;
                    slot = slot + 1 & SAMPLE_SLOTS - 1;
                }
            }
            found = __reduce_add_sync(~0u, found);
            if (lane() == 0) atomicAdd(lines, (u64)found);
            __syncthreads();
        }
    }
};

// The least index i below `count` for which at(i) is at least `least`; `count` if there is none. `at` ascends.
template <class At> VXM_FN u64 first_from(u64 count, u64 least, const At& at) {
    u64 low = 0;
    while (low < count) {
        const u64 middle = low + (count - low) / 2;
        if (at(middle) < least) low = middle + 1;
        else count = middle;
    }
    return low;
}

// The first row of each row chunk. Chunk k begins where the number of earlier rows and entries together reaches k * chunk_size. Rows count
// too, so that many empty rows don't end up in one chunk.
struct CutRows {
    const u64* offsets;
    u64 nrows;
    u64 chunk_size;
    u32* rows;
    u64* firsts; // position of the chunk's first entry
    u64 row_chunks;
    VXM_FN void run() const {
        each_thread(row_chunks + 1, [&](u64 k) {
            const u64 row = k == row_chunks ? nrows : first_from(nrows, k * chunk_size, [&](u64 i) { return offsets[i] + i; });
            rows[k] = (u32)row;
            firsts[k] = offsets[row];
        });
    }
};

// Bins the entries of each row chunk. The counting pass writes how much room each bin needs, in units of Config::bin_unit entries; the filling
// pass writes the entries.
// Bins are laid out twice. The column layout has all bins of a column chunk one behind the other, as MultiplyBins reads them. The row
// layout has all bins of a row chunk one behind the other, as FoldBins reads them.
// The order within a bin varies from run to run, since entries claim slots by atomics. Results don't depend on it: FoldBins puts each
// product back at its entry's position.
template <class A> struct BinEntries {
    const u64* firsts;
    const u32* columns;
    const A* values;
    u64 row_chunks;
    u64 column_chunks;
    u64* by_column;     // units of each bin in the column layout, written one index on; running sums in the filling pass
    u64* by_row;        // units of each row chunk, likewise
    u16* local_columns; // column layout: each entry's position of its vector element in shared memory (see `swizzled`)
    A* weights;         // column layout: each entry's value
    u32* slots;         // column layout: for each unit, where its products go in the row layout, in units
    u16* places;        // row layout: each entry's position within its row chunk; PADDING for slots without an entry
    template <class Use> VXM_FN void each_chunk(const Use& use) const {
        __shared__ u32 held[MAX_COLUMN_CHUNKS];
        for (u64 chunk = blockIdx.x; chunk < row_chunks; chunk += gridDim.x) {
            const u64 first = firsts[chunk];
            const u32 total = (u32)(firsts[chunk + 1] - first);
            for (u32 b = threadIdx.x; b < column_chunks; b += blockDim.x) held[b] = 0;
            __syncthreads();
            for (u32 e = threadIdx.x; e < total; e += blockDim.x) atomicAdd(held + columns[first + e] / Config::bin_chunk, 1u);
            __syncthreads();
            use(chunk, first, total, held);
            __syncthreads();
        }
    }
    VXM_FN void run(Counting) const {
        each_chunk([&](u64 chunk, u64, u32, const u32* held) {
            u32 all = 0;
            for (u32 b = threadIdx.x; b < column_chunks; b += blockDim.x) {
                const u32 some = (held[b] + Config::bin_unit - 1) / Config::bin_unit;
                by_column[b * row_chunks + chunk + 1] = some;
                all += some;
            }
            all = __reduce_add_sync(~0u, all);
            if (lane() == 0) atomicAdd(by_row + chunk + 1, (u64)all);
        });
    }
    VXM_FN void run(Filling) const {
        __shared__ u32 starts[MAX_COLUMN_CHUNKS], ends[MAX_COLUMN_CHUNKS];
        each_chunk([&](u64 chunk, u64 first, u32 total, u32* held) {
            if (warp() == 0) {
                u32 before = 0;
                for (u32 b = lane(); b - lane() < column_chunks; b += 32) {
                    const u32 some = b < column_chunks ? (held[b] + Config::bin_unit - 1) / Config::bin_unit : 0;
                    u32 upto = some;
#pragma unroll
                    for (u32 step = 1; step < 32; step *= 2) {
                        const u32 other = __shfl_up_sync(~0u, upto, step);
                        if (lane() >= step) upto += other;
                    }
                    if (b < column_chunks) ends[b] = held[b], held[b] = starts[b] = (before + upto - some) * Config::bin_unit;
                    before += __shfl_sync(~0u, upto, 31);
                }
            }
            __syncthreads();
            for (u32 b = threadIdx.x; b < column_chunks; b += blockDim.x) {
                const u64 begin = by_column[b * row_chunks + chunk], end = by_column[b * row_chunks + chunk + 1];
                for (u64 k = begin; k < end; k++) slots[k] = (u32)(by_row[chunk] + starts[b] / Config::bin_unit + (k - begin));
                // the padding at the bin's end
                for (u32 k = ends[b]; k < (end - begin) * Config::bin_unit; k++) {
                    local_columns[begin * Config::bin_unit + k] = 0;
                    places[by_row[chunk] * Config::bin_unit + starts[b] + k] = PADDING;
                }
            }
            for (u32 e = threadIdx.x; e < total; e += blockDim.x) {
                const u32 column = columns[first + e], b = column / Config::bin_chunk, at = atomicAdd(held + b, 1u);
                const u64 to = by_column[b * row_chunks + chunk] * Config::bin_unit + at - starts[b];
                local_columns[to] = (u16)swizzled(column % Config::bin_chunk);
                copy_entry(weights, to, values, first + e);
                places[by_row[chunk] * Config::bin_unit + at] = (u16)e;
            }
        });
    }
};

// Splits the work of MultiplyBins evenly among blocks: in which column chunk each block begins, and at which unit of the column layout.
// Loading a column chunk of the vector costs as much as multiplying `chunk_cost` units.
struct ScheduleBins {
    const u64* by_column;
    u64 row_chunks;
    u64 column_chunks;
    u64 chunk_cost;
    u64 blocks;
    u64* chunk_begins; // where each column chunk's bins begin
    u32* first_chunks;
    u64* block_begins;
    VXM_FN void run() const {
        each_thread(column_chunks + 1, [&](u64 b) { chunk_begins[b] = by_column[b * row_chunks]; });
        const u64 all = by_column[column_chunks * row_chunks], work = all + column_chunks * chunk_cost;
        each_thread(blocks + 1, [&](u64 s) {
            const u64 w = work / blocks * s;
            // the last column chunk that begins at work w or before
            const u64 b = s == blocks
                              ? column_chunks
                              : first_from(column_chunks, w + 1, [&](u64 b) { return by_column[b * row_chunks] + b * chunk_cost; }) - 1;
            first_chunks[s] = (u32)b;
            if (s == blocks) {
                block_begins[s] = all;
                return;
            }
            const u64 begin = by_column[b * row_chunks], end = by_column[(b + 1) * row_chunks], into = w - begin - b * chunk_cost;
            const u64 at = begin + (into > chunk_cost ? into - chunk_cost : 0);
            block_begins[s] = at < end ? at : end;
        });
    }
};

} // namespace vxm
