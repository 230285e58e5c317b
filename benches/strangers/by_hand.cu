// The algorithms of this bench as CUDA kernels written by hand, as a textbook has them. They share nothing with the library's kernels. Rows are
// cut into three classes beforehand: a thread, a warp or a block of 256 threads for each row. No size was tuned.

typedef unsigned int u32;
typedef unsigned long long u64;

static const u32 ALL = 0xffffffffu;

struct Graph {
    const u32 *offsets, *columns;
    const u32* list; // the rows by class
    u32 ends[3];     // where each class ends in the list
};

// Calls fold.add for each entry of a row, joins what the lanes have, and calls fold.put once a row.
template <class Fold> __device__ void each_row(const Graph& g, const Fold& fold) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 by_thread = (g.ends[0] + 255) / 256, by_warp = (g.ends[1] - g.ends[0] + 7) / 8;
    u32 block = blockIdx.x;
    typename Fold::Sum sum = Fold::none();
    if (block < by_thread) {
        const u32 k = block * 256 + threadIdx.x;
        if (k >= g.ends[0]) return;
        const u32 row = g.list[k], end = g.offsets[row + 1];
        for (u32 p = g.offsets[row]; p < end; p++) fold.add(sum, p, g.columns[p]);
        fold.put(row, sum);
        return;
    }
    block -= by_thread;
    const bool whole = block >= by_warp;
    const u32 k = whole ? g.ends[1] + block - by_warp : g.ends[0] + block * 8 + warp;
    if (k >= g.ends[whole ? 2 : 1]) return;
    const u32 row = g.list[k], end = g.offsets[row + 1];
    for (u32 p = g.offsets[row] + (whole ? threadIdx.x : lane); p < end; p += whole ? 256 : 32) fold.add(sum, p, g.columns[p]);
    for (u32 far = 16; far > 0; far /= 2) sum = Fold::join(sum, __shfl_down_sync(ALL, sum, far));
    if (whole) {
        __shared__ typename Fold::Sum of[8];
        if (lane == 0) of[warp] = sum;
        __syncthreads();
        if (threadIdx.x > 0) return;
        for (u32 other = 1; other < 8; other++) sum = Fold::join(sum, of[other]);
    }
    if (lane == 0) fold.put(row, sum);
}

// A round of opinions.
struct Opinions {
    typedef float Sum;
    Graph g;
    const u32* kind;
    const float *degree, *x;
    float* next;
    static __device__ Sum none() { return 0; }
    static __device__ Sum join(Sum a, Sum b) { return a + b; }
    __device__ void add(Sum& sum, u32, u32 column) const { sum += x[column]; }
    __device__ void put(u32 row, Sum sum) const {
        const u32 n = kind[row] & 15;
        const float own = x[row], openness = n <= 2 ? 0.125f : n < 8 ? n * 0.1f : 0.9f;
        next[row] = n == 0 ? own : fmaf(openness, sum / degree[row] - own, own);
    }
};
extern "C" __global__ void opinions(const __grid_constant__ Opinions o) { each_row(o.g, o); }

// A product over log-sum-exp and plus.
struct LogSums {
    typedef double Sum;
    Graph g;
    const double *logs, *x;
    double* sums;
    static __device__ Sum none() { return __longlong_as_double(0xfff0000000000000ull); }
    static __device__ Sum join(Sum a, Sum b) {
        const double high = a > b ? a : b, low = a > b ? b : a;
        return low == none() ? high : high + log1p(exp(low - high));
    }
    __device__ void add(Sum& sum, u32 p, u32 column) const { sum = join(sum, x[column] + logs[p]); }
    __device__ void put(u32 row, Sum sum) const { sums[row] = sum; }
};
extern "C" __global__ void log_sums(const __grid_constant__ LogSums o) { each_row(o.g, o); }

// The widest routes, with the fewest edges: rounds over the vertices whose route has changed, in one launch. A route is its width above what its
// edges leave of 32 bits, so that the better route is the greater number.
struct Widest {
    const u32 *offsets, *columns, *widths;
    u64* route;
    u32* queue; // two lists of n vertices
    u32* seen;  // the round that listed a vertex last
    u32* sizes; // of the lists of three rounds in turn; then the count of blocks at the barrier
    u64 n;
    u64 lanes; // threads for each vertex
};
__device__ void barrier(u32* arrived, u32 round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile u32*)arrived < gridDim.x * round) {}
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void widest(const __grid_constant__ Widest o) {
    const u32 lanes = (u32)o.lanes, lane = threadIdx.x % lanes, groups = gridDim.x * blockDim.x / lanes;
    const u32 group = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    for (u32 round = 1;; round++) {
        const u32 count = *(volatile u32*)&o.sizes[(round - 1) % 3];
        if (count == 0) return;
        const u32* list = o.queue + (round - 1) % 2 * o.n;
        u32 *next = o.queue + round % 2 * o.n, *size = &o.sizes[round % 3];
        if (blockIdx.x == 0 && threadIdx.x == 0) o.sizes[(round + 1) % 3] = 0;
        for (u32 k = group; k < count; k += groups) {
            const u32 v = __ldcg(list + k), end = o.offsets[v + 1];
            const u64 own = __ldcg(o.route + v);
            const u32 width = (u32)(own >> 32), left = (u32)own - 1;
            for (u32 p = o.offsets[v] + lane; p < end; p += lanes) {
                const u32 w = o.columns[p];
                const u64 route = (u64)min(width, o.widths[p]) << 32 | left;
                if (route <= __ldcg(o.route + w) || atomicMax(o.route + w, route) >= route) continue;
                if (atomicExch(o.seen + w, round) != round) next[atomicAdd(size, 1)] = w;
            }
        }
        barrier(o.sizes + 3, round);
    }
}
