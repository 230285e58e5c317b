//! What ranks tell each other of vectors on their GPUs: parcels of changed elements, which kernels pack and unpack.

use crate::backend::cuda::compact::{builder, launch_over, list};
use crate::backend::cuda::terminals::scan;
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::error::{Error, Result};
use crate::formats::bitmap::words;
use crate::kernels::{Buffer, Nccl, sources};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use vxm_communicator::Communicator;
use vxm_semiring::{Element, Monoid};

/// What carries parcels between the members of a group, beside the communicator that tells their sizes.
#[derive(Debug, Clone)]
pub enum Carrier {
    /// Page-locked memory of the host, and the communicator.
    Host,
    /// NCCL, from GPU to GPU.
    Nccl(Arc<Nccl>),
}

/// The positions that fill a member's last word read no place.
const NO_PLACE: u32 = u32::MAX;

/// Parcels begin at multiples of this many bytes.
const ALIGNED: usize = 256;

/// How parcels go from a rank to the members of a group, and from them to it.
///
/// Each member hears of certain places of a vector here: its *positions*. They are counted from a multiple of 32, so that no two members share
/// a word of marks. What a member sends is stored in a range of slots, in the order of its positions.
#[derive(Debug)]
pub struct Channel {
    ranks: Arc<dyn Communicator>,
    carrier: Carrier,
    /// The place that each position reads.
    places: Buffer,
    /// The positions of each member.
    positions: Vec<Range<usize>>,
    /// The first word of each member's positions, and the number of all words.
    first_words: Buffer,
    words: usize,
    /// The slots for what each member sends.
    takes: Vec<Range<usize>>,
    /// Page-locked memory for parcels on their way out and in.
    staged: Mutex<[Option<Buffer>; 2]>,
}

/// How a parcel says which positions its elements belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// It has an element of each position.
    All,
    /// It lists the positions.
    List,
    /// It has a bit for each position.
    Marked,
}

/// What is told ahead of a parcel.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// The number of elements.
    count: usize,
    form: Form,
    /// Whether elements may be absent. Then a bit says of each whether it is present.
    partial: bool,
}

/// The offsets of a parcel's arrays. An array that the parcel hasn't is empty.
struct Layout {
    bits: Range<usize>,
    places: Range<usize>,
    bytes: usize,
}

impl Head {
    /// The head of a parcel that tells of `count` of `positions` positions.
    fn new(count: usize, positions: usize, partial: bool) -> Self {
        let form = match count {
            _ if count == positions => Form::All,
            _ if 32 * count < positions => Form::List,
            _ => Form::Marked,
        };
        Self { count, form, partial }
    }

    fn encode(self) -> Vec<u8> {
        let form = match self.form {
            Form::All => 0,
            Form::List => 1,
            Form::Marked => 2,
        };
        ((self.count as u64) << 3 | form << 1 | u64::from(self.partial)).to_le_bytes().to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let word = bytes.first_chunk().map(|word| u64::from_le_bytes(*word));
        let word = word.ok_or_else(|| Error::invalid("a parcel of another rank has no head"))?;
        let form = match word >> 1 & 3 {
            0 => Form::All,
            1 => Form::List,
            _ => Form::Marked,
        };
        Ok(Self { count: (word >> 3) as usize, form, partial: word & 1 == 1 })
    }

    /// Where a parcel of elements of `size` bytes has its arrays.
    fn layout(self, size: usize, positions: usize) -> Layout {
        let after = |at: usize, bytes: usize| at..at + bytes;
        let values = (self.count * size).next_multiple_of(8);
        let bits = after(values, if self.partial { words(self.count) * 8 } else { 0 });
        let of_places = match self.form {
            _ if self.count == 0 => 0,
            Form::All => 0,
            Form::List => self.count * 4,
            Form::Marked => words(positions) * 8,
        };
        let places = after(bits.end, of_places);
        Layout { bytes: places.end, bits, places }
    }
}

/// What was heard from the members of a group.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    /// The number of elements that changed, of those told here.
    pub changed: usize,
    /// The value of the caller's counter.
    pub counted: usize,
    /// Whether all members' vectors are full.
    pub full: bool,
}

/// The address of an array in a buffer; 0 if it is empty.
fn address_of(buffer: &Buffer, first: usize, range: &Range<usize>) -> u64 {
    if range.is_empty() { 0 } else { buffer.address() + (first + range.start) as u64 }
}

/// The addresses of a vector's values and bits.
fn cells<T: Element>(vector: &DeviceVector<T>) -> [u64; 2] {
    [vector.values_address(), vector.bits_address()]
}

