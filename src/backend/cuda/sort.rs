//! Sorting on a device: a stable radix sort, and the ranks of a vector's elements.

use super::compact::{indices, step};
use super::compose::{Composer, Piece};
use super::run::{THREADS, launch, rows_composer, scan};
use super::{DeviceVector, Gpu};
use crate::error::{Error, Result};
use std::sync::Arc;
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::Element;

/// Items of a tile; the kernels say the same.
const TILE: usize = 2048;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// How wide a key or an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Four,
    Eight,
}

impl Width {
    /// That of the numbers below `count`.
    pub(super) fn below(count: usize) -> Self {
        if u32::try_from(count).is_ok() { Self::Four } else { Self::Eight }
    }

    /// Its type in C++.
    pub(super) fn ty(self) -> Piece {
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

/// Keys and what belongs to them: the places themselves where there is nothing else.
#[derive(Debug, Clone)]
pub(super) struct Keyed {
    pub(super) keys: Arc<Buffer>,
    pub(super) items: Option<Arc<Buffer>>,
    pub(super) count: usize,
    /// Of the keys.
    pub(super) key: Width,
    /// Of the items.
    pub(super) item: Width,
}

impl Keyed {
    /// Sorts by key, stably; `differing` has all bits in which two keys differ.
    pub(super) fn sort(mut self, gpu: &Gpu, differing: u64) -> Result<Self> {
        let differing = if self.count > 1 { differing } else { 0 };
        let mut composer = composer(gpu);
        let ty = composer.ty("vxm::SortPass", [self.key.ty(), self.item.ty()]);
        let program = composer.program(ty, &[("count", "vxm::Counting()"), ("deal", "vxm::Filling()")])?;
        let tiles = self.count.div_ceil(TILE);
        let grid =
            u32::try_from(tiles).map_err(|_| Error::invalid(format!("{} items are too many to sort", self.count)))?;
        for shift in (0..u64::BITS).step_by(DIGIT as usize).filter(|&shift| differing >> shift & 0xff != 0) {
            let starts = gpu.alloc(((tiles << DIGIT) + 1) * 8)?;
            let keys = Arc::new(gpu.alloc(self.count * self.key.bytes())?);
            let items = Arc::new(gpu.alloc(self.count * self.item.bytes())?);
            let parameter = composer.parameter(&[
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

/// The files that sorting stands on.
pub(super) fn composer(gpu: &Gpu) -> Composer {
    rows_composer(gpu).with(sources::SORT)
}

/// Each element's place in ascending order, equal ones by index; `order` is the C++ type that makes keys of elements.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn rank<T: Element>(vector: &DeviceVector<T>, order: &'static str) -> Result<DeviceVector<u32>> {
    let gpu = vector.gpu();
    let (list, count) = indices(vector)?;
    let key = if size_of::<T>() > 4 { Width::Eight } else { Width::Four };
    let keys = gpu.alloc(count * key.bytes())?;
    let spread = gpu.upload_slice(&[u64::MAX, 0])?;
    let mut keying = composer(gpu);
    let stored = keying.stored(vector);
    let head = [list.as_ref().map_or(0, Buffer::address), count as u64, keys.address(), spread.address()];
    let ty = keying.ty("vxm::SortKeys", [stored.ty, order.into(), key.ty()]);
    step(&mut keying, ty, &head, count)?;
    let spread = spread.download::<u64>(2)?;
    let keyed = Keyed { keys: Arc::new(keys), items: list.map(Arc::new), count, key, item: Width::Four };
    let sorted = keyed.sort(gpu, spread[0] ^ spread[1])?;
    let ranks = gpu.alloc(vector.len() * 4)?;
    let order = sorted.items.as_ref().map_or(0, |items| items.address());
    step(&mut composer(gpu), "vxm::Ranks", &[order, count as u64, ranks.address()], count)?;
    Ok(vector.beside(ranks, count))
}
