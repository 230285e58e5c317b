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

// A value that may be absent, as a fold passes it on.
template <class T> struct Maybe {
    T value;
    bool present;
};

// A shuffle of any element: up to 8 bytes.
template <class T> VXM_FN T from_lane(T x, u32 lane) {
    if (sizeof(T) <= 4) {
        u32 word = 0;
        memcpy(&word, &x, sizeof(T) < 4 ? sizeof(T) : 4);
        word = __shfl_sync(~0u, word, lane);
        memcpy(&x, &word, sizeof(T) < 4 ? sizeof(T) : 4);
    } else {
        u64 word = 0;
        memcpy(&word, &x, sizeof(T) < 8 ? sizeof(T) : 8);
        word = __shfl_sync(~0u, word, lane);
        memcpy(&x, &word, sizeof(T) < 8 ? sizeof(T) : 8);
    }
    return x;
}
template <class T> VXM_FN Maybe<T> from_lane(Maybe<T> x, u32 lane) {
    Maybe<T> y;
    y.value = from_lane(x.value, lane);
    y.present = __shfl_sync(~0u, (int)x.present, lane);
    return y;
}

VXM_FN u32 lane() { return threadIdx.x & 31; }
VXM_FN u32 warp() { return threadIdx.x >> 5; }

struct Thread {
    static VXM_FN bool first() { return true; }
};
struct Warp {
    static VXM_FN bool first() { return lane() == 0; }
};
struct Block {
    static VXM_FN bool first() { return threadIdx.x == 0; }
};

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

// The lanes' values joined in ascending order of lane; in every lane. For exact monoids.
template <class M, class T> VXM_FN Maybe<T> join_lanes(Maybe<T> x) {
    for (u32 step = 1; step < 32; step *= 2) {
        Maybe<T> y = from_lane(x, lane() + step & 31);
        if (lane() + step < 32) x = join<M>(x, y);
    }
    return from_lane(x, 0);
}

// The lanes' values joined by halves: l with l + 16, then + 8, + 4, + 2, + 1. The fixed tree of inexact monoids.
template <class M, class T> VXM_FN Maybe<T> join_halves(Maybe<T> x) {
    for (u32 step = 16; step > 0; step /= 2) {
        Maybe<T> y = from_lane(x, lane() + step & 31);
        if (lane() < step) x = join<M>(x, y);
    }
    return from_lane(x, 0);
}

// The lanes' values joined one after the other.
template <class M, class T> VXM_FN Maybe<T> join_serially(Maybe<T> x) {
    Maybe<T> total = from_lane(x, 0);
    for (u32 l = 1; l < 32; l++) total = join<M>(total, from_lane(x, l));
    return total;
}

// Positions a segment of the fixed tree spans; one of at most 32 is folded left to right.
const u32 SEGMENT = 4096;

} // namespace vxm
