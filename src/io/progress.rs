//! How far reading or generating has come, told to whoever listens.

/// What progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a file, as it is stored.
    Bytes,
    /// Vertices or edges.
    Items,
}

/// Hears of progress; called from many threads. `()` hears nothing.
pub trait Progress: Sync {
    /// A task of `total` units begins; the one before, if any, is done.
    fn begin(&self, task: &str, unit: Unit, total: u64) {
        let _ = (task, unit, total);
    }

    /// Some more units are done.
    fn advance(&self, units: u64) {
        let _ = units;
    }
}

impl Progress for () {}
