//! The command, run as a process: what it prints, refuses and writes.

use serde_json::{Value, json as value};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The command's file; where nextest has unpacked it, if the tests were packed on another machine.
fn file() -> String {
    std::env::var("NEXTEST_BIN_EXE_vxm").unwrap_or_else(|_| env!("CARGO_BIN_EXE_vxm").to_owned())
}

fn vxm(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(file()).current_dir(folder).args(arguments).env_remove("VXM_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs what must succeed, and gives its JSON object.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let out = vxm(folder, &[arguments, &["--json"]].concat());
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", text(&out.stderr));
    let told = text(&out.stdout);
    assert_eq!(told.lines().count(), 1, "{told}");
    serde_json::from_str(told).unwrap()
}

/// Runs what must be refused, and gives its line.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let out = vxm(folder, arguments);
    let told = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.starts_with("vxm: ") && told.ends_with('\n') && told.lines().count() == 1, "{arguments:?}: {told}");
    assert!(out.stdout.is_empty(), "{arguments:?}");
    told["vxm: ".len()..told.len() - 1].to_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(bytes).unwrap();
    zipped.finish().unwrap()
}

const HEADER: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n";

#[test]
fn bad_files_are_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let entries: String = (1..9000).map(|v| format!("{} {v}\n", v + 1)).collect();
    let long = gzip(format!("{HEADER}9000 9000 8999\n{entries}").as_bytes());
    fs::create_dir(folder.join("folder.mtx")).unwrap();
    let with_header = |rest: &str| format!("{HEADER}{rest}").into_bytes();
    // the file, its bytes, and the beginning of what is told
    for (file, bytes, told) in [
        ("empty.mtx", vec![], "empty.mtx:1:1: expected a graph"),
        ("header.mtx", b"%%MatrixMarkt matrix\n1 1 0\n".to_vec(), "header.mtx:1:1: expected `%%MatrixMarket`"),
        ("few.mtx", with_header("3 3 2\n2 1\n"), "few.mtx:2:5: expected 2 entries (as stated here), found 1"),
        ("many.mtx", with_header("3 3 1\n2 1\n3 1\n"), "many.mtx:2:5: expected 1 entry (as stated here), found 2"),
        ("vast.mtx", with_header("3 3 99999999999\n2 1\n"), "vast.mtx:2:5: expected 99999999999 entries"),
        ("zero.mtx", with_header("3 3 1\n0 1\n"), "zero.mtx:3:1: expected a row from 1 to 3, found `0`"),
        ("above.mtx", with_header("3 3 1\n2 4\n"), "above.mtx:3:3: expected a column from 1 to 3, found `4`"),
        ("word.mtx", with_header("3 3 1\n2 one\n"), "word.mtx:3:3: expected a column from 1 to 3, found `one`"),
        ("cut.mtx.gz", long[..long.len() / 2].to_vec(), "cut.mtx.gz:"),
        (
            "wide.mtx",
            with_header("4294967296 4294967296 1\n2 1\n"),
            "wide.mtx:2:1: expected at most 4294967295 vertices",
        ),
        ("latin.mtx", [HEADER.as_bytes(), b"3 3 1\n2 \xe9\n"].concat(), "latin.mtx:3:3: expected a column"),
        ("binary", b"\x7fELF\x02\x01\xff\xfe".to_vec(), "binary:1:1: expected a vertex number"),
        ("none.col", b"p edge 2 1\ne 1 3\n".to_vec(), "none.col:2:5: expected a vertex from 1 to 2, found `3`"),
        ("list.txt", b"1 2\n3\n".to_vec(), "list.txt:2:2: expected a vertex number"),
    ] {
        fs::write(folder.join(file), bytes).unwrap();
        for command in ["mis", "color", "info"] {
            let line = refused(folder, &[command, file]);
            assert!(line.starts_with(told), "{line}");
        }
        assert!(refused(folder, &["mis", file, "--json", "--out", "out"]).starts_with(told));
        assert!(!folder.join("out").exists());
    }
    assert!(refused(folder, &["mis", "cut.mtx.gz"]).ends_with("expected the rest of the gzip stream, found its end"));
    assert_eq!(refused(folder, &["mis", "folder.mtx"]), "folder.mtx: is a directory");
    assert!(refused(folder, &["mis", "nothing.mtx"]).starts_with("nothing.mtx: "));
    assert!(refused(folder, &["mis", "two\nlines"]).starts_with("two\\nlines: "));
}

