//! Progress reports of reading and generating.

/// The unit that progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of the file as stored, compressed bytes included.
    Bytes,
    /// Vertices or edges.
    Items,
}

/// Receives progress reports. Methods are called from many threads. `()` ignores all reports.
pub trait Progress: Sync {
    /// A task of `total` units begins; the previous one, if any, has ended.
    fn begin(&self, task: &str, unit: Unit, total: u64) {
        let _ = (task, unit, total);
    }

    /// `units` more units of the current task are done.
    fn advance(&self, units: u64) {
        let _ = units;
    }
}

impl Progress for () {}
