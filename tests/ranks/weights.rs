//! Ranks that read a graph with weights together have the graph of one process.

use crate::{on_ranks, without_rank};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use vxm::Result;
use vxm::containers::{SpreadGraph, SpreadWeighted};
use vxm::formats::{Coo, Refuse};
use vxm::io::{
    Columns, FileFormat, Loaded, Numbering, ReadAs, Value, Weighted, WholeFile, read_digraph, read_weighted_as,
    write_native,
};
use vxm::prelude::*;
use vxm::ranks::{Deal, Grid};

/// Grids, and how blocks are dealt out.
const GRIDS: [((usize, usize), Option<Deal>); 3] = [((3, 1), None), ((1, 2), Some(Deal::Hashed)), ((2, 3), None)];

/// What is compared of a graph.
pub type Told<T> = (String, Option<FileFormat>, Numbering, String, bool, Matrix<T>);

pub fn told<T: Element>(loaded: Loaded<T>) -> Told<T> {
    let Loaded { graph, name, format, numbering, report, .. } = loaded;
    let symmetric = graph.is_symmetric();
    (name, format, numbering, format!("{report:?}"), symmetric, Matrix::from_csr(graph))
}

pub fn spread<T: Element>(graph: SpreadGraph<T>) -> Result<Option<Told<T>>> {
    let SpreadGraph { matrix, name, format, numbering, report, .. } = graph;
    let symmetric = matrix.is_symmetric();
    let root = matrix.to_root()?;
    Ok(root.map(|matrix| (name, format, numbering, format!("{report:?}"), symmetric, matrix)))
}

/// The graph of one process, and that of the ranks of a grid.
#[derive(Debug, PartialEq)]
pub enum Graph {
    None(String),
    Integer(Told<u32>),
    Real(Told<f64>),
}

impl Graph {
    fn of(found: Weighted) -> Self {
        match found {
            Weighted::None(loaded) => Self::None(loaded.name),
            Weighted::Integer(loaded) => Self::Integer(told(loaded)),
            Weighted::Real(loaded) => Self::Real(told(loaded)),
        }
    }
}

pub fn alone(path: &Path, input: ReadAs<'_>) -> Result<Graph> {
    read_weighted_as(path, input, &()).map(Graph::of)
}

/// The graph that ranks read, on rank 0, and whether they read it by parts.
pub fn on_rank(path: &Path, input: ReadAs<'_>, grid: &Grid) -> Result<(Option<Graph>, bool)> {
    let read = match grid.try_read_weighted(path, input, &())? {
        Ok(SpreadWeighted::None(name)) => Some(Graph::None(name)),
        Ok(SpreadWeighted::Integer(graph)) => spread(graph)?.map(Graph::Integer),
        Ok(SpreadWeighted::Real(graph)) => spread(graph)?.map(Graph::Real),
        Err(whole) => return Ok((Some(Graph::of(whole)), false)),
    };
    Ok((read, true))
}

fn together(path: &Path, input: ReadAs<'_>, (shape, deal): ((usize, usize), Option<Deal>)) -> Result<Graph> {
    let (found, by_parts) = on_ranks(shape, deal, |grid| on_rank(path, input, grid))?;
    assert!(by_parts, "{}: read as a whole", path.display());
    Ok(found.unwrap_or_else(|| panic!("no graph on rank 0")))
}

fn reads_the_same<'c>(path: &Path, input: impl Into<ReadAs<'c>>) {
    let input = input.into();
    let expected = alone(path, input).unwrap();
    for grid in GRIDS {
        let found = together(path, input, grid).unwrap();
        assert_eq!(found, expected, "{} on {grid:?}", path.display());
    }
}

/// Distinct edges over 300 vertices, some of them self-loops, and with `symmetric` those below the diagonal alone.
fn edges(symmetric: bool) -> Vec<(u32, u32, u32)> {
    let edges = (0..1500u32).map(|k| (k * k % 299, k * 7 % 300, k * k % 1009));
    let distinct: BTreeMap<(u32, u32), u32> = edges.map(|(from, to, weight)| ((from, to), weight)).collect();
    let kept = distinct.into_iter().filter(|&((from, to), _)| !symmetric || from >= to);
    let mut edges: Vec<_> = kept.map(|((from, to), weight)| (from, to, weight)).collect();
    // not in the order of rows
    edges.sort_by_key(|&(from, to, weight)| (weight % 31, to, from));
    edges
}

