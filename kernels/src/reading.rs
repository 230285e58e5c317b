//! Reading a few bytes back without holding up what is launched behind: they are copied to page-locked memory, or a kernel writes them
//! there, and waited for when they are wanted. For a copy that is an event; for what a kernel writes the memory itself is looked at.

use std::cell::Cell;
use std::ffi::c_void;
use std::hint;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use cudarc::driver::result as driver;
use cudarc::driver::sys::{self, CUevent_flags as Flags, CUresult};

use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::Buffer;
use crate::plain::Plain;

/// Bytes that a reading has room for.
pub(crate) const ROOM: usize = 128;

/// The last word of a mailbox until it is written.
const UNWRITTEN: u32 = u32::MAX;

/// So often a mailbox is looked at before the device is asked whether it still works: some 20 us.
const LOOKS: u32 = 500;

/// Page-locked memory, and the event that says when it is written. Kept for the next reading, as long as the process lives.
#[derive(Debug)]
pub(crate) struct Locked {
    at: *mut c_void,
    /// The same for kernels.
    address: sys::CUdeviceptr,
    written: sys::CUevent,
}

// SAFETY: a slot is one reading's alone, and the driver's functions may be called from any thread
unsafe impl Send for Locked {}
// SAFETY: as above
unsafe impl Sync for Locked {}

/// Bytes that are on their way to the host.
#[derive(Debug)]
pub struct Reading {
    gpu: Gpu,
    len: usize,
    /// None in a rehearsal, which has answered already, and once it was given back.
    slot: Option<Locked>,
    /// Whether a kernel writes it, and no event says when.
    posted: bool,
    /// Whether the slot is written, and was waited for.
    written: Cell<bool>,
    answer: [MaybeUninit<u8>; ROOM],
}

/// Page-locked memory of the host's that a kernel writes to, so that no copy stands between it and what is launched next. The host looks at
/// it until its last 4 bytes are there: those are written last, and are not all ones.
#[derive(Debug)]
pub struct Mailbox {
    reading: Reading,
}

impl Gpu {
    /// Room for `len` bytes, 128 at most.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for more; [`Error::Driver`] if the host has no page-locked memory left.
    pub fn mailbox(&self, len: usize) -> Result<Mailbox> {
        if len > ROOM {
            return Err(Error::Range { first: 0, end: len, len: ROOM });
        }
        let mut reading = Reading {
            gpu: self.clone(),
            len,
            slot: None,
            posted: len > 0 && len.is_multiple_of(4),
            written: Cell::new(false),
            answer: [MaybeUninit::new(0); ROOM],
        };
        if self.stand_in().is_none() {
            let slot = self.take_slot().map_or_else(|| Locked::new(self), Ok)?;
            if reading.posted {
                slot.last(len).store(UNWRITTEN, Ordering::Release);
            }
            reading.slot = Some(slot);
        }
        Ok(Mailbox { reading })
    }
}

impl Mailbox {
    /// Where it is, for a kernel's parameters. Valid until it is begun and waited for, or dropped.
    pub fn address(&self) -> u64 {
        self.reading.slot.as_ref().map_or(0, |slot| slot.address)
    }

    /// Begins to wait for what was launched before, which writes all of it, the last 4 bytes last. If it never does, those are all ones.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`], also for a kernel that failed before.
    pub fn begin(self) -> Result<Reading> {
        let Self { mut reading } = self;
        reading.gpu.count_readback();
        if let Some(rehearsal) = reading.gpu.stand_in() {
            rehearsal.answer(&mut reading.answer[..reading.len]);
        }
        if let Some(slot) = reading.slot.as_ref().filter(|_| !reading.posted) {
            slot.follow(&reading.gpu)?;
        }
        Ok(reading)
    }
}

impl Buffer {
    /// Begins to copy the first `len` bytes to the host, after all that was asked of the device before; what is asked of it later need
    /// not wait for that.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if the buffer is shorter, or `len` is more than 128; [`Error::Lost`], also for a kernel that failed before;
    /// [`Error::Driver`] if the host has no page-locked memory left.
    pub fn begin_download(&self, len: usize) -> Result<Reading> {
        self.begin(0, len)
    }

