//! Elements from where other elements say: `w[k] = x[index[k]]`.

use super::expr::{Env, Expr, emit_light};
use super::reads::Reads;
use crate::backend::cpu;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::view::{At, Support};
use crate::error::Result;
use crate::formats::Store;

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

impl<E: Expr, I: Expr<T = u32>> Expr for Gather<E, I> {
    type T = E::T;
    type View<'s>
        = Gathered<E::View<'s>, I::View<'s>>
    where
        Self: 's;
    const HEAVY: bool = I::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.index.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let (len, inner) = (self.inner.len(env)?, self.inner.view(&env.for_operand())?);
        let inner = if E::HEAVY || matches!(inner.support(), Support::List(_)) {
            env.snapshot();
            Operand::Held(Store::Bitmap(cpu::gather::gather(len, &inner).into_bitmap()))
        } else {
            Operand::Lazy(inner)
        };
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
        Ok(Node::new(format!("vxm::Gather<{}, {}>", inner.ty, index.ty), false))
    }
}

impl<V: At, W: At<T = u32>> Gathered<V, W> {
    #[inline(always)]
    fn read(&self, i: u32) -> Option<V::T> {
        let i = i as usize;
        match &self.inner {
            _ if i >= self.len => None,
            Operand::Lazy(view) => view.at(i),
            Operand::Held(store) => store.get(i),
        }
    }
}

impl<V: At, W: At<T = u32>> At for Gathered<V, W> {
    type T = V::T;
    #[inline(always)]
    fn at(&self, k: usize) -> Option<V::T> {
        self.read(self.index.at(k)?)
    }
    #[inline(always)]
    fn drawn(&self, position: usize, k: usize) -> Option<V::T> {
        self.read(self.index.drawn(position, k)?)
    }
    fn support(&self) -> Support<'_> {
        self.index.support()
    }
    fn work(&self) -> Option<&[u64]> {
        self.index.work()
    }
}
