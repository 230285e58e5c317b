//! What a rank does, step by step: its work between exchanges, and what each exchange sends.

use crate::ranks::grid::Axis;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vxm_communicator::{Agreed, Communicator, Report, Result, TOGETHER, Traffic, agree};

/// A rank's work since the exchange before, and an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The ranks that take part.
    pub axis: Axis,
    /// The round of a loop, counted over all loops; 0 before the first.
    pub round: u32,
    /// Matrix entries that folding read.
    pub entries: u64,
    /// Elements of vectors that were read, written, packed or unpacked.
    pub elements: u64,
    /// What was sent to ranks of the same host, and to others.
    pub sent: [Traffic; 2],
    /// The bytes that came from ranks of the same host, and from others.
    pub received: [u64; 2],
}

/// The entries of one rank.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The number of ranks that share a host: ranks follow each other there.
    host: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    round: u32,
    entries: u64,
    elements: u64,
    /// What was passed on since the last entry: sent, and received.
    passed: ([Traffic; 2], [u64; 2]),
    done: Vec<Entry>,
    /// The bytes of shares of matrices, and the rows of the largest matrix.
    held: u64,
    rows: u64,
}

impl Ledger {
    /// An empty ledger, which isn't open yet. `host` ranks share a host.
    pub fn new(host: usize) -> Self {
        Self { host: host.max(1), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was recorded, and records from now on.
    pub fn open(&self) {
        let mut state = self.state();
        *state = State { is_open: true, held: state.held, rows: state.rows, ..State::default() };
    }

    /// Records no more. Work since the last exchange makes an entry without one.
    pub fn close(&self) {
        self.add(Axis::All, [Traffic::default(); 2], [0; 2]);
        self.state().is_open = false;
    }

    /// Begins a round of a loop.
    pub fn begin_round(&self) {
        self.state().round += 1;
    }

    /// Adds to the work since the last exchange.
    pub fn work(&self, entries: u64, elements: u64) {
        let mut state = self.state();
        state.entries += entries;
        state.elements += elements;
    }

    /// Adds a share of a matrix of `rows` rows.
    pub fn hold(&self, bytes: u64, rows: usize) {
        let mut state = self.state();
        state.held += bytes;
        state.rows = state.rows.max(rows as u64);
    }

    /// Adds a parcel that was passed on to a rank of one kind, of the same host or another, and one that came.
    fn pass(&self, to: usize, sent: Traffic, from: usize, received: usize) {
        let (sums, bytes) = &mut self.state().passed;
        sums[to].bytes += sent.bytes;
        sums[to].messages += sent.messages;
        bytes[from] += Traffic::of(received).bytes;
    }

    /// Ends an entry by an exchange, beside what was passed on.
    fn add(&self, axis: Axis, sent: [Traffic; 2], received: [u64; 2]) {
        let mut state = self.state();
        let (more, came) = std::mem::take(&mut state.passed);
        let sum = |x: Traffic, y: Traffic| Traffic { bytes: x.bytes + y.bytes, messages: x.messages + y.messages };
        let sent = [sum(sent[0], more[0]), sum(sent[1], more[1])];
        let received = [received[0] + came[0], received[1] + came[1]];
        let (entries, elements) = (std::mem::take(&mut state.entries), std::mem::take(&mut state.elements));
        if state.is_open {
            let round = state.round;
            state.done.push(Entry { axis, round, entries, elements, sent, received });
        }
    }

    /// The entries, the bytes of shares, and the rows of the largest matrix.
    pub(super) fn take(&self) -> (Vec<Entry>, u64, u64) {
        let mut state = self.state();
        (std::mem::take(&mut state.done), state.held, state.rows)
    }
}

/// A communicator that records each exchange.
#[derive(Debug)]
pub(crate) struct Recorded {
    inner: Arc<dyn Communicator>,
    axis: Axis,
    /// For each member, whether it shares this rank's host.
    near: Vec<bool>,
    ledger: Arc<Ledger>,
}

impl Recorded {
    /// Records the exchanges of `inner`. `members` are the members' numbers in the whole grid.
    pub fn new(inner: Arc<dyn Communicator>, axis: Axis, members: &[usize], ledger: &Arc<Ledger>) -> Self {
        let host = |rank: usize| rank / ledger.host;
        let own = host(members[inner.rank()]);
        let near = members.iter().map(|&member| host(member) == own).collect();
        Self { inner, axis, near, ledger: ledger.clone() }
    }
}

impl Communicator for Recorded {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn split(&self, color: u32, key: u32) -> Result<Arc<dyn Communicator>> {
        self.inner.split(color, key)
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let (mut sent, mut received, own) = ([Traffic::default(); 2], [0; 2], self.rank());
        for (member, parcel) in out.iter().enumerate().filter(|&(member, _)| member != own) {
            let (sum, more) = (&mut sent[usize::from(!self.near[member])], Traffic::of(parcel.len()));
            sum.bytes += more.bytes;
            sum.messages += more.messages;
        }
        let found = self.inner.exchange(out)?;
        for (member, parcel) in found.iter().enumerate().filter(|&(member, _)| member != own) {
            received[usize::from(!self.near[member])] += Traffic::of(parcel.len()).bytes;
        }
        self.ledger.add(self.axis, sent, received);
        Ok(found)
    }

    fn pass(&self, to: usize, from: usize, parcel: Vec<u8>) -> Result<Vec<u8>> {
        let (sent, own) = (Traffic::of(parcel.len()), self.rank());
        let found = self.inner.pass(to, from, parcel)?;
        if to != own {
            self.ledger.pass(usize::from(!self.near[to]), sent, usize::from(!self.near[from]), found.len());
        }
        Ok(found)
    }

    fn agree(&self, mine: Report) -> Result<Agreed> {
        let agreed = agree(self, mine)?;
        if self.size() > TOGETHER {
            // passing on is one step
            self.ledger.add(self.axis, [Traffic::default(); 2], [0; 2]);
        }
        Ok(agreed)
    }

    fn sent(&self) -> Traffic {
        self.inner.sent()
    }

    fn abort(&self, status: i32, why: &str) -> ! {
        self.inner.abort(status, why)
    }
}
