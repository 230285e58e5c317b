// What a kernel counts of its rounds. Only kernels that are counted contain this file, as their first; in others `VXM_TALLY`, `VXM_TALLY_READ` and
// `VXM_END_ROUND` are empty. Warps count in shared memory, and add that to the counters of a round when they end it.
namespace vxm {

// The events, in the order of `Counts` in src/backend/profile/mod.rs, and the threads that visited something.
struct Event {
    enum {
        visits, masked, changed, finalised, edges, early_exits, skipped_rows, tiles, useful_tiles, jumps, atomics, effective_atomics,
        failed_swaps, threads, count
    };
};
// The counters of a round: its events, when it ended, and the changes in equal parts of the state. More rounds than there is room for share
// the last place.
struct RoundCounts {
    static const unsigned PARTS = 64, ROUNDS = 4096;
    unsigned long long events[Event::count], ended, changes[PARTS];
};
struct Series {
    unsigned long long began;
    RoundCounts rounds[RoundCounts::ROUNDS];
};
// The counters of a block's warps, each since its last round. `active` has a bit for each thread.
struct Tallies {
    Series* series;
    unsigned events[32][Event::count], active[32], changes[32][RoundCounts::PARTS];
};
__device__ __forceinline__ Tallies& tallies() {
    __shared__ Tallies all;
    return all;
}
__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Adds to the counter of an event. Lanes of a warp that call together add once.
__device__ __forceinline__ void tally(unsigned event, unsigned amount) {
    const unsigned here = __activemask(), sum = __reduce_add_sync(here, amount);
    if ((threadIdx.x & 31) == __ffs(here) - 1 && sum) atomicAdd(&tallies().events[threadIdx.x / 32][event], sum);
}
// Notes that this thread visits something in this round.
__device__ __forceinline__ void tally_thread() {
    unsigned& word = tallies().active[threadIdx.x / 32];
    const unsigned one = 1u << (threadIdx.x & 31);
    if (!(*(volatile unsigned*)&word & one)) atomicOr(&word, one);
}
// Notes that element `i` of `count` changed.
__device__ __forceinline__ void tally_change(unsigned i, unsigned long long count) {
    tally(Event::changed, 1);
    atomicAdd(&tallies().changes[threadIdx.x / 32][i * (unsigned long long)RoundCounts::PARTS / count], 1);
}

// Begins to count. All threads of a block call this before all else.
__device__ __forceinline__ void begin_tallies(Series* series) {
    Tallies& all = tallies();
    for (unsigned k = threadIdx.x; k < sizeof(Tallies) / 4; k += blockDim.x) ((unsigned*)&all)[k] = 0;
    __syncthreads();
    if (threadIdx.x == 0) all.series = series;
    if (threadIdx.x == 0 && blockIdx.x == 0) series->began = nanoseconds();
    __syncthreads();
}
// Ends a round of this warp, all lanes of which call this.
__device__ __forceinline__ void end_round(unsigned round) {
    __syncwarp();
    Tallies& all = tallies();
    RoundCounts& counts = all.series->rounds[round < RoundCounts::ROUNDS ? round : RoundCounts::ROUNDS - 1];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned amount = 0;
    if (lane == Event::threads) amount = __popc(atomicExch(&all.active[warp], 0));
    else if (lane < Event::count) amount = atomicExch(&all.events[warp][lane], 0);
    if (amount) atomicAdd(&counts.events[lane], (unsigned long long)amount);
    const bool any_changes = __shfl_sync(~0u, amount, Event::changed);
    for (unsigned part = lane; any_changes && part < RoundCounts::PARTS; part += 32) {
        const unsigned changes = atomicExch(&all.changes[warp][part], 0);
        if (changes) atomicAdd(&counts.changes[part], (unsigned long long)changes);
    }
    if (__any_sync(~0u, amount) && lane == 0) atomicMax(&counts.ended, nanoseconds());
    __syncwarp();
}

} // namespace vxm
#define VXM_TALLY(event, amount) vxm::tally(vxm::Event::event, amount)
#define VXM_TALLY_READ(Items, amount) vxm::tally(Items::are_entries ? vxm::Event::edges : vxm::Event::tiles, amount)
#define VXM_END_ROUND(round) vxm::end_round(round)
