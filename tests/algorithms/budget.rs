//! Under a memory budget of a GPU, entries of matrices stay on the host: the answers are the same bits, and the budget is kept.

use super::devices::{compare, compare_paths, gpu};
use super::other_devices::compare_others;
use std::process::Command;
use vxm::algorithms::priority::hashes;
use vxm::algorithms::{
    ColoringOptions, MisOptions, bfs, color, components, mis, spanning_forest, star_coloring, triangles, weights,
};
use vxm::backend::cuda::Gpu;
use vxm::error::Error;
use vxm::io::generate;
use vxm::prelude::*;

/// The environment variable that makes a process take a budget, which holds for all its threads. It says what is compared.
const BUDGET: &str = "VXM_TEST_BUDGET";

/// The bytes of device memory that hold the row offsets, vectors and work lists of `a`.
fn without_entries(a: &Matrix) -> u64 {
    900 * a.nrows() as u64 + (1 << 16)
}

/// Runs this test in a process of its own, which takes a budget for `what`. Returns the device in that process, and `None` in this one.
fn apart(test: &str, what: &str) -> Option<Device> {
    let device = gpu()?;
    if std::env::var(BUDGET).as_deref() == Ok(what) {
        return Some(device);
    }
    let mut run = Command::new(std::env::current_exe().unwrap());
    let told = run.env(BUDGET, what).args(["--exact", test, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr) + String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success(), "{said}");
    None
}

/// The GPU itself, and a limit that the entries of `a` don't fit into.
fn limited(device: Device, a: &Matrix) -> (Gpu, vxm::backend::MemoryLimit) {
    let Device::Cuda(ordinal) = device else { panic!("{device}: expected a GPU") };
    let budget = without_entries(a);
    assert!(budget < 4 * a.nnz(), "{} entries fit into {budget} bytes", a.nnz());
    (Gpu::open(ordinal).unwrap(), device.limit_memory(budget).unwrap())
}

#[test]
fn every_answer_is_the_same_under_a_budget() {
    let Some(device) = apart("budget::every_answer_is_the_same_under_a_budget", "all") else { return };
    for spec in ["er:11:300", "kron:12:400", "rgg:12"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        // a mesh has few entries a row: its products have more
        if 4 * a.nnz() <= without_entries(&a) {
            continue;
        }
        let (gpu, _limit) = limited(device, &a);
        gpu.take_peak();
        compare(spec, &a, device);
        compare_paths(spec, &a, device);
        // what the command leaves for the vectors of the algorithm that has the most of them
        gpu.set_vector_room(400);
        compare_others(spec, &a, device);
        assert!(gpu.take_peak() <= without_entries(&a), "{spec}");
        assert_eq!(gpu.used_on_host(), 0, "{spec}: freed with the matrices");
    }
}

/// The same for a few algorithms, so that an emulated GPU has them soon.
#[test]
fn a_matrix_larger_than_the_budget_stays_on_the_host() {
    let Some(device) = apart("budget::a_matrix_larger_than_the_budget_stays_on_the_host", "few") else { return };
    let a = Matrix::from_simple(generate("er:9:192", &()).unwrap().graph);
    let (gpu, limit) = limited(device, &a);
    let there = a.to(device).unwrap();
    assert!(gpu.used_on_host() >= 4 * a.nnz(), "{} of {}", gpu.used_on_host(), 4 * a.nnz());
    let (sets, colors) = (MisOptions::default(), ColoringOptions::default());
    assert_eq!(mis(&there, &sets).unwrap().set.digest(), mis(&a, &sets).unwrap().set.digest());
    assert_eq!(color(&there, &colors).unwrap().colors.digest(), color(&a, &colors).unwrap().colors.digest());
    assert_eq!(bfs(&there, 3).unwrap(), bfs(&a, 3).unwrap());
    assert_eq!(components(&there).unwrap(), components(&a).unwrap());
    assert_eq!(triangles(&there).unwrap(), triangles(&a).unwrap());
    // rows are read again for each vertex with a key
    let key = hashes(a.nrows(), 3).unwrap().select(LT.bind(u32::MAX / 13)).eval().unwrap();
    let stars = star_coloring(&there, &key.to(device).unwrap()).unwrap();
    assert_eq!(stars.colors, star_coloring(&a, &key).unwrap().colors);
    let weighted = weights(&a, 1, 100, 7).unwrap();
    let found = spanning_forest(&weighted.to(device).unwrap()).unwrap();
    assert_eq!(found, spanning_forest(&weighted).unwrap());
    assert!(gpu.take_peak() <= without_entries(&a));
    // back on the host: the arrays that kernels read are copied
    assert_eq!(there.to(Device::Cpu).unwrap(), a);
    drop((there, limit));
    assert_eq!((gpu.budget(), gpu.used_on_host()), (None, 0));
}

#[test]
fn too_small_a_budget_is_an_error() {
    let Some(device) = apart("budget::too_small_a_budget_is_an_error", "less") else { return };
    let a = Matrix::from_simple(generate("er:9:192", &()).unwrap().graph);
    let (gpu, limit) = limited(device, &a);
    let there = a.to(device).unwrap();
    let less = device.limit_memory(gpu.used() + 100).unwrap();
    let error = components(&there).unwrap_err();
    assert!(matches!(error, Error::Device(_)) && error.to_string().contains(" of a budget of "), "{error}");
    drop(less);
    assert_eq!(components(&there).unwrap(), components(&a).unwrap(), "the limit before it holds again");
    drop(limit);
}
