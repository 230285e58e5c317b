//! How many launches and readbacks algorithms take on a GPU.

use super::devices::gpu;
use std::process::Command;
use vxm::algorithms::{
    ColoringOptions, Formulation, Method, MisOptions, Order, Priority, color, mis, mis_in_order, priorities,
};
use vxm::backend::cuda::Gpu;
use vxm::backend::plan::Format;
use vxm::io::generate;
use vxm::prelude::*;

/// Set for a test that runs in a process of its own.
const ALONE: &str = "VXM_TEST_ALONE";

/// A command that runs one test of this program, with `variable` set so that the test knows where it is.
pub fn in_its_own_process(test: &str, variable: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(variable, "1");
    command
}

/// The GPU, if this process runs one test alone; if not, runs the test in a process of its own. Launches and reads are counted for a whole
/// process.
fn counting(test: &str) -> Option<(Device, Gpu)> {
    let device = gpu()?;
    if std::env::var_os(ALONE).is_none() {
        let out = in_its_own_process(test, ALONE).output().unwrap();
        let told = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&out.stderr));
        return None;
    }
    let Device::Cuda(ordinal) = device else { return None };
    Some((device, Gpu::open(ordinal).unwrap()))
}

/// Whatever the number of rounds, a colouring takes few launches and reads. Only the windows of jp add some.
#[test]
fn a_coloring_has_no_host_steps() {
    let Some((device, gpu)) = counting("launches::a_coloring_has_no_host_steps") else { return };
    for graph in ["grid:300x300", "rmat:14:16", "delaunay:12"] {
        let a = Matrix::from_simple(generate(graph, &()).unwrap().graph).to(device).unwrap();
        for &method in Method::ALL {
            let options = ColoringOptions::default().method(method).order(Order::Random);
            let first = color(&a, &options).unwrap();
            let (launches, read) = (gpu.launches(), gpu.readbacks());
            let found = color(&a, &options).unwrap();
            let (launches, read) = (gpu.launches() - launches, gpu.readbacks() - read);
            println!("{graph}, {method:?}: {} rounds, {launches} launches, {read} reads", found.rounds);
            let windows = if method == Method::Jp { u64::from(found.count / 31) } else { 0 };
            assert!(launches <= 8 + 24 * windows && read <= 3 + 6 * windows, "{graph}, {method:?}");
            assert_eq!(first.colors.digest(), found.colors.digest());
        }
    }
}

/// From the priorities to the set there are at most six launches, and one readback: how the loop ended.
#[test]
fn an_independent_set_is_few_launches_and_nothing_is_read_before_its_end() {
    let name = "launches::an_independent_set_is_few_launches_and_nothing_is_read_before_its_end";
    let Some((device, gpu)) = counting(name) else { return };
    for graph in ["grid:300x300", "rmat:14:16", "delaunay:12"] {
        let a = Matrix::from_simple(generate(graph, &()).unwrap().graph).to(device).unwrap();
        let tiles = a.clone().with_format(Some(Format::Tiles));
        let all = Priority::ALL.iter().flat_map(|&priority| Formulation::ALL.iter().map(move |&by| (priority, by)));
        for ((priority, formulation), a) in all.flat_map(|how| [(how, &a), (how, &tiles)]) {
            let options = MisOptions::default().priority(priority).formulation(formulation);
            // sorted-id makes its keys by sorting, which takes launches of its own: they are made beforehand
            let by_number = priority == Priority::SortedId;
            if by_number && formulation == Formulation::Count {
                continue;
            }
            let keys = by_number.then(|| priorities(a, priority, options.seed).unwrap());
            let run = || match &keys {
                Some(keys) => mis_in_order(a, keys.clone()).unwrap(),
                None => mis(a, &options).unwrap(),
            };
            // the first run makes the degrees, the row classes and the programs, which are kept
            let first = run();
            let (launches, read) = (gpu.launches(), gpu.readbacks());
            let found = run();
            let (launches, read) = (gpu.launches() - launches, gpu.readbacks() - read);
            // the readback is the loop's outcome, which its kernel writes to page-locked host memory
            let what = format!("{graph}, {priority:?}, {formulation:?}");
            assert!(launches <= 6 && read == 1, "{what}: {launches} launches, {read} reads");
            assert_eq!(first.set.digest(), found.set.digest());
        }
    }
}
