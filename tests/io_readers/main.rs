//! Readers of files in every format: graphs, values, unclear formats, and damage.

mod damage;
mod directed;
mod edge_columns;
mod graphml;
mod names;
mod on_disk;
mod readers;
mod tables;
mod unclear;
mod writers;
mod zstd;
