// Entries in bins: rows are cut into pieces of about as many entries, columns into pieces of as many elements, as a block's shared memory
// holds; a bin is where two pieces cross. A product then reads its vector piece by piece, multiplies each bin's entries with what they
// meet, and folds a piece of rows once those are put back in their places: nothing is read or written but in runs. After propagation blocking
// (Beamer, Asanovic, Patterson, "Reducing Pagerank Communication via Propagation Blocking", IPDPS 2017).
namespace vxm {

typedef unsigned short u16;

[[maybe_unused]] const u32 PIECE = 24576; // columns of a piece; entries of a piece of rows, at most
[[maybe_unused]] const u32 EACH = 8;      // entries for which a bin has room: as many or twice that, ...; of 4 bytes, a sector of memory
[[maybe_unused]] const u16 NOWHERE = 0xffff; // the place of what is no entry

// Where a piece's element c is held: what is read most often must not be in few of the memory's banks.
VXM_FN u32 swizzled(u32 c) { return c ^ (c >> 5 & 31) ^ (c >> 10 & 31); }

// As whom these kernels run.
struct Pieces {};

// The block's shared memory behind the operators' arguments, which take so many bytes.
extern __shared__ u64 shared_words[];
template <class T> VXM_FN T* room_after(u64 bytes) { return (T*)((char*)shared_words + bytes); }

// Values side by side, which a thread moves at once; without a value there is nothing to move.
[[maybe_unused]] const u32 FEW = 4;
template <class T> struct alignas(sizeof(T) < 4 ? FEW * sizeof(T) : 16) Several {
    T x[FEW];
};
template <class T> VXM_FN Several<T> several_at(const Several<T>* from, u64 k) { return from[k]; }
VXM_FN Several<vxm_unit> several_at(const Several<vxm_unit>*, u64) { return {}; }

// The products of all entries with a full vector: a block reads the vector piece by piece, and goes through its share of the pieces' bins.
template <class V, class A, class T, class Mul> struct Meet {
    typedef typename V::Elem X;
    const Several<u16>* near;
    const Several<A>* weights;
    const u32* slots;
    const u64* tops;
    const u32* owners;
    const u64* cuts;
    u64 columns;
    Several<T>* products;
    u64 arguments;
    V view;
    VXM_FN void run(Pieces) const {
        X* held = room_after<X>(arguments);
        const u64 end = cuts[blockIdx.x + 1];
        u64 begin = cuts[blockIdx.x];
        for (u64 b = owners[blockIdx.x]; begin < end; b++) {
            const u64 top = tops[b + 1], until = top < end ? top : end;
            if (until == begin) continue;
            __syncthreads();
            const u64 first = b * PIECE;
            const u32 some = columns - first < PIECE ? (u32)(columns - first) : PIECE;
#pragma unroll 8
            for (u32 c = threadIdx.x; c < some; c += blockDim.x) view.at(Thread(), (u32)(first + c), held[swizzled(c)]);
            __syncthreads();
            hand_out(held, begin * (EACH / FEW), until * (EACH / FEW));
            begin = until;
        }
    }
    VXM_FN void hand_out(const X* held, u64 begin, u64 end) const {
        const u32 many = 2;
        for (u64 k = begin + threadIdx.x; k < end; k += many * blockDim.x) {
            Several<u16> column[many];
            Several<A> weight[many];
            u64 slot[many];
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                const u64 at = k + m * blockDim.x;
                if (at >= end) continue;
                column[m] = near[at];
                weight[m] = several_at(weights, at);
                slot[m] = (u64)slots[at / (EACH / FEW)] * (EACH / FEW) + at % (EACH / FEW);
            }
#pragma unroll
            for (u32 m = 0; m < many; m++) {
                if (k + m * blockDim.x >= end) continue;
                Several<T> y;
#pragma unroll
                for (u32 e = 0; e < FEW; e++) y.x[e] = Mul::call(held[column[m].x[e]], weight[m].x[e]);
                products[slot[m]] = y;
            }
        }
    }
};

