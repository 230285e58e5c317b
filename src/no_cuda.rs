//! Stands in for the crate `vxm-kernels` where the feature `cuda` is off: there is no GPU, and asking for one is an error.
//!
//! [`Gpu`] has no values, so the compiler drops what would run on one. Names and signatures are those of `vxm-kernels`.

use core::convert::Infallible;
use core::fmt;
use half::{bf16, f16};
use std::ops::Range;
use std::sync::Arc;

/// The result of what needs a device.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why no build for this system, or not this one, has GPUs.
const WHY: &str =
    if cfg!(unix) { "vxm was built without the feature cuda" } else { "vxm uses NVIDIA GPUs on Unix systems only" };

/// Why there is no device. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This build can't use GPUs.
    #[error("no CUDA device: {WHY}")]
    NotBuilt,

    /// There is no device with that number. Never made here.
    #[error("no CUDA device {asked} of {count}")]
    NoSuchDevice {
        /// The number asked for, from 0.
        asked: usize,
        /// How many devices there are.
        count: usize,
    },

    /// The device has too little memory left. Never made here.
    #[error("out of device memory: {asked} bytes asked for, {free} free of {total}, {used} in use (budget: {budget})")]
    DeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that buffers take already.
        used: u64,
        /// Bytes free.
        free: u64,
        /// Bytes that the device has, or that the budget allows.
        total: u64,
        /// Whether a budget limits what buffers may take.
        budget: bool,
    },
}

/// Declares types without values.
macro_rules! empty {
    ($($name:ident)*) => {$(
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(Infallible);

        impl Drop for $name {
            fn drop(&mut self) {
                match self.0 {}
            }
        }
    )*};
}
empty! { Gpu Buffer Program Kernel Mailbox Nccl OpenedWindow Readback Window }

/// Declares methods that can't be called, because `self` has no values.
macro_rules! uncallable {
    ($type:ident { $($name:ident $(<$($g:ident: $bound:path),+>)? ($($t:ty),*) $(-> $r:ty)?;)* }) => {
        impl $type {$(
            pub fn $name $(<$($g: $bound),+>)? (&self, $(_: $t),*) $(-> $r)? {
                match self.0 {}
            }
        )*}
    };
}
uncallable! { Gpu {
    alloc(usize) -> Result<Buffer>;
    alloc_on_host(usize) -> Result<Buffer>;
    zeroed(usize) -> Result<Buffer>;
    window(usize) -> Result<Window>;
    open_window(&[u8; NAME_BYTES]) -> Result<OpenedWindow>;
    upload(&[u8]) -> Result<Buffer>;
    upload_slice<T: Pod>(&[T]) -> Result<Buffer>;
    multiply<T: Real>([usize; 3], &Buffer, &Buffer) -> Result<Buffer>;
    program(&str, &[&str]) -> Result<Arc<Program>>;
    mailbox(usize) -> Result<Mailbox>;
    grid_barrier() -> Result<u64>;
    memory() -> Result<(u64, u64)>;
    set_budget(Option<u64>) -> Option<u64>;
    budget() -> Option<u64>;
    most_rows(u64) -> u64;
    set_vector_room(u64) -> ();
    vector_room() -> u64;
    used() -> u64;
    synchronize() -> Result<()>;
    synchronize_all() -> Result<()>;
    ordinal() -> usize;
    arch() -> (u32, u32);
    bus() -> [u32; 3];
    multiprocessors() -> u32;
    shared_limit() -> u32;
    is_dry_run() -> bool;
} }

impl Gpu {
    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn count() -> Result<usize> {
        Err(Error::NotBuilt)
    }

    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn ordinal_of(_: u64) -> Result<Option<usize>> {
        Err(Error::NotBuilt)
    }

    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn open(_: usize) -> Result<Self> {
        Err(Error::NotBuilt)
    }

    pub fn lock_in_place<O>(&self, _: Arc<O>, _: impl FnOnce(&O) -> &[u8]) -> Result<Option<Buffer>> {
        match self.0 {}
    }
}

uncallable! { Buffer {
    gpu() -> &Gpu;
    address() -> u64;
    len() -> usize;
    is_empty() -> bool;
    is_on_host() -> bool;
    lend() -> Result<u64>;
    copy() -> Result<Self>;
    download_into(&mut [u8]) -> Result<()>;
    download<T: Pod>(usize) -> Result<Vec<T>>;
    download_at<T: Pod>(usize, usize) -> Result<Vec<T>>;
    begin_download(usize) -> Result<Readback>;
} }

impl Buffer {
    pub fn upload_at(&mut self, _: usize, _: &[u8]) -> Result<()> {
        match self.0 {}
    }

    pub fn fill(&mut self, _: u8) -> Result<()> {
        match self.0 {}
    }

    pub fn fill_at(&mut self, _: usize, _: usize, _: u8) -> Result<()> {
        match self.0 {}
    }

    pub fn fill_zero(&mut self) -> Result<()> {
        match self.0 {}
    }

    pub fn copy_from(&mut self, _: &Self, _: usize) -> Result<()> {
        match self.0 {}
    }

