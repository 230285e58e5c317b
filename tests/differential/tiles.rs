//! Tiles: every strategy over them, on the device that `VXM_TEST_DEVICE` names. Also that tiles made on a device equal the host's.

use crate::algebra::Sample;
use crate::harness::{agree, ok, on_device, on_threads, same, suite};
use crate::products::check_ways;
use crate::shapes::{Filled, Graph, Kind, filled, graph, matrix};
use half::f16;
use vxm::backend::cuda::{DeviceCsr, DeviceTiles, Gpu};
use vxm::backend::plan::{Direction, Forced, Format, Strategy as Way, force};
use vxm::backend::reference;
use vxm::containers::VectorFormat;
use vxm::formats::Tiles;
use vxm::prelude::*;

const STRATEGIES: [Option<Way>; 5] =
    [None, Some(Way::FoldRows), Some(Way::CountTiles), Some(Way::CountTilesTensor), Some(Way::CountTilesBits)];

/// All combinations of format and strategy.
fn ways() -> Vec<Forced> {
    let formats = [None, Some(Format::Csr), Some(Format::Tiles), Some(Format::Hybrid)];
    let ways = formats.map(|format| STRATEGIES.map(|strategy| Forced { format, strategy, ..Forced::default() }));
    ways.into_iter().flatten().collect()
}

fn check<X, A, S, R>(name: &str, cases: u32, vxm: S, mxv: R)
where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
    R: Semiring<A, X, Out = S::Out>,
{
    check_ways(&format!("tiles on device: {name}"), cases, &ways(), vxm, mxv);
}

#[test]
fn plus_pair() {
    check::<bool, (), _, _>("PLUS_PAIR of u32", 300, PLUS_PAIR, PLUS_PAIR);
    let ring = semiring(PLUS, Pair::<u64>::new());
    check::<u32, (), _, _>("PLUS_PAIR of u64", 300, ring, ring);
}

#[test]
fn lor_land() {
    check::<(), (), _, _>("LOR_LAND of sets", 300, LOR_LAND, LOR_LAND);
    check::<bool, (), _, _>("LOR_LAND of bool", 300, LOR_LAND, LOR_LAND);
}

#[test]
fn any_pair() {
    check::<(), (), _, _>("ANY_PAIR", 300, ANY_PAIR, ANY_PAIR);
}

#[test]
fn max_first() {
    check::<u32, (), _, _>("MAX_FIRST of u32", 200, MAX_FIRST, MAX_SECOND);
}

#[test]
fn any_first() {
    // the first product in order, however many threads fold the row
    check::<u32, (), _, _>("ANY_FIRST of u32", 200, ANY_FIRST, ANY_SECOND);
}

#[test]
fn plus_first_of_floats() {
    check::<f32, (), _, _>("PLUS_FIRST of f32", 200, PLUS_FIRST, PLUS_SECOND);
}

#[test]
fn plus_times_of_weights() {
    check::<f16, f16, _, _>("PLUS_TIMES of f16", 300, PLUS_TIMES, PLUS_TIMES);
}

/// Shapes around which strategies change: tile-rows of 32 and of 1024 tiles, segments of the fixed tree that end within a tile.
fn long() -> [Graph; 7] {
    let full = |nrows, ncols| (nrows, ncols, Kind::Scattered(1000));
    let shapes = [
        full(16, 16),
        full(16, 700),
        full(17, 16 * 1100 + 3),
        (40, 20_000, Kind::Scattered(60)),
        (9000, 33, Kind::Scattered(400)),
        (1200, 1200, Kind::Star),
        (16, 9000, Kind::Scattered(3)),
    ];
    shapes.map(|(nrows, ncols, kind)| Graph { nrows, ncols, kind, symmetric: nrows == ncols, seed: 6 })
}

