//! Programs on a device, their kernels, and launching them.

use std::ffi::{CString, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::compile::Cubin;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, lock};
use crate::rehearsal;

/// Bytes of dynamic shared memory that a kernel has without asking.
const USUAL_SHARED: u32 = 48 << 10;

/// The most blocks along y and z.
const MOST_BLOCKS_YZ: u32 = 65535;

/// A compiled program on a device. Found by [`Gpu::program`]; its device keeps it until the process ends.
#[derive(Debug)]
pub struct Program {
    gpu: Gpu,
    code: Code,
    cached: bool,
    /// Those that were asked for: few.
    kernels: Mutex<Vec<Kernel>>,
}

/// What kernels are found in.
#[derive(Debug)]
enum Code {
    Loaded(Handle<sys::CUmodule>),
    Rehearsed(Cubin),
}

/// A kernel of a program; cloning gives another handle of the same.
#[derive(Debug, Clone)]
pub struct Kernel {
    shared: Arc<KernelData>,
}

/// Shapes of blocks of which a kernel remembers how many run at once.
const SHAPES: usize = 8;

#[derive(Debug)]
struct KernelData {
    gpu: Gpu,
    name: Arc<str>,
    function: Handle<sys::CUfunction>,
    parameters: usize,
    registers: u32,
    shared: u32,
    local: u32,
    max_threads: u32,
    /// The dynamic shared memory that it may be launched with.
    dynamic: AtomicU32,
    /// How many blocks of so many threads and bytes run on a multiprocessor, as was asked last: of up to [`SHAPES`].
    occupancy: Mutex<Vec<((u32, u32), u32)>>,
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y and z. If one is 0, nothing is launched.
    pub grid: (u32, u32, u32),
    /// Threads of a block along x, y and z.
    pub block: (u32, u32, u32),
    /// Bytes of dynamic shared memory for each block.
    pub shared: u32,
    /// Whether all blocks must run at once, so that the grid can wait for itself.
    pub cooperative: bool,
}

/// A module or a function of the driver. Never unloaded, because the device keeps its programs.
#[derive(Debug, Clone, Copy)]
struct Handle<T>(T);

// SAFETY: the driver's functions may be called with these handles from any thread, at once too
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above
unsafe impl<T> Sync for Handle<T> {}

impl<T> Default for Handle<*mut T> {
    /// A rehearsal's, which reaches no call.
    fn default() -> Self {
        Self(core::ptr::null_mut())
    }
}

impl Launch {
    /// `blocks` blocks of `threads` threads in a line, without dynamic shared memory.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: (blocks, 1, 1), block: (threads, 1, 1), shared: 0, cooperative: false }
    }

    /// The same with `bytes` of dynamic shared memory for each block.
    pub fn with_shared(self, bytes: u32) -> Self {
        Self { shared: bytes, ..self }
    }

    /// The same with all blocks running at once.
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    fn threads(&self) -> u64 {
        [self.block.0, self.block.1, self.block.2].into_iter().fold(1, |all, n| u64::saturating_mul(all, n.into()))
    }
}

impl Program {
    /// Loads machine code onto `gpu`.
    pub(crate) fn load(gpu: &Gpu, cubin: &Cubin) -> Result<Self> {
        let code: *const c_void = cubin.code().as_ptr().cast();
        // SAFETY: an ELF file that NVRTC wrote, whole, which says its own length
        let load = || unsafe { driver::module::load_data(code) }.map(Handle);
        let module = gpu.call_or_trim("cuModuleLoadData", cubin.code().len(), load)?;
        Ok(Self::of(gpu, Code::Loaded(module), cubin.cached()))
    }

    /// The program of a rehearsal, which is loaded nowhere.
    pub(crate) fn rehearsed(gpu: &Gpu, cubin: Cubin) -> Self {
        let cached = cubin.cached();
        Self::of(gpu, Code::Rehearsed(cubin), cached)
    }

    fn of(gpu: &Gpu, code: Code, cached: bool) -> Self {
        Self { gpu: gpu.clone(), code, cached, kernels: Mutex::default() }
    }

    /// Whether the code came from the cache on disk.
    pub fn cached(&self) -> bool {
        self.cached
    }

