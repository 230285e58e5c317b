//! Text input: a mapped file, or a stream (gzip, zstd, a pipe) read in batches so that memory stays bounded. Compression and
//! a byte order mark are detected from the content, whatever the name.

use crate::error::{Error, Result, printable};
use crate::io::compressed::{Compression, Frames, Members, Trailing};
use crate::io::text::{self, Done, Fault, Lines, Stop};
use crate::io::{Columns, FileFormat, Progress, Unit};
use crate::memory::{self, Kept};
use crate::stop;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use memmap2::Mmap;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The size of a batch of a stream, in bytes of text.
const BATCH: usize = 4 << 20;

/// Pieces of text that are parsed, and kept, at a time, if a graph is built on disk.
const GROUP: usize = 16;

/// The most bytes of comments before the header of a stream.
const MOST_COMMENTS: usize = 64 << 20;

/// The byte order mark that some editors write at the start of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The length of the byte order mark at the start of `text`; 0 if there is none.
fn marked(text: &[u8]) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// An open file. Its head can be inspected before the rest is parsed.
pub(super) struct Source<'p> {
    path: PathBuf,
    /// The path as error messages show it.
    name: String,
    /// Whether the file can be reopened and read again from its start; false for a pipe.
    pub lasting: bool,
    text: Text<'p>,
    /// The size of the file; 0 for a pipe.
    pub file_bytes: u64,
    pub progress: &'p dyn Progress,
    /// What can stop the reading.
    stop: Option<stop::Stop>,
    /// The columns of a table that are asked for.
    pub columns: Option<Columns>,
}

enum Text<'p> {
    /// A mapped file, and the byte at which its text starts.
    Mapped(Arc<Mmap>, usize),
    Stream(Stream<'p>),
}

