//! The command under real launchers: every subcommand has the answer of one process, and faults end all ranks.

#![cfg(unix)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{env, fs};

/// The path of the command.
fn file() -> String {
    env::var("NEXTEST_BIN_EXE_vxm").unwrap_or_else(|_| env!("CARGO_BIN_EXE_vxm").to_owned())
}

/// The launchers of this machine. `VXM_TEST_MPI` says that both kinds must be there.
fn launchers() -> Vec<&'static str> {
    let is_there = |name: &str| {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).map(|folder: PathBuf| folder.join(name)).any(|file| file.is_file())
    };
    let found: Vec<_> = ["mpirun.openmpi", "mpirun.mpich"].into_iter().filter(|name| is_there(name)).collect();
    assert!(found.len() == 2 || env::var_os("VXM_TEST_MPI").is_none(), "found only {found:?}");
    found
}

/// Runs a program as ranks. Under load Open MPI has been seen to end a job without what its ranks wrote last; it is run once more then.
fn launched(folder: &Path, launcher: &str, ranks: usize, program: &[&str]) -> Output {
    let out = launched_once(folder, launcher, ranks, program);
    let is_silent = !out.status.success() && out.stdout.is_empty() && lines(&out).is_empty();
    if is_silent { launched_once(folder, launcher, ranks, program) } else { out }
}