// A kernel of which a block folds a piece of rows at a time, whose products were made. The leading product lies at byte `at`.
template <class K, class Lead, u64 at> struct Binning {
    typedef typename Lead::Elem T;
    K kernel;
    const Several<T>* products;
    const Several<u16>* places;
    const u64* by_row;
    const u32* rows;
    u64 arguments;
    VXM_FN void run(Pieces) const {
        // rows that aren't short: those of medium length from the front, long ones from the back
        const u32 most = PIECE / SHORT;
        __shared__ u32 wide[most], mediums, longs, taken;
        const Lead& lead = *(const Lead*)((const char*)this + at);
        T* held = room_after<T>(arguments);
        const u32 begin = rows[blockIdx.x], end = rows[blockIdx.x + 1];
        const u64 first = lead.offsets[begin];
        const auto lying = [&](u32 i) {
            const u32 from = (u32)(lead.offsets[i] - first);
            return Staged{(u64*)held, nullptr, from, (u32)(lead.offsets[i + 1] - first) - from};
        };
        if (threadIdx.x == 0) mediums = longs = taken = 0;
        put_back(held);
        __syncthreads();
        u32* const bits = kernel.out.bits;
        for (u32 word = begin / 32 + warp(); word * 32 < end; word += blockDim.x / 32) {
            const u32 i = word * 32 + lane();
            const bool inside = i >= begin && i < end;
            Staged row = {(u64*)held, nullptr, 0, 0};
            if (inside) row = lying(i);
            const bool is_short = inside && row.len <= SHORT;
            if (inside && !is_short) {
                if (row.len <= MEDIUM) wide[atomicAdd(&mediums, 1u)] = i;
                else wide[most - 1 - atomicAdd(&longs, 1u)] = i;
            }
            const u32 whose = __ballot_sync(~0u, is_short), now = __ballot_sync(~0u, is_short && kernel.step(row, i));
            if (!bits || lane() > 0) continue;
            // others' bits are a longer row's, or another block's at the ends of a piece
            if (whose == ~0u) {
                bits[word] = now;
                continue;
            }
            if (whose & ~now) atomicAnd(bits + word, now | ~whose);
            if (now) atomicOr(bits + word, now);
        }
        __syncthreads();
        // a long one is a warp's, 32 of medium length are, whichever warp is free
        while (true) {
            u32 k = 0;
            if (lane() == 0) k = atomicAdd(&taken, 1u);
            k = __shfl_sync(~0u, k, 0);
            if (k < longs) {
                const u32 i = wide[most - 1 - k];
                const bool has = kernel.step(StagedRow(lying(i)), i);
                if (bits && lane() == 0) put_bit(bits, i, has);
                continue;
            }
            const u32 m = (k - longs) * 32;
            if (m >= mediums) break;
            if (m + lane() < mediums) {
                const u32 i = wide[m + lane()];
                const bool has = kernel.step(StagedMedium{lying(i)}, i);
                if (bits) put_bit(bits, i, has);
            }
            __syncwarp();
        }
    }
    VXM_FN void put_back(T* held) const {
        const u32 many = 2;
        const u64 begin = by_row[blockIdx.x] * (EACH / FEW), end = by_row[blockIdx.x + 1] * (EACH / FEW);
        for (u64 k = begin + threadIdx.x; k < end; k += many * blockDim.x) {
            Several<u16> place[many];
            Several<T> x[many];
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
                // a bin's end may be empty
                const bool all = place[m].x[FEW - 1] != NOWHERE;
#pragma unroll
                for (u32 e = 0; e < FEW; e++)
                    if (all || place[m].x[e] != NOWHERE) held[place[m].x[e]] = x[m].x[e];
            }
        }
    }
};

} // namespace vxm
