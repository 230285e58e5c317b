//! Devices that exist or don't, and what they need: a compiler, a cache, memory.

use crate::harness::{file, json, refused, run, run_with, text};
use serde_json::{Value, json as value};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The GPU, if `VXM_TEST_DEVICE=cuda` asks for one; otherwise `None`, and a line that says the test is skipped.
fn gpu() -> Option<vxm_kernels::Gpu> {
    match std::env::var("VXM_TEST_DEVICE") {
        Ok(device) if device.starts_with("cuda") => Some(vxm_kernels::Gpu::open(0).unwrap()),
        _ => {
            println!("skipped: VXM_TEST_DEVICE=cuda asks for a GPU");
            None
        }
    }
}

/// Covers machines without a driver, and drivers that show no device. The user sees the same kind of error.
#[test]
fn a_device_that_is_not_there_is_said_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = [("CUDA_VISIBLE_DEVICES", Path::new("-1"))];
    for (device, number) in
        [("cuda", "0"), ("cuda:0", "0"), ("cuda:7", "7"), ("cuda:18446744073709551615", &u64::MAX.to_string())]
    {
        for command in ["mis", "color"] {
            let out = run_with(folder.path(), &hidden, &[command, "none.mtx", "--device", device]);
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
    // without an explicit device, the CPU is used
    for arguments in [&["mis", "grid:9x9", "--json"][..], &["mis", "grid:9x9", "--json", "--device", "auto"]] {
        let out = run_with(folder.path(), &hidden, arguments);
        assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((&told["device"], &told["valid"]), (&value!("cpu"), &value!(true)));
    }
}

/// Without an explicit device, a GPU is used if there is one.
#[test]
fn a_device_that_is_there_is_taken() {
    if gpu().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["mis", "grid:9x9"][..], &["mis", "grid:9x9", "--device", "auto"]] {
        let told = json(folder.path(), arguments);
        assert_eq!((&told["device"], &told["valid"]), (&value!("cuda:0"), &value!(true)));
    }
}

/// Unusable cache folders: a file, a folder that cannot be created, one that others may write to, and damaged entries.
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
        let out = run_with(folder.path(), &[("VXM_CACHE_DIR", place)], &["doctor"]);
        let line = text(&out.stdout).lines().find(|line| line.starts_with("kernel cache: ")).unwrap();
        assert!(line.contains("not writable"), "{}: {line}", place.display());
        assert!(matches!(out.status.code(), Some(0 | 1)) && out.stderr.is_empty(), "{}", text(&out.stderr));
    }
    if gpu().is_some() {
        let expected = json(folder.path(), &["mis", "grid:30x40", "--device", "cpu"])["digest"].clone();
        let digest = |cache: &Path| {
            let arguments = ["mis", "grid:30x40", "--device", "cuda", "--json"];
            let out = run_with(folder.path(), &[("VXM_CACHE_DIR", cache)], &arguments);
            assert!(out.status.success() && out.stderr.is_empty(), "{}: {}", cache.display(), text(&out.stderr));
            serde_json::from_slice::<Value>(&out.stdout).unwrap()["digest"].clone()
        };
        places.iter().for_each(|place| assert_eq!(digest(place), expected, "{}", place.display()));
        // a first run fills the cache; then each entry is truncated or changed
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

/// The environment names no location of NVRTC; it may still be in a standard location of the toolkit.
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
    // an empty home: no packages of the user, and an empty cache
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

/// A graph that would not fit is refused before the run. If not even the driver's own data fit, that is an error, not a
/// panic.
#[test]
fn a_graph_larger_than_a_device_is_refused() {
    let Some(gpu) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let on_gpu = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').chain(["--device", "cuda:0"]).collect();
        refused(folder.path(), &arguments)
    };
    // the device's own tables take half a GiB of the memory that is left
    let left = |bytes: u64| gpu.alloc((gpu.memory().unwrap().0 - bytes) as usize).unwrap();
    let held = left(5 << 28);
    let line = on_gpu("color grid:4096x4096 --method hash");
    assert!(line.starts_with("grid:4096x4096: color by hash on cuda:0: needs "), "{line}");
    assert!(line.contains(" GiB of memory, "), "{line}");
    assert!(line.ends_with("MiB are available") || line.ends_with("GiB are available"), "{line}");
    drop(held);
    gpu.trim().unwrap();
    let held = left(50 << 20);
    let line = on_gpu("mis grid:2x2");
    println!("{line}");
    assert!(line.to_lowercase().contains("memory"), "{line}");
    drop(held);
    gpu.trim().unwrap();
    let out = run(folder.path(), &["mis", "grid:2x2", "--device", "cuda:0"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
}
