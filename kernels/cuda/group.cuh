// Who works on a row together: one thread, a warp, a block. Every member gets the same answers, so whatever is composed over a row's
// fold (a mask, an operator, a merge) is simply computed by all, and the first member writes.
namespace vxm {

typedef unsigned int u32;
typedef unsigned long long u64;

// An element of its bits, zero-extended.
template <class T> VXM_FN T element(u64 word) {
    T x;
    memcpy(&x, &word, sizeof(T));
    return x;
}

// An element's bits, zero-extended.
template <class T> VXM_FN u64 word_of(T x) {
    u64 word = 0;
    memcpy(&word, &x, sizeof(T));
    return word;
}

// A value that may be absent, as a fold passes it on.
template <class T> struct Maybe {
    T value;
    bool present;
};

VXM_FN u32 lane() { return threadIdx.x & 31; }
VXM_FN u32 warp() { return threadIdx.x >> 5; }

// The sum of x over the lanes of a warp up to this one.
VXM_FN u32 running_sum(u32 x) {
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u32 other = __shfl_up_sync(~0u, x, step);
        if (lane() >= step) x += other;
    }
    return x;
}

// Calls use(i) for each i below `count`, of which all threads of a launch take their share. By reference, so that a kernel's parameter
// is compared to where it lies.
template <class Use> VXM_FN void each_thread(const u64& count, const Use& use) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) use(i);
}

// Calls use(i, load(i)) for each i below `count`, of which all threads of a launch take their share: of four what is loaded is under way
// before the first is used, since what `use` writes might be what others load.
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

// Whether this is the last block of a launch to ask, with what the others have written before they did. `arrived` is 0 before and after.
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

// How a row is visited whose group remembers for whom it waits. whole: its entries as they lie; sifted: of the first 32 those alone whose
// bits are set; placed: the same, and it is known where the row begins; brief: the same of one that has no more; measured: what is left of
// one that becomes shorter, of which it is known where that begins and, instead of bits, how many entries it has.
enum Way { whole, sifted, placed, brief, measured };
// `wide` groups read whole lines at once, and a member has so many entries in `flight`; `knows` that the group holds the state's element
// of its row, `watches` that it remembers by whom that is kept waiting, `tells` that it may tell what is found before the end.
struct Thread {
    static const u32 size = 1, flight = 4;
    static const Way way = whole;
    static const bool staged = false, wide = false, knows = false, watches = false, tells = false;
    static VXM_FN u32 rank() { return 0; }
    static VXM_FN u32 members() { return 1; }
    static VXM_FN bool first() { return true; }
};
// One thread, and no row of the leading product has more entries than `most`.
template <u32 most> struct Few : Thread {};
// So many neighbouring lanes of a warp, a power of two.
template <u32 width> struct Lanes {
    static const bool staged = false, wide = width == 32, knows = false, watches = false, tells = false;
    static const u32 size = width, flight = width == 32 ? 8 : 4;
    static const Way way = whole;
    static VXM_FN u32 rank() { return threadIdx.x & (width - 1); }
    static VXM_FN u32 members() { return width; }
    static VXM_FN u32 mask() { return width == 32 ? ~0u : ((1u << (width & 31)) - 1) << (lane() & ~(width - 1)); }
    static VXM_FN bool first() { return rank() == 0; }
};
typedef Lanes<32> Warp;
struct Block {
    static const u32 flight = 8;
    static const Way way = whole;
    static const bool staged = false, wide = true, knows = false, watches = false, tells = false;
    static VXM_FN u32 rank() { return threadIdx.x; }
    static VXM_FN u32 members() { return blockDim.x; }
    static VXM_FN bool first() { return threadIdx.x == 0; }
};
// For whom a row waits: the columns of up to two entries. And which of its first 32 entries still take part; of one whose entries were chosen
// the last bit stands for those from there on. And where the row begins, if that is kept.
[[maybe_unused]] const u32 NOBODY = ~0u, BEYOND = 1u << 31;
struct Rest {
    u32 column = NOBODY, second = NOBODY, bits = ~0u, begin = 0;
};
// A group that visits a row of a loop's state: it holds the row's own element, and may put at `rest` for whom the row waits.
template <class G, bool asks, u32 many = G::flight, Way how = whole> struct Visitor : G {
    static const u32 flight = many;
    static const bool knows = true, watches = asks;
    static const Way way = how;
    u64 own;
    Rest* rest;
    VXM_FN Visitor(u64 own, Rest* rest) : own(own), rest(rest) {}
};
// One that lowers the row's own element, at `place`, to what is found on the way.
template <class G, class T> struct Teller : Visitor<G, false> {
    static const bool tells = true;
    T* place;
    VXM_FN Teller(u64 own, T* place) : Visitor<G, false>(own, nullptr), place(place) {}
    VXM_FN void tell(T x) const {
        if (G::first()) atomicMin(place, x);
    }
};
// The same group, which tells nothing.
template <class G> VXM_FN G silent(G g) { return g; }
template <class G, class T> VXM_FN Visitor<G, false> silent(Teller<G, T> g) { return g; }
// The group as it reads another index.
template <class G> VXM_FN G bare(G g) { return g; }
template <class G, bool asks, u32 many, Way how> VXM_FN G bare(Visitor<G, asks, many, how> g) { return g; }
template <class G, class T> VXM_FN G bare(Teller<G, T> g) { return g; }

