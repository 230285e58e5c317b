//! Channels: how elements of vectors on GPUs go from rank to rank. Kernels list what changed, and store what was heard.

use crate::backend::cuda::compact::{builder, launch_over};
use crate::backend::cuda::vector::Cells;
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::bitmap::words;
use crate::kernels::{Buffer, sources};
use crate::ranks::{Carrier, unexpected};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use vxm_communicator::Communicator;
use vxm_semiring::Element;

/// The positions that fill a member's last word read no place.
const NO_PLACE: u32 = u32::MAX;

/// The arrays of a parcel begin at multiples of this many bytes.
const ALIGNED: usize = 256;

/// How parcels go from a rank to the members of a group, and from them to it.
///
/// Each member hears of certain places of a vector here: its *positions*. They are counted from a multiple of 64, so that no two members share
/// a word. What a member sends is stored in a range of slots, in the order of its positions.
#[derive(Debug)]
pub struct Channel {
    ranks: Arc<dyn Communicator>,
    carrier: Carrier,
    /// The place that each position reads.
    places: Buffer,
    /// The positions of each member.
    positions: Vec<Range<usize>>,
    /// The member of each word of positions, and each member's first position and number of positions.
    members: [Buffer; 3],
    /// The number of positions, those included that fill words.
    len: usize,
    /// The slots for what each member sends.
    takes: Vec<Range<usize>>,
    /// Page-locked memory for parcels on their way out and in.
    staged: Mutex<[Option<Buffer>; 2]>,
}

/// What is told ahead of a parcel.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// How many elements changed.
    changed: usize,
    /// Whether the parcel lists those. Otherwise it has an element of each position.
    listed: bool,
    /// Whether elements may be absent. Then a bit says of each whether it is present.
    partial: bool,
}

/// The most elements that are listed: with more of them, all elements take fewer bytes. It equals the kernel's function of this name.
fn most_listed(size: usize, positions: usize) -> usize {
    positions * (8 * size + 1) / (8 * size + 33)
}

impl Head {
    /// The head of a parcel that tells of `changed` elements of `size` bytes, at `positions` positions.
    fn new(changed: usize, size: usize, positions: usize, partial: bool) -> Self {
        Self { changed, listed: changed <= most_listed(size, positions), partial }
    }

    fn encode(self) -> Vec<u8> {
        ((self.changed as u64) << 2 | u64::from(self.listed) << 1 | u64::from(self.partial)).to_le_bytes().to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let word = bytes.first_chunk().map(|word| u64::from_le_bytes(*word));
        let word = word.ok_or_else(|| unexpected("a parcel without a head"))?;
        Ok(Self { changed: (word >> 2) as usize, listed: word & 2 != 0, partial: word & 1 != 0 })
    }

    /// The number of elements in a parcel of a member with so many positions.
    fn count(self, positions: usize) -> usize {
        if self.listed { self.changed } else { positions }
    }

    /// The bytes of the parcel's arrays: elements of `size` bytes, positions, presence bits.
    fn sizes(self, size: usize, positions: usize) -> [usize; 3] {
        let count = self.count(positions);
        let bits = if self.partial { words(count) * 8 } else { 0 };
        [count * size, if self.listed { count * 4 } else { 0 }, bits]
    }
}

/// Where slots that changed are listed.
#[derive(Debug)]
pub struct ChangedSlots {
    pub(super) list: Buffer,
    /// The most that are listed.
    most: usize,
    /// How many changed; those beyond `most` aren't listed.
    pub(super) count: usize,
}

impl ChangedSlots {
    /// Room for `most` slots. None has changed.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn new(gpu: &Gpu, most: usize) -> Result<Self> {
        Ok(Self { list: gpu.alloc(most * 4)?, most, count: 0 })
    }

    /// Whether all changed slots are listed.
    pub fn are_listed(&self) -> bool {
        self.count <= self.most
    }

    /// Whether no slot changed.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The addresses of a vector's values and bits.
pub(super) fn addresses(vector: &Cells) -> [u64; 2] {
    [vector.values_address(), vector.bits_address()]
}