#[test]
fn bad_arguments_are_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // what is missing depends on the machine
    let doctor = Command::new(file()).arg("doctor").output().unwrap();
    let no_gpu = match text(&doctor.stdout).contains("NVIDIA driver: CUDA") {
        true => "no CUDA device 99",
        false => "the NVIDIA driver was not found: install NVIDIA's driver",
    };
    for (arguments, told) in [
        (&[][..], "expected a command: mis, color, info, generate or doctor"),
        (&["mis"], "the following required arguments were not provided: <GRAPH>"),
        (&["mist", "grid:2x2"], "unrecognized subcommand 'mist'"),
        (&["mis", "grid:2x2", "more"], "unexpected argument 'more' found"),
        (&["mis", "grid:2x2", "--prio", "random"], "unexpected argument '--prio' found: expected --priority?"),
        (
            &["mis", "grid:2x2", "--priority", "luck"],
            "unknown priority `luck`: expected random, degree, resolve, sorted, sorted-id",
        ),
        (&["mis", "grid:2x2", "--formulation", "three"], "unknown formulation `three`: expected decide, count"),
        (&["mis", "grid:2x2", "--formulation", "decide"], "priority `resolve` breaks ties"),
        (
            &["color", "grid:2x2", "--method", "jpp"],
            "unknown method `jpp`: expected is, mis, jp, min-max, hash, neighbor-reduce",
        ),
        (
            &["color", "grid:2x2", "--order", "up"],
            "unknown order `up`: expected random, largest-degree-first, smallest-degree-last",
        ),
        (&["mis", "grid:2x2", "--device", "cuda:99"], no_gpu),
        (&["mis", "grid:2x2", "--device", "tpu"], "unknown device `tpu`: expected auto, cpu, cuda, cuda:N"),
        (&["mis", "grid:2x2", "--format", "coo"], "unknown format `coo`: expected auto, csr, tiles"),
        (
            &["mis", "grid:2x2", "--threads", "0"],
            "invalid value '0' for '--threads <N>': expected a number from 1 to 1024",
        ),
        (&["mis", "grid:2x2", "--threads", "99999"], "invalid value '99999' for '--threads <N>'"),
        (
            &["info", "grid:2x2", "--threads", "-1"],
            "invalid value '-1' for '--threads <N>': expected a number from 1 to",
        ),
        (
            &["mis", "grid:2x2", "--seed", "-1"],
            "invalid value '-1' for '--seed <N>': expected a number from 0 to 18446744073709551615",
        ),
        (
            &["mis", "grid:2x2", "--seed", "99999999999999999999"],
            "invalid value '99999999999999999999' for '--seed <N>'",
        ),
        (&["mis", "grid:2x2", "--seed", "x"], "invalid value 'x' for '--seed <N>'"),
        (&["mis", "gird:2x2"], "gird:2x2: expected a file or one of grid:ROWSxCOLUMNS"),
        (&["mis", "grid"], "grid: expected ROWSxCOLUMNS, found nothing"),
        (&["generate", "rmat", "-o", "x.mtx"], "rmat: expected a scale from 0 to 31, found nothing"),
        (&["mis", "rmat:40:8"], "rmat:40:8: expected at most 4294967295 vertices"),
        (&["info", "rgg:x"], "rgg:x: expected a scale from 0 to 31, found `x`"),
        (&["generate", "grid:2x2"], "the following required arguments were not provided: --out <FILE.mtx>"),
        (&["generate", "file.mtx", "-o", "x.mtx"], "file.mtx: expected one of grid:"),
        (&["generate", "grid:2x2", "-o", "none/x.mtx"], "none/x.mtx: "),
        (&["mis", "grid:2x2", "--out", "none/set"], "none/set: "),
        // before anything else is done
        (&["color", "none.mtx", "--out", "none/set"], "none/set: "),
        (&["generate", "none:3", "-o", "none/x.mtx"], "none/x.mtx: "),
        (&["mis", "grid:2x2", "--out", "."], ".: "),
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with(told), "{arguments:?}: {line}");
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "nothing is left behind");
    let mut command = Command::new(file());
    let out = command.args(["mis", "grid:2x2"]).env("VXM_LOG", "a=b=c").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).starts_with("vxm: VXM_LOG=a=b=c: "));
    for asked in ["--help", "--version"] {
        let out = vxm(folder, &[asked]);
        assert!(out.status.success() && out.stderr.is_empty() && !out.stdout.is_empty());
    }
}

