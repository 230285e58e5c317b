//! Builds graphs and matrices that are larger than the memory: entries are dealt out to files by their rows, and those of one file at a
//! time are sorted.
//!
//! A record has 8 bytes, and 8 more for a value, or 16 for one of 16 bytes. An edge of an undirected graph is written twice, once for each of
//! its ends. The files lie in the folder for temporary files (`TMPDIR`). They are freed one after another while columns and values are written to others, which are then
//! mapped. So the result takes no memory but its row offsets, and values that are structs or
//! 16-bit floats.

mod arrays;
mod part;

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Csr, Directions, Duplicates, First};
use crate::io::target::{Outline, Target};
use crate::io::temporary::place;
use crate::io::value::Value;
use crate::io::{Numbering, Progress, Report, Unit};
use crate::memory;
use crate::stop;
use arrays::{Arrays, SPARE, ranges};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use part::{BUFFERED, LEAST_BUFFERED, Part, READ, record};
use std::sync::{Mutex, PoisonError};

/// The most files that entries are dealt out to: a process may have some hundred files open.
const FILES: u64 = 256;

/// What is being built. Threads give it entries at once.
pub(super) struct OnDisk<'p, V: Value = ()> {
    /// What is read, for messages.
    name: String,
    rows: usize,
    columns: usize,
    target: Target,
    /// A file has the entries of 2^`bits` consecutive rows.
    bits: u32,
    parts: Vec<Mutex<Part>>,
    /// The most records that are sorted at a time.
    room: usize,
    /// The limit, and what of it is taken by other things than records that are sorted.
    limit: (u64, u64),
    entries: AtomicU64,
    loops: AtomicU64,
    progress: &'p dyn Progress,
    value: PhantomData<fn() -> V>,
}

/// The words of an entry's record.
const fn width<V>() -> usize {
    1 + size_of::<V>().div_ceil(8)
}

impl<'p, V: Value> OnDisk<'p, V> {
    /// What `outline` says, to be built within a limit of the process' memory.
    ///
    /// # Errors
    /// [`Error::Budget`]: the limit leaves no room for row offsets and buffers. [`Error::Io`].
    pub fn new(name: &str, outline: Outline, limit: u64, progress: &'p dyn Progress) -> Result<Self> {
        let Outline { rows, columns, entries, target } = outline;
        let (left, size) = (memory::available().min(limit), 8 * width::<V>() as u64);
        // in terms of the limit, of which some is taken
        let short = |needed: u64, place: String| {
            let needed = needed.saturating_add(limit.saturating_sub(left)).into();
            Err(Error::Budget { place, needed, budget: limit })
        };
        let records = u128::from(target.records()) * u128::from(entries.max(1));
        let fixed = 8 * (rows + 1) + SPARE;
        // an eighth of what is left: parts differ in size, and a small one is sorted in one go
        let wanted = (8 * u128::from(size) * records).div_ceil(u128::from(left.saturating_sub(fixed).max(1)));
        let wanted = wanted.clamp(2, FILES.into()) as u64;
        // a row within a part takes at most 31 bits of a record
        let bits = (rows.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros()).min(31);
        let count = rows.div_ceil(1 << bits);
        // buffers take a quarter, if that isn't too little
        let buffered = left.saturating_sub(fixed) / (4 * size * count.max(1));
        let buffered = (buffered as usize).clamp(LEAST_BUFFERED, BUFFERED);
        let buffers = count * buffered as u64 * size;
        let room = left.saturating_sub(fixed + buffers) / (2 * size);
        if room < READ as u64 {
            return short(fixed + 3 * size * READ as u64, format!("{name}: building on disk"));
        }
        tracing::debug!(name, rows, entries, files = count, room, "built on disk");
        let parts = (0..count).map(|_| Part::new(width::<V>(), buffered).map(Mutex::new)).collect::<Result<_>>()?;
        let (entries, loops) = (AtomicU64::new(0), AtomicU64::new(0));
        // a greater limit has no more files, with no larger buffers than these
        let taken = limit.saturating_sub(left) + fixed + count * BUFFERED as u64 * size;
        let (name, rows, columns, room) = (name.to_owned(), rows as usize, columns as usize, room as usize);
        let limit = (limit, taken);
        Ok(Self { name, rows, columns, target, bits, parts, room, limit, entries, loops, progress, value: PhantomData })
    }

