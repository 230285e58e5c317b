//! Pairs of 32-bit numbers in 64 bits, so that `min` and `max` compare the first part, and the second among equals.

use crate::prelude::*;

/// The pair of `high` and `low`.
#[op]
pub fn pair(high: u32, low: u32) -> u64 {
    ((high as u64) << 32u32) | (low as u64)
}

/// The first part of a pair.
#[op]
pub fn high(both: u64) -> u32 {
    (both >> 32u32) as u32
}

/// The second part of a pair.
#[op]
pub fn low(both: u64) -> u32 {
    both as u32
}