fn launch_wide<T: Element>(gpu: &Gpu, template: &'static str, words: &[u64], items: usize) -> Result<()> {
    if items == 0 {
        return Ok(());
    }
    let mut kernel = builder(gpu).with(sources::RANKS);
    let ty = kernel.ty(template, [size_of::<T>().into()]);
    launch_over(&mut kernel, ty, words, items)
}

impl Channel {
    /// A channel in the group `ranks`. Member `k` hears of `places[k]`, and what it sends is stored in the slots `takes[k]`.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn new<P: AsRef<[u32]>>(
        gpu: &Gpu,
        (ranks, carrier): (&Arc<dyn Communicator>, &Carrier),
        places: &[P],
        takes: &[Range<usize>],
    ) -> Result<Self> {
        let (mut all, mut positions, mut first_words) = (Vec::new(), Vec::new(), vec![0u32]);
        for places in places {
            let first = all.len();
            all.extend_from_slice(places.as_ref());
            positions.push(first..all.len());
            // whole words of 64 bits: presence bitmaps have those
            all.resize(all.len().next_multiple_of(64), NO_PLACE);
            first_words.push((all.len() / 32) as u32);
        }
        Ok(Self {
            ranks: ranks.clone(),
            carrier: carrier.clone(),
            places: gpu.upload_slice(&all)?,
            positions,
            words: all.len() / 32,
            first_words: gpu.upload_slice(&first_words)?,
            takes: takes.to_vec(),
            staged: Mutex::new([None, None]),
        })
    }

    /// The number of positions, those included that fill words.
    pub fn len(&self) -> usize {
        self.words * 32
    }

    /// The positions of each member.
    pub fn positions(&self) -> &[Range<usize>] {
        &self.positions
    }

    /// The address of the places that positions read.
    pub fn places_address(&self) -> u64 {
        self.places.address()
    }

    /// Sends to each member what changed from `told` to `now` at its positions, and stores what members send in `slots`. Marks those slots in
    /// `changed`. `counter` is read back along with the numbers of changes. All members call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    pub fn tell<T: Element>(
        &self,
        told: Option<&DeviceVector<T>>,
        now: &DeviceVector<T>,
        slots: &mut DeviceVector<T>,
        changed: Option<&Buffer>,
        counter: &Buffer,
    ) -> Result<Heard> {
        let gpu = now.gpu();
        let marks = gpu.alloc(self.words * 4)?;
        let sums = gpu.alloc((self.words + 1) * 8)?;
        let [told_values, told_bits] = told.map_or([0, 0], cells);
        let [values, bits] = cells(now);
        let head = [u64::from(told.is_some()), told_values, told_bits, values, bits];
        let tail = [self.places.address(), self.len() as u64, marks.address(), sums.address()];
        launch_wide::<T>(gpu, "vxm::MarkChanges", &[&head[..], &tail].concat(), self.len())?;
        scan(gpu, &sums, self.words)?;
        let members = self.positions.len();
        let before = gpu.alloc((members + 2) * 8)?;
        let words = [sums.address(), self.first_words.address(), members as u64 + 1, counter.address(), before.address()];
        launch_over(&mut builder(gpu).with(sources::RANKS), "vxm::MarksBefore", &words, members + 1)?;
        let before: Vec<u64> = before.download(members + 2)?;

        let partial = now.bits.is_some();
        let head = |k: usize| Head::new((before[k + 1] - before[k]) as usize, self.positions[k].len(), partial);
        let out: Vec<Head> = (0..members).map(head).collect();
        let heads = self.ranks.exchange(out.iter().map(|head| head.encode()).collect())?;
        let into: Vec<Head> = heads.iter().map(|head| Head::decode(head)).collect::<Result<_>>()?;
        let heard = Heard {
            changed: into.iter().map(|head| head.count).sum(),
            counted: before[members + 1] as usize,
            full: into.iter().all(|head| !head.partial),
        };

        let size = size_of::<T>();
        let (out_bytes, out_ranges) = placed(&out, self.positions.iter().map(Range::len), size);
        let (in_bytes, in_ranges) = placed(&into, self.takes.iter().map(Range::len), size);
        let parcels = Parcels { now, marks: &marks, sums: &sums, heads: &out, ranges: &out_ranges };
        // page-locked memory stays for the next exchange
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let mut received = match &self.carrier {
            Carrier::Host => {
                let mut leaving = staged_buffer(gpu, staged[0].take(), out_bytes)?;
                self.pack(&parcels, &mut leaving)?;
                let mut bytes = vec![0; out_bytes];
                leaving.download_into(&mut bytes)?;
                staged[0] = Some(leaving);
                let parcels = out_ranges.iter().map(|range| bytes[range.clone()].to_vec()).collect();
                let parcels = self.ranks.exchange(parcels)?;
                let mut bytes = vec![0; in_bytes];
                for (parcel, range) in parcels.iter().zip(&in_ranges) {
                    let fits = bytes.get_mut(range.clone()).filter(|place| place.len() == parcel.len());
                    fits.ok_or_else(|| Error::invalid("a parcel of another rank is cut off"))?.copy_from_slice(parcel);
                }
                let mut arrived = staged_buffer(gpu, staged[1].take(), in_bytes)?;
                arrived.upload_at(0, &bytes)?;
                arrived
            }
            Carrier::Nccl(nccl) => {
                let (mut leaving, mut arrived) = (gpu.alloc(out_bytes)?, gpu.alloc(in_bytes)?);
                self.pack(&parcels, &mut leaving)?;
                nccl.exchange((&leaving, &out_ranges), (&mut arrived, &in_ranges))?;
                arrived
            }
        };
        self.unpack(&into, &in_ranges, &mut received, slots, changed)?;
        if let Carrier::Host = self.carrier {
            staged[1] = Some(received);
        }
        Ok(heard)
    }

    /// Writes the parcels to `buffer`.
    fn pack<T: Element>(&self, parcels: &Parcels<'_, T>, buffer: &mut Buffer) -> Result<()> {
        let Parcels { now, marks, sums, heads, ranges } = parcels;
        for ((head, range), positions) in heads.iter().zip(*ranges).zip(&self.positions) {
            if head.count == 0 {
                continue;
            }
            let layout = head.layout(size_of::<T>(), positions.len());
            if !layout.bits.is_empty() {
                buffer.fill_at(range.start + layout.bits.start, layout.bits.len(), 0)?;
            }
            let places = address_of(buffer, range.start, &layout.places);
            let (listed, marked) = match head.form {
                Form::Marked => (0, places),
                _ => (places, 0),
            };
            let [values, bits] = cells(now);
            // words of 64 bits: a member has an even number of words of 32
            let (first, count) = (positions.start / 32, positions.len().div_ceil(64) * 2);
            let from = [values, bits, self.places.address(), marks.address(), sums.address(), first as u64, count as u64];
            let to = [buffer.address() + range.start as u64, address_of(buffer, range.start, &layout.bits), listed, marked];
            launch_wide::<T>(now.gpu(), "vxm::PackParcel", &[&from[..], &to].concat(), count * 32)?;
        }
        Ok(())
    }

    /// Stores the elements of received parcels.
    fn unpack<T: Element>(
        &self,
        heads: &[Head],
        ranges: &[Range<usize>],
        buffer: &mut Buffer,
        slots: &mut DeviceVector<T>,
        changed: Option<&Buffer>,
    ) -> Result<()> {
        let gpu = slots.gpu().clone();
        slots.own(heads.iter().any(|head| head.count > 0 && head.partial))?;
        for ((head, range), takes) in heads.iter().zip(ranges).zip(&self.takes) {
            if head.count == 0 {
                continue;
            }
            let layout = head.layout(size_of::<T>(), takes.len());
            let places = address_of(buffer, range.start, &layout.places);
            let listed = match head.form {
                Form::Marked => Some(list(&gpu, places, takes.len(), Some(head.count))?.0),
                _ => None,
            };
            let positions = listed.as_ref().map_or(places, |list| list.address());
            let values = buffer.address() + range.start as u64;
            let from = [values, address_of(buffer, range.start, &layout.bits), positions, head.count as u64];
            let [slot_values, slot_bits] = cells(slots);
            let to = [takes.start as u64, slot_values, slot_bits, changed.map_or(0, |changed| changed.address())];
            launch_wide::<T>(&gpu, "vxm::UnpackParcel", &[&from[..], &to].concat(), head.count)?;
        }
        Ok(())
    }
}

