//! Tests of the command as a process: what it prints, refuses and writes.

mod answers;
mod devices;
mod files;
mod harness;
mod inputs;
mod memory;
mod refusals;
mod told;
mod weighted;
#[path = "../io_readers/writers.rs"]
mod writers;
