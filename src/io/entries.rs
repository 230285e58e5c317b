//! The entries of a file as it lists them: in memory, or on disk if the memory is limited and too small.

use crate::error::Result;
use crate::io::Progress;
use crate::io::on_disk::OnDisk;
use crate::io::source::Source;
use crate::io::target::Outline;
use crate::io::text::{self, Done, Lines, Stop};
use crate::io::value::Value;
use crate::memory::{self, Kept};
use core::ops::Range;
use rayon::prelude::*;

/// Entries `(row, column, value)`, in the order of the file and in several lists.
pub(super) type Lists<V> = Vec<Vec<(u32, u32, V)>>;

/// Entries of a binary file that a task converts at once.
pub(super) const CHUNK: usize = 1 << 16;

/// The entries of a file.
pub(super) enum Entries<'p, V: Value> {
    Listed(Lists<V>),
    OnDisk(OnDisk<'p, V>),
}

/// Parses some pieces of a text: takes the text, the pieces, the account of memory, and what is to be told of bytes done.
pub(super) trait Parser<V>:
    FnMut(&[u8], &[Range<usize>], &Kept, Done<'_>) -> Result<Lists<V>, Stop> + Send
{
}
impl<V, F> Parser<V> for F where F: FnMut(&[u8], &[Range<usize>], &Kept, Done<'_>) -> Result<Lists<V>, Stop> + Send {}

impl<'p, V: Value> Entries<'p, V> {
    /// Parses all lines of `source` from byte `start` of its head on, for what `outline` says.
    pub fn parse<L: Lines<Entry = (u32, u32, V)>>(
        source: Source<'p>,
        start: usize,
        lines: &L,
        outline: Outline,
    ) -> Result<Self> {
        Self::parse_with(source, start, outline, |text: &[u8], pieces: &[Range<usize>], kept: &Kept, done: Done<'_>| {
            text::parse_pieces(text, pieces, done, &|_, piece| text::parse_piece(lines, piece, kept))
        })
    }

    /// Like [`parse`](Self::parse), with a parser of pieces, which are given to it in order.
    pub fn parse_with(source: Source<'p>, start: usize, outline: Outline, mut parser: impl Parser<V>) -> Result<Self> {
        match OnDisk::if_needed(source.name(), outline, source.progress)? {
            Some(on_disk) => {
                source.parse_groups(start, parser, &|list: Vec<_>| on_disk.take(&list))?;
                Ok(Self::OnDisk(on_disk))
            }
            None => source
                .parse_with(start, |text, start, kept, done| {
                    parser(text, &text::pieces(text, start..text.len()), kept, done)
                })
                .map(Self::Listed),
        }
    }

    /// Converts the entries of the binary file `file`, which `convert` returns for ranges of their numbers.
    pub fn convert(
        file: &str,
        outline: Outline,
        progress: &'p dyn Progress,
        convert: impl Fn(Range<usize>) -> Result<Vec<(u32, u32, V)>> + Sync,
    ) -> Result<Self> {
        let count = outline.entries as usize;
        let chunk = |chunk: usize| convert(chunk * CHUNK..count.min((chunk + 1) * CHUNK));
        let chunks = (0..count.div_ceil(CHUNK)).into_par_iter();
        let Some(on_disk) = OnDisk::if_needed(file, outline, progress)? else {
            memory::require(count as u128 * size_of::<(u32, u32, V)>() as u128, || file.to_owned())?;
            let chunks: Vec<Result<_>> = chunks.map(chunk).collect();
            return chunks.into_iter().collect::<Result<_>>().map(Self::Listed);
        };
        // the first error is the one to report
        let taken: Vec<Result<()>> = chunks.map(|number| on_disk.take(&chunk(number)?)).collect();
        taken.into_iter().collect::<Result<()>>()?;
        Ok(Self::OnDisk(on_disk))
    }

    /// The number of entries.
    pub fn count(&self) -> u64 {
        match self {
            Self::Listed(lists) => lists.iter().map(|list| list.len() as u64).sum(),
            Self::OnDisk(on_disk) => on_disk.count(),
        }
    }
}
