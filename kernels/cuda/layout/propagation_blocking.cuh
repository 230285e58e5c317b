// Propagation blocking, after Beamer, Asanovic, Patterson, "Reducing Pagerank Communication via Propagation Blocking" (IPDPS 2017). Rows
// are cut into chunks of about as many entries, and columns into chunks of as many elements, as a block's shared memory holds. A bin holds
// the entries where a row chunk and a column chunk cross.
// A product takes two kernels. MultiplyBins loads the vector one column chunk at a time and multiplies the entries of its bins. FoldBins
// scatters the products of a row chunk to their entries' positions in shared memory and folds the rows. So global memory is read and
// written in long runs only.
namespace vxm {

typedef unsigned short u16;

[[maybe_unused]] const u16 PADDING = 0xffff; // the place of a slot that holds no entry

// The position of element c of a column chunk in shared memory. It spreads frequently read elements over the memory banks.
VXM_FN u32 swizzled(u32 c) { return c ^ (c >> 5 & 31) ^ (c >> 10 & 31); }

// The tag by which these kernels are run: a block handles chunks.
struct Chunks {};

// The block's dynamic shared memory, behind the `bytes` that the operators' arguments take.
extern __shared__ u64 shared_words[];
template <class T> VXM_FN T* shared_after(u64 bytes) { return (T*)((char*)shared_words + bytes); }

// PACK neighbouring values, which a thread moves with one access. A pattern has no values to move.
[[maybe_unused]] const u32 PACK = 4;
template <class T> struct alignas(sizeof(T) < 4 ? PACK * sizeof(T) : 16) Packed {
    T x[PACK];
};
template <class T> VXM_FN Packed<T> packed_at(const Packed<T>* from, u64 k) { return from[k]; }
VXM_FN Packed<vxm_unit> packed_at(const Packed<vxm_unit>*, u64) { return {}; }

// The products of all entries with a full vector. Each block handles a range of bins in column-chunk order, and loads each column chunk of
// the vector before the bins in it.
// Ranges are counted in units of Config::bin_unit entries. `slots` gives for each unit where its products go, also in units. See `BinEntries` and
// `ScheduleBins` for the other members. `arguments` is the bytes that the operators' arguments take in shared memory.
template <class V, class A, class T, class Mul> struct MultiplyBins {
    typedef typename V::Elem X;
    const Packed<u16>* local_columns;
    const Packed<A>* weights;
    const u32* slots;
    const u64* chunk_begins;
    const u32* first_chunks;
    const u64* block_begins;
    u64 columns;
    Packed<T>* products;
    u64 arguments;
    V view;
    VXM_FN void run(Chunks) const {
        X* held = shared_after<X>(arguments);
        const u64 end = block_begins[blockIdx.x + 1];
        u64 begin = block_begins[blockIdx.x];
        for (u64 b = first_chunks[blockIdx.x]; begin < end; b++) {
            const u64 chunk_end = chunk_begins[b + 1], until = chunk_end < end ? chunk_end : end;
            if (until == begin) continue;
            __syncthreads();
            const u64 first = b * Config::bin_chunk;
            const u32 some = columns - first < Config::bin_chunk ? (u32)(columns - first) : Config::bin_chunk;
#pragma unroll 8
            for (u32 c = threadIdx.x; c < some; c += blockDim.x) view.at(Thread(), (u32)(first + c), held[swizzled(c)]);
            __syncthreads();
            multiply(held, begin * (Config::bin_unit / PACK), until * (Config::bin_unit / PACK));
            begin = until;
        }
    }
    VXM_FN void multiply(const X* held, u64 begin, u64 end) const {
        const u32 many = 2;
        for (u64 k = begin + threadIdx.x; k < end; k += many * blockDim.x) {
            Packed<u16> column[many];
            Packed<A> weight[many];
            u64 slot[many];
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                const u64 at = k + m * blockDim.x;
                if (at >= end) continue;
                column[m] = local_columns[at];
                weight[m] = packed_at(weights, at);
                slot[m] = (u64)slots[at / (Config::bin_unit / PACK)] * (Config::bin_unit / PACK) + at % (Config::bin_unit / PACK);
            }
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                if (k + m * blockDim.x >= end) continue;
                Packed<T> y;
#pragma unroll
                for (u32 e = 0; e < PACK; e++) y.x[e] = Mul::call(held[column[m].x[e]], weight[m].x[e]);
                products[slot[m]] = y;
            }
        }
    }
};

