//! Verbs on pieces, against the same verbs on whole vectors.

use crate::{on_grid, random_graph, shapes};
use vxm::prelude::*;
use vxm::ranks::Deal;

/// Runs `program` with whole operands and with spread ones, on each grid.
fn same<T: Element>(what: &str, n: u32, program: impl Fn(&Matrix, [&Vector<u32>; 2]) -> Result<Vector<T>> + Sync) {
    let a = random_graph(n, n as usize * 3, 9);
    let full = Vector::from_dense((0..n).map(|v| v.wrapping_mul(2_654_435_761) % 1000).collect());
    let some = Vector::from_pairs(n as usize, (0..n).filter(|v| v % 3 == 1).map(|v| (v, v * 5 % n))).unwrap();
    let expected = program(&a, [&full, &some]).unwrap();
    for shape in shapes() {
        for deal in [Deal::Cyclic, Deal::Hashed] {
            let found = on_grid(shape, deal, |grid| {
                let (a, full, some) = (a.to_grid(grid)?, full.to_grid(grid)?, some.to_grid(grid)?);
                let found = program(&a, [&full, &some])?;
                // equal on all ranks
                assert_eq!((found.len(), found.nvals()), (expected.len(), expected.nvals()), "{what}");
                assert_eq!(found.to_all()?, expected, "{what} on {shape:?}, {deal:?}");
                found.to_root()
            });
            assert_eq!(found.unwrap().as_ref(), Some(&expected), "{what} on {shape:?}, {deal:?}");
        }
    }
}

#[test]
fn elementwise() {
    for n in [1, 2, 70, 500] {
        same("map", n, |_, [x, _]| x.map(PLUS.bind(3)).eval());
        same("map_index", n, |_, [_, y]| y.map_index(PLUS).eval());
        same("select_index", n, |_, [x, _]| x.select_index(GT).eval());
        same("ewise_mult", n, |_, [x, y]| x.ewise_mult(y, MINUS).eval());
        same("ewise_add", n, |_, [x, y]| y.ewise_add(x, MIN).eval());
        same("or", n, |_, [_, y]| y.or(7).eval());
        same("mask", n, |_, [x, y]| x.mask(!y).eval());
        same("values", n, |_, [x, y]| x.mask(y.values()).eval());
        same("fill", n, |_, [x, _]| fill(4u32, x.len()).map_index(PLUS).ewise_mult(x, PLUS).eval());
        same("with a whole vector", n, |_, [x, _]| {
            let whole = Vector::from_dense((0..x.len() as u32).collect());
            x.ewise_mult(&whole, TIMES).eval()
        });
    }
}

#[test]
fn writes() {
    for n in [1, 66, 500] {
        same("assign_to", n, |_, [x, y]| {
            let mut w = x.clone();
            y.map(PLUS.bind(1)).mask(y).assign_to(&mut w)?;
            Ok(w)
        });
        same("a whole vector is written", n, |_, [x, y]| {
            let mut w = Vector::new(x.len());
            x.mask(y).assign_to(&mut w)?;
            y.accum(PLUS).assign_to(&mut w)?;
            Ok(w)
        });
        same("update", n, |_, [x, y]| {
            let mut w = x.clone();
            w.update(|w| w.map(PLUS.bind(10)).mask(y))?;
            Ok(w)
        });
        same("set and remove", n, |_, [x, _]| {
            let mut w = x.clone();
            w.set(x.len() as u32 / 2, 77)?;
            w.remove(0)?;
            Ok(w)
        });
    }
}

