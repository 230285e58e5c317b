//! Parses lines of text in parallel. The text is cut at line ends into pieces, and each piece is parsed into its own
//! list. The reported error is always the first one in the text, whatever the threads did.

use crate::error::printable;
use crate::memory::{Kept, Shortage};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use rayon::prelude::*;

/// The size of a piece in bytes: large enough to make a task's overhead small, small enough to stay in a core's cache.
const PIECE: usize = 1 << 20;

/// A syntax error at a byte of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// The position, in bytes from the start of the text.
    pub at: usize,
    /// What was expected there.
    pub expected: String,
}

/// The reason why parsing stopped, with the byte of the text.
#[derive(Debug, PartialEq)]
pub(super) enum Stop {
    /// A syntax error.
    Fault(Fault),
    /// The entries from this byte on do not fit into memory.
    Shortage(usize, Shortage),
    /// Another thread asked for it.
    Asked,
}

/// Takes the number of bytes that are done. It is an error if the reading is to end.
pub(super) type Done<'d> = &'d (dyn Fn(u64) -> Result<(), Stop> + Sync);

impl Stop {
    /// The same reason, for a text that starts `by` bytes earlier.
    fn later(self, by: usize) -> Self {
        match self {
            Self::Fault(fault) => Self::Fault(Fault { at: by + fault.at, ..fault }),
            Self::Shortage(at, shortage) => Self::Shortage(by + at, shortage),
            Self::Asked => Self::Asked,
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A position in a text. A line feed ends a line; spaces, tabs and carriage returns are blanks.
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t [u8], at: usize) -> Self {
        Self { text, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// The byte at this position; `None` at the end of the text.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips blanks.
    #[inline]
    pub fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips the blanks before a further word of a line, among which no carriage return stands.
    #[inline]
    pub fn blanks_within(&mut self) -> Result<(), Fault> {
        self.blanks();
        self.not_after_return()
    }

    /// Checks that no carriage return precedes this position within a line: the line end of old systems, which is not supported.
    #[inline]
    pub fn not_after_return(&self) -> Result<(), Fault> {
        let mut before = self.at;
        while before > 0 && matches!(self.text[before - 1], b' ' | b'\t') {
            before -= 1;
        }
        if before > 0 && self.text[before - 1] == b'\r' && !self.line_ends() {
            return Err(lone_return(self.at));
        }
        Ok(())
    }

    /// Moves to the end of this line, a comment, in which no carriage return stands alone.
    pub fn skip_comment(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.skip_line();
        let line = self.text[start..self.at].trim_ascii_end();
        let Some(lone) = line.iter().position(|&byte| byte == b'\r') else { return Ok(()) };
        let blanks = line[lone..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        Err(lone_return(start + lone + blanks))
    }

    /// Whether the line or the text ends at this position.
    #[inline]
    pub fn line_ends(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n'))
    }

    /// Moves to the end of this line.
    pub fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    /// Moves over the line feed at this position, if there is one.
    pub fn skip_line_end(&mut self) {
        self.at += usize::from(self.peek() == Some(b'\n'));
    }

    /// Moves to the first word of this line or of a later one, over blank lines. Returns whether there is such a word.
    pub fn next_line(&mut self) -> bool {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    /// Skips blanks and returns the next word of the line; it is empty at the end of the line.
    #[inline]
    pub fn word(&mut self) -> &'t [u8] {
        self.blanks();
        let start = self.at;
        while !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Moves back to the beginning of this line.
    pub fn begin_line(&mut self) {
        self.at = self.text[..self.at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    }

    /// Skips blanks that don't separate columns: a tab may do so.
    pub fn blanks_before(&mut self, separator: Option<u8>) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r') && Some(byte) != separator) {
            self.at += 1;
        }
    }

    /// Takes what stands before the next `separator` of the line, or before the line's end, without blanks around it. Moves behind the
    /// separator.
    pub fn field(&mut self, separator: u8) -> &'t [u8] {
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|&byte| byte == separator || byte == b'\n').unwrap_or(rest.len());
        self.at += end + usize::from(rest.get(end) == Some(&separator));
        rest[..end].trim_ascii()
    }

    /// Reads a word of digits that fits a `u64`. Otherwise returns `None`, and the cursor stays at the word.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        self.blanks();
        match self.text.get(self.at..).and_then(<[u8]>::first_chunk).and_then(short_number) {
            Some((value, digits)) => {
                self.at += digits;
                Some(value)
            }
            None => self.any_number(),
        }
    }

    /// Reads a number of any length, digit by digit.
    fn any_number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // nineteen digits always fit into a `u64`; check for overflow only after them
            value = if self.at - start < 19 {
                value * 10 + u64::from(digit - b'0')
            } else {
                let larger = value.checked_mul(10);
                match larger.and_then(|v| v.checked_add(u64::from(digit - b'0'))) {
                    Some(value) => value,
                    None => {
                        self.at = start;
                        return None;
                    }
                }
            };
            self.at += 1;
        }
        if self.at > start && matches!(self.peek(), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
            return Some(value);
        }
        self.at = start;
        None
    }

    /// Reads a number within `range`. The error calls it `what`.
    #[inline]
    pub fn number_in(&mut self, what: &str, range: core::ops::RangeInclusive<u64>) -> Result<u64, Fault> {
        self.blanks_within()?;
        let at = self.at;
        match self.number() {
            Some(value) if range.contains(&value) => Ok(value),
            _ => Err(outside(at, what, &range)),
        }
    }

    /// Checks that only blanks are left on the line.
    #[inline]
    pub fn end_of_line(&mut self) -> Result<(), Fault> {
        self.blanks();
        if self.line_ends() {
            return Ok(());
        }
        Err(self.fault("the end of the line"))
    }

    /// A syntax error at the next word.
    pub fn fault(&mut self, expected: impl Into<String>) -> Fault {
        self.blanks();
        Fault { at: self.at, expected: expected.into() }
    }
}

