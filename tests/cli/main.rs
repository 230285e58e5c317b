//! Tests of the command as a process: what it prints, refuses and writes.

mod answers;
mod colorings;
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod files;
mod harness;
mod inputs;
mod memory;
mod names;
mod native;
mod refusals;
mod report;
mod tables;
mod told;
mod trace;
mod weighted;
#[path = "../io_readers/writers.rs"]
mod writers;