impl<'p> Source<'p> {
    /// Opens the file at `path`. Compression is detected by content, unless the file is mapped as it is: if it is read as
    /// the binary format `asked`, or if its name alone tells a binary format.
    pub fn open(path: &Path, asked: Option<FileFormat>, progress: &'p dyn Progress) -> Result<Self> {
        let name = printable(path.as_os_str().as_encoded_bytes());
        let failed = || Error::io(&name);
        let file = File::open(path).map_err(failed())?;
        let about = file.metadata().map_err(failed())?;
        if about.is_dir() {
            return Err(failed()(ErrorKind::IsADirectory.into()));
        }
        progress.begin("read", Unit::Bytes, about.len());
        let lasting = about.is_file();
        let source = |text| Self {
            path: path.to_owned(),
            name: name.clone(),
            lasting,
            text,
            file_bytes: about.len(),
            progress,
            stop: stop::current(),
            columns: None,
        };
        let length = about.len();
        let stream = |file| {
            let stream = Stream::open(Counted { file, progress }, length).map_err(failed())?;
            Ok(source(Text::Stream(stream)))
        };
        if !lasting {
            return stream(file);
        }
        // SAFETY: the map is read-only and private to this reader. If another process changes the file meanwhile, the
        // bytes seen may change. Each byte is only parsed, and checked as it is read, so the worst result is a wrong
        // graph or a parse error. A native file stays mapped behind a matrix; that it must not change is said where it is
        // opened. If the file is truncated meanwhile, the process ends with SIGBUS, as for every program that maps files.
        let map = unsafe { Mmap::map(&file) }.map_err(failed())?;
        let as_it_is = asked.or_else(|| FileFormat::by_name_alone(&name)).is_some_and(FileFormat::is_binary);
        if Compression::of(&map).is_some() && !as_it_is {
            drop(map);
            return stream(file);
        }
        let (start, map) = (marked(&map), Arc::new(map));
        memory::note(&map);
        Ok(source(Text::Mapped(map, start)))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of a mapped file; `None` for a stream.
    pub fn raw(&self) -> Option<&[u8]> {
        match &self.text {
            Text::Mapped(map, _) => Some(map),
            Text::Stream(_) => None,
        }
    }

    /// The bytes of a file in a binary format.
    ///
    /// # Errors
    /// [`Error::Parse`] for a stream: a binary file is read in any order.
    pub fn bytes(&self) -> Result<&[u8]> {
        let expected = "an uncompressed file, because the format is binary";
        self.raw().ok_or_else(|| self.refused(0, expected.to_owned(), "a stream"))
    }

    /// The name, and the map of a file in a binary format.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes).
    pub fn into_map(self) -> Result<(String, Arc<Mmap>)> {
        self.bytes()?;
        match self.text {
            Text::Mapped(map, _) => Ok((self.name, map)),
            Text::Stream(_) => Err(Error::invalid(format!("{}: expected a file, found a stream", self.name))),
        }
    }

    /// Whether the head is all of the text.
    pub fn is_all_seen(&self) -> bool {
        match &self.text {
            Text::Mapped(..) => true,
            Text::Stream(stream) => stream.ended && stream.broken.is_none(),
        }
    }

    /// The whole text of a mapped file, or the first batch of a stream.
    pub fn head(&self) -> &[u8] {
        match &self.text {
            Text::Mapped(map, start) => &map[*start..],
            Text::Stream(stream) => &stream.batch,
        }
    }

    /// `FILE:LINE:COLUMN` of byte `at` of the head.
    pub fn place(&self, at: usize) -> String {
        self.place_in(self.head(), 0, at)
    }

    /// `FILE:LINE:COLUMN` of byte `at` of `text`, which `lines_before` lines precede.
    fn place_in(&self, text: &[u8], lines_before: u64, at: usize) -> String {
        let (line, column) = text::locate(text, at);
        format!("{}:{}:{column}", self.name, lines_before + line + 1)
    }

    /// The error for what stands at byte `at` of the head, described by `found` instead of shown.
    pub fn refused(&self, at: usize, expected: String, found: impl Into<String>) -> Error {
        let (line, column) = text::locate(self.head(), at);
        Error::Parse { file: self.name.clone(), line: line + 1, column, expected, found: found.into() }
    }

    /// The error for a fault in the head.
    pub fn error(&self, fault: &Fault) -> Error {
        match &self.text {
            // the text ends here because the stream is broken: report that instead
            Text::Stream(stream) if fault.at >= stream.batch.len() && stream.broken.is_some() => {
                stream.error(&self.name)
            }
            // the header may stand further on than the reader searches
            Text::Stream(stream) if fault.at >= stream.batch.len() && !stream.ended => {
                let expected = format!("{} within {} MiB", fault.expected, MOST_COMMENTS >> 20);
                let (line, column) = text::locate(&stream.batch, fault.at);
                Error::Parse {
                    file: self.name.clone(),
                    line: line + 1,
                    column,
                    expected,
                    found: "more comments".into(),
                }
            }
            _ => self.error_in(self.head(), 0, fault),
        }
    }

    fn error_in(&self, text: &[u8], lines_before: u64, fault: &Fault) -> Error {
        let (line, column) = text::locate(text, fault.at);
        Error::Parse {
            file: self.name.clone(),
            line: lines_before + line + 1,
            column,
            expected: fault.expected.clone(),
            found: text::found(text, fault.at),
        }
    }

    fn stopped_in(&self, text: &[u8], lines_before: u64, stop: Stop) -> Error {
        match stop {
            Stop::Fault(fault) => self.error_in(text, lines_before, &fault),
            Stop::Shortage(at, shortage) => shortage.at(self.place_in(text, lines_before, at)),
            Stop::Asked => Error::Stopped,
        }
    }

    /// Parses all lines from byte `start` of the head on, and returns their entries in order, in several lists.
    pub fn parse<L: Lines>(self, start: usize, lines: &L) -> Result<Vec<Vec<L::Entry>>> {
        self.parse_with(start, |text, start, kept, done| text::parse(lines, text, start, kept, done))
    }

    /// Parses all lines from byte `start` of the head on, and passes lists of their entries to `take`, in any order. Some are kept at a time.
    /// Returns how many there are.
    pub fn parse_into<L: Lines>(
        self,
        start: usize,
        lines: &L,
        take: &(dyn Fn(Vec<L::Entry>) -> Result<()> + Sync),
    ) -> Result<u64> {
        let parser = |text: &[u8], pieces: &[Range<usize>], kept: &Kept, done: Done<'_>| {
            text::parse_pieces(text, pieces, done, &|_, piece| text::parse_piece(lines, piece, kept))
        };
        self.parse_groups(start, parser, take)
    }