#[test]
fn reads_elsewhere() {
    for n in [1, 70, 500] {
        same("gather", n, |_, [x, y]| x.gather(y).eval());
        same("gather outside", n, |_, [x, y]| y.gather(x.map(TIMES.bind(3))).eval());
        same("extract", n, |_, [x, _]| {
            let n = x.len() as u32;
            x.extract(&(0..2 * n).map(|k| k * 7 % n).collect::<Vec<_>>()).eval()
        });
        same("scatter", n, |_, [x, y]| {
            let n = x.len() as u32;
            let places: Vec<u32> = (0..n).rev().map(|v| v * 2).collect();
            y.scatter(&places, 2 * n as usize).eval()
        });
        same("scatter into", n, |_, [x, _]| {
            let mut w = Vector::full(x.len() + 5, 1u32);
            let places: Vec<u32> = (3..x.len() as u32 + 3).collect();
            x.scatter(&places, w.len()).accum(PLUS).assign_to(&mut w)?;
            Ok(w)
        });
        same("pointer_jump", n, |_, [x, _]| {
            let parent =
                fill((), x.len()).map_index(FIRST).map(RMINUS.bind(x.len() as u32)).map(MINUS.bind(1)).eval()?;
            // v / 2
            #[op]
            fn half(v: u32, _x: u32) -> u32 {
                v / 2u32
            }
            parent.map_index(half).pointer_jump(IDENTITY).eval()
        });
        // a chain through all places, values that lead anywhere, and places without one
        same("pointer_jump along a path", n, |_, [x, _]| {
            #[op]
            fn before(v: u32) -> u32 {
                if v == 0u32 { 0u32 } else { v - 1u32 }
            }
            fill((), x.len()).map_index(FIRST).map(before).pointer_jump(IDENTITY).eval()
        });
        same("pointer_jump anywhere", n, |_, [x, _]| {
            #[op]
            fn elsewhere(x: u32) -> u32 {
                (x * 7u32 + 3u32) % 500u32
            }
            x.pointer_jump(elsewhere).eval()
        });
        same("pointer_jump with gaps", n, |_, [x, y]| {
            let few = x.select(LT.bind(100)).eval()?;
            x.ewise_add(y, MIN).mask(!&few).pointer_jump(IDENTITY).eval()
        });
        same("rank", n, |_, [x, y]| x.rank()?.ewise_add(&y.rank()?, PLUS).eval());
    }
}

#[test]
fn products() {
    for n in [1, 2, 70, 500] {
        same("max.first", n, |a, [x, _]| x.vxm(a, MAX_FIRST).eval());
        same("sparse", n, |a, [_, y]| y.vxm(a, PLUS_FIRST).eval());
        same("mxv", n, |a, [_, y]| a.mxv(y, MIN_SECOND).or_identity().eval());
        same("masked", n, |a, [x, y]| x.vxm(a, MAX_FIRST).mask(y).eval());
        same("until", n, |a, [x, _]| x.ewise_mult(x.vxm(a, MAX_FIRST).until(LT).or_identity(), GT).eval());
        same("edge_status", n, |a, [x, y]| {
            x.vxm(a, PLUS_PAIR).edge_status(LT).eval()?.ewise_add(y.vxm(a, PLUS_PAIR).edge_status(GT), PLUS).eval()
        });
        same("oriented", n, |a, [x, _]| {
            let key = x.rank()?;
            let up = a.oriented(LT, &key);
            up.mxv(x, PLUS_SECOND).or_identity().eval()?.ewise_add(x.vxm(&up, MAX_FIRST), PLUS).eval()
        });
        same("a product of a product", n, |a, [x, _]| x.vxm(a, MIN_FIRST).vxm(a, MAX_FIRST).eval());
        same("any.pair", n, |a, [_, y]| y.vxm(a, ANY_PAIR).eval());
        same("a pattern's rows", n, |a, [_, y]| Set::all(y.len()).vxm(a, PLUS_PAIR).eval());
    }
}

#[test]
fn matrices() {
    for n in [1, 70, 500] {
        same("degrees", n, |a, _| a.degrees());
        same("select", n, |a, [x, _]| x.vxm(&a.select(TRIL)?, MAX_FIRST).eval());
        same("transpose", n, |a, [x, _]| x.vxm(&a.select(TRIL)?.transpose(), PLUS_FIRST).eval());
        same("select and mxv", n, |a, [x, _]| a.select(TRIU)?.mxv(x, PLUS_SECOND).eval());
        same("map_index", n, |a, [x, _]| x.vxm(&a.map_index(COLINDEX)?, semiring(MAX, PLUS)).eval());
        same("map_ends", n, |a, [x, y]| x.vxm(&a.map_ends(MINUS, y)?.map(PLUS.bind(1))?, semiring(PLUS, TIMES)).eval());
        same("materialize", n, |a, [x, _]| {
            let key = x.rank()?;
            a.oriented(LT, &key).into_matrix()?.mxv(x, MAX_SECOND).eval()
        });
        same("induced_by", n, |a, [x, y]| {
            let key = x.rank()?;
            let b = a.oriented(LT, &key).induced_by(&y.pattern().eval()?)?;
            let x = x.extract(b.members()).eval()?;
            b.mxv(&x, PLUS_SECOND).or_identity().eval()
        });
        same("extract", n, |a, [x, _]| {
            let n = x.len() as u32;
            let places: Vec<u32> = (0..n).map(|k| k * 3 % n).collect();
            x.vxm(&a.extract(&places, &places)?, MAX_FIRST).eval()
        });
        same("pattern", n, |a, [x, _]| x.vxm(&a.map_index(COLINDEX)?.pattern(), MAX_FIRST).eval());
    }
}