fn launched_once(folder: &Path, launcher: &str, ranks: usize, program: &[&str]) -> Output {
    Command::new(launcher)
        .args(["-n", &ranks.to_string()])
        .args(program)
        .current_dir(folder)
        .env("VXM", file())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env_remove("VXM_LOG")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines that the command printed on standard error; launchers print others.
fn lines(out: &Output) -> Vec<String> {
    text(&out.stderr).lines().filter(|line| line.starts_with("vxm: ")).map(str::to_owned).collect()
}

/// A report without what may differ between a process and ranks.
fn answer(stdout: &[u8]) -> Value {
    let mut told: Value = serde_json::from_str(&text(stdout)).unwrap_or_else(|_| panic!("{}", text(stdout)));
    let object = told.as_object_mut().unwrap();
    for differs in ["seconds", "phases", "peak_bytes", "threads", "rounds", "ranks", "grid", "sent"] {
        object.remove(differs);
    }
    told
}

#[test]
fn ranks_on_gpus() {
    if env::var("VXM_TEST_DEVICE").is_ok_and(|device| device == "cuda") {
        let folder = tempfile::tempdir().unwrap();
        let run = |launcher: Option<&str>, task: &[&str]| {
            let file = file();
            let program = [&[&file[..]], task, &["rmat:8:8", "--json", "--threads", "1"]].concat();
            match launcher {
                Some(launcher) => launched(folder.path(), launcher, 2, &program),
                None => Command::new(&file).args(&program[1..]).output().unwrap(),
            }
        };
        let without_link = |stdout: &[u8]| {
            let mut told = answer(stdout);
            let link = told.as_object_mut().unwrap().remove("link");
            (told, link)
        };
        for launcher in launchers() {
            for task in [
                &["mis"][..],
                &["mis", "--priority", "resolve"],
                &["color"],
                &["components"],
                &["bfs", "--source", "3"],
                &["sssp", "--source", "3", "--weights", "1..30"],
                &["msf", "--weights", "1..50"],
                &["kcore"],
            ] {
                let alone = run(None, &[task, &["--device", "cuda"]].concat());
                assert!(alone.status.success(), "{task:?}: {}", text(&alone.stderr));
                let (expected, _) = without_link(&alone.stdout);
                for grid in ["2x1", "1x2"] {
                    let told = run(Some(launcher), &[task, &["--device", "cuda", "--grid", grid]].concat());
                    assert!(told.status.success(), "{launcher} {task:?} {grid}: {}", text(&told.stderr));
                    let (found, link) = without_link(&told.stdout);
                    assert_eq!(found, expected, "{launcher} {task:?} {grid}");
                    assert!(link.is_some(), "{launcher} {task:?} {grid}");
                }
            }
            let refused = run(Some(launcher), &["mis", "--device", "cuda:99"]);
            assert_eq!(refused.status.code(), Some(2));
            assert!(lines(&refused).iter().any(|line| line.starts_with("vxm: no CUDA device 99")), "{refused:?}");
            for link in ["nccl", "peers"] {
                let shared = run(Some(launcher), &["mis", "--device", "cuda:0", "--link", link]);
                let why = "ranks 0 and 1 have the same GPU: expected a GPU for each rank, or link host";
                assert!(lines(&shared).contains(&format!("vxm: link {link}: {why}")), "{shared:?}");
            }
        }
    } else {
        eprintln!("skipped: ranks on GPUs: VXM_TEST_DEVICE isn't cuda");
    }
}

/// Writes a directed graph with weights.
fn write_graph(folder: &Path) {
    let mut text = "%%MatrixMarket matrix coordinate integer general\n150 150 600\n".to_owned();
    for k in 0..600u32 {
        let (i, j) = (k * 7 % 150, (k * k + k / 150) % 150);
        text += &format!("{} {} {}\n", i + 1, (j + k / 150 * 31) % 150 + 1, k % 17 + 1);
    }
    fs::write(folder.join("g.mtx"), text).unwrap();
    let mut text = "%%MatrixMarket matrix coordinate pattern general\n150 150 140\n".to_owned();
    (10..150u32).for_each(|v| text += &format!("{} {}\n", v + 1, v * v % 37 % v + 1));
    fs::write(folder.join("f.mtx"), text).unwrap();
    // an undirected one with real weights, some of them equal
    let both = |(i, j): (u32, u32)| [(i, j, i + j), (j, i, i + j)];
    let edges = (0..150u32).flat_map(|i| [i * 7 % 150, (i * i + 3) % 150].map(|j| (i.min(j), i.max(j))));
    let edges: std::collections::BTreeSet<(u32, u32)> = edges.filter(|(i, j)| i != j).collect();
    let lines = edges.into_iter().flat_map(both).map(|(i, j, w)| format!("{i} {j} {}\n", f64::from(w % 83) / 8.0));
    let lines: Vec<String> = lines.collect();
    fs::write(folder.join("r.wel"), lines.concat()).unwrap();
    // each edge in one direction: every third in the other
    let once = lines.chunks_exact(2).enumerate().map(|(k, both)| both[usize::from(k % 3 == 0)].clone());
    fs::write(folder.join("once.wel"), once.collect::<String>()).unwrap();
}

/// Every subcommand that runs on ranks, on a small graph.
const TASKS: [&str; 41] = [
    "mis kron:8:8",
    "mis kron:8:8 --priority sorted",
    "mis road:12 --priority degree --formulation count",
    "color rmat:8:8",
    "color grid:9x13 --method hash",
    "color rmat:8:8 --method mis",
    "color rmat:8:8 --method speculative --order random",
    "color road:12 --method neighbor-reduce",
    "cover rmat:8:8",
    "color grid:9x13 --distance 2",
    "color road:12 --star --order natural",
    "color g.mtx --columns --order smallest-degree-last",
    "color rmat:8:8 --most 4",
    "aggregates road:12",
    "bfs kron:8:8 --source 3",
    "bfs grid:9x13 --source 3 --parents",
    "sssp grid:9x13 --source 0 --weights 1..30",
    "sssp g.mtx --source 3",
    "sssp r.wel --source 3",
    "sssp r.wel --source 3 --parents",
    "components road:12",
    "pagerank g.mtx --tolerance 1e-6",
    "kcore kron:8:8",
    "msf rmat:8:8 --weights 1..50",
    "msf r.wel",
    "msf once.wel",
    "scc g.mtx",
    "roots f.mtx",
    "matching kron:8:8",
    "matching kron:8:8 --weights 1..50",
    "matching r.wel --weighted",
    "matching once.wel --weighted",
    "mis grid:9x13 --best-of 3",
    "sssp g.mtx --source 3 --weights 1..30 --parents",
    "triangles kron:7:8",
    "ktruss rmat:7:8 --k 4",
    "clustering kron:7:8",
    "clique rmat:7:8",
    "labels road:12",
    "betweenness grid:6x7 --sources 5",
    "communities grid:6x7",
];

/// Whether an algorithm adds floats along rows, which have to be whole.
fn adds_floats(task: &str) -> bool {
    ["pagerank", "betweenness", "communities"].iter().any(|name| task.starts_with(name))
}

#[test]
fn every_subcommand_has_the_answer_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_graph(folder);
    let (vxm, launchers) = (file(), launchers());
    for (k, task) in TASKS.iter().enumerate() {
        let words: Vec<&str> = task.split(' ').chain(["--json", "--threads", "1"]).collect();
        let alone = Command::new(file()).args(&words).args(["--device", "cpu"]).current_dir(folder).output().unwrap();
        assert!(alone.status.success(), "{task}: {}", text(&alone.stderr));
        let expected = answer(&alone.stdout);
        assert_eq!(expected["valid"], true);
        for launcher in &launchers {
            // all numbers of ranks under one launcher, in turn under the others
            for ranks in if *launcher == launchers[0] { 1..=4 } else { 2 + k % 3..=2 + k % 3 } {
                let program: Vec<&str> = [vxm.as_str()].into_iter().chain(words.iter().copied()).collect();
                let out = launched(folder, launcher, ranks, &program);
                let (status, told) = (out.status, text(&out.stderr));
                assert!(status.success(), "{launcher} -n {ranks} {task}: {told}");
                assert_eq!(text(&out.stdout).lines().count(), 1, "only rank 0 prints");
                assert_eq!(answer(&out.stdout), expected, "{launcher} -n {ranks} {task}");
            }
        }
    }
}

