//! Row classes: the rows of a device matrix by length, which decides whether a thread, four threads, a warp or a block folds a row.

use crate::backend::cuda::Gpu;
use crate::backend::tuning::{ROW_CLASSES, RowStats, tuning};
use crate::error::Result;
use std::ops::Range;
use crate::kernels::Buffer;

/// The number of classes.
pub(super) const CLASSES: usize = ROW_CLASSES.len() + 1;
/// The number of classes of short rows, which come first. Short rows have up to 32 entries and may be staged.
pub(crate) const SHORT_CLASSES: usize = 2;
/// The classes of short rows, of long rows, and of hubs, if rows are skewed.
pub(crate) const SHORT: Range<usize> = 0..SHORT_CLASSES;
pub(crate) const LONG: Range<usize> = SHORT_CLASSES..HUB.start;
pub(crate) const HUB: Range<usize> = CLASSES - 1..CLASSES;
/// The long classes in the order in which loops with blockers visit them: the longest first, since most rows wait for those.
pub(crate) const RANKED: [Range<usize>; 4] = [
    LARGE,
    SHORT_CLASSES + 2..SHORT_CLASSES + 3,
    SHORT_CLASSES + 1..SHORT_CLASSES + 2,
    SHORT_CLASSES..SHORT_CLASSES + 1,
];
/// The classes of rows so long that one warp would take as long for one as all others take for the rest.
pub(crate) const LARGE: Range<usize> = SHORT_CLASSES + 3..CLASSES;

/// The rows of a matrix, classified by length.
#[derive(Debug)]
pub(crate) struct Classes {
    /// The row numbers of each class, class after class. It is empty if one class takes all rows.
    pub(super) rows: Buffer,
    /// The number of listed rows of each class.
    pub(super) counts: [usize; CLASSES],
    /// The class that takes all rows, if the rows are uniform: most have about the same length. Otherwise the rows are skewed.
    pub(crate) uniform_class: Option<usize>,
    /// The length of the longest row.
    pub(crate) longest: usize,
    /// The first of the longest rows.
    pub(crate) longest_row: u32,
    /// The length of row 0; 0 if there are no rows.
    pub(crate) first_length: usize,
    /// The number of rows, listed or not.
    pub(super) count: usize,
    /// The number of entries of all rows.
    pub(super) entries: usize,
}

impl Classes {
    /// Classifies the rows that begin at `offsets`.
    pub(crate) fn new(gpu: &Gpu, offsets: &[u64]) -> Result<Self> {
        Self::from_lengths(gpu, offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize))
    }

    /// Classifies rows of these lengths.
    pub(crate) fn from_lengths(gpu: &Gpu, lengths: impl Iterator<Item = usize>) -> Result<Self> {
        let mut rows = [const { Vec::new() }; CLASSES];
        let (mut count, mut longest, mut total) = (0, 0, 0);
        let (mut longest_row, mut first_length) = (0, 0);
        for (i, length) in lengths.enumerate() {
            if i == 0 {
                first_length = length;
            }
            if length > longest {
                longest_row = i as u32;
            }
            (count, longest, total) = (i + 1, longest.max(length), total + length);
            rows[ROW_CLASSES.iter().filter(|&&from| length >= from).count()].push(i as u32);
        }
        let counts = rows.each_ref().map(Vec::len);
        let (uniform_class, first_listed) = Self::choose_lists(&counts, longest, total);
        let rows = gpu.upload_slice(&rows[first_listed..].concat())?;
        Ok(Self {
            rows,
            counts: Self::list_lengths(counts, first_listed),
            uniform_class,
            longest,
            longest_row,
            first_length,
            count,
            entries: total,
        })
    }

    /// The classes of rows of which `times` adjacent ones are as long as each of these rows; none if the rows are skewed.
    pub(crate) fn repeated(&self, gpu: &Gpu, times: usize) -> Result<Option<Self>> {
        let Some(uniform_class) = self.uniform_class else { return Ok(None) };
        Ok(Some(Self {
            rows: gpu.alloc(0)?,
            counts: [0; CLASSES],
            uniform_class: Some(uniform_class),
            longest: self.longest,
            longest_row: self.longest_row * times as u32,
            first_length: self.first_length,
            count: self.count * times,
            entries: self.entries * times,
        }))
    }

    /// The class that takes all rows, if the rows are uniform; and the first class that needs a list.
    pub(super) fn choose_lists(counts: &[usize; CLASSES], longest: usize, total: usize) -> (Option<usize>, usize) {
        // neighbouring rows share memory sectors at their ends, so rows of about the same length stay in order, without lists
        let (count, long): (usize, usize) = (counts.iter().sum(), counts[SHORT_CLASSES..].iter().sum());
        let uniform = long * tuning().uniform_long_rows <= count && longest < tuning().uniform_longest;
        let uniform_class = uniform.then(|| usize::from(total >= tuning().four_threads_mean * count));
        (uniform_class, if uniform { CLASSES } else { 0 })
    }

    /// The lengths of the lists: `counts`, but 0 for the classes before `first_listed`.
    pub(super) fn list_lengths(mut counts: [usize; CLASSES], first_listed: usize) -> [usize; CLASSES] {
        counts[..first_listed].fill(0);
        counts
    }

    /// The shape of all rows.
    pub(crate) fn stats(&self) -> RowStats {
        let (rows, uniform) = (self.count, self.uniform_class.is_some());
        RowStats { rows, entries: self.entries, longest: self.longest, uniform, scattered: false }
    }

    /// The address and the length of the list of rows of consecutive classes.
    pub(crate) fn rows(&self, classes: Range<usize>) -> (u64, usize) {
        let before: usize = self.counts[..classes.start].iter().sum();
        (self.rows.address() + 4 * before as u64, self.counts[classes].iter().sum())
    }

    /// The lists of rows that one thread folds, four threads, a warp, and a block. If hubs are few and not much longer than a warp's rows,
    /// warps take them too, which saves a launch.
    pub(crate) fn lists(&self) -> [(u64, usize); 4] {
        let few = self.rows(HUB).1 < tuning().few_hubs && self.longest <= 2 * ROW_CLASSES[HUB.start - 1];
        let (longs, hubs) = if few { (LONG.start..HUB.end, HUB.end..HUB.end) } else { (LONG, HUB) };
        [0..1, 1..2, longs, hubs].map(|classes| self.rows(classes))
    }

    /// Whether staging short rows pays. It doesn't if a thread has all entries of a row in flight at once.
    pub(crate) fn pays_to_stage(&self) -> bool {
        match self.uniform_class {
            Some(_) => self.stats().mean() >= ROW_CLASSES[0],
            None => self.rows(SHORT).1 > 0,
        }
    }
}