#[test]
fn json_tells_all() {
    let folder = tempfile::tempdir().unwrap();
    let mis = json(folder.path(), &["mis", "grid:30x40", "--priority", "sorted", "--seed", "7"]);
    for (name, expected) in [
        ("graph", value!("grid:30x40")),
        ("vertices", value!(1200)),
        ("edges", value!(29 * 40 + 30 * 39)),
        ("algorithm", value!("mis")),
        ("device", value!("cpu")),
        ("priority", value!("sorted")),
        ("formulation", value!("decide")),
        ("seed", value!(7)),
        ("valid", value!(true)),
    ] {
        assert_eq!(mis[name], expected, "{name}");
    }
    let digest = mis["digest"].as_str().unwrap();
    assert!(digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{digest}");
    assert!(mis["seconds"].as_f64().unwrap() > 0.0);
    assert!((1..=30).contains(&mis["rounds"].as_u64().unwrap()));
    assert!((300..=600).contains(&mis["size"].as_u64().unwrap()));
    let color = json(folder.path(), &["color", "grid:30x40", "--order", "smallest-degree-last"]);
    assert_eq!((&color["method"], &color["order"]), (&value!("jp"), &value!("smallest-degree-last")));
    assert!((2..=5).contains(&color["colors"].as_u64().unwrap()));
    let info = json(folder.path(), &["info", "grid:30x40"]);
    assert_eq!((&info["vertices"], &info["isolated"]), (&value!(1200), &value!(0)));
    assert_eq!((&info["degree"]["min"], &info["degree"]["max"]), (&value!(2), &value!(4)));
    assert_eq!(info["degrees"], value!([0, 0, 4 + 2 * (28 + 38), 28 * 38]));
    for (place, format) in [("host", "csr"), ("host", "tiles"), ("device", "csr"), ("device", "tiles")] {
        let peaks = &info["peak_bytes"][place][format];
        let (mis, color) = (peaks["mis"]["resolve"].as_u64(), peaks["color"]["jp"].as_u64());
        assert!(info["bytes"].as_u64() < mis && mis <= color, "{place}, {format}: {info}");
    }
    assert!(info["tile_fill"].as_f64().unwrap() > 1.0 && info["bytes"].as_u64() > Some(4 * 2 * 2330));
}

#[test]
fn people_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["mis", "grid:4x4"][..], "independent set of "),
        (&["color", "grid:4x4", "--method", "mis"], " colours, valid"),
        (&["info", "grid:0x0"], "grid:0x0: 0 vertices, 0 edges"),
        (&["info", "grid:1x2"], "grid:1x2: 2 vertices, 1 edge\n"),
        (&["info", "grid:1x2"], " device tiles\n          mis resolve  "),
        (&["color", "grid:1x1"], "grid:1x1: 1 vertex, 0 edges\n1 colour, valid\n"),
        (&["mis", "grid:0x0"], "independent set of 0 vertices (0.00 %), valid"),
    ] {
        let out = vxm(folder.path(), arguments);
        assert!(out.status.success() && text(&out.stdout).contains(told), "{}", text(&out.stdout));
        assert!(out.stderr.is_empty());
    }
    let mut command = Command::new(file());
    let out = command.args(["mis", "grid:4x4"]).env("VXM_LOG", "debug").output().unwrap();
    assert!(text(&out.stderr).contains("why="), "plans are shown: {}", text(&out.stderr));
}

#[test]
fn answers_are_equal_for_threads_and_formats() {
    let folder = tempfile::tempdir().unwrap();
    for graph in ["rmat:11:8", "grid:37x41", "road:40"] {
        for algorithm in [
            &["mis"][..],
            &["mis", "--priority", "sorted"],
            &["mis", "--priority", "sorted", "--formulation", "count"],
            &["color"],
            &["color", "--method", "hash"],
        ] {
            let mut digests = HashMap::<String, Vec<String>>::new();
            for threads in ["1", "2"] {
                for format in ["auto", "csr", "tiles"] {
                    let more = [graph, "--threads", threads, "--format", format];
                    let told = json(folder.path(), &[algorithm, &more].concat());
                    assert_eq!(told["valid"], true);
                    assert_eq!(told["threads"].to_string(), threads);
                    digests.entry(told["digest"].to_string()).or_default().push(format!("{threads} {format}"));
                }
            }
            assert_eq!(digests.len(), 1, "{graph} {algorithm:?}: {digests:?}");
        }
    }
    let digest = |more: &[&str]| json(folder.path(), &[&["mis", "rmat:11:8"], more].concat())["digest"].to_string();
    let sorted = ["--priority", "sorted"];
    assert_eq!(digest(&sorted), digest(&[&sorted[..], &["--formulation", "count"]].concat()));
    assert_ne!(digest(&[]), digest(&["--seed", "1"]), "the seed matters");
}

