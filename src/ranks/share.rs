//! A rank's share of a square matrix, and what it needs of others to multiply with it.

use crate::error::Result;
use crate::formats::{Csr, bytes};
use crate::parallel::{self, FEW};
use crate::ranks::grid::Grid;
use crate::ranks::owners::Owners;
use crate::ranks::parcel::{Item, pack, unexpected};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use vxm_communicator::Communicator;
use vxm_semiring::{Element, Word};

/// Which elements of a vector the members of a row or column of ranks have copies of.
#[derive(Debug)]
pub(crate) struct Line {
    pub ranks: Arc<dyn Communicator>,
    /// For each member, the places of this rank's own elements that it has copies of, ascending.
    pub gives: Vec<Vec<u32>>,
    /// For each member, the slots for copies of its elements.
    pub takes: Vec<Range<usize>>,
}

impl Line {
    /// Sends to each member the items at the places that it has copies of. Elements have `size` bytes. Returns the members' parcels.
    pub fn give<W: Word>(&self, size: usize, item: &dyn Fn(usize) -> Item<W>) -> Result<Vec<Vec<u8>>> {
        let packed = |places: &Vec<u32>| {
            let items: Vec<Item<W>> = places.iter().map(|&place| item(place as usize)).collect();
            pack(&items, size)
        };
        Ok(self.ranks.exchange(self.gives.iter().map(packed).collect())?)
    }

    /// Sends to each member the items at the slots for its elements. Returns the members' parcels.
    pub fn give_back<W: Word>(&self, size: usize, item: &dyn Fn(usize) -> Item<W>) -> Result<Vec<Vec<u8>>> {
        let packed = |slots: &Range<usize>| pack(&slots.clone().map(item).collect::<Vec<_>>(), size);
        Ok(self.ranks.exchange(self.takes.iter().map(packed).collect())?)
    }

    /// Tells each member the places that this rank has copies of. Slots count from `first`, member by member.
    fn new(ranks: &Arc<dyn Communicator>, wanted: &[Vec<u32>], first: usize) -> Result<Self> {
        let parcels = wanted.iter().map(|places| places.iter().flat_map(|place| place.to_le_bytes()).collect());
        let found = ranks.exchange(parcels.collect())?;
        let gives = found.iter().map(|parcel| words(parcel)).collect();
        let takes = wanted.iter().scan(first, |at, places| {
            let slots = *at..*at + places.len();
            *at = slots.end;
            Some(slots)
        });
        Ok(Self { ranks: ranks.clone(), gives, takes: takes.collect() })
    }
}

/// The numbers of 32 bits in a parcel.
pub(crate) fn words(parcel: &[u8]) -> Vec<u32> {
    parcel.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| u32::from_le_bytes(*word)).collect()
}

/// A rank's share of a square matrix, by rows of a product's result.
///
/// Its columns are *slots*: places for copies of a vector's elements. Slots below the number of rows belong to the rows, so that a row's own
/// element and those of its entries come from one array. With one column of ranks the rows are the places that this rank owns, and
/// slots for other ranks' elements follow. Otherwise the rows are those of the ranks of the same row that have an entry here, and a slot
/// for each column that has an entry here follows. Entries of a row stand in the order of the matrix' columns.
#[derive(Debug)]
pub struct Share<T: Element> {
    /// A number that no other share has.
    pub(crate) id: u64,
    pub(crate) csr: Arc<Csr<T>>,
    /// The index of each slot in the matrix.
    pub(crate) index: Vec<u32>,
    /// How operands come here: along the column of ranks.
    pub(crate) column: Line,
    /// How rows' own elements come here, and partial results go: along the row of ranks, if it has several.
    pub(crate) row: Option<Line>,
    /// The rows that read each slot.
    readers: OnceLock<(Vec<u64>, Vec<u32>)>,
    /// The first of the matrix' longest rows, its length, and that of row 0.
    pub(crate) ends: OnceLock<(u32, usize, usize)>,
}

