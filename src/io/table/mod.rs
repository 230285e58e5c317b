//! Reads edge lists of tables: files of Parquet, and of Arrow (Feather, version 2). Each row is an edge, as each line of an edge list is.
//!
//! The columns with its ends are found by their names, or the caller names them. They hold integers, or text. Integers are renumbered as in an
//! edge list, text as in one with names. A column `weight` holds weights, if it holds numbers.

mod arrow;
mod columns;
mod parquet;
mod values;

use crate::error::{Error, Result};
use crate::formats::Refuse;
use crate::io::entries::{Entries, Lists};
use crate::io::listed::{Listed, renumbered};
use crate::io::loaded::{Loaded, Numbering};
use crate::io::met::Met;
use crate::io::names::Survey;
use crate::io::on_disk::OnDisk;
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::value::Value;
use crate::io::vertex_names::told;
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, Progress, Unit, magic};
use crate::memory;
use crate::stop;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use columns::{Chosen, Ends};
use core::cell::Cell;
use core::fmt::Display;
use core::panic::AssertUnwindSafe;
use rayon::prelude::*;
use std::panic::catch_unwind;
use std::sync::Arc;
use values::Rows;

/// An open file, in parts that are decoded by themselves.
trait Parts: Sync {
    /// The columns of the file.
    fn schema(&self) -> &Schema;

    /// The number of rows of each part.
    fn rows(&self) -> Vec<u64>;

    /// Sets the columns that are decoded, which ascend.
    fn choose(&mut self, columns: Vec<usize>);

    /// Decodes the columns of a part, and passes them to `take` in batches of rows.
    fn decode(&self, part: usize, take: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Decoded<()>;
}

/// What decoding gives: an error of the file, told by the library that decodes it, lies outside, and one of what is in it inside.
type Decoded<T> = Result<Result<T>, String>;

/// A file, and the columns of it that are read.
struct Table<'p> {
    file: String,
    format: FileFormat,
    bytes: u64,
    parts: Box<dyn Parts>,
    chosen: Chosen,
    progress: &'p dyn Progress,
}

/// Rows that are taken at a time: what is decoded of them stays in a cache.
const BATCH: usize = 1 << 14;

