//! Devices: the CPU, or a GPU by its number.

use crate::backend::cuda::Gpu;
use crate::error::{Error, Result};
use crate::memory::Resident;
use crate::ranks::Grid;
use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

/// A device: where containers are stored, and so where expressions run.
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
#[non_exhaustive]
pub enum Device {
    /// The host's CPU.
    #[default]
    Cpu,
    /// The NVIDIA GPU with this number, counted from 0.
    Cuda(usize),
}

/// A limit on the memory of a device, which ends when this is dropped; see [`Device::limit_memory`].
#[derive(Debug)]
#[must_use = "the limit ends when this is dropped"]
pub struct MemoryLimit(Limited);

#[derive(Debug)]
enum Limited {
    Gpu { gpu: Gpu, before: Option<u64> },
    Cpu { _watched: Resident },
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Limited::Gpu { gpu, before } = &self.0 {
            gpu.set_budget(*before);
        }
    }
}

/// Where an expression runs, if not on this process' CPU alone.
#[derive(Debug, Clone)]
pub enum Place {
    /// On a GPU.
    Gpu(Gpu),
    /// On all ranks of a grid.
    Ranks(Grid),
}

thread_local! {
    /// The place of the innermost scope that this thread is in; `None` on the CPU.
    static CURRENT: RefCell<Option<Place>> = const { RefCell::new(None) };
}

impl Device {
    /// The first GPU if there is one, otherwise the CPU.
    pub fn auto() -> Self {
        if Gpu::count().is_ok_and(|count| count > 0) { Self::Cuda(0) } else { Self::Cpu }
    }

    /// Runs `f`. Meanwhile expressions with all operands on the host run on this device.
    ///
    /// # Errors
    /// If there is no such device, or `f` fails.
    pub fn scope<R>(self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let _entered = Entered::new(self.gpu()?.map(Place::Gpu));
        f()
    }

    /// Limits the memory that this process takes on the device to `bytes`, until the guard that is returned is dropped.
    ///
    /// On a GPU these are the bytes of all buffers. Vectors and row offsets must fit; entries of matrices that don't fit stay on the host, in
    /// page-locked memory that kernels read over the bus. Answers stay the same. On the CPU it is the resident memory of the process, as far as
    /// [mapped files](crate::io::NativeFile) can give their pages back.
    ///
    /// The limit holds for all threads. The guard restores the limit before it.
    ///
    /// ```
    /// use vxm::algorithms::{MisOptions, mis};
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let _limit = Device::Cpu.limit_memory(1 << 30)?;
    /// assert_eq!(mis(&a, &MisOptions::default())?.set.nvals(), 2);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such device; or on the CPU, the system doesn't tell the memory of a process.
    pub fn limit_memory(self, bytes: u64) -> Result<MemoryLimit> {
        Ok(MemoryLimit(match self.gpu()? {
            Some(gpu) => Limited::Gpu { before: gpu.set_budget(Some(bytes)), gpu },
            None => Limited::Cpu { _watched: Resident::limit(bytes)? },
        }))
    }

    /// Tells how many bytes a row are needed for vectors while entries of matrices are placed on the device. Without, it is an estimate that
    /// suits loops. It holds until a limit is set or ends.
    ///
    /// # Errors
    /// There is no such device.
    #[doc(hidden)]
    pub fn leave_for_vectors(self, bytes: u64) -> Result<()> {
        if let Some(gpu) = self.gpu()? {
            gpu.set_vector_room(bytes);
        }
        Ok(())
    }

    /// Waits for all work that was queued on the device, and so finds out whether it failed.
    ///
    /// # Errors
    /// If there is no such device, or it is lost.
    pub fn synchronize(self) -> Result<()> {
        self.gpu()?.map_or(Ok(()), |gpu| Ok(gpu.synchronize()?))
    }

    /// Waits for all work of this process on the device, also for that of other libraries.
    ///
    /// # Errors
    /// As for [`synchronize`](Self::synchronize).
    pub fn synchronize_all(self) -> Result<()> {
        self.gpu()?.map_or(Ok(()), |gpu| Ok(gpu.synchronize_all()?))
    }

    /// The GPU that the memory at `address` belongs to, whatever library of the process has allocated it; `None` if it belongs to none.
    /// Page-locked memory of the host belongs to the GPU that it was claimed through.
    ///
    /// # Errors
    /// If there is no GPU, or no driver.
    pub fn of_address(address: u64) -> Result<Option<Self>> {
        Ok(Gpu::ordinal_of(address)?.map(Self::Cuda))
    }

    /// Checks that there is such a device, without opening it.
    ///
    /// # Errors
    /// If there is no such device, or no driver.
    pub fn check(self) -> Result<()> {
        let Self::Cuda(asked) = self else { return Ok(()) };
        match Gpu::count()? {
            count if asked < count => Ok(()),
            count => Err(crate::kernels::Error::NoSuchDevice { asked, count }.into()),
        }
    }

    /// The bytes of memory that can still be allocated there. On the host this is [what the system leaves](crate::memory::available). On a
    /// GPU it is the free memory, including blocks that are cached for reuse.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// assert!(Device::Cpu.available()? > 0);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such device, or it is lost.
    pub fn available(self) -> Result<u64> {
        Ok(match self.gpu()? {
            None => crate::memory::available(),
            Some(gpu) => gpu.memory()?.0,
        })
    }

    /// Runs `f` with a [dry run](Gpu::dry_run) as the device of its expressions: every kernel is compiled, none runs, and results are
    /// zeros. For tests.
    #[doc(hidden)]
    pub fn dry_run<R>(dry_run: &Gpu, f: impl FnOnce() -> R) -> R {
        assert!(dry_run.is_dry_run(), "{dry_run:?}: expected a dry run");
        let _entered = Entered::new(Some(Place::Gpu(dry_run.clone())));
        f()
    }

    /// Opens the GPU; `None` for the CPU.
    pub(crate) fn gpu(self) -> Result<Option<Gpu>> {
        match self {
            Self::Cpu => Ok(None),
            Self::Cuda(ordinal) => Ok(Some(Gpu::open(ordinal)?)),
        }
    }
}

/// The GPU of the innermost scope that this thread is in; `None` outside of scopes and on the CPU.
pub(crate) fn current() -> Option<Gpu> {
    match current_place() {
        Some(Place::Gpu(gpu)) => Some(gpu),
        _ => None,
    }
}

/// The place of the innermost scope that this thread is in; `None` outside of scopes and on the CPU.
pub(crate) fn current_place() -> Option<Place> {
    CURRENT.with_borrow(Clone::clone)
}

/// A guard of a scope. While it lives, this thread's expressions with all operands on the host run on its device. It holds the device
/// of the scope around.
#[derive(Debug)]
pub(crate) struct Entered(Option<Place>);

impl Entered {
    /// Enters a scope; `None` is the CPU.
    pub(crate) fn new(place: Option<Place>) -> Self {
        Self(CURRENT.replace(place))
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
