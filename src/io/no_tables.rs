//! Parquet and Arrow, without the feature `parquet`: files are refused.

use crate::error::Result;
use crate::io::FileFormat;
use crate::io::loaded::Loaded;
use crate::io::source::Source;
use crate::io::weighted::Weighted;

/// Whether this thread is in a library that decodes a table: never.
pub fn decodes() -> bool {
    false
}

fn refused<T>(source: &Source<'_>, format: FileFormat) -> Result<T> {
    let found = if format == FileFormat::Arrow { "an Arrow file" } else { "a Parquet file" };
    Err(source.refused(0, "another format, or the feature `parquet` of vxm".to_owned(), found))
}

pub(super) fn read_graph(source: Source<'_>, format: FileFormat) -> Result<Loaded> {
    refused(&source, format)
}

pub(super) fn read_digraph(source: Source<'_>, format: FileFormat) -> Result<Loaded> {
    refused(&source, format)
}

pub(super) fn read_weighted(source: Source<'_>, format: FileFormat) -> Result<Weighted> {
    refused(&source, format)
}