#[test]
fn folds_have_the_same_bits() {
    for n in [0, 1, 63, 1000, 5000] {
        let x: Vec<f32> = (0..n).map(|v| ((v * 37 % 101) as f32 - 50.0) * 1.1f32.powi(v % 23)).collect();
        let some = (0..n as u32).filter(|v| v % 5 != 2).map(|v| (v, x[v as usize]));
        let x = Vector::from_pairs(n as usize, some).unwrap();
        let folds = |x: &Vector<f32>| {
            let (next, sum) = x.map(TIMES.bind(3.0)).eval_and_reduce(PLUS)?;
            let (least, most) = (next.reduce(MIN)?, x.reduce(MAX)?);
            Ok([sum, x.reduce(PLUS)?, least, most, x.reduce(ANY)?].map(f32::to_bits))
        };
        let expected = folds(&x).unwrap();
        for shape in shapes() {
            for deal in [Deal::Cyclic, Deal::Hashed] {
                let found = on_grid(shape, deal, |grid| folds(&x.to_grid(grid)?));
                assert_eq!(found.unwrap(), expected, "{n} on {shape:?}, {deal:?}");
            }
        }
    }
}

#[test]
fn matrices_that_are_put_together() {
    let (a, b) = (random_graph(150, 500, 1), random_graph(150, 300, 2));
    // what a matrix is, as a vector: sums of a column's values, which depend on the row
    let marked = |m: &Matrix<u64>| fill(1u64, m.nrows()).map_index(PLACE).vxm(m, PLUS_TIMES).eval();
    let numbered = |m: &Matrix, by: u64| m.map(VALUE.bind(by));
    let made = |a: &Matrix, b: &Matrix| -> Result<[Vector<u64>; 2]> {
        let (x, y) = (numbered(a, 3)?, numbered(b, 5)?);
        let diagonal = Matrix::from_diagonal(&fill(7u64, a.nrows()).eval()?)?;
        let sum = x.ewise_add(&y, MINUS)?.ewise_add(&diagonal, FIRST)?;
        Ok([marked(&sum)?, marked(&sum.bipartite()?)?])
    };
    let expected = made(&a, &b).unwrap();
    for shape in shapes() {
        for deal in [Deal::Cyclic, Deal::Hashed] {
            let found = on_grid(shape, deal, |grid| {
                let (a, b) = (a.to_grid(grid)?, b.to_grid(grid)?);
                let a = a.to_digraph()?;
                let [sum, both] = made(&a, &b)?;
                Ok([sum.to_all()?, both.to_all()?])
            });
            assert_eq!(found.unwrap(), expected, "{shape:?}, {deal:?}");
        }
    }
}

/// Values that depend on both ends, in an order that no sum keeps.
#[op(SPREAD)]
fn spread(i: u32, j: u32, _edge: ()) -> f32 {
    1.0 / ((i * 7u32 + j * 13u32) % 31u32 + 1u32) as f32
}
#[op(ROUNDED)]
fn rounded(x: u64) -> f32 {
    x as f32
}

