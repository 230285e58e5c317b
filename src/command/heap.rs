//! One heap for all threads, where the address space is limited.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The variable by which glibc limits the number of heaps. It is read when a process starts.
const HEAPS: &str = "MALLOC_ARENA_MAX";

/// The address space that has to be allowed for each thread, in bytes: glibc reserves up to half of it for the heap of a thread.
const EACH: u64 = 256 << 20;

/// Starts the process anew, with one heap for all threads, if `ulimit -v` leaves too little for a heap of each. glibc would take a page for each small
/// allocation of a thread without a heap, and run out of address space by that alone.
pub fn share() {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    if env::var_os(HEAPS).is_some() || address_space(&limits).is_none_or(|bytes| bytes / threads >= EACH) {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) {
        // if this fails, the process goes on as it is
        let _ = Command::new(program).arg0(name).args(arguments).env(HEAPS, "1").exec();
    }
}

/// The limit on the address space that `/proc/self/limits` tells, in bytes; `None` if there is none.
fn address_space(limits: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limits = |soft: &str| {
            format!("Max data size   unlimited   unlimited   bytes\nMax address space   {soft}   unlimited   bytes\n")
        };
        assert_eq!(address_space(&limits("129024000")), Some(129_024_000));
        assert_eq!(address_space(&limits("unlimited")), None);
        assert_eq!(address_space(""), None);
    }
}