// Rows of at most so many entries are short.
[[maybe_unused]] const u32 SHORT = 32;
// A thread whose row of the leading product lies staged: `len` products from `begin`, of which those are there whose bit is set.
struct Staged {
    static const u32 flight = Thread::flight;
    static const Way way = whole;
    static const bool staged = true, wide = false, knows = false, watches = false, tells = false;
    u64* products;
    const u32* present;
    u32 begin, len;
    static VXM_FN bool first() { return true; }
};

// The same of a row that is longer than short, but not long: all of it there.
[[maybe_unused]] const u32 MEDIUM = 4 * SHORT;
struct StagedMedium : Staged {};
// A warp whose row lies so, all of it there.
struct StagedRow : Warp {
    static const bool staged = true;
    Staged row;
    VXM_FN StagedRow(Staged row) : row(row) {}
};

// A shuffle of any element: up to 8 bytes.
template <class L, class T> VXM_FN T from_lane(T x, u32 from) {
    if constexpr (sizeof(T) <= 4) {
        u32 word = 0;
        memcpy(&word, &x, sizeof(T));
        word = __shfl_sync(L::mask(), word, from, L::size);
        memcpy(&x, &word, sizeof(T));
    } else {
        u64 word = 0;
        memcpy(&word, &x, sizeof(T));
        word = __shfl_sync(L::mask(), word, from, L::size);
        memcpy(&x, &word, sizeof(T));
    }
    return x;
}
template <class L, class T> VXM_FN Maybe<T> from_lane(Maybe<T> x, u32 from) {
    Maybe<T> y;
    y.value = from_lane<L>(x.value, from);
    y.present = __shfl_sync(L::mask(), (int)x.present, from, L::size);
    return y;
}
// What the first member of a group has, in all of them.
template <class T> VXM_FN Maybe<T> of_first(Thread, Maybe<T> x) { return x; }
template <class T> VXM_FN Maybe<T> of_first(Staged, Maybe<T> x) { return x; }
template <u32 width, class T> VXM_FN Maybe<T> of_first(Lanes<width>, Maybe<T> x) { return from_lane<Lanes<width>>(x, 0); }
template <class T> VXM_FN Maybe<T> of_first(Block, Maybe<T> x) {
    __shared__ u64 word;
    __shared__ bool present;
    // whoever read the last one's is done
    __syncthreads();
    if (threadIdx.x == 0) word = word_of(x.value), present = x.present;
    __syncthreads();
    x.value = element<T>(word);
    x.present = present;
    return x;
}

// Joins two folds, the earlier first; an absent one leaves no trace.
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

// A fold to which nothing was added yet.
template <class M, class T> VXM_FN Maybe<T> empty() {
    Maybe<T> x = nothing<T>();
    if constexpr (M::at_once) x.value = M::neutral();
    return x;
}
// Joins what may not be taken, by choosing, so that all lanes go the same way. `sum` began empty.
template <class M, class T> VXM_FN void add(Maybe<T>& sum, bool taken, T x) {
    const T joined = M::call(sum.value, x);
    if (taken) sum.value = M::at_once || sum.present ? joined : x;
    sum.present |= taken;
}

// How the values of all lanes of a warp are joined: in steps, or by one instruction a word.
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

// The lanes' values joined in ascending order of lane; in every lane. For exact monoids.
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

// Positions a segment of the fixed tree spans: position p is lane p % 32's, each lane folds left to right, and the upper half of the
// lanes is joined to the lower one until one is left. Segments are joined in pairs, the pairs likewise.
[[maybe_unused]] const u32 SEGMENT = 1024;

} // namespace vxm