/// Lines of numbers.
fn numbers(file: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}

#[test]
fn answers_are_written_in_the_files_own_numbering() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // a path of four, thrice: from 1, by far ids, from 1
    fs::write(folder.join("path.mtx"), format!("{HEADER}4 4 3\n2 1\n3 2\n4 3\n")).unwrap();
    fs::write(folder.join("path.txt"), "# ids\n70 5000000000\n5000000000 12\n12 900\n").unwrap();
    fs::write(folder.join("path.col"), "c path\np edge 4 3\ne 1 2\ne 2 3\ne 3 4\n").unwrap();
    for (file, path) in
        [("path.mtx", [1, 2, 3, 4]), ("path.txt", [70, 5_000_000_000, 12, 900]), ("path.col", [1, 2, 3, 4])]
    {
        let told = json(folder, &["mis", file, "--out", "set"]);
        assert_eq!((&told["graph"], &told["edges"], &told["valid"]), (&value!("path"), &value!(3), &value!(true)));
        let set: Vec<u64> = numbers(&folder.join("set")).concat();
        assert_eq!(told["size"], set.len());
        assert!(set.len() == 2 && set.iter().all(|v| path.contains(v)), "{file}: {set:?}");
        assert!(path.windows(2).all(|edge| !edge.iter().all(|v| set.contains(v))), "{file}: {set:?}");
        assert!(set.is_sorted());

        let told = json(folder, &["color", file, "--out", "colors"]);
        let colors: HashMap<u64, u64> = numbers(&folder.join("colors")).into_iter().map(|l| (l[0], l[1])).collect();
        assert_eq!(colors.len(), 4);
        assert!(path.windows(2).all(|edge| colors[&edge[0]] != colors[&edge[1]]), "{file}: {colors:?}");
        assert_eq!(told["colors"], colors.values().copied().max().unwrap());
    }
    // an answer replaces the file that is there, and leaves nothing beside it
    assert_eq!(fs::read_dir(folder).unwrap().count(), 5);
}

#[test]
fn cleaning_is_said_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let general = HEADER.replace("symmetric", "general");
    fs::write(folder.join("d.mtx"), format!("{general}4 4 6\n1 1\n2 1\n2 1\n1 2\n2 3\n3 4\n")).unwrap();
    let out = vxm(folder, &["mis", "d.mtx", "--json"]);
    assert_eq!(
        text(&out.stderr),
        "vxm: d: dropped 1 self-loop; dropped 1 duplicate; made symmetric: 2 edges stood in one direction only\n"
    );
    let told: Value = serde_json::from_str(text(&out.stdout)).unwrap();
    assert_eq!((&told["vertices"], &told["edges"]), (&value!(4), &value!(3)));
    // self-loops only
    fs::write(folder.join("l.mtx"), format!("{HEADER}3 3 2\n1 1\n3 3\n")).unwrap();
    assert_eq!(json(folder, &["mis", "l.mtx"])["size"], 3);
    assert_eq!(json(folder, &["color", "l.mtx"])["colors"], 1);
}

