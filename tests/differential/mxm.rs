//! Products of two sparse matrices and masks of matrices, compared with the reference bit for bit: every path, mask, number of threads and
//! way in which the right matrix is held. The variables of the differential tests apply; see `main.rs`.

#[allow(dead_code)]
mod algebra;
#[allow(dead_code)]
mod harness;
#[allow(dead_code)]
mod shapes;

use algebra::{Compose, Join, Sample, Tangle, affine, blend};
use harness::{Mode, Outcome, dry_run, ok, on_device, on_threads, same, suite};
use proptest::prelude::*;
use proptest::sample::select;
use shapes::{Graph, graph, matrix};
use vxm::backend::plan::{Forced, RowPath, force};
use vxm::backend::reference::Grid;
use vxm::operations::mxm::MatrixProduct;
use vxm::prelude::*;

/// Compares a matrix by bits.
fn agree<T: Element>(what: &str, expected: &Grid<T>, found: &Matrix<T>) -> Outcome {
    same(what, (expected.rows.len(), expected.ncols), (found.nrows(), found.ncols()))?;
    let entries = |(i, row): (usize, &Vec<Option<T>>)| {
        let held = row.iter().enumerate().filter_map(move |(j, a)| a.map(|a| (i as u32, j as u32, a.bits())));
        held.collect::<Vec<_>>()
    };
    let expected: Vec<_> = expected.rows.iter().enumerate().flat_map(entries).collect();
    same(what, &expected, &found.iter().map(|(i, j, a)| (i, j, a.bits())).collect())?;
    same(what, expected.len() as u64, found.nnz())
}

/// How the right matrix is held when the product begins.
#[derive(Debug, Clone, Copy)]
enum Sides {
    Rows,
    Columns,
    Both,
}

impl Sides {
    fn of<T: Element>(self, grid: &Grid<T>, symmetric: bool) -> Matrix<T> {
        match self {
            Self::Rows => matrix(grid, symmetric),
            Self::Columns => matrix(&grid.transpose(), symmetric).transpose(),
            Self::Both => {
                let held = matrix(grid, symmetric);
                held.csr_transposed();
                held
            }
        }
    }
}

/// A case: `a` of m x k, `b` of k x n, and a mask and a target of m x n.
#[derive(Debug, Clone)]
struct Case {
    a: Graph,
    b: Graph,
    mask: Graph,
    mode: Mode,
    sides: Sides,
    path: Option<RowPath>,
    /// The products of a group of rows on a GPU.
    at_once: Option<u64>,
    threads: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let sides = select(vec![Sides::Rows, Sides::Columns, Sides::Both]);
    let paths = [RowPath::List, RowPath::Hash, RowPath::Dense, RowPath::Dots].map(Some);
    let path = prop_oneof![2 => Just(None), 3 => select(paths.to_vec())];
    // products of very long and very wide matrices would make the reference slow
    let width = prop_oneof![1 => Just(0), 6 => 1..30usize, 2 => 60..140usize];
    let shape = (graph(), graph(), graph(), width);
    let at_once = select(vec![None, Some(0), Some(7), Some(100)]);
    (shape, select(Mode::ALL.to_vec()), sides, (path, at_once), select(vec![1, 2, 8])).prop_map(
        |((a, b, mask, width), mode, sides, (path, at_once), threads)| {
            let width = if a.nrows * a.ncols > 20_000 { width.min(4) } else { width };
            let squared = a.nrows == a.ncols && width % 2 == 1;
            let ncols = if squared { a.ncols } else { width };
            let b = Graph { nrows: a.ncols, ncols, symmetric: b.symmetric && a.ncols == ncols, ..b };
            let mask = Graph { nrows: a.nrows, ncols, symmetric: mask.symmetric && a.nrows == ncols, ..mask };
            Case { a, b, mask, mode, sides, path, at_once, threads }
        },
    )
}

/// Whether a mode is by value, and whether it is a complement.
fn parts(mode: Mode) -> (bool, bool) {
    let values = matches!(mode, Mode::Values | Mode::ComplementValues);
    (values, matches!(mode, Mode::Complement | Mode::ComplementValues))
}

fn with_mask<'a, A, B, S, M>(
    product: MatrixProduct<'a, A, B, S>,
    mask: &'a Matrix<M>,
    mode: Mode,
) -> MatrixProduct<'a, A, B, S>
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
    M: Element,
{
    match mode {
        Mode::None => product,
        Mode::Structural => product.mask(mask),
        Mode::Complement => product.mask(!mask),
        Mode::Values => product.mask(mask.values()),
        Mode::ComplementValues => product.mask(!mask.values()),
    }
}

