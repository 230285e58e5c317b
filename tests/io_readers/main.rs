//! Readers of files in every format: graphs, values, unclear formats, and damage.

mod damage;
mod directed;
mod readers;
mod unclear;
mod writers;
mod zstd;
