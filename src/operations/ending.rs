//! What is made of a loop's settled state.

use super::expr::{Env, Expr, Key};
use super::reads::Reads;
use super::terminal::{eval, eval_and_fold};
use crate::backend::cuda::DeviceVector;
use crate::backend::cuda::compose::Composer;
use crate::backend::cuda::fixpoint::End;
use crate::containers::Vector;
use crate::error::Result;
use std::convert::Infallible;
use vxm_semiring::{Element, Monoid};

/// What is made of a loop's settled state, in the loop's kernel or behind it.
pub trait Ending<T: Element>: Sized {
    /// What is made.
    type Made;
    /// What a loop's kernel writes.
    type Written;

    /// As a part of a loop's kernel, and where that writes it; none if it is made after.
    ///
    /// # Errors
    /// As for [`Expr::emit`].
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Option<(End, Self::Written)>>;

    /// What a kernel has made: `folded` are the bits of its fold, if there is one.
    fn made(self, written: Self::Written, folded: Option<u64>) -> Self::Made;

    /// Makes it of the settled state.
    ///
    /// # Errors
    /// What it says.
    fn after(self, state: &Vector<T>) -> Result<Self::Made>;
}

/// Something is made of the whole state, behind the loop.
#[derive(Debug)]
pub struct After<F>(pub(super) F);

impl<T: Element, R, F: FnOnce(&Vector<T>) -> Result<R>> Ending<T> for After<F> {
    type Made = R;
    type Written = Infallible;
    fn emit(&self, _: &Env<'_>, _: &mut Composer) -> Result<Option<(End, Infallible)>> {
        Ok(None)
    }
    fn made(self, written: Infallible, _: Option<u64>) -> R {
        match written {}
    }
    fn after(self, state: &Vector<T>) -> Result<R> {
        (self.0)(state)
    }
}

/// An expression over the state, and its elements folded, if there is a monoid for that.
#[derive(Debug)]
pub struct Each<T, R, M> {
    pub(super) key: Key<T>,
    pub(super) made: R,
    pub(super) add: Option<M>,
}

impl<T: Element, R: Expr, M: Monoid<R::T>> Ending<T> for Each<T, R, M> {
    type Made = (Vector<R::T>, Option<R::T>);
    type Written = DeviceVector<R::T>;
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Option<(End, DeviceVector<R::T>)>> {
        let mut reads = Reads::default();
        self.made.reads(env, &mut reads);
        let alone = !R::HEAVY && !reads.is_everything() && reads.matrices().is_empty();
        // parts are folded as elements are settled
        let in_any_order = self.add.is_none() || (M::EXACT && M::COMMUTATIVE);
        if !alone || !in_any_order || self.made.len(env)? != self.key.len(env)? {
            return Ok(None);
        }
        let Some(node) = kernel.beside_if_full(|kernel| self.made.emit(env, kernel))? else { return Ok(None) };
        let out = DeviceVector::room(&kernel.gpu().clone(), self.made.len(env)?)?;
        kernel.element::<R::T>();
        let add = self.add.map(|add| kernel.monoid::<R::T, M>(add));
        Ok(Some((End::new(&node, &out, add), out)))
    }
    fn made(self, written: DeviceVector<R::T>, folded: Option<u64>) -> Self::Made {
        let folded = self.add.map(|_| folded.map_or(M::IDENTITY, R::T::from_bits));
        (Vector::on_device(written), folded)
    }
    fn after(self, state: &Vector<T>) -> Result<Self::Made> {
        let env = Env::with_state(self.key, state);
        Ok(match self.add {
            Some(add) => {
                let (made, folded) = eval_and_fold(self.made, &env, add)?;
                (made, Some(folded))
            }
            None => (eval(self.made, &env)?, None),
        })
    }
}
