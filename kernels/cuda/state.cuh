// A loop's state, read and written by many at once, and where they wait for each other. `direct` says how neighbours' states are read:
// past the first-level cache, where no barrier empties it.
namespace vxm {

// A state, in one word, read while others may be writing theirs.
template <class T> VXM_FN T peek(const T* p) {
    if constexpr (sizeof(T) == 8) {
        u64 word;
        if constexpr (direct) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p));
        else asm volatile("ld.relaxed.cta.global.u64 %0, [%1];" : "=l"(word) : "l"(p));
        return element<T>(word);
    } else {
        u32 word;
        if constexpr (sizeof(T) == 4) {
            if constexpr (direct) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(word) : "l"(p));
        } else if constexpr (sizeof(T) == 2) {
            if constexpr (direct) asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u16 %0, [%1];" : "=r"(word) : "l"(p));
        } else {
            if constexpr (direct) asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u8 %0, [%1];" : "=r"(word) : "l"(p));
        }
        return element<T>(word);
    }
}
template <class T> VXM_FN void poke(T* p, T x) {
    if constexpr (sizeof(T) == 8) {
        u64 word;
        memcpy(&word, &x, 8);
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory");
    } else {
        u32 word = 0;
        memcpy(&word, &x, sizeof(T));
        if constexpr (sizeof(T) == 4) asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(word) : "memory");
        else if constexpr (sizeof(T) == 2) asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"(p), "r"(word) : "memory");
        else asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(p), "r"(word) : "memory");
    }
}
// Writes `next` if `held` is there; what was there.
template <class T> VXM_FN T swap(T* p, T held, T next) {
    if constexpr (sizeof(T) == 8) {
        return element<T>(atomicCAS((u64*)p, word_of(held), word_of(next)));
    } else if constexpr (sizeof(T) == 4) {
        return element<T>(atomicCAS((u32*)p, (u32)word_of(held), (u32)word_of(next)));
    } else {
        // no wider than a byte or two: in the word around
        u32* word = (u32*)((u64)p & ~3ull);
        const u32 shift = ((u64)p & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
        u32 around = *(volatile u32*)word;
        for (;;) {
            const T found = element<T>(around >> shift & mask >> shift);
            if (word_of(found) != word_of(held)) return found;
            const u32 seen = atomicCAS(word, around, around & ~mask | (u32)word_of(next) << shift);
            if (seen == around) return held;
            around = seen;
        }
    }
}
template <class T> VXM_FN bool same(T a, T b) { return word_of(a) == word_of(b); }

// The state, as the body reads it.
template <class T> struct State {
    typedef T Elem;
    static const bool full = true;
    const T* values;
    template <class G> VXM_FN bool at(G g, u32 i, T& x) const {
        if constexpr (G::knows) x = element<T>(g.own);
        else x = peek(values + i);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

VXM_FN u32 watch(const u32* p) {
    u32 x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
// Where all blocks of a cooperative launch wait for each other; `arrived` and `met` are the board's own.
template <class B> VXM_FN void meet(B* board) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const u32 met = watch(&board->met);
        __threadfence();
        if (atomicAdd(&board->arrived, 1) == gridDim.x - 1) {
            atomicExch(&board->arrived, 0);
            __threadfence();
            atomicAdd(&board->met, 1);
        } else {
            while (watch(&board->met) == met) {}
        }
        __threadfence();
    }
    __syncthreads();
}

// Two words for the host, at once: it looks at the second, which isn't all ones.
VXM_FN void post(u64* told, u32 first, u32 second) { *(volatile u64*)told = (u64)second << 32 | first; }

// Called by all blocks when they are done with the board: the last one calls `tell`, and leaves it as the next loop expects it.
template <class B, class Tell> VXM_FN void leave(B* board, const Tell& tell) {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd(&board->left, 1) < gridDim.x - 1) return;
    __threadfence();
    tell();
    // by bytes the compiler would
    u64* words = (u64*)board;
    for (u32 k = 0; k < sizeof(B) / 8; k++) words[k] = 0;
}

} // namespace vxm