    /// The same if the process' memory is limited, and what building in memory takes exceeds what is left; otherwise `None`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn if_needed(name: &str, outline: Outline, progress: &'p dyn Progress) -> Result<Option<Self>> {
        outline
            .exceeded::<V>(size_of::<(u32, u32, V)>())
            .map(|limit| Self::new(name, outline, limit, progress))
            .transpose()
    }

    /// The number of entries taken so far.
    pub fn count(&self) -> u64 {
        self.entries.load(Relaxed)
    }

    /// Calls `put` with the row, the lower bits of the key and the value of each record of an entry.
    #[inline]
    fn records(&self, entry: (u32, u32, V), mut put: impl FnMut(u32, u64, V)) -> Result<()> {
        let (row, column, value) = entry;
        let key = |column: u32| u64::from(column) << 1;
        if row == column && !matches!(self.target, Target::Matrix(_)) {
            return Ok(());
        }
        put(row, key(column), value);
        match self.target {
            Target::Graph(_) => put(column, key(row) | 1, value),
            _ => {
                if let Some((row, column, value)) = self.target.mirrored(&self.name, entry)? {
                    put(row, key(column), value);
                }
            }
        }
        Ok(())
    }

    /// Takes entries. One that lies outside the matrix is an error.
    pub fn take(&self, entries: &[(u32, u32, V)]) -> Result<()> {
        let (rows, columns, name) = (self.rows, self.columns, &self.name);
        let outside = |&&(row, column, _): &&(u32, u32, V)| row as usize >= rows || column as usize >= columns;
        if let Some((row, column, _)) = entries.iter().find(outside) {
            return Err(Error::invalid(match self.target {
                Target::Matrix(_) => {
                    format!("{name}: the entry ({row}, {column}) lies outside a {rows} x {columns} matrix")
                }
                _ => format!("{name}: the edge ({row}, {column}) lies outside a graph of {rows} vertices"),
            }));
        }
        let mut ends = vec![0usize; self.parts.len() + 1];
        let part = |row: u32| (u64::from(row) >> self.bits) as usize;
        for &entry in entries {
            self.records(entry, |row, _, _| ends[part(row) + 1] += 1)?;
        }
        let mut sum = 0;
        ends.iter_mut().for_each(|end| {
            sum += *end;
            *end = sum;
        });
        let width = width::<V>();
        let mut words = vec![0; width * sum];
        let low = |row: u32| u64::from(row) & ((1 << self.bits) - 1);
        for &entry in entries {
            self.records(entry, |row, key, value| {
                let end = &mut ends[part(row)];
                let all: [u64; 3] = record(low(row) << 33 | key, value.wide_bits());
                words[width * *end..width * (*end + 1)].copy_from_slice(&all[..width]);
                *end += 1;
            })?;
        }
        let mut start = 0;
        for (part, &end) in self.parts.iter().zip(&ends) {
            if end > start {
                let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                part.push(&words[width * start..width * end]).map_err(Error::io(place()))?;
            }
            start = end;
        }
        self.entries.fetch_add(entries.len() as u64, Relaxed);
        let loops = entries.iter().filter(|entry| entry.0 == entry.1).count();
        self.loops.fetch_add(loops as u64, Relaxed);
        Ok(())
    }

    /// Sorts the entries, and returns the matrix and what was changed. Columns and values lie in mapped files without names. Entries with the
    /// same row and column come in any order, so `duplicates` must be commutative. `numbering` says what the file calls rows and
    /// columns.
    ///
    /// # Errors
    /// [`Error::Invalid`]: `duplicates` refuses two entries. [`Error::Budget`]: a row is too long. [`Error::Io`].
    pub fn finish(self, duplicates: impl Duplicates<V>, numbering: &Numbering) -> Result<(Csr<V>, Report)> {
        let built = self.sorted(duplicates, numbering)?;
        let duplicates = built.records - built.csr.nnz() as u64;
        Ok((built.csr, Report { entries: built.entries, loops: built.loops, duplicates, ..Report::default() }))
    }

    fn sorted(self, duplicates: impl Duplicates<V>, numbering: &Numbering) -> Result<Sorted<V>> {
        let Self { name, rows: all, columns, bits, parts, room, limit, progress, target, .. } = self;
        let (entries, loops) = (self.entries.into_inner(), self.loops.into_inner());
        let loops = if matches!(target, Target::Matrix(_)) { 0 } else { loops };
        progress.begin("sort", Unit::Items, target.records() * (entries - loops));
        let (mut out, mut records) = (Arrays::new(all)?, 0);
        for (number, part) in parts.into_iter().enumerate() {
            let mut part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            part.end().map_err(Error::io(place()))?;
            let base = number << bits;
            for range in ranges(&mut part, (all - base).min(1 << bits), (room, limit), &name)? {
                let repeated = |row: usize, column: u64| {
                    let (row, column) = (numbering.label((base + row) as u32), numbering.label(column as u32));
                    Error::invalid(format!("{name}: two entries at row {row}, column {column}"))
                };
                out.take(&mut part, range, &duplicates, &repeated)?;
            }
            progress.advance(part.written);
            stop::check()?;
            records += part.written;
        }
        let distinct = out.distinct;
        Ok(Sorted { csr: out.into_csr(columns)?, entries, loops, records, distinct })
    }
}

