//! Device memory that can't be had. Each allocation of a call fails in turn, alone or with all after it. Then the call works around it or is an
//! error that says so, nothing stays on the device, and the next call is right. Only the emulated driver refuses on demand.

use super::calls::{CALLS, Call, Input, SPECS};
use super::{ALONE, device};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::path::Path;
use std::sync::PoisonError;
use vxm::backend::cuda::Gpu;
use vxm::prelude::*;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The emulated driver's `vxm_emulated_refuse(first, count)`: allocation `first` from now on, counted from 0, and the `count - 1` after it fail.
/// Returns how many failed since the last call.
type Refuse = unsafe extern "C" fn(u64, u64) -> u64;

/// Makes allocations fail; `None`, with a line on stderr, without an emulated driver.
fn refuse() -> Option<impl Fn(u64, u64) -> u64> {
    let (library, name): (&CStr, &CStr) = (c"libcuda.so.1", c"vxm_emulated_refuse");
    const NOW: c_int = 2;
    // SAFETY: both names end with a zero; a library that isn't there, or has no such function, is a null pointer
    let found = unsafe {
        let library = dlopen(library.as_ptr(), NOW);
        if library.is_null() { library } else { dlsym(library, name.as_ptr()) }
    };
    if found.is_null() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: only an emulated driver refuses memory on demand: tests/emulated/run"
        );
        return None;
    }
    // SAFETY: the emulated driver defines the function with this type
    let refuse = unsafe { std::mem::transmute::<*mut c_void, Refuse>(found) };
    // SAFETY: it only sets numbers
    Some(move |first, count| unsafe { refuse(first, count) })
}

/// Calls that do nothing on a device.
const ON_HOST: [&str; 3] = ["files", "bad lines", "ranks"];
/// All allocations from one on.
const ALL: u64 = u64::MAX;

#[test]
fn memory_that_is_refused() {
    let Some(refuse) = refuse() else { return };
    let Some(device) = device() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, gpu) = (tempfile::tempdir().unwrap(), Gpu::open(0).unwrap());
    let (mut errors, mut worked) = (0, 0);
    for (place, &call) in CALLS.iter().enumerate().filter(|(_, call)| !ON_HOST.contains(&call.0)) {
        let name = SPECS[place % SPECS.len()];
        let held = gpu.used();
        let input = Input::new(name).unwrap();
        let run = || run(call, &input, device, folder.path(), place);
        let expected = run().unwrap();
        for count in [1, ALL] {
            // Fibonacci's numbers: a call begins with what is seldom refused later
            let (mut first, mut next) = (0, 1);
            loop {
                let what = format!("{} of {name}, {count} allocations from {first} on", call.0);
                refuse(first, count);
                let found = run();
                let refused = refuse(0, 0);
                match found {
                    Ok(found) => {
                        assert_eq!(found, expected, "{what}");
                        worked += u64::from(refused > 0);
                    }
                    Err(error) => {
                        errors += 1;
                        let text = error.to_string();
                        assert!(refused > 0 && text.contains("memory") && !text.contains('\n'), "{what}: {text}");
                    }
                }
                if refused == 0 {
                    break;
                }
                assert_eq!(run().unwrap(), expected, "{what}: the next call");
                (first, next) = (next, first + next);
            }
        }
        drop(input);
        assert_eq!(gpu.used(), held, "{}: stays on the device", call.0);
    }
    println!("{errors} errors, {worked} calls worked around what was refused");
    assert!(errors > 0 && worked > 0);
}

/// A call with matrices that are new on the device.
fn run(call: Call, input: &Input, device: Device, folder: &Path, place: usize) -> Result<String> {
    call.1(&input.to(device)?, folder, place % 2)
}
