//! One rank.

use crate::{Communicator, Result, Traffic, check_members, check_parcels};
use std::sync::Arc;

/// The only rank of a job. It sends nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn name(&self) -> String {
        "one rank".to_owned()
    }
    fn split(&self, _: u32, _: u32) -> Result<Arc<dyn Communicator>> {
        Ok(Arc::new(Self))
    }
    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_parcels(out.len(), 1)?;
        Ok(out)
    }
    fn pass(&self, to: usize, from: usize, parcel: Vec<u8>) -> Result<Vec<u8>> {
        check_members([to, from], 1)?;
        Ok(parcel)
    }
    fn sent(&self) -> Traffic {
        Traffic::default()
    }
    fn abort(&self, status: i32, why: &str) -> ! {
        eprintln!("vxm: {why}");
        std::process::exit(status)
    }
}