impl OnDisk<'_, ()> {
    /// Takes edges, which generators draw.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    #[cfg(any(feature = "generators", test))]
    pub fn take_edges(&self, edges: Vec<(u32, u32)>) -> Result<()> {
        // reuses the allocation: an entry without a value has the size of its row and column
        self.take(&edges.into_iter().map(|(from, to)| (from, to, ())).collect::<Vec<_>>())
    }

    /// Sorts the edges of an undirected graph; see [`finish`](Self::finish).
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_graph(self) -> Result<Cleaned> {
        let matters = self.target.directions() == Directions::Matter;
        let Sorted { csr, entries, loops, distinct, .. } = self.sorted(First, &Numbering::From(0))?;
        let (distinct, pairs) = (distinct / 2, csr.nnz() as u64 / 2);
        let kept = if matters { distinct } else { pairs };
        let one_way = matters.then_some(2 * pairs - distinct);
        Ok(Cleaned { graph: csr, entries, loops, duplicates: entries - loops - kept, one_way })
    }
}

/// A matrix, the numbers of the entries and loops that it was made of, and those of its records, with and without repeated ones.
struct Sorted<V: Value> {
    csr: Csr<V>,
    entries: u64,
    loops: u64,
    records: u64,
    distinct: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::bytes::Two;
    use crate::formats::{Coo, Refuse, undirected};
    use crate::io::listed::Least;
    use crate::io::target::Mirror;
    use proptest::prelude::*;
    use rayon::prelude::*;