#[test]
fn generated_graphs_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for file in ["g.mtx", "g.mtx.gz"] {
        let out = vxm(folder, &["generate", "rmat:9:4", "-o", file]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let digest = |graph| json(folder, &["mis", graph])["digest"].clone();
        assert_eq!(digest(file), digest("rmat:9:4"));
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(file());
    let command = command.current_dir(folder.path()).args(["info", "rmat:12:8"]).stderr(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    assert!(!told.contains("panic"), "{told}");
}

/// Runs a script, the command as `$VXM` and the folder the current one.
#[cfg(unix)]
fn shell(folder: &Path, script: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder).env("VXM", file()).env_remove("VXM_LOG");
    shell.output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // 60 MB of text in members of a stream
    fs::write(folder.path().join("long.gz"), gzip("1 2\n".repeat(1 << 20).as_bytes()).repeat(60)).unwrap();
    for (limit, command, told) in [
        (400_000, "mis rmat:23:8", "vxm: rmat:23:8: needs "),
        // the graph is there, what the algorithm takes is not
        (400_000, "mis rmat:18:8 --format tiles", "vxm: rmat:18:8: mis by resolve: needs "),
        (600_000, "info long.gz", "vxm: long.gz:"),
        (600_000, "info /dev/stdin", "vxm: /dev/stdin:"),
    ] {
        let out = shell(folder.path(), &format!("ulimit -v {limit}; yes '1 2' | $VXM {command} --threads 2"));
        let told_all = text(&out.stderr);
        let line = told_all.lines().find(|line| line.starts_with(told) && line.ends_with(" are available"));
        assert!(line.is_some_and(|line| line.contains(" of memory, ")), "{command}: {told_all}");
        assert_eq!(out.status.code(), Some(2), "{command}");
    }
    let fits = shell(folder.path(), "ulimit -v 400000; $VXM color rmat:18:8 --threads 2");
    assert!(fits.status.success(), "{}", text(&fits.stderr));
}

/// The device that `VXM_TEST_DEVICE=cuda` asks for; none, with a line that says so, where it doesn't.
fn gpu() -> Option<vxm_kernels::Gpu> {
    match std::env::var("VXM_TEST_DEVICE") {
        Ok(device) if device.starts_with("cuda") => Some(vxm_kernels::Gpu::open(0).unwrap()),
        _ => {
            println!("skipped: VXM_TEST_DEVICE=cuda asks for a GPU");
            None
        }
    }
}

/// The command with `environment` for a machine's: what it is found or missing by.
fn vxm_with(folder: &Path, environment: &[(&str, &Path)], arguments: &[&str]) -> Output {
    let mut command = Command::new(file());
    command
        .current_dir(folder)
        .args(arguments)
        .env_remove("VXM_LOG")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// Without a driver, and where the driver shows no device, which are the same to whoever asks for one.
#[test]
fn a_device_that_is_not_there_is_said_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = [("CUDA_VISIBLE_DEVICES", Path::new("-1"))];
    for (device, number) in
        [("cuda", "0"), ("cuda:0", "0"), ("cuda:7", "7"), ("cuda:18446744073709551615", &u64::MAX.to_string())]
    {
        for command in ["mis", "color"] {
            let out = vxm_with(folder.path(), &hidden, &[command, "none.mtx", "--device", device]);
            let told = text(&out.stderr);
            let no_driver = "vxm: the NVIDIA driver was not found: install NVIDIA's driver, release 580 or newer, on a machine with an \
                             NVIDIA GPU\n";
            assert!(
                told == no_driver || told == format!("vxm: no CUDA device {number}: there is none\n"),
                "{device}: {told}"
            );
            assert_eq!(out.status.code(), Some(2), "{device}");
            assert!(out.stdout.is_empty(), "{device}");
        }
    }
    for device in ["cuda:", "cuda:-1", "cuda:x", "cuda1", "cuda:18446744073709551616"] {
        let told = refused(folder.path(), &["mis", "grid:2x2", "--device", device]);
        assert_eq!(told, format!("unknown device `{device}`: expected auto, cpu, cuda, cuda:N"));
    }
    // who doesn't ask for one is served by the CPU
    for arguments in [&["mis", "grid:9x9", "--json"][..], &["mis", "grid:9x9", "--json", "--device", "auto"]] {
        let out = vxm_with(folder.path(), &hidden, arguments);
        assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((&told["device"], &told["valid"]), (&value!("cpu"), &value!(true)));
    }
}

/// Places for a cache that are none: a file, a folder that cannot be made, one that others may write to, one full of damage.
#[test]
#[cfg(target_os = "linux")]
fn a_cache_that_is_of_no_use_is_no_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "kept").unwrap();
    fs::create_dir(at("open")).unwrap();
    fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let places = [at("file"), at("file/below"), "/proc/none".into(), at("open")];
    for place in &places {
        let out = vxm_with(folder.path(), &[("VXM_CACHE_DIR", place)], &["doctor"]);
        let line = text(&out.stdout).lines().find(|line| line.starts_with("kernel cache: ")).unwrap();
        assert!(line.contains("not writable"), "{}: {line}", place.display());
        assert!(matches!(out.status.code(), Some(0 | 1)) && out.stderr.is_empty(), "{}", text(&out.stderr));
    }
    if gpu().is_some() {
        let expected = json(folder.path(), &["mis", "grid:30x40", "--device", "cpu"])["digest"].clone();
        let digest = |cache: &Path| {
            let arguments = ["mis", "grid:30x40", "--device", "cuda", "--json"];
            let out = vxm_with(folder.path(), &[("VXM_CACHE_DIR", cache)], &arguments);
            assert!(out.status.success() && out.stderr.is_empty(), "{}: {}", cache.display(), text(&out.stderr));
            serde_json::from_slice::<Value>(&out.stdout).unwrap()["digest"].clone()
        };
        places.iter().for_each(|place| assert_eq!(digest(place), expected, "{}", place.display()));
        // made by a first run, then each entry cut or changed
        assert_eq!(digest(&at("cache")), expected);
        for (number, entry) in fs::read_dir(at("cache")).unwrap().enumerate() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            if number % 2 == 0 {
                bytes.truncate(middle)
            } else {
                bytes[middle] ^= 1
            }
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(digest(&at("cache")), expected);
    }
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "kept");
    assert_eq!(fs::read_dir(at("open")).unwrap().count(), 0);
}

