//! On a GPU every algorithm gives the same bits as on the CPU, on the graphs of the data folder and of the generators.

use super::common::facts;
use super::launches::in_its_own_process;
use super::other_devices::compare_others;
use super::shapes::complete_on_paths;
use std::io::Write;
use std::time::{Duration, Instant};
use vxm::algorithms::{
    ColoringOptions, Formulation, Method, MisOptions, Order, Priority, bfs, color, components, mis, sssp,
};
use vxm::backend::cuda::Gpu;
use vxm::backend::plan::{Direction, Forced, Schedule, Strategy, force};
use vxm::formats::{Combine, Coo};
use vxm::io::{generate, read};
use vxm::prelude::*;

/// The GPU that `VXM_TEST_DEVICE` names; `None`, with a line on stderr, if it names none.
pub fn gpu() -> Option<Device> {
    match std::env::var("VXM_TEST_DEVICE") {
        Ok(device) if device.starts_with("cuda") => Some(device.parse().unwrap()),
        _ => {
            let _ = writeln!(std::io::stderr(), "skipped: VXM_TEST_DEVICE=cuda asks for a GPU");
            None
        }
    }
}

/// The schedules that a loop on a device can be forced to.
pub const SCHEDULES: [Forced; 2] = [by(Schedule::Rounds), by(Schedule::Asynchronous)];

const fn by(schedule: Schedule) -> Forced {
    Forced {
        schedule: Some(schedule),
        direction: None,
        format: None,
        strategy: None,
        row_path: None,
        products_at_once: None,
    }
}

/// Compares sets and colourings of `a` on the CPU and on `device`.
pub fn compare(name: &str, a: &Matrix, device: Device) {
    let there = a.to(device).unwrap();
    for &priority in Priority::ALL {
        for &formulation in Formulation::ALL {
            let options = MisOptions::default().priority(priority).formulation(formulation).seed(7);
            let (here, found) = (mis(a, &options).unwrap(), mis(&there, &options).unwrap());
            assert_eq!(here.set.digest(), found.set.digest(), "{name}: {priority:?}, {formulation:?}");
            // only `Decide` is a loop with a schedule that can be forced
            let loops = formulation == Formulation::Decide && priority != Priority::Resolve;
            for schedule in SCHEDULES.into_iter().filter(|_| loops) {
                let found = force(schedule, || mis(&there, &options)).unwrap();
                assert_eq!(
                    here.set.digest(),
                    found.set.digest(),
                    "{name}: {priority:?}, {formulation:?}, {schedule:?}"
                );
            }
        }
    }
    for strategy in [Strategy::FoldRows, Strategy::CountTiles, Strategy::CountTilesTensor, Strategy::CountTilesBits] {
        let options = MisOptions::default().priority(Priority::Resolve).formulation(Formulation::Count).seed(7);
        let forced = Forced { strategy: Some(strategy), ..Forced::default() };
        let found = force(forced, || mis(&there, &options)).unwrap();
        assert_eq!(mis(a, &options).unwrap().set.digest(), found.set.digest(), "{name}: {strategy:?}");
    }
    for &method in Method::ALL {
        for &order in Order::ALL {
            // hundreds of rounds in every order: one order is enough
            let slow = !matches!(method, Method::Jp | Method::Hash);
            if slow && order != Order::Random {
                continue;
            }
            let options = ColoringOptions::default().method(method).order(order).seed(7);
            let (here, found) = (color(a, &options).unwrap(), color(&there, &options).unwrap());
            assert_eq!(here.colors.digest(), found.colors.digest(), "{name}: {method:?}, {order:?}");
            assert_eq!(here.count, found.count, "{name}: {method:?}, {order:?}");
            let loops = matches!(method, Method::Is | Method::Jp);
            for schedule in SCHEDULES.into_iter().filter(|_| loops) {
                let found = force(schedule, || color(&there, &options)).unwrap();
                assert_eq!(here.colors.digest(), found.colors.digest(), "{name}: {method:?}, {order:?}, {schedule:?}");
            }
        }
    }
}

