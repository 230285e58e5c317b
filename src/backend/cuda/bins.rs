//! Entries in bins: where a vector's elements are read all over it, a product multiplies by pieces of columns and folds by pieces of rows, so
//! that memory is read and written in runs. Each product goes back to its entry's place, so every sum has the same order.

use super::compact::{self, step, step_by};
use super::compose::{Composer, Lead, Piece};
use super::run::{THREADS, blocks, launch, scan};
use super::{DeviceCsr, Gpu};
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::Element;

/// Columns of a piece, and entries of a piece of rows, at most: of 4 bytes, as many as leave room for two blocks a multiprocessor. The
/// kernels say the same.
const PIECE: usize = 24576;
/// Entries of a sample, and samples; the kernels say the first too.
const WINDOW: usize = 1024;
const WINDOWS: usize = 1024;
/// A bin has room for a multiple of so many entries; the kernels say the same.
const EACH: usize = 8;
/// Entries of a bin on average, at least, so that little room is left empty.
const RUN: usize = 4 * EACH;
// as many pieces of columns as the kernels count in shared memory
const _: () = assert!(PIECE / RUN <= 1024);
/// To read a piece of a vector takes as long as multiplying so many times [`EACH`] entries.
const PRICE: u64 = 4096;
/// Columns from which their elements don't fit a cache near the processors.
const FAR: usize = 1 << 17;
/// Threads of a block.
pub(super) const BIN_THREADS: u32 = 768;
/// Blocks of a multiprocessor.
pub(super) const BIN_BLOCKS: u32 = 2;

/// A matrix' entries in bins.
#[derive(Debug)]
pub struct Bins {
    /// Each entry's column within its piece and its value, by columns, and where their products are put, those of [`EACH`] at once.
    near: Buffer,
    weights: Buffer,
    slots: Buffer,
    /// Each entry's place within its piece of rows, by rows; and where each piece's begin.
    places: Buffer,
    by_row: Buffer,
    /// The first row of each piece.
    rows: Buffer,
    /// Where the bins of each piece of columns begin.
    tops: Buffer,
    /// In which of them each block's share begins, and where.
    owners: Buffer,
    cuts: Buffer,
    shares: u32,
    pieces: usize,
    columns: usize,
    /// How many entries there is room for.
    room: usize,
    /// Whether there was no memory for as many products: asking a full device takes long.
    refused: AtomicBool,
}

impl<A: Element> DeviceCsr<A> {
    /// Whether a product may go by bins, for all that sizes tell and is known. `width` is that of a vector's elements and of products, the
    /// greater, in bytes.
    pub fn may_bin(&self, width: usize) -> bool {
        let fits = self.gpu().shared_limit() as usize >= PIECE * width + 8192;
        let many = self.nnz() >= WINDOW * WINDOWS && self.ncols() >= FAR && self.across() <= PIECE / RUN;
        let known =
            self.bins.get().map(|known| known.as_ref().is_some_and(|bins| !bins.refused.load(Ordering::Relaxed)));
        fits && many && self.longest() <= PIECE / 2 && known.unwrap_or(true)
    }

    /// Pieces of columns.
    fn across(&self) -> usize {
        self.ncols().div_ceil(PIECE)
    }

