//! A matrix on a device, and its rows by degree.

use super::Gpu;
use super::bins::Bins;
use super::compact::{composer, list_to, step};
use super::crowded::Crowded;
use super::vector::{from_bytes, to_bytes};
use crate::error::Result;
use crate::formats::Csr;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use vxm_kernels::{Buffer, sources};
use vxm_semiring::Element;

/// Rows of this many entries and more are folded by four threads, a warp (cuMIS, section 3.2), likewise, a block; shorter ones by one. A block's
/// warps take a segment of the fixed tree each, so rows of fewer leave most of them without work. The longer ones of a warp's are told apart
/// for loops that narrow rows, or wait for the longest.
const FROM: [usize; 6] = [8, 33, 96, 256, 2048, 8192];
/// How many classes that makes.
const CLASSES: usize = FROM.len() + 1;
/// The first so many classes are of short rows, which may be staged: of up to 32 entries.
pub(super) const SHORT_CLASSES: usize = 2;
/// How rows are shared out where they differ in length.
pub(super) const SHORT: Range<usize> = 0..SHORT_CLASSES;
pub(super) const LONG: Range<usize> = SHORT_CLASSES..HUB.start;
pub(super) const HUB: Range<usize> = CLASSES - 1..CLASSES;
/// The same as loops tell them apart that wait: mostly for the longest.
pub(super) const RANKED: [Range<usize>; 4] = [
    LARGE,
    SHORT_CLASSES + 2..SHORT_CLASSES + 3,
    SHORT_CLASSES + 1..SHORT_CLASSES + 2,
    SHORT_CLASSES..SHORT_CLASSES + 1,
];
/// Rows that one warp would read for as long as all others read theirs.
pub(super) const LARGE: Range<usize> = SHORT_CLASSES + 3..CLASSES;
/// Entries a row from which four threads are better than one, where rows have about one length: measured on er and rgg.
const LONG_FOR_ONE: usize = 16;

/// Products over a matrix before its entries are arranged for more of them.
const USES: u32 = 8;

/// Rows by their length.
#[derive(Debug)]
pub(super) struct Classes {
    /// The rows of each class, one after the other; none of the short ones where one class takes all.
    rows: Buffer,
    /// How many rows each class has.
    counts: [usize; CLASSES],
    /// The class that takes all rows, where most have about one length.
    pub(super) alone: Option<usize>,
    /// The length of the longest.
    pub(super) longest: usize,
    /// The first of those, and the length of row 0.
    longest_at: u32,
    first: usize,
    /// The mean length, rounded down.
    pub(super) mean: usize,
}

