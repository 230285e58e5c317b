//! Builds undirected graphs that are larger than the memory: edges are dealt out to files by their rows, and the entries of one file at a
//! time are sorted.
//!
//! Each edge is written twice, once for each of its ends, in 8 bytes. The files take 16 bytes an edge of the folder for temporary files
//! (`TMPDIR`), and are freed one after another while the columns, 8 bytes an edge, are written to another. That file is then mapped, so the
//! graph takes no memory but its row offsets.

use crate::error::{Error, Result};
use crate::formats::buffer::Buffer;
use crate::formats::{Cleaned, Csr, Directions};
use crate::io::{Progress, Unit};
use crate::memory;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use memmap2::Mmap;
use rayon::prelude::*;
use std::env::temp_dir;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::IntoBytes;

/// The most files that edges are dealt out to: a process may have some hundred files open.
const FILES: u64 = 256;
/// Records that a file's buffer holds before they are written.
const BUFFERED: usize = 1 << 13;
/// Records that are read at a time.
const READ: usize = 1 << 17;
/// Bytes that are left for what else runs, such as the text of the input and threads.
const SPARE: u64 = 32 << 20;

/// A graph that is being built. Threads give it edges at once.
pub(super) struct OnDisk {
    /// What is read, for messages.
    name: String,
    vertices: usize,
    directions: Directions,
    /// A file has the entries of 2^`bits` consecutive rows.
    bits: u32,
    parts: Vec<Mutex<Part>>,
    /// The most records that are sorted at a time.
    room: usize,
    edges: AtomicU64,
    loops: AtomicU64,
}

/// The entries of some consecutive rows, as records: from high to low bits the row within the part, the column, and whether the edge was
/// listed from the column to the row.
struct Part {
    file: File,
    buffer: Vec<u64>,
    written: u64,
}

impl Part {
    fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(Error::io(place()))?;
        Ok(Self { file, buffer: Vec::with_capacity(BUFFERED), written: 0 })
    }

    fn push(&mut self, records: &[u64]) -> io::Result<()> {
        if self.buffer.len() + records.len() > BUFFERED {
            self.flush()?;
        }
        if records.len() > BUFFERED {
            self.written += records.len() as u64;
            return self.file.write_all(records.as_bytes());
        }
        self.buffer.extend_from_slice(records);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(self.buffer.as_bytes())?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Calls `each` with all records, some at a time.
    fn read(&mut self, mut each: impl FnMut(&[u64])) -> io::Result<()> {
        self.file.rewind()?;
        let (mut left, mut records) = (self.written as usize, vec![0u64; READ.min(self.written as usize)]);
        while left > 0 {
            let some = left.min(READ);
            self.file.read_exact(records[..some].as_mut_bytes())?;
            each(&records[..some]);
            left -= some;
        }
        Ok(())
    }
}

/// Where temporary files lie, for messages.
fn place() -> String {
    format!("a temporary file in {}", temp_dir().display())
}

impl OnDisk {
    /// A graph of about `edges` edges, to be built within the process' memory limit.
    ///
    /// # Errors
    /// [`Error::Budget`]: the limit leaves no room for row offsets and buffers. [`Error::Io`].
    pub fn new(name: &str, vertices: u64, edges: u64, directions: Directions, limit: u64) -> Result<Self> {
        let left = memory::available().min(limit);
        let records = 2 * edges.max(1);
        let fixed = 8 * (vertices + 1) + SPARE;
        // an eighth of what is left: parts differ in size, and a small one is sorted in one go
        let wanted = (8 * 8 * records).div_ceil(left.saturating_sub(fixed).max(1)).clamp(2, FILES);
        // a row within a part takes at most 31 bits of a record
        let bits = (vertices.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros()).min(31);
        let count = vertices.div_ceil(1 << bits);
        let buffers = count * BUFFERED as u64 * 8;
        let room = left.saturating_sub(fixed + buffers) / 16;
        if room < READ as u64 {
            let (needed, place) = (fixed + buffers + 16 * READ as u64, format!("{name}: building on disk"));
            return Err(Error::Budget { place, needed: needed.into(), budget: left });
        }
        tracing::debug!(name, vertices, edges, files = count, room, "built on disk");
        let parts = (0..count).map(|_| Part::new().map(Mutex::new)).collect::<Result<_>>()?;
        let (edges, loops) = (AtomicU64::new(0), AtomicU64::new(0));
        let (vertices, room) = (vertices as usize, room as usize);
        Ok(Self { name: name.to_owned(), vertices, directions, bits, parts, room, edges, loops })
    }

