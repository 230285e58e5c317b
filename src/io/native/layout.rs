//! The header of a native file, and where its sections lie. docs/formats.md shows every byte.

use crate::error::{Error, Result, printable};
use crate::formats::MAX_VERTICES;
use crate::io::binary::broken;
use crate::io::value::listed;
use crate::io::vertex_names::is_name;
use core::fmt;
use core::ops::Range;
use vxm_semiring::Fields;
use vxm_semiring::dynamic::Kind;

/// The first bytes of a native file. Like PNG's, they change if a transfer converts line ends or clears high bits.
pub const MAGIC: [u8; 8] = *b"\x89VXM\r\n\x1a\n";

/// The number that tells the order of bytes.
const ORDER: u32 = 0x0102_0304;

/// The greatest version of the layout that this release reads. Files of structs and of 16-bit floats have version 3, others with names
/// version 2, and all others version 1.
const VERSION: u32 = 3;

/// The size of the header, and the alignment of sections, in bytes.
pub const PAGE: usize = 4096;

/// The bytes that one checksum covers.
pub const PART: usize = 16 << 20;

/// The bits of the header's flags.
const SYMMETRIC: u32 = 1;
const LOOPLESS: u32 = 2;
const SORTED: u32 = 4;
const LISTED: u32 = 8;
const NAMED: u32 = 16;

/// The places of the header's fields that messages name.
const VERSION_AT: usize = 12;
const ELEMENT_AT: usize = 16;
const FLAGS_AT: usize = 20;
const ROWS_AT: usize = 24;
const FIRST_AT: usize = 48;
const PART_AT: usize = 56;
const SECTIONS_AT: usize = 64;
const TYPES_AT: usize = 112;
const TABLE_SUM_AT: usize = 4088;
const HEADER_SUM_AT: usize = 4092;

/// The types of entries that have a code of their own, which is the place here. The first is a pattern, which has no values.
pub const ELEMENTS: [&str; 14] =
    ["pattern", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "f16", "bf16"];

/// The code of a struct. The header lists its fields.
const STRUCT: usize = ELEMENTS.len();

/// The least code of types that came with version 3.
const LATER: usize = 12;

/// The most bytes of a value.
const MOST: usize = 16;

/// The code of the kind of a number.
fn code(kind: Kind) -> usize {
    ELEMENTS.iter().position(|&name| name == kind.name()).unwrap_or(0)
}

/// The type of a file's values: none for a pattern, one field without a name for a number, or the names and kinds of a struct's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type(pub Vec<(String, Kind)>);

impl Type {
    /// The type of elements.
    pub fn of<T: Fields>() -> Self {
        Self(match T::FIELDS {
            [] => Vec::new(),
            // a struct of one field is held as a number
            [one] => vec![(String::new(), one.kind)],
            fields => fields.iter().map(|field| (field.name.to_owned(), field.kind)).collect(),
        })
    }

    fn code(&self) -> usize {
        match &self.0[..] {
            [] => 0,
            [(_, kind)] => code(*kind),
            _ => STRUCT,
        }
    }