/// What parcels are made of, and where they go.
struct Parcels<'p, T: Element> {
    now: &'p DeviceVector<T>,
    marks: &'p Buffer,
    sums: &'p Buffer,
    heads: &'p [Head],
    ranges: &'p [Range<usize>],
}

/// The bytes of all parcels, and where each lies.
fn placed(heads: &[Head], positions: impl Iterator<Item = usize>, size: usize) -> (usize, Vec<Range<usize>>) {
    let mut end = 0;
    let ranges = heads.iter().zip(positions).map(|(head, positions)| {
        let first = usize::next_multiple_of(end, ALIGNED);
        let bytes = if head.count == 0 { 0 } else { head.layout(size, positions).bytes };
        end = first + bytes;
        first..end
    });
    let ranges = ranges.collect();
    (end, ranges)
}

/// Page-locked memory of at least `bytes` bytes: `held` if that is enough.
fn staged_buffer(gpu: &Gpu, held: Option<Buffer>, bytes: usize) -> Result<Buffer> {
    match held.filter(|held| held.len() >= bytes) {
        Some(held) => Ok(held),
        None => Ok(gpu.alloc_on_host(bytes.next_power_of_two())?),
    }
}

/// Copies what changed of a rank's own elements to the first slots, marks these in `changed`, and adds their number to `counter`.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn take_own<T: Element>(
    own: &DeviceVector<T>,
    slots: &mut DeviceVector<T>,
    changed: &Buffer,
    counter: &Buffer,
) -> Result<()> {
    let (gpu, count) = (own.gpu(), own.len());
    slots.own(own.bits.is_some())?;
    let ([values, bits], [slot_values, slot_bits]) = (cells(own), cells(slots));
    let words = [values, bits, slot_values, slot_bits, count as u64, changed.address(), counter.address()];
    launch_wide::<T>(gpu, "vxm::TakeOwn", &words, count)
}

