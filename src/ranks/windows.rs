//! Windows of ranks on GPUs of one host: memory that all of their kernels read and write; and pieces of vectors that ranks show each other
//! there.
//!
//! For pieces each rank has two windows, which are used in turn. A rank comes back to one only after all have met once more, and each meets the
//! others only once its kernels are done. So nothing is overwritten that a kernel still reads.

use crate::error::{Error, Result};
use crate::kernels::{Buffer, Gpu, OpenedWindow, Window};
use crate::ranks::devices::{Link, host};
use crate::ranks::grid::Grid;
use crate::ranks::parcel::unexpected;
use std::sync::{Arc, Mutex, PoisonError};
use vxm_communicator::Communicator;

/// A window of each member of a group.
#[derive(Debug)]
pub(crate) struct AllWindows {
    /// This rank's.
    pub own: Window,
    /// The others', which must stay open.
    _opened: Vec<OpenedWindow>,
    /// The address of each member's, for this rank's kernels.
    pub addresses: Arc<Buffer>,
}

impl AllWindows {
    /// Makes a window of `bytes` bytes on each member of a group, and opens the others'. If one can't, the inner result is an error on all of
    /// them. All members call this.
    ///
    /// # Errors
    /// Another rank has failed.
    #[inline(never)]
    pub fn new(gpu: &Gpu, ranks: &dyn Communicator, bytes: usize) -> Result<Result<Self>> {
        let made = gpu.window(bytes).and_then(|window| Ok((window.name()?, window)));
        let (here, name) = (host().into_bytes(), made.as_ref().map_or(Vec::new(), |(name, _)| name.to_vec()));
        let told = ranks.exchange(vec![[&here[..], &name].concat(); ranks.size()])?;
        let open = |own: Window| -> Result<Self> {
            let (mut opened, mut addresses) = (Vec::new(), Vec::new());
            for (rank, theirs) in told.iter().enumerate() {
                if rank == ranks.rank() {
                    addresses.push(own.buffer().address());
                    continue;
                }
                let name = theirs.strip_prefix(&here[..]).and_then(|name| name.try_into().ok());
                let unknown = || Error::invalid(format!("rank {rank} is on another host, or can't share memory"));
                let theirs = gpu.open_window(name.ok_or_else(unknown)?)?;
                addresses.push(theirs.address());
                opened.push(theirs);
            }
            Ok(Self { own, _opened: opened, addresses: Arc::new(gpu.upload_slice(&addresses)?) })
        };
        let opened = made.map_err(Error::from).and_then(|(_, own)| open(own));
        // windows stay until all have tried
        let ready = ranks.exchange(vec![vec![u8::from(opened.is_ok())]; ranks.size()])?;
        Ok(match ready.iter().position(|ready| *ready != [1]) {
            Some(rank) => {
                opened.and_then(|_| Err(Error::invalid(format!("rank {rank} can't reach all others' memory"))))
            }
            None => opened,
        })
    }
}

/// The two windows for pieces, and which comes next.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    held: Mutex<([Option<AllWindows>; 2], usize)>,
}

/// Pieces that all ranks have shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The address of each rank's window.
    pub addresses: Arc<Buffer>,
    /// Where presence bits begin in a window.
    pub presence: usize,
    /// Whether all ranks' pieces are full.
    pub full: bool,
}

impl Grid {
    /// Whether ranks can show each other pieces.
    pub(crate) fn shows(&self) -> bool {
        self.link() == Some(Link::Peers)
    }

    /// Shows this rank's piece of a vector with `len` places, of elements of `size` bytes: its values, and its presence bits unless it is
    /// full. It stays until the call after the next. All ranks call this, on a grid that [`shows`](Self::shows).
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    #[inline(never)]
    pub(crate) fn show(&self, (len, size): (usize, usize), values: &Buffer, bits: Option<&Buffer>) -> Result<Shown> {
        let Some(gpus) = self.gpus() else { return Err(unexpected("ranks on CPUs have no windows")) };
        let owners = self.owners(len);
        // windows are of one size, so that all ranks make new ones together
        let most = (0..self.size()).map(|rank| owners.count(rank)).max().unwrap_or(0);
        let presence = (most * size).next_multiple_of(256);
        let bytes = presence + most.div_ceil(64) * 8;
        let mut held = gpus.windows.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (windows, turn) = &mut *held;
        let window = &mut windows[*turn % 2];
        *turn += 1;
        if window.as_ref().is_none_or(|window| window.own.buffer().len() < bytes) {
            *window = None;
            *window = Some(AllWindows::new(&gpus.gpu, self.world(), bytes.next_power_of_two())??);
        }
        let Some(window) = window else { return Err(unexpected("a window that was just made")) };
        let count = self.count(len);
        let write = || {
            window.own.copy_from(0, values, count * size)?;
            match bits {
                Some(bits) => window.own.copy_from(presence, bits, count.div_ceil(64) * 8)?,
                None => window.own.fill(presence, count.div_ceil(64) * 8, u8::MAX)?,
            }
            gpus.gpu.synchronize()
        };
        let written = write();
        let sums = self.sum(&[u64::from(bits.is_some()), u64::from(written.is_err())])?;
        if sums[1] > 0 {
            self.agree(written.map_err(Into::into))?;
        }
        Ok(Shown { addresses: window.addresses.clone(), presence, full: sums[0] == 0 })
    }
}