    /// A graph of about `edges` edges, if the process' memory is limited and `needed` bytes exceed what is left; otherwise `None`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn if_needed(
        name: &str,
        vertices: u64,
        edges: u64,
        directions: Directions,
        needed: u128,
    ) -> Result<Option<Self>> {
        match memory::limit().filter(|_| needed > memory::available().into()) {
            Some(limit) => Self::new(name, vertices, edges, directions, limit).map(Some),
            None => Ok(None),
        }
    }

    /// Takes edges. An edge with an end that is no vertex of the graph is an error.
    pub fn take(&self, edges: &[(u32, u32)]) -> Result<()> {
        let outside = |&&(from, to): &&(u32, u32)| from.max(to) as usize >= self.vertices;
        if let Some((from, to)) = edges.iter().find(outside) {
            let (name, vertices) = (&self.name, self.vertices);
            return Err(Error::invalid(format!(
                "{name}: the edge ({from}, {to}) lies outside a graph of {vertices} vertices"
            )));
        }
        let mut ends = vec![0usize; self.parts.len() + 1];
        let part = |row: u32| (u64::from(row) >> self.bits) as usize;
        let real = || edges.iter().filter(|(from, to)| from != to);
        real().for_each(|&(from, to)| {
            ends[part(from) + 1] += 1;
            ends[part(to) + 1] += 1;
        });
        let mut sum = 0;
        ends.iter_mut().for_each(|end| {
            sum += *end;
            *end = sum;
        });
        let mut records = vec![0u64; sum];
        let low = |row: u32| u64::from(row) & ((1 << self.bits) - 1);
        let mut put = |row: u32, column: u32, backward: u64| {
            let end = &mut ends[part(row)];
            records[*end] = low(row) << 33 | u64::from(column) << 1 | backward;
            *end += 1;
        };
        real().for_each(|&(from, to)| {
            put(from, to, 0);
            put(to, from, 1);
        });
        let mut start = 0;
        for (part, &end) in self.parts.iter().zip(&ends) {
            if end > start {
                let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                part.push(&records[start..end]).map_err(Error::io(place()))?;
            }
            start = end;
        }
        self.edges.fetch_add(edges.len() as u64, Relaxed);
        self.loops.fetch_add((edges.len() - records.len() / 2) as u64, Relaxed);
        Ok(())
    }

    /// Sorts the entries, and returns the graph. Its columns lie in a mapped file without a name.
    pub fn finish(self, progress: &dyn Progress) -> Result<Cleaned> {
        let Self { name, vertices, directions, bits, parts, room, edges, loops } = self;
        let (entries, loops) = (edges.into_inner(), loops.into_inner());
        progress.begin("sort", Unit::Items, 2 * (entries - loops));
        let mut out = Columns::new(vertices)?;
        for (number, part) in parts.into_iter().enumerate() {
            let mut part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            part.flush().map_err(Error::io(place()))?;
            part.buffer = Vec::new();
            let rows = (vertices - (number << bits)).min(1 << bits);
            for range in ranges(&mut part, rows, room, &name)? {
                out.take(&mut part, range)?;
            }
            progress.advance(part.written);
        }
        let (distinct, pairs) = (out.distinct / 2, out.ends.last().copied().unwrap_or(0) / 2);
        let matters = directions == Directions::Matter;
        let kept = if matters { distinct } else { pairs };
        Ok(Cleaned {
            graph: out.into_graph()?,
            entries,
            loops,
            duplicates: entries - loops - kept,
            one_way: matters.then_some(2 * pairs - distinct),
        })
    }
}

