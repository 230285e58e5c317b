//! A dry run: a stand-in for a device, for tests on machines without a GPU. Programs are compiled for it, and nothing runs.
//!
//! A dry run differs from a device in four places. Memory is only counted, up to a limit. What is read back is made up. A program is
//! compiled for several architectures and loaded nowhere. No call reaches the driver: `Gpu::call` returns the default value. All checks of
//! this crate are made as on a device.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compile::{Cubin, check_arch, compile_cached};
use crate::context::{Facts, Gpu, StandIn};
use crate::error::{Error, Result};

/// The first address, chosen so that no address is mistaken for one of the host.
const FIRST_ADDRESS: u64 = 1 << 56;

/// The device's properties: the limits of an sm_90.
const MEMORY: u64 = 1 << 37;
const MULTIPROCESSORS: u32 = 132;
const SHARED_LIMIT: u32 = 227 << 10;
const THREADS: u32 = 1024;

/// The state of a dry run.
struct DryRun {
    /// The architectures, and how many programs were compiled for each.
    archs: Vec<(String, AtomicU64)>,
    /// The next address.
    next: AtomicU64,
    /// How many of the next reads of 8 bytes return 1.
    ones: AtomicU64,
    /// Bytes that buffers take, and the most so far.
    used: AtomicU64,
    peak: AtomicU64,
}

impl Gpu {
    /// A dry run: a stand-in for a device that compiles each program for all of `archs` (`sm_90`) and runs none. For tests.
    ///
    /// It needs NVRTC, and no driver. A buffer is an address and a length: what is written there is forgotten, and zeros are read. Ranges,
    /// sizes, the names and parameters of kernels and the shapes of launches are checked as on a device. [`count`](Self::count) and
    /// [`open`](Self::open) never find it; each call makes another one.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no NVRTC, [`Error::Nvrtc`] if it does not know one of `archs` or `archs` is empty.
    pub fn dry_run(archs: &[&str]) -> Result<Self> {
        archs.iter().try_for_each(|arch| check_arch(arch))?;
        let number =
            archs.first().and_then(|arch| arch.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse().ok());
        let number: u32 = number.ok_or_else(no_architecture)?;
        let facts = Facts {
            ordinal: usize::MAX,
            name: format!("dry run for {}, nothing runs", archs.join(", ")),
            arch: (number / 10, number % 10),
            multiprocessors: MULTIPROCESSORS,
            shared_limit: SHARED_LIMIT,
            total: MEMORY,
            bus: [0; 3],
        };
        let archs = archs.iter().map(|&arch| (arch.to_owned(), AtomicU64::new(0))).collect();
        let dry_run = DryRun {
            archs,
            next: AtomicU64::new(FIRST_ADDRESS),
            ones: AtomicU64::new(0),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        };
        Ok(Self::with_stand_in(facts, Box::new(dry_run)))
    }

    /// Whether this is a [`dry_run`](Self::dry_run).
    pub fn is_dry_run(&self) -> bool {
        self.stand_in().is_some()
    }

    /// The architectures of a [`dry_run`](Self::dry_run), and how many programs were compiled for each. Empty for a device.
    pub fn dry_run_programs(&self) -> Vec<(String, u64)> {
        self.stand_in().map_or_else(Vec::new, StandIn::programs)
    }

    /// Makes the next `count` reads of 8 bytes return 1 in a [`dry_run`](Self::dry_run), so that loops which run until a count is 0 make
    /// that many rounds. Does nothing on a device.
    pub fn dry_run_ones(&self, count: u64) {
        if let Some(stand_in) = self.stand_in() {
            stand_in.answer_ones(count);
        }
    }
}

impl StandIn for DryRun {
    /// Addresses are aligned as a device's are, and no two buffers have the same.
    fn alloc(&self, bytes: u64, total: u64) -> Option<u64> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= total);
        let before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Some(self.address(bytes))
    }

    fn address(&self, bytes: u64) -> u64 {
        self.next.fetch_add((bytes + 1).next_multiple_of(256), Ordering::Relaxed)
    }

    fn free(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn take_peak(&self) -> u64 {
        self.peak.swap(self.used(), Ordering::Relaxed)
    }

    /// The bytes are zeros, or a 1 of 8 bytes.
    fn answer(&self, bytes: &mut [MaybeUninit<u8>]) {
        bytes.fill(MaybeUninit::new(0));
        let less = |ones: u64| ones.checked_sub(1);
        if bytes.len() == size_of::<u64>() && self.ones.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        {
            bytes[0] = MaybeUninit::new(1);
        }
    }

    fn answer_ones(&self, count: u64) {
        self.ones.store(count, Ordering::Relaxed);
    }

    fn compile(&self, source: &str, options: &[&str]) -> Result<Cubin> {
        let mut first = None;
        for (arch, count) in &self.archs {
            let cubin = compile_cached(source, arch, options)?;
            count.fetch_add(1, Ordering::Relaxed);
            first.get_or_insert(cubin);
        }
        first.ok_or_else(no_architecture)
    }

    fn programs(&self) -> Vec<(String, u64)> {
        self.archs.iter().map(|(arch, count)| (arch.clone(), count.load(Ordering::Relaxed))).collect()
    }
}

fn no_architecture() -> Error {
    Error::Nvrtc { call: "dry_run", what: "no architecture".into() }
}

/// What machine code says of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of parameters.
    pub(crate) parameters: usize,
    /// The bytes of all parameters.
    pub(crate) bytes: usize,
    /// The most threads of a block.
    pub(crate) threads: u32,
}

/// The kernel `name` in an ELF file that NVRTC wrote.
///
/// Read from the kernel's section `.nv.info.NAME`, which lists attributes. Each is a format byte, an attribute byte, and two bytes. These
/// two are the value, or (format 4) the length of the value that follows.
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
