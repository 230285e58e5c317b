//! GraphML, without the feature `graphml`: files are refused.

use crate::error::Result;
use crate::io::loaded::Loaded;
use crate::io::source::Source;
use crate::io::weighted::Weighted;

fn refused<T>(source: &Source<'_>) -> Result<T> {
    Err(source.refused(0, "another format, or the feature `graphml` of vxm".to_owned(), "GraphML"))
}

pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    refused(source)
}

pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    refused(source)
}

pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    refused(source)
}
