//! The CPU's `while_changed` loops. An element is visited again once one that it reads has changed. Visits run in rounds over the state of
//! the round before, or in place.

use crate::backend::cpu::active::{Body, next};
use crate::backend::cpu::gather::{chunk_bounds, is_small};
use crate::backend::cpu::counted::Counted;
use crate::backend::cpu::due::{Due, Marks, full_word};
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::parallel;
use crate::backend::cpu::scatter_reduce::Scatter;
use crate::backend::profile::Probe;
use crate::backend::spans::told_round;
use crate::backend::tuning::tuning;
use crate::backend::view::VectorView;
use crate::error::Result;
use crate::formats::Shared;
use crate::formats::bitmap::words;
use crate::memory::{self, AtPlaces};
use crate::stop;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use vxm_semiring::Element;

/// For each element, its readers: the elements to be visited again once it has changed.
#[derive(Debug, Clone)]
pub struct Dependents<'a> {
    /// Whether an element reads itself.
    pub own: bool,
    /// Whether any element may read any other. Every round then visits all elements, and marks mean nothing.
    pub all: bool,
    /// Offsets and columns of matrices by rows: the columns of row `i` read element `i`.
    pub rows: Vec<(&'a [u64], &'a [u32])>,
}

impl Dependents<'_> {
    /// The readers of these elements, with repeats; `None` if they are more than `most`, or unknown.
    pub(crate) fn of(&self, elements: &[u32], most: usize) -> Option<Vec<u32>> {
        let readers = |i: u32| self.rows.iter().map(move |(offsets, _)| offsets[i as usize + 1] - offsets[i as usize]);
        let mut count = 0u64;
        for &i in elements {
            count += 1 + readers(i).sum::<u64>();
            if self.all || count > most as u64 {
                return None;
            }
        }
        let mut found = Vec::with_capacity(count as usize);
        elements.iter().for_each(|&i| self.each(i as usize, |j| found.push(j as u32)));
        Some(found)
    }

    /// Calls `f` for each reader of element `i`.
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

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The number of rounds.
    pub rounds: u32,
    /// How many elements changed in the last round. It is 0 unless the loop reached its limit of rounds, or lost patience.
    pub changed: usize,
}

/// A `while_changed` loop: its state, its dependencies and its limit.
#[derive(Debug)]
pub struct Changes<'a, T, H> {
    /// The state.
    pub state: &'a Shared<T>,
    /// The scatter-reduce. If there is one, `dependents.all` must be set, since targets change.
    pub scatter: H,
    /// The readers of each element.
    pub dependents: Dependents<'a>,
    /// The most rounds.
    pub max_rounds: u32,
    /// After a round that exceeds so many visits a loop in place ends, even if elements have changed.
    pub patience: Option<u64>,
    /// Is set once a view reads rows that lie in a file larger than memory. Elements are then visited in the order of their rows.
    pub spills: &'a AtomicBool,
    /// The loop's counters, if visits are to be counted.
    pub probe: Option<&'a Probe>,
}

