// Groups of threads that work on a row together: one thread, a warp, a block. Every member of a group gets the same result of a reduction.
// So all members compute whatever follows the reduction of a row (a mask, an operator, a merge), and the first member writes.
//
// Counts an event, and ends a round of what was counted, in a kernel that is counted (tallies.cuh). Other kernels contain neither.
#ifndef VXM_TALLY
#define VXM_TALLY(event, amount)
#define VXM_TALLY_READ(Items, amount)
#define VXM_END_ROUND(round)
#endif
namespace vxm {

typedef unsigned int u32;
typedef unsigned long long u64;

// The bits of an element of 16 bytes, or those of a narrower one, zero-extended.
struct TwoWords {
    u64 low, high;
    VXM_FN bool operator==(const TwoWords& b) const { return low == b.low && high == b.high; }
    VXM_FN bool operator!=(const TwoWords& b) const { return !(*this == b); }
};
VXM_FN TwoWords two_words(u64 word) { return {word, 0}; }
VXM_FN TwoWords two_words(TwoWords words) { return words; }
// What holds the bits of an element of so many bytes.
template <bool is_wide> struct BitsOf { typedef u64 type; };
template <> struct BitsOf<true> { typedef TwoWords type; };
template <class T> using Bits = typename BitsOf<(sizeof(T) > 8)>::type;

// Returns the element that has the bits `word`, zero-extended.
template <class T> VXM_FN T element(u64 word) {
    static_assert(sizeof(T) <= 8, "an element of 16 bytes has two words");
    T x;
    memcpy(&x, &word, sizeof(T));
    return x;
}
template <class T> VXM_FN T element(TwoWords words) {
    T x;
    if constexpr (sizeof(T) > 8) memcpy(&x, &words, sizeof(T));
    else memcpy(&x, &words.low, sizeof(T));
    return x;
}
template <class T> VXM_FN T element(u64 low, u64 high) { return element<T>(TwoWords{low, high}); }

// Returns an element's bits, zero-extended.
template <class T> VXM_FN Bits<T> word_of(T x) {
    Bits<T> word = {};
    memcpy(&word, &x, sizeof(T));
    return word;
}

// A value that may be absent, such as a partial result of a reduction.
template <class T> struct Maybe {
    T value;
    bool present;
};

VXM_FN u32 lane() { return threadIdx.x & 31; }
VXM_FN u32 warp() { return threadIdx.x >> 5; }

// Returns the inclusive prefix sum of `x` over the lanes of a warp.
VXM_FN u32 running_sum(u32 x) {
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u32 other = __shfl_up_sync(~0u, x, step);
        if (lane() >= step) x += other;
    }
    return x;
}

// Calls `use(i)` for each `i` below `count`, spread over all threads of the launch. `count` is a reference, so that a kernel's parameter is
// read in place and takes no register.
template <class Use> VXM_FN void each_thread(const u64& count, const Use& use) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) use(i);
}

// Calls `use(i, load(i))` for each `i` below `count`, spread over all threads of the launch. A thread issues four loads before the first
// `use`. The compiler could not do so, because a write of `use` might change what a later `load` reads.
template <class Load, class Use> VXM_FN void each_loaded(const u64& count, const Load& load, const Use& use) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * step) {
        decltype(load(i)) loaded[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++)
            if (i + k * step < count) loaded[k] = load(i + k * step);
#pragma unroll
        for (u32 k = 0; k < 4; k++)
            if (i + k * step < count) use(i + k * step, loaded[k]);
    }
}

// Returns whether this is the last block of the launch to call. That block then sees what the other blocks wrote before their calls.
// `*arrived` must be 0, and is 0 again after the last call.
VXM_FN bool last_block(u32* arrived) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
        if (last) *arrived = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// How a visitor reads the entries of its row in a loop that records blockers.
