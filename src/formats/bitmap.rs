//! A vector with a place for every index: dense, or with a bit that says which places hold an element.

use vxm_semiring::Element;

/// Invariants: `values.len()` is the vector's length; `bits`, where there are any, has one bit a place (bit `i % 64` of word
/// `i / 64`) and zeros above; `count` is the number of elements. No `bits` means every place holds an element (dense).
/// Values at absent places are [`Element::ZERO`] or stale, and never read.
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

/// Sets the low `len` bits of a fresh word vector.
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
    /// A dense vector.
    pub fn dense(values: Vec<T>) -> Self {
        let count = values.len();
        Self { values, bits: None, count }
    }

    /// From values and presence bits; a full bitmap becomes dense.
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

    /// The values of all places, absent ones included.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values of all places, to be written.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values of all places, taken out.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The presence bits; `None` where every place holds an element.
    pub fn bits(&self) -> Option<&[u64]> {
        self.bits.as_deref()
    }

    /// The element at `i`.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<T> {
        match &self.bits {
            Some(bits) if !bit(bits, i) => None,
            _ => Some(self.values[i]),
        }
    }

    /// Writes or removes the element at `i`.
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
