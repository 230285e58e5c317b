//! Rows of matrices that travel between ranks: those of a row of ranks, made whole, and those that a product reads of other ranks.

use crate::error::Result;
use crate::formats::{Csr, bytes};
use crate::ranks::grid::Grid;
use crate::ranks::parcel::unexpected;
use crate::ranks::share::{RowNumbers, Share, words};
use std::ops::Range;
use vxm_semiring::Element;

impl<T: Element> Share<T> {
    /// The entries as a matrix of as many columns as the whole one, `n`, with the rows that this row of ranks owns; see [`RowNumbers`].
    pub(crate) fn to_rows(&self, grid: &Grid, n: usize) -> Csr<T> {
        let numbers = RowNumbers::new(grid, n);
        let mut offsets = vec![0u64; numbers.count() + 1];
        for row in 0..self.csr.nrows() {
            offsets[numbers.of(self.index[row]) as usize + 1] = self.csr.degree(row) as u64;
        }
        running_sums(&mut offsets);
        // rows of a share stand in the order of their numbers, and entries in that of the matrix' columns
        let columns = self.csr.columns().iter().map(|&slot| self.index[slot as usize]).collect();
        Csr::from_parts(numbers.count(), n, offsets, columns, self.csr.values().to_vec())
    }

    /// A share with the entries of such a matrix, each at a place where this share holds one: it has the rows and slots of this share.
    pub(crate) fn within<U: Element>(&self, grid: &Grid, n: usize, rows: &Csr<U>) -> Share<U> {
        let numbers = RowNumbers::new(grid, n);
        let (mut offsets, mut slots, mut values) =
            (vec![0u64], Vec::with_capacity(rows.nnz()), Vec::with_capacity(rows.nnz()));
        for row in 0..self.csr.nrows() {
            let (columns, entries) = rows.row(numbers.of(self.index[row]) as usize);
            let mut made = columns.iter().zip(entries).peekable();
            for &slot in self.csr.row(row).0 {
                let column = self.index[slot as usize];
                if let Some((_, &value)) = made.next_if(|&(&held, _)| held == column) {
                    slots.push(slot);
                    values.push(value);
                }
            }
            debug_assert!(made.next().is_none(), "an entry where the share holds none");
            offsets.push(slots.len() as u64);
        }
        self.with_entries(Csr::of_slots(self.csr.nrows(), self.csr.ncols(), offsets, slots, values))
    }

    /// The share with the entries of such a matrix. All ranks call this.
    pub(crate) fn of_rows(grid: &Grid, n: usize, rows: &Csr<T>) -> Result<Self> {
        let entries = (0..rows.nrows()).flat_map(|row| {
            let (columns, values) = rows.row(row);
            columns.iter().zip(values).map(move |(&column, &value)| (row as u32, column, value))
        });
        Self::of_sorted(grid, n, entries.collect())
    }
}

fn running_sums(offsets: &mut [u64]) {
    for k in 1..offsets.len() {
        offsets[k] += offsets[k - 1];
    }
}

/// Appends entries to a parcel: their columns, and then their values.
fn pack<T: Element>(columns: &[u32], values: &[T], out: &mut Vec<u8>) {
    out.extend(columns.iter().flat_map(|column| column.to_le_bytes()));
    for value in values {
        bytes::append(out, *value);
    }
}

/// Reads rows of a parcel from `at` on.
struct Unpacked<'p> {
    parcel: &'p [u8],
    at: usize,
}

impl<'p> Unpacked<'p> {
    /// The next bytes.
    fn next(&mut self, bytes: usize) -> Result<&'p [u8]> {
        let rest = self.parcel.get(self.at..).unwrap_or_default();
        let found = rest.get(..bytes).ok_or_else(|| unexpected("rows that end too early"))?;
        self.at += bytes;
        Ok(found)
    }

    /// The next `columns.len()` entries.
    fn entries<T: Element>(&mut self, columns: &mut [u32], values: &mut [T]) -> Result<()> {
        for (column, found) in columns.iter_mut().zip(words(self.next(4 * values.len())?)) {
            *column = found;
        }
        let size = size_of::<T>();
        let values_bytes = self.next(size_of_val(values))?;
        for (k, value) in values.iter_mut().enumerate() {
            *value = bytes::element(&values_bytes[k * size..(k + 1) * size]);
        }
        Ok(())
    }
}

