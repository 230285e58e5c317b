//! Sorting on a device: a stable radix sort, and the ranks of a vector's elements.

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::cuda::compact::{indices, launch_over};
use crate::backend::cuda::terminals::{launch, rows_builder, scan};
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::tuning::THREADS;
use crate::error::{Error, Result};
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, sources};
use vxm_semiring::Element;

/// Items of a tile, which one block sorts. It must equal the kernels' `SORT_TILE`.
const TILE: usize = 2048;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// The width of a key or an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Four,
    Eight,
}

impl Width {
    /// The width that holds all numbers below `count`.
    pub(super) fn below(count: usize) -> Self {
        if u32::try_from(count).is_ok() { Self::Four } else { Self::Eight }
    }

    /// The C++ type.
    pub(super) fn ty(self) -> CppType {
        match self {
            Self::Four => "vxm::u32".into(),
            Self::Eight => "vxm::u64".into(),
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Keys to sort, and an item for each. Without `items`, a key's item is its position.
#[derive(Debug, Clone)]
pub(super) struct Keyed {
    pub(super) keys: Arc<Buffer>,
    pub(super) items: Option<Arc<Buffer>>,
    pub(super) count: usize,
    /// The width of the keys.
    pub(super) key: Width,
    /// The width of the items.
    pub(super) item: Width,
}

impl Keyed {
    /// Sorts stably by key. `differing` has at least the bits in which two keys differ: bytes without any are skipped. The keys are those of
    /// entries of a matrix with `rows` rows, or of so many elements of a vector.
    pub(super) fn sort(mut self, gpu: &Gpu, differing: u64, rows: usize) -> Result<Self> {
        let differing = if self.count > 1 { differing } else { 0 };
        let mut builder = builder(gpu);
        let ty = builder.ty("vxm::SortPass", [self.key.ty(), self.item.ty()]);
        let program = builder.program(ty, &[("count", "vxm::Counting()"), ("deal", "vxm::Filling()")])?;
        let tiles = self.count.div_ceil(TILE);
        let grid =
            u32::try_from(tiles).map_err(|_| Error::invalid(format!("{} items are too many to sort", self.count)))?;
        for shift in (0..u64::BITS).step_by(DIGIT as usize).filter(|&shift| differing >> shift & 0xff != 0) {
            let starts = alloc_entries(gpu, ((tiles << DIGIT) + 1) * 8, rows)?;
            let keys = Arc::new(alloc_entries(gpu, self.count * self.key.bytes(), rows)?);
            let items = Arc::new(alloc_entries(gpu, self.count * self.item.bytes(), rows)?);
            let parameter = builder.parameter(&[
                self.keys.address(),
                self.items.as_ref().map_or(0, |items| items.address()),
                self.count as u64,
                u64::from(shift),
                tiles as u64,
                starts.address(),
                keys.address(),
                items.address(),
            ]);
            launch(&program, "count", Launch::linear(grid, THREADS), &parameter)?;
            scan(gpu, &starts, tiles << DIGIT)?;
            launch(&program, "deal", Launch::linear(grid, THREADS), &parameter)?;
            self = Self { keys, items: Some(items), ..self };
        }
        Ok(self)
    }
}

/// An empty kernel with the sources for sorting.
pub(super) fn builder(gpu: &Gpu) -> KernelBuilder {
    rows_builder(gpu).with(sources::SORT)
}

/// The rank of each element in ascending order; ties go by index. `order` is the C++ type that maps elements to unsigned keys.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn rank<T: Element>(vector: &DeviceVector<T>, order: &'static str) -> Result<DeviceVector<u32>> {
    let gpu = vector.gpu();
    let (list, count) = indices(vector)?;
    let key = if size_of::<T>() > 4 { Width::Eight } else { Width::Four };
    let keys = gpu.alloc(count * key.bytes())?;
    let spread = gpu.upload_slice(&[u64::MAX, 0])?;
    let mut keying = builder(gpu);
    let stored = keying.stored(vector);
    let head = [list.as_ref().map_or(0, Buffer::address), count as u64, keys.address(), spread.address()];
    let ty = keying.ty("vxm::SortKeys", [stored.ty, order.into(), key.ty()]);
    launch_over(&mut keying, ty, &head, count)?;
    let spread = spread.download::<u64>(2)?;
    let keyed = Keyed { keys: Arc::new(keys), items: list.map(Arc::new), count, key, item: Width::Four };
    let sorted = keyed.sort(gpu, spread[0] ^ spread[1], 0)?;
    let ranks = gpu.alloc(vector.len() * 4)?;
    let order = sorted.items.as_ref().map_or(0, |items| items.address());
    launch_over(&mut builder(gpu), "vxm::Ranks", &[order, count as u64, ranks.address()], count)?;
    Ok(vector.with_values(ranks, count))
}
