//! A rank's share of a matrix on its GPU, and how elements come there.

use crate::backend::cuda::ranks::{Channel, PeerSlots, join, nothing};
use crate::backend::cuda::vector::Cells;
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu, build};
use crate::error::Result;
use crate::ranks::{Line, OnGpus, Share};
use std::sync::{Arc, OnceLock};
use vxm_semiring::{Element, Monoid};

/// A [`Share`] on a GPU.
#[derive(Debug)]
pub(crate) struct ShareOnGpu<A: Element> {
    pub csr: Arc<DeviceCsr<A>>,
    /// How operands come here: along the column of ranks.
    pub column: Channel,
    /// How rows' own elements come here, and partial results go: along the row of ranks, if it has several.
    pub row: Option<RowOfRanks>,
    /// The rows that read each slot.
    readers: OnceLock<Arc<DeviceCsr<()>>>,
    /// Slots that other ranks' GPUs write; `None` if a rank can't have them.
    peers: OnceLock<Option<Arc<PeerSlots>>>,
}

/// The slots of a share, and how elements come there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'s> {
    pub slots: usize,
    /// The number of rows, which have the first slots.
    pub rows: usize,
    pub column: &'s Channel,
    pub row: Option<&'s RowOfRanks>,
}

/// A share on a rank's host, and the same on its GPU.
pub(crate) type OnBoth<A> = (Arc<Share<A>>, Arc<ShareOnGpu<A>>);

/// The channels along a row of ranks.
#[derive(Debug)]
pub(crate) struct RowOfRanks {
    /// Brings elements of the rows' owners.
    pub own: Channel,
    /// Brings partial results to the rows' owners. They are stored at the positions of `own`.
    pub partials: Channel,
}

impl RowOfRanks {
    fn new(gpu: &Gpu, line: &Line, gpus: &OnGpus) -> Result<Self> {
        let link = (&line.ranks, &gpus.row);
        let own = Channel::new(gpu, link, &line.gives, &line.takes)?;
        let rows: Vec<Vec<u32>> =
            line.takes.iter().map(|rows| (rows.start as u32..rows.end as u32).collect()).collect();
        let partials = Channel::new(gpu, link, &rows, own.positions())?;
        Ok(Self { own, partials })
    }

    /// No partial results of this rank's rows, as others send them.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn nothing_heard<T: Element>(&self, gpu: &Gpu) -> Result<DeviceVector<T>> {
        nothing(gpu, self.own.padded())
    }

    /// Joins all ranks' results of rows by a monoid. Of `partial` only what changed since `told` is sent, and `heard` keeps what others sent.
    /// Returns the results of the `count` rows that this rank owns. All ranks call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    #[inline(never)]
    pub fn joined<T: Element, M: Monoid<T>>(
        &self,
        told: Option<&Cells>,
        partial: &DeviceVector<T>,
        heard: &mut DeviceVector<T>,
        count: usize,
        add: M,
    ) -> Result<DeviceVector<T>> {
        self.partials.tell(told, partial, heard, None, &self.partials.counts(partial.gpu())?)?;
        join(&self.own, heard, count, add)
    }
}

impl<A: Element> ShareOnGpu<A> {
    /// Copies a share to a GPU.
    #[inline(never)]
    pub fn new(share: &Share<A>, gpus: &OnGpus) -> Result<Self> {
        let (gpu, line) = (&gpus.gpu, &share.column);
        Ok(Self {
            csr: Arc::new(DeviceCsr::upload(gpu, &share.csr)?),
            column: Channel::new(gpu, (&line.ranks, &gpus.column), &line.gives, &line.takes)?,
            row: share.row.as_ref().map(|line| RowOfRanks::new(gpu, line, gpus)).transpose()?,
            readers: OnceLock::new(),
            peers: OnceLock::new(),
        })
    }

    /// Its slots, and how elements come there.
    pub fn lines(&self) -> Lines<'_> {
        let (rows, slots) = (self.csr.nrows(), self.csr.ncols());
        Lines { slots, rows, column: &self.column, row: self.row.as_ref() }
    }

    /// Slots that other ranks' GPUs write, for a grid of one column; `None` if a rank can't have them. All ranks call this.
    ///
    /// # Errors
    /// The device is lost. Another rank has failed.
    #[inline(never)]
    pub fn peers(&self, share: &Share<A>) -> Result<Option<Arc<PeerSlots>>> {
        if let Some(held) = self.peers.get() {
            return Ok(held.clone());
        }
        let made = PeerSlots::new(self.csr.gpu(), &share.column, share.csr.nrows(), share.slots())?.map(Arc::new);
        Ok(self.peers.get_or_init(|| made).clone())
    }

    /// The rows that read each slot: the transposed pattern.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn readers(&self) -> Result<Arc<DeviceCsr<()>>> {
        if let Some(held) = self.readers.get() {
            return Ok(held.clone());
        }
        let made = Arc::new(build::transpose(&self.csr.pattern()?)?);
        Ok(self.readers.get_or_init(|| made).clone())
    }
}
