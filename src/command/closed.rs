//! Whether the process began with standard output closed. Rust opens /dev/null in its place before `main`, where every answer would
//! get lost and nobody be told, so it is looked at earlier.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::io::ErrorKind;

static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader calls each function that this section lists once, before `main`, and passes what a C function may leave
// unread. `look` asks the system for a file's attributes and stores a flag; neither needs what Rust sets up before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let missing = |path| std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    CLOSED.store(missing("/proc/self/fd/1") && !missing("/proc/self/fd"), Relaxed);
}

/// Whether it did.
pub fn at_start() -> bool {
    CLOSED.load(Relaxed)
}
