//! Finds NVIDIA's libraries and headers, and checks that they can be used.
//!
//! cudarc opens a library by its bare name at the first call, and panics if that fails or if the library lacks a function. So
//! [`Library::require`] must be called before any call into a library. It opens a library that is not on the loader's path by its full
//! path, after which the bare name finds it. It also looks up every function that this crate calls.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library as Opened, RTLD_GLOBAL, RTLD_NOW};

use crate::error::{Error, Result};

/// One of NVIDIA's libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Library {
    /// The driver, `libcuda`. Without it no device can be used.
    Driver,
    /// The run-time compiler for CUDA C++.
    Nvrtc,
    /// Dense linear algebra: cuBLAS.
    Cublas,
    /// Collective operations between devices: NCCL.
    Nccl,
}

/// What installs NVRTC and the headers it needs.
const INSTALL_NVRTC: &str = "pip install 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' \
     'nvidia-cuda-cccl==13.0.*', or install a CUDA toolkit and set CUDA_PATH";

/// The driver functions that this crate calls. cudarc panics at a call of a function that is missing.
const DRIVER_CALLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuMemGetInfo_v2",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemFreeHost",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuPointerGetAttribute",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuFuncGetParamInfo",
    "cuLaunchKernel",
    "cuLaunchCooperativeKernel",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
];

/// The NVRTC functions that this crate calls.
const NVRTC_CALLS: &[&str] = &[
    "nvrtcVersion",
    "nvrtcGetErrorString",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
    "nvrtcCreateProgram",
    "nvrtcDestroyProgram",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
];

/// The cuBLAS functions that this crate calls.
const CUBLAS_CALLS: &[&str] = &[
    "cublasGetProperty",
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSgemm_v2_64",
    "cublasDgemm_v2_64",
];

/// The NCCL functions that this crate calls.
const NCCL_CALLS: &[&str] = &[
    "ncclGetVersion",
    "ncclGetErrorString",
    "ncclGetUniqueId",
    "ncclCommInitRank",
    "ncclCommDestroy",
    "ncclCommAbort",
    "ncclGroupStart",
    "ncclGroupEnd",
    "ncclSend",
    "ncclRecv",
];

