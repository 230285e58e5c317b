//! Checks of available memory before large allocations, and limits on what a process keeps in memory.
//!
//! A failed allocation aborts a Rust program without a useful message. So whatever grows with the input checks first: a
//! reader before it keeps more entries, a generator before it draws edges, the command before an algorithm runs.

mod resident;
mod size;

pub use resident::Resident;
pub(crate) use resident::{AtPlaces, limit, note, read_at_places, read_some_rows};
pub use size::Size;

use crate::error::{Error, Result};
use crate::formats::{Csr, Directions};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::fs::read_to_string;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use vxm_semiring::Element;

/// Checks that `bytes` fit into the memory that is [`available`] now.
///
/// ```
/// use vxm::memory::require;
/// assert!(require(1000, || "a thousand".to_owned()).is_ok());
/// assert!(require(1 << 80, || "x.mtx".to_owned()).unwrap_err().to_string().starts_with("x.mtx: needs "));
/// ```
///
/// # Errors
/// [`Error::Memory`] at `place()` if they do not fit. `place` is called only then.
#[doc(hidden)]
pub fn require(bytes: u128, place: impl FnOnce() -> String) -> Result<()> {
    let available = available();
    if bytes <= u128::from(available) {
        return Ok(());
    }
    Err(Error::Memory { place: place(), needed: bytes, available })
}

/// The bytes that this process can still allocate: the least of what the system has left, what its control groups
/// allow, what its own limits (`ulimit -v`, `ulimit -d`) allow, and what is left of a [`Resident`] limit. `u64::MAX` if none of them is known.
pub fn available() -> u64 {
    let system = read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemAvailable:"));
    let groups = read_to_string("/proc/self/cgroup").ok().and_then(|text| groups(Path::new("/sys/fs/cgroup"), &text));
    let own = read_to_string("/proc/self/limits").ok().zip(read_to_string("/proc/self/status").ok());
    let own = own.and_then(|(limits, status)| own_limits(&limits, &status));
    [system, groups, own, limit().map(left_of)].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// Whether a matrix lies in a mapped file and memory doesn't hold all of it. Reading it in any order but its own then reads the same pages from
/// the disk again and again.
pub(crate) fn spills<T: Element>(matrix: &Csr<T>) -> bool {
    matrix.is_mapped() && matrix.heap_bytes() as u64 > available_lately()
}

/// How long what is available is taken to stay so. Asking the system takes as long as a round of a loop.
const LATELY: Duration = Duration::from_millis(100);

/// What was [`available`] lately, and when.
static LATEST: Mutex<Option<(Instant, u64)>> = Mutex::new(None);

/// What is [`available`], or was so less than [`LATELY`] ago.
fn available_lately() -> u64 {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    match *latest {
        Some((when, bytes)) if when.elapsed() < LATELY => bytes,
        _ => latest.insert((Instant::now(), available())).1,
    }
}

/// Has what is available asked for anew.
fn forget_available() {
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// What is left of a limit on resident memory. Pages of mapped files don't count, since they can be given back.
fn left_of(limit: u64) -> u64 {
    let status = read_to_string("/proc/self/status").ok();
    let taken = status.and_then(|status| kibibytes(&status, "RssAnon:")).unwrap_or(0);
    limit.saturating_sub(taken)
}

/// The value in bytes of the line that starts with `name` and is given in kB.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024))
}

/// Bytes subtracted from what the limits of the process leave. An allocator reserves this much address space per
/// thread, ahead of any use.
const HEADROOM: u64 = 64 << 20;

/// The bytes left within the limits of `/proc/self/limits`, given the usage in `/proc/self/status`.
fn own_limits(limits: &str, status: &str) -> Option<u64> {
    let left = |(limit, taken): (&str, &str)| {
        let limit = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        // the first of the two values is the soft limit, which is in force; `unlimited` does not parse as a number
        let limit = limit.split_whitespace().next()?.parse::<u64>().ok()?;
        Some(limit.saturating_sub(kibibytes(status, taken)?).saturating_sub(HEADROOM))
    };
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")].into_iter().filter_map(left).min()
}

/// The bytes left in the control groups that `/proc/self/cgroup` names, and in all groups that contain them.
fn groups(mount: &Path, named: &str) -> Option<u64> {
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        // lines of version 2 name no controllers
        let (mount, files, cached) = if controllers.is_empty() {
            (mount.to_owned(), ["memory.max", "memory.current"], ["inactive_file ", "active_file "])
        } else if controllers.split(',').any(|name| name == "memory") {
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            (mount.join("memory"), files, ["total_inactive_file ", "total_active_file "])
        } else {
            return None;
        };
        let group = mount.join(path.trim_start_matches('/'));
        let groups = group.ancestors().take_while(|group| group.starts_with(&mount));
        groups.filter_map(|group| group_limit(group, files, cached)).min()
    };
    named.lines().filter_map(left).min()
}