fn written(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A Matrix Market file of the edges.
fn market(kind: &str, symmetry: &str, show: impl Fn(u32) -> String) -> String {
    let edges: Vec<_> = edges(symmetry != "general")
        .into_iter()
        .filter(|(from, to, _)| symmetry != "skew-symmetric" || from != to)
        .collect();
    let lines = edges.iter().map(|&(i, j, w)| format!("{} {} {}\n", i + 1, j + 1, show(w))).collect::<String>();
    format!("%%MatrixMarket matrix coordinate {kind} {symmetry}\n300 300 {}\n{lines}", edges.len())
}

#[test]
fn text_is_read_by_parts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let real = |w: u32| format!("{:.3}", f64::from(w) / 7.0 - 30.0);
    for symmetry in ["general", "symmetric", "skew-symmetric"] {
        reads_the_same(&written(folder, "r.mtx", market("real", symmetry, real)), None);
        if symmetry != "skew-symmetric" {
            reads_the_same(&written(folder, "i.mtx", market("integer", symmetry, |w| w.to_string())), None);
        }
    }
    reads_the_same(&written(folder, "p.mtx", market("pattern", "general", |_| String::new())), None);
    let list = |show: &dyn Fn((u32, u32, u32)) -> String| edges(false).into_iter().map(show).collect::<String>();
    let plain = written(folder, "g.wel", list(&|(i, j, w)| format!("{} {} {w}\n", i * 3, j * 3)));
    reads_the_same(&plain, None);
    // without a choice the third column is no weight
    reads_the_same(&written(folder, "g.txt", std::fs::read(&plain).unwrap()), None);
    let one = |(i, j, w): (u32, u32, u32)| {
        format!("{w} x {j} {} {i}\n", if w % 50 == 0 { "2.5".into() } else { w.to_string() })
    };
    let chosen = written(folder, "c.txt", list(&one));
    reads_the_same(&chosen, ReadAs::default().columns(&Columns::new("5", "3").weighted("4")));
    reads_the_same(&chosen, ReadAs::default().columns(&Columns::new("5", "3").weighted("1")));
    // parallel arcs: the least weight is kept
    let arcs = edges(false).into_iter().flat_map(|(i, j, w)| [(i, j, w), (i, j, (w + 500) % 1009)]);
    let lines = arcs.map(|(i, j, w)| format!("a {} {} {w}\n", i + 1, j + 1)).collect::<String>();
    let header = format!("c roads\np sp 300 {}\n", lines.lines().count());
    let roads = written(folder, "g.gr", header + &lines);
    reads_the_same(&roads, None);
    bare_reads_the_same(&roads);
}

/// METIS' lines of vertices, with a size, two weights of vertices and weights of edges as FMT says. Some edges are self-loops.
fn lines_of_vertices(fmt: &str) -> String {
    let mut around = vec![BTreeMap::new(); 300];
    for (i, j, w) in edges(true) {
        around[i as usize].insert(j, w);
        around[j as usize].insert(i, w);
    }
    let [size, vertex, edge] = [0, 1, 2].map(|digit| fmt.as_bytes()[digit] == b'1');
    let line = |around: &BTreeMap<u32, u32>| {
        let neighbours = around.iter().map(|(j, w)| if edge { format!("{} {w}", j + 1) } else { (j + 1).to_string() });
        let before = [size.then_some("3"), vertex.then_some("7 8")].into_iter().flatten().map(str::to_owned);
        before.chain(neighbours).collect::<Vec<_>>().join(" ") + "\n"
    };
    let entries = around.iter().flatten().count();
    let loops = (0..300u32).filter(|v| around[*v as usize].contains_key(v)).count();
    let lines: Vec<String> = around.iter().map(line).collect();
    format!(
        "% a graph\n300 {} {fmt} 2\n{}% in between\n{}",
        (entries + loops) / 2,
        lines[..170].concat(),
        lines[170..].concat()
    )
}

#[test]
fn lines_of_vertices_are_read_by_parts() {
    let folder = tempfile::tempdir().unwrap();
    for fmt in ["000", "001", "111", "110"] {
        let path = written(folder.path(), "g.graph", lines_of_vertices(fmt));
        reads_the_same(&path, None);
        bare_reads_the_same(&path);
    }
    // an edge in one line only, one with two weights, a line too few, an edge too few, and no number
    for text in [
        "3 1 001\n2 5\n\n2 5\n",
        "3 1 001\n2 5\n1 6\n\n",
        "4 1 001\n2 5\n1 5\n\n",
        "3 2 001\n2 5\n1 5\n\n",
        "3 1 001\n2 5\n1 x\n\n",
        // a neighbour that is listed twice, by the second end or by the first
        "3 2 001\n2 5\n1 5 1 5 3 5\n\n",
        "3 2 001\n2 5 2 5 3 5\n1 5\n\n",
    ] {
        same_error(&written(folder.path(), "bad.graph", text));
    }
    let path = written(folder.path(), "one.graph", "3 1\n2\n\n2\n");
    let found = on_ranks((3, 1), None, |grid| grid.read(&path, &())).unwrap_err().to_string();
    assert_eq!(found, vxm::io::read(&path, &()).unwrap_err().to_string());
}

