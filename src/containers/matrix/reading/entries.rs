//! Entries of a graph on their way to the ranks that hold them.

use crate::containers::matrix::spread::Holders;
use crate::error::{Error, Result};
use crate::formats::bytes;
use crate::io::{Mirror, Repeated, Value};
use crate::memory;
use crate::ranks::{Grid, RowNumbers};
use rayon::prelude::*;

/// Which entries an edge of the input makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goes {
    /// That from its first end to its second.
    OneWay,
    /// Both, and it doesn't matter which is listed. The other one has the value that the mirror says.
    BothWays(Mirror),
    /// Both, where the one that is listed is told from its mirror image.
    BothWaysApart,
}

/// Entries as they came, portion by portion: a vector that grows would hold them twice.
pub type Chunks<V> = Vec<Vec<(u32, u32, V)>>;

/// The entries that have come to this rank, by the numbers of their rows, see [`RowNumbers`], and their columns.
pub struct Entries<V> {
    /// Those of edges as they are listed, and their mirror images if these are told apart; otherwise all are forward.
    forward: Chunks<V>,
    backward: Chunks<V>,
    /// The edges that this rank has read, and those of them that are self-loops.
    pub edges: u64,
    pub loops: u64,
}

impl<V: Value> Entries<V> {
    /// None.
    pub fn new() -> Self {
        Self { forward: Vec::new(), backward: Vec::new(), edges: 0, loops: 0 }
    }

    /// The number of entries, equal ones included.
    pub fn held(&self) -> usize {
        self.forward.iter().chain(&self.backward).map(Vec::len).sum()
    }

    /// Checks that there is memory for as many entries more as came with a portion before.
    pub fn room(&self, name: &str) -> Result<()> {
        let last = [&self.forward, &self.backward].into_iter().filter_map(|chunks| chunks.last());
        let bytes = last.map(|chunk| (size_of::<(u32, u32, V)>() * chunk.len()) as u128).sum();
        memory::require(bytes, || format!("{name}: a rank's share of the entries"))
    }

    /// Sends this rank's edges to the ranks that hold them, and takes what others send. All ranks call this.
    pub fn exchange(&mut self, grid: &Grid, numbers: &RowNumbers, dealt: Vec<Dealt>) -> Result<()> {
        self.edges += dealt.iter().map(|dealt| dealt.edges).sum::<u64>();
        self.loops += dealt.iter().map(|dealt| dealt.loops).sum::<u64>();
        let parcels = (0..grid.size()).map(|rank| {
            let forward: usize = dealt.iter().map(|dealt| dealt.forward[rank].len()).sum();
            let parts =
                dealt.iter().map(|dealt| &dealt.forward[rank]).chain(dealt.iter().map(|dealt| &dealt.backward[rank]));
            let mut parcel = (forward as u64).to_le_bytes().to_vec();
            parts.for_each(|part| parcel.extend_from_slice(part));
            parcel
        });
        let parcels = parcels.collect();
        drop(dealt);
        let [mut all_forward, mut all_backward] = [Vec::new(), Vec::new()];
        for parcel in grid.exchange(parcels)? {
            let (head, entries) =
                parcel.split_first_chunk().ok_or_else(|| Error::invalid("a parcel without a head"))?;
            let (forward, backward) =
                entries.split_at_checked(u64::from_le_bytes(*head) as usize).unwrap_or((entries, &[]));
            let entry = |entry: &[u8]| {
                (numbers.of(bytes::element(&entry[..4])), bytes::element(&entry[4..8]), bytes::element(&entry[8..]))
            };
            all_forward.extend(forward.chunks_exact(8 + size_of::<V>()).map(entry));
            all_backward.extend(backward.chunks_exact(8 + size_of::<V>()).map(entry));
        }
        self.forward.push(all_forward);
        self.backward.push(all_backward);
        Ok(())
    }

