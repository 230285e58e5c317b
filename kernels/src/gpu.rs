//! One GPU: its context, its one stream, its pool of memory.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUmemPool_attribute as PoolAttribute, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::blas::Blas;
use crate::compile::{arch_for, compile_cached, nvrtc_version};
use crate::error::{Error, Result, check, driver_text};
use crate::launch::Program;
use crate::libraries::Library;
use crate::reading::Locked;
use crate::rehearsal::Rehearsal;
use crate::spare::Spare;

/// One GPU, opened once a process and shared: cloning gives another handle of the same.
///
/// Everything happens on one stream, in the order in which it was asked for: allocations, copies, launches. What returns data to the
/// host waits for it; the rest does not wait.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

struct Shared {
    facts: Facts,
    device: Device,
    launches: AtomicU64,
    readbacks: AtomicU64,
    /// The kernel launched last, for the message when one fails.
    last: Mutex<Option<Arc<str>>>,
    /// Why nothing works any more.
    lost: OnceLock<Error>,
    programs: Mutex<HashMap<Source, Slot>>,
    /// cuBLAS, once it was used.
    blas: Mutex<Option<Blas>>,
    /// Page-locked memory that no reading has.
    slots: Mutex<Vec<Locked>>,
    /// Memory that no buffer has.
    spare: Mutex<Spare>,
    /// Where a kernel's blocks meet, once one does.
    board: OnceLock<u64>,
}

/// Bytes of a board.
const BOARD: usize = 64;

/// What is known of a device once it is opened.
pub(crate) struct Facts {
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    pub(crate) arch: (u32, u32),
    pub(crate) multiprocessors: u32,
    pub(crate) shared_limit: u32,
    pub(crate) total: u64,
}

/// What answers calls.
enum Device {
    Driver(Handles),
    Rehearsal(Rehearsal),
}

/// A program's source and options.
type Source = (String, Vec<String>);

/// Where a program comes to stand; two threads that ask for one program compile it once.
type Slot = Arc<Mutex<Option<Arc<Program>>>>;

/// What the driver knows a device's state by. A device stays open until the process ends, so these are valid as long as there is a
/// [`Gpu`] to reach them by.
#[derive(Clone, Copy)]
pub(crate) struct Handles {
    pub(crate) context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    pub(crate) pool: sys::CUmemoryPool,
}

// SAFETY: the driver's functions may be called with these handles from any thread, at once too
unsafe impl Send for Handles {}
// SAFETY: as above
unsafe impl Sync for Handles {}

impl core::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.shared.device {
            Device::Driver(_) => write!(f, "Gpu({}: {})", self.ordinal(), self.name()),
            Device::Rehearsal(_) => write!(f, "Gpu({})", self.name()),
        }
    }
}

impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Gpu {}

impl Gpu {
    /// How many GPUs there are; `CUDA_VISIBLE_DEVICES` hides some from the driver.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no driver, [`Error::Driver`] if it does not start.
    pub fn count() -> Result<usize> {
        Library::Driver.require()?;
        match driver::init() {
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(0),
            answer => check("cuInit", answer)?,
        }
        match driver::device::get_count() {
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(0),
            answer => Ok(check("cuDeviceGetCount", answer)?.unsigned_abs() as usize),
        }
    }

    /// The GPU with the number `ordinal`, from 0. The first call for each opens it (some 100 ms) and it stays open.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDevice`]; otherwise as for [`count`](Self::count).
    pub fn open(ordinal: usize) -> Result<Self> {
        static OPEN: Mutex<BTreeMap<usize, Gpu>> = Mutex::new(BTreeMap::new());
        let mut open = lock(&OPEN);
        if let Some(gpu) = open.get(&ordinal) {
            return Ok(gpu.clone());
        }
        let count = Self::count()?;
        if ordinal >= count {
            return Err(Error::NoSuchDevice { asked: ordinal, count });
        }
        let gpu = Self { shared: Arc::new(Shared::open(ordinal)?) };
        tracing::info!(?gpu, arch = ?gpu.arch(), multiprocessors = gpu.multiprocessors(), "opened");
        open.insert(ordinal, gpu.clone());
        Ok(gpu)
    }

