//! A vector that several threads read and write concurrently.

use portable_atomic::AtomicU128;
use std::any::Any;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use vxm_semiring::Element;

/// A dense vector of atomic words, one per element and as wide as the element. A read that races with a write returns
/// the old or the new element, never a mixture of both. All accesses are relaxed.
#[derive(Debug)]
pub struct Shared<T> {
    words: Words,
    of: PhantomData<fn() -> T>,
}

/// The bits of the elements, in words of the element's size.
#[derive(Debug)]
enum Words {
    One(Vec<AtomicU8>),
    Two(Vec<AtomicU16>),
    Four(Vec<AtomicU32>),
    Eight(Vec<AtomicU64>),
    Sixteen(Vec<AtomicU128>),
}

/// Evaluates `$f` with `$w` bound to the vector of words, whatever their size.
macro_rules! sized {
    ($words:expr, $w:ident => $f:expr) => {
        match $words {
            Words::One($w) => $f,
            Words::Two($w) => $f,
            Words::Four($w) => $f,
            Words::Eight($w) => $f,
            Words::Sixteen($w) => $f,
        }
    };
}

impl<T: Element> Shared<T> {
    /// Converts a vector of elements. If the elements are `u32` or `u64`, the allocation is reused.
    pub fn new(values: Vec<T>) -> Self {
        let values = match cast(values) {
            Ok(words) => {
                // SAFETY: the standard library guarantees that an atomic integer has the size and bit validity of the
                // plain integer; neither has a destructor
                let words = unsafe { recast(words, AtomicU32::new) };
                return Self { words: Words::Four(words), of: PhantomData };
            }
            Err(values) => values,
        };
        let values = match cast(values) {
            Ok(words) => {
                // SAFETY: as above
                let words = unsafe { recast(words, AtomicU64::new) };
                return Self { words: Words::Eight(words), of: PhantomData };
            }
            Err(values) => values,
        };
        let bits = values.into_iter().map(|x| x.wide_bits());
        let words = match size_of::<T>() {
            0 | 1 => Words::One(bits.map(|x| AtomicU8::new(x as u8)).collect()),
            2 => Words::Two(bits.map(|x| AtomicU16::new(x as u16)).collect()),
            3 | 4 => Words::Four(bits.map(|x| AtomicU32::new(x as u32)).collect()),
            5..=8 => Words::Eight(bits.map(|x| AtomicU64::new(x as u64)).collect()),
            _ => Words::Sixteen(bits.map(AtomicU128::new).collect()),
        };
        Self { words, of: PhantomData }
    }

