//! What [`jit`](self) is without the feature `jit`: programs are interpreted.

use core::marker::PhantomData;

use super::interpret::Ready;
use super::program::{Program, Text};
use crate::{Element, Semiring};

/// The lanes of a segment of the fixed tree, which folds float sums and other monoids that aren't exact.
pub const LANES: usize = 32;
/// The most entries of a segment of that tree.
pub const SEGMENT: usize = 1024;

/// What is compiled of a program: nothing.
#[derive(Debug)]
pub(super) struct Machine {}

impl Machine {
    pub(super) fn of(_: &Text) -> Self {
        Self {}
    }

    #[inline(always)]
    pub(super) fn call(&self, _: &Ready, _: [u64; 3]) -> Option<u64> {
        None
    }
}

impl Program {
    /// Compiles the program, with the feature `jit`. Without it, as here, this does nothing.
    pub fn compile(self) {}

    /// Whether calls run machine code: never without the feature `jit`.
    pub fn is_compiled(self) -> bool {
        false
    }
}

/// Makes machine code for the rows of products, if the feature `jit` is on.
pub fn prepare<X: Element, A: Element, S: Semiring<X, A>>(_: S, _: bool) {}

/// Makes machine code for pushes along the rows of a matrix, if the feature `jit` is on.
pub fn prepare_push<X: Element, A: Element, S: Semiring<X, A>>(_: S) {}

/// Machine code that folds the entries of a row. Without the feature `jit` there is none.
#[derive(Debug, Clone, Copy)]
pub struct RowFold<X, A, T> {
    never: core::convert::Infallible,
    of: PhantomData<fn(X, A) -> T>,
}

impl<X: Element, A: Element, T: Element> RowFold<X, A, T> {
    /// `None`: there is no code.
    #[inline(always)]
    pub fn of<S: Semiring<X, A, Out = T>>(_: S, _: bool) -> Option<Self> {
        None
    }

    /// The fold of a row. There is no value to call it on.
    ///
    /// # Safety
    /// Nothing is asked of the caller.
    pub unsafe fn fold(self, _: &[u32], _: &[A], _: *const X) -> Option<T> {
        match self.never {}
    }
}

/// Machine code that joins the products of a row into elements of a state. Without the feature `jit` there is none.
#[derive(Debug, Clone, Copy)]
pub struct RowPush<X, A, T> {
    never: core::convert::Infallible,
    of: PhantomData<fn(X, A) -> T>,
}

impl<X: Element, A: Element, T: Element> RowPush<X, A, T> {
    /// `None`: there is no code.
    #[inline(always)]
    pub fn of<S: Semiring<X, A, Out = T>>(_: S, _: bool) -> Option<Self> {
        None
    }

    /// The push of a row. There is no value to call it on.
    ///
    /// # Safety
    /// Nothing is asked of the caller.
    pub unsafe fn push(self, _: &[u32], _: &[A], _: X, _: *mut T, _: (&mut [u32], &mut [T])) -> usize {
        match self.never {}
    }
}