#[test]
fn a_simulation_counts_what_ranks_send() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_graph(folder);
    let vxm = file();
    let launchers = launchers();
    let Some(launcher) = launchers.first() else { return eprintln!("skipped: simulations beside ranks: no launcher") };
    for (k, task) in TASKS.iter().enumerate() {
        let grid = if k % 2 == 0 || adds_floats(task) { "4x1" } else { "2x2" };
        let words: Vec<&str> = task.split(' ').chain(["--json", "--grid", grid, "--device", "cpu"]).collect();
        let simulated = Command::new(&vxm).arg("simulate").args(&words).current_dir(folder).output().unwrap();
        assert!(simulated.status.success(), "{task}: {}", text(&simulated.stderr));
        let told = text(&simulated.stdout);
        let [found, counted]: [Value; 2] = told
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<_>>()
            .try_into()
            .unwrap_or_else(|_| panic!("{told}"));
        let real = launched(folder, launcher, 4, &[&[&vxm[..]], &words[..]].concat());
        assert!(real.status.success(), "{task}: {}", text(&real.stderr));
        let real: Value = serde_json::from_str(&text(&real.stdout)).unwrap();
        assert_eq!(counted["simulation"]["total"]["sent"], real["sent"], "{task} on {grid}");
        assert!(real["sent"]["all"].as_u64() > Some(0), "{task} on {grid}");
        for same in ["digest", "sent", "grid", "rounds", "valid"] {
            assert_eq!(found[same], real[same], "{same}: {task} on {grid}");
        }
    }
}

