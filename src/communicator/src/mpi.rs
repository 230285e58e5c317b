//! Ranks as processes of an MPI job.

use crate::abi::{Handle, Opened, open};
use crate::launcher::Launcher;
use crate::progress::{Limit, Wait};
use crate::{Communicator, Error, PART, Result, SHORT, Traffic, check_members, check_parcels};
use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// The tags of messages: lengths with short parcels, and parts of parcels.
const HEADS: c_int = 1;
const PARTS: c_int = 2;

/// How long a rank that ends all waits before it does. Launchers took a few milliseconds to pass a line on.
const TOLD: Duration = Duration::from_millis(200);

/// Space for an `MPI_Status` of any library: 20 to 32 bytes.
type Status = [u64; 16];

/// A rank that is a process of an MPI job.
pub struct Mpi {
    job: Arc<Job>,
    handle: Handle,
    rank: usize,
    size: usize,
    bytes: AtomicU64,
    messages: AtomicU64,
}

/// A started MPI library. It ends with the last communicator.
struct Job {
    opened: Opened,
    /// The thread that started MPI, which alone may call it.
    thread: ThreadId,
    /// This process' rank in the whole job.
    rank: usize,
    limit: Limit,
    library: String,
}

/// The job of this process, while it lasts.
static JOB: Mutex<Option<Weak<Job>>> = Mutex::new(None);

/// Whether this process was stopped by an error between ranks: then MPI can't end in order.
static BROKEN: AtomicBool = AtomicBool::new(false);

impl Mpi {
    /// The ranks that the launcher started: all processes of the job. `limit` is how long a rank waits for others at most. This thread
    /// alone may communicate.
    ///
    /// The library is the one that the variable `VXM_MPI` names, or one that fits the launcher.
    ///
    /// # Errors
    /// No library can be opened, or it isn't the launcher's. MPI has ended in this process.
    pub fn join(launcher: &Launcher, limit: Option<Duration>) -> Result<Self> {
        let mut held = JOB.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let job = match &*held {
            Some(job) => {
                let job = job.upgrade().ok_or(Error::Ended)?;
                job.check_thread()?;
                job
            }
            None => {
                let job = Arc::new(Job::start(launcher, limit)?);
                *held = Some(Arc::downgrade(&job));
                job
            }
        };
        let world = job.opened.constants.world;
        let found = Self::of(job, world)?;
        match launcher.size {
            Some(size) if size > 1 && found.size == 1 => {
                let library = found.job.library.clone();
                Err(Error::OtherLauncher { launcher: launcher.variable, size, library })
            }
            _ => Ok(found),
        }
    }

    fn of(job: Arc<Job>, handle: Handle) -> Result<Self> {
        let (rank, size) = (job.ask(true, handle)?, job.ask(false, handle)?);
        Ok(Self { job, handle, rank, size, bytes: AtomicU64::new(0), messages: AtomicU64::new(0) })
    }

    /// Starts to send `bytes` to a member. The request ends before `bytes` may change.
    fn send(&self, bytes: &[u8], to: usize, tag: c_int) -> Result<Handle> {
        let (constants, mut request) = (&self.job.opened.constants, 0);
        let isend = self.job.opened.functions.isend;
        // SAFETY: the buffer has this many bytes, and the caller waits for the request before it goes
        let code = unsafe {
            isend(
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
                constants.byte,
                to as c_int,
                tag,
                self.handle,
                &raw mut request,
            )
        };
        self.job.check("MPI_Isend", code).map(|()| request)
    }

    /// Starts to receive up to `bytes.len()` bytes from a member. The request ends before `bytes` may be read.
    fn receive(&self, bytes: &mut [u8], from: usize, tag: c_int) -> Result<Handle> {
        let (constants, mut request) = (&self.job.opened.constants, 0);
        let irecv = self.job.opened.functions.irecv;
        // SAFETY: as in `send`
        let code = unsafe {
            irecv(
                bytes.as_mut_ptr().cast(),
                bytes.len() as c_int,
                constants.byte,
                from as c_int,
                tag,
                self.handle,
                &raw mut request,
            )
        };
        self.job.check("MPI_Irecv", code).map(|()| request)
    }

