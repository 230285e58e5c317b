//! Vector-matrix products: planned when the terminal runs, pulled inside its loop or pushed before it.

use super::expr::{Env, Expr, emit_light};
use super::folded::{ProductView, presence};
use super::limit::{Among, Awaiting, Chosen, Ends, Limit, Once, Until, Whole};
use super::matrix::filtered;
use super::reads::Reads;
use crate::backend::cpu::fold::Rows;
use crate::backend::cpu::{gather, scatter};
use crate::backend::cuda::bins::{self, Binned};
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::cuda::push::can_push;
use crate::backend::cuda::tiles::{counted, presence as presence_on};
use crate::backend::cuda::{self, DeviceCsr, DeviceVector, Gpu};
use crate::backend::plan::{self, Direction, Format, Plan, Sizes, Strategy};
use crate::backend::view::{At, Support};
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::{Csr, Store};
use std::panic::Location;
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, KernelText, Monoid, Semiring, Source};

/// A semiring whose multiplication takes its operands in the other order: `mxv` is `vxm` over the transpose, flipped.
#[derive(Debug, Clone, Copy)]
pub struct Flip<S>(S);

impl<O: Source> Source for Flip<O> {
    fn source(self, text: &mut KernelText) -> String {
        let inner = self.0.source(text);
        text.define_hashed("flip", |name| {
            format!("template <class X, class A> VXM_FN auto {name}(X x, A a) {{ return {inner}(a, x); }}")
        })
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        self.0.constants(bits)
    }
}

impl<X: Element, A: Element, O: BinaryOp<A, X>> BinaryOp<X, A> for Flip<O> {
    type Out = O::Out;
    const CONSTANT: Option<O::Out> = O::CONSTANT;
    #[inline(always)]
    fn call(self, x: X, a: A) -> O::Out {
        self.0.call(a, x)
    }
}

impl<X: Element, A: Element, S: Semiring<A, X>> Semiring<X, A> for Flip<S> {
    type Out = S::Out;
    type Add = S::Add;
    type Mul = Flip<S::Mul>;
    fn add(self) -> S::Add {
        self.0.add()
    }
    fn mul(self) -> Flip<S::Mul> {
        Flip(self.0.mul())
    }
}

/// `w[j] = ⊕ over i of u[i] ⊗ B[i, j]`, where B is the matrix (vxm) or its transpose (mxv).
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, E, A: Element, S, H = Whole> {
    operand: E,
    matrix: &'a Matrix<A>,
    ring: S,
    limit: H,
    transposed: bool,
    at: &'static Location<'static>,
}

impl<'a, E: Expr, A: Element, S> Product<'a, E, A, S> {
    pub(crate) fn vxm(operand: E, matrix: &'a Matrix<A>, ring: S, at: &'static Location<'static>) -> Self {
        Self { operand, matrix, ring, limit: Whole, transposed: false, at }
    }
}

