//! Asking for what will be read soon: where rows lie apart, each would be waited for on its own.

/// Asks for the element at `i` of a slice, if it has one, and doesn't wait for it.
#[inline(always)]
pub fn ask<T>(slice: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is of every such processor; it reads nothing, and the address is an element's.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, i);
}
