//! What memory there is, asked before it is claimed.

use crate::error::{Error, Result};

/// That `bytes` fit into the memory available now.
///
/// # Errors
/// [`Error::Memory`] at `place`, which is only made where they do not.
pub(crate) fn require(bytes: u128, place: impl FnOnce() -> String) -> Result<()> {
    let available = available();
    if bytes <= u128::from(available) {
        return Ok(());
    }
    Err(Error::Memory { place: place(), needed: bytes, available })
}

/// The bytes available; all there could be where the system does not say.
fn available() -> u64 {
    let kibibytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    kibibytes.map_or(u64::MAX, |k| k.saturating_mul(1024))
}

/// The bytes that building an undirected graph takes at its peak, beside 12 an edge at hand.
pub(super) fn for_vertices(vertices: u64) -> u128 {
    24 * (u128::from(vertices) + 1)
}
