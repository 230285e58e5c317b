//! Finds and unpacks the members of a zip archive: stored or deflated, with the 64-bit extension, not encrypted, in one
//! file (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3).

use crate::error::{Error, Result};
use crate::io::binary::broken;
use crate::io::temporary;
use crate::memory;
use core::ops::Deref;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use memmap2::Mmap;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The records that are read, by the bytes that they begin with: their name, and the size of their fixed part.
const LOCAL: (&[u8], &str, usize) = (b"PK\x03\x04", "a member's header", 30);
const CENTRAL: (&[u8], &str, usize) = (b"PK\x01\x02", "a member in the directory", 46);
const END: (&[u8], &str, usize) = (b"PK\x05\x06", "the end of the directory", 22);
const END_64: (&[u8], &str, usize) = (b"PK\x06\x06", "the 64-bit end of the directory", 56);
const LOCATOR_64: (&[u8], &str, usize) = (b"PK\x06\x07", "the place of the 64-bit directory", 20);

/// Bytes that are inflated at a time, on their way to a file.
const BLOCK: usize = 1 << 20;

/// The longest comment at the end of an archive.
const LONGEST_COMMENT: usize = 0xffff;

/// An archive.
pub(super) struct Archive<'b> {
    file: &'b str,
    bytes: &'b [u8],
    /// The bytes of the directory, and the number of its members.
    directory: usize,
    members: u64,
}

/// An entry of the directory.
struct Entry<'b> {
    name: &'b [u8],
    flags: u64,
    method: u64,
    crc: u32,
    packed: u64,
    size: u64,
    header: u64,
    /// The byte of the next entry.
    next: usize,
}

/// A member, unpacked.
pub(super) struct Member<'b> {
    /// The archive and the member, as messages show it.
    pub place: String,
    pub bytes: Bytes<'b>,
}

/// The bytes of a member: those of the archive, or inflated ones, in memory or in a file.
pub(super) enum Bytes<'b> {
    Stored(&'b [u8]),
    Inflated(Vec<u8>),
    InFile(Arc<Mmap>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Stored(bytes) => bytes,
            Self::Inflated(bytes) => bytes,
            Self::InFile(map) => map,
        }
    }
}

impl<'b> Archive<'b> {
    /// Finds the directory.
    pub fn open(file: &'b str, bytes: &'b [u8]) -> Result<Self> {
        let mut archive = Self { file, bytes, directory: 0, members: 0 };
        let least = bytes.len().saturating_sub(END.2 + LONGEST_COMMENT);
        let is_end = |&at: &usize| {
            let comment = archive.number(at + 20, 2);
            bytes[at..].starts_with(END.0) && comment.is_ok_and(|long| at + END.2 + long as usize == bytes.len())
        };
        let end = (least..(bytes.len() + 1).saturating_sub(END.2)).rev().find(is_end);
        let end = end.ok_or_else(|| broken(file, bytes.len(), "the end of a zip archive's directory", "none"))?;
        let (mut members, mut directory) = (archive.number(end + 10, 2)?, archive.number(end + 16, 4)?);
        if members == 0xffff || directory == 0xffff_ffff {
            let locator = end.checked_sub(LOCATOR_64.2).ok_or_else(|| archive.cut(end))?;
            archive.record(locator as u64, LOCATOR_64)?;
            let wide = archive.record(archive.number(locator + 8, 8)?, END_64)?;
            (members, directory) = (archive.number(wide + 32, 8)?, archive.number(wide + 48, 8)?);
        }
        archive.directory = usize::try_from(directory).map_err(|_| archive.cut(end))?;
        archive.members = members;
        Ok(archive)
    }

    /// The little-endian number of `size` bytes at byte `at`.
    fn number(&self, at: usize, size: usize) -> Result<u64> {
        let bytes = at.checked_add(size).and_then(|end| self.bytes.get(at..end)).ok_or_else(|| self.cut(at))?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Checks that a whole record stands at byte `at`.
    fn record(&self, at: u64, (mark, what, size): (&[u8], &str, usize)) -> Result<usize> {
        let start = usize::try_from(at).ok().filter(|&start| start <= self.bytes.len());
        let start = start.ok_or_else(|| self.cut(self.bytes.len()))?;
        if !self.bytes[start..].starts_with(mark) {
            return Err(broken(self.file, start, what, "other bytes"));
        }
        if self.bytes.len() - start < size { Err(self.cut(self.bytes.len())) } else { Ok(start) }
    }

    /// The error that the archive ends too early.
    fn cut(&self, at: usize) -> Error {
        broken(self.file, at, "more of a zip archive", "its end")
    }

    /// The entry of the directory at byte `at`.
    fn entry(&self, at: usize) -> Result<Entry<'b>> {
        let at = self.record(at as u64, CENTRAL)?;
        let [name, extra, comment] = [28, 30, 32].map(|field| self.number(at + field, 2).map(|n| n as usize));
        let (name_at, extra_at) = (at + CENTRAL.2, at + CENTRAL.2 + name?);
        let comment_at = extra_at + extra?;
        let next = comment_at + comment?;
        let name = self.bytes.get(name_at..extra_at).ok_or_else(|| self.cut(name_at))?;
        // fields that do not fit 32 bits stand in the extra field 1, in this order
        let mut wide = self.extra(extra_at, comment_at)?;
        let mut field = |offset: usize| -> Result<u64> {
            let narrow = self.number(at + offset, 4)?;
            if narrow != 0xffff_ffff {
                return Ok(narrow);
            }
            let start = wide.start;
            wide.start += 8;
            if wide.start > wide.end { Err(self.cut(at)) } else { self.number(start, 8) }
        };
        let (size, packed, header) = (field(24)?, field(20)?, field(42)?);
        let crc = self.number(at + 16, 4)? as u32;
        let (flags, method) = (self.number(at + 8, 2)?, self.number(at + 10, 2)?);
        Ok(Entry { name, flags, method, crc, packed, size, header, next })
    }

