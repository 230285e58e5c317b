//! Which elements a round visits. A visit depends on the element and on what it reads, so without a change there it would be in vain.

use crate::backend::cpu::changed::Dependents;
use crate::backend::cpu::parallel;

/// The elements of a loop in rounds: those that the next round visits, and the other active ones.
#[derive(Debug)]
pub struct Due {
    /// The elements to be visited, ascending. A round leaves those that are still active.
    pub list: Vec<u32>,
    /// The elements that the last round changed; `None` if a round needn't note them.
    pub changed: Option<Vec<u32>>,
    /// The number of active elements.
    pub active: usize,
    /// If the list leaves out active elements, all that were active before it did.
    all: Option<Vec<u32>>,
    /// How many more visits in vain it takes until changes are noted.
    patience: u64,
}

impl Due {
    /// All active elements are due. Changes are noted, and readers looked up, once `patience` visits were in vain.
    pub fn new(list: Vec<u32>, patience: u64) -> Self {
        Self { active: list.len(), list, changed: None, all: None, patience }
    }

    /// Notes that a round took so many visits and changed so many elements. The next round visits the active elements that changed or read one
    /// that did, if these are few; otherwise all active ones.
    pub fn follow<'r>(
        &mut self,
        (visits, changes): (usize, usize),
        is_active: impl Fn(u32) -> bool,
        readers: impl FnOnce() -> Option<Dependents<'r>>,
    ) {
        self.active -= visits - self.list.len();
        self.patience = self.patience.saturating_sub((visits - changes.min(visits)) as u64);
        // one thread looks readers up, and all threads share the visits
        let most = self.active / parallel::threads();
        let readers = |changed: &Vec<u32>| readers()?.of(changed, most);
        let found = self.changed.as_ref().filter(|changed| changed.len() <= most).and_then(readers);
        match (found, self.all.take()) {
            (Some(mut found), all) => {
                found.sort_unstable();
                found.dedup();
                found.retain(|&i| is_active(i));
                let left = std::mem::replace(&mut self.list, found);
                self.all = Some(all.unwrap_or(left));
            }
            (None, Some(mut all)) => {
                all.retain(|&i| is_active(i));
                self.list = all;
            }
            (None, None) => {}
        }
        if self.patience == 0 && self.changed.is_none() {
            self.changed = Some(Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_followed_and_many_are_not() {
        // a path of 100 vertices: each reads its neighbours
        let neighbours = |i: u32| (0..100).filter(move |&j| i.abs_diff(j) == 1);
        let columns: Vec<u32> = (0..100).flat_map(neighbours).collect();
        let offsets: Vec<u64> = (0..=100).map(|i| (0..i).map(|i| neighbours(i).count() as u64).sum()).collect();
        let readers = || Some(Dependents { own: true, all: false, rows: vec![(&offsets, &columns)] });
        let all: Vec<u32> = (0..100).collect();
        let mut due = Due::new(all.clone(), 150);
        // takes a round that visits what is due, changes some of it, and settles some
        let mut take = |changed: &[u32], settled: &[u32], known: bool| {
            let visits = due.list.len();
            due.list.retain(|i| !settled.contains(i));
            if let Some(noted) = &mut due.changed {
                *noted = changed.to_vec();
            }
            due.follow((visits, changed.len()), |i| i != 7, || if known { readers() } else { None });
            (due.list.clone(), due.active)
        };
        // visits in vain, but not enough of them yet
        assert_eq!(take(&[5], &[], true), (all.clone(), 100));
        assert_eq!(take(&[5], &[], true), (all.clone(), 100));
        assert_eq!(take(&[7, 50], &[7], true), (vec![6, 8, 49, 50, 51], 99));
        assert_eq!(take(&[6], &[], true), (vec![5, 6], 99));
        // without readers, or with many changes, all active elements are visited
        let left: Vec<u32> = all.iter().copied().filter(|&i| i != 7).collect();
        assert_eq!(take(&[6], &[], false), (left.clone(), 99));
        assert_eq!(take(&left, &[], true), (left.clone(), 99));
        // a change that nothing reads but the element itself
        assert_eq!(take(&[], &[], true), (vec![], 99));
    }
}
