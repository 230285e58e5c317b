//! A report of what the CUDA backend finds on this machine, and what to install for the rest.

use core::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cache::{Cache, Usage};
use crate::compile::nvrtc_version;
use crate::context::Gpu;
use crate::error::{Error, Result, size};
use crate::gpu::driver_version;
use crate::libraries::{HEADERS_HINT, Library, headers, headers_version};

/// The longest wait for NVIDIA's libraries. Opening 8 devices takes some seconds, and a broken driver never answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everything that `vxm doctor` prints.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The driver, NVRTC, cuBLAS and NCCL.
    pub libraries: Vec<LibraryReport>,
    /// The devices that the driver shows, or why it shows none.
    pub devices: Result<Vec<DeviceReport>>,
    /// The folder of the CUDA headers and their version (13000 for 13.0); `None` if they were not found.
    pub headers: Option<(PathBuf, Option<u32>)>,
    /// The cache of compiled kernels; `None` if the user has no home folder.
    pub cache: Option<CacheReport>,
}

/// What was found of one of NVIDIA's libraries.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LibraryReport {
    /// The library.
    pub library: Library,
    /// The version as text, or why the library cannot be used. The driver's is the newest CUDA that it supports.
    pub version: Result<String>,
    /// The file that the library was opened from, if the system tells.
    pub path: Option<PathBuf>,
}

/// The properties of one device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The device's number.
    pub ordinal: usize,
    /// The device's name.
    pub name: String,
    /// The compute capability.
    pub arch: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of device memory, as (free, total).
    pub memory: (u64, u64),
}

/// The state of the cache on disk.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CacheReport {
    /// The cache's folder.
    pub folder: PathBuf,
    /// What the cache holds, or why that is unknown.
    pub usage: Result<Usage, String>,
    /// Whether entries can be written, or why not.
    pub writable: Result<(), String>,
}

/// Checks everything that the CUDA backend needs. Never fails: the report says what is missing. Opens each device, and creates the cache's
/// folder if there is none.
pub fn doctor() -> Report {
    Report {
        libraries: Library::ALL.map(library_report).into(),
        devices: with_patience(devices),
        headers: headers().map(|folder| (folder.to_owned(), headers_version(folder))),
        cache: Cache::user().map(cache_report),
    }
}

fn library_report(library: Library) -> LibraryReport {
    let (version, path) = match with_patience(move || version(library).map(|version| (version, library.path()))) {
        Ok((version, path)) => (Ok(version), path),
        Err(error) => (Err(error), None),
    };
    LibraryReport { library, version, path }
}

fn version(library: Library) -> Result<String> {
    let dotted = |(major, minor)| format!("{major}.{minor}");
    match library {
        Library::Driver => driver_version().map(|version| format!("CUDA {}", dotted(version))),
        Library::Nvrtc => nvrtc_version().map(dotted),
        Library::Cublas => cublas_version(),
        Library::Nccl => nccl_version(),
    }
}

fn cublas_version() -> Result<String> {
    use cudarc::cublas::sys::{cublasGetProperty, cublasStatus_t, libraryPropertyType as Property};
    Library::Cublas.require()?;
    let number = |property| {
        let mut value = 0;
        // SAFETY: the library is open, and the value valid for writing
        let status = unsafe { cublasGetProperty(property, &mut value) };
        if status == cublasStatus_t::CUBLAS_STATUS_SUCCESS { value } else { 0 }
    };
    let parts = [Property::MAJOR_VERSION, Property::MINOR_VERSION, Property::PATCH_LEVEL].map(number);
    Ok(parts.map(|part| part.to_string()).join("."))
}

fn nccl_version() -> Result<String> {
    Library::Nccl.require()?;
    let mut version = 0;
    // SAFETY: the library is open, and the version valid for writing; a failure leaves it 0
    let _ = unsafe { cudarc::nccl::sys::ncclGetVersion(&mut version) };
    Ok(format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100))
}

fn devices() -> Result<Vec<DeviceReport>> {
    (0..Gpu::count()?).map(device).collect()
}