    /// The size of a value in bytes.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, kind)| kind.size()).sum()
    }

    /// The first byte of each field, and its kind.
    pub fn places(&self) -> impl Iterator<Item = (usize, Kind)> {
        self.0.iter().scan(0, |at, &(_, kind)| {
            let place = (*at, kind);
            *at += kind.size();
            Some(place)
        })
    }

    /// What the header says of a struct's fields: how many there are, and for each its code, the length of its name, and its name.
    /// Nothing for all other types.
    fn table(&self) -> Vec<u8> {
        if self.code() != STRUCT {
            return Vec::new();
        }
        let mut table = (self.0.len() as u32).to_le_bytes().to_vec();
        for (name, kind) in &self.0 {
            table.extend([code(*kind) as u8, name.len() as u8]);
            table.extend(name.as_bytes());
        }
        table
    }

    /// Whether the header has room for the fields.
    pub fn fits(&self) -> bool {
        self.table().len() <= TABLE_SUM_AT - TYPES_AT && self.0.iter().all(|(name, _)| name.len() <= u8::MAX.into())
    }

    /// The fields that the table says, and the bytes that it takes; where it is wrong, what is expected there, and what is found.
    fn parse(table: &[u8]) -> Result<(Self, usize), (usize, String, String)> {
        let most = MOST as u32;
        let count = table.first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes));
        let byte = |at: usize| table.get(at).copied().unwrap_or(0);
        if !(2..=most).contains(&count) {
            return Err((0, format!("2 to {most} fields of a struct"), count.to_string()));
        }
        let (mut at, mut fields, mut size) = (4, Vec::<(String, Kind)>::new(), 0);
        for _ in 0..count {
            let known = |&code: &u8| (1..STRUCT).contains(&code.into());
            let code = table.get(at).filter(|code| known(code)).map(|&code| usize::from(code));
            let kind = code.and_then(|code| Kind::named(ELEMENTS[code]));
            let kind = kind
                .ok_or_else(|| (at, format!("the type of a field, from 1 to {}", STRUCT - 1), byte(at).to_string()))?;
            let end = at + 2 + table.get(at + 1).map_or(0, |&length| usize::from(length));
            let bytes = table.get(at + 2..end).unwrap_or_default();
            let is_new = |name: &&str| is_name(name) && fields.iter().all(|(other, _)| other != name);
            let name = core::str::from_utf8(bytes)
                .ok()
                .filter(is_new)
                .ok_or_else(|| (at + 2, "the name of another field".to_owned(), format!("`{}`", printable(bytes))))?;
            if size % kind.size() != 0 {
                return Err((at, "fields without padding between them".to_owned(), kind.name().to_owned()));
            }
            size += kind.size();
            fields.push((name.to_owned(), kind));
            at = end;
        }
        if size > MOST || !size.is_power_of_two() {
            return Err((4, format!("fields of 2, 4, 8 or {MOST} bytes"), size.to_string()));
        }
        Ok((Self(fields), at))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code() {
            STRUCT => f.write_str(&listed(&self.0)),
            code => f.write_str(ELEMENTS[code]),
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub element: Type,
    /// Whether the matrix equals its transpose.
    pub symmetric: bool,
    /// Whether the diagonal is empty.
    pub loopless: bool,
    /// Whether the vertices' numbers are listed.
    pub listed: bool,
    /// The bytes of all names, if vertices have names.
    pub named: Option<usize>,
    pub rows: usize,
    pub columns: usize,
    pub entries: usize,
    /// The number of the first vertex, where vertices have no names and numbers aren't listed.
    pub first: u64,
}

impl Facts {
    /// The version of the layout that holds this.
    fn version(&self) -> u32 {
        match self.named {
            _ if self.element.code() >= LATER => 3,
            Some(_) => 2,
            None => 1,
        }
    }

    fn flags(&self) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let labels = flag(self.listed, LISTED) | flag(self.named.is_some(), NAMED);
        flag(self.symmetric, SYMMETRIC) | flag(self.loopless, LOOPLESS) | SORTED | labels
    }
}

/// What a file holds, and the bytes of each section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub facts: Facts,
    /// A checksum for each part, padded with zeros to a page. Parts cover what follows, padding included.
    pub sums: Range<usize>,
    pub offsets: Range<usize>,
    pub columns: Range<usize>,
    pub values: Range<usize>,
    pub labels: Range<usize>,
}

impl Layout {
    /// The layout of a file; `None` if it is too large for this machine to address.
    pub fn of(facts: Facts) -> Option<Self> {
        let section = |from: usize, count: usize, bytes: usize| {
            let end = from.checked_add(count.checked_mul(bytes)?)?;
            Some((from..end, end.checked_next_multiple_of(PAGE)?))
        };
        let labels = match facts.named {
            Some(bytes) => facts.rows.checked_add(1)?.checked_mul(8)?.checked_add(bytes)?,
            None if facts.listed => facts.rows.checked_mul(8)?,
            None => 0,
        };
        // behind the table; its size follows from theirs
        let (offsets, next) = section(0, facts.rows.checked_add(1)?, 8)?;
        let (columns, next) = section(next, facts.entries, 4)?;
        let (values, next) = section(next, facts.entries, facts.element.bytes())?;
        let (labels, end) = section(next, labels, 1)?;
        let (sums, data) = section(PAGE, end.div_ceil(PART), 4)?;
        isize::try_from(data.checked_add(end)?).ok()?;
        let behind = |range: Range<usize>| range.start + data..range.end + data;
        let [offsets, columns, values, labels] = [offsets, columns, values, labels].map(behind);
        Some(Self { facts, sums: sums.start..data, offsets, columns, values, labels })
    }

    /// The size of the file in bytes.
    pub fn end(&self) -> usize {
        self.labels.end.next_multiple_of(PAGE)
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        (self.end() - self.sums.end).div_ceil(PART)
    }

    /// The bytes of a part.
    pub fn part(&self, part: usize) -> Range<usize> {
        let start = self.sums.end + part * PART;
        start..self.end().min(start + PART)
    }

