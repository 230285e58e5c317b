//! The elements that are due in a round of a `while_changed` loop, and their marks.

use crate::formats::bitmap::{places, words};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The elements that a round visits.
pub enum Due {
    /// All elements. None need be marked.
    All,
    /// Those that are marked.
    Marked,
    /// Those in the list. They are also marked.
    List(Vec<u32>),
}

impl Due {
    /// How many of `n` elements these are.
    pub fn count(&self, marks: &Marks, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Marked => marks.count(),
            Self::List(list) => list.len(),
        }
    }
}

/// Word `w` of a bitmap of `n` bits that are all set.
pub fn full_word(w: usize, n: usize) -> u64 {
    if n - w * 64 >= 64 { !0 } else { (1 << (n - w * 64)) - 1 }
}

/// Marks: one bit per element, set if the element is due. `alone` promises that no other thread accesses the marks or the state meanwhile,
/// which spares atomic updates and fences.
pub struct Marks(Vec<AtomicU64>);

impl Marks {
    /// No marks, for `n` elements.
    pub fn new(n: usize) -> Self {
        Self((0..words(n)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Marks all `n` elements.
    pub fn fill(&self, n: usize) {
        self.0.iter().enumerate().for_each(|(w, word)| word.store(full_word(w, n), Ordering::Relaxed));
    }

    /// Marks element `i`. Returns whether it was unmarked. In place, a fence must separate the write that makes `i` due from this call.
    #[inline(always)]
    pub fn set(&self, i: usize, alone: bool) -> bool {
        let (word, bit) = (&self.0[i / 64], 1 << (i % 64));
        let held = word.load(Ordering::Relaxed);
        // usually already marked, which needs no atomic update
        if held & bit != 0 {
            return false;
        }
        if alone {
            word.store(held | bit, Ordering::Relaxed);
            return true;
        }
        word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Clears some marks of word `w`, before their elements are visited. If another thread changes the state meanwhile, either those
    /// visits see the change, or that thread finds the marks cleared and sets them again. The fence ensures this together with the one in
    /// `Changes::visit`.
    #[inline(always)]
    pub fn clear(&self, w: usize, bits: u64, alone: bool) {
        let word = &self.0[w];
        if alone {
            word.store(word.load(Ordering::Relaxed) & !bits, Ordering::Relaxed);
        } else {
            word.fetch_and(!bits, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Clears the mark of element `i`, before it is visited. Returns whether it was marked. As [`clear`](Self::clear) otherwise.
    #[inline(always)]
    pub fn take_one(&self, i: usize, alone: bool) -> bool {
        let (word, bit) = (&self.0[i / 64], 1 << (i % 64));
        let held = word.load(Ordering::Relaxed);
        if held & bit == 0 {
            return false;
        }
        if alone {
            word.store(held & !bit, Ordering::Relaxed);
            return true;
        }
        let held = word.fetch_and(!bit, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        held & bit != 0
    }

    /// Whether element `i` is marked.
    #[inline(always)]
    pub fn is_set(&self, i: usize) -> bool {
        self.0[i / 64].load(Ordering::Relaxed) >> (i % 64) & 1 == 1
    }

    /// A copy of all words.
    pub fn words(&self) -> Vec<u64> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Clears word `w` and returns its bits before. It needs no fence, since it is used only while no thread writes the state.
    #[inline(always)]
    pub fn take(&self, w: usize) -> u64 {
        self.0[w].swap(0, Ordering::Relaxed)
    }

    /// The number of marked elements.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// The marked elements, ascending.
    pub fn list(&self) -> Vec<u32> {
        places(&self.words())
    }
}