// - `all_entries`: as they are stored.
// - `live_mask`: of the first 32 entries only those with their bits set, and all entries beyond. In a prefiltered row bit 31 stands for all
//   entries from number 31 on.
// - `cached_start`: the same for a prefiltered row with a known first position.
// - `short_cached_start`: as `cached_start`, for rows without entries beyond number 30.
// - `compacted`: the live entries of a compacted row, with their start and number known.
enum RowAccess { all_entries, live_mask, cached_start, short_cached_start, compacted };
// One thread. All groups have these constants:
// - `unroll`: the unroll depth, the number of entries that a member loads before it uses the first.
// - `access`: how a visitor reads the row's entries.
// - `staged`: whether the row's products are staged in shared memory.
// - `wide`: whether the members together read whole cache lines.
// - `has_own_state`: whether the group holds the loop state of its row.
// - `records_blockers`: whether it records the row's blockers.
// - `publishes`: whether it may publish intermediate results before the end of a visit.
struct Thread {
    static const u32 size = 1, unroll = 4;
    static const RowAccess access = all_entries;
    static const bool staged = false, wide = false, has_own_state = false, records_blockers = false, publishes = false;
    static VXM_FN u32 rank() { return 0; }
    static VXM_FN u32 members() { return 1; }
    static VXM_FN bool first() { return true; }
};
// One thread, where no row of the primary product has more than `most` entries.
template <u32 most> struct BoundedRowThread : Thread {};
// `width` adjacent lanes of a warp. `width` is a power of two.
template <u32 width> struct Lanes {
    static const bool staged = false, wide = width == 32, has_own_state = false, records_blockers = false, publishes = false;
    static const u32 size = width, unroll = width == 32 ? 8 : 4;
    static const RowAccess access = all_entries;
    static VXM_FN u32 rank() { return threadIdx.x & (width - 1); }
    static VXM_FN u32 members() { return width; }
    static VXM_FN u32 mask() { return width == 32 ? ~0u : ((1u << (width & 31)) - 1) << (lane() & ~(width - 1)); }
    static VXM_FN bool first() { return rank() == 0; }
};
typedef Lanes<32> Warp;
struct Block {
    static const u32 unroll = 8;
    static const RowAccess access = all_entries;
    static const bool staged = false, wide = true, has_own_state = false, records_blockers = false, publishes = false;
    static VXM_FN u32 rank() { return threadIdx.x; }
    static VXM_FN u32 members() { return blockDim.x; }
    static VXM_FN bool first() { return threadIdx.x == 0; }
};

// The most entries of a short row.
[[maybe_unused]] const u32 SHORT = 32;
// A thread with a row of the primary product staged in shared memory: `len` products from `begin`. Bit `begin + k` of `present` says
// whether product `k` is present.
struct Staged {
    static const u32 unroll = Thread::unroll;
    static const RowAccess access = all_entries;
    static const bool staged = true, wide = false, has_own_state = false, records_blockers = false, publishes = false;
    u64* products;
    const u32* present;
    u32 begin, len;
    static VXM_FN bool first() { return true; }
};

// The most entries of a medium row: longer than short. A staged medium row has all products present.
[[maybe_unused]] const u32 MEDIUM = 4 * SHORT;
struct StagedMedium : Staged {};
// A warp with a staged row that has all products present.
struct StagedRow : Warp {
    static const bool staged = true;
    Staged row;
    VXM_FN StagedRow(Staged row) : row(row) {}
};

// Shuffles an element: returns `x` of the lane with rank `from`.
template <class L, class T> VXM_FN T from_lane(T x, u32 from) {
    if constexpr (sizeof(T) <= 4) {
        u32 word = 0;
        memcpy(&word, &x, sizeof(T));
        word = __shfl_sync(L::mask(), word, from, L::size);
        memcpy(&x, &word, sizeof(T));
    } else if constexpr (sizeof(T) <= 8) {
        u64 word = 0;
        memcpy(&word, &x, sizeof(T));
        word = __shfl_sync(L::mask(), word, from, L::size);
        memcpy(&x, &word, sizeof(T));
    } else {
        TwoWords words = word_of(x);
        words.low = __shfl_sync(L::mask(), words.low, from, L::size);
        words.high = __shfl_sync(L::mask(), words.high, from, L::size);
        x = element<T>(words);
    }
    return x;
}
template <class L, class T> VXM_FN Maybe<T> from_lane(Maybe<T> x, u32 from) {
    Maybe<T> y;
    y.value = from_lane<L>(x.value, from);
    y.present = __shfl_sync(L::mask(), (int)x.present, from, L::size);
    return y;
}
// Returns the value of the group's first member, in all members.
template <class T> VXM_FN Maybe<T> from_first(Thread, Maybe<T> x) { return x; }
template <class T> VXM_FN Maybe<T> from_first(Staged, Maybe<T> x) { return x; }
template <u32 width, class T> VXM_FN Maybe<T> from_first(Lanes<width>, Maybe<T> x) { return from_lane<Lanes<width>>(x, 0); }
template <class T> VXM_FN Maybe<T> from_first(Block, Maybe<T> x) {
    __shared__ Bits<T> word;
    __shared__ bool present;
    // all threads must have read the previous call's value
    __syncthreads();
    if (threadIdx.x == 0) word = word_of(x.value), present = x.present;
    __syncthreads();
    x.value = element<T>(word);
    x.present = present;
    return x;
}