impl<'a, E: Expr, A: Element, S, H> Product<'a, E, A, S, H> {
    /// Lets a row's fold stop short once `op(own element, partial result)` holds, where own is the operand's element at the row's
    /// own index: cuMIS' early exit (section 3.3), said in the algebra.
    ///
    /// Where `op` holds, which partial result comes out is not specified; what reads it must treat all such alike. Where it
    /// doesn't hold of the whole result, the result is whole. The matrix must be square.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
    /// let key = Vector::from_dense(vec![2u32, 1, 3, 4]);
    /// // greatest = key > (key max.first A): one higher neighbour is enough to know that it isn't
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
        self.limited(|limit| Until(op, limit))
    }

    /// Lets those entries of a row take part alone for which `op(own element, the other's)` holds: own is the operand's element at the
    /// row's own index, the other's is that which the entry would multiply. As if the matrix had been
    /// [selected by its ends](Matrix::select_ends), without making that matrix.
    ///
    /// Where a row has no own element none takes part. The matrix must be square.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let key = Vector::from_dense(vec![5u32, 9, 7]);
    /// // higher = key plus.pair A, among those of a greater key
    /// let higher = key.vxm(&a, PLUS_PAIR).among(LT).or_identity().eval()?;
    /// assert_eq!(higher, Vector::from_dense(vec![1u32, 0, 1]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn among<F>(self, op: F) -> Product<'a, E, A, S, Among<F, H>>
    where
        F: BinaryOp<E::T, E::T, Out = bool>,
    {
        self.limited(|limit| Among(op, limit))
    }

    /// Lets those entries of a row take part alone for which `op(u[own], u[other])` holds: own is the row's index, other that of the element
    /// which the entry would multiply. As if the matrix had been [selected by its ends](Matrix::select_ends), without making that matrix.
    ///
    /// What [`among`](Self::among) asks of the operand itself this asks of a vector that stays as it is, so that a loop's state needs not
    /// hold what is asked for, and a loop that waits on a device asks once. The matrix must be square, `u` as long as its side, and full.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let (key, weight) = (Vector::from_dense(vec![5u32, 9, 7]), Vector::from_dense(vec![10u32, 20, 30]));
    /// // above = weight plus.first A, of those of a greater key
    /// let above = weight.vxm(&a, PLUS_FIRST).ends(LT, &key).or_identity().eval()?;
    /// assert_eq!(above, Vector::from_dense(vec![20u32, 0, 20]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn ends<'k, F, K>(self, op: F, u: &'k Vector<K>) -> Product<'a, E, A, S, Ends<'k, F, K, H>>
    where
        F: BinaryOp<K, K, Out = bool>,
        K: Element,
    {
        self.limited(|limit| Ends::new(op, u, false, limit))
    }

    /// The same of a matrix that was selected so: none of its entries is left out, and none is asked. A loop learns by it what decides in
    /// which order its elements settle.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let (a, key) = (Matrix::undirected(3, &[(0, 1), (1, 2)])?, Vector::from_dense(vec![5u32, 9, 7]));
    /// let up = a.select_ends(LT, &key)?;
    /// let above = key.vxm(&a, PLUS_FIRST).ends(LT, &key).eval()?;
    /// assert_eq!(up.mxv(&key, PLUS_SECOND).known_ends(LT, &key).eval()?, above);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn known_ends<'k, F, K>(self, op: F, u: &'k Vector<K>) -> Product<'a, E, A, S, Ends<'k, F, K, H>>
    where
        F: BinaryOp<K, K, Out = bool>,
        K: Element,
    {
        self.limited(|limit| Ends::new(op, u, true, limit))
    }

    /// Says for whom an element of a loop's state waits: as long as `op(own element, the other's)` holds of an entry that takes part, the
    /// loop may leave the row's element as it is. Own is the operand's element at the row's own index, the other's is that which the entry
    /// would multiply.
    ///
    /// A loop then looks at one such entry alone, or at two, until `op` holds of them no longer, instead of at the whole row again and
    /// again. The other's element must change by itself in the end: of two that wait for each other none ever does. Outside loops it says
    /// nothing.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // a vertex is its key, above 100, until it is its level
    /// #[op]
    /// fn is_key(own: u32, other: u32) -> bool {
    ///     own > 100u32 && other > 100u32
    /// }
    /// #[op]
    /// fn is_lower(own: u32, other: u32) -> bool {
    ///     other < own
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
    ///     .step(|v| above.map2(v, v.vxm(&a, MAX_FIRST).among(is_lower).awaiting(is_key).or_identity()))
    ///     .eval()?;
    /// assert_eq!(levels.state, Vector::from_dense(vec![2u32, 1, 2, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn awaiting<F>(self, op: F) -> Product<'a, E, A, S, Awaiting<F, H>>
    where
        F: BinaryOp<E::T, E::T, Out = bool>,
    {
        self.limited(|limit| Awaiting(op, limit))
    }

    /// Says which entries a loop needs to fold once only: one for which `op(own element, the other's)` holds as it is folded may be left
    /// out of the row from then on, because what it tells is in the row's own element by then. Own is the operand's element at the row's
    /// own index, the other's is that which the entry would multiply. Outside loops it says nothing.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // the colours that a vertex may have, in bits, and the highest bit until it has one
    /// const OPEN: u32 = 1 << 31;
    /// #[op]
    /// fn open(v: u32) -> bool {
    ///     v & OPEN != 0u32
    /// }
    /// #[op]
    /// fn told(_own: u32, other: u32) -> bool {
    ///     !open(other)
    /// }
    /// #[op]
    /// fn seen(v: u32, _edge: ()) -> u32 {
    ///     if open(v) { OPEN } else { v }
    /// }
    /// #[op]
    /// fn narrow(own: u32, seen: u32) -> u32 {
    ///     let left: u32 = own & (!seen | OPEN);
    ///     if open(seen) { left } else { left & (0u32 - left) }
    /// }
    /// let (a, key) = (Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?, Vector::from_dense(vec![4u32, 1, 2, 3]));
    /// // each vertex takes the least colour that none of those with a greater key has
    /// let colors = fixpoint(Vector::full(4, u32::MAX))
    ///     .while_active(open)
    ///     .monotone()
    ///     .step(|v| narrow.map2(v, v.vxm(&a, semiring(BOR, seen)).ends(LT, &key).once(told).or_identity()))
    ///     .eval()?;
    /// assert_eq!(colors.state, Vector::from_dense(vec![1u32, 4, 2, 1]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn once<F>(self, op: F) -> Product<'a, E, A, S, Once<F, H>>
    where
        F: BinaryOp<E::T, E::T, Out = bool>,
    {
        self.limited(|limit| Once(op, limit))
    }
}