    /// The address of 64 bytes by which a kernel's blocks may wait for each other: zeros, which a kernel that writes there leaves as zeros.
    /// Everything happens in order, so no two kernels use them at once.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`]; [`Error::DeviceMemory`] if the first call finds none.
    pub fn board(&self) -> Result<u64> {
        if self.is_rehearsal() {
            return Ok(0);
        }
        if let Some(&board) = self.shared.board.get() {
            return Ok(board);
        }
        let claim = || {
            // SAFETY: nothing is read before it is set
            let at = unsafe { driver::malloc_sync(BOARD) }?;
            // SAFETY: allocated above, that long; in order with what is launched
            unsafe { driver::memset_d8_async(at, 0, BOARD, self.handles().stream) }?;
            Ok(at)
        };
        let board = self.call_or_trim("cuMemAlloc", BOARD, claim)?;
        Ok(*self.shared.board.get_or_init(|| board))
    }

    /// Its number, from 0; a rehearsal has `usize::MAX`.
    pub fn ordinal(&self) -> usize {
        self.shared.facts.ordinal
    }

    /// Its name, as the driver says it.
    pub fn name(&self) -> &str {
        &self.shared.facts.name
    }

    /// Its compute capability: (9, 0) for `sm_90`.
    pub fn arch(&self) -> (u32, u32) {
        self.shared.facts.arch
    }

    /// How many multiprocessors it has.
    pub fn multiprocessors(&self) -> u32 {
        self.shared.facts.multiprocessors
    }

    /// The most bytes of shared memory that a block can have, static and dynamic.
    pub fn shared_limit(&self) -> u32 {
        self.shared.facts.shared_limit
    }

    /// The bytes of its memory that are (free, there in total). What the pool holds for reuse counts as free.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn memory(&self) -> Result<(u64, u64)> {
        if let Some(rehearsal) = self.stand_in() {
            return Ok((self.total() - rehearsal.used(), self.total()));
        }
        let (free, total) = self.call("cuMemGetInfo", driver::mem_get_info)?;
        let held = self.pool_attribute(PoolAttribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = self.used();
        // other threads may allocate between the three
        Ok((total.min(free + held.saturating_sub(used) as usize) as u64, total as u64))
    }

    /// The bytes that this process' buffers take.
    pub fn used(&self) -> u64 {
        match self.stand_in() {
            Some(rehearsal) => rehearsal.used(),
            None => lock(self.spare()).used(),
        }
    }

    /// The most bytes that this process' buffers took at once, since the last call and at it.
    pub fn take_peak(&self) -> u64 {
        match self.stand_in() {
            Some(rehearsal) => rehearsal.take_peak(),
            None => lock(self.spare()).take_peak(),
        }
    }

