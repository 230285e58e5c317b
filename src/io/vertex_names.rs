//! Names of vertices, where a file has names instead of numbers.

use crate::error::printable;
use core::fmt;
use std::sync::Arc;

/// The names of a graph's vertices, ascending by their bytes. Clones share them.
#[derive(Clone, PartialEq, Eq)]
pub struct VertexNames(Arc<Text>);

#[derive(PartialEq, Eq)]
struct Text {
    /// All names, one behind the other.
    text: String,
    /// Where each name begins, and where the last one ends.
    starts: Vec<u64>,
}

impl VertexNames {
    /// The names of vertices in ascending order.
    ///
    /// ```
    /// use vxm::io::VertexNames;
    /// let names = VertexNames::of(["Ann", "Bob"]).unwrap();
    /// assert_eq!((names.name(1), names.vertex("Bob"), names.vertex("Eve"), names.len()), ("Bob", Some(1), None, 2));
    /// assert!(VertexNames::of(["Bob", "Ann"]).is_none());
    /// ```
    ///
    /// `None` if they don't strictly ascend, or if one is no name: it is empty or has control characters, such as tabs.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let (mut text, mut starts) = (String::new(), vec![0]);
        for name in names {
            text.push_str(name);
            starts.push(text.len() as u64);
        }
        let names = Self(Arc::new(Text { text, starts }));
        names.first_wrong().is_none().then_some(names)
    }

    /// The names of `numbered`, which come in any order with a number each, and the vertex that each number stands for. The numbers are those
    /// from 0 on. `None` for names as [`of`](Self::of) says.
    pub(super) fn numbered(numbered: impl Iterator<Item = (Box<str>, u32)>) -> (Option<Self>, Vec<u32>) {
        let mut names: Vec<(Box<str>, u32)> = numbered.collect();
        names.sort_unstable();
        let mut vertices = vec![0; names.len()];
        names.iter().zip(0..).for_each(|((_, number), vertex)| vertices[*number as usize] = vertex);
        (Self::of(names.iter().map(|(name, _)| &**name)), vertices)
    }

    /// The names that [`bytes`](Self::bytes) stand for, of `count` vertices. The error is the place of the first byte that is wrong, and what
    /// was expected there.
    pub(super) fn from_bytes(bytes: &[u8], count: usize) -> Result<Self, (usize, String)> {
        let (table, text) = bytes.split_at(8 * (count + 1));
        let number = |place: usize| table[8 * place..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let starts: Vec<u64> = (0..=count).map(number).collect();
        if starts[0] != 0 {
            return Err((0, "0, the place of the first name".to_owned()));
        }
        if let Some(place) = starts.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err((8 * (place + 1), format!("a place above {}", starts[place])));
        }
        if starts[count] != text.len() as u64 {
            return Err((8 * count, format!("{}, the bytes of all names", text.len())));
        }
        let text =
            core::str::from_utf8(text).map_err(|error| (table.len() + error.valid_up_to(), "UTF-8".to_owned()))?;
        let cut = (0..count).find(|&place| !text.is_char_boundary(starts[place] as usize));
        if let Some(place) = cut {
            return Err((8 * place, "a place where a character begins".to_owned()));
        }
        let names = Self(Arc::new(Text { text: text.to_owned(), starts }));
        match names.first_wrong() {
            Some(v) => Err((table.len() + names.0.starts[v] as usize, "a name greater than the one before".to_owned())),
            None => Ok(names),
        }
    }

    /// The first name that is none, or not greater than the one before.
    fn first_wrong(&self) -> Option<usize> {
        let name = |v: usize| self.name(v as u32);
        (0..self.len()).find(|&v| !is_name(name(v)) || (v > 0 && name(v - 1) >= name(v)))
    }

    /// Where each name begins and the last one ends, as numbers of 8 bytes, and the names behind them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let starts = self.0.starts.iter().flat_map(|start| start.to_le_bytes());
        starts.chain(self.0.text.bytes()).collect()
    }

    /// The bytes of all names.
    pub(super) fn text_len(&self) -> usize {
        self.0.text.len()
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.0.starts.len() - 1
    }

    /// Whether there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a vertex.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn name(&self, vertex: u32) -> &str {
        let place = vertex as usize;
        &self.0.text[self.0.starts[place] as usize..self.0.starts[place + 1] as usize]
    }

    /// The vertex of this name; `None` if there is none. O(log n) time.
    pub fn vertex(&self, name: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low.midpoint(high);
            if self.name(middle) < name { low = middle + 1 } else { high = middle }
        }
        ((low as usize) < self.len() && self.name(low) == name).then_some(low)
    }
}

impl fmt::Debug for VertexNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.len() as u32).map(|vertex| self.name(vertex))).finish()
    }
}

/// Whether a text may be a name: tabs and line ends separate names from what else stands in a file.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

/// A name for a message: its first characters.
pub(super) fn shortened(text: &str) -> String {
    first(text, 40)
}

/// A library's message within a message of ours: a line of its first characters. It may have text of the file.
#[cfg(any(feature = "graphml", feature = "parquet"))]
pub(super) fn told(text: &str) -> String {
    first(text, 200)
}

/// The first `most` characters, in one line.
fn first(text: &str, most: usize) -> String {
    let shown: String = text.chars().take(most).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{}{more}", printable(shown.as_bytes()))
}

/// What a file calls a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label<'n> {
    /// A number.
    Number(u64),
    /// A name, in a file that has names instead of numbers.
    Name(&'n str),
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