/// Where NVRTC is in no place that the environment names; it may still be in one that toolkits use.
#[test]
#[cfg(target_os = "linux")]
fn a_missing_compiler_is_said() {
    if gpu().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(file());
    let names = ["VIRTUAL_ENV", "CONDA_PREFIX", "VXM_CUDA_PATH", "CUDA_PATH", "CUDA_HOME"];
    names.iter().for_each(|name| _ = command.env_remove(name));
    // an empty home: no packages of the user's, and an empty cache
    let command = command.env("HOME", folder.path()).env_remove("VXM_CACHE_DIR").env_remove("XDG_CACHE_HOME");
    let out = command.args(["mis", "grid:3x3", "--device", "cuda"]).output().unwrap();
    match out.status.code() {
        Some(0) => println!("found, so not tested: NVRTC"),
        status => {
            assert_eq!(status, Some(2));
            assert!(text(&out.stderr).starts_with("vxm: NVRTC was not found: pip install "), "{}", text(&out.stderr));
        }
    }
}

/// Refused before the run where it would not fit, an error where not even the driver's own does; never a panic.
#[test]
fn a_graph_larger_than_a_device_is_refused() {
    let Some(gpu) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let on_gpu = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').chain(["--device", "cuda:0"]).collect();
        refused(folder.path(), &arguments)
    };
    // the device's own tables take half a GiB of what is left
    let left = |bytes: u64| gpu.alloc((gpu.memory().unwrap().0 - bytes) as usize).unwrap();
    let held = left(5 << 28);
    let line = on_gpu("color grid:4096x4096 --method hash");
    assert!(line.starts_with("grid:4096x4096: color by hash on cuda:0: needs 2.0 GiB of memory, "), "{line}");
    assert!(line.ends_with("MiB are available") || line.ends_with("GiB are available"), "{line}");
    drop(held);
    gpu.trim().unwrap();
    let held = left(50 << 20);
    let line = on_gpu("mis grid:2x2");
    println!("{line}");
    assert!(line.to_lowercase().contains("memory"), "{line}");
    drop(held);
    gpu.trim().unwrap();
    let out = vxm(folder.path(), &["mis", "grid:2x2", "--device", "cuda:0"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_read_as_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let digest = |out: Output| text(&out.stdout).lines().last().unwrap_or_default().to_owned();
    vxm(folder.path(), &["generate", "rmat:9:4", "-o", "g.mtx"]);
    let plain = digest(vxm(folder.path(), &["mis", "g.mtx"]));
    fs::write(at("g.gz"), gzip(&fs::read(at("g.mtx")).unwrap())).unwrap();
    for file in ["g.mtx", "g.gz"] {
        assert_eq!(digest(shell(folder.path(), &format!("cat {file} | $VXM mis /dev/stdin"))), plain, "{file}");
    }
    // a pipe can't be read again with wider numbers
    fs::write(at("far.txt"), "1 2\n5000000000 2\n").unwrap();
    let out = shell(folder.path(), "cat far.txt | $VXM info /dev/stdin");
    assert!(text(&out.stdout).starts_with("stdin: 3 vertices, 2 edges"), "{}", text(&out.stdout));
}

#[test]
#[cfg(unix)]
fn what_is_written_to_stays_what_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mis = |out: &str| json(folder.path(), &["mis", "grid:3x3", "--out", out]);
    let size = mis("set")["size"].as_u64().unwrap() as usize;
    assert_eq!(numbers(&at("set")).len(), size);
    // through a link: the file behind it
    fs::write(at("kept"), "old\n".repeat(100)).unwrap();
    std::os::unix::fs::symlink("kept", at("link")).unwrap();
    mis("link");
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(fs::read(at("kept")).unwrap(), fs::read(at("set")).unwrap());
    // a file with another name, and one with a mode of its own
    fs::hard_link(at("kept"), at("also")).unwrap();
    fs::set_permissions(at("kept"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(at("also"), "old\n".repeat(100)).unwrap();
    mis("also");
    assert_eq!(fs::read(at("kept")).unwrap(), fs::read(at("set")).unwrap());
    fs::set_permissions(at("set"), fs::Permissions::from_mode(0o604)).unwrap();
    mis("set");
    assert_eq!(fs::metadata(at("set")).unwrap().permissions().mode() & 0o777, 0o604);
    mis(&"n".repeat(250));
    // standard output is where both go, one after the other
    let out = shell(
        folder.path(),
        "$VXM mis grid:3x3 --out /dev/stdout > all; $VXM mis grid:3x3 --out /dev/stdout | cat > piped",
    );
    assert!(out.status.success() && out.stderr.is_empty());
    for file in ["all", "piped"] {
        let all = fs::read_to_string(at(file)).unwrap();
        assert!(
            all.starts_with(&fs::read_to_string(at("set")).unwrap()) && all.contains("grid:3x3: 9 vertices"),
            "{all}"
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 7, "nothing is left behind");
}

#[test]
fn an_answer_does_not_replace_its_graph() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("g.txt"), "1 2\n").unwrap();
    let line = refused(folder.path(), &["mis", "g.txt", "--out", "./g.txt"]);
    assert_eq!(line, "--out ./g.txt: expected another file than the graph's");
    assert_eq!(fs::read_to_string(folder.path().join("g.txt")).unwrap(), "1 2\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_past_its_limit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("ulimit -f 10; exec {} generate grid:200x200 -o g.mtx", file());
    let out = Command::new("bash").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    assert!(text(&out.stderr).starts_with("vxm: g.mtx: File too large"), "{}", text(&out.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
#[cfg(unix)]
fn an_end_by_a_signal_leaves_no_litter() {
    use std::os::unix::process::ExitStatusExt;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    // what whoever runs the tests ignores, as nohup does, the command ignores too
    let heeded = |(_, number): &(&str, i32)| ignored >> (number - 1) & 1 == 0;
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)].into_iter().filter(heeded) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("g.mtx.gz"), "older").unwrap();
        let mut command = Command::new(file());
        let command = command.current_dir(folder.path()).args(["generate", "rmat:17:32", "-o", "g.mtx.gz"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        // the file that is looked at first is gone at once; one that has grown is being written
        let growing = |entry: fs::DirEntry| {
            entry.file_name() != "g.mtx.gz" && entry.metadata().is_ok_and(|about| about.len() > 0)
        };
        while !fs::read_dir(folder.path()).unwrap().flatten().any(growing) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
        assert_eq!(fs::read_to_string(folder.path().join("g.mtx.gz")).unwrap(), "older");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn files_may_be_called_anything() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(folder.path().join(name), "1 2\n").unwrap();
    let run =
        |name: &std::ffi::OsStr| Command::new(file()).current_dir(folder.path()).arg("mis").arg(name).output().unwrap();
    let out = run(name);
    assert!(out.status.success() && text(&out.stdout).starts_with("caf\\xe9: 2 vertices, 1 edge\n"));
    let out = run(std::ffi::OsStr::from_bytes(b"\xff\xe9.txt"));
    assert!(out.status.code() == Some(2) && text(&out.stderr).starts_with("vxm: \\xff\\xe9.txt: No such file"));
}