/// A weight for each edge, the same in both directions.
#[op]
fn weight(i: u32, j: u32, _edge: ()) -> u32 {
    1u32 + ((i ^ j) * 0x85eb_ca6bu32 >> 24u32)
}

/// Compares levels, distances and components of `a` on the CPU and on `device`.
pub fn compare_paths(name: &str, a: &Matrix, device: Device) {
    let weighted = a.map_index(weight).unwrap();
    let (there, weighted_there) = (a.to(device).unwrap(), weighted.to(device).unwrap());
    for schedule in SCHEDULES {
        let labels = force(schedule, || components(&there)).unwrap();
        assert_eq!(components(a).unwrap().digest(), labels.digest(), "{name}: components, {schedule:?}");
        for source in [0, a.nrows() as u32 / 2].into_iter().filter(|&v| (v as usize) < a.nrows()) {
            let levels = force(schedule, || bfs(&there, source)).unwrap();
            assert_eq!(bfs(a, source).unwrap().digest(), levels.digest(), "{name}: bfs from {source}, {schedule:?}");
            let distances = force(schedule, || sssp(&weighted_there, source)).unwrap();
            let here = sssp(&weighted, source).unwrap();
            assert_eq!(here.digest(), distances.digest(), "{name}: sssp from {source}, {schedule:?}");
        }
    }
}

#[test]
fn graphs_of_the_data_folder() {
    let Some(device) = gpu() else { return };
    for folder in ["real", "dimacs-col", "independent-set", "lagraph"] {
        for (file, _) in facts(folder) {
            let Ok(loaded) = read(&file, &()) else { continue };
            let (name, a) = (format!("{folder}/{}", loaded.name), Matrix::from_simple(loaded.graph));
            compare(&name, &a, device);
            compare_paths(&name, &a, device);
            compare_others(&name, &a, device);
        }
    }
}

#[test]
fn generators() {
    let Some(device) = gpu() else { return };
    compare("complete graphs on paths", &complete_on_paths(), device);
    for spec in ["grid:512x512", "er:18:8", "rmat:18:8", "kron:18:8", "rgg:18", "road:512", "delaunay:18"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        compare(spec, &a, device);
        compare_paths(spec, &a, device);
        compare_others(spec, &a, device);
    }
}

/// The environment variable that makes a process time the first use of two programs.
const TIMED: &str = "VXM_TEST_TIMED";

#[test]
fn a_hundred_runs_are_one() {
    let Some(device) = gpu() else { return };
    for graph in ["grid:200x300", "rmat:13:16", "kron:11:32"] {
        let a = Matrix::from_simple(generate(graph, &()).unwrap().graph);
        let there = a.to(device).unwrap();
        let (options, jp) = (MisOptions::default(), ColoringOptions::default());
        let is = jp.method(Method::Is);
        let expected = (
            mis(&a, &options).unwrap().set.digest(),
            color(&a, &jp).unwrap().colors.digest(),
            color(&a, &is).unwrap().colors.digest(),
        );
        let label = components(&a).unwrap().digest();
        for run in 0..100 {
            let set = mis(&there, &options).unwrap().set.digest();
            let found = (set, color(&there, &jp).unwrap().colors.digest(), color(&there, &is).unwrap().colors.digest());
            assert_eq!(found, expected, "{graph}, run {run}");
            assert_eq!(components(&there).unwrap().digest(), label, "{graph}, run {run}");
        }
    }
}

