//! A GPU's answers are the CPU's, bit for bit: every algorithm on every graph of the data folder and on each generator.

use super::common::facts;
use std::io::Write;
use vxm::algorithms::{ColoringOptions, Formulation, Method, MisOptions, Order, Priority, color, mis};
use vxm::backend::plan::{Forced, Schedule, Strategy, force};
use vxm::io::{generate, read};
use vxm::prelude::*;

/// The GPU that `VXM_TEST_DEVICE` asks for; none, with a line that says so, where it doesn't.
fn gpu() -> Option<Device> {
    match std::env::var("VXM_TEST_DEVICE") {
        Ok(device) if device.starts_with("cuda") => Some(device.parse().unwrap()),
        _ => {
            let _ = writeln!(std::io::stderr(), "skipped: VXM_TEST_DEVICE=cuda asks for a GPU");
            None
        }
    }
}

/// Each schedule of a loop.
const SCHEDULES: [Forced; 2] = [by(Schedule::Rounds), by(Schedule::Asynchronous)];

const fn by(schedule: Schedule) -> Forced {
    Forced { schedule: Some(schedule), direction: None, format: None, strategy: None }
}

/// Every set and every colouring of `a`, on the CPU and on `device`.
fn compare(name: &str, a: &Matrix, device: Device) {
    let there = a.to(device).unwrap();
    for &priority in Priority::ALL {
        for &formulation in Formulation::ALL {
            let options = MisOptions { priority, formulation, seed: 7 };
            let (here, found) = (mis(a, &options).unwrap(), mis(&there, &options).unwrap());
            assert_eq!(here.set.digest(), found.set.digest(), "{name}: {priority:?}, {formulation:?}");
            for schedule in SCHEDULES {
                let found = force(schedule, || mis(&there, &options)).unwrap();
                assert_eq!(
                    here.set.digest(),
                    found.set.digest(),
                    "{name}: {priority:?}, {formulation:?}, {schedule:?}"
                );
            }
        }
    }
    for strategy in [Strategy::FoldRows, Strategy::CountTiles, Strategy::CountTilesTensor] {
        let options = MisOptions { priority: Priority::Resolve, formulation: Formulation::Count, seed: 7 };
        let forced = Forced { strategy: Some(strategy), ..Forced::default() };
        let found = force(forced, || mis(&there, &options)).unwrap();
        assert_eq!(mis(a, &options).unwrap().set.digest(), found.set.digest(), "{name}: {strategy:?}");
    }
    for &method in Method::ALL {
        for &order in Order::ALL {
            // hundreds of rounds, whatever the order
            let slow = matches!(method, Method::Is | Method::MinMax | Method::NeighborReduce | Method::Mis);
            if slow && order != Order::Random {
                continue;
            }
            let options = ColoringOptions { method, order, seed: 7 };
            let (here, found) = (color(a, &options).unwrap(), color(&there, &options).unwrap());
            assert_eq!(here.colors.digest(), found.colors.digest(), "{name}: {method:?}, {order:?}");
            assert_eq!(here.count, found.count, "{name}: {method:?}, {order:?}");
            for schedule in SCHEDULES {
                let found = force(schedule, || color(&there, &options)).unwrap();
                assert_eq!(here.colors.digest(), found.colors.digest(), "{name}: {method:?}, {order:?}, {schedule:?}");
            }
        }
    }
}

#[test]
fn graphs_of_the_data_folder() {
    let Some(device) = gpu() else { return };
    for folder in ["real", "dimacs-col", "independent-set", "lagraph"] {
        for (file, _) in facts(folder) {
            let Ok(loaded) = read(&file, &()) else { continue };
            compare(&format!("{folder}/{}", loaded.name), &Matrix::from_simple(loaded.graph), device);
        }
    }
}

#[test]
fn generators() {
    let Some(device) = gpu() else { return };
    for spec in ["grid:512x512", "er:18:8", "rmat:18:8", "kron:18:8", "rgg:18", "road:512", "delaunay:18"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        compare(spec, &a, device);
    }
}
