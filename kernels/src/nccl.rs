//! Bytes sent between GPUs, by NCCL.

use std::ffi::CStr;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;

use cudarc::nccl::sys::{self, ncclDataType_t::ncclUint8, ncclResult_t as Status};

use crate::context::{Gpu, lock};
use crate::error::{Error, Result};
use crate::libraries::Library;
use crate::memory::Buffer;

/// The bytes of the number that all members of a group give to [`Nccl::join`].
pub const ID_BYTES: usize = 128;

/// NCCL's handle of a group.
struct Handle(sys::ncclComm_t);

// SAFETY: NCCL may be called with a handle from any thread, by one at a time
unsafe impl Send for Handle {}

/// A group of GPUs, one for each member, between which NCCL carries bytes.
pub struct Nccl {
    gpu: Gpu,
    size: usize,
    handle: Mutex<Handle>,
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nccl({} members, {:?})", self.size, self.gpu)
    }
}

/// Fails unless a call returned success.
fn check(call: &'static str, status: Status) -> Result<()> {
    if status == Status::ncclSuccess {
        return Ok(());
    }
    // SAFETY: NCCL was called, so it is open; it returns a text that stays
    let what = unsafe { CStr::from_ptr(sys::ncclGetErrorString(status)) };
    Err(Error::Nccl { call, what: what.to_string_lossy().into_owned() })
}

impl Nccl {
    /// A fresh number for a group. One member makes it, and sends it to the others.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no NCCL; [`Error::Nccl`].
    pub fn id() -> Result<[u8; ID_BYTES]> {
        Library::Nccl.require()?;
        let mut id = MaybeUninit::<sys::ncclUniqueId>::uninit();
        // SAFETY: NCCL is open, and the place for the number is valid
        check("ncclGetUniqueId", unsafe { sys::ncclGetUniqueId(id.as_mut_ptr()) })?;
        // SAFETY: the call has written it
        Ok(unsafe { id.assume_init() }.internal.map(|byte| byte as u8))
    }

    /// Joins a group of `size` members as number `rank`. All members call this, each with a GPU of its own, and wait for each other.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no NCCL; [`Error::Nccl`] if two members have one GPU, or a member can't be reached.
    pub fn join(gpu: &Gpu, id: [u8; ID_BYTES], rank: usize, size: usize) -> Result<Self> {
        Library::Nccl.require()?;
        gpu.make_current()?;
        let id = sys::ncclUniqueId { internal: id.map(|byte| byte as _) };
        let mut handle = MaybeUninit::uninit();
        // SAFETY: NCCL is open, this thread's current context is the GPU's, and the place for the handle is valid
        let status = unsafe { sys::ncclCommInitRank(handle.as_mut_ptr(), size as i32, id, rank as i32) };
        check("ncclCommInitRank", status)?;
        // SAFETY: the call has written it
        let handle = Mutex::new(Handle(unsafe { handle.assume_init() }));
        Ok(Self { gpu: gpu.clone(), size, handle })
    }

    /// Sends pieces: to a member, certain bytes of a buffer. Receives pieces into `to`: from a member, to certain bytes. What one member sends
    /// to another, it receives in this order, piece by piece. All of it happens after the work that was submitted to the device before. Does not
    /// wait.
    ///
    /// # Errors
    /// [`Error::Range`] if a range doesn't lie in its buffer; [`Error::Nccl`], also for a buffer on another device; [`Error::Lost`].
    pub fn exchange(
        &self,
        out: &[(usize, &Buffer, Range<usize>)],
        to: &mut Buffer,
        into: &[(usize, Range<usize>)],
    ) -> Result<()> {
        type Piece = (i32, u64, usize);
        let piece = |member: usize, buffer: &Buffer, bytes: &Range<usize>| -> Result<Piece> {
            if buffer.gpu() != &self.gpu {
                return Err(Error::Nccl { call: "ncclGroupStart", what: "a buffer is on another device".to_owned() });
            }
            Ok((member as i32, buffer.range(bytes.start, bytes.len())?, bytes.len()))
        };
        let out: Vec<Piece> = out.iter().map(|(k, from, bytes)| piece(*k, from, bytes)).collect::<Result<_>>()?;
        let into: Vec<Piece> = into.iter().map(|(k, bytes)| piece(*k, to, bytes)).collect::<Result<_>>()?;
        self.gpu.make_current()?;
        let (stream, handle) = (self.gpu.stream().cast(), lock(&self.handle));
        // SAFETY: NCCL is open
        check("ncclGroupStart", unsafe { sys::ncclGroupStart() })?;
        let mut failed = Ok(());
        for (k, address, bytes) in out {
            // SAFETY: the range lies in a buffer of this device; a buffer is freed in the order of the stream, so after this
            let status = unsafe { sys::ncclSend(address as *const _, bytes, ncclUint8, k, handle.0, stream) };
            failed = failed.and(check("ncclSend", status));
        }
        for (k, address, bytes) in into {
            // SAFETY: as above, and the buffer is borrowed for writing
            let status = unsafe { sys::ncclRecv(address as *mut _, bytes, ncclUint8, k, handle.0, stream) };
            failed = failed.and(check("ncclRecv", status));
        }
        // SAFETY: NCCL is open
        let ended = check("ncclGroupEnd", unsafe { sys::ncclGroupEnd() });
        failed.and(ended)
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // the last exchange may not have happened yet
        let idle = self.gpu.synchronize().is_ok();
        let handle = lock(&self.handle);
        // SAFETY: the handle is open, and isn't used again. Of a lost device a group is left without waiting for its members.
        unsafe { if idle { sys::ncclCommDestroy(handle.0) } else { sys::ncclCommAbort(handle.0) } };
    }
}
