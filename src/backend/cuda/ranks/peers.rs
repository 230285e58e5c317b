//! Slots in memory that the GPUs of other ranks write.
//!
//! A loop that lets elements be read late keeps its state there. Each rank's kernel visits the rank's own elements, and writes what changes
//! into its own window and into those of the ranks that have copies. No rank waits for another inside such a kernel.

use crate::backend::cuda::compact::{builder, launch_over};
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::error::Result;
use crate::kernels::{Buffer, NAME_BYTES, OpenedWindow, Window, sources};
use crate::ranks::{Line, unexpected};
use vxm_semiring::Element;

/// The widest element of a loop's state, in bytes.
const WIDEST: usize = 8;

/// The windows of a column of ranks: this rank's, whose slots are those of a share, and the others'.
#[derive(Debug)]
pub struct PeerSlots {
    window: Window,
    /// The others' windows, which must stay open.
    opened: Vec<OpenedWindow>,
    /// The address of each member's window; 0 for this rank's own, in which no copies lie.
    addresses: Buffer,
    /// For each member, and each place of this rank, the slot of the copy there; all ones if there is none.
    copies: Buffer,
    places: usize,
    slots: usize,
}

impl PeerSlots {
    /// Makes a window for a share with `slots` slots, of which the first `places` are this rank's own, and opens those of the members of `line`.
    /// `None` if a rank has no memory for it. All members call this.
    ///
    /// # Errors
    /// The device is lost. Another rank has failed.
    pub(crate) fn new(gpu: &Gpu, line: &Line, places: usize, slots: usize) -> Result<Option<Self>> {
        let made = gpu.window(slots * WIDEST).and_then(|window| Ok((window.name()?, window)));
        let name = made.as_ref().map_or(Vec::new(), |(name, _)| name.to_vec());
        // a member hears the window's name, and at which slot its elements begin
        let parcel = |slots: &std::ops::Range<usize>| [&(slots.start as u64).to_le_bytes()[..], &name].concat();
        let told = line.ranks.exchange(line.takes.iter().map(parcel).collect())?;
        let held = made.map_err(Into::into).and_then(|(_, window)| Self::opened(gpu, line, &told, window, (places, slots)));
        let ready = line.ranks.exchange(vec![vec![u8::from(held.is_ok())]; line.ranks.size()])?;
        match held {
            Ok(held) => Ok(Some(held).filter(|_| ready.iter().all(|ready| *ready == [1]))),
            Err(error) => {
                tracing::debug!(operation = "fixpoint", peers = "no", why = %error, "plan");
                Ok(None)
            }
        }
    }

    fn opened(
        gpu: &Gpu,
        line: &Line,
        told: &[Vec<u8>],
        window: Window,
        (places, slots): (usize, usize),
    ) -> Result<Self> {
        let mut table = vec![u32::MAX; line.gives.len() * places];
        let (mut opened, mut addresses) = (Vec::new(), Vec::new());
        for (member, (parcel, gives)) in told.iter().zip(&line.gives).enumerate() {
            if member == line.ranks.rank() {
                addresses.push(0);
                continue;
            }
            let first = parcel.first_chunk().map(|word| u64::from_le_bytes(*word) as u32);
            let name: Option<&[u8; NAME_BYTES]> = parcel.get(8..).and_then(|name| name.try_into().ok());
            let (Some(first), Some(name)) = (first, name) else { return Err(unexpected("a rank without a window")) };
            let theirs = gpu.open_window(name)?;
            addresses.push(theirs.address());
            opened.push(theirs);
            let row = &mut table[member * places..(member + 1) * places];
            (first..).zip(gives).for_each(|(slot, &place)| row[place as usize] = slot);
        }
        let (addresses, copies) = (gpu.upload_slice(&addresses)?, gpu.upload_slice(&table)?);
        Ok(Self { window, opened, addresses, copies, places, slots })
    }

    /// The number of this rank's own elements.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The words of a kernel's `PeerCopies`.
    pub fn words(&self) -> [u64; 4] {
        let members = self.opened.len() as u64 + 1;
        [members, self.places as u64, self.addresses.address(), self.copies.address()]
    }

    /// The elements at all slots, in the window.
    pub fn elements<T: Element>(&self) -> DeviceVector<T> {
        DeviceVector::over(self.window.buffer().clone(), self.slots)
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
        let words = [&self.words()[..], &[own.values_address(), self.window.buffer().address()]].concat();
        launch_over(&mut kernel, ty, &words, self.places)
    }

    /// This rank's own elements, copied out of the window.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn own<T: Element>(&self) -> Result<DeviceVector<T>> {
        let (buffer, bytes) = (self.window.buffer(), self.places * size_of::<T>());
        let mut values = buffer.gpu().alloc(bytes)?;
        if bytes > 0 {
            values.copy_range(0, buffer, 0, bytes)?;
        }
        Ok(DeviceVector::over(values.into(), self.places))
    }
}