/// The rows that this row of ranks owns, whole: `rows` are the parts that this rank holds. All ranks call this.
#[inline(never)]
pub(crate) fn whole_rows<T: Element>(grid: &Grid, rows: Csr<T>) -> Result<Csr<T>> {
    if grid.shape().1 == 1 {
        return Ok(rows);
    }
    let mut mine = Vec::new();
    let lengths = (0..rows.nrows()).map(|row| rows.degree(row) as u32);
    mine.extend(lengths.flat_map(u32::to_le_bytes));
    pack(rows.columns(), rows.values(), &mut mine);
    let found = grid.row().exchange(vec![mine; grid.shape().1])?;
    let mut parts: Vec<Unpacked<'_>> = found.iter().map(|parcel| Unpacked { parcel, at: 0 }).collect();
    let lengths = parts.iter_mut().map(|part| Ok(words(part.next(4 * rows.nrows())?))).collect::<Result<Vec<_>>>()?;

    let mut offsets = vec![0u64; rows.nrows() + 1];
    for part in &lengths {
        part.iter().enumerate().for_each(|(row, &length)| offsets[row + 1] += u64::from(length));
    }
    running_sums(&mut offsets);
    let entries = *offsets.last().unwrap_or(&0) as usize;
    let (mut columns, mut values) = (vec![0u32; entries], vec![T::ZERO; entries]);
    let mut at: Vec<u64> = offsets[..rows.nrows()].to_vec();
    for (part, lengths) in parts.iter_mut().zip(&lengths) {
        let held: usize = lengths.iter().map(|&length| length as usize).sum();
        let (mut js, mut xs) = (vec![0u32; held], vec![T::ZERO; held]);
        part.entries(&mut js, &mut xs)?;
        let mut from = 0;
        for (at, &length) in at.iter_mut().zip(lengths) {
            let (to, length) = (*at as usize, length as usize);
            columns[to..to + length].copy_from_slice(&js[from..from + length]);
            values[to..to + length].copy_from_slice(&xs[from..from + length]);
            (*at, from) = (*at + length as u64, from + length);
        }
    }
    sort_rows(&offsets, &mut columns, &mut values);
    grid.work(0, rows.nnz() * grid.shape().1 + entries);
    Ok(Csr::from_parts(rows.nrows(), rows.ncols(), offsets, columns, values))
}

/// Sorts the entries of each row by their columns.
fn sort_rows<T: Element>(offsets: &[u64], columns: &mut [u32], values: &mut [T]) {
    let mut entries: Vec<(u32, T)> = Vec::new();
    for row in offsets.windows(2) {
        let place = row[0] as usize..row[1] as usize;
        entries.clear();
        entries.extend(columns[place.clone()].iter().copied().zip(values[place.clone()].iter().copied()));
        entries.sort_unstable_by_key(|&(column, _)| column);
        for (k, &(column, value)) in place.zip(&entries) {
            (columns[k], values[k]) = (column, value);
        }
    }
}

