//! Vector-matrix products, planned when the terminal runs. A pulled product is folded inside the terminal's loop; a
//! pushed one is evaluated before it.

#[doc(hidden)]
pub mod cpu;
mod cuda;
pub mod edge_policy;
mod flip;
mod planning;
mod ranks;
mod relaxed;
mod sweep;

pub use flip::Flip;

use crate::backend::Place;
use crate::backend::cpu::fold::{Counted, Rows};
use crate::backend::cpu::{compiled, gather, scatter};
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::plan::{Direction, Format, Sizes};
use crate::backend::tuning::tuning;
use crate::backend::view::{Support, VectorView};
use crate::containers::Matrix;
use crate::error::{Error, Result};
use crate::formats::{Csr, Store, Tiles};
use crate::operations::entry_filter::filtered;
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::dependencies::Reads;
use crate::operations::loops::relaxed::RelaxedEdges;
use crate::operations::product::cpu::{ProductView, presence};
use crate::operations::product::edge_policy::{EdgePolicy, Judged, Prefiltered, Until, Whole};
use crate::operations::product::sweep::Swept;
use std::any::TypeId;
use std::panic::Location;
use std::sync::Arc;
use vxm_semiring::{BinaryOp, EdgeStatus, Element, Monoid, Semiring};

/// The product `w[j] = ⊕ over i of u[i] ⊗ B[i, j]`, where `B` is the matrix (`vxm`) or its transpose (`mxv`).
///
/// Its methods set the *edge policy*: which entries take part in a row's fold, and what a loop may save. A *row* is
/// what is folded for one element of the result: a column of the matrix in `vxm`, a row of it in `mxv`. An *edge* is an
/// entry of such a row. In the operators, `own` is the operand's element at the row's own index, and `other` is the
/// operand's element that the edge multiplies. So the matrix must be square.
///
/// | method | meaning | effect |
/// |---|---|---|
/// | [`until`](Self::until) | stop the fold early | cost; the result only where `op` holds |
/// | [`edge_status`](Self::edge_status) | which edges take part; in loops, which block and which are final | the answer; the cost |
///
/// A product over an [`Oriented`](crate::operations::oriented::Oriented) matrix filters edges by keys at both ends, too.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, E, A: Element, S, H = Whole> {
    operand: E,
    matrix: &'a Matrix<A>,
    ring: S,
    policy: H,
    transposed: bool,
    at: &'static Location<'static>,
}

impl<'a, E: Expr, A: Element, S, H> Product<'a, E, A, S, H> {
    pub(crate) fn vxm(
        operand: E,
        (matrix, policy): (&'a Matrix<A>, H),
        ring: S,
        at: &'static Location<'static>,
    ) -> Self {
        Self { operand, matrix, ring, policy, transposed: false, at }
    }
}

impl<'a, E: Expr, A: Element, S, H> Product<'a, E, A, S, H> {
    /// Lets a row's fold stop early, once `op(own, partial result)` holds. `own` is the operand's element at the row's
    /// own index. This is cuMIS's early exit (section 3.3) in terms of the algebra.
    ///
    /// **Changes the result only where `op` holds.** There it is unspecified which partial result comes out, so the
    /// reader must treat all of those alike. Where `op` doesn't hold of the whole fold, the result is the whole fold.
    /// It saves the rest of the row's entries. An inexact monoid may fold the whole row anyway.
    ///
    /// The matrix must be square; otherwise the terminal returns a shape error.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
    /// let key = Vector::from_dense(vec![2u32, 1, 3, 4]);
    /// // greatest = key > (key max.first A): one higher neighbour is enough to know that a vertex isn't
    /// let best = key.vxm(&a, MAX_FIRST).until(LT);
    /// let greatest = key.ewise_mult(best, GT).select(IDENTITY).pattern().eval()?;
    /// assert_eq!(greatest, Set::from_indices(4, [2, 3])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn until<F>(self, op: F) -> Product<'a, E, A, S, Until<F, H>>
    where
        S: Semiring<E::T, A>,
        F: BinaryOp<E::T, S::Out, Out = bool>,
    {
        self.with_policy(|policy| Until(op, policy))
    }

