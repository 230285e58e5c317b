//! A model of the time that ranks take, from counts of what they do and send.

use crate::error::{Error, Result};
use crate::ranks::simulation::{Simulation, Sums};
use core::fmt;
use core::str::FromStr;

/// What a link between ranks takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkModel {
    /// Seconds for each message.
    pub alpha: f64,
    /// Bytes a second that a rank sends, while it receives as many.
    pub beta: f64,
}

/// The rates of a machine's ranks. The time of a step is a sum:
///
/// `step + entries / rate + elements / rate + messages * alpha + bytes / beta`
///
/// Each count is that of the rank that has most. Work and messages don't overlap.
///
/// As text it is a machine's name, or rates, or both: `h100,alpha=3us,beta=25GB/s`. See [`from_str`](Self::from_str).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Seconds for each step, whatever it does.
    pub step: f64,
    /// Matrix entries that a rank folds in a second.
    pub entries: f64,
    /// Elements of vectors that a rank reads or writes in a second.
    pub elements: f64,
    /// The link to ranks of the same host.
    pub near: LinkModel,
    /// The link to other ranks.
    pub far: LinkModel,
}

/// A machine's name, and its rates.
type Named = (&'static str, [f64; 7]);

/// The rates of machines: seconds a step, entries and elements a second, and seconds a message and bytes a second, within a host and between
/// hosts. Rates of work, and of MPI within a host, are those of measured runs. NVLink's and those between hosts are assumed, by what makers
/// tell. A rank on a CPU packs and copies what it sends, which bounds its rate of bytes. E064
const CPU: Named = ("cpu", [2e-4, 1.8e8, 4.5e8, 1e-6, 8e8, 2e-6, 8e8]);
const H100: Named = ("h100", [5e-5, 1.3e11, 4e10, 1e-6, 3e11, 4e-6, 5e10]);
/// How often a fit goes through its unknowns. Each pass takes microseconds; no other number was tried.
const PASSES: usize = 10_000;

impl Model {
    fn of([step, entries, elements, alpha, beta, far_alpha, far_beta]: [f64; 7]) -> Self {
        let (near, far) = (LinkModel { alpha, beta }, LinkModel { alpha: far_alpha, beta: far_beta });
        Self { step, entries, elements, near, far }
    }

    /// A rank on a core of a CPU, with MPI between cores of a host.
    pub fn cpu() -> Self {
        Self::of(CPU.1)
    }

    /// A rank on an NVIDIA H100, with NVLink within a host, and 400 Gbit/s a GPU between hosts.
    pub fn h100() -> Self {
        Self::of(H100.1)
    }

    /// The seconds that a step's terms take, with `times` the counts of elements and bytes.
    fn terms(&self, sums: &Sums, times: f64) -> Time {
        let link = |k: usize, link: LinkModel| {
            (sums.messages[k].most as f64 * link.alpha, sums.bytes[k].most as f64 * times / link.beta)
        };
        let ((near, near_bytes), (far, far_bytes)) = (link(0, self.near), link(1, self.far));
        Time {
            steps: sums.steps as f64 * self.step,
            entries: sums.entries.most as f64 * times / self.entries,
            elements: sums.elements.most as f64 * times / self.elements,
            messages: near + far,
            bytes: near_bytes + far_bytes,
        }
    }

    /// The rates of work that fit measured times best, given the links of `self`: for each run its sums, and its seconds. Errors count in
    /// relation to the time. With few or similar runs some rates may be unlimited. `beta` says that the rate of bytes is fitted, too: all links
    /// then have the same.
    ///
    /// # Errors
    /// [`Error::Invalid`]: no runs, or a time that isn't above 0.
    pub fn fitted(&self, runs: &[(Sums, f64)], beta: bool) -> Result<Self> {
        if runs.is_empty() || runs.iter().any(|&(_, seconds)| seconds.is_nan() || seconds <= 0.0) {
            return Err(Error::invalid("no run to fit a model to: expected runs that took time"));
        }
        let row = |(sums, seconds): &(Sums, f64)| {
            let Time { messages, bytes, .. } = self.terms(sums, 1.0);
            let sent = if beta { sums.bytes[0].most + sums.bytes[1].most } else { 0 };
            let counts = [sums.steps, sums.entries.most, sums.elements.most, sent];
            let known = messages + if beta { 0.0 } else { bytes };
            (counts.map(|count| count as f64 / seconds), 1.0 - (known / seconds).min(1.0))
        };
        let [step, entry, element, byte] = least_squares(&runs.iter().map(row).collect::<Vec<_>>());
        let with = |link: LinkModel| if beta { LinkModel { beta: 1.0 / byte, ..link } } else { link };
        let (near, far) = (with(self.near), with(self.far));
        Ok(Self { step, entries: 1.0 / entry, elements: 1.0 / element, near, far })
    }
}

/// The numbers from 0 on of which the products with each row come nearest to the row's value. Each in turn is set to what is best for it alone.
fn least_squares<const K: usize>(rows: &[([f64; K], f64)]) -> [f64; K] {
    let mut x = [0.0; K];
    for _ in 0..PASSES {
        for k in 0..K {
            let rest =
                |row: &[f64; K]| (0..K).filter(|&other| other != k).map(|other| row[other] * x[other]).sum::<f64>();
            let (mut above, mut below) = (0.0, 0.0);
            for (row, value) in rows {
                above += row[k] * (value - rest(row));
                below += row[k] * row[k];
            }
            x[k] = if below > 0.0 { (above / below).max(0.0) } else { 0.0 };
        }
    }
    x
}

/// The seconds that a model gives to a run, by what takes them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Time {
    /// What steps take, whatever they do.
    pub steps: f64,
    /// Folding matrix entries.
    pub entries: f64,
    /// Reading and writing elements.
    pub elements: f64,
    /// Messages, whatever they carry.
    pub messages: f64,
    /// What messages carry.
    pub bytes: f64,
}

