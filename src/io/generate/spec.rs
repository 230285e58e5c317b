//! Parses specifications of generated graphs.

use crate::error::{Error, Result};
use crate::formats::MAX_VERTICES;
use crate::io::generate::{SPECIFICATIONS, memory};

/// A specification, parsed part by part. Parts are separated by colons.
pub(super) struct Spec<'t> {
    pub text: &'t str,
    family: &'t str,
    pieces: core::iter::Skip<core::str::Split<'t, char>>,
}

impl<'t> Spec<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, family: text.split(':').next().unwrap_or_default(), pieces: text.split(':').skip(1) }
    }

    pub fn family(&self) -> &'t str {
        self.family
    }

    fn error(&self, expected: impl Into<String>, found: Option<&str>) -> Error {
        Error::Spec {
            spec: self.text.to_owned(),
            expected: expected.into(),
            found: found.map_or("nothing".to_owned(), |piece| format!("`{piece}`")),
        }
    }

    fn number(&self, piece: Option<&str>, what: &str, most: u64) -> Result<u64> {
        let number = piece.and_then(|text| text.parse().ok());
        number.filter(|&number| number <= most).ok_or_else(|| self.error(format!("{what} from 0 to {most}"), piece))
    }

    /// The next part as a number, at most `most`. Errors call it `what`.
    pub fn count(&mut self, what: &str, most: u64) -> Result<u64> {
        let piece = self.pieces.next();
        self.number(piece, what, most)
    }

    /// The next part as the binary logarithm of the number of vertices.
    pub fn scale(&mut self) -> Result<u32> {
        let piece = self.pieces.next();
        if let Some(scale @ 32..128) = piece.and_then(|text| text.parse::<u32>().ok()) {
            self.vertices(1 << scale)?;
        }
        Ok(self.number(piece, "a scale", 31)? as u32)
    }

    /// The next part as two side lengths, `ROWSxCOLUMNS`.
    pub fn sides(&mut self) -> Result<(u64, u64)> {
        let piece = self.pieces.next();
        let Some((rows, columns)) = piece.and_then(|text| text.split_once('x')) else {
            return Err(self.error("ROWSxCOLUMNS", piece));
        };
        let most = MAX_VERTICES as u64;
        let rows = self.number(Some(rows), "a number of rows", most)?;
        let columns = self.number(Some(columns), "a number of columns", most)?;
        self.vertices(u128::from(rows) * u128::from(columns))?;
        Ok((rows, columns))
    }

    /// The seed, which may be the last part; 1 if it is missing. No part may follow.
    pub fn seed(&mut self) -> Result<u64> {
        let seed = match self.pieces.next() {
            None => 1,
            piece => self.number(piece, "a seed", u64::MAX)?,
        };
        match self.pieces.next() {
            None => Ok(seed),
            more => Err(self.error("nothing after the seed", more)),
        }
    }

    /// Checks that `count` vertices can be numbered.
    pub fn vertices(&self, count: u128) -> Result<()> {
        if count <= MAX_VERTICES as u128 {
            return Ok(());
        }
        Err(Error::TooManyVertices { place: self.text.to_owned(), count, limit: MAX_VERTICES as u64 })
    }

    /// Checks that `bytes` of memory are available.
    pub fn require(&self, bytes: u128) -> Result<()> {
        memory::require(bytes, || self.text.to_owned())
    }

    /// The error for an unknown family.
    pub fn unknown(&self, besides: &str) -> Error {
        let families = SPECIFICATIONS.join(", ");
        self.error(format!("{besides}one of {families}"), Some(self.family))
    }
}
