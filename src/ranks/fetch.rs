//! Elements of a spread vector at any indices: asked for, sent, or collected.

use crate::error::Result;
use crate::formats::{Bitmap, bytes};
use crate::ranks::grid::Grid;
use crate::ranks::parcel::{Item, pack, unpack};
use crate::ranks::replicas::nothing;
use crate::ranks::share::words;
use vxm_semiring::Element;

/// The elements at `indices` of a vector of `len` places, of which this rank owns `piece`. An index outside the vector has none. Each rank
/// asks for what it needs; all ranks call this.
pub(crate) fn fetch<T: Element>(grid: &Grid, len: usize, piece: &Bitmap<T>, indices: &[u32]) -> Result<Vec<Option<T>>> {
    // indices are sorted, and each is looked up
    grid.work(0, 2 * indices.len() * (1 + indices.len().max(1).ilog2() as usize));
    let owners = grid.owners(len);
    let mut asked: Vec<Vec<u32>> = vec![Vec::new(); grid.size()];
    for &index in indices.iter().filter(|&&index| (index as usize) < len) {
        let (rank, place) = owners.owner(index);
        asked[rank].push(place);
    }
    for places in &mut asked {
        places.sort_unstable();
        places.dedup();
    }
    let questions = asked.iter().map(|places| places.iter().flat_map(|place| place.to_le_bytes()).collect());
    let answers = grid.exchange(questions.collect())?.into_iter().map(|question| {
        let items: Vec<Item<_>> = words(&question).iter().map(|&place| Item::of(piece.get(place as usize))).collect();
        pack(&items, size_of::<T>())
    });
    let found = grid.exchange(answers.collect())?;
    let mut held = Vec::with_capacity(grid.size());
    for (parcel, places) in found.iter().zip(&asked) {
        let mut elements = vec![None; places.len()];
        unpack(parcel, places.len(), |k, x| elements[k] = x)?;
        held.push(elements);
    }
    let element = |&index: &u32| {
        let (rank, place) = (index as usize).lt(&len).then(|| owners.owner(index))?;
        asked[rank].binary_search(&place).ok().and_then(|k| held[rank][k])
    };
    Ok(indices.iter().map(element).collect())
}

/// Sends elements to the owners of their indices, in a vector of `len` places. Returns those that came here, by place, in the order of
/// ranks. Indices outside the vector are dropped. All ranks call this.
#[inline(never)]
pub(crate) fn deliver<T: Element>(
    grid: &Grid,
    len: usize,
    elements: impl Iterator<Item = (u32, T)>,
) -> Result<Vec<(u32, T)>> {
    let (owners, size) = (grid.owners(len), size_of::<T>());
    let mut out = vec![Vec::new(); grid.size()];
    for (index, value) in elements.filter(|&(index, _)| (index as usize) < len) {
        let (rank, place) = owners.owner(index);
        out[rank].extend(place.to_le_bytes());
        bytes::append(&mut out[rank], value);
    }
    let mut here = Vec::new();
    grid.work(0, out.iter().map(Vec::len).sum::<usize>() / (4 + size));
    for parcel in grid.exchange(out)? {
        for element in parcel.chunks_exact(4 + size) {
            here.push((bytes::element(&element[..4]), bytes::element(&element[4..])));
        }
    }
    Ok(here)
}

/// The elements of all ranks, if their parcels came here.
#[inline(never)]
fn joined<T: Element>(grid: &Grid, len: usize, parcels: &[Vec<u8>]) -> Result<Bitmap<T>> {
    let (owners, mut whole) = (grid.owners(len), nothing(len));
    for (rank, parcel) in parcels.iter().enumerate() {
        unpack(parcel, owners.count(rank), |place, x| whole.put(owners.vertex(rank, place as u32) as usize, x))?;
    }
    Ok(whole)
}

fn packed<T: Element>(piece: &Bitmap<T>) -> Vec<u8> {
    let items: Vec<Item<_>> = (0..piece.len()).map(|place| Item::of(piece.get(place))).collect();
    pack(&items, size_of::<T>())
}

/// The whole vector, on every rank. All ranks call this.
pub(crate) fn collect<T: Element>(grid: &Grid, len: usize, piece: &Bitmap<T>) -> Result<Bitmap<T>> {
    let found = grid.exchange(vec![packed(piece); grid.size()])?;
    grid.work(0, len);
    joined(grid, len, &found)
}

/// The whole vector, on rank 0. All ranks call this.
pub(crate) fn to_first<T: Element>(grid: &Grid, len: usize, piece: &Bitmap<T>) -> Result<Option<Bitmap<T>>> {
    let mut out = vec![Vec::new(); grid.size()];
    out[0] = packed(piece);
    let found = grid.exchange(out)?;
    if grid.rank() == 0 { joined(grid, len, &found).map(Some) } else { Ok(None) }
}