    /// Builds the graph of `edges`, with `room` records at a time if that is less than the memory allows.
    fn built(vertices: usize, edges: &[Vec<(u32, u32)>], directions: Directions, room: usize) -> Result<Cleaned> {
        let count = edges.iter().map(|list| list.len() as u64).sum();
        let outline = Outline::graph(vertices as u64, count, Target::Graph(directions));
        let mut builder = OnDisk::new("test", outline, 1 << 30, &())?;
        builder.room = builder.room.min(room);
        edges.par_iter().try_for_each(|list| builder.take_edges(list.clone()))?;
        builder.finish_graph()
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn matrices_and_directed_graphs_are_what_their_triples_are(
            (rows, columns) in (1u32..120, 1u32..120),
            raw in prop::collection::vec((any::<u32>(), any::<u32>(), -9i32..9), 0..300),
            mirror in prop::sample::select(vec![Mirror::None, Mirror::Same, Mirror::Negated]),
            (graph, room) in (any::<bool>(), 40usize..500),
        ) {
            let columns = if graph || mirror != Mirror::None { rows } else { columns };
            let target = if graph { Target::Digraph(mirror) } else { Target::Matrix(mirror) };
            let entries: Vec<_> = raw.iter().map(|&(i, j, w)| (i % rows, j % columns, w)).collect();
            let outline = Outline { rows: rows.into(), columns: columns.into(), entries: 300, target };
            let kept = |entry: &&(u32, u32, i32)| !graph || entry.0 != entry.1;
            let both = |entry| [Some(entry), target.mirrored("test", entry).unwrap()];
            let triples: Vec<_> = entries.iter().filter(kept).copied().flat_map(both).flatten().collect();
            let expected = Coo::from_triples(rows as usize, columns as usize, triples.iter().copied()).unwrap();
            let built = || -> Result<OnDisk<'static, i32>> {
                let mut builder = OnDisk::new("test", outline, 1 << 30, &())?;
                builder.room = builder.room.min(room);
                entries.chunks(7).try_for_each(|some| builder.take(some))?;
                Ok(builder)
            };
            match built().unwrap().finish(Least, &Numbering::From(1)) {
                Ok((csr, report)) => {
                    prop_assert_eq!(&csr, &expected.to_csr(Least).unwrap());
                    let loops = entries.len() - entries.iter().filter(kept).count();
                    let changed = [report.entries, report.loops, report.duplicates].map(|count| count as usize);
                    prop_assert_eq!(changed, [entries.len(), loops, triples.len() - csr.nnz()]);
                }
                // a row with more entries than there is room for
                Err(error) => prop_assert!(error.to_string().contains("a row of "), "{}", error),
            }
            // the first place that is listed twice is told
            let told = |result: Result<Csr<i32>>| result.map_err(|error| error.to_string().replace("Coo: ", "test: "));
            let expected = told(expected.to_csr(Refuse));
            let found = told(built().unwrap().finish(Refuse, &Numbering::From(0)).map(|(csr, _)| csr));
            let long = found.as_ref().is_err_and(|error| error.contains("a row of "));
            prop_assert!(found == expected || long, "{:?}, expected {:?}", found, expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn values_of_sixteen_bytes_are_kept(
            (rows, columns) in (1u32..90, 1u32..90),
            raw in prop::collection::vec((any::<u32>(), any::<u32>(), any::<(u64, u64)>()), 0..300),
            room in 300usize..500,
        ) {
            let entry = |&(i, j, (low, high)): &(u32, u32, (u64, u64))| (i % rows, j % columns, Two { low, high });
            let triples: Vec<_> = raw.iter().map(entry).collect();
            let outline = Outline { rows: rows.into(), columns: columns.into(), entries: 300, target: Target::MATRIX };
            let mut builder = OnDisk::new("test", outline, 1 << 30, &()).unwrap();
            builder.room = builder.room.min(room);
            triples.chunks(7).for_each(|some| builder.take(some).unwrap());
            let expected = Coo::from_triples(rows as usize, columns as usize, triples).unwrap();
            let (csr, _) = builder.finish(Least, &Numbering::From(0)).unwrap();
            prop_assert_eq!(csr, expected.to_csr(Least).unwrap());
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
        let vast = Outline::graph(1 << 30, 1 << 34, Target::Graph(Directions::Ignored));
        let error = OnDisk::<()>::new("g", vast, 1 << 30, &()).err().unwrap().to_string();
        assert!(error.starts_with("g: building on disk: needs a memory budget of at least 8.1 GiB, found "), "{error}");
    }
}