impl Time {
    /// The sum.
    pub fn seconds(&self) -> f64 {
        self.steps + self.entries + self.elements + self.messages + self.bytes
    }

    /// The names and seconds of all terms.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        let Self { steps, entries, elements, messages, bytes } = *self;
        [("steps", steps), ("entries", entries), ("elements", elements), ("messages", messages), ("bytes", bytes)]
    }
}

impl Sums {
    /// The time of the steps by a model, as if the graph had `times` as many vertices and entries.
    pub fn time(&self, model: &Model, times: u64) -> Time {
        model.terms(self, times as f64)
    }
}

impl Simulation {
    /// The time of all steps by a model, as if the graph had `times` as many vertices and entries: rounds and messages stay, and entries,
    /// elements and bytes grow with the graph.
    pub fn time(&self, model: &Model, times: u64) -> Time {
        self.total().time(model, times)
    }
}

/// The names of rates, as text has them.
const RATES: [&str; 7] = ["step", "entries", "elements", "alpha", "beta", "near-alpha", "near-beta"];

/// A kind of number: its units with their factors, and its bounds.
struct Kind {
    units: [(&'static str, f64); 4],
    bounds: (f64, f64),
}

const SECONDS: Kind = Kind { units: [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)], bounds: (1e-12, 1e3) };
const BYTES: Kind = Kind { units: [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)], bounds: (1.0, 1e15) };
const COUNTS: Kind = Kind { units: [("G/s", 1e9), ("M/s", 1e6), ("k/s", 1e3), ("/s", 1.0)], bounds: (1.0, 1e15) };

/// A number with a unit, such as `2.5us`.
fn quantity(name: &str, text: &str, kind: &Kind) -> Result<f64> {
    let (least, most) = kind.bounds;
    let parsed = kind.units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * factor).filter(|number| (least..=most).contains(number))
    });
    parsed.ok_or_else(|| {
        let units = kind.units.map(|(unit, _)| unit).join(", ");
        let last = kind.units[3].0;
        Error::invalid(format!(
            "model: {name}={text}: expected a number with a unit ({units}), from {least:e}{last} to {most:e}{last}"
        ))
    })
}

impl FromStr for Model {
    type Err = Error;

    /// Parses words with commas between them: `cpu` or `h100`, and rates that replace its own.
    ///
    /// `step` and `alpha` are times, `beta` is a rate of bytes, `entries` and `elements` are rates. `near-alpha` and `near-beta` are those of ranks
    /// that share a host, `alpha` and `beta` those of others.
    ///
    /// ```
    /// use vxm::ranks::Model;
    ///
    /// let model: Model = "h100,alpha=3us,near-beta=200GB/s".parse()?;
    /// assert_eq!((model.far.alpha, model.near.alpha, model.near.beta), (3e-6, Model::h100().near.alpha, 2e11));
    /// assert_eq!(model.entries, Model::h100().entries);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let mut model = Self::cpu();
        for (k, word) in text.split(',').map(str::trim).enumerate() {
            let Some((name, value)) = word.split_once('=') else {
                let known = [CPU, H100];
                let found = known.iter().find(|(name, _)| k == 0 && *name == word);
                let choices = || [&known.map(|(name, _)| name)[..], &RATES].concat();
                model = Self::of(found.ok_or_else(|| Error::unknown("model", word, &choices()))?.1);
                continue;
            };
            match name {
                "step" => model.step = quantity(name, value, &SECONDS)?,
                "entries" => model.entries = quantity(name, value, &COUNTS)?,
                "elements" => model.elements = quantity(name, value, &COUNTS)?,
                "alpha" => model.far.alpha = quantity(name, value, &SECONDS)?,
                "beta" => model.far.beta = quantity(name, value, &BYTES)?,
                "near-alpha" => model.near.alpha = quantity(name, value, &SECONDS)?,
                "near-beta" => model.near.beta = quantity(name, value, &BYTES)?,
                _ => return Err(Error::unknown("rate of a model", name, &RATES)),
            }
        }
        Ok(model)
    }
}

