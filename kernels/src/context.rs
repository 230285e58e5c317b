//! An opened GPU: its context, its one stream, its memory pool, and the calls that every other file makes through them.
//!
//! [`Gpu`] is defined here so that the files above can add their verbs to it without importing each other: allocation in `memory.rs`,
//! copies in `transfer.rs`, readbacks in `readback.rs`, programs in `gpu.rs`, and so on. State that those files keep for each device is
//! stored by its type ([`Gpu::attached`]), and a dry run hands in what answers in the device's stead ([`StandIn`]).

use std::any::Any;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUmemPool_attribute as PoolAttribute, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::block_cache::BlockCache;
use crate::compile::Cubin;
use crate::error::{Error, Result, check, driver_text};

/// A handle of one GPU. The GPU is opened once a process; cloning gives another handle of the same.
///
/// All work runs on one stream, in the order of the calls: allocations, copies, launches. A call that returns data to the host waits for
/// that data; the other calls do not wait, unless their documentation says so.
#[derive(Clone)]
pub struct Gpu {
    context: Arc<Context>,
}

/// What is shared by all handles of a GPU.
pub(crate) struct Context {
    facts: Facts,
    device: Device,
    /// Kernels launched so far.
    pub(crate) launches: AtomicU64,
    /// Copies to the host made so far.
    pub(crate) readbacks: AtomicU64,
    /// The name of the kernel launched last, for the message when one fails.
    last_kernel: Mutex<Option<Arc<str>>>,
    /// The error that made the device unusable, once there is one.
    lost: OnceLock<Error>,
    /// The most bytes that buffers may take; `u64::MAX` for no limit.
    pub(crate) budget: AtomicU64,
    /// The most rows of a matrix since the budget was set.
    pub(crate) most_rows: AtomicU64,
    /// The bytes a row that a caller needs for vectors.
    pub(crate) vector_room: AtomicU64,
    /// The bytes of page-locked buffers.
    pub(crate) on_host: AtomicU64,
    /// Freed device memory kept for reuse, and the count of bytes in use.
    pub(crate) block_cache: Mutex<BlockCache>,
    /// The address of the grid barrier's memory, once a kernel has needed it.
    pub(crate) grid_barrier: OnceLock<u64>,
    /// State of the files above, one value of each type.
    attached: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// The properties of a device, read when it is opened.
pub(crate) struct Facts {
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    /// The compute capability.
    pub(crate) arch: (u32, u32),
    pub(crate) multiprocessors: u32,
    /// The most bytes of shared memory of a block.
    pub(crate) shared_limit: u32,
    /// Bytes of device memory.
    pub(crate) total: u64,
    /// Where the device is on this machine's buses: domain, bus, slot.
    pub(crate) bus: [u32; 3],
}

/// What answers the calls.
enum Device {
    Driver(Handles),
    StandIn(Box<dyn StandIn>),
}

/// The driver's handles of an open device. A device stays open until the process ends, so they are valid for as long as a [`Gpu`]
/// exists.
#[derive(Clone, Copy)]
pub(crate) struct Handles {
    pub(crate) context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    pub(crate) pool: sys::CUmemoryPool,
}

// SAFETY: the driver's functions may be called with these handles from any thread, also concurrently
unsafe impl Send for Handles {}
// SAFETY: as above
unsafe impl Sync for Handles {}

/// What a dry run puts in a device's place: it counts memory, answers reads, and compiles programs.
pub(crate) trait StandIn: Send + Sync {
    /// A fresh address for `bytes` bytes, or `None` if all buffers together would then exceed `total` bytes.
    fn alloc(&self, bytes: u64, total: u64) -> Option<u64>;
    /// A fresh address for `bytes` bytes that aren't the device's.
    fn address(&self, bytes: u64) -> u64;
    /// Counts `bytes` as free again.
    fn free(&self, bytes: u64);
    /// The bytes that buffers take.
    fn used(&self) -> u64;
    /// The most bytes that buffers took at once since the previous call.
    fn take_peak(&self) -> u64;
    /// Fills the bytes that a copy to the host asks for.
    fn answer(&self, bytes: &mut [MaybeUninit<u8>]);
    /// Makes the next `count` reads of 8 bytes return 1.
    fn answer_ones(&self, count: u64);
    /// Compiles a program for each architecture, and returns the code for the first one.
    fn compile(&self, source: &str, options: &[&str]) -> Result<Cubin>;
    /// The architectures, and how many programs were compiled for each.
    fn programs(&self) -> Vec<(String, u64)>;
}

/// A device's context, which is this thread's current one while the guard lives. If the context of another device was, it is again afterwards:
/// another library may rely on it.
struct Current(Option<sys::CUcontext>);

impl Current {
    /// Makes a context current, which is retained.
    fn make(context: sys::CUcontext) -> Result<Self, DriverError> {
        let before = driver::ctx::get_current()?;
        if before == Some(context) {
            return Ok(Self(None));
        }
        // SAFETY: the caller retained it
        unsafe { driver::ctx::set_current(context) }.map(|()| Self(before))
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: it was current; a library that has destroyed it meanwhile gets an error, as from any call
            let _ = unsafe { driver::ctx::set_current(before) };
        }
    }
}

