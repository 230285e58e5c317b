//! Loops over what has changed: an element is visited again once one that it reads has changed, in rounds over the state of the round
//! before, or in place.

use super::fixpoint::{Body, next};
use super::gather::{SEQUENTIAL, chunks, is_small};
use super::share;
use crate::backend::view::At;
use crate::error::Result;
use crate::formats::Shared;
use crate::formats::bitmap::{ones, words};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use vxm_semiring::Element;

/// Who reads an element, and is to be visited again once it has changed.
#[derive(Debug)]
pub struct Dependents<'a> {
    /// Whether it does so itself.
    pub own: bool,
    /// Whether any element may: all are visited then.
    pub all: bool,
    /// Offsets and columns: those that read element `i` stand from the `i`-th offset to the next.
    pub rows: Vec<(&'a [u64], &'a [u32])>,
}

impl Dependents<'_> {
    #[inline(always)]
    fn each(&self, i: usize, mut f: impl FnMut(usize)) {
        if self.own {
            f(i);
        }
        for (offsets, columns) in &self.rows {
            columns[offsets[i] as usize..offsets[i + 1] as usize].iter().for_each(|&j| f(j as usize));
        }
    }
}

/// How a loop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How often elements were gone through.
    pub rounds: u32,
    /// How many the last round changed: none, unless there was no other to follow.
    pub changed: usize,
}

/// Whether and how elements are joined into others that they name.
pub trait Hook<T: Element>: Copy + Sync {
    /// Whether they are.
    const HOOKS: bool;
    /// Into which `own` is, an element as it was before the visit; into none if there is no such place.
    fn onto(self, own: T) -> u32;
    /// What becomes of an element that another is joined into.
    fn join(self, held: T, other: T) -> T;
}

/// They aren't.
#[derive(Debug, Clone, Copy)]
pub struct Unhooked;

impl<T: Element> Hook<T> for Unhooked {
    const HOOKS: bool = false;
    fn onto(self, _: T) -> u32 {
        u32::MAX
    }
    fn join(self, _: T, other: T) -> T {
        other
    }
}

/// A loop: a state, who depends on whom, and how many rounds there may be.
#[derive(Debug)]
pub struct Changes<'a, T, H> {
    /// The state.
    pub state: &'a Shared<T>,
    /// Into whom elements are joined. If they are, any element may depend on any.
    pub hook: H,
    /// Who depends on whom.
    pub dependents: Dependents<'a>,
    /// The most rounds.
    pub most: u32,
}

/// Whom a round visits. Those to be visited are marked, but where it is all.
enum Work {
    All,
    Marked,
    List(Vec<u32>),
}

/// So many elements tell what becomes of all.
const SAMPLE: usize = 1024;

/// One in so many is enough to go through all in order, rather than through a list.
const MANY: usize = 8;

