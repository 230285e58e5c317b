#![doc = include_str!("../README.md")]

mod abi;
mod alone;
mod error;
mod launcher;
mod mpi;
mod passing;
mod progress;
mod report;
mod threads;

pub use alone::Alone;
pub use error::{Error, Result};
pub use launcher::{LAUNCHERS, Launcher};
pub use mpi::Mpi;
pub use passing::{TOGETHER, agree};
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

    /// Sends a parcel to member `to`, and returns what member `from` sends here by the same call. All members call this, and each is sent one
    /// parcel.
    ///
    /// ```
    /// use vxm_communicator::Threads;
    ///
    /// // each of three ranks passes its number to the next one
    /// let heard = Threads::run(3, |ranks| {
    ///     let rank = ranks.rank();
    ///     ranks.pass((rank + 1) % 3, (rank + 2) % 3, vec![rank as u8])
    /// });
    /// assert_eq!(heard.into_iter().collect::<vxm_communicator::Result<Vec<_>>>()?, [[2], [0], [1]]);
    /// # Ok::<(), vxm_communicator::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange). There is no such member.
    fn pass(&self, to: usize, from: usize, parcel: Vec<u8>) -> Result<Vec<u8>>;

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
    /// Up to [`TOGETHER`] members tell each other at once. More pass sums on in `log2(size)` steps.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange). Members give different numbers of counters.
    fn agree(&self, mine: Report) -> Result<Agreed> {
        agree(self, mine)
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

impl Traffic {
    /// What sending a parcel of `bytes` to another rank takes.
    ///
    /// ```
    /// use vxm_communicator::Traffic;
    ///
    /// // a short parcel travels with its length
    /// assert_eq!(Traffic::of(8), Traffic { bytes: 16, messages: 1 });
    /// assert_eq!(Traffic::of(1000), Traffic { bytes: 1008, messages: 2 });
    /// ```
    pub fn of(bytes: usize) -> Self {
        let parts = if bytes > SHORT { bytes.div_ceil(PART) as u64 } else { 0 };
        Self { bytes: 8 + bytes as u64, messages: 1 + parts }
    }
}

/// Fails unless a group of `size` has these members.
pub(crate) fn check_members(members: [usize; 2], size: usize) -> Result<()> {
    match members.into_iter().find(|&member| member >= size) {
        Some(member) => Err(Error::Member { member, size }),
        None => Ok(()),
    }
}

/// Fails unless there is a parcel for each of `size` members.
pub(crate) fn check_parcels(found: usize, size: usize) -> Result<()> {
    if found == size { Ok(()) } else { Err(Error::Parcels { found, size }) }
}