/// Bounds the time of a program's first use, which compiles it, and of its first use in a later process, which finds it in the disk cache.
#[test]
fn programs_are_there_in_time() {
    let asked = std::env::var("VXM_TEST_DEVICE").unwrap_or_default();
    if std::env::var_os(TIMED).is_some() {
        return first_uses(&asked);
    }
    if asked != "dry-run" && gpu().is_none() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let timed = || {
        let mut command = in_its_own_process("devices::programs_are_there_in_time", TIMED);
        let out = command.env("VXM_CACHE_DIR", cache.path().join("cache")).output().unwrap();
        let told = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{told}{}", String::from_utf8_lossy(&out.stderr));
        let times = told.lines().filter_map(|line| line.strip_prefix("took ")?.parse().ok());
        let times: Vec<Duration> = times.map(Duration::from_micros).collect();
        assert_eq!(times.len(), 2, "{told}");
        times
    };
    let compiled = timed();
    // the fastest of five runs, since other processes may be running
    let later: Vec<_> = (0..5).map(|_| timed()).collect();
    for (use_, compiled) in compiled.into_iter().enumerate() {
        let cached = later.iter().map(|times| times[use_]).min().unwrap();
        let name = ["the process' first program", "another"][use_];
        let _ = writeln!(std::io::stderr(), "{name}: {compiled:?} compiled, {cached:?} from the cache");
        assert!(compiled < Duration::from_millis(3000), "{name}: {compiled:?}");
        assert!(cached < Duration::from_millis(50) && cached < compiled, "{name}: {cached:?}, {compiled:?} compiled");
    }
}

/// Prints the microseconds of two first uses, with the device open: of a product that decides, and of one that counts.
fn first_uses(asked: &str) {
    let a = Matrix::from_simple(generate("rmat:10:8", &()).unwrap().graph);
    let n = a.nrows();
    let (key, alive) = (Vector::from_dense((1..=n as u32).collect()), Set::all(n));
    let each = |wait: &dyn Fn()| {
        let begin = Instant::now();
        let best = key.ewise_mult(key.vxm(&a, MAX_FIRST).until(LT).or_identity(), MAX).eval().unwrap();
        wait();
        println!("\ntook {}", begin.elapsed().as_micros());
        let begin = Instant::now();
        let count = alive.vxm(&a, PLUS_PAIR).mask(&best).eval().unwrap();
        wait();
        println!("took {}", begin.elapsed().as_micros());
        assert_eq!(count.len(), n);
    };
    if asked == "dry-run" {
        return Device::dry_run(&Gpu::dry_run(&["sm_90"]).unwrap(), || each(&|| ()));
    }
    let device: Device = asked.parse().unwrap();
    let wait = || device.synchronize().unwrap();
    wait();
    let timed = || {
        each(&wait);
        Ok(())
    };
    device.scope(timed).unwrap();
}

/// A weight that isn't a whole number.
#[op]
fn fraction(j: u32) -> f32 {
    ((j & 255u32) as f32 + 0.5f32) / 3.0f32
}

