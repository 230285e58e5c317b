//! Folds of all ranks' elements in the order of their indices, by the fixed tree: the same bits as on one process.

use crate::backend::cpu::fold::{Pairs, SEGMENT, Tree};
use crate::error::Result;
use crate::formats::{Store, bytes};
use crate::parallel;
use crate::ranks::{BLOCK, Grid, Owners, unexpected};
use vxm_semiring::{Element, Monoid};

/// The blocks of indices in a segment of the tree.
const BLOCKS: usize = SEGMENT / BLOCK;

/// What a rank sends of its elements: first a byte that says whether all are present, and then, block by block, the values, after a word of
/// presence bits unless all are.
struct Parcel<'p> {
    rest: &'p [u8],
    full: bool,
}

impl<'p> Parcel<'p> {
    fn new(bytes: &'p [u8]) -> Self {
        let (first, rest) = bytes.split_first().unwrap_or((&1, &[]));
        Self { rest, full: *first == 1 }
    }

    fn take(&mut self, bytes: usize) -> Result<&'p [u8]> {
        let cut = || unexpected("sums that end too early");
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The presence bits and the values of a block of `len` elements.
    fn block(&mut self, len: usize, size: usize) -> Result<(u64, &'p [u8])> {
        let bits = match self.full {
            true => u64::MAX,
            false => self.take(8)?.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)),
        };
        Ok((bits, self.take(len * size)?))
    }
}

/// The blocks of a segment: each with its owner, its first place there, and its length.
fn blocks(owners: Owners, segment: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let first = segment * BLOCKS;
    (first..(first + BLOCKS).min(owners.len().div_ceil(BLOCK))).map(move |block| {
        let (rank, place) = owners.owner((block * BLOCK) as u32);
        (rank, place as usize, BLOCK.min(owners.len() - block * BLOCK))
    })
}

/// Folds the elements of all ranks in the order of their indices. Segments of the tree are dealt out to ranks, folded there, and joined by all.
/// All ranks call this.
#[inline(never)]
pub(super) fn fold<T: Element, M: Monoid<T>>(grid: &Grid, n: usize, piece: Store<T>, add: M) -> Result<T> {
    let (owners, rank, ranks, size) = (grid.owners(n), grid.rank(), grid.size(), size_of::<T>());
    let segments = n.div_ceil(SEGMENT);
    let piece = piece.into_bitmap();
    let full = piece.nvals() == piece.len();
    let packed = |to: usize| {
        let mut parcel = vec![u8::from(full)];
        for segment in (to..segments).step_by(ranks) {
            for (_, place, len) in blocks(owners, segment).filter(|&(owner, ..)| owner == rank) {
                if !full {
                    let bits = (0..len).filter(|k| piece.get(place + k).is_some()).map(|k| 1u64 << k).sum::<u64>();
                    parcel.extend(bits.to_le_bytes());
                }
                let values = &piece.values()[place..place + len];
                values.iter().for_each(|&value| bytes::append(&mut parcel, value));
            }
        }
        parcel
    };
    let found = grid.exchange(parallel::collect(ranks, &packed))?;
    let mut parcels: Vec<Parcel<'_>> = found.iter().map(|parcel| Parcel::new(parcel)).collect();
    // the folds of this rank's segments: for each a byte that says whether there is one, and its bits
    let mut mine = Vec::new();
    for segment in (rank..segments).step_by(ranks) {
        let mut tree = Tree::new(add, SEGMENT.min(n - segment * SEGMENT));
        for (b, (owner, _, len)) in blocks(owners, segment).enumerate() {
            let (bits, values) = parcels[owner].block(len, size)?;
            for k in (0..len).filter(|k| bits >> k & 1 == 1) {
                tree.push(b * BLOCK + k, bytes::element(&values[k * size..(k + 1) * size]));
            }
        }
        let part = tree.finish();
        mine.push(u8::from(part.is_some()));
        bytes::append(&mut mine, part.unwrap_or(T::ZERO));
    }
    let found = grid.exchange(vec![mine; ranks])?;
    let mut pairs = Pairs::new(add);
    for segment in 0..segments {
        let at = segment / ranks * (1 + size);
        let part = found[segment % ranks].get(at..at + 1 + size).and_then(|part| part.split_first());
        let (held, value) = part.ok_or_else(|| unexpected("sums that end too early"))?;
        pairs.push((*held == 1).then(|| bytes::element(value)));
    }
    Ok(pairs.finish().unwrap_or(add.identity()))
}