    /// Gives the memory that is held for reuse, at hand and by the pool, back to the system. Waits for all that was asked of the device.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn trim(&self) -> Result<()> {
        let spare = lock(self.spare()).drain();
        self.free(spare);
        self.synchronize()?;
        let pool = self.handles().pool;
        // SAFETY: the pool is open
        self.call("cuMemPoolTrimTo", || unsafe { driver::mem_pool::trim_to(pool, 0) })
    }

    /// Waits for all that was asked of the device.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a kernel failed.
    pub fn synchronize(&self) -> Result<()> {
        let stream = self.handles().stream;
        // SAFETY: the stream is open
        self.call("cuStreamSynchronize", || unsafe { driver::stream::synchronize(stream) })
    }

    /// How many kernels were launched here so far.
    pub fn launches(&self) -> u64 {
        self.shared.launches.load(Ordering::Relaxed)
    }

    /// How many copies to the host were made so far.
    pub fn readbacks(&self) -> u64 {
        self.shared.readbacks.load(Ordering::Relaxed)
    }

    /// The program that `source` compiles to for this device, with `options` beside those that every kernel has.
    ///
    /// Compiled at the first call ever, read from the cache on disk at the first call of a later process, and found in memory after
    /// that (which compares the source: keep the program where that matters).
    ///
    /// # Errors
    ///
    /// As for [`compile`](crate::compile()), or [`Error::Driver`] if the driver cannot load the code.
    pub fn program(&self, source: &str, options: &[&str]) -> Result<Arc<Program>> {
        let key = (source.to_owned(), options.iter().map(|&option| option.to_owned()).collect());
        let slot = lock(&self.shared.programs).entry(key).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(program) = &*slot {
            return Ok(program.clone());
        }
        let program = match &self.shared.device {
            Device::Driver(_) => {
                self.check_versions()?;
                Program::load(self, &compile_cached(source, &arch_for(self.arch())?, options)?)?
            }
            Device::Rehearsal(rehearsal) => Program::rehearsed(self, rehearsal.compile(source, options)?),
        };
        Ok(slot.insert(Arc::new(program)).clone())
    }

    /// The stream, as the `CUstream` of the driver and of cuBLAS; null for a rehearsal. Do not destroy it, nor capture it.
    pub fn stream(&self) -> *mut c_void {
        self.handles().stream.cast()
    }

    /// Makes the device's context the thread's current one, for calls of other libraries.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn make_current(&self) -> Result<()> {
        self.call("cuCtxSetCurrent", || Ok(()))
    }

    /// A driver whose code NVRTC is too new for would refuse each program with a riddle.
    fn check_versions(&self) -> Result<()> {
        let (driver, (major, minor)) = (driver_version()?, nvrtc_version()?);
        if driver.0 >= major {
            return Ok(());
        }
        let why = format!("is for CUDA {}.{}, older than NVRTC, which is of CUDA {major}.{minor}", driver.0, driver.1);
        Err(Error::missing(Library::Driver, why))
    }

    pub(crate) fn handles(&self) -> Handles {
        match &self.shared.device {
            Device::Driver(handles) => *handles,
            Device::Rehearsal(_) => Handles::NONE,
        }
    }

    /// A rehearsal of a device that is described by `facts`.
    pub(crate) fn rehearsed(facts: Facts, rehearsal: Rehearsal) -> Self {
        Self { shared: Arc::new(Shared::new(facts, Device::Rehearsal(rehearsal))) }
    }

    /// What stands in for the device, if it is a rehearsal.
    pub(crate) fn stand_in(&self) -> Option<&Rehearsal> {
        match &self.shared.device {
            Device::Driver(_) => None,
            Device::Rehearsal(rehearsal) => Some(rehearsal),
        }
    }

    /// Freed memory at hand, and the count of what is in use.
    pub(crate) fn spare(&self) -> &Mutex<Spare> {
        &self.shared.spare
    }

    /// cuBLAS here, if it was opened.
    pub(crate) fn blas(&self) -> &Mutex<Option<Blas>> {
        &self.shared.blas
    }

    /// The total bytes of memory, as read when the device was opened.
    pub(crate) fn total(&self) -> u64 {
        self.shared.facts.total
    }

    pub(crate) fn count_launch(&self, kernel: &Arc<str>) {
        self.shared.launches.fetch_add(1, Ordering::Relaxed);
        *lock(&self.shared.last) = Some(kernel.clone());
    }

    pub(crate) fn count_readback(&self) {
        self.shared.readbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// A slot that no reading has, if there is one.
    pub(crate) fn take_slot(&self) -> Option<Locked> {
        self.shared.slots.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a slot for the next reading.
    pub(crate) fn give_slot(&self, slot: Locked) {
        self.shared.slots.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    /// Whether a kernel failed, after which nothing works.
    pub(crate) fn is_lost(&self) -> bool {
        self.shared.lost.get().is_some()
    }

    /// Why nothing works any more, if so.
    pub(crate) fn check_lost(&self) -> Result<()> {
        self.shared.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Calls the driver in the device's context; in a rehearsal calls nothing, and returns what stands for nothing.
    pub(crate) fn call<T: Default>(
        &self,
        name: &'static str,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T> {
        match &self.shared.device {
            Device::Driver(handles) => self.call_driver(*handles, name, call),
            Device::Rehearsal(_) => Ok(T::default()),
        }
    }

    fn call_driver<T>(
        &self,
        handles: Handles,
        name: &'static str,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T> {
        self.check_lost()?;
        // SAFETY: the context is retained until the process ends
        let current = unsafe { driver::ctx::set_current(handles.context) };
        current.and_then(|()| call()).map_err(|error| self.failed(name, error))
    }

    /// The error for a failed call; remembers one after which nothing works.
    fn failed(&self, call: &'static str, error: DriverError) -> Error {
        let what = driver_text(error);
        if !is_sticky(error.0) {
            return Error::Driver { call, what };
        }
        let kernel = lock(&self.shared.last).as_ref().map_or("none".to_owned(), |name| format!("`{name}`"));
        let lost = Error::Lost { device: self.ordinal(), call, what, kernel };
        self.shared.lost.get_or_init(|| lost).clone()
    }

    fn pool_attribute(&self, attribute: PoolAttribute) -> Result<u64> {
        let mut value = 0u64;
        let (pool, at) = (self.handles().pool, (&raw mut value).cast());
        // SAFETY: the pool is open, and these attributes are 64 bits
        self.call("cuMemPoolGetAttribute", || unsafe { driver::mem_pool::get_attribute(pool, attribute, at) })?;
        Ok(value)
    }
}

impl Shared {
    fn open(ordinal: usize) -> Result<Self> {
        let device = check("cuDeviceGet", driver::device::get(ordinal as i32))?;
        let facts = Facts {
            ordinal,
            name: check("cuDeviceGetName", driver::device::get_name(device))?,
            arch: capability(device)?,
            multiprocessors: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_limit: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            total: total_memory(device)?,
        };
        Ok(Self::new(facts, Device::Driver(Handles::open(ordinal, device)?)))
    }

    fn new(facts: Facts, device: Device) -> Self {
        Self {
            facts,
            device,
            launches: AtomicU64::new(0),
            readbacks: AtomicU64::new(0),
            last: Mutex::new(None),
            lost: OnceLock::new(),
            programs: Mutex::new(HashMap::new()),
            blas: Mutex::new(None),
            slots: Mutex::new(Vec::new()),
            spare: Mutex::new(Spare::new()),
            board: OnceLock::new(),
        }
    }
}

impl Handles {
    /// Those of a rehearsal, which reach no call.
    const NONE: Self =
        Self { context: core::ptr::null_mut(), stream: core::ptr::null_mut(), pool: core::ptr::null_mut() };

    /// Opens all three, or none.
    fn open(ordinal: usize, device: sys::CUdevice) -> Result<Self> {
        // SAFETY: the device exists
        let context = check("cuDevicePrimaryCtxRetain", unsafe { driver::primary_ctx::retain(device) })?;
        Self::in_context(ordinal, context).inspect_err(|_| {
            // SAFETY: retained above, and nothing holds it
            let _ = unsafe { driver::primary_ctx::release(device) };
        })
    }

    fn in_context(ordinal: usize, context: sys::CUcontext) -> Result<Self> {
        // SAFETY: the caller retained it
        check("cuCtxSetCurrent", unsafe { driver::ctx::set_current(context) })?;
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

    /// A pool that holds what is freed for reuse until it is trimmed. The device's own pool is left as other libraries expect it.
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

/// The newest CUDA that the driver supports, as (major, minor).
pub(crate) fn driver_version() -> Result<(u32, u32)> {
    Library::Driver.require()?;
    let mut version = 0;
    // SAFETY: valid for writing; needs no initialisation
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) }.result())?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// A device's compute capability.
fn capability(device: sys::CUdevice) -> Result<(u32, u32)> {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major, minor))
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

/// Whether the driver refuses everything after this.
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

/// What is behind a mutex whose holders keep it in order even when they panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
