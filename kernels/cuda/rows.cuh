// Row degrees, two-pass tags, and the prefix sum that turns counts into row starts.
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

// Tags of two-pass kernels. The counting pass writes how many items each part makes. After a prefix sum the filling pass writes the items.
struct Counting {};
struct Filling {};

template <class A> VXM_FN void copy_entry(A* to, u64 i, const A* from, u64 p) { to[i] = from[p]; }
VXM_FN void copy_entry(vxm_unit*, u64, const vxm_unit*, u64) {}
template <class A> VXM_FN void put_entry(A* to, u64 i, A x) { to[i] = x; }
VXM_FN void put_entry(vxm_unit*, u64, vxm_unit) {}

// The inclusive prefix sum of words[1] to words[count], in tiles of 2048; words[0] becomes 0. It takes three launches: `Sums` writes the
// sum of each tile, `Carry` replaces those by their exclusive prefix sums (one block), and `Scan` finishes each tile.
struct Sums {};
struct Carry {};
struct Scan {};
struct RunningSums {
    u64* words;
    u64 count;
    u64* sums;
    u64 tiles;
    static const u32 per_thread = 8;
    // The sum of x over all earlier threads of the block; `total` is the sum over all threads. For blocks of eight warps.
    static VXM_FN u64 exclusive_sum(u64 x, u64& total) {
        __shared__ u64 warp_sums[8];
        u64 sum = x;
        for (u32 step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(~0u, sum, step);
            if (lane() >= step) sum += other;
        }
        __syncthreads();
        if (lane() == 31) warp_sums[warp()] = sum;
        __syncthreads();
        u64 base = 0;
        total = 0;
        for (u32 w = 0; w < 8; w++) {
            if (w < warp()) base += warp_sums[w];
            total += warp_sums[w];
        }
        return base + sum - x;
    }
    VXM_FN u64 load(u64 tile, u64 (&x)[per_thread]) const {
        u64 sum = 0;
        for (u32 k = 0; k < per_thread; k++) {
            const u64 i = tile * 2048 + threadIdx.x * per_thread + k;
            x[k] = i < count ? words[i + 1] : 0;
            sum += x[k];
        }
        return sum;
    }
    VXM_FN void run(Sums) const {
        u64 x[per_thread], total;
        exclusive_sum(load(blockIdx.x, x), total);
        if (threadIdx.x == 0) sums[blockIdx.x] = total;
    }
    VXM_FN void run(Carry) const {
        u64 carried = 0, total;
        for (u64 t = 0; t < tiles; t += blockDim.x) {
            const u64 i = t + threadIdx.x;
            const u64 sum = exclusive_sum(i < tiles ? sums[i] : 0, total);
            if (i < tiles) sums[i] = carried + sum;
            carried += total;
        }
    }
    VXM_FN void run(Scan) const {
        if (blockIdx.x == 0 && threadIdx.x == 0) words[0] = 0;
        if (blockIdx.x >= tiles) return;
        u64 x[per_thread], total;
        u64 sum = sums[blockIdx.x] + exclusive_sum(load(blockIdx.x, x), total);
        for (u32 k = 0; k < per_thread; k++) {
            const u64 i = (u64)blockIdx.x * 2048 + threadIdx.x * per_thread + k;
            sum += x[k];
            if (i < count) words[i + 1] = sum;
        }
    }
};

} // namespace vxm
