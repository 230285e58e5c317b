//! Runs suites, compares results by bits, and makes masks and terminals that are chosen at run time.

use crate::algebra::{Join, Sample};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt::Debug;
use std::io::Write;
use std::sync::LazyLock;
use std::time::Instant;
use vxm::backend::Place;
use vxm::backend::cuda::Gpu;
use vxm::backend::cuda::codegen::builder::{KernelBuilder, Node};
use vxm::backend::profile::Counts;
use vxm::backend::reference::{self, Dense};
use vxm::backend::view::{Dependency, Support};
use vxm::operations::mask::{Complement, Mask, Test, Values};
use vxm::operations::{expr::Env, verbs::Verbs};
use vxm::prelude::*;

/// The result of a case.
pub type Outcome = std::result::Result<(), TestCaseError>;

/// The run's seed: from `VXM_TEST_SEED`, by default a fixed one.
fn seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| match std::env::var("VXM_TEST_SEED").as_deref() {
        Ok("fresh") => std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos() as u64),
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("VXM_TEST_SEED: expected a number, found {number}")),
        Err(_) => 0x5eed,
    });
    *SEED
}

/// Runs `cases` generated cases, or as many as `PROPTEST_CASES` says. Prints the number of cases and the seed.
pub fn suite<S: Strategy>(name: &str, cases: u32, strategy: S, test: impl Fn(S::Value) -> Outcome)
where
    S::Value: Debug,
{
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    // each suite has its own random stream, so that it gets the same cases when it is run alone
    let mut bytes = [0u8; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    name.bytes().enumerate().for_each(|(i, byte)| bytes[8 + i % 24] ^= byte.rotate_left(i as u32 / 24));
    // no shrinking in a dry run: it wouldn't simplify a kernel that does not compile
    let max_shrink_iters = if dry_run().is_some() { 0 } else { 4000 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let start = Instant::now();
    let result = runner.run(&strategy, |case| on_device(|| test(case)));
    let (seed, seconds) = (seed(), start.elapsed().as_secs_f32());
    // written to stderr directly, past the test harness's capture: the seed of a successful run is of interest, too
    let _ = writeln!(std::io::stderr(), "differential {name}: {cases} cases, VXM_TEST_SEED={seed}, {seconds:.1} s");
    if let Some(gpu) = dry_run() {
        let compiled: Vec<_> = gpu.dry_run_programs().into_iter().map(|(arch, n)| format!("{n} for {arch}")).collect();
        let _ = writeln!(std::io::stderr(), "dry run: {} programs compiled so far", compiled.join(", "));
    }
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{name}: {why}\nleast failing case: {case:#?}"),
        Err(TestError::Abort(why)) => panic!("{name}: {why}"),
    }
}

/// The GPU of a dry run, if `VXM_TEST_DEVICE=dry-run`. Every kernel is compiled for the architectures that `VXM_TEST_ARCHS` names, and
/// none runs, so there are no results to compare.
pub fn dry_run() -> Option<&'static Gpu> {
    static DRY_RUN: LazyLock<Option<Gpu>> = LazyLock::new(|| {
        let asked = std::env::var("VXM_TEST_DEVICE").is_ok_and(|device| device == "dry-run");
        let archs = std::env::var("VXM_TEST_ARCHS").unwrap_or("sm_90,sm_80,sm_100".to_owned());
        let gpu = || Gpu::dry_run(&archs.split(',').collect::<Vec<_>>());
        asked.then(|| gpu().unwrap_or_else(|error| panic!("VXM_TEST_DEVICE: {error}")))
    });
    DRY_RUN.as_ref()
}

/// Fails a case unless two values are equal. Never fails in a dry run.
pub fn same<T: PartialEq + Debug>(what: &str, expected: T, found: T) -> Outcome {
    if expected == found || dry_run().is_some() {
        return Ok(());
    }
    Err(TestCaseError::fail(format!("{what}: expected {expected:?}, found {found:?}")))
}

/// Returns the value, or fails the case if the engine returned an error.
pub fn ok<T>(result: Result<T>) -> std::result::Result<T, TestCaseError> {
    result.map_err(|error| TestCaseError::fail(format!("the engine refuses: {error}")))
}

/// Compares a vector by bits, through every way of reading it. In a dry run the vector is only read.
pub fn agree<T: Element>(what: impl Debug, expected: &[Option<T>], found: &Vector<T>) -> Outcome {
    if dry_run().is_some() {
        let _ = (found.nvals(), found.digest());
        return same("length", expected.len(), found.len());
    }
    let bits = |x: Option<T>| x.map(Element::bits);
    let what = format!("{what:?}");
    same(&format!("{what}: length"), expected.len(), found.len())?;
    for (i, &x) in expected.iter().enumerate() {
        let y = found.get(i as u32);
        if bits(x) != bits(y) {
            return Err(TestCaseError::fail(format!("{what}: element {i}: expected {x:?}, found {y:?}")));
        }
    }
    let held = || expected.iter().enumerate().filter_map(|(i, x)| x.map(|x| (i as u32, x.bits())));
    same(&format!("{what}: nvals"), held().count(), found.nvals())?;
    if !held().eq(found.iter().map(|(i, x)| (i, x.bits()))) {
        return Err(TestCaseError::fail(format!("{what}: the iterator differs from get")));
    }
    let plain = Vector::from_options(expected);
    same(&format!("{what}: digest"), plain.digest(), found.digest())?;
    same(&format!("{what}: =="), true, plain == *found)
}

/// Runs `f` on the device that `VXM_TEST_DEVICE` names: the CPU, a GPU or a dry run.
pub fn on_device<R>(f: impl FnOnce() -> R) -> R {
    if let Some(gpu) = dry_run() {
        return Device::dry_run(gpu, f);
    }
    let device = std::env::var("VXM_TEST_DEVICE").unwrap_or("cpu".to_owned());
    let device: Device = device.parse().unwrap_or_else(|error| panic!("VXM_TEST_DEVICE: {error}"));
    device.scope(|| Ok(f())).unwrap_or_else(|error| panic!("VXM_TEST_DEVICE: {error}"))
}

/// Runs `f` on a pool of 1, 2 or 8 threads, and on the device of [`on_device`].
pub fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
        [1, 2, 8].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start"))
    });
    let pool = POOLS.iter().find(|pool| pool.current_num_threads() == threads);
    pool.expect("one of 1, 2, 8 threads").install(|| on_device(f))
}

