//! A maximal independent set on a grid of ranks, as threads of this process: the set of one process, and what the ranks send.
//!
//! ```text
//! cargo run --release --example ranks -- kron:18:16 2x2 4x4
//! ```

use vxm::algorithms::priority::priorities;
use vxm::algorithms::{Priority, mis_in_order};
use vxm::prelude::*;
use vxm::ranks::{Grid, Shape, Threads};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let spec = arguments.next().unwrap_or_else(|| "kron:12:16".to_owned());
    let mut shapes: Vec<Shape> = arguments.map(|shape| shape.parse()).collect::<Result<_>>()?;
    if shapes.is_empty() {
        shapes = vec![Shape::Grid(2, 1), Shape::Grid(2, 2), Shape::Grid(3, 3)];
    }
    let graph = Matrix::from_simple(vxm::io::read(&spec, &())?.graph);
    let key = priorities(&graph, Priority::Sorted, 0)?;
    let alone = mis_in_order(&graph, key.clone())?.set.digest();
    let n = graph.nrows() as f64;
    for shape in shapes {
        let Shape::Grid(rows, columns) = shape else { return Err(Error::invalid("expected ROWSxCOLUMNS")) };
        let ranks = Threads::run(rows * columns, |world| {
            let grid = Grid::of(world, rows, columns)?;
            let (a, key) = (graph.to_grid(&grid)?, key.clone());
            let key = key.to_grid(a.grid().unwrap_or(&grid))?;
            // what the first product sends along columns: each rank's copies of the keys
            let before = grid.sent();
            key.vxm(&a, MAX_FIRST).eval()?;
            let between = grid.sent();
            let found = mis_in_order(&a, key)?;
            let after = grid.sent();
            let bytes = |k: usize| [between[k].bytes - before[k].bytes, after[k].bytes - between[k].bytes];
            Ok::<_, Error>((found.set.to_root()?, found.rounds, [bytes(0), bytes(1), bytes(2)]))
        });
        let (mut keys, mut sums, mut rounds) = (0, [0; 3], 0);
        for rank in ranks {
            let (set, of_rank, bytes) = rank?;
            if let Some(set) = set {
                assert_eq!(set.digest(), alone, "the set of one process");
            }
            rounds = of_rank;
            keys += bytes[1][0];
            sums.iter_mut().zip(bytes).for_each(|(sum, [_, bytes])| *sum += bytes);
        }
        let [row, column, all] = sums.map(|bytes| bytes as f64 / n);
        let keys = keys as f64 / n;
        println!(
            "{spec} on {shape}: {rounds} rounds; bytes a vertex: keys {keys:.2}, rounds {:.2} (rows {row:.2}, columns {:.2}, all {all:.3})",
            row + column + all - keys,
            column - keys,
        );
    }
    Ok(())
}
