//! Freed memory that is kept at hand, and how much is in use.
//!
//! The driver takes 1 to 5 us to find memory in its pool and 1 us to take it back, a fifth of a short call with its five buffers; calls
//! mostly ask for sizes that were asked for before. Everything happens on one stream, so what is freed may be used again at once.

use std::collections::VecDeque;

use cudarc::driver::sys::CUdeviceptr;

/// Bytes that are kept: those of calls that are short.
const MOST: usize = 256 << 20;
/// Blocks that are kept: looked through at each allocation.
const BLOCKS: usize = 32;
/// Sizes are multiples of this, as the driver's are.
const UNIT: usize = 512;

/// Freed blocks, the oldest first, and the count of what buffers take.
pub(crate) struct Spare {
    most: usize,
    blocks: VecDeque<(usize, CUdeviceptr)>,
    kept: usize,
    used: u64,
    peak: u64,
}

impl Spare {
    /// Nothing; `VXM_SPARE_MEMORY=0` says that nothing is to be kept, for tools that watch what is read and written.
    pub(crate) fn new() -> Self {
        let none = std::env::var_os("VXM_SPARE_MEMORY").is_some_and(|value| value == "0");
        Self::of(if none { 0 } else { MOST })
    }

    fn of(most: usize) -> Self {
        Self { most, blocks: VecDeque::new(), kept: 0, used: 0, peak: 0 }
    }

    /// What a buffer of `bytes` takes: no more than it has where nothing is kept.
    pub(crate) fn size(&self, bytes: usize) -> usize {
        bytes.checked_next_multiple_of(UNIT).filter(|_| self.most > 0).unwrap_or(bytes)
    }

    /// The block of that size which was freed last, if there is one: in use from now on.
    pub(crate) fn take(&mut self, size: usize) -> Option<CUdeviceptr> {
        let at = self.blocks.iter().rposition(|&(kept, _)| kept == size)?;
        let (_, block) = self.blocks.remove(at)?;
        self.kept -= size;
        self.count(size);
        Some(block)
    }

    /// Keeps a freed block, and returns those for which there is no room then.
    pub(crate) fn keep(&mut self, size: usize, block: CUdeviceptr) -> impl Iterator<Item = CUdeviceptr> + use<> {
        if size > self.most {
            return vec![block].into_iter();
        }
        self.blocks.push_back((size, block));
        self.kept += size;
        let mut over = 0;
        while self.kept > self.most || self.blocks.len() - over > BLOCKS {
            self.kept -= self.blocks[over].0;
            over += 1;
        }
        // mostly none, which takes no memory of the host's
        self.blocks.drain(..over).map(|(_, block)| block).collect::<Vec<_>>().into_iter()
    }

    /// Every block that is kept.
    pub(crate) fn drain(&mut self) -> Vec<CUdeviceptr> {
        self.kept = 0;
        self.blocks.drain(..).map(|(_, block)| block).collect()
    }

    /// Counts a buffer that takes `size` bytes.
    pub(crate) fn count(&mut self, size: usize) {
        self.used += size as u64;
        self.peak = self.peak.max(self.used);
    }

    /// Counts it no more.
    pub(crate) fn discount(&mut self, size: usize) {
        self.used -= size as u64;
    }

    /// The bytes that buffers take.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The most bytes that they took since the last call, and at it.
    pub(crate) fn take_peak(&mut self) -> u64 {
        std::mem::replace(&mut self.peak, self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_size_is_taken_first() {
        let mut spare = Spare::of(1 << 20);
        for (size, block) in [(512, 1), (1024, 2), (512, 3)] {
            assert_eq!(spare.keep(size, block).count(), 0);
        }
        assert_eq!([512, 512, 512, 1024].map(|size| spare.take(size)), [Some(3), Some(1), None, Some(2)]);
        assert_eq!(spare.drain(), []);
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room() {
        let mut spare = Spare::of(4096);
        assert_eq!(spare.keep(1024, 1).chain(spare.keep(2048, 2)).count(), 0);
        assert_eq!(spare.keep(2048, 3).collect::<Vec<_>>(), [1]);
        // larger than all the room there is
        assert_eq!(spare.keep(8192, 4).collect::<Vec<_>>(), [4]);
        let over: Vec<_> = (10..10 + BLOCKS as u64).flat_map(|block| spare.keep(0, block)).collect();
        assert_eq!((over, spare.drain().len()), (vec![2, 3], BLOCKS));
        let mut nothing = Spare::of(0);
        assert_eq!((nothing.keep(512, 1).collect::<Vec<_>>(), nothing.take(512)), (vec![1], None));
    }

    #[test]
    fn bytes_are_counted() {
        let mut spare = Spare::of(1);
        assert_eq!([0, 1, 512, 513, usize::MAX].map(|bytes| spare.size(bytes)), [0, 512, 512, 1024, usize::MAX]);
        assert_eq!(Spare::of(0).size(513), 513);
        spare.count(1024);
        spare.count(512);
        spare.discount(1024);
        assert_eq!((spare.used(), spare.take_peak(), spare.take_peak()), (512, 1536, 512));
    }
}
