//! A limit on the resident memory of this process: pages of mapped files are given back before the process exceeds it.
//!
//! What the process allocates can't be given back, and neither can pages that it has written. A mapped file's pages can: they are read again
//! from the system's cache, or from the disk. So a graph in a mapped file may be larger than the limit.

use crate::error::{Error, Result};
use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use std::fs::{File, read_to_string};
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the resident memory is looked at. Meanwhile threads read some MiB of a mapped file at most.
const EVERY: Duration = Duration::from_micros(500);
/// Bytes below the limit at which pages are given back: what threads may read between two looks, and until the pages are gone.
pub(crate) const SLACK: u64 = 32 << 20;

/// Pages of a file that take as long to read in order as one page at a random place: about 100 us, on a disk that reads 1.4 GB/s. E074
const PAGES_A_PLACE: u64 = 32;
/// The bytes of a page, on most systems.
const PAGE: u64 = 4096;

/// The files that are mapped now.
static MAPPED: Mutex<Vec<Weak<Mmap>>> = Mutex::new(Vec::new());

/// The limit in force; `u64::MAX` if there is none.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// The limit on the resident memory of this process, if there is one.
pub(crate) fn limit() -> Option<u64> {
    Some(LIMIT.load(Relaxed)).filter(|&limit| limit < u64::MAX)
}

/// Notes that a file is mapped, so that a limit can give its pages back.
pub(crate) fn note(map: &Arc<Mmap>) {
    let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    mapped.retain(|map| map.strong_count() > 0);
    mapped.push(Arc::downgrade(map));
}

/// Notes that of a mapped file, in which `part` lies, the bytes at so many places will be read: `bytes` in all. If the file is larger than memory
/// and little of it will be read, the system is told not to read what lies around each place, until the result is dropped.
#[must_use = "it ends when this is dropped"]
pub(crate) fn read_at_places<T>(part: &[T], places: usize, bytes: u64) -> Option<AtPlaces> {
    let read = bytes.saturating_add(places as u64 * PAGE).saturating_mul(PAGES_A_PLACE);
    let range = part.as_ptr_range();
    let mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let map = mapped.iter().filter_map(Weak::upgrade).find(|map| {
        let file = map.as_ptr_range();
        file.start <= range.start.cast() && range.end.cast() <= file.end
    })?;
    drop(mapped);
    if read > map.len() as u64 || map.len() as u64 <= super::available_lately() {
        return None;
    }
    AtPlaces::begin(map)
}

/// The same of so many rows, of which each has as many columns as rows have in the mean. `offsets` are those of all rows.
pub(crate) fn read_some_rows(offsets: &[u64], rows: usize) -> Option<AtPlaces> {
    let mean = *offsets.last()? / offsets.len() as u64;
    read_at_places(offsets, rows, mean * rows as u64 * size_of::<u32>() as u64)
}

