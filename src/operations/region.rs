//! Regions given by a list of indices: elements taken from one, and elements put into one.

use crate::backend::Place;
use crate::backend::cuda;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::profile::Counts;
use crate::backend::view::{Made, Support, VectorView, fixed_is_self};
use crate::error::Result;
use crate::formats::Store;
use crate::operations::expr::{Env, Expr, emit_operand, fits_as};
use crate::operations::index_list::Listed;
use crate::operations::loops::dependencies::Reads;
use crate::operations::ranks;
use crate::ranks::{Grid, fetch};
use std::borrow::Cow;
use std::panic::Location;

/// `w[k] = u[indices[k]]`.
#[derive(Debug, Clone, Copy)]
pub struct Extract<'a, E> {
    pub(crate) inner: E,
    pub(crate) indices: Listed<'a>,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`Extract`].
#[derive(Debug, Clone)]
pub struct Extracted<'a, V> {
    inner: V,
    indices: Cow<'a, [u32]>,
}

impl<'a, E: Expr> Expr for Extract<'a, E> {
    type T = E::T;
    type View<'s>
        = Made<Extracted<'a, E::View<'s>>>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.inner.is_heavy()
    }
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(self.indices.len())
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let n = self.inner.len(env)?;
        self.indices.within("extract", n, self.at)?;
        if let Some(grid) = env.grid() {
            return Ok(Made::Stored(self.on_ranks(grid, env)?));
        }
        Ok(Made::View(Extracted { inner: self.inner.view(&env.for_operand())?, indices: self.indices.host()? }))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        self.indices.within("extract", self.inner.len(env)?, self.at)?;
        if let Some(grid) = env.grid() {
            env.note_at_places(kernel);
            return ranks::on_gpu::stored(kernel, &self.on_ranks(grid, env)?);
        }
        let inner = emit_operand(&self.inner, &env.for_operand(), kernel)?;
        let (address, indices) = self.indices.on(kernel.gpu())?;
        kernel.push(address);
        kernel.keep_alive(indices);
        Ok(Node::new(kernel.ty("vxm::Extract", [inner.ty]), inner.full))
    }
}

impl<E: Expr> Extract<'_, E> {
    /// This rank's piece: elements are asked of their owners. All ranks call this.
    fn on_ranks(&self, grid: &Grid, env: &Env<'_>) -> Result<Store<E::T>> {
        let (n, inner) = (self.inner.len(env)?, ranks::piece(&self.inner, &env.for_operand())?.into_bitmap());
        let list = self.indices.host()?;
        let (owners, rank) = (grid.owners(list.len()), grid.rank());
        let places: Vec<u32> = (0..owners.count(rank) as u32).collect();
        let index = |&place: &u32| list[owners.vertex(rank, place) as usize];
        let found = fetch(grid, n, &inner, &places.iter().map(index).collect::<Vec<_>>())?;
        Ok(ranks::held(places.len(), &places, &found))
    }
}

impl<V: VectorView> VectorView for Extracted<'_, V> {
    type T = V::T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, k: usize) -> Option<V::T> {
        self.inner.at(self.indices[k] as usize)
    }
    #[inline(always)]
    fn value(&self, k: usize) -> V::T {
        self.inner.value(self.indices[k] as usize)
    }
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }
    fn counted(&self, k: usize, counts: &mut Counts) -> Option<V::T> {
        self.inner.counted(self.indices[k] as usize, counts)
    }
}

/// `w[indices[k]] = u[k]`: an assignment to a region. A terminal leaves places outside the region as they are.
#[derive(Debug, Clone, Copy)]
pub struct Scatter<'a, E> {
    pub(crate) inner: E,
    pub(crate) indices: Listed<'a>,
    pub(crate) len: usize,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`Scatter`].
#[derive(Debug, Clone)]
pub struct Region<'s, V> {
    inner: V,
    /// The places of the region, ascending.
    places: Cow<'s, [u32]>,
    /// For each place, the position in `u` of its element. `None` if place `k` gets element `k`.
    positions: Option<Vec<u32>>,
}