/// Calls `decode`. A library that meets what it doesn't expect in a damaged file may panic; that is told as an error of the file.
fn sound<T>(file: &str, format: FileFormat, decode: impl FnOnce() -> Decoded<T>) -> Result<T> {
    let broken = |why: &dyn Display| {
        let why = told(&why.to_string());
        Error::invalid(format!("{file}: expected a {format} file that can be read: {why}"))
    };
    DECODES.set(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODES.set(false);
    match decoded {
        Ok(decoded) => decoded.map_err(|why| broken(&why))?,
        Err(_) => Err(broken(&"it can't be decoded")),
    }
}

thread_local! {
    /// Whether this thread is in a library that decodes a table.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a library that decodes a table. If it panics there, that is told as an error of the file, so a hook for panics need not
/// tell it.
pub fn decodes() -> bool {
    DECODES.get()
}

impl<'p> Table<'p> {
    fn open(source: Source<'p>, format: FileFormat) -> Result<Self> {
        let (progress, columns) = (source.progress, source.columns.clone());
        let (file, map) = source.into_map()?;
        let bytes = map.len() as u64;
        let mark = if format == FileFormat::Arrow { magic::ARROW } else { magic::PARQUET };
        if !map.starts_with(mark) {
            let mark = mark.escape_ascii();
            return Err(Error::invalid(format!(
                "{file}: expected an uncompressed {format} file, which begins with {mark}"
            )));
        }
        let parts = sound(&file, format, || {
            Ok(Ok(match format {
                FileFormat::Arrow => Box::new(arrow::Batches::open(Arc::clone(&map))?) as Box<dyn Parts>,
                _ => Box::new(parquet::Groups::open(map)?),
            }))
        })?;
        let chosen = Chosen::of(parts.schema(), &file, columns.as_ref())?;
        Ok(Self { file, format, bytes, parts, chosen, progress })
    }

    /// The number of rows.
    fn count(&self) -> u64 {
        self.parts.rows().into_iter().fold(0, u64::saturating_add)
    }

    /// Calls `each` with the rows of all parts, some at a time, by several threads. The first error is returned.
    fn each<T: Send>(&self, each: impl Fn(Rows<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
        let rows = self.parts.rows();
        let starts: Vec<u64> =
            rows.iter().scan(0u64, |sum, rows| Some(core::mem::replace(sum, sum.saturating_add(*rows)))).collect();
        let all = self.count().max(1);
        self.progress.begin("read", Unit::Bytes, self.bytes);
        let stop = stop::current();
        let part = |part: usize| {
            let (mut found, mut done) = (Vec::new(), 0);
            sound(&self.file, self.format, || {
                self.parts.decode(part, &mut |batch| {
                    DECODES.set(false);
                    let rows = Rows::of(&self.file, &self.chosen, starts[part] + done, &batch)?;
                    done += batch.num_rows() as u64;
                    found.push(each(rows)?);
                    if stop::is_asked(&stop) {
                        return Err(Error::Stopped);
                    }
                    DECODES.set(true);
                    Ok(())
                })
            })?;
            if done != rows[part] {
                let expected = format!("{} rows in part {}, as the file states", rows[part], part + 1);
                return Err(Error::invalid(format!("{}: expected {expected}, found {done}", self.file)));
            }
            let bytes = u128::from(self.bytes) * u128::from(done) / u128::from(all);
            self.progress.advance(bytes as u64);
            Ok(found)
        };
        let parts: Vec<Result<Vec<T>>> = (0..rows.len()).into_par_iter().map(part).collect();
        let parts: Vec<Vec<T>> = parts.into_iter().collect::<Result<_>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The entries for `target`.
    fn listed<V: Value>(mut self, target: Target) -> Result<Listed<'p, V>> {
        self.chosen.decode(size_of::<V>() > 0);
        self.parts.choose(self.chosen.decoded.clone());
        let outline = Outline::graph(0, self.count(), target);
        let (entries, vertices, numbering) = match self.chosen.ends {
            Ends::Names => self.named()?,
            Ends::Numbers => match outline.exceeded::<V>(size_of::<(u64, u64, V)>()) {
                Some(limit) => self.numbered_on_disk(outline, limit)?,
                None => self.numbered()?,
            },
        };
        let weights = if self.chosen.weights.is_some() { outline.entries } else { 0 };
        let (file, format, outline) =
            (self.file, self.format, Outline { rows: vertices, columns: vertices, ..outline });
        Ok(Listed { file, format, outline, entries, numbering, weights, vertex_weights: 0 })
    }

    /// The entries between vertices with numbers, in memory.
    fn numbered<V: Value>(&self) -> Result<Found<'p, V>> {
        let needed = u128::from(self.count()) * size_of::<(u64, u64, V)>() as u128;
        memory::require(needed, || self.file.clone())?;
        let edges = self.each(|rows| rows.entries(rows.numbers()?))?;
        let (entries, vertices, numbering) = renumbered(&self.file, edges)?;
        Ok((Entries::Listed(entries), vertices, numbering))
    }

    /// The same on disk. The file is decoded twice: for the numbers of its vertices, and for its edges.
    fn numbered_on_disk<V: Value>(&self, outline: Outline, limit: u64) -> Result<Found<'p, V>> {
        // bits for numbers that aren't far apart: 8 bytes an edge
        let seen = Survey::new(&self.file, None, outline.entries.saturating_mul(64).saturating_add(4096));
        self.each(|rows| {
            let (from, to) = rows.numbers()?;
            seen.take(&from.into_iter().zip(to).map(|(from, to)| (from, to, ())).collect::<Vec<_>>())
        })?;
        let (names, _) = seen.finish();
        let vertices = names.few_enough(&self.file)?;
        let outline = Outline { rows: vertices, columns: vertices, ..outline };
        let on_disk = OnDisk::<V>::new(&self.file, outline, limit, self.progress)?;
        self.each(|rows| {
            let vertices = |numbers: Vec<u64>| numbers.into_iter().map(|number| names.vertex(number)).collect();
            let (from, to) = rows.numbers()?;
            on_disk.take(&rows.entries((vertices(from), vertices(to)))?)
        })?;
        Ok((Entries::OnDisk(on_disk), vertices, names.into_numbering()))
    }

    /// The entries between vertices with names, in memory.
    fn named<V: Value>(&self) -> Result<Found<'p, V>> {
        let needed = u128::from(self.count()) * size_of::<(u32, u32, V)>() as u128;
        memory::require(needed, || self.file.clone())?;
        let met = Met::new();
        let entries = self.each(|rows| rows.entries(rows.names(&met)?));
        let entries = entries.map_err(|error| met.explained(&self.file, error))?;
        let (names, vertices) = met.finish(&self.file)?;
        let named = |(from, to, weight): (u32, u32, V)| (vertices[from as usize], vertices[to as usize], weight);
        let entries: Lists<V> = entries.into_par_iter().map(|list| list.into_iter().map(named).collect()).collect();
        Ok((Entries::Listed(entries), vertices.len() as u64, Numbering::Named(names)))
    }
}

/// Entries, the number of vertices, and what the file calls them.
type Found<'p, V> = (Entries<'p, V>, u64, Numbering);

/// Reads the graph, made symmetric.
pub(super) fn read_graph(source: Source<'_>, format: FileFormat) -> Result<Loaded> {
    Table::open(source, format)?.listed(Target::GRAPH)?.simple()
}

/// Reads the graph with the directions of its rows.
pub(super) fn read_digraph(source: Source<'_>, format: FileFormat) -> Result<Loaded> {
    Table::open(source, format)?.listed(Target::DIGRAPH)?.simple()
}

/// Reads the graph with the directions of its rows, and with their weights if the file has any.
pub(super) fn read_weighted(source: Source<'_>, format: FileFormat) -> Result<Weighted> {
    let table = Table::open(source, format)?;
    match table.chosen.weights {
        None => table.listed(Target::DIGRAPH)?.simple().map(Weighted::None),
        Some((_, true)) => table.listed(Target::DIGRAPH)?.digraph(Refuse).map(Weighted::Real),
        Some((_, false)) => table.listed(Target::DIGRAPH)?.digraph(Refuse).map(Weighted::Integer),
    }
}
