//! The tiles of a matrix, and when a plan makes them.

use super::Matrix;
use crate::backend::cuda::{DeviceCsr, DeviceTiles, Gpu};
use crate::backend::plan::{Format, TileSizes, least_entries, tile_format};
use crate::backend::tuning::tuning;
use crate::error::Result;
use crate::formats::{Csr, Tiles};
use crate::memory;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use vxm_semiring::Element;

/// The tiles of a matrix or of its transpose, as far as they have been made. Copies of a matrix share them.
#[derive(Debug)]
pub(super) struct Tiled<T: Element> {
    here: OnceLock<Arc<Tiles<T>>>,
    hybrid_here: OnceLock<Arc<(Tiles<T>, Csr<T>)>>,
    there: OnceLock<Arc<DeviceTiles<T>>>,
    hybrid_there: OnceLock<Arc<DeviceHybrid<T>>>,
    /// What a plan has chosen on the host and on a GPU.
    choice_here: Choice,
    choice_there: Choice,
}

/// The format for products that count, where none is forced.
#[derive(Debug, Default)]
struct Choice {
    /// How many such products there were over CSR.
    products: AtomicU32,
    made: OnceLock<(Format, &'static str)>,
}

/// A matrix on a GPU as full tiles and, for the other entries, rows.
#[derive(Debug)]
pub(crate) struct DeviceHybrid<T: Element> {
    pub(crate) tiles: Arc<DeviceTiles<T>>,
    pub(crate) rest: Matrix<T>,
    /// Whether the rows of the rest are skewed.
    skewed: bool,
}

impl<T: Element> DeviceHybrid<T> {
    /// Whether tile-rows, and rows of the rest, have about the same length each.
    pub(crate) fn is_even(&self) -> bool {
        self.tiles.are_uniform() && !self.skewed
    }
}

impl<T: Element> Default for Tiled<T> {
    fn default() -> Self {
        Self {
            here: OnceLock::new(),
            hybrid_here: OnceLock::new(),
            there: OnceLock::new(),
            hybrid_there: OnceLock::new(),
            choice_here: Choice::default(),
            choice_there: Choice::default(),
        }
    }
}

impl<T: Element> Tiled<T> {
    /// The same without what lies on a GPU.
    pub(super) fn on_host(&self) -> Self {
        Self { here: self.here.clone(), hybrid_here: self.hybrid_here.clone(), ..Self::default() }
    }

    fn heap_bytes(&self) -> usize {
        self.here.get().map_or(0, |tiles| tiles.heap_bytes())
            + self.hybrid_here.get().map_or(0, |held| held.0.heap_bytes() + held.1.heap_bytes())
    }
}

impl Choice {
    /// Counts a product. Once there were enough, `choose` decides for all later ones.
    fn next(&self, after: u32, choose: impl FnOnce() -> (Format, &'static str)) -> Option<(Format, &'static str)> {
        if let Some(made) = self.made.get() {
            return Some(*made);
        }
        // this product may be the last one, so tiles have to be worth it for as many products as there were
        if self.products.fetch_add(1, Ordering::Relaxed) < after {
            return None;
        }
        Some(*self.made.get_or_init(choose))
    }
}

impl<T: Element> Matrix<T> {
    /// Whether this type of matrix can be stored as tiles: a pattern, or `f16` weights.
    pub fn can_tile(&self) -> bool {
        matches!(T::NAME, "()" | "f16")
    }

    /// Returns the matrix with a format that every plan must use for it. With `None` the plan chooses.
    pub fn with_format(mut self, format: Option<Format>) -> Self {
        self.format = format;
        self
    }

    /// The format set by [`with_format`](Self::with_format).
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    fn tiled(&self, transposed: bool) -> &Tiled<T> {
        if transposed && !self.symmetric { &self.column_tiles } else { &self.row_tiles }
    }

    /// The rows of the matrix or of its transpose, on the host.
    fn side(&self, transposed: bool) -> &Csr<T> {
        if transposed { self.csr_transposed() } else { self.csr() }
    }

    fn side_on(&self, gpu: &Gpu, transposed: bool) -> Result<Arc<DeviceCsr<T>>> {
        if transposed { self.transposed_on(gpu) } else { self.on(gpu) }
    }

    /// The matrix as tiles on the host; built at the first call.
    pub fn tiles(&self) -> &Tiles<T> {
        self.tiles_of(false)
    }

    /// The transpose as tiles on the host; built at the first call.
    pub fn tiles_transposed(&self) -> &Tiles<T> {
        self.tiles_of(true)
    }

    fn tiles_of(&self, transposed: bool) -> &Tiles<T> {
        self.tiled(transposed).here.get_or_init(|| Arc::new(Tiles::from_csr(self.side(transposed))))
    }

    /// The matrix, or its transpose, as full tiles and the other entries, on the host; built at the first call.
    pub(crate) fn hybrid(&self, transposed: bool) -> (&Tiles<T>, &Csr<T>) {
        let least = least_entries(tuning().tile_fill);
        let made =
            self.tiled(transposed).hybrid_here.get_or_init(|| Arc::new(Tiles::split(self.side(transposed), least)));
        (&made.0, &made.1)
    }

    /// The matrix, or its transpose, as tiles on `gpu`; built there at the first call.
    pub(crate) fn tiles_on(&self, gpu: &Gpu, transposed: bool) -> Result<Arc<DeviceTiles<T>>> {
        let made = || DeviceTiles::from_csr(&*self.side_on(gpu, transposed)?);
        Self::kept(&self.tiled(transposed).there, gpu, DeviceTiles::gpu, made)
    }

