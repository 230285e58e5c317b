//! A walk: an algorithm of one's own, from the mathematics to laws, a property test, and a plot.
//!
//! **1. The task.** Lines run between stops. Line `(i, j)` leaves `i` every 16 minutes and takes some minutes. When can one be at each stop,
//! if one is at the source at minute 0?
//!
//! **2. The mathematics.** With `next(t, l)` the arrival by line `l` if one waits from minute `t`: `at(j) = min over lines (i, j) of
//! next(at(i), l)`. That is Bellman and Ford's recurrence over the semiring (min, next). It needs `next` to distribute over `min`:
//! waiting from an earlier minute never leads to a later arrival. `laws::check` tries to refute it.

use proptest::collection::btree_map;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use vxm::prelude::*;

/// No minute: a stop that isn't reached. Minutes from `LATE` on count as never.
const NEVER: u32 = u32::MAX;
const LATE: u32 = 1u32 << 30u32;

/// **3. The operator.** The arrival by a line: its low 4 bits are the minute at which it leaves, the next 4 how long it takes, less 1.
#[op]
fn next(now: u32, line: u32) -> u32 {
    if now >= LATE {
        NEVER
    } else {
        let wait: u32 = (line - now) & 15u32;
        now + wait + (line >> 4u32 & 15u32) + 1u32
    }
}

/// **4. The algorithm.** Arrivals only get earlier, and each is that of some journey: so the loop is monotone.
fn earliest(a: &Matrix<u32>, source: u32) -> Result<Vector<u32>> {
    let start = Vector::from_pairs(a.nrows(), [(source, 0u32)])?.or(NEVER).eval()?;
    // at = at min (at min.next A), until none changes
    let (reached, _rounds) = fixpoint(start)
        .while_changed()
        .monotone()
        .step(|at| at.ewise_add(at.vxm(a, semiring(MIN, next)), MIN))
        // reached = those of some minute
        .eval_then(|at| at.select(NE.bind(NEVER)).eval())?;
    Ok(reached)
}

/// Another method: minute by minute, all vehicles are moved.
fn by_the_clock(lines: &BTreeMap<(u32, u32), u32>, n: usize, source: u32) -> Vec<u32> {
    let mut at = vec![NEVER; n];
    at[source as usize] = 0;
    // a journey changes at most n - 1 times, and each line takes at most 15 + 16 minutes with the wait
    for minute in 0..32 * n as u32 {
        for (&(i, j), &line) in lines {
            if at[i as usize] <= minute && minute % 16 == line % 16 {
                at[j as usize] = at[j as usize].min(minute + (line / 16) % 16 + 1);
            }
        }
    }
    at
}

/// **5. The property test.** On any network: the answer is that of the clock; no line brings one anywhere earlier.
fn properties() -> std::result::Result<(), Box<dyn std::error::Error>> {
    const STOPS: usize = 12;
    let networks = btree_map((0..STOPS as u32, 0..STOPS as u32), 0u32..256, 0..40);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    runner.run(&networks, |lines| {
        let a = Matrix::from_triples(STOPS, STOPS, lines.iter().map(|(&(i, j), &line)| (i, j, line))).unwrap();
        let at = earliest(&a, 0).unwrap().to_dense(NEVER);
        assert_eq!(at, by_the_clock(&lines, STOPS, 0));
        assert!(a.iter().all(|(i, j, line)| at[j as usize] <= next(at[i as usize], line)));
        Ok(())
    })?;
    Ok(())
}

/// **6. The plot.** How many stops are reached by each minute, as an SVG path over 400 x 200 pixels.
fn plot(minutes: &[u32]) -> String {
    let (last, n) = (minutes[minutes.len() - 1].max(1), minutes.len());
    let mut path = "M 0 200".to_owned();
    for (k, minute) in minutes.iter().enumerate() {
        let x = 400 * minute / last;
        path += &format!(" H {x} V {}", 200 - 200 * (k + 1) / n);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 200\"><title>{n} stops in {last} minutes</title>\
         <path d=\"{path}\" fill=\"none\" stroke=\"black\"/></svg>\n"
    )
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // lines are no numbers: what min makes of two lines means nothing, and the recurrence never asks for it
    println!("{}", laws::check_except::<u32, u32, _>(semiring(MIN, next), &[laws::Law::DistributesOverMatrix])?);
    properties()?;
    println!("64 networks: the same arrivals as by the clock");

    let streets = Matrix::from_simple(vxm::io::generate("delaunay:9", &())?.graph);
    let line = |i: u32, j: u32| vxm::algorithms::priority::mix(i << 16 | j, 5) & 255;
    let lines = streets.iter().map(|(i, j, ())| (i, j, line(i, j)));
    let a = Matrix::from_triples(streets.nrows(), streets.ncols(), lines)?;
    // on a GPU if there is one; the answer has the same bits
    let at = Device::auto().scope(|| earliest(&a, pivot(&streets)?))?;
    let mut minutes: Vec<u32> = at.iter().map(|(_, minute)| minute).collect();
    minutes.sort_unstable();

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("arrivals.svg");
    std::fs::write(&file, plot(&minutes))?;
    let drawn = std::fs::read_to_string(&file)?;
    println!(
        "{} stops, the last after {} minutes; a plot of {} bytes",
        minutes.len(),
        minutes[minutes.len() - 1],
        drawn.len()
    );
    // a triangulation is connected, and the curve has a step for each stop and ends in the upper right corner
    assert_eq!(minutes.len(), streets.nrows());
    assert_eq!(drawn.matches(" V ").count(), minutes.len());
    assert!(drawn.contains(" H 400 V 0\""));
    Ok(())
}