/// Some of the rows that a rank owns.
pub(crate) struct OwnRows<T> {
    /// The place of the first row.
    pub first: usize,
    offsets: Vec<u64>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Element> OwnRows<T> {
    /// One of `portions` portions of the rows that this rank owns, of a matrix of `n` rows. All ranks call this.
    #[inline(never)]
    pub fn new(grid: &Grid, n: usize, share: &Share<T>, portion: usize, portions: usize) -> Result<Self> {
        let owners = grid.owners(n);
        let places = |rank: usize| {
            let count = owners.count(rank);
            count * portion / portions..count * (portion + 1) / portions
        };
        let own = places(grid.rank());
        let entries_of = |rows: Range<usize>| {
            let offsets = share.csr.offsets();
            let place = offsets[rows.start] as usize..offsets[rows.end] as usize;
            let slots = &share.csr.columns()[place.clone()];
            let columns: Vec<u32> = slots.iter().map(|&slot| share.index[slot as usize]).collect();
            (columns, &share.csr.values()[place])
        };
        let Some(line) = &share.row else {
            // rows are places, and whole
            let offsets = &share.csr.offsets()[own.start..=own.end];
            let offsets = offsets.iter().map(|&offset| offset - offsets[0]).collect();
            let first = own.start;
            let (columns, values) = entries_of(own);
            return Ok(Self { first, offsets, columns, values: values.to_vec() });
        };
        let parcel = |(rank, rows): (usize, &Range<usize>)| {
            // the rows of an owner ascend by place
            let before = |bound: usize| {
                let rows_before = |&row: &u32| (owners.owner(row).1 as usize) < bound;
                rows.start + share.index[rows.clone()].partition_point(rows_before)
            };
            let asked = places(rank);
            let rows = before(asked.start)..before(asked.end);
            let mut parcel = (rows.len() as u32).to_le_bytes().to_vec();
            for row in rows.clone() {
                parcel.extend((owners.owner(share.index[row]).1 - asked.start as u32).to_le_bytes());
                parcel.extend((share.csr.degree(row) as u32).to_le_bytes());
            }
            let (columns, values) = entries_of(rows);
            pack(&columns, values, &mut parcel);
            parcel
        };
        let first = grid.rank() / line.takes.len() * line.takes.len();
        let found = line.ranks.exchange((first..).zip(&line.takes).map(parcel).collect())?;
        Self::joined(own, &found)
    }

    /// The rows at `places`, of which each parcel holds parts.
    fn joined(places: Range<usize>, parcels: &[Vec<u8>]) -> Result<Self> {
        let mut parts: Vec<Unpacked<'_>> = parcels.iter().map(|parcel| Unpacked { parcel, at: 0 }).collect();
        let (mut offsets, mut lengths) = (vec![0u64; places.len() + 1], Vec::with_capacity(parts.len()));
        for part in &mut parts {
            let rows = words(part.next(4)?).first().map_or(0, |&rows| rows as usize);
            let pairs = words(part.next(8 * rows)?);
            for pair in pairs.chunks_exact(2) {
                let length = offsets.get_mut(pair[0] as usize + 1);
                *length.ok_or_else(|| unexpected("rows of other places"))? += u64::from(pair[1]);
            }
            lengths.push(pairs);
        }
        running_sums(&mut offsets);
        let entries = *offsets.last().unwrap_or(&0) as usize;
        let (mut at, mut columns, mut values) = (offsets.clone(), vec![0u32; entries], vec![T::ZERO; entries]);
        for (part, pairs) in parts.iter_mut().zip(&lengths) {
            let held = pairs.chunks_exact(2).map(|pair| pair[1] as usize).sum();
            let (mut js, mut xs) = (vec![0u32; held], vec![T::ZERO; held]);
            part.entries(&mut js, &mut xs)?;
            let mut from = 0;
            for pair in pairs.chunks_exact(2) {
                let (at, length) = (&mut at[pair[0] as usize], pair[1] as usize);
                let to = *at as usize..*at as usize + length;
                columns[to.clone()].copy_from_slice(&js[from..from + length]);
                values[to].copy_from_slice(&xs[from..from + length]);
                (*at, from) = (*at + length as u64, from + length);
            }
        }
        sort_rows(&offsets, &mut columns, &mut values);
        Ok(Self { first: places.start, offsets, columns, values })
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The columns of all rows.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The columns of a row, ascending, and its values.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let place = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.columns[place.clone()], &self.values[place])
    }
}

/// All entries of a matrix, on rank 0. All ranks call this.
pub(crate) fn entries_to_first<T: Element>(grid: &Grid, share: &Share<T>) -> Result<Option<Vec<(u32, u32, T)>>> {
    entries_to(grid, share, &[0])
}

/// All entries of a matrix, on all ranks. All ranks call this.
pub(crate) fn entries_to_all<T: Element>(grid: &Grid, share: &Share<T>) -> Result<Vec<(u32, u32, T)>> {
    let all: Vec<usize> = (0..grid.size()).collect();
    Ok(entries_to(grid, share, &all)?.unwrap_or_default())
}

/// All entries of a matrix, on some ranks.
fn entries_to<T: Element>(grid: &Grid, share: &Share<T>, ranks: &[usize]) -> Result<Option<Vec<(u32, u32, T)>>> {
    let mut mine = Vec::new();
    mine.extend((share.csr.nnz() as u64).to_le_bytes());
    let entries: Vec<(u32, u32, T)> = share.entries().collect();
    mine.extend(entries.iter().flat_map(|entry| entry.0.to_le_bytes()));
    let (columns, values): (Vec<u32>, Vec<T>) = entries.into_iter().map(|(_, column, value)| (column, value)).unzip();
    pack(&columns, &values, &mut mine);
    let mut out = vec![Vec::new(); grid.size()];
    ranks.iter().for_each(|&rank| out[rank].clone_from(&mine));
    let found = grid.exchange(out)?;
    if !ranks.contains(&grid.rank()) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for parcel in &found {
        let mut parcel = Unpacked { parcel, at: 0 };
        let held = parcel.next(8)?.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) as usize;
        let rows = words(parcel.next(4 * held)?);
        let (mut columns, mut values) = (vec![0u32; held], vec![T::ZERO; held]);
        parcel.entries(&mut columns, &mut values)?;
        all.extend(rows.into_iter().zip(columns).zip(values).map(|((row, column), value)| (row, column, value)));
    }
    Ok(Some(all))
}