    /// The same from `first` on.
    pub(crate) fn begin(&self, first: usize, len: usize) -> Result<Reading> {
        let (from, gpu) = (self.range(first, len)?, self.gpu());
        let mut mailbox = gpu.mailbox(len)?;
        mailbox.reading.posted = false;
        if let Some(slot) = &mailbox.reading.slot {
            let stream = gpu.handles().stream;
            // SAFETY: the range was checked, the slot has room, and the reading keeps it until the event has come
            let copy = || unsafe { sys::cuMemcpyDtoHAsync_v2(slot.at, from, len, stream) }.result();
            gpu.call("cuMemcpyDtoHAsync", copy)?;
        }
        mailbox.begin()
    }
}

impl Locked {
    fn new(gpu: &Gpu) -> Result<Self> {
        let (mut at, mut address, mut written) = (ptr::null_mut(), 0, ptr::null_mut());
        // SAFETY: the place for the address is valid
        let claim = || unsafe { sys::cuMemHostAlloc(&mut at, ROOM, sys::CU_MEMHOSTALLOC_DEVICEMAP) }.result();
        gpu.call("cuMemHostAlloc", claim)?;
        // SAFETY: the memory was allocated above, for kernels too
        let find = || unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, at, 0) }.result();
        gpu.call("cuMemHostGetDevicePointer", find)?;
        let create = || {
            written = driver::event::create(Flags::CU_EVENT_DISABLE_TIMING)?;
            Ok(())
        };
        gpu.call("cuEventCreate", create)?;
        Ok(Self { at, address, written })
    }

    /// The last word of its first `len` bytes: 4 of them at least, and a multiple.
    fn last(&self, len: usize) -> &AtomicU32 {
        // SAFETY: the slot has room for them, page-locked memory is aligned, and both sides write a word whole
        unsafe { AtomicU32::from_ptr(self.at.cast::<u32>().add(len / 4 - 1)) }
    }

    /// Looks until a kernel has written `len` bytes, or all that was asked of the device is done.
    fn watch(&self, gpu: &Gpu, len: usize) -> Result<()> {
        let written = || self.last(len).load(Ordering::Acquire) != UNWRITTEN;
        // SAFETY: the stream is open
        let idle = || match unsafe { sys::cuStreamQuery(gpu.handles().stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.result().map(|()| true),
        };
        loop {
            for _ in 0..LOOKS {
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

    /// Says that it is written by what was asked of the device before.
    fn follow(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: both are open
        gpu.call("cuEventRecord", || unsafe { driver::event::record(self.written, gpu.handles().stream) })
    }

    /// Waits until it is written.
    fn wait(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: the event is open
        gpu.call("cuEventSynchronize", || unsafe { driver::event::synchronize(self.written) })
    }
}

impl Reading {
    /// Waits for the values: as many as fit in what is read.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a kernel failed.
    pub fn wait<T: Plain>(self) -> Result<Vec<T>> {
        let count = self.len.checked_div(size_of::<T>()).unwrap_or(0);
        let mut values = Vec::<T>::with_capacity(count);
        let bytes = count * size_of::<T>();
        // SAFETY: the capacity is `count` values; once read, their bytes are initialised and, mended, values of `T`
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
    /// `to` is valid for writing `len` bytes, of which the reading has as many.
    pub(crate) unsafe fn write(&self, to: *mut u8, len: usize) -> Result<()> {
        let from = match &self.slot {
            Some(slot) => {
                match self.posted {
                    true => slot.watch(&self.gpu, self.len),
                    false => slot.wait(&self.gpu),
                }?;
                self.written.set(true);
                slot.at.cast::<u8>().cast_const()
            }
            None => self.answer.as_ptr().cast(),
        };
        // SAFETY: the caller vouches for `to`; the slot's bytes are written, and nobody else's
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
        Ok(())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        // the next reading must not find it being written, by a kernel that nobody waited for either; if the device is lost it is nobody's
        let written = || slot.follow(&self.gpu).and_then(|()| slot.wait(&self.gpu));
        if self.written.get() || written().is_ok() {
            self.gpu.give_slot(slot);
        }
    }
}
