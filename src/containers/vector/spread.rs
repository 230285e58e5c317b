//! Vectors that are spread over ranks.

use crate::backend::cuda::DeviceVector;
use crate::backend::{Place, current_place};
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Bitmap, Sparse, Store};
use crate::ranks::{Grid, collect, to_first};
use std::sync::OnceLock;
use vxm_semiring::Element;

/// What a vector that is spread over ranks is, beside this rank's piece.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    grid: Grid,
    pub(super) len: usize,
    /// The number of elements on all ranks.
    pub(super) count: OnceLock<usize>,
}

/// A vector in another form than it is stored in, and more of them: ranks that are threads may read one vector.
#[derive(Debug, Clone)]
pub(super) struct Other<T: Element> {
    vector: Vector<T>,
    next: OnceLock<Box<Other<T>>>,
}

impl Spread {
    /// The number of elements on all ranks, of which `here` are on this one.
    pub(super) fn count(&self, here: usize) -> usize {
        *self.count.get_or_init(|| match self.grid.sum(&[here as u64]) {
            Ok(sums) => sums.first().map_or(0, |&sum| sum as usize),
            Err(error) => panic!("a vector spread over ranks: {error}"),
        })
    }
}

impl<T: Element> Vector<T> {
    /// A vector of `len` places that is spread over `grid`, from this rank's piece.
    #[inline(never)]
    pub(crate) fn of_piece(piece: Store<T>, grid: &Grid, len: usize) -> Self {
        debug_assert_eq!(piece.len(), grid.count(len));
        let spread = Spread { grid: grid.clone(), len, count: OnceLock::new() };
        Self { spread: Some(Box::new(spread)), ..Self::of(piece) }
    }

    /// The same, from this rank's piece on its GPU.
    #[inline(never)]
    pub(crate) fn of_device_piece(piece: DeviceVector<T>, grid: &Grid, len: usize) -> Self {
        debug_assert_eq!(piece.len(), grid.count(len));
        let spread = Spread { grid: grid.clone(), len, count: OnceLock::new() };
        Self { spread: Some(Box::new(spread)), ..Self::on_device(piece) }
    }

    /// The ranks that the vector is spread over; `None` if it isn't.
    pub fn grid(&self) -> Option<&Grid> {
        self.spread.as_ref().map(|spread| &spread.grid)
    }

    /// Where the vector is stored, if not on this process' host alone.
    pub(crate) fn place(&self) -> Option<Place> {
        self.grid().cloned().map(Place::Ranks).or_else(|| self.gpu().cloned().map(Place::Gpu))
    }

    /// Where this rank holds the element at `i`; `None` if another rank does.
    pub(super) fn own_place(&self, i: u32) -> Option<u32> {
        let Some(Spread { grid, len, .. }) = self.spread.as_deref() else { return Some(i) };
        let (rank, place) = grid.owners(*len).owner(i);
        (rank == grid.rank()).then_some(place)
    }

    /// The error of a vector that can't leave its ranks.
    pub(super) fn stays(&self) -> Error {
        Error::invalid(
            "a vector spread over ranks stays in their memory: expected to_root() or to_all() before it moves to a GPU",
        )
    }

    /// Spreads the vector over the ranks of a grid: each keeps its piece. All ranks hold the same vector. O(n) time. A vector on a grid of
    /// one rank stays as it is.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let results = Threads::run(2, |world| {
    ///     let grid = Grid::of(world, 2, 1)?;
    ///     let v = Vector::from_dense((0..1000u32).collect()).to_grid(&grid)?;
    ///     Ok::<_, vxm::Error>((v.len(), v.nvals(), v.reduce(MAX)?))
    /// });
    /// for result in results {
    ///     assert_eq!(result?, (1000, 1000, 999));
    /// }
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: it is spread over another grid. [`Error::Device`]: it is on a device that is lost.
    #[inline(never)]
    pub fn to_grid(&self, grid: &Grid) -> Result<Self> {
        if self.spread.is_some() {
            return self.piece_on(grid).cloned();
        }
        if grid.size() == 1 {
            return if grid.gpu().is_some() { self.to(grid.device()) } else { Ok(self.clone()) };
        }
        let here = self.to(crate::backend::Device::Cpu)?;
        let (owners, rank, store) = (grid.owners(self.len()), grid.rank(), here.into_store());
        let piece = match store {
            Store::Sparse(sparse) => {
                let own =
                    |(&i, &x): (&u32, &T)| Some(owners.owner(i)).filter(|own| own.0 == rank).map(|own| (own.1, x));
                let mut held: Vec<(u32, T)> = sparse.indices().iter().zip(sparse.values()).filter_map(own).collect();
                held.sort_unstable_by_key(|&(place, _)| place);
                let (indices, values) = held.into_iter().unzip();
                Store::Sparse(Sparse::new(owners.count(rank), indices, values))
            }
            Store::Bitmap(whole) => {
                let mut piece = crate::ranks::nothing(owners.count(rank));
                for place in 0..piece.len() {
                    piece.put(place, whole.get(owners.vertex(rank, place as u32) as usize));
                }
                let (full, count) = (piece.nvals() == piece.len(), piece.len());
                Store::Bitmap(if full && count > 0 { Bitmap::dense(piece.into_values()) } else { piece })
            }
        };
        Ok(Self::of_piece(piece, grid, owners.len()))
    }

