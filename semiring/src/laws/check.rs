//! The checks of a monoid and of a semiring.

use super::Law;
use super::report::{Report, Violation};
use super::sample::Sample;
use super::search::{Finding, search, short};
use crate::{BinaryOp, Element, Monoid, Semiring};

/// Checks a semiring over vectors of `X` and matrices of `A`: in a test, `laws::check::<u32, u32, _>(MINE).unwrap()`.
///
/// Returns a report of which laws hold.
///
/// # Errors
/// If a required law does not hold, or a law that [`Monoid::EXCEPTIONS`] lists does.
pub fn check<X: Sample, A: Sample, S>(semiring: S) -> Result<Report, Violation>
where
    S: Semiring<X, A, Out: Sample>,
{
    check_except::<X, A, S>(semiring, &[])
}

/// Like [`check`], for a semiring that does not keep the laws in `exceptions`.
///
/// # Errors
/// As for [`check`]; also if one of `exceptions` holds.
pub fn check_except<X: Sample, A: Sample, S>(semiring: S, exceptions: &[Law]) -> Result<Report, Violation>
where
    S: Semiring<X, A, Out: Sample>,
{
    let subject = format!("{} over {} and {}", short::<S>(), X::NAME, A::NAME);
    let mut findings = monoid_findings(semiring.add());
    semiring_findings::<X, A, S>(semiring, &mut findings);
    judge(subject, findings, semiring.add(), exceptions)
}

/// Checks a monoid over `T`: in a test, `laws::check_monoid::<u32, _>(MINE).unwrap()`.
///
/// ```
/// use vxm_semiring::{MIN, laws};
/// assert!(laws::check_monoid::<i64, _>(MIN).unwrap().holds(laws::Law::Commutativity));
/// ```
pub fn check_monoid<T: Sample, M: Monoid<T>>(monoid: M) -> Result<Report, Violation> {
    let subject = format!("{} over {}", short::<M>(), T::NAME);
    judge(subject, monoid_findings(monoid), monoid, &[])
}

fn judge<T: Element, M: Monoid<T>>(
    subject: String,
    findings: Vec<(Law, Finding)>,
    monoid: M,
    exceptions: &[Law],
) -> Result<Report, Violation> {
    let report = Report::new(subject, findings);
    let excepted = |law: &Law| {
        exceptions.contains(law) || monoid.exceptions().contains(law) || (*law == Law::Associativity && !M::EXACT)
    };
    for (law, broken) in report.laws() {
        match broken {
            Some(violation) if law == Law::Commutativity && monoid.is_commutative() => return Err(violation.clone()),
            Some(violation) if !excepted(&law) && law.required(M::EXACT) => return Err(violation.clone()),
            None if excepted(&law) => return Err(report.needless(law)),
            _ => {}
        }
    }
    Ok(report)
}

fn monoid_findings<T: Sample, M: Monoid<T>>(m: M) -> Vec<(Law, Finding)> {
    let f = |a, b| m.call(a, b);
    let associativity = search("(a + b) + c == a + (b + c)", |a: T, b: T, c: T| Some((f(f(a, b), c), f(a, f(b, c)))));
    let identity = search("0 + a == a", |a: T, (), ()| Some((f(m.identity(), a), a)))
        .or_else(|| search("a + 0 == a", |a: T, (), ()| Some((f(a, m.identity()), a))));
    let terminal = search("a + b == a, a terminal", |a: T, b: T, (): ()| m.is_terminal(a).then(|| (f(a, b), a)))
        .or_else(|| search("t + a == t", |a: T, (), ()| m.terminal().map(|t| (f(t, a), t))))
        .or_else(|| search("z + a == z, z absorbing", |a: T, (), ()| M::ABSORBING.map(|z| (f(z, a), z))))
        .or_else(|| {
            search("the terminal value is terminal", |(): (), (): (), (): ()| {
                m.terminal().map(|t| (m.is_terminal(t), true))
            })
        });
    let repeat = search("repeat(a, b % 23 + 1) == a + a + ...", |a: T, times: u8, (): ()| {
        let times = times % 23 + 1;
        let folded = (1..times).fold(a, |sum, _| f(sum, a));
        Some((m.repeat(a, u64::from(times)), folded))
    });
    let commutativity = search("a + b == b + a", |a: T, b: T, (): ()| Some((f(a, b), f(b, a))));
    vec![
        (Law::Associativity, associativity),
        (Law::Identity, identity),
        (Law::Terminal, terminal),
        (Law::Repeat, repeat),
        (Law::Commutativity, commutativity),
    ]
}

/// Adds findings on the laws that relate the monoid and the multiplication, as far as the types allow stating them.
fn semiring_findings<X: Sample, A: Sample, S>(s: S, findings: &mut Vec<(Law, Finding)>)
where
    S: Semiring<X, A, Out: Sample>,
{
    let (add, mul) = (|a, b| s.add().call(a, b), |x, a| s.mul().call(x, a));
    if let Some(constant) = <S::Mul as BinaryOp<X, A>>::CONSTANT {
        let found = search("a * b == constant", |x: X, a: A, (): ()| Some((mul(x, a), constant)));
        findings.push((Law::Constant, found));
    }
    let zero = s.add().identity();
    let mut annihilates = None;
    if same::<X, S::Out>(X::ZERO).is_some() {
        let found = search("(a + b) * c == a * c + b * c", |a: X, b: X, c: A| {
            let sum = same::<S::Out, X>(add(same(a)?, same(b)?))?;
            Some((mul(sum, c), add(mul(a, c), mul(b, c))))
        });
        findings.push((Law::DistributesOverVector, found));
        let zero_times = search("0 * a == 0", |a: A, (), ()| Some((mul(same(zero)?, a), zero)));
        annihilates = Some(zero_times);
    }
    if same::<A, S::Out>(A::ZERO).is_some() {
        let found = search("a * (b + c) == a * b + a * c", |a: X, b: A, c: A| {
            let sum = same::<S::Out, A>(add(same(b)?, same(c)?))?;
            Some((mul(a, sum), add(mul(a, b), mul(a, c))))
        });
        findings.push((Law::DistributesOverMatrix, found));
        let times_zero = search("a * 0 == 0", |a: X, (), ()| Some((mul(a, same(zero)?), zero)));
        annihilates = Some(annihilates.flatten().or(times_zero));
    }
    findings.extend(annihilates.map(|found| (Law::Annihilation, found)));
}

/// The value as type `Q` if `P` is `Q`, otherwise `None`. Laws that use a result as an operand can be stated only if the types match.
fn same<P: Element, Q: Element>(value: P) -> Option<Q> {
    let value: &dyn core::any::Any = &value;
    value.downcast_ref().copied()
}
