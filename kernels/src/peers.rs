//! Memory that kernels of other GPUs write: windows, and how other ranks of a host open them.
//!
//! A window is named by bytes, which its owner sends to others. In the owner's process the name's address will do; elsewhere the driver maps
//! the memory by a handle. Kernels then write there as in their own GPU's memory, over what connects the two GPUs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use cudarc::driver::result as driver;
use cudarc::driver::sys::{self, CUresult};

use crate::context::Gpu;
use crate::error::{Error, Result};
use crate::memory::Buffer;

/// The bytes of a window's name: the process, the device's number there, the address, and the driver's handle.
pub const NAME_BYTES: usize = 16 + 8 + 8 + 64;

/// A number that no other process has.
static PROCESS: LazyLock<[u8; 16]> = LazyLock::new(|| {
    let words = [0u64, 1].map(|k| RandomState::new().hash_one((std::process::id(), k)).to_le_bytes());
    std::array::from_fn(|k| words[k / 8][k % 8])
});

/// Memory of a [`Gpu`] that kernels of other GPUs may write.
#[derive(Debug)]
pub struct Window(Arc<Buffer>);

/// Another GPU's window, as kernels of this one address it. Its owner must keep the window for longer.
#[derive(Debug)]
pub struct OpenedWindow {
    gpu: Gpu,
    address: u64,
    /// Whether the driver has mapped it here.
    is_mapped: bool,
}

impl Gpu {
    /// A window of `bytes` bytes, or of one if that is 0. They are not initialised.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn window(&self, bytes: usize) -> Result<Window> {
        Ok(Window(Arc::new(self.alloc_alone(bytes.max(1))?)))
    }

    /// Opens the window of this name for kernels of this GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if this GPU can't reach the other's memory; [`Error::Lost`](crate::Error::Lost).
    pub fn open_window(&self, name: &[u8; NAME_BYTES]) -> Result<OpenedWindow> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| name[at + k]));
        if name[..16] == *PROCESS {
            self.reach(&Self::open(word(16) as usize)?)?;
            return Ok(OpenedWindow { gpu: self.clone(), address: word(24), is_mapped: false });
        }
        let handle = sys::CUipcMemHandle { reserved: std::array::from_fn(|k| name[32 + k] as _) };
        let flags = sys::CUipcMem_flags_enum::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut address = 0;
        // SAFETY: the place for the address is valid
        let open = || unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, handle, flags) }.result();
        self.call("cuIpcOpenMemHandle", open)?;
        Ok(OpenedWindow { gpu: self.clone(), address, is_mapped: true })
    }

    /// Lets kernels of this GPU use memory of `other`, which this process has opened.
    fn reach(&self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let context = other.handles().context;
        // SAFETY: the other context stays open until the process ends
        let enable = || match unsafe { sys::cuCtxEnablePeerAccess(context, 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            status => status.result(),
        };
        self.call("cuCtxEnablePeerAccess", enable)
    }
}

impl Window {
    /// The memory.
    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.0
    }

    /// Copies the first `bytes` bytes of `from` to offset `at`. What kernels of other GPUs read and write meanwhile, they may find half done.
    ///
    /// # Errors
    ///
    /// As for [`Buffer::copy_range`]. [`Error::Driver`](crate::Error::Driver) if `from` is the window, or on another device.
    pub fn copy_from(&self, at: usize, from: &Buffer, bytes: usize) -> Result<()> {
        let (target, source) = (self.0.range(at, bytes)?, from.range(0, bytes)?);
        if bytes == 0 {
            return Ok(());
        }
        let (gpu, stream, call) = (self.0.gpu(), self.0.gpu().handles().stream, "cuMemcpyDtoDAsync");
        if std::ptr::eq(&*self.0, from) || gpu != from.gpu() {
            let what = "expected another buffer of the window's device".to_owned();
            return Err(Error::Driver { call, what });
        }
        // SAFETY: both ranges were checked, and two buffers do not overlap
        gpu.call(call, || unsafe { driver::memcpy_dtod_async(target, source, bytes, stream) })
    }

    /// Sets `bytes` bytes from offset `at` on to `byte`.
    ///
    /// # Errors
    ///
    /// As for [`Buffer::fill_at`].
    pub fn fill(&self, at: usize, bytes: usize, byte: u8) -> Result<()> {
        let target = self.0.range(at, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let (gpu, stream) = (self.0.gpu(), self.0.gpu().handles().stream);
        // SAFETY: the range was checked
        gpu.call("cuMemsetD8Async", || unsafe { driver::memset_d8_async(target, byte, bytes, stream) })
    }

    /// The name by which others open the window. Elsewhere than in this process it holds on one host only.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the system can't share the memory; [`Error::Lost`](crate::Error::Lost).
    pub fn name(&self) -> Result<[u8; NAME_BYTES]> {
        let (gpu, address) = (self.0.gpu(), self.0.address());
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the address is where an allocation begins, and the place for the handle is valid
        let make = || unsafe { sys::cuIpcGetMemHandle(&mut handle, address) }.result();
        gpu.call("cuIpcGetMemHandle", make)?;
        let mut name = [0; NAME_BYTES];
        name[..16].copy_from_slice(&*PROCESS);
        name[16..24].copy_from_slice(&(gpu.ordinal() as u64).to_le_bytes());
        name[24..32].copy_from_slice(&address.to_le_bytes());
        name[32..].iter_mut().zip(handle.reserved).for_each(|(byte, given)| *byte = given as u8);
        Ok(name)
    }
}

impl OpenedWindow {
    /// Where the window begins, for kernels of the GPU that opened it.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for OpenedWindow {
    fn drop(&mut self) {
        if !self.is_mapped || self.gpu.is_lost() {
            return;
        }
        // kernels may be writing there still
        let _ = self.gpu.synchronize();
        // SAFETY: mapped by `open_window`, and no kernel uses it any more
        let close = || unsafe { sys::cuIpcCloseMemHandle(self.address) }.result();
        if let Err(error) = self.gpu.call("cuIpcCloseMemHandle", close) {
            tracing::error!(%error, "a window of another GPU is not closed");
        }
    }
}

/// Frees memory that [`Gpu::alloc_alone`] took.
pub(crate) fn free_alone(gpu: &Gpu, address: u64) {
    // SAFETY: allocated by cuMemAlloc, and owned by no buffer any more; the call waits for the device's work
    if let Err(error) = gpu.call("cuMemFree", || unsafe { driver::free_sync(address) }) {
        tracing::error!(%error, "device memory is not freed");
    }
}
