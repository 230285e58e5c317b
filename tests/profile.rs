//! Counters of loops: they change no answer, and where a plain loop tells what they must be, they are that.

use vxm::algorithms::{ColoringOptions, MisOptions, bfs, color, components, mis, spanning_forest, strong_components};
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::backend::profile::{Counts, LoopKind, Profile, collect};
use vxm::io::generate;
use vxm::prelude::*;

fn graph(spec: &str) -> Matrix {
    Matrix::from_simple(generate(spec, &()).unwrap().graph)
}

/// Runs `f` on so many threads.
fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// Checks that counting leaves the digest of an answer as it is, on one and on three threads; returns the counters.
fn counted(what: &str, digest: impl Fn() -> u64 + Sync) -> Vec<Profile> {
    let expected = digest();
    let count = |threads| {
        let (found, profile) = on_threads(threads, || collect(&digest));
        assert_eq!(found, expected, "{what}, {threads} threads");
        assert!(!profile.loops.is_empty(), "{what}: a loop was counted");
        for counted in &profile.loops {
            consistent(what, counted);
        }
        profile
    };
    vec![count(1), count(3)]
}

/// Checks what holds of the counters of any loop.
fn consistent(what: &str, counted: &vxm::backend::profile::LoopProfile) {
    let total = counted.total();
    let mut of_threads = Counts::default();
    counted.threads.iter().for_each(|&counts| of_threads += counts);
    assert_eq!(total, of_threads, "{what}: rounds and threads sum up to the same");
    assert!(total.changed + total.masked <= total.visits && total.finalised <= total.changed, "{what}: {total:?}");
    assert!(total.effective_atomics <= total.atomics && total.useful_tiles <= total.tiles, "{what}: {total:?}");
    for round in &counted.rounds {
        assert!(round.threads as usize <= counted.threads.len(), "{what}");
        let changes: u64 = round.changes_by_block.iter().map(|&changes| u64::from(changes)).sum();
        assert_eq!(changes, round.counts.changed, "{what}: changes are counted by block, too");
        assert!(counted.in_place || round.counts.visits == round.active, "{what}: a round visits what is due once");
    }
    let visits = counted.visits.expect("elements were visited");
    let sum = |spread: vxm::backend::profile::Spread| (spread.mean * visits.elements as f64).round() as u64;
    assert_eq!(sum(visits.visits), total.visits, "{what}: visits are counted by element, too");
    assert_eq!(sum(visits.unchanged) + sum(visits.narrowed) + total.finalised + total.masked, total.visits, "{what}");
}

#[test]
fn answers_stay_when_loops_are_counted() {
    for spec in ["rmat:10:8", "grid:40x50", "rgg:10"] {
        let a = graph(spec);
        let runs: [(&str, &(dyn Fn() -> u64 + Sync)); 6] = [
            ("mis by deciding", &|| {
                mis(&a, &MisOptions::default().priority(vxm::algorithms::Priority::Degree)).unwrap().set.digest()
            }),
            ("mis with conflict resolution", &|| {
                let formulation = vxm::algorithms::Formulation::Count;
                mis(&a, &MisOptions::default().formulation(formulation)).unwrap().set.digest()
            }),
            ("color", &|| color(&a, &ColoringOptions::default()).unwrap().colors.digest()),
            ("components", &|| components(&a).unwrap().digest()),
            ("bfs", &|| bfs(&a, 3).unwrap().digest()),
            ("scc", &|| strong_components(&a).unwrap().labels.digest()),
        ];
        for (name, digest) in runs {
            counted(&format!("{name} of {spec}"), digest);
            let rounds = Forced { schedule: Some(Schedule::Rounds), ..Forced::default() };
            let (found, profile) = force(rounds, || collect(digest));
            assert_eq!(found, digest(), "{name} of {spec}, in rounds");
            assert!(profile.loops.iter().all(|counted| !counted.in_place));
            profile.loops.iter().for_each(|counted| consistent(name, counted));
        }
    }
}

