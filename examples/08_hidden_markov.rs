//! A hidden Markov chain: how probable an observation is, and the path of hidden states that explains it best.
//!
//! With `T[i, j]` the probability of a step and `E[j, o]` that state `j` shows `o`:
//! - forward, over log-sum-exp.plus: `alpha(j) = ln (sum over i of exp(alpha(i) + ln T[i, j])) + ln E[j, o]`; as logarithms none underflows;
//! - Viterbi, over max.plus: `delta(j) = max over i of (delta(i) + ln T[i, j]) + ln E[j, o]`.

use vxm::prelude::*;

const STATES: usize = 4;
/// Steps between states: a ring that mostly stays, one step on or one back. There is no step across it.
const STEPS: [[f64; STATES]; STATES] =
    [[0.6, 0.3, 0.0, 0.1], [0.2, 0.5, 0.3, 0.0], [0.0, 0.25, 0.45, 0.3], [0.35, 0.0, 0.15, 0.5]];
/// What a state shows, one of three symbols.
const SHOWS: [[f64; 3]; STATES] = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8], [0.4, 0.3, 0.3]];
const START: [f64; STATES] = [0.4, 0.3, 0.2, 0.1];

fn shows(symbol: usize) -> Vector<f64> {
    Vector::from_dense(SHOWS.iter().map(|row| row[symbol]).collect())
}

/// `ln(exp(a) + exp(b))`: the sum of two numbers that are given by their logarithms.
#[op]
fn log_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp().ln_1p()
}
impl Monoid<f64> for log_sum {
    const IDENTITY: f64 = f64::NEG_INFINITY;
    // rounding depends on the grouping
    const EXACT: bool = false;
}

/// The logarithms of all elements.
fn logarithms(of: Vector<f64>) -> Result<Vector<f64>> {
    of.map(LN).eval()
}

#[op(LN)]
fn logarithm(x: f64) -> f64 {
    x.ln()
}

/// The logarithm of the probability of the observation.
fn forward(steps: &Matrix<f64>, seen: &[usize]) -> Result<f64> {
    let log_steps = steps.map(LN)?;
    let mut alpha = logarithms(Vector::from_dense(START.to_vec()).ewise_mult(&shows(seen[0]), TIMES).eval()?)?;
    for &symbol in &seen[1..] {
        // alpha = (alpha log_sum.plus ln T) + ln E[:, symbol]
        let shown = logarithms(shows(symbol))?;
        alpha = alpha.vxm(&log_steps, semiring(log_sum, PLUS)).ewise_mult(&shown, PLUS).eval()?;
    }
    alpha.reduce(log_sum)
}

/// The most probable path of states, and the logarithm of its probability together with the observation.
fn viterbi(steps: &Matrix<f64>, seen: &[usize]) -> Result<(Vec<u32>, f64)> {
    let log_steps = steps.map(LN)?;
    let start = Vector::from_dense(START.to_vec());
    let mut delta = vec![logarithms(start)?.ewise_mult(&logarithms(shows(seen[0]))?, PLUS).eval()?];
    for &symbol in &seen[1..] {
        // delta' = (delta max.plus ln T) + ln E[:, symbol]
        let before = &delta[delta.len() - 1];
        delta.push(before.vxm(&log_steps, MAX_PLUS).ewise_mult(&logarithms(shows(symbol))?, PLUS).eval()?);
    }
    let (last, logarithm) = delta[delta.len() - 1].argmax().expect("a state");
    let mut path = vec![last];
    for before in delta[..delta.len() - 1].iter().rev() {
        // from = argmax over i of (delta(i) + ln T[i, state])
        let state = Set::from_indices(STATES, [path[0]])?;
        let into = log_steps.mxv(&state, semiring(ANY, FIRST)).eval()?;
        let (from, _) = before.ewise_mult(&into, PLUS).eval()?.argmax().expect("a step into each state");
        path.insert(0, from);
    }
    Ok((path, logarithm))
}

/// The probability of a path of states together with the observation.
fn together(path: &[usize], seen: &[usize]) -> f64 {
    let first = START[path[0]] * SHOWS[path[0]][seen[0]];
    (1..seen.len()).fold(first, |p, t| p * STEPS[path[t - 1]][path[t]] * SHOWS[path[t]][seen[t]])
}

/// All paths of `length` states.
fn paths(length: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..STATES.pow(length as u32)).map(move |k| (0..length as u32).map(|t| k / STATES.pow(t) % STATES).collect())
}

fn run() -> Result<()> {
    let entries =
        (0..STATES as u32).flat_map(|i| (0..STATES as u32).map(move |j| (i, j, STEPS[i as usize][j as usize])));
    let steps = Matrix::from_triples(STATES, STATES, entries.filter(|&(_, _, p)| p > 0.0))?;

    // short ones, against all paths
    for seen in [&[0, 1, 1, 2, 2, 0][..], &[2, 2, 0, 0, 1], &[1]] {
        let all: f64 = paths(seen.len()).map(|path| together(&path, seen)).sum();
        let best = paths(seen.len()).map(|path| together(&path, seen)).fold(0.0, f64::max);
        let (logarithm, (path, log_best)) = (forward(&steps, seen)?, viterbi(&steps, seen)?);
        println!("{seen:?}: probability {:.6}, best path {path:?}, {:.6}", logarithm.exp(), log_best.exp());
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
        assert!(near(logarithm.exp(), all), "the sum over all paths is {all}");
        assert!(near(log_best.exp(), best), "the best of all paths has {best}");
        let path: Vec<usize> = path.into_iter().map(|state| state as usize).collect();
        assert!(near(together(&path, seen), best), "the path found has {best} too");
    }
    // a long one: no float holds its probability
    let seen: Vec<usize> = (0..1500).map(|t| t / 3 % 3).collect();
    let (logarithm, (_, log_best)) = (forward(&steps, &seen)?, viterbi(&steps, &seen)?);
    println!("{} symbols: ln of the probability {logarithm:.3}, of the best path {log_best:.3}", seen.len());
    assert!(logarithm.exp() == 0.0 && log_best < logarithm && logarithm < 0.0);
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