    /// Waits for requests, of which each is with a member.
    fn wait(&self, requests: &mut Vec<(usize, Handle)>) -> Result<()> {
        let wait = Wait::new(self.job.limit);
        loop {
            let mut failed = None;
            requests.retain_mut(|(_, request)| match self.job.is_done(request) {
                Ok(done) => !done,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            let Some(&(missing, _)) = requests.first() else { return Ok(()) };
            if let Some(seconds) = wait.pause() {
                return Err(Error::Timeout { rank: self.rank, missing, seconds });
            }
        }
    }

    /// Sends parcels to other members, and returns one of each member of `from`, in order.
    fn move_parcels(&self, out: Vec<(usize, Vec<u8>)>, from: Vec<usize>) -> Result<Vec<Vec<u8>>> {
        for (_, parcel) in out.iter().filter(|(member, _)| *member != self.rank) {
            let Traffic { bytes, messages } = Traffic::of(parcel.len());
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.messages.fetch_add(messages, Ordering::Relaxed);
        }
        let (heads, found) = (vec![[0u8; 8 + SHORT]; from.len()], Vec::with_capacity(from.len()));
        let buffers = Buffers { told: vec![Vec::new(); out.len()], out, from, heads, found };
        // after an error or a panic, requests may still read and write them
        let mut buffers = ManuallyDrop::new(buffers);
        match self.move_buffers(&mut buffers) {
            Ok(()) => Ok(ManuallyDrop::into_inner(buffers).found),
            Err(error) => {
                BROKEN.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Sends and receives parcels. If it fails, requests may still be under way.
    fn move_buffers(&self, buffers: &mut Buffers) -> Result<()> {
        let Buffers { out, from, told, heads, found } = buffers;
        let mut requests = Vec::new();
        for (&member, head) in from.iter().zip(&mut *heads) {
            requests.push((member, self.receive(head, member, HEADS)?));
        }
        // parcels are on their way while lengths are awaited; they are waited for below
        let mut sending = Vec::new();
        for ((member, parcel), told) in out.iter().zip(told) {
            *told = (parcel.len() as u64).to_le_bytes().to_vec();
            let long = parcel.len() > SHORT;
            told.extend(if long { &[][..] } else { &parcel[..] });
            sending.push((*member, self.send(told, *member, HEADS)?));
            for part in parcel.chunks(PART).filter(|_| long) {
                sending.push((*member, self.send(part, *member, PARTS)?));
            }
        }
        self.wait(&mut requests)?;
        for head in heads {
            let (length, short) = head
                .split_first_chunk::<8>()
                .map_or((0, &[][..]), |(length, short)| (u64::from_le_bytes(*length) as usize, short));
            found.push(if length > SHORT { vec![0; length] } else { short[..length].to_vec() });
        }
        for (&member, parcel) in from.iter().zip(found).filter(|(_, parcel)| parcel.len() > SHORT) {
            for part in parcel.chunks_mut(PART) {
                requests.push((member, self.receive(part, member, PARTS)?));
            }
        }
        self.wait(&mut requests)?;
        self.wait(&mut sending)
    }
}

/// What requests read and write.
struct Buffers {
    /// The parcels to send, each after the member that it goes to.
    out: Vec<(usize, Vec<u8>)>,
    /// The members of which parcels arrive.
    from: Vec<usize>,
    /// The lengths that are sent, with short parcels.
    told: Vec<Vec<u8>>,
    /// The lengths that arrive, with short parcels.
    heads: Vec<[u8; 8 + SHORT]>,
    /// The parcels that arrived.
    found: Vec<Vec<u8>>,
}

impl Job {
    fn start(launcher: &Launcher, limit: Limit) -> Result<Self> {
        let opened = open(launcher)?;
        let mut job = Self { thread: thread::current().id(), rank: 0, limit, library: String::new(), opened };
        let mut provided = 0;
        // SAFETY: no arguments are passed on, which MPI allows; MPI wasn't started before in this process, since `JOB` was empty
        let code = unsafe {
            let init = job.opened.functions.init;
            init(std::ptr::null_mut(), std::ptr::null_mut(), job.opened.constants.funneled, &raw mut provided)
        };
        job.check("MPI_Init_thread", code)?;
        // SAFETY: MPI was started; both are its constants
        let code = unsafe {
            let constants = &job.opened.constants;
            (job.opened.functions.set_errhandler)(constants.world, constants.errors_return)
        };
        job.check("MPI_Comm_set_errhandler", code)?;
        let mut text = vec![0u8; 16384];
        let mut length: c_int = 0;
        // SAFETY: the text is longer than any library's MPI_MAX_LIBRARY_VERSION_STRING
        unsafe { (job.opened.functions.version)(text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
        let text = String::from_utf8_lossy(&text[..usize::try_from(length).unwrap_or(0).min(text.len())]).into_owned();
        let words = text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        let words = words.split([',', '\0']).next().unwrap_or_default().to_owned();
        job.library = format!("{} ({}, by {})", job.opened.name, words, job.opened.constants.interface);
        job.rank = job.ask(true, job.opened.constants.world)?;
        // of several ranks that wait for one, the lowest speaks first and ends the others
        let later = Duration::from_millis(100) * (job.rank as u32).min(10);
        job.limit = limit.map(|limit| limit + later);
        Ok(job)
    }

    /// MPI was started for one thread, so only that one may call it.
    fn check_thread(&self) -> Result<()> {
        if thread::current().id() == self.thread { Ok(()) } else { Err(Error::OtherThread) }
    }

    /// The rank in a group, or else the size of the group.
    fn ask(&self, rank: bool, handle: Handle) -> Result<usize> {
        let mut number = 0;
        let functions = &self.opened.functions;
        let (name, function) = if rank { ("MPI_Comm_rank", functions.rank) } else { ("MPI_Comm_size", functions.size) };
        // SAFETY: MPI was started, and the handle is a communicator's
        let code = unsafe { function(handle, &raw mut number) };
        self.check(name, code).map(|()| usize::try_from(number).unwrap_or(0))
    }

    /// Whether a request has ended.
    fn is_done(&self, request: &mut Handle) -> Result<bool> {
        let (mut done, mut status): (c_int, Status) = (0, [0; 16]);
        // SAFETY: the request was started by this library; a status of any library fits into `Status`
        let code = unsafe { (self.opened.functions.test)(request, &raw mut done, (&raw mut status).cast::<c_void>()) };
        self.check("MPI_Test", code).map(|()| done != 0)
    }

    /// The error of a code that isn't 0.
    fn check(&self, function: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length): (Vec<u8>, c_int) = (vec![0u8; 4096], 0);
        // SAFETY: the text is longer than any library's MPI_MAX_ERROR_STRING
        unsafe { (self.opened.functions.error_text)(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
        let text = String::from_utf8_lossy(&text[..usize::try_from(length).unwrap_or(0).min(text.len())]).into_owned();
        let why = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(Error::Mpi { function, why: if why.is_empty() { format!("code {code}") } else { why } })
    }

    /// Ends all ranks.
    fn abort(&self, status: i32) -> ! {
        // a launcher passes on what a rank has printed, unless it is told to end all ranks first
        thread::sleep(TOLD);
        // SAFETY: MPI was started and has not ended, since the job lives
        unsafe { (self.opened.functions.abort)(self.opened.constants.world, status) };
        std::process::exit(status)
    }
}

impl Drop for Job {
    /// Ends MPI. A panic ends all ranks instead: others may wait for this one.
    fn drop(&mut self) {
        if thread::panicking() || BROKEN.load(Ordering::Relaxed) || thread::current().id() != self.thread {
            self.abort(2);
        }
        // SAFETY: no communicator is left, and no request
        unsafe { (self.opened.functions.finalize)() };
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {} by {}", self.rank, self.size, self.job.library)
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn name(&self) -> String {
        self.job.library.clone()
    }

    fn split(&self, color: u32, key: u32) -> Result<Arc<dyn Communicator>> {
        self.job.check_thread()?;
        let mut handle: Handle = 0;
        // SAFETY: MPI was started; all members call this
        let code =
            unsafe { (self.job.opened.functions.split)(self.handle, color as c_int, key as c_int, &raw mut handle) };
        self.job.check("MPI_Comm_split", code)?;
        Ok(Arc::new(Self::of(self.job.clone(), handle)?))
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_parcels(out.len(), self.size)?;
        self.job.check_thread()?;
        let others = (0..self.size).filter(|&member| member != self.rank).collect();
        let mut out: Vec<_> = out.into_iter().enumerate().collect();
        // what a rank sends to itself is handed over
        let (_, own) = out.remove(self.rank);
        let mut found = self.move_parcels(out, others)?;
        found.insert(self.rank, own);
        Ok(found)
    }

    fn pass(&self, to: usize, from: usize, parcel: Vec<u8>) -> Result<Vec<u8>> {
        check_members([to, from], self.size)?;
        self.job.check_thread()?;
        let found = self.move_parcels(vec![(to, parcel)], vec![from])?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn sent(&self) -> Traffic {
        Traffic { bytes: self.bytes.load(Ordering::Relaxed), messages: self.messages.load(Ordering::Relaxed) }
    }

    fn abort(&self, status: i32, why: &str) -> ! {
        eprintln!("vxm: rank {}: {why}", self.job.rank);
        self.job.abort(status)
    }
}
