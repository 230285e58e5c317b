//! Indirect reads: `w[k] = x[index[k]]`, and chains of such reads, which end where values stop decreasing.

use crate::backend::Place;
use crate::backend::cpu;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::ranks::{at_own_indices, shown};
use crate::backend::cuda::{self, DeviceVector, Gpu};
use crate::backend::profile::Counts;
use crate::backend::view::{Made, Support, VectorView, fixed_is_self};
use crate::error::Result;
use crate::formats::Store;
use crate::operations::expr::{Env, Expr, emit_operand};
use crate::operations::loops::dependencies::Reads;
use crate::operations::ranks;
use crate::ranks::{Grid, fetch};
use vxm_semiring::{LT, Scalar, UnaryOp};

/// `w[k] = x[index[k]]`, where both hold an element.
#[derive(Debug, Clone, Copy)]
pub struct Gather<E, I> {
    pub(crate) inner: E,
    pub(crate) index: I,
}

/// The view of [`Gather`].
#[derive(Debug, Clone)]
pub struct Gathered<V: VectorView, W> {
    inner: Operand<V>,
    len: usize,
    index: W,
}

/// An operand that is read at any place, maybe many times.
#[derive(Debug, Clone)]
enum Operand<V: VectorView> {
    Direct(V),
    /// Evaluated first. Otherwise each read would fold a product's row, or search a list.
    Evaluated(Store<V::T>),
}

impl<V: VectorView> Operand<V> {
    /// The operand `inner` of `len` places. It is evaluated first if it is `heavy`, which each read would compute anew,
    /// or a list.
    fn of(inner: V, len: usize, heavy: bool, env: &Env<'_>) -> Self {
        if !heavy && !matches!(inner.support(), Support::List(_)) {
            return Self::Direct(inner);
        }
        env.snapshot();
        Self::Evaluated(Store::Bitmap(cpu::gather::gather(len, &inner).into_bitmap()))
    }

    /// The element at `i`; none if `i` isn't less than `len`.
    #[inline(always)]
    fn read(&self, i: usize, len: usize) -> Option<V::T> {
        match self {
            _ if i >= len => None,
            Self::Direct(view) => view.at(i),
            Self::Evaluated(store) => store.get(i),
        }
    }
}

impl<E: Expr, I: Expr<T = u32>> Expr for Gather<E, I> {
    type T = E::T;
    type View<'s>
        = Made<Gathered<E::View<'s>, I::View<'s>>>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.inner.is_heavy() || self.index.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.index.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        if let Some(grid) = env.grid() {
            return Ok(Made::Stored(self.on_ranks(grid, env)?));
        }
        let len = self.inner.len(env)?;
        let inner = Operand::of(self.inner.view(&env.for_operand())?, len, self.inner.is_heavy(), env);
        Ok(Made::View(Gathered { inner, len, index: self.index.view(env)? }))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env).or_else(|| self.index.place(env))
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        self.index.known_count(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
        self.index.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        if let Some(grid) = env.grid() {
            env.note_at_places(kernel);
            return match grid.gpu().filter(|_| grid.shows()) {
                Some(gpu) => Ok(kernel.stored(&self.among_peers(grid, gpu, env)?)),
                None => ranks::on_gpu::stored(kernel, &self.on_ranks(grid, env)?),
            };
        }
        let len = self.inner.len(env)?;
        let inner = emit_operand(&self.inner, &env.for_operand(), kernel)?;
        let index = self.index.emit(env, kernel)?;
        kernel.push(len as u64);
        Ok(Node::new(kernel.ty("vxm::Gather", [inner.ty, index.ty]), false))
    }
}

impl<E: Expr, I: Expr<T = u32>> Gather<E, I> {
    /// This rank's piece: elements are asked of their owners. All ranks call this.
    fn on_ranks(&self, grid: &Grid, env: &Env<'_>) -> Result<Store<E::T>> {
        let len = self.inner.len(env)?;
        let inner = ranks::piece(&self.inner, &env.for_operand())?.into_bitmap();
        let index = ranks::piece(&self.index, env)?.into_sparse();
        let found = fetch(grid, len, &inner, index.values())?;
        Ok(ranks::held(index.len(), index.indices(), &found))
    }

    /// The same on its GPU, which reads elements in the others' memory. All ranks call this.
    fn among_peers(&self, grid: &Grid, gpu: &Gpu, env: &Env<'_>) -> Result<DeviceVector<E::T>> {
        let len = self.inner.len(env)?;
        let index = ranks::on_gpu::piece(&self.index, env, grid, gpu)?;
        let inner = ranks::on_gpu::piece(&self.inner, &env.for_operand(), grid, gpu)?;
        let mut kernel = KernelBuilder::new(gpu);
        let inner = shown(&mut kernel, grid, &inner, len)?;
        let places = kernel.stored(&index);
        kernel.push(len as u64);
        let node = Node::new(kernel.ty("vxm::Gather", [inner.ty, places.ty]), false);
        cuda::terminals::eval(kernel, &node, index.len())
    }
}