/// Checks that the graph without weights is read in parts, with directions.
fn bare_reads_the_same(path: &Path) {
    let expected = told(read_digraph(path, &()).unwrap());
    for (shape, deal) in GRIDS {
        let read = |grid: &Grid| spread(grid.try_read_digraph(path, ReadAs::default(), &())?.expect("in parts"));
        let found = on_ranks(shape, deal, read).unwrap();
        assert_eq!(found.as_ref(), Some(&expected), "{} on {shape:?}", path.display());
        let undirected = vxm::io::read(path, &()).unwrap();
        let read = |grid: &Grid| {
            let graph = grid.try_read_graph(path, ReadAs::default(), &())?.expect("in parts");
            Ok((graph.report, graph.matrix.to_root()?))
        };
        let found = on_ranks(shape, deal, read).unwrap();
        assert_eq!(found, (undirected.report, Some(Matrix::from_csr(undirected.graph))), "{}", path.display());
    }
}

/// Compressed rows of the edges: offsets, neighbours and weights.
fn rows(reversed: bool) -> (Vec<u64>, Vec<u32>, Vec<u32>) {
    let mut edges = edges(false);
    if reversed {
        edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0, edge.2));
    }
    edges.sort_unstable();
    let offsets = (0..=300).map(|row| edges.partition_point(|edge| edge.0 < row) as u64).collect();
    (offsets, edges.iter().map(|edge| edge.1).collect(), edges.iter().map(|edge| edge.2).collect())
}

fn bytes32(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn binary_files_are_read_by_parts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (offsets, neighbours, weights) = rows(false);
    let narrow: Vec<u32> =
        [300, neighbours.len() as u32].into_iter().chain(offsets.iter().map(|&at| at as u32)).collect();
    let bare = [bytes32(&narrow), bytes32(&neighbours)].concat();
    let path = written(folder, "bare.egr", &bare);
    reads_the_same(&path, None);
    bare_reads_the_same(&path);
    let path = written(folder, "g.egr", [bare, bytes32(&weights)].concat());
    reads_the_same(&path, None);
    bare_reads_the_same(&path);
    // a GAP graph has the reversed edges besides
    let mut file = vec![1u8];
    [neighbours.len() as u64, 300].iter().for_each(|count| file.extend(count.to_le_bytes()));
    for reversed in [false, true] {
        let (offsets, neighbours, weights) = rows(reversed);
        offsets.iter().for_each(|at| file.extend(at.to_le_bytes()));
        neighbours.iter().zip(&weights).for_each(|(to, weight)| file.extend(bytes32(&[*to, *weight])));
    }
    let path = written(folder, "g.wsg", &file);
    reads_the_same(&path, None);
    bare_reads_the_same(&path);
    // a damaged one is refused by all, as by one process
    let last = file.len() - 8 * neighbours.len() - 8;
    file[last] ^= 1;
    let path = written(folder, "bad.wsg", &file);
    same_error(&path);
    native_files(folder, |w| w);
    native_files(folder, |w| w as u8);
    native_files(folder, |w| f64::from(w) / 3.0);
    native_files(folder, |w| half::f16::from_f64(f64::from(w) / 4.0));
}

/// Native files with weights, with self-loops and without.
fn native_files<T: Value + Element>(folder: &Path, weight: impl Fn(u32) -> T) {
    for loops in [false, true] {
        let triples = edges(false).into_iter().filter(|(i, j, _)| loops || i != j).map(|(i, j, w)| (i, j, weight(w)));
        let matrix = Coo::from_triples(300, 300, triples).unwrap().to_csr(Refuse).unwrap();
        let path = folder.join("g.vxm");
        write_native(WholeFile::prepare(&path).unwrap(), &matrix, &Numbering::From(7)).unwrap();
        reads_the_same(&path, None);
        bare_reads_the_same(&path);
    }
}

/// Checks that one process and ranks refuse the file, and say the same.
fn same_error(path: &Path) {
    let said = alone(path, ReadAs::default()).unwrap_err().to_string();
    for grid in GRIDS {
        let found = without_rank(together(path, ReadAs::default(), grid).unwrap_err().to_string());
        assert_eq!(found, said, "{} on {grid:?}", path.display());
    }
}