    /// Says of each edge what it is to its row: `op(own, other)` is an [`Edge`](vxm_semiring::Edge), or a `bool` that says whether the edge
    /// takes part. `own` is the operand's element at the row's own index; `other` is the element that the edge would multiply.
    ///
    /// | status | meaning | effect |
    /// |---|---|---|
    /// | `Irrelevant`, `false` | the edge takes no part in the fold | the answer |
    /// | `Relevant`, `true` | the edge takes part | |
    /// | `Blocking` | the edge takes part; until its status changes, visits of the row may be skipped | only the cost, in loops |
    /// | `Final` | the edge takes part; after this visit the own element holds all that it has to say | only the cost, in loops |
    ///
    /// A row without an own element takes no entries. In a loop, see [`step`](crate::operations::loops::active::WhileActive::step) about
    /// when edges are judged. A `monotone` loop remembers one or two blocking edges of a row. It looks only at those until they block no
    /// longer, instead of reading the whole row again and again. It may also drop final edges from the row. Elsewhere both are relevant
    /// edges. The idea is that of `speculative_for` (Blelloch, Fineman, Gibbons and Shun, "Internally deterministic parallel algorithms can
    /// be fast", section 3), said of edges instead of iterations.
    ///
    /// It is your claim that a blocking element changes without help from the row that waits for it. Two rows that block each other stall
    /// the loop, which is an error. It is also your claim that folding a final edge again makes no difference.
    ///
    /// The matrix must be square; otherwise the terminal returns a shape error.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let key = Vector::from_dense(vec![5u32, 9, 7]);
    /// // higher = key plus.pair A, over neighbours with a greater key
    /// let higher = key.vxm(&a, PLUS_PAIR).edge_status(LT).or_identity().eval()?;
    /// assert_eq!(higher, Vector::from_dense(vec![1u32, 0, 1]));
    ///
    /// // a vertex holds its key, above 100, until it holds its level
    /// #[op]
    /// fn status(own: u32, other: u32) -> Edge {
    ///     if other >= own {
    ///         Edge::Irrelevant
    ///     } else if other > 100u32 {
    ///         Edge::Blocking
    ///     } else {
    ///         Edge::Relevant
    ///     }
    /// }
    /// #[op]
    /// fn above(own: u32, highest: u32) -> u32 {
    ///     if highest > 100u32 { own } else { highest + 1u32 }
    /// }
    /// // the length of the longest path along which keys rise
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let levels = fixpoint(Vector::from_dense(vec![103u32, 101, 102, 104]))
    ///     .while_active(GT.bind(100))
    ///     .monotone()
    ///     .step(|v| above.map2(v, v.vxm(&a, MAX_FIRST).edge_status(status).or_identity()))
    ///     .eval()?;
    /// assert_eq!(levels.state, Vector::from_dense(vec![2u32, 1, 2, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn edge_status<F>(self, op: F) -> Product<'a, E, A, S, Judged<F, H>>
    where
        F: BinaryOp<E::T, E::T, Out: EdgeStatus>,
    {
        self.with_policy(|policy| Judged(op, policy))
    }
}

impl<'a, E, A: Element, S, H> Product<'a, E, A, S, H> {
    /// The product with the matrix's transpose: `w[i] = ⊕ over j of u[j] ⊗ A[i, j]` for `u.vxm(&a, ring).transposed()`. It is `mxv` with the
    /// operands of the multiplication in the order of `vxm`. No transpose is made.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 1, 5u32), (1, 2, 7)])?;
    /// let u = Vector::from_dense(vec![10u32, 20, 30]);
    /// // w = A minus u, by rows
    /// let ring = semiring(MAX, MINUS);
    /// assert_eq!(u.vxm(&a, ring).transposed().eval()?, Vector::from_dense(vec![15, 23]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// The same product under a new policy, which is made from the current one.
    pub(crate) fn with_policy<L>(self, policy: impl FnOnce(H) -> L) -> Product<'a, E, A, S, L> {
        let Self { operand, matrix, ring, policy: own, transposed, at } = self;
        Product { operand, matrix, ring, policy: policy(own), transposed, at }
    }

    fn operation(&self) -> &'static str {
        if self.transposed { "mxv" } else { "vxm" }
    }
}

impl<'a, E: Expr, A: Element, S> Product<'a, E, A, Flip<S>> {
    pub(crate) fn mxv(matrix: &'a Matrix<A>, operand: E, ring: S, at: &'static Location<'static>) -> Self {
        Self { operand, matrix, ring: Flip(ring), policy: Whole, transposed: true, at }
    }
}