/// A vector of `len` places without elements.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn nothing<T: Element>(gpu: &Gpu, len: usize) -> Result<DeviceVector<T>> {
    DeviceVector::fresh(gpu, len, true)
}

impl<T: Element> DeviceVector<T> {
    /// Forgets which elements are present: all are.
    pub fn note_full(&mut self) {
        self.bits = None;
        self.count = std::sync::OnceLock::from(self.len);
    }

    /// A set of `len` places with the bits in `bits`.
    fn of_bits(gpu: &Gpu, len: usize, bits: Buffer) -> Result<DeviceVector<()>> {
        Ok(DeviceVector::<()>::uninitialized(gpu, len, false)?.with_presence(bits))
    }
}

/// Rows that must be folded anew: a bit for each.
#[derive(Debug)]
pub struct StaleRows {
    bits: Buffer,
    rows: usize,
}

impl StaleRows {
    /// All of `rows` rows.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn all(gpu: &Gpu, rows: usize) -> Result<Self> {
        let mut all = Self { bits: gpu.alloc(words(rows) * 8)?, rows };
        all.mark_all()?;
        Ok(all)
    }

    /// Marks all rows.
    ///
    /// # Errors
    /// The device is lost.
    pub fn mark_all(&mut self) -> Result<()> {
        // bits past the last row are read by none
        Ok(self.bits.fill(u8::MAX)?)
    }

    /// Marks the rows that read `count` slots, which are marked in `changed`; and, if `own`, the rows of slots that are rows themselves.
    /// `readers` is the transpose of the rows.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn mark_readers<A: Element>(
        &mut self,
        readers: &DeviceCsr<A>,
        changed: &Buffer,
        count: usize,
        own: bool,
    ) -> Result<()> {
        let gpu = readers.gpu();
        let (slots, count) = list(gpu, changed.address(), readers.nrows(), Some(count))?;
        if count == 0 {
            return Ok(());
        }
        let rows = if own { self.rows as u64 } else { 0 };
        let (offsets, columns) = readers.addresses();
        let words = [slots.address(), count as u64, offsets, columns, rows, self.bits.address()];
        launch_over(&mut builder(gpu).with(sources::RANKS), "vxm::MarkReaders", &words, count * 32)
    }

    /// Takes the stale rows that are in `wanted`, or all.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn take(&mut self, wanted: Option<&DeviceVector<()>>) -> Result<DeviceVector<()>> {
        let gpu = self.bits.gpu().clone();
        let taken = gpu.alloc(words(self.rows) * 8)?;
        let wanted = wanted.map_or(0, DeviceVector::bits_address);
        let count = words(self.rows) * 2;
        let words = [wanted, self.bits.address(), taken.address(), count as u64];
        if count > 0 {
            launch_over(&mut builder(&gpu).with(sources::RANKS), "vxm::TakeStale", &words, count)?;
        }
        DeviceVector::<()>::of_bits(&gpu, self.rows, taken)
    }
}

/// Joins partial results to `count` results, in the order of ranks. `heard` holds them at the positions of `channel`, which read the places of
/// the results.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn join<T: Element, M: Monoid<T>>(
    channel: &Channel,
    heard: &DeviceVector<T>,
    count: usize,
    add: M,
) -> Result<DeviceVector<T>> {
    let gpu = heard.gpu();
    let out = nothing::<T>(gpu, count)?;
    for positions in channel.positions().iter().filter(|positions| !positions.is_empty()) {
        let mut kernel = builder(gpu).with(sources::RANKS);
        let t = kernel.element::<T>();
        let add = kernel.monoid::<T, M>(add);
        let ty = kernel.ty("vxm::JoinPartials", [add, t]);
        let ([values, bits], [out_values, out_bits]) = (cells(heard), cells(&out));
        let (first, len) = (positions.start as u64, positions.len() as u64);
        let words = [values, bits, channel.places_address(), first, len, out_values, out_bits];
        launch_over(&mut kernel, ty, &words, positions.len())?;
    }
    Ok(out)
}
