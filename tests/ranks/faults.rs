//! Errors that ranks agree on, and ranks that fail.

use crate::on_grid;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vxm::prelude::*;
use vxm::ranks::{Deal, Grid, Shape, Threads};

#[test]
fn ranks_read_the_same_graph_or_fail_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = |rank: usize| folder.path().join(format!("{rank}.txt"));
    for (rank, text) in ["0 1\n1 2\n", "0 1\n1 x\n", "0 1\n0 2\n"].into_iter().enumerate() {
        std::fs::write(path(rank), text).unwrap();
    }
    let nnz = on_grid((2, 1), Deal::Cyclic, |grid| Ok(grid.read(path(0), &())?.nnz()));
    assert_eq!(nnz.unwrap(), 4);
    let told = |files: [usize; 2]| {
        let told = Threads::run(2, |world| {
            let grid = Grid::of(world, 1, 2).unwrap();
            grid.read(path(files[grid.rank()]), &()).unwrap_err().to_string()
        });
        assert_eq!(told[0], told[1]);
        told[0].clone()
    };
    let wrong = told([1, 1]);
    assert!(wrong.starts_with("rank 1: ") && wrong.contains("1.txt:2:3: expected"), "{wrong}");
    for other in [1, 2] {
        let wrong = told([0, other]);
        let expected = format!("{other}.txt: another input than that of rank 0: expected the same");
        assert!(wrong.starts_with("rank 1: ") && wrong.ends_with(&expected), "{wrong}");
    }
    // graphs that are drawn
    let drawn = Threads::run(3, |world| {
        let name = format!("rmat:5:{}", 1 + world.rank() / 2);
        Grid::of(world, 3, 1).unwrap().read(name, &()).unwrap_err().to_string()
    });
    assert_eq!(drawn, ["rank 2: rmat:5:2: another input than that of rank 0: expected the same"; 3]);
}

#[test]
fn elements_of_a_spread_vector_are_not_read_by_one_rank() {
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        Threads::run(2, |world| {
            let grid = Grid::of(world, 2, 1).unwrap();
            let v = Vector::full(100, 1u32).to_grid(&grid).unwrap();
            if grid.rank() == 0 { v.get(3) } else { None }
        })
    }));
    let panic = panicked.unwrap_err();
    let told =
        panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    assert_eq!(
        told.as_deref(),
        Some("a vector spread over ranks: expected to_root() or to_all() before its elements are read")
    );
}

#[test]
fn ranks_hold_the_same_matrix() {
    let told = Threads::run(3, |world| {
        let (rank, grid) = (world.rank() as u32, Grid::of(world, 3, 1).unwrap());
        let a = Matrix::undirected(9, &[(0, 1), (1, 2 + rank / 2)]).unwrap();
        a.to_grid(&grid).unwrap_err().to_string()
    });
    let expected = "rank 2: another matrix than that of rank 0: expected the same on all ranks";
    assert_eq!(told, [expected; 3]);
}

#[test]
fn shapes_of_grids() {
    assert_eq!("auto".parse::<Shape>().unwrap(), Shape::Auto);
    assert_eq!("2x3".parse::<Shape>().unwrap(), Shape::Grid(2, 3));
    assert_eq!("column".parse::<Shape>().unwrap(), Shape::Column);
    assert_eq!(Shape::Grid(4, 1).to_string(), "4x1");
    for wrong in ["", "2", "0x2", "2x", "axb", "2x3x4"] {
        let told = wrong.parse::<Shape>().unwrap_err().to_string();
        assert_eq!(told, format!("unknown grid `{wrong}`: expected auto, column, ROWSxCOLUMNS"));
    }
    let shapes = Threads::run(6, |world| Grid::arranged(world, Shape::Auto).unwrap().shape());
    assert_eq!(shapes, [(6, 1); 6]);
    let shapes = Threads::run(18, |world| Grid::arranged(world, Shape::Auto).unwrap().shape());
    assert_eq!(shapes, [(6, 3); 18]);
    let told = Threads::run(2, |world| Grid::arranged(world, Shape::Grid(2, 2)).unwrap_err().to_string());
    assert_eq!(told[0], "a grid of 2x2: expected as many places as there are ranks, 2 ranks");
    // without a launcher there is one rank
    assert_eq!(Grid::join(Shape::Auto).unwrap().size(), 1);
}
