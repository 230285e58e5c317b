//! Short results, brought to the host without holding up later launches.
//!
//! Up to 128 bytes arrive in page-locked memory: a copy writes them there ([`Buffer::begin_download`]), or a kernel does ([`Mailbox`]).
//! The host waits for them only when it needs them ([`Readback::wait`]). It waits for a copy by an event. It waits for a kernel's words by
//! polling the memory itself.

use std::cell::Cell;
use std::ffi::c_void;
use std::hint;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use cudarc::driver::result as driver;
use cudarc::driver::sys::{self, CUevent_flags as Flags, CUresult};

use crate::context::{Gpu, lock};
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::pod::Pod;
use crate::trace::measured;

/// The most bytes of a readback.
pub(crate) const CAPACITY: usize = 128;

/// The last word of a mailbox until a kernel writes it.
const UNWRITTEN: u32 = u32::MAX;

/// How often a mailbox is polled before the driver is asked whether the device is still running: for some 20 us.
const POLLS: u32 = 500;

/// The page-locked memory of one readback, and the event that is recorded after it is written.
#[derive(Debug)]
struct PageLocked {
    at: *mut c_void,
    /// The same memory as kernels address it.
    address: sys::CUdeviceptr,
    written: sys::CUevent,
}

// SAFETY: only one readback at a time uses it, and the driver's functions may be called from any thread
unsafe impl Send for PageLocked {}
// SAFETY: as above
unsafe impl Sync for PageLocked {}

/// A device's page-locked memory that no readback uses. It is kept for later readbacks until the process ends.
#[derive(Default)]
struct Unused(Mutex<Vec<PageLocked>>);

/// Bytes on their way to the host.
#[derive(Debug)]
pub struct Readback {
    gpu: Gpu,
    len: usize,
    /// `None` in a dry run, where `answer` holds the bytes.
    memory: Option<PageLocked>,
    /// Whether a kernel writes the bytes, and the last word tells when. Otherwise the event does.
    posted: bool,
    /// Whether the bytes were waited for, and have come.
    written: Cell<bool>,
    answer: [MaybeUninit<u8>; CAPACITY],
}

/// Page-locked host memory for a kernel to write its result to, so that no copy delays the next launch.
///
/// The kernel writes the last 4 bytes last, and not as all ones: the host polls them to learn that all bytes are there.
#[derive(Debug)]
pub struct Mailbox {
    readback: Readback,
}

impl Gpu {
    /// A mailbox of `len` bytes, 128 at most.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for more; [`Error::Driver`] if the host has no page-locked memory left.
    pub fn mailbox(&self, len: usize) -> Result<Mailbox> {
        if len > CAPACITY {
            return Err(Error::Range { first: 0, end: len, len: CAPACITY });
        }
        let mut readback = Readback {
            gpu: self.clone(),
            len,
            memory: None,
            posted: len > 0 && len.is_multiple_of(4),
            written: Cell::new(false),
            answer: [MaybeUninit::new(0); CAPACITY],
        };
        if self.stand_in().is_none() {
            let unused = lock(&self.attached::<Unused>().0).pop();
            let memory = unused.map_or_else(|| PageLocked::new(self), Ok)?;
            if readback.posted {
                memory.last_word(len).store(UNWRITTEN, Ordering::Release);
            }
            readback.memory = Some(memory);
        }
        Ok(Mailbox { readback })
    }
}

impl Mailbox {
    /// The address, for a kernel's parameters. Valid until [`begin`](Self::begin) and the wait after it, or until the mailbox is dropped.
    pub fn address(&self) -> u64 {
        self.readback.memory.as_ref().map_or(0, |memory| memory.address)
    }

    /// The readback of what a kernel launched before writes to all of the mailbox, the last 4 bytes last.
    ///
    /// If no kernel writes it, its last 4 bytes are all ones.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`], also for a kernel that failed before.
    pub fn begin(self) -> Result<Readback> {
        let Self { mut readback } = self;
        readback.gpu.count_readback();
        if let Some(stand_in) = readback.gpu.stand_in() {
            stand_in.answer(&mut readback.answer[..readback.len]);
        }
        if let Some(memory) = readback.memory.as_ref().filter(|_| !readback.posted) {
            memory.record(&readback.gpu)?;
        }
        Ok(readback)
    }
}

impl Buffer {
    /// Starts a copy of the first `len` bytes to the host, after all work submitted to the device before. It does not wait for the copy, so
    /// more work can be submitted meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if the buffer is shorter, or `len` is more than 128; [`Error::Lost`], also for a kernel that failed before;
    /// [`Error::Driver`] if the host has no page-locked memory left.
    pub fn begin_download(&self, len: usize) -> Result<Readback> {
        self.begin(0, len)
    }

