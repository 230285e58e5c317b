//! What memory there is, asked before it is claimed.
//!
//! A claim that the system would refuse ends a Rust program without a word of its own, so whatever grows with its input asks
//! first: a reader before it keeps more entries, a generator before it draws, the command before an algorithm runs.

use crate::error::{Error, Result};
use crate::formats::Directions;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::fs::read_to_string;
use std::path::Path;

/// That `bytes` fit into the memory [`available`] now.
///
/// ```
/// use vxm::io::memory::require;
/// assert!(require(1000, || "a thousand".to_owned()).is_ok());
/// assert!(require(1 << 80, || "x.mtx".to_owned()).unwrap_err().to_string().starts_with("x.mtx: needs "));
/// ```
///
/// # Errors
/// [`Error::Memory`] at `place`, which is only made where they do not.
pub fn require(bytes: u128, place: impl FnOnce() -> String) -> Result<()> {
    let available = available();
    if bytes <= u128::from(available) {
        return Ok(());
    }
    Err(Error::Memory { place: place(), needed: bytes, available })
}

/// The bytes that this process can still claim: the least of what the system has left, what the control groups that it runs in
/// have left, and what its own limits (`ulimit -v`, `ulimit -d`) leave. `u64::MAX` where nobody says.
pub fn available() -> u64 {
    let system = read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemAvailable:"));
    let groups = read_to_string("/proc/self/cgroup").ok().and_then(|text| groups(Path::new("/sys/fs/cgroup"), &text));
    let own = read_to_string("/proc/self/limits").ok().zip(read_to_string("/proc/self/status").ok());
    let own = own.and_then(|(limits, status)| own_limits(&limits, &status));
    [system, groups, own].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The value of a line `name` that counts in kB, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024))
}

/// What a process' own limit is taken to leave less: an allocator claims as many addresses for a thread ahead of any use.
const HEADROOM: u64 = 64 << 20;

/// What `/proc/self/limits` leaves of what `/proc/self/status` says is taken.
fn own_limits(limits: &str, status: &str) -> Option<u64> {
    let left = |(limit, taken): (&str, &str)| {
        let limit = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        // the first of two is the limit in force; `unlimited` is no number
        let limit = limit.split_whitespace().next()?.parse::<u64>().ok()?;
        Some(limit.saturating_sub(kibibytes(status, taken)?).saturating_sub(HEADROOM))
    };
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")].into_iter().filter_map(left).min()
}

/// What the control groups that `/proc/self/cgroup` names leave, each group within those above it.
fn groups(mount: &Path, named: &str) -> Option<u64> {
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        // version 2 names no controllers
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

/// What a group's limit leaves; files that the system only caches are given back when memory runs short.
fn group_limit(group: &Path, [limit, usage]: [&str; 2], cached: [&str; 2]) -> Option<u64> {
    let number = |file: &str| read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(limit)?, number(usage)?);
    let told = read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let cache: u64 = cached.into_iter().filter_map(cache).sum();
    Some(limit.saturating_sub(usage.saturating_sub(cache)))
}

/// The bytes that building a graph takes at its peak beside the entries read, 8 bytes each, which it frees on its way.
///
/// The vertices' share is what files of 2^24 vertices and one entry took (VmHWM, 24.5 and 32.6 bytes a vertex), the entries' is
/// that of rmat:20:8 (4 of 12.1 bytes).
pub(super) fn for_building(vertices: u64, entries: u64, directions: Directions) -> u128 {
    let each = match directions {
        Directions::Ignored => 24,
        Directions::Matter => 32,
    };
    each * (u128::from(vertices) + 1) + 4 * u128::from(entries)
}

/// The bytes that reading a file of so many entries into a graph of so many vertices takes at its peak.
pub fn for_reading(vertices: u64, entries: u64, directions: Directions) -> u128 {
    for_building(vertices, entries, directions) + 8 * u128::from(entries)
}

/// Entries that are read and kept, watched: before they outgrow memory they end in an error.
#[derive(Default)]
pub(super) struct Kept {
    bytes: AtomicU64,
}

/// That what would be kept does not fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shortage {
    needed: u128,
    available: u64,
}

impl Shortage {
    pub fn at(self, place: String) -> Error {
        Error::Memory { place, needed: self.needed, available: self.available }
    }
}

impl Kept {
    /// Bytes that are kept between two questions: asking takes a tenth of a millisecond.
    const STEP: u64 = 16 << 20;

    /// That `bytes` more can be kept, and a graph be built of all then.
    pub fn keep(&self, bytes: u64) -> Result<(), Shortage> {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        let kept = before + bytes;
        if before / Self::STEP == kept / Self::STEP {
            return Ok(());
        }
        // what others have asked for and not yet filled is in no count, nor are the text's own buffers
        let more = u128::from(kept / 2 + bytes + Self::STEP);
        let available = available();
        if more <= u128::from(available) {
            return Ok(());
        }
        Err(Shortage { needed: u128::from(before) + more, available: available.saturating_add(before) })
    }

    /// That `bytes` that were to be kept could not be had.
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
        // version 2: a limit above the group, none on it
        put("a/b", &[("memory.max", "max\n"), ("memory.current", "700\n")]);
        let stat = "anon 100\ninactive_file 300\nactive_file 50\n";
        put("a", &[("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", stat)]);
        assert_eq!(groups(folder.path(), "0::/a/b\n"), Some(450));
        // version 1, beside others; a container sees its own group where the system's first stands
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