#[test]
fn rounds_are_those_of_a_plain_loop() {
    let a = graph("rmat:9:4");
    let (csr, n) = (a.csr(), a.nrows());
    let (mut label, mut due, mut expected) = ((0..n as u32).collect::<Vec<_>>(), vec![true; n], Vec::new());
    loop {
        let visited: Vec<usize> = (0..n).filter(|&i| due[i]).collect();
        if visited.is_empty() {
            break;
        }
        let least = |i: usize| csr.row(i).0.iter().map(|&j| label[j as usize]).fold(label[i], u32::min);
        let new: Vec<(usize, u32)> = visited.iter().map(|&i| (i, least(i))).filter(|&(i, x)| x != label[i]).collect();
        // a fold ends early once it holds the least label of all, 0, and a row whose own label that is isn't read
        let reads = |i: usize| {
            let zero = csr.row(i).0.iter().position(|&j| label[j as usize] == 0);
            if label[i] == 0 { 0 } else { zero.map_or(csr.degree(i), |place| place + 1) as u64 }
        };
        expected.push((visited.len() as u64, new.len() as u64, visited.iter().map(|&i| reads(i)).sum::<u64>()));
        due = vec![false; n];
        for &(i, x) in &new {
            label[i] = x;
        }
        for &(i, _) in &new {
            due[i] = true;
            csr.row(i).0.iter().for_each(|&j| due[j as usize] = true);
        }
        if new.is_empty() {
            break;
        }
    }
    let (settled, profile) = collect(|| {
        fixpoint(Vector::from_dense((0..n as u32).collect()))
            .while_changed()
            .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN))
            .eval()
            .unwrap()
    });
    assert_eq!(settled.state, Vector::from_dense(label));
    let [counted] = &profile.loops[..] else { panic!("one loop") };
    assert_eq!((counted.kind, counted.in_place, counted.elements), (LoopKind::WhileChanged, false, n));
    assert_eq!(counted.entries, csr.nnz() as u64);
    let (total, entries) = (counted.total(), csr.nnz() as u64);
    assert_eq!(counted.bytes_of_a_pass(), 4 * entries + 8 * n as u64);
    assert_eq!(counted.bytes_moved(), 8 * total.edges + 4 * (total.visits + total.changed));
    assert!(counted.at.contains("tests/profile.rs"), "{}", counted.at);
    let found: Vec<_> = counted.rounds.iter().map(|r| (r.active, r.counts.changed, r.counts.edges)).collect();
    assert_eq!(found, expected);
    assert!(counted.nanoseconds >= counted.rounds.iter().map(|round| round.nanoseconds).sum());
}

/// Labels travel along a path without order: threads sweep a few times, and then each element is pushed once.
#[test]
fn labels_that_travel_far_take_few_visits() {
    let n = 5000u32;
    let mut order: Vec<u32> = (0..n).collect();
    order.sort_by_key(|&v| v.wrapping_mul(0x9e37_79b9));
    let a = Matrix::from_triples(n as usize, n as usize, order.windows(2).map(|ends| (ends[0], ends[1], ()))).unwrap();
    let mut least = order.clone();
    let mut best = u32::MAX;
    for &v in &order {
        best = best.min(v);
        least[v as usize] = best;
    }
    for threads in [1, 3] {
        let (settled, profile) = on_threads(threads, || {
            collect(|| {
                let labels = fixpoint(Vector::from_dense((0..n).collect())).while_changed().monotone();
                labels.step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN)).eval().unwrap()
            })
        });
        assert_eq!(settled.state, Vector::from_dense(least.clone()));
        let [counted] = &profile.loops[..] else { panic!("one loop") };
        consistent("labels that travel far", counted);
        assert_eq!(counted.rounds.len(), settled.rounds as usize);
        let most = (threads as u64 + 5) * u64::from(n);
        assert!(
            counted.total().visits <= most,
            "{} visits on {threads} threads, {most} expected",
            counted.total().visits
        );
    }
}

#[test]
fn scopes_nest_and_end() {
    let run =
        || fixpoint(Vector::from_dense(vec![9u32, 4])).while_active(GT.bind(1)).step(|x| x.map(MINUS.bind(1))).eval();
    let (inner, outer) = collect(|| {
        run().unwrap();
        collect(run).1
    });
    assert_eq!((inner.loops.len(), outer.loops.len()), (1, 1));
    let rounds: Vec<_> = inner.loops[0].rounds.iter().map(|r| (r.active, r.counts.finalised)).collect();
    assert_eq!(rounds, [(2, 0), (2, 0), (2, 1), (1, 0), (1, 0), (1, 0), (1, 0), (1, 1)]);
    assert!(std::panic::catch_unwind(|| collect(|| panic!("lost"))).is_err());
    run().unwrap();
    assert_eq!(collect(|| ()).1.loops.len(), 0, "a scope that panics ends, too");
}