impl<T: Element, H: Hook<T>> Changes<'_, T, H> {
    /// Runs the loop; `in_place` if elements may be written while others are visited, in any order.
    ///
    /// # Errors
    /// As making the body's view.
    pub fn run<V: At<T = T>>(&self, in_place: bool, body: impl Fn() -> Result<Body<V>>) -> Result<Outcome> {
        let (mut view, live) = body()?;
        // a view that holds what was read before the round would not see who has changed in it
        let in_place = in_place && live;
        let (marks, mut rounds, mut new) = (Marks::new(self.state.len()), 0, Vec::new());
        let mut work = Work::All;
        // where few change at first, waves begin there: in place and in order they would run ahead of themselves, and be put right later
        let waves = in_place && !H::HOOKS && self.few_change(&view);
        if in_place && !waves && !self.dependents.all {
            // who is marked still needn't be marked again
            marks.fill(self.state.len());
            work = Work::Marked;
        }
        loop {
            rounds += 1;
            let in_place = in_place && !(waves && rounds == 1);
            let (changed, found) = match &work {
                _ if H::HOOKS && !in_place => (self.round_of_joins(&view, &mut new), None),
                Work::List(list) if in_place => self.list(&view, &marks, list),
                Work::List(list) => self.round_of_list(&view, &marks, list, &mut new),
                _ if in_place => (self.sweep(&view, &marks, matches!(work, Work::All)), None),
                _ => (self.round(&view, &marks, matches!(work, Work::All), &mut new), None),
            };
            if changed == 0 || rounds >= self.most {
                return Ok(Outcome { rounds, changed });
            }
            work = self.next(&marks, found);
            if matches!(&work, Work::List(list) if list.is_empty()) {
                return Ok(Outcome { rounds, changed: 0 });
            }
            if !live {
                (view, _) = body()?;
            }
        }
    }

    /// Whom the next round visits: those `found`, or else those that are marked.
    fn next(&self, marks: &Marks, found: Option<Vec<u32>>) -> Work {
        if self.dependents.all {
            return Work::All;
        }
        let count = found.as_ref().map_or_else(|| marks.count(), Vec::len);
        if count * MANY > self.state.len() {
            return Work::Marked;
        }
        Work::List(found.unwrap_or_else(|| marks.list()))
    }

    /// Whether all is too little to share out.
    fn is_small<V: At>(&self, body: &V) -> bool {
        let n = self.state.len();
        let work = body.work().map_or(0, |work| work[n]);
        rayon::current_num_threads() == 1 || (n < SEQUENTIAL && work < 4 * SEQUENTIAL as u64)
    }

    /// Whether few elements of a sample would change.
    fn few_change<V: At<T = T>>(&self, body: &V) -> bool {
        let n = self.state.len();
        let changes = |&i: &usize| next(body, i, self.state.get(i)).bits() != self.state.get(i).bits();
        let sample = (0..n).step_by((n / SAMPLE).max(1));
        sample.clone().filter(changes).count() * MANY < sample.count()
    }

    /// Visits all, or those that are marked, in order and in place; how many changed. Who is marked meanwhile is visited in the next round.
    fn sweep<V: At<T = T>>(&self, body: &V, marks: &Marks, all: bool) -> usize {
        let n = self.state.len();
        let marked = if all { Vec::new() } else { marks.words() };
        let run = |range: Range<usize>, alone: bool| {
            let mut changed = 0;
            for w in range {
                let mut due = if all { full(w, n) } else { marked[w] };
                if due != 0 && !all {
                    marks.clear(w, due, alone);
                }
                while due != 0 {
                    let i = w * 64 + due.trailing_zeros() as usize;
                    due &= due - 1;
                    if !self.settle(body, i, alone) {
                        continue;
                    }
                    changed += 1;
                    self.dependents.each(i, |j| {
                        // of those in the word, who is visited next sees what was written
                        if j / 64 != w || due >> (j % 64) & 1 == 0 {
                            marks.set(j, alone);
                        }
                    });
                }
            }
            changed
        };
        if self.is_small(body) {
            return run(0..words(n), true);
        }
        let cuts = chunks(n, body.work());
        share::collect(cuts.len() - 1, &|p| run(cuts[p]..cuts[p + 1], false)).into_iter().sum()
    }

    /// Visits those of a list, in place; how many changed, and who is to be visited next.
    fn list<V: At<T = T>>(&self, body: &V, marks: &Marks, list: &[u32]) -> (usize, Option<Vec<u32>>) {
        let run = |list: &[u32], alone: bool| {
            let (mut changed, mut found) = (0, Vec::new());
            for &i in list {
                let i = i as usize;
                marks.clear(i / 64, 1 << (i % 64), alone);
                if self.settle(body, i, alone) {
                    changed += 1;
                    self.find(i, marks, alone, &mut found);
                }
            }
            (changed, found)
        };
        shared(body, list, &|p, piece, alone| run(&list[p * piece..((p + 1) * piece).min(list.len())], alone))
    }

    /// Visits an element and writes it; whether it changed. Who reads it is to be marked then.
    #[inline(always)]
    fn settle<V: At<T = T>>(&self, body: &V, i: usize, alone: bool) -> bool {
        let own = self.state.get(i);
        let new = next(body, i, own);
        if H::HOOKS {
            // who is hooked onto this one writes it too
            return self.join(i, own, self.hook.join(own, new), alone);
        }
        if new.bits() == own.bits() {
            return false;
        }
        self.state.put(i, new);
        if !alone {
            // whoever has cleared a mark by now is seen, or sees what was written
            fence(Ordering::SeqCst);
        }
        true
    }

    /// Makes element `i` what has become of it, and joins that into whom it named, as `own`; whether that changed either. Who leads elsewhere
    /// then tells whom he named until then, or his tree would be left behind.
    #[inline(always)]
    fn join(&self, i: usize, own: T, new: T, alone: bool) -> bool {
        let join = |i, new| self.state.join(i, new, alone, |held, new| self.hook.join(held, new));
        let changed = new.bits() != own.bits() && join(i, new);
        let onto = self.hook.onto(own) as usize;
        if onto >= self.state.len() {
            return changed;
        }
        let onward = self.hook.onto(self.state.get(onto)) as usize;
        if !join(onto, new) {
            return changed;
        }
        if onward != onto && onward < self.state.len() {
            join(onward, new);
        }
        true
    }

    /// Marks who reads element `i`, and lists those that weren't marked.
    fn find(&self, i: usize, marks: &Marks, alone: bool, found: &mut Vec<u32>) {
        self.dependents.each(i, |j| {
            if marks.set(j, alone) {
                found.push(j as u32);
            }
        });
    }

    /// Visits all, or those that are marked, over the state of the round before; how many changed.
    fn round<V: At<T = T>>(&self, body: &V, marks: &Marks, all: bool, new: &mut Vec<T>) -> usize {
        let n = self.state.len();
        new.resize(n, T::ZERO);
        let visit = |(range, new): (Range<usize>, &mut [T])| {
            let first = range.start * 64;
            for w in range {
                let due = if all { !0 } else { marks.take(w) };
                for i in w * 64..((w + 1) * 64).min(n) {
                    let own = self.state.get(i);
                    new[i - first] = if due >> (i % 64) & 1 == 1 { next(body, i, own) } else { own };
                }
            }
        };
        let settle = |range: Range<usize>, new: &[T], alone: bool| {
            let mut changed = 0;
            for (i, &new) in (range.start * 64..).zip(new) {
                if new.bits() != self.state.get(i).bits() {
                    self.state.put(i, new);
                    changed += 1;
                    self.dependents.each(i, |j| _ = marks.set(j, alone));
                }
            }
            changed
        };
        if self.is_small(body) {
            visit((0..words(n), new));
            return settle(0..words(n), new, true);
        }
        let cuts = chunks(n, body.work());
        let (mut pieces, mut rest) = (Vec::with_capacity(cuts.len()), &mut new[..]);
        for cut in cuts.windows(2) {
            let (piece, others) = rest.split_at_mut((cut[1] * 64).min(n) - cut[0] * 64);
            pieces.push((cut[0]..cut[1], piece));
            rest = others;
        }
        share::each(pieces, &visit);
        let settled = share::collect(cuts.len() - 1, &|p| {
            let (from, to) = (cuts[p], cuts[p + 1]);
            settle(from..to, &new[from * 64..(to * 64).min(n)], false)
        });
        settled.into_iter().sum()
    }

    /// Visits all over the state of the round before, and joins what has become of each into itself and whom it named; how many changed
    /// either.
    fn round_of_joins<V: At<T = T>>(&self, body: &V, new: &mut Vec<T>) -> usize {
        let n = self.state.len();
        let old: Vec<T> = (0..n).map(|i| self.state.get(i)).collect();
        new.resize(n, T::ZERO);
        let piece = share::piece(n);
        let visit = |(p, new): (usize, &mut [T])| {
            for (i, new) in (p * piece..).zip(new) {
                *new = self.hook.join(old[i], next(body, i, old[i]));
            }
        };
        share::each(new.chunks_mut(piece).enumerate().collect(), &visit);
        let joined = share::collect(n.div_ceil(piece), &|p| {
            let range = p * piece..((p + 1) * piece).min(n);
            range.filter(|&i| self.join(i, old[i], new[i], false)).count()
        });
        joined.into_iter().sum()
    }

    /// Visits those of a list over the state of the round before; how many changed, and who is to be visited next.
    fn round_of_list<V: At<T = T>>(
        &self,
        body: &V,
        marks: &Marks,
        list: &[u32],
        new: &mut Vec<T>,
    ) -> (usize, Option<Vec<u32>>) {
        new.clear();
        new.resize(list.len(), T::ZERO);
        let visit = |(list, new): (&[u32], &mut [T])| {
            for (&i, new) in list.iter().zip(new) {
                marks.clear(i as usize / 64, 1 << (i % 64), false);
                *new = next(body, i as usize, self.state.get(i as usize));
            }
        };
        if is_small(body, list) {
            visit((list, new));
        } else {
            let piece = share::piece(list.len());
            share::each(list.chunks(piece).zip(new.chunks_mut(piece)).collect(), &visit);
        }
        shared(body, list, &|p, piece, alone| {
            let (mut changed, mut found) = (0, Vec::new());
            for (&i, &new) in list.iter().zip(&*new).skip(p * piece).take(piece) {
                if new.bits() != self.state.get(i as usize).bits() {
                    self.state.put(i as usize, new);
                    changed += 1;
                    self.find(i as usize, marks, alone, &mut found);
                }
            }
            (changed, found)
        })
    }
}

