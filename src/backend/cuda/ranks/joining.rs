//! Moves the ranks of a grid to GPUs.

use crate::backend::Device;
use crate::backend::cuda::Gpu;
use crate::error::{Error, Result};
use crate::kernels::{ID_BYTES, Library, Nccl};
use crate::ranks::{AllWindows, Carrier, Communicator, Grid, Link, OnGpus, Windows, host};
use std::sync::Arc;

impl Grid {
    /// This grid with each rank on `device`. Ranks may name the same GPU, or different ones. What is spread over the grid then lies on the
    /// GPUs, and expressions run there. On the CPU the grid is as before. All ranks call this.
    ///
    /// ```no_run
    /// use vxm::algorithms::{MisOptions, mis};
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Link, Shape};
    ///
    /// let grid = Grid::join(Shape::Auto)?.on_device(Device::Cuda(0), Link::Auto)?;
    /// let a = grid.read("kron:20:16", &())?;
    /// println!("{} vertices", mis(&a, &MisOptions::default())?.set.nvals());
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank has no such device. `link` is NCCL or peers, and a rank doesn't find NCCL, or two ranks have one GPU; or it is peers, and a
    /// rank doesn't reach another's memory. Another rank has failed.
    pub fn on_device(&self, device: Device, link: Link) -> Result<Self> {
        let gpu = self.agree(device.gpu())?;
        let on_gpus = self.sum(&[u64::from(gpu.is_some())])?[0];
        if on_gpus != 0 && on_gpus != self.size() as u64 {
            return Err(Error::invalid("some ranks on CPUs, and some on GPUs: expected one kind of device"));
        }
        let Some(gpu) = gpu else { return Ok(self.clone()) };
        let nccl = self.agree(self.links_by_nccl(&gpu, link))?;
        let carrier = |ranks: &Arc<dyn Communicator>| match nccl && ranks.size() > 1 {
            true => joined(ranks, &gpu).map(|nccl| Carrier::Nccl(Arc::new(nccl))),
            false => Ok(Carrier::Host),
        };
        let (row, column) = (self.agree(carrier(self.row()))?, self.agree(carrier(self.column()))?);
        let link = match nccl {
            true if link != Link::Nccl && self.size() > 1 => self.links_peers(&gpu, link)?,
            true => Link::Nccl,
            false => Link::Host,
        };
        tracing::debug!(operation = "on_device", device = %device, ranks = self.size(), link = %link, "plan");
        Ok(self.with_gpus(OnGpus { gpu, link, row, column, windows: Windows::default() }))
    }

    /// This grid with each rank on a GPU of its host: the ranks of a host take its GPUs in turn. All ranks call this.
    ///
    /// # Errors
    /// As [`on_device`](Self::on_device). A host has no GPU.
    pub fn on_gpus(&self, link: Link) -> Result<Self> {
        let hosts = self.exchange(vec![host().into_bytes(); self.size()])?;
        let before = hosts[..self.rank()].iter().filter(|&other| *other == hosts[self.rank()]).count();
        let count = self.agree(Gpu::count().map_err(Error::from))?;
        let own = before.checked_rem(count).ok_or_else(|| Error::invalid("no CUDA device on this host"));
        self.on_device(Device::Cuda(self.agree(own)?), link)
    }

    /// The device that this rank runs on.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// What carries bytes between ranks on GPUs; `None` if they run on CPUs, or there is one.
    pub fn link(&self) -> Option<Link> {
        self.gpus().filter(|_| self.size() > 1).map(|gpus| gpus.link)
    }

    /// Whether NCCL carries parcels.
    fn links_by_nccl(&self, gpu: &Gpu, link: Link) -> Result<bool> {
        let found = Library::Nccl.require();
        let own = format!("{} {:?}", host(), gpu.bus());
        // which GPU each rank has, and whether it finds NCCL
        let mine = [&[u8::from(found.is_ok())], own.as_bytes()].concat();
        let all = self.exchange(vec![mine; self.size()])?;
        let shared =
            (1..all.len()).find_map(|k| Some((all[..k].iter().position(|other| other[1..] == all[k][1..])?, k)));
        match (link, shared) {
            (Link::Host, _) => Ok(false),
            (Link::Auto, shared) => Ok(shared.is_none() && all.iter().all(|other| other[0] == 1)),
            (Link::Nccl | Link::Peers, Some((first, second))) => Err(Error::invalid(format!(
                "link {link}: ranks {first} and {second} have the same GPU: expected a GPU for each rank, or link host"
            ))),
            (Link::Nccl | Link::Peers, None) => found.map(|()| true).map_err(Error::from),
        }
    }

    /// Peers if the kernels of each rank reach the memory of all others, which is tried; otherwise NCCL, unless `link` is peers. All ranks call
    /// this.
    fn links_peers(&self, gpu: &Gpu, link: Link) -> Result<Link> {
        match AllWindows::new(gpu, self.world(), 1)? {
            Ok(_) => Ok(Link::Peers),
            Err(why) if link == Link::Peers => self.agree(Err(Error::invalid(format!("link peers: {why}")))),
            Err(_) => Ok(Link::Nccl),
        }
    }
}

/// Joins a group of NCCL with the members of `ranks`.
fn joined(ranks: &Arc<dyn Communicator>, gpu: &Gpu) -> Result<Nccl> {
    // what member 0 makes, others hear
    let made = if ranks.rank() == 0 { Nccl::id().map(Some) } else { Ok(None) };
    let parcel = made.as_ref().ok().copied().flatten().map_or(Vec::new(), |id| id.to_vec());
    let heard = ranks.exchange(vec![parcel; ranks.size()])?;
    made?;
    let id: [u8; ID_BYTES] = heard[0][..].try_into().map_err(|_| Error::invalid("no group of NCCL was made"))?;
    Ok(Nccl::join(gpu, id, ranks.rank(), ranks.size())?)
}
