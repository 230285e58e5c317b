//! Sums that many ranks pass on, so that each sends few messages.

use crate::{Agreed, Communicator, Error, Report, Result};

/// Up to so many ranks tell each other their reports at once, where a rank that is late is named by each that waits for it. A rank sends
/// 15 messages then, and 4 or 5 if sums are passed on, each of which waits for the one before.
pub const TOGETHER: usize = 16;

/// What [`Communicator::agree`] does unless a communicator has its own way.
///
/// # Errors
/// As `agree`.
pub fn agree<C: Communicator + ?Sized>(ranks: &C, mine: Report) -> Result<Agreed> {
    match ranks.size() {
        size if size <= TOGETHER => Report::join(&ranks.exchange(vec![mine.encode(); size])?),
        _ => passed_on(ranks, mine),
    }
}

/// The sum of some members' reports.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sum {
    /// The sums; `None` if members gave different numbers of counters.
    counters: Option<Vec<u64>>,
    /// The error of the lowest rank that has one.
    error: Option<(usize, String)>,
}

/// The sum of all members' reports. After step `k` a member has the sum of `2^k` members, itself and those that follow it. Of the bits of `size` that
/// are set, the steps so far make the sum of as many members, too: the top bit completes it.
fn passed_on<C: Communicator + ?Sized>(ranks: &C, mine: Report) -> Result<Agreed> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let error = mine.error.map(|text| (rank, text));
    let (mut block, mut rest, mut count) = (Sum { counters: Some(mine.counters), error }, None, 1);
    while count < size {
        let (is_set, is_top) = (size & count != 0, 2 * count > size);
        let (to, from) = ((rank + size - count) % size, (rank + count) % size);
        let found = ranks.pass(to, from, encode([(!is_top).then_some(&block), rest.as_ref()]))?;
        let misfit = || Error::Misfit { what: format!("a report of {} bytes from rank {from}", found.len()) };
        let [other_block, other_rest] = decode(&found).ok_or_else(misfit)?;
        if is_set {
            rest = Some(other_rest.map_or_else(|| block.clone(), |other| joined(&block, &other)));
        }
        if !is_top {
            block = joined(&block, &other_block.ok_or_else(misfit)?);
        }
        count *= 2;
    }
    // of a power of two, the block is the sum of all
    let Sum { counters, error } = if size.is_power_of_two() { block } else { rest.unwrap_or(block) };
    let misfit = || Error::Misfit { what: "reports with different numbers of counters".to_owned() };
    Ok(Agreed { counters: counters.ok_or_else(misfit)?, error })
}

fn joined(x: &Sum, y: &Sum) -> Sum {
    let sum = |(x, y): (&u64, &u64)| x.wrapping_add(*y);
    let counters = match (&x.counters, &y.counters) {
        (Some(x), Some(y)) if x.len() == y.len() => Some(x.iter().zip(y).map(sum).collect()),
        _ => None,
    };
    Sum { counters, error: [&x.error, &y.error].into_iter().flatten().min_by_key(|(rank, _)| *rank).cloned() }
}

/// Two sums as bytes: each after a byte that says whether it is there, and whether it has counters.
fn encode(sums: [Option<&Sum>; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for sum in sums {
        let Some(Sum { counters, error }) = sum else {
            bytes.push(0);
            continue;
        };
        bytes.push(1 + u8::from(counters.is_some()));
        let counters = counters.as_deref().unwrap_or(&[]);
        bytes.extend((counters.len() as u32).to_le_bytes());
        counters.iter().for_each(|counter| bytes.extend(counter.to_le_bytes()));
        bytes.push(u8::from(error.is_some()));
        if let Some((rank, text)) = error {
            bytes.extend((*rank as u64).to_le_bytes());
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<[Option<Sum>; 2]> {
    let sums = [decode_one(&mut bytes)?, decode_one(&mut bytes)?];
    bytes.is_empty().then_some(sums)
}

/// The first sum of `bytes`, if it is there. They then begin after it.
fn decode_one(bytes: &mut &[u8]) -> Option<Option<Sum>> {
    let kind = take(bytes, 1)?[0];
    if kind == 0 {
        return Some(None);
    }
    let count = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
    let counters = take(bytes, count.checked_mul(8)?)?.chunks_exact(8);
    let counters = counters.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect();
    let error = if take(bytes, 1)? == [0] {
        None
    } else {
        let rank = u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?) as usize;
        let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
        Some((rank, String::from_utf8_lossy(take(bytes, length)?).into_owned()))
    };
    Some(Some(Sum { counters: (kind > 1).then_some(counters), error }))
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_again() {
        let plain = Sum { counters: Some(vec![3, u64::MAX]), error: None };
        let failed = Sum { counters: Some(vec![]), error: Some((7, "line 7 is bad".to_owned())) };
        let misfit = joined(&plain, &failed);
        assert_eq!(misfit, Sum { counters: None, ..failed.clone() });
        for sums in [[None, Some(&plain)], [Some(&failed), Some(&misfit)], [None, None], [Some(&plain), None]] {
            let bytes = encode(sums);
            assert_eq!(decode(&bytes).unwrap(), sums.map(Option::<&Sum>::cloned));
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
            assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        }
        assert_eq!(decode(&[1, 255, 255, 255, 255, 0]), None);
        // two sums of two counters are a short parcel
        assert!(encode([Some(&plain), Some(&plain)]).len() <= crate::SHORT);
    }
}
