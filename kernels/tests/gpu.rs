//! A device's memory, programs and launches. Tests are skipped where there is no device; `VXM_TEST_DEVICE=cuda` makes them fail there.

#[path = "common/children.rs"]
mod children;
#[path = "common/nvrtc.rs"]
mod nvrtc;

use std::process::Stdio;
use std::time::Instant;

use half::{bf16, f16};
use vxm_kernels::{Buffer, Error, Gpu, Kernel, Launch, Library, Pod, compile};

/// The first device, if there is one; otherwise prints why not. `VXM_TEST_DEVICE=cuda` makes that a failure.
fn first() -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(std::env::var_os("VXM_TEST_DEVICE").is_none_or(|value| value != "cuda"), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

const SOURCE: &str = r#"
#include <cooperative_groups.h>
struct Params { unsigned int* data; unsigned int count; };
extern "C" __global__ void twice(const __grid_constant__ Params p) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) p.data[i] *= 2;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void two(unsigned int* a, unsigned int b) { *a = b; }
extern "C" __global__ void large(const __grid_constant__ Params p) {
    extern __shared__ unsigned int words[];
    for (unsigned int i = threadIdx.x; i < p.count; i += blockDim.x) words[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *p.data = words[p.count - 1];
}
extern "C" __global__ void gather(const __grid_constant__ Params p) {
    if (threadIdx.x == 0) atomicAdd(p.data, 1u);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && *(volatile unsigned int*)p.data != gridDim.x) atomicAdd(p.data + 1, 1u);
}
struct Big { unsigned int* data; unsigned int filler[1000]; };
extern "C" __global__ void big(const __grid_constant__ Big p) { *p.data = p.filler[999]; }
extern "C" __global__ void wild(const __grid_constant__ Params p) { *(unsigned int*)0x10 = p.count; }
"#;

fn kernel(gpu: &Gpu, name: &str) -> Kernel {
    gpu.program(SOURCE, &[]).unwrap().kernel(name).unwrap()
}

