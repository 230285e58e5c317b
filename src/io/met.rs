//! Names of vertices while a file is read: numbered as they come, by several threads.

use crate::error::{Error, Result};
use crate::formats::MAX_VERTICES;
use crate::io::vertex_names::VertexNames;
use crate::memory;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Tables of names: threads seldom wait for one.
const TABLES: usize = 64;
/// Names between two looks at the memory, and bytes that must be free then.
const LOOK: u64 = 1 << 16;
const FREE: u64 = 64 << 20;

/// The names that were met, numbered as they come.
pub(super) struct Met {
    tables: Vec<Mutex<HashMap<Box<str>, u32>>>,
    hasher: RandomState,
    count: AtomicU64,
    /// Whether names stopped because memory ran short.
    short: AtomicBool,
}

impl Met {
    pub fn new() -> Self {
        let tables = (0..TABLES).map(|_| Mutex::default()).collect();
        Self { tables, hasher: RandomState::new(), count: AtomicU64::new(0), short: AtomicBool::new(false) }
    }

    /// The number of a name; the error is what was expected instead of one more.
    pub fn number(&self, name: &str) -> Result<u32, String> {
        let table = &self.tables[self.hasher.hash_one(name) as usize % TABLES];
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = table.get(name) {
            return Ok(number);
        }
        let number = self.count.fetch_add(1, Relaxed);
        if number >= MAX_VERTICES as u64 {
            return Err(format!("at most {MAX_VERTICES} names"));
        }
        if number % LOOK == LOOK - 1 && memory::available() < FREE {
            self.short.store(true, Relaxed);
            return Err(String::new());
        }
        table.insert(name.into(), number as u32);
        Ok(number as u32)
    }

    /// What an error of reading `file` stands for: that memory ran short, if names stopped for that reason.
    pub fn explained(&self, file: &str, error: Error) -> Error {
        match self.short.load(Relaxed) {
            // what is free now must hold the names that are met until the next look, and the graph
            true => Error::Memory {
                place: format!("{file}: more than {} names", self.count.load(Relaxed)),
                needed: 2 * u128::from(FREE),
                available: memory::available(),
            },
            false => error,
        }
    }

    /// The names in ascending order, and the vertex that each number stands for.
    pub fn finish(self, file: &str) -> Result<(VertexNames, Vec<u32>)> {
        let tables = self.tables.into_iter().map(|table| table.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (names, vertices) = VertexNames::numbered(tables.flatten());
        let names = names.ok_or_else(|| Error::invalid(format!("{file}: expected names that differ")))?;
        Ok((names, vertices))
    }
}
