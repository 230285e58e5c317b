//! Running tests in processes of their own.

use std::process::{Child, Command, Stdio};

/// A command that runs only the test `name` of this test binary, with `CHILD` set to `what`.
pub fn child(name: &str, what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env("CHILD", what).stdin(Stdio::null());
    command
}

/// The `what` that [`child`] was given for this process; `None` if this process was not started by it.
pub fn task() -> Option<String> {
    std::env::var("CHILD").ok()
}

/// Waits for all processes and returns what each printed. Panics with the output of one that failed.
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
