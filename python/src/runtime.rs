//! How work runs: on thread pools of this package, with the GIL released, and with signals handled meanwhile.

use crate::errors::{Class, raise};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vxm::backend::Device;
use vxm::{Result, Stop};

/// The greatest number of threads, as on the command line.
const MOST_THREADS: usize = 1024;
/// How long a call waits for its result between two looks at Python's signals.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a call that is stopped waits for its work to end.
const GRACE: Duration = Duration::from_millis(250);

/// The thread pools of a process, by number of threads (0: one for each core) and device. Pools aren't shared by devices: a thread that
/// waits for one call may take up another, and a call's device belongs to its thread.
#[derive(Default)]
struct Pools {
    process: u32,
    /// Whether the process was forked from one that had used this package.
    forked: bool,
    made: HashMap<(usize, Device), Arc<ThreadPool>>,
}

/// Locked only while the GIL is held. So it is free while another thread forks.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// Calls `f` with the pools of this process. The pools of a parent process have no threads after a fork, so they are left alone.
fn with_pools<R>(_py: Python<'_>, f: impl FnOnce(&mut Pools) -> R) -> R {
    let mut held = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let forked = held.as_ref().is_some_and(|pools| pools.forked || pools.process != process);
    if let Some(parents) = held.take_if(|pools| pools.process != process) {
        core::mem::forget(parents);
    }
    f(held.get_or_insert_with(|| Pools { process, forked, made: HashMap::new() }))
}

/// A device by its name.
///
/// A GPU can't be used in a process that was forked from one that has used this package: that is an error.
pub fn device(py: Python<'_>, name: &str) -> PyResult<Device> {
    let forked = with_pools(py, |pools| pools.forked);
    if forked && name == "auto" {
        return Ok(Device::Cpu);
    }
    let device = py.detach(|| name.parse()).map_err(|error| raise(py, &error))?;
    if forked && device != Device::Cpu {
        let what = "expected device `cpu` in a forked process, found";
        let hint = "CUDA doesn't work after a fork: start processes by `spawn`";
        return Err(Class::Device.error(py, format!("{what} `{device}`: {hint}")));
    }
    Ok(device)
}

/// The device, if this process can use it: see [`device`].
pub fn usable(py: Python<'_>, on: Device) -> PyResult<Device> {
    device(py, &on.to_string())
}

/// The devices of this machine.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    let gpus = (0usize..).map(Device::Cuda).take_while(|device| device.check().is_ok());
    let gpus = if device(py, "auto")? == Device::Cpu { Vec::new() } else { gpus.collect() };
    Ok([Device::Cpu].into_iter().chain(gpus).map(|device| device.to_string()).collect())
}

/// The pool for calls with `threads` threads on `device`.
fn pool(py: Python<'_>, threads: Option<usize>, device: Device) -> PyResult<Arc<ThreadPool>> {
    if let Some(wrong) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        let what = format!("threads: expected a number from 1 to {MOST_THREADS}, found {wrong}");
        return Err(Class::Input.error(py, what));
    }
    let key = (threads.unwrap_or(0), device);
    with_pools(py, |pools| {
        if let Some(pool) = pools.made.get(&key) {
            return Ok(pool.clone());
        }
        let made = ThreadPoolBuilder::new().num_threads(key.0).thread_name(|i| format!("vxm-{i}")).build();
        let made = Arc::new(made.map_err(|error| Class::Error.error(py, format!("threads: {error}")))?);
        pools.made.insert(key, made.clone());
        Ok(made)
    })
}

/// Runs `work` on a pool, with the GIL released. It isn't interrupted by signals.
pub fn run_through<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> Result<R> + Send,
) -> PyResult<R> {
    let pool = pool(py, threads, Device::Cpu)?;
    py.detach(|| pool.install(work)).map_err(|error| raise(py, &error))
}

/// Runs `work` on a pool, with the GIL released, and handles Python's signals meanwhile.
///
/// If a handler raises, as that of Ctrl-C does, the work is stopped, and its result is dropped. What can't be stopped at once, such as a loop
/// on a GPU, goes on in the background until it is done.
pub fn run<R: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    device: Device,
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let pool = pool(py, threads, device)?;
    let (sender, receiver) = channel();
    let stop = Stop::new();
    let asked = stop.clone();
    pool.spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| asked.scope(work)));
        // the receiver has left if a signal's handler raised
        let _ = sender.send(done);
    });
    // a receiver is not `Sync`, so it is moved into the wait and back
    let mut receiver = receiver;
    loop {
        let (back, outcome) = py.detach(move || {
            let outcome = receiver.recv_timeout(PATIENCE);
            (receiver, outcome)
        });
        receiver = back;
        match outcome {
            Ok(Ok(result)) => return result.map_err(|error| raise(py, &error)),
            Ok(Err(panic)) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
                return Err(Class::Error.error(py, format!("internal error: {text}")));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    stop.stop();
                    if py.detach(move || receiver.recv_timeout(GRACE)).is_err() {
                        // its threads may never be free again
                        with_pools(py, |pools| pools.made.retain(|_, made| !Arc::ptr_eq(made, &pool)));
                    }
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Class::Error.error(py, "internal error: no result")),
        }
    }
}
