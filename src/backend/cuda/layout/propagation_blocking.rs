//! Propagation blocking (Beamer, Asanovic, Patterson, "Reducing Pagerank Communication via Propagation Blocking", IPDPS 2017), for matrices
//! with entries that read a vector in scattered order.
//!
//! Columns are cut into chunks, so that the vector elements of one fit into a block's shared memory. Rows are cut so that the products of a
//! chunk do. A bin holds the entries of one row chunk and one column chunk. One kernel multiplies, a column chunk at a time; another folds,
//! a row chunk at a time. So memory is read and written in runs. Each product is put back at its entry's position before the fold, so every
//! fold keeps its order.

use crate::backend::cuda::budget::alloc_spare;
use crate::backend::cuda::codegen::builder::{Binned, CppType, KernelBuilder, PrimaryProduct};
use crate::backend::cuda::compact::{self, launch_over, launch_over_by};
use crate::backend::cuda::layout::arrays::Bins;
use crate::backend::cuda::terminals::{blocks, launch, scan};
use crate::backend::cuda::{DeviceCsr, Gpu};
use crate::backend::tuning::{
    BIN_BLOCKS, BIN_CHUNK as CHUNK, BIN_SAMPLE as WINDOW, BIN_THREADS, BIN_UNIT, THREADS, tuning,
};
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use crate::kernels::{Buffer, Launch, sources};
use vxm_semiring::Element;

/// The number of sampled windows of adjacent entries.
const WINDOWS: usize = 1024;
/// The least mean number of entries of a bin, so that little capacity is padding.
const RUN: usize = 4 * BIN_UNIT;
// the kernels count entries by column chunk in shared memory, which has room for 1024 of them
const _: () = assert!(CHUNK / RUN <= 1024);

impl<A: Element> DeviceCsr<A> {
    /// Whether a product may use bins, as far as sizes and earlier attempts tell. `width` is the size in bytes of a vector element or of a
    /// product, whichever is greater.
    pub fn may_bin(&self, width: usize) -> bool {
        let fits = self.gpu().shared_limit() as usize >= CHUNK * width + 8192;
        let many = self.nnz() >= WINDOW * WINDOWS
            && self.ncols() >= tuning().bin_columns
            && self.column_chunks() <= CHUNK / RUN;
        let known =
            self.bins.get().map(|known| known.as_ref().is_some_and(|bins| !bins.refused.load(Ordering::Relaxed)));
        fits && many && self.longest() <= CHUNK / 2 && known.unwrap_or(true)
    }

    /// The number of column chunks.
    fn column_chunks(&self) -> usize {
        self.ncols().div_ceil(CHUNK)
    }

    /// The entries in bins, if the entries are [scattered](Self::scattered) and there is memory for the bins. The caller has checked
    /// [`may_bin`](Self::may_bin).
    ///
    /// # Errors
    /// The device is lost.
    #[inline(never)]
    pub fn bins(&self) -> Result<Option<&Arc<Bins>>> {
        if let Some(known) = self.bins.get() {
            return Ok(known.as_ref());
        }
        let found = match self.build_bins(self.column_chunks()) {
            // products work without bins, only slower; the failure is remembered, because asking a full device again is slow
            Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => None,
            found => found?,
        };
        Ok(self.bins.get_or_init(|| found.map(Arc::new)).as_ref())
    }

    /// Whether adjacent entries read elements that are far apart: windows of adjacent entries touch at least half as many distinct cache
    /// lines as they have entries. The answer is computed once. In a dry run it is yes, if there is any window, so that the kernels of bins
    /// are compiled.
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
        let mut tools =
            compact::builder(gpu).with(sources::PROPAGATION_BLOCKING).with(sources::PROPAGATION_BLOCKING_BUILD);
        launch_over_by(&mut tools, "vxm::CountLines", &words, windows, 1)?;
        let many = lines.download::<u64>(1)?[0] >= (WINDOW * windows / 2) as u64;
        let found = windows > 0 && (many || gpu.is_dry_run());
        Ok(*self.scattered.get_or_init(|| found))
    }

    /// Cuts columns into `column_chunks` chunks and rows into chunks, and distributes the entries to the bins. `None` if the entries aren't
    /// scattered.
    fn build_bins(&self, column_chunks: usize) -> Result<Option<Bins>> {
        let (gpu, entries, nrows) = (self.gpu(), self.nnz(), self.nrows());
        let mut tools =
            compact::builder(gpu).with(sources::PROPAGATION_BLOCKING).with(sources::PROPAGATION_BLOCKING_BUILD);
        if !self.scattered()? {
            return Ok(None);
        }
        // a row chunk exceeds this size by less than one row, so it has at most CHUNK entries
        let chunk_size = CHUNK - self.longest();
        let row_chunks = (entries + nrows).div_ceil(chunk_size);
        let (first_rows, first_entries) = (gpu.alloc((row_chunks + 1) * 4)?, gpu.alloc((row_chunks + 1) * 8)?);
        let head =
            [self.offsets.address(), nrows as u64, chunk_size as u64, first_rows.address(), first_entries.address()];
        launch_over(&mut tools, "vxm::CutRows", &[&head[..], &[row_chunks as u64]].concat(), row_chunks + 1)?;
        let bins = row_chunks * column_chunks;
        let (bin_begins, row_chunk_begins) = (gpu.alloc((bins + 1) * 8)?, gpu.zeroed((row_chunks + 1) * 8)?);
        let head = [
            first_entries.address(),
            self.columns.address(),
            self.values.address(),
            row_chunks as u64,
            column_chunks as u64,
        ];
        let a = tools.element::<A>();
        let ty = tools.ty("vxm::BinEntries", [a]);
        let program = tools.program(ty, &[("count", "vxm::Counting()"), ("deal", "vxm::Filling()")])?;
        let run = |entry: &str, rest: [u64; 4]| {
            let words = [&head[..], &[bin_begins.address(), row_chunk_begins.address()], &rest].concat();
            launch(&program, entry, Launch::linear(blocks(gpu, row_chunks, 1), THREADS), &tools.parameter(&words))
        };
        run("count", [0; 4])?;
        scan(gpu, &bin_begins, bins)?;
        scan(gpu, &row_chunk_begins, row_chunks)?;
        let units = bin_begins.download_at::<u64>(bins, 1)?[0] as usize;
        let capacity = units * BIN_UNIT;
        let (local_columns, slots, places) =
            (alloc_spare(gpu, capacity * 2, nrows)?, gpu.alloc(units * 4)?, alloc_spare(gpu, capacity * 2, nrows)?);
        let weights = gpu.zeroed(capacity * size_of::<A>())?;
        run("deal", [local_columns.address(), weights.address(), slots.address(), places.address()])?;
        let multiplying_blocks = BIN_BLOCKS * gpu.multiprocessors();
        let [chunk_begins, first_chunks, block_begins] =
            schedule(gpu, &mut tools, &bin_begins, (row_chunks, column_chunks), multiplying_blocks)?;
        let (columns, refused) = (self.ncols(), AtomicBool::new(false));
        Ok(Some(Bins {
            local_columns,
            weights,
            slots,
            places,
            row_chunk_begins,
            first_rows,
            chunk_begins,
            first_chunks,
            block_begins,
            multiplying_blocks,
            row_chunks,
            columns,
            capacity,
            refused,
        }))
    }
}

