//! Temporary files, for what is larger than the memory. They have no names, so nothing is left behind.

use crate::error::{Error, Result};
use crate::memory;
use memmap2::Mmap;
use std::env::temp_dir;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Where temporary files lie, for messages.
pub(super) fn place() -> String {
    format!("a temporary file in {}", temp_dir().display())
}

/// A new file.
pub(super) fn file() -> Result<File> {
    tempfile::tempfile().map_err(Error::io(place()))
}

/// A map of a file that isn't empty. Its pages are given back under a limit.
pub(super) fn mapped(mut file: File) -> Result<Arc<Mmap>> {
    file.flush().map_err(Error::io(place()))?;
    // SAFETY: the file has no name, and is not written to again
    let map = Arc::new(unsafe { Mmap::map(&file) }.map_err(Error::io(place()))?);
    memory::note(&map);
    Ok(map)
}