impl<V: VectorView, W: VectorView<T = u32>> VectorView for Gathered<V, W> {
    type T = V::T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, k: usize) -> Option<V::T> {
        self.inner.read(self.index.at(k)? as usize, self.len)
    }
    #[inline(always)]
    fn at_listed(&self, position: usize, k: usize) -> Option<V::T> {
        self.inner.read(self.index.at_listed(position, k)? as usize, self.len)
    }
    fn support(&self) -> Support<'_> {
        self.index.support()
    }
    fn counted(&self, k: usize, counts: &mut Counts) -> Option<V::T> {
        let index = self.index.counted(k, counts)?;
        counts.jumps += 1;
        self.inner.read(index as usize, self.len)
    }
    fn work(&self) -> Option<&[u64]> {
        self.index.work()
    }
}

/// The end of each chain of pointers; see [`Verbs::pointer_jump`](crate::operations::verbs::Verbs::pointer_jump).
#[derive(Debug, Clone, Copy)]
pub struct PointerJump<E, F> {
    pub(crate) inner: E,
    pub(crate) op: F,
}

/// The view of [`PointerJump`].
#[derive(Debug, Clone)]
pub struct Jumped<V: VectorView, F> {
    inner: Operand<V>,
    len: usize,
    op: F,
}

impl<E: Expr<T: Scalar>, F: UnaryOp<E::T, Out = u32>> Expr for PointerJump<E, F> {
    type T = E::T;
    type View<'s>
        = Made<Jumped<E::View<'s>, F>>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.inner.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.inner.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        if let Some(grid) = env.grid() {
            return Ok(Made::Stored(self.on_ranks(grid, env)?));
        }
        let len = self.inner.len(env)?;
        let inner = Operand::of(self.inner.view(&env.for_operand())?, len, self.inner.is_heavy(), env);
        Ok(Made::View(Jumped { inner, len, op: self.op }))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        self.inner.known_count(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        if let Some(grid) = env.grid() {
            env.note_at_places(kernel);
            return match grid.gpu().filter(|_| grid.shows()) {
                Some(gpu) => Ok(kernel.stored(&self.among_peers(grid, gpu, env)?)),
                None => ranks::on_gpu::stored(kernel, &self.on_ranks(grid, env)?),
            };
        }
        let len = self.inner.len(env)?;
        let inner = emit_operand(&self.inner, &env.for_operand(), kernel)?;
        Ok(self.emit_over(&inner, len, kernel))
    }
}

impl<E: Expr<T: Scalar>, F: UnaryOp<E::T, Out = u32>> PointerJump<E, F> {
    /// Emits the ends of the chains in a view of `len` places.
    fn emit_over(&self, inner: &Node, len: usize, kernel: &mut KernelBuilder) -> Node {
        let (op, lower) = (kernel.functor(self.op), kernel.functor(LT));
        kernel.push(len as u64);
        kernel.push_element(E::T::LEAST);
        Node::new(kernel.ty("vxm::PointerJump", [inner.ty, op, lower]), inner.full)
    }

    /// This rank's piece on its GPU, which follows chains through the others' memory. All ranks call this.
    fn among_peers(&self, grid: &Grid, gpu: &Gpu, env: &Env<'_>) -> Result<DeviceVector<E::T>> {
        let len = self.inner.len(env)?;
        let inner = ranks::on_gpu::piece(&self.inner, &env.for_operand(), grid, gpu)?;
        let mut kernel = KernelBuilder::new(gpu);
        let all = shown(&mut kernel, grid, &inner, len)?;
        let ends = self.emit_over(&all, len, &mut kernel);
        let own = at_own_indices(&mut kernel, grid, &ends, len);
        cuda::terminals::eval(kernel, &own, inner.len())
    }

    /// This rank's piece: the next elements are asked of their owners. All ranks call this.
    fn on_ranks(&self, grid: &Grid, env: &Env<'_>) -> Result<Store<E::T>> {
        let (len, piece) = (self.inner.len(env)?, ranks::piece(&self.inner, &env.for_operand())?);
        ranks::chain_ends(grid, len, piece.into_bitmap(), |x| self.op.call(x))
    }
}

impl<V: VectorView<T: Scalar>, F: UnaryOp<V::T, Out = u32>> Jumped<V, F> {
    /// The end of the chain that starts at `y`. Each step is less than the one before, so it ends even while other
    /// threads write.
    #[inline(always)]
    fn chain_end(&self, mut y: V::T) -> V::T {
        while V::T::LEAST < y {
            match self.inner.read(self.op.call(y) as usize, self.len) {
                Some(z) if z < y => y = z,
                _ => break,
            }
        }
        y
    }
}

impl<V: VectorView<T: Scalar>, F: UnaryOp<V::T, Out = u32>> VectorView for Jumped<V, F> {
    type T = V::T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        Some(self.chain_end(self.inner.read(i, self.len)?))
    }
    fn is_full(&self) -> bool {
        matches!(&self.inner, Operand::Direct(view) if view.is_full())
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<V::T> {
        let mut y = self.inner.read(i, self.len)?;
        while V::T::LEAST < y {
            counts.jumps += 1;
            match self.inner.read(self.op.call(y) as usize, self.len) {
                Some(z) if z < y => y = z,
                _ => break,
            }
        }
        Some(y)
    }
}
