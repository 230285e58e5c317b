//! Checks of a native file's sections: checksums, and the invariants of the matrix.

use super::layout::{Layout, PART};
use crate::error::Result;
use crate::io::binary::{Array, Rows, broken};
use crate::io::vertex_names::VertexNames;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use rayon::prelude::*;
use vxm_semiring::dynamic::Kind;
use zerocopy::FromBytes;

/// The bytes of a file, to be checked.
pub(super) struct Checker<'f> {
    pub file: &'f str,
    pub bytes: &'f [u8],
    pub layout: &'f Layout,
    /// Whether the checksum of each part was compared. `None` leaves checksums out.
    pub compared: Option<&'f [AtomicBool]>,
    /// Is called with the number of bytes of each part that is done.
    pub done: &'f (dyn Fn(u64) + Sync),
}

impl<'f> Checker<'f> {
    /// Checks all sections, in parallel. Afterwards the arrays hold every invariant of a CSR matrix, and the numbers of vertices ascend.
    ///
    /// Each part is compared with its checksum and then checked, so that a file larger than memory is read once. Of several faults of
    /// sections that are checked at once the first in the file is returned.
    pub fn check(&self) -> Result<()> {
        self.check_part((0, 1))
    }

    /// The same, of part number `number` of `of` of the columns: of offsets and numbers of vertices all is checked.
    pub fn check_part(&self, (number, of): (usize, usize)) -> Result<()> {
        let parts = self.layout.parts();
        // what is said of columns relies on the offsets, so these are first
        let columns_from = (self.layout.columns.start - self.layout.sums.end) / PART;
        (0..columns_from.min(parts)).into_par_iter().map(|part| self.compare(part)).collect::<Result<()>>()?;
        if columns_from < parts {
            self.compare_now(columns_from)?;
        }
        self.check_offsets()?;
        let check = |part| {
            self.compare_now(part)?;
            self.check_columns(part)?;
            (self.done)(self.layout.part(part).len() as u64);
            Ok(())
        };
        // collected, so that the first fault is told whatever the threads did
        let cut = |k: usize| columns_from + (parts.saturating_sub(columns_from)) * k / of;
        let checked: Vec<Result<()>> = (cut(number)..cut(number + 1)).into_par_iter().map(check).collect();
        checked.into_iter().collect::<Result<()>>()?;
        self.check_labels()
    }

    fn compare(&self, part: usize) -> Result<()> {
        self.compare_now(part)?;
        (self.done)(self.layout.part(part).len() as u64);
        Ok(())
    }

    /// Compares a part with its checksum, unless it has been compared.
    pub fn compare_now(&self, part: usize) -> Result<()> {
        let Some(compared) = self.compared else { return Ok(()) };
        if compared[part].load(Relaxed) {
            return Ok(());
        }
        let (range, at) = (self.layout.part(part), self.layout.sums.start + 4 * part);
        let stated = u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.bytes[at + byte]));
        let found = crc32fast::hash(&self.bytes[range.clone()]);
        if stated != found {
            return Err(self.layout.damaged(self.file, &range, stated, found));
        }
        compared[part].store(true, Relaxed);
        Ok(())
    }

    /// The numbers of a section. Sections are aligned, and so are mapped files.
    fn numbers<T: FromBytes + zerocopy::Immutable>(&self, section: &Range<usize>) -> Result<&'f [T]> {
        let misaligned = || broken(self.file, section.start, "an aligned section", "another address");
        <[T]>::ref_from_bytes(&self.bytes[section.clone()]).map_err(|_| misaligned())
    }

    /// Checks that the offsets ascend from 0 to the number of entries.
    fn check_offsets(&self) -> Result<()> {
        let offsets: &[u64] = self.numbers(&self.layout.offsets)?;
        let ascend = || offsets.par_windows(2).with_min_len(1 << 16).all(|pair| pair[0] <= pair[1]);
        let entries = self.layout.facts.entries as u64;
        if offsets.first() == Some(&0) && offsets.last() == Some(&entries) && ascend() {
            return Ok(());
        }
        // the general check says what is wrong
        let array = |section: &Range<usize>, kind| Array::within(self.file, self.bytes, section.clone(), kind);
        let (offsets, columns) = (&self.layout.offsets, &self.layout.columns);
        let (offsets, columns) = (array(offsets, Kind::U64), array(columns, Kind::U32));
        Rows { offsets, columns, values: Vec::new(), width: self.layout.facts.columns as u64 }.check()
    }

    /// Checks the rows that begin in a part: their columns strictly ascend below the matrix' width, and off the diagonal if the file says so.
    fn check_columns(&self, part: usize) -> Result<()> {
        let (columns, part) = (&self.layout.columns, self.layout.part(part));
        let (start, end) = (part.start.max(columns.start), part.end.min(columns.end));
        if start >= end {
            return Ok(());
        }
        let offsets: &[u64] = self.numbers(&self.layout.offsets)?;
        let (starts, width) = (&offsets[..offsets.len() - 1], self.layout.facts.columns);
        let first_at = |byte: usize| starts.partition_point(|&start| start < ((byte - columns.start) / 4) as u64);
        let columns: &[u32] = self.numbers(columns)?;
        for row in first_at(start)..first_at(end) {
            let columns = &columns[offsets[row] as usize..offsets[row + 1] as usize];
            let ascend = columns.windows(2).fold(true, |fine, pair| fine & (pair[0] < pair[1]));
            let inside = columns.last().is_none_or(|&last| (last as usize) < width);
            let on_diagonal = || columns.iter().fold(false, |found, &column| found | (column as usize == row));
            if !ascend || !inside || (self.layout.facts.loopless && on_diagonal()) {
                return Err(self.wrong_column(row, offsets[row] as usize, columns));
            }
        }
        Ok(())
    }

    /// The error for the first wrong column of a row.
    fn wrong_column(&self, row: usize, start: usize, columns: &[u32]) -> crate::Error {
        let (width, loopless) = (self.layout.facts.columns, self.layout.facts.loopless);
        let wrong = |place: usize| {
            let column = columns[place] as usize;
            column >= width || (place > 0 && columns[place] <= columns[place - 1]) || (loopless && column == row)
        };
        let place = (0..columns.len()).find(|&place| wrong(place)).unwrap_or(0);
        let least = place.checked_sub(1).map_or(0, |before| u64::from(columns[before]) + 1);
        let off = if loopless { format!(" other than {row}") } else { String::new() };
        let expected = format!("a column of row {row} from {least} to {}{off}", width.saturating_sub(1));
        let at = self.layout.columns.start + 4 * (start + place);
        broken(self.file, at, &expected, &columns[place].to_string())
    }

    /// The names of vertices, which are checked: they strictly ascend.
    pub fn names(&self) -> Result<VertexNames> {
        let labels = self.layout.labels.clone();
        let found = VertexNames::from_bytes(&self.bytes[labels.clone()], self.layout.facts.rows);
        found.map_err(|(at, expected)| broken(self.file, labels.start + at, &expected, "something else"))
    }

    /// Checks that the numbers of vertices strictly ascend.
    fn check_labels(&self) -> Result<()> {
        if self.layout.facts.named.is_some() {
            return self.names().map(drop);
        }
        let labels: &[u64] = self.numbers(&self.layout.labels)?;
        match labels.par_windows(2).position_first(|pair| pair[0] >= pair[1]) {
            None => Ok(()),
            Some(place) => {
                let expected = format!("a vertex number above {}", labels[place]);
                let at = self.layout.labels.start + 8 * (place + 1);
                Err(broken(self.file, at, &expected, &labels[place + 1].to_string()))
            }
        }
    }
}