/// A number of three digits with a unit; within its bounds, so that it can be read again.
fn with_unit(number: f64, Kind { units, bounds }: &Kind) -> String {
    let number = number.clamp(bounds.0, bounds.1);
    let by_factor = |x: &&(&str, f64), y: &&(&str, f64)| x.1.total_cmp(&y.1);
    let fits = units.iter().filter(|(_, factor)| number >= *factor).max_by(by_factor);
    let (unit, factor) = fits.or_else(|| units.iter().min_by(by_factor)).copied().unwrap_or(("", 1.0));
    let scaled = number / factor;
    let digits = (2.0 - scaled.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{scaled:.digits$}{unit}")
}

impl fmt::Display for Model {
    /// Rates that can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, entries, elements, near, far } = self;
        let (step, entries, elements) =
            (with_unit(*step, &SECONDS), with_unit(*entries, &COUNTS), with_unit(*elements, &COUNTS));
        let (alpha, beta) = (with_unit(far.alpha, &SECONDS), with_unit(far.beta, &BYTES));
        write!(f, "step={step},entries={entries},elements={elements},alpha={alpha},beta={beta}")?;
        let (alpha, beta) = (with_unit(near.alpha, &SECONDS), with_unit(near.beta, &BYTES));
        write!(f, ",near-alpha={alpha},near-beta={beta}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Amount;

    fn sums(steps: u64, entries: u64, elements: u64) -> Sums {
        let amount = |most| Amount { most, all: most };
        Sums { steps, entries: amount(entries), elements: amount(elements), ..Sums::default() }
    }

    #[test]
    fn a_fit_finds_the_rates_that_made_the_times() {
        let made = Model { step: 3e-6, entries: 2e8, elements: 7e8, ..Model::cpu() };
        let runs = [(10, 5_000_000, 40_000), (200, 90_000, 800_000), (33, 1_000_000, 9_000_000), (900, 400, 70)];
        let runs = runs.map(|(steps, entries, elements)| sums(steps, entries, elements));
        let runs = runs.map(|sums| (sums, sums.time(&made, 1).seconds()));
        let found = Model::cpu().fitted(&runs, false).unwrap();
        for (found, made) in [(found.step, made.step), (found.entries, made.entries), (found.elements, made.elements)] {
            assert!((found / made - 1.0).abs() < 1e-3, "{found} {made}");
        }
        assert_eq!(found.near, Model::cpu().near);
        // and the rate of bytes
        let made =
            Model { near: LinkModel { beta: 3e9, ..made.near }, far: LinkModel { beta: 3e9, ..made.far }, ..made };
        let sent = [90_000, 7_000_000, 300, 2_000_000];
        let runs: Vec<_> = runs
            .iter()
            .zip(sent)
            .map(|((sums, _), most)| {
                let bytes = Amount { most, all: most };
                let sums = Sums { bytes: [bytes, Amount::default()], ..*sums };
                (sums, sums.time(&made, 1).seconds())
            })
            .collect();
        let found = Model::cpu().fitted(&runs, true).unwrap();
        assert!((found.near.beta / 3e9 - 1.0).abs() < 1e-2 && found.far.beta == found.near.beta, "{found}");
        assert!(Model::cpu().fitted(&[], false).is_err());
        assert!(Model::cpu().fitted(&[(sums(1, 1, 1), 0.0)], false).is_err());
    }

    #[test]
    fn text_is_read_again_and_bad_text_is_refused() {
        for model in [Model::cpu(), Model::h100()] {
            let again: Model = model.to_string().parse().unwrap();
            assert!((again.far.beta / model.far.beta - 1.0).abs() < 0.01, "{model}");
            assert!((again.near.alpha / model.near.alpha - 1.0).abs() < 0.01, "{model}");
            assert!((again.step / model.step - 1.0).abs() < 0.01, "{model}");
        }
        let unlimited = Model { elements: f64::INFINITY, step: 0.0, ..Model::cpu() };
        let again: Model = unlimited.to_string().parse().unwrap();
        assert!(again.step < 1.1e-12 && again.elements > 0.9e15, "{unlimited}");
        let refused = |text: &str| text.parse::<Model>().unwrap_err().to_string();
        assert_eq!(
            refused("alpha=5"),
            "model: alpha=5: expected a number with a unit (ns, us, ms, s), from 1e-12s to 1e3s"
        );
        assert!(refused("beta=-1GB/s").contains("from 1e0B/s"));
        assert!(refused("beta=nanGB/s").contains("from 1e0B/s"));
        assert!(refused("step=1e308s").contains("to 1e3s"));
        assert!(refused("gpu").contains("cpu, h100"));
        assert!(refused("alpha=1us,cpu").contains("cpu"));
        assert!(refused("gamma=1us").contains("near-beta"));
        assert!(refused("").contains("h100"));
    }
}
