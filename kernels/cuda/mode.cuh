// The mode of rows: which label occurs most often among the entries of a row, and the least among equals.
// Rows of a few entries are a thread's, which compares labels in registers. Others are a warp's: up to 32 labels are matched by one
// instruction, more are counted in a hash table in shared memory. Rows that need a larger table are listed, and are a block's.
namespace vxm {

// A label and its count as one number: greater for higher counts, and among equal counts for lesser labels. 0 is nothing.
VXM_FN u64 ranked(u32 label, u32 count) { return (u64)count << 32 | (u32)~label; }
VXM_FN u32 label_of(u64 best) { return ~(u32)best; }

// Counts `label` once more in a hash table with open addressing, which other threads count in too. Returns its count as a ranked number.
// A slot is 0 if it is free, or holds a label in its high half and its count in the low one. `slots` is a power of two, and more than the
// number of labels.
VXM_FN u64 count_in(u64* table, u32 slots, u32 label) {
    // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio
    u32 at = (u32)(label * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
    while (true) {
        u64 held = *(volatile u64*)(table + at);
        if (held == 0) {
            held = atomicCAS(table + at, (u64)0, (u64)label << 32 | 1);
            if (held == 0) return ranked(label, 1);
        }
        if ((u32)(held >> 32) == label) return ranked(label, (u32)atomicAdd(table + at, (u64)1) + 1);
        at = (at + 1) & (slots - 1);
    }
}

// Returns the least power of two that is at least twice `length`, so that a table of as many slots is at most half full.
VXM_FN u32 slots_for(u32 length) { return length <= 1 ? 2 : 1u << (33 - __clz(length - 1)); }

// Returns the greatest `x` of a warp.
VXM_FN u64 warp_max(u64 x) {
#pragma unroll
    for (u32 step = 16; step > 0; step /= 2) {
        const u64 other = __shfl_xor_sync(~0u, x, step);
        if (other > x) x = other;
    }
    return x;
}

// The modes of rows that need at most a table in shared memory. Rows of more entries are listed.
template <class V> struct ModeOfRows {
    static const u32 FEW = 8, WARPS = 8, WARP_ROW = 256, SLOTS = 2 * WARP_ROW;
    const u64* starts;
    u64 rows;
    const u32* columns;
    const u32* wanted; // presence bits of the rows to visit; null for all
    u32* modes;
    u32* present; // presence bits of `modes`, zeros before
    u32* longer;  // rows of more than WARP_ROW entries; their number is at `found`
    u64* found;
    V labels;
    VXM_FN void run() const {
        __shared__ u64 tables[WARPS][SLOTS];
        for (u64 first = 32 * first_of(Warp()); first < rows; first += 32 * step_of(Warp())) {
            const u64 i = first + lane();
            u64 begin = 0, length = 0;
            if (i < rows && (!wanted || bit(wanted, (u32)i))) {
                begin = starts[i];
                length = starts[i + 1] - begin;
            }
            u64 best = length <= FEW ? by_thread(begin, (u32)length) : 0;
            for (u32 due = __ballot_sync(~0u, length > FEW && length <= WARP_ROW); due; due &= due - 1) {
                const u32 k = __ffs(due) - 1;
                const u64 from = __shfl_sync(~0u, begin, k);
                const u64 mode = by_warp(from, (u32)__shfl_sync(~0u, length, k), tables[warp()]);
                if (lane() == k) best = mode;
            }
            if (length > WARP_ROW) longer[atomicAdd(found, (u64)1)] = (u32)i;
            const u32 word = __ballot_sync(~0u, best != 0);
            if (lane() == 0) present[first / 32] = word;
            if (best) modes[i] = label_of(best);
        }
    }
    VXM_FN u64 by_thread(u64 begin, u32 length) const {
        u32 held[FEW], there = 0;
#pragma unroll
        for (u32 k = 0; k < FEW; k++)
            if (k < length && labels.at(Thread(), columns[begin + k], held[k])) there |= 1u << k;
        u64 best = 0;
#pragma unroll
        for (u32 k = 0; k < FEW; k++) {
            if (!(there >> k & 1)) continue;
            u32 count = 0;
#pragma unroll
            for (u32 l = 0; l < FEW; l++) count += (there >> l & 1) && held[l] == held[k];
            const u64 own = ranked(held[k], count);
            if (own > best) best = own;
        }
        return best;
    }
    VXM_FN u64 by_warp(u64 begin, u32 length, u64* table) const {
        u64 best = 0;
        u32 label;
        if (length <= 32) {
            const bool there = lane() < length && labels.at(Thread(), columns[begin + lane()], label);
            // no label has bits above 32
            const u32 same = __match_any_sync(~0u, there ? (u64)label : ~(u64)0);
            return warp_max(there ? ranked(label, __popc(same)) : 0);
        }
        const u32 slots = slots_for(length);
        // the row before has been counted by all lanes
        __syncwarp();
        for (u32 at = lane(); at < slots; at += 32) table[at] = 0;
        __syncwarp();
        for (u32 k = lane(); k < length; k += 32)
            if (labels.at(Thread(), columns[begin + k], label)) {
                const u64 counted = count_in(table, slots, label);
                if (counted > best) best = counted;
            }
        return warp_max(best);
    }
};

// The modes of the listed rows, a block for each. A table that doesn't fit shared memory is the block's own in global memory.
template <class V> struct ModeOfLongRows {
    static const u32 NEAR = 4096;
    const u64* starts;
    const u32* columns;
    u32* modes;
    u32* present;
    const u32* longer;
    const u64* found;
    u64* tables; // `slots` words for each block
    u64 slots;
    V labels;
    VXM_FN void run(Block) const {
        __shared__ u64 near[NEAR], parts[32];
        for (u64 k = blockIdx.x; k < *found; k += gridDim.x) {
            const u32 row = longer[k];
            const u64 begin = starts[row], length = starts[row + 1] - begin, needed = slots_for((u32)length);
            u64* const table = needed <= NEAR ? near : tables + blockIdx.x * slots;
            for (u64 at = threadIdx.x; at < needed; at += blockDim.x) table[at] = 0;
            __syncthreads();
            u64 best = 0;
            u32 label;
            for (u64 p = threadIdx.x; p < length; p += blockDim.x)
                if (labels.at(Thread(), columns[begin + p], label)) {
                    const u64 counted = count_in(table, (u32)needed, label);
                    if (counted > best) best = counted;
                }
            best = warp_max(best);
            if (lane() == 0) parts[warp()] = best;
            __syncthreads();
            if (warp() == 0) {
                best = warp_max(lane() < blockDim.x / 32 ? parts[lane()] : 0);
                if (lane() == 0 && best) {
                    modes[row] = label_of(best);
                    atomicOr(present + row / 32, 1u << (row & 31));
                }
            }
            __syncthreads();
        }
    }
};

} // namespace vxm
