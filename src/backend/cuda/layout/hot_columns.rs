//! Hot columns: a matrix' columns renumbered by frequency. If few columns hold most entries, the vector elements that a product reads there
//! fit into a cache once they are adjacent. The entries keep their order, so every fold does too.

use crate::backend::cuda::budget::alloc_spare;
use crate::backend::cuda::compact::{builder, launch_over};
use crate::backend::cuda::layout::arrays::HotColumns;
use crate::backend::cuda::{DeviceCsr, DeviceVector, sort};
use crate::backend::tuning::tuning;
use crate::error::{Error, Result};
use crate::kernels::sources;
use vxm_semiring::Element;

impl<A: Element> DeviceCsr<A> {
    /// The renumbered columns, if few columns hold most entries and there is memory for the renumbering.
    ///
    /// # Errors
    /// The device is lost.
    #[inline(never)]
    pub fn hot_columns(&self) -> Result<Option<&HotColumns>> {
        // matrices with uniform rows, and vectors that fit into the cache anyway, gain nothing
        if !self.is_skewed() || (self.ncols() as u64) < 4 * tuning().hot_columns {
            return Ok(None);
        }
        if let Some(known) = self.hot_columns.get() {
            return Ok(known.as_ref());
        }
        let found = match self.renumber_by_frequency() {
            // products work without it, only slower; the failure is remembered, because asking a full device again is slow
            Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => None,
            found => found?,
        };
        Ok(self.hot_columns.get_or_init(|| found).as_ref())
    }

    fn renumber_by_frequency(&self) -> Result<Option<HotColumns>> {
        let (gpu, entries, n) = (self.gpu(), self.nnz(), self.ncols());
        let mut counts = gpu.alloc(n * 4)?;
        // counts go down from u32::MAX, so that ascending ranks put the most frequent columns first
        counts.fill(u8::MAX)?;
        let mut tools = builder(gpu).with(sources::HOT_COLUMNS);
        launch_over(
            &mut tools,
            "vxm::CountColumns",
            &[self.columns.address(), entries as u64, counts.address()],
            entries,
        )?;
        let ranks = sort::rank(&DeviceVector::<u32>::dense(gpu, counts, n), "vxm::Unsigned")?;
        let columns = alloc_spare(gpu, entries * 4, n)?;
        let (order, hot_entries) = (gpu.alloc(n * 4)?, gpu.zeroed(8)?);
        let words = [
            self.columns.address(),
            entries as u64,
            ranks.values_address(),
            columns.address(),
            tuning().hot_columns,
            hot_entries.address(),
        ];
        launch_over(&mut tools, "vxm::Renumber", &words, entries)?;
        if hot_entries.download::<u64>(1)?[0] < entries as u64 / 2 {
            return Ok(None);
        }
        launch_over(&mut tools, "vxm::Invert", &[ranks.values_address(), n as u64, order.address()], n)?;
        Ok(Some(HotColumns { order, columns }))
    }
}