#[test]
fn products_of_two_matrices() {
    let kept = |m: &Matrix<f32>| -> Result<Vector<u32>> {
        // every entry counts, with its place and all of its bits
        #[op]
        fn told(i: u32, j: u32, x: f32) -> u32 {
            (x.to_bits() ^ (i * 2654435761u32)) + j * 40503u32
        }
        let bits = m.map_index(told)?;
        fill(1u32, m.nrows()).vxm(&bits, semiring(PLUS, SECOND)).eval()
    };
    for n in [1, 70, 400] {
        let b = random_graph(n, n as usize * 2, 5);
        let b = move |a: &Matrix| -> Result<Matrix<f32>> {
            let b = match a.grid() {
                Some(grid) => b.to_grid(grid)?,
                None => b.clone(),
            };
            b.to_digraph()?.select(TRIL)?.map_index(SPREAD)
        };
        let a_of = |a: &Matrix| a.to_digraph()?.map_index(SPREAD);
        same("mxm", n, |a, _| kept(&a_of(a)?.mxm(&b(a)?, PLUS_TIMES).eval()?));
        same("mxm of a transpose", n, |a, _| kept(&b(a)?.mxm(&b(a)?.transpose(), PLUS_TIMES).eval()?));
        same("mxm under a mask", n, |a, _| kept(&a_of(a)?.mxm(&a_of(a)?, PLUS_TIMES).mask(&b(a)?).eval()?));
        same("mxm outside of a mask", n, |a, _| kept(&a_of(a)?.mxm(&a_of(a)?, PLUS_TIMES).mask(!&b(a)?).eval()?));
        same("mxm by values", n, |a, _| {
            let half = b(a)?.map(MINUS.bind(0.5))?;
            kept(&a_of(a)?.mxm(&a_of(a)?, PLUS_TIMES).mask(half.values()).eval()?)
        });
        same("mxm with an accumulator", n, |a, _| {
            let mut c = b(a)?;
            a_of(a)?.mxm(&a_of(a)?, PLUS_TIMES).mask(a).accum(MIN).assign_to(&mut c)?;
            kept(&c)
        });
        same("any.first", n, |a, _| kept(&a_of(a)?.mxm(&b(a)?, semiring(ANY, FIRST)).eval()?));
        same("the first product", n, |a, _| kept(&b(a)?.mxm(a, semiring(PLUS, FIRST)).mask(a).eval()?));
        same("with a whole matrix", n, |a, _| {
            let m = a.nrows();
            let turned = Matrix::from_triples(m, m, (0..m as u32).map(|i| (i, m as u32 - 1 - i, 0.5f32)))?;
            kept(&a_of(a)?.mxm(&turned, PLUS_TIMES).eval()?)
        });
        same("masked", n, |a, _| kept(&a_of(a)?.masked(&b(a)?)?.ewise_add(&b(a)?.masked(!a)?, MAX)?));
        same("ewise_mult", n, |a, _| kept(&a_of(a)?.ewise_mult(&b(a)?, MINUS)?));
        same("ewise_union", n, |a, _| kept(&a_of(a)?.ewise_union(3.0, &b(a)?, 0.25, MINUS)?));
        same("mask and assign", n, |a, _| {
            let mut c = b(a)?;
            a_of(a)?.map(PLUS.bind(1.0))?.mask(!&b(a)?).assign_to(&mut c)?;
            kept(&c)
        });
    }
}

#[test]
fn reductions_of_rows() {
    for n in [1, 70, 400] {
        let values = |a: &Matrix| a.to_digraph()?.map_index(SPREAD);
        same("reduce_rows", n, move |a, _| values(a)?.reduce_rows(MAX));
        same("reduce_columns", n, move |a, _| values(a)?.select(TRIL)?.reduce_columns(MIN));
        same("reduce", n, move |a, [x, _]| fill(a.map_index(COLINDEX)?.reduce(PLUS)?, x.len()).eval());
        same("argmin_rows", n, move |a, _| values(a)?.argmin_rows());
        same("argmax_rows", n, move |a, _| values(a)?.select(TRIU)?.argmax_rows());
        same("diagonal", n, move |a, [x, _]| {
            let diagonal = Matrix::from_diagonal(x)?;
            diagonal.ewise_add(&a.to_digraph()?.map_index(COLINDEX)?, FIRST)?.diagonal()
        });
        same("mode", n, |a, [x, _]| a.mode(&x.map(RDIV.bind(250)).eval()?).eval());
        same("mode of some", n, |a, [_, y]| a.mode(y).eval());
        same("mode of some rows", n, |a, [x, y]| a.mode(x).mask(&y.pattern().eval()?).eval());
    }
}

