//! Ranks as threads of one process.

use crate::progress::Limit;
use crate::{Communicator, Error, Result, Traffic, check_members, check_parcels};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How often a waiting rank of few looks whether another one has failed. The looks of many ranks take no more of the machine.
const LOOK: Duration = Duration::from_millis(20);

/// The first rank of the whole job that failed, and why.
type Failed = Arc<OnceLock<(usize, String)>>;

/// A rank that is a thread of this process; see [`run`](Self::run).
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    group: Arc<Group>,
    /// The number of splits so far, which names the groups that come of a split.
    splits: AtomicU32,
    bytes: AtomicU64,
    messages: AtomicU64,
}

/// The state that the members of a group share.
#[derive(Debug)]
struct Group {
    /// The members' ranks in the whole job.
    members: Vec<usize>,
    /// For each member, the parcels on their way to it.
    inboxes: Vec<Inbox>,
    /// The groups that came of splits, by the number of the split and the color.
    parts: Mutex<HashMap<(u32, u32), Arc<Group>>>,
    failed: Failed,
    limit: Limit,
}

/// What is on its way to a member.
#[derive(Debug)]
struct Inbox {
    held: Mutex<Parcels>,
    arrived: Condvar,
}

#[derive(Debug)]
struct Parcels {
    /// The parcels of each sender, in order.
    of: Vec<VecDeque<Vec<u8>>>,
    /// The sender that the member waits for: others don't wake it.
    awaited: Option<usize>,
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Group {
    fn new(members: Vec<usize>, failed: Failed, limit: Limit) -> Arc<Self> {
        let none = || Parcels { of: vec![VecDeque::new(); members.len()], awaited: None };
        let inbox = || Inbox { held: Mutex::new(none()), arrived: Condvar::new() };
        let inboxes = members.iter().map(|_| inbox()).collect();
        Arc::new(Self { members, inboxes, parts: Mutex::default(), failed, limit })
    }
}

impl Threads {
    /// Runs `program` as each of `size` ranks, in a thread each, and returns their results in order. If one panics, the others fail where
    /// they wait for it, and the panic goes on here.
    pub fn run<R: Send>(size: usize, program: impl Fn(Arc<dyn Communicator>) -> R + Sync) -> Vec<R> {
        Self::run_within(size, None, program)
    }

