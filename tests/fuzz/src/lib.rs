//! What the fuzz targets share.

/// Reads numbers off the input; zeros behind its end.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `end`, of the next byte.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.next()) % end
    }

    /// A number of the next eight bytes.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.next()))
    }
}