/// Compares the product of a semiring, evaluated and written into a matrix, with its definition.
fn check<A, B, S>(name: &str, cases: u32, ring: S)
where
    A: Sample,
    B: Sample,
    S: Semiring<A, B>,
    S::Out: Sample,
{
    suite(&format!("mxm over {name}"), cases, case(), |case| {
        let (a, b, m) = (case.a.grid::<A>(), case.b.grid::<B>(), case.mask.grid::<u8>());
        let (left, mask) = (matrix(&a, case.a.symmetric), matrix(&m, case.mask.symmetric));
        let right = case.sides.of(&b, case.b.symmetric);
        let forced = Forced { row_path: case.path, products_at_once: case.at_once, ..Forced::default() };
        let (values, complement) = parts(case.mode);
        let allowed = match case.mode {
            Mode::None => vec![vec![true; m.ncols]; m.rows.len()],
            _ => m.mask(values, complement),
        };
        let product = a.mxm(&b, ring);
        let written = Graph { seed: case.mask.seed ^ 77, ..case.mask.clone() }.grid::<S::Out>();
        on_threads(case.threads, || {
            let described = with_mask(left.mxm(&right, ring), &mask, case.mode);
            let found = ok(force(forced, || described.eval()))?;
            agree("the product", &product.masked(&allowed), &found)?;
            let predicted = ok(described.predict())?;
            let within = predicted.least_entries <= found.nnz() && found.nnz() <= predicted.most_entries;
            // the lower bound is that of the product without a complement
            same("entries as predicted", true, within || complement && found.nnz() <= predicted.most_entries)?;
            let mut target = matrix(&written, case.mask.symmetric);
            ok(force(forced, || described.assign_to(&mut target)))?;
            agree("assigned", &written.write(&product, &allowed), &target)?;
            let mut target = matrix(&written, false);
            ok(force(forced, || described.accum(Join::Plus).assign_to(&mut target)))?;
            agree("accumulated", &written.accumulate(&product, &allowed, Join::Plus), &target)
        })
    });
}

#[test]
fn exact_monoids() {
    check::<u32, u32, _>("plus.times of u32", 200, PLUS_TIMES);
    check::<i64, i64, _>("min.plus of i64", 200, MIN_PLUS);
    check::<bool, bool, _>("lor.land", 200, LOR_LAND);
    check::<u16, u16, _>("any.second, where the first counts", 150, ANY_SECOND);
    check::<f32, f32, _>("max.plus of f32", 200, MAX_PLUS);
}

#[test]
fn patterns() {
    check::<(), (), _>("plus.pair", 200, PLUS_PAIR);
    check::<(), u64, _>("any.pair", 200, ANY_PAIR);
    check::<f32, (), _>("lor.pair", 200, LOR_PAIR);
    check::<(), u32, _>("plus.second of a pattern", 200, PLUS_SECOND);
}

#[test]
fn inexact_monoids_are_folded_in_order() {
    check::<f32, f32, _>("plus.times of f32", 200, PLUS_TIMES);
    check::<f64, f64, _>("plus.times of f64", 200, PLUS_TIMES);
    check::<u32, u32, _>("a fold that shows its order", 200, semiring(Tangle, blend));
}

#[test]
fn semirings_of_a_user() {
    check::<u16, u16, _>("a monoid that doesn't commute", 200, semiring(Compose, affine));
}

#[test]
fn masks_of_matrices() {
    suite("masked matrices", 500, (graph(), 0..1u64 << 16, select(vec![1, 2, 8])), |(graph, seed, threads)| {
        let (grid, m) = (graph.grid::<u32>(), Graph { seed, ..graph.clone() }.grid::<f32>());
        let (a, mask) = (matrix(&grid, graph.symmetric), matrix(&m, graph.symmetric));
        on_threads(threads, || {
            agree("structure", &grid.masked(&m.mask(false, false)), &ok(a.masked(&mask))?)?;
            agree("complement", &grid.masked(&m.mask(false, true)), &ok(a.masked(!&mask))?)?;
            agree("values", &grid.masked(&m.mask(true, false)), &ok(a.masked(mask.values()))?)?;
            agree("complement of values", &grid.masked(&m.mask(true, true)), &ok(a.masked(!mask.values()))?)
        })
    });
}

/// Rows that take every path by their size, and operands of very different lengths, which are searched.
#[test]
fn large_products() {
    let n = 3000usize;
    let hubs = |i: u32| if i % 500 == 7 { 1500 } else { 1 + i % 5 };
    let entry = |i: u32, k: u32| (i, (i * 31 + k * k * 17 + k * 7) % n as u32);
    let mut places: Vec<(u32, u32)> = (0..n as u32).flat_map(|i| (0..hubs(i)).map(move |k| entry(i, k))).collect();
    places.sort_unstable();
    places.dedup();
    let value = |(i, j): (u32, u32)| (i, j, 1.0 / (1.0 + (i * 7 + j * 3) as f32));
    let a = Matrix::from_triples(n, n, places.iter().copied().map(value)).unwrap();
    let product = |threads, mask: Option<MatrixMask<'_>>, row_path| {
        on_threads(threads, || {
            force(Forced { row_path, ..Forced::default() }, || {
                let product = a.mxm(&a, PLUS_TIMES);
                mask.map_or(product, |mask| product.mask(mask)).eval()
            })
        })
        .unwrap()
    };
    let paths = [None, Some(RowPath::Hash), Some(RowPath::Dense), Some(RowPath::List)];
    let whole = product(1, None, None);
    if dry_run().is_some() {
        return;
    }
    // rows by the definition
    for i in [7u32, 8] {
        for j in 0..n as u32 {
            let products = a.csr().row(i as usize).0.iter().filter_map(|&k| Some(a.get(i, k)? * a.get(k, j)?));
            assert_eq!(whole.get(i, j).map(f32::to_bits), products.reduce(|x, y| x + y).map(f32::to_bits), "{i}, {j}");
        }
    }
    // the emulated GPU takes its time; small products force its paths
    let on_gpu = std::env::var("VXM_TEST_DEVICE").is_ok_and(|device| device.starts_with("cuda"));
    let few = if on_gpu { 0 } else { usize::MAX };
    for path in paths.into_iter().take(few) {
        assert_eq!(product(8, None, path), whole, "{path:?}");
    }
    let expected = whole.masked(&a).unwrap();
    let complement = whole.masked(!&a).unwrap();
    a.csr_transposed();
    for path in [None, Some(RowPath::Hash), Some(RowPath::Dense), Some(RowPath::Dots)].into_iter().take(few.max(1)) {
        for threads in [1, 8].into_iter().take(few.max(1)) {
            assert_eq!(product(threads, Some((&a).into()), path), expected, "{path:?} on {threads}");
            assert_eq!(product(threads, Some(!&a), path), complement, "{path:?} on {threads}");
        }
    }
}

