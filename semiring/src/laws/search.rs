//! The search for a counterexample.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::Sample;
use crate::Element;

/// The result of a search: `None`, or a message with the formula and values for which it fails.
pub(super) type Finding = Option<String>;

/// The seed of generated values: `VXM_LAWS_SEED`, or 0 by default.
pub(super) fn seed() -> u64 {
    let stated = std::env::var("VXM_LAWS_SEED").ok();
    stated.and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// Looks for operands for which the two sides of `formula` differ. `sides` computes both, or returns `None` for operands to which the law
/// does not apply.
pub(super) fn search<P: Sample, Q: Sample, R: Sample, T: Element>(
    formula: &str,
    sides: impl Fn(P, Q, R) -> Option<(T, T)>,
) -> Finding {
    let broken = |(p, q, r): (P, Q, R)| sides(p, q, r).filter(|(left, right)| left.bits() != right.bits());
    let values = among_extremes(&|v| broken(v).is_some()).or_else(|| among_generated(&|v| broken(v).is_some()))?;
    let (left, right) = broken(values)?;
    let (p, q, r) = values;
    let named = [(P::NAME, 'a', format!("{p:?}")), (Q::NAME, 'b', format!("{q:?}")), (R::NAME, 'c', format!("{r:?}"))];
    let operands = named.iter().filter(|(ty, ..)| *ty != <()>::NAME);
    let operands: Vec<_> = operands.map(|(_, name, value)| format!("{name} = {value}")).collect();
    Some(format!("{formula} fails with {}: {left:?} is not {right:?}", operands.join(", ")))
}

// The two searches take the test as `dyn`, so that proptest is compiled once for each set of types, not for each law and semiring.

/// The first combination of extreme values that breaks the law. Simple values are listed first, so the counterexample is simple, too.
fn among_extremes<P: Sample, Q: Sample, R: Sample>(broken: &dyn Fn((P, Q, R)) -> bool) -> Option<(P, Q, R)> {
    let (ps, qs, rs) = (P::extremes(), Q::extremes(), R::extremes());
    let pairs = ps.iter().flat_map(|p| qs.iter().map(move |q| (*p, *q)));
    let mut all = pairs.flat_map(|(p, q)| rs.iter().map(move |r| (p, q, *r)));
    all.find(|values| broken(*values))
}

/// A generated combination that breaks the law, shrunk.
fn among_generated<P: Sample, Q: Sample, R: Sample>(broken: &dyn Fn((P, Q, R)) -> bool) -> Option<(P, Q, R)> {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let strategy = (P::strategy(), Q::strategy(), R::strategy());
    let result = TestRunner::new_with_rng(config, rng)
        .run(&strategy, |values| if broken(values) { Err(TestCaseError::fail("broken")) } else { Ok(()) });
    match result {
        Err(TestError::Fail(_, values)) => Some(values),
        _ => None,
    }
}

/// The type's name without modules, such as `Ring<Max, Times>`.
pub(super) fn short<T>() -> String {
    let full = core::any::type_name::<T>();
    let mut short = String::new();
    for part in full.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short += part.rsplit("::").next().unwrap_or(part);
    }
    short
}