    /// The kernel of that name, declared `extern "C" __global__`.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`]; [`Error::Launch`] if it has more than one parameter.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.iter().find(|kernel| kernel.name() == name) {
            return Ok(kernel.clone());
        }
        let kernel = Kernel { shared: Arc::new(self.find(name)?) };
        kernels.push(kernel.clone());
        Ok(kernel)
    }

    fn find(&self, name: &str) -> Result<KernelData> {
        match &self.code {
            Code::Loaded(module) => self.find_loaded(name, *module),
            Code::Rehearsed(cubin) => self.find_rehearsed(name, cubin),
        }
    }

    fn find_loaded(&self, name: &str, module: Handle<sys::CUmodule>) -> Result<KernelData> {
        let missing = || Error::NoKernel { name: name.to_owned() };
        if name.is_empty() {
            // the driver calls that an invalid value
            return Err(missing());
        }
        let symbol = CString::new(name).map_err(|_| missing())?;
        let found = self.gpu.call("cuModuleGetFunction", || {
            // SAFETY: the module is loaded
            match unsafe { driver::module::get_function(module.0, symbol) } {
                Err(DriverError(CUresult::CUDA_ERROR_NOT_FOUND)) => Ok(None),
                answer => answer.map(Some),
            }
        })?;
        let function = found.ok_or_else(missing)?;
        let gpu = &self.gpu;
        Ok(KernelData {
            gpu: gpu.clone(),
            name: name.into(),
            parameters: parameters(gpu, name, function)?,
            registers: attribute(gpu, function, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared: attribute(gpu, function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: attribute(gpu, function, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads: attribute(gpu, function, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            function: Handle(function),
            dynamic: AtomicU32::new(USUAL_SHARED),
            occupancy: Mutex::default(),
        })
    }

    fn find_rehearsed(&self, name: &str, cubin: &Cubin) -> Result<KernelData> {
        let entry = rehearsal::entry(cubin.code(), name).ok_or_else(|| Error::NoKernel { name: name.to_owned() })?;
        if entry.parameters > 1 {
            return Err(several_parameters(name));
        }
        Ok(KernelData {
            gpu: self.gpu.clone(),
            name: name.into(),
            parameters: entry.bytes,
            registers: 0,
            shared: 0,
            local: 0,
            max_threads: entry.threads,
            function: Handle::default(),
            dynamic: AtomicU32::new(USUAL_SHARED),
            occupancy: Mutex::default(),
        })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.shared.gpu
    }

    /// Registers of each thread.
    pub fn registers(&self) -> u32 {
        self.shared.registers
    }

    /// Bytes of static shared memory of each block.
    pub fn shared(&self) -> u32 {
        self.shared.shared
    }

    /// Bytes of local memory (spilled registers, arrays) of each thread.
    pub fn local(&self) -> u32 {
        self.shared.local
    }

    /// The most threads that a block may have.
    pub fn max_threads(&self) -> u32 {
        self.shared.max_threads
    }

    /// How many blocks of `threads` threads and `shared` bytes of dynamic shared memory run on a multiprocessor at once.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if no block of that size can run, [`Error::Lost`] or [`Error::Driver`].
    pub fn occupancy(&self, threads: u32, shared: u32) -> Result<u32> {
        self.check(&Launch::linear(1, threads).with_shared(shared))?;
        if let Some(blocks) = self.known_occupancy((threads, shared)) {
            return Ok(blocks);
        }
        // what a rehearsal finds
        let mut blocks: c_int = 1;
        let call = || {
            let (function, threads, shared) = (self.shared.function.0, threads as c_int, shared as usize);
            // SAFETY: the function is loaded, and the count valid for writing
            unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared) }.result()
        };
        self.gpu().call("cuOccupancyMaxActiveBlocksPerMultiprocessor", call)?;
        let mut known = lock(&self.shared.occupancy);
        if known.len() == SHAPES {
            known.remove(0);
        }
        known.push(((threads, shared), blocks.unsigned_abs()));
        Ok(blocks.unsigned_abs())
    }

    /// The same, if it was asked before; it is remembered longest of what was asked last.
    fn known_occupancy(&self, shape: (u32, u32)) -> Option<u32> {
        let mut known = lock(&self.shared.occupancy);
        let at = known.iter().position(|(asked, _)| *asked == shape)?;
        known[at..].rotate_left(1);
        known.last().map(|(_, blocks)| *blocks)
    }

    /// How many such blocks run on the whole device at once: the largest grid for a cooperative launch.
    ///
    /// # Errors
    ///
    /// As for [`occupancy`](Self::occupancy).
    pub fn resident(&self, threads: u32, shared: u32) -> Result<u32> {
        Ok(self.occupancy(threads, shared)?.saturating_mul(self.gpu().multiprocessors()))
    }

    /// Starts the kernel after all that was asked of the device before, and does not wait for it.
    ///
    /// `params` are the bytes of its one parameter, or none if it has none.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if the kernel cannot run so, [`Error::Lost`] if one launched before failed. What this one does wrong is
    /// reported by a later call.
    ///
    /// # Safety
    ///
    /// `params` is, padding included, what the kernel's parameter is in C++; all addresses in it lie in buffers of this device that
    /// live until the kernel is launched (they are freed after it has run), and the kernel reads and writes only within them.
    pub unsafe fn launch(&self, launch: Launch, params: &[u8]) -> Result<()> {
        self.check(&launch)?;
        if params.len() != self.shared.parameters {
            let why = format!("its parameter has {} bytes, but {} were given", self.shared.parameters, params.len());
            return Err(Error::launch(self.name(), why));
        }
        if [launch.grid.0, launch.grid.1, launch.grid.2].contains(&0) {
            return Ok(());
        }
        let mut aligned = Aligned::new(params);
        // a kernel's code and its threads' local memory are made ready at its first launch
        let local = self.local() as usize * launch.threads() as usize * self.gpu().multiprocessors() as usize;
        // SAFETY: the caller vouches for what the parameter says, `check` for the rest
        self.gpu().call_or_trim("cuLaunchKernel", local, || unsafe { self.start(&launch, aligned.address()) })?;
        self.gpu().count_launch(&self.shared.name);
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`launch`](Self::launch), with `parameter` at the parameter's bytes.
    unsafe fn start(&self, launch: &Launch, parameter: *mut c_void) -> Result<(), DriverError> {
        let (function, stream) = (self.shared.function.0, self.gpu().handles().stream);
        let parameters = &mut [parameter];
        let start = if launch.cooperative { driver::launch_cooperative_kernel } else { driver::launch_kernel };
        // SAFETY: the function is loaded, the stream open, and the driver copies the parameter before it returns
        unsafe { start(function, launch.grid, launch.block, launch.shared, stream, parameters) }
    }

    /// Refuses what the driver would refuse without a reason, and lets the kernel have the shared memory it needs.
    fn check(&self, launch: &Launch) -> Result<()> {
        let refuse = |why: String| Err(Error::launch(self.name(), why));
        let (threads, most) = (launch.threads(), u64::from(self.max_threads()));
        if threads == 0 || threads > most {
            return refuse(format!("a block of {threads} threads, but it has 1 to {most}"));
        }
        let (x, y, z) = launch.grid;
        if x > i32::MAX as u32 || y.max(z) > MOST_BLOCKS_YZ {
            return refuse(format!("a grid of {x} x {y} x {z} blocks is too large"));
        }
        let limit = self.gpu().shared_limit().saturating_sub(self.shared());
        if launch.shared > limit {
            return refuse(format!("{} bytes of dynamic shared memory, but there are {limit}", launch.shared));
        }
        self.allow_shared(launch.shared)
    }

    /// Lets the kernel be launched with that much dynamic shared memory; the driver wants to be told of more than usual.
    fn allow_shared(&self, bytes: u32) -> Result<()> {
        if bytes <= self.shared.dynamic.load(Ordering::Acquire) {
            return Ok(());
        }
        let (function, most) = (self.shared.function.0, self.gpu().shared_limit().saturating_sub(self.shared()));
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // as much as there is: another thread may be asking for more or less at the same time
        // SAFETY: the function is loaded
        let set = || unsafe { driver::function::set_function_attribute(function, attribute, most as c_int) };
        self.gpu().call("cuFuncSetAttribute", set)?;
        self.shared.dynamic.store(most, Ordering::Release);
        Ok(())
    }
}

/// A parameter's bytes at an address fit for any type.
struct Aligned {
    few: [u128; 32],
    many: Vec<u128>,
}

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let words = bytes.chunks(size_of::<u128>()).map(|chunk| {
            let mut word = [0; size_of::<u128>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        let mut aligned = Self { few: [0; 32], many: Vec::new() };
        if words.len() <= aligned.few.len() {
            aligned.few.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        } else {
            aligned.many = words.collect();
        }
        aligned
    }

    fn address(&mut self) -> *mut c_void {
        if self.many.is_empty() { self.few.as_mut_ptr().cast() } else { self.many.as_mut_ptr().cast() }
    }
}

/// The bytes of a kernel's one parameter, 0 if it has none.
fn parameters(gpu: &Gpu, name: &str, function: sys::CUfunction) -> Result<usize> {
    let size = |index| {
        let (mut offset, mut size) = (0, 0);
        gpu.call("cuFuncGetParamInfo", || {
            // SAFETY: the function is loaded, and both are valid for writing
            match unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) }.result() {
                Ok(()) => Ok(Some(size)),
                Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => Ok(None),
                Err(error) => Err(error),
            }
        })
    };
    match (size(0)?, size(1)?) {
        (_, Some(_)) => Err(several_parameters(name)),
        (first, None) => Ok(first.unwrap_or(0)),
    }
}

fn several_parameters(name: &str) -> Error {
    Error::launch(name, "it has several parameters: make them one struct")
}

fn attribute(gpu: &Gpu, function: sys::CUfunction, attribute: Attribute) -> Result<u32> {
    // SAFETY: the function is loaded
    let get = || unsafe { driver::function::get_function_attribute(function, attribute) };
    Ok(gpu.call("cuFuncGetAttribute", get)?.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_aligned_copies() {
        for len in [0, 1, 16, 511, 512, 513, 4096] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut aligned = Aligned::new(&bytes);
            let at = aligned.address().cast::<u8>();
            assert_eq!(at as usize % 16, 0);
            // SAFETY: the copy has at least as many bytes
            assert_eq!(unsafe { core::slice::from_raw_parts(at, len) }, bytes);
        }
    }
}
