//! Waiting, with a limit.

use std::time::{Duration, Instant};

/// How long a rank waits for others at most. `None` waits for ever.
pub(crate) type Limit = Option<Duration>;

/// A wait that polls: at first it gives the processor away, later it sleeps.
pub(crate) struct Wait {
    began: Instant,
    limit: Limit,
}

impl Wait {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { began: Instant::now(), limit }
    }

    /// Lets others run. Returns the seconds waited if the limit is reached.
    pub(crate) fn pause(&self) -> Option<u64> {
        let waited = self.began.elapsed();
        if self.limit.is_some_and(|limit| waited >= limit) {
            return Some(waited.as_secs());
        }
        if waited < Duration::from_millis(2) {
            std::thread::yield_now();
        } else {
            // short against what it waited already
            std::thread::sleep(Duration::from_micros(50).max(waited / 64).min(Duration::from_millis(2)));
        }
        None
    }
}
