//! Verbs that put matrices together and take them apart, writes through masks, and scattering with a monoid, compared with the reference
//! bit for bit. The variables of the differential tests apply; see `main.rs`.

#[allow(dead_code)]
mod algebra;
#[allow(dead_code)]
mod harness;
#[allow(dead_code)]
mod shapes;

use algebra::{Compose, Join, Sample, Tangle, blend, mix};
use harness::{Mode, Outcome, agree as agree_vector, dry_run, ok, on_device, on_threads, same, suite};
use proptest::prelude::*;
use proptest::sample::select;
use shapes::{Graph, filled, graph, matrix};
use vxm::backend::reference::{self, Grid, grid};
use vxm::prelude::*;
use vxm::semiring::laws;

/// Compares a matrix by bits.
fn agree<T: Element>(what: &str, expected: &Grid<T>, found: &Matrix<T>) -> Outcome {
    same(what, (expected.rows.len(), expected.ncols), (found.nrows(), found.ncols()))?;
    let entries = |(i, row): (usize, &Vec<Option<T>>)| {
        let held = row.iter().enumerate().filter_map(move |(j, a)| a.map(|a| (i as u32, j as u32, a.bits())));
        held.collect::<Vec<_>>()
    };
    let expected: Vec<_> = expected.rows.iter().enumerate().flat_map(entries).collect();
    same(what, &expected, &found.iter().map(|(i, j, a)| (i, j, a.bits())).collect())?;
    // a matrix that is marked symmetric must be symmetric
    same(&format!("{what}: symmetry"), true, !found.is_symmetric() || found.csr().is_symmetric())
}

fn case() -> impl Strategy<Value = (Graph, u64, usize)> {
    (graph(), 0..1u64 << 16, select(vec![1, 2, 8]))
}

/// Distinct indices below `n`, in no order.
fn some(n: usize, seed: u64) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).filter(|&i| !mix(seed ^ u64::from(i)).is_multiple_of(3)).collect();
    all.sort_by_key(|&i| mix(seed ^ u64::from(i) << 20));
    all.truncate(40);
    all
}

fn of<T: Sample>(nrows: usize, ncols: usize, seed: u64) -> Grid<T> {
    grid(nrows, ncols, |i, j| {
        let bits = mix(mix(seed ^ (i as u64) << 32) ^ j as u64);
        (bits.is_multiple_of(3)).then(|| T::sample(mix(bits)))
    })
}

fn check_parts<T: Sample>(name: &str) {
    suite(&format!("parts of matrices of {name}"), 300, case(), |(graph, seed, threads)| {
        let a = graph.grid::<T>();
        let found = matrix(&a, graph.symmetric);
        let (m, n) = (graph.nrows, graph.ncols);
        on_threads(threads, || {
            agree_vector("diagonal", &a.diagonal(), &ok(found.diagonal())?)?;
            let diagonal = a.diagonal();
            let square = grid(diagonal.len(), diagonal.len(), |i, j| diagonal[i].filter(|_| i == j));
            let v = Vector::from_options(&diagonal);
            agree("from_diagonal", &square, &ok(Matrix::from_diagonal(&v))?)?;
            agree("tril", &a.select(TRIL), &ok(found.tril())?)?;
            agree("triu", &a.select(TRIU), &ok(found.triu())?)?;
            let ends = |n: usize, seed: u64| {
                let (x, y) = (mix(seed) as usize % (n + 1), mix(seed ^ 1) as usize % (n + 1));
                x.min(y)..x.max(y)
            };
            let (rows, columns) = (ends(m, seed), ends(n, !seed));
            let list = |range: &std::ops::Range<usize>| range.clone().map(|i| i as u32).collect::<Vec<_>>();
            let part = a.extract(&list(&rows), &list(&columns));
            agree("extract_range", &part, &ok(found.extract_range(rows.clone(), columns.clone()))?)?;
            // apart and together again
            let row_sizes = [rows.start, rows.len(), m - rows.end];
            let column_sizes = [columns.start, columns.len(), n - columns.end];
            let tiles = ok(found.split(&row_sizes, &column_sizes))?;
            agree("split", &part, &tiles[1][1])?;
            let held: Vec<Vec<&Matrix<T>>> = tiles.iter().map(|row| row.iter().collect()).collect();
            let held: Vec<&[&Matrix<T>]> = held.iter().map(Vec::as_slice).collect();
            agree("concat", &a, &ok(Matrix::concat(&held))?)?;
            let (wide, high) = (n + 3, m / 2);
            let resized = grid(high, wide, |i, j| a.rows[i].get(j).copied().flatten());
            agree("resized", &resized, &ok(found.resized(high, wide))?)?;
            let within = found.iter().filter(|e| rows.contains(&(e.0 as usize))).map(|(i, j, _)| (i, j));
            let some = found.iter_rows(rows.clone()).map(|(i, j, _)| (i, j));
            same("iter_rows", within.collect::<Vec<_>>(), some.collect())
        })
    });
}