fn params(data: &Buffer, count: u32) -> Vec<u8> {
    [data.address(), count.into()].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The source that the tests below launch compiles, which is tested without a device.
#[test]
fn the_source_compiles() {
    if nvrtc::is_there() {
        for arch in ["sm_80", "sm_90", "sm_100"] {
            assert!(!compile(SOURCE, arch, &[]).unwrap().code().is_empty());
        }
    }
}

#[test]
fn devices() {
    let Some(gpu) = first() else { return };
    println!("{gpu:?}, {:?}, {} multiprocessors, {:?}", gpu.arch(), gpu.multiprocessors(), gpu.memory().unwrap());
    assert_eq!((gpu.ordinal(), Gpu::open(0).unwrap() == gpu), (0, true));
    assert!(gpu.arch().0 >= 7 && gpu.multiprocessors() > 0 && !gpu.name().is_empty());
    let (free, total) = gpu.memory().unwrap();
    assert!(0 < free && free <= total);
    let count = Gpu::count().unwrap();
    for asked in [count, usize::MAX] {
        assert_eq!(Gpu::open(asked).unwrap_err(), Error::NoSuchDevice { asked, count });
    }
}

#[test]
fn bytes_go_there_and_back() {
    let Some(gpu) = first() else { return };
    let bytes: Vec<u8> = (0..100_003u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut buffer = gpu.upload(&bytes).unwrap();
    let mut back = vec![0; bytes.len()];
    buffer.download_into(&mut back).unwrap();
    assert_eq!(back, bytes);
    buffer.download_range(5, &mut back[..10]).unwrap();
    assert_eq!(back[..10], bytes[5..15]);
    assert_eq!(buffer.copy().unwrap().download::<u8>(bytes.len()).unwrap(), bytes);
    buffer.upload_at(3, &[9, 9]).unwrap();
    assert_eq!(buffer.download::<u8>(6).unwrap(), [bytes[0], bytes[1], bytes[2], 9, 9, bytes[5]]);
    let mut other = gpu.zeroed(20).unwrap();
    other.copy_range(2, &buffer, 3, 2).unwrap();
    assert_eq!(other.download::<u8>(5).unwrap(), [0, 0, 9, 9, 0]);
    other.fill(1).unwrap();
    other.copy_from(&buffer, 1).unwrap();
    assert_eq!(other.download::<u8>(2).unwrap(), [bytes[0], 1]);
    buffer.fill_zero().unwrap();
    assert!(buffer.download::<u8>(bytes.len()).unwrap().iter().all(|&byte| byte == 0));
}

fn round_trip<T: Pod + PartialEq + core::fmt::Debug>(gpu: &Gpu, values: &[T]) {
    let buffer = gpu.upload_slice(values).unwrap();
    assert_eq!(buffer.len(), size_of_val(values));
    assert_eq!(buffer.download::<T>(values.len()).unwrap(), values);
    assert_eq!(buffer.download_at::<T>(1, values.len() - 1).unwrap(), values[1..]);
}

#[test]
fn values_go_there_and_back() {
    let Some(gpu) = first() else { return };
    round_trip(&gpu, &[(), ()]);
    round_trip(&gpu, &[true, false, true]);
    round_trip(&gpu, &[i8::MIN, -1, i8::MAX]);
    round_trip(&gpu, &[u64::MAX, 0, 1]);
    round_trip(&gpu, &[f16::MAX, f16::NEG_INFINITY]);
    round_trip(&gpu, &[bf16::MAX, bf16::NEG_INFINITY]);
    round_trip(&gpu, &[f32::MIN_POSITIVE, -0.0]);
    round_trip(&gpu, &[f64::EPSILON, f64::INFINITY]);
    // bytes on a device may be no valid `bool`
    assert_eq!(gpu.upload(&[0, 1, 2, 255]).unwrap().download::<bool>(4).unwrap(), [false, true, true, true]);
}

#[test]
fn nothing_is_a_buffer_too() {
    let Some(gpu) = first() else { return };
    let mut empty = gpu.alloc(0).unwrap();
    assert_eq!((empty.address(), empty.len(), empty.is_empty()), (0, 0, true));
    empty.fill_zero().unwrap();
    empty.download_into(&mut []).unwrap();
    let copy = empty.copy().unwrap();
    empty.copy_from(&copy, 0).unwrap();
    assert!(gpu.upload(&[]).unwrap().is_empty() && gpu.zeroed(0).unwrap().is_empty());
    assert_eq!(empty.download::<()>(5).unwrap(), [(); 5]);
}

#[test]
fn copies_stay_within() {
    let Some(gpu) = first() else { return };
    let (mut buffer, small) = (gpu.zeroed(8).unwrap(), gpu.zeroed(4).unwrap());
    let range = |first, end, len| Error::Range { first, end, len };
    assert_eq!(buffer.download_into(&mut [0; 9]).unwrap_err(), range(0, 9, 8));
    assert_eq!(buffer.download_range(usize::MAX, &mut [0]).unwrap_err(), range(usize::MAX, usize::MAX, 8));
    assert_eq!(buffer.upload_at(7, &[0; 2]).unwrap_err(), range(7, 9, 8));
    assert_eq!(buffer.copy_from(&small, 5).unwrap_err(), range(0, 5, 4));
    assert_eq!(buffer.copy_range(6, &small, 0, 4).unwrap_err(), range(6, 10, 8));
    assert!(buffer.download::<u64>(usize::MAX).is_err());
    assert!(buffer.download_at::<u32>(1, 2).is_err());
}

/// A kernel writes to host memory, and later launches do not wait for the host to read it.
#[test]
fn mailboxes_hold_what_kernels_write() {
    let Some(gpu) = first() else { return };
    let (large, twice) = (kernel(&gpu, "large"), kernel(&gpu, "twice"));
    let data = gpu.upload_slice(&[21u32; 100]).unwrap();
    let readbacks: Vec<_> = (1..=5)
        .map(|count| {
            let mailbox = gpu.mailbox(4).unwrap();
            let (launch, words) = (Launch::linear(1, 32).with_shared(4 * count), [mailbox.address(), count.into()]);
            let parameter: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            // SAFETY: the parameter is `Params`, and the mailbox has the 4 bytes that the kernel writes
            unsafe { large.launch(launch, &parameter) }.unwrap();
            let readback = mailbox.begin().unwrap();
            // SAFETY: the parameter is `Params`, and the buffer has 100 words
            unsafe { twice.launch(Launch::linear(1, 128), &params(&data, 100)) }.unwrap();
            readback
        })
        .collect();
    let words: Vec<u32> = readbacks.into_iter().map(|readback| readback.wait::<u32>().unwrap()[0]).collect();
    assert_eq!((words, data.download::<u32>(1).unwrap()), (vec![0, 1, 2, 3, 4], vec![21 << 5]));
    // one that is never waited for, and one that no kernel is given
    drop(gpu.mailbox(128).unwrap().begin().unwrap());
    drop(gpu.mailbox(0).unwrap());
    assert_eq!(gpu.mailbox(129).unwrap_err(), Error::Range { first: 0, end: 129, len: 128 });
}

#[test]
fn parts_of_a_buffer_are_filled() {
    let Some(gpu) = first() else { return };
    let mut buffer = gpu.zeroed(8).unwrap();
    buffer.fill_at(2, 3, 7).unwrap();
    buffer.fill_at(8, 0, 9).unwrap();
    assert_eq!(buffer.download::<u8>(8).unwrap(), [0, 0, 7, 7, 7, 0, 0, 0]);
    assert_eq!(buffer.fill_at(7, 2, 0).unwrap_err(), Error::Range { first: 7, end: 9, len: 8 });
}

#[test]
fn readbacks_that_do_not_fit_are_refused() {
    if !nvrtc::is_there() {
        return;
    }
    let gpu = Gpu::dry_run(&["sm_90"]).unwrap();
    let buffer = gpu.alloc(200).unwrap();
    assert_eq!(buffer.begin_download(129).unwrap_err(), Error::Range { first: 0, end: 129, len: 128 });
    assert_eq!(gpu.alloc(100).unwrap().begin_download(101).unwrap_err(), Error::Range { first: 0, end: 101, len: 100 });
    // as many whole values as fit
    assert_eq!(buffer.begin_download(15).unwrap().wait::<u32>().unwrap(), [0; 3]);
    assert_eq!(gpu.mailbox(129).unwrap_err(), Error::Range { first: 0, end: 129, len: 128 });
    assert_eq!(gpu.mailbox(15).unwrap().begin().unwrap().wait::<u32>().unwrap(), [0; 3]);
}

/// A dry run counts the memory that buffers take, and runs out of it.
#[test]
fn a_dry_runs_memory_ends_too() {
    if !nvrtc::is_there() {
        return;
    }
    let gpu = Gpu::dry_run(&["sm_90"]).unwrap();
    let (_, total) = gpu.memory().unwrap();
    let half = total / 2;
    let held = gpu.alloc(half as usize).unwrap();
    assert_eq!((gpu.used(), gpu.memory().unwrap()), (half, (total - half, total)));
    for asked in [half + 1, u64::MAX] {
        let expected = Error::DeviceMemory { asked, used: half, free: total - half, total, budget: false };
        assert_eq!(gpu.alloc(asked as usize).unwrap_err(), expected);
    }
    drop((gpu.alloc(1000).unwrap(), held));
    let peaks = (gpu.take_peak(), gpu.take_peak());
    assert_eq!((gpu.used(), peaks), (0, (half + 1000, 0)));
    assert!(gpu.alloc(total as usize).is_ok());
}

/// One buffer is held, and then more is asked for than the device has besides. This fails whatever other processes do meanwhile.
#[test]
fn too_much_memory_is_an_error_and_no_more() {
    let Some(gpu) = first() else { return };
    let (free, total) = gpu.memory().unwrap();
    let held = gpu.zeroed((free / 4) as usize).unwrap();
    let beyond = (total - held.len() as u64 / 2) as usize;
    for asked in [beyond, total as usize, 1 << 50, usize::MAX] {
        let error = gpu.alloc(asked).unwrap_err();
        let Error::DeviceMemory { asked: said, used, free, total: all, .. } = error else { panic!("{asked}: {error}") };
        println!("{error}");
        assert_eq!((said, all), (asked as u64, total));
        assert!(used >= held.len() as u64 && used <= total, "{error}");
        assert!(free > 0 && free <= total - held.len() as u64, "{error}");
        let text = error.to_string();
        let words = ["out of device memory: ", " asked for, ", " free of ", " needed with the ", " in use"];
        assert!(words.iter().all(|words| text.contains(words)), "{text}");
        // the device still works
        let (twice, data) = (kernel(&gpu, "twice"), gpu.upload_slice(&[1u32, 2, 3]).unwrap());
        // SAFETY: the parameter of `twice`, and the buffer has as many elements
        unsafe { twice.launch(Launch::linear(1, 32), &params(&data, 3)).unwrap() };
        assert_eq!(data.download::<u32>(3).unwrap(), [2, 4, 6]);
    }
    assert_eq!(held.download::<u8>(4).unwrap(), [0; 4]);
}

/// Allocating up to three fifths of the free memory five times succeeds only if freed memory is reused.
#[test]
fn memory_is_reused_and_given_back() {
    let Some(gpu) = first() else { return };
    let bytes = (gpu.memory().unwrap().0 / 5 * 3) as usize;
    for part in [1, 3, 2, 5, 1] {
        let mut buffer = gpu.alloc(bytes / part).unwrap();
        buffer.fill(1).unwrap();
    }
    gpu.synchronize().unwrap();
    // the pool keeps most of the device's memory, which counts as free
    assert!(gpu.memory().unwrap().0 >= bytes as u64, "{:?}, {bytes} in the pool", gpu.memory());
    gpu.trim().unwrap();
    assert!(gpu.take_peak() >= bytes as u64);
    if std::env::var("VXM_SPARE_MEMORY").is_ok_and(|value| value == "0") {
        return println!("the block cache is off: VXM_SPARE_MEMORY=0");
    }
    // the block freed last is reused, and not for a larger buffer; tried often, since another test may trim meanwhile
    let is_reused = || {
        let [first, second] = [gpu.alloc(77_000).unwrap(), gpu.alloc(77_000).unwrap()];
        let addresses = [first.address(), second.address()];
        drop((first, second));
        let larger = gpu.alloc(77_313).unwrap();
        let [again, and_again] = [gpu.alloc(76_900).unwrap(), gpu.alloc(77_312).unwrap()];
        assert!([again.address(), and_again.address()].iter().all(|&address| address != larger.address()));
        [again.address(), and_again.address()] == [addresses[1], addresses[0]]
    };
    assert!((0..100).any(|_| is_reused()));
    let begin = Instant::now();
    let count = 1000;
    (0..count).for_each(|_| drop(gpu.alloc(1 << 20).unwrap()));
    gpu.synchronize().unwrap();
    println!("1 MiB from the pool and back: {:?}", begin.elapsed() / count);
}

#[test]
fn kernels_run() {
    let Some(gpu) = first() else { return };
    let values: Vec<u32> = (0..10_000).collect();
    let data = gpu.upload_slice(&values).unwrap();
    let twice = kernel(&gpu, "twice");
    // SAFETY: the parameter of `twice`, and the buffer has as many elements
    unsafe { twice.launch(Launch::linear(40, 256), &params(&data, 10_000)).unwrap() };
    let expected: Vec<u32> = values.iter().map(|value| 2 * value).collect();
    assert_eq!(data.download::<u32>(values.len()).unwrap(), expected);
    println!("{} registers, {} bytes local, {} threads", twice.registers(), twice.local(), twice.max_threads());
    assert!(twice.registers() > 0 && twice.max_threads() >= 256 && twice.shared() == 0);
    assert!(twice.occupancy(256, 0).unwrap() > 0);
    assert_eq!(twice.resident(256, 0).unwrap(), twice.occupancy(256, 0).unwrap() * gpu.multiprocessors());
    // SAFETY: the kernel has no parameter
    unsafe { kernel(&gpu, "nothing").launch(Launch::linear(1, 1), &[]).unwrap() };
    let big = [&data.address().to_ne_bytes()[..], &[7; 4000]].concat();
    // SAFETY: the parameter of `big`
    unsafe { kernel(&gpu, "big").launch(Launch::linear(1, 1), &big).unwrap() };
    assert_eq!(data.download::<u32>(1).unwrap(), [0x0707_0707]);
}

/// `a b` for a 2 x 3 matrix `a` and a 3 x 4 matrix `b`, and calls that are refused.
#[test]
fn dense_products() {
    let Some(gpu) = first() else { return };
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 2.0, -1.0, 0.0, 1.0, 2.0, -1.0, 1.0, 1.0, 2.0, 0.5]);
    let expected = [4.0, 5.0, 12.0, -1.5, 10.0, 11.0, 30.0, -6.0];
    let (a32, b32) = (gpu.upload_slice(&a.map(|x| x as f32)).unwrap(), gpu.upload_slice(&b.map(|x| x as f32)).unwrap());
    let product = gpu.multiply::<f32>([2, 3, 4], &a32, &b32);
    if let Err(missing) = Library::Cublas.require() {
        assert_eq!(product.unwrap_err(), missing);
        println!("skipped: {missing}");
        return;
    }
    assert_eq!(product.unwrap().download::<f32>(8).unwrap(), expected.map(|x| x as f32));
    let (a, b) = (gpu.upload_slice(&a).unwrap(), gpu.upload_slice(&b).unwrap());
    assert_eq!(gpu.multiply::<f64>([2, 3, 4], &a, &b).unwrap().download::<f64>(8).unwrap(), expected);
    // empty sums, and an empty result
    assert_eq!(gpu.multiply::<f64>([2, 0, 4], &a, &b).unwrap().download::<f64>(8).unwrap(), [0.0; 8]);
    assert!(gpu.multiply::<f64>([0, 3, 4], &a, &b).unwrap().is_empty());
    let short = gpu.multiply::<f64>([3, 3, 4], &a, &b).unwrap_err();
    assert_eq!(short, Error::Range { first: 0, end: 72, len: 48 });
    assert!(matches!(gpu.multiply::<f64>([usize::MAX, 3, 4], &a, &b), Err(Error::Range { .. })));
    let huge = gpu.multiply::<f64>([usize::MAX, 0, 4], &a, &b).unwrap_err();
    assert!(matches!(huge, Error::DeviceMemory { .. }), "{huge}");
    if let Ok(other) = Gpu::dry_run(&["sm_90"]) {
        let elsewhere = gpu.multiply::<f64>([2, 3, 4], &a, &other.zeroed(96).unwrap()).unwrap_err();
        assert!(elsewhere.to_string().ends_with("a factor is on another device"), "{elsewhere}");
    }
    // the speed of a square product, and of a tall and skinny one
    for [m, k, n] in [[4096, 4096, 4096], [1 << 22, 32, 8]] {
        let (a, b) = (gpu.zeroed(m * k * 4).unwrap(), gpu.zeroed(k * n * 4).unwrap());
        drop(gpu.multiply::<f32>([m, k, n], &a, &b).unwrap());
        gpu.synchronize().unwrap();
        let begin = Instant::now();
        (0..10).for_each(|_| drop(gpu.multiply::<f32>([m, k, n], &a, &b).unwrap()));
        gpu.synchronize().unwrap();
        let seconds = begin.elapsed().as_secs_f64() / 10.0;
        let (flops, bytes) = (2.0 * (m * k * n) as f64, 4.0 * (m * k + k * n + m * n) as f64);
        println!("{m} x {k} x {n}: {:.0} GFLOP/s, {:.0} GB/s", flops / seconds / 1e9, bytes / seconds / 1e9);
    }
}

