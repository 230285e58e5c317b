//! Whole algorithms on the CPU, and the sequential ones as baselines. `cargo bench --bench algorithms`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use vxm::algorithms::priority::{largest_degree_first, priorities};
use vxm::algorithms::{
    ColoringOptions, Formulation, Method, MisOptions, Order, Priority, bfs, color, components, mis, sssp,
};
use vxm::certify::{self, greedy_coloring, greedy_set};
use vxm::io::generate;
use vxm::prelude::*;

const GRAPHS: [&str; 3] = ["rmat:20:8", "grid:512x512", "road:400"];

/// The vertices by descending key.
fn descending(key: &Vector<u32>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..key.len() as u32).collect();
    let key = key.to_dense(0);
    order.sort_unstable_by_key(|&v| std::cmp::Reverse(key[v as usize]));
    order
}

fn sets(c: &mut Criterion) {
    let mut group = c.benchmark_group("mis");
    group.sample_size(10);
    for spec in GRAPHS {
        let Ok(loaded) = generate(spec, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        group.throughput(Throughput::Elements(a.nnz()));
        for &priority in Priority::ALL {
            for &formulation in Formulation::ALL {
                // resolve has one formulation; ties broken by vertex number take thousands of rounds on these graphs
                if priority == Priority::SortedId || (priority, formulation) == (Priority::Resolve, Formulation::Decide)
                {
                    continue;
                }
                let options = MisOptions::default().priority(priority).formulation(formulation).seed(0);
                let id = BenchmarkId::new(format!("{} {}", priority.name(), formulation.name()), spec);
                group.bench_function(id, |b| b.iter(|| black_box(mis(&a, &options))));
            }
        }
        let Ok(key) = priorities(&a, Priority::Sorted, 0) else { continue };
        let (order, csr) = (descending(&key), a.csr());
        group.bench_function(BenchmarkId::new("sequential greedy, its order given", spec), |b| {
            b.iter(|| black_box(greedy_set(csr.offsets(), csr.columns(), order.iter().copied())))
        });
    }
}

fn colorings(c: &mut Criterion) {
    let mut group = c.benchmark_group("color");
    group.sample_size(10);
    for spec in GRAPHS {
        let Ok(loaded) = generate(spec, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        group.throughput(Throughput::Elements(a.nnz()));
        let by_method = Method::ALL.iter().map(|&method| (method, Order::Random));
        let by_order = Order::ALL.iter().map(|&order| (Method::Jp, order));
        for (method, order) in by_method.chain(by_order.skip(1)) {
            // these methods use one or two colours a round, and hundreds of colours on rmat
            let slow = matches!(method, Method::Is | Method::MaxTimes | Method::MinMax | Method::NeighborReduce);
            if slow && spec.starts_with("rmat") {
                continue;
            }
            let id = BenchmarkId::new(format!("{} {}", method.name(), order.name()), spec);
            let options = ColoringOptions::default().method(method).order(order).seed(0);
            group.bench_function(id, |b| b.iter(|| black_box(color(&a, &options))));
        }
        let Ok(key) = largest_degree_first(&a, 0) else { continue };
        let (order, csr) = (descending(&key), a.csr());
        group.bench_function(BenchmarkId::new("sequential greedy, its order given", spec), |b| {
            b.iter(|| black_box(greedy_coloring(csr.offsets(), csr.columns(), order.iter().copied())))
        });
        group.bench_function(BenchmarkId::new("sequential greedy, its order included", spec), |b| {
            b.iter(|| {
                let key = largest_degree_first(&a, 0);
                key.map(|key| black_box(greedy_coloring(csr.offsets(), csr.columns(), descending(&key))))
            })
        });
    }
}

/// A weight for each edge, the same in both directions.
#[op]
fn weight(i: u32, j: u32, _edge: ()) -> u32 {
    1u32 + ((i ^ j) * 0x85eb_ca6bu32 >> 24u32)
}

fn paths(c: &mut Criterion) {
    let mut group = c.benchmark_group("paths");
    group.sample_size(10);
    for spec in ["rmat:20:8", "grid:1024x1024", "road:400"] {
        let Ok(loaded) = generate(spec, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let Ok(weighted) = a.map_index(weight) else { continue };
        group.throughput(Throughput::Elements(a.nnz()));
        group.bench_function(BenchmarkId::new("bfs", spec), |b| b.iter(|| black_box(bfs(&a, 0))));
        group.bench_function(BenchmarkId::new("sssp", spec), |b| b.iter(|| black_box(sssp(&weighted, 0))));
        group.bench_function(BenchmarkId::new("components", spec), |b| b.iter(|| black_box(components(&a))));
        let csr = a.csr();
        let Ok(labels) = components(&a) else { continue };
        let labels = labels.to_dense(0);
        group.bench_function(BenchmarkId::new("components by a stack", spec), |b| {
            b.iter(|| black_box(certify::components(csr.offsets(), csr.columns(), &labels)))
        });
    }
}

criterion_group!(benches, sets, colorings, paths);
criterion_main!(benches);