impl<'a, E, A: Element, S, H> Product<'a, E, A, S, H> {
    /// The same product under another limit, made of its own.
    fn limited<L>(self, limit: impl FnOnce(H) -> L) -> Product<'a, E, A, S, L> {
        let Self { operand, matrix, ring, limit: own, transposed, at } = self;
        Product { operand, matrix, ring, limit: limit(own), transposed, at }
    }

    fn operation(&self) -> &'static str {
        if self.transposed { "mxv" } else { "vxm" }
    }
}

impl<'a, E: Expr, A: Element, S> Product<'a, E, A, Flip<S>> {
    pub(crate) fn mxv(matrix: &'a Matrix<A>, operand: E, ring: S, at: &'static Location<'static>) -> Self {
        Self { operand, matrix, ring: Flip(ring), limit: Whole, transposed: true, at }
    }
}

impl<'a, E, A, S, H> Expr for Product<'a, E, A, S, H>
where
    E: Expr,
    A: Element,
    S: Semiring<E::T, A>,
    H: Limit<E::T, S::Out>,
{
    type T = S::Out;
    type View<'s>
        = ProductView<'s, E::View<'s>, A, S, S::Out, H>
    where
        Self: 's;
    const HEAVY: bool = true;

    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(if self.transposed { self.matrix.nrows() } else { self.matrix.ncols() })
    }

    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let (n, length) = self.check(env)?;
        let operand = self.operand.view(&env.for_operand())?;
        // the matrix by the operand's index (push), and by the result's (pull); made only when asked for
        let by_operand = || if self.transposed { self.matrix.csr_transposed() } else { self.matrix.csr() };
        let by_result = || if self.transposed { self.matrix.csr() } else { self.matrix.csr_transposed() };
        let support = operand.support();
        let sizes = Sizes {
            elements: support.count(n),
            listed: matches!(support, Support::List(_)),
            lengths: Self::decides() && operand.is_full(),
            push_entries: Self::push_entries(support, n, by_operand),
            ..self.sizes(n, length, env.wanted(length), false)
        };
        let plan = self.plan(&sizes);
        if plan.direction == Direction::Push {
            env.snapshot();
            return Ok(ProductView::Pushed(scatter::scatter(&operand, by_operand(), self.ring)));
        }
        let tiles = || if self.transposed { self.matrix.tiles() } else { self.matrix.tiles_transposed() };
        if let (Strategy::CountTiles | Strategy::CountTilesTensor, Some(constant)) = (plan.strategy, S::Mul::CONSTANT) {
            env.snapshot();
            return Ok(ProductView::Count(presence(n, &operand), tiles(), self.ring, constant));
        }
        let (csr, limit) = (by_result(), self.limit.on_host());
        // one that may stop short reads little of a row
        if let (true, Some(active)) = (self.selects() && !H::STOPS, env.chooses())
            && self.chooses((0..length).any(|i| csr.degree(i) > plan::CHOOSE))
        {
            let own = |i| active(i).then(|| (limit.end(i), operand.at(i)));
            let chosen = filtered(csr, own, |(end, own), j, _| {
                // where the operand holds nothing now it may later, unless it is that which says what takes part
                let takes = |x| !H::ASKS || own.is_some_and(|own| limit.takes(own, x));
                limit.joins(end, j as usize) && operand.at(j as usize).map_or(H::CHOOSES, takes)
            });
            return Ok(ProductView::Chosen(operand, Arc::new(chosen), self.ring, Chosen(limit)));
        }
        let work = csr.offsets();
        let ends = S::Add::EXACT && S::Add::COMMUTATIVE && S::Add::TERMINAL.is_some() && !H::SELECTS;
        let rows = match plan.format {
            Format::Tiles => Rows::Tiles(tiles()),
            _ if ends && env.is_reversed() => Rows::Reversed(csr),
            _ => Rows::Csr(csr),
        };
        if E::HEAVY || sizes.listed {
            env.snapshot();
            // read many times a place: a product must not run again each time, nor a list be searched
            let held = Store::Bitmap(gather::gather(n, &operand).into_bitmap());
            return Ok(ProductView::Held(held, rows, work, self.ring, limit));
        }
        Ok(ProductView::Lazy(operand, rows, work, self.ring, limit))
    }

    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.matrix.gpu().cloned().or_else(|| self.operand.place(env)).or_else(|| self.limit.place())
    }

    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut operand = Reads::default();
        self.operand.reads(env, &mut operand);
        reads.through(self.matrix, self.transposed, &operand);
        if (H::STOPS || H::SELECTS) && operand.is_own() {
            reads.own();
        }
    }

    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let (n, length) = self.check(env)?;
        let gpu = kernel.gpu().clone();
        let tensor = gpu.arch() >= (8, 0);
        let mut sizes = self.sizes(n, length, env.wanted(length), tensor);
        sizes.lengths = Self::decides() && self.operand.known_count(env) == Some(n);
        // counting reads the operand's bits, which a loop doesn't keep, and pushing scatters before it
        sizes.counting &= !kernel.is_resident();
        sizes.pulls |= kernel.is_resident() || !can_push::<S::Out, S::Add>();
        let sizes = if sizes.pulls { sizes } else { self.pushed_sizes(env, sizes) };
        let plan = self.plan(&sizes);
        if plan.direction == Direction::Push {
            let rows = if self.transposed { self.matrix.transposed_on(&gpu)? } else { self.matrix.on(&gpu)? };
            let mut first = Composer::new(&gpu);
            let operand = self.operand.emit(&env.for_operand(), &mut first)?;
            return cuda::push::push::<E::T, A, S>(kernel, (first, operand), n, &rows, length, self.ring);
        }
        let tiles = || {
            if self.transposed { self.matrix.tiles_on(&gpu) } else { self.matrix.tiles_transposed_on(&gpu) }
        };
        let out = kernel.element::<S::Out>();
        if let (Strategy::CountTiles | Strategy::CountTilesTensor, Some(constant)) = (plan.strategy, S::Mul::CONSTANT) {
            let mut first = Composer::new(&gpu);
            let node = self.operand.emit(&env.for_operand(), &mut first)?;
            let present = presence_on(kernel, first, &node, n)?;
            let (tiles, add) = (tiles()?, self.ring.add());
            if plan.strategy == Strategy::CountTilesTensor {
                let counts = Arc::new(tiles.count_present(present)?);
                return Ok(counted(kernel, &counts, 0, constant, add));
            }
            let (at, leads) = (kernel.position(), !kernel.is_led());
            kernel.push(present);
            kernel.tiles(tiles);
            kernel.push(constant.bits());
            let add = kernel.monoid::<S::Out, S::Add>(add);
            let ty = kernel.ty("vxm::Count", [out, add, leads.into()]);
            if leads {
                kernel.tally(ty, at);
            }
            return Ok(Node::new(ty, false));
        }
        let at = kernel.position();
        // all rows are wanted, and no row's own element
        let whole = env.wanted(length) == length && !(H::STOPS || self.selects());
        let alone = !(kernel.is_masked() || kernel.is_resident() || kernel.is_led());
        let often = plan.format == Format::Csr && whole && alone && self.rows_on(&gpu)?.is_used_often();
        let bins = if often && kernel.shares_rows() { self.bins(env, &gpu)? } else { None };
        let crowded = if often && bins.is_none() { self.crowded(env, &gpu, n)? } else { None };
        if often {
            let (entries, why) = match (&bins, &crowded) {
                (Some(_), _) => ("in bins", "they lie all over the matrix: what they meet is read in runs"),
                (_, Some(_)) => {
                    ("by renumbered columns", "most stand in few columns, whose elements fit a cache together")
                }
                _ => ("as they lie", "no arrangement pays, or there is no memory for one"),
            };
            tracing::debug!(operation = self.operation(), entries, why, at = %self.at, "plan");
        }
        let operand = match &crowded {
            Some(held) => kernel.stored(held),
            None => emit_light(&self.operand, &env.for_operand(), kernel)?,
        };
        let (limit, ty) = self.limit.emit(kernel, operand.ty)?;
        let operand = Node::new(ty, operand.full);
        let add = kernel.monoid::<S::Out, S::Add>(self.ring.add());
        let mul = kernel.functor(self.ring.mul());
        let a = kernel.element::<A>();
        if plan.format == Format::Tiles {
            kernel.product();
            let tiles = tiles()?;
            let values = tiles.values_address();
            kernel.tiles(tiles);
            kernel.push(values);
            let ty = kernel.ty("vxm::PullTiles", [operand.ty, a, out, mul, add, limit]);
            return Ok(Node::new(ty, false));
        }
        // a row's entries are gone through in any order
        let watched = H::AWAITS && S::Add::EXACT && S::Add::COMMUTATIVE && !kernel.is_masking();
        kernel.product();
        let leads = !kernel.is_led();
        let rows = self.rows_on(&gpu)?;
        let (entries, longest) = (rows.nnz(), rows.longest());
        if watched {
            kernel.locate(&rows)?;
        }
        let offset = kernel.rows(rows, crowded.is_some());
        let arguments = [operand.ty, offset, a, out, mul, add, limit, leads.into()];
        let loops = kernel.is_resident() && !kernel.is_beside() && env.chooses().is_some();
        let narrows = loops && watched && self.selects() && !H::STOPS && size_of::<A>() == 0;
        let narrows = narrows && self.narrows(kernel, longest, (entries, length))?;
        let ty = kernel.ty(if narrows { "vxm::Narrowing" } else { "vxm::Pull" }, arguments);
        if watched {
            kernel.watch(ty, at, self.limit.chooses() && !H::STOPS);
        }
        // a thread folds in order with few registers, and may stop early: staging pays for the fixed tree only; and what is staged
        // doesn't know whose row it is
        if leads && !S::Add::EXACT && !H::SELECTS {
            kernel.lead(ty, at);
            if let Some(binned) = bins {
                kernel.bin(binned);
            }
        }
        Ok(Node::new(ty, false))
    }
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: Limit<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// That shapes fit; the operand's length and the result's.
    fn check(&self, env: &Env<'_>) -> Result<(usize, usize)> {
        let (rows, columns) = (self.matrix.nrows(), self.matrix.ncols());
        let (inner, length) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let n = self.operand.len(env)?;
        if n != inner {
            let (vector, matrix) = (format!("vector of {n}"), format!("matrix of {rows} x {columns}"));
            let (left, right) = if self.transposed { (matrix, vector) } else { (vector, matrix) };
            return Err(Error::Shape { operation: self.operation(), left, right, at: self.at });
        }
        if (H::STOPS || H::SELECTS || H::AWAITS) && inner != length {
            // a row has an own element only where rows and elements are numbered alike
            let (left, right) = (format!("matrix of {rows} x {columns}"), "a square one".to_owned());
            let operation = match (H::CHOOSES, H::SELECTS, H::STOPS) {
                (true, ..) => "ends",
                (_, true, _) => "among",
                (.., true) => "until",
                _ => "awaiting",
            };
            return Err(Error::Shape { operation, left, right, at: self.at });
        }
        match self.limit.misfit(length) {
            Some((held, _)) if held != length => {
                let (left, right) = (format!("matrix of {rows} x {columns}"), format!("vector of {held}"));
                return Err(Error::Shape { operation: "ends", left, right, at: self.at });
            }
            Some((_, elements)) => {
                let at = self.at;
                let what =
                    format!("{at}: ends: a vector of {length} places with {elements} elements: expected one at each");
                return Err(Error::Invalid { what });
            }
            None => {}
        }
        Ok((n, length))
    }

    /// The matrix by the result's index, on a device.
    fn rows_on(&self, gpu: &Gpu) -> Result<Arc<DeviceCsr<A>>> {
        if self.transposed { self.matrix.on(gpu) } else { self.matrix.transposed_on(gpu) }
    }

    /// The matrix' entries in bins, if that pays, and the kernel that multiplies them with the operand, and its C++ type: only where the fixed
    /// tree is asked for, since others fold without being staged.
    fn bins(&self, env: &Env<'_>, gpu: &Gpu) -> Result<Option<Binned>> {
        let (rows, widths) = (self.rows_on(gpu)?, [size_of::<E::T>(), size_of::<S::Out>()]);
        let worth = !S::Add::EXACT && !E::HEAVY && !widths.contains(&0);
        if !worth || !rows.may_bin(widths[0].max(widths[1])) {
            return Ok(None);
        }
        let mut meet = bins::composer(gpu);
        let node = self.operand.emit(&env.for_operand(), &mut meet)?;
        let bins = if node.full { rows.bins()? } else { None };
        let Some(bins) = bins.cloned() else { return Ok(None) };
        let (a, out, mul) = (meet.element::<A>(), meet.element::<S::Out>(), meet.functor(self.ring.mul()));
        let ty = meet.ty("vxm::Meet", [node.ty, a, out, mul]);
        Ok(Some(Binned { bins, meet: (meet, ty), widths }))
    }

    /// The operand in the order in which the matrix has its columns renumbered, if that pays.
    fn crowded(&self, env: &Env<'_>, gpu: &Gpu, n: usize) -> Result<Option<DeviceVector<E::T>>> {
        let rows = self.rows_on(gpu)?;
        if rows.crowded()?.is_none() {
            return Ok(None);
        }
        let mut first = Composer::new(gpu);
        let node = emit_light(&self.operand, &env.for_operand(), &mut first)?;
        match first.crowd(&node, &rows) {
            Some(node) => Ok(Some(cuda::run::eval(first, &node, n)?)),
            None => Ok(None),
        }
    }

    /// Whether entries are ever left out.
    fn selects(&self) -> bool {
        H::ASKS || self.limit.chooses()
    }

    /// By what entries are left out.
    fn by(&self) -> &'static str {
        if self.limit.chooses() { "ends" } else { "among" }
    }

    /// Whether the entries that take part are chosen before the loop, and says so.
    fn chooses(&self, long: bool) -> bool {
        let why =
            if long { "long rows would be read again and again" } else { "rows are short: nothing is made of them" };
        tracing::debug!(operation = self.by(), chosen = if long { "before the loop" } else { "at every visit" }, why, at = %self.at, "plan");
        long
    }

    /// Makes room for rows that become shorter as a loop visits them, if there is memory for that and it pays; says so.
    fn narrows(&self, kernel: &mut Composer, longest: usize, (entries, rows): (usize, usize)) -> Result<bool> {
        let long = longest > plan::NARROW;
        let room = match long.then(|| kernel.room(entries, rows)) {
            // loops are slower without, which is no reason to fail
            Some(Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. }))) | None => false,
            Some(made) => made.map(|()| true)?,
        };
        let why = match (long, room) {
            (true, true) => "an entry that takes part no longer need not be read again",
            (true, false) => "no memory for a copy of the columns",
            _ => "rows are short: a copy of their columns would not pay",
        };
        tracing::debug!(operation = self.by(), narrows = room, why, at = %self.at, "plan");
        Ok(room)
    }

    /// What is imposed on this product.
    fn forced(&self) -> plan::Forced {
        let forced = plan::forced();
        plan::Forced { format: forced.format.or(self.matrix.format()), ..forced }
    }

    /// Plans, and says so.
    fn plan(&self, sizes: &Sizes) -> Plan {
        let plan = plan::product(sizes, self.forced());
        tracing::debug!(
            operation = self.operation(),
            direction = ?plan.direction,
            format = ?plan.format,
            strategy = ?plan.strategy,
            why = plan.why,
            entries = sizes.entries,
            wanted = sizes.wanted,
            elements = sizes.elements,
            at = %self.at,
            "plan"
        );
        plan
    }

    /// Entries in the rows of the operand's elements, where counting them is cheap.
    fn push_entries<'s>(support: Support<'_>, n: usize, by_operand: impl Fn() -> &'s Csr<A>) -> Option<u64> {
        let degrees = |list: &mut dyn Iterator<Item = usize>| {
            let rows = by_operand();
            list.map(|i| rows.degree(i) as u64).sum()
        };
        match support {
            _ if !S::Add::EXACT => None,
            Support::List(list) => Some(degrees(&mut list.iter().map(|&i| i as usize))),
            Support::Bits(bits) if support.count(n) < n / 8 => {
                Some(degrees(&mut crate::formats::bitmap::ones(bits, 0)))
            }
            _ => None,
        }
    }

    /// The same on a device, which knows how many elements the operand has at most, if anything, and takes their rows to be of the
    /// mean length.
    fn pushed_sizes(&self, env: &Env<'_>, sizes: Sizes) -> Sizes {
        match self.operand.known_count(env) {
            Some(count) if can_push::<S::Out, S::Add>() && count < sizes.elements => {
                let mean = self.matrix.nnz().div_ceil(sizes.elements as u64);
                Sizes { elements: count, push_entries: Some(count as u64 * mean + plan::DEVICE_PUSH), ..sizes }
            }
            _ => sizes,
        }
    }

    /// Whether one product is enough to know an element.
    fn decides() -> bool {
        S::Mul::CONSTANT.is_some_and(S::Add::is_terminal)
    }

    /// The sizes of a product with an operand that is full, for all the plan knows.
    fn sizes(&self, n: usize, length: usize, wanted: usize, tensor: bool) -> Sizes {
        let forced = self.forced();
        let tileable = self.matrix.can_tile();
        let counts = matches!(forced.strategy, Some(Strategy::CountTiles | Strategy::CountTilesTensor));
        let fill = match forced.format {
            // they will be made
            Some(Format::Tiles) if tileable => Some(f64::INFINITY),
            None if counts && tileable => Some(f64::INFINITY),
            _ => self.matrix.known_fill(!self.transposed),
        };
        Sizes {
            entries: self.matrix.nnz(),
            length,
            wanted,
            elements: n,
            listed: false,
            push_entries: None,
            exact: S::Add::EXACT,
            terminal: H::STOPS || S::Add::TERMINAL.is_some() || S::Add::is_terminal(S::Add::IDENTITY),
            counting: S::Mul::CONSTANT.is_some() && S::Add::EXACT && !(H::STOPS || self.selects()),
            pulls: self.selects(),
            lengths: false,
            fill: fill.filter(|_| tileable),
            tensor,
        }
    }
}

/// A product's elements, and the monoid's identity wherever there is none.
pub trait OrIdentity: Expr {
    /// The identity of the monoid that folds the product.
    fn identity(&self) -> Self::T;
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: Limit<E::T, S::Out>> OrIdentity for Product<'_, E, A, S, H> {
    fn identity(&self) -> S::Out {
        S::Add::IDENTITY
    }
}

impl<E: OrIdentity, M: super::mask::Mask> OrIdentity for super::mask::Masked<E, M> {
    fn identity(&self) -> E::T {
        self.inner.identity()
    }
}
