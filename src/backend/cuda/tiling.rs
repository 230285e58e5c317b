//! Tiles built from rows on their device, and products that count over them by tensor cores.

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::layout::row_classes::Classes;
use crate::backend::cuda::terminals::{self, blocks, launch, rows_builder, scan};
use crate::backend::cuda::{DeviceCsr, DeviceTiles, DeviceVector, Gpu};
use crate::backend::tuning::{THREADS, multiplies_bits, tuning};
use crate::error::{Error, Result};
use crate::formats::{SIDE, bitmap};
use std::marker::PhantomData;
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, Program, sources};
use vxm_semiring::{Element, Monoid, PLUS};

/// Entries of the longest row for each half-warp that builds the tiles of one tile-row.
const LONG_ROW: usize = 2048;
/// How many warps count a long tile-row.
const WARPS: u64 = 32;
/// The greatest number up to which a sum in `f32` counts exactly.
pub const EXACT_COUNT: usize = 1 << 24;
/// How many vectors tensor cores count with at once.
pub const VECTORS: usize = 16;

/// How many tiles a matrix has, and how many of them have enough entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileCounts {
    /// All tiles.
    pub all: usize,
    /// Those with enough entries.
    pub full: usize,
    /// The entries in other tiles.
    pub rest: usize,
}

/// The first pass of making tiles from rows: how many there will be, for each part of each tile-row.
struct Counted {
    program: Arc<Program>,
    builder: KernelBuilder,
    shape: Launch,
    parts: usize,
    /// The words of the kernel up to its counts, and those counts, which are running sums.
    head: [u64; 8],
    sums: Buffer,
    tiles: usize,
    /// Of the entries in no tile, the running sums for each part of each row, and the number.
    rest_sums: Buffer,
    rest: usize,
}

impl Counted {
    /// Counts the tiles of a matrix with at least `least` entries. The others are counted only if `least` is above 1.
    fn of<A: Element>(csr: &DeviceCsr<A>, least: u64) -> Result<Self> {
        let gpu = csr.gpu();
        let mut builder = rows_builder(gpu).with(sources::TILING);
        let a = builder.element::<A>();
        let ty = builder.ty("vxm::MakeTiles", [a]);
        let program = builder.program(ty, &[("count", "vxm::Counting()"), ("fill", "vxm::Filling()")])?;
        let tile_rows = csr.nrows().div_ceil(SIDE);
        let parts = (csr.classes.longest / LONG_ROW).next_power_of_two().min(64);
        let all_parts = tile_rows * parts;
        let sums = gpu.alloc((all_parts + 1) * 8)?;
        let rest_parts = if least > 1 { csr.nrows() * parts } else { 0 };
        let rest_sums = gpu.zeroed((rest_parts + 1) * 8)?;
        let head = [
            csr.offsets.address(),
            csr.columns.address(),
            csr.values.address(),
            csr.nrows() as u64,
            tile_rows as u64,
            csr.ncols().div_ceil(SIDE) as u64,
            parts as u64,
            sums.address(),
        ];
        let shape = Launch::linear(blocks(gpu, all_parts, THREADS as usize / SIDE), THREADS);
        let tail = [0, 0, 0, 0, least, rest_sums.address(), 0, 0];
        launch(&program, "count", shape, &builder.parameter(&[&head[..], &tail].concat()))?;
        scan(gpu, &sums, all_parts)?;
        let tiles = sums.download_at::<u64>(all_parts, 1)?[0] as usize;
        let mut rest = 0;
        if least > 1 {
            scan(gpu, &rest_sums, rest_parts)?;
            rest = rest_sums.download_at::<u64>(rest_parts, 1)?[0] as usize;
        }
        Ok(Self { program, builder, shape, parts, head, sums, tiles, rest_sums, rest })
    }
}

