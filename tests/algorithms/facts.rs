//! The undirected graphs of the data folder: answers checked, and compared with known facts.

use super::check::{Effort, check, check_coloring, check_set};
use super::common::facts;
use serde_json::Value;
use vxm::algorithms::{Method, Order, Priority};
use vxm::io::read;
use vxm::prelude::*;

/// Graphs with more edges than this aren't tried in all combinations, to keep the suite to minutes.
const MANY: u64 = 1000;

/// The row's `known` value, if it is a plain number, that is, proven.
fn proven(row: &Value) -> Option<u64> {
    row["known"].as_str()?.parse().ok()
}

/// Checks the graphs of a folder. `holds` is called with each row, the size of the largest set found and the least number of colours found.
fn check_folder(folder: &str, holds: impl Fn(&Value, u64, u64)) {
    for (file, row) in facts(folder) {
        let Ok(loaded) = read(&file, &()) else {
            assert_eq!(folder, "lagraph", "{file}");
            continue;
        };
        let a = Matrix::from_simple(loaded.graph);
        let name = format!("{folder}/{}", loaded.name);
        let effort = if a.nnz() / 2 <= MANY { Effort::All } else { Effort::Some };
        if effort == Effort::All {
            check(&name, &a, 1, effort);
        }
        let most =
            Priority::ALL.iter().map(|&priority| check_set(&name, &a, priority, 2, Effort::Some).set.nvals()).max();
        // larger graphs: each method in one order, and the fast methods in all; large graphs: each method in one order
        let edges = a.nnz() / 2;
        let tried = |&(method, order): &(Method, Order)| {
            let is_fast = matches!(method, Method::Jp | Method::Hash);
            edges <= 3_000 || order == Order::LargestDegreeFirst || edges <= 30_000 && is_fast
        };
        let all = Method::ALL.iter().flat_map(|&method| Order::ALL.iter().map(move |&order| (method, order)));
        let least = all.filter(tried);
        let least = least.map(|(method, order)| check_coloring(&name, &a, method, order, 2, Effort::Some).count).min();
        holds(&row, most.unwrap_or(0) as u64, least.unwrap_or(0).into());
    }
}

#[test]
fn colouring_instances() {
    check_folder("dimacs-col", |row, _, colors| {
        let bound = proven(row).max(row["clique_at_least"].as_u64()).unwrap_or(0);
        assert!(colors >= bound, "{row}: {colors} colours");
    });
}

#[test]
fn independent_set_instances() {
    check_folder("independent-set", |row, size, _| {
        assert!(proven(row).is_none_or(|known| size <= known), "{row}: {size} vertices");
    });
}

#[test]
fn real_graphs() {
    check_folder("real", |row, size, colors| {
        let clique = row["clique_number"].as_u64().max(row["clique_at_least"].as_u64()).unwrap_or(0);
        assert!(colors >= clique, "{row}: {colors} colours");
        if row["file"] == "lp1.mtx.gz" {
            assert!(size <= 288_754, "{size} vertices: its greatest set is known");
        }
    });
}

#[test]
fn small_matrices() {
    check_folder("lagraph", |_, _, _| {});
}