impl Classes {
    /// Of the rows that begin at `offsets`.
    fn new(gpu: &Gpu, offsets: &[u64]) -> Result<Self> {
        Self::of(gpu, offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize))
    }

    /// Of rows of these lengths.
    pub(super) fn of(gpu: &Gpu, lengths: impl Iterator<Item = usize>) -> Result<Self> {
        let mut rows = [const { Vec::new() }; CLASSES];
        let (mut count, mut longest, mut total) = (0, 0, 0);
        let (mut longest_at, mut head) = (0, 0);
        for (i, length) in lengths.enumerate() {
            if i == 0 {
                head = length;
            }
            if length > longest {
                longest_at = i as u32;
            }
            (count, longest, total) = (i + 1, longest.max(length), total + length);
            rows[FROM.iter().filter(|&&from| length >= from).count()].push(i as u32);
        }
        let counts = rows.each_ref().map(Vec::len);
        let (alone, first) = Self::listed(&counts, longest, total);
        let rows = gpu.upload_slice(&rows[first..].concat())?;
        let (counts, mean) = (Self::held(counts, first), total / count.max(1));
        Ok(Self { rows, counts, alone, longest, longest_at, first: head, mean })
    }

    /// The class that takes all rows if one does, and the first class of which a list is needed.
    fn listed(counts: &[usize; CLASSES], longest: usize, total: usize) -> (Option<usize>, usize) {
        // rows of about one length: neighbours share the sectors at their ends, and lists would tear them apart
        let (count, long): (usize, usize) = (counts.iter().sum(), counts[SHORT_CLASSES..].iter().sum());
        let even = long * 64 <= count && longest < 128;
        let alone = even.then(|| usize::from(total >= LONG_FOR_ONE * count));
        (alone, if even { CLASSES } else { 0 })
    }

    /// How many rows the lists of the classes from `first` on hold.
    fn held(mut counts: [usize; CLASSES], first: usize) -> [usize; CLASSES] {
        counts[..first].fill(0);
        counts
    }

    /// Of rows whose offsets lie on the device, and those offsets in 32 bits, if they fit.
    fn found(gpu: &Gpu, offsets: &Buffer, count: usize, total: usize) -> Result<(Self, Option<Arc<Buffer>>)> {
        let words = count.div_ceil(32);
        let fits = u32::try_from(total).is_ok();
        // of no rows there is one offset, which no thread writes
        let shorter = fits.then(|| if count == 0 { gpu.zeroed(4) } else { gpu.alloc((count + 1) * 4) }).transpose()?;
        let marks = gpu.alloc(CLASSES * words * 4)?;
        let told = gpu.zeroed((CLASSES + 2) * 8)?;
        let shorter_at = shorter.as_ref().map_or(0, Buffer::address);
        let head = [&[offsets.address(), count as u64, shorter_at][..], &FROM.map(|from| from as u64)].concat();
        let tail = [marks.address(), words as u64, told.address()];
        let mut classify = composer(gpu).with(sources::CLASSES);
        step(&mut classify, "vxm::Classify", &[&head[..], &tail].concat(), words * 32)?;
        let told: Vec<usize> = told.download::<u64>(CLASSES + 2)?.into_iter().map(|x| x as usize).collect();
        let counts = std::array::from_fn(|class| told[class]);
        let (longest, longest_at) = (told[CLASSES] >> 32, !(told[CLASSES] as u32));
        let (alone, first) = Self::listed(&counts, longest, total);
        let counts = Self::held(counts, first);
        let rows = gpu.alloc(counts.iter().sum::<usize>() * 4)?;
        let mut at = rows.address();
        for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            list_to(gpu, marks.address() + (class * words * 4) as u64, words * 32, at)?;
            at += count as u64 * 4;
        }
        // of no rows nothing was told
        let longest_at = if longest == 0 { 0 } else { longest_at };
        let classes =
            Self { rows, counts, alone, longest, longest_at, first: told[CLASSES + 1], mean: total / count.max(1) };
        Ok((classes, shorter.map(Arc::new)))
    }

    /// The rows of consecutive classes: where their numbers lie, and how many they are.
    pub(super) fn rows(&self, classes: Range<usize>) -> (u64, usize) {
        let before: usize = self.counts[..classes.start].iter().sum();
        (self.rows.address() + 4 * before as u64, self.counts[classes].iter().sum())
    }

    /// The rows that a thread folds, four threads, a warp, a block; a few hubs are among the long rows, where they take no launch of their own.
    pub(super) fn lists(&self) -> [(u64, usize); 4] {
        let few = self.rows(HUB).1 < 64 && self.longest <= 2 * FROM[HUB.start - 1];
        let (longs, hubs) = if few { (LONG.start..HUB.end, HUB.end..HUB.end) } else { (LONG, HUB) };
        [0..1, 1..2, longs, hubs].map(|classes| self.rows(classes))
    }

    /// Whether staging short rows pays: not where all are so short that a thread has all of one in flight.
    pub(super) fn pays_to_stage(&self) -> bool {
        match self.alone {
            Some(_) => self.mean >= FROM[0],
            None => self.rows(SHORT).1 > 0,
        }
    }
}

/// Compressed rows on a device, laid out as [`Csr`]'s.
#[derive(Debug)]
pub struct DeviceCsr<A> {
    gpu: Gpu,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    pub(super) offsets: Arc<Buffer>,
    /// The same in 32 bits, where they fit: half the bytes of a product over short rows.
    pub(super) short_offsets: Option<Arc<Buffer>>,
    pub(super) columns: Arc<Buffer>,
    pub(super) values: Buffer,
    pub(super) classes: Arc<Classes>,
    /// Its columns renumbered, its entries in bins, or that it doesn't pay; and how many products there were.
    pub(super) crowded: OnceLock<Option<Crowded>>,
    pub(super) bins: OnceLock<Option<Arc<Bins>>>,
    /// Whether its entries lie all over: see [`scattered`](Self::scattered).
    pub(super) scattered: OnceLock<bool>,
    uses: AtomicU32,
    of: PhantomData<fn() -> A>,
}