impl<A: Element> DeviceTiles<A> {
    /// Builds tiles from rows, on their device.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn from_csr(csr: &DeviceCsr<A>) -> Result<Self> {
        Self::build(csr, 1).map(|(tiles, ..)| tiles)
    }

    /// The number of tiles of a matrix, and of those with at least `least` entries. Builds none.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub(crate) fn count_full(csr: &DeviceCsr<A>, least: u64) -> Result<TileCounts> {
        let (all, full) = (Counted::of(csr, 1)?, Counted::of(csr, least.max(2))?);
        Ok(TileCounts { all: all.tiles, full: full.tiles, rest: full.rest })
    }

    /// Splits a pattern on its device: tiles with at least `least` entries, at least 2, and the other entries as rows.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn split(csr: &DeviceCsr<A>, least: u64) -> Result<(Self, DeviceCsr<A>)> {
        debug_assert!(size_of::<A>() == 0 && least > 1);
        let (tiles, offsets, columns) = Self::build(csr, least)?;
        let (gpu, rest) = (csr.gpu(), csr.nnz() - tiles.shape.2);
        let offsets = offsets.map_or_else(|| gpu.zeroed((csr.nrows() + 1) * 8), Ok)?;
        let rest = DeviceCsr::from_parts(gpu, (csr.nrows(), csr.ncols(), rest), offsets, columns, gpu.alloc(0)?)?;
        Ok((tiles, rest))
    }

    /// For each row, the number of its entries in columns that the presence bitmap at address `present` holds, as by
    /// [`count_present`](Self::count_present), but by set bits. Long tile-rows are shared by several warps.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub(crate) fn count_bits(&self, present: u64) -> Result<Buffer> {
        // zeroed, because the warps that share a long tile-row add to its counts
        let counts = self.gpu.zeroed(self.tile_rows() * SIDE * 4)?;
        self.count("vxm::CountTileBits", "vxm::OneVector", &[present, counts.address()])?;
        Ok(counts)
    }

    /// Builds tiles with at least `least` entries from rows, on their device. Returns the offsets and columns of the rest, too; no offsets if
    /// `least` is at most 1.
    #[inline(never)]
    fn build(csr: &DeviceCsr<A>, least: u64) -> Result<(Self, Option<Buffer>, Buffer)> {
        let gpu = csr.gpu();
        let Counted { program, builder, shape, parts, head, sums, tiles: count, rest_sums, rest } =
            Counted::of(csr, least)?;
        let tile_rows = csr.nrows().div_ceil(SIDE);
        let offsets = if parts == 1 { None } else { Some(gpu.zeroed((tile_rows + 1) * 8)?) };
        let columns = alloc_entries(gpu, count * 4, csr.nrows())?;
        let bits = alloc_entries(gpu, count * SIDE * 2, csr.nrows())?;
        let mut values = alloc_entries(gpu, count * SIDE * SIDE * size_of::<A>(), csr.nrows())?;
        values.fill_zero()?;
        let rest_offsets =
            if parts == 1 || least <= 1 { None } else { Some(gpu.zeroed((csr.nrows() + 1) * 8)?) };
        let rest_columns = alloc_entries(gpu, rest * 4, csr.nrows())?;
        let address = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        let tail = [
            address(&offsets),
            columns.address(),
            bits.address(),
            values.address(),
            least,
            rest_sums.address(),
            address(&rest_offsets),
            rest_columns.address(),
        ];
        launch(&program, "fill", shape, &builder.parameter(&[&head[..], &tail].concat()))?;
        let offsets = offsets.unwrap_or(sums);
        let (by_tile_rows, _) = Classes::from_device(gpu, &offsets, tile_rows, count)?;
        let (classes, long) = match by_tile_rows.repeated(gpu, SIDE)? {
            Some(classes) => (classes, Vec::new()),
            None => {
                let starts = offsets.download::<u64>(tile_rows + 1)?;
                let tiles_of = |tile_row: usize| starts[tile_row + 1] - starts[tile_row];
                let classes = Classes::from_lengths(gpu, (0..csr.nrows()).map(|i| tiles_of(i / SIDE) as usize))?;
                let is_long = |&t: &u32| tiles_of(t as usize) > tuning().long_tile_row;
                (classes, (0..tile_rows as u32).filter(is_long).collect::<Vec<_>>())
            }
        };
        let tiles = Self {
            gpu: gpu.clone(),
            shape: (csr.nrows(), csr.ncols(), csr.nnz() - rest),
            count,
            longest: csr.classes.longest,
            offsets,
            columns,
            bits,
            values,
            classes: Arc::new(classes),
            long: (gpu.upload_slice(&long)?, long.len()),
            marker: PhantomData,
        };
        Ok((tiles, (least > 1).then(|| rest_offsets.unwrap_or(rest_sums)), rest_columns))
    }

    /// An error unless a sum in `f32` counts the longest row exactly.
    fn check_exact(&self) -> Result<()> {
        if self.longest <= EXACT_COUNT {
            return Ok(());
        }
        let what = format!(
            "tensor cores sum in f32, which counts to {EXACT_COUNT} exactly: a row has {} entries; count by bits instead",
            self.longest
        );
        Err(Error::Invalid { what })
    }

    /// Counts all tile-rows with tensor cores, by the C++ template `by`. `vectors` is the C++ type of the vectors to count with, and `words`
    /// are its members.
    fn count(&self, by: &'static str, vectors: &'static str, words: &[u64]) -> Result<()> {
        let gpu = &self.gpu;
        let mut builder = tensor_builder(gpu);
        let ty = builder.ty(by, [vectors.into()]);
        let program = builder.program(ty, &[("count_tiles", "")])?;
        let all = (0, self.tile_rows(), 1);
        let long = (self.long.0.address(), self.long.1, WARPS);
        for (list, count, split) in [all, long] {
            if count > 0 {
                let head = [list, count as u64, split, tuning().long_tile_row];
                let tiles = [self.offsets.address(), self.columns.address(), self.bits.address()];
                let shape = Launch::linear(blocks(gpu, count * split as usize, THREADS as usize / 32), THREADS);
                launch(&program, "count_tiles", shape, &builder.parameter(&[&head[..], &tiles, words].concat()))?;
            }
        }
        Ok(())
    }

    /// For each row, the number of its entries in columns that the presence bitmap at address `present` holds. Address 0 means all columns.
    /// The result is padded to whole tile-rows.
    ///
    /// # Errors
    /// A row is too long to be counted exactly; the device has too little memory, or is lost.
    pub(crate) fn count_present(&self, present: u64) -> Result<Buffer> {
        self.check_exact()?;
        // zeroed, because the warps that share a long tile-row add to its counts
        let counts = self.gpu.zeroed(self.tile_rows() * SIDE * 4)?;
        self.count("vxm::CountTiles", "vxm::OneVector", &[present, counts.address()])?;
        Ok(counts)
    }

    /// Counts with each of up to [`VECTORS`] sets at once: one vector for each set, which holds the counts that aren't 0.
    ///
    /// # Errors
    /// A row is too long to be counted exactly; the device has too little memory, or is lost.
    pub(crate) fn count_sets(&self, sets: &[DeviceVector<()>]) -> Result<Vec<DeviceVector<u32>>> {
        let gpu = &self.gpu;
        let by = if multiplies_bits(gpu.arch()) { "vxm::MultiplyTiles" } else { "vxm::CountTiles" };
        if by == "vxm::CountTiles" {
            self.check_exact()?;
        }
        let tile_columns = self.shape.1.div_ceil(SIDE);
        let packed = gpu.alloc(tile_columns * VECTORS * 2)?;
        let mut builder = tensor_builder(gpu);
        let program = builder.program("vxm::PackVectors", &[("pack", "")])?;
        let mut words = vec![tile_columns as u64, sets.len() as u64];
        words.extend((0..VECTORS).map(|s| sets.get(s).map_or(0, |u| u.bits_address())));
        words.push(packed.address());
        let shape = Launch::linear(blocks(gpu, tile_columns * VECTORS, THREADS as usize), THREADS);
        launch(&program, "pack", shape, &builder.parameter(&words))?;
        if by == "vxm::MultiplyTiles" && self.long.1 == 0 {
            return self.count_into(&packed, sets.len());
        }
        let pitch = self.tile_rows() * SIDE;
        let counts = Arc::new(gpu.zeroed(pitch * VECTORS * 4)?);
        self.count(by, "vxm::ManyVectors", &[packed.address(), counts.address(), pitch as u64])?;
        let vector = |s: usize| {
            let mut builder = KernelBuilder::new(gpu);
            let node = counts_view(&mut builder, &counts, s * pitch, 1u32, PLUS);
            terminals::eval(builder, &node, self.shape.0)
        };
        (0..sets.len()).map(vector).collect()
    }

    /// Counts with `sets` sets of packed slices, straight into new vectors. No tile-row may be long.
    fn count_into(&self, packed: &Buffer, sets: usize) -> Result<Vec<DeviceVector<u32>>> {
        let rows = self.shape.0;
        let fresh = |_| DeviceVector::<u32>::uninitialized(&self.gpu, rows, true);
        let found = (0..sets).map(fresh).collect::<Result<Vec<_>>>()?;
        let mut words = vec![packed.address(), sets as u64, rows as u64, bitmap::words(rows) as u64 * 4];
        words.extend((0..VECTORS).map(|s| found.get(s).map_or(0, |u| u.values_address())));
        words.extend((0..VECTORS).map(|s| found.get(s).map_or(0, |u| u.bits_address())));
        let mut builder = tensor_builder(&self.gpu);
        let ty = builder.ty("vxm::MultiplyTileRows", ["vxm::ManyResults".into()]);
        let program = builder.program(ty, &[("count_tiles", "")])?;
        let tiles = [self.tile_rows() as u64, self.offsets.address(), self.columns.address(), self.bits.address()];
        let shape = Launch::linear(blocks(&self.gpu, self.tile_rows(), THREADS as usize / 8), THREADS);
        launch(&program, "count_tiles", shape, &builder.parameter(&[&tiles[..], &words].concat()))?;
        Ok(found)
    }
}