    /// The sections and their names, in the order of the file.
    pub fn sections(&self) -> [(&'static str, &Range<usize>); 5] {
        [
            ("checksums", &self.sums),
            ("offsets", &self.offsets),
            ("columns", &self.columns),
            ("values", &self.values),
            ("labels", &self.labels),
        ]
    }

    /// The names of the sections that share bytes with `range`.
    pub fn names(&self, range: &Range<usize>) -> String {
        let met = |&(_, section): &(_, &Range<usize>)| section.start < range.end && range.start < section.end;
        self.sections().into_iter().filter(met).map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    }

    /// The header, given the section of checksums.
    pub fn header(&self, sums: &[u8]) -> Vec<u8> {
        let facts = &self.facts;
        let mut header = MAGIC.to_vec();
        for number in [ORDER, facts.version(), facts.element.code() as u32, facts.flags()] {
            header.extend(number.to_le_bytes());
        }
        let sizes = [facts.rows, facts.columns, facts.entries].map(|size| size as u64);
        let sections = self.sections().map(|(_, section)| section.start as u64);
        let first = facts.named.map_or(facts.first, |bytes| bytes as u64);
        let sizes = sizes.into_iter().chain([first, PART as u64]).chain(sections).chain([self.end() as u64]);
        sizes.for_each(|number| header.extend(number.to_le_bytes()));
        header.extend(facts.element.table());
        header.resize(TABLE_SUM_AT, 0);
        header.extend(crc32fast::hash(sums).to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        header
    }

    /// Reads the header of `file` and checks all of it: the section of checksums, and that the file has all of its sections. Reads no other
    /// section.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        let header = header(file, bytes)?;
        let facts = facts(file, header)?;
        let found = format!("{} rows and {} entries", facts.rows, facts.entries);
        let layout =
            Self::of(facts).ok_or_else(|| broken(file, ROWS_AT, "sizes that this machine can address", &found))?;
        let stated = layout.sections().map(|(name, section)| (name, section.start));
        let stated = stated.into_iter().chain([("end", layout.end())]).zip((SECTIONS_AT..).step_by(8));
        for ((name, expected), at) in stated {
            let found = long(header, at);
            if found != expected as u64 {
                return Err(broken(
                    file,
                    at,
                    &format!("{expected}, the place of the section `{name}`"),
                    &found.to_string(),
                ));
            }
        }
        layout.check_size(file, bytes.len())?;
        let (found, stated) = (crc32fast::hash(&bytes[layout.sums.clone()]), word(header, TABLE_SUM_AT));
        if found != stated {
            return Err(layout.damaged(file, &layout.sums, stated, found));
        }
        Ok(layout)
    }

    fn check_size(&self, file: &str, found: usize) -> Result<()> {
        let end = self.end();
        if found == end {
            return Ok(());
        }
        let cut = self.sections().into_iter().find(|(_, section)| section.end > found);
        let cut = cut.map_or("behind the last section", |(name, _)| name);
        let whole = format!("a file of {end} bytes");
        match found < end {
            true => Err(broken(file, found, &whole, &format!("its end (section: {cut})"))),
            false => Err(broken(file, end, &whole, &format!("{} more", found - end))),
        }
    }

    /// The error that the bytes `range` don't have the checksum that is stated.
    pub fn damaged(&self, file: &str, range: &Range<usize>, stated: u32, found: u32) -> Error {
        let (start, last, names) = (range.start, range.end.saturating_sub(1), self.names(range));
        Error::invalid(format!(
            "{file}: bytes {start} to {last} ({names}): expected checksum {stated:08x}, found {found:08x}: the file is damaged"
        ))
    }
}

/// The number of four bytes at byte `at`, which the header has.
fn word(header: &[u8; PAGE], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The number of eight bytes at byte `at`, which the header has.
fn long(header: &[u8; PAGE], at: usize) -> u64 {
    u64::from(word(header, at)) | u64::from(word(header, at + 4)) << 32
}

/// The header's bytes, after checking its mark, order of bytes, version and checksum.
fn header<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b [u8; PAGE]> {
    if !bytes.starts_with(&MAGIC) {
        let start = &bytes[..bytes.len().min(MAGIC.len())];
        let found = if start.is_empty() { "an empty file".to_owned() } else { format!("{:02x?}", start) };
        return Err(broken(file, 0, &format!("the mark of a vxm file, {MAGIC:02x?}"), &found));
    }
    let header = bytes
        .first_chunk::<PAGE>()
        .ok_or_else(|| broken(file, bytes.len(), &format!("a header of {PAGE} bytes"), "the end of the file"))?;
    let order = word(header, MAGIC.len());
    if order == ORDER.swap_bytes() {
        return Err(broken(file, MAGIC.len(), "numbers with their low byte first", "their high byte first"));
    }
    if order != ORDER {
        return Err(broken(file, MAGIC.len(), &format!("{ORDER:08x}, the order of bytes"), &format!("{order:08x}")));
    }
    let version = word(header, VERSION_AT);
    if !(1..=VERSION).contains(&version) {
        let newer = if version > VERSION { " (a newer release of vxm wrote it)" } else { "" };
        return Err(broken(
            file,
            VERSION_AT,
            &format!("a version up to {VERSION}"),
            &format!("version {version}{newer}"),
        ));
    }
    let (found, stated) = (crc32fast::hash(&header[..HEADER_SUM_AT]), word(header, HEADER_SUM_AT));
    if found != stated {
        let last = HEADER_SUM_AT - 1;
        let sums = format!("expected checksum {stated:08x}, found {found:08x}: the file is damaged");
        return Err(Error::invalid(format!("{file}: bytes 0 to {last} (header): {sums}")));
    }
    if cfg!(target_endian = "big") {
        return Err(broken(file, MAGIC.len(), "a machine that stores the low byte first", "another"));
    }
    Ok(header)
}

/// The type of entries, and the end of what the header says of it.
fn element(file: &str, header: &[u8; PAGE], version: u32) -> Result<(Type, usize)> {
    let found = word(header, ELEMENT_AT) as usize;
    let last = if version >= 3 { STRUCT } else { LATER - 1 };
    match found {
        0 => Ok((Type(Vec::new()), TYPES_AT)),
        STRUCT if last == STRUCT => {
            let table = Type::parse(&header[TYPES_AT..TABLE_SUM_AT]);
            let (element, bytes) =
                table.map_err(|(at, expected, found)| broken(file, TYPES_AT + at, &expected, &found))?;
            Ok((element, TYPES_AT + bytes))
        }
        _ => {
            let kind = ELEMENTS.get(found).filter(|_| found <= last).and_then(|name| Kind::named(name));
            let known = format!("an element type from 0 to {last}");
            let kind = kind.ok_or_else(|| broken(file, ELEMENT_AT, &known, &found.to_string()))?;
            Ok((Type(vec![(String::new(), kind)]), TYPES_AT))
        }
    }
}

/// What the header says that the file holds.
fn facts(file: &str, header: &[u8; PAGE]) -> Result<Facts> {
    let version = word(header, VERSION_AT);
    let (element, types) = element(file, header, version)?;
    let flags = word(header, FLAGS_AT);
    let names = if version >= 2 { NAMED } else { 0 };
    let known = SYMMETRIC | LOOPLESS | SORTED | LISTED | names;
    if flags & !known != 0 || flags & SORTED == 0 || flags & (LISTED | NAMED) == LISTED | NAMED {
        let expected = format!("flags of {known:#x}, with {SORTED:#x} set");
        return Err(broken(file, FLAGS_AT, &expected, &format!("{flags:#x}")));
    }
    let (part, rest) = (long(header, PART_AT), &header[types..TABLE_SUM_AT]);
    if part != PART as u64 {
        return Err(broken(file, PART_AT, &format!("parts of {PART} bytes"), &part.to_string()));
    }
    if let Some(at) = rest.iter().position(|&byte| byte != 0) {
        return Err(broken(file, types + at, "0", &rest[at].to_string()));
    }
    let [rows, columns, entries] = [0, 8, 16].map(|at| long(header, ROWS_AT + at));
    let count = rows.max(columns);
    if count > MAX_VERTICES as u64 {
        let place = format!("{file}: byte {ROWS_AT}");
        return Err(Error::TooManyVertices { place, count: count.into(), limit: MAX_VERTICES as u64 });
    }
    let symmetric = flags & SYMMETRIC != 0;
    if symmetric && rows != columns {
        let expected = format!("{rows} columns of a symmetric matrix");
        return Err(broken(file, ROWS_AT + 8, &expected, &columns.to_string()));
    }
    let named = flags & NAMED != 0;
    let first = long(header, FIRST_AT);
    if named && usize::try_from(first).is_err() {
        return Err(broken(file, FIRST_AT, "bytes of names that this machine can address", &first.to_string()));
    }
    if first.checked_add(count).is_none() {
        return Err(broken(file, FIRST_AT, "a first number that leaves room for all vertices", &first.to_string()));
    }
    let too_many =
        || broken(file, ROWS_AT + 16, "a number of entries that this machine can address", &entries.to_string());
    Ok(Facts {
        element,
        symmetric,
        loopless: flags & LOOPLESS != 0,
        listed: flags & LISTED != 0,
        named: named.then_some(first as usize),
        rows: rows as usize,
        columns: columns as usize,
        entries: usize::try_from(entries).map_err(|_| too_many())?,
        first: if named { 0 } else { first },
    })
}
