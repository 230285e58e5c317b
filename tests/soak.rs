//! Many calls of all kinds in one process, by several threads at once: equal calls have equal answers, and nothing grows.
//!
//! `cargo test` makes some hundreds of calls. `VXM_TEST_SOAK=10000` makes so many, and `VXM_TEST_DEVICE=cuda` makes half of them on a GPU.

use rayon::ThreadPoolBuilder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use vxm::algorithms::*;
use vxm::backend::cuda::Gpu;
use vxm::io::{FileFormat, Numbering, WholeFile, generate, read, read_as, write_as, write_native_graph};
use vxm::prelude::*;
use vxm::ranks::{Grid, Threads};
use vxm::semiring::dynamic::{Builder, DynBinary, Kind};

/// Counts the bytes that are allocated.
struct Counting;

static NOW: AtomicI64 = AtomicI64::new(0);

// SAFETY: all calls are passed on to the system's allocator with the arguments of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: the caller keeps `dealloc`'s contract, and all blocks are the system's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A graph, and what else calls take.
struct Input {
    name: &'static str,
    graph: Matrix,
    directed: Matrix,
    weighted: Matrix<u32>,
    parents: Vector<u32>,
}

/// A call: its name, and a function of an input, of a folder for files, and of one of a few variants.
type Call = (&'static str, fn(&Input, &Path, usize) -> Result<String>);

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

fn sequence<T: Copy>(all: &[T], variant: usize) -> T {
    all[variant % all.len()]
}

const CALLS: [Call; 37] = [
    ("set", |input, _, k| {
        let options = MisOptions::default().priority(sequence(Priority::ALL, k)).seed(k as u64 % 2);
        Ok(digest(mis(&input.graph, &options.formulation(sequence(Formulation::ALL, k)))?.set))
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
        let options = ColoringOptions::default().method(sequence(Method::ALL, k)).order(sequence(Order::ALL, k));
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

/// What the process holds.
#[derive(Debug)]
struct Held {
    bytes: i64,
    on_device: u64,
    /// Threads and open files: zeros where the system doesn't say.
    threads: usize,
    files: usize,
}

impl Held {
    fn now() -> Self {
        let count = |folder: &str| std::fs::read_dir(folder).map_or(0, |entries| entries.count());
        let (bytes, threads, files) = (NOW.load(Relaxed), count("/proc/self/task"), count("/proc/self/fd"));
        let on_device = device().map_or(0, |_| Gpu::open(0).unwrap().used());
        Self { bytes, on_device, threads, files }
    }
}

/// The GPU that `VXM_TEST_DEVICE` names.
fn device() -> Option<Device> {
    let name = std::env::var("VXM_TEST_DEVICE").ok().filter(|name| name.starts_with("cuda"));
    name.map(|name| name.parse().unwrap())
}

/// The graphs.
const SPECS: [&str; 8] =
    ["rmat:7:6", "grid:12x15", "er:7:4", "rgg:7", "road:9", "grid:1x150", "kron:6:20", "delaunay:7"];

/// How often a call is varied.
const VARIANTS: usize = 6;

/// Two of three entries.
#[op]
fn arrow(i: u32, j: u32, _edge: ()) -> bool {
    (i * 7u32 + j) % 3u32 != 0u32
}

fn inputs() -> Vec<Input> {
    let input = |name: &'static str| {
        let graph = Matrix::from_simple(generate(name, &())?.graph);
        let directed = graph.select(arrow)?;
        let weighted = weights(&graph, 1, 90, 5)?;
        let parents = bfs_parents(&graph, 0)?;
        Ok(Input { name, graph, directed, weighted, parents })
    };
    let made: Result<Vec<Input>> = SPECS.into_iter().map(input).collect();
    let mut all = made.unwrap();
    // the same graphs again, on a GPU
    if let Some(device) = device() {
        let there = |input: &Input| -> Result<Input> {
            let (graph, directed) = (input.graph.to(device)?, input.directed.to(device)?);
            Ok(Input {
                graph,
                directed,
                weighted: input.weighted.to(device)?,
                parents: input.parents.to(device)?,
                ..*input
            })
        };
        let there: Result<Vec<Input>> = all.iter().map(there).collect();
        all.extend(there.unwrap());
    }
    all
}

#[test]
fn nothing_grows_and_answers_are_the_same() {
    let calls: usize = std::env::var("VXM_TEST_SOAK").ok().map_or(600, |count| count.parse().unwrap());
    let (inputs, folder) = (inputs(), tempfile::tempdir().unwrap());
    let pools: Vec<_> = [1, 2, 4].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).into();
    // the first answer of each call, on whatever device and on however many threads
    let first: Mutex<HashMap<(usize, usize, usize), String>> = Mutex::default();
    let once = |call: usize, input: usize, variant: usize| {
        let ((name, run), input_name) = (CALLS[call], inputs[input].name);
        let found = run(&inputs[input], folder.path(), variant);
        let found = found.unwrap_or_else(|error| panic!("{name} of {input_name}, variant {variant}: {error}"));
        let mut first = first.lock().unwrap();
        let before = first.entry((call, input % SPECS.len(), variant)).or_insert_with(|| found.clone());
        assert_eq!(*before, found, "{name} of {input_name}, variant {variant}, input {input}");
    };
    let next = AtomicUsize::new(0);
    // a call's number says what it does, in an order that mixes them
    let one = |number: usize| {
        let draw = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let draw = ((draw ^ draw >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) as usize;
        let pool = &pools[draw / 128 % pools.len()];
        pool.install(|| once(number % CALLS.len(), draw % inputs.len(), draw / 16 % VARIANTS));
    };
    let many = |until: usize| {
        let share = || {
            while let number = next.fetch_add(1, Relaxed)
                && number < until
            {
                one(number);
            }
        };
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(share))));
        next.store(until, Relaxed);
    };
    // all calls on all inputs: what is kept with a matrix, and programs, are made
    for call in 0..CALLS.len() {
        (0..inputs.len() * VARIANTS).for_each(|k| once(call, k / VARIANTS, k % VARIANTS));
    }
    many(calls / 4);
    let before = Held::now();
    many(calls);
    let after = Held::now();
    println!("{calls} calls, from the first quarter on: {before:?}, then {after:?}");
    // some views of a matrix are made late: which calls need one varies with what threads do at the same time
    let most = 64 << 10;
    assert!(after.bytes - before.bytes < most, "{calls} calls: {before:?}, then {after:?}");
    assert!(after.on_device < before.on_device + most as u64, "{calls} calls: {before:?}, then {after:?}");
    assert!(after.threads <= before.threads && after.files <= before.files, "{before:?}, then {after:?}");
}
