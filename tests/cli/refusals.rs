//! Refused input: bad files, bad arguments, and graphs that do not fit into memory. Each error is one line.

use crate::harness::{HEADER, file, gzip, refused, run, text};
use std::fs;
use std::process::{Command, Output};

#[test]
fn bad_files_are_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let entries: String = (1..9000).map(|v| format!("{} {v}\n", v + 1)).collect();
    let long = gzip(format!("{HEADER}9000 9000 8999\n{entries}").as_bytes());
    fs::create_dir(folder.join("folder.mtx")).unwrap();
    let with_header = |rest: &str| format!("{HEADER}{rest}").into_bytes();
    // the file name, its bytes, and the beginning of the error line
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
        ("binary", b"\x7fELF\x02\x01\xff\xfe".to_vec(), "binary:1:1: expected a graph: "),
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
    // the error depends on whether the machine has a driver
    let doctor = Command::new(file()).arg("doctor").output().unwrap();
    let no_gpu = match text(&doctor.stdout).contains("NVIDIA driver: CUDA") {
        true => "no CUDA device 99",
        false => "the NVIDIA driver was not found: install NVIDIA's driver",
    };
    for (arguments, told) in [
        (
            &[][..],
            "expected a command: mis, color, cover, clique, bfs, sssp, components, pagerank, kcore, labels, communities, betweenness, triangles, ktruss, clustering, msf, scc, roots, matching, convert, info, generate, profile, report, simulate, completions, man or doctor",
        ),
        (&["simulate", "mis", "grid:2x2"], "simulate: --grid auto: expected ROWSxCOLUMNS, such as --grid 8x8"),
        (&["simulate", "mis", "grid:2x2", "--grid", "1x1"], "simulate: --grid 1x1: expected from 2 to 1024 ranks"),
        (&["simulate", "mis", "grid:2x2", "--grid", "99x99"], "simulate: --grid 99x99: expected from 2 to 1024 ranks"),
        (
            &["simulate", "mis", "grid:2x2", "--grid", "2x2", "--device", "cuda"],
            "simulate: ranks are threads of a CPU: expected --device auto or cpu",
        ),
        (
            &["simulate", "mis", "grid:2x2", "--grid", "2x2", "--explain"],
            "simulate: plans of ranks aren't explained: expected no --explain",
        ),
        (
            &["simulate", "--model", "gpu", "mis", "grid:2x2", "--grid", "2x2"],
            "unknown model `gpu`: expected cpu, h100, step, entries, elements, alpha, beta, near-alpha, near-beta",
        ),
        (
            &["simulate", "--model", "h100,alpha=5", "mis", "grid:2x2", "--grid", "2x2"],
            "model: alpha=5: expected a number with a unit (ns, us, ms, s), from 1e-12s to 1e3s",
        ),
        (&["simulate", "--host", "0", "mis", "grid:2x2", "--grid", "2x2"], "invalid value '0' for '--host <N>'"),
        (
            &["simulate", "mis", "grid:2x2", "--grid", "2x2", "--times=2"],
            "simulate: --times: expected before the algorithm",
        ),
        (
            &["simulate", "mis", "grid:2x2", "--grid", "2x2", "--trace", "t"],
            "simulate: --trace: expected before the algorithm",
        ),
        (&["profile", "mis", "grid:2x2", "--quiet"], "profile: --quiet: expected before the algorithm"),
        (&["simulate", "info", "grid:2x2"], "simulate info: expected an algorithm, such as mis or components"),
        (
            &["simulate", "communities", "grid:2x2", "--grid", "2x2"],
            "--grid 2x2: communities adds floats, in rows that are whole: expected one column of ranks, 4x1",
        ),
        (
            &["simulate", "pagerank", "grid:2x2", "--grid", "2x2"],
            "--grid 2x2: pagerank adds floats, in rows that are whole: expected one column of ranks, 4x1",
        ),
        (&["simulate", "mis", "nothing.mtx", "--grid", "2x1"], "nothing.mtx: No such file or directory"),
        (&["doctor", "--ranks"], "doctor --ranks: expected several ranks, such as by mpirun -n 4"),
        (&["mis"], "the following required arguments were not provided: <GRAPH>"),
        (&["mist", "grid:2x2"], "unrecognized subcommand 'mist'"),
        (&["mis", "grid:2x2", "more"], "unexpected argument 'more' found"),
        (&["mis", "grid:2x2", "--prio", "random"], "unexpected argument '--prio' found: expected --priority?"),
        (
            &["mis", "grid:2x2", "--priority", "luck"],
            "unknown priority `luck`: expected random, degree, resolve, sorted, sorted-id",
        ),
        (
            &["mis", "grid:2x2", "--input", "csv"],
            "unknown input format `csv`: expected edges, names, matrix-market, dimacs, gr, metis, graphml, parquet, arrow, npz, egr, sg",
        ),
        // a format is that of a file
        (&["mis", "grid:2x2", "--input", "edges"], "grid:2x2: No such file or directory"),
        (&["mis", "grid:2x2", "--formulation", "three"], "unknown formulation `three`: expected decide, count"),
        (
            &["mis", "grid:2x2", "--priority", "resolve", "--formulation", "decide"],
            "priority `resolve` requires formulation `count`, found `decide`",
        ),
        (
            &["betweenness", "grid:2x2", "--sources", "0"],
            "invalid value '0' for '--sources <K>': expected a number from 1 to 4294967295",
        ),
        (&["communities", "grid:2x2", "--tolerance", "-1"], "communities: tolerance -1: expected a number from 0 on"),
        (&["mis", "grid:2x2", "--distance", "3"], "invalid value '3' for '--distance <D>': expected 1 or 2"),
        (
            &["mis", "grid:2x2", "--distance", "2", "--priority", "resolve"],
            "priority `resolve` is for distance 1: expected random, degree, sorted or sorted-id",
        ),
        (
            &["mis", "grid:2x2", "--best-of", "0"],
            "invalid value '0' for '--best-of <N>': expected a number from 1 to 1024",
        ),
        (
            &["mis", "grid:2x2", "--best-of", "-1"],
            "invalid value '-1' for '--best-of <N>': expected a number from 1 to 1024",
        ),
        (
            &["mis", "grid:2x2", "--best-of", "2", "--formulation", "count"],
            "formulation `count` is for one set: expected none with --best-of",
        ),
        (
            &["mis", "grid:2x2", "--best-of", "2", "--distance", "2"],
            "--best-of: for distance 1: expected none at distance 2",
        ),
        (
            &["mis", "grid:2x2", "--distance", "2", "--formulation", "count"],
            "formulation `count` is for distance 1: expected none at distance 2",
        ),
        (&["color", "grid:2x2", "--star", "--columns"], "the argument '--star' cannot be used with '--columns'"),
        (
            &["color", "grid:2x2", "--rows", "--method", "jp"],
            "the argument '--rows' cannot be used with '--method <M>'",
        ),
        (&["color", "grid:2x2", "--most", "-1"], "unexpected argument '-1'"),
        (
            &["aggregates", "grid:2x2", "--priority", "resolve"],
            "priority `resolve` gives no order: expected random, degree, sorted or sorted-id",
        ),
        (
            &["color", "grid:2x2", "--distance", "2", "--method", "jp"],
            "method `jp` is for distance 1: expected none at distance 2",
        ),
        (
            &["color", "grid:2x2", "--method", "jpp"],
            "unknown method `jpp`: expected is, max-times, mis, jp, min-max, hash, neighbor-reduce, speculative",
        ),
        (
            &["color", "grid:2x2", "--order", "up"],
            "unknown order `up`: expected random, largest-degree-first, smallest-degree-last",
        ),
        (&["mis", "grid:2x2", "--device", "cuda:99"], no_gpu),
        (&["mis", "grid:2x2", "--device", "tpu"], "unknown device `tpu`: expected auto, cpu, cuda, cuda:N"),
        (&["mis", "grid:2x2", "--format", "coo"], "unknown format `coo`: expected auto, csr, tiles, hybrid"),
        (&["mis", "grid:2x2", "--reorder", "rmc"], "unknown order `rmc`: expected none, rcm, degree"),
        (
            &["labels", "grid:2x2", "--reorder", "rcm"],
            "--reorder rcm: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, bfs",
        ),
        (
            &["bfs", "grid:2x2", "--source", "0", "--parents", "--reorder", "rcm"],
            "--reorder rcm: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, bfs",
        ),
        (
            &["mis", "grid:2x2", "--distance", "2", "--reorder", "rcm"],
            "--reorder rcm: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, bfs",
        ),
        (
            &["color", "grid:2x2", "--star", "--reorder", "rcm"],
            "--reorder rcm: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, bfs",
        ),
        (
            &["pagerank", "grid:2x2", "--reorder", "rcm"],
            "--reorder rcm: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, bfs",
        ),
        (
            &["simulate", "mis", "grid:2x2", "--grid", "2x1", "--reorder", "degree"],
            "--reorder degree: not built for ranks: expected none",
        ),
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
        (&["bfs", "grid:2x2"], "the following required arguments were not provided: --source <V>"),
        (&["bfs", "grid:2x2", "--source", "-1"], "grid:2x2: --source -1: expected the number of one of its 4 vertices"),
        (&["bfs", "grid:2x2", "--source", "4"], "grid:2x2: --source 4: expected the number of one of its 4 vertices"),
        (&["components", "grid:2x2", "--seed", "1"], "unexpected argument '--seed' found"),
        (&["mis", "gird:2x2"], "gird:2x2: expected a file or one of grid:ROWSxCOLUMNS"),
        (&["mis", "grid"], "grid: expected ROWSxCOLUMNS, found nothing"),
        (&["generate", "rmat", "-o", "x.mtx"], "rmat: expected a scale from 0 to 31, found nothing"),
        (&["mis", "rmat:40:8"], "rmat:40:8: expected at most 4294967295 vertices"),
        (&["info", "rgg:x"], "rgg:x: expected a scale from 0 to 31, found `x`"),
        (&["generate", "grid:2x2"], "the following required arguments were not provided: --out <FILE>"),
        (&["generate", "file.mtx", "-o", "x.mtx"], "file.mtx: expected one of grid:"),
        (&["generate", "grid:2x2", "-o", "none/x.mtx"], "--out none/x.mtx: "),
        (&["mis", "grid:2x2", "--out", "none/set"], "--out none/set: "),
        // the output is checked before anything else
        (&["color", "none.mtx", "--out", "none/set"], "--out none/set: "),
        (&["generate", "none:3", "-o", "none/x.mtx"], "--out none/x.mtx: "),
        (&["mis", "grid:2x2", "--out", "."], "--out .: "),
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with(told), "{arguments:?}: {line}");
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "nothing is left behind");
    for (filter, told) in [("a=b=c", ""), ("debgu", "expected error, warn, info, debug, trace or off")] {
        let mut command = Command::new(file());
        let out = command.args(["mis", "grid:2x2"]).env("VXM_LOG", filter).output().unwrap();
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).starts_with(&format!("vxm: VXM_LOG={filter}: {told}")));
    }
    for asked in ["--help", "--version"] {
        let out = run(folder, &[asked]);
        assert!(out.status.success() && out.stderr.is_empty() && !out.stdout.is_empty());
    }
}

