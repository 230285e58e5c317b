//! Signal handling: a run that is ended by a signal leaves no unfinished file and no line of progress behind.

use crate::command::REFUSED;
use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, exit, register};
use std::sync::Arc;
use std::time::Duration;
use vxm::{Error, Result};

/// From now on, signals that end the process first remove unfinished files, and then end the process in the usual way. A page of a mapped file that is
/// gone, as once the file is cut short, ends it with an error that names the `input`.
pub fn clean_up_at_the_end(input: String) -> Result<()> {
    // ignoring SIGXFSZ makes a file past its size limit an error of the write, instead of the end of the process
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(|error| Error::io("signals")(error))?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // signals that the caller ignores, as nohup does, stay ignored
    let heeded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|&signal| !is_ignored(&status, signal));
    let heeded = heeded.chain([SIGBUS]);
    // Rust's own handler of the signal, which is for stacks on other systems, would make the default action of it while another thread meets it
    // SAFETY: no thread but this one changes what the process does at the signal.
    unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
    let mut signals = Signals::new(heeded).map_err(Error::io("signals"))?;
    // after the action that tells the thread below
    // SAFETY: the handler only sleeps, which a handler may. The thread that met a page that is gone would meet it again.
    unsafe { register(SIGBUS, || std::thread::sleep(Duration::MAX)) }.map_err(Error::io("signals"))?;
    let wait = move || {
        for signal in signals.forever() {
            vxm::io::abandon_unfinished();
            crate::command::bars::clear();
            if signal == SIGBUS {
                super::say(format!("{input}: a file was cut short while it was read, or a disk is full"));
                exit(REFUSED.into());
            }
            // this fails only for signals without a default action
            let _ = emulate_default_handler(signal);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(Error::io("threads"))?;
    Ok(())
}

/// Whether `/proc/self/status` says that a signal is ignored.
fn is_ignored(status: &str, signal: i32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    set >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000004002\n";
        assert!(is_ignored(status, SIGHUP) && !is_ignored(status, SIGINT) && !is_ignored(status, SIGTERM));
    }
}
