//! Slots in memory that the GPUs of other ranks write.
//!
//! A loop that lets elements be read late keeps its state there. Each rank's kernel visits the rank's own elements, and writes what changes
//! into its own window and into those of the ranks that have copies. No rank waits for another inside such a kernel.

use crate::backend::cuda::compact::{builder, launch_over};
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::error::Result;
use crate::kernels::{Buffer, sources};
use crate::ranks::{AllWindows, Line, unexpected};
use vxm_semiring::Element;

/// The windows of a column of ranks. They have the slots of the ranks' shares.
#[derive(Debug)]
pub struct PeerSlots {
    windows: AllWindows,
    /// For each member, and each place of this rank, the slot of the copy there; all ones if there is none.
    copies: Buffer,
    members: usize,
    places: usize,
    slots: usize,
}

impl PeerSlots {
    /// Makes a window for a share with `slots` slots, of which the first `places` are this rank's own, and opens those of the members of `line`.
    /// `None` if a rank can't. All members call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    pub(crate) fn new(gpu: &Gpu, line: &Line, places: usize, slots: usize) -> Result<Option<Self>> {
        // an element has at most the bytes of a word
        let windows = match AllWindows::new(gpu, &*line.ranks, slots * size_of::<u64>())? {
            Ok(windows) => windows,
            Err(why) => {
                tracing::debug!(operation = "fixpoint", peers = "no", why = %why, "plan");
                return Ok(None);
            }
        };
        // a member hears at which slot its elements begin here
        let firsts = line.takes.iter().map(|slots| (slots.start as u64).to_le_bytes().to_vec()).collect();
        let (told, members) = (line.ranks.exchange(firsts)?, line.gives.len());
        let mut table = vec![u32::MAX; members * places];
        for (member, (first, gives)) in told.iter().zip(&line.gives).enumerate() {
            let first = first.first_chunk().map(|word| u64::from_le_bytes(*word) as u32);
            let first = first.ok_or_else(|| unexpected("a rank without a first slot"))?;
            let row = &mut table[member * places..(member + 1) * places];
            (first..).zip(gives).for_each(|(slot, &place)| row[place as usize] = slot);
        }
        Ok(Some(Self { windows, copies: gpu.upload_slice(&table)?, members, places, slots }))
    }

    /// The number of this rank's own elements.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The words of a kernel's `PeerCopies`.
    pub fn words(&self) -> [u64; 4] {
        let (windows, copies) = (self.windows.addresses.address(), self.copies.address());
        [self.members as u64, self.places as u64, windows, copies]
    }

    /// The elements at all slots, in the window.
    pub fn elements<T: Element>(&self) -> DeviceVector<T> {
        DeviceVector::over(self.windows.own.buffer().clone(), self.slots)
    }

    /// Writes this rank's elements to its window, and copies of them to the others'. No kernel of another rank may be reading there.
    ///
    /// # Errors
    /// The device is lost.
    pub fn share<T: Element>(&self, own: &DeviceVector<T>) -> Result<()> {
        if self.places == 0 {
            return Ok(());
        }
        let mut kernel = builder(own.gpu()).with(sources::COPIES);
        let t = kernel.element::<T>();
        let ty = kernel.ty("vxm::ShareElements", [t]);
        let words = [&self.words()[..], &[own.values_address(), self.windows.own.buffer().address()]].concat();
        launch_over(&mut kernel, ty, &words, self.places)
    }

    /// This rank's own elements, copied out of the window.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn own<T: Element>(&self) -> Result<DeviceVector<T>> {
        let (buffer, bytes) = (self.windows.own.buffer(), self.places * size_of::<T>());
        let mut values = buffer.gpu().alloc(bytes)?;
        if bytes > 0 {
            values.copy_range(0, buffer, 0, bytes)?;
        }
        Ok(DeviceVector::over(values.into(), self.places))
    }
}
