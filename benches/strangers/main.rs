//! Algorithms that are in no file of the library, as a user would write them, beside loops written by hand.
//!
//! `cargo bench --bench strangers -- [GRAPH...]` prints milliseconds on one CPU thread, the best of seven runs in turn. Answers must be equal.
//! With `--device cuda` the others are kernels written by hand, where there are any.

mod by_hand;

use std::collections::VecDeque;
use std::time::Instant;
use vxm::algorithms::{sssp, weights};
use vxm::io;
use vxm::prelude::*;

use by_hand::ByHand;

const GRAPHS: [&str; 3] = ["rmat:18:8", "grid:700x700", "road:500"];
const RUNS: usize = 7;

/// A path: its length, and the vertex before its end.
#[scalar]
struct Hop {
    length: u32,
    parent: u32,
}
const NONE: Hop = Hop { length: u32::MAX, parent: u32::MAX };

#[op]
fn nearer(a: Hop, b: Hop) -> Hop {
    if a.length < b.length || a.length == b.length && a.parent <= b.parent { a } else { b }
}
impl Monoid<Hop> for nearer {
    const IDENTITY: Hop = NONE;
    const COMMUTATIVE: bool = true;
}
#[op(EDGE)]
fn edge(i: u32, _j: u32, weight: u32) -> Hop {
    Hop { length: weight, parent: i }
}
#[op]
fn onwards(path: Hop, edge: Hop) -> Hop {
    let length = path.length.saturating_add(edge.length);
    if length == u32::MAX { NONE } else { Hop { length, ..edge } }
}

/// Shortest paths with parents, by a loop over structs.
fn paths(edges: &Matrix<Hop>, start: &Vector<Hop>) -> Result<Vector<Hop>> {
    // path = path nearer (path nearer.onwards edges), until no element changes
    let body = fixpoint(start.clone()).while_changed().monotone();
    Ok(body.step(|path| path.ewise_add(path.vxm(edges, semiring(nearer, onwards)), nearer)).eval()?.state)
}

/// A path of 16 bytes: its length in 64 bits, the vertex before its end, and its edges.
#[scalar]
struct Way {
    length: u64,
    parent: u32,
    edges: u32,
}
const NO_WAY: Way = Way { length: u64::MAX, parent: u32::MAX, edges: u32::MAX };

#[op]
fn shorter(a: Way, b: Way) -> Way {
    if a.length != b.length {
        return if a.length < b.length { a } else { b };
    }
    let (x, y) = ((a.edges as u64) << 32 | a.parent as u64, (b.edges as u64) << 32 | b.parent as u64);
    if x <= y { a } else { b }
}
impl Monoid<Way> for shorter {
    const IDENTITY: Way = NO_WAY;
    const COMMUTATIVE: bool = true;
}
#[op]
fn further(way: Way, edge: Hop) -> Way {
    if way.length == u64::MAX {
        return NO_WAY;
    }
    Way { length: way.length + edge.length as u64, parent: edge.parent, edges: way.edges + 1 }
}

/// Shortest paths with parents and edges, by a loop over structs of 16 bytes.
fn ways(edges: &Matrix<Hop>, start: &Vector<Way>) -> Result<Vector<Way>> {
    // way = way shorter (way shorter.further edges), until no element changes
    let body = fixpoint(start.clone()).while_changed().monotone();
    Ok(body.step(|way| way.ewise_add(way.vxm(edges, semiring(shorter, further)), shorter)).eval()?.state)
}

/// A complex number.
#[scalar]
struct Complex {
    re: f64,
    im: f64,
}
#[op]
fn sum(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re + b.re, im: a.im + b.im }
}
impl Monoid<Complex> for sum {
    const IDENTITY: Complex = Complex { re: 0.0, im: 0.0 };
    const EXACT: bool = false;
    const COMMUTATIVE: bool = true;
}
#[op]
fn product(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}
#[op(TO_COMPLEX)]
fn to_complex(weight: u32) -> Complex {
    Complex { re: weight as f64 / 100.0, im: 1.0 - weight as f64 / 50.0 }
}
#[op(REAL)]
fn real(z: Complex) -> f64 {
    z.re
}

/// A product over complex numbers, by a loop over rows.
fn complex_by_loop(a: &Matrix<Complex>, x: &[Complex]) -> Vec<Complex> {
    let csr = a.csr();
    let row = |v: usize| {
        let range = csr.offsets()[v] as usize..csr.offsets()[v + 1] as usize;
        let terms = csr.columns()[range.clone()].iter().zip(&csr.values()[range]);
        terms.fold(Complex { re: 0.0, im: 0.0 }, |z, (&w, &a)| sum.call(z, product.call(a, x[w as usize])))
    };
    (0..a.nrows()).map(row).collect()
}