    /// The same, where no rank waits longer than `limit` for others.
    pub fn run_within<R: Send>(
        size: usize,
        limit: Option<Duration>,
        program: impl Fn(Arc<dyn Communicator>) -> R + Sync,
    ) -> Vec<R> {
        Self::run_until(size, limit, &Arc::default(), |_, world| program(world))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same of a program that may fail. If a rank returns an error, the others fail where they wait for it, and the error of the rank that
    /// failed first is returned.
    ///
    /// ```
    /// use std::error::Error;
    /// use vxm_communicator::Threads;
    ///
    /// let made = Threads::try_run(3, |ranks| match ranks.rank() {
    ///     1 => Err(Box::<dyn Error + Send + Sync>::from("line 7 is bad")),
    ///     // waits for rank 1
    ///     _ => Ok(ranks.exchange(vec![vec![]; 3])?),
    /// });
    /// assert_eq!(made.unwrap_err().to_string(), "line 7 is bad");
    /// ```
    ///
    /// # Errors
    /// That of the rank that failed first. A thread can't be started.
    pub fn try_run<R: Send, E: Send + From<Error>>(
        size: usize,
        program: impl Fn(Arc<dyn Communicator>) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let failed = Failed::default();
        let made = Self::run_until(size, None, &failed, |rank, world| {
            let made = program(world);
            if made.is_err() {
                let _ = failed.set((rank, "it failed".to_owned()));
            }
            made
        })?;
        let first = failed.get().map(|(rank, _)| *rank);
        let (mut results, mut errors) = (Vec::new(), Vec::new());
        for (rank, made) in made.into_iter().enumerate() {
            match made {
                Ok(result) => results.push(result),
                Err(error) => errors.push((Some(rank) != first, error)),
            }
        }
        match errors.into_iter().min_by_key(|(is_later, _)| *is_later) {
            Some((_, error)) => Err(error),
            None => Ok(results),
        }
    }

    fn run_until<R: Send>(
        size: usize,
        limit: Limit,
        failed: &Failed,
        program: impl Fn(usize, Arc<dyn Communicator>) -> R + Sync,
    ) -> crate::Result<Vec<R>> {
        let group = Group::new((0..size).collect(), failed.clone(), limit);
        let run = |rank: usize| {
            let made = catch_unwind(AssertUnwindSafe(|| program(rank, Arc::new(Self::of(rank, group.clone())))));
            if made.is_err() {
                // a rank that fails because another did isn't the first
                let _ = failed.set((rank, "it panicked".to_owned()));
            }
            made
        };
        std::thread::scope(|scope| {
            let (mut ranks, mut refused) = (Vec::new(), None);
            for rank in 0..size {
                match std::thread::Builder::new().spawn_scoped(scope, move || run(rank)) {
                    Ok(thread) => ranks.push(thread),
                    Err(error) => {
                        let why = error.to_string();
                        // the others end where they wait for it
                        let _ = failed.set((rank, why.clone()));
                        refused = Some(Error::Thread { rank, size, why });
                        break;
                    }
                }
            }
            let made: Vec<_> = ranks.into_iter().map(|rank| rank.join().and_then(|made| made)).collect();
            match refused {
                Some(error) => Err(error),
                None => Ok(made.into_iter().map(|made| made.unwrap_or_else(|panic| resume_unwind(panic))).collect()),
            }
        })
    }

    fn of(rank: usize, group: Arc<Group>) -> Self {
        Self { rank, group, splits: AtomicU32::new(0), bytes: AtomicU64::new(0), messages: AtomicU64::new(0) }
    }

    /// Sends a parcel to a member, which may be this one.
    fn send(&self, to: usize, parcel: Vec<u8>) {
        if to != self.rank {
            let Traffic { bytes, messages } = Traffic::of(parcel.len());
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.messages.fetch_add(messages, Ordering::Relaxed);
        }
        let Inbox { held, arrived } = &self.group.inboxes[to];
        let mut held = lock(held);
        held.of[self.rank].push_back(parcel);
        if held.awaited == Some(self.rank) {
            arrived.notify_one();
        }
    }

    /// Waits for the next parcel of member `from`.
    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        let Group { inboxes, failed, limit, .. } = &*self.group;
        let (Inbox { held, arrived }, began) = (&inboxes[self.rank], Instant::now());
        let look = LOOK * (1 + inboxes.len() as u32 / 16);
        let mut held = lock(held);
        loop {
            if let Some(parcel) = held.of[from].pop_front() {
                held.awaited = None;
                return Ok(parcel);
            }
            held.awaited = Some(from);
            if let Some((rank, why)) = failed.get() {
                return Err(Error::Failed { rank: *rank, why: why.clone() });
            }
            if limit.is_some_and(|limit| began.elapsed() >= limit) {
                return Err(Error::Timeout { rank: self.rank, missing: from, seconds: began.elapsed().as_secs() });
            }
            held = arrived.wait_timeout(held, look).map_or_else(|poisoned| poisoned.into_inner().0, |(held, _)| held);
        }
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.members.len()
    }

    fn name(&self) -> String {
        format!("{} threads", self.size())
    }

    fn split(&self, color: u32, key: u32) -> Result<Arc<dyn Communicator>> {
        let mine = [color.to_le_bytes(), key.to_le_bytes()].concat();
        let all = self.exchange(vec![mine; self.size()])?;
        let word = |parcel: &[u8], k: usize| parcel[4 * k..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let same = all.iter().enumerate().filter(|(_, parcel)| word(parcel, 0) == color);
        let mut same: Vec<(u32, usize)> = same.map(|(member, parcel)| (word(parcel, 1), member)).collect();
        same.sort_unstable();
        let number = self.splits.fetch_add(1, Ordering::Relaxed);
        let members = same.iter().map(|&(_, member)| self.group.members[member]).collect();
        let made = || Group::new(members, self.group.failed.clone(), self.group.limit);
        let group = lock(&self.group.parts).entry((number, color)).or_insert_with(made).clone();
        let rank = same.iter().position(|&(_, member)| member == self.rank).unwrap_or(0);
        Ok(Arc::new(Self::of(rank, group)))
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_parcels(out.len(), self.size())?;
        out.into_iter().enumerate().for_each(|(to, parcel)| self.send(to, parcel));
        (0..self.size()).map(|from| self.receive(from)).collect()
    }

    fn pass(&self, to: usize, from: usize, parcel: Vec<u8>) -> Result<Vec<u8>> {
        check_members([to, from], self.size())?;
        self.send(to, parcel);
        self.receive(from)
    }

    fn sent(&self) -> Traffic {
        Traffic { bytes: self.bytes.load(Ordering::Relaxed), messages: self.messages.load(Ordering::Relaxed) }
    }

    /// Ends this thread by a panic, and lets the other ranks fail.
    fn abort(&self, status: i32, why: &str) -> ! {
        let rank = self.group.members[self.rank];
        let _ = self.group.failed.set((rank, why.to_owned()));
        panic!("rank {rank} aborts with status {status}: {why}")
    }
}