#[test]
fn parts() {
    check_parts::<()>("nothing");
    check_parts::<u16>("u16");
    check_parts::<f64>("f64");
}

#[test]
fn joined_matrices() {
    suite("joined matrices", 300, case(), |(graph, seed, threads)| {
        let a = graph.grid::<u32>();
        let b = Graph { seed: seed ^ 5, ..graph.clone() }.grid::<u32>();
        let (left, right) = (matrix(&a, graph.symmetric), matrix(&b, graph.symmetric));
        on_threads(threads, || {
            agree("ewise_union", &a.ewise_union(3, &b, 9, blend), &ok(left.ewise_union(3, &right, 9, blend))?)?;
            let small = of::<u32>((seed % 4) as usize, (seed / 4 % 4) as usize, seed);
            let factor = matrix(&small, false);
            agree("kronecker", &a.kronecker(&small, blend), &ok(left.kronecker(&factor, blend))?)?;
            agree("kronecker, turned", &small.kronecker(&a, blend), &ok(factor.kronecker(&left, blend))?)
        })
    });
}

#[test]
fn reductions_of_columns() {
    suite("columns reduced", 300, case(), |(graph, _, threads)| {
        let (a, b) = (graph.grid::<f32>(), graph.grid::<u16>());
        let (floats, words) = (matrix(&a, graph.symmetric), matrix(&b, graph.symmetric));
        on_threads(threads, || {
            let expected = a.transpose().reduce_rows(PLUS);
            agree_vector("plus of f32", &expected, &ok(floats.reduce_columns(PLUS))?)?;
            agree_vector("plus of f32, again", &expected, &ok(floats.reduce_columns(PLUS))?)?;
            let expected = b.transpose().reduce_rows(Compose);
            agree_vector("a monoid that doesn't commute", &expected, &ok(words.reduce_columns(Compose))?)
        })
    });
}

#[test]
fn assignments() {
    suite("assigned regions", 400, case(), |(graph, seed, threads)| {
        let c = graph.grid::<u32>();
        let (rows, columns) = (some(graph.nrows, seed), some(graph.ncols, !seed));
        let b = of::<u32>(rows.len(), columns.len(), seed);
        let put = matrix(&b, false);
        on_threads(threads, || {
            let mut found = matrix(&c, graph.symmetric);
            ok(found.assign(&rows, &columns, &put))?;
            agree("assign", &c.assign(&rows, &columns, &b, None::<Join>), &found)?;
            let mut found = matrix(&c, graph.symmetric);
            ok(found.assign_accum(&rows, &columns, &put, Join::Max))?;
            agree("assign_accum", &c.assign(&rows, &columns, &b, Some(Join::Max)), &found)?;
            if let (Some(&i), Some(&j)) = (rows.first(), columns.first()) {
                let mut found = matrix(&c, graph.symmetric);
                ok(found.set(i, j, 77))?;
                let place = |k: usize, l: usize| (k, l) == (i as usize, j as usize);
                let with = |value: Option<u32>| {
                    grid(graph.nrows, graph.ncols, |k, l| if place(k, l) { value } else { c.rows[k][l] })
                };
                agree("set", &with(Some(77)), &found)?;
                ok(found.remove(i, j))?;
                agree("remove", &with(None), &found)?;
            }
            Ok(())
        })
    });
}

#[test]
fn writes_through_masks() {
    let strategy = (case(), select(Mode::ALL.to_vec()));
    suite("matrices written into matrices", 400, strategy, |((graph, seed, threads), mode)| {
        let c = graph.grid::<u32>();
        let t = Graph { seed, ..graph.clone() }.grid::<u32>();
        let m = Graph { seed: !seed & 0xffff, ..graph.clone() }.grid::<u8>();
        let (from, mask) = (matrix(&t, graph.symmetric), matrix(&m, graph.symmetric));
        let (values, complement) = (
            matches!(mode, Mode::Values | Mode::ComplementValues),
            matches!(mode, Mode::Complement | Mode::ComplementValues),
        );
        let allowed = match mode {
            Mode::None => vec![vec![true; m.ncols]; m.rows.len()],
            _ => m.mask(values, complement),
        };
        on_threads(threads, || {
            let mut written = matrix(&c, graph.symmetric);
            let mut joined = written.clone();
            if mode == Mode::None {
                ok(from.accum(Join::Plus).assign_to(&mut joined))?;
                return agree("accum", &c.accumulate(&t, &allowed, Join::Plus), &joined);
            }
            let plain = if values { mask.values() } else { MatrixMask::from(&mask) };
            let mask = if complement { !plain } else { plain };
            ok(from.mask(mask).assign_to(&mut written))?;
            agree("assign_to", &c.write(&t, &allowed), &written)?;
            ok(from.mask(mask).accum(Join::Plus).assign_to(&mut joined))?;
            agree("accum under a mask", &c.accumulate(&t, &allowed, Join::Plus), &joined)
        })
    });
}

