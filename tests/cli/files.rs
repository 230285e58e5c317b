//! Files and streams: detected by content, and written completely or not at all.

use crate::harness::{answer, file, gzip, numbers, refused, run, shell, text};
use std::fs;
use std::process::{Command, Output, Stdio};

#[test]
#[cfg(unix)]
fn a_pipe_is_read_as_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let digest = |out: Output| text(&out.stdout).lines().last().unwrap_or_default().to_owned();
    run(folder.path(), &["generate", "rmat:9:4", "-o", "g.mtx"]);
    let plain = digest(run(folder.path(), &["mis", "g.mtx", "--device", "cpu"]));
    fs::write(at("g.gz"), gzip(&fs::read(at("g.mtx")).unwrap())).unwrap();
    for file in ["g.mtx", "g.gz"] {
        assert_eq!(
            digest(shell(folder.path(), &format!("cat {file} | $VXM mis /dev/stdin --device cpu"))),
            plain,
            "{file}"
        );
    }
    // a pipe can't be read a second time with wider vertex numbers
    fs::write(at("far.txt"), "1 2\n5000000000 2\n").unwrap();
    let out = shell(folder.path(), "cat far.txt | $VXM info /dev/stdin");
    assert!(text(&out.stdout).starts_with("stdin: 3 vertices, 2 edges"), "{}", text(&out.stdout));
}

#[test]
#[cfg(unix)]
fn a_graph_is_not_written_over_by_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let graph = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n";
    fs::write(at("g.mtx"), graph).unwrap();
    fs::hard_link(at("g.mtx"), at("hard.mtx")).unwrap();
    std::os::unix::fs::symlink("g.mtx", at("soft.mtx")).unwrap();
    for command in [
        "$VXM components g.mtx --device cpu --out hard.mtx",
        "$VXM bfs g.mtx --device cpu --source 1 --out soft.mtx",
        "$VXM mis /dev/stdin --device cpu --out hard.mtx < g.mtx",
        "$VXM color g.mtx --device cpu --out /dev/stdout >> hard.mtx",
    ] {
        let out = shell(folder.path(), command);
        assert_eq!(out.status.code(), Some(2), "{command}: {}", text(&out.stderr));
        assert_eq!(fs::read_to_string(at("g.mtx")).unwrap(), graph, "{command}");
    }
}

#[test]
#[cfg(unix)]
fn what_is_written_to_stays_what_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mis = |out: &str| answer(folder.path(), &["mis", "grid:3x3", "--out", out]);
    let size = mis("set")["size"].as_u64().unwrap() as usize;
    assert_eq!(numbers(&at("set")).len(), size);
    // through a link, the file behind it is written
    fs::write(at("kept"), "old\n".repeat(100)).unwrap();
    std::os::unix::fs::symlink("kept", at("link")).unwrap();
    mis("link");
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(fs::read(at("kept")).unwrap(), fs::read(at("set")).unwrap());
    // a file with a second name, and one with unusual permissions
    fs::hard_link(at("kept"), at("also")).unwrap();
    fs::set_permissions(at("kept"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(at("also"), "old\n".repeat(100)).unwrap();
    mis("also");
    assert_eq!(fs::read(at("kept")).unwrap(), fs::read(at("set")).unwrap());
    fs::set_permissions(at("set"), fs::Permissions::from_mode(0o604)).unwrap();
    mis("set");
    assert_eq!(fs::metadata(at("set")).unwrap().permissions().mode() & 0o777, 0o604);
    mis(&"n".repeat(250));
    // the answer and the report both go to standard output, one after the other
    let script = "mis() { $VXM mis grid:3x3 --device cpu --out /dev/stdout; }; mis > all; mis | cat > piped";
    let out = shell(folder.path(), script);
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
    // nor is standard output, of a command that writes no file
    let script = format!("ulimit -f 0; exec {} components grid:3x4 --device cpu > told", file());
    let out = Command::new("bash").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    assert!(text(&out.stderr).starts_with("vxm: standard output: File too large"), "{}", text(&out.stderr));
}

/// Pages of a mapped file are gone once the file is cut short, and reading one is a signal.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_cut_short_during_a_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let made = run(folder.path(), &["generate", "rmat:14:8", "-o", "g.vxm"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let mut command = Command::new(file());
    let command =
        command.current_dir(folder.path()).args(["pagerank", "g.vxm", "--rounds", "1000000", "--device", "cpu"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
    // what is read of the file is in memory while it is read, and mapped from then on
    let maps = format!("/proc/{}/maps", child.id());
    while !fs::read_to_string(&maps).unwrap_or_default().contains("g.vxm") {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the file was mapped");
        pause();
    }
    (0..10).for_each(|_| pause());
    fs::OpenOptions::new().write(true).open(folder.path().join("g.vxm")).unwrap().set_len(4096).unwrap();
    for tries in 0.. {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        if tries == 1000 {
            child.kill().unwrap();
        }
        pause();
    }
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    let told = "vxm: g.vxm: a file was cut short while it was read, or a disk is full";
    assert!(text(&out.stderr).lines().any(|line| line == told), "{}", text(&out.stderr));
}

#[test]
fn a_number_of_threads_in_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let with = |count: &str| {
        let mut command = Command::new(file());
        let command = command.current_dir(folder.path()).env("RAYON_NUM_THREADS", count);
        command.args(["components", "grid:3x4", "--device", "cpu"]).output().unwrap()
    };
    for count in ["junk", "-1", "100000", "1.5"] {
        let out = with(count);
        let told = format!("vxm: RAYON_NUM_THREADS={count}: expected a number from 1 to 1024\n");
        assert_eq!((out.status.code(), text(&out.stderr)), (Some(2), &told[..]));
    }
    assert!(text(&with("3").stdout).contains(", threads 3\n"));
    assert!(["", "0"].into_iter().all(|count| with(count).status.success()));
}

#[test]
#[cfg(unix)]
fn an_end_by_a_signal_leaves_no_litter() {
    use std::os::unix::process::ExitStatusExt;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    // signals that the test's parent ignores, as nohup does, are ignored by the command too
    let heeded = |(_, number): &(&str, i32)| ignored >> (number - 1) & 1 == 0;
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)].into_iter().filter(heeded) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("g.mtx.gz"), "older").unwrap();
        // SIGQUIT writes a core file, where that is allowed
        let script = format!("ulimit -c 0; exec {} generate rmat:17:32 -o g.mtx.gz", file());
        let mut command = Command::new("bash");
        let command = command.current_dir(folder.path()).args(["-c", &script]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        // the file made to test the folder is removed at once; a file that has grown is the one being written
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
    let run = |name: &std::ffi::OsStr| {
        Command::new(file()).current_dir(folder.path()).args(["mis", "--device", "cpu"]).arg(name).output().unwrap()
    };
    let out = run(name);
    assert!(out.status.success() && text(&out.stdout).starts_with("caf\\xe9: 2 vertices, 1 edge\n"));
    let out = run(std::ffi::OsStr::from_bytes(b"\xff\xe9.txt"));
    assert!(out.status.code() == Some(2) && text(&out.stderr).starts_with("vxm: \\xff\\xe9.txt: No such file"));
}
