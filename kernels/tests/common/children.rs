//! Tests that run in processes of their own.

use std::process::{Child, Command, Stdio};

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