fn check_scatter<T: Sample, M: Monoid<T>>(name: &str, monoid: M) {
    let strategy = (filled(), filled(), 0..300usize, 1..40usize, select(vec![1, 2, 8]));
    suite(&format!("scatter with {name}"), 300, strategy, |(u, index, k, len, threads)| {
        let dense = u.dense::<T>(k);
        let indices: Vec<Option<u32>> = index
            .dense::<u32>(k)
            .iter()
            .enumerate()
            .map(|(k, x)| x.map(|_| (mix(k as u64 ^ index.seed) % len as u64) as u32))
            .collect();
        let (vector, places) = (u.vector(&dense), index.vector(&indices));
        on_threads(threads, || {
            let expected = reference::scatter_by(&dense, &indices, len, monoid);
            agree_vector("scatter_by", &expected, &ok(vector.scatter_by(&places, len, monoid))?)?;
            let all: Vec<u32> = (0..k as u64).map(|k| (mix(k ^ index.seed) % len as u64) as u32).collect();
            let options: Vec<Option<u32>> = all.iter().copied().map(Some).collect();
            let expected = reference::scatter_by(&dense, &options, len, monoid);
            agree_vector("scatter_with", &expected, &ok(vector.scatter_with(&all, len, monoid))?)
        })
    });
}

#[test]
fn scattering() {
    check_scatter::<u32, _>("plus of u32", PLUS);
    check_scatter::<f32, _>("plus of f32", PLUS);
    check_scatter::<u64, _>("any of u64", ANY);
    check_scatter::<u16, _>("a monoid that doesn't commute", Compose);
    check_scatter::<u32, _>("a fold that shows its tree", Tangle);
}

#[test]
fn unions_of_vectors() {
    let strategy = (filled(), filled(), 0..300usize, select(vec![1, 2, 8]));
    suite("ewise_union of vectors", 300, strategy, |(x, y, n, threads)| {
        let (left, right) = (x.dense::<u32>(n), y.dense::<u32>(n));
        let (u, v) = (x.vector(&left), y.vector(&right));
        on_threads(threads, || {
            let expected = reference::ewise_union(&left, 3, &right, 9, blend);
            agree_vector("ewise_union", &expected, &ok(u.ewise_union(3, &v, 9, blend).eval())?)
        })
    });
}

#[test]
fn least_and_greatest() {
    assert!(laws::check_monoid::<u64, _>(ARGMIN).is_ok() && laws::check_monoid::<u64, _>(ARGMAX).is_ok());
    suite("places of extremes", 300, (case(), filled()), |((graph, _, _), filled)| {
        let a = graph.grid::<f32>();
        let found = matrix(&a, graph.symmetric);
        let better = |x: f32, y: f32, less: bool| if less { x < y } else { x > y } || (y.is_nan() && !x.is_nan());
        let best = |row: &[Option<f32>], less: bool| {
            let held = row.iter().enumerate().filter_map(|(j, x)| x.map(|x| (j as u32, x)));
            held.reduce(|best, next| if better(next.1, best.1, less) { next } else { best })
        };
        let of = |less: bool| a.rows.iter().map(|row| best(row, less).map(|(j, _)| j)).collect::<Vec<_>>();
        agree_vector("argmin_rows", &of(true), &ok(found.argmin_rows())?)?;
        agree_vector("argmax_rows", &of(false), &ok(found.argmax_rows())?)?;
        let dense = filled.dense::<f32>(50);
        let v = filled.vector(&dense);
        let bits = |best: Option<(u32, f32)>| best.map(|(i, x)| (i, x.bits()));
        same("argmin", bits(best(&dense, true)), bits(v.argmin()))?;
        same("argmax", bits(best(&dense, false)), bits(v.argmax()))?;
        // as a product: the greatest key of each row's columns, and its column
        let keys: Vec<u32> = (0..graph.ncols as u64).map(|j| (mix(j) % 5) as u32).collect();
        let pattern = found.pattern();
        let held = Vector::from_dense(keys.clone());
        let pairs = WITH_INDEX.map2(&held, fill((), keys.len()).map_index(FIRST));
        let product = ok(on_device(|| pattern.mxv(&pairs.eval()?, semiring(ARGMAX, SECOND)).eval()))?;
        let expected: Vec<Option<u64>> = a
            .rows
            .iter()
            .map(|row| {
                let held = (0..row.len()).filter(|&j| row[j].is_some()).map(|j| (keys[j], j as u32));
                held.max_by_key(|&(key, j)| (key, std::cmp::Reverse(j))).map(|(key, j)| WITH_INDEX.call(key, j))
            })
            .collect();
        agree_vector("argmax as a semiring", &expected, &product)
    });
}

