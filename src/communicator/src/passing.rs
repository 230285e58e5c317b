//! Reports that many ranks pass on, so that each sends few messages.

use crate::{Agreed, Communicator, Error, Report, Result};

/// Up to so many ranks tell each other their reports at once, where a rank that is late is named by each that waits for it. A rank sends
/// 15 messages then, and 4 or 5 if reports are passed on, each of which waits for the one before.
pub const TOGETHER: usize = 16;

/// What [`Communicator::agree`] does unless a communicator has its own way.
///
/// # Errors
/// As `agree`.
pub fn agree<C: Communicator + ?Sized>(ranks: &C, mine: Report) -> Result<Agreed> {
    let (parcel, size) = (mine.encode(), ranks.size());
    let told = if size <= TOGETHER { ranks.exchange(vec![parcel; size])? } else { passed_on(ranks, parcel)? };
    Report::join(&told)
}

/// The parcels of all members, in their order. In each step a member passes on all parcels that it has, as far as others need them, to a
/// member as many places before it.
fn passed_on<C: Communicator + ?Sized>(ranks: &C, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
    let (rank, size) = (ranks.rank(), ranks.size());
    // of this member and those that follow it
    let mut held = vec![mine];
    while held.len() < size {
        let (step, more) = (held.len(), held.len().min(size - held.len()));
        let (to, from) = ((rank + size - step) % size, (rank + step) % size);
        let found = ranks.pass(to, from, joined(&held[..more]))?;
        let misfit = || Error::Misfit { what: format!("{} bytes with reports from rank {from}", found.len()) };
        held.extend(parts(&found, more).ok_or_else(misfit)?);
    }
    held.rotate_right(rank);
    Ok(held)
}

/// Parcels as one: each after its length.
fn joined(parcels: &[Vec<u8>]) -> Vec<u8> {
    parcels.iter().flat_map(|parcel| [&(parcel.len() as u64).to_le_bytes()[..], parcel].concat()).collect()
}

/// So many parcels that [`joined`] has made one.
fn parts(mut bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    bytes.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_are_joined_and_parted() {
        let parcels = [vec![1, 2, 3], vec![], vec![7; 300]];
        let bytes = joined(&parcels);
        assert_eq!(parts(&bytes, 3).unwrap(), parcels);
        assert_eq!(parts(&bytes, 2), None);
        assert_eq!(parts(&bytes[..bytes.len() - 1], 3), None);
        assert_eq!(parts(&[255; 9], 1), None);
    }
}
