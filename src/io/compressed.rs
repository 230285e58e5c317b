//! Streams that are decompressed while they are read: gzip and zstd.

use crate::error::printable;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE, FrameDecoder};
use std::io::{self, BufRead, ErrorKind, Read};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

/// The first bytes of a gzip stream, and of a zstd stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Compression {
    /// The number of bytes that tell the compression.
    pub const LONGEST_MARK: u64 = ZSTD.len() as u64;

    /// The compression that the first bytes of a file tell.
    pub fn of(start: &[u8]) -> Option<Self> {
        match () {
            () if start.starts_with(&GZIP) => Some(Self::Gzip),
            () if start.starts_with(&ZSTD) => Some(Self::Zstd),
            () => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The text of a gzip file: of all its members in sequence. Zero bytes may follow the last member as padding.
pub(super) struct Members<R>(Option<GzDecoder<R>>);

/// The bytes after a gzip stream that are neither a member nor zeros.
#[derive(Debug, thiserror::Error)]
#[error("`{0}`")]
pub(super) struct Trailing(String);

impl<R: BufRead> Members<R> {
    pub fn of(bytes: R) -> Self {
        Self(Some(GzDecoder::new(bytes)))
    }

    /// Moves on to the member after one that has ended, if there is one.
    fn after(mut bytes: R) -> io::Result<Self> {
        loop {
            let next = bytes.fill_buf()?;
            let zeros = next.iter().take_while(|&&b| b == 0).count();
            match next.get(zeros) {
                None if zeros == 0 => return Ok(Self(None)),
                None => bytes.consume(zeros),
                Some(&first) if zeros == 0 && first == GZIP[0] => return Ok(Self::of(bytes)),
                Some(_) => {
                    let found = printable(&next[zeros..next.len().min(zeros + 20)]);
                    return Err(io::Error::new(ErrorKind::InvalidData, Trailing(found)));
                }
            }
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            match member.read(buffer)? {
                0 if !buffer.is_empty() => {
                    *self = self.0.take().map_or(Ok(Self(None)), |m| Self::after(m.into_inner()))?
                }
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

/// The text of a zstd file: of all its frames in sequence. Skippable frames are skipped.
pub(super) struct Frames<R> {
    bytes: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun and not ended.
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    /// The size of a window that every frame may ask for, whatever the size of the file.
    const SMALL_WINDOW: u64 = 8 << 20;

    /// The text of a file of `length` bytes, or of any number if `length` is 0. A window, which is memory, is limited to
    /// sixteen times the length.
    pub fn of(bytes: R, length: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        let window = if length == 0 { DEFAULT_MAX_WINDOW_SIZE } else { length.saturating_mul(16) };
        decoder.set_max_window_size(window.clamp(Self::SMALL_WINDOW, DEFAULT_MAX_WINDOW_SIZE));
        Self { bytes, decoder, inside: false }
    }

    /// The error of the decoder as one of reading; at the end of the file it is a stream that is cut.
    fn broken(&mut self, error: &FrameDecoderError) -> io::Error {
        match self.bytes.fill_buf() {
            Ok([]) => ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::new(ErrorKind::InvalidData, error.to_string()),
            Err(error) => error,
        }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let next = self.bytes.fill_buf()?;
            if next.is_empty() {
                return Ok(false);
            }
            let found = printable(&next[..next.len().min(20)]);
            match self.decoder.init(&mut self.bytes) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut self.bytes.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(_))) => {
                    return Err(io::Error::new(ErrorKind::InvalidData, Trailing(found)));
                }
                Err(error) => return Err(self.broken(&error)),
            }
        }
    }

    /// Checks the sum of a frame that has ended, if it has one.
    fn check(&self) -> io::Result<()> {
        let (stated, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if stated.is_some() && stated != found {
            return Err(io::Error::new(ErrorKind::InvalidData, "a wrong checksum"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                self.inside = self.begin()?;
                if !self.inside {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self.decoder.decode_blocks(&mut self.bytes, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(|error| self.broken(&error))?;
            }
            match self.decoder.read(buffer)? {
                0 => {
                    self.check()?;
                    self.inside = false;
                }
                read => return Ok(read),
            }
        }
    }
}
