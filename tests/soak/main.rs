//! Many calls of all kinds in one process, by several threads at once: equal calls have equal answers, and nothing grows.
//!
//! `cargo test` makes some hundreds of calls. `VXM_TEST_SOAK=10000` makes so many, and `VXM_TEST_DEVICE=cuda` makes half of them on a GPU.

mod calls;
#[path = "../common/counting.rs"]
mod counting;
mod refused;

use calls::{CALLS, SPECS, VARIANTS, inputs};
use rayon::ThreadPoolBuilder;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use vxm::backend::cuda::Gpu;
use vxm::prelude::*;

/// Held by a test that looks at what the process holds.
static ALONE: Mutex<()> = Mutex::new(());

/// What the process holds.
#[derive(Debug)]
struct Held {
    bytes: usize,
    on_device: u64,
    /// Threads and open files: zeros where the system doesn't say.
    threads: usize,
    files: usize,
}

impl Held {
    fn now() -> Self {
        let count = |folder: &str| std::fs::read_dir(folder).map_or(0, |entries| entries.count());
        let (bytes, threads, files) = (counting::now(), count("/proc/self/task"), count("/proc/self/fd"));
        let on_device = device().map_or(0, |_| Gpu::open(0).unwrap().used());
        Self { bytes, on_device, threads, files }
    }
}

/// The GPU that `VXM_TEST_DEVICE` names.
fn device() -> Option<Device> {
    let name = std::env::var("VXM_TEST_DEVICE").ok().filter(|name| name.starts_with("cuda"));
    name.map(|name| name.parse().unwrap())
}

#[test]
fn nothing_grows_and_answers_are_the_same() {
    let calls: usize = std::env::var("VXM_TEST_SOAK").ok().map_or(600, |count| count.parse().unwrap());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut inputs, folder) = (inputs(), tempfile::tempdir().unwrap());
    // the same graphs again, on a GPU
    if let Some(device) = device() {
        let there: Vec<_> = inputs.iter().map(|input| input.to(device).unwrap()).collect();
        inputs.extend(there);
    }
    let pools: Vec<_> = [1, 2, 4].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).into();
    // the first answer of each call, on whatever device and on however many threads
    let first: Mutex<HashMap<(usize, usize, usize), String>> = Mutex::default();
    let once = |call: usize, input: usize, variant: usize| {
        let ((name, run), input_name) = (CALLS[call], inputs[input].name);
        let found = run(&inputs[input], folder.path(), variant);
        let found = found.unwrap_or_else(|error| panic!("{name} of {input_name}, variant {variant}: {error}"));
        let mut first = first.lock().unwrap();
        let before = first.entry((call, input % SPECS.len(), variant)).or_insert_with(|| found.clone());
        assert_eq!(*before, found, "{name} of {input_name}, variant {variant}, input {input}");
    };
    let next = AtomicUsize::new(0);
    // a call's number says what it does, in an order that mixes them
    let one = |number: usize| {
        let draw = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let draw = ((draw ^ draw >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) as usize;
        let pool = &pools[draw / 128 % pools.len()];
        pool.install(|| once(number % CALLS.len(), draw % inputs.len(), draw / 16 % VARIANTS));
    };
    let many = |until: usize| {
        let share = || {
            while let number = next.fetch_add(1, Relaxed)
                && number < until
            {
                one(number);
            }
        };
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(share))));
        next.store(until, Relaxed);
    };
    // all calls on all inputs: what is kept with a matrix, and programs, are made
    for call in 0..CALLS.len() {
        (0..inputs.len() * VARIANTS).for_each(|k| once(call, k / VARIANTS, k % VARIANTS));
    }
    many(calls / 4);
    let before = Held::now();
    many(calls);
    let after = Held::now();
    println!("{calls} calls, from the first quarter on: {before:?}, then {after:?}");
    // some views of a matrix are made late: which calls need one varies with what threads do at the same time
    let most = 64 << 10;
    assert!(after.bytes < before.bytes + most, "{calls} calls: {before:?}, then {after:?}");
    assert!(after.on_device < before.on_device + most as u64, "{calls} calls: {before:?}, then {after:?}");
    assert!(after.threads <= before.threads && after.files <= before.files, "{before:?}, then {after:?}");
}
