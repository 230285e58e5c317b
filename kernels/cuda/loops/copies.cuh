// Copies of a loop's states in the memory of other ranks' GPUs, where those read them as their rows' neighbours.
namespace vxm {

// A loop on one GPU has none.
struct NoCopies {
    template <class T> VXM_FN void store_copies(u32, T) const {}
};

// Stores a state in another GPU's memory, where kernels may be reading it.
template <class T> VXM_FN void store_far(T* p, T x) {
    const Bits<T> word = word_of(x);
    if constexpr (sizeof(T) == 16)
        asm volatile("{ .reg .b128 x; mov.b128 x, {%1, %2}; st.relaxed.sys.global.b128 [%0], x; }"
                     ::"l"(p), "l"(word.low), "l"(word.high) : "memory");
    else if constexpr (sizeof(T) == 8) asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory");
    else if constexpr (sizeof(T) == 4) asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"((u32)word) : "memory");
    else if constexpr (sizeof(T) == 2) asm volatile("st.relaxed.sys.global.u16 [%0], %1;" ::"l"(p), "r"((u32)word) : "memory");
    else asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(p), "r"((u32)word) : "memory");
}

// Each of the `members` ranks has a window with slots for copies. For each member and each of the `rows`, `slots` says at which slot there
// the row's copy lies: nowhere if it is all ones.
struct PeerCopies {
    u64 members, rows;
    const u64* windows;
    const u32* slots;
    template <class T> VXM_FN void store_copies(u32 row, T x) const {
        for (u64 m = 0; m < members; m++) {
            const u32 slot = slots[m * rows + row];
            if (slot != ~0u) store_far((T*)windows[m] + slot, x);
        }
    }
};

// Writes a rank's own elements to the first slots of its window, and copies of them to the windows of others.
template <class T> struct ShareElements : PeerCopies {
    const T* own;
    T* window;
    VXM_FN void run() const {
        each_thread(rows, [&](u64 i) {
            window[i] = own[i];
            store_copies((u32)i, own[i]);
        });
    }
};

} // namespace vxm
