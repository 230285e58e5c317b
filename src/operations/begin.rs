//! What a loop's state begins as: a vector, or an expression that the loop evaluates.

use super::expr::{Env, Expr};
use super::terminal::eval;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::containers::Vector;
use crate::error::Result;
use std::sync::Arc;
use vxm_kernels::Buffer;
use vxm_semiring::Element;

/// What a loop's state begins as; see [`fixpoint`](super::fixpoint::fixpoint).
pub trait Begin: Sized {
    /// The elements' type.
    type T: Element;

    /// The GPU that it lies on, if it does.
    fn gpu(&self) -> Option<Gpu>;

    /// As a vector.
    ///
    /// # Errors
    /// Operands' shapes don't fit; the device has too little memory, or is lost.
    fn held(self) -> Result<Vector<Self::T>>;

    /// On a device a vector for a loop to write, and what that begins as, unless it is there.
    ///
    /// # Errors
    /// As of [`held`](Self::held).
    fn on(self, gpu: &Gpu) -> Result<(Vector<Self::T>, Before<Self>)>;

    /// In a loop's kernel, if it can be, and is full.
    ///
    /// # Errors
    /// As of [`held`](Self::held).
    fn emit(&self, kernel: &mut Composer) -> Result<Option<Node>>;
}

/// What a vector that a loop's kernel writes begins as.
#[derive(Debug)]
pub enum Before<S> {
    /// What it holds.
    There,
    /// Values that others hold too.
    Values(Arc<Buffer>),
    /// It holds nothing yet.
    Made(S),
}

impl<T: Element> Begin for Vector<T> {
    type T = T;
    fn gpu(&self) -> Option<Gpu> {
        Vector::gpu(self).cloned()
    }
    fn held(self) -> Result<Self> {
        Ok(self)
    }
    fn on(mut self, gpu: &Gpu) -> Result<(Self, Before<Self>)> {
        let before = self.on_mut(gpu)?.renew()?.map_or(Before::There, Before::Values);
        Ok((self, before))
    }
    fn emit(&self, _: &mut Composer) -> Result<Option<Node>> {
        Ok(None)
    }
}

impl<E: Expr> Begin for E {
    type T = E::T;
    fn gpu(&self) -> Option<Gpu> {
        self.place(&Env::default())
    }
    fn held(self) -> Result<Vector<E::T>> {
        eval(self, &Env::default())
    }
    fn on(self, gpu: &Gpu) -> Result<(Vector<E::T>, Before<Self>)> {
        let room = DeviceVector::room(gpu, self.len(&Env::default())?)?;
        Ok((Vector::on_device(room), Before::Made(self)))
    }
    fn emit(&self, kernel: &mut Composer) -> Result<Option<Node>> {
        if E::HEAVY { Ok(None) } else { kernel.beside_if_full(|kernel| Expr::emit(self, &Env::default(), kernel)) }
    }
}