    /// Like [`parse_into`](Self::parse_into), with a parser of pieces, which are given to it in order.
    pub fn parse_groups<E: Send>(
        self,
        start: usize,
        mut parser: impl FnMut(&[u8], &[Range<usize>], &Kept, Done<'_>) -> Result<Vec<Vec<E>>, Stop> + Send,
        take: &(dyn Fn(Vec<E>) -> Result<()> + Sync),
    ) -> Result<u64> {
        let refused = Mutex::new(None);
        let count = AtomicU64::new(0);
        let parsed = self.parse_with(start, |text, start, _, done| {
            // each group of pieces is taken before the next is parsed
            for group in text::pieces(text, start..text.len()).chunks(GROUP) {
                let lists = parser(text, group, &Kept::default(), done)?;
                let taken = lists.into_par_iter().try_for_each(|list| {
                    count.fetch_add(list.len() as u64, Relaxed);
                    take(list)
                });
                if let Err(error) = taken {
                    *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    // what stops the parser here is replaced by the error
                    return Err(Stop::Fault(Fault { at: start, expected: String::new() }));
                }
            }
            Ok(Vec::<Vec<()>>::new())
        });
        match refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => parsed.map(|_| count.into_inner()),
        }
    }

    /// The part of a mapped file from byte `start` on that is the `number`-th of `of` parts, in groups of pieces.
    pub fn part(&self, start: usize, (number, of): (usize, usize)) -> Vec<Vec<Range<usize>>> {
        let part = text::part(self.head(), start, (number, of));
        text::pieces(self.head(), part).chunks(GROUP).map(<[_]>::to_vec).collect()
    }

    /// Parses some pieces of a mapped file, and returns their entries in order, one list per piece.
    pub fn parse_pieces<L: Lines>(&self, pieces: &[Range<usize>], lines: &L) -> Result<Vec<Vec<L::Entry>>> {
        self.parse_pieces_with(|text, kept, done| {
            text::parse_pieces(text, pieces, done, &|_, piece| text::parse_piece(lines, piece, kept))
        })
    }

    /// Like [`parse_pieces`](Self::parse_pieces), with a parser of them. It is called with the whole text, the account of memory, and what is to be
    /// told of bytes done.
    pub fn parse_pieces_with<E>(
        &self,
        parser: impl FnOnce(&[u8], &Kept, Done<'_>) -> Result<Vec<Vec<E>>, Stop>,
    ) -> Result<Vec<Vec<E>>> {
        let (text, kept) = (self.head(), Kept::default());
        let (progress, stop) = (self.progress, &self.stop);
        let parsed = parser(text, &kept, &|bytes| report(progress, stop, bytes));
        parsed.map_err(|stop| self.stopped_in(text, 0, stop))
    }

    /// Like [`parse`](Self::parse), with a parser of texts: of the whole text, or of its batches in order. It is called
    /// with a text, the byte of it to start at, the account of memory, and what is to be told of bytes done.
    pub fn parse_with<E: Send>(
        mut self,
        start: usize,
        mut parser: impl FnMut(&[u8], usize, &Kept, Done<'_>) -> Result<Vec<Vec<E>>, Stop> + Send,
    ) -> Result<Vec<Vec<E>>> {
        let kept = Kept::default();
        let Text::Stream(stream) = &mut self.text else {
            let done = |bytes| report(self.progress, &self.stop, bytes);
            let parsed = parser(self.head(), start, &kept, &done);
            return parsed.map_err(|stop| self.stopped_in(self.head(), 0, stop));
        };
        let mut entries = Vec::new();
        let mut start = start;
        // what is decompressed reports its bytes by itself
        let go_on = |_| report(&(), &self.stop, 0);
        while !stream.batch.is_empty() {
            let batch = core::mem::take(&mut stream.batch);
            let lines_before = stream.lines;
            // the next batch is decompressed while this one is parsed
            let (parsed, ()) = rayon::join(|| parser(&batch, start, &kept, &go_on), || stream.advance());
            match parsed {
                Ok(lists) => entries.extend(lists),
                Err(stop) => return Err(self.stopped_in(&batch, lines_before, stop)),
            }
            stream.lines += batch.iter().filter(|&&b| b == b'\n').count() as u64;
            start = 0;
        }
        if stream.broken.is_some() {
            return Err(stream.error(&self.name));
        }
        Ok(entries)
    }
}

/// Reports bytes that are done. It is an error if the reading is to end.
fn report(progress: &dyn Progress, stop: &Option<stop::Stop>, bytes: u64) -> Result<(), Stop> {
    progress.advance(bytes);
    if stop::is_asked(stop) { Err(Stop::Asked) } else { Ok(()) }
}

/// A reader that is cut into batches, each of which ends at the end of a line.
struct Stream<'p> {
    reader: Box<dyn Read + Send + 'p>,
    batch: Vec<u8>,
    /// The incomplete line after the batch.
    rest: Vec<u8>,
    /// The number of lines before the batch.
    lines: u64,
    ended: bool,
    /// How the stream is compressed.
    compression: Option<Compression>,
    /// The error that broke the stream off, if any.
    broken: Option<io::Error>,
}

impl<'p> Stream<'p> {
    /// Opens a stream of `length` bytes, or of any number if `length` is 0.
    fn open(bytes: impl Read + Send + 'p, length: u64) -> io::Result<Self> {
        let mut bytes = BufReader::with_capacity(1 << 18, bytes);
        // a pipe may return its first byte alone
        let mut start = Vec::new();
        bytes.by_ref().take(Compression::LONGEST_MARK).read_to_end(&mut start)?;
        let compression = Compression::of(&start);
        let bytes = io::Cursor::new(start).chain(bytes);
        let reader: Box<dyn Read + Send + 'p> = match compression {
            Some(Compression::Gzip) => Box::new(Members::of(bytes)),
            Some(Compression::Zstd) => Box::new(Frames::of(bytes, length)),
            None => Box::new(bytes),
        };
        let (batch, rest) = (Vec::new(), Vec::new());
        let mut stream = Self { reader, batch, rest, lines: 0, ended: false, compression, broken: None };
        stream.advance();
        stream.batch.drain(..marked(&stream.batch));
        stream.reach();
        Ok(stream)
    }

