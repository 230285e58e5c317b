//! Compiled programs on a device, their kernels, and how kernels are launched.

use std::ffi::{CString, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::compile::Cubin;
use crate::context::{Gpu, lock};
use crate::dry_run;
use crate::error::{Error, Result};
use crate::trace::measured;

/// Bytes of dynamic shared memory that every kernel may use. For more, an attribute of the kernel must be set.
const USUAL_SHARED: u32 = 48 << 10;

/// The most blocks of a grid along y, and along z.
const MOST_BLOCKS_YZ: u32 = 65535;

/// A compiled program on a device, as [`Gpu::program`] returns it. Its device keeps it until the process ends.
#[derive(Debug)]
pub struct Program {
    gpu: Gpu,
    code: Code,
    cached: bool,
    /// The kernels that were asked for.
    kernels: Mutex<Vec<Kernel>>,
}

/// Where kernels are looked up.
#[derive(Debug)]
enum Code {
    /// Code that the driver has loaded.
    Loaded(Handle<sys::CUmodule>),
    /// The machine code of a dry run.
    Unloaded(Cubin),
}

/// A kernel of a program; cloning gives another handle of the same.
#[derive(Debug, Clone)]
pub struct Kernel {
    shared: Arc<KernelData>,
}

/// How many occupancies a kernel remembers.
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
    /// The most dynamic shared memory that the kernel may be launched with as its attribute stands.
    dynamic: AtomicU32,
    /// Occupancies by threads and dynamic shared memory of a block: at most [`SHAPES`], the most recently used last.
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
    /// Whether all blocks must run at once, which a grid-wide barrier needs.
    pub cooperative: bool,
}

/// A driver handle of a module or a function. It is never unloaded, because the device keeps its programs.
#[derive(Debug, Clone, Copy)]
struct Handle<T>(T);

// SAFETY: the driver's functions may be called with these handles from any thread, also concurrently
unsafe impl<T> Send for Handle<*mut T> {}
// SAFETY: as above
unsafe impl<T> Sync for Handle<*mut T> {}

impl<T> Default for Handle<*mut T> {
    /// The handle of a dry run, which is passed to no call.
    fn default() -> Self {
        Self(core::ptr::null_mut())
    }
}

impl Launch {
    /// A one-dimensional launch of `blocks` blocks of `threads` threads, without dynamic shared memory.
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

    /// The program of a dry run, which is not loaded.
    pub(crate) fn without_device(gpu: &Gpu, cubin: Cubin) -> Self {
        let cached = cubin.cached();
        Self::of(gpu, Code::Unloaded(cubin), cached)
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
            Code::Unloaded(cubin) => self.find_unloaded(name, cubin),
        }
    }

    fn find_loaded(&self, name: &str, module: Handle<sys::CUmodule>) -> Result<KernelData> {
        let missing = || Error::NoKernel { name: name.to_owned() };
        if name.is_empty() {
            // the driver reports it as an invalid value, not as a kernel that is not found
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

    fn find_unloaded(&self, name: &str, cubin: &Cubin) -> Result<KernelData> {
        let entry = dry_run::entry(cubin.code(), name).ok_or_else(|| Error::NoKernel { name: name.to_owned() })?;
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
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The device that the kernel runs on.
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

    /// The number of blocks that run on a multiprocessor at once, each of `threads` threads and `shared` bytes of dynamic shared memory.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if no block of that size can run, [`Error::Lost`] or [`Error::Driver`].
    pub fn occupancy(&self, threads: u32, shared: u32) -> Result<u32> {
        self.check(&Launch::linear(1, threads).with_shared(shared))?;
        if let Some(blocks) = self.known_occupancy((threads, shared)) {
            return Ok(blocks);
        }
        // in a dry run it stays 1
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

    /// The occupancy of a block shape (threads, bytes) if it is remembered. Marks it as the most recently used.
    fn known_occupancy(&self, shape: (u32, u32)) -> Option<u32> {
        let mut known = lock(&self.shared.occupancy);
        let at = known.iter().position(|(of, _)| *of == shape)?;
        known[at..].rotate_left(1);
        known.last().map(|(_, blocks)| *blocks)
    }

    /// The number of such blocks that run on the whole device at once: the largest grid for a cooperative launch.
    ///
    /// # Errors
    ///
    /// As for [`occupancy`](Self::occupancy).
    pub fn resident(&self, threads: u32, shared: u32) -> Result<u32> {
        Ok(self.occupancy(threads, shared)?.saturating_mul(self.gpu().multiprocessors()))
    }

    /// Launches the kernel after all work submitted to the device before, and does not wait for it.
    ///
    /// `params` is the bytes of the kernel's one parameter, empty if it has none.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if the kernel cannot be launched this way, [`Error::Lost`] if a kernel launched before failed. If this kernel
    /// fails, a later call reports it.
    ///
    /// # Safety
    ///
    /// `params` has the layout of the kernel's parameter in C++, padding included. All addresses in it lie in buffers of this device that
    /// live until the launch; a buffer dropped after it is freed after the kernel has run. The kernel reads and writes only within these
    /// buffers.
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
        // the driver allocates local memory for a kernel's threads at its first launch, which may need a trim
        let local = self.local() as usize * launch.threads() as usize * self.gpu().multiprocessors() as usize;
        // SAFETY: the caller vouches for the parameter, and `check` for the rest
        let mut start =
            || self.gpu().call_or_trim("cuLaunchKernel", local, || unsafe { self.start(&launch, aligned.address()) });
        measured(self.gpu(), || self.name().to_owned(), &mut start)?;
        self.gpu().count_launch(&self.shared.name);
        Ok(())
    }

    /// Calls the driver's launch function.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch); `parameter` points to the parameter's bytes.
    unsafe fn start(&self, launch: &Launch, parameter: *mut c_void) -> Result<(), DriverError> {
        let (function, stream) = (self.shared.function.0, self.gpu().handles().stream);
        let parameters = &mut [parameter];
        let start = if launch.cooperative { driver::launch_cooperative_kernel } else { driver::launch_kernel };
        // SAFETY: the function is loaded, the stream open, and the driver copies the parameter before it returns
        unsafe { start(function, launch.grid, launch.block, launch.shared, stream, parameters) }
    }

    /// Refuses launches that the driver would refuse without a reason, and allows the kernel the dynamic shared memory it needs.
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

    /// Allows launches with `bytes` bytes of dynamic shared memory. The driver requires an attribute for more than [`USUAL_SHARED`].
    fn allow_shared(&self, bytes: u32) -> Result<()> {
        if bytes <= self.shared.dynamic.load(Ordering::Acquire) {
            return Ok(());
        }
        let (function, most) = (self.shared.function.0, self.gpu().shared_limit().saturating_sub(self.shared()));
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // set to the maximum, so that concurrent calls for different sizes do not undo each other
        // SAFETY: the function is loaded
        let set = || unsafe { driver::function::set_function_attribute(function, attribute, most as c_int) };
        self.gpu().call("cuFuncSetAttribute", set)?;
        self.shared.dynamic.store(most, Ordering::Release);
        Ok(())
    }
}

/// A copy of a parameter's bytes that is aligned for any type.
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

/// The size of a kernel's one parameter in bytes, 0 if it has none.
fn parameters(gpu: &Gpu, name: &str, function: sys::CUfunction) -> Result<usize> {
    let size = |index| {
        let (mut offset, mut size) = (0, 0);
        gpu.call("cuFuncGetParamInfo", || {
            // SAFETY: the function is loaded, and offset and size are valid for writing
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
