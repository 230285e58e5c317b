// Verbs of matrices: degrees, and the running sums that lay rows out.
namespace vxm {

struct Degrees {
    const u64* offsets;
    u64 count;
    u32* degrees;
    VXM_FN void run() const {
        const u64 step = (u64)gridDim.x * blockDim.x;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
            degrees[i] = (u32)(offsets[i + 1] - offsets[i]);
    }
};

// What is made in two passes: numbers are counted, and things put where their running sums say.
struct Counting {};
struct Filling {};

template <class A> VXM_FN void copy_entry(A* to, u64 i, const A* from, u64 p) { to[i] = from[p]; }
VXM_FN void copy_entry(vxm_unit*, u64, const vxm_unit*, u64) {}
template <class A> VXM_FN void put_entry(A* to, u64 i, A x) { to[i] = x; }
VXM_FN void put_entry(vxm_unit*, u64, vxm_unit) {}

// Running sums of the words at places 1 to count, in tiles of 2048: each tile's sum, the sums' running sums, then the words'.
struct Sums {};
struct Carry {};
struct Scan {};
struct RunningSums {
    u64* words;
    u64 count;
    u64* sums;
    u64 tiles;
    static const u32 each = 8;
    // The sum of all threads' x before this one's, and of all.
    static VXM_FN u64 before(u64 x, u64& total) {
        __shared__ u64 held[8];
        u64 sum = x;
        for (u32 step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(~0u, sum, step);
            if (lane() >= step) sum += other;
        }
        __syncthreads();
        if (lane() == 31) held[warp()] = sum;
        __syncthreads();
        u64 base = 0;
        total = 0;
        for (u32 w = 0; w < 8; w++) {
            if (w < warp()) base += held[w];
            total += held[w];
        }
        return base + sum - x;
    }
    VXM_FN u64 load(u64 tile, u64 (&x)[each]) const {
        u64 sum = 0;
        for (u32 k = 0; k < each; k++) {
            const u64 i = tile * 2048 + threadIdx.x * each + k;
            x[k] = i < count ? words[i + 1] : 0;
            sum += x[k];
        }
        return sum;
    }
    VXM_FN void run(Sums) const {
        u64 x[each], total;
        before(load(blockIdx.x, x), total);
        if (threadIdx.x == 0) sums[blockIdx.x] = total;
    }
    VXM_FN void run(Carry) const {
        u64 carried = 0, total;
        for (u64 t = 0; t < tiles; t += blockDim.x) {
            const u64 i = t + threadIdx.x;
            const u64 sum = before(i < tiles ? sums[i] : 0, total);
            if (i < tiles) sums[i] = carried + sum;
            carried += total;
        }
    }
    VXM_FN void run(Scan) const {
        if (blockIdx.x == 0 && threadIdx.x == 0) words[0] = 0;
        if (blockIdx.x >= tiles) return;
        u64 x[each], total;
        u64 sum = sums[blockIdx.x] + before(load(blockIdx.x, x), total);
        for (u32 k = 0; k < each; k++) {
            const u64 i = (u64)blockIdx.x * 2048 + threadIdx.x * each + k;
            sum += x[k];
            if (i < count) words[i + 1] = sum;
        }
    }
};

} // namespace vxm