fn device(ordinal: usize) -> Result<DeviceReport> {
    let gpu = Gpu::open(ordinal)?;
    let (name, memory) = (gpu.name().to_owned(), gpu.memory()?);
    Ok(DeviceReport { ordinal, name, arch: gpu.arch(), multiprocessors: gpu.multiprocessors(), memory })
}

fn cache_report(cache: Cache) -> CacheReport {
    let writable = cache.check_writable().map_err(|error| error.to_string());
    let usage = cache.usage().map_err(|error| error.to_string());
    CacheReport { folder: cache.folder().to_owned(), usage, writable }
}

/// The result of `ask`, run on a thread of its own. After [`PATIENCE`] it is an error, and the thread is abandoned.
fn with_patience<T: Send + 'static>(ask: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || drop(sender.send(ask())));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        Err(Error::Driver { call: "doctor", what: format!("no answer within {} s", PATIENCE.as_secs()) })
    })
}

impl Report {
    /// Whether kernels can run here: a driver, a device, NVRTC and the headers were found.
    pub fn is_ready(&self) -> bool {
        let found = |wanted| self.libraries.iter().any(|report| report.library == wanted && report.version.is_ok());
        let devices = self.devices.as_ref().is_ok_and(|devices| !devices.is_empty());
        devices && found(Library::Nvrtc) && self.headers.is_some()
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for report in &self.libraries {
            writeln!(f, "{report}")?;
            if report.library == Library::Driver && report.version.is_ok() {
                show_devices(&self.devices, f)?;
            }
        }
        match &self.headers {
            Some((folder, version)) => writeln!(f, "CUDA headers: {}in {}", dotted(*version), folder.display())?,
            None => writeln!(f, "CUDA headers: not found: {HEADERS_HINT}")?,
        }
        match &self.cache {
            Some(cache) => write!(f, "{cache}"),
            None => write!(f, "kernel cache: none, since there is no home folder: set VXM_CACHE_DIR"),
        }
    }
}

/// A version of the headers as text with a separator: 13000 as "13.0, ". Empty for `None`.
fn dotted(version: Option<u32>) -> String {
    version.map_or_else(String::new, |version| format!("{}.{}, ", version / 1000, version % 1000 / 10))
}

fn show_devices(devices: &Result<Vec<DeviceReport>>, f: &mut Formatter<'_>) -> fmt::Result {
    match devices {
        Err(error) => writeln!(f, "devices: {error}"),
        Ok(devices) if devices.is_empty() => writeln!(f, "devices: none (CUDA_VISIBLE_DEVICES can hide them)"),
        Ok(devices) => devices.iter().try_for_each(|device| writeln!(f, "{device}")),
    }
}

impl Display for LibraryReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.library.name().trim_start_matches("the ");
        match (&self.version, &self.path) {
            (Ok(version), Some(path)) => write!(f, "{name}: {version}, {}", path.display()),
            (Ok(version), None) => write!(f, "{name}: {version}"),
            (Err(Error::Missing { why, hint, .. }), _) => write!(f, "{name}: {why}: {hint}"),
            (Err(error), _) => write!(f, "{name}: {error}: {}", self.library.hint()),
        }
    }
}

impl Display for DeviceReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (arch, memory) = (self.arch, self.memory);
        write!(f, "device {}: {}, sm_{}{}, ", self.ordinal, self.name, arch.0, arch.1)?;
        write!(f, "{} multiprocessors, {} free of {}", self.multiprocessors, size(memory.0), size(memory.1))
    }
}

impl Display for CacheReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel cache: {}, ", self.folder.display())?;
        match &self.usage {
            Ok(usage) => write!(f, "{} entries, {}", usage.entries, size(usage.bytes))?,
            Err(error) => write!(f, "{error}")?,
        }
        match &self.writable {
            Ok(()) => Ok(()),
            Err(error) => write!(f, "; not writable ({error}), so kernels are compiled at each run: set VXM_CACHE_DIR"),
        }
    }
}
