//! What the tests share: skipping, and child processes.

#![allow(dead_code)]

use std::process::{Child, Command, Stdio};

/// Whether there is an NVRTC with its headers. Says why not; `VXM_TEST_NVRTC=1` makes that a failure.
pub fn nvrtc() -> bool {
    let missing = match (vxm_kernels::nvrtc_version(), vxm_kernels::headers()) {
        (Ok(_), Some(_)) => return true,
        (Err(error), _) => error.to_string(),
        (Ok(_), None) => "there are no CUDA headers".to_owned(),
    };
    assert!(std::env::var_os("VXM_TEST_NVRTC").is_none_or(|value| value != "1"), "{missing}");
    println!("skipped: {missing}");
    false
}

/// The first device. Says why there is none; `VXM_TEST_DEVICE=cuda` makes that a failure.
pub fn gpu() -> Option<vxm_kernels::Gpu> {
    match vxm_kernels::Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(std::env::var_os("VXM_TEST_DEVICE").is_none_or(|value| value != "cuda"), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

/// A process that runs the test `name` of this file alone, with `CHILD` set to `what`.
pub fn child(name: &str, what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env("CHILD", what).stdin(Stdio::null());
    command
}

/// What a process was started for by [`child`].
pub fn task() -> Option<String> {
    std::env::var("CHILD").ok()
}

/// Waits for all, and fails with what those printed that failed.
pub fn wait(children: Vec<Child>) -> Vec<String> {
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    outputs
        .into_iter()
        .map(|output| {
            let text =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{text}");
            text
        })
        .collect()
}