impl core::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.context.device {
            Device::Driver(_) => write!(f, "Gpu({}: {})", self.ordinal(), self.name()),
            Device::StandIn(_) => write!(f, "Gpu({})", self.name()),
        }
    }
}

impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
    }
}

impl Eq for Gpu {}

impl Gpu {
    /// The device's number, from 0; `usize::MAX` for a dry run.
    pub fn ordinal(&self) -> usize {
        self.context.facts.ordinal
    }

    /// The device's name, as the driver reports it.
    pub fn name(&self) -> &str {
        &self.context.facts.name
    }

    /// The compute capability: (9, 0) for `sm_90`.
    pub fn arch(&self) -> (u32, u32) {
        self.context.facts.arch
    }

    /// The number of multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.context.facts.multiprocessors
    }

    /// The most bytes of shared memory that a block can have, static and dynamic together.
    pub fn shared_limit(&self) -> u32 {
        self.context.facts.shared_limit
    }

    /// Where the device is on this machine's buses: domain, bus and slot. Processes that number devices differently see the same.
    pub fn bus(&self) -> [u32; 3] {
        self.context.facts.bus
    }

    /// Waits for all work submitted to the device so far.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a kernel failed.
    pub fn synchronize(&self) -> Result<()> {
        let stream = self.handles().stream;
        // SAFETY: the stream is open
        self.call("cuStreamSynchronize", || unsafe { driver::stream::synchronize(stream) })
    }

    /// Waits for all work of this process on the device so far, also for that of other libraries.
    ///
    /// # Errors
    ///
    /// As for [`synchronize`](Self::synchronize).
    pub fn synchronize_all(&self) -> Result<()> {
        self.call("cuCtxSynchronize", driver::ctx::synchronize)
    }

    /// Opens device `ordinal`, which must exist.
    pub(crate) fn open_device(ordinal: usize) -> Result<Self> {
        let device = check("cuDeviceGet", driver::device::get(ordinal as i32))?;
        let facts = Facts {
            ordinal,
            name: check("cuDeviceGetName", driver::device::get_name(device))?,
            arch: capability(device)?,
            multiprocessors: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_limit: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            total: total_memory(device)?,
            bus: bus(device)?,
        };
        Ok(Self::new(facts, Device::Driver(Handles::open(ordinal, device)?)))
    }

    /// A device with the properties `facts`. `stand_in` answers its calls.
    pub(crate) fn with_stand_in(facts: Facts, stand_in: Box<dyn StandIn>) -> Self {
        Self::new(facts, Device::StandIn(stand_in))
    }

    fn new(facts: Facts, device: Device) -> Self {
        let context = Context {
            facts,
            device,
            launches: AtomicU64::new(0),
            readbacks: AtomicU64::new(0),
            last_kernel: Mutex::new(None),
            lost: OnceLock::new(),
            budget: AtomicU64::new(u64::MAX),
            most_rows: AtomicU64::new(0),
            vector_room: AtomicU64::new(0),
            on_host: AtomicU64::new(0),
            block_cache: Mutex::new(BlockCache::new()),
            grid_barrier: OnceLock::new(),
            attached: Mutex::new(Vec::new()),
        };
        Self { context: Arc::new(context) }
    }

    /// What all handles of this device share.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's handles; null in a dry run, where no call reaches the driver.
    pub(crate) fn handles(&self) -> Handles {
        match &self.context.device {
            Device::Driver(handles) => *handles,
            Device::StandIn(_) => Handles::NONE,
        }
    }

    /// What answers in the device's stead, if this is a dry run.
    pub(crate) fn stand_in(&self) -> Option<&dyn StandIn> {
        match &self.context.device {
            Device::Driver(_) => None,
            Device::StandIn(stand_in) => Some(stand_in.as_ref()),
        }
    }

    /// The device's bytes of memory.
    pub(crate) fn total(&self) -> u64 {
        self.context.facts.total
    }

    /// This device's value of type `T`, made by the first call. It is kept as long as the device.
    pub(crate) fn attached<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut attached = lock(&self.context.attached);
        if let Some(value) = attached.iter().find_map(|value| value.clone().downcast().ok()) {
            return value;
        }
        let value = Arc::<T>::default();
        attached.push(value.clone());
        value
    }

    /// Counts a launch, and remembers the kernel's name for error messages.
    pub(crate) fn count_launch(&self, kernel: &Arc<str>) {
        self.context.launches.fetch_add(1, Ordering::Relaxed);
        *lock(&self.context.last_kernel) = Some(kernel.clone());
    }

    /// Counts a copy to the host.
    pub(crate) fn count_readback(&self) {
        self.context.readbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a kernel has failed, after which every call fails.
    pub(crate) fn is_lost(&self) -> bool {
        self.context.lost.get().is_some()
    }

    /// Fails if a kernel has failed before.
    pub(crate) fn check_lost(&self) -> Result<()> {
        self.context.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Makes the device's context current, and runs `call`, which calls the driver function `name`. If the context of another device was current,
    /// it is again afterwards. In a dry run nothing is called, and the default value is returned.
    pub(crate) fn call<T: Default>(
        &self,
        name: &'static str,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T> {
        match &self.context.device {
            Device::Driver(handles) => self.call_driver(*handles, name, call),
            Device::StandIn(_) => Ok(T::default()),
        }
    }

    fn call_driver<T>(
        &self,
        handles: Handles,
        name: &'static str,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T> {
        self.check_lost()?;
        let called = Current::make(handles.context).and_then(|_current| call());
        called.map_err(|error| self.failed(name, error))
    }

    /// The error for a failed call. If the driver will fail every later call too, the error is remembered as [`Error::Lost`].
    fn failed(&self, call: &'static str, error: DriverError) -> Error {
        let what = driver_text(error);
        if !is_sticky(error.0) {
            return Error::Driver { call, what };
        }
        let kernel = lock(&self.context.last_kernel).as_ref().map_or("none".to_owned(), |name| format!("`{name}`"));
        let lost = Error::Lost { device: self.ordinal(), call, what, kernel };
        self.context.lost.get_or_init(|| lost).clone()
    }
}

impl Handles {
    /// The handles of a dry run, which are passed to no call.
    const NONE: Self =
        Self { context: core::ptr::null_mut(), stream: core::ptr::null_mut(), pool: core::ptr::null_mut() };

    /// Opens all three, or none.
    fn open(ordinal: usize, device: sys::CUdevice) -> Result<Self> {
        // SAFETY: the device exists
        let context = check("cuDevicePrimaryCtxRetain", unsafe { driver::primary_ctx::retain(device) })?;
        Self::in_context(ordinal, context).inspect_err(|_| {
            // SAFETY: retained above, and nothing else holds it
            let _ = unsafe { driver::primary_ctx::release(device) };
        })
    }

    fn in_context(ordinal: usize, context: sys::CUcontext) -> Result<Self> {
        let _current = check("cuCtxSetCurrent", Current::make(context))?;
        let pool = Self::pool(ordinal)?;
        match check("cuStreamCreate", driver::stream::create(driver::stream::StreamKind::NonBlocking)) {
            Ok(stream) => Ok(Self { context, stream, pool }),
            Err(error) => {
                // SAFETY: made above, and nothing was allocated from it
                let _ = unsafe { driver::mem_pool::destroy(pool) };
                Err(error)
            }
        }
    }

    /// A pool of this crate's own that keeps freed memory until it is trimmed. The device's default pool keeps its settings, which other
    /// libraries rely on.
    fn pool(ordinal: usize) -> Result<sys::CUmemoryPool> {
        // SAFETY: a struct of integers, pointers and enumerations that have a variant of value 0
        let mut properties: sys::CUmemPoolProps = unsafe { core::mem::zeroed() };
        properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = ordinal as i32;
        // SAFETY: the properties are valid
        let pool = check("cuMemPoolCreate", unsafe { driver::mem_pool::create(&properties) })?;
        let mut threshold = u64::MAX;
        let (attribute, at) = (PoolAttribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut threshold).cast());
        // SAFETY: made above; the threshold is 64 bits
        check("cuMemPoolSetAttribute", unsafe { driver::mem_pool::set_attribute(pool, attribute, at) })?;
        Ok(pool)
    }
}

/// A device's compute capability.
fn capability(device: sys::CUdevice) -> Result<(u32, u32)> {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major, minor))
}

/// Where a device is on this machine's buses.
fn bus(device: sys::CUdevice) -> Result<[u32; 3]> {
    Ok([
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
    ])
}

/// The bytes of memory that a device has.
fn total_memory(device: sys::CUdevice) -> Result<u64> {
    // SAFETY: the device exists
    Ok(check("cuDeviceTotalMem", unsafe { driver::device::total_mem(device) })? as u64)
}

fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<u32> {
    // SAFETY: the device exists
    Ok(check("cuDeviceGetAttribute", unsafe { driver::device::get_attribute(device, attribute) })?.unsigned_abs())
}

/// Whether the driver fails every call after this error.
fn is_sticky(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    )
}

/// Locks `mutex`, also if a holder panicked: holders leave the value consistent at every point where they may panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