impl<T: Element> Share<T> {
    /// Builds the share of a matrix of `n` rows. `entries` are those in rows of this row of ranks and columns of this column of ranks, each
    /// once, in any order. All ranks call this.
    #[inline(never)]
    pub(crate) fn new(grid: &Grid, n: usize, mut entries: Vec<(u32, u32, T)>) -> Result<Self> {
        let numbers = RowNumbers::new(grid, n);
        parallel::fill(&mut entries, FEW, &|_, part| part.iter_mut().for_each(|entry| entry.0 = numbers.of(entry.0)));
        entries.par_sort_unstable_by_key(|&(row, column, _)| (row, column));
        Self::of_sorted(grid, n, entries)
    }

    /// The same of entries that are sorted by the numbers of their rows, see [`RowNumbers`], and then by their columns.
    pub(crate) fn of_sorted(grid: &Grid, n: usize, entries: Vec<(u32, u32, T)>) -> Result<Self> {
        let ((height, width), owners) = (grid.shape(), grid.owners(n));
        let (i, j) = (grid.rank() / width, grid.rank() % width);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); width];
        if width == 1 {
            rows[0] = (0..grid.count(n) as u32).collect();
        } else {
            let (numbers, mut k) = (RowNumbers::new(grid, n), 0);
            for row in entries.chunk_by(|x, y| x.0 == y.0).map(|row| row[0].0) {
                while row >= numbers.starts[k + 1] {
                    k += 1;
                }
                rows[k].push(row - numbers.starts[k]);
            }
        }
        let row_slots: usize = rows.iter().map(Vec::len).sum();

        // 0 where a column has an entry here
        let unmarked = |k: usize| (0..owners.count(k * width + j)).map(|_| AtomicU32::new(u32::MAX)).collect();
        let marks: Vec<Vec<AtomicU32>> = parallel::collect(height, &unmarked);
        parallel::ranges(entries.len(), FEW, &|range| {
            for &(_, column, _) in &entries[range] {
                let (rank, place) = owners.owner(column);
                debug_assert_eq!(rank % width, j);
                marks[rank / width][place as usize].store(0, Ordering::Relaxed);
            }
        });
        let marked = |places: Vec<AtomicU32>| places.into_iter().map(AtomicU32::into_inner).collect();
        let mut slots: Vec<Vec<u32>> = marks.into_iter().map(marked).collect();
        let (columns, slot) = number_slots(&mut slots, row_slots as u32, (width == 1).then_some(i));

        let mut index = Vec::with_capacity(slot as usize);
        for (k, places) in rows.iter().enumerate() {
            index.extend(places.iter().map(|&place| owners.vertex(i * width + k, place)));
        }
        for (k, places) in columns.iter().enumerate() {
            index.extend(places.iter().map(|&place| owners.vertex(k * width + j, place)));
        }
        let slot_of = |column: u32| {
            let (rank, place) = owners.owner(column);
            slots[rank / width][place as usize]
        };
        let local = parallel::table(entries.len(), 0, |k| slot_of(entries[k].1));
        let offsets = row_offsets(&entries, width, row_slots);
        let values = parallel::table(entries.len(), T::ZERO, |k| entries[k].2);
        drop(entries);
        let csr = Csr::of_slots(row_slots, slot as usize, offsets, local, values);
        let column = Line::new(grid.column(), &columns, row_slots)?;
        let row = if width == 1 { None } else { Some(Line::new(grid.row(), &rows, 0)?) };
        let share = Self {
            id: fresh_id(),
            csr: Arc::new(csr),
            index,
            column,
            row,
            readers: OnceLock::new(),
            ends: OnceLock::new(),
        };
        if let Some(ledger) = grid.ledger() {
            ledger.hold(share.bytes(), n);
        }
        Ok(share)
    }

    /// The bytes of the share: entries, slots, the places that others have copies of, and the readers of slots, which a loop makes.
    fn bytes(&self) -> u64 {
        let lists = |line: &Line| line.gives.iter().map(Vec::len).sum::<usize>();
        let (rows, slots, entries) = (self.csr.nrows(), self.slots(), self.csr.nnz());
        let lists = lists(&self.column) + self.row.as_ref().map_or(0, lists);
        let csr = 8 * (rows + 1) + (4 + size_of::<T>()) * entries;
        (csr + 4 * (slots + lists) + 8 * (slots + 1) + 4 * entries) as u64
    }

    /// The numbers of elements that an exchange along the column of ranks, and one along the row, packs and unpacks at most.
    pub(crate) fn exchanged(&self) -> (usize, usize) {
        let of = |line: &Line| {
            line.gives.iter().map(Vec::len).sum::<usize>() + line.takes.iter().map(Range::len).sum::<usize>()
        };
        (of(&self.column), self.row.as_ref().map_or(0, of))
    }

    /// This share with other entries in the same rows and slots.
    pub(crate) fn with_entries<U: Element>(&self, csr: Csr<U>) -> Share<U> {
        let line =
            |line: &Line| Line { ranks: line.ranks.clone(), gives: line.gives.clone(), takes: line.takes.clone() };
        let (column, row) = (line(&self.column), self.row.as_ref().map(line));
        let (csr, readers, ends) = (Arc::new(csr), OnceLock::new(), OnceLock::new());
        Share { id: fresh_id(), csr, index: self.index.clone(), column, row, readers, ends }
    }

    /// The entries, by the matrix' rows and columns.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, u32, T)> + '_ {
        (0..self.csr.nrows()).flat_map(move |row| {
            let (slots, values) = self.csr.row(row);
            let own = self.index[row];
            slots.iter().zip(values).map(move |(&slot, &value)| (own, self.index[slot as usize], value))
        })
    }

    /// The rows that read each slot: those between `offsets[slot]` and `offsets[slot + 1]`.
    pub(crate) fn readers(&self) -> (&[u64], &[u32]) {
        let (offsets, rows) = self.readers.get_or_init(|| {
            let mut offsets = vec![0u64; self.csr.ncols() + 1];
            self.csr.columns().iter().for_each(|&slot| offsets[slot as usize + 1] += 1);
            (0..self.csr.ncols()).for_each(|slot| offsets[slot + 1] += offsets[slot]);
            let (mut at, mut rows) = (offsets.clone(), vec![0u32; self.csr.nnz()]);
            for row in 0..self.csr.nrows() {
                for &slot in self.csr.row(row).0 {
                    rows[at[slot as usize] as usize] = row as u32;
                    at[slot as usize] += 1;
                }
            }
            (offsets, rows)
        });
        (offsets, rows)
    }

    /// The number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.index.len()
    }
}

