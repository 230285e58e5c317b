// Columns renumbered by how often they stand in a matrix, so that what is read most often lies together, and stays in a cache.
namespace vxm {

// How often each column stands there, below u32's greatest: what is most frequent ranks first.
struct CountColumns {
    const u32* columns;
    u64 entries;
    u32* counts; // the greatest u32 at first
    VXM_FN void run() const {
        const u64 step = (u64)gridDim.x * blockDim.x;
        for (u64 p = (u64)blockIdx.x * blockDim.x + threadIdx.x; p < entries; p += step) atomicSub(counts + columns[p], 1);
    }
};

// The columns under their new numbers, and how many of them are below `near`.
struct Renumber {
    const u32* columns;
    u64 entries;
    const u32* ranks;
    u32* renumbered;
    u64 near;
    u64* count;
    VXM_FN void run() const {
        const u64 step = (u64)gridDim.x * blockDim.x;
        u32 held = 0;
        for (u64 p = (u64)blockIdx.x * blockDim.x + threadIdx.x; p < entries; p += step) {
            const u32 rank = ranks[columns[p]];
            renumbered[p] = rank;
            held += rank < near;
        }
        atomicAdd(count, (u64)held);
    }
};

// The columns in the order of their new numbers.
struct Invert {
    const u32* ranks;
    u64 count;
    u32* order;
    VXM_FN void run() const {
        const u64 step = (u64)gridDim.x * blockDim.x;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) order[ranks[i]] = (u32)i;
    }
};

} // namespace vxm
