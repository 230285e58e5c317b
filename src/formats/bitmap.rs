//! Storage of a vector with one slot per index: dense, or with a presence bitmap.

use vxm_semiring::Element;

/// Values for all indices of a vector, and a presence bitmap unless every element is present.
///
/// Invariants:
/// - `values.len()` is the vector's length.
/// - `bits`, where there are any, holds one bit per index: bit `i % 64` of word `i / 64`. Bits past the length are 0.
/// - No `bits` means that every element is present (dense).
/// - `count` is the number of elements.
/// - Values of absent elements are [`Element::ZERO`] or stale, and are never read.
#[derive(Debug, Clone)]
pub struct Bitmap<T> {
    values: Vec<T>,
    bits: Option<Vec<u64>>,
    count: usize,
}

/// The number of 64-bit words that hold `len` bits.
pub(crate) const fn words(len: usize) -> usize {
    len.div_ceil(64)
}

/// Whether bit `i` is set.
#[inline(always)]
pub(crate) fn bit(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 == 1
}

/// The indices of the set bits of `words[first..]`, ascending, where `first` is the index of the first word.
pub(crate) fn ones(words: &[u64], first: usize) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(move |(w, &word)| {
        let mut rest = word;
        core::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                (first + w) * 64 + bit
            })
        })
    })
}

/// The indices of the set bits, ascending.
pub(crate) fn places(bits: &[u64]) -> Vec<u32> {
    ones(bits, 0).map(|i| i as u32).collect()
}

/// Returns fresh words in which the low `len` bits are 1 and the others 0.
pub(crate) fn full_words(len: usize) -> Vec<u64> {
    let mut bits = vec![u64::MAX; words(len)];
    if !len.is_multiple_of(64)
        && let Some(last) = bits.last_mut()
    {
        *last = (1u64 << (len % 64)) - 1;
    }
    bits
}

impl<T: Element> Bitmap<T> {
    /// A vector with an element at every index.
    pub fn dense(values: Vec<T>) -> Self {
        let count = values.len();
        Self { values, bits: None, count }
    }

    /// Builds the storage from one value and one presence bit per index. A full bitmap becomes dense. O(len / 64) time.
    #[inline(never)]
    pub fn new(values: Vec<T>, bits: Vec<u64>) -> Self {
        debug_assert_eq!(bits.len(), words(values.len()));
        let count = bits.iter().map(|w| w.count_ones() as usize).sum();
        let bits = (count != values.len()).then_some(bits);
        Self { values, bits, count }
    }

    /// The vector's length.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the vector has length 0.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of elements.
    pub fn nvals(&self) -> usize {
        self.count
    }

    /// The values at all indices, including the unspecified ones of absent elements.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values at all indices, mutable.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values at all indices, by value.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The presence bits; `None` if every element is present.
    pub fn bits(&self) -> Option<&[u64]> {
        self.bits.as_deref()
    }

    /// The element at `i`; `None` if it is absent. O(1) time.
    ///
    /// # Panics
    /// `i` is not below [`len`](Self::len).
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<T> {
        match &self.bits {
            Some(bits) if !bit(bits, i) => None,
            _ => Some(self.values[i]),
        }
    }

    /// Writes the element at `i`, or removes it if `value` is `None`. The first removal from a dense vector allocates
    /// the bitmap; otherwise O(1) time.
    ///
    /// # Panics
    /// `i` is not below [`len`](Self::len).
    pub fn put(&mut self, i: usize, value: Option<T>) {
        match value {
            Some(value) => {
                if let Some(bits) = &mut self.bits {
                    let mask = 1 << (i % 64);
                    self.count += usize::from(bits[i / 64] & mask == 0);
                    bits[i / 64] |= mask;
                }
                self.values[i] = value;
            }
            None => {
                let len = self.values.len();
                let bits = self.bits.get_or_insert_with(|| full_words(len));
                let mask = 1 << (i % 64);
                self.count -= usize::from(bits[i / 64] & mask != 0);
                bits[i / 64] &= !mask;
            }
        }
    }
}