/// Rows of a matrix that a rank reads, of those that this column of ranks holds.
pub(crate) struct Reads {
    /// The number of rows that this rank reads.
    wanted: usize,
    /// For each rank of the column, the positions among the rows that this rank reads.
    asked: Vec<Vec<u32>>,
    /// For each rank of the column, the numbers of the rows here that it reads.
    given: Vec<Vec<u32>>,
}

impl Reads {
    /// Tells the other ranks which rows of a matrix of `n` rows this rank reads. They ascend. All ranks call this.
    pub fn new(grid: &Grid, n: usize, rows: &[u32]) -> Result<Self> {
        let ((height, width), owners) = (grid.shape(), grid.owners(n));
        let numbers: Vec<RowNumbers> = (0..height).map(|i| RowNumbers::of_line(grid, n, i)).collect();
        let (mut asked, mut parcels) = (vec![Vec::new(); height], vec![Vec::new(); height]);
        for (position, &row) in (0u32..).zip(rows) {
            let i = owners.owner(row).0 / width;
            asked[i].push(position);
            parcels[i].extend(numbers[i].of(row).to_le_bytes());
        }
        grid.work(0, 2 * rows.len());
        let given = grid.column().exchange(parcels)?.iter().map(|parcel| words(parcel)).collect();
        Ok(Self { wanted: rows.len(), asked, given })
    }

    /// The number of entries that all ranks read of `rows`, which this rank holds. Those that several ranks read count once for each.
    pub fn count<T: Element>(&self, rows: &Csr<T>) -> u64 {
        self.given.iter().flatten().map(|&row| rows.degree(row as usize) as u64).sum()
    }

    /// The same for each of `parts.len()` ranges of columns, which cover all.
    pub fn count_in<T: Element>(&self, rows: &Csr<T>, parts: &[Range<u32>]) -> Vec<u64> {
        let mut counts = vec![0u64; parts.len()];
        for &row in self.given.iter().flatten() {
            let mut part = 0;
            for &column in rows.row(row as usize).0 {
                while column >= parts[part].end {
                    part += 1;
                }
                counts[part] += 1;
            }
        }
        counts
    }

    /// The entries with columns in `part` of the rows that this rank reads: a row for each, and a column for each of `part`. This rank holds
    /// `rows`. All ranks call this.
    #[inline(never)]
    pub fn fetch<T: Element>(&self, grid: &Grid, rows: &Csr<T>, part: &Range<u32>) -> Result<Csr<T>> {
        let answer = |numbers: &Vec<u32>| {
            let places: Vec<Range<usize>> = numbers.iter().map(|&row| within(rows.row(row as usize).0, part)).collect();
            let mut parcel: Vec<u8> = places.iter().flat_map(|place| (place.len() as u32).to_le_bytes()).collect();
            for (place, &row) in places.into_iter().zip(numbers) {
                let (columns, values) = rows.row(row as usize);
                pack(&columns[place.clone()], &values[place], &mut parcel);
            }
            parcel
        };
        let answers: Vec<Vec<u8>> = self.given.iter().map(answer).collect();
        let sent = answers.iter().map(Vec::len).sum::<usize>() / (4 + size_of::<T>());
        let found = grid.column().exchange(answers)?;
        let mut parts: Vec<Unpacked<'_>> = found.iter().map(|parcel| Unpacked { parcel, at: 0 }).collect();
        let mut offsets = vec![0u64; self.wanted + 1];
        for (asked, part) in self.asked.iter().zip(&mut parts) {
            for (&position, length) in asked.iter().zip(words(part.next(4 * asked.len())?)) {
                offsets[position as usize + 1] = length.into();
            }
        }
        running_sums(&mut offsets);
        let entries = *offsets.last().unwrap_or(&0) as usize;
        let (mut columns, mut values) = (vec![0u32; entries], vec![T::ZERO; entries]);
        for (asked, found) in self.asked.iter().zip(&mut parts) {
            for &position in asked {
                let place = offsets[position as usize] as usize..offsets[position as usize + 1] as usize;
                found.entries(&mut columns[place.clone()], &mut values[place])?;
            }
        }
        columns.iter_mut().for_each(|column| *column -= part.start);
        grid.work(0, sent + entries);
        Ok(Csr::from_parts(self.wanted, part.len(), offsets, columns, values))
    }
}

/// The places of the columns in `part` among ascending columns.
pub(crate) fn within(columns: &[u32], part: &Range<u32>) -> Range<usize> {
    let first = columns.partition_point(|&column| column < part.start);
    first..first + columns[first..].partition_point(|&column| column < part.end)
}
