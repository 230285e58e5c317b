//! The work list of a loop that relaxes edges: elements in buckets of their values, the best first.
//!
//! Delta-stepping (Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm") with buckets of each thread's own, as in the
//! GAP benchmark suite (Beamer, Asanović and Patterson). Near buckets lie in a ring. Elements of far ones are dealt out when they are next.

use crate::backend::cpu::due::Marks;
use rayon::current_thread_index;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vxm_semiring::Element;

/// Buckets of the ring. More would lie outside the nearest cache.
const RING: u64 = 512;

/// In which bucket an element belongs. Any order is right, and a good one visits few elements twice.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The number of a value in the first bucket.
    base: f64,
    /// Buckets for a step of one, upwards or downwards; 0 puts all in one bucket.
    scale: f64,
}

impl Order {
    /// One bucket for all: elements are visited in the order in which they change.
    pub const NONE: Self = Self { base: 0.0, scale: 0.0 };

    /// Buckets of so many units of value, from `base` upwards, or downwards if `width` is negative.
    pub fn new(base: f64, width: f64) -> Self {
        let scale = width.recip();
        if scale.is_finite() && base.is_finite() { Self { base, scale } } else { Self::NONE }
    }

    /// The units of value of a bucket; `None` if there is only one.
    pub fn width(&self) -> Option<f64> {
        (self.scale != 0.0).then(|| self.scale.recip())
    }

    /// The bucket of a value. Values before the base are in the first, as are those that are no number.
    #[inline(always)]
    pub fn bucket<T: Element>(&self, x: T) -> u64 {
        ((x.as_f64() - self.base) * self.scale) as u64
    }
}

/// The buckets of one thread.
#[derive(Debug)]
pub struct Bins<T> {
    ring: Vec<Vec<u32>>,
    /// The elements in the ring.
    near: usize,
    /// The elements of buckets behind the ring, and the first of these buckets.
    far: Vec<u32>,
    first_far: u64,
    /// Scratch space for the thread: elements that changed, with what they were.
    pub changed: Vec<(u32, T)>,
}

impl<T> Bins<T> {
    fn new() -> Self {
        Self { ring: vec![Vec::new(); RING as usize], near: 0, far: Vec::new(), first_far: u64::MAX, changed: Vec::new() }
    }

    /// Adds an element to a bucket, or to the current one if that comes later.
    #[inline(always)]
    pub fn add(&mut self, element: u32, bucket: u64, current: u64) {
        let bucket = bucket.max(current);
        if bucket - current < RING {
            self.ring[(bucket % RING) as usize].push(element);
            self.near += 1;
        } else {
            self.far.push(element);
            self.first_far = self.first_far.min(bucket);
        }
    }

    /// The first bucket of the ring that isn't empty.
    fn first_near(&self, current: u64) -> u64 {
        let holds = |bucket: &u64| !self.ring[(bucket % RING) as usize].is_empty();
        if self.near == 0 { u64::MAX } else { (current..current + RING).find(holds).unwrap_or(u64::MAX) }
    }
}

/// The buckets of all threads, and the current one.
#[derive(Debug)]
pub struct Buckets<T> {
    bins: Vec<Mutex<Bins<T>>>,
    /// The bucket that is visited. Elements of earlier ones are added to it.
    pub current: u64,
}

impl<T> Buckets<T> {
    /// Empty buckets, for the threads of the pool and one that is in none.
    pub fn new() -> Self {
        Self { bins: (0..=rayon::current_num_threads()).map(|_| Mutex::new(Bins::new())).collect(), current: 0 }
    }

    /// The buckets of this thread.
    pub fn own(&self) -> MutexGuard<'_, Bins<T>> {
        let thread = current_thread_index().map_or(0, |thread| thread + 1);
        self.bins[thread % self.bins.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces `list` by the elements of the first bucket that holds some, which becomes the current one. Returns whether there is one.
    /// `bucket` says where an element belongs now.
    pub fn take(&mut self, list: &mut Vec<u32>, marks: &Marks, bucket: impl Fn(u32) -> u64) -> bool {
        list.clear();
        loop {
            let (mut near, mut far) = (u64::MAX, u64::MAX);
            for bins in &mut self.bins {
                let bins = bins.get_mut().unwrap_or_else(PoisonError::into_inner);
                near = near.min(bins.first_near(self.current));
                far = far.min(bins.first_far);
            }
            if far <= near && far < u64::MAX {
                self.deal_out(far, marks, &bucket);
                continue;
            }
            if near == u64::MAX {
                return false;
            }
            self.current = near;
            for bins in &mut self.bins {
                let bins = bins.get_mut().unwrap_or_else(PoisonError::into_inner);
                let held = &mut bins.ring[(near % RING) as usize];
                bins.near -= held.len();
                if list.is_empty() {
                    // the allocation that was used up serves again
                    std::mem::swap(list, held);
                } else {
                    list.append(held);
                }
            }
            return true;
        }
    }

    /// Deals out the elements of far buckets again, from bucket `first` on. Those that were visited meanwhile are dropped.
    fn deal_out(&mut self, first: u64, marks: &Marks, bucket: &impl Fn(u32) -> u64) {
        self.current = first;
        for bins in &mut self.bins {
            let bins = bins.get_mut().unwrap_or_else(PoisonError::into_inner);
            bins.first_far = u64::MAX;
            for element in std::mem::take(&mut bins.far) {
                if marks.is_set(element as usize) {
                    bins.add(element, bucket(element), first);
                }
            }
        }
    }
}