/// What pieces of a list come to: `run(number, size, alone)`, by as many threads as that is worth.
fn shared<V: At>(
    body: &V,
    list: &[u32],
    run: &(dyn Fn(usize, usize, bool) -> (usize, Vec<u32>) + Sync),
) -> (usize, Option<Vec<u32>>) {
    if rayon::current_num_threads() == 1 || is_small(body, list) {
        let (changed, found) = run(0, list.len(), true);
        return (changed, Some(found));
    }
    let piece = share::piece(list.len());
    let (changed, found): (Vec<usize>, Vec<_>) =
        share::collect(list.len().div_ceil(piece), &|p| run(p, piece, false)).into_iter().unzip();
    (changed.into_iter().sum(), Some(found.concat()))
}

/// The bits of word `w` of `n`.
fn full(w: usize, n: usize) -> u64 {
    if n - w * 64 >= 64 { !0 } else { (1 << (n - w * 64)) - 1 }
}

/// A bit an element: whether it is to be visited. `alone` says that one thread has all to itself.
struct Marks(Vec<AtomicU64>);

impl Marks {
    fn new(n: usize) -> Self {
        Self((0..words(n)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Marks all of `n`.
    fn fill(&self, n: usize) {
        self.0.iter().enumerate().for_each(|(w, word)| word.store(full(w, n), Ordering::Relaxed));
    }

    /// Marks `i`; whether it wasn't.
    #[inline(always)]
    fn set(&self, i: usize, alone: bool) -> bool {
        let (word, bit) = (&self.0[i / 64], 1 << (i % 64));
        let held = word.load(Ordering::Relaxed);
        if held & bit != 0 {
            return false;
        }
        if alone {
            word.store(held | bit, Ordering::Relaxed);
            return true;
        }
        word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Clears bits of word `w`. Whoever writes what is read from here on sees that, and marks the reader again.
    #[inline(always)]
    fn clear(&self, w: usize, bits: u64, alone: bool) {
        let word = &self.0[w];
        if alone {
            word.store(word.load(Ordering::Relaxed) & !bits, Ordering::Relaxed);
        } else {
            word.fetch_and(!bits, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    fn words(&self) -> Vec<u64> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Clears a word in a round that writes nothing while others read; what it held.
    #[inline(always)]
    fn take(&self, w: usize) -> u64 {
        self.0[w].swap(0, Ordering::Relaxed)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    fn list(&self) -> Vec<u32> {
        ones(&self.words(), 0).map(|i| i as u32).collect()
    }
}