impl Library {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Driver, Self::Nvrtc, Self::Cublas, Self::Nccl];

    /// The library's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Driver => "the NVIDIA driver",
            Self::Nvrtc => "NVRTC",
            Self::Cublas => "cuBLAS",
            Self::Nccl => "NCCL",
        }
    }

    /// What to do if the library is missing.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Driver => "install NVIDIA's driver, release 580 or newer, on a machine with an NVIDIA GPU",
            Self::Nvrtc => INSTALL_NVRTC,
            Self::Cublas => "pip install 'nvidia-cublas==13.*', or install a CUDA toolkit and set CUDA_PATH",
            Self::Nccl => {
                "install libnccl.so on the loader's path (pip's nvidia-nccl-cu13 has libnccl.so.2 only: link libnccl.so to it in a \
                 folder of LD_LIBRARY_PATH)"
            }
        }
    }

    /// Opens the library if it is not open yet. The first result stays for the whole process.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if the library is not found or lacks a function that this crate calls. It says what to install.
    pub fn require(self) -> Result<()> {
        static KNOWN: [OnceLock<Result<()>>; 4] = [const { OnceLock::new() }; 4];
        KNOWN[self as usize].get_or_init(|| self.open()).clone()
    }

    /// The file that the library was opened from. `None` if it is not open, or if `/proc` does not tell.
    pub fn path(self) -> Option<PathBuf> {
        self.require().ok()?;
        let address = self.find(self.calls()[0])?;
        mapped_at(&std::fs::read_to_string("/proc/self/maps").ok()?, address)
    }

    /// The error for a library that cannot be used; `why` follows its name in the message.
    pub(crate) fn missing(self, why: impl Into<String>) -> Error {
        Error::Missing { what: self.name(), why: why.into(), hint: self.hint() }
    }

    /// File names to try, the best first.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Driver => &["libcuda.so.1"],
            Self::Nvrtc => &["libnvrtc.so.13", "libnvrtc.so"],
            Self::Cublas => &["libcublas.so.13", "libcublas.so"],
            Self::Nccl => &["libnccl.so", "libnccl.so.2"],
        }
    }

    /// The library's functions that this crate calls; not empty.
    fn calls(self) -> &'static [&'static str] {
        match self {
            Self::Driver => DRIVER_CALLS,
            Self::Nvrtc => NVRTC_CALLS,
            Self::Cublas => CUBLAS_CALLS,
            Self::Nccl => NCCL_CALLS,
        }
    }

    fn open(self) -> Result<()> {
        // in order: folders that the user names, the loader's path, and the usual folders
        let found = self.preload(named_folders()) || self.present() || self.preload(known_folders());
        if !(found && self.present()) {
            return Err(self.missing("was not found"));
        }
        match self.calls().iter().find(|name| self.find(name).is_none()) {
            Some(name) => Err(self.missing(format!("is too old, it has no {name}"))),
            None => Ok(()),
        }
    }

    /// Opens the library by its full path, from the first of `roots` where that works. Returns whether it did.
    fn preload(self, roots: Vec<PathBuf>) -> bool {
        let below = ["", "lib64", "lib", "lib/x86_64-linux-gnu"];
        let folders = roots.iter().flat_map(|root| below.iter().map(move |below| root.join(below)));
        let paths = folders.flat_map(|folder| self.files().iter().map(move |file| folder.join(file)));
        paths.filter(|path| path.is_file()).any(|path| {
            self.companions(&path).iter().for_each(|companion| _ = keep_open(companion));
            keep_open(&path)
        })
    }

    /// The libraries beside the one at `path` that it opens by their bare names. They must be open before it.
    fn companions(self, path: &Path) -> Vec<PathBuf> {
        let beginning = match self {
            Self::Nvrtc => "libnvrtc-builtins.so.",
            Self::Cublas => "libcublasLt.so.",
            Self::Driver | Self::Nccl => return Vec::new(),
        };
        let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning)).map(|e| e.path()).collect()
    }

    /// Whether cudarc can open it.
    fn present(self) -> bool {
        // SAFETY: opens and closes one of NVIDIA's libraries; their initialisers have no preconditions
        unsafe {
            match self {
                Self::Driver => cudarc::driver::sys::is_culib_present(),
                Self::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
                Self::Cublas => cudarc::cublas::sys::is_culib_present(),
                Self::Nccl => cudarc::nccl::sys::is_culib_present(),
            }
        }
    }

    /// The address of a function. May only be called if the library is present, or cudarc panics.
    fn find(self, name: &str) -> Option<usize> {
        // SAFETY: the library is present, so this does not panic; the symbol is not called
        unsafe {
            let library = match self {
                Self::Driver => cudarc::driver::sys::culib(),
                Self::Nvrtc => cudarc::nvrtc::sys::culib(),
                Self::Cublas => cudarc::cublas::sys::culib(),
                Self::Nccl => cudarc::nccl::sys::culib(),
            };
            library.get::<*const ()>(name.as_bytes()).ok()?.try_as_raw_ptr().map(|at| at as usize)
        }
    }
}

/// Opens a library by its path and never closes it. Returns whether that worked.
fn keep_open(path: &Path) -> bool {
    // SAFETY: NVIDIA's libraries may be opened at any time
    match unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            core::mem::forget(library);
            true
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot open a library");
            false
        }
    }
}

/// The folder of the CUDA headers (`cuda_fp16.h`, `mma.h`), searched for where the libraries are. `None` if it is not found.
pub fn headers() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let roots = named_folders().into_iter().chain(known_folders());
        let mut folders = roots.flat_map(|root| [root.join("include"), root]);
        folders.find(|folder| folder.join("cuda_fp16.h").is_file())
    };
    FOUND.get_or_init(find).as_deref()
}

/// What to do if the headers are missing.
pub(crate) const HEADERS_HINT: &str = INSTALL_NVRTC;