#[test]
fn all_of_shared_memory() {
    let Some(gpu) = first() else { return };
    let (large, data) = (kernel(&gpu, "large"), gpu.zeroed(4).unwrap());
    let bytes = gpu.shared_limit();
    assert_eq!(large.occupancy(128, bytes).unwrap(), 1);
    // SAFETY: the parameter of `large`, which fills the shared memory it is launched with
    unsafe { large.launch(Launch::linear(1, 128).with_shared(bytes), &params(&data, bytes / 4)).unwrap() };
    assert_eq!(data.download::<u32>(1).unwrap(), [bytes / 4 - 1]);
    let error = large.occupancy(128, bytes + 1).unwrap_err();
    assert!(matches!(error, Error::Launch { .. }), "{error}");
}

#[test]
fn a_grid_waits_for_itself() {
    let Some(gpu) = first() else { return };
    let (gather, data) = (kernel(&gpu, "gather"), gpu.zeroed(8).unwrap());
    let blocks = gather.resident(128, 0).unwrap();
    // SAFETY: the parameter of `gather`, which has two words
    unsafe { gather.launch(Launch::linear(blocks, 128).cooperative(), &params(&data, 0)).unwrap() };
    assert_eq!(data.download::<u32>(2).unwrap(), [blocks, 0]);
    // SAFETY: as above
    let error = unsafe { gather.launch(Launch::linear(blocks + 1, 128).cooperative(), &params(&data, 0)) }.unwrap_err();
    assert!(error.to_string().contains("COOPERATIVE_LAUNCH_TOO_LARGE"), "{error}");
    gpu.synchronize().unwrap();
}

