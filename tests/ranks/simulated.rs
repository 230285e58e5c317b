//! A simulation counts what ranks do and send.

use vxm::algorithms::{ColoringOptions, MisOptions, Priority, bfs, color, components, mis};
use vxm::containers::{Matrix, Vector};
use vxm::operations::verbs::Verbs;
use vxm::prelude::{MAX_FIRST, MIN_FIRST};
use vxm::ranks::{Axis, Grid, Model, Simulation, Sums, simulate};
use vxm::{Error, Result};

type Program = fn(&Matrix) -> Result<()>;

/// Algorithms with each kind of exchange: loops over active and over changed elements, with scatters, and with host steps.
const PROGRAMS: [(&str, Program); 4] = [
    ("mis", |a| mis(a, &MisOptions::default().priority(Priority::Sorted)).map(drop)),
    ("color", |a| color(a, &ColoringOptions::default()).map(drop)),
    ("bfs", |a| bfs(a, 0).map(drop)),
    ("components", |a| components(a).map(drop)),
];

fn graph() -> Matrix {
    Matrix::from_simple(vxm::io::read("kron:9:8", &()).unwrap().graph)
}

fn run(shape: (usize, usize), host: usize, program: Program) -> (Vec<[u64; 4]>, Simulation) {
    let a = graph();
    simulate(shape, host, |grid| {
        let a = a.to_grid(grid)?;
        let sent = |grid: &Grid| {
            let sent = grid.sent();
            let [rows, columns, all] = sent.map(|traffic| traffic.bytes);
            [rows, columns, all, sent.iter().map(|traffic| traffic.messages).sum()]
        };
        let before = sent(grid);
        grid.begin_recording();
        program(&a)?;
        grid.end_recording();
        Ok(std::array::from_fn(|k| sent(grid)[k] - before[k]))
    })
    .unwrap()
}

#[test]
fn what_is_counted_is_what_was_sent() {
    for shape in [(2, 1), (1, 2), (2, 2), (3, 2)] {
        for (name, program) in PROGRAMS {
            let (sent, simulated) = run(shape, 1, program);
            let [rows, columns, all, messages] = std::array::from_fn(|k| sent.iter().map(|rank| rank[k]).sum::<u64>());
            let total = simulated.total();
            assert_eq!(total.bytes_by_axis, [rows, columns, all], "{name} on {shape:?}");
            assert_eq!(total.messages_sent(), messages, "{name} on {shape:?}");
            assert!(total.sent() > 0 && total.entries.all > 0 && total.elements.all > 0, "{name} on {shape:?}");
            assert!(simulated.rounds().len() > 1, "{name} on {shape:?}");
        }
    }
}

#[test]
fn a_product_folds_each_entry_once() {
    let a = graph();
    for shape in [(2, 1), (2, 2), (4, 1)] {
        let (_, simulated) = simulate(shape, 1, |grid| {
            let a = a.to_grid(grid)?;
            let x = Vector::from_dense((0..a.nrows() as u32).collect());
            grid.begin_recording();
            x.vxm(&a, MAX_FIRST).eval()?;
            grid.end_recording();
            Ok(())
        })
        .unwrap();
        let total = simulated.total();
        assert_eq!(total.entries.all, a.nnz(), "{shape:?}");
        // of each step the fullest rank counts
        assert!(total.entries.most * simulated.ranks() as u64 >= total.entries.all, "{shape:?}");
        assert_eq!(simulated.vertices, a.nrows() as u64);
        // at least 4 bytes an entry, twice: by rows, and the readers of slots
        assert!(simulated.memory.all >= 8 * a.nnz(), "{shape:?}");
        let columns: Vec<_> = simulated.steps.iter().filter(|step| step.axis == Axis::Column).collect();
        assert_eq!(columns.len(), 1, "{shape:?}");
    }
}

#[test]
fn messages_within_a_host_are_told_apart() {
    let (_, apart) = run((2, 2), 1, PROGRAMS[0].1);
    let (_, together) = run((2, 2), 4, PROGRAMS[0].1);
    let (_, pairs) = run((2, 2), 2, PROGRAMS[0].1);
    let [apart, together, pairs]: [Sums; 3] = [apart, together, pairs].map(|simulated| simulated.total());
    assert_eq!([apart.bytes[0].all, together.bytes[1].all], [0, 0]);
    assert_eq!(apart.bytes[1].all, together.bytes[0].all);
    assert_eq!(pairs.bytes[0].all + pairs.bytes[1].all, apart.sent());
    // ranks 0 and 1 are a row and share a host; columns lie across hosts
    assert!(pairs.bytes[0].all >= pairs.bytes_by_axis[0] && pairs.bytes[1].all >= pairs.bytes_by_axis[1]);
    // a slow link between hosts costs more
    let model: Model = "cpu,alpha=1ms,near-alpha=1us,near-beta=12GB/s".parse().unwrap();
    assert!(apart.time(&model, 1).messages > 100.0 * together.time(&model, 1).messages);
}

#[test]
fn a_graph_so_many_times_as_large_takes_so_much_longer() {
    let (_, simulated) = run((2, 2), 1, PROGRAMS[0].1);
    let model = Model::cpu();
    let (one, eight) = (simulated.time(&model, 1), simulated.time(&model, 8));
    assert_eq!((one.steps, one.messages), (eight.steps, eight.messages));
    for (one, eight) in [(one.entries, eight.entries), (one.elements, eight.elements), (one.bytes, eight.bytes)] {
        assert!((eight / one - 8.0).abs() < 1e-9, "{one} {eight}");
    }
    let by_round: f64 = simulated.rounds().iter().map(|(_, sums)| sums.time(&model, 1).seconds()).sum();
    assert!((by_round / one.seconds() - 1.0).abs() < 1e-9);
}

#[test]
fn an_error_of_one_rank_ends_all() {
    let a = graph();
    let error = simulate((2, 2), 1, |grid| {
        let a = a.to_grid(grid)?;
        if grid.rank() == 2 {
            return Err(Error::invalid("line 7 is bad"));
        }
        // waits for rank 2
        let x = Vector::from_dense(vec![1u32; a.nrows()]);
        x.vxm(&a, MIN_FIRST).eval().map(drop)
    });
    assert_eq!(error.unwrap_err().to_string(), "line 7 is bad");
    let none = simulate((0, 3), 1, |_| Ok(()));
    assert_eq!(none.unwrap_err().to_string(), "a grid of 0x3: expected at least one rank");
    let unrecorded = simulate((2, 1), 1, |_| Ok(())).unwrap().1;
    assert_eq!(unrecorded.total(), Sums::default());
}
