//! Progress bars on standard error, if it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::RwLock;
use vxm::io::{Progress, Unit};

/// Progress bars; `None` if standard error is not a terminal.
pub struct Bars(Option<RwLock<ProgressBar>>);

impl Bars {
    /// Bars that are hidden until the first task begins.
    pub fn new() -> Self {
        Self(std::io::stderr().is_terminal().then(|| RwLock::new(ProgressBar::hidden())))
    }
}

impl Progress for Bars {
    fn begin(&self, task: &str, unit: Unit, total: u64) {
        let counts = match unit {
            Unit::Bytes => "{decimal_bytes:>9} of {decimal_total_bytes} {decimal_bytes_per_sec}",
            Unit::Items => "{human_pos:>9} of {human_len}",
        };
        let Some(held) = &self.0 else { return };
        // if the template does not parse, use the default style
        let style = ProgressStyle::with_template(&format!("{{msg:9}} {{wide_bar}} {counts} {{elapsed}}"))
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        if let Ok(mut bar) = held.write() {
            bar.finish_and_clear();
            *bar = ProgressBar::new(total).with_style(style).with_message(task.to_owned());
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
        if let Some(Ok(bar)) = self.0.as_ref().map(RwLock::read) {
            bar.finish_and_clear();
        }
    }
}
