//! What ranks agree on: sums of counters, and an error.

use crate::{Error, Result};

/// What a rank tells the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Counters, which are summed up over all ranks. Sums wrap.
    pub counters: Vec<u64>,
    /// This rank's error, in one line.
    pub error: Option<String>,
}

/// What all ranks know after they have told each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The sums.
    pub counters: Vec<u64>,
    /// The error of the lowest rank that has one, and that rank.
    pub error: Option<(usize, String)>,
}

impl Report {
    /// The number of counters, the counters, and the error's text after a byte, if there is one.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.counters.len() as u64).to_le_bytes().to_vec();
        self.counters.iter().for_each(|counter| bytes.extend(counter.to_le_bytes()));
        if let Some(error) = &self.error {
            bytes.push(1);
            bytes.extend(error.as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk::<8>()?;
        let mut counters = Vec::new();
        for _ in 0..u64::from_le_bytes(*count) {
            let (counter, after) = rest.split_first_chunk::<8>()?;
            counters.push(u64::from_le_bytes(*counter));
            rest = after;
        }
        let error = rest.get(1..).map(|text| String::from_utf8_lossy(text).into_owned());
        Some(Self { counters, error })
    }

    /// Joins the reports of all ranks.
    pub(crate) fn join(parcels: &[Vec<u8>]) -> Result<Agreed> {
        let mut agreed: Option<Agreed> = None;
        for (rank, parcel) in parcels.iter().enumerate() {
            let misfit = || Error::Misfit { what: format!("a report of {} bytes from rank {rank}", parcel.len()) };
            let Self { counters, error } = Self::decode(parcel).ok_or_else(misfit)?;
            let error = error.map(|text| (rank, text));
            let Some(sums) = &mut agreed else {
                agreed = Some(Agreed { counters, error });
                continue;
            };
            if sums.counters.len() != counters.len() {
                return Err(misfit());
            }
            sums.counters.iter_mut().zip(counters).for_each(|(sum, counter)| *sum = sum.wrapping_add(counter));
            sums.error = sums.error.take().or(error);
        }
        Ok(agreed.unwrap_or(Agreed { counters: Vec::new(), error: None }))
    }
}
