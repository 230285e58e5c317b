//! Spans of operations, and the rounds of loops: for traces and for progress. Without the feature `trace` nothing is told.

/// A span from here to the end of the scope that the value is bound in.
#[cfg(feature = "trace")]
macro_rules! span {
    ($($told:tt)*) => {
        tracing::debug_span!(target: "vxm::operation", $($told)*).entered()
    };
}

/// Nothing, in the place of a span.
#[cfg(not(feature = "trace"))]
macro_rules! span {
    ($($told:tt)*) => {
        $crate::backend::spans::NoSpan
    };
}

/// Tells that a round of a loop begins, and how many elements it visits.
#[cfg(feature = "trace")]
macro_rules! told_round {
    ($round:expr, $active:expr) => {
        tracing::trace!(target: "vxm::round", round = u64::from($round), active = $active as u64, "round")
    };
}

/// Tells nothing.
#[cfg(not(feature = "trace"))]
macro_rules! told_round {
    ($round:expr, $active:expr) => {};
}

/// What stands for a span if none is told.
#[cfg(not(feature = "trace"))]
pub(crate) struct NoSpan;

pub(crate) use {span, told_round};
