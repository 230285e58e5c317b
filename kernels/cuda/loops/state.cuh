// A loop's state, which many threads read and write at once, and the grid barrier. `bypass_l1` says how other rows' states are read: past
// the first-level cache, where no grid barrier invalidates that cache.
namespace vxm {

// Loads a state while other threads may be storing it. The load is atomic: it returns an old or a new state, never a mixture.
template <class T> VXM_FN T load_state(const T* p) {
    if constexpr (sizeof(T) == 16) {
        TwoWords words;
        if constexpr (bypass_l1)
            asm volatile("{ .reg .b128 x; ld.relaxed.gpu.global.b128 x, [%2]; mov.b128 {%0, %1}, x; }"
                         : "=l"(words.low), "=l"(words.high) : "l"(p));
        else
            asm volatile("{ .reg .b128 x; ld.relaxed.cta.global.b128 x, [%2]; mov.b128 {%0, %1}, x; }"
                         : "=l"(words.low), "=l"(words.high) : "l"(p));
        return element<T>(words);
    } else if constexpr (sizeof(T) == 8) {
        u64 word;
        if constexpr (bypass_l1) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p));
        else asm volatile("ld.relaxed.cta.global.u64 %0, [%1];" : "=l"(word) : "l"(p));
        return element<T>(word);
    } else {
        u32 word;
        if constexpr (sizeof(T) == 4) {
            if constexpr (bypass_l1) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(word) : "l"(p));
        } else if constexpr (sizeof(T) == 2) {
            if constexpr (bypass_l1) asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u16 %0, [%1];" : "=r"(word) : "l"(p));
        } else {
            if constexpr (bypass_l1) asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(word) : "l"(p));
            else asm volatile("ld.relaxed.cta.global.u8 %0, [%1];" : "=r"(word) : "l"(p));
        }
        return element<T>(word);
    }
}
template <class T> VXM_FN void store_state(T* p, T x) {
    if constexpr (sizeof(T) == 16) {
        const TwoWords words = word_of(x);
        asm volatile("{ .reg .b128 x; mov.b128 x, {%1, %2}; st.relaxed.gpu.global.b128 [%0], x; }"
                     ::"l"(p), "l"(words.low), "l"(words.high) : "memory");
    } else if constexpr (sizeof(T) == 8) {
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
// Stores `next` if the state is `held`. Returns the state found. States of 16 bytes need compute capability 9.0.
template <class T> VXM_FN T compare_and_swap(T* p, T held, T next) {
    if constexpr (sizeof(T) == 16) {
        const TwoWords old = word_of(held), other = word_of(next);
        TwoWords found;
        asm volatile("{ .reg .b128 a, b, x; mov.b128 a, {%3, %4}; mov.b128 b, {%5, %6}; "
                     "atom.relaxed.gpu.global.cas.b128 x, [%2], a, b; mov.b128 {%0, %1}, x; }"
                     : "=l"(found.low), "=l"(found.high)
                     : "l"(p), "l"(old.low), "l"(old.high), "l"(other.low), "l"(other.high) : "memory");
        return element<T>(found);
    } else if constexpr (sizeof(T) == 8) {
        return element<T>(atomicCAS((u64*)p, word_of(held), word_of(next)));
    } else if constexpr (sizeof(T) == 4) {
        return element<T>(atomicCAS((u32*)p, (u32)word_of(held), (u32)word_of(next)));
    } else {
        // narrower than a word: exchanges the aligned word around it
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
template <class T> VXM_FN bool same_bits(T a, T b) { return word_of(a) == word_of(b); }

// Joins values into states by a monoid. `atomic_order` is -1 or 1 if it is the minimum or the maximum, else 0.
template <class T> constexpr VXM_FN bool is_integer() {
    return is_same<T, int>::value || is_same<T, u32>::value || is_same<T, long long>::value || is_same<T, u64>::value;
}
template <class M, int atomic_order> struct Joins {
    static const int order = atomic_order;
    template <class T> static VXM_FN T call(T held, T x) { return M::call(held, x); }
    // Combines `x` into the state at `p`. `held` is an earlier value of it, and becomes the value found. Returns whether that changed the
    // state.
    template <class T> static VXM_FN bool join(T* p, T& held, T x) {
        const bool changed = join_at_once(p, held, x);
        VXM_TALLY(atomics, 1);
        VXM_TALLY(effective_atomics, changed);
        return changed;
    }
    template <class T> static VXM_FN bool join_at_once(T* p, T& held, T x) {
        if (same_bits(call(held, x), held)) return false;
        if constexpr (is_integer<T>() && order != 0) {
            held = order < 0 ? atomicMin(p, x) : atomicMax(p, x);
            return !same_bits(call(held, x), held);
        } else if constexpr (is_same<T, float>::value && order != 0) {
            // bits of numbers from 0 up are ordered as they are, and those of negative ones are negative integers
            const int bits = (int)word_of(x);
            if (!(x >= 0) || bits < 0) return exchange(p, held, x);
            held = element<T>((u32)(order < 0 ? atomicMin((int*)p, bits) : atomicMax((int*)p, bits)));
            // what isn't a number is joined as the monoid says
            T now = x;
            if (held != held) exchange(p, now, held);
            return !same_bits(call(held, x), held);
        } else {
            return exchange(p, held, x);
        }
    }
    template <class T> static VXM_FN bool exchange(T* p, T& held, T x) {
        for (;;) {
            const T joined = call(held, x);
            if (same_bits(joined, held)) return false;
            const T found = compare_and_swap(p, held, joined);
            if (same_bits(found, held)) return true;
            VXM_TALLY(failed_swaps, 1);
            held = found;
        }
    }
};

// Sets bit `i`. Returns whether it was clear.
VXM_FN bool set_bit(u32* bits, u32 i) {
    u32* word = bits + (i >> 5);
    const u32 one = 1u << (i & 31);
    // a plain read first: where many threads set the same bit, most find it set
    return !(*(volatile u32*)word & one) && !(atomicOr(word, one) & one);
}

// The loop state, as the body reads it.
template <class T> struct State {
    typedef T Elem;
    static const bool full = true;
    const T* values;
    template <class G> VXM_FN bool at(G g, u32 i, T& x) const {
        if constexpr (G::has_own_state) x = element<T>(g.own);
        else x = load_state(values + i);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class T> struct IsState<State<T>> {
    static const bool value = true;
};

VXM_FN u32 load_acquire(const u32* p) {
    u32 x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
// The grid barrier: waits until all blocks of a cooperative launch have called it. `control->arrived` and `control->phase` are its
// counters.
// 1. `__syncthreads` orders the block's writes before thread 0, and the fence makes them visible to the device before the arrival.
// 2. Thread 0 knows the phase before it arrives, so it cannot miss the change of phase.
// 3. The last block to arrive resets `arrived` and then, after a fence, increments `phase`. So no block can arrive for the next barrier
//    before the reset.
// 4. The others wait for the new phase by acquire loads. The closing fence orders all later reads after it, and empties the first-level
//    cache.
template <class B> VXM_FN void grid_barrier_wait(B* control, u32 phase) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&control->arrived, 1) == gridDim.x - 1) {
            atomicExch(&control->arrived, 0);
            __threadfence();
            atomicAdd(&control->phase, 1);
        } else {
            while (load_acquire(&control->phase) == phase) {}
        }
        __threadfence();
    }
    __syncthreads();
}

template <class B> VXM_FN void grid_barrier_wait(B* control) { grid_barrier_wait(control, threadIdx.x == 0 ? load_acquire(&control->phase) : 0); }

// Writes two words to the host in one store. The host polls the second word, which must not be all ones.
VXM_FN void post_to_host(u64* result, u32 first, u32 second) { *(volatile u64*)result = (u64)second << 32 | first; }

// Called by all blocks when they no longer use the control block. The last one calls `report`, and zeroes the control block for the next
// loop.
template <class B, class Report> VXM_FN void leave_grid(B* control, const Report& report) {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd(&control->departed, 1) < gridDim.x - 1) return;
    __threadfence();
    report();
    // Word by word: the compiler would zero it byte by byte.
    u64* words = (u64*)control;
    for (u32 k = 0; k < sizeof(B) / 8; k++) words[k] = 0;
}

} // namespace vxm