impl<T: Element, H: Scatter<T>> Changes<'_, T, H> {
    /// Runs the loop. If `in_place`, elements may be written while others are visited, in any order.
    ///
    /// # Errors
    /// If `body` fails to make the view.
    pub fn run<V: VectorView<T = T>>(&self, in_place: bool, body: impl Fn() -> Result<Body<V>>) -> Result<Outcome> {
        let (view, live) = body()?;
        parallel::alone_if(self.is_small(&view), || self.run_over(view, live, in_place, body))
    }

    /// Runs the loop, given its body.
    fn run_over<V: VectorView<T = T>>(
        &self,
        mut view: V,
        live: bool,
        in_place: bool,
        body: impl Fn() -> Result<Body<V>>,
    ) -> Result<Outcome> {
        // a snapshot doesn't show the changes of its own round, so an in-place round could miss them
        let in_place = in_place && live;
        let (marks, mut rounds, mut new) = (Marks::new(self.state.len()), 0, Vec::new());
        let mut patience = self.patience.filter(|_| in_place);
        let mut due = Due::All;
        // If few elements change at first, changes spread as waves. A sweep in place would carry values far along ascending numbers before
        // better ones arrive by other ways, and much would be visited again. So the first round isn't in place.
        let waves = in_place && !H::SCATTERS && self.few_change(&view);
        if in_place && !waves && !self.dependents.all {
            // all are due; with their marks set, a change doesn't mark readers that this sweep visits later anyway
            marks.fill(self.state.len());
            due = Due::Marked;
        }
        loop {
            rounds += 1;
            let visits = due.count(&marks, self.state.len()) as u64;
            told_round!(rounds, visits);
            stop::check()?;
            let in_place = in_place && !(waves && rounds == 1);
            let (changed, found) = match self.probe {
                None => self.take_round(&view, &marks, &due, in_place, &mut new),
                Some(probe) => self.count_round(&view, probe, &marks, &due, in_place, &mut new),
            };
            if changed == 0 || rounds >= self.max_rounds {
                return Ok(Outcome { rounds, changed });
            }
            if let Some(left) = &mut patience {
                match left.checked_sub(visits) {
                    Some(less) => *left = less,
                    None => return Ok(Outcome { rounds, changed }),
                }
            }
            due = self.next_due(&marks, found);
            if matches!(&due, Due::List(list) if list.is_empty()) {
                return Ok(Outcome { rounds, changed: 0 });
            }
            if !live {
                (view, _) = body()?;
            }
        }
    }

    /// Visits the due elements. Returns how many changed, and the elements that are due next, if it collects them.
    #[inline(never)]
    fn take_round<V: VectorView<T = T>>(
        &self,
        view: &V,
        marks: &Marks,
        due: &Due,
        in_place: bool,
        new: &mut Vec<T>,
    ) -> (usize, Option<Vec<u32>>) {
        let _reading = self.read_at_places(due, marks);
        match due {
            _ if H::SCATTERS && !in_place => (self.round_of_scatters(view, new), None),
            Due::List(list) if in_place => self.sweep_list(view, marks, list),
            Due::List(list) => self.round_of_list(view, marks, list, new),
            _ if in_place => (self.sweep(view, marks, matches!(due, Due::All)), None),
            _ => (self.round(view, marks, matches!(due, Due::All), new), None),
        }
    }

    /// Tells the system if the due elements' rows lie in a file larger than memory, far apart.
    fn read_at_places(&self, due: &Due, marks: &Marks) -> Option<AtPlaces> {
        if !self.spills.load(Ordering::Relaxed) {
            return None;
        }
        let (offsets, _) = self.dependents.rows.first()?;
        memory::read_some_rows(offsets, due.count(marks, self.state.len()))
    }

    /// Visits the due elements, as [`take_round`](Self::take_round), and counts.
    fn count_round<V: VectorView<T = T>>(
        &self,
        view: &V,
        probe: &Probe,
        marks: &Marks,
        due: &Due,
        in_place: bool,
        new: &mut Vec<T>,
    ) -> (usize, Option<Vec<u32>>) {
        let count = due.count(marks, self.state.len());
        probe.begin_round(count, in_place);
        let judge = |own: T, new: T| (own.bits() != new.bits(), false);
        let counted = match H::SCATTERS {
            // joins say what changes
            true => Counted::of(view, probe, self.state.view(), None),
            false => Counted::of(view, probe, self.state.view(), Some(&judge)),
        };
        let counting = Changes {
            state: self.state,
            scatter: self.scatter.counted(probe),
            dependents: self.dependents.clone(),
            max_rounds: self.max_rounds,
            patience: None,
            spills: self.spills,
            probe: None,
        };
        let result = counting.take_round(&DynView::of(&counted), marks, due, in_place, new);
        probe.end_round(0);
        result
    }

    /// The elements that the next round visits. `found` lists the marked elements, if the last round collected them.
    fn next_due(&self, marks: &Marks, found: Option<Vec<u32>>) -> Due {
        if self.dependents.all {
            return Due::All;
        }
        let count = found.as_ref().map_or_else(|| marks.count(), Vec::len);
        if count * tuning().sweep_fraction > self.state.len() {
            return Due::Marked;
        }
        let mut list = found.unwrap_or_else(|| marks.list());
        if self.spills.load(Ordering::Relaxed) {
            list.sort_unstable();
        }
        Due::List(list)
    }

    /// Whether a round over all elements is too little work to share out among threads.
    fn is_small<V: VectorView>(&self, body: &V) -> bool {
        let n = self.state.len();
        let work = body.work().map_or(0, |work| work[n]);
        parallel::threads() == 1 || parallel::is_little(n, work)
    }

    /// Whether only few elements of a sample would change.
    fn few_change<V: VectorView<T = T>>(&self, body: &V) -> bool {
        let n = self.state.len();
        let changes = |&i: &usize| next(body, i, self.state.get(i)).bits() != self.state.get(i).bits();
        let sample = (0..n).step_by((n / tuning().changed_sample).max(1));
        sample.clone().filter(changes).count() * tuning().sweep_fraction < sample.count()
    }

    /// Visits all elements, or those that are marked, in place and in order within a chunk. Returns how many changed. Elements that are
    /// marked meanwhile are due in the next round.
    fn sweep<V: VectorView<T = T>>(&self, body: &V, marks: &Marks, all: bool) -> usize {
        let n = self.state.len();
        let marked = if all { Vec::new() } else { marks.words() };
        let run = |range: Range<usize>, alone: bool| {
            let mut changed = 0;
            for w in range {
                let mut due = if all { full_word(w, n) } else { marked[w] };
                if due != 0 && !all {
                    marks.clear(w, due, alone);
                }
                while due != 0 {
                    let i = w * 64 + due.trailing_zeros() as usize;
                    due &= due - 1;
                    if !self.visit(body, i, alone) {
                        continue;
                    }
                    changed += 1;
                    self.dependents.each(i, |j| {
                        // a reader that is still due in this word needs no mark: this thread visits it next, and sees the change
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
        let cuts = chunk_bounds(n, body.work());
        parallel::collect(cuts.len() - 1, &|p| run(cuts[p]..cuts[p + 1], false)).into_iter().sum()
    }

    /// Visits the elements of a list in place. Returns how many changed, and the elements that are due in the next round.
    fn sweep_list<V: VectorView<T = T>>(&self, body: &V, marks: &Marks, list: &[u32]) -> (usize, Option<Vec<u32>>) {
        let run = |list: &[u32], alone: bool| {
            let (mut changed, mut found) = (0, Vec::new());
            for &i in list {
                let i = i as usize;
                marks.clear(i / 64, 1 << (i % 64), alone);
                if self.visit(body, i, alone) {
                    changed += 1;
                    self.mark_readers(i, marks, alone, &mut found);
                }
            }
            (changed, found)
        };
        in_chunks(body, list, &|p, chunk, alone| run(&list[p * chunk..((p + 1) * chunk).min(list.len())], alone))
    }

    /// Visits element `i` in place, after its mark was cleared. Returns whether it changed; the caller must then mark its readers.
    #[inline(always)]
    fn visit<V: VectorView<T = T>>(&self, body: &V, i: usize, alone: bool) -> bool {
        let own = self.state.get(i);
        let new = next(body, i, own);
        if H::SCATTERS {
            // other threads may join values into this element meanwhile, so it must not be overwritten
            let changed = self.join(i, own, self.scatter.join(own, new), alone);
            self.scatter.visited(i, changed);
            return changed;
        }
        if new.bits() == own.bits() {
            return false;
        }
        self.state.put(i, new);
        if !alone {
            // Pairs with the fence in `Marks::clear`. This thread writes the state, then reads readers' marks; a reader's thread clears
            // its mark, then reads the state. Sequentially consistent fences between each write and read rule out that both reads miss
            // the other's write. So either the reader sees the new state, or its mark is found cleared and is set again.
            fence(Ordering::SeqCst);
        }
        true
    }

    /// Joins `new` into element `i`, which was `own` before the visit, and then into the target that `own` names. Returns whether
    /// either changed. If the target wasn't a root, its previous parent is lowered too, or that subtree loses its link.
    ///
    /// No fence is needed. Every round visits all elements, and the loop ends only after a round in which no join changed anything. All
    /// reads of that round see the final state.
    #[inline(always)]
    fn join(&self, i: usize, own: T, new: T, alone: bool) -> bool {
        let join = |i, new| self.scatter.join_into(self.state, i, new, alone);
        let changed = new.bits() != own.bits() && join(i, new);
        let target = self.scatter.target(own) as usize;
        if target >= self.state.len() {
            return changed;
        }
        let previous_parent = self.scatter.target(self.state.get(target)) as usize;
        if !join(target, new) {
            return changed;
        }
        if previous_parent != target && previous_parent < self.state.len() {
            join(previous_parent, new);
        }
        true
    }

    /// Marks the readers of element `i`, and adds those that weren't marked yet to `found`.
    fn mark_readers(&self, i: usize, marks: &Marks, alone: bool, found: &mut Vec<u32>) {
        self.dependents.each(i, |j| {
            if marks.set(j, alone) {
                found.push(j as u32);
            }
        });
    }

    /// Visits all elements, or those that are marked, over the state of the round before. Returns how many changed. `new` is scratch space.
    fn round<V: VectorView<T = T>>(&self, body: &V, marks: &Marks, all: bool, new: &mut Vec<T>) -> usize {
        let n = self.state.len();
        new.resize(n, T::ZERO);
        let evaluate = |(range, new): (Range<usize>, &mut [T])| {
            let first = range.start * 64;
            for w in range {
                let due = if all { !0 } else { marks.take(w) };
                for i in w * 64..((w + 1) * 64).min(n) {
                    let own = self.state.get(i);
                    new[i - first] = if due >> (i % 64) & 1 == 1 { next(body, i, own) } else { own };
                }
            }
        };
        let write = |range: Range<usize>, new: &[T], alone: bool| {
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
            evaluate((0..words(n), new));
            return write(0..words(n), new, true);
        }
        let cuts = chunk_bounds(n, body.work());
        let (mut chunks, mut rest) = (Vec::with_capacity(cuts.len()), &mut new[..]);
        for cut in cuts.windows(2) {
            let (chunk, others) = rest.split_at_mut((cut[1] * 64).min(n) - cut[0] * 64);
            chunks.push((cut[0]..cut[1], chunk));
            rest = others;
        }
        parallel::each(chunks, &evaluate);
        let written = parallel::collect(cuts.len() - 1, &|p| {
            let (from, to) = (cuts[p], cuts[p + 1]);
            write(from..to, &new[from * 64..(to * 64).min(n)], false)
        });
        written.into_iter().sum()
    }

    /// Visits all elements over the state of the round before, then joins each new value into its element and that element's target.
    /// Returns how many visits changed either.
    fn round_of_scatters<V: VectorView<T = T>>(&self, body: &V, new: &mut Vec<T>) -> usize {
        let n = self.state.len();
        let old: Vec<T> = (0..n).map(|i| self.state.get(i)).collect();
        new.resize(n, T::ZERO);
        let chunk = parallel::chunk_size(n);
        let evaluate = |(p, new): (usize, &mut [T])| {
            for (i, new) in (p * chunk..).zip(new) {
                *new = self.scatter.join(old[i], next(body, i, old[i]));
            }
        };
        parallel::each(new.chunks_mut(chunk).enumerate().collect(), &evaluate);
        let joined = parallel::collect(n.div_ceil(chunk), &|p| {
            let range = p * chunk..((p + 1) * chunk).min(n);
            let join = |&i: &usize| {
                let changed = self.join(i, old[i], new[i], false);
                self.scatter.visited(i, changed);
                changed
            };
            range.filter(join).count()
        });
        joined.into_iter().sum()
    }

    /// Visits the elements of a list over the state of the round before. Returns how many changed, and the elements that are due in the
    /// next round. `new` is scratch space.
    fn round_of_list<V: VectorView<T = T>>(
        &self,
        body: &V,
        marks: &Marks,
        list: &[u32],
        new: &mut Vec<T>,
    ) -> (usize, Option<Vec<u32>>) {
        new.clear();
        new.resize(list.len(), T::ZERO);
        let evaluate = |(list, new): (&[u32], &mut [T])| {
            for (&i, new) in list.iter().zip(new) {
                marks.clear(i as usize / 64, 1 << (i % 64), false);
                *new = next(body, i as usize, self.state.get(i as usize));
            }
        };
        if is_small(body, list) {
            evaluate((list, new));
        } else {
            let chunk = parallel::chunk_size(list.len());
            parallel::each(list.chunks(chunk).zip(new.chunks_mut(chunk)).collect(), &evaluate);
        }
        in_chunks(body, list, &|p, chunk, alone| {
            let (mut changed, mut found) = (0, Vec::new());
            for (&i, &new) in list.iter().zip(&*new).skip(p * chunk).take(chunk) {
                if new.bits() != self.state.get(i as usize).bits() {
                    self.state.put(i as usize, new);
                    changed += 1;
                    self.mark_readers(i as usize, marks, alone, &mut found);
                }
            }
            (changed, found)
        })
    }
}

/// Runs `run(number, size, alone)` for each chunk of a list, on as many threads as are worth it. `run` returns how many elements changed
/// and which are due next; the results are combined. `alone` says that there is only one chunk.
#[inline(never)]
fn in_chunks<V: VectorView>(
    body: &V,
    list: &[u32],
    run: &(dyn Fn(usize, usize, bool) -> (usize, Vec<u32>) + Sync),
) -> (usize, Option<Vec<u32>>) {
    if parallel::threads() == 1 || is_small(body, list) {
        let (changed, found) = run(0, list.len(), true);
        return (changed, Some(found));
    }
    let chunk = parallel::chunk_size(list.len());
    let (changed, found): (Vec<usize>, Vec<_>) =
        parallel::collect(list.len().div_ceil(chunk), &|p| run(p, chunk, false)).into_iter().unzip();
    (changed.into_iter().sum(), Some(found.concat()))
}
