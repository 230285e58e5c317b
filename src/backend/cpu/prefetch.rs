//! Prefetching. Without it, each of many reads at scattered addresses would wait for memory on its own.

/// Prefetches the element at `i` of a slice into the caches. Does nothing if `i` is out of bounds.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction (it is part of SSE); it has no effect on memory, and the address is valid
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, i);
}
