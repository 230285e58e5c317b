//! Ranks as threads of one process.

use crate::progress::Limit;
use crate::{Communicator, Error, Result, Traffic, check_parcels, traffic_of};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How often a waiting rank looks whether another one has failed.
const LOOK: Duration = Duration::from_millis(20);

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
    /// The parcels on their way: of each sender, of each receiver, in order.
    boxes: Mutex<Vec<VecDeque<Vec<u8>>>>,
    arrived: Condvar,
    /// The groups that came of splits, by the number of the split and the color.
    parts: Mutex<HashMap<(u32, u32), Arc<Group>>>,
    /// The first rank of the whole job that failed, and why.
    failed: Arc<OnceLock<(usize, String)>>,
    limit: Limit,
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Group {
    fn new(members: Vec<usize>, failed: Arc<OnceLock<(usize, String)>>, limit: Limit) -> Arc<Self> {
        let boxes = Mutex::new(vec![VecDeque::new(); members.len() * members.len()]);
        Arc::new(Self { members, boxes, arrived: Condvar::new(), parts: Mutex::default(), failed, limit })
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
        let failed = Arc::new(OnceLock::new());
        let group = Group::new((0..size).collect(), failed.clone(), limit);
        let run = |rank: usize| {
            let made = catch_unwind(AssertUnwindSafe(|| program(Arc::new(Self::of(rank, group.clone())))));
            if made.is_err() {
                // a rank that fails because another did isn't the first
                let _ = failed.set((rank, "it panicked".to_owned()));
            }
            made
        };
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..size).map(|rank| scope.spawn(move || run(rank))).collect();
            let made: Vec<_> = ranks.into_iter().map(|rank| rank.join().and_then(|made| made)).collect();
            made.into_iter().map(|made| made.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    fn of(rank: usize, group: Arc<Group>) -> Self {
        Self { rank, group, splits: AtomicU32::new(0), bytes: AtomicU64::new(0), messages: AtomicU64::new(0) }
    }

    /// Waits for the next parcel of member `from`.
    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        let Group { members, boxes, arrived, failed, limit, .. } = &*self.group;
        let began = Instant::now();
        let mut held = lock(boxes);
        loop {
            if let Some(parcel) = held[from * members.len() + self.rank].pop_front() {
                return Ok(parcel);
            }
            if let Some((rank, why)) = failed.get() {
                return Err(Error::Failed { rank: *rank, why: why.clone() });
            }
            if limit.is_some_and(|limit| began.elapsed() >= limit) {
                return Err(Error::Timeout { rank: self.rank, missing: from, seconds: began.elapsed().as_secs() });
            }
            held = arrived.wait_timeout(held, LOOK).map_or_else(|poisoned| poisoned.into_inner().0, |(held, _)| held);
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
        {
            let mut boxes = lock(&self.group.boxes);
            for (to, parcel) in out.into_iter().enumerate() {
                if to != self.rank {
                    let Traffic { bytes, messages } = traffic_of(parcel.len());
                    self.bytes.fetch_add(bytes, Ordering::Relaxed);
                    self.messages.fetch_add(messages, Ordering::Relaxed);
                }
                boxes[self.rank * self.group.members.len() + to].push_back(parcel);
            }
            self.group.arrived.notify_all();
        }
        (0..self.size()).map(|from| self.receive(from)).collect()
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