/// A time in which a mapped file is read at places that lie far apart.
#[derive(Debug)]
pub(crate) struct AtPlaces(#[cfg_attr(not(unix), expect(dead_code))] Arc<Mmap>);

impl AtPlaces {
    /// Begins such a time. Where the system takes no advice, reading is only slower.
    fn begin(map: Arc<Mmap>) -> Option<Self> {
        #[cfg(unix)]
        map.advise(memmap2::Advice::Random).ok()?;
        Some(Self(map))
    }
}

#[cfg(unix)]
impl Drop for AtPlaces {
    fn drop(&mut self) {
        // if it fails, reading is only slower
        let _ = self.0.advise(memmap2::Advice::Normal);
    }
}

/// Keeps the resident memory of this process below a limit, as far as mapped files can give pages back. It ends when it is dropped.
#[derive(Debug)]
#[must_use = "the limit ends when this is dropped"]
pub struct Resident {
    /// The limit before.
    before: u64,
    ends: Arc<AtomicBool>,
    given_back: Arc<AtomicU64>,
    watcher: Option<JoinHandle<()>>,
}

impl Resident {
    /// Starts to keep the resident memory below `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Io`]: the system doesn't tell the resident memory of a process, or starts no thread.
    pub fn limit(limit: u64) -> Result<Self> {
        const STATUS: &str = "/proc/self/statm";
        let mut status = File::open(STATUS).map_err(Error::io(STATUS))?;
        let resident =
            pages(&mut status).ok_or_else(|| Error::invalid(format!("{STATUS}: expected numbers of pages")))?;
        let page = page_size(resident)
            .ok_or_else(|| Error::invalid("/proc/self/status: can't be read, or tells no resident memory"))?;
        let (ends, given_back) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ended, count) = (Arc::clone(&ends), Arc::clone(&given_back));
        let watch = move || {
            while !ended.load(Relaxed) {
                if pages(&mut status).is_some_and(|pages| pages * page + SLACK > limit) {
                    give_back();
                    count.fetch_add(1, Relaxed);
                }
                thread::sleep(EVERY);
            }
        };
        let watcher = thread::Builder::new().name("vxm resident".to_owned()).spawn(watch);
        let watcher = Some(watcher.map_err(Error::io("a thread that limits memory"))?);
        let before = LIMIT.swap(limit, Relaxed);
        super::forget_available();
        Ok(Self { before, ends, given_back, watcher })
    }

    /// How often pages were given back so far.
    pub fn given_back(&self) -> u64 {
        self.given_back.load(Relaxed)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        LIMIT.store(self.before, Relaxed);
        super::forget_available();
        self.ends.store(true, Relaxed);
        if let Some(watcher) = self.watcher.take() {
            // a watcher that panicked limits nothing any more, and leaves nothing behind
            let _ = watcher.join();
        }
    }
}

/// The pages of this process that are in memory.
fn pages(status: &mut File) -> Option<u64> {
    let mut text = String::new();
    status.rewind().ok()?;
    status.read_to_string(&mut text).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The bytes of a page, if `pages` pages are in memory now. The system tells the same in kB too, but that takes it much longer.
fn page_size(pages: u64) -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let bytes = super::kibibytes(&status, "VmRSS:")?;
    // the two numbers are read one after the other, so their ratio is nearly a power of 2
    Some(1 << (bytes as f64 / pages.max(1) as f64).log2().round() as u32)
}

/// Gives the pages of all mapped files back to the system, where it takes them.
#[cfg(unix)]
fn give_back() {
    let mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    for map in mapped.iter().filter_map(Weak::upgrade) {
        // SAFETY: the map is of a file and is never written to, so pages that are read again have the same bytes
        if let Err(error) = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) } {
            tracing::warn!(%error, "pages of a mapped file stay in memory");
        }
    }
}

/// Other systems take no pages back. They don't tell a process' pages either, so there is no limit.
#[cfg(not(unix))]
fn give_back() {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    #[test]
    fn a_mapped_file_may_be_larger_than_the_limit() {
        let mut file = tempfile::tempfile().unwrap();
        let block: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        (0..192).for_each(|_| file.write_all(&block).unwrap());
        // SAFETY: the file has no name, and is not written to again
        let map = Arc::new(unsafe { Mmap::map(&file) }.unwrap());
        note(&map);
        let mut status = File::open("/proc/self/statm").unwrap();
        let page = page_size(pages(&mut status).unwrap()).unwrap();
        assert!((4096..=1 << 16).contains(&page), "{page}");
        let mut resident = || pages(&mut status).unwrap() * page;
        let limit = resident() + SLACK + (64 << 20);
        let kept = Resident::limit(limit).unwrap();
        let (start, mut most) = (Instant::now(), 0);
        let sum: u64 = map
            .chunks(1 << 20)
            .map(|part| {
                most = most.max(resident());
                thread::sleep(Duration::from_millis(1));
                part.iter().map(|&byte| u64::from(byte)).sum::<u64>()
            })
            .sum();
        assert_eq!(sum, 192 * block.iter().map(|&byte| u64::from(byte)).sum::<u64>());
        assert!(most < limit && kept.given_back() > 0, "{most} of {limit}, {:?}", start.elapsed());
    }
}