/// A row that takes several tables under a mask: its fold goes on from one to the next, in order. Columns have few and many entries.
#[test]
fn a_row_in_several_tables() {
    let (n, width) = (6000u32, 300u32);
    let every = |j: u32| if j.is_multiple_of(3) { 11 } else { 701 };
    let kept = |k: u32, j: u32| (k * 7 + j * 13).is_multiple_of(every(j));
    let left: Vec<_> = (0..n).filter(|k| k % 4 > 0).map(|k| (0, k, 1.0 / (k + 1) as f32)).collect();
    let right: Vec<_> =
        (0..n).flat_map(|k| (0..width).filter(move |&j| kept(k, j)).map(move |j| (k, j, 1.0 + j as f32))).collect();
    let a = Matrix::from_triples(1, n as usize, left.clone()).unwrap();
    let b = Matrix::from_triples(n as usize, width as usize, right).unwrap();
    let mask = Matrix::from_triples(1, width as usize, (0..width).map(|j| (0, j, true))).unwrap();
    let found = on_device(|| a.mxm(&b, PLUS_TIMES).mask(&mask).eval()).unwrap();
    if dry_run().is_some() {
        return;
    }
    for j in 0..width {
        let products = left.iter().filter(|&&(_, k, _)| kept(k, j)).map(|&(_, _, x)| x * (1.0 + j as f32));
        assert_eq!(found.get(0, j).map(f32::to_bits), products.reduce(|x, y| x + y).map(f32::to_bits), "column {j}");
    }
}

#[test]
fn what_does_not_fit() {
    let of = |m, n| Matrix::from_triples(m, n, [(0, 0, 1.0f32)]).unwrap();
    let (a, b) = (of(2, 3), of(2, 3));
    let place = |line: u32| format!("{}:{line}:", file!());
    let error = on_device(|| a.mxm(&b, PLUS_TIMES).eval()).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mxm: matrix of 2 x 3 does not fit matrix of 2 x 3"), "{error}");
    let (turned, wrong) = (b.transpose(), of(2, 3));
    let error = on_device(|| a.mxm(&turned, PLUS_TIMES).mask(&wrong).eval()).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mask: matrix of 2 x 2 does not fit mask of 2 x 3"), "{error}");
    let mut target = of(3, 2);
    let error = on_device(|| a.mxm(&turned, PLUS_TIMES).assign_to(&mut target)).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mxm: product of 2 x 2 does not fit matrix of 3 x 2"), "{error}");
    let error = on_device(|| a.masked(&turned)).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mask: matrix of 2 x 3 does not fit mask of 3 x 2"), "{error}");
    assert!(a.mxm(&b, PLUS_TIMES).predict().is_err());
}

/// A column times a row is a full matrix. It is refused before memory is claimed, and its small part under a mask is not.
#[test]
fn a_product_that_no_memory_holds_is_refused() {
    let n = 1 << 21;
    let column = Matrix::from_triples(n, 1, (0..n as u32).map(|i| (i, 0, 1u32))).unwrap();
    let row = column.transpose();
    let product = column.mxm(&row, PLUS_TIMES);
    assert_eq!((product.predict().unwrap().least_entries, product.predict().unwrap().products), (1 << 42, 1 << 42));
    let refused = on_device(|| product.eval());
    // in a dry run nothing is counted
    if dry_run().is_none() {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        let told = error.to_string();
        assert!(
            told.contains("mxm: the product of matrices of 2097152 x 1 and 1 x 2097152: needs 32.1 TiB of"),
            "{told}"
        );
    }
    let corner = Matrix::from_triples(n, n, [(5, 7, ()), (9, 9, ())]).unwrap();
    let found = on_device(|| product.mask(&corner).eval()).unwrap();
    assert!(dry_run().is_some() || found.iter().eq([(5, 7, 1), (9, 9, 1)]));
}