/// The ways to read a vector as a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    None,
    Structural,
    Complement,
    Values,
    ComplementValues,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] = [Self::None, Self::Structural, Self::Complement, Self::Values, Self::ComplementValues];

    /// The elements that a mask of `v` selects, by definition.
    pub fn selects<T: Element>(self, v: &[Option<T>]) -> Vec<bool> {
        match self {
            Self::None => vec![true; v.len()],
            Self::Structural => reference::structural(v),
            Self::Complement => reference::complement(&reference::structural(v)),
            Self::Values => reference::by_value(v),
            Self::ComplementValues => reference::complement(&reference::by_value(v)),
        }
    }

    /// The engine's mask of `v`, or `None` for [`Mode::None`].
    pub fn of<T: Element>(self, v: &Vector<T>) -> Option<AnyMask<'_, T>> {
        match self {
            Self::None => None,
            Self::Structural => Some(AnyMask::Structural(v)),
            Self::Complement => Some(AnyMask::Complement(!v)),
            Self::Values => Some(AnyMask::Values(v.values())),
            Self::ComplementValues => Some(AnyMask::ComplementValues(!v.values())),
        }
    }
}

/// One of the engine's masks, chosen at run time. Every call is forwarded to the wrapped mask.
#[derive(Clone, Copy)]
pub enum AnyMask<'a, T: Element> {
    Structural(&'a Vector<T>),
    Complement(Complement<&'a Vector<T>>),
    Values(Values<&'a Vector<T>>),
    ComplementValues(Complement<Values<&'a Vector<T>>>),
}

/// The [`Test`] of an [`AnyMask`].
#[derive(Clone)]
pub enum AnyTest<A, B, C, D> {
    Structural(A),
    Complement(B),
    Values(C),
    ComplementValues(D),
}

macro_rules! each {
    ($any:ident, $self:ident, $inner:ident => $body:expr) => {
        match $self {
            $any::Structural($inner) => $body,
            $any::Complement($inner) => $body,
            $any::Values($inner) => $body,
            $any::ComplementValues($inner) => $body,
        }
    };
}

impl<'a, T: Element> Mask for AnyMask<'a, T> {
    type Test<'s>
        = AnyTest<
        <&'a Vector<T> as Mask>::Test<'s>,
        <Complement<&'a Vector<T>> as Mask>::Test<'s>,
        <Values<&'a Vector<T>> as Mask>::Test<'s>,
        <Complement<Values<&'a Vector<T>>> as Mask>::Test<'s>,
    >
    where
        Self: 's;

    fn len(&self, env: &Env<'_>) -> Result<usize> {
        each!(Self, self, mask => Mask::len(mask, env))
    }

    fn place(&self, env: &Env<'_>) -> Option<Place> {
        each!(Self, self, mask => Mask::place(mask, env))
    }

    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        each!(Self, self, mask => Mask::emit(mask, env, kernel))
    }

    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(match self {
            Self::Structural(mask) => AnyTest::Structural(mask.test(env)?),
            Self::Complement(mask) => AnyTest::Complement(mask.test(env)?),
            Self::Values(mask) => AnyTest::Values(mask.test(env)?),
            Self::ComplementValues(mask) => AnyTest::ComplementValues(mask.test(env)?),
        })
    }
}

impl<A: Test, B: Test, C: Test, D: Test> Test for AnyTest<A, B, C, D> {
    fn test(&self, i: usize) -> bool {
        each!(Self, self, test => test.test(i))
    }
    fn test_listed(&self, k: usize, i: usize) -> bool {
        each!(Self, self, test => test.test_listed(k, i))
    }
    fn support(&self) -> Support<'_> {
        each!(Self, self, test => test.support())
    }
    fn dependency(&self, i: usize) -> Dependency {
        each!(Self, self, test => test.dependency(i))
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> bool {
        each!(Self, self, test => test.counted(i, counts))
    }
}

/// A terminal of an expression, chosen at run time.
#[derive(Debug, Clone, Copy)]
pub enum Terminal {
    Eval,
    Assign,
    Accum(Join),
}

impl Terminal {
    /// The result by definition, for an expression with value `t` and a mask that selects `selects`. `w` is the vector that is written to.
    pub fn expected<T: Sample>(self, w: &[Option<T>], t: &[Option<T>], selects: &[bool]) -> Dense<T> {
        match self {
            Self::Eval => reference::masked(t, selects),
            Self::Assign => reference::write(w, t, selects),
            Self::Accum(join) => reference::accumulate(w, t, selects, join),
        }
    }

    /// The engine's result.
    pub fn run<T: Sample, E: Expr<T = T>>(self, expression: E, w: &Vector<T>) -> Result<Vector<T>> {
        let mut w = w.clone();
        match self {
            Self::Eval => return expression.eval(),
            Self::Assign => expression.assign_to(&mut w)?,
            Self::Accum(join) => expression.accum(join).assign_to(&mut w)?,
        }
        Ok(w)
    }

    /// The engine's result for a masked expression.
    pub fn run_masked<T, U, E>(self, expression: E, mask: Option<AnyMask<'_, U>>, w: &Vector<T>) -> Result<Vector<T>>
    where
        T: Sample,
        U: Element,
        E: Expr<T = T>,
    {
        match mask {
            None => self.run(expression, w),
            Some(mask) => self.run(expression.mask(mask), w),
        }
    }
}
