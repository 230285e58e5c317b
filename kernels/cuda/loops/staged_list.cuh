// Lists of elements that blocks make in shared memory. Each becomes a part of one list in global memory: there, adding to one word takes long if
// many warps do.
namespace vxm {

template <class N> VXM_FN N sum_of_lanes(N x) {
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) x += __shfl_sync(~0u, x, lane() ^ step);
    return x;
}

// A list in global memory: its elements, its length, and its room. If elements were left out, `overflow` is set in `flags`.
struct List {
    u32* elements;
    u32* length;
    u64 room;
    u32* flags;
    u32 overflow;
};
// A block's list. `room` is where it was full.
struct StagedList {
    u32 length, room, first;
    u32 elements[Config::relaxed_staged];

    VXM_FN void clear() { length = 0, room = Config::relaxed_staged; }
    // Adds the lanes' elements, or adds them to the list in global memory if there is no room or if `directly`. All lanes of a warp call this.
    template <u32 n> VXM_FN void add(const bool (&taken)[n], const u32 (&i)[n], const List& list, bool directly) {
        u32 mine = 0;
#pragma unroll
        for (u32 k = 0; k < n; k++) mine += taken[k];
        const u32 ends = running_sum(mine), total = __shfl_sync(~0u, ends, 31);
        if (!total) return;
        u32 at = 0;
        if (!directly) {
            if (lane() == 0) at = atomicAdd(&length, total);
            at = __shfl_sync(~0u, at, 0);
        }
        u32* to = elements;
        u64 most = Config::relaxed_staged;
        if (directly || at + total > Config::relaxed_staged) {
            if (lane() == 0) {
                if (!directly) atomicMin(&room, at);
                at = atomicAdd(list.length, total);
            }
            at = __shfl_sync(~0u, at, 0);
            to = list.elements;
            most = list.room;
        }
        at += ends - mine;
#pragma unroll
        for (u32 k = 0; k < n; k++) {
            if (!taken[k]) continue;
            if (at < most) to[at++] = i[k];
            else atomicOr(list.flags, list.overflow);
        }
    }
    // Copies the elements to the list in global memory. All threads of the block call this, after a barrier.
    VXM_FN void copy_to(const List& list) {
        const u32 count = min(length, room);
        if (threadIdx.x == 0 && count) first = atomicAdd(list.length, count);
        __syncthreads();
        const u64 from = first;
        for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
            if (from + k < list.room) list.elements[from + k] = elements[k];
            else atomicOr(list.flags, list.overflow);
        }
    }
};

} // namespace vxm
