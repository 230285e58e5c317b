//! Calls of all kinds, each with a few variants, and graphs to call them with.

use std::path::Path;
use vxm::algorithms::*;
use vxm::io::{FileFormat, Numbering, WholeFile, generate, read, read_as, write_as, write_native_graph};
use vxm::prelude::*;
use vxm::ranks::{Grid, Threads};
use vxm::semiring::dynamic::{Builder, DynBinary, Kind};

/// A graph, and what else calls take.
pub struct Input {
    pub name: &'static str,
    graph: Matrix,
    directed: Matrix,
    weighted: Matrix<u32>,
    parents: Vector<u32>,
}

impl Input {
    /// A generated graph, on the host.
    pub fn new(name: &'static str) -> Result<Self> {
        let graph = Matrix::from_simple(generate(name, &())?.graph);
        let (directed, weighted) = (graph.select(arrow)?, weights(&graph, 1, 90, 5)?);
        let parents = bfs_parents(&graph, 0)?;
        Ok(Self { name, graph, directed, weighted, parents })
    }

    /// The same on a device.
    pub fn to(&self, device: Device) -> Result<Self> {
        let (graph, directed) = (self.graph.to(device)?, self.directed.to(device)?);
        let (weighted, parents) = (self.weighted.to(device)?, self.parents.to(device)?);
        Ok(Self { name: self.name, graph, directed, weighted, parents })
    }
}

