//! Tests of the command as a process: what it prints, refuses and writes.

mod answers;
mod devices;
mod files;
mod harness;
mod refusals;
mod told;