/// The last line of a run, its digest, with the tuning table changed by `tune`.
fn tuned_digest(tune: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(file());
    command.env_remove("VXM_LOG").env("VXM_TUNE", tune).args(arguments).args(["--device", "cpu", "--threads", "2"]);
    let out = command.output().unwrap();
    assert!(out.status.success(), "{tune}: {}", text(&out.stderr));
    text(&out.stdout).lines().last().unwrap().to_owned()
}

#[test]
fn no_number_of_the_tuning_table_changes_an_answer() {
    for arguments in [&["mis", "rmat:10:8", "--priority", "degree"][..], &["color", "grid:40x50"]] {
        let expected = tuned_digest("", arguments);
        for name in vxm::backend::tuning::Tuning::NAMES {
            for value in [1, 1 << 28] {
                assert_eq!(tuned_digest(&format!("{name}={value}"), arguments), expected, "{name}={value}");
            }
        }
    }
}

#[test]
fn a_tuning_that_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (setting, told) in [
        ("unroll", "expected name=value, found \"unroll\"\n"),
        ("unroll=many", "unroll: expected an integer from 1 to 268435456, found \"many\"\n"),
        ("least_chunk=0", "least_chunk: expected an integer from 1 to 268435456, found \"0\"\n"),
        ("speed=9", "expected one of sparse_vector, "),
    ] {
        let mut command = Command::new(file());
        let command = command.current_dir(folder.path()).env_remove("VXM_LOG").env("VXM_TUNE", setting);
        let out = command.args(["mis", "grid:2x2"]).output().unwrap();
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).ends_with('\n') && text(&out.stderr).starts_with(&format!("vxm: VXM_TUNE: {told}")));
    }
    // several at once
    let arguments = ["mis", "rmat:10:8", "--priority", "degree"];
    let several = "sequential=16,loop_sample=2,longest_run=1,least_chunk=1,prefilter_row=1,prefetch_rows=268435456,cache_chunk=1,build_rows=1";
    assert_eq!(tuned_digest(several, &arguments), tuned_digest("", &arguments));
}

