//! The phases of a command, such as reading and running, and how long each took.

use crate::command::recorder::PHASE;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::span::EnteredSpan;

/// The phases that only reports have.
const OF_REPORTS: [&str; 2] = ["count", "report"];

static DONE: Mutex<Vec<(&str, Duration)>> = Mutex::new(Vec::new());

/// A phase, which ends when this is dropped.
pub struct Phase {
    name: &'static str,
    begin: Instant,
    _span: EnteredSpan,
}

/// Begins a phase. Phases don't overlap.
pub fn phase(name: &'static str) -> Phase {
    Phase { name, begin: Instant::now(), _span: tracing::info_span!(target: PHASE, "phase", what = name).entered() }
}

impl Drop for Phase {
    fn drop(&mut self) {
        let took = self.begin.elapsed();
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        match done.iter_mut().find(|(name, _)| *name == self.name) {
            Some((_, total)) => *total += took,
            None => done.push((self.name, took)),
        }
    }
}

/// The phases of the run itself that have ended, in their order, with the time that each took in all.
pub fn done() -> Vec<(&'static str, Duration)> {
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    done.iter().copied().filter(|(name, _)| !OF_REPORTS.contains(name)).collect()
}

/// The time of each phase that has ended, of what was between them, and of all since `begin`, in a line.
pub fn told(begin: Instant) -> String {
    let all = begin.elapsed();
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let rest = all.saturating_sub(done.iter().map(|(_, took)| *took).sum());
    let parts = done.into_iter().chain([("rest", rest)]);
    let parts: Vec<_> = parts.map(|(name, took)| format!("{name} {:.3} s", took.as_secs_f64())).collect();
    format!("time: {}; {:.3} s in all", parts.join(", "), all.as_secs_f64())
}