// Runs `kernel` with the products that MultiplyBins made: each block folds one row chunk. The primary product lies at byte `at` of this
// struct.
// `rows` has the first row of each row chunk, and `by_row` where its products begin, in units of Config::bin_unit. `places` has the position of
// each product's entry within the chunk.
template <class K, class Primary, u64 at> struct FoldBins {
    typedef typename Primary::Elem T;
    K kernel;
    const Packed<T>* products;
    const Packed<u16>* places;
    const u64* by_row;
    const u32* rows;
    u64 arguments;
    VXM_FN void run(Chunks) const {
        // queue of the rows that aren't short: medium rows from the front, long rows from the back
        const u32 max_longer = Config::bin_chunk / SHORT;
        __shared__ u32 longer_rows[max_longer], mediums, longs, taken;
        const Primary& primary = *(const Primary*)((const char*)this + at);
        T* held = shared_after<T>(arguments);
        const u32 begin = rows[blockIdx.x], end = rows[blockIdx.x + 1];
        const u64 first = primary.offsets[begin];
        const auto staged_row = [&](u32 i) {
            const u32 from = (u32)(primary.offsets[i] - first);
            return Staged{(u64*)held, nullptr, from, (u32)(primary.offsets[i + 1] - first) - from};
        };
        if (threadIdx.x == 0) mediums = longs = taken = 0;
        scatter(held);
        __syncthreads();
        u32* const bits = kernel.out.bits;
        for (u32 word = begin / 32 + warp(); word * 32 < end; word += blockDim.x / 32) {
            const u32 i = word * 32 + lane();
            const bool inside = i >= begin && i < end;
            Staged row = {(u64*)held, nullptr, 0, 0};
            if (inside) row = staged_row(i);
            const bool is_short = inside && row.len <= SHORT;
            if (inside && !is_short) {
                if (row.len <= MEDIUM) longer_rows[atomicAdd(&mediums, 1u)] = i;
                else longer_rows[max_longer - 1 - atomicAdd(&longs, 1u)] = i;
            }
            const u32 owned = __ballot_sync(~0u, is_short), present = __ballot_sync(~0u, is_short && kernel.step(row, i));
            if (!bits || lane() > 0) continue;
            // Other bits of the word belong to longer rows, or, at the chunk's ends, to another block. So they are left as they are.
            if (owned == ~0u) {
                bits[word] = present;
                continue;
            }
            if (owned & ~present) atomicAnd(bits + word, present | ~owned);
            if (present) atomicOr(bits + word, present);
        }
        __syncthreads();
        // Warps take work from the queue: one long row, or 32 medium rows with a thread each.
        while (true) {
            u32 k = 0;
            if (lane() == 0) k = atomicAdd(&taken, 1u);
            k = __shfl_sync(~0u, k, 0);
            if (k < longs) {
                const u32 i = longer_rows[max_longer - 1 - k];
                const bool has = kernel.step(StagedRow(staged_row(i)), i);
                if (bits && lane() == 0) put_bit(bits, i, has);
                continue;
            }
            const u32 m = (k - longs) * 32;
            if (m >= mediums) break;
            if (m + lane() < mediums) {
                const u32 i = longer_rows[m + lane()];
                const bool has = kernel.step(StagedMedium{staged_row(i)}, i);
                if (bits) put_bit(bits, i, has);
            }
            __syncwarp();
        }
    }
    VXM_FN void scatter(T* held) const {
        const u32 many = 2;
        const u64 begin = by_row[blockIdx.x] * (Config::bin_unit / PACK), end = by_row[blockIdx.x + 1] * (Config::bin_unit / PACK);
        for (u64 k = begin + threadIdx.x; k < end; k += many * blockDim.x) {
            Packed<u16> place[many];
            Packed<T> x[many];
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                const u64 from = k + m * blockDim.x;
                if (from >= end) continue;
                place[m] = places[from];
                x[m] = products[from];
            }
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                if (k + m * blockDim.x >= end) continue;
                // only the end of a bin is padded, so if the last slot is used, all are
                const bool all = place[m].x[PACK - 1] != PADDING;
#pragma unroll
                for (u32 e = 0; e < PACK; e++)
                    if (all || place[m].x[e] != PADDING) held[place[m].x[e]] = x[m].x[e];
            }
        }
    }
};

} // namespace vxm