/// The bytes left in one control group. Cached file pages do not count as used, because the system reclaims them when
/// memory runs short.
fn group_limit(group: &Path, [limit, usage]: [&str; 2], cached: [&str; 2]) -> Option<u64> {
    let number = |file: &str| read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(limit)?, number(usage)?);
    let told = read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let cache: u64 = cached.into_iter().filter_map(cache).sum();
    Some(limit.saturating_sub(usage.saturating_sub(cache)))
}

/// The peak bytes of building a graph, without the entries read. Those take 8 bytes each and are freed while the graph
/// is built.
///
/// The coefficients were measured by VmHWM: those per vertex on files with very many vertices and one entry, those per
/// entry on an R-MAT graph.
pub(crate) fn for_building(vertices: u64, entries: u64, directions: Directions) -> u128 {
    let each = match directions {
        Directions::Ignored => 24,
        Directions::Matter => 32,
    };
    each * (u128::from(vertices) + 1) + 4 * u128::from(entries)
}

/// The peak bytes of reading a file with `entries` entries into a graph with `vertices` vertices.
#[doc(hidden)]
pub fn for_reading(vertices: u64, entries: u64, directions: Directions) -> u128 {
    for_building(vertices, entries, directions) + 8 * u128::from(entries)
}

/// Bytes that must be free while text is read, beside what entries take.
pub(crate) const READING: u128 = 24 << 20;

/// Accounts for the entries that a reader keeps, so that it fails with an error before they exceed the memory.
#[derive(Default)]
pub(crate) struct Kept {
    bytes: AtomicU64,
}

/// The reason why no more entries can be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shortage {
    needed: u128,
    available: u64,
}

impl Shortage {
    pub fn at(self, place: String) -> Error {
        Error::Memory { place, needed: self.needed, available: self.available }
    }
}

impl Kept {
    /// The number of bytes kept between two checks of the available memory. A check reads files and is too slow for
    /// each call.
    const STEP: u64 = 16 << 20;

    /// Accounts for `bytes` more, and checks that they fit together with the graph that is built of all entries so far.
    /// Only a call that crosses a multiple of `STEP` asks the system.
    pub fn keep(&self, bytes: u64) -> Result<(), Shortage> {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        let kept = before + bytes;
        if before / Self::STEP == kept / Self::STEP {
            return Ok(());
        }
        // building takes half the bytes of the entries; one more `STEP` allows for what other threads have reserved but
        // not yet filled, and for the buffers of the text
        let more = u128::from(kept / 2 + bytes + Self::STEP);
        let available = available();
        if more <= u128::from(available) {
            return Ok(());
        }
        Err(Shortage { needed: u128::from(before) + more, available: available.saturating_add(before) })
    }

    /// The shortage to report when the allocation of `bytes`, already accounted for, failed.
    pub fn refused(&self, bytes: u64) -> Shortage {
        let kept = self.bytes.load(Relaxed);
        Shortage { needed: u128::from(kept), available: available().saturating_add(kept.saturating_sub(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_process_limits_count() {
        let limits = "Limit    Soft Limit   Hard Limit   Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         819200000            unlimited            bytes\n";
        let status = "Name:\tvxm\nVmSize:\t  100000 kB\nVmData:\t   50000 kB\n";
        assert_eq!(own_limits(limits, status), Some(819_200_000 - 102_400_000 - HEADROOM));
        assert_eq!(own_limits(&limits.replace("unlimited  ", "153600000"), status), Some(102_400_000 - HEADROOM));
        assert_eq!(own_limits(&limits.replace("819200000", "unlimited"), status), None);
        assert_eq!(own_limits(&limits.replace("819200000", "1000"), status), Some(0));
    }

    #[test]
    fn the_nearest_limit_of_the_control_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let put = |group: &str, files: &[(&str, &str)]| {
            fs::create_dir_all(folder.path().join(group)).unwrap();
            files.iter().for_each(|(file, text)| fs::write(folder.path().join(group).join(file), text).unwrap());
        };
        // version 2: the limit is on the parent group, none on the group itself
        put("a/b", &[("memory.max", "max\n"), ("memory.current", "700\n")]);
        let stat = "anon 100\ninactive_file 300\nactive_file 50\n";
        put("a", &[("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", stat)]);
        assert_eq!(groups(folder.path(), "0::/a/b\n"), Some(450));
        // version 1, among other controllers; in a container, its own group is mounted at the root
        let stat = "inactive_file 1\ntotal_inactive_file 10\ntotal_active_file 0\n";
        let files = [("memory.limit_in_bytes", "500\n"), ("memory.usage_in_bytes", "100\n"), ("memory.stat", stat)];
        put("memory", &files);
        assert_eq!(groups(folder.path(), "9:name=systemd:/\n4:cpu,memory:/docker/c0ffee\n0::/\n"), Some(410));
        assert_eq!(groups(folder.path(), "9:cpuset:/\n"), None);
    }

    #[test]
    fn what_is_kept_is_asked_for_in_steps() {
        let kept = Kept::default();
        assert_eq!(kept.keep(Kept::STEP - 1), Ok(()));
        assert!(kept.keep(u64::MAX / 4).is_err());
    }
}
