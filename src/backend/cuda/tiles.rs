//! Tiles on a device: made of rows there, counted with by bits or by tensor cores.

use super::compose::{Composer, Node};
use super::csr::Classes;
use super::run::{self, THREADS, blocks, launch, rows_composer, scan};
use super::vector::from_bytes;
use super::{DeviceCsr, DeviceVector, Gpu};
use crate::error::{Error, Result};
use crate::formats::{SIDE, Tiles};
use std::marker::PhantomData;
use std::sync::Arc;
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::{Element, Monoid, PLUS};

/// Entries of the longest row from which more half-warps than one make its tiles.
const LONG_ROW: usize = 2048;
/// Tiles of a tile-row from which more warps than one count it.
const LONG_TILE_ROW: u64 = 1024;
/// How many then.
const WARPS: u64 = 32;
/// The greatest count that a sum of `f32` holds exactly, as all below it.
pub const EXACT_COUNT: usize = 1 << 24;
/// How many vectors tensor cores count at once.
pub const VECTORS: usize = 16;

/// A matrix as 16 x 16 tiles of bits on a device, laid out as [`Tiles`].
#[derive(Debug)]
pub struct DeviceTiles<A> {
    gpu: Gpu,
    shape: (usize, usize, usize),
    count: usize,
    longest: usize,
    pub(super) offsets: Buffer,
    pub(super) columns: Buffer,
    pub(super) bits: Buffer,
    values: Buffer,
    /// Rows by the number of tiles in their tile-row.
    pub(super) classes: Arc<Classes>,
    /// The long tile-rows, and how many.
    long: (Buffer, usize),
    of: PhantomData<fn() -> A>,
}

impl<A: Element> DeviceTiles<A> {
    /// Gathers rows into tiles on their device.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn from_csr(csr: &DeviceCsr<A>) -> Result<Self> {
        let gpu = csr.gpu();
        let mut composer = rows_composer(gpu).with(sources::TILING);
        let a = composer.element::<A>();
        let ty = composer.ty("vxm::MakeTiles", [a]);
        let program = composer.program(ty, &[("count", "vxm::Counting()"), ("fill", "vxm::Filling()")])?;
        let tile_rows = csr.nrows().div_ceil(SIDE);
        let parts = (csr.classes.longest / LONG_ROW).next_power_of_two().min(64);
        let pieces = tile_rows * parts;
        let sums = gpu.alloc((pieces + 1) * 8)?;
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
        let shape = Launch::linear(blocks(gpu, pieces, THREADS as usize / SIDE), THREADS);
        launch(&program, "count", shape, &composer.parameter(&[&head[..], &[0; 4]].concat()))?;
        scan(gpu, &sums, pieces)?;
        let count = sums.download_at::<u64>(pieces, 1)?[0] as usize;
        let offsets = if parts == 1 { None } else { Some(gpu.zeroed((tile_rows + 1) * 8)?) };
        let (columns, bits) = (gpu.alloc(count * 4)?, gpu.alloc(count * SIDE * 2)?);
        let values = gpu.zeroed(count * SIDE * SIDE * size_of::<A>())?;
        let tail = [offsets.as_ref().map_or(0, Buffer::address), columns.address(), bits.address(), values.address()];
        launch(&program, "fill", shape, &composer.parameter(&[&head[..], &tail].concat()))?;
        let offsets = offsets.unwrap_or(sums);
        let starts = offsets.download::<u64>(tile_rows + 1)?;
        let tiles_of = |tile_row: usize| starts[tile_row + 1] - starts[tile_row];
        let classes = Classes::of(gpu, (0..csr.nrows()).map(|i| tiles_of(i / SIDE) as usize))?;
        let long: Vec<u32> = (0..tile_rows as u32).filter(|&t| tiles_of(t as usize) > LONG_TILE_ROW).collect();
        Ok(Self {
            gpu: gpu.clone(),
            shape: (csr.nrows(), csr.ncols(), csr.nnz()),
            count,
            longest: csr.classes.longest,
            offsets,
            columns,
            bits,
            values,
            classes: Arc::new(classes),
            long: (gpu.upload_slice(&long)?, long.len()),
            of: PhantomData,
        })
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Tiles<A>> {
        let mut values = vec![0; self.values.len()];
        self.values.download_into(&mut values)?;
        let bits: Vec<u16> = self.bits.download(self.count * SIDE)?;
        let (bits, _) = bits.as_chunks::<SIDE>();
        let weights = if size_of::<A>() > 0 { self.count * SIDE * SIDE } else { 0 };
        Ok(Tiles::from_parts(
            self.shape,
            self.offsets.download(self.tile_rows() + 1)?,
            self.columns.download(self.count)?,
            bits.to_vec(),
            from_bytes(&values, weights),
        ))
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The number of stored tiles.
    pub fn tiles(&self) -> usize {
        self.count
    }

    /// Entries a stored tile, on average.
    pub fn fill(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.shape.2 as f64 / self.count as f64 }
    }

