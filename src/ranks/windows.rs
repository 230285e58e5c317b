//! Windows in which ranks on GPUs of one host show each other their pieces of a vector. Kernels read all of them as if they lay in one memory.
//!
//! Each rank has two, which are used in turn. A rank comes back to a window only after all have met once more, and each meets the others only
//! once its kernels are done. So nothing is overwritten that a kernel still reads.

use crate::error::Result;
use crate::kernels::{Buffer, NAME_BYTES, OpenedWindow, Window};
use crate::ranks::devices::Link;
use crate::ranks::grid::Grid;
use crate::ranks::parcel::unexpected;
use std::sync::{Arc, Mutex, PoisonError};

/// The two windows, and which comes next.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    held: Mutex<([Option<AllWindows>; 2], usize)>,
}

/// A window of each rank.
#[derive(Debug)]
struct AllWindows {
    own: Window,
    /// The others', which must stay open.
    _opened: Vec<OpenedWindow>,
    /// The address of each rank's.
    addresses: Arc<Buffer>,
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
        if window.as_ref().is_none_or(|window| window.own.len() < bytes) {
            *window = Some(self.open_windows(bytes.next_power_of_two())?);
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

    /// A window of `bytes` bytes on each rank. All ranks call this.
    fn open_windows(&self, bytes: usize) -> Result<AllWindows> {
        let Some(gpu) = self.gpu() else { return Err(unexpected("ranks on CPUs have no windows")) };
        let made = gpu.window(bytes).and_then(|window| Ok((window.name()?, window)));
        let (name, own) = self.agree(made.map_err(Into::into))?;
        let names = self.exchange(vec![name.to_vec(); self.size()])?;
        let open = || -> Result<_> {
            let (mut opened, mut addresses) = (Vec::new(), Vec::new());
            for (rank, name) in names.iter().enumerate() {
                if rank == self.rank() {
                    addresses.push(own.buffer().address());
                    continue;
                }
                let name: &[u8; NAME_BYTES] =
                    name.as_slice().try_into().map_err(|_| unexpected("a rank without a window"))?;
                let theirs = gpu.open_window(name)?;
                addresses.push(theirs.address());
                opened.push(theirs);
            }
            Ok((opened, Arc::new(gpu.upload_slice(&addresses)?)))
        };
        let (opened, addresses) = self.agree(open())?;
        Ok(AllWindows { own, _opened: opened, addresses })
    }
}