/// The version of the headers, as `CUDART_VERSION` states it: 13000 for 13.0.
pub(crate) fn headers_version(folder: &Path) -> Option<u32> {
    let text = std::fs::read(folder.join("cuda_runtime_api.h")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("#define CUDART_VERSION"))?;
    line.trim().parse().ok()
}

/// The folders that the user names in environment variables.
fn named_folders() -> Vec<PathBuf> {
    let names = ["VXM_CUDA_PATH", "CUDA_PATH", "CUDA_HOME"];
    names.iter().filter_map(|name| folder_of(name)).collect()
}

/// The folders where toolkits, drivers and Python's wheels are installed.
fn known_folders() -> Vec<PathBuf> {
    let fixed = ["/usr/local/cuda", "/usr/local/nvidia", "/usr/lib/wsl"].map(PathBuf::from);
    let wheels = site_packages().into_iter().flat_map(|site| {
        let nvidia = site.join("nvidia");
        ["cu13", "nccl"].map(|wheel| nvidia.join(wheel))
    });
    fixed.into_iter().chain(wheels).filter(|folder| folder.is_dir()).collect()
}

/// The folders of Python's packages, the active environment's first.
fn site_packages() -> Vec<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder_of).map(|prefix| prefix.join("lib"));
    let user = folder_of("HOME").map(|home| home.join(".local/lib"));
    let system = ["/usr/local/lib", "/usr/lib"].map(PathBuf::from);
    active.chain(user).chain(system).flat_map(|lib| pythons(&lib)).collect()
}

/// The `site-packages` and `dist-packages` folders of each Python in a `lib` folder, the newest first.
fn pythons(lib: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(lib).into_iter().flatten().flatten();
    let mut pythons: Vec<_> = entries.filter_map(|entry| Some((minor(&entry.file_name())?, entry.path()))).collect();
    pythons.sort();
    let folders = |(_, python): (u32, PathBuf)| ["site-packages", "dist-packages"].map(|name| python.join(name));
    pythons.into_iter().rev().flat_map(folders).collect()
}

/// The minor version in a folder's name: 11 for `python3.11`, 0 for `python3`. `None` for other names.
fn minor(name: &OsStr) -> Option<u32> {
    let version = name.to_str()?.strip_prefix("python3")?;
    if version.is_empty() { Some(0) } else { version.strip_prefix('.')?.parse().ok() }
}

/// The folder that an environment variable names, if it is set and not empty.
fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The file that `address` is mapped from; `maps` is the text of `/proc/self/maps`.
fn mapped_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (range, _) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let within =
            usize::from_str_radix(from, 16).ok()? <= address && address < usize::from_str_radix(to, 16).ok()?;
        within.then(|| line.find('/').map(|at| PathBuf::from(&line[at..]))).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_are_ordered_by_number() {
        let lib = tempfile::tempdir().unwrap();
        for name in ["python3", "python3.9", "python3.11", "python2.7", "pythonic"] {
            std::fs::create_dir(lib.path().join(name)).unwrap();
        }
        let found = pythons(lib.path());
        let names = found.iter().map(|path| path.strip_prefix(lib.path()).unwrap().to_str().unwrap());
        let site: Vec<_> = names.filter(|name| name.ends_with("site-packages")).collect();
        assert_eq!(site, ["python3.11/site-packages", "python3.9/site-packages", "python3/site-packages"]);
    }

    #[test]
    fn what_is_missing_has_a_hint() {
        let missing = Library::Nvrtc.missing("was not found");
        assert!(missing.to_string().starts_with("NVRTC was not found: pip install"), "{missing}");
    }

    #[test]
    fn the_map_of_a_process() {
        let maps = "1000-2000 r-xp 0 00:00 7    /lib/a b.so\n2000-3000 rw-p 0 00:00 0\n";
        assert_eq!(mapped_at(maps, 0x1fff), Some(PathBuf::from("/lib/a b.so")));
        assert_eq!(mapped_at(maps, 0x2000), None);
    }
}