    /// Converts back to a vector with the current elements.
    #[inline(never)]
    pub fn into_values(self) -> Vec<T> {
        match self.words {
            Words::One(words) => words.into_iter().map(|x| T::from_wide_bits(x.into_inner().into())).collect(),
            Words::Two(words) => words.into_iter().map(|x| T::from_wide_bits(x.into_inner().into())).collect(),
            Words::Four(words) => {
                // SAFETY: as above
                let words = unsafe { recast(words, AtomicU32::into_inner) };
                cast(words).unwrap_or_else(|words| words.into_iter().map(|x| T::from_wide_bits(x.into())).collect())
            }
            Words::Eight(words) => {
                // SAFETY: as above
                let words = unsafe { recast(words, AtomicU64::into_inner) };
                cast(words).unwrap_or_else(|words| words.into_iter().map(|x| T::from_wide_bits(x.into())).collect())
            }
            Words::Sixteen(words) => words.into_iter().map(|x| T::from_wide_bits(x.into_inner())).collect(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        sized!(&self.words, words => words.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `i`.
    #[inline(always)]
    pub fn get(&self, i: usize) -> T {
        self.view().get(i)
    }

    /// A copyable view of the elements for reading in loops. A view can be kept in registers, because its kind and
    /// pointer are loaded once; through a reference to `Shared`, they would be reloaded after each atomic access.
    #[inline(always)]
    pub fn view(&self) -> SharedView<'_, T> {
        match &self.words {
            Words::One(words) => SharedView::One(words, PhantomData),
            Words::Two(words) => SharedView::Two(words, PhantomData),
            Words::Four(words) => SharedView::Four(words, PhantomData),
            Words::Eight(words) => SharedView::Eight(words, PhantomData),
            Words::Sixteen(words) => SharedView::Sixteen(words, PhantomData),
        }
    }

    /// Writes the element at `i`.
    #[inline(always)]
    pub fn put(&self, i: usize, value: T) {
        sized!(&self.words, words => words[i].store(value.wide_bits() as _, Ordering::Relaxed));
    }

    /// Replaces the element at `i` by `join(element, value)`. Returns whether its bits changed. Concurrent joins of
    /// other threads are not lost. `alone` promises that no other thread writes the element meanwhile, which spares the
    /// compare-and-swap.
    #[inline(always)]
    pub fn join(&self, i: usize, value: T, alone: bool, join: impl Fn(T, T) -> T) -> bool {
        self.replace(i, value, alone, join).is_some()
    }

    /// As [`join`](Self::join), but returns the element that was replaced; `None` if its bits didn't change.
    #[inline(always)]
    pub fn replace(&self, i: usize, value: T, alone: bool, join: impl Fn(T, T) -> T) -> Option<T> {
        loop {
            let held = self.get(i);
            let joined = join(held, value);
            if joined.bits() == held.bits() {
                return None;
            }
            if alone {
                self.put(i, joined);
                return Some(held);
            }
            if self.swap(i, held, joined) {
                return Some(held);
            }
        }
    }

    /// Writes `new` at `i` if the element there has the bits of `old`. Returns whether it did.
    #[inline(always)]
    fn swap(&self, i: usize, old: T, new: T) -> bool {
        let (order, old, new) = (Ordering::Relaxed, old.wide_bits(), new.wide_bits());
        sized!(&self.words, words => words[i].compare_exchange(old as _, new as _, order, order).is_ok())
    }
}

/// Returns the same vector if `A` and `B` are the same type; otherwise the vector unchanged, as `Err`.
fn cast<A: 'static, B: 'static>(values: Vec<A>) -> Result<Vec<B>, Vec<A>> {
    let mut values = Some(values);
    match (&mut values as &mut dyn Any).downcast_mut::<Option<Vec<B>>>().and_then(Option::take) {
        Some(same) => Ok(same),
        None => Err(values.unwrap_or_default()),
    }
}

/// Reinterprets the allocation as a vector of another type. Converting element by element would take a noticeable part
/// of a loop's time.
///
/// # Safety
///
/// `A` and `B` have the same size, every value of `A` is a valid value of `B`, and neither type needs to be dropped.
/// `each` must agree with that reinterpretation.
unsafe fn recast<A, B>(values: Vec<A>, each: impl Fn(A) -> B) -> Vec<B> {
    // on some machines, an atomic integer has a larger alignment than the plain one
    if align_of::<A>() != align_of::<B>() {
        return values.into_iter().map(each).collect();
    }
    let mut values = ManuallyDrop::new(values);
    // SAFETY: the allocation has this capacity of elements of the same size and alignment, and as many of them are
    // initialized; the caller guarantees that their values are valid
    unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
}

/// A borrowed view of a [`Shared`] vector.
#[derive(Debug, Clone, Copy)]
pub enum SharedView<'a, T> {
    /// Elements of one byte, or of zero bytes.
    One(&'a [AtomicU8], PhantomData<T>),
    /// Elements of two bytes.
    Two(&'a [AtomicU16], PhantomData<T>),
    /// Elements of four bytes.
    Four(&'a [AtomicU32], PhantomData<T>),
    /// Elements of eight bytes.
    Eight(&'a [AtomicU64], PhantomData<T>),
    /// Elements of sixteen bytes.
    Sixteen(&'a [AtomicU128], PhantomData<T>),
}

impl<T: Element> SharedView<'_, T> {
    /// The element at `i`.
    #[inline(always)]
    pub fn get(self, i: usize) -> T {
        T::from_wide_bits(match self {
            Self::One(words, _) if size_of::<T>() < 2 => words[i].load(Ordering::Relaxed).into(),
            Self::Two(words, _) if size_of::<T>() == 2 => words[i].load(Ordering::Relaxed).into(),
            Self::Four(words, _) if matches!(size_of::<T>(), 3 | 4) => words[i].load(Ordering::Relaxed).into(),
            Self::Eight(words, _) if matches!(size_of::<T>(), 5..=8) => words[i].load(Ordering::Relaxed).into(),
            Self::Sixteen(words, _) if size_of::<T>() > 8 => words[i].load(Ordering::Relaxed),
            // the size of `T` is known at compile time, so one arm and this one are left
            _ => unreachable!("words are of the elements' size"),
        })
    }

    /// Where the elements lie, if their words are of their size. Other threads may write them, atomically.
    #[inline(always)]
    pub fn elements(self) -> Option<*const [T]> {
        let (first, len, size) = match self {
            Self::One(words, _) => (words.as_ptr().cast(), words.len(), 1),
            Self::Two(words, _) => (words.as_ptr().cast(), words.len(), 2),
            Self::Four(words, _) => (words.as_ptr().cast(), words.len(), 4),
            Self::Eight(words, _) => (words.as_ptr().cast(), words.len(), 8),
            Self::Sixteen(words, _) => (words.as_ptr().cast(), words.len(), 16),
        };
        (size_of::<T>() == size).then(|| std::ptr::slice_from_raw_parts(first, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::bytes::Two;

    fn survives<T: Element>(values: &[T]) {
        let shared = Shared::new(values.to_vec());
        assert_eq!((shared.len(), shared.is_empty()), (values.len(), values.is_empty()));
        for (i, x) in values.iter().enumerate() {
            assert_eq!(shared.get(i).bits(), x.bits());
            shared.put(i, values[values.len() - 1 - i]);
            assert!(!shared.join(i, *x, false, |held, _| held), "nothing is joined");
        }
        let back: Vec<_> = shared.into_values().into_iter().map(T::bits).collect();
        assert_eq!(back, values.iter().rev().map(|x| x.bits()).collect::<Vec<_>>());
    }

    #[test]
    fn what_many_join_is_not_lost() {
        let shared = Shared::new(vec![0u16, 7]);
        let changes: usize = std::thread::scope(|scope| {
            let join = |bit: u32| shared.join(0, 1 << bit, false, |held, x| held | x);
            let threads: Vec<_> =
                (0..4u32).map(|t| scope.spawn(move || (0..1000).filter(|k| join(t * 4 + k % 4)).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((changes, shared.get(0)), (16, u16::MAX));
        assert!(shared.join(1, 3, true, u16::min) && !shared.join(1, 3, true, u16::min));
    }

    #[test]
    fn halves_of_an_element_stay_together() {
        let two = |k: u64| Two { low: k, high: !k };
        let shared = Shared::new(vec![two(0)]);
        let turns = if cfg!(miri) { 50 } else { 10_000 };
        std::thread::scope(|scope| {
            for t in 0..2 {
                let shared = &shared;
                scope.spawn(move || {
                    for k in 0..turns {
                        shared.put(0, two(2 * k + t));
                        let read = shared.get(0);
                        assert_eq!(read.low, !read.high);
                        shared.join(0, two(k), false, |held, x| if x.low > held.low { x } else { held });
                    }
                });
            }
        });
        let read = shared.get(0);
        assert_eq!(read.low, !read.high);
    }

    #[test]
    fn elements_of_every_size_come_back() {
        survives::<()>(&[(), ()]);
        survives(&[true, false, true]);
        survives(&[i8::MIN, -1, 7]);
        survives(&[u16::MAX, 3]);
        survives(&[f32::NAN, -0.0, 1.5, f32::NEG_INFINITY]);
        survives(&[u64::MAX, 1, 0]);
        survives(&[f64::MIN, -0.0]);
        survives(&[u32::MAX, 1, 2]);
        survives(&[Two { low: u64::MAX, high: 1 }, Two { low: 1, high: u64::MAX }, Two::ZERO]);
        survives::<u32>(&[]);
        survives::<u64>(&[]);
    }
}
