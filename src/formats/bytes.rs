//! Elements as bytes: their bits, little-endian.

use vxm_semiring::{Element, Word};

/// Appends the bytes of an element.
#[inline(always)]
pub(crate) fn append<T: Element>(out: &mut Vec<u8>, value: T) {
    append_word(out, value.bits(), size_of::<T>());
}

/// Appends the lowest `size` bytes of a word.
#[inline(always)]
pub(crate) fn append_word<W: Word>(out: &mut Vec<u8>, word: W, size: usize) {
    out.extend_from_slice(&word.wide().to_le_bytes()[..size]);
}

/// The element that has these bytes, the lowest first. Missing ones are 0.
#[inline(always)]
pub(crate) fn element<T: Element>(bytes: &[u8]) -> T {
    T::from_bits(word(bytes))
}

/// The word that has these bytes, the lowest first. Missing ones are 0.
#[inline(always)]
pub(crate) fn word<W: Word>(bytes: &[u8]) -> W {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    W::of(u128::from_le_bytes(all))
}

/// An element of 16 bytes, for tests.
#[cfg(test)]
#[vxm_semiring::scalar]
pub(crate) struct Two {
    pub low: u64,
    pub high: u64,
}
