//! A device that isn't there: programs are compiled for it, and nothing runs. For tests on machines without a GPU.
//!
//! It differs from a device in four places: where memory comes from (it is counted, and there is an end to it), what is read back, what
//! becomes of a program, and that no call reaches the driver ([`Gpu::call`] answers with zeros and nothings). All checks of this crate
//! stay.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compile::{Cubin, check_arch, compile_cached};
use crate::error::{Error, Result};
use crate::gpu::{Facts, Gpu};

/// Where addresses begin, so that none is taken for one of the host.
const FIRST_ADDRESS: u64 = 1 << 56;

/// What it is said to have: the limits of an sm_90.
const MEMORY: u64 = 1 << 37;
const MULTIPROCESSORS: u32 = 132;
const SHARED_LIMIT: u32 = 227 << 10;
const THREADS: u32 = 1024;

/// What answers in a device's stead.
pub(crate) struct Rehearsal {
    /// The architectures, and how many programs were compiled for each.
    archs: Vec<(String, AtomicU64)>,
    /// The next address.
    next: AtomicU64,
    /// How many words are still to be read as 1.
    ones: AtomicU64,
    /// Bytes that buffers take, and the most so far.
    used: AtomicU64,
    peak: AtomicU64,
}

impl Gpu {
    /// A rehearsal: a device that compiles each program for all of `archs` (`sm_90`) and runs none. For tests.
    ///
    /// It needs NVRTC, and no driver. Memory is an address and a length: what is written there is forgotten, and zeros are read.
    /// Ranges, sizes, the names and parameters of kernels and the shapes of launches are checked as on a device. Never found by
    /// [`count`](Self::count) or [`open`](Self::open); each call makes another one.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no NVRTC, [`Error::Nvrtc`] if it does not know one of `archs` or there is none.
    pub fn rehearsal(archs: &[&str]) -> Result<Self> {
        archs.iter().try_for_each(|arch| check_arch(arch))?;
        let number =
            archs.first().and_then(|arch| arch.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse().ok());
        let number: u32 = number.ok_or_else(|| Error::Nvrtc { call: "rehearsal", what: "no architecture".into() })?;
        let facts = Facts {
            ordinal: usize::MAX,
            name: format!("rehearsal for {}, nothing runs", archs.join(", ")),
            arch: (number / 10, number % 10),
            multiprocessors: MULTIPROCESSORS,
            shared_limit: SHARED_LIMIT,
            total: MEMORY,
        };
        let archs = archs.iter().map(|&arch| (arch.to_owned(), AtomicU64::new(0))).collect();
        Ok(Self::rehearsed(
            facts,
            Rehearsal {
                archs,
                next: AtomicU64::new(FIRST_ADDRESS),
                ones: AtomicU64::new(0),
                used: AtomicU64::new(0),
                peak: AtomicU64::new(0),
            },
        ))
    }

    /// Whether it is a [`rehearsal`](Self::rehearsal).
    pub fn is_rehearsal(&self) -> bool {
        self.stand_in().is_some()
    }

    /// The architectures of a [`rehearsal`](Self::rehearsal), and how many programs compiled for each; nothing of a device.
    pub fn rehearsed_programs(&self) -> Vec<(String, u64)> {
        let archs = self.stand_in().map_or(&[][..], |rehearsal| &rehearsal.archs);
        archs.iter().map(|(arch, count)| (arch.clone(), count.load(Ordering::Relaxed))).collect()
    }

    /// Lets the next `count` reads of 8 bytes be of a 1, so that loops which wait for a count to reach 0 run that often. Does
    /// nothing on a device.
    pub fn rehearse_ones(&self, count: u64) {
        if let Some(rehearsal) = self.stand_in() {
            rehearsal.ones.store(count, Ordering::Relaxed);
        }
    }
}

impl Rehearsal {
    /// An address that no other buffer has, aligned as a device's; none if `total` bytes would not hold all buffers.
    pub(crate) fn alloc(&self, bytes: u64, total: u64) -> Option<u64> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= total);
        let before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Some(self.next.fetch_add((bytes + 1).next_multiple_of(256), Ordering::Relaxed))
    }

    /// Takes a buffer's bytes back.
    pub(crate) fn free(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The bytes that buffers take.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The most that they took since this was asked last.
    pub(crate) fn take_peak(&self) -> u64 {
        self.peak.swap(self.used(), Ordering::Relaxed)
    }

    /// Fills what is read: zeros, or a 1.
    pub(crate) fn answer(&self, bytes: &mut [MaybeUninit<u8>]) {
        bytes.fill(MaybeUninit::new(0));
        let less = |ones: u64| ones.checked_sub(1);
        if bytes.len() == size_of::<u64>() && self.ones.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        {
            bytes[0] = MaybeUninit::new(1);
        }
    }

    /// Compiles a program for each architecture; returns the first one's code.
    pub(crate) fn compile(&self, source: &str, options: &[&str]) -> Result<Cubin> {
        let mut first = None;
        for (arch, count) in &self.archs {
            let cubin = compile_cached(source, arch, options)?;
            count.fetch_add(1, Ordering::Relaxed);
            first.get_or_insert(cubin);
        }
        first.ok_or_else(|| Error::Nvrtc { call: "rehearsal", what: "no architecture".into() })
    }
}

/// What machine code says of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// How many parameters it has.
    pub(crate) parameters: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// The most threads of a block.
    pub(crate) threads: u32,
}

/// The kernel `name` of an ELF file that NVRTC wrote, by its section of attributes: each a format, a number and two bytes, which
/// are the value or the length of the value behind them.
pub(crate) fn entry(code: &[u8], name: &str) -> Option<Entry> {
    const HALF: u8 = 3;
    const SIZED: u8 = 4;
    const MAX_THREADS: u8 = 0x05;
    const PARAMETER: u8 = 0x17;
    const PARAMETER_BYTES: u8 = 0x19;
    let mut rest = section(code, &format!(".nv.info.{name}"))?;
    let mut entry = Entry { parameters: 0, bytes: 0, threads: THREADS };
    while let [format, attribute, low, high, after @ ..] = rest {
        let value = u16::from_le_bytes([*low, *high]);
        let (data, after) = if *format == SIZED { after.split_at_checked(value.into())? } else { (&[][..], after) };
        match (*format, *attribute) {
            (HALF, PARAMETER_BYTES) => entry.bytes = value.into(),
            (SIZED, PARAMETER) => entry.parameters += 1,
            (SIZED, MAX_THREADS) => {
                entry.threads = (0..3).map(|i| number(data, 4 * i, 4)).product::<Option<u64>>()? as u32
            }
            _ => {}
        }
        rest = after;
    }
    Some(entry)
}

/// The section `name` of a 64-bit ELF file.
fn section<'c>(code: &'c [u8], name: &str) -> Option<&'c [u8]> {
    const HEADER: usize = 64;
    let (headers, count) = (number(code, 0x28, 8)? as usize, number(code, 0x3c, 2)? as usize);
    let names = headers + HEADER * number(code, 0x3e, 2)? as usize;
    let data = |header: usize| {
        let (at, len) = (number(code, header + 0x18, 8)? as usize, number(code, header + 0x20, 8)? as usize);
        code.get(at..at.checked_add(len)?)
    };
    let names = data(names)?;
    let called = |header: &usize| {
        let from = number(code, *header, 4).and_then(|at| names.get(at as usize..));
        from.and_then(|from| from.strip_prefix(name.as_bytes())).is_some_and(|after| after.first() == Some(&0))
    };
    (0..count).map(|i| headers + HEADER * i).find(called).and_then(data)
}

/// The little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
