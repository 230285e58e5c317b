//! The mode of rows on ranks.
//!
//! No element joins two parts of a row to a mode. With one column of ranks rows are whole. Otherwise each rank counts the labels of its part of
//! a row, and the row's owner adds up the counts: as in HPCGraph's 2.5D ownership ("HPCGraph-GPU", section 3.3.3), a row is decided by one rank.

use crate::backend::cpu::mode::{counts, modes, most};
use crate::containers::{Matrix, Set, Vector};
use crate::error::Result;
use crate::formats::{Bitmap, Store, StoreView};
use crate::operations::ranks::matrices::{at_columns, at_rows};
use crate::ranks::{Grid, Line, nothing, unexpected, words};
use vxm_semiring::Element;

/// The modes of the labels `u` over the rows of a matrix. All ranks call this.
pub(crate) fn modes_on_ranks<A: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    u: &Vector<u32>,
    rows: Option<&Set>,
) -> Result<Vector<u32>> {
    let (share, count) = (a.share(grid, false, "mode")?, grid.count(a.nrows()));
    let labels = at_columns(grid, &share, u)?;
    let labels = match labels.bits() {
        None => StoreView::Dense(labels.values()),
        Some(bits) => StoreView::Bitmap(labels.values(), bits),
    };
    let wanted: Option<Bitmap<()>> = rows.map(|rows| at_rows(grid, &share, rows)).transpose()?;
    let is_wanted = |row: usize| wanted.as_ref().is_none_or(|wanted| wanted.get(row).is_some());
    let read: usize = (0..share.csr.nrows()).filter(|&row| is_wanted(row)).map(|row| share.csr.degree(row)).sum();
    let (column, row) = share.exchanged();
    grid.work(read, share.csr.nrows() + column + row);
    let mut found = nothing(count);
    match &share.row {
        None => {
            let modes = modes(&*share.csr, labels, is_wanted);
            modes.into_iter().enumerate().for_each(|(place, mode)| found.put(place, mode));
        }
        Some(line) => {
            let parts = counts(&*share.csr, labels, is_wanted);
            let mut heard = told(line, &parts)?;
            grid.work(0, heard.len());
            heard.sort_unstable();
            for of_place in heard.chunk_by(|x, y| x[0] == y[0]) {
                let labels = of_place.chunk_by(|x, y| x[1] == y[1]);
                let counted = labels.map(|same| (same[0][1], same.iter().map(|x| u64::from(x[2])).sum()));
                found.put(of_place[0][0] as usize, most(counted));
            }
        }
    }
    Ok(Vector::of_piece(Store::Bitmap(found), grid, a.nrows()))
}

/// Sends the labels of each row and their counts to the row's owner. Returns those of this rank's places: place, label and count. All ranks call
/// this.
fn told(line: &Line, parts: &[Vec<(u32, u32)>]) -> Result<Vec<[u32; 3]>> {
    let parcel = |rows: &std::ops::Range<usize>| {
        let lengths = parts[rows.clone()].iter().map(|part| part.len() as u32);
        let pairs = parts[rows.clone()].iter().flatten().flat_map(|&(label, count)| [label, count]);
        lengths.chain(pairs).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    let found = line.ranks.exchange(line.takes.iter().map(parcel).collect())?;
    let mut heard = Vec::new();
    for (parcel, places) in found.iter().zip(&line.gives) {
        let words = words(parcel);
        let short = || unexpected("labels that end too early");
        let (lengths, pairs) = words.split_at_checked(places.len()).ok_or_else(short)?;
        let mut pairs = pairs.chunks_exact(2);
        for (&place, &length) in places.iter().zip(lengths) {
            for _ in 0..length {
                let pair = pairs.next().ok_or_else(short)?;
                heard.push([place, pair[0], pair[1]]);
            }
        }
    }
    Ok(heard)
}
