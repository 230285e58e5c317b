//! Ranks on GPUs: which GPU a rank has, and what carries bytes from one to another.

use crate::error::{Error, Result};
use crate::kernels::{Gpu, Nccl};
use crate::ranks::windows::Windows;
use core::str::FromStr;
use std::fmt;
use std::fs::read_to_string;
use std::sync::Arc;

/// What carries bytes between ranks on GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Link {
    /// NCCL if each rank has a GPU of its own and finds NCCL, and peers if they reach each other's memory; otherwise the host.
    #[default]
    Auto,
    /// Memory of the host, and what connects the ranks. Ranks may share a GPU.
    Host,
    /// NCCL. Each rank needs a GPU of its own.
    Nccl,
    /// NCCL; but where a loop lets elements be read late, kernels write them into the other GPUs' memory. Each rank needs a GPU of its own, and
    /// all are on one host.
    Peers,
}

impl FromStr for Link {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "host" => Ok(Self::Host),
            "nccl" => Ok(Self::Nccl),
            "peers" => Ok(Self::Peers),
            _ => Err(Error::unknown("link", text, &["auto", "peers", "nccl", "host"])),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Host => "host",
            Self::Nccl => "nccl",
            Self::Peers => "peers",
        })
    }
}

/// A rank's GPU, and what carries parcels along its row and its column of ranks.
#[derive(Debug)]
pub(crate) struct OnGpus {
    pub(crate) gpu: Gpu,
    pub(crate) link: Link,
    pub(crate) row: Carrier,
    pub(crate) column: Carrier,
    /// Where ranks show each other pieces, if the link is peers.
    pub(crate) windows: Windows,
}

/// What carries parcels between the members of a group, beside the communicator that tells their sizes.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    /// Page-locked memory of the host, and the communicator.
    Host,
    /// NCCL, from GPU to GPU.
    Nccl(Arc<Nccl>),
}

/// What tells this process' host from others.
pub(crate) fn host() -> String {
    let files = ["/proc/sys/kernel/random/boot_id", "/etc/hostname"];
    files.iter().find_map(|file| read_to_string(file).ok()).unwrap_or_default().trim().to_owned()
}
