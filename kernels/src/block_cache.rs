//! Freed device memory that is kept for reuse, and the count of bytes in use.
//!
//! The driver takes microseconds to find memory in its pool and to take it back, a noticeable part of a short call with a few buffers.
//! Calls mostly ask for sizes that were asked for before, so freed blocks are kept by their size. All work runs on one stream, so a freed
//! block may be reused at once.

use std::collections::VecDeque;

use cudarc::driver::sys::CUdeviceptr;

/// The most bytes kept: enough for short calls, the only ones where the driver's time matters.
const MOST: usize = 256 << 20;
/// The most blocks kept, since each allocation searches all of them.
const BLOCKS: usize = 32;
/// Sizes are rounded up to a multiple of this, as the driver does.
const UNIT: usize = 512;

/// Freed blocks, the oldest first, and the count of bytes that buffers take.
pub(crate) struct BlockCache {
    /// The most bytes to keep; 0 switches the cache off.
    most: usize,
    /// Sizes and addresses of the kept blocks.
    blocks: VecDeque<(usize, CUdeviceptr)>,
    /// Bytes of all kept blocks.
    kept: usize,
    used: u64,
    peak: u64,
}

impl BlockCache {
    /// An empty cache. With `VXM_SPARE_MEMORY=0` it keeps nothing, for tools that check reads and writes against allocations.
    pub(crate) fn new() -> Self {
        let off = std::env::var_os("VXM_SPARE_MEMORY").is_some_and(|value| value == "0");
        Self::of(if off { 0 } else { MOST })
    }

    fn of(most: usize) -> Self {
        Self { most, blocks: VecDeque::new(), kept: 0, used: 0, peak: 0 }
    }

    /// The size of the block for a buffer of `bytes` bytes. It is not rounded up if the cache is off.
    pub(crate) fn size(&self, bytes: usize) -> usize {
        bytes.checked_next_multiple_of(UNIT).filter(|_| self.most > 0).unwrap_or(bytes)
    }

    /// Takes the block of exactly that size which was freed last, and counts it as used. `None` if there is none.
    pub(crate) fn take(&mut self, size: usize) -> Option<CUdeviceptr> {
        let at = self.blocks.iter().rposition(|&(kept, _)| kept == size)?;
        let (_, block) = self.blocks.remove(at)?;
        self.kept -= size;
        self.count(size);
        Some(block)
    }

    /// Keeps a freed block, and returns the blocks that are evicted for it. A block larger than the cache is returned itself.
    pub(crate) fn keep(&mut self, size: usize, block: CUdeviceptr) -> impl Iterator<Item = CUdeviceptr> + use<> {
        if size > self.most {
            return vec![block].into_iter();
        }
        self.blocks.push_back((size, block));
        self.kept += size;
        let mut evicted = 0;
        while self.kept > self.most || self.blocks.len() - evicted > BLOCKS {
            self.kept -= self.blocks[evicted].0;
            evicted += 1;
        }
        // mostly empty, and an empty `Vec` allocates nothing
        self.blocks.drain(..evicted).map(|(_, block)| block).collect::<Vec<_>>().into_iter()
    }

    /// Removes and returns all blocks.
    pub(crate) fn drain(&mut self) -> Vec<CUdeviceptr> {
        self.kept = 0;
        self.blocks.drain(..).map(|(_, block)| block).collect()
    }

    /// Counts a buffer's `size` bytes as used.
    pub(crate) fn count(&mut self, size: usize) {
        self.used += size as u64;
        self.peak = self.peak.max(self.used);
    }

    /// Counts a buffer's `size` bytes as no longer used.
    pub(crate) fn discount(&mut self, size: usize) {
        self.used -= size as u64;
    }

    /// The bytes that buffers take.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The most bytes that buffers took at once since the previous call. The next period starts at the current use.
    pub(crate) fn take_peak(&mut self) -> u64 {
        std::mem::replace(&mut self.peak, self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_size_is_taken_first() {
        let mut cache = BlockCache::of(1 << 20);
        for (size, block) in [(512, 1), (1024, 2), (512, 3)] {
            assert_eq!(cache.keep(size, block).count(), 0);
        }
        assert_eq!([512, 512, 512, 1024].map(|size| cache.take(size)), [Some(3), Some(1), None, Some(2)]);
        assert_eq!(cache.drain(), []);
    }

    #[test]
    fn the_oldest_are_evicted() {
        let mut cache = BlockCache::of(4096);
        assert_eq!(cache.keep(1024, 1).chain(cache.keep(2048, 2)).count(), 0);
        assert_eq!(cache.keep(2048, 3).collect::<Vec<_>>(), [1]);
        // larger than the whole cache
        assert_eq!(cache.keep(8192, 4).collect::<Vec<_>>(), [4]);
        let evicted: Vec<_> = (10..10 + BLOCKS as u64).flat_map(|block| cache.keep(0, block)).collect();
        assert_eq!((evicted, cache.drain().len()), (vec![2, 3], BLOCKS));
        let mut off = BlockCache::of(0);
        assert_eq!((off.keep(512, 1).collect::<Vec<_>>(), off.take(512)), (vec![1], None));
    }

    #[test]
    fn bytes_are_counted() {
        let mut cache = BlockCache::of(1);
        assert_eq!([0, 1, 512, 513, usize::MAX].map(|bytes| cache.size(bytes)), [0, 512, 512, 1024, usize::MAX]);
        assert_eq!(BlockCache::of(0).size(513), 513);
        cache.count(1024);
        cache.count(512);
        cache.discount(1024);
        assert_eq!((cache.used(), cache.take_peak(), cache.take_peak()), (512, 1536, 512));
    }
}