/// Launches a kernel over elements of `size` bytes.
fn launch_wide(gpu: &Gpu, size: usize, template: &'static str, words: &[u64], items: usize) -> Result<()> {
    if items == 0 {
        return Ok(());
    }
    let mut kernel = builder(gpu).with(sources::RANKS);
    let ty = kernel.ty(template, [size.into()]);
    launch_over(&mut kernel, ty, words, items)
}

/// What is sent at all positions: elements, positions and presence bits.
struct Leaving {
    arrays: [Buffer; 3],
    /// The bytes of an array for each position: a bit's are told by 0.
    widths: [usize; 3],
}

impl Leaving {
    /// The bytes of an array from position `first` on.
    fn bytes(&self, array: usize, first: usize, len: usize) -> Range<usize> {
        let begin = if array == 2 { first / 8 } else { first * self.widths[array] };
        begin..begin + len
    }
}

impl Channel {
    /// A channel in the group `ranks`. Member `k` hears of `places[k]`, and what it sends is stored in the slots `takes[k]`.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub(crate) fn new(
        gpu: &Gpu,
        (ranks, carrier): (&Arc<dyn Communicator>, &Carrier),
        places: &[Vec<u32>],
        takes: &[Range<usize>],
    ) -> Result<Self> {
        let (mut all, mut positions, mut of_word) = (Vec::new(), Vec::new(), Vec::new());
        for (member, places) in (0u32..).zip(places) {
            let first = all.len();
            all.extend_from_slice(places);
            positions.push(first..all.len());
            all.resize(all.len().next_multiple_of(64), NO_PLACE);
            of_word.resize(all.len() / 32, member);
        }
        let firsts: Vec<u32> = positions.iter().map(|positions| positions.start as u32).collect();
        let counts: Vec<u32> = positions.iter().map(|positions| positions.len() as u32).collect();
        Ok(Self {
            ranks: ranks.clone(),
            carrier: carrier.clone(),
            places: gpu.upload_slice(&all)?,
            positions,
            members: [gpu.upload_slice(&of_word)?, gpu.upload_slice(&firsts)?, gpu.upload_slice(&counts)?],
            len: all.len(),
            takes: takes.to_vec(),
            staged: Mutex::new([None, None]),
        })
    }

    /// The number of positions, those included that fill words.
    pub fn padded(&self) -> usize {
        self.len
    }

    /// The positions of each member.
    pub fn positions(&self) -> &[Range<usize>] {
        &self.positions
    }

    /// The address of the places that positions read.
    pub fn places_address(&self) -> u64 {
        self.places.address()
    }

    /// A place for the numbers of changes that kernels count: one for each member, and one for the caller. All are 0.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn counts(&self, gpu: &Gpu) -> Result<Buffer> {
        Ok(gpu.zeroed((self.positions.len() + 1) * 8)?)
    }

    /// The address of the caller's counter in [`counts`](Self::counts).
    pub fn counter(&self, counts: &Buffer) -> u64 {
        counts.address() + self.positions.len() as u64 * 8
    }

    /// Sends to each member what changed from `told` to `now` at its positions, and stores what members send in `slots`. Lists those slots in
    /// `changed`. `counts` come from [`counts`](Self::counts), where the caller may have counted, too. Returns whether all members' vectors are
    /// full. All members call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    pub fn tell(
        &self,
        told: Option<&Cells>,
        now: &Cells,
        slots: &mut Cells,
        mut changed: Option<&mut ChangedSlots>,
        counts: &Buffer,
    ) -> Result<bool> {
        let (size, members, partial) = (now.size, self.positions.len(), now.bits.is_some());
        let leaving = self.list_changes(told, now, counts)?;
        let counts: Vec<u64> = counts.download(members + 1)?;
        let head = |(positions, &count): (&Range<usize>, &u64)| Head::new(count as usize, size, positions.len(), partial);
        let out: Vec<Head> = self.positions.iter().zip(&counts).map(head).collect();
        let heads = self.ranks.exchange(out.iter().map(|head| head.encode()).collect())?;
        let into: Vec<Head> = heads.iter().map(|head| Head::decode(head)).collect::<Result<_>>()?;

        let mut pieces = Vec::new();
        for (member, (head, positions)) in out.iter().zip(&self.positions).enumerate() {
            if head.changed > 0 && !head.listed {
                self.pack_all(now, positions, &leaving)?;
            }
            let sizes = if head.changed > 0 { head.sizes(size, positions.len()) } else { [0; 3] };
            for (array, len) in sizes.into_iter().enumerate().filter(|&(_, len)| len > 0) {
                pieces.push((member, &leaving.arrays[array], leaving.bytes(array, positions.start, len)));
            }
        }
        let arrived = Arrived::new(&into, &self.takes, size);
        // page-locked memory stays for the next exchange
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let received = match &self.carrier {
            Carrier::Host => self.through_host(&now.gpu, &pieces, &arrived, &mut staged)?,
            Carrier::Nccl(nccl) => {
                let mut received = now.gpu.alloc(arrived.bytes)?;
                let into: Vec<_> = arrived.pieces().collect();
                nccl.exchange(&pieces, &mut received, &into)?;
                received
            }
        };
        if let Some(changed) = &mut changed {
            changed.count += counts[members] as usize;
        }
        self.unpack(&into, &arrived, &received, slots, changed)?;
        if let Carrier::Host = self.carrier {
            staged[1] = Some(received);
        }
        Ok(into.iter().all(|head| !head.partial))
    }

    /// Lists the changes for all members.
    fn list_changes(&self, told: Option<&Cells>, now: &Cells, counts: &Buffer) -> Result<Leaving> {
        let (gpu, size, partial) = (&now.gpu, now.size, now.bits.is_some());
        let bits = if partial { gpu.zeroed(self.len / 8)? } else { gpu.alloc(0)? };
        let leaving =
            Leaving { arrays: [gpu.alloc(self.len * size)?, gpu.alloc(self.len * 4)?, bits], widths: [size, 4, 0] };
        let ([told_values, told_bits], [values, bits]) = (told.map_or([0, 0], addresses), addresses(now));
        let [of_word, firsts, lens] = &self.members;
        let words = [
            u64::from(told.is_some()),
            told_values,
            told_bits,
            values,
            bits,
            self.places.address(),
            of_word.address(),
            firsts.address(),
            lens.address(),
            self.len as u64,
            counts.address(),
            leaving.arrays[0].address(),
            if partial { leaving.arrays[2].address() } else { 0 },
            leaving.arrays[1].address(),
        ];
        launch_wide(gpu, size, "vxm::ListChanges", &words, self.len)?;
        Ok(leaving)
    }

    /// Writes the elements at all positions of a member.
    fn pack_all(&self, now: &Cells, positions: &Range<usize>, leaving: &Leaving) -> Result<()> {
        let ([values, bits], count) = (addresses(now), positions.len().next_multiple_of(64));
        let [out, _, out_bits] = &leaving.arrays;
        let out_bits = if bits == 0 { 0 } else { out_bits.address() };
        let words =
            [values, bits, self.places.address(), positions.start as u64, count as u64, out.address(), out_bits];
        launch_wide(&now.gpu, now.size, "vxm::PackAll", &words, count)
    }

    /// Brings pieces to other members, and theirs here, through memory of the host.
    fn through_host(
        &self,
        gpu: &Gpu,
        pieces: &[(usize, &Buffer, Range<usize>)],
        arrived: &Arrived,
        staged: &mut [Option<Buffer>; 2],
    ) -> Result<Buffer> {
        let mut starts = vec![0];
        for (.., range) in pieces {
            starts.push(starts[starts.len() - 1] + range.len().next_multiple_of(8));
        }
        let total = starts[pieces.len()];
        let mut leaving = staged_buffer(gpu, staged[0].take(), total)?;
        for ((_, from, range), &at) in pieces.iter().zip(&starts) {
            leaving.copy_range(at, from, range.start, range.len())?;
        }
        let mut bytes = vec![0; total];
        leaving.download_into(&mut bytes)?;
        staged[0] = Some(leaving);
        let mut parcels = vec![Vec::new(); self.positions.len()];
        for ((member, _, range), &at) in pieces.iter().zip(&starts) {
            parcels[*member].extend_from_slice(&bytes[at..at + range.len()]);
        }
        let found = self.ranks.exchange(parcels)?;
        let (mut bytes, mut read) = (vec![0; arrived.bytes], vec![0; found.len()]);
        for (member, range) in arrived.pieces() {
            let piece = found[member].get(read[member]..read[member] + range.len());
            read[member] += range.len();
            bytes[range].copy_from_slice(piece.ok_or_else(|| unexpected("a parcel that ends too early"))?);
        }
        let mut received = staged_buffer(gpu, staged[1].take(), arrived.bytes)?;
        received.upload_at(0, &bytes)?;
        Ok(received)
    }

    /// Stores the elements of received parcels.
    fn unpack(
        &self,
        heads: &[Head],
        arrived: &Arrived,
        received: &Buffer,
        slots: &mut Cells,
        mut changed: Option<&mut ChangedSlots>,
    ) -> Result<()> {
        let gpu = slots.gpu.clone();
        slots.own(heads.iter().any(|head| head.changed > 0 && head.partial))?;
        for ((head, arrays), takes) in heads.iter().zip(&arrived.arrays).zip(&self.takes) {
            if head.changed == 0 {
                continue;
            }
            let count = head.count(takes.len());
            let address = |array: &Range<usize>| match array.is_empty() {
                true => 0,
                false => received.address() + array.start as u64,
            };
            let list = changed.as_mut().map_or(0, |changed| {
                let at = changed.count;
                changed.count += count;
                if changed.are_listed() { changed.list.address() + 4 * at as u64 } else { 0 }
            });
            let [values, positions, bits] = arrays.each_ref().map(address);
            let [slot_values, slot_bits] = addresses(slots);
            let words = [values, bits, positions, count as u64, takes.start as u64, slot_values, slot_bits, list];
            launch_wide(&gpu, slots.size, "vxm::UnpackParcel", &words, count)?;
        }
        Ok(())
    }
}