    /// The entries in order, without those that are repeated. With `both_ways` each is to be there forward and backward.
    pub fn cleaned(self, repeated: Repeated, both_ways: bool) -> Cleaned<V> {
        let forward = Sorted::of(self.forward, repeated);
        let (distinct, mut one_sided) = (forward.entries.len() as u64, Vec::new());
        if !both_ways && self.backward.iter().all(Vec::is_empty) {
            return Cleaned { distinct, sorted: forward, one_sided };
        }
        let backward = Sorted::of(self.backward, repeated);
        if both_ways {
            let (mut others, place) = (backward.entries.iter().peekable(), |entry: &(u32, u32, V)| (entry.0, entry.1));
            for entry in &forward.entries {
                while others.next_if(|&other| place(other) < place(entry)).is_some() {}
                let is_there =
                    |other: &&(u32, u32, V)| place(other) == place(entry) && other.2.bits() == entry.2.bits();
                if others.peek().copied().filter(is_there).is_none() {
                    one_sided.push(place(entry));
                }
            }
        }
        // an entry that is repeated is so forward
        let refused = forward.refused;
        let sorted = Sorted { refused, ..Sorted::of(vec![forward.entries, backward.entries], Repeated::Any) };
        Cleaned { distinct, sorted, one_sided }
    }
}

/// What a rank holds, after all has come.
pub struct Cleaned<V> {
    /// The number of distinct forward entries.
    pub distinct: u64,
    pub sorted: Sorted<V>,
    /// The places of forward entries without an equal one backward, if each is to have one.
    pub one_sided: Vec<(u32, u32)>,
}

/// Distinct entries, sorted.
pub struct Sorted<V> {
    pub entries: Vec<(u32, u32, V)>,
    /// The places of those that are refused because they were repeated.
    pub refused: Vec<(u32, u32)>,
}

impl<V: Value> Sorted<V> {
    /// Chunks are freed as they are joined.
    fn of(chunks: Chunks<V>, repeated: Repeated) -> Self {
        let mut all = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
        chunks.into_iter().for_each(|chunk| all.extend(chunk));
        all.par_sort_unstable_by_key(|&(row, column, _)| (row, column));
        let mut refused = Vec::new();
        all.dedup_by(|later, kept| {
            let is_same = (later.0, later.1) == (kept.0, kept.1);
            if is_same {
                match repeated {
                    Repeated::Any => {}
                    Repeated::Least => kept.2 = kept.2.least(later.2),
                    Repeated::Refused => refused.push((kept.0, kept.1)),
                }
            }
            is_same
        });
        Self { entries: all, refused }
    }
}

/// The entries of a list of edges as bytes, for each rank.
pub struct Dealt {
    forward: Vec<Vec<u8>>,
    backward: Vec<Vec<u8>>,
    edges: u64,
    loops: u64,
}

impl Dealt {
    /// # Errors
    /// Those of [`Mirror::of`].
    pub fn of<V: Value>(
        holders: &Holders,
        ranks: usize,
        (goes, file): (Goes, &str),
        edges: &[(u32, u32, V)],
    ) -> Result<Self> {
        let (mut forward, mut backward, mut loops) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks], 0);
        let put = |out: &mut Vec<Vec<u8>>, row: u32, column: u32, value: V| {
            let parcel = &mut out[holders.entry(row, column)];
            parcel.extend(row.to_le_bytes());
            parcel.extend(column.to_le_bytes());
            bytes::append(parcel, value);
        };
        for &(from, to, value) in edges {
            if from == to {
                loops += 1;
                continue;
            }
            put(&mut forward, from, to, value);
            match goes {
                Goes::OneWay => {}
                Goes::BothWays(mirror) => {
                    mirror.of(file, value)?.into_iter().for_each(|value| put(&mut forward, to, from, value));
                }
                Goes::BothWaysApart => put(&mut backward, to, from, value),
            }
        }
        Ok(Self { forward, backward, edges: edges.len() as u64, loops })
    }
}