impl<'a, E, A, S, H> Expr for Product<'a, E, A, S, H>
where
    E: Expr,
    A: Element,
    S: Semiring<E::T, A>,
    H: EdgePolicy<E::T, S::Out>,
{
    type T = S::Out;
    type View<'s>
        = ProductView<'s, E::View<'s>, A, S, S::Out, H>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        true
    }

    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(if self.transposed { self.matrix.nrows() } else { self.matrix.ncols() })
    }

    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        if let Some(ranks) = env.ranks() {
            return Ok(ProductView::Pushed(self.on_ranks(ranks, env)?));
        }
        let (n, length) = self.check(env)?;
        let operand = self.operand.view(&env.for_operand())?;
        // the matrix by the operand's index, made only if it is needed
        let by_operand = || if self.transposed { self.matrix.csr_transposed() } else { self.matrix.csr() };
        let support = operand.support();
        let sizes = Sizes {
            elements: support.count(n),
            listed: matches!(support, Support::List(_)),
            lengths: self.is_decided_by_one_product() && operand.is_full(),
            push_entries: Self::push_entries(support, n, by_operand),
            splits: size_of::<A>() == 0 && !env.is_in_loop(),
            by_bits: !env.is_in_loop() && !self.is_decided_by_one_product(),
            ..self.sizes(n, length, env.wanted(length), false)
        };
        let plan = self.plan(&sizes, None);
        if plan.direction == Direction::Push {
            env.snapshot();
            return Ok(ProductView::Pushed(scatter::scatter(&operand, by_operand(), self.ring)));
        }
        if let (true, Some(constant)) = (plan.strategy.counts(), S::Mul::CONSTANT) {
            env.snapshot();
            let counted = match plan.format {
                Format::Csr => Counted { tiles: None, rows: Some(self.rows()) },
                Format::Tiles => Counted { tiles: Some(self.tiles()), rows: None },
                Format::Hybrid => {
                    let (tiles, rest) = self.matrix.hybrid(!self.transposed);
                    Counted { tiles: Some(tiles), rows: Some(rest) }
                }
            };
            return Ok(ProductView::Count(presence(n, &operand), counted, self.ring, constant));
        }
        Ok(self.view_pulled(env, operand, plan.format, sizes.listed, (n, length)))
    }

    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.matrix.home().or_else(|| self.operand.place(env)).or_else(|| self.policy.place())
    }

    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut operand = Reads::default();
        self.operand.reads(env, &mut operand);
        reads.through(self.matrix, self.transposed, &operand);
        if (H::EXITS_EARLY || H::FILTERS) && operand.is_own() {
            reads.own();
        }
    }

    fn relaxed_edges<'s>(&'s self, env: &Env<'_>, join: (TypeId, usize)) -> Option<Box<dyn RelaxedEdges<S::Out> + 's>> {
        self.edges(env, join)
    }

    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        if let Some(ranks) = env.ranks() {
            return match ranks.peers {
                Some(peers) => self.emit_among_peers((ranks, peers), env, kernel),
                None => self.emit_on_ranks(ranks, env, kernel),
            };
        }
        self.emit_on_device(env, kernel)
    }
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// The view of a product that folds a row when a terminal reads it: over entries that were filtered before, over an evaluated
    /// operand, or over the operand itself. `listed` says that the operand is a sorted list; it has `n` places, and the result `length`.
    fn view_pulled<'s>(
        &'s self,
        env: &Env<'s>,
        operand: E::View<'s>,
        format: Format,
        listed: bool,
        (n, length): (usize, usize),
    ) -> ProductView<'s, E::View<'s>, A, S, S::Out, H> {
        let (csr, policy) = (self.rows(), self.policy.on_host());
        // a fold that may stop early reads little of a row, so filtering rows in advance wouldn't pay
        if let (true, Some(active)) = (self.filters() && !H::EXITS_EARLY, env.filterable_rows())
            && self.filters_before_loop((0..length).any(|i| csr.degree(i) > tuning().prefilter_row))
        {
            let own = |i| active(i).then(|| (policy.key(i), operand.at(i)));
            let kept = filtered(csr, own, |(key, own), j, _| {
                let passes_state = |x| !H::FILTERS_BY_STATE || own.is_some_and(|own| policy.passes_state(own, x));
                // An absent element may be present later. So its entry is kept where keys filter, and dropped where the state does.
                let j = j as usize;
                policy.passes_key(key, j) && operand.at(j).map_or(H::FILTERS_BY_KEY, passes_state)
            });
            return ProductView::Prefiltered(operand, Arc::new(kept), self.ring, Prefiltered(policy));
        }
        if let Some(sweep) = env.sweep().filter(|_| self.may_keep_parts(env))
            && let Some(kept) = (Swept { csr, operand: &operand, ring: self.ring, policy, sweep }).kept()
        {
            return ProductView::Prefiltered(operand, Arc::new(kept), self.ring, Prefiltered(policy));
        }
        if env.is_in_loop() && planning::spills(csr) {
            env.spills();
        }
        let work = csr.offsets();
        let add = self.ring.add();
        let reversible = S::Add::EXACT && add.is_commutative() && add.terminal().is_some() && !H::FILTERS;
        let rows = match format {
            Format::Tiles => Rows::Tiles(self.tiles()),
            _ if reversible && env.is_reversed() => Rows::Reversed(csr),
            _ => Rows::Csr(csr),
        };
        if !(H::EXITS_EARLY || H::FILTERS || matches!(rows, Rows::Tiles(_))) {
            compiled::prepare::<E::T, A, S>(self.ring, csr.columns().len(), matches!(rows, Rows::Reversed(_)));
        }
        if self.operand.is_heavy() || operand.is_boxed() || listed {
            env.snapshot();
            // the fold reads a place many times: it must neither fold a product's row anew nor search a list each time
            let evaluated = Store::Bitmap(gather::gather(n, &operand).into_bitmap());
            return ProductView::Evaluated(evaluated, rows, work, self.ring, policy);
        }
        ProductView::Lazy(operand, rows, work, self.ring, policy)
    }

    /// The matrix's rows by the result's index.
    fn rows(&self) -> &Csr<A> {
        if self.transposed { self.matrix.csr() } else { self.matrix.csr_transposed() }
    }

    /// The matrix's tiles by the result's index.
    fn tiles(&self) -> &Tiles<A> {
        if self.transposed { self.matrix.tiles() } else { self.matrix.tiles_transposed() }
    }

    /// Checks that shapes fit; returns the operand's length and the result's.
    fn check(&self, env: &Env<'_>) -> Result<(usize, usize)> {
        let (rows, columns) = (self.matrix.nrows(), self.matrix.ncols());
        let (inner, length) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let n = self.operand.len(env)?;
        if n != inner {
            let (vector, matrix) = (format!("vector of {n}"), format!("matrix of {rows} x {columns}"));
            let (left, right) = if self.transposed { (matrix, vector) } else { (vector, matrix) };
            return Err(Error::Shape { operation: self.operation(), left, right, at: self.at });
        }
        if (H::EXITS_EARLY || H::FILTERS) && inner != length {
            // own elements need rows and operand elements to be numbered alike
            let (left, right) = (format!("matrix of {rows} x {columns}"), "a square one".to_owned());
            let operation = match (H::FILTERS_BY_KEY, H::FILTERS) {
                (true, _) => "oriented",
                (_, true) => "edge_status",
                _ => "until",
            };
            return Err(Error::Shape { operation, left, right, at: self.at });
        }
        match self.policy.keys_misfit(length) {
            Some((held, _)) if held != length => {
                let (left, right) = (format!("matrix of {rows} x {columns}"), format!("vector of {held}"));
                return Err(Error::Shape { operation: "oriented", left, right, at: self.at });
            }
            Some((_, elements)) => {
                let at = self.at;
                let what = format!("{at}: oriented: the key has {elements} of {length} elements: expected all");
                return Err(Error::Invalid { what });
            }
            None => {}
        }
        Ok((n, length))
    }
}

/// Products, masked or not: expressions with a monoid, so that its identity can fill absent elements.
pub trait OrIdentity: Expr {
    /// The identity of the monoid that folds the product.
    fn identity(&self) -> Self::T;
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> OrIdentity for Product<'_, E, A, S, H> {
    fn identity(&self) -> S::Out {
        self.ring.add().identity()
    }
}

impl<E: OrIdentity, M: crate::operations::mask::Mask> OrIdentity for crate::operations::mask::Masked<E, M> {
    fn identity(&self) -> E::T {
        self.inner.identity()
    }
}
