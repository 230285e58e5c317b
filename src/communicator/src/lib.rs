#![doc = include_str!("../README.md")]

mod abi;
mod alone;
mod error;
mod launcher;
mod mpi;
mod progress;
mod report;
mod threads;

pub use alone::Alone;
pub use error::{Error, Result};
pub use launcher::{LAUNCHERS, Launcher};
pub use mpi::Mpi;
pub use report::{Agreed, Report};
pub use threads::Threads;

use std::fmt;
use std::sync::Arc;

/// A group of ranks. All members call the same methods in the same order; a method returns once it has what it needs of the others.
pub trait Communicator: fmt::Debug + Send + Sync {
    /// The number of this rank in the group, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks in the group.
    fn size(&self) -> usize;

    /// What carries the bytes, in words.
    fn name(&self) -> String;

    /// The group of the members that give the same `color`, numbered by ascending `key`.
    ///
    /// # Errors
    /// Another rank has failed.
    fn split(&self, color: u32, key: u32) -> Result<Arc<dyn Communicator>>;

    /// Sends `out[k]` to member `k`, and returns what each member sent here. What a rank sends to itself is handed over.
    ///
    /// # Errors
    /// Another rank has failed, or hasn't come here within the time allowed. `out` hasn't a parcel for each member.
    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>>;

    /// What this rank has sent to other members of this group so far.
    fn sent(&self) -> Traffic;

    /// Ends all ranks of the job, with this exit status, after one line on standard error that names this rank.
    fn abort(&self, status: i32, why: &str) -> !;

    /// The sums of all members' counters, and the error of the lowest rank that has one. All members must give as many counters.
    ///
    /// ```
    /// use vxm_communicator::{Agreed, Report, Threads};
    ///
    /// let agreed = Threads::run(2, |ranks| {
    ///     let error = (ranks.rank() == 1).then(|| "line 7 is bad".to_owned());
    ///     ranks.agree(Report { counters: vec![3, ranks.rank() as u64], error })
    /// });
    /// for agreed in agreed {
    ///     assert_eq!(agreed?, Agreed { counters: vec![6, 1], error: Some((1, "line 7 is bad".to_owned())) });
    /// }
    /// # Ok::<(), vxm_communicator::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange). Members give different numbers of counters.
    fn agree(&self, mine: Report) -> Result<Agreed> {
        let parcel = mine.encode();
        Report::join(&self.exchange(vec![parcel; self.size()])?)
    }
}

/// What a rank has sent to others. An exchange sends a message of 8 bytes and a short parcel to each of them; a parcel that isn't short
/// follows in messages of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The bytes of all messages.
    pub bytes: u64,
    /// The number of messages.
    pub messages: u64,
}

/// The longest parcel that travels with its length, in one message.
pub(crate) const SHORT: usize = 56;

/// The longest message. Lengths are `int` in MPI; a longer parcel is sent in parts.
pub(crate) const PART: usize = 1 << 30;

/// What sending a parcel of `bytes` to another rank takes.
pub(crate) fn traffic_of(bytes: usize) -> Traffic {
    let parts = if bytes > SHORT { bytes.div_ceil(PART) as u64 } else { 0 };
    Traffic { bytes: 8 + bytes as u64, messages: 1 + parts }
}

/// Fails unless there is a parcel for each of `size` members.
pub(crate) fn check_parcels(found: usize, size: usize) -> Result<()> {
    if found == size { Ok(()) } else { Err(Error::Parcels { found, size }) }
}
