//! Products of two sparse matrices on the CPU, beside plain loops. `cargo bench --bench mxm -- [GRAPH ...]`. With `cuda` among the graphs, on a
//! GPU.
//!
//! Each line is a graph, what was computed, on how many threads, and the least of several runs: milliseconds, and CPU milliseconds of all
//! threads.

use std::hint::black_box;
use std::time::Instant;
use vxm::io::generate;
use vxm::prelude::*;

const GRAPHS: [&str; 4] = ["rmat:16:8", "er:16:8", "grid:500x500", "rgg:16"];

/// The CPU time of all threads so far in milliseconds; 0 where the system doesn't tell.
fn cpu_time() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    told.filter_map(|told| told.split_whitespace().next()?.parse::<f64>().ok()).sum::<f64>() / 1e6
}

/// The least time and CPU time of `f` over a few runs, in milliseconds.
fn least(mut f: impl FnMut() -> u64) -> String {
    let (mut took, mut cpu, mut runs) = (f64::INFINITY, f64::INFINITY, 0);
    let begun = Instant::now();
    while runs < 3 || (begun.elapsed().as_secs_f64() < 2.0 && runs < 20) {
        let (start, before) = (Instant::now(), cpu_time());
        black_box(f());
        took = took.min(start.elapsed().as_secs_f64() * 1e3);
        // less if a thread of an earlier pool has ended meanwhile
        let spent = cpu_time() - before;
        cpu = if spent > 0.0 { cpu.min(spent) } else { cpu };
        runs += 1;
    }
    format!("{took:.2}, {cpu:.2}")
}

/// Counts triangles as a textbook does: for each edge of an acyclic orientation, the merge of two sorted rows.
fn by_merging(offsets: &[u64], columns: &[u32]) -> u64 {
    let row = |v: u32| &columns[offsets[v as usize] as usize..offsets[v as usize + 1] as usize];
    let mut count = 0;
    for u in 0..offsets.len() as u32 - 1 {
        for &v in row(u) {
            let (mut x, mut y) = (row(u), row(v));
            while let (Some(&i), Some(&j)) = (x.first(), y.first()) {
                count += u64::from(i == j);
                x = &x[usize::from(i <= j)..];
                y = &y[usize::from(j <= i)..];
            }
        }
    }
    count
}

/// The product of a pattern with itself by Gustavson's algorithm, as a plain loop: rows are not sorted.
fn by_gustavson(offsets: &[u64], columns: &[u32], values: &[f64]) -> u64 {
    let n = offsets.len() - 1;
    let range = |i: usize| offsets[i] as usize..offsets[i + 1] as usize;
    let (mut sums, mut seen) = (vec![0.0; n], vec![u32::MAX; n]);
    let (mut found, mut out): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
    for i in 0..n {
        let start = found.len();
        for p in range(i) {
            for q in range(columns[p] as usize) {
                let j = columns[q] as usize;
                if seen[j] != i as u32 {
                    seen[j] = i as u32;
                    sums[j] = 0.0;
                    found.push(j as u32);
                }
                sums[j] += values[p] * values[q];
            }
        }
        out.extend(found[start..].iter().map(|&j| sums[j as usize]));
    }
    black_box(&out);
    found.len() as u64
}

fn bench(spec: &str, threads: &[usize]) -> Result<()> {
    let a = Matrix::from_simple(generate(spec, &())?.graph);
    let weighted = a.map_index(weight)?;
    let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
    let product = weighted.mxm(&weighted, PLUS_TIMES);
    let predicted = product.predict()?;
    println!(
        "{spec}: {} entries, {} products, at most {} entries",
        a.nnz(),
        predicted.products,
        predicted.most_entries
    );
    let plain = least(|| by_gustavson(offsets, columns, weighted.csr().values()));
    println!("{spec}, A * A as a plain loop, unsorted, 1, {plain}");
    // the degree's rank, so that each edge leads to its end of more neighbours
    let rank = a.degrees()?.rank()?;
    let up = a.oriented(LT, &rank).into_matrix()?;
    let merged = least(|| by_merging(up.csr().offsets(), up.csr().columns()));
    println!("{spec}, triangles as a plain loop, oriented, 1, {merged}");
    for &threads in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| -> Result<()> {
            let whole = least(|| product.eval().map_or(0, |c| c.nnz()));
            println!("{spec}, A * A, {threads}, {whole}");
            let masked = least(|| product.mask(&weighted).eval().map_or(0, |c| c.nnz()));
            println!("{spec}, A * A under A, {threads}, {masked}");
            let turned = up.transpose();
            let dots = least(|| up.mxm(&turned, PLUS_PAIR).mask(&up).eval().map_or(0, |c| c.nnz()));
            println!("{spec}, U * U' under U, {threads}, {dots}");
            let plain = Matrix::from_csr(up.csr().clone());
            let rows = least(|| plain.mxm(&plain, PLUS_PAIR).mask(&plain).eval().map_or(0, |c| c.nnz()));
            println!("{spec}, U * U under U, {threads}, {rows}");
            Ok(())
        })?;
    }
    Ok(())
}

/// A weight of an entry.
#[op]
fn weight(i: u32, j: u32, _a: ()) -> f64 {
    ((i ^ j) & 7) as f64 + 0.5
}

/// The same products on a GPU, where the operands lie.
fn bench_on_gpu(spec: &str) -> Result<()> {
    let a = Matrix::from_simple(generate(spec, &())?.graph);
    let weighted = a.map_index(weight)?;
    let product = weighted.mxm(&weighted, PLUS_TIMES);
    println!("{spec}, A * A on a GPU, {}", least(|| product.eval().map_or(0, |c| c.nnz())));
    println!("{spec}, A * A under A on a GPU, {}", least(|| product.mask(&weighted).eval().map_or(0, |c| c.nnz())));
    println!(
        "{spec}, A * A but under A on a GPU, {}",
        least(|| product.mask(!&weighted).eval().map_or(0, |c| c.nnz()))
    );
    Ok(())
}

fn main() -> Result<()> {
    let mut asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let on_gpu = asked.iter().position(|argument| argument == "cuda").map(|at| asked.remove(at)).is_some();
    let graphs: Vec<&str> = if asked.is_empty() { GRAPHS.to_vec() } else { asked.iter().map(String::as_str).collect() };
    if on_gpu {
        return Device::Cuda(0).scope(|| graphs.into_iter().try_for_each(bench_on_gpu));
    }
    graphs.into_iter().try_for_each(|spec| bench(spec, &[1, 2]))
}
