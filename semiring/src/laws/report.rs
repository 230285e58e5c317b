//! The results of a check.

use core::fmt;

use super::Law;
use super::search::{Finding, seed};

/// A law that does not hold, with a counterexample; or one that holds although it was declared not to. `Debug` prints the same as
/// `Display`, for a readable `unwrap()` in tests.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {law:?}: {what} (VXM_LAWS_SEED={seed})")]
pub struct Violation {
    law: Law,
    subject: String,
    what: String,
    seed: u64,
}

impl Violation {
    /// The law that does not hold, or that was needlessly declared not to.
    pub fn law(&self) -> Law {
        self.law
    }

    /// The law as an equation, with the counterexample.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which laws hold, with a counterexample to each that does not.
#[derive(Debug, Clone)]
pub struct Report {
    subject: String,
    laws: Vec<(Law, Option<Violation>)>,
}

impl Report {
    pub(super) fn new(subject: String, findings: Vec<(Law, Finding)>) -> Self {
        let seed = seed();
        let laws = findings.into_iter().map(|(law, what)| {
            let subject = subject.clone();
            (law, what.map(|what| Violation { law, subject, what, seed }))
        });
        Report { laws: laws.collect(), subject }
    }

    pub(super) fn needless(&self, law: Law) -> Violation {
        let what = "is declared not to hold, and no counterexample was found".to_owned();
        Violation { law, subject: self.subject.clone(), what, seed: seed() }
    }

    /// The laws that could be stated for these types, each with its counterexample if it does not hold.
    pub fn laws(&self) -> impl Iterator<Item = (Law, Option<&Violation>)> {
        self.laws.iter().map(|(law, broken)| (*law, broken.as_ref()))
    }

    /// Whether `law` could be stated for these types and no counterexample was found.
    pub fn holds(&self, law: Law) -> bool {
        self.laws().any(|(known, broken)| known == law && broken.is_none())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (VXM_LAWS_SEED={})", self.subject, seed())?;
        for (law, broken) in &self.laws {
            match broken {
                None => writeln!(f, "  {law:?} holds")?,
                Some(violation) => writeln!(f, "  {law:?}: {}", violation.what)?,
            }
        }
        Ok(())
    }
}