/// A route as good as its narrowest edge; of equally wide ones the one with fewer edges.
#[scalar]
struct Route {
    width: u32,
    edges: u32,
}
const NO_ROUTE: Route = Route { width: 0, edges: u32::MAX };

#[op]
fn better(a: Route, b: Route) -> Route {
    match (a, b) {
        (Route { width: x, .. }, Route { width: y, .. }) if x != y => {
            if x > y {
                a
            } else {
                b
            }
        }
        _ if a.edges <= b.edges => a,
        _ => b,
    }
}
impl Monoid<Route> for better {
    const IDENTITY: Route = NO_ROUTE;
    const COMMUTATIVE: bool = true;
}
#[op]
fn through(route: Route, width: u32) -> Route {
    if route == NO_ROUTE {
        return NO_ROUTE;
    }
    Route { width: route.width.min(width), edges: route.edges + 1 }
}

/// The widest routes from vertex 0.
fn widest(a: &Matrix<u32>, start: &Vector<Route>) -> Result<Vector<Route>> {
    // route = route better (route better.through A), until no element changes
    let body = fixpoint(start.clone()).while_changed().monotone();
    Ok(body.step(|route| route.ewise_add(route.vxm(a, semiring(better, through)), better)).eval()?.state)
}

/// The same by a queue of vertices with a new route.
fn widest_by_queue(a: &Matrix<u32>) -> Vec<Route> {
    let (csr, mut route) = (a.csr(), vec![NO_ROUTE; a.nrows()]);
    let (mut queue, mut queued) = (VecDeque::from([0u32]), vec![false; a.nrows()]);
    route[0] = Route { width: u32::MAX, edges: 0 };
    while let Some(v) = queue.pop_front() {
        queued[v as usize] = false;
        let range = csr.offsets()[v as usize] as usize..csr.offsets()[v as usize + 1] as usize;
        for (&w, &width) in csr.columns()[range.clone()].iter().zip(&csr.values()[range]) {
            let next = better.call(route[w as usize], through.call(route[v as usize], width));
            if next != route[w as usize] {
                route[w as usize] = next;
                if !std::mem::replace(&mut queued[w as usize], true) {
                    queue.push_back(w);
                }
            }
        }
    }
    route
}

/// An opinion after a round, by kind: some are fixed, others move towards what was heard.
#[op]
fn adopt(kind: u32, own: f32, heard: f32) -> f32 {
    let openness = match kind & 15 {
        0 => return own,
        1 | 2 => 0.125,
        n @ 3..8 => n as f32 * 0.1,
        _ => 0.9f32,
    };
    openness.mul_add(heard - own, own)
}

const ROUNDS: usize = 20;

/// Opinions after rounds in which everyone hears the mean of their neighbours.
fn opinions(a: &Matrix, kind: &Vector<u32>, degree: &Vector<f32>, first: &Vector<f32>) -> Result<Vector<f32>> {
    let mut x = first.clone();
    for _ in 0..ROUNDS {
        // x = adopt(kind, x, (A plus.first x) / degree)
        x = adopt.map3(kind, &x, a.mxv(&x, semiring(PLUS, SECOND)).or_identity().ewise_mult(degree, DIV)).eval()?;
    }
    Ok(x)
}

/// The same by a loop over rows. Sums are folded over the engine's tree, so that the bits are the same.
fn opinions_by_loop(a: &Matrix, kind: &[u32], degree: &[f32], first: &[f32]) -> Vec<f32> {
    let (csr, mut x) = (a.csr(), first.to_vec());
    let mut next = x.clone();
    for _ in 0..ROUNDS {
        for v in 0..x.len() {
            let row = &csr.columns()[csr.offsets()[v] as usize..csr.offsets()[v + 1] as usize];
            let heard: f32 = row.iter().map(|&w| x[w as usize]).sum();
            next[v] = adopt.call(kind[v], x[v], heard / degree[v]);
        }
        std::mem::swap(&mut x, &mut next);
    }
    x
}

/// `ln(exp(a) + exp(b))`.
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
    const EXACT: bool = false;
}

/// The same with the standard library's functions.
fn log_sums_by_loop(a: &Matrix<f64>, x: &[f64]) -> Vec<f64> {
    let csr = a.csr();
    let row = |v: usize| {
        let range = csr.offsets()[v] as usize..csr.offsets()[v + 1] as usize;
        let terms = csr.columns()[range.clone()].iter().zip(&csr.values()[range]).map(|(&w, &p)| x[w as usize] + p);
        terms.fold(f64::NEG_INFINITY, |a, b| {
            let (high, low) = if a > b { (a, b) } else { (b, a) };
            if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
        })
    };
    (0..a.nrows()).map(row).collect()
}

