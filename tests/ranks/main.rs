//! Algorithms and verbs on ranks give the bits of one process, on every grid.

mod algorithms;
mod assembly;
mod certificates;
mod damage;
#[path = "../common/wide.rs"]
mod elements;
mod faults;
mod loops;
mod reading;
mod sent;
mod simulated;
mod verbs;
mod weights;
mod wide;

use std::sync::Arc;
use vxm::containers::{Matrix, Vector};
use vxm::ranks::{Communicator, Deal, Grid, Link, Threads};
use vxm::semiring::Element;
use vxm::{Error, Result};

/// The grids that are tested: rows and columns of ranks.
const GRIDS: [(usize, usize); 7] = [(1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (2, 3), (3, 3)];

/// Whether few grids and graphs are tested: `VXM_TEST_GRIDS=few`, for devices that are slow.
fn few() -> bool {
    std::env::var("VXM_TEST_GRIDS").is_ok_and(|grids| grids == "few")
}

/// Whether grids of one and two ranks are tested: `VXM_TEST_GRIDS=pairs`, for hosts with two GPUs.
fn pairs() -> bool {
    std::env::var("VXM_TEST_GRIDS").is_ok_and(|grids| grids == "pairs")
}

/// The grids that are tested: all, or one in each of one and two dimensions.
fn shapes() -> impl Iterator<Item = (usize, usize)> {
    let shapes = GRIDS.into_iter().filter(|shape| !few() || [(2, 1), (2, 2)].contains(shape));
    shapes.filter(|(rows, columns)| !pairs() || rows * columns <= 2)
}

/// The grids that are tested, each with each kind of owners, or with one.
fn grids() -> impl Iterator<Item = ((usize, usize), Deal)> {
    let deals = |shape| [(shape, Deal::Cyclic), (shape, Deal::Hashed)];
    shapes().flat_map(deals).filter(|&((_, columns), deal)| !few() || (columns == 1) == (deal == Deal::Cyclic))
}

/// Runs `program` on the ranks of a grid, and returns the result of rank 0, if no rank fails.
fn on_grid<R: Send>(shape: (usize, usize), deal: Deal, program: impl Fn(&Grid) -> Result<R> + Sync) -> Result<R> {
    on_ranks(shape, Some(deal), program)
}

/// The same on a grid where each matrix chooses how blocks are dealt out, if `deal` doesn't say it.
fn on_ranks<R: Send>(
    (rows, columns): (usize, usize),
    deal: Option<Deal>,
    program: impl Fn(&Grid) -> Result<R> + Sync,
) -> Result<R> {
    let run = |world: Arc<dyn Communicator>| {
        let grid = Grid::of(world, rows, columns)?;
        program(&placed(deal.map_or(grid.clone(), |deal| grid.with_deal(deal)))?)
    };
    let results: Result<Vec<R>> = Threads::run(rows * columns, run).into_iter().collect();
    results.and_then(|results| results.into_iter().next().ok_or_else(|| Error::invalid("no ranks")))
}

/// An error of ranks without the number of the rank that had it.
fn without_rank(error: String) -> String {
    match error.strip_prefix("rank ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest.to_owned(),
        None => error,
    }
}

/// The grid with its ranks on this host's GPUs, if `VXM_TEST_DEVICE=cuda`. `VXM_TEST_LINK` says what carries their parcels.
fn placed(grid: Grid) -> Result<Grid> {
    match std::env::var("VXM_TEST_DEVICE").as_deref() {
        Ok("cuda") => grid.on_gpus(std::env::var("VXM_TEST_LINK").map_or(Ok(Link::Auto), |link| link.parse())?),
        _ => Ok(grid),
    }
}

/// The whole vector that `program` makes of a spread matrix, on each grid and with each kind of owners.
fn each_grid<A: Element, T: Element>(
    what: &str,
    whole: &Matrix<A>,
    expected: &Vector<T>,
    program: impl Fn(&Matrix<A>) -> Result<Vector<T>> + Sync,
) {
    for (shape, deal) in grids() {
        let found = on_grid(shape, deal, |grid| program(&whole.to_grid(grid)?)?.to_root());
        let found = found.unwrap_or_else(|error| panic!("{what} on {shape:?}, {deal:?}: {error}"));
        assert_eq!(found.as_ref(), Some(expected), "{what} on {shape:?}, {deal:?}");
    }
}

/// A graph of `n` vertices and about `edges` edges: some vertices are hubs, some are isolated.
fn random_graph(n: u32, edges: usize, seed: u64) -> Matrix {
    let mut draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |bound: u32| {
        draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((draw >> 33) % u64::from(bound)) as u32
    };
    let edges: Vec<(u32, u32)> = (0..edges)
        .map(|k| {
            let hub = if k % 3 == 0 { random(n) % 7 % n } else { random(n) };
            (hub, random(n) / 2 * 2 % n)
        })
        .collect();
    Matrix::undirected(n as usize, &edges).unwrap()
}

/// Graphs of several kinds, some with fewer vertices than ranks.
fn graphs() -> Vec<(String, Matrix)> {
    let mut graphs: Vec<(String, Matrix)> = ["grid:17x23", "rmat:9:8", "kron:9:4", "road:20"]
        .into_iter()
        .filter_map(|spec| Some((spec.to_owned(), Matrix::from_simple(vxm::io::read(spec, &()).ok()?.graph))))
        .collect();
    assert!(graphs.len() >= 3, "generators are known");
    graphs.push(("hubs".to_owned(), random_graph(700, 2500, 3)));
    graphs
        .push(("path".to_owned(), Matrix::undirected(300, &(0..299).map(|v| (v, v + 1)).collect::<Vec<_>>()).unwrap()));
    graphs.push((
        "star".to_owned(),
        Matrix::undirected(130, &(1..130).map(|v| (129, v % 129)).collect::<Vec<_>>()).unwrap(),
    ));
    for n in [0, 1, 3, 64, 65] {
        let edges: Vec<(u32, u32)> = (1..n).map(|v| (v / 2, v)).collect();
        graphs.push((format!("{n} vertices"), Matrix::undirected(n as usize, &edges).unwrap()));
    }
    graphs.push(("no edges".to_owned(), Matrix::undirected(200, &[]).unwrap()));
    graphs.retain(|(name, _)| !few() || ["hubs", "star", "0 vertices", "65 vertices"].contains(&&name[..]));
    graphs
}
