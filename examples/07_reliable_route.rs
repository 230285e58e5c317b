//! The most reliable route: links work with some probability, and a route works if all of its links do.
//!
//! `best(j) = max over links (i, j) of best(i) p(i, j)`: Bellman and Ford's recurrence over (max, times). Probabilities are at most 1, so a
//! product rounded to nearest never grows along a route, and never decreases in its factors. So Dijkstra's method, which settles the most
//! reliable vertex first, finds the same bits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use vxm::algorithms::priority::mix;
use vxm::prelude::*;

/// The reliability of the best route from `source` to each vertex; absent where no route leads.
fn most_reliable(a: &Matrix<f64>, source: u32) -> Result<Vector<f64>> {
    let start = Vector::from_pairs(a.nrows(), [(source, 1.0)])?.or(0.0).eval()?;
    // best = best max (best max.times A), until none changes. Values only grow, and each is that of some route
    let (reached, _rounds) = fixpoint(start)
        .while_changed()
        .monotone()
        .step(|best| best.ewise_add(best.vxm(a, MAX_TIMES), MAX))
        // reached = those of some reliability
        .eval_then(|best| best.select(NE.bind(0.0)).eval())?;
    Ok(reached)
}

/// The same by Dijkstra's method. Probabilities are compared by their bits: the order is the same.
fn dijkstra(a: &Matrix<f64>, source: u32) -> Vec<f64> {
    let mut best = vec![0f64; a.nrows()];
    best[source as usize] = 1.0;
    let mut queue = BinaryHeap::from([(1f64.to_bits(), Reverse(source))]);
    while let Some((bits, Reverse(v))) = queue.pop() {
        if bits != best[v as usize].to_bits() {
            continue;
        }
        let (heads, links) = a.csr().row(v as usize);
        for (&w, &p) in heads.iter().zip(links) {
            let along = best[v as usize] * p;
            if along > best[w as usize] {
                best[w as usize] = along;
                queue.push((along.to_bits(), Reverse(w)));
            }
        }
    }
    best
}

/// The vertices of a best route, from `target` back to `source`: each time a vertex that explains the reliability.
fn route(back: &Matrix<f64>, best: &[f64], source: u32, target: u32) -> Vec<u32> {
    let mut route = vec![target];
    while route[0] != source {
        let v = route[0];
        let explains = |&(_, u, p): &(u32, u32, f64)| best[u as usize] * p == best[v as usize];
        let row = back.iter_rows(v as usize..v as usize + 1);
        let (_, before, _) = row.into_iter().find(explains).expect("a best route comes from somewhere");
        route.insert(0, before);
    }
    route
}

fn run() -> Result<()> {
    let roads = Matrix::from_simple(vxm::io::generate("road:24", &())?.graph);
    // a link works with a probability from 0.90 to 0.999, drawn for each direction
    let draw = |i: u32, j: u32| 0.90 + 0.099 * f64::from(mix(i * 65_536 + j, 7)) / f64::from(u32::MAX);
    let links = roads.iter().map(|(i, j, ())| (i, j, draw(i, j)));
    let a = Matrix::from_triples(roads.nrows(), roads.ncols(), links)?;
    let source = pivot(&roads)?;
    let found = most_reliable(&a, source)?;
    let best = found.to_dense(0.0);

    // the same bits as Dijkstra's method
    assert_eq!(best, dijkstra(&a, source));

    // the least reliable of the vertices that are reached, and the route to it
    let (target, reliability) = found.argmin().expect("the source is reached");
    let route = route(&a.transpose(), &best, source, target);
    let product = route.windows(2).fold(1.0, |p, link| p * a.get(link[0], link[1]).expect("a link"));
    println!(
        "{} vertices, {} reached from {source}; the hardest is {target}: {:.2} % along {} links",
        a.nrows(),
        found.nvals(),
        100.0 * reliability,
        route.len() - 1
    );
    assert_eq!(product, reliability, "the route is as reliable as was said");
    assert!(found.nvals() > a.nrows() / 2);
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