/// The best times of both, in milliseconds, in turn.
fn best<A, B>(mut ours: impl FnMut() -> A, mut other: impl FnMut() -> B) -> ([f64; 2], A, B) {
    let mut times = [f64::MAX; 2];
    let mut answers = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let a = ours();
        times[0] = times[0].min(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let b = other();
        times[1] = times[1].min(start.elapsed().as_secs_f64() * 1e3);
        answers = Some((a, b));
    }
    let (a, b) = answers.expect("there were runs");
    (times, a, b)
}

fn row(graph: &str, task: &str, [ours, other]: [f64; 2]) {
    println!("{graph:16} {task:44} {ours:9.2} {other:9.2} {:6.2}", ours / other);
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-4 * a.abs().max(1.0)
}

/// A vector that differs at vertex 0, on the device.
fn from_vertex_0<T: Element>(n: usize, first: T, others: T, device: Device) -> Result<Vector<T>> {
    Vector::from_dense((0..n).map(|v| if v == 0 { first } else { others }).collect()).to(device)
}

/// A vector, once it is there.
fn began<T: Element>(vector: Vector<T>) -> Result<Vector<T>> {
    vector.extract(&[0]).eval()?.get(0);
    Ok(vector)
}

/// Waits until a vector is there; it stays where it is. An error ends the bench: it would be timed otherwise.
fn waited<T: Element>(vector: Result<Vector<T>>) -> Option<T> {
    let first = vector.and_then(|vector| vector.extract(&[0]).eval());
    first.unwrap_or_else(|error| panic!("a timed call failed: {error}")).get(0)
}