    pub fn copy_range(&mut self, _: usize, _: &Self, _: usize, _: usize) -> Result<()> {
        match self.0 {}
    }
}

uncallable! { Window {
    buffer() -> &Arc<Buffer>;
    name() -> Result<[u8; NAME_BYTES]>;
    copy_from(usize, &Buffer, usize) -> Result<()>;
    fill(usize, usize, u8) -> Result<()>;
} }

uncallable! { OpenedWindow {
    address() -> u64;
} }

uncallable! { Program {
    kernel(&str) -> Result<Kernel>;
} }

uncallable! { Kernel {
    gpu() -> &Gpu;
    resident(u32, u32) -> Result<u32>;
    occupancy(u32, u32) -> Result<u32>;
    registers() -> u32;
    max_threads() -> u32;
} }

impl Kernel {
    /// # Safety
    /// It can't be called.
    pub unsafe fn launch(&self, _: Launch, _: &[u8]) -> Result<()> {
        match self.0 {}
    }
}

uncallable! { Mailbox {
    address() -> u64;
} }

impl Mailbox {
    pub fn begin(self) -> Result<Readback> {
        match self.0 {}
    }
}

impl Readback {
    pub fn wait<T: Pod>(self) -> Result<Vec<T>> {
        match self.0 {}
    }
}

/// How a kernel would be launched.
#[derive(Debug, Clone, Copy)]
pub struct Launch;

impl Launch {
    pub fn linear(_: u32, _: u32) -> Self {
        Self
    }

    pub fn with_shared(self, _: u32) -> Self {
        self
    }

    pub fn cooperative(self) -> Self {
        self
    }
}

/// A value that would be copied to a device as its bytes.
pub trait Pod: Copy + Send + Sync + 'static {}

/// The types of dense matrices.
pub trait Real: Pod {}

macro_rules! marked {
    ($trait:ident: $($t:ty)*) => {$( impl $trait for $t {} )*};
}
marked! { Pod: () bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 }
marked! { Real: f32 f64 }

/// Of no use without a device.
pub fn bytes_of<T: Pod>(_: &[T]) -> &[u8] {
    &[]
}

/// The bytes of a number that a group of GPUs would share.
pub const ID_BYTES: usize = 0;

/// The bytes of the name of memory that another GPU would write.
pub const NAME_BYTES: usize = 0;

/// One of NVIDIA's libraries.
#[derive(Debug, Clone, Copy)]
pub enum Library {
    /// What would carry bytes between GPUs.
    Nccl,
}

impl Library {
    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn require(self) -> Result<()> {
        Err(Error::NotBuilt)
    }
}

impl Nccl {
    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn id() -> Result<[u8; ID_BYTES]> {
        Err(Error::NotBuilt)
    }

    pub fn join(gpu: &Gpu, _: [u8; ID_BYTES], _: usize, _: usize) -> Result<Self> {
        match gpu.0 {}
    }

    pub fn exchange(
        &self,
        _: &[(usize, &Buffer, Range<usize>)],
        _: &mut Buffer,
        _: &[(usize, Range<usize>)],
    ) -> Result<()> {
        match self.0 {}
    }
}

/// The CUDA C++ of kernels, none of which is built in.
pub mod sources {
    macro_rules! none {
        ($($name:ident)*) => {$( pub const $name: &str = ""; )*};
    }
    none! {
        ACTIVE BIT_TENSOR CACHED CHANGED COMPACT COPIES DENSE DIRECT ENTRIES FOREIGN GROUP HOT_COLUMNS MODE MXM MXM_ROWS PROFILED PROPAGATION_BLOCKING
        PROPAGATION_BLOCKING_BUILD PUSH RANKS REDUCE_ROW RELAXED ROWS ROW_CLASSES ROW_COMPACTION RUNS SORT STAGED STATE STEPS TALLIES TENSOR TERMINAL
        TERMINATION TILES TILING TRIPLES VIEW
    }
}

/// What devices did, for traces: nothing.
#[cfg(feature = "trace")]
pub mod trace {
    use std::time::{Duration, Instant};

    /// What a device did. Never made here.
    #[derive(Debug, Clone)]
    pub struct Work {
        pub name: String,
        pub device: usize,
        pub begin: Instant,
        pub lasted: Duration,
    }

    pub fn start() {}

    /// # Errors
    /// None.
    pub fn finish() -> super::Result<Vec<Work>> {
        Ok(Vec::new())
    }
}

/// What `vxm doctor` prints.
#[derive(Debug, Clone)]
pub struct Report;

pub fn doctor() -> Report {
    Report
}

impl Report {
    pub fn is_ready(&self) -> bool {
        false
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::NotBuilt.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::Device;

    #[test]
    fn a_gpu_is_refused_and_says_why() {
        let refused = Device::Cuda(0).scope(|| Ok(())).unwrap_err().to_string();
        let why = if cfg!(unix) { "built without the feature cuda" } else { "on Unix systems only" };
        assert!(refused.starts_with("no CUDA device: ") && refused.ends_with(why), "{refused}");
        assert_eq!(Device::Cuda(1).check().unwrap_err().to_string(), refused);
        assert_eq!(Device::auto(), Device::Cpu);
    }
}