/// Cuts the `rows` rows of a part into ranges of at most `room` records each, and tells how many each has.
fn ranges(part: &mut Part, rows: usize, room: usize, name: &str) -> Result<Vec<(Range<usize>, usize)>> {
    if part.written as usize <= room {
        return Ok(vec![(0..rows, part.written as usize)]);
    }
    let mut counts = vec![0u32; rows];
    part.read(|records| records.iter().for_each(|record| counts[(record >> 33) as usize] += 1))
        .map_err(Error::io(place()))?;
    let (mut ranges, mut start, mut held) = (Vec::new(), 0, 0);
    for (row, &count) in counts.iter().enumerate() {
        let count = count as usize;
        if count > room {
            let place = format!("{name}: building on disk a row of {count} entries");
            return Err(Error::Budget {
                place,
                needed: 16 * count as u128 + u128::from(SPARE),
                budget: 16 * room as u64,
            });
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

/// The rows that are done: where they end, and a file of their columns.
struct Columns {
    ends: Vec<u64>,
    file: File,
    /// The number of distinct records.
    distinct: u64,
}

impl Columns {
    fn new(vertices: usize) -> Result<Self> {
        let mut ends = Vec::with_capacity(vertices + 1);
        ends.push(0);
        Ok(Self { ends, file: tempfile::tempfile().map_err(Error::io(place()))?, distinct: 0 })
    }

    /// Adds the rows `rows` of `part`, which have `count` records.
    fn take(&mut self, part: &mut Part, (rows, count): (Range<usize>, usize)) -> Result<()> {
        let mut records = Vec::with_capacity(count);
        let inside = |record: &&u64| rows.contains(&((**record >> 33) as usize));
        part.read(|some| records.extend(some.iter().filter(inside))).map_err(Error::io(place()))?;
        records.par_sort_unstable();
        records.dedup();
        self.distinct += records.len() as u64;
        // the two directions of an edge are one entry
        records.dedup_by_key(|record| *record >> 1);
        let (base, mut at) = (self.ends.last().copied().unwrap_or(0), 0);
        for row in rows {
            at += records[at..].iter().take_while(|record: &&u64| (**record >> 33) as usize == row).count();
            self.ends.push(base + at as u64);
        }
        let columns: Vec<u32> = records.into_iter().map(|record| (record >> 1) as u32).collect();
        self.file.write_all(columns.as_bytes()).map_err(Error::io(place()))
    }

    fn into_graph(mut self) -> Result<Csr> {
        let (vertices, entries) = (self.ends.len() - 1, self.ends.last().copied().unwrap_or(0) as usize);
        self.file.flush().map_err(Error::io(place()))?;
        let columns = if entries == 0 {
            Vec::new().into()
        } else {
            // SAFETY: the file has no name, and is not written to again
            let map = Arc::new(unsafe { Mmap::map(&self.file) }.map_err(Error::io(place()))?);
            memory::note(&map);
            let columns = Buffer::mapped(&map, 0..4 * entries);
            columns.ok_or_else(|| Error::invalid(format!("{}: expected {entries} columns", place())))?
        };
        Ok(Csr::from_buffers((vertices, vertices), self.ends.into(), columns, vec![(); entries].into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::undirected;
    use proptest::prelude::*;

    /// Builds the graph of `edges`, with `room` records at a time if that is less than the memory allows.
    fn built(vertices: usize, edges: &[Vec<(u32, u32)>], directions: Directions, room: usize) -> Result<Cleaned> {
        let count = edges.iter().map(|list| list.len() as u64).sum();
        let mut builder = OnDisk::new("test", vertices as u64, count, directions, 1 << 30)?;
        builder.room = builder.room.min(room);
        edges.par_iter().try_for_each(|list| builder.take(list))?;
        builder.finish(&())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_built_on_disk_is_what_is_built_in_memory(
            vertices in 1u32..200,
            raw in prop::collection::vec((any::<u32>(), any::<u32>()), 0..400),
            lists in 1usize..5,
            room in 40usize..500,
        ) {
            let edges: Vec<_> = raw.iter().map(|&(i, j)| (i % vertices, j % vertices)).collect();
            let split: Vec<_> = edges.chunks(edges.len() / lists + 1).map(<[_]>::to_vec).collect();
            for directions in [Directions::Matter, Directions::Ignored] {
                let expected = undirected(vertices as usize, split.clone(), directions).unwrap();
                match built(vertices as usize, &split, directions, room) {
                    Ok(found) => prop_assert_eq!(found, expected),
                    // a row with more entries than there is room for
                    Err(error) => prop_assert!(error.to_string().contains("a row of "), "{}", error),
                }
            }
        }
    }

    #[test]
    fn long_lists_pass_the_buffers() {
        let edges: Vec<_> = (0..60_000u64).map(|k| ((k * 7919 % 5000) as u32, (k * 104_729 % 5000) as u32)).collect();
        let expected = undirected(5000, vec![edges.clone()], Directions::Ignored).unwrap();
        assert_eq!(built(5000, &[edges], Directions::Ignored, 20_000).unwrap(), expected);
        let none = built(7, &[], Directions::Matter, 100).unwrap();
        assert_eq!((none.graph.nrows(), none.graph.nnz(), none.one_way), (7, 0, Some(0)));
    }

    #[test]
    fn too_little_memory_is_told_before() {
        let error = OnDisk::new("g", 1 << 30, 1 << 34, Directions::Ignored, 1 << 30).err().unwrap().to_string();
        assert!(error.starts_with("g: building on disk: needs a memory budget of at least 8.0 GiB, found "), "{error}");
    }
}