/// Repeated products over a matrix with hot columns, which are renumbered after some uses: with elements of 1, 4 and 8 bytes, over exact
/// and inexact monoids, of vectors and of expressions, with rows long enough for a warp and for a block.
#[test]
fn crowded_products_are_those_of_the_host() {
    let Some(device) = gpu() else { return };
    let pattern = Matrix::from_simple(generate("kron:18:16", &()).unwrap().graph);
    let n = pattern.nrows() as u32;
    // row 7 and column 7 hold all vertices
    let hub: Vec<_> = pattern
        .iter()
        .filter(|&(i, j, ())| i != 7 && j != 7)
        .chain((0..n).filter(|&j| j != 7).flat_map(|j| [(7, j, ()), (j, 7, ())]))
        .collect();
    let pattern = Matrix::from_triples(n as usize, n as usize, hub).unwrap();
    let fractions = pattern.map_index(COLINDEX).unwrap().map(fraction).unwrap();
    let (pattern_there, fractions_there) = (pattern.to(device).unwrap(), fractions.to(device).unwrap());
    fn same<T: vxm::semiring::Element>(here: vxm::Result<Vector<T>>, there: impl Fn() -> vxm::Result<Vector<T>>) {
        let here = here.unwrap();
        // enough uses for the hot columns to be found, and some more
        for round in 0..12 {
            assert_eq!(there().unwrap(), here, "round {round}");
        }
    }
    let numbers: Vec<u32> = (0..n).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let full = |device: Device| Vector::from_dense(numbers.clone()).to(device).unwrap();
    let (u, v) = (full(Device::Cpu), full(device));
    let floats = |u: &Vector<u32>| u.map(small).eval().unwrap();
    let (f, g) = (floats(&u), floats(&v));
    same(fractions.mxv(&f, PLUS_TIMES).eval(), || fractions_there.mxv(&g, PLUS_TIMES).eval());
    same(fractions.mxv(f.map(PLUS.bind(0.5)), PLUS_TIMES).eval(), || {
        fractions_there.mxv(g.map(PLUS.bind(0.5)), PLUS_TIMES).eval()
    });
    same(fractions.mxv(f.map(ABS), PLUS_TIMES).eval(), || fractions_there.mxv(g.map(ABS), PLUS_TIMES).eval());
    same(u.vxm(&pattern, MAX_FIRST).eval(), || v.vxm(&pattern_there, MAX_FIRST).eval());
    same(u.vxm(&pattern, PLUS_FIRST).eval(), || v.vxm(&pattern_there, PLUS_FIRST).eval());
    let wide = |u: &Vector<u32>| u.map(widen).eval().unwrap();
    let (w, x) = (wide(&u), wide(&v));
    same(w.vxm(&pattern, PLUS_FIRST).eval(), || x.vxm(&pattern_there, PLUS_FIRST).eval());
    let doubles = |u: &Vector<u32>| u.map(halved).eval().unwrap();
    let (d, e) = (doubles(&u), doubles(&v));
    same(d.vxm(&pattern, PLUS_FIRST).eval(), || e.vxm(&pattern_there, PLUS_FIRST).eval());
    let bytes = |u: &Vector<u32>| u.map(low).eval().unwrap();
    let (b, c) = (bytes(&u), bytes(&v));
    same(b.vxm(&pattern, MIN_FIRST).eval(), || c.vxm(&pattern_there, MIN_FIRST).eval());
    // a vector with absent elements is read by the original column numbers
    let (some, there) = (u.select(GT.bind(1 << 20)).eval().unwrap(), v.select(GT.bind(1 << 20)).eval().unwrap());
    same(some.vxm(&pattern, MAX_FIRST).eval(), || there.vxm(&pattern_there, MAX_FIRST).eval());
}

/// The entries of a matrix with scattered columns, and with rows of each length that a block reduces differently: empty, short, about a
/// warp's width, longer, and hubs.
fn scattered(nrows: u32, ncols: u32) -> Vec<(u32, u32, f32)> {
    let hash = |i: u32, k: u32| (i.wrapping_mul(0x9e37_79b9) ^ k.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35);
    let length = |i: u32| match i % 4096 {
        // empty rows, also many in succession at the end
        _ if i % 7 == 3 || i + 9000 > nrows => 0,
        17 => 9000,
        18..25 => 1500,
        25..40 => 129,
        40..80 => 128,
        80..200 => 33,
        200..300 => 32,
        _ => hash(i, 0) % 12,
    };
    let row = |i| {
        let mut columns: Vec<u32> = (1..=length(i)).map(|k| (hash(i, k) >> 3) % ncols).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.into_iter().map(move |j| (i, j, fraction(j ^ i)))
    };
    (0..nrows).flat_map(row).collect()
}

