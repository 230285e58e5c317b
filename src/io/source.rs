//! Where text comes from: a mapped file, or a stream (gzip, a pipe) taken in batches so that memory stays bounded.

use super::text::{self, Fault, Lines};
use super::{Progress, Unit};
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};

/// Bytes of text taken from a stream at once.
const BATCH: usize = 4 << 20;

/// An open file: its beginning in view, the rest to be parsed.
pub(super) struct Source<'p> {
    name: String,
    text: Text<'p>,
    progress: &'p dyn Progress,
}

enum Text<'p> {
    Mapped(Mmap),
    Stream(Stream<'p>),
}

impl<'p> Source<'p> {
    /// Opens the file `name`, gzip or plain by its content.
    pub fn open(name: &str, progress: &'p dyn Progress) -> Result<Self> {
        let failed = || Error::io(name);
        let file = File::open(name).map_err(failed())?;
        let about = file.metadata().map_err(failed())?;
        if about.is_dir() {
            return Err(failed()(ErrorKind::IsADirectory.into()));
        }
        progress.begin("read", Unit::Bytes, about.len());
        let source = |text| Self { name: name.to_owned(), text, progress };
        if !about.is_file() {
            return Ok(source(Text::Stream(Stream::open(Box::new(file)))));
        }
        // SAFETY: the map is read-only and private to this reader. A file that another process changes while it is read
        // can change the bytes seen; they are only ever parsed, each byte read and checked as it comes, so the worst is a
        // wrong graph or a parse error. A file truncated meanwhile ends the process with SIGBUS, as for every mapping reader.
        let map = unsafe { Mmap::map(&file) }.map_err(failed())?;
        if map.starts_with(&[0x1f, 0x8b]) {
            drop(map);
            let counted = Counted { file, progress };
            let unzipped = MultiGzDecoder::new(io::BufReader::with_capacity(1 << 18, counted));
            return Ok(source(Text::Stream(Stream::open(Box::new(unzipped)))));
        }
        Ok(source(Text::Mapped(map)))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text of a mapped file, the first batch of a stream.
    pub fn head(&self) -> &[u8] {
        match &self.text {
            Text::Mapped(map) => map,
            Text::Stream(stream) => &stream.batch,
        }
    }

    /// `FILE:LINE:COLUMN` of a place in the head.
    pub fn place(&self, at: usize) -> String {
        let (line, column) = text::locate(self.head(), at);
        format!("{}:{}:{column}", self.name, line + 1)
    }

    /// The error for a fault in the head.
    pub fn error(&self, fault: &Fault) -> Error {
        match &self.text {
            // what is missing is missing because the stream broke off
            Text::Stream(stream) if fault.at >= stream.batch.len() && stream.broken.is_some() => {
                stream.error(&self.name)
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

    /// The entries of all lines from byte `start` of the head on.
    pub fn parse<L: Lines>(mut self, start: usize, lines: &L) -> Result<Vec<Vec<L::Entry>>> {
        let Text::Stream(stream) = &mut self.text else {
            let rest = &self.head()[start..];
            let done = |bytes| self.progress.advance(bytes);
            return text::parse(lines, rest, &done)
                .map_err(|fault| self.error(&Fault { at: start + fault.at, ..fault }));
        };
        let mut entries = Vec::new();
        let mut start = start;
        while !stream.batch.is_empty() {
            let batch = core::mem::take(&mut stream.batch);
            let lines_before = stream.lines;
            // the next batch is unpacked while this one is parsed
            let (parsed, ()) = rayon::join(|| text::parse(lines, &batch[start..], &|_| ()), || stream.advance());
            match parsed {
                Ok(lists) => entries.extend(lists),
                Err(fault) => {
                    let at = start + fault.at;
                    let fault = Fault { at, ..fault };
                    return Err(self.error_in(&batch, lines_before, &fault));
                }
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

/// A reader cut into batches that end with a line.
struct Stream<'p> {
    reader: Box<dyn Read + Send + 'p>,
    batch: Vec<u8>,
    /// The begun line after the batch.
    rest: Vec<u8>,
    /// Lines before the batch.
    lines: u64,
    ended: bool,
    /// Why the stream ended before its end.
    broken: Option<io::Error>,
}

impl<'p> Stream<'p> {
    fn open(reader: Box<dyn Read + Send + 'p>) -> Self {
        let mut stream = Self { reader, batch: Vec::new(), rest: Vec::new(), lines: 0, ended: false, broken: None };
        stream.advance();
        stream
    }

    /// Fills the batch; empty where the stream has ended.
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
        // the last line of a stream that broke off may be half a line: it is not parsed
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

    fn error(&self, file: &str) -> Error {
        let Some(error) = &self.broken else {
            return Error::invalid(format!("{file}: the stream is whole"));
        };
        let (expected, found) = match error.kind() {
            ErrorKind::UnexpectedEof => ("the rest of the gzip stream", "its end".to_owned()),
            ErrorKind::FileTooLarge => ("a line of at most 4 MiB", "a longer one".to_owned()),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => ("a sound gzip stream", error.to_string()),
            kind => {
                return Error::Io { file: file.to_owned(), source: io::Error::new(kind, error.to_string()) };
            }
        };
        let (line, _) = text::locate(&self.batch, self.batch.len());
        Error::Parse {
            file: file.to_owned(),
            line: self.lines + line + 1,
            column: self.rest.len() as u64 + 1,
            expected: expected.to_owned(),
            found,
        }
    }
}

/// Tells the progress of a file that is read through something else.
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
