//! Products on ranks: a rank folds the rows of its share over copies of the operand's elements, and owners join partial results.

use crate::backend::cpu::parallel;
use crate::backend::tuning;
use crate::backend::view::VectorView;
use crate::error::Result;
use crate::formats::bitmap::{bit, full_words, places};
use crate::formats::{Bitmap, Csr, StoreView};
use crate::ranks::{Partials, Replicas, Share, nothing};
use vxm_semiring::Element;

/// The state of a product: copies of the operand's elements, and results so far. A loop keeps it from round to round, so that only what
/// changed is sent, and only rows that read it are folded anew.
#[derive(Debug)]
pub(crate) struct Pull<X, A: Element, T> {
    /// The number of the share that it belongs to.
    share: u64,
    replicas: Replicas<X>,
    /// The entries that take part, if keys leave some out.
    entries: Option<Csr<A>>,
    /// The rows of which something changed since they were folded.
    stale: Vec<u64>,
    partial: Bitmap<T>,
    partials: Option<Partials<T>>,
    /// The rows that are read, as told to this row of ranks, and as this rank was told.
    told_wanted: Bitmap<()>,
    wanted: Bitmap<()>,
}

/// What a product reads of a vector: whether rows' own elements are read, and at which of this rank's places the result is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'s> {
    pub own: bool,
    pub rows: Option<&'s [u64]>,
    /// The number of places of this rank.
    pub count: usize,
}

impl<X: Element, A: Element, T: Element> Pull<X, A, T> {
    /// A product that has made nothing yet.
    pub fn new(share: &Share<A>, sources: Sources<'_>) -> Self {
        let rows = share.csr.nrows();
        Self {
            share: share.id,
            replicas: Replicas::new(share, sources.count, sources.own),
            entries: None,
            stale: full_words(rows),
            partial: nothing(rows),
            partials: share.row.as_ref().map(|line| Partials::new(rows, line)),
            told_wanted: nothing(sources.count),
            wanted: nothing(rows),
        }
    }

    /// Whether this is a product over `share`.
    pub fn is_of(&self, share: &Share<A>) -> bool {
        self.share == share.id
    }

    /// Forgets results and chosen entries, but not the copies of elements.
    pub fn begin_anew(&mut self, share: &Share<A>) {
        (self.entries, self.stale) = (None, full_words(share.csr.nrows()));
    }

    /// Whether entries were chosen already.
    pub fn has_entries(&self) -> bool {
        self.entries.is_some()
    }

    /// Keeps the entries for which `keeps` is true.
    pub fn choose(&mut self, share: &Share<A>, keeps: &[bool]) {
        let csr = &share.csr;
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in 0..csr.nrows() {
            let first = csr.offsets()[row] as usize;
            let (js, entries) = csr.row(row);
            for (k, (&j, &a)) in js.iter().zip(entries).enumerate() {
                if keeps[first + k] {
                    columns.push(j);
                    values.push(a);
                }
            }
            offsets.push(columns.len() as u64);
        }
        self.entries = Some(Csr::of_slots(csr.nrows(), csr.ncols(), offsets, columns, values));
    }

    /// The entries that take part.
    pub fn entries<'s>(&'s self, share: &'s Share<A>) -> &'s Csr<A> {
        self.entries.as_ref().unwrap_or(&share.csr)
    }

    /// The operand's elements at the slots of the share.
    pub fn operand(&self) -> StoreView<'_, X> {
        let slots = self.replicas.slots();
        match slots.bits() {
            None => StoreView::Dense(slots.values()),
            Some(bits) => StoreView::Bitmap(slots.values(), bits),
        }
    }

    /// Brings the copies up to date with this rank's piece of the operand. Returns the rows to fold. All ranks call this.
    #[inline(never)]
    pub fn refresh(&mut self, share: &Share<A>, piece: &Bitmap<X>, sources: Sources<'_>) -> Result<Vec<u32>> {
        let changed = self.replicas.refresh(share, piece, sources.own)?;
        self.mark(share, &changed, sources.own);
        let mut rows = places(&self.stale);
        match (sources.rows, &share.row) {
            (None, _) => {}
            (Some(due), None) => rows.retain(|&row| bit(due, row as usize)),
            (Some(due), Some(line)) => {
                let piece = Bitmap::new(vec![(); sources.count], due.to_vec());
                Replicas::tell(line, &mut self.told_wanted, &mut self.wanted, &piece, &mut Vec::new())?;
                rows.retain(|&row| self.wanted.get(row as usize).is_some());
            }
        }
        for &row in &rows {
            self.stale[row as usize / 64] &= !(1 << (row % 64));
        }
        Ok(rows)
    }

    /// Marks the rows that read changed slots.
    fn mark(&mut self, share: &Share<A>, changed: &[u32], own: bool) {
        let rows = share.csr.nrows();
        if changed.len() > share.slots() / tuning::RANKS_MOST_READ {
            // most rows read one of them
            self.stale = full_words(rows);
            return;
        }
        let (offsets, readers) = share.readers();
        let mut mark = |row: u32| self.stale[row as usize / 64] |= 1 << (row % 64);
        for &slot in changed {
            if own && (slot as usize) < rows {
                mark(slot);
            }
            let (first, end) = (offsets[slot as usize] as usize, offsets[slot as usize + 1] as usize);
            readers[first..end].iter().for_each(|&row| mark(row));
        }
    }

    /// Stores the folds of rows.
    pub fn store(&mut self, rows: &[u32], made: Vec<Option<T>>) {
        for (&row, x) in rows.iter().zip(made) {
            self.partial.put(row as usize, x);
        }
    }

    /// The result at this rank's places. At places where it isn't read it may be old. All ranks call this.
    pub fn result(&mut self, share: &Share<A>, count: usize, add: &dyn Fn(T, T) -> T) -> Result<Bitmap<T>> {
        match (&mut self.partials, &share.row) {
            (Some(partials), Some(line)) => partials.join(line, &self.partial, count, add),
            _ => Ok(self.partial.clone()),
        }
    }
}

/// The elements of a view at `rows`.
#[inline(never)]
pub(crate) fn fold_rows<V: VectorView>(rows: &[u32], view: &V) -> Vec<Option<V::T>> {
    let chunk = parallel::chunk_size(rows.len());
    let fold = |c: usize| -> Vec<Option<V::T>> {
        rows[c * chunk..((c + 1) * chunk).min(rows.len())].iter().map(|&row| view.at(row as usize)).collect()
    };
    parallel::collect(rows.len().div_ceil(chunk), &fold).concat()
}