/// The numbers of the rows that this row of ranks owns: by owner, and then by place there.
pub(crate) struct RowNumbers {
    owners: Owners,
    width: usize,
    /// The first of the ranks.
    first: usize,
    /// The first number of each owner's rows, and the end.
    starts: Vec<u32>,
}

impl RowNumbers {
    /// The numbers of a matrix of `n` rows.
    pub(crate) fn new(grid: &Grid, n: usize) -> Self {
        Self::of_line(grid, n, grid.rank() / grid.shape().1)
    }

    /// The same for another row of ranks.
    pub(crate) fn of_line(grid: &Grid, n: usize, line: usize) -> Self {
        let ((_, width), owners) = (grid.shape(), grid.owners(n));
        let first = line * width;
        let mut starts = vec![0u32; width + 1];
        (0..width).for_each(|k| starts[k + 1] = starts[k] + owners.count(first + k) as u32);
        Self { owners, width, first, starts }
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.starts[self.width] as usize
    }

    /// The number of a row.
    pub(crate) fn of(&self, row: u32) -> u32 {
        let (rank, place) = self.owners.owner(row);
        self.starts[rank % self.width] + place
    }

    /// The row of a number.
    pub(crate) fn row(&self, number: u32) -> u32 {
        let owner = self.starts.partition_point(|&start| start <= number) - 1;
        self.owners.vertex(self.first + owner, number - self.starts[owner])
    }
}