#[test]
fn joins_are_counted() {
    // least labels by scatter-reduce, on a path in shuffled order
    let a = graph("grid:1x300");
    let [one, three] = &counted("components", || components(&a).unwrap().digest())[..] else { panic!("two runs") };
    for profile in [one, three] {
        let total = profile.loops[0].total();
        assert!(total.atomics > 0 && total.effective_atomics > 0 && total.jumps > 0, "{total:?}");
    }
    assert_eq!(one.loops[0].total().failed_swaps, 0, "one thread has no rival");
    let sides = [(0, 1, 5u32), (1, 2, 7), (2, 0, 9)];
    let a = Matrix::from_triples(3, 3, sides.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)])).unwrap();
    counted("spanning forest", || {
        spanning_forest(&a).unwrap().forest.csr().columns().iter().map(|&j| u64::from(j)).sum()
    });
}

/// Runs the command on the CPU; returns its status, standard output and standard error.
fn vxm(arguments: &str) -> (i32, String, String) {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_vxm")).args(arguments.split(' ')).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
}

fn object(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn the_command_tells_what_was_counted() {
    let runs =
        ["mis", "color", "components", "bfs --source 0", "scc", "msf --weights 1..9", "pagerank", "kcore", "matching"];
    for run in runs {
        let graph = "rmat:8:8 --device cpu --threads 2 --json";
        let (status, alone, _) = vxm(&format!("{run} {graph}"));
        assert_eq!(status, 0, "{run}");
        let (status, profiled, told) = vxm(&format!("profile --runs 2 {run} {graph}"));
        assert_eq!(status, 0, "{run}: {told}");
        let lines: Vec<_> = profiled.lines().map(object).collect();
        let [answer, profile] = &lines[..] else { panic!("{run}: two lines: {profiled}") };
        assert_eq!(answer["digest"], object(&alone)["digest"], "{run}");
        let runs = profile["profile"].as_array().unwrap();
        assert_eq!(runs.len(), 2, "{run}");
        for profile in runs {
            let loops = profile["loops"].as_array().unwrap();
            assert!(!loops.is_empty() || !profile["operations"].as_array().unwrap().is_empty(), "{run}");
            for counted in loops {
                let sum: u64 =
                    counted["rounds"].as_array().unwrap().iter().map(|r| r["visits"].as_u64().unwrap()).sum();
                assert_eq!(counted["total"]["visits"], sum, "{run}");
            }
        }
    }
}

#[test]
fn the_tables_are_those_of_the_paper() {
    let tables = [
        ("mis", "several runs (table 3)"),
        ("color", "Colouring (table 5)"),
        ("components", "neighbours traversed for that"),
        ("scc", "Changes by block"),
        ("msf --weights 1..9", "passes in place"),
    ];
    for (run, table) in tables {
        let (status, told, error) = vxm(&format!("profile --runs 2 {run} rmat:8:8 --device cpu"));
        assert_eq!(status, 0, "{run}: {error}");
        assert!(told.contains("digest") && told.contains("(table 2)") && told.contains(table), "{run}: {told}");
    }
    // a path: almost each vertex has a lower neighbour, which comes first
    let (_, told, _) = vxm("profile components grid:1x100 --device cpu");
    let count = |what: &str| told.lines().find_map(|line| line.trim().strip_prefix(what)?.trim().parse::<u64>().ok());
    assert_eq!(count("vertices initialised"), Some(100), "{told}");
    assert!(count("neighbours traversed for that").is_some_and(|count| (98..=101).contains(&count)), "{told}");
}

#[test]
fn the_command_refuses_what_it_cannot_profile() {
    for (arguments, expected) in [
        ("profile info grid:2x2", "profile info: expected an algorithm"),
        ("profile profile mis grid:2x2", "profile profile: expected an algorithm"),
        ("profile mist grid:2x2", "unrecognized subcommand 'mist'"),
        ("profile --runs 0 mis grid:2x2", "1..=100"),
        ("profile", "required arguments"),
    ] {
        let (status, told, error) = vxm(arguments);
        assert_eq!((status, told.as_str()), (2, ""), "{arguments}: {error}");
        assert!(error.contains(expected) && error.lines().count() == 1, "{arguments}: {error}");
    }
    // what is asked for isn't refused
    for (arguments, expected) in
        [("profile mis --help", "Usage: vxm mis"), ("profile help mis", "Usage: vxm mis"), ("profile --help", "--runs")]
    {
        let (status, told, error) = vxm(arguments);
        assert_eq!((status, error.as_str()), (0, ""), "{arguments}");
        assert!(told.contains(expected), "{arguments}: {told}");
    }
}

#[test]
fn steps_are_told_as_steps() {
    let (status, told, error) = vxm("profile mis --formulation count rmat:6:4 --device cpu");
    assert_eq!(status, 0, "{error}");
    assert!(told.contains("steps mis.rs") && told.contains(" steps, "), "{told}");
    assert!(told.contains("MB moved, one pass is"), "{told}");
}

/// The GPU that `VXM_TEST_DEVICE` names, if it names one.
fn gpu() -> Option<Device> {
    std::env::var("VXM_TEST_DEVICE").ok().filter(|name| name.starts_with("cuda")).map(|name| name.parse().unwrap())
}

/// On a GPU, or on the emulated driver: the same answers with counters as without, and the counters that hold of any schedule.
#[test]
fn kernels_count() {
    let Some(device) = gpu() else { return };
    for spec in ["rmat:7:8", "grid:10x13"] {
        let a = graph(spec).to(device).unwrap();
        let runs: [(&str, &dyn Fn() -> u64); 5] = [
            ("mis", &|| mis(&a, &MisOptions::default()).unwrap().set.digest()),
            ("mis by counting", &|| {
                let formulation = vxm::algorithms::Formulation::Count;
                mis(&a, &MisOptions::default().formulation(formulation)).unwrap().set.digest()
            }),
            ("color", &|| color(&a, &ColoringOptions::default()).unwrap().colors.digest()),
            ("components", &|| components(&a).unwrap().digest()),
            ("bfs", &|| bfs(&a, 3).unwrap().digest()),
        ];
        for (name, digest) in runs {
            let expected = digest();
            let (found, profile) = collect(digest);
            assert_eq!((found, digest()), (expected, expected), "{name} of {spec}: counting changes no answer");
            let on_gpu: Vec<_> = profile.loops.iter().filter(|counted| counted.device != "cpu").collect();
            assert!(!on_gpu.is_empty(), "{name} of {spec}: a kernel was counted");
            for counted in on_gpu {
                let total = counted.total();
                assert!(counted.device_rounds.is_some_and(|rounds| rounds > 0), "{name} of {spec}");
                assert!(
                    total.visits > 0 && total.changed + total.masked <= total.visits,
                    "{name} of {spec}: {total:?}"
                );
                assert!(total.finalised <= total.changed, "{name} of {spec}: {total:?}");
                assert!(total.effective_atomics <= total.atomics, "{name} of {spec}: {total:?}");
                let read = total.edges + total.tiles + total.skipped_rows;
                assert!(read > 0, "{name} of {spec}: rows are read, or skipped: {total:?}");
                for round in &counted.rounds {
                    let changes: u64 = round.changes_by_block.iter().map(|&changes| u64::from(changes)).sum();
                    assert_eq!(changes, round.counts.changed, "{name} of {spec}: changes are counted by block, too");
                    assert!(round.threads > 0 || round.counts.visits == 0, "{name} of {spec}");
                    assert!(round.active >= round.counts.finalised, "{name} of {spec}");
                }
                // a loop that relaxes edges doesn't count by element
                if let Some(visits) = counted.visits {
                    let sum =
                        |spread: vxm::backend::profile::Spread| (spread.mean * visits.elements as f64).round() as u64;
                    assert_eq!(
                        sum(visits.visits),
                        total.visits,
                        "{name} of {spec}: visits are counted by element, too"
                    );
                    let rest = sum(visits.unchanged) + sum(visits.narrowed) + total.finalised + total.masked;
                    assert_eq!(rest, total.visits, "{name} of {spec}: {total:?}");
                }
                let sum: f64 = counted.groups.iter().map(|load| load.visits.mean * load.groups as f64).sum();
                assert_eq!(sum.round() as u64, total.visits, "{name} of {spec}: groups make up the sum");
            }
        }
    }
}

/// The rounds that the text's loop by rounds takes on any device: what each changes.
fn changes_by_round(a: &Matrix) -> Vec<u64> {
    let rounds = Forced { schedule: Some(Schedule::Rounds), ..Forced::default() };
    let (_, profile) = force(rounds, || {
        collect(|| {
            fixpoint(Vector::from_dense((0..a.nrows() as u32).collect()))
                .while_changed()
                .step(|label| label.ewise_add(label.vxm(a, MIN_FIRST), MIN))
                .eval()
                .unwrap()
        })
    });
    profile.loops[0].rounds.iter().map(|round| round.counts.changed).collect()
}

#[test]
fn rounds_of_a_kernel_are_those_of_the_cpu() {
    let Some(device) = gpu() else { return };
    for spec in ["rmat:7:8", "grid:10x13", "grid:1x90"] {
        let (here, there) = (graph(spec), graph(spec).to(device).unwrap());
        let mut expected = changes_by_round(&here);
        // the last round only finds that nothing changes; a kernel's rounds end with the last one in which something was counted
        let mut found = changes_by_round(&there);
        expected.retain(|&changes| changes > 0);
        found.retain(|&changes| changes > 0);
        assert_eq!(found, expected, "{spec}");
    }
}

#[test]
fn kernels_count_joins_and_jumps() {
    let Some(device) = gpu() else { return };
    // a path of two halves: numbers rise from either end. Parents alone lead to 0 or to 150: a join across the middle is needed
    let at = |place: u32| if place < 150 { place } else { 449 - place };
    let edges: Vec<_> = (1..300).map(|place| (at(place - 1), at(place))).collect();
    let a = Matrix::undirected(300, &edges).unwrap().to(device).unwrap();
    let (labels, profile) = collect(|| components(&a).unwrap());
    assert_eq!(labels.digest(), Vector::from_dense(vec![0u32; 300]).digest());
    let total = profile.loops[0].total();
    assert!(total.atomics > 0 && total.effective_atomics > 0 && total.jumps > 0, "{total:?}");
    let start =
        profile.operations.iter().find(|operation| operation.counts.edges > 0).expect("the start reads neighbours");
    // a vertex of a path has two neighbours at most, and needs one of them
    assert!((299..=598).contains(&start.counts.edges) && start.elements == 300, "{start:?}");
}

/// A kernel that isn't counted is compiled from the same text, whether or not others are counted: its program is found again, and the files
/// that it is made of name no counters.
#[test]
#[cfg(all(feature = "cuda", unix))]
fn kernels_that_are_not_counted_stay_as_they_are() {
    let loops = [
        include_str!("../kernels/cuda/loops/active.cuh"),
        include_str!("../kernels/cuda/loops/changed.cuh"),
        include_str!("../kernels/cuda/loops/steps.cuh"),
        include_str!("../kernels/cuda/expr/nodes.cuh"),
    ];
    assert!(loops.iter().all(|text| !text.contains("Profiled") && !text.contains("counters[")));
    let dry_run = match vxm::backend::cuda::Gpu::dry_run(&["sm_90"]) {
        Ok(gpu) => gpu,
        Err(error) => return println!("skipped: {error}"),
    };
    let a = graph("rmat:7:8");
    let levels = || {
        fixpoint(Vector::from_dense(vec![7u32; 128]))
            .while_changed()
            .monotone()
            .step(|x| x.ewise_add(x.vxm(&a, MIN_FIRST), MIN))
            .eval()
            .map(drop)
    };
    let halves = || {
        fixpoint(Vector::full(9, 8u32))
            .while_active(GT.bind(1))
            .monotone()
            .step(|x| x.map(DIV.bind(2)))
            .eval()
            .map(drop)
    };
    for run in [&levels as &dyn Fn() -> Result<()>, &halves] {
        let programs = |counts: bool| {
            Device::dry_run(&dry_run, || if counts { collect(run).0 } else { run() }).unwrap();
            dry_run.dry_run_programs()[0].1
        };
        let alone = programs(false);
        let with_counters = programs(true);
        assert!(with_counters > alone, "a loop that is counted has a program of its own");
        assert_eq!([programs(false), programs(true)], [with_counters; 2], "both programs are found again");
    }
}

#[test]
fn plans_are_explained() {
    let (status, told, error) = vxm("components rmat:8:8 --device cpu --explain");
    assert_eq!(status, 0, "{error}");
    for part in
        ["\nPlan\n", "─ vxm at ", "direction Pull", "because: ", "─ fixpoint at ", "schedule", "measured on cpu: "]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let (_, alone, _) = vxm("components rmat:8:8 --device cpu");
    let digest = |told: &str| told.lines().find(|line| line.starts_with("digest")).map(str::to_owned);
    assert_eq!(digest(&told), digest(&alone));
    assert!(!alone.contains("Plan"));
    // msf plans the same things again and again: they are told once
    let (_, told, _) = vxm("msf --weights 1..9 rmat:8:8 --device cpu --explain");
    assert!(told.contains(" times\n"), "{told}");
    let (status, _, error) = vxm("mis grid:4x4 --explain --json");
    assert!(status == 2 && error.contains("cannot be used with"), "{error}");
}
