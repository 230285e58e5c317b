//! Planted beside the sources: which mutant is on, and which ones a test reaches.
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// As many as there may be mutants.
const MOST: usize = 1 << 17;
const NONE: u32 = MOST as u32;
/// Mutants that are reached are written to a file.
const RECORD: u32 = NONE + 1;
const UNREAD: u32 = NONE + 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];

/// Whether the mutant is on.
#[inline]
pub fn on(mutant: u32) -> bool {
    let active = ACTIVE.load(Ordering::Relaxed);
    active == mutant || (active > NONE && first_time(mutant))
}

#[cold]
fn first_time(mutant: u32) -> bool {
    if ACTIVE.load(Ordering::Relaxed) == UNREAD {
        let recorded = std::env::var_os("VXM_MUTANTS_SEEN").is_some();
        let named = std::env::var("VXM_MUTANT").ok().and_then(|name| name.parse().ok());
        let active = if recorded { RECORD } else { named.unwrap_or(NONE) };
        ACTIVE.store(active, Ordering::Relaxed);
        if active != RECORD {
            return active == mutant;
        }
    }
    if SEEN[mutant as usize].swap(1, Ordering::Relaxed) == 0
        && let Some(path) = std::env::var_os("VXM_MUTANTS_SEEN")
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = file.write_all(&mutant.to_le_bytes());
    }
    false
}