#[test]
fn what_does_not_fit() {
    let of = |m, n| Matrix::from_triples(m, n, [(0, 0, 1u32)]).unwrap();
    let (a, b) = (of(2, 3), of(3, 2));
    let place = |line: u32| format!("{}:{line}:", file!());
    let told = |error: Option<Error>, line: u32, ending: &str| {
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&place(line)) && error.ends_with(ending), "{error}");
    };
    let error = on_device(|| a.ewise_union(0, &b, 0, PLUS)).err();
    told(error, line!() - 1, ": ewise_union: matrix of 2 x 3 does not fit matrix of 3 x 2");
    let error = on_device(|| a.extract_range(0..3, 0..1)).err();
    told(error, line!() - 1, ": extract_range: matrix of 2 x 3 does not fit rows 0..3");
    let error = on_device(|| a.split(&[1], &[3])).err();
    told(error, line!() - 1, ": split: matrix of 2 x 3 does not fit tiles of 1 x 3 in all");
    let error = on_device(|| Matrix::concat(&[&[&a, &b]])).err();
    told(error, line!() - 1, ": concat: matrix of 3 x 2 does not fit tile of 2 x 2");
    let error = Matrix::<u32>::concat(&[]).unwrap_err().to_string();
    assert_eq!(error, "concat: rows of none tiles: expected as many in each, at least one");
    let error = Matrix::concat(&[&[&a, &a], &[&a]]).unwrap_err().to_string();
    assert_eq!(error, "concat: rows of 2, 1 tiles: expected as many in each, at least one");
    let mut c = of(3, 3);
    let error = on_device(|| c.assign(&[0, 5], &[0, 1, 2], &a)).err();
    told(error, line!() - 1, ": assign: matrix of 3 x 3 does not fit row 5");
    let twice = ": assign: matrix of 3 x 3 does not fit column 0, at positions 0 and 2: expected each once";
    let error = on_device(|| c.assign(&[0, 1], &[0, 1, 0], &a)).err();
    told(error, line!() - 1, twice);
    let error = on_device(|| c.assign(&[0], &[0, 1, 2], &a)).err();
    told(error, line!() - 1, ": assign: matrix of 2 x 3 does not fit region of 1 x 3");
    let error = on_device(|| c.set(0, 3, 1)).err();
    told(error, line!() - 1, ": assign: matrix of 3 x 3 does not fit column 3");
    let error = on_device(|| a.accum(PLUS).assign_to(&mut c)).err();
    told(error, line!() - 1, ": assign_to: matrix of 3 x 3 does not fit matrix of 2 x 3");
    let d = c.clone();
    let error = on_device(|| d.mask(&a).assign_to(&mut c)).err();
    told(error, line!() - 1, ": mask: matrix of 3 x 3 does not fit mask of 2 x 3");
    let u = Vector::from_dense(vec![1u32, 2]);
    let error = on_device(|| u.scatter_with(&[0, 4], 4, PLUS)).err();
    told(error, line!() - 1, ": scatter_with: 4 places does not fit index 4 at position 1");
    let error = on_device(|| u.scatter_with(&[0], 4, PLUS)).err();
    told(error, line!() - 1, ": scatter_with: vector of 2 does not fit 1 indices");
    let error = on_device(|| u.scatter_by(&Vector::new(3), 4, PLUS)).err();
    told(error, line!() - 1, ": scatter_by: vector of 2 does not fit vector of 3 indices");
    let large = Matrix::from_triples(1 << 20, 1 << 20, [(0, 0, 1u32)]).unwrap();
    assert!(matches!(large.kronecker(&large, TIMES), Err(Error::TooManyVertices { .. })));
    assert!(dry_run().is_some() || a.tril().unwrap().nnz() == 1);
}