    pub(crate) fn values_address(&self) -> u64 {
        self.values.address()
    }

    fn tile_rows(&self) -> usize {
        self.shape.0.div_ceil(SIDE)
    }

    /// That sums of `f32` count the longest row exactly.
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

    /// Counts all tile-rows by tensor cores: `vectors` is the C++ type of what they are counted with, `words` its members.
    fn count(&self, vectors: &'static str, words: &[u64]) -> Result<()> {
        let gpu = &self.gpu;
        let mut composer = tensor_composer(gpu);
        let ty = composer.ty("vxm::CountTiles", [vectors.into()]);
        let program = composer.program(ty, &[("count_tiles", "")])?;
        let all = (0, self.tile_rows(), 1);
        let long = (self.long.0.address(), self.long.1, WARPS);
        for (list, count, split) in [all, long] {
            if count > 0 {
                let head = [list, count as u64, split, LONG_TILE_ROW];
                let tiles = [self.offsets.address(), self.columns.address(), self.bits.address()];
                let shape = Launch::linear(blocks(gpu, count * split as usize, THREADS as usize / 32), THREADS);
                launch(&program, "count_tiles", shape, &composer.parameter(&[&head[..], &tiles, words].concat()))?;
            }
        }
        Ok(())
    }

    /// For each row, rounded up to whole tile-rows, how many of its entries meet the bits at `present` (0: all present).
    ///
    /// # Errors
    /// A row is too long to be counted exactly; the device has too little memory, or is lost.
    pub(crate) fn count_present(&self, present: u64) -> Result<Buffer> {
        self.check_exact()?;
        // long tile-rows are added up
        let counts = self.gpu.zeroed(self.tile_rows() * SIDE * 4)?;
        self.count("vxm::OneVector", &[present, counts.address()])?;
        Ok(counts)
    }

    /// The same for each of up to [`VECTORS`] sets at once, where a count is not 0.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn count_sets(&self, sets: &[DeviceVector<()>]) -> Result<Vec<DeviceVector<u32>>> {
        self.check_exact()?;
        let gpu = &self.gpu;
        let tile_columns = self.shape.1.div_ceil(SIDE);
        let packed = gpu.alloc(tile_columns * VECTORS * 2)?;
        let mut composer = tensor_composer(gpu);
        let program = composer.program("vxm::PackVectors", &[("pack", "")])?;
        let mut words = vec![tile_columns as u64, sets.len() as u64];
        words.extend((0..VECTORS).map(|s| sets.get(s).map_or(0, DeviceVector::bits_address)));
        words.push(packed.address());
        let shape = Launch::linear(blocks(gpu, tile_columns * VECTORS, THREADS as usize), THREADS);
        launch(&program, "pack", shape, &composer.parameter(&words))?;
        let pitch = self.tile_rows() * SIDE;
        let counts = Arc::new(gpu.zeroed(pitch * VECTORS * 4)?);
        self.count("vxm::ManyVectors", &[packed.address(), counts.address(), pitch as u64])?;
        let vector = |s: usize| {
            let mut composer = Composer::new(gpu);
            let node = counted(&mut composer, &counts, s * pitch, 1u32, PLUS);
            run::eval(composer, &node, self.shape.0)
        };
        (0..sets.len()).map(vector).collect()
    }
}

fn tensor_composer(gpu: &Gpu) -> Composer {
    Composer::new(gpu).with(sources::TENSOR)
}

/// A view of counts from number `first` on: `constant`, folded as often as each says.
pub(crate) fn counted<T: Element, M: Monoid<T>>(
    composer: &mut Composer,
    counts: &Arc<Buffer>,
    first: usize,
    constant: T,
    add: M,
) -> Node {
    composer.include(sources::TILES);
    composer.push(counts.address() + 4 * first as u64);
    composer.push(constant.bits());
    composer.keep(counts.clone());
    let (t, add) = (composer.element::<T>(), composer.monoid::<T, M>(add));
    Node::new(composer.ty("vxm::Counted", [t, add]), false)
}

/// The address of an emitted view's presence bits, evaluated if they are not stored; 0 where all are present. `composer` keeps them.
pub(crate) fn presence(composer: &mut Composer, mut emitted: Composer, node: &Node, n: usize) -> Result<u64> {
    if let Some(bits) = node.bits {
        composer.adopt(emitted);
        return Ok(bits);
    }
    let node = Node::new(emitted.ty("vxm::Pattern", [node.ty]), node.full);
    let held = run::eval::<()>(emitted, &node, n)?;
    let bits = held.bits_address();
    composer.keep(held);
    Ok(bits)
}
