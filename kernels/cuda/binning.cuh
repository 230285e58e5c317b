// Bins made of rows: whether that pays, pieces, and who goes where.
namespace vxm {

[[maybe_unused]] const u32 ACROSS = 1024; // pieces of columns, at most
[[maybe_unused]] const u32 LINE = 32;     // elements of a line of a cache
[[maybe_unused]] const u32 WINDOW = 1024; // entries of a sample
[[maybe_unused]] const u32 WINDOW_SLOTS = 4096;

// How many lines of a vector the entries of some windows reach, each counted once a window.
struct CountLines {
    const u32* columns;
    u64 entries;
    u64 windows;
    u64* lines;
    VXM_FN void run() const {
        __shared__ u32 slots[WINDOW_SLOTS];
        for (u64 w = blockIdx.x; w < windows; w += gridDim.x) {
            for (u32 s = threadIdx.x; s < WINDOW_SLOTS; s += blockDim.x) slots[s] = ~0u;
            __syncthreads();
            u32 found = 0;
            const u64 first = entries / windows * w;
            for (u32 e = threadIdx.x; e < WINDOW; e += blockDim.x) {
                const u32 line = columns[first + e] / LINE;
                u32 slot = line * 0x9e3779b9u >> 20;
                while (true) {
                    const u32 held = atomicCAS(slots + slot, ~0u, line);
                    found += held == ~0u;
                    if (held == ~0u || held == line) break;
                    slot = slot + 1 & WINDOW_SLOTS - 1;
                }
            }
            found = __reduce_add_sync(~0u, found);
            if (lane() == 0) atomicAdd(lines, (u64)found);
            __syncthreads();
        }
    }
};

// The first of `count` places, ascending by `at`, whose number isn't below `least`.
template <class At> VXM_FN u64 first_from(u64 count, u64 least, const At& at) {
    u64 low = 0;
    while (low < count) {
        const u64 middle = low + (count - low) / 2;
        if (at(middle) < least) low = middle + 1;
        else count = middle;
    }
    return low;
}

// Where the pieces of rows begin: rows and entries before are as many as `share` for each piece before, about. Empty rows count too.
struct CutRows {
    const u64* offsets;
    u64 nrows;
    u64 share;
    u32* rows;
    u64* firsts; // where their entries begin
    u64 pieces;
    VXM_FN void run() const {
        each_thread(pieces + 1, [&](u64 k) {
            const u64 row = k == pieces ? nrows : first_from(nrows, k * share, [&](u64 i) { return offsets[i] + i; });
            rows[k] = (u32)row;
            firsts[k] = offsets[row];
        });
    }
};

// The entries of each piece of rows dealt out to its bins, of which each has room for a number of entries that EACH divides: counted, and
// put there. Bins stand twice: after each other of one piece of columns, as they are handed what they meet, and of one of rows, as they
// are folded.
template <class A> struct DealEntries {
    const u64* firsts;
    const u32* columns;
    const A* values;
    u64 pieces;
    u64 across;
    u64* by_column; // how many times EACH each bin has room for, one place on; running sums then
    u64* by_row;    // and each piece of rows
    u16* near;      // each entry's column, from where its piece begins, by columns
    A* weights;     // its value, by columns
    u32* slots;     // where the products of EACH entries are put, by columns
    u16* places;    // each entry's place, from where its piece of rows begins, by rows; NOWHERE where there is none
    template <class Use> VXM_FN void each_piece(const Use& use) const {
        __shared__ u32 held[ACROSS];
        for (u64 piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
            const u64 first = firsts[piece];
            const u32 total = (u32)(firsts[piece + 1] - first);
            for (u32 b = threadIdx.x; b < across; b += blockDim.x) held[b] = 0;
            __syncthreads();
            for (u32 e = threadIdx.x; e < total; e += blockDim.x) atomicAdd(held + columns[first + e] / PIECE, 1u);
            __syncthreads();
            use(piece, first, total, held);
            __syncthreads();
        }
    }
    VXM_FN void run(Counting) const {
        each_piece([&](u64 piece, u64, u32, const u32* held) {
            u32 all = 0;
            for (u32 b = threadIdx.x; b < across; b += blockDim.x) {
                const u32 some = (held[b] + EACH - 1) / EACH;
                by_column[b * pieces + piece + 1] = some;
                all += some;
            }
            all = __reduce_add_sync(~0u, all);
            if (lane() == 0) atomicAdd(by_row + piece + 1, (u64)all);
        });
    }
    VXM_FN void run(Filling) const {
        __shared__ u32 starts[ACROSS], ends[ACROSS];
        each_piece([&](u64 piece, u64 first, u32 total, u32* held) {
            if (warp() == 0) {
                u32 before = 0;
                for (u32 b = lane(); b - lane() < across; b += 32) {
                    const u32 some = b < across ? (held[b] + EACH - 1) / EACH : 0;
                    u32 upto = some;
#pragma unroll
                    for (u32 step = 1; step < 32; step *= 2) {
                        const u32 other = __shfl_up_sync(~0u, upto, step);
                        if (lane() >= step) upto += other;
                    }
                    if (b < across) ends[b] = held[b], held[b] = starts[b] = (before + upto - some) * EACH;
                    before += __shfl_sync(~0u, upto, 31);
                }
            }
            __syncthreads();
            for (u32 b = threadIdx.x; b < across; b += blockDim.x) {
                const u64 begin = by_column[b * pieces + piece], end = by_column[b * pieces + piece + 1];
                for (u64 k = begin; k < end; k++) slots[k] = (u32)(by_row[piece] + starts[b] / EACH + (k - begin));
                // what is left of the room
                for (u32 k = ends[b]; k < (end - begin) * EACH; k++) {
                    near[begin * EACH + k] = 0;
                    places[by_row[piece] * EACH + starts[b] + k] = NOWHERE;
                }
            }
            for (u32 e = threadIdx.x; e < total; e += blockDim.x) {
                const u32 column = columns[first + e], b = column / PIECE, at = atomicAdd(held + b, 1u);
                const u64 to = by_column[b * pieces + piece] * EACH + at - starts[b];
                near[to] = (u16)swizzled(column % PIECE);
                copy_entry(weights, to, values, first + e);
                places[by_row[piece] * EACH + at] = (u16)e;
            }
        });
    }
};

// The share of each block, of about as much work: the piece of columns in which it begins, and where. To read a piece of the vector takes
// as long as to hand out `price` times EACH of it.
struct ShareBins {
    const u64* by_column;
    u64 pieces;
    u64 across;
    u64 price;
    u64 shares;
    u64* tops; // where the bins of each piece of columns begin
    u32* owners;
    u64* cuts;
    VXM_FN void run() const {
        each_thread(across + 1, [&](u64 b) { tops[b] = by_column[b * pieces]; });
        const u64 all = by_column[across * pieces], work = all + across * price;
        each_thread(shares + 1, [&](u64 s) {
            const u64 w = work / shares * s;
            // the last piece that begins at w, or before
            const u64 b = s == shares ? across : first_from(across, w + 1, [&](u64 b) { return by_column[b * pieces] + b * price; }) - 1;
            owners[s] = (u32)b;
            if (s == shares) {
                cuts[s] = all;
                return;
            }
            const u64 top = by_column[b * pieces], end = by_column[(b + 1) * pieces], into = w - top - b * price;
            const u64 at = top + (into > price ? into - price : 0);
            cuts[s] = at < end ? at : end;
        });
    }
};

} // namespace vxm