/// The error for what follows a carriage return in a line.
#[cold]
fn lone_return(at: usize) -> Fault {
    Fault { at, expected: "a line feed after the carriage return".to_owned() }
}

/// The error for what is no number within `range`.
#[cold]
fn outside(at: usize, what: &str, range: &core::ops::RangeInclusive<u64>) -> Fault {
    Fault { at, expected: format!("{what} from {} to {}", range.start(), range.end()) }
}

/// The number of one to seven digits that begins a text, if a blank follows it, and how many digits it has. All digits are read at once.
#[inline]
fn short_number(text: &[u8; 8]) -> Option<(u64, usize)> {
    // a digit becomes its value; adding 0x76 sets the high bit of all other bytes up to the first of them
    let values = u64::from_le_bytes(*text) ^ 0x3030_3030_3030_3030;
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let digits = others.trailing_zeros() as usize / 8;
    if !(1..8).contains(&digits) || !matches!(text[digits], b' ' | b'\t' | b'\r' | b'\n') {
        return None;
    }
    // eight digits with zeros in front, joined to numbers of two, then four and eight
    let eight = values << (64 - 8 * digits);
    let twos = (eight.wrapping_mul(10)).wrapping_add(eight >> 8);
    let outer = (twos & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let inner = (twos >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    Some((outer.wrapping_add(inner) >> 32, digits))
}

/// The line syntax of a format.
pub(super) trait Lines: Sync {
    /// The result of parsing a line.
    type Entry: Send;

    /// Parses a line from its first word on. Returns `None` for a comment. May leave trailing blanks.
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault>;

    /// Called for each finished piece with the number of its lines that have no words.
    fn piece(&self, blank: usize) {
        let _ = blank;
    }
}

/// Parses the lines of a piece. `kept` accounts for the memory of the entries.
pub(super) fn parse_piece<L: Lines>(lines: &L, text: &[u8], kept: &Kept) -> Result<Vec<L::Entry>, Stop> {
    // counting the lines first is cheap; a list allocated once is never copied and has no unused half
    let most = text.iter().filter(|&&b| b == b'\n').count() + 1;
    let bytes = (most * size_of::<L::Entry>()) as u64;
    kept.keep(bytes).map_err(|shortage| Stop::Shortage(0, shortage))?;
    let mut entries = Vec::new();
    // another process may have taken the memory since
    entries.try_reserve_exact(most).map_err(|_| Stop::Shortage(0, kept.refused(bytes)))?;
    let mut cursor = Cursor::new(text, 0);
    let mut comments = 0;
    while cursor.next_line() {
        match lines.line(&mut cursor)? {
            Some(entry) => {
                entries.push(entry);
                cursor.end_of_line()?;
            }
            None => {
                comments += 1;
                cursor.skip_comment()?;
            }
        }
    }
    let unfinished = usize::from(text.last().is_none_or(|&b| b != b'\n'));
    lines.piece((most - 1 + unfinished).saturating_sub(entries.len() + comments));
    Ok(entries)
}

/// Parses all lines of `text` from byte `start` on, and returns their entries in order, one list per piece. `kept`
/// accounts for the memory of the entries. `done` is called with the number of bytes of each finished piece.
///
/// # Errors
/// The first error in the text, or the place where memory ran out.
pub(super) fn parse<L: Lines>(
    lines: &L,
    text: &[u8],
    start: usize,
    kept: &Kept,
    done: Done<'_>,
) -> Result<Vec<Vec<L::Entry>>, Stop> {
    let work = |_: usize, piece: &[u8]| parse_piece(lines, piece, kept);
    parse_pieces(text, &pieces(text, start..text.len()), done, &work)
}

/// Cuts a range of `text`, which begins and ends at line ends, into pieces that do so too.
pub(super) fn pieces(text: &[u8], Range { mut start, end }: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity((end.saturating_sub(start)) / PIECE + 1);
    while start < end {
        // the last line of a range ends with its last byte
        let mut cursor = Cursor::new(text, (start + PIECE).min(end - 1));
        cursor.skip_line();
        let stop = (cursor.at() + 1).min(end);
        pieces.push(start..stop);
        start = stop;
    }
    pieces
}

/// The part of `text` from byte `start` on that is the `number`-th of `of` parts, which begin and end at line ends. Parts have about the same
/// length; one may be empty.
pub(super) fn part(text: &[u8], start: usize, (number, of): (usize, usize)) -> Range<usize> {
    let length = (text.len() - start) as u128;
    let cut = |k: usize| {
        let at = start + (length * k as u128 / of as u128) as usize;
        if at == start || k == of {
            return at;
        }
        // a line that begins here is not cut
        let mut cursor = Cursor::new(text, at - 1);
        cursor.skip_line();
        (cursor.at() + 1).min(text.len())
    };
    cut(number)..cut(number + 1)
}

/// Parses the `pieces` of `text` in parallel by `work`, which takes a piece's number and text. Returns the entries in
/// order, one list per piece.
///
/// # Errors
/// The first error in the text.
pub(super) fn parse_pieces<E: Send>(
    text: &[u8],
    pieces: &[Range<usize>],
    done: Done<'_>,
    work: &(impl Fn(usize, &[u8]) -> Result<Vec<E>, Stop> + Sync),
) -> Result<Vec<Vec<E>>, Stop> {
    // pieces after a faulty one need not be parsed; pieces before it must be, because the first error is the one to
    // report
    let faulty = AtomicUsize::new(usize::MAX);
    let parsed: Vec<_> = pieces
        .par_iter()
        .enumerate()
        .map(|(number, piece)| {
            if number > faulty.load(Relaxed) {
                return Ok(Vec::new());
            }
            let entries = work(number, &text[piece.clone()]).map_err(|stop| stop.later(piece.start));
            let entries = done(piece.len() as u64).and(entries);
            if entries.is_err() {
                faulty.fetch_min(number, Relaxed);
            }
            entries
        })
        .collect();
    parsed.into_iter().collect()
}

/// The line (from 0) of byte `at`, and the position in the line (in bytes, from 1).
pub(super) fn locate(text: &[u8], at: usize) -> (u64, u64) {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count();
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
    (line as u64, (before.len() - start + 1) as u64)
}

/// The word at byte `at` for an error message: shortened, with unprintable bytes escaped.
pub(super) fn found(text: &[u8], at: usize) -> String {
    let mut cursor = Cursor::new(text, at.min(text.len()));
    match cursor.peek() {
        None => return "the end of the file".into(),
        Some(b'\n' | b'\r') => return "the end of the line".into(),
        Some(_) => {}
    }
    let word = cursor.word();
    let shown = &word[..word.len().min(40)];
    let more = if shown.len() < word.len() { "..." } else { "" };
    format!("`{}{more}`", printable(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl Lines for Numbers {
        type Entry = u64;
        fn line(&self, line: &mut Cursor<'_>) -> Result<Option<u64>, Fault> {
            if line.peek() == Some(b'#') {
                return Ok(None);
            }
            line.number().map(Some).ok_or_else(|| line.fault("a number"))
        }
    }

    #[test]
    fn lines_end_in_many_ways() {
        let text = b"\n 1 \r\n\n# a b\n18446744073709551615\n\t3";
        let parsed = parse(&Numbers, text, 0, &Kept::default(), &|_| Ok(())).unwrap();
        assert_eq!(parsed.concat(), [1, u64::MAX, 3]);
    }

    #[test]
    fn parts_are_the_whole_text() {
        for text in [&b"1\n22\n\n333\n4"[..], b"1\n", b"7", b"", b"\n\n\n", b"123456789\n1\n"] {
            for start in 0..=text.len() {
                for of in 1..9 {
                    let parts: Vec<_> = (0..of).map(|number| part(text, start, (number, of))).collect();
                    assert_eq!((parts[0].start, parts[of - 1].end), (start, text.len()));
                    for pair in parts.windows(2) {
                        assert_eq!(pair[0].end, pair[1].start);
                        assert!(pair[0].end == start || pair[0].end == text.len() || text[pair[0].end - 1] == b'\n');
                    }
                    let cut = parts.iter().flat_map(|part| pieces(text, part.clone())).collect::<Vec<_>>();
                    let joined: Vec<u8> = cut.iter().flat_map(|piece| text[piece.clone()].to_vec()).collect();
                    assert_eq!(joined, text[start..]);
                }
            }
        }
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for digits in 1..=20u32 {
            let power = 10u128.pow(digits - 1);
            for number in [power, power * 10 - 1, power * 123_456_789 / 100_000_000] {
                for end in ["", " ", "\n", "\t1", "\r\n", "x", ".5", "\0", "\u{b9}", " 12345678"] {
                    let text = format!("{number}{end}");
                    let fits = u64::try_from(number).ok().filter(|_| !["x", ".5", "\0", "\u{b9}"].contains(&end));
                    let mut cursor = Cursor::new(text.as_bytes(), 0);
                    let left = if fits.is_some() { number.to_string().len() } else { 0 };
                    assert_eq!((cursor.number(), cursor.at()), (fits, left), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_fault_is_told() {
        let fault = |at, expected: &str| Stop::Fault(Fault { at, expected: expected.into() });
        let wrong = |text: &[u8]| parse(&Numbers, text, 0, &Kept::default(), &|_| Ok(())).unwrap_err();
        assert_eq!(wrong(b"1\n2 3\nx"), fault(4, "the end of the line"));
        assert_eq!(wrong(b"18446744073709551616\n"), fault(0, "a number"));
        assert_eq!(wrong(b"1.5"), fault(0, "a number"));
        let mut long = b"1234567\n".repeat(1 << 19);
        for place in [3 << 20, 2 << 20, 5 << 18] {
            long[place] = b'x';
            assert_eq!(wrong(&long), fault(place, "a number"));
        }
        assert_eq!(locate(&long, 5 << 18), ((5 << 18) / 8, 1));
        assert_eq!(found(&long, 5 << 18), "`x234567`");
        assert_eq!(found(b"\xff\x00a b", 0), "`\\xff\\x00a`");
        assert_eq!(found("\u{200b}1".as_bytes(), 0), "`\\u{200b}1`");
    }
}
