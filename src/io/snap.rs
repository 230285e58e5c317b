//! Reads SNAP edge lists: comments that start with `#` or `%`, and lines with two vertex numbers separated by blanks.
//!
//! Vertex numbers may be any `u64`. Those that occur are renumbered 0, 1, ... in ascending order. Further columns
//! (weights, time stamps) must be numbers and are dropped. Each line is a directed edge, as in SNAP's directed graphs;
//! SNAP's undirected graphs list both directions.

use crate::error::{Error, Result};
use crate::formats::{Directions, MAX_VERTICES};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::source::Source;
use crate::io::text::{Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::{Progress, build, short_name};
use crate::memory;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;

/// Lines `FROM TO`, with vertex numbers of type `I`.
struct Edges<I>(PhantomData<fn() -> I>);

/// The error text for a vertex number that does not fit `I`. The reader recognizes it and reads the file again with a
/// wider type.
const NARROW: &str = "a vertex number below 2^32";

impl<I: TryFrom<u64> + Send> Edges<I> {
    fn vertex(line: &mut Cursor<'_>) -> Result<I, Fault> {
        line.blanks();
        let at = line.at();
        let number =
            line.number().ok_or_else(|| Fault { at, expected: "a vertex number from 0 to 2^64 - 1".into() })?;
        I::try_from(number).map_err(|_| Fault { at, expected: NARROW.into() })
    }
}

impl<I: TryFrom<u64> + Send> Lines for Edges<I> {
    type Entry = (I, I);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<(I, I)>, Fault> {
        if matches!(line.peek(), Some(b'#' | b'%')) {
            return Ok(None);
        }
        let edge = (Self::vertex(line)?, Self::vertex(line)?);
        line.blanks();
        while !line.line_ends() {
            let at = line.at();
            if line.after_return() {
                return Err(Fault { at, expected: "a line feed after the carriage return".into() });
            }
            if !is_real(line.word()) {
                return Err(Fault { at, expected: "a number or the end of the line".into() });
            }
            line.blanks();
        }
        Ok(Some(edge))
    }
}

/// Reads the graph. Uses 32-bit vertex numbers first, unless the file cannot be read twice.
pub(super) fn read_graph(source: Source<'_>, progress: &dyn Progress) -> Result<Loaded> {
    let (path, file) = (source.path().to_owned(), source.name().to_owned());
    if !source.lasting {
        return number(&file, source.parse(0, &Edges::<u64>(PhantomData))?);
    }
    match source.parse(0, &Edges::<u32>(PhantomData)) {
        // numbers of 2^32 and more are rare; only files that contain them are read twice, with wide edges
        Err(Error::Parse { expected, .. }) if expected == NARROW => {
            let again = Source::open(&path, progress)?;
            number(&file, again.parse(0, &Edges::<u64>(PhantomData))?)
        }
        edges => number(&file, edges?),
    }
}

/// Renumbers the vertices in ascending order of their numbers in the file, and builds the graph.
fn number<I: Copy + Ord + Into<u64> + Send + Sync>(file: &str, edges: Vec<Vec<(I, I)>>) -> Result<Loaded> {
    let names = Names::of(&edges, file)?;
    let vertices = names.count();
    if vertices > MAX_VERTICES as u64 {
        return Err(Error::TooManyVertices {
            place: file.to_owned(),
            count: vertices.into(),
            limit: MAX_VERTICES as u64,
        });
    }
    let numbered = edges.into_par_iter().map(|list| {
        let edges = list.into_iter();
        edges.map(|(from, to)| (names.vertex(from.into()), names.vertex(to.into()))).collect()
    });
    let cleaned = build(file, vertices, numbered.collect(), Directions::Matter)?;
    Ok(Loaded {
        report: Report::from(&cleaned),
        graph: cleaned.graph,
        name: short_name(file),
        numbering: names.into_numbering(),
    })
}

/// The vertex numbers that occur in a file, in ascending order.
enum Names {
    /// For dense numbers: a bit for every number up to the largest, and for each word the number of bits set before it.
    Close { used: Vec<u64>, before: Vec<u64> },
    /// For scattered numbers: the sorted list of them.
    Far(Vec<u64>),
}

impl Names {
    /// Collects the vertex numbers of `edges`.
    fn of<I: Copy + Into<u64> + Send + Sync>(edges: &[Vec<(I, I)>], file: &str) -> Result<Self> {
        let entries: usize = edges.iter().map(Vec::len).sum();
        let ends = || edges.par_iter().flat_map_iter(|list| list.iter().flat_map(|e| [e.0.into(), e.1.into()]));
        let most = ends().max();
        // the bitmap is chosen only if it takes no more memory than the edges, give or take a constant
        if most.is_none_or(|most| most / 64 < entries as u64 / 2 + 64) {
            let words = most.map_or(0, |most| most as usize / 64 + 1);
            memory::require(16 * words as u128, || file.to_owned())?;
            let used: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
            ends().for_each(|end| {
                let (word, bit) = (&used[end as usize / 64], 1 << (end % 64));
                // most numbers have been seen before, and a load is cheaper than an atomic write
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            });
            let used: Vec<u64> = used.into_iter().map(AtomicU64::into_inner).collect();
            let mut sum = 0;
            let before = used.iter().map(|word| {
                let before = sum;
                sum += u64::from(word.count_ones());
                before
            });
            Ok(Self::Close { before: before.collect(), used })
        } else {
            memory::require(16 * entries as u128, || file.to_owned())?;
            let mut numbers: Vec<u64> = ends().collect();
            numbers.par_sort_unstable();
            numbers.dedup();
            numbers.shrink_to_fit();
            Ok(Self::Far(numbers))
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Close { used, before } => {
                let last = used.last().map_or(0, |word| u64::from(word.count_ones()));
                before.last().copied().unwrap_or(0) + last
            }
            Self::Far(numbers) => numbers.len() as u64,
        }
    }

    /// The index of the vertex that the file calls `name`, which must occur.
    #[inline]
    fn vertex(&self, name: u64) -> u32 {
        match self {
            Self::Close { used, before } => {
                let word = name as usize / 64;
                let below = used[word] & ((1 << (name % 64)) - 1);
                (before[word] + u64::from(below.count_ones())) as u32
            }
            Self::Far(numbers) => numbers.partition_point(|&n| n < name) as u32,
        }
    }

    fn into_numbering(self) -> Numbering {
        let numbers: Vec<u64> = match self {
            Self::Close { used, .. } => {
                (0..used.len() as u64 * 64).filter(|&name| used[name as usize / 64] >> (name % 64) & 1 == 1).collect()
            }
            Self::Far(numbers) => numbers,
        };
        match (numbers.first(), numbers.last()) {
            (None, _) => Numbering::From(0),
            (Some(&first), Some(&last)) if last - first == numbers.len() as u64 - 1 => Numbering::From(first),
            _ => Numbering::Listed(numbers),
        }
    }
}