// Combines two partial results, the earlier first. An absent one has no effect.
template <class M, class T> VXM_FN Maybe<T> join(Maybe<T> a, Maybe<T> b) {
    if (!b.present) return a;
    if (a.present) b.value = M::call(a.value, b.value);
    return b;
}
template <class T> VXM_FN Maybe<T> nothing() {
    Maybe<T> x;
    memset(&x, 0, sizeof(x));
    return x;
}

// Returns the partial result over no entries.
template <class M, class T> VXM_FN Maybe<T> empty() {
    Maybe<T> x = nothing<T>();
    if constexpr (M::at_once) x.value = M::neutral();
    return x;
}
// Combines `x` into `sum` if `taken`. It selects instead of branching, so that the lanes of a warp don't diverge. `sum` must have started
// as `empty`.
template <class M, class T> VXM_FN void add(Maybe<T>& sum, bool taken, T x) {
    const T joined = M::call(sum.value, x);
    if (taken) sum.value = M::at_once || sum.present ? joined : x;
    sum.present |= taken;
}

// How the values of a warp's lanes are reduced: by shuffles in log2 steps, or by one hardware instruction for each 32-bit word.
struct StepByStep {
    static const bool at_once = false;
};
struct Ors {
    static VXM_FN u32 all(u32 x) { return __reduce_or_sync(~0u, x); }
};
struct Ands {
    static VXM_FN u32 all(u32 x) { return __reduce_and_sync(~0u, x); }
};
struct Xors {
    static VXM_FN u32 all(u32 x) { return __reduce_xor_sync(~0u, x); }
};
struct Mins {
    static VXM_FN u32 all(u32 x) { return __reduce_min_sync(~0u, x); }
    static VXM_FN int all(int x) { return __reduce_min_sync(~0u, x); }
};
struct Maxes {
    static VXM_FN u32 all(u32 x) { return __reduce_max_sync(~0u, x); }
    static VXM_FN int all(int x) { return __reduce_max_sync(~0u, x); }
};
template <bool is_signed> struct Wide { typedef u32 type; };
template <> struct Wide<true> { typedef int type; };
template <class How, class T, u64 identity> struct AtOnce {
    static const bool at_once = true;
    static VXM_FN T neutral() { return element<T>(identity); }
    static VXM_FN T join(Maybe<T> x) {
        const T mine = x.present ? x.value : element<T>(identity);
        if constexpr (sizeof(T) == 8) return (T)((u64)How::all((u32)((u64)mine >> 32)) << 32 | How::all((u32)mine));
        else return (T)How::all((typename Wide<(T)-1 < (T)0>::type)mine);
    }
};

// Returns the lanes' values reduced in ascending order of lanes, in every lane. Only for exact monoids.
template <class L, class M, class T> VXM_FN Maybe<T> join_lanes(Maybe<T> x) {
    if constexpr (M::at_once && L::size == 32) {
        const T joined = M::join(x);
        return {joined, (bool)__any_sync(~0u, x.present)};
    }
    for (u32 step = 1; step < L::size; step *= 2) {
        Maybe<T> y = from_lane<L>(x, L::rank() + step & L::size - 1);
        if (L::rank() + step < L::size) x = join<M>(x, y);
    }
    return from_lane<L>(x, 0);
}

// The number of positions in a segment of the fixed tree. Position `p` belongs to lane `p % 32`. Each lane reduces its values left to
// right. Then the upper half of the lanes is combined into the lower half until one value is left. Segments are combined in pairs, and the
// pairs likewise.
[[maybe_unused]] const u32 SEGMENT = 1024;

} // namespace vxm