#[test]
fn launches_that_cannot_be() {
    let Some(gpu) = first() else { return };
    let (twice, data) = (kernel(&gpu, "twice"), gpu.zeroed(4).unwrap());
    let params = params(&data, 1);
    let grid = |x, y, z| Launch { grid: (x, y, z), ..Launch::linear(1, 1) };
    let block = |x, y, z| Launch { block: (x, y, z), ..Launch::linear(1, 1) };
    // SAFETY: the parameter of `twice`, where it is launched at all
    let launch = |launch, params: &[u8]| unsafe { twice.launch(launch, params) };
    for bad in
        [grid(u32::MAX, 1, 1), grid(1, 65536, 1), block(2048, 1, 1), block(0, 1, 1), block(1 << 16, 1 << 16, 1 << 16)]
    {
        assert!(matches!(launch(bad, &params), Err(Error::Launch { .. })), "{bad:?}");
    }
    for short in [0, 15, 17] {
        let error = launch(Launch::linear(1, 1), &vec![0; short]).unwrap_err();
        assert!(error.to_string().contains("16 bytes"), "{error}");
    }
    launch(grid(0, 1, 1), &params).unwrap();
    let program = gpu.program(SOURCE, &[]).unwrap();
    assert!(matches!(program.kernel("two"), Err(Error::Launch { .. })));
    for name in ["none", "", "a\0b"] {
        assert_eq!(program.kernel(name).unwrap_err(), Error::NoKernel { name: name.to_owned() });
    }
    gpu.synchronize().unwrap();
}