#[test]
fn two_weights_of_an_edge_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lines = (0..200).map(|k| format!("{} {} {k}\n", k % 50 + 10, k % 49 + 12)).collect::<String>();
    same_error(&written(folder.path(), "g.wel", format!("{lines}11 60 7\n11 60 8\n11 60 7\n")));
    // of several such edges the first by its ends
    let path = written(folder.path(), "two.wel", format!("{lines}12 14 9\n12 14 8\n11 60 7\n11 60 7\n"));
    let found = together(&path, ReadAs::default(), GRIDS[0]).unwrap_err().to_string();
    assert_eq!(found, format!("{}: entry 204 repeats row 11, column 60 of entry 203", path.display()));
    // one that is implied
    let text = "%%MatrixMarket matrix coordinate integer symmetric\n4 4 3\n2 1 5\n4 3 1\n1 2 5\n";
    let path = written(folder.path(), "g.mtx", text);
    same_error(&path);
    let text = "%%MatrixMarket matrix coordinate integer skew-symmetric\n4 4 2\n2 1 5\n4 3 1\n";
    let path = written(folder.path(), "s.mtx", text);
    let said = alone(&path, ReadAs::default()).unwrap_err().to_string();
    assert!(said.contains("u32 cannot hold the negative of"), "{said}");
    let found = together(&path, ReadAs::default(), GRIDS[0]).unwrap_err().to_string();
    assert!(found.contains("u32 cannot hold the negative of"), "{found}");
    let complex = "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1.0 2.0\n";
    same_error(&written(folder.path(), "c.mtx", complex));
    same_error(&written(folder.path(), "few.gr", "p sp 3 3\na 1 2 7\na 2 3 1\n"));
    same_error(&written(folder.path(), "wide.gr", "p sp 3 2\na 1 2 7\na 2 3 4294967296\n"));
}

#[test]
fn edges_in_one_direction_count_for_both() {
    // every edge once, and some in both directions; self-loops stay
    let once: BTreeMap<(u32, u32), u32> =
        edges(true).into_iter().map(|(i, j, w)| if w % 2 == 0 { ((i, j), w) } else { ((j, i), w) }).collect();
    let mut some = once.clone();
    some.extend(once.iter().filter(|(_, w)| *w % 3 == 0).map(|(&(i, j), &w)| ((j, i), w)));
    let mut all = some.clone();
    all.extend(once.iter().map(|(&(i, j), &w)| ((j, i), w)));
    let matrix = |entries: &BTreeMap<(u32, u32), u32>| {
        let value = |(&(i, j), &w): (&(u32, u32), &u32)| (i, j, f64::from(w) / 7.0);
        Matrix::from_triples(300, 300, entries.iter().map(value)).unwrap()
    };
    let (expected, some_matrix) = (matrix(&all), matrix(&some));
    assert_eq!(some_matrix.to_undirected().unwrap(), expected);
    // two edges have other weights in their second directions
    let spoilt: Vec<(u32, u32)> = some.keys().copied().filter(|&(i, j)| i < j && some.contains_key(&(j, i))).collect();
    let mut uneven = some.clone();
    for (i, j) in [spoilt[5], spoilt[9]] {
        uneven.insert((j, i), 5000);
    }
    let (uneven, (i, j)) = (matrix(&uneven), spoilt[5]);
    let told = uneven.to_undirected().unwrap_err().to_string();
    assert!(told.starts_with(&format!("entries ({i}, {j}) and ({j}, {i}) differ")), "{told}");
    for (shape, deal) in GRIDS {
        let found = on_ranks(shape, deal, |grid| {
            let both = some_matrix.to_grid(grid)?.to_undirected()?;
            Ok((both.is_symmetric(), both.to_root()?))
        });
        assert_eq!(found.unwrap(), (true, Some(expected.clone())), "{shape:?}");
        let found = on_ranks(shape, deal, |grid| uneven.to_grid(grid)?.to_undirected().map(drop));
        assert_eq!(found.unwrap_err().to_string(), told, "{shape:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if crate::few() { 3 } else { 24 }))]
    /// Real values have the same places on ranks as in one process.
    #[test]
    fn values_have_the_same_places(
        values in prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 1.5, -7.0, f64::MAX, f64::INFINITY, 1e-300]), 1..60),
        others in prop::collection::vec(any::<f64>(), 0..40),
        ranks in 1usize..6,
    ) {
        let triples = (0u32..).zip(values.into_iter().chain(others)).map(|(k, value)| (k / 10, k % 10, value));
        let whole = Matrix::from_triples(10, 10, triples).unwrap();
        let expected = whole.value_places().unwrap();
        // places are those of a sorted list
        let mut distinct: Vec<f64> = whole.iter().map(|(_, _, value)| value + 0.0).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup_by_key(|value| value.to_bits());
        for (i, j, value) in whole.iter() {
            let place = distinct.iter().position(|other| other.to_bits() == (value + 0.0).to_bits());
            prop_assert_eq!(expected.get(i, j).map(|place| place as usize), place);
        }
        let found = on_ranks((ranks, 1), None, |grid| whole.to_grid(grid)?.value_places()?.to_root()).unwrap();
        prop_assert_eq!(found, Some(expected));
    }
}
