//! Where things lie and run: the CPU, or a GPU by its number.

use super::cuda::Gpu;
use crate::error::{Error, Result};
use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

/// A device: where containers lie, and so where expressions run.
///
/// ```
/// use vxm::prelude::*;
///
/// assert_eq!("cuda:1".parse::<Device>()?, Device::Cuda(1));
/// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?.to(Device::Cpu)?;
/// assert_eq!(a.device(), Device::Cpu);
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// The host's threads.
    #[default]
    Cpu,
    /// The NVIDIA GPU of that number, from 0.
    Cuda(usize),
}

thread_local! {
    static CURRENT: RefCell<Option<Gpu>> = const { RefCell::new(None) };
}

impl Device {
    /// The first GPU if there is one, or else the CPU.
    pub fn auto() -> Self {
        if Gpu::count().is_ok_and(|count| count > 0) { Self::Cuda(0) } else { Self::Cpu }
    }

    /// Runs `f` with this device as the one where expressions run whose operands all lie on the host.
    ///
    /// # Errors
    /// There is no such device, or those of `f`.
    pub fn scope<R>(self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let _entered = Entered::new(self.gpu()?);
        f()
    }

    /// Waits for all that was asked of the device: what ran there, or failed, is known after.
    ///
    /// # Errors
    /// There is no such device, or it is lost.
    pub fn synchronize(self) -> Result<()> {
        self.gpu()?.map_or(Ok(()), |gpu| Ok(gpu.synchronize()?))
    }

    /// That there is such a device. Opens none.
    ///
    /// # Errors
    /// There is not, or no driver.
    pub fn check(self) -> Result<()> {
        let Self::Cuda(asked) = self else { return Ok(()) };
        match Gpu::count()? {
            count if asked < count => Ok(()),
            count => Err(vxm_kernels::Error::NoSuchDevice { asked, count }.into()),
        }
    }

    /// The bytes of memory that can still be claimed there: on the host [what the system leaves](crate::io::memory::available), on
    /// a GPU what is free, that included which is held for reuse.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// assert!(Device::Cpu.available()? > 0);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such device, or it is lost.
    pub fn available(self) -> Result<u64> {
        Ok(match self.gpu()? {
            None => crate::io::memory::available(),
            Some(gpu) => gpu.memory()?.0,
        })
    }

    /// Runs `f` with a [rehearsal](Gpu::rehearsal) as the device where expressions run: every kernel is compiled, none runs, and
    /// answers are zeros. For tests.
    #[doc(hidden)]
    pub fn rehearse<R>(rehearsal: &Gpu, f: impl FnOnce() -> R) -> R {
        assert!(rehearsal.is_rehearsal(), "{rehearsal:?}: expected a rehearsal");
        let _entered = Entered::new(Some(rehearsal.clone()));
        f()
    }

    /// The GPU, opened; none if it is the CPU.
    pub(crate) fn gpu(self) -> Result<Option<Gpu>> {
        match self {
            Self::Cpu => Ok(None),
            Self::Cuda(ordinal) => Ok(Some(Gpu::open(ordinal)?)),
        }
    }
}

/// The GPU of the scope that this thread is in.
pub(crate) fn current() -> Option<Gpu> {
    CURRENT.with_borrow(Clone::clone)
}

/// While it lives, expressions whose operands all lie on the host run on its device.
#[derive(Debug)]
pub(crate) struct Entered(Option<Gpu>);

impl Entered {
    pub(crate) fn new(gpu: Option<Gpu>) -> Self {
        Self(CURRENT.replace(gpu))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let cuda = text.strip_prefix("cuda").map(|rest| rest.strip_prefix(':').map_or(rest, |number| number));
        match (text, cuda) {
            ("cpu", _) => Ok(Self::Cpu),
            ("auto", _) => Ok(Self::auto()),
            ("cuda", _) => Ok(Self::Cuda(0)),
            (_, Some(number)) if text != "cuda:" && text.contains(':') => {
                let ordinal = number.parse();
                ordinal.map(Self::Cuda).map_err(|_| Error::unknown("device", text, &["auto", "cpu", "cuda", "cuda:N"]))
            }
            _ => Err(Error::unknown("device", text, &["auto", "cpu", "cuda", "cuda:N"])),
        }
    }
}