/// Runs in a process of its own, because other tests of this process would be counted too.
#[test]
fn counts_and_times() {
    if children::task().is_none() {
        if first().is_some() {
            println!("{}", alone("counts_and_times", &[]));
        }
        return;
    }
    let gpu = first().unwrap();
    let begin = Instant::now();
    let program = gpu.program(SOURCE, &[]).unwrap();
    println!("program, cached {}: {:?}", program.cached(), begin.elapsed());
    assert!(std::sync::Arc::ptr_eq(&program, &gpu.program(SOURCE, &[]).unwrap()));
    let (twice, data) = (program.kernel("twice").unwrap(), gpu.zeroed(4).unwrap());
    let params = params(&data, 1);
    let begin = Instant::now();
    for _ in 0..1000 {
        // SAFETY: the parameter of `twice`
        unsafe { twice.launch(Launch::linear(1, 32), &params).unwrap() };
    }
    println!("a launch: {:?}", begin.elapsed() / 1000);
    gpu.synchronize().unwrap();
    let begin = Instant::now();
    (0..100).for_each(|_| drop(data.download::<u32>(1).unwrap()));
    println!("a word back: {:?}", begin.elapsed() / 100);
    assert_eq!((gpu.launches(), gpu.readbacks()), (1000, 100));
    drop(data.download::<u32>(0).unwrap());
    assert_eq!(gpu.readbacks(), 100);
}