#[test]
fn ranks_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (vxm, launchers) = (file(), launchers());
    let Some(launcher) = launchers.last() else { return eprintln!("skipped: measuring ranks: no launcher") };
    let out = launched(folder.path(), launcher, 2, &[&vxm, "doctor", "--ranks", "--device", "cpu", "--threads", "1"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let told = text(&out.stdout);
    let runs = told.lines().filter(|line| line.starts_with("mis ") || line.starts_with("bfs ")).count();
    assert_eq!(runs, 6, "{told}");
    // the last line holds options that `simulate` takes
    let options = told.lines().last().unwrap().split(' ');
    let simulated =
        Command::new(&vxm).arg("simulate").args(options).args(["mis", "grid:20x20", "--grid", "2x1"]).output().unwrap();
    assert!(simulated.status.success(), "{told}: {}", text(&simulated.stderr));
    assert!(text(&simulated.stdout).contains("\nmodelled: "), "{}", text(&simulated.stdout));
}

#[test]
fn grids_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let vxm = file();
    for launcher in launchers() {
        let mut answers = Vec::new();
        for grid in ["2x2", "1x4", "4x1", "column"] {
            let words = [
                &vxm,
                "mis",
                "kron:9:8",
                "--priority",
                "sorted",
                "--grid",
                grid,
                "--out",
                "set.txt",
                "--timeout",
                "60",
                "--json",
            ];
            let out = launched(folder, launcher, 4, &words);
            assert!(out.status.success(), "{launcher} {grid}: {}", text(&out.stderr));
            let told: Value = serde_json::from_str(&text(&out.stdout)).unwrap();
            assert_eq!(
                (told["ranks"].as_u64(), told["grid"].as_str()),
                (Some(4), Some(if grid == "column" { "4x1" } else { grid }))
            );
            answers.push((told["digest"].clone(), fs::read_to_string(folder.join("set.txt")).unwrap()));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]) && !answers[0].1.is_empty());
        for (words, line) in [
            (
                vec!["mis", "grid:5x5", "--grid", "3x1"],
                "a grid of 3x1: expected as many places as there are ranks, 2 ranks",
            ),
            (vec!["info", "grid:5x5"], "info: runs as one process: expected no launcher"),
            (vec!["profile", "mis", "grid:5x5"], "profile: runs as one process: expected no launcher"),
            (vec!["mis", "grid:5x5", "--explain"], "--explain: plans of ranks aren't told: expected no launcher"),
            (vec!["mis", "grid:5x5", "--format", "tiles"], "--format tiles: not built for ranks: expected auto or csr"),
            (
                vec!["pagerank", "grid:5x5", "--grid", "1x2"],
                "--grid 1x2: pagerank adds floats, in rows that are whole: expected one column of ranks, 2x1",
            ),
            (
                vec!["bfs", "grid:5x5", "--source", "25"],
                "grid:5x5: --source 25: expected the number of one of its 25 vertices",
            ),
        ] {
            let program: Vec<&str> = [vxm.as_str()].into_iter().chain(words.iter().copied()).collect();
            let out = launched(folder, launcher, 2, &program);
            assert_eq!(out.status.code(), Some(2), "{launcher} {words:?}: {}", text(&out.stderr));
            let found = lines(&out);
            let ends = |told: &String| told.strip_prefix("vxm: ") == Some(line);
            assert!(found.len() == 1 && found.iter().all(ends), "{launcher} {words:?}: {found:?}");
            assert!(out.stdout.is_empty());
        }
    }
}

#[test]
fn faults_end_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("good.txt"), "0 1\n1 2\n").unwrap();
    fs::write(folder.join("other.txt"), "0 1\n0 2\n").unwrap();
    fs::write(folder.join("bad.txt"), "0 1\n1 x\n").unwrap();
    // what rank 1 does, and a line that the command prints on some rank
    let faults = [
        ("bad line", "exec $VXM components bad.txt --input edges", "vxm: rank 1: bad.txt:2:3: expected"),
        (
            "another graph",
            "exec $VXM components other.txt --input edges",
            "vxm: rank 1: other.txt: another input than that of rank 0",
        ),
        // Open MPI only: MPICH waits in MPI_Init for a process that never begins
        ("exit", "exit 3", ""),
        ("killed", "(sleep 1; kill -9 $$) & exec $VXM components pipe --input edges", ""),
        (
            "never comes",
            "exec $VXM components pipe --input edges --timeout 2",
            "vxm: rank 0: waited 2 s for rank 1 of its group",
        ),
    ];
    for launcher in launchers() {
        for (fault, script, line) in faults {
            if fault == "exit" && launcher == "mpirun.mpich" {
                continue;
            }
            let pipe = folder.join("pipe");
            let _ = fs::remove_file(&pipe);
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let file = if fault == "bad line" { "bad.txt" } else { "good.txt" };
            let script = format!(
                "if [ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = 1 ]; then {script}; else exec $VXM components {file} --input edges --timeout 2; fi"
            );
            // one rank must not end by its own limit before another one is killed
            let script = if fault == "killed" { script.replace("--timeout 2", "--timeout 30") } else { script };
            let began = Instant::now();
            let out = launched(folder, launcher, 3, &["sh", "-c", &script]);
            let (took, told) = (began.elapsed(), lines(&out));
            assert!(!out.status.success(), "{launcher}, {fault}");
            assert!(took < Duration::from_secs(20), "{launcher}, {fault}: {took:?}");
            assert!(
                line.is_empty() || told.iter().any(|told| told.contains(line)),
                "{launcher}, {fault}: {}",
                text(&out.stderr)
            );
            // MPICH's launcher tells there how a process ended
            assert!(!text(&out.stdout).contains("component"), "{launcher}, {fault}: {}", text(&out.stdout));
        }
    }
}

