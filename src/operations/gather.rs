//! Elements from where other elements say: `w[k] = x[index[k]]`, once or until that leads no lower.

use super::expr::{Env, Expr, emit_light};
use super::reads::Reads;
use crate::backend::cpu;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::view::{At, Support, fixed_as_it_is};
use crate::error::Result;
use crate::formats::Store;
use vxm_semiring::{Element, LT, Scalar, UnaryOp};

/// `w[k] = x[index[k]]`, where both hold an element.
#[derive(Debug, Clone, Copy)]
pub struct Gather<E, I> {
    pub(crate) inner: E,
    pub(crate) index: I,
}

/// See [`Gather`].
#[derive(Debug, Clone)]
pub struct Gathered<V: At, W> {
    inner: Operand<V>,
    len: usize,
    index: W,
}

/// What is read at any place, and maybe many times.
#[derive(Debug, Clone)]
enum Operand<V: At> {
    Lazy(V),
    /// Evaluated first: a product, or a list, in which each element would have to be searched.
    Held(Store<V::T>),
}

impl<V: At> Operand<V> {
    /// What of `len` elements is read of `inner`; `heavy` if each would be computed anew.
    fn of(inner: V, len: usize, heavy: bool, env: &Env<'_>) -> Self {
        if !heavy && !matches!(inner.support(), Support::List(_)) {
            return Self::Lazy(inner);
        }
        env.snapshot();
        Self::Held(Store::Bitmap(cpu::gather::gather(len, &inner).into_bitmap()))
    }

    /// The element at `i`, of `len`.
    #[inline(always)]
    fn read(&self, i: usize, len: usize) -> Option<V::T> {
        match self {
            _ if i >= len => None,
            Self::Lazy(view) => view.at(i),
            Self::Held(store) => store.get(i),
        }
    }
}

impl<E: Expr, I: Expr<T = u32>> Expr for Gather<E, I> {
    type T = E::T;
    type View<'s>
        = Gathered<E::View<'s>, I::View<'s>>
    where
        Self: 's;
    const HEAVY: bool = E::HEAVY || I::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.index.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let len = self.inner.len(env)?;
        let inner = Operand::of(self.inner.view(&env.for_operand())?, len, E::HEAVY, env);
        Ok(Gathered { inner, len, index: self.index.view(env)? })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
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
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let len = self.inner.len(env)?;
        let inner = emit_light(&self.inner, &env.for_operand(), kernel)?;
        let index = self.index.emit(env, kernel)?;
        kernel.push(len as u64);
        Ok(Node::new(kernel.ty("vxm::Gather", [inner.ty, index.ty]), false))
    }
}

impl<V: At, W: At<T = u32>> At for Gathered<V, W> {
    type T = V::T;
    fixed_as_it_is!();
    #[inline(always)]
    fn at(&self, k: usize) -> Option<V::T> {
        self.inner.read(self.index.at(k)? as usize, self.len)
    }
    #[inline(always)]
    fn drawn(&self, position: usize, k: usize) -> Option<V::T> {
        self.inner.read(self.index.drawn(position, k)? as usize, self.len)
    }
    fn support(&self) -> Support<'_> {
        self.index.support()
    }
    fn work(&self) -> Option<&[u64]> {
        self.index.work()
    }
}

/// `w[i]` is where `x[i]` leads: from `y = x[i]` on, as long as `x[op(y)]` is lower, that is `y`.
#[derive(Debug, Clone, Copy)]
pub struct Follow<E, F> {
    pub(crate) inner: E,
    pub(crate) op: F,
}

/// See [`Follow`].
#[derive(Debug, Clone)]
pub struct Followed<V: At, F> {
    inner: Operand<V>,
    len: usize,
    op: F,
}

impl<E: Expr<T: Scalar>, F: UnaryOp<E::T, Out = u32>> Expr for Follow<E, F> {
    type T = E::T;
    type View<'s>
        = Followed<E::View<'s>, F>
    where
        Self: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.inner.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let len = self.inner.len(env)?;
        let inner = Operand::of(self.inner.view(&env.for_operand())?, len, E::HEAVY, env);
        Ok(Followed { inner, len, op: self.op })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
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
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let len = self.inner.len(env)?;
        let inner = emit_light(&self.inner, &env.for_operand(), kernel)?;
        let (op, lower) = (kernel.functor(self.op), kernel.functor(LT));
        kernel.push(len as u64);
        kernel.push(E::T::LEAST.bits());
        Ok(Node::new(kernel.ty("vxm::Follow", [inner.ty, op, lower]), inner.full))
    }
}

impl<V: At<T: Scalar>, F: UnaryOp<V::T, Out = u32>> Followed<V, F> {
    /// Where `y` leads. Each step is lower than the one before, so that it ends even while others write.
    #[inline(always)]
    fn from(&self, mut y: V::T) -> V::T {
        while V::T::LEAST < y {
            match self.inner.read(self.op.call(y) as usize, self.len) {
                Some(z) if z < y => y = z,
                _ => break,
            }
        }
        y
    }
}

impl<V: At<T: Scalar>, F: UnaryOp<V::T, Out = u32>> At for Followed<V, F> {
    type T = V::T;
    fixed_as_it_is!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        Some(self.from(self.inner.read(i, self.len)?))
    }
    fn is_full(&self) -> bool {
        matches!(&self.inner, Operand::Lazy(view) if view.is_full())
    }
}
