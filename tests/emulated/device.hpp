// The header of every program: the names of CUDA that the project's kernels use, implemented for the CPU. It is kept small, since it is
// compiled with every program. If a program includes NVIDIA's headers, these come first and have declared vector types and qualifiers.
#include "thread.hpp"

#pragma GCC visibility push(default)
extern "C" {
void* memcpy(void*, const void*, unsigned long) noexcept;
void* memset(void*, int, unsigned long) noexcept;
double fabs(double) noexcept;
double sqrt(double) noexcept;
double floor(double) noexcept;
double ceil(double) noexcept;
double trunc(double) noexcept;
double fmod(double, double) noexcept;
double round(double) noexcept;
double copysign(double, double) noexcept;
double fma(double, double, double) noexcept;
float fabsf(float) noexcept;
float sqrtf(float) noexcept;
float floorf(float) noexcept;
float ceilf(float) noexcept;
float truncf(float) noexcept;
float fmodf(float, float) noexcept;
float roundf(float) noexcept;
float copysignf(float, float) noexcept;
float fmaf(float, float, float) noexcept;
// implemented by the runtime, in fibers.cpp
unsigned long long emulated_warp(int meeting, unsigned mask, unsigned long long value, unsigned argument);
int emulated_block(int meeting, int value);
void emulated_pause();
void emulated_noise();
unsigned long long emulated_nanoseconds();
}
#pragma GCC visibility pop

#ifndef EMULATED_WITH_HEADERS
struct uint2 {
    unsigned x, y;
} __attribute__((aligned(8)));
struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#define __device__
#define __global__
#endif
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ inline
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#undef __grid_constant__
#define __grid_constant__
// one OS thread runs a block, so shared variables are local to the OS thread
#undef __shared__
#define __shared__ static thread_local

#define threadIdx (emulated::self()->thread)
#define blockIdx (emulated::self()->block)
#define blockDim (emulated::self()->block_dim)
#define gridDim (emulated::self()->grid_dim)

namespace emulated {

// Called before each access to memory that other threads may be writing at the same time. Sometimes yields.
static inline void noise() {
    if (__builtin_expect(self()->noisy, 0)) emulated_noise();
}

// Loads and stores that kernels write as assembly. The compiler may not drop or merge them.
template <class Word> static inline Word load(const void* p) {
    noise();
    return __atomic_load_n((const Word*)p, __ATOMIC_ACQUIRE);
}
// A load that a loop may repeat until another thread has written. It lets other threads run.
template <class Word> static inline Word watch(const void* p) {
    emulated_pause();
    return __atomic_load_n((const Word*)p, __ATOMIC_ACQUIRE);
}
template <class Word> static inline void store(void* p, Word x) {
    noise();
    __atomic_store_n((Word*)p, x, __ATOMIC_RELEASE);
}

// Replaces the 16 bytes at `p` by `low` and `high`, if they are `held`; else reads them into `held`. Returns whether it replaced them. As on
// a device, `p` must be aligned.
static inline bool swap_wide(void* p, unsigned long long (&held)[2], unsigned long long low, unsigned long long high) {
    bool done;
    __asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
                     : "=q"(done), "+m"(*(unsigned __int128*)p), "+a"(held[0]), "+d"(held[1])
                     : "b"(low), "c"(high)
                     : "cc", "memory");
    return done;
}
static inline void load_wide(const void* p, unsigned long long& low, unsigned long long& high) {
    noise();
    unsigned long long held[2] = {0, 0};
    swap_wide((void*)p, held, 0, 0);
    low = held[0], high = held[1];
}
static inline void store_wide(void* p, unsigned long long low, unsigned long long high) {
    noise();
    unsigned long long held[2] = {0, 0};
    while (!swap_wide(p, held, low, high)) {}
}
static inline void compare_and_swap_wide(
    void* p, unsigned long long& found_low, unsigned long long& found_high, unsigned long long held_low, unsigned long long held_high,
    unsigned long long low, unsigned long long high) {
    noise();
    unsigned long long held[2] = {held_low, held_high};
    swap_wide(p, held, low, high);
    found_low = held[0], found_high = held[1];
}