/// Repeated products over a matrix with scattered columns, which use propagation blocking after some uses: with elements of 4 and 8 bytes,
/// of vectors and of expressions, over values and patterns, with an accumulator, under a mask, two in one expression, and reduced to a
/// scalar.
#[test]
fn scattered_products_are_those_of_the_host() {
    let Some(device) = gpu() else { return };
    let (nrows, ncols) = (280_000, 140_000);
    let here = Matrix::from_triples(nrows, ncols, scattered(nrows as u32, ncols as u32)).unwrap();
    assert!(here.nnz() > 1 << 20);
    let (pattern, there) = (here.pattern(), here.to(device).unwrap());
    let pattern_there = pattern.to(device).unwrap();
    fn same<T: vxm::semiring::Element>(here: vxm::Result<Vector<T>>, there: impl Fn() -> vxm::Result<Vector<T>>) {
        let here = here.unwrap();
        for round in 0..10 {
            assert_eq!(there().unwrap(), here, "round {round}");
        }
    }
    let numbers: Vec<u32> = (0..ncols as u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let full = |device: Device| Vector::from_dense(numbers.clone()).to(device).unwrap();
    let (u, v) = (full(Device::Cpu), full(device));
    let floats = |u: &Vector<u32>| u.map(small).eval().unwrap();
    let (f, g) = (floats(&u), floats(&v));
    // two products in one expression: one of them is staged at first, and uses propagation blocking later
    let some = |device: Device| floats(&Vector::from_dense((0..nrows as u32).collect()).to(device).unwrap());
    let (p, q) = (some(Device::Cpu), some(device));
    let both = |a: &Matrix<f32>, x: &Vector<f32>, y: &Vector<f32>| {
        a.mxv(x, PLUS_TIMES).ewise_add(a.mxv(x.map(ABS), PLUS_TIMES), PLUS).ewise_add(y, PLUS).eval()
    };
    same(both(&here, &f, &p), || both(&there, &g, &q));
    same(here.mxv(&f, PLUS_TIMES).eval(), || there.mxv(&g, PLUS_TIMES).eval());
    same(here.mxv(f.map(PLUS.bind(0.25)), PLUS_TIMES).map(ABS).eval(), || {
        there.mxv(g.map(PLUS.bind(0.25)), PLUS_TIMES).map(ABS).eval()
    });
    same(pattern.mxv(&f, PLUS_SECOND).eval(), || pattern_there.mxv(&g, PLUS_SECOND).eval());
    let doubles = |u: &Vector<u32>| u.map(halved).eval().unwrap();
    let (d, e) = (doubles(&u), doubles(&v));
    same(pattern.mxv(&d, PLUS_SECOND).eval(), || pattern_there.mxv(&e, PLUS_SECOND).eval());
    // into a vector that holds some elements
    let part = |p: &Vector<f32>| p.select(GT.bind(40.0)).eval().unwrap();
    let add = |p: &Vector<f32>, a: &Matrix<f32>, x: &Vector<f32>| {
        let mut w = part(p);
        a.mxv(x, PLUS_TIMES).accum(PLUS).assign_to(&mut w)?;
        Ok(w)
    };
    same(add(&p, &here, &f), || add(&q, &there, &g));
    let put = |p: &Vector<f32>, a: &Matrix<f32>, x: &Vector<f32>| {
        let mut w = part(p);
        a.mxv(x, PLUS_TIMES).assign_to(&mut w)?;
        Ok(w)
    };
    same(put(&p, &here, &f), || put(&q, &there, &g));
    let masked = |a: &Matrix<f32>, x: &Vector<f32>, p: &Vector<f32>| {
        let mask = p.select(GT.bind(40.0)).pattern().eval()?;
        a.mxv(x, PLUS_TIMES).mask(&mask).eval()
    };
    same(masked(&here, &f, &p), || masked(&there, &g, &q));
    let sum = here.mxv(&f, PLUS_TIMES).reduce(PLUS).unwrap();
    assert_eq!(there.mxv(&g, PLUS_TIMES).reduce(PLUS).unwrap().to_bits(), sum.to_bits());
    // a vector with absent elements is read element by element
    let (x, y) = (part(&f), part(&g));
    same(here.mxv(&x, PLUS_TIMES).eval(), || there.mxv(&y, PLUS_TIMES).eval());
    // over the transpose
    same(p.vxm(&here, PLUS_TIMES).eval(), || q.vxm(&there, PLUS_TIMES).eval());
}

#[op]
fn small(x: u32) -> f32 {
    (x % 97u32) as f32
}
#[op]
fn widen(x: u32) -> u64 {
    (x as u64) << 20u32
}
#[op]
fn halved(x: u32) -> f64 {
    (x as f64) / 2f64
}
#[op]
fn low(x: u32) -> u8 {
    x as u8
}

/// Millions of entries and elements, so that prefix sums take several levels of tiles.
#[test]
fn what_is_made_on_a_device_is_what_is_made_on_the_host() {
    let Some(device) = gpu() else { return };
    let graph = Matrix::from_simple(generate("rmat:18:16", &()).unwrap().graph);
    let here = graph.select(TRIL).unwrap().map_index(COLINDEX).unwrap();
    let there = here.to(device).unwrap();
    assert_eq!(there.transpose(), here.transpose());
    assert_eq!(there.pattern().transpose(), here.pattern().transpose());
    let (part, same) = (there.select(TRIL.offset(-1000)).unwrap(), here.select(TRIL.offset(-1000)).unwrap());
    assert_eq!(part, same);
    let merged = (there.ewise_add(&part.transpose(), PLUS), here.ewise_add(&same.transpose(), PLUS));
    assert_eq!(merged.0.unwrap(), merged.1.unwrap());
    let met = (there.ewise_mult(&part, MINUS), here.ewise_mult(&part.to(Device::Cpu).unwrap(), MINUS));
    assert_eq!(met.0.unwrap(), met.1.unwrap());
    assert_eq!(there.reduce_rows(PLUS).unwrap(), here.reduce_rows(PLUS).unwrap());
    let some: Vec<u32> = (0..20_000).map(|k| k * 13).collect();
    assert_eq!(there.extract(&some, &some).unwrap(), here.extract(&some, &some).unwrap());
    // row lengths are known of matrices made on the device, some with ties for the longest row, and of copied ones
    for (there, here) in [(&there, &here), (&there.transpose(), &here.transpose()), (&part, &same)] {
        assert_eq!(pivot(there).unwrap(), pivot(here).unwrap());
    }

    // in reverse order, with duplicates
    let entries: Vec<_> = here.iter().map(|(i, j, a)| (i, j, a as f32)).collect();
    let again = entries.iter().step_by(3).map(|&(i, j, a)| (i, j, a / 3.0));
    let triples = Coo::from_triples(here.nrows(), here.ncols(), entries.iter().rev().copied().chain(again)).unwrap();
    let built = device.scope(|| Matrix::from_coo(&triples, Combine(PLUS))).unwrap();
    assert_eq!(built.device(), device);
    assert_eq!(built, Matrix::from_coo(&triples, Combine(PLUS)).unwrap());

    let hash = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8 & 0xffff_ff0f) << (i % 3 * 12);
    let keys = Vector::from_dense((0..3_000_000).map(hash).collect());
    assert_eq!(keys.to(device).unwrap().rank().unwrap(), keys.rank().unwrap());
    let some = keys.select(GT.bind(1 << 40)).eval().unwrap();
    assert_eq!(some.to(device).unwrap().rank().unwrap(), some.rank().unwrap());

    let few = Vector::from_pairs(here.nrows(), (0..here.nrows() as u32).step_by(50).map(|i| (i, i))).unwrap();
    let pulled = few.vxm(&here, MIN_PLUS).eval().unwrap();
    for direction in [None, Some(Direction::Push), Some(Direction::Pull)] {
        let forced = Forced { direction, ..Forced::default() };
        let found = force(forced, || few.to(device).unwrap().vxm(&there, MIN_PLUS).eval()).unwrap();
        assert_eq!(found, pulled, "{direction:?}");
    }
}
