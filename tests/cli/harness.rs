//! Runs the command as a process, and helps with its files.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// The path of the command. If the tests were built on another machine, nextest says where it has unpacked it.
pub fn file() -> String {
    std::env::var("NEXTEST_BIN_EXE_vxm").unwrap_or_else(|_| env!("CARGO_BIN_EXE_vxm").to_owned())
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(file()).current_dir(folder).args(arguments).env_remove("VXM_LOG").output().unwrap()
}

/// Runs the command with additional environment variables.
pub fn run_with(folder: &Path, environment: &[(&str, &Path)], arguments: &[&str]) -> Output {
    let mut command = Command::new(file());
    command
        .current_dir(folder)
        .args(arguments)
        .env_remove("VXM_LOG")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// Runs a shell script in `folder`. `$VXM` is the path of the command.
#[cfg(unix)]
pub fn shell(folder: &Path, script: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder).env("VXM", file()).env_remove("VXM_LOG");
    shell.output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs the command with `--json`. It must succeed; returns its JSON object.
pub fn json(folder: &Path, arguments: &[&str]) -> Value {
    let out = run(folder, &[arguments, &["--json"]].concat());
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", text(&out.stderr));
    let told = text(&out.stdout);
    assert_eq!(told.lines().count(), 1, "{told}");
    serde_json::from_str(told).unwrap()
}

/// Like [`json`], for an algorithm on the CPU, for tests that are not about devices.
pub fn answer(folder: &Path, arguments: &[&str]) -> Value {
    json(folder, &[arguments, &["--device", "cpu"]].concat())
}

/// Runs the command, which must refuse its input. Returns the error line without `vxm: `.
pub fn refused(folder: &Path, arguments: &[&str]) -> String {
    let out = run(folder, arguments);
    let told = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.starts_with("vxm: ") && told.ends_with('\n') && told.lines().count() == 1, "{arguments:?}: {told}");
    assert!(out.stdout.is_empty(), "{arguments:?}");
    told["vxm: ".len()..told.len() - 1].to_owned()
}

pub const HEADER: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n";

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(bytes).unwrap();
    zipped.finish().unwrap()
}

/// The numbers in each line of a file.
pub fn numbers(file: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}