/// Where the arrays of the members' parcels lie once they have arrived.
struct Arrived {
    arrays: Vec<[Range<usize>; 3]>,
    bytes: usize,
}

impl Arrived {
    fn new(heads: &[Head], takes: &[Range<usize>], size: usize) -> Self {
        let mut end = 0;
        let mut place = |len: usize| {
            let first = usize::next_multiple_of(end, ALIGNED);
            end = first + len;
            first..end
        };
        let arrays = heads.iter().zip(takes).map(|(head, takes)| match head.changed {
            0 => [0..0, 0..0, 0..0],
            _ => head.sizes(size, takes.len()).map(&mut place),
        });
        let arrays = arrays.collect();
        Self { arrays, bytes: end }
    }

    /// The arrays that hold something, with the number of the member that sends them.
    fn pieces(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let of_member = |(member, arrays): (usize, &[Range<usize>; 3])| arrays.clone().map(|array| (member, array));
        self.arrays.iter().enumerate().flat_map(of_member).filter(|(_, array)| !array.is_empty())
    }
}

/// Page-locked memory of at least `bytes` bytes: `held` if that is enough.
fn staged_buffer(gpu: &Gpu, held: Option<Buffer>, bytes: usize) -> Result<Buffer> {
    match held.filter(|held| held.len() >= bytes) {
        Some(held) => Ok(held),
        None => Ok(gpu.alloc_on_host(bytes.next_power_of_two())?),
    }
}

/// Copies what changed of a rank's own elements to the first slots, and lists these. Adds their number to the counter at an address.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn take_own(own: &Cells, slots: &mut Cells, changed: &ChangedSlots, counter: u64) -> Result<()> {
    let (gpu, count) = (&own.gpu, own.len);
    let places = count.next_multiple_of(32);
    slots.own(own.bits.is_some())?;
    let ([values, bits], [slot_values, slot_bits]) = (addresses(own), addresses(slots));
    let head = [values, bits, slot_values, slot_bits, count as u64, places as u64];
    let tail = [changed.list.address(), changed.most as u64, counter];
    launch_wide(gpu, own.size, "vxm::TakeOwn", &[&head[..], &tail].concat(), places)
}

/// A vector of `len` places without elements.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn nothing<T: Element>(gpu: &Gpu, len: usize) -> Result<DeviceVector<T>> {
    DeviceVector::fresh(gpu, len, true)
}
