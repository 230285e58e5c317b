//! Properties of every answer, for any graph.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;
use vxm::algorithms::priority::{hashes, order_keys, priorities};
use vxm::algorithms::{Coloring, ColoringOptions, Formulation, Method, Mis, MisOptions, Order, Priority, color, mis};
use vxm::backend::plan::Format;
use vxm::certify;
use vxm::prelude::*;

static POOLS: LazyLock<Vec<ThreadPool>> =
    LazyLock::new(|| [1, 2, 8].map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()).into());

/// How many combinations of threads, formats and options are tried.
#[derive(Clone, Copy, PartialEq)]
pub enum Effort {
    /// All: on 1, 2 and 8 threads, in the planned format, as CSR and as tiles.
    All,
    /// Every algorithm once, and the fast ones again with three pairs of a number of threads and a format.
    Some,
}

/// Runs `f` on 1, 2 and 8 threads and in each format: on all pairs, or with `Effort::Some` on three in which each occurs once.
fn everywhere(a: &Matrix, effort: Effort, mut f: impl FnMut(&Matrix, &str) + Send) {
    for (i, format) in [None, Some(Format::Csr), Some(Format::Tiles)].into_iter().enumerate() {
        let a = a.clone().with_format(format);
        for (k, pool) in POOLS.iter().enumerate() {
            if effort == Effort::All || i == k {
                let place = format!("{format:?}, {} threads", pool.current_num_threads());
                pool.install(|| f(&a, &place));
            }
        }
    }
}

/// Checks the independent sets of all priorities, and the colourings of all methods and orders.
pub fn check(name: &str, a: &Matrix, seed: u64, effort: Effort) {
    for &priority in Priority::ALL {
        check_set(name, a, priority, seed, effort);
    }
    for &order in Order::ALL {
        check_colorings(name, a, order, seed, effort);
    }
}

/// Checks a set by its certificate, against the sequential set of the same priority, and across threads, formats and formulations. Returns
/// it.
pub fn check_set(name: &str, a: &Matrix, priority: Priority, seed: u64, effort: Effort) -> Mis {
    let name = format!("{name}: {priority:?}, seed {seed}");
    let options = MisOptions::default().priority(priority).seed(seed).formulation(Formulation::Decide);
    let found = mis(a, &options).unwrap();
    let (graph, n) = (a.to_graph().unwrap(), a.nrows());
    let csr = graph.csr();
    let mut member = vec![false; n];
    found.set.indices().for_each(|v| member[v as usize] = true);
    assert_eq!(certify::independent_set(csr.offsets(), csr.columns(), &member), Ok(()), "{name}");
    assert_eq!(member, by_hand(&graph, priority, seed), "{name}: the sequential set");
    let most = (0..n).map(|v| csr.degree(v)).max().unwrap_or(0);
    assert!(found.set.nvals() * (most + 1) >= n, "{name}: a maximal set takes at least one of each neighbourhood");

    let again = |a: &Matrix, formulation, place: &str| {
        let other = mis(a, &options.formulation(formulation)).unwrap();
        assert!(other.set == found.set, "{name}: {formulation:?}, {place}");
        assert_eq!(other.set.digest(), found.set.digest());
    };
    // sorted-id takes thousands of rounds where degrees are equal, so it runs once
    if effort == Effort::All || priority != Priority::SortedId {
        everywhere(a, effort, |a, place| Formulation::ALL.iter().for_each(|&formulation| again(a, formulation, place)));
    }
    found
}

/// The vertices by descending key. Keys must be distinct.
pub fn descending(key: &Vector<u32>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..key.len() as u32).collect();
    let key = key.to_dense(0);
    order.sort_unstable_by_key(|&v| core::cmp::Reverse(key[v as usize]));
    assert!(order.windows(2).all(|w| key[w[0] as usize] > key[w[1] as usize]), "keys are distinct");
    order
}