#[test]
fn float_sums_of_rows_have_the_same_bits_in_a_column() {
    let a = random_graph(400, 3000, 3);
    let sums = |a: &Matrix| -> Result<(Vector<f32>, u32)> {
        let values = a.to_digraph()?.map_index(SPREAD)?;
        Ok((values.reduce_rows(PLUS)?, values.reduce(PLUS)?.to_bits()))
    };
    let expected = sums(&a).unwrap();
    for shape in shapes().filter(|shape| shape.1 == 1) {
        for deal in [Deal::Cyclic, Deal::Hashed] {
            let found = on_grid(shape, deal, |grid| {
                let (rows, sum) = sums(&a.to_grid(grid)?)?;
                Ok((rows.to_all()?, sum))
            });
            assert_eq!(found.unwrap(), expected, "{shape:?}, {deal:?}");
        }
    }
}

#[op(PLACE)]
fn place(i: u32, _one: u64) -> u64 {
    (i as u64) * (i as u64) + 1
}
#[op(VALUE)]
fn value(_edge: (), by: u64) -> u64 {
    by
}

#[test]
fn what_is_refused() {
    let a = random_graph(100, 300, 1);
    let refused = |program: &(dyn Fn(&Matrix) -> Result<()> + Sync)| {
        let told = on_grid((2, 1), Deal::Cyclic, |grid| program(&a.to_grid(grid)?));
        told.unwrap_err().to_string()
    };
    let built = "not built for a matrix that is spread over ranks";
    assert_eq!(refused(&|a| a.mxm(a, PLUS_PAIR).predict().map(drop)), format!("predict: {built}"));
    let wide = Matrix::from_triples(100, 3, [(0, 0, ())]).unwrap();
    let told = refused(&|a| a.mxm(&wide, PLUS_PAIR).eval().map(drop));
    assert_eq!(told, "to_grid: a 100 x 3 matrix: expected a square one");
    let small = random_graph(99, 300, 1);
    let told = refused(&|a| a.mxm(&small, PLUS_PAIR).eval().map(drop));
    assert!(told.ends_with("mxm: matrix of 100 x 100 does not fit matrix of 99 x 99"), "{told}");
    let told = refused(&|a| a.mxm(a, PLUS_PAIR).mask(&small).eval().map(drop));
    assert!(told.ends_with("mask: matrix of 100 x 100 does not fit mask of 99 x 99"), "{told}");
    // parts of a row can't be joined
    for (monoid, name) in [(0, "exact"), (1, "commutative")] {
        let told = on_grid((1, 2), Deal::Cyclic, |grid| {
            let x = a.to_grid(grid)?.map(VALUE.bind(3))?.map(ROUNDED)?;
            if monoid == 0 { x.reduce_rows(PLUS).map(drop) } else { x.reduce_rows(ANY).map(drop) }
        });
        let expected =
            format!("reduce_rows: a monoid that isn't {name}, on a grid of 1x2: expected one column of ranks, 2x1");
        assert_eq!(told.unwrap_err().to_string(), expected);
    }
    let told = refused(&|a| {
        Set::all(100).to_grid(a.grid().unwrap())?.vxm(&random_graph(100, 30, 2), PLUS_PAIR).eval().map(drop)
    });
    assert!(told.starts_with("vxm: the vector is spread over ranks, the matrix isn't"), "{told}");
    let told = refused(&|a| a.extract(&[1, 2], &[3]).map(drop));
    assert_eq!(told, "extract: a 2 x 1 matrix on ranks: expected a square one");
    let wide = Matrix::from_triples(2, 3, [(0, 0, 1u32)]).unwrap();
    let told = on_grid((2, 1), Deal::Cyclic, |grid| wide.to_grid(grid).map(drop)).unwrap_err().to_string();
    assert_eq!(told, "to_grid: a 2 x 3 matrix: expected a square one");
    let told = on_grid((2, 1), Deal::Cyclic, |grid| {
        let x = Vector::full(100, 1u32).to_grid(grid)?;
        x.ewise_mult(&x.to_all()?.to_grid(&grid.with_deal(Deal::Hashed))?, PLUS).eval().map(drop)
    });
    assert!(told.unwrap_err().to_string().starts_with("a vector spread over another grid"));
    let shapes = on_grid((2, 1), Deal::Cyclic, |grid| {
        let x = Vector::full(100, 1u32).to_grid(grid)?;
        x.ewise_mult(&Vector::full(99, 1u32), PLUS).eval().map(drop)
    });
    assert!(shapes.unwrap_err().to_string().ends_with("ewise_mult: vector of 100 does not fit vector of 99"));
}
