//! The public handle of a device: finding and opening it, and its compiled programs.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::compile::{arch_for, compile_cached, nvrtc_version};
use crate::context::{Gpu, lock};
use crate::error::{Error, Result, check};
use crate::launch::Program;
use crate::libraries::Library;

/// The compiled programs of one device, by source and options.
#[derive(Default)]
struct Programs(Mutex<HashMap<(String, Vec<String>), Slot>>);

/// A program's place in the map. Its lock is held while the program is compiled, so two threads that need one program compile it once.
type Slot = Arc<Mutex<Option<Arc<Program>>>>;

impl Gpu {
    /// The number of GPUs; `CUDA_VISIBLE_DEVICES` hides some from the driver.
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

    /// The number of the GPU that the memory at `address` belongs to, whatever library has allocated it; `None` if it belongs to none. Page-locked
    /// memory of the host belongs to the GPU that it was claimed through.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn ordinal_of(address: u64) -> Result<Option<usize>> {
        // the driver asks for a context, of any GPU
        let gpu = Self::open(0)?;
        let mut ordinal = -1i32;
        let (to, what) = ((&raw mut ordinal).cast(), sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        let ask = || {
            // SAFETY: valid for writing an `i32`, which this attribute is; the driver looks the address up, and doesn't read there
            match unsafe { sys::cuPointerGetAttribute(to, what, address) }.result() {
                Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => Ok(()),
                answer => answer,
            }
        };
        gpu.call("cuPointerGetAttribute", ask)?;
        Ok(usize::try_from(ordinal).ok())
    }

    /// The GPU with the number `ordinal`, from 0. The first call for a GPU opens it, which takes some 100 ms; it stays open until the
    /// process ends.
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
        let gpu = Self::open_device(ordinal)?;
        tracing::info!(?gpu, arch = ?gpu.arch(), multiprocessors = gpu.multiprocessors(), "opened");
        open.insert(ordinal, gpu.clone());
        Ok(gpu)
    }

    /// The number of kernels launched on this device so far.
    pub fn launches(&self) -> u64 {
        self.context().launches.load(Ordering::Relaxed)
    }

    /// The number of copies to the host made so far.
    pub fn readbacks(&self) -> u64 {
        self.context().readbacks.load(Ordering::Relaxed)
    }

    /// The program that `source` compiles to for this device, with `options` beside those that every kernel has.
    ///
    /// The first call ever compiles it. The first call of a later process reads it from the cache on disk. Further calls find it in
    /// memory; since each compares the whole source, callers in a hot path should keep the program.
    ///
    /// # Errors
    ///
    /// As for [`compile`](crate::compile()), or [`Error::Driver`] if the driver cannot load the code.
    pub fn program(&self, source: &str, options: &[&str]) -> Result<Arc<Program>> {
        let key = (source.to_owned(), options.iter().map(|&option| option.to_owned()).collect());
        let slot = lock(&self.attached::<Programs>().0).entry(key).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(program) = &*slot {
            return Ok(program.clone());
        }
        let program = match self.stand_in() {
            None => {
                self.check_versions()?;
                Program::load(self, &compile_cached(source, &arch_for(self.arch())?, options)?)?
            }
            Some(stand_in) => Program::without_device(self, stand_in.compile(source, options)?),
        };
        Ok(slot.insert(Arc::new(program)).clone())
    }

    /// The stream, as the `CUstream` of the driver and of cuBLAS; null for a dry run. Do not destroy it or capture it.
    pub fn stream(&self) -> *mut c_void {
        self.handles().stream.cast()
    }

    /// Makes the device's context the thread's current one, for calls of other libraries.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn make_current(&self) -> Result<()> {
        let context = self.handles().context;
        // SAFETY: contexts of devices are retained until the process ends
        let enter = || unsafe { driver::ctx::set_current(context) };
        self.call("cuCtxSetCurrent", || Ok(()))?;
        if self.stand_in().is_some() { Ok(()) } else { check("cuCtxSetCurrent", enter()) }
    }

    /// Refuses a driver that is older than NVRTC, which could not load what NVRTC compiles and would not say why.
    fn check_versions(&self) -> Result<()> {
        let (driver, (major, minor)) = (driver_version()?, nvrtc_version()?);
        if driver.0 >= major {
            return Ok(());
        }
        let why = format!("is for CUDA {}.{}, older than NVRTC, which is of CUDA {major}.{minor}", driver.0, driver.1);
        Err(Library::Driver.missing(why))
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

#[cfg(test)]
mod tests {
    use crate::launch::Kernel;
    use crate::memory::Buffer;

    use super::*;

    #[test]
    fn threads_may_share_all() {
        fn shared<T: Send + Sync>() {}
        shared::<(Gpu, Buffer, Program, Kernel)>();
    }
}