/// The set that a priority defines, by a sequential program.
fn by_hand(a: &Matrix, priority: Priority, seed: u64) -> Vec<bool> {
    let csr = a.csr();
    if priority != Priority::Resolve {
        let order = descending(&priorities(a, priority, seed).unwrap());
        return certify::greedy_set(csr.offsets(), csr.columns(), order);
    }
    // H3: a vertex is pending if no alive neighbour has a lower degree, and chosen if no pending neighbour has a higher hash
    let hash = hashes(a.nrows(), seed).unwrap().to_dense(0);
    let (mut alive, mut member) = (vec![true; a.nrows()], vec![false; a.nrows()]);
    while alive.contains(&true) {
        let among = |kept: &[bool], v: usize, beats: &dyn Fn(usize) -> bool| {
            kept[v] && csr.row(v).0.iter().all(|&u| !kept[u as usize] || beats(u as usize))
        };
        let pending: Vec<bool> =
            (0..a.nrows()).map(|v| among(&alive, v, &|u| csr.degree(v) <= csr.degree(u))).collect();
        let chosen: Vec<usize> = (0..a.nrows()).filter(|&v| among(&pending, v, &|u| hash[v] > hash[u])).collect();
        for v in chosen {
            member[v] = true;
            alive[v] = false;
            csr.row(v).0.iter().for_each(|&u| alive[u as usize] = false);
        }
    }
    member
}

/// Checks the colourings of one order by all methods.
pub fn check_colorings(name: &str, a: &Matrix, order: Order, seed: u64, effort: Effort) {
    let graph = a.to_graph().unwrap();
    let (offsets, columns) = (graph.csr().offsets(), graph.csr().columns());
    let key = order_keys(&graph, order, seed).unwrap();
    let greedy = certify::greedy_coloring(offsets, columns, descending(&key));
    let mut by_sets = None;
    for &method in Method::ALL {
        let found = check_coloring(name, a, method, order, seed, effort);
        let colors = found.colors.to_dense(0);
        match method {
            // the greedy maximal set for each colour in turn gives the first-fit colouring of the order too
            Method::Jp | Method::Mis => {
                assert_eq!(colors, greedy, "{name}: {method:?} {order:?}: the greedy colouring")
            }
            Method::Is => by_sets = Some(colors),
            Method::MaxTimes | Method::NeighborReduce => {
                assert_eq!(Some(&colors), by_sets.as_ref(), "{name}: {order:?}: {method:?}: Algorithms 2 and 7");
            }
            _ => {}
        }
        if (method, order) == (Method::Jp, Order::SmallestDegreeLast) {
            let (_, degeneracy) = certify::smallest_degree_last(offsets, columns);
            assert!(found.count as usize <= degeneracy + 1, "{name}: {} colours", found.count);
        }
    }
}

/// Checks a colouring by its certificate, and across threads and formats. Returns it.
pub fn check_coloring(name: &str, a: &Matrix, method: Method, order: Order, seed: u64, effort: Effort) -> Coloring {
    let name = format!("{name}: {method:?} {order:?}, seed {seed}");
    let options = ColoringOptions::default().method(method).order(order).seed(seed);
    let found = color(a, &options).unwrap();
    let graph = a.to_graph().unwrap();
    let colors = found.colors.to_dense(0);
    let count = certify::coloring(graph.csr().offsets(), graph.csr().columns(), &colors);
    assert_eq!(count, Ok(found.count), "{name}");
    assert_eq!(colors.iter().copied().max().unwrap_or(0), found.count, "{name}: colours are 1 to count");
    if effort == Effort::All || (method, order) == (Method::Jp, Order::LargestDegreeFirst) {
        everywhere(a, effort, |a, place| {
            let other = color(a, &options).unwrap();
            assert!(other.colors == found.colors && other.count == found.count, "{name}: {place}");
            assert_eq!(other.colors.digest(), found.colors.digest());
        });
    }
    found
}