    /// The entries in bins, of a matrix that [`may_bin`](Self::may_bin), if neighbouring ones read elements that lie far from one another,
    /// and there is memory for it.
    ///
    /// # Errors
    /// The device is lost.
    pub fn bins(&self) -> Result<Option<&Arc<Bins>>> {
        if let Some(known) = self.bins.get() {
            return Ok(known.as_ref());
        }
        let found = match self.deal(self.across()) {
            // products are slower without, which is no reason to fail; asked once, because asking a full device takes long
            Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. })) => None,
            found => found?,
        };
        Ok(self.bins.get_or_init(|| found.map(Arc::new)).as_ref())
    }

    /// Whether neighbouring entries read elements that lie far from one another: of a sample, as many lines as half of its entries, or more.
    /// Asked once. A rehearsal reads zeros, and is to see the kernels.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn scattered(&self) -> Result<bool> {
        if let Some(&known) = self.scattered.get() {
            return Ok(known);
        }
        let (gpu, entries) = (self.gpu(), self.nnz());
        let windows = WINDOWS.min(entries / WINDOW);
        let lines = gpu.zeroed(8)?;
        let words = [self.columns.address(), entries as u64, windows as u64, lines.address()];
        let mut tools = compact::composer(gpu).with(sources::BINS).with(sources::BINNING);
        step_by(&mut tools, "vxm::CountLines", &words, windows, 1)?;
        let many = lines.download::<u64>(1)?[0] >= (WINDOW * windows / 2) as u64;
        let found = windows > 0 && (many || gpu.is_rehearsal());
        Ok(*self.scattered.get_or_init(|| found))
    }

    fn deal(&self, across: usize) -> Result<Option<Bins>> {
        let (gpu, entries, nrows) = (self.gpu(), self.nnz(), self.nrows());
        let mut tools = compact::composer(gpu).with(sources::BINS).with(sources::BINNING);
        if !self.scattered()? {
            return Ok(None);
        }
        let share = PIECE - self.longest();
        let pieces = (entries + nrows).div_ceil(share);
        let (rows, firsts) = (gpu.alloc((pieces + 1) * 4)?, gpu.alloc((pieces + 1) * 8)?);
        let head = [self.offsets.address(), nrows as u64, share as u64, rows.address(), firsts.address()];
        step(&mut tools, "vxm::CutRows", &[&head[..], &[pieces as u64]].concat(), pieces + 1)?;
        let bins = pieces * across;
        let (by_column, by_row) = (gpu.alloc((bins + 1) * 8)?, gpu.zeroed((pieces + 1) * 8)?);
        let head = [firsts.address(), self.columns.address(), self.values.address(), pieces as u64, across as u64];
        let a = tools.element::<A>();
        let ty = tools.ty("vxm::DealEntries", [a]);
        let program = tools.program(ty, &[("count", "vxm::Counting()"), ("deal", "vxm::Filling()")])?;
        let deal = |entry: &str, rest: [u64; 4]| {
            let words = [&head[..], &[by_column.address(), by_row.address()], &rest].concat();
            launch(&program, entry, Launch::linear(blocks(gpu, pieces, 1), THREADS), &tools.parameter(&words))
        };
        deal("count", [0; 4])?;
        scan(gpu, &by_column, bins)?;
        scan(gpu, &by_row, pieces)?;
        let several = by_column.download_at::<u64>(bins, 1)?[0] as usize;
        let room = several * EACH;
        let (near, slots, places) = (gpu.alloc(room * 2)?, gpu.alloc(several * 4)?, gpu.alloc(room * 2)?);
        let weights = gpu.zeroed(room * size_of::<A>())?;
        deal("deal", [near.address(), weights.address(), slots.address(), places.address()])?;
        let shares = BIN_BLOCKS * gpu.multiprocessors();
        let count = shares as usize + 1;
        let (tops, owners, cuts) = (gpu.alloc((across + 1) * 8)?, gpu.alloc(count * 4)?, gpu.alloc(count * 8)?);
        let head = [by_column.address(), pieces as u64, across as u64, PRICE, u64::from(shares)];
        let tail = [tops.address(), owners.address(), cuts.address()];
        step(&mut tools, "vxm::ShareBins", &[&head[..], &tail].concat(), count.max(across + 1))?;
        let (columns, refused) = (self.ncols(), AtomicBool::new(false));
        Ok(Some(Bins {
            near,
            weights,
            slots,
            places,
            by_row,
            rows,
            tops,
            owners,
            cuts,
            shares,
            pieces,
            columns,
            room,
            refused,
        }))
    }
}

/// An empty kernel that multiplies a vector with entries in bins.
pub fn composer(gpu: &Gpu) -> Composer {
    Composer::new(gpu).with(sources::BINS)
}

/// What a product needs to go by bins: these, and the kernel that multiplies a full vector with their entries.
pub struct Binned {
    /// These.
    pub bins: Arc<Bins>,
    /// The kernel, composed as [`composer`] begins it, and its C++ type.
    pub meet: (Composer, Piece),
    /// Bytes of the vector's elements, and of products.
    pub widths: [usize; 2],
}

impl Binned {
    /// Launches `ty` over `n` indices, the rows of `lead`, whose view stands behind `tail`; whether there was memory for it.
    pub(super) fn launch(
        self,
        composer: &mut Composer,
        ty: Piece,
        lead: &Lead,
        tail: &[u64],
        n: usize,
    ) -> Result<bool> {
        let Self { bins, meet: (mut meet, meet_ty), widths } = self;
        let gpu = composer.gpu().clone();
        let products = match gpu.alloc(bins.room * widths[1]) {
            Err(vxm_kernels::Error::DeviceMemory { .. }) => {
                bins.refused.store(true, Ordering::Relaxed);
                return Ok(false);
            }
            products => products?,
        };
        let arguments = |composer: &Composer| composer.shared().next_multiple_of(16);
        let shape = |blocks, composer: &Composer, width| {
            Launch::linear(blocks, BIN_THREADS).with_shared(arguments(composer) + (PIECE * width) as u32)
        };
        let program = meet.program(meet_ty, &[("meet", "vxm::Pieces()")])?;
        let entries = [bins.near.address(), bins.weights.address(), bins.slots.address()];
        let shares = [bins.tops.address(), bins.owners.address(), bins.cuts.address()];
        let rest = [bins.columns as u64, products.address(), u64::from(arguments(&meet))];
        let parameter = meet.parameter(&[entries, shares, rest].concat());
        launch(&program, "meet", shape(bins.shares, &meet, widths[0]), &parameter)?;
        composer.include(sources::BINS);
        composer.push(products.address());
        composer.push(bins.places.address());
        composer.push(bins.by_row.address());
        composer.push(bins.rows.address());
        composer.push(u64::from(arguments(composer)));
        let ty = composer.ty("vxm::Binning", [ty, lead.ty, (8 * (2 + tail.len() + lead.at)).into()]);
        let program = composer.program(ty, &[("fold", "vxm::Pieces()")])?;
        let parameter = composer.parameter(&[&[0, n as u64], tail].concat());
        launch(&program, "fold", shape(bins.pieces as u32, composer, widths[1]), &parameter)?;
        Ok(true)
    }
}
