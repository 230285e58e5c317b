//! Scatter-reduce in a loop: each element is joined into another one that it names, `x[root(x)] ⊕= x'`.

use crate::backend::cpu::scatter_reduce::{CountedScatter, NoScatter, Scatter};
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::not_idempotent;
use crate::backend::profile::Probe;
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::operations::expr::Expr;
use crate::operations::loops::changed::Changed;
use crate::operations::loops::core::{Scattering, Stepped};
use crate::operations::verbs::Verbs;
use std::panic::Location;
use vxm_semiring::{Element, FIRST, Monoid, UnaryOp, semiring};

/// Joins each element, by a monoid, into the one that `root` names.
#[derive(Debug, Clone, Copy)]
pub struct ScatterReduce<F, M> {
    root: F,
    add: M,
    at: &'static Location<'static>,
}

impl<T: Element> Scattering<T> for NoScatter {
    fn refusal(self, _: bool) -> Option<Error> {
        None
    }
    fn emit(self, _: &mut KernelBuilder) -> CppType {
        "vxm::NoScatter".into()
    }
    fn scatter_round(self, _: &Vector<T>, state: Vector<T>) -> Result<Vector<T>> {
        Ok(state)
    }
}

impl<T: Element, F: UnaryOp<T, Out = u32>, M: Monoid<T>> Scatter<T> for ScatterReduce<F, M> {
    const SCATTERS: bool = true;
    #[inline(always)]
    fn target(self, own: T) -> u32 {
        self.root.call(own)
    }
    #[inline(always)]
    fn join(self, held: T, other: T) -> T {
        self.add.call(held, other)
    }
    type Counted<'p> = CountedScatter<'p, Self>;
    fn counted(self, probe: &Probe) -> CountedScatter<'_, Self> {
        CountedScatter::of(self, probe)
    }
}

impl<T: Element, F: UnaryOp<T, Out = u32>, M: Monoid<T>> Scattering<T> for ScatterReduce<F, M> {
    fn refusal(self, monotone: bool) -> Option<Error> {
        let why = match (monotone, M::EXACT, self.add.is_commutative()) {
            (false, ..) => "a loop that isn't said to be monotone: elements are joined in any order".to_owned(),
            (_, false, _) => "a monoid that isn't exact: elements are joined in any order".to_owned(),
            (.., false) => {
                "a monoid that isn't said to be commutative (`COMMUTATIVE`): elements are joined in any order"
                    .to_owned()
            }
            _ => {
                let x = not_idempotent(|x, y| self.add.call(x, y))?;
                let made = self.add.call(x, x);
                format!(
                    "a monoid that isn't idempotent, and makes {made:?} of {x:?} twice: elements are joined again and again"
                )
            }
        };
        Some(Error::invalid(format!("{}: scatter_reduce: {why}", self.at)))
    }
    fn emit(self, kernel: &mut KernelBuilder) -> CppType {
        let (root, join, op) = (kernel.functor(self.root), kernel.joins::<T, M>(self.add), kernel.functor(self.add));
        kernel.ty("vxm::ScatterReduce", [root, join, op])
    }
    fn scatter_round(self, before: &Vector<T>, state: Vector<T>) -> Result<Vector<T>> {
        // new = before + state; new[root(before)] += new
        let (n, new) = (before.len(), before.ewise_add(&state, self.add).eval()?);
        let target = before.map(self.root).eval()?.to_dense(u32::MAX);
        let links = (0..).zip(target).filter(|&(_, j)| (j as usize) < n).map(|(i, j)| (i, j, ()));
        let links = Matrix::from_triples(n, n, links)?;
        new.ewise_add(new.vxm(&links, semiring(self.add, FIRST)), self.add).eval()
    }
}

impl<T: Element, E: Expr<T = T>> Stepped<T, Changed, E> {
    /// Joins each visited element into another one, which it names: `x[root(x)] ⊕= x'` (scatter-reduce).
    ///
    /// Let `x` be an element before its visit. The visit makes `x' = x ⊕ body` of it, and stores `x'` both there and,
    /// by `⊕`, at the index `root(x)`. An index outside the vector does nothing. In GraphBLAS terms it is an assign
    /// with an accumulator, to indices that the state itself gives, in every round. FastSV hooks trees in this way: a
    /// tree's root learns a lower label as soon as any of its vertices does.
    ///
    /// **Changes the answer**: without it, no element is written but the visited one. Three properties of it:
    ///
    /// - `monoid` must be exact, commutative and idempotent, and the loop
    ///   [`monotone`](crate::operations::loops::changed::WhileChanged::monotone), because elements are joined in any
    ///   order, and as often as they are visited. Idempotence is tried on a few elements; the rest is your claim.
    /// - If a join changes the element at `root(x)`, the engine may also join `x'` into the index that this element named
    ///   until then. Otherwise the tree that it was part of would miss the change.
    /// - If `monoid` is [`MIN`](vxm_semiring::MIN), and the body is a [`pointer_jump`](Verbs::pointer_jump) of the
    ///   state or a union by `MIN` of it and a product, the engine may compress paths: it lowers the visited element to
    ///   values that the jump passes on its way.
    ///
    /// The loop must reach the same state whether or not the engine does what it may. Each round visits all elements,
    /// and the loop ends with a round that changes none.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // A path 3 - 0 - 4 - 1 - 2, and the least number that is connected to each vertex. Labels fall to the least
    /// // label next to them, and the vertex that a label names learns of the fall.
    /// let a = Matrix::undirected(5, &[(0, 3), (0, 4), (1, 4), (1, 2)])?;
    /// // f = f min (f min.first A), f[f] min= f, until none changes
    /// let settled = fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3, 4]))
    ///     .while_changed()
    ///     .monotone()
    ///     .step(|f| f.vxm(&a, MIN_FIRST))
    ///     .scatter_reduce(IDENTITY, MIN)
    ///     .eval()?;
    /// assert_eq!(settled.state, Vector::full(5, 0));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_reduce<F, M>(self, root: F, monoid: M) -> Stepped<T, Changed<ScatterReduce<F, M>>, E>
    where
        F: UnaryOp<T, Out = u32>,
        M: Monoid<T>,
    {
        let Self { state, condition, monotone, state_ref, body, first, at } = self;
        let condition = condition.scattered_by(ScatterReduce { root, add: monoid, at: Location::caller() });
        Stepped { state, condition, monotone, state_ref, body, first, at }
    }
}
