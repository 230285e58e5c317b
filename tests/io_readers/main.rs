//! Readers of files in every format: graphs, values, unclear formats, and damage.

mod damage;
mod readers;
mod unclear;
mod writers;
mod zstd;