impl<E: Expr> Expr for Scatter<'_, E> {
    type T = E::T;
    type View<'s>
        = Region<'s, Made<E::View<'s>>>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.inner.is_heavy()
    }
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(self.len)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        self.check(env)?;
        if let Some(grid) = env.grid() {
            let (places, held) = self.on_ranks(grid, env)?;
            return Ok(Region { inner: Made::Stored(held), places: places.into(), positions: None });
        }
        let inner = Made::View(self.inner.view(&env.for_operand())?);
        let list = self.indices.host()?;
        if self.indices.ascends() || list.windows(2).all(|w| w[0] < w[1]) {
            return Ok(Region { inner, places: list, positions: None });
        }
        let mut positions: Vec<u32> = (0..list.len() as u32).collect();
        positions.sort_unstable_by_key(|&k| list[k as usize]);
        let places: Vec<u32> = positions.iter().map(|&k| list[k as usize]).collect();
        self.distinct(&places)?;
        Ok(Region { inner, places: places.into(), positions: Some(positions) })
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        self.check(env)?;
        if let Listed::Array(list) = self.indices
            && !list.windows(2).all(|w| w[0] < w[1])
        {
            let mut places = list.to_vec();
            places.sort_unstable();
            self.distinct(&places)?;
        }
        let mut scattering = KernelBuilder::new(kernel.gpu());
        if let Some(grid) = env.grid() {
            env.note_at_places(kernel);
            let (places, held) = self.on_ranks(grid, env)?;
            let inner = ranks::on_gpu::stored(&mut scattering, &held)?;
            let count = grid.count(self.len);
            let list = kernel.gpu().upload_slice(&places)?;
            let listed = (list.address(), places.len());
            let scattered = cuda::terminals::scatter::<E::T>(scattering, &inner, listed, count)?;
            return Ok(cuda::terminals::region(kernel, scattered));
        }
        let inner = self.inner.emit(&env.for_operand(), &mut scattering)?;
        let ((address, _list), count) = (self.indices.on(kernel.gpu())?, self.indices.len());
        let scattered = cuda::terminals::scatter::<E::T>(scattering, &inner, (address, count), self.len)?;
        if let Listed::Elements(_) = self.indices
            && cuda::terminals::count_bits(kernel.gpu(), &scattered.1, self.len)? < count
        {
            let mut places = self.indices.host()?.into_owned();
            places.sort_unstable();
            self.distinct(&places)?;
        }
        Ok(cuda::terminals::region(kernel, scattered))
    }
}

impl<E: Expr> Scatter<'_, E> {
    /// The places of the region that this rank owns, and their elements, wherever those are.
    fn on_ranks(&self, grid: &Grid, env: &Env<'_>) -> Result<(Vec<u32>, Store<E::T>)> {
        let list = self.indices.host()?;
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        self.distinct(&sorted)?;
        let (owners, inner) = (grid.owners(self.len), ranks::piece(&self.inner, &env.for_operand())?.into_bitmap());
        let own = (0u32..).zip(list.iter()).map(|(k, &index)| (owners.owner(index), k));
        let mut own: Vec<(u32, u32)> =
            own.filter(|((rank, _), _)| *rank == grid.rank()).map(|((_, place), k)| (place, k)).collect();
        own.sort_unstable();
        let (places, positions): (Vec<u32>, Vec<u32>) = own.into_iter().unzip();
        let found = fetch(grid, list.len(), &inner, &positions)?;
        let all: Vec<u32> = (0..places.len() as u32).collect();
        let held = ranks::held(places.len(), &all, &found);
        Ok((places, held))
    }

    fn check(&self, env: &Env<'_>) -> Result<()> {
        let named = |vector, indices| (format!("vector of {vector}"), format!("{indices} indices"));
        fits_as("scatter", (self.inner.len(env)?, self.indices.len()), named, self.at)?;
        crate::formats::check_vertices("scatter", self.len)?;
        self.indices.within("scatter", self.len, self.at)
    }

    /// Fails if an index occurs twice in the ascending `places`.
    fn distinct(&self, places: &[u32]) -> Result<()> {
        match places.windows(2).find(|w| w[0] == w[1]) {
            None => Ok(()),
            Some(twice) => {
                let what = format!("scatter at {}: index {} occurs twice", self.at, twice[0]);
                Err(crate::error::Error::Invalid { what })
            }
        }
    }
}

impl<V: VectorView> VectorView for Region<'_, V> {
    type T = V::T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        let k = self.places.binary_search(&(i as u32)).ok()?;
        self.at_listed(k, i)
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, _: usize) -> Option<V::T> {
        self.inner.at(self.positions.as_ref().map_or(k, |positions| positions[k] as usize))
    }
    fn support(&self) -> Support<'_> {
        Support::List(&self.places)
    }
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        self.places.binary_search(&(i as u32)).is_ok()
    }
    fn selected(&self) -> Support<'_> {
        Support::List(&self.places)
    }
    #[inline(always)]
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<V::T>> {
        Some(self.at_listed(k, i))
    }
}