// `T` where it must not be deduced from the argument.
template <class T> struct Same {
    typedef T type;
};
template <int bytes> struct Bits;
template <> struct Bits<4> {
    typedef unsigned type;
};
template <> struct Bits<8> {
    typedef unsigned long long type;
};
// Atomically replaces the value at `p` by step(value). Returns the value before.
template <class T, class Step> static inline T update(T* p, const Step& step) {
    typedef typename Bits<sizeof(T)>::type Word;
    noise();
    Word held = __atomic_load_n((Word*)p, __ATOMIC_SEQ_CST);
    for (;;) {
        T before, after;
        memcpy(&before, &held, sizeof(T));
        after = step(before);
        Word next;
        memcpy(&next, &after, sizeof(T));
        if (__atomic_compare_exchange_n((Word*)p, &held, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return before;
    }
}

template <class T> static inline T shuffle(Meeting meeting, unsigned mask, T x, unsigned by, unsigned width) {
    static_assert(sizeof(T) <= 8, "a shuffle is of 8 bytes at most");
    unsigned long long word = 0;
    memcpy(&word, &x, sizeof(T));
    word = emulated_warp(meeting, mask, word, by | width << 16);
    memcpy(&x, &word, sizeof(T));
    return x;
}

} // namespace emulated

#define EMULATED_ATOMIC(name, after)                                                     \
    template <class T> static inline T name(T* p, typename emulated::Same<T>::type x) { \
        return emulated::update(p, [=](T a) { return (T)(after); });                     \
    }
EMULATED_ATOMIC(atomicAdd, a + x)
EMULATED_ATOMIC(atomicSub, a - x)
EMULATED_ATOMIC(atomicMin, x < a ? x : a)
EMULATED_ATOMIC(atomicMax, x > a ? x : a)
EMULATED_ATOMIC(atomicOr, a | x)
EMULATED_ATOMIC(atomicAnd, a & x)
EMULATED_ATOMIC(atomicExch, x)
template <class T>
static inline T atomicCAS(T* p, typename emulated::Same<T>::type expected, typename emulated::Same<T>::type next) {
    return emulated::update(p, [=](T a) { return a == expected ? next : a; });
}
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static inline void __syncthreads() { emulated_block(emulated::SYNC_BLOCK, 0); }
static inline int __syncthreads_or(int x) { return emulated_block(emulated::SYNC_BLOCK_OR, x != 0); }
static inline void __syncwarp(unsigned mask = ~0u) { emulated_warp(emulated::SYNC_WARP, mask, 0, 0); }
// Only the calling lane, since lanes don't run in lockstep.
static inline unsigned __activemask() { return 1u << (threadIdx.x & 31); }
static inline unsigned __ballot_sync(unsigned mask, int x) { return (unsigned)emulated_warp(emulated::BALLOT, mask, x != 0, 0); }
static inline int __any_sync(unsigned mask, int x) { return (int)emulated_warp(emulated::ANY, mask, x != 0, 0); }
static inline int __all_sync(unsigned mask, int x) { return (int)emulated_warp(emulated::ALL, mask, x != 0, 0); }
template <class T> static inline T __shfl_sync(unsigned mask, T x, int from, int width = 32) {
    return emulated::shuffle(emulated::SHUFFLE, mask, x, (unsigned)from & (width - 1), width);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32) {
    return emulated::shuffle(emulated::SHUFFLE_UP, mask, x, by, width);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T x, int by, int width = 32) {
    return emulated::shuffle(emulated::SHUFFLE_XOR, mask, x, by, width);
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T x) {
    return (unsigned)emulated_warp(emulated::MATCH, mask, (unsigned long long)x, 0);
}
#define EMULATED_REDUCTION(T, name, meeting) \
    static inline T name(unsigned mask, T x) { return (T)emulated_warp(emulated::meeting, mask, (unsigned)x, 0); }
EMULATED_REDUCTION(unsigned, __reduce_add_sync, ADD)
EMULATED_REDUCTION(unsigned, __reduce_min_sync, MIN_UNSIGNED)
EMULATED_REDUCTION(unsigned, __reduce_max_sync, MAX_UNSIGNED)
EMULATED_REDUCTION(int, __reduce_add_sync, ADD)
EMULATED_REDUCTION(int, __reduce_min_sync, MIN_SIGNED)
EMULATED_REDUCTION(int, __reduce_max_sync, MAX_SIGNED)
EMULATED_REDUCTION(unsigned, __reduce_and_sync, AND)
EMULATED_REDUCTION(unsigned, __reduce_or_sync, OR)
EMULATED_REDUCTION(unsigned, __reduce_xor_sync, XOR)

static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned out = 0;
    for (unsigned k = 0; k < 4; k++) out |= (unsigned)(both >> (selector >> 4 * k & 7) * 8 & 0xff) << 8 * k;
    return out;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
template <class T> static inline T __ldcs(const T* p) { return *p; }

namespace emulated {

static inline float from_half(unsigned h) {
    const unsigned exponent = h >> 10 & 31, mantissa = h & 1023;
    float x = (float)mantissa * 0x1p-24f;
    if (exponent) {
        const unsigned bits = (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13;
        memcpy(&x, &bits, sizeof(x));
    }
    return h >> 15 & 1 ? -x : x;
}
// mma.m16n8k16 of f16, summed in f32. Lane 4 g + k holds rows g and g + 8, columns 2k and 2k + 1, of c.
static inline void multiply(
    float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    const unsigned lane = threadIdx.x & 31, g = lane / 4, k = lane % 4;
    const unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    float* const c[4] = {&c0, &c1, &c2, &c3};
    for (unsigned from = 0; from < 4; from++) {
        // lane 4 g + from's four words of `a`, and the words of `b` for both columns
        unsigned row[4], column[2][2];
        for (unsigned r = 0; r < 4; r++) row[r] = __shfl_sync(~0u, a[r], g * 4 + from);
        for (unsigned n = 0; n < 2; n++)
            for (unsigned half = 0; half < 2; half++) column[n][half] = __shfl_sync(~0u, b[half], (2 * k + n) * 4 + from);
        for (unsigned r = 0; r < 2; r++)
            for (unsigned n = 0; n < 2; n++)
                for (unsigned half = 0; half < 2; half++)
                    for (unsigned shift = 0; shift < 32; shift += 16) {
                        const float x = from_half(row[r + 2 * half] >> shift & 0xffff), y = from_half(column[n][half] >> shift & 0xffff);
                        *c[r * 2 + n] += x * y;
                    }
    }
}

// mma.m16n8k256 of bits: the number of bits that a row and a column share, added to c. Lane 4 g + k holds rows g and g + 8, columns 2k and
// 2k + 1, of c.
static inline void multiply_bits(unsigned& c0, unsigned& c1, unsigned& c2, unsigned& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
    unsigned b0, unsigned b1) {
    const unsigned lane = threadIdx.x & 31, g = lane / 4, k = lane % 4;
    const unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    unsigned* const c[4] = {&c0, &c1, &c2, &c3};
    for (unsigned from = 0; from < 4; from++) {
        unsigned row[4], column[2][2];
        for (unsigned r = 0; r < 4; r++) row[r] = __shfl_sync(~0u, a[r], g * 4 + from);
        for (unsigned n = 0; n < 2; n++)
            for (unsigned half = 0; half < 2; half++) column[n][half] = __shfl_sync(~0u, b[half], (2 * k + n) * 4 + from);
        for (unsigned r = 0; r < 2; r++)
            for (unsigned n = 0; n < 2; n++)
                for (unsigned half = 0; half < 2; half++) *c[r * 2 + n] += __builtin_popcount(row[r + 2 * half] & column[n][half]);
    }
}

// A kernel's section of attributes in the format of NVRTC's machine code, which a dry run reads: each attribute is a format, a number,
// then a value or a length with data.
template <int parameters> struct __attribute__((packed)) Info {
    unsigned char bytes_head[2] = {3, 0x19};
    unsigned short bytes;
    unsigned char threads_head[4] = {4, 5, 12, 0};
    unsigned threads[3];
    struct __attribute__((packed)) Parameter {
        unsigned char head[4] = {4, 0x17, 12, 0};
        unsigned char rest[12] = {};
    } each[parameters];
    constexpr Info(unsigned short bytes, unsigned threads) : bytes(bytes), threads{threads, 1, 1}, each{} {}
};

} // namespace emulated
