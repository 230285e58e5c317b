//! Progress on standard error, if it is a terminal: one line, which goes when its task ends.

use crate::command::is_quiet;
use crate::command::job::speaks;
use core::fmt;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use vxm::io::{Progress, Unit};

/// How often a line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// The line that is on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether progress is shown: standard error is a terminal, and `--quiet` isn't given.
pub fn are_shown() -> bool {
    std::io::stderr().is_terminal() && !is_quiet()
}

/// Removes the line from the terminal.
pub fn clear() {
    if let Some(bar) = shown().take() {
        bar.finish_and_clear();
    }
}

/// Puts a line on the terminal in the place of the one before.
fn show(bar: ProgressBar) -> ProgressBar {
    clear();
    bar.enable_steady_tick(TICK);
    *shown() = Some(bar.clone());
    bar
}

/// A style, or the default one if the template does not parse.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Progress of reading and generating; `None` if it isn't shown.
pub struct Bars(Option<RwLock<ProgressBar>>);

impl Bars {
    /// Bars that are hidden until the first task begins.
    pub fn new() -> Self {
        Self((are_shown() && speaks()).then(|| RwLock::new(ProgressBar::hidden())))
    }
}

impl Progress for Bars {
    fn begin(&self, task: &str, unit: Unit, total: u64) {
        let counts = match unit {
            Unit::Bytes => "{decimal_bytes:>9} of {decimal_total_bytes}, {decimal_bytes_per_sec}",
            Unit::Items => "{human_pos:>9} of {human_len}, {per_sec:0}",
        };
        let Some(held) = &self.0 else { return };
        if let Ok(mut bar) = held.write() {
            let style = style(&format!("{{msg:9}} {{wide_bar}} {counts}, {{eta}} left"));
            *bar = show(ProgressBar::new(total).with_style(style).with_message(task.to_owned()));
        }
    }

    fn advance(&self, units: u64) {
        if let Some(Ok(bar)) = self.0.as_ref().map(RwLock::read) {
            bar.inc(units);
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        if self.0.is_some() {
            clear();
        }
    }
}

/// The line of a task without a known end, such as a run; loops add their rounds.
pub struct Spinner(());

impl Spinner {
    /// Shows the line until this is dropped, if progress is shown.
    pub fn new(task: &'static str) -> Option<Self> {
        (are_shown() && speaks()).then(|| {
            let style = style("{msg} {spinner} {elapsed}");
            show(ProgressBar::new_spinner().with_style(style).with_message(task));
            Self(())
        })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        clear();
    }
}

/// The layer that shows the rounds of loops, with the share of the first round's elements that are settled.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    Rounds.with_filter(Targets::new().with_target("vxm::round", LevelFilter::TRACE))
}

struct Rounds;

/// The fields of a round.
#[derive(Default)]
struct Round {
    round: u64,
    active: u64,
}

impl Visit for Round {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "round" => self.round = value,
            "active" => self.active = value,
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Rounds {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut told = Round::default();
        event.record(&mut told);
        let shown = shown();
        let Some(bar) = shown.as_ref() else { return };
        if told.round <= 2 || bar.length().is_none_or(|total| total < told.active) {
            bar.set_length(told.active);
            bar.set_style(style("{msg} {wide_bar} {prefix}, {elapsed}, {eta} left"));
        }
        bar.set_prefix(format!("round {}, {} active", told.round, told.active));
        bar.set_position(bar.length().unwrap_or(0).saturating_sub(told.active));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_parse() {
        for counts in [
            "{msg:9} {wide_bar} {decimal_bytes:>9} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
            "{msg:9} {wide_bar} {human_pos:>9} of {human_len}, {per_sec:0}, {eta} left",
            "{msg} {spinner} {elapsed}",
            "{msg} {wide_bar} {prefix}, {elapsed}, {eta} left",
        ] {
            assert!(ProgressStyle::with_template(counts).is_ok(), "{counts}");
        }
    }
}
