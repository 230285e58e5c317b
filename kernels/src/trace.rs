//! What devices did, and when, as their events measured it: for traces.
//!
//! Nothing is measured before [`start`]. Without the feature `trace` there is no such function, and `measured` is the work itself.

use crate::context::Gpu;
use crate::error::Result;

#[cfg(feature = "trace")]
pub use on::{Work, finish, start};

/// Does `work`, which submits something to the device, and measures it if a trace is taken.
#[cfg(not(feature = "trace"))]
#[inline(always)]
pub(crate) fn measured<T>(_: &Gpu, _: impl FnOnce() -> String, work: impl FnOnce() -> Result<T>) -> Result<T> {
    work()
}

/// Does `work`, which submits something to the device, and measures it if a trace is taken.
#[cfg(feature = "trace")]
#[inline]
pub(crate) fn measured<T>(gpu: &Gpu, name: impl FnOnce() -> String, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if on::is_on() && gpu.stand_in().is_none() { on::measured(gpu, name(), work) } else { work() }
}

#[cfg(feature = "trace")]
mod on {
    use crate::context::{Gpu, lock};
    use crate::error::Result;
    use cudarc::driver::result::event;
    use cudarc::driver::sys::{CUevent, CUevent_flags};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// The most kernels and copies that are measured; later ones are left out. Each holds two events of the driver.
    const MOST: usize = 1 << 16;

    static ON: AtomicBool = AtomicBool::new(false);
    static PENDING: Mutex<Vec<Pending>> = Mutex::new(Vec::new());

    /// A kernel or a copy that a device has done.
    #[derive(Debug, Clone)]
    pub struct Work {
        /// The kernel's name; of a copy, its direction and size.
        pub name: String,
        /// The device's number.
        pub device: usize,
        /// When it began, on the host's clock.
        pub begin: Instant,
        /// How long it took.
        pub lasted: Duration,
    }

    /// A kernel or a copy between two events.
    struct Pending {
        gpu: Gpu,
        name: String,
        begin: Event,
        end: Event,
    }

    /// An event of the driver, which is destroyed once its time is read.
    #[derive(Clone, Copy)]
    struct Event(CUevent);

    // SAFETY: the driver's functions may be called with an event from any thread
    unsafe impl Send for Event {}

    /// An event of a device, and when it was on the host's clock.
    #[derive(Default)]
    struct Base(Mutex<Option<(Event, Instant)>>);

    impl Event {
        /// An event after all work submitted to the device so far.
        fn record(gpu: &Gpu) -> Result<Self> {
            let mut made = Self(core::ptr::null_mut());
            gpu.call("cuEventCreate", || {
                made = Self(event::create(CUevent_flags::CU_EVENT_DEFAULT)?);
                Ok(())
            })?;
            // SAFETY: event and stream are open
            gpu.call("cuEventRecord", || unsafe { event::record(made.0, gpu.handles().stream) })?;
            Ok(made)
        }

        /// The time from this event to another one. The device has passed both.
        fn until(self, gpu: &Gpu, other: Self) -> Result<Duration> {
            // SAFETY: both events are open
            let milliseconds = gpu.call("cuEventElapsedTime", || unsafe { event::elapsed(self.0, other.0) })?;
            Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
        }

        fn destroy(self, gpu: &Gpu) -> Result<()> {
            // SAFETY: the event is open, and isn't used again
            gpu.call("cuEventDestroy", || unsafe { event::destroy(self.0) })
        }
    }

    /// From now on, kernels and copies are measured.
    pub fn start() {
        ON.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_on() -> bool {
        ON.load(Ordering::Relaxed)
    }

    /// The device's base, which the first call makes.
    fn base(gpu: &Gpu) -> Result<(Event, Instant)> {
        let base = gpu.attached::<Base>();
        let mut base = lock(&base.0);
        if let Some(base) = *base {
            return Ok(base);
        }
        gpu.synchronize()?;
        let made = Event::record(gpu)?;
        gpu.synchronize()?;
        Ok(*base.insert((made, Instant::now())))
    }

    pub(super) fn measured<T>(gpu: &Gpu, name: String, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if lock(&PENDING).len() >= MOST {
            return work();
        }
        base(gpu)?;
        let begin = Event::record(gpu)?;
        let done = work()?;
        // the work goes on whether or not it is measured: an error would tell the caller that its memory is free
        let Ok(end) = Event::record(gpu) else { return Ok(done) };
        lock(&PENDING).push(Pending { gpu: gpu.clone(), name, begin, end });
        Ok(done)
    }

    /// Waits for the devices, and returns what was measured since [`start`], in the order in which it was submitted.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`](crate::Error::Lost) if a kernel failed, or [`Error::Driver`](crate::Error::Driver).
    pub fn finish() -> Result<Vec<Work>> {
        ON.store(false, Ordering::Relaxed);
        let pending = std::mem::take(&mut *lock(&PENDING));
        let mut done = Vec::with_capacity(pending.len());
        for Pending { gpu, name, begin, end } in pending {
            let (first, at) = base(&gpu)?;
            // the last event of the device: all before it have passed too
            gpu.synchronize()?;
            let (until, lasted) = (first.until(&gpu, begin)?, begin.until(&gpu, end)?);
            begin.destroy(&gpu)?;
            end.destroy(&gpu)?;
            done.push(Work { name, device: gpu.ordinal(), begin: at + until, lasted });
        }
        Ok(done)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn nothing_is_measured_without_a_device() {
            start();
            assert!(is_on());
            assert!(finish().unwrap().is_empty() && !is_on());
        }
    }
}