#[test]
fn threads_share_a_device() {
    let Some(gpu) = first() else { return };
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let gpu = gpu.clone();
            scope.spawn(move || {
                let twice = kernel(&gpu, "twice");
                for round in 0..50u32 {
                    let data = gpu.upload_slice(&[thread, round]).unwrap();
                    // SAFETY: the parameter of `twice`, and the buffer has as many elements
                    unsafe { twice.launch(Launch::linear(1, 32), &params(&data, 2)).unwrap() };
                    assert_eq!(data.download::<u32>(2).unwrap(), [2 * thread, 2 * round]);
                }
            });
        }
    });
}

/// Runs in a process of its own, because a failed kernel makes the device unusable for its whole process.
#[test]
fn a_failed_kernel_is_named() {
    if children::task().is_none() {
        if first().is_some() {
            println!("{}", alone("a_failed_kernel_is_named", &[]));
        }
        return;
    }
    let gpu = first().unwrap();
    let (wild, data) = (kernel(&gpu, "wild"), gpu.zeroed(4).unwrap());
    // SAFETY: deliberately violated: the test is of the failure, in a process that ends after it
    unsafe { wild.launch(Launch::linear(1, 1), &params(&data, 1)).unwrap() };
    let first = data.download::<u32>(1).unwrap_err();
    println!("{first}");
    assert!(matches!(&first, Error::Lost { kernel, .. } if kernel == "`wild`"), "{first}");
    for later in [gpu.synchronize().unwrap_err(), gpu.alloc(8).map(drop).unwrap_err()] {
        assert_eq!(later, first);
    }
}

#[test]
fn hidden_devices_are_not_there() {
    if children::task().is_none() {
        if first().is_some() {
            alone("hidden_devices_are_not_there", &[("CUDA_VISIBLE_DEVICES", "-1")]);
        }
        return;
    }
    assert_eq!(Gpu::count(), Ok(0));
    assert_eq!(Gpu::open(0).unwrap_err().to_string(), "no CUDA device 0: there is none");
}

/// Runs a test in a process of its own, and returns what it prints.
fn alone(name: &str, environment: &[(&str, &str)]) -> String {
    let mut command = children::child(name, "alone");
    command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    children::wait(vec![command.spawn().unwrap()]).remove(0)
}