/// Ranks that are started with different options would find parts of different answers.
#[test]
fn ranks_have_the_same_options() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (own, given) in [("0", "0 1\n"), ("1", "0 2\n")] {
        fs::create_dir(folder.join(own)).unwrap();
        fs::write(folder.join(own).join("given.txt"), given).unwrap();
    }
    let run = |launcher: &str, options: &str| {
        let script = format!("R=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; cd {}/$R; {options}", folder.display());
        launched(folder, launcher, 2, &["sh", "-c", &script])
    };
    for launcher in launchers() {
        for (program, expected) in [
            ("exec $VXM mis grid:9x9 --seed $R", "--seed: rank 0 has 0, rank 1 has 1"),
            ("exec $VXM mis grid:9x$((R + 9))", "graph: rank 0 has grid:9x9, rank 1 has grid:9x10"),
            ("exec $VXM bfs grid:9x9 --from $R", "--source: rank 0 has 0, rank 1 has 1"),
            ("exec $VXM mis grid:9x9 --grid $((R + 1))x$((2 - R))", "--grid: rank 0 has 1x2, rank 1 has 2x1"),
            (
                "if [ $R = 1 ]; then set -- --json; fi; exec $VXM mis grid:9x9 $*",
                "--json: rank 0 has false, rank 1 has true",
            ),
            (
                "if [ $R = 1 ]; then A=color; else A=mis; fi; exec $VXM $A grid:9x9",
                "the command: rank 0 has mis, rank 1 has color",
            ),
            (
                "if [ $R = 1 ]; then export VXM_TUNE=relaxed_row=16; fi; exec $VXM mis grid:9x9",
                "VXM_TUNE: rank 0 has none, rank 1 has relaxed_row=16",
            ),
            ("exec $VXM color grid:9x9 --given given.txt", "--given given.txt: rank 1 has another content than rank 0"),
        ] {
            let out = run(launcher, program);
            assert_eq!(out.status.code(), Some(2), "{launcher}, {program}: {}", text(&out.stderr));
            let told = lines(&out);
            let [told] = &told[..] else { panic!("{launcher}, {program}: {told:?}") };
            assert!(told.starts_with(&format!("vxm: {expected}: expected the same")), "{launcher}, {program}: {told}");
        }
        let copies = run(launcher, "cp ../0/given.txt $R.txt; exec $VXM color grid:9x9 --given $R.txt");
        assert!(copies.status.success(), "{launcher}: {}", text(&copies.stderr));
        // what each rank may have in its own way
        let own = "exec $VXM mis grid:9x9 --threads $((R + 1)) --timeout $((R + 30)) --memory $((R + 1))GiB";
        let out = run(launcher, own);
        assert!(out.status.success() && text(&out.stdout).contains("valid"), "{launcher}: {}", text(&out.stderr));
    }
}

#[test]
fn a_launcher_without_its_library_is_an_error() {
    let told = |variables: &[(&str, &str)]| {
        let mut command = Command::new(file());
        let out = command.args(["mis", "grid:5x5"]).envs(variables.iter().copied()).output().unwrap();
        assert_eq!(out.status.code(), Some(2));
        text(&out.stderr)
    };
    let none = told(&[("OMPI_COMM_WORLD_SIZE", "4"), ("VXM_MPI", "libnone.so.0")]);
    assert!(none.starts_with("vxm: VXM_MPI=libnone.so.0: "), "{none}");
    let wrong = told(&[("PMI_SIZE", "4"), ("VXM_MPI", "libm.so.6")]);
    assert!(wrong.ends_with(": expected an MPI library of Open MPI, MPICH or the standard ABI\n"), "{wrong}");
    let alone = Command::new(file()).args(["mis", "grid:5x5", "--grid", "2x2", "--device", "cpu"]).output().unwrap();
    assert_eq!(text(&alone.stderr), "vxm: a grid of 2x2: expected as many places as there are ranks, 1 rank\n");
    let one = Command::new(file()).args(["mis", "grid:5x5", "--grid", "1x1"]).output().unwrap();
    assert!(one.status.success() && text(&one.stdout).contains(", ranks 1x1\n"), "{}", text(&one.stdout));
}