fn tensor_builder(gpu: &Gpu) -> KernelBuilder {
    KernelBuilder::new(gpu).with(sources::TILES).with(sources::TENSOR).with(sources::BIT_TENSOR)
}

/// A view of `counts`, from number `first` on. Each element is `constant` folded by `add` as often as the count says; a count of 0 is no
/// element.
#[inline(never)]
pub(crate) fn counts_view<T: Element, M: Monoid<T>>(
    builder: &mut KernelBuilder,
    counts: &Arc<Buffer>,
    first: usize,
    constant: T,
    add: M,
) -> Node {
    builder.include(sources::TILES);
    builder.push(counts.address() + 4 * first as u64);
    builder.push_element(constant);
    builder.keep_alive(counts.clone());
    let (t, add) = (builder.element::<T>(), builder.monoid::<T, M>(add));
    Node::new(builder.ty("vxm::KnownCounts", [t, add]), false)
}

/// The address of the presence bitmap of an emitted view of length `n`, or 0 if the view is full. A bitmap that isn't stored is evaluated
/// first. `builder` keeps it alive.
pub(crate) fn presence(builder: &mut KernelBuilder, mut emitted: KernelBuilder, node: &Node, n: usize) -> Result<u64> {
    if let Some(bits) = node.bits {
        builder.keep_storage_of(emitted);
        return Ok(bits);
    }
    let node = Node::new(emitted.ty("vxm::Pattern", [node.ty]), node.full);
    let held = terminals::eval::<()>(emitted, &node, n)?;
    let bits = held.bits_address();
    builder.keep_alive(held);
    Ok(bits)
}
