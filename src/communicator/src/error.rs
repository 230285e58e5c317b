//! The errors of this crate. Each displays as one line.

/// The result type of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong between ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A launcher started several ranks, but no MPI library can be opened.
    #[error(
        "{launcher} is set, so this is a rank of an MPI job, but no MPI library was opened ({tried}): expected VXM_MPI to name one"
    )]
    NoLibrary {
        /// The launcher's variable.
        launcher: &'static str,
        /// The libraries tried, and why each failed.
        tried: String,
    },

    /// The library that `VXM_MPI` names is no MPI library.
    #[error("VXM_MPI={name}: {why}")]
    NotMpi {
        /// The value of the variable.
        name: String,
        /// Why it can't be used.
        why: String,
    },

    /// The library doesn't belong to the launcher: each process would do the whole job.
    #[error("{launcher}={size}, but {library} knows one rank: expected VXM_MPI to name the launcher's MPI library")]
    OtherLauncher {
        /// The launcher's variable.
        launcher: &'static str,
        /// The number of ranks that the launcher started.
        size: usize,
        /// The library that was opened.
        library: String,
    },

    /// An MPI function failed.
    #[error("{function} failed: {why}")]
    Mpi {
        /// Its name.
        function: &'static str,
        /// Its error, in words.
        why: String,
    },

    /// A rank called from another thread than the one that started MPI.
    #[error("ranks communicate from the thread that joined them: expected no call from another thread")]
    OtherThread,

    /// MPI can't be started a second time in a process.
    #[error("MPI has ended in this process: expected the ranks to stay joined until the end")]
    Ended,

    /// Another rank has failed, so this one can't go on.
    #[error("rank {rank} has failed: {why}")]
    Failed {
        /// The rank in the whole job.
        rank: usize,
        /// Why, as far as it is known.
        why: String,
    },

    /// Another rank hasn't come within the time allowed.
    #[error("waited {seconds} s for rank {missing} of its group: expected progress within --timeout")]
    Timeout {
        /// The rank that waited, in its group.
        rank: usize,
        /// The lowest rank that it waited for, in its group.
        missing: usize,
        /// How long it waited.
        seconds: u64,
    },

    /// There isn't a parcel for each member.
    #[error("{found} parcels for {size} ranks: expected one for each")]
    Parcels {
        /// The number of parcels.
        found: usize,
        /// The number of members.
        size: usize,
    },

    /// What another rank has sent isn't what this one expects.
    #[error("{what}: expected all ranks to run the same program on the same graph")]
    Message {
        /// What came.
        what: String,
    },

    /// A rank that is a thread can't be started.
    #[error(
        "rank {rank} of {size}: no thread for it: {why}: expected fewer ranks, or more memory and threads for this process"
    )]
    Thread {
        /// The rank.
        rank: usize,
        /// The number of ranks.
        size: usize,
        /// The error of the operating system.
        why: String,
    },

    /// There is no such member.
    #[error("rank {member} of a group of {size}: expected a number below {size}")]
    Member {
        /// The number that was given.
        member: usize,
        /// The number of members.
        size: usize,
    },

    /// A message isn't what the receiver expects: ranks run different programs, or on different input.
    #[error("a message that doesn't fit: {what}: expected all ranks to run the same program on the same input")]
    Misfit {
        /// What doesn't fit.
        what: String,
    },
}