    /// The bytes of the extra field 1 (the 64-bit extension) between two bytes; empty if there is none.
    fn extra(&self, mut at: usize, end: usize) -> Result<core::ops::Range<usize>> {
        while at + 4 <= end {
            let (id, size) = (self.number(at, 2)?, self.number(at + 2, 2)? as usize);
            if id == 1 {
                return Ok(at + 4..(at + 4 + size).min(end));
            }
            at += 4 + size;
        }
        Ok(end..end)
    }

    /// The member called `name`, unpacked; `None` if there is none.
    pub fn member(&self, name: &str) -> Result<Option<Member<'b>>> {
        let mut at = self.directory;
        for _ in 0..self.members {
            let entry = self.entry(at)?;
            if entry.name == name.as_bytes() {
                let place = format!("{}: {name}", self.file);
                return self.unpack(&place, &entry).map(|bytes| Some(Member { bytes, place }));
            }
            at = entry.next;
        }
        Ok(None)
    }

    /// Unpacks a member and checks its size and sum.
    fn unpack(&self, place: &str, entry: &Entry<'b>) -> Result<Bytes<'b>> {
        let header = self.record(entry.header, LOCAL)?;
        let start = header + LOCAL.2 + (self.number(header + 26, 2)? + self.number(header + 28, 2)?) as usize;
        let end = usize::try_from(entry.packed).ok().and_then(|packed| start.checked_add(packed));
        let packed = end.and_then(|end| self.bytes.get(start..end)).ok_or_else(|| self.cut(self.bytes.len()))?;
        if entry.flags & 1 == 1 {
            return Err(broken(self.file, header, "a member that is not encrypted", "an encrypted one"));
        }
        let bytes = match entry.method {
            0 => Bytes::Stored(packed),
            8 => inflate(place, start, packed, entry.size)?,
            method => {
                return Err(broken(self.file, header, "a stored or deflated member", &format!("method {method}")));
            }
        };
        if bytes.len() as u64 != entry.size {
            let (expected, found) = (format!("{} bytes", entry.size), bytes.len().to_string());
            return Err(Error::invalid(format!(
                "{place}: expected {expected} (as the directory states), found {found}"
            )));
        }
        let mut sum = Crc::new();
        sum.update(&bytes);
        if sum.sum() != entry.crc {
            let (expected, found) = (entry.crc, sum.sum());
            return Err(Error::invalid(format!("{place}: expected the checksum {expected:08x}, found {found:08x}")));
        }
        Ok(bytes)
    }
}

/// Inflates `packed`, which stands at byte `at`, into at most one byte more than `size`. Memory grows with what is
/// inflated, not with what the directory states. If memory is limited, what takes much of it goes to a file.
fn inflate(place: &str, at: usize, packed: &[u8], size: u64) -> Result<Bytes<'static>> {
    let unsound = |error: io::Error| broken(place, at, "a sound deflate stream", &error.to_string());
    let mut stream = DeflateDecoder::new(packed).take(size.saturating_add(1));
    // deflate makes at most 1032 bytes of one
    let most = u128::from(size).min(1032 * packed.len() as u128);
    if memory::limit().is_some() && most > u128::from(memory::available() / 8) {
        let mut file = temporary::file()?;
        let (mut some, mut empty) = (vec![0; BLOCK], true);
        loop {
            let read = match stream.read(&mut some).map_err(unsound)? {
                0 if empty => return Ok(Bytes::Inflated(Vec::new())),
                0 => return temporary::mapped(file).map(Bytes::InFile),
                read => read,
            };
            file.write_all(&some[..read]).map_err(Error::io(temporary::place()))?;
            empty = false;
        }
    }
    memory::require(most, || place.to_owned())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(unsound)?;
    Ok(Bytes::Inflated(bytes))
}