/// Numbers the slots of columns from `first`: for each owner in this column of ranks, by place. `slots` hold 0 at the places of columns with
/// an entry here. Those of `rows`, if rows are places, are the places themselves. Returns the other owners' places that have slots, and the
/// number of all slots.
fn number_slots(slots: &mut [Vec<u32>], first: u32, rows: Option<usize>) -> (Vec<Vec<u32>>, u32) {
    let (mut columns, mut slot) = (vec![Vec::new(); slots.len()], first);
    for (k, places) in slots.iter_mut().enumerate() {
        for (place, held) in (0..).zip(places) {
            if rows == Some(k) {
                *held = place;
            } else if *held == 0 {
                *held = slot;
                slot += 1;
                columns[k].push(place);
            }
        }
    }
    (columns, slot)
}

/// The offsets of rows, given their entries in order.
fn row_offsets<T>(entries: &[(u32, u32, T)], width: usize, rows: usize) -> Vec<u64> {
    let mut offsets = vec![0u64; rows + 1];
    for (k, row) in entries.chunk_by(|x, y| x.0 == y.0).enumerate() {
        // of one column of ranks, a row is a place; else rows are those that have entries
        let row_number = if width == 1 { row[0].0 as usize } else { k };
        offsets[row_number + 1] = row.len() as u64;
    }
    (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
    offsets
}

fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Sends entries to the ranks that hold them in a matrix of `n` rows, and builds this rank's share of all ranks' entries. All ranks call
/// this.
pub(crate) fn assemble<T: Element>(
    grid: &Grid,
    n: usize,
    entries: impl Iterator<Item = (u32, u32, T)>,
) -> Result<Share<T>> {
    received(grid, n, parcels(grid, n, entries))
}

/// The same of `count` lists of entries, which threads make.
pub(crate) fn assemble_lists<T: Element, I: Iterator<Item = (u32, u32, T)>>(
    grid: &Grid,
    n: usize,
    count: usize,
    list: &(dyn Fn(usize) -> I + Sync),
) -> Result<Share<T>> {
    let made = parallel::collect(count, &|k| parcels(grid, n, list(k)));
    let joined = |to: usize| made.iter().map(|parcels| &parcels[to][..]).collect::<Vec<_>>().concat();
    received(grid, n, parallel::collect(grid.size(), &joined))
}

/// What each rank gets of entries: row, column and value of each.
fn parcels<T: Element>(grid: &Grid, n: usize, entries: impl Iterator<Item = (u32, u32, T)>) -> Vec<Vec<u8>> {
    let ((_, width), owners) = (grid.shape(), grid.owners(n));
    let mut out = vec![Vec::new(); grid.size()];
    for (row, column, value) in entries {
        let rank = owners.owner(row).0;
        let to = if width == 1 { rank } else { rank / width * width + owners.owner(column).0 % width };
        let parcel: &mut Vec<u8> = &mut out[to];
        parcel.extend(row.to_le_bytes());
        parcel.extend(column.to_le_bytes());
        bytes::append(parcel, value);
    }
    out
}

/// Builds this rank's share of what all ranks send. All ranks call this.
fn received<T: Element>(grid: &Grid, n: usize, out: Vec<Vec<u8>>) -> Result<Share<T>> {
    let (size, found) = (8 + size_of::<T>(), grid.exchange(out)?);
    if found.iter().any(|parcel| parcel.len() % size != 0) {
        return Err(unexpected("entries of another size"));
    }
    let mut here = Vec::new();
    for parcel in &found {
        let entry = |k: usize| {
            let entry = &parcel[k * size..(k + 1) * size];
            (bytes::element(&entry[..4]), bytes::element(&entry[4..8]), bytes::element(&entry[8..]))
        };
        here.append(&mut parallel::table(parcel.len() / size, (0, 0, T::ZERO), entry));
    }
    Share::new(grid, n, here)
}