/// A call: its name, and a function of an input, of a folder for files, and of one of a few variants.
pub type Call = (&'static str, fn(&Input, &Path, usize) -> Result<String>);

fn digest<T: Element>(vector: Vector<T>) -> String {
    format!("{:x} ", vector.digest())
}

/// The entries of a matrix, in few characters.
fn entries<T: Element>(a: &Matrix<T>) -> String {
    let (mut count, mut sum) = (0, 0u64);
    for (i, j, value) in a.iter() {
        let bits = value.wide_bits();
        for word in [bits as u64, (bits >> 64) as u64, u64::from(i), u64::from(j)] {
            sum = (sum ^ word).wrapping_mul(0x100_0000_01b3);
        }
        count += 1;
    }
    format!("{count} entries, {sum:x} ")
}

/// The message of an error, which is what is expected.
fn message<T>(result: Result<T>) -> Result<String> {
    match result {
        Ok(_) => Err(Error::invalid("no error")),
        Err(error) => Ok(error.to_string()),
    }
}

fn nth<T: Copy>(all: &[T], variant: usize) -> T {
    all[variant % all.len()]
}

pub const CALLS: [Call; 37] = [
    ("set", |input, _, k| {
        let options = MisOptions::default().priority(nth(Priority::ALL, k)).seed(k as u64 % 2);
        Ok(digest(mis(&input.graph, &options.formulation(nth(Formulation::ALL, k)))?.set))
    }),
    ("sets at once", |input, _, k| {
        let sets = mis_many(&input.graph, &MisOptions::default().priority(Priority::Degree), &[1, 2, k as u64])?;
        Ok(sets.into_iter().map(|found| digest(found.set)).collect())
    }),
    ("set at distance 2", |input, _, k| {
        Ok(digest(mis_at_distance_2(&input.graph, &priorities(&input.graph, Priority::Sorted, k as u64)?)?.set))
    }),
    ("aggregates", |input, _, k| {
        Ok(digest(aggregates(&input.graph, &priorities(&input.graph, Priority::Sorted, k as u64)?)?.aggregate))
    }),
    ("cover", |input, _, k| Ok(digest(vertex_cover(&input.graph, &MisOptions::default().seed(k as u64))?.set))),
    ("clique", |input, _, k| {
        Ok(digest(maximal_clique(&input.graph, &priority::smallest_degree_last(&input.graph, k as u64)?)?.members))
    }),
    ("colours", |input, _, k| {
        let options = ColoringOptions::default().method(nth(Method::ALL, k)).order(nth(Order::ALL, k));
        Ok(digest(color(&input.graph, &options)?.colors))
    }),
    ("colours at distance 2", |input, _, k| {
        Ok(digest(color_at_distance_2(&input.graph, &priority::largest_degree_first(&input.graph, k as u64)?)?.colors))
    }),
    ("stars", |input, _, k| {
        Ok(digest(star_coloring(&input.graph, &priority::largest_degree_first(&input.graph, k as u64)?)?.colors))
    }),
    ("levels", |input, _, k| Ok(digest(bfs(&input.graph, k as u32)?))),
    ("levels along arrows", |input, _, k| Ok(digest(bfs(&input.directed, k as u32)?))),
    ("parents", |input, _, k| Ok(digest(bfs_parents(&input.graph, k as u32)?))),
    ("levels at once", |input, _, k| Ok(digest(bfs_many(&input.graph, &[0, 1, k as u32])?.levels(2)?))),
    ("distances", |input, _, k| Ok(digest(sssp(&input.weighted, k as u32)?))),
    ("tree of distances", |input, _, k| Ok(digest(sssp_parents(&input.weighted, k as u32)?))),
    ("components", |input, _, _| Ok(digest(components(&input.graph)?))),
    ("strong components", |input, _, _| Ok(digest(strong_components(&input.directed)?.labels))),
    ("ranks of pages", |input, _, k| match k % 2 {
        0 => Ok(digest(pagerank::<f32>(&input.directed, &PageRankOptions::default())?.ranks)),
        _ => Ok(digest(pagerank::<f64>(&input.graph, &PageRankOptions::default())?.ranks)),
    }),
    ("core numbers", |input, _, _| Ok(digest(core_numbers(&input.graph)?))),
    ("betweenness", |input, _, k| Ok(digest(betweenness(&input.graph, &[0, k as u32])?))),
    ("labels", |input, _, k| Ok(digest(propagate_labels(&input.graph, k as u32)?.labels))),
    ("communities", |input, _, _| Ok(digest(communities(&input.graph, 1e-6)?.labels))),
    ("triangles", |input, _, _| Ok(digest(triangles(&input.graph)?))),
    ("clustering", |input, _, _| Ok(digest(clustering(&input.graph)?))),
    ("truss", |input, _, k| Ok(entries(&ktruss(&input.graph, 3 + k as u32 % 3)?.support))),
    ("forest", |input, _, _| Ok(entries(&spanning_forest(&input.weighted)?.forest))),
    ("matching", |input, _, k| match k % 2 {
        0 => Ok(digest(maximal_matching(&input.graph, k as u64)?.mate)),
        _ => Ok(digest(dominant_matching(&input.weighted, k as u64)?.mate)),
    }),
    ("roots", |input, _, _| Ok(digest(roots(&input.parents)?.roots))),
    ("product", |input, _, k| {
        let x: Vector<f64> = Vector::from_dense((0..input.graph.nrows()).map(|v| (v + k) as f64 / 3.0).collect());
        Ok(digest(x.vxm(&input.graph, PLUS_FIRST).eval()?))
    }),
    ("product of matrices", |input, _, _| Ok(entries(&input.weighted.mxm(&input.weighted, MIN_PLUS).eval()?))),
    ("transpose and parts", |input, _, _| {
        Ok(entries(&input.directed.transpose()) + &entries(&input.weighted.select(TRIL)?))
    }),
    ("operators of this run", |input, _, k| {
        let mut code =
            Builder::new("gap", &[Kind::U32, Kind::U32]).map_err(|error| Error::invalid(error.to_string()))?;
        let made = (|| {
            let (a, b) = (code.parameter(0)?, code.parameter(1)?);
            let offset = code.constant(Kind::U32, k as u64 % 4, false)?;
            let sum = code.call("add", &[b, offset])?;
            let (less, gap) = (code.call("lt", &[a, b])?, code.call("sub", &[sum, a])?);
            let result = code.select(less, gap, offset)?;
            DynBinary::<u32, u32, u32>::new(code.finish(result)?)
        })();
        let gap = made.map_err(|error| Error::invalid(error.to_string()))?;
        let x = Vector::from_dense((0..input.graph.nrows() as u32).collect());
        Ok(digest(x.ewise_mult(&components(&input.graph)?, gap).eval()?))
    }),
    ("ranks", |input, _, k| {
        let results = Threads::run(4, |world| {
            let spread = input.graph.to_grid(&Grid::of(world, 2, 2)?)?;
            match k % 2 {
                0 => mis(&spread, &MisOptions::default())?.set.to_root().map(|set| set.map(digest)),
                _ => components(&spread)?.to_root().map(|labels| labels.map(digest)),
            }
        });
        let found: Result<Vec<Option<String>>> = results.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }),
    ("files", |input, folder, k| {
        let path = folder.join(format!("{:?}-{}", std::thread::current().id(), input.name.replace(':', "-")));
        let again = match k % 3 {
            0 => {
                write_native_graph(WholeFile::prepare(&path)?, input.graph.csr(), &Numbering::From(0))?;
                read(&path, &())?
            }
            1 => {
                write_as(WholeFile::prepare(&path)?, FileFormat::Metis, input.graph.csr(), &Numbering::From(0))?;
                read_as(&path, FileFormat::Metis, &())?
            }
            _ => {
                write_as(WholeFile::prepare(&path)?, FileFormat::MatrixMarket, input.graph.csr(), &Numbering::From(0))?;
                read_as(&path, FileFormat::MatrixMarket, &())?
            }
        };
        Ok(entries(&Matrix::from_simple(again.graph)))
    }),
    ("bad lines", |_, folder, _| {
        let path = folder.join(format!("bad-{:?}", std::thread::current().id()));
        std::fs::write(&path, "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 x\n").unwrap();
        message(read(&path, &())).map(|text| text.replace(&*path.to_string_lossy(), "FILE"))
    }),
    ("sources outside", |input, _, _| message(bfs(&input.graph, u32::MAX))),
    ("shapes that differ", |input, _, _| {
        message(Vector::from_dense(vec![1u32; 3]).vxm(&input.graph, MAX_FIRST).eval())
    }),
];

/// The graphs.
pub const SPECS: [&str; 8] =
    ["rmat:7:6", "grid:12x15", "er:7:4", "rgg:7", "road:9", "grid:1x150", "kron:6:20", "delaunay:7"];

/// How often a call is varied.
pub const VARIANTS: usize = 6;

/// Two of three entries.
#[op]
fn arrow(i: u32, j: u32, _edge: ()) -> bool {
    (i * 7u32 + j) % 3u32 != 0u32
}

/// All graphs, on the host.
pub fn inputs() -> Vec<Input> {
    SPECS.iter().map(|&name| Input::new(name).unwrap()).collect()
}