    /// Extends the first batch until it holds a line that is not a comment, because a header may follow more than one
    /// batch of comments.
    fn reach(&mut self) {
        let is_comment = |line: &[u8]| line.trim_ascii_start().first().is_none_or(|first| b"%#c".contains(first));
        let mut head = core::mem::take(&mut self.batch);
        let mut seen = 0;
        while !self.ended && head.len() < MOST_COMMENTS && head[seen..].split(|&b| b == b'\n').all(is_comment) {
            seen = head.len();
            self.advance();
            head.append(&mut self.batch);
        }
        self.batch = head;
    }

    /// Replaces the batch by the next one, which is empty at the end of the stream.
    fn advance(&mut self) {
        let mut buffer = core::mem::take(&mut self.rest);
        if !self.ended {
            let room = BATCH.saturating_sub(buffer.len()) as u64;
            match self.reader.by_ref().take(room).read_to_end(&mut buffer) {
                Ok(read) => self.ended = (read as u64) < room,
                Err(error) => {
                    self.ended = true;
                    self.broken = Some(error);
                }
            }
        }
        // the last line of a broken stream may be incomplete, so it is not parsed
        if !self.ended || self.broken.is_some() {
            let end = buffer.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
            self.rest = buffer.split_off(end);
            if end == 0 && !self.ended {
                self.ended = true;
                self.broken = Some(ErrorKind::FileTooLarge.into());
            }
        }
        self.batch = buffer;
    }

    /// The error for a broken stream.
    fn error(&self, file: &str) -> Error {
        let Some(error) = &self.broken else {
            return Error::invalid(format!("{file}: the stream is whole"));
        };
        let name = self.compression.map_or("", Compression::name);
        let (expected, found) = match error.kind() {
            _ if error.get_ref().is_some_and(|error| error.is::<Trailing>()) => {
                (format!("nothing after the {name} stream"), error.to_string())
            }
            ErrorKind::UnexpectedEof => (format!("the rest of the {name} stream"), "its end".to_owned()),
            ErrorKind::FileTooLarge => ("a line of at most 4 MiB".to_owned(), "a longer one".to_owned()),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => (format!("a sound {name} stream"), error.to_string()),
            kind => {
                return Error::Io { file: file.to_owned(), source: io::Error::new(kind, error.to_string()) };
            }
        };
        let (line, _) = text::locate(&self.batch, self.batch.len());
        Error::Parse {
            file: file.to_owned(),
            line: self.lines + line + 1,
            column: self.rest.len() as u64 + 1,
            expected,
            found,
        }
    }
}

/// A file that reports the bytes read from it, for files that are decompressed or piped.
struct Counted<'p> {
    file: File,
    progress: &'p dyn Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}