    /// The vector as it is read over `grid`: itself, or its piece, which is cached.
    #[inline(never)]
    pub(crate) fn piece_on(&self, grid: &Grid) -> Result<&Self> {
        if let Some(held) = self.grid() {
            let other = "a vector spread over another grid, or with other owners: expected one grid in an expression";
            return if held == grid { Ok(self) } else { Err(Error::invalid(other)) };
        }
        let mut place = &self.other;
        loop {
            let held = match place.get() {
                Some(held) => held,
                None => {
                    let made = Box::new(Other { vector: self.to_grid(grid)?, next: OnceLock::new() });
                    place.get_or_init(|| made)
                }
            };
            if held.vector.grid() == Some(grid) {
                return Ok(&held.vector);
            }
            place = &held.next;
        }
    }

    /// This rank's elements, with a slot for each place.
    pub(crate) fn piece_bitmap(&self) -> Bitmap<T> {
        self.store().clone().into_bitmap()
    }

    /// Spreads the vector over `grid`, unless it is.
    #[inline(never)]
    pub(crate) fn spread_on(self, grid: &Grid) -> Result<Self> {
        if self.grid() == Some(grid) { Ok(self) } else { self.to_grid(grid) }
    }

    /// The whole vector on rank 0, `None` on the other ranks. Of a vector that isn't spread, it is the vector itself. All ranks call this.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let v = Vector::from_pairs(200, [(7, 1u32), (150, 2)])?;
    /// let results = Threads::run(3, |world| v.to_grid(&Grid::of(world, 3, 1)?)?.map(PLUS.bind(1)).eval()?.to_root());
    /// let mut results = results.into_iter();
    /// assert_eq!(results.next().transpose()?.flatten(), Some(Vector::from_pairs(200, [(7, 2), (150, 3)])?));
    /// assert!(results.all(|other| other.is_ok_and(|other| other.is_none())));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    pub fn to_root(&self) -> Result<Option<Self>> {
        let Some(Spread { grid, len, .. }) = self.spread.as_deref() else { return Ok(Some(self.clone())) };
        let whole = to_first(grid, *len, &self.piece_bitmap())?;
        Ok(whole.map(|whole| Self::of(Store::Bitmap(whole))))
    }

    /// The whole vector on every rank. All ranks call this.
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    #[inline(never)]
    pub fn to_all(&self) -> Result<Self> {
        let Some(Spread { grid, len, .. }) = self.spread.as_deref() else { return Ok(self.clone()) };
        Ok(Self::of(Store::Bitmap(collect(grid, *len, &self.piece_bitmap())?)))
    }

    /// The vector for reads at any index. Of a spread one, where all ranks run the same text, it is collected and cached: in the scope of
    /// a graph that is spread.
    pub(super) fn whole(&self) -> &Self {
        if self.spread.is_none() {
            return self;
        }
        let same_text = matches!(current_place(), Some(Place::Ranks(_)));
        assert!(same_text, "a vector spread over ranks: expected to_root() or to_all() before its elements are read");
        let whole = self.other.get_or_init(|| match self.to_all() {
            Ok(vector) => Box::new(Other { vector, next: OnceLock::new() }),
            Err(error) => panic!("a vector spread over ranks: {error}"),
        });
        &whole.vector
    }
}
