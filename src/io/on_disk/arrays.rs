//! Sorts the records of a file, and writes the arrays of a matrix.

use crate::error::{Error, Result};
use crate::formats::buffer::Buffer;
use crate::formats::{Csr, Duplicates};
use crate::io::on_disk::part::{Part, Record, bits, record, row_of};
use crate::io::temporary::{self, mapped, place};
use crate::io::value::{Value, bytes_of, is_plain};
use crate::memory;
use core::marker::PhantomData;
use core::ops::Range;
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use zerocopy::IntoBytes;

/// Bytes that are left for what else runs, such as the text of the input and threads.
pub(super) const SPARE: u64 = 32 << 20;

/// Cuts the `rows` rows of a part into ranges of at most `room` records each, and tells how many each has.
pub(super) fn ranges(
    part: &mut Part,
    rows: usize,
    (room, (limit, taken)): (usize, (u64, u64)),
    name: &str,
) -> Result<Vec<(Range<usize>, usize)>> {
    if part.written as usize <= room {
        return Ok(vec![(0..rows, part.written as usize)]);
    }
    let (mut counts, width) = (vec![0u32; rows], part.width());
    part.read(|words| words.chunks_exact(width).for_each(|record| counts[row_of(record[0])] += 1))
        .map_err(Error::io(place()))?;
    let (mut ranges, mut start, mut held) = (Vec::new(), 0, 0);
    for (row, &count) in counts.iter().enumerate() {
        let count = count as usize;
        if count > room {
            let place = format!("{name}: building on disk a row of {count} entries");
            let records = (2 * 8 * width * count) as u64;
            return Err(Error::Budget { place, needed: (taken + records).into(), budget: limit });
        }
        if held + count > room {
            ranges.push((start..row, held));
            (start, held) = (row, 0);
        }
        held += count;
    }
    ranges.push((start..rows, held));
    Ok(ranges)
}

/// The rows that are done: where they end, and files of their columns and values.
pub(super) struct Arrays<V> {
    ends: Vec<u64>,
    columns: File,
    /// `None` if entries have no values.
    values: Option<File>,
    /// The number of distinct records.
    pub distinct: u64,
    element: PhantomData<V>,
}

impl<V: Value> Arrays<V> {
    pub fn new(rows: usize) -> Result<Self> {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let values = (size_of::<V>() > 0).then(temporary::file).transpose()?;
        Ok(Self { ends, columns: temporary::file()?, values, distinct: 0, element: PhantomData })
    }

    /// Adds the rows `rows` of `part`, which have `count` records. `repeated` is the error for two entries in a row of the part and a column.
    pub fn take(
        &mut self,
        part: &mut Part,
        range: (Range<usize>, usize),
        duplicates: &impl Duplicates<V>,
        repeated: &dyn Fn(usize, u64) -> Error,
    ) -> Result<()> {
        match part.width() {
            1 => self.take_records::<1>(part, range, duplicates, repeated),
            2 => self.take_records::<2>(part, range, duplicates, repeated),
            _ => self.take_records::<3>(part, range, duplicates, repeated),
        }
    }

    /// The same of records of `N` words.
    fn take_records<const N: usize>(
        &mut self,
        part: &mut Part,
        (rows, count): (Range<usize>, usize),
        duplicates: &impl Duplicates<V>,
        repeated: &dyn Fn(usize, u64) -> Error,
    ) -> Result<()> {
        let mut records: Vec<Record<N>> = Vec::with_capacity(count);
        let inside = |record: &&Record<N>| rows.contains(&row_of(record[0]));
        part.read(|words| records.extend(words.as_chunks().0.iter().filter(inside))).map_err(Error::io(place()))?;
        records.par_sort_unstable();
        let mut refused = None;
        records.dedup_by(|later, earlier| {
            if later[0] != earlier[0] {
                return false;
            }
            match duplicates.merge(V::from_wide_bits(bits(earlier)), V::from_wide_bits(bits(later))) {
                Some(value) => *earlier = record(earlier[0], value.wide_bits()),
                None => refused = refused.or(Some(later[0])),
            }
            true
        });
        if let Some(key) = refused {
            return Err(repeated(row_of(key), key >> 1 & u64::from(u32::MAX)));
        }
        self.distinct += records.len() as u64;
        // the two directions of an undirected edge are one entry
        records.dedup_by_key(|record| record[0] >> 1);
        let (base, mut at) = (self.ends.last().copied().unwrap_or(0), 0);
        for row in rows {
            at += records[at..].iter().take_while(|record| row_of(record[0]) == row).count();
            self.ends.push(base + at as u64);
        }
        let columns: Vec<u32> = records.iter().map(|record| (record[0] >> 1) as u32).collect();
        self.columns.write_all(columns.as_bytes()).map_err(Error::io(place()))?;
        drop(columns);
        if let Some(file) = &mut self.values {
            let values: Vec<V> = records.iter().map(|record| V::from_wide_bits(bits(record))).collect();
            file.write_all(&bytes_of(&values.into())).map_err(Error::io(place()))?;
        }
        Ok(())
    }

    pub fn into_csr(self, ncols: usize) -> Result<Csr<V>> {
        let (rows, entries) = (self.ends.len() - 1, self.ends.last().copied().unwrap_or(0) as usize);
        let wrong = || Error::invalid(format!("{}: expected {entries} entries", place()));
        let columns = match entries {
            0 => Vec::new().into(),
            _ => Buffer::mapped(&mapped(self.columns)?, 0..4 * entries).ok_or_else(wrong)?,
        };
        let values = match self.values.filter(|_| entries > 0) {
            Some(file) => {
                let bytes = size_of::<V>() * entries;
                if !is_plain::<V>() {
                    memory::require(bytes as u128, place)?;
                }
                V::mapped(&mapped(file)?, 0..bytes, entries).ok_or_else(wrong)?
            }
            None => vec![V::ZERO; entries].into(),
        };
        Ok(Csr::from_buffers((rows, ncols), self.ends.into(), columns, values))
    }
}
