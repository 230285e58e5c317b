//! Copies of a vector's elements on the ranks that read them, and partial results on the ranks that make them. Only what changed is sent.

use crate::error::Result;
use crate::formats::Bitmap;
use crate::formats::bitmap::{full_words, words};
use crate::ranks::parcel::{Item, unpack};
use crate::ranks::share::{Line, Share};
use vxm_semiring::Element;

/// A vector of `len` places without elements.
pub(crate) fn nothing<T: Element>(len: usize) -> Bitmap<T> {
    Bitmap::new(vec![T::ZERO; len], vec![0; words(len)])
}

/// Copies of a vector's elements at the slots of a share.
#[derive(Debug)]
pub(crate) struct Replicas<T> {
    /// This rank's own elements, as others know them.
    told: Bitmap<T>,
    slots: Bitmap<T>,
    /// The same for rows' own elements, which are sent only if they are read.
    told_rows: Bitmap<T>,
}

impl<T: Element> Replicas<T> {
    /// No copies yet, of a vector of which this rank owns `count` elements. `own` says that rows' own elements are read.
    #[inline(never)]
    pub fn new<A: Element>(share: &Share<A>, count: usize, own: bool) -> Self {
        let mut slots = nothing(share.slots());
        if share.row.is_some() && !own {
            // never read, but present, so that the slots of columns alone decide whether all are
            (0..share.csr.nrows()).for_each(|row| slots.put(row, Some(T::ZERO)));
        }
        Self { told: nothing(count), slots, told_rows: nothing(if own { count } else { 0 }) }
    }

    /// The elements at all slots.
    pub fn slots(&self) -> &Bitmap<T> {
        &self.slots
    }

    /// Brings the slots up to date with the vector, of which this rank owns `piece`. Returns the slots that changed. All ranks call this.
    #[inline(never)]
    pub fn refresh<A: Element>(&mut self, share: &Share<A>, piece: &Bitmap<T>, own: bool) -> Result<Vec<u32>> {
        let mut changed = Vec::new();
        let Self { told, slots, told_rows } = self;
        if share.row.is_none() {
            for place in 0..piece.len() {
                if Item::change(slots.get(place), piece.get(place)) != Item::Same {
                    slots.put(place, piece.get(place));
                    changed.push(place as u32);
                }
            }
        }
        Self::tell(&share.column, told, slots, piece, &mut changed)?;
        if let Some(row) = share.row.as_ref().filter(|_| own) {
            Self::tell(row, told_rows, slots, piece, &mut changed)?;
        }
        if slots.bits().is_some() && slots.nvals() == slots.len() {
            let full = std::mem::replace(slots, Bitmap::dense(Vec::new()));
            *slots = Bitmap::dense(full.into_values());
        }
        Ok(changed)
    }

    /// Sends what changed to the members of a line, and stores what they sent.
    #[inline(never)]
    pub(crate) fn tell(
        line: &Line,
        told: &mut Bitmap<T>,
        slots: &mut Bitmap<T>,
        piece: &Bitmap<T>,
        changed: &mut Vec<u32>,
    ) -> Result<()> {
        let found = line.give(size_of::<T>(), &|place| Item::change(told.get(place), piece.get(place)))?;
        for (parcel, takes) in found.iter().zip(&line.takes) {
            unpack(parcel, takes.len(), |k, x| {
                slots.put(takes.start + k, x);
                changed.push((takes.start + k) as u32);
            })?;
        }
        *told = piece.clone();
        Ok(())
    }
}

/// Partial results of rows that several ranks hold parts of, at those ranks and at the rows' owners.
#[derive(Debug)]
pub(crate) struct Partials<T> {
    /// The partial results made here, as the owners know them.
    told: Bitmap<T>,
    /// For each member of the row of ranks, the partial results that it made of rows owned here.
    heard: Vec<Bitmap<T>>,
}

impl<T: Element> Partials<T> {
    /// No partial results yet.
    #[inline(never)]
    pub fn new(rows: usize, line: &Line) -> Self {
        Self { told: nothing(rows), heard: line.gives.iter().map(|places| nothing(places.len())).collect() }
    }

    /// Sends partial results to the rows' owners. Returns this rank's `count` results, each joined in the order of ranks. All ranks call
    /// this.
    pub fn join(
        &mut self,
        line: &Line,
        partial: &Bitmap<T>,
        count: usize,
        add: &dyn Fn(T, T) -> T,
    ) -> Result<Bitmap<T>> {
        let Self { told, heard } = self;
        let found = line.give_back(size_of::<T>(), &|row| Item::change(told.get(row), partial.get(row)))?;
        for (parcel, heard) in found.iter().zip(heard.iter_mut()) {
            unpack(parcel, heard.len(), |k, x| heard.put(k, x))?;
        }
        *told = partial.clone();
        let (mut values, mut bits) = (vec![T::ZERO; count], vec![0u64; words(count)]);
        for (places, heard) in line.gives.iter().zip(&self.heard) {
            for (k, &place) in places.iter().enumerate() {
                let Some(x) = heard.get(k) else { continue };
                let (word, mask, held) = (place as usize / 64, 1 << (place % 64), &mut values[place as usize]);
                *held = if bits[word] & mask == 0 { x } else { add(*held, x) };
                bits[word] |= mask;
            }
        }
        debug_assert!(bits.iter().zip(full_words(count)).all(|(bits, full)| bits & !full == 0));
        Ok(Bitmap::new(values, bits))
    }
}
