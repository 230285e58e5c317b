//! Elements as bytes: their bits, little-endian.

use vxm_semiring::Element;

/// Appends the bytes of an element.
#[inline(always)]
pub(crate) fn append<T: Element>(out: &mut Vec<u8>, value: T) {
    out.extend_from_slice(&value.wide_bits().to_le_bytes()[..size_of::<T>()]);
}

/// The element that has these bytes, the lowest first. Missing ones are 0.
#[inline(always)]
pub(crate) fn element<T: Element>(bytes: &[u8]) -> T {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    T::from_wide_bits(u128::from_le_bytes(word))
}