/// Shares the bins out among the blocks that multiply. Returns the first entry of each column chunk, and for each block its first chunk and
/// its first entry.
fn schedule(
    gpu: &Gpu,
    tools: &mut KernelBuilder,
    bin_begins: &Buffer,
    (row_chunks, column_chunks): (usize, usize),
    multiplying_blocks: u32,
) -> Result<[Buffer; 3]> {
    let count = multiplying_blocks as usize + 1;
    let made = [gpu.alloc((column_chunks + 1) * 8)?, gpu.alloc(count * 4)?, gpu.alloc(count * 8)?];
    let head = [
        bin_begins.address(),
        row_chunks as u64,
        column_chunks as u64,
        tuning().bin_slice_cost,
        u64::from(multiplying_blocks),
    ];
    let words = [&head[..], &made.each_ref().map(Buffer::address)].concat();
    launch_over(tools, "vxm::ScheduleBins", &words, count.max(column_chunks + 1))?;
    Ok(made)
}

/// An empty kernel for multiplying a vector with entries in bins.
pub fn builder(gpu: &Gpu) -> KernelBuilder {
    KernelBuilder::new(gpu).with(sources::PROPAGATION_BLOCKING)
}

impl Binned {
    /// Launches the multiplying kernel, and the folding kernel of type `ty` over the `n` rows of the product `primary`. `tail` are the
    /// members between the index range and the view. Returns false, and launches nothing, if there is no memory for the products.
    pub(crate) fn launch(
        self,
        builder: &mut KernelBuilder,
        ty: CppType,
        primary: &PrimaryProduct,
        tail: &[u64],
        n: usize,
    ) -> Result<bool> {
        let Self { bins, multiply: (mut multiply, multiply_ty), widths } = self;
        let gpu = builder.gpu().clone();
        let products = match alloc_spare(&gpu, bins.capacity * widths[1], n) {
            Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => {
                bins.refused.store(true, Ordering::Relaxed);
                return Ok(false);
            }
            products => products?,
        };
        let arguments = |builder: &KernelBuilder| builder.shared().next_multiple_of(16);
        let shape = |blocks, builder: &KernelBuilder, width| {
            Launch::linear(blocks, BIN_THREADS).with_shared(arguments(builder) + (CHUNK * width) as u32)
        };
        let program = multiply.program(multiply_ty, &[("meet", "vxm::Chunks()")])?;
        let entries = [bins.local_columns.address(), bins.weights.address(), bins.slots.address()];
        let schedule = [bins.chunk_begins.address(), bins.first_chunks.address(), bins.block_begins.address()];
        let rest = [bins.columns as u64, products.address(), u64::from(arguments(&multiply))];
        let parameter = multiply.parameter(&[entries, schedule, rest].concat());
        launch(&program, "meet", shape(bins.multiplying_blocks, &multiply, widths[0]), &parameter)?;
        builder.include(sources::PROPAGATION_BLOCKING);
        builder.push(products.address());
        builder.push(bins.places.address());
        builder.push(bins.row_chunk_begins.address());
        builder.push(bins.first_rows.address());
        builder.push(u64::from(arguments(builder)));
        let ty = builder.ty("vxm::FoldBins", [ty, primary.ty, (8 * (2 + tail.len() + primary.at)).into()]);
        let program = builder.program(ty, &[("fold", "vxm::Chunks()")])?;
        let parameter = builder.parameter(&[&[0, n as u64], tail].concat());
        launch(&program, "fold", shape(bins.row_chunks as u32, builder, widths[1]), &parameter)?;
        Ok(true)
    }
}