#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_not_there_is_refused() {
    use crate::harness::shell;
    let folder = tempfile::tempdir().unwrap();
    // 240 MiB of text, as 60 members of a gzip stream
    fs::write(folder.path().join("long.gz"), gzip("1 2\n".repeat(1 << 20).as_bytes()).repeat(60)).unwrap();
    for (limit, command, told) in [
        (400_000, "mis rmat:23:8 --device cpu", "vxm: rmat:23:8: needs "),
        // the graph fits, but what the algorithm takes beside it does not
        (
            400_000,
            "mis rmat:18:8 --priority resolve --format tiles --device cpu",
            "vxm: rmat:18:8: mis by resolve: needs ",
        ),
        (600_000, "info long.gz", "vxm: long.gz:"),
        (600_000, "info /dev/stdin", "vxm: /dev/stdin:"),
    ] {
        let out = shell(folder.path(), &format!("ulimit -v {limit}; yes '1 2' | $VXM {command} --threads 2"));
        let told_all = text(&out.stderr);
        let line = told_all.lines().find(|line| line.starts_with(told) && line.ends_with(" are available"));
        assert!(line.is_some_and(|line| line.contains(" of memory, ")), "{command}: {told_all}");
        assert_eq!(out.status.code(), Some(2), "{command}");
    }
    let fits = shell(folder.path(), "ulimit -v 400000; $VXM color rmat:18:8 --threads 2 --device cpu");
    assert!(fits.status.success(), "{}", text(&fits.stderr));
    // a little less address space in each run: an answer, or one line, and never an end without a word
    let shortly = (0..16).map(|k| 260_000 - 8000 * k).map(|limit| {
        let script =
            format!("ulimit -c 0; ulimit -v {limit}; exec $VXM triangles rmat:15:8 --threads 2 --device cpu -q");
        (limit, shell(folder.path(), &script))
    });
    let starts = |out: &Output| !text(&out.stderr).contains("error while loading shared libraries");
    let ends: Vec<_> = shortly
        .filter(|(_, out)| starts(out))
        .map(|(limit, out)| {
            let told = text(&out.stderr);
            let is_clear = told.lines().count() == 1 && told.starts_with("vxm: ");
            assert!(out.status.success() || out.status.code() == Some(2) && is_clear, "ulimit -v {limit}: {told}");
            out.status.success()
        })
        .collect();
    assert!(ends.contains(&true) && ends.contains(&false), "{ends:?}");
}