fn check_long<X, A, S>(name: &str, ring: S)
where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
{
    for shape in long() {
        let grid = shape.grid::<A>();
        let a = matrix(&grid, shape.symmetric);
        for per_mille in [1000, 500, 3] {
            let u = Filled { per_mille, seed: 4, format: VectorFormat::Bitmap };
            // products that fold the columns, and, through the transpose, products that fold the long rows
            let by_columns = u.dense::<X>(a.nrows());
            let expected = reference::vxm(&by_columns, &grid, ring);
            let v = u.vector(&by_columns);
            let w = u.vector(&u.dense::<X>(a.ncols()));
            let transposed = a.transpose();
            let rows = w.vxm(&transposed.clone().with_format(Some(Format::Csr)), ring).eval().unwrap();
            for way in ways() {
                let run = || force(way, || (v.vxm(&a, ring).eval(), w.vxm(&transposed, ring).eval()));
                let (found, along) = on_device(run);
                let what = (name, &shape, per_mille, way);
                agree(what, &expected, &found.unwrap()).unwrap();
                same(&format!("{what:?}: along the rows"), &rows, &along.unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn long_tile_rows() {
    check_long::<bool, (), _>("PLUS_PAIR of u32", PLUS_PAIR);
    check_long::<(), (), _>("LOR_LAND of sets", LOR_LAND);
    check_long::<f16, f16, _>("PLUS_TIMES of f16", PLUS_TIMES);
    check_long::<f32, (), _>("PLUS_FIRST of f32", PLUS_FIRST);
    check_long::<u32, (), _>("ANY_FIRST of u32", ANY_FIRST);
}

#[test]
fn operands_that_are_not_stored() {
    // operands with presence bits that must be evaluated first: a mask, a selection, a product
    suite("tiles on device: operands", 300, (graph(), filled(), filled()), |(mut shape, u, v)| {
        shape.nrows = shape.nrows.min(200);
        shape.ncols = shape.nrows;
        let a = matrix(&shape.grid::<()>(), shape.symmetric && shape.nrows == shape.ncols);
        let n = a.nrows();
        let (u, v) = (u.vector(&u.dense::<u32>(n)), v.vector(&v.dense::<u32>(n)));
        let run = |way| {
            force(way, || {
                Ok([
                    u.mask(&v).vxm(&a, PLUS_PAIR).eval()?,
                    u.select(GE.bind(3)).vxm(&a, PLUS_PAIR).eval()?,
                    u.vxm(&a, MAX_FIRST).vxm(&a, PLUS_PAIR).mask(!&v).eval()?,
                    fill(1u32, n).vxm(&a, PLUS_PAIR).eval()?,
                ])
            })
        };
        let csr = Forced { format: Some(Format::Csr), ..Forced::default() };
        let expected = ok(run(csr))?;
        ways().into_iter().try_for_each(|way| same(&format!("{way:?}"), &expected, &ok(run(way))?))
    });
}

#[test]
fn many_sets_at_once() {
    let sets = (0..40usize, 0..1u64 << 16);
    suite("tiles on device: count_many", 300, (graph(), filled(), sets), |(shape, fill, (count, seed))| {
        let a = matrix(&shape.grid::<()>(), shape.symmetric);
        // some sets are empty, others full
        let filled =
            |s: u64| Filled { per_mille: [fill.per_mille, 0, 1000][(s % 7 / 5) as usize], seed: seed + s, ..fill };
        let sets: Vec<Set> = (0..count as u64).map(|s| filled(s).vector(&filled(s).dense::<()>(a.nrows()))).collect();
        let counts = ok(a.count_many(&sets.iter().collect::<Vec<_>>()))?;
        same("how many", sets.len(), counts.len())?;
        for (set, counts) in sets.iter().zip(&counts) {
            same("counts", &ok(set.vxm(&a, PLUS_PAIR).eval())?, counts)?;
        }
        Ok(())
    });
    let a = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let error = a.count_many(&[&Set::all(3), &Set::all(4)]).unwrap_err().to_string();
    assert!(error.ends_with("count_many: vector of 4 does not fit matrix of 3 x 3"), "{error}");
}

/// The first GPU, or `None` after printing why there is none. With `VXM_TEST_DEVICE=cuda` a missing GPU is a failure.
fn gpu() -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let asked = std::env::var("VXM_TEST_DEVICE").is_ok_and(|device| device.starts_with("cuda"));
            assert!(!asked, "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

/// Checks that tiles made on the device have the same arrays as tiles made on the host. Weights are compared by bits.
fn same_tiles<T: Sample>(gpu: &Gpu, shape: &Graph) -> crate::harness::Outcome {
    let a = matrix(&shape.grid::<T>(), false);
    let host = Tiles::from_csr(a.csr());
    let device =
        ok(DeviceCsr::upload(gpu, &std::sync::Arc::new(a.csr().clone())).and_then(|csr| DeviceTiles::from_csr(&csr)))?;
    same("how many", host.tiles(), device.tiles())?;
    let back = ok(device.download())?;
    same("shape", (host.nrows(), host.ncols(), host.nnz()), (back.nrows(), back.ncols(), back.nnz()))?;
    same("offsets", host.offsets(), back.offsets())?;
    same("columns", host.columns(), back.columns())?;
    same("bits", host.bits(), back.bits())?;
    let weights = |tiles: &Tiles<T>| tiles.values().iter().map(|x| x.bits()).collect::<Vec<_>>();
    same("values", weights(&host), weights(&back))
}

#[test]
fn made_on_a_device_as_on_the_host() {
    let Some(gpu) = gpu() else { return };
    suite("tiles on device: made", 500, graph(), |shape| {
        same_tiles::<()>(&gpu, &shape)?;
        same_tiles::<f16>(&gpu, &shape)
    });
    for shape in long() {
        same_tiles::<()>(&gpu, &shape).unwrap();
        same_tiles::<f16>(&gpu, &shape).unwrap();
    }
}

/// Checks that full tiles and the rest make up the matrix, and that those made on a device are the same.
fn splits(gpu: Option<&Gpu>, shape: &Graph) -> crate::harness::Outcome {
    let a = matrix(&shape.grid::<()>(), false);
    for least in [2, 3, 9, 40] {
        let (tiles, rest) = Tiles::split(a.csr(), least);
        let all = Tiles::from_csr(a.csr());
        let full = all.bits().iter().map(|bits| bits.iter().map(|word| word.count_ones() as usize).sum::<usize>());
        let full: Vec<usize> = full.filter(|&entries| entries >= least).collect();
        same("full tiles", (full.len(), full.iter().sum::<usize>()), (tiles.tiles(), tiles.nnz()))?;
        same("counted", Tiles::count_full(a.csr(), least), (tiles.tiles(), tiles.nnz()))?;
        let both = ok(Matrix::from_csr(tiles.to_csr()).ewise_add(&Matrix::from_csr(rest.clone()), FIRST))?;
        same("all entries", (rest.nnz() + tiles.nnz(), &both), (a.csr().nnz(), &a))?;
        let Some(gpu) = gpu else { continue };
        let csr = ok(DeviceCsr::upload(gpu, &std::sync::Arc::new(a.csr().clone())))?;
        let (there, left) = ok(DeviceTiles::split(&csr, least as u64))?;
        let (there, left) = (ok(there.download())?, ok(left.download())?);
        same("offsets", tiles.offsets(), there.offsets())?;
        same("columns", tiles.columns(), there.columns())?;
        same("bits", tiles.bits(), there.bits())?;
        same("offsets of the rest", rest.offsets(), left.offsets())?;
        same("columns of the rest", rest.columns(), left.columns())?;
    }
    let weighted = matrix(&shape.grid::<f16>(), false);
    let (tiles, rest) = Tiles::split(weighted.csr(), 4);
    let both = ok(Matrix::from_csr(tiles.to_csr()).ewise_add(&Matrix::from_csr(rest), FIRST))?;
    same("weights", &both, &weighted)
}

#[test]
fn full_tiles_and_the_rest_are_the_matrix() {
    // tiles are made on a device where one is asked for
    let gpu = if std::env::var_os("VXM_TEST_DEVICE").is_some() { gpu() } else { None };
    suite("tiles: split", 300, graph(), |shape| splits(gpu.as_ref(), &shape));
    for shape in long() {
        splits(gpu.as_ref(), &shape).unwrap();
    }
}

#[test]
fn tiles_are_chosen_after_a_few_products() {
    // entries by the diagonal, a clique in a sparse graph, and no tile with more than a few entries
    let band = Graph { nrows: 4000, ncols: 4000, kind: Kind::Band(12), symmetric: true, seed: 2 };
    let sparse = Graph { nrows: 900, ncols: 900, kind: Kind::Scattered(6), symmetric: true, seed: 3 };
    let clique = (0..400).flat_map(|i| (0..i).map(move |j| (i, j)));
    let scattered = (0..4000u32).map(|v| (v, (v * 7919 + 13) % 4000));
    let edges: Vec<_> = clique.chain(scattered).collect();
    let graphs = [
        (matrix(&band.grid::<()>(), true), &[Format::Tiles, Format::Hybrid][..]),
        (Matrix::undirected(4000, &edges).unwrap(), &[Format::Hybrid, Format::Csr]),
        (matrix(&sparse.grid::<()>(), true), &[Format::Csr]),
    ];
    for (a, expected) in graphs {
        let n = a.nrows();
        let half = Set::from_indices(n, (0..n as u32).filter(|v| v % 7 < 3)).unwrap();
        let run = |a: &Matrix, direction| {
            let pull = Forced { direction: Some(direction), ..Forced::default() };
            on_device(|| force(pull, || half.vxm(a, PLUS_PAIR).eval())).unwrap()
        };
        let rows = run(&a.clone().with_format(Some(Format::Csr)), Direction::Pull);
        for _ in 0..80 {
            assert_eq!(run(&a, Direction::Pull), rows);
        }
        let chosen: Vec<Format> = a.chosen_formats().into_iter().flatten().collect();
        // a dry run doesn't count
        let dry = std::env::var("VXM_TEST_DEVICE").is_ok_and(|device| device.starts_with("dry"));
        assert!(
            chosen.len() == 1 && (dry || expected.contains(&chosen[0])),
            "{chosen:?}, expected one of {expected:?}"
        );
        // others read rows as before
        assert_eq!(a.chosen_formats(), a.clone().chosen_formats());
        let key = Vector::from_dense((0..n as u32).collect());
        let reads = |a: &Matrix| on_device(|| key.vxm(a, MAX_FIRST).eval()).unwrap();
        assert_eq!(reads(&a), reads(&a.clone().with_format(Some(Format::Csr))));
    }
}

#[test]
fn counts_up_to_the_last_exact_one() {
    let Some(_) = gpu() else { return };
    // one full row: tensor cores count 2^24 entries exactly, and one entry more is refused
    for (extra, refused) in [(0, false), (1, true)] {
        let n = (1 << 24) + extra;
        let rows = vxm::formats::Csr::try_new(1, n, vec![0, n as u64], (0..n as u32).collect(), vec![(); n]).unwrap();
        let a = Matrix::from_csr(rows);
        let count = |strategy| {
            let forced = Forced { strategy: Some(strategy), ..Forced::default() };
            force(forced, || a.mxv(&Set::all(n), PLUS_PAIR).eval())
        };
        let expected = Vector::from_dense(vec![n as u32]);
        Device::Cuda(0)
            .scope(|| {
                assert_eq!(count(Way::CountTiles)?, expected);
                match count(Way::CountTilesTensor) {
                    Ok(found) => assert!(!refused && found == expected),
                    Err(error) => assert!(refused && error.to_string().contains("16777217 entries"), "{error}"),
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn threads_share_tiles() {
    // tiles are made once, by the thread that first needs them
    let shape = Graph { nrows: 64, ncols: 64, kind: Kind::Band(3), symmetric: true, seed: 2 };
    let a = matrix(&shape.grid::<()>(), true);
    let tiles = Forced { format: Some(Format::Tiles), ..Forced::default() };
    let count = || force(tiles, || Set::all(64).vxm(&a, PLUS_PAIR).eval()).unwrap();
    let found = on_threads(8, || (0..8).map(|_| count()).collect::<Vec<_>>());
    assert!(found.iter().all(|counts| *counts == found[0]));
}
