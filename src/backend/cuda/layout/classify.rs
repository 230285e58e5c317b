//! Row classes computed on the device.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::compact::{builder, launch_over, list_into};
use crate::backend::cuda::layout::row_classes::{CLASSES, Classes};
use crate::backend::tuning::ROW_CLASSES;
use crate::error::Result;
use std::sync::Arc;
use crate::kernels::{Buffer, sources};

impl Classes {
    /// Classifies `count` rows with `total` entries, given their offsets on the device. Also returns the offsets in 32 bits, if they fit.
    pub(crate) fn from_device(
        gpu: &Gpu,
        offsets: &Buffer,
        count: usize,
        total: usize,
    ) -> Result<(Self, Option<Arc<Buffer>>)> {
        let words = count.div_ceil(32);
        let fits = u32::try_from(total).is_ok();
        // without rows there is one offset, 0, which no thread of the kernel writes
        let shorter = fits.then(|| if count == 0 { gpu.zeroed(4) } else { gpu.alloc((count + 1) * 4) }).transpose()?;
        let marks = gpu.alloc(CLASSES * words * 4)?;
        let report = gpu.zeroed((CLASSES + 2) * 8)?;
        let shorter_at = shorter.as_ref().map_or(0, Buffer::address);
        let head = [&[offsets.address(), count as u64, shorter_at][..], &ROW_CLASSES.map(|from| from as u64)].concat();
        let tail = [marks.address(), words as u64, report.address()];
        let mut classify = builder(gpu).with(sources::ROW_CLASSES);
        launch_over(&mut classify, "vxm::Classify", &[&head[..], &tail].concat(), words * 32)?;
        let report: Vec<usize> = report.download::<u64>(CLASSES + 2)?.into_iter().map(|x| x as usize).collect();
        let counts = std::array::from_fn(|class| report[class]);
        let (longest, longest_row) = (report[CLASSES] >> 32, !(report[CLASSES] as u32));
        let (uniform_class, first_listed) = Self::choose_lists(&counts, longest, total);
        let counts = Self::list_lengths(counts, first_listed);
        let rows = gpu.alloc(counts.iter().sum::<usize>() * 4)?;
        let mut at = rows.address();
        for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            list_into(gpu, marks.address() + (class * words * 4) as u64, words * 32, at)?;
            at += count as u64 * 4;
        }
        // without rows no block ran, and the zero word would read as row u32::MAX
        let longest_row = if longest == 0 { 0 } else { longest_row };
        let classes = Self {
            rows,
            counts,
            uniform_class,
            longest,
            longest_row,
            first_length: report[CLASSES + 1],
            count,
            entries: total,
        };
        Ok((classes, shorter.map(Arc::new)))
    }
}