    /// Starts a copy of bytes `first..first + len`, as [`begin_download`](Self::begin_download) does.
    pub(crate) fn begin(&self, first: usize, len: usize) -> Result<Readback> {
        let (from, gpu) = (self.range(first, len)?, self.gpu());
        let mut mailbox = gpu.mailbox(len)?;
        mailbox.readback.posted = false;
        if let Some(memory) = &mailbox.readback.memory {
            let stream = gpu.handles().stream;
            // SAFETY: the range was checked, the memory is long enough, and the readback keeps it until the event has come
            let copy = || unsafe { sys::cuMemcpyDtoHAsync_v2(memory.at, from, len, stream) }.result();
            measured(gpu, || format!("to host: {len} bytes"), || gpu.call("cuMemcpyDtoHAsync", copy))?;
        }
        mailbox.begin()
    }
}

impl PageLocked {
    fn new(gpu: &Gpu) -> Result<Self> {
        let (mut at, mut address, mut written) = (ptr::null_mut(), 0, ptr::null_mut());
        // SAFETY: the place for the address is valid
        let claim = || unsafe { sys::cuMemHostAlloc(&mut at, CAPACITY, sys::CU_MEMHOSTALLOC_DEVICEMAP) }.result();
        gpu.call("cuMemHostAlloc", claim)?;
        // SAFETY: the memory was allocated above, and mapped for kernels
        let find = || unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, at, 0) }.result();
        gpu.call("cuMemHostGetDevicePointer", find)?;
        let create = || {
            written = driver::event::create(Flags::CU_EVENT_DISABLE_TIMING)?;
            Ok(())
        };
        gpu.call("cuEventCreate", create)?;
        Ok(Self { at, address, written })
    }

    /// The last word of the first `len` bytes; `len` is a multiple of 4, and not 0.
    fn last_word(&self, len: usize) -> &AtomicU32 {
        // SAFETY: `len` is within the memory, page-locked memory is aligned, and both sides write a word whole
        unsafe { AtomicU32::from_ptr(self.at.cast::<u32>().add(len / 4 - 1)) }
    }

    /// Polls until a kernel has written `len` bytes, or the device has done all work submitted to it.
    ///
    /// The acquire load of the last word makes the kernel's earlier writes visible, since the kernel writes that word last.
    fn poll(&self, gpu: &Gpu, len: usize) -> Result<()> {
        let written = || self.last_word(len).load(Ordering::Acquire) != UNWRITTEN;
        // SAFETY: the stream is open
        let idle = || match unsafe { sys::cuStreamQuery(gpu.handles().stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.result().map(|()| true),
        };
        loop {
            for _ in 0..POLLS {
                if written() {
                    return Ok(());
                }
                hint::spin_loop();
            }
            if gpu.call("cuStreamQuery", idle)? {
                return Ok(());
            }
            thread::yield_now();
        }
    }

    /// Records the event after all work submitted to the device so far.
    fn record(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: event and stream are open
        gpu.call("cuEventRecord", || unsafe { driver::event::record(self.written, gpu.handles().stream) })
    }

    /// Waits for the event.
    fn wait(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: the event is open
        gpu.call("cuEventSynchronize", || unsafe { driver::event::synchronize(self.written) })
    }
}

impl Readback {
    /// Waits for the bytes, and returns them as values: as many whole values as they hold.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a kernel failed.
    pub fn wait<T: Pod>(self) -> Result<Vec<T>> {
        let count = self.len.checked_div(size_of::<T>()).unwrap_or(0);
        let mut values = Vec::<T>::with_capacity(count);
        let bytes = count * size_of::<T>();
        // SAFETY: the capacity is `count` values; `write` initialises their bytes, and `mend` makes them values of `T`
        unsafe {
            self.write(values.as_mut_ptr().cast(), bytes)?;
            T::mend(core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes));
            values.set_len(count);
        }
        Ok(values)
    }

    /// Waits, and copies the first `len` bytes to `to`.
    ///
    /// # Safety
    ///
    /// `to` is valid for writing `len` bytes, and the readback has at least as many.
    pub(crate) unsafe fn write(&self, to: *mut u8, len: usize) -> Result<()> {
        let from = match &self.memory {
            Some(memory) => {
                match self.posted {
                    true => memory.poll(&self.gpu, self.len),
                    false => memory.wait(&self.gpu),
                }?;
                self.written.set(true);
                memory.at.cast::<u8>().cast_const()
            }
            None => self.answer.as_ptr().cast(),
        };
        // SAFETY: the caller vouches for `to`; the memory is written, and only this readback uses it
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
        Ok(())
    }
}

impl Drop for Readback {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        // The memory may be reused only once nothing writes to it any more. If the bytes were not waited for, a copy or a kernel may still
        // be running, so all work submitted so far is waited for. If that
        // fails, as it does on a lost device, the memory is not reused.
        let settle = || memory.record(&self.gpu).and_then(|()| memory.wait(&self.gpu));
        if self.written.get() || settle().is_ok() {
            lock(&self.gpu.attached::<Unused>().0).push(memory);
        }
    }
}
