//! Single products on the CPU, by semiring, graph, format and direction. `cargo bench --bench products`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use vxm::backend::plan::{Direction, Forced, Format, force};
use vxm::io::generate;
use vxm::prelude::*;

const GRAPHS: [&str; 3] = ["rmat:17:8", "grid:400x400", "road:300"];

/// The directions and formats of a product.
const WAYS: [(&str, Option<Direction>, Option<Format>); 3] = [
    ("pull csr", Some(Direction::Pull), Some(Format::Csr)),
    ("pull tiles", Some(Direction::Pull), Some(Format::Tiles)),
    ("push csr", Some(Direction::Push), Some(Format::Csr)),
];

fn products(c: &mut Criterion) {
    for spec in GRAPHS {
        let Ok(loaded) = generate(spec, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let n = a.nrows();
        a.tiles();
        let keys = Vector::from_dense((0..n as u32).map(|v| v.wrapping_mul(0x9e37_79b9) | 1).collect::<Vec<_>>());
        let weights = Vector::from_dense((0..n).map(|v| 1.0 / (v + 1) as f32).collect::<Vec<_>>());
        // a frontier: every hundredth vertex
        let Ok(few) = Set::from_indices(n, (0..n as u32).step_by(100)) else { continue };
        let mut group = c.benchmark_group(spec);
        group.throughput(Throughput::Elements(a.nnz())).sample_size(10);
        for (way, direction, format) in WAYS {
            let mut run = |what: &str, product: &dyn Fn() -> Result<usize>| {
                let forced = Forced { direction, format, ..Forced::default() };
                group.bench_function(format!("{what}, {way}"), |b| b.iter(|| force(forced, || black_box(product()))));
            };
            run("max.first", &|| Ok(keys.vxm(&a, MAX_FIRST).eval()?.nvals()));
            run("max.first, few", &|| Ok(keys.mask(&few).vxm(&a, MAX_FIRST).eval()?.nvals()));
            run("plus.pair", &|| Ok(few.vxm(&a, PLUS_PAIR).eval()?.nvals()));
            run("any.pair", &|| Ok(few.vxm(&a, ANY_PAIR).eval()?.nvals()));
            if direction != Some(Direction::Push) {
                // inexact sums are never pushed
                run("plus.times f32", &|| Ok(weights.vxm(&a, PLUS_TIMES).eval()?.nvals()));
            }
        }
    }
}

criterion_group!(benches, products);
criterion_main!(benches);