impl<A: Element> DeviceCsr<A> {
    /// A copy of a host's matrix.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn upload(gpu: &Gpu, csr: &Csr<A>) -> Result<Self> {
        let short_offsets = short(gpu, csr.offsets())?;
        Ok(Self {
            gpu: gpu.clone(),
            short_offsets,
            nrows: csr.nrows(),
            ncols: csr.ncols(),
            nnz: csr.nnz(),
            offsets: Arc::new(gpu.upload_slice(csr.offsets())?),
            columns: Arc::new(gpu.upload_slice(csr.columns())?),
            values: gpu.upload(&to_bytes(csr.values()))?,
            classes: Arc::new(Classes::new(gpu, csr.offsets())?),
            crowded: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            of: PhantomData,
        })
    }

    /// Of arrays that are on the device already.
    pub(super) fn of(
        gpu: &Gpu,
        (nrows, ncols, nnz): (usize, usize, usize),
        offsets: impl Into<Arc<Buffer>>,
        columns: impl Into<Arc<Buffer>>,
        values: Buffer,
    ) -> Result<Self> {
        let (offsets, columns) = (offsets.into(), columns.into());
        let (classes, short_offsets) = Classes::found(gpu, &offsets, nrows, nnz)?;
        let classes = Arc::new(classes);
        Ok(Self {
            gpu: gpu.clone(),
            nrows,
            ncols,
            nnz,
            offsets,
            short_offsets,
            columns,
            values,
            classes,
            crowded: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            of: PhantomData,
        })
    }

    /// Other values at the same places.
    pub(super) fn beside<B: Element>(&self, values: Buffer) -> DeviceCsr<B> {
        DeviceCsr {
            gpu: self.gpu.clone(),
            nrows: self.nrows,
            ncols: self.ncols,
            nnz: self.nnz,
            offsets: self.offsets.clone(),
            short_offsets: self.short_offsets.clone(),
            columns: self.columns.clone(),
            values,
            classes: self.classes.clone(),
            crowded: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            of: PhantomData,
        }
    }

    /// The same places without values: storage is shared.
    ///
    /// # Errors
    /// The device is lost.
    pub fn pattern(&self) -> Result<DeviceCsr<()>> {
        Ok(self.beside(self.gpu.alloc(0)?))
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Csr<A>> {
        let mut values = vec![0; self.nnz * size_of::<A>()];
        self.values.download_into(&mut values)?;
        let (offsets, columns) = (self.offsets.download(self.nrows + 1)?, self.columns.download(self.nnz)?);
        if self.gpu.is_rehearsal() {
            // zeros were read, which are no rows of these entries
            return Csr::empty(self.nrows, self.ncols);
        }
        Ok(Csr::from_parts(self.nrows, self.ncols, offsets, columns, from_bytes(&values, self.nnz)))
    }

    /// Whether rows differ much in length.
    pub(super) fn is_skewed(&self) -> bool {
        self.classes.alone.is_none()
    }

    /// Counts a product; whether there were so many before that an arrangement of the entries pays, which takes as long as a few of them.
    pub fn is_used_often(&self) -> bool {
        self.uses.fetch_add(1, Ordering::Relaxed) >= USES
    }

    /// Where its offsets, of 64 bits each, and its columns lie.
    pub fn addresses(&self) -> (u64, u64) {
        (self.offsets.address(), self.columns.address())
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of entries of the longest row.
    pub fn longest(&self) -> usize {
        self.classes.longest
    }

    /// The first of the longest rows, and the number of entries of row 0; 0 where there are none.
    pub fn ends(&self) -> (u32, usize) {
        (self.classes.longest_at, self.classes.first)
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.nnz
    }
}

/// Offsets in 32 bits, if they fit.
fn short(gpu: &Gpu, offsets: &[u64]) -> Result<Option<Arc<Buffer>>> {
    let short: Option<Vec<u32>> = offsets.iter().map(|&offset| u32::try_from(offset).ok()).collect();
    short.map(|short| Ok(Arc::new(gpu.upload_slice(&short)?))).transpose()
}