fn bench(spec: &str, device: Device) -> Result<()> {
    let graph = Matrix::from_simple(io::generate(spec, &())?.graph);
    let weighted = weights(&graph, 1, 100, 7)?;
    let edges = weighted.map_index(EDGE)?;
    let first_hop = from_vertex_0(graph.nrows(), Hop { length: 0, parent: 0 }, NONE, device)?;
    let first_route = from_vertex_0(graph.nrows(), Route { width: u32::MAX, edges: 0 }, NO_ROUTE, device)?;
    let (hops, lengths) = (paths(&edges, &first_hop)?, sssp(&weighted, 0)?);
    assert!(lengths.iter().all(|(v, length)| hops.get(v).is_some_and(|hop| hop.length == length)), "{spec}: paths");
    let (times, _, _) = best(|| waited(paths(&edges, &first_hop)), || waited(sssp(&weighted, 0)));
    row(spec, "paths with parents, and lengths alone", times);

    let first_way = from_vertex_0(graph.nrows(), Way { length: 0, parent: 0, edges: 0 }, NO_WAY, device)?;
    let found = ways(&edges, &first_way)?;
    assert!(
        lengths
            .iter()
            .all(|(v, length)| found.get(v).is_some_and(|way| way.length == length.into() || length == u32::MAX))
    );
    let (times, _, _) = best(|| waited(ways(&edges, &first_way)), || waited(sssp(&weighted, 0)));
    row(spec, "ways of 16 bytes, and lengths alone", times);

    let n = graph.nrows();
    let kinds: Vec<u32> = (0..n as u32).map(|v| v.wrapping_mul(2_654_435_761) >> 20).collect();
    let first: Vec<f32> = kinds.iter().map(|kind| (kind & 255) as f32 / 256.0).collect();
    let degrees: Vec<f32> =
        (0..n).map(|v| (graph.csr().offsets()[v + 1] - graph.csr().offsets()[v]).max(1) as f32).collect();
    let logs = weighted.map(TO_LOG)?;
    let start: Vec<f64> = first.iter().map(|x| -f64::from(*x)).collect();
    let (kind, degree) =
        (Vector::from_dense(kinds.clone()).to(device)?, Vector::from_dense(degrees.clone()).to(device)?);
    let x = Vector::from_dense(first.clone()).to(device)?;
    let logarithms = Vector::from_dense(start.clone()).to(device)?;
    let complex = weighted.map(TO_COMPLEX)?;
    let numbers: Vec<Complex> = first.iter().map(|&x| Complex { re: x.into(), im: 0.5 - f64::from(x) }).collect();
    let z = Vector::from_dense(numbers.clone()).to(device)?;
    let products = || complex.mxv(&z, semiring(sum, product)).eval();
    let log_sums = || logarithms.vxm(&logs, semiring(log_sum, PLUS)).eval();
    if !matches!(device, Device::Cpu) {
        let Device::Cuda(ordinal) = device else { return Ok(()) };
        let by_hand = ByHand::new(ordinal, graph.csr())?;
        let mut held = by_hand.widest_of(weighted.csr().values(), &first_route.to_dense(NO_ROUTE))?;
        let (times, ours, other) =
            best(|| widest(&weighted, &first_route).and_then(began), || by_hand.widest(&mut held));
        other?;
        // among equally wide routes, which one is met first decides what is met later
        let widths = |routes: Vec<Route>| routes.into_iter().map(|route| route.width).collect::<Vec<_>>();
        assert!(widths(ours?.to_dense(NO_ROUTE)) == widths(by_hand.routes(&held)?), "{spec}: routes");
        row(spec, "widest routes, and a kernel", times);
        let held = by_hand.opinions_of(&kinds, &degrees, &first)?;
        let (times, ours, other) =
            best(|| opinions(&graph, &kind, &degree, &x).and_then(began), || by_hand.opinions(&held));
        let (ours, other) = (ours?.to_dense(0.0), other?.download::<f32>(n)?);
        assert!(ours.iter().zip(&other).all(|(a, b)| near((*a).into(), (*b).into())), "{spec}: opinions");
        row(spec, "opinions of 20 rounds, and kernels", times);
        let held = by_hand.log_sums_of(logs.csr().values(), &start)?;
        let (times, ours, other) = best(|| log_sums().and_then(began), || by_hand.log_sums(&held));
        other?;
        let (ours, other) = (ours?.to_dense(f64::NEG_INFINITY), held[2].download::<f64>(n)?);
        assert!(ours.iter().zip(&other).all(|(a, b)| near(*a, *b)), "{spec}: log-sum-exp");
        row(spec, "a log-sum-exp product, and a kernel", times);
        let (times, _, _) = best(|| waited(log_sums()), || waited(logarithms.vxm(&logs, MAX_PLUS).eval()));
        row(spec, "a log-sum-exp product, and max.plus", times);
        let (reals, x) = (complex.map(REAL)?, z.map(REAL).eval()?);
        let (times, _, _) = best(|| waited(products()), || waited(reals.mxv(&x, PLUS_TIMES).eval()));
        row(spec, "a complex product, and one of f64", times);
        return Ok(());
    }
    let (times, ours, other) = best(|| widest(&weighted, &first_route), || widest_by_queue(&weighted));
    assert!(ours?.to_dense(NO_ROUTE) == other, "{spec}: routes");
    row(spec, "widest routes, and a queue", times);
    let (times, ours, other) =
        best(|| opinions(&graph, &kind, &degree, &x), || opinions_by_loop(&graph, &kinds, &degrees, &first));
    assert!(ours?.to_dense(0.0).iter().zip(&other).all(|(a, b)| near((*a).into(), (*b).into())), "{spec}: opinions");
    row(spec, "opinions of 20 rounds, and a loop", times);
    let (times, ours, other) = best(log_sums, || log_sums_by_loop(&logs, &start));
    let expected =
        |v: usize| if graph.csr().offsets()[v] == graph.csr().offsets()[v + 1] { f64::NEG_INFINITY } else { other[v] };
    let ours = ours?.to_dense(f64::NEG_INFINITY);
    assert!((0..n).all(|v| near(ours[v], expected(v))), "{spec}: log-sum-exp");
    row(spec, "a log-sum-exp product, and a loop over exp", times);
    let (times, ours, other) = best(products, || complex_by_loop(&complex, &numbers));
    let ours = ours?.to_dense(Complex { re: 0.0, im: 0.0 });
    assert!(ours.iter().zip(&other).all(|(a, b)| near(a.re, b.re) && near(a.im, b.im)), "{spec}: complex numbers");
    row(spec, "a complex product, and a loop", times);
    Ok(())
}

#[op(TO_LOG)]
fn to_log(weight: u32) -> f64 {
    -(weight as f64).ln()
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let device =
        arguments.iter().position(|argument| argument == "--device").map(|at| arguments.drain(at..at + 2).nth(1));
    let device: Device = device.flatten().unwrap_or_else(|| "cpu".to_owned()).parse()?;
    let graphs = if arguments.is_empty() { GRAPHS.map(String::from).to_vec() } else { arguments };
    println!("{:16} {:44} {:>9} {:>9} {:>6}", "graph", "task", "ours", "other", "ratio");
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| Error::invalid(error.to_string()))?;
    pool.install(|| device.scope(|| graphs.iter().try_for_each(|spec| bench(spec, device))))
}