    /// The matrix, or its transpose, as full tiles and the other entries on `gpu`; built there at the first call.
    pub(crate) fn hybrid_on(&self, gpu: &Gpu, transposed: bool) -> Result<Arc<DeviceHybrid<T>>> {
        let made = || {
            let least = least_entries(tuning().device_tile_fill) as u64;
            let (tiles, rest) = DeviceTiles::split(&*self.side_on(gpu, transposed)?, least)?;
            let skewed = rest.is_skewed();
            Ok(DeviceHybrid { tiles: Arc::new(tiles), rest: Self::on_device(rest, None), skewed })
        };
        Self::kept(&self.tiled(transposed).hybrid_there, gpu, |held| held.tiles.gpu(), made)
    }

    /// The formats that a plan has chosen for products that count over the transpose, as the verb `vxm` does: on the host, and on a GPU.
    #[doc(hidden)]
    pub fn chosen_formats(&self) -> [Option<Format>; 2] {
        let Tiled { choice_here, choice_there, .. } = self.tiled(true);
        [choice_here, choice_there].map(|choice| choice.made.get().map(|(format, _)| *format))
    }

    /// Makes what a format takes besides rows, where the matrix lies. Otherwise the first product that counts makes it.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn make_tiles(&self, format: Format) -> Result<()> {
        match (format, &self.gpu) {
            (Format::Tiles, Some(gpu)) => self.tiles_on(gpu, true).map(drop),
            (Format::Hybrid, Some(gpu)) => self.hybrid_on(gpu, true).map(drop),
            (Format::Tiles, None) => {
                self.tiles_transposed();
                Ok(())
            }
            (Format::Hybrid, None) => {
                self.hybrid(true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The average number of entries per stored tile of the matrix, or of its transpose if `transposed`; `None` if no
    /// tiles have been built.
    pub(crate) fn known_fill(&self, transposed: bool) -> Option<f64> {
        let Tiled { here, there, .. } = self.tiled(transposed);
        here.get().map(|tiles| tiles.fill()).or_else(|| there.get().map(|tiles| tiles.fill()))
    }

    /// Counts a product that counts over the matrix, or over its transpose, for which no format is forced. After `tile_after` of them, on a GPU
    /// `device_tile_after`, tiles are counted. Returns the format for this product and later ones, and the reason. It is CSR if there is too little memory for tiles.
    #[inline(never)]
    pub(crate) fn choose_format(&self, gpu: Option<&Gpu>, transposed: bool) -> Option<(Format, &'static str)> {
        let tiled = self.tiled(transposed);
        match gpu {
            None => tiled.choice_here.next(tuning().tile_after, || {
                let (t, csr) = (tuning(), self.side(transposed));
                let (full, inside) = Tiles::count_full(csr, least_entries(t.tile_fill));
                let sizes = TileSizes {
                    rows: csr.nrows(),
                    entries: csr.nnz(),
                    tiles: Tiles::count(csr),
                    full,
                    rest: csr.nnz() - inside,
                    even: true,
                };
                let room = 2 * (Tiles::<T>::TILE_BYTES * sizes.tiles + 4 * csr.nnz() + 8 * csr.nrows());
                let fits = || memory::require(room as u128, String::new).is_ok();
                tile_format(&sizes, t.tile_fill, 0.0, fits)
            }),
            Some(gpu) => tiled.choice_there.next(tuning().device_tile_after, || {
                self.choose_on(gpu, transposed).unwrap_or((Format::Csr, "there is no memory to count tiles in"))
            }),
        }
    }

    /// The format for products on a GPU. It makes the tiles.
    fn choose_on(&self, gpu: &Gpu, transposed: bool) -> Result<(Format, &'static str)> {
        let (t, rows) = (tuning(), self.side_on(gpu, transposed)?);
        if gpu.is_dry_run() {
            return Ok((Format::Csr, "nothing is counted in a dry run"));
        }
        let counts = DeviceTiles::count_full(&*rows, least_entries(t.device_tile_fill) as u64)?;
        let sizes = TileSizes {
            rows: rows.nrows(),
            entries: rows.nnz(),
            tiles: counts.all,
            full: counts.full,
            rest: counts.rest,
            even: !rows.is_skewed(),
        };
        // what is made must leave as much for others
        let room = 2 * (Tiles::<T>::TILE_BYTES * sizes.tiles.min(rows.nnz() / 4) + 4 * rows.nnz() + 8 * rows.nrows());
        let free = gpu.memory()?.0;
        let chosen = tile_format(&sizes, t.device_tile_fill, t.device_rest_row, || room as u64 <= free);
        let made = match chosen.0 {
            Format::Tiles => self.tiles_on(gpu, transposed).map(drop),
            Format::Hybrid => self.hybrid_on(gpu, transposed).map(drop),
            Format::Csr => Ok(()),
        };
        Ok(made.map_or((Format::Csr, "there is no memory for tiles"), |()| chosen))
    }

    /// The bytes held on the host's heap, in all formats built so far. Clones that share storage count it each.
    pub fn heap_bytes(&self) -> usize {
        self.rows.get().map_or(0, |c| c.heap_bytes())
            + self.columns.get().map_or(0, |c| c.heap_bytes())
            + self.row_tiles.heap_bytes()
            + self.column_tiles.heap_bytes()
    }
}
