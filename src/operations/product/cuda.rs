//! A product on a GPU: pushed before the kernel, counted over tiles, or emitted as a C++ type that pulls its rows.

use crate::backend::cuda::codegen::builder::{Binned, CppType, KernelBuilder, Node};
use crate::backend::cuda::layout::propagation_blocking;
use crate::backend::cuda::push::can_push;
use crate::backend::cuda::tiling::{counts_view, presence as presence_on};
use crate::backend::cuda::{self, DeviceCsr, DeviceTiles, DeviceVector, Gpu};
use crate::backend::plan::{Direction, Format, Strategy};
use crate::backend::tuning::{STAGED_BYTES, multiplies_bits};
use crate::error::Result;
use crate::kernels::sources;
use crate::operations::expr::{Env, Expr, emit_operand};
use crate::operations::loops::dependencies::Reads;
use crate::operations::product::Product;
use crate::operations::product::edge_policy::EdgePolicy;
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// How the entries of a pulled matrix are arranged, if not as they are stored.
struct Arrangement<X> {
    /// The entries in bins, and the kernel that multiplies them.
    bins: Option<Binned>,
    /// The operand in the order of the matrix's renumbered columns.
    hot_columns: Option<DeviceVector<X>>,
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// Emits the product as a node of `kernel`.
    pub(super) fn emit_on_device(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let (n, length) = self.check(env)?;
        let tensor = kernel.gpu().arch() >= (8, 0);
        let mut sizes = self.sizes(n, length, env.wanted(length), tensor);
        sizes.lengths = self.is_decided_by_one_product() && self.operand.known_count(env) == Some(n);
        sizes.bit_tensor = multiplies_bits(kernel.gpu().arch());
        // A loop's kernel counts only if it keeps the operand's bits. It can't push: a push runs before the kernel.
        sizes.counting &= !kernel.is_resident() || self.may_keep_presence(env, kernel);
        sizes.splits &= !kernel.is_resident() && !env.is_in_loop();
        sizes.pulls |= kernel.is_resident() || !can_push(self.ring.add());
        let sizes = if sizes.pulls { sizes } else { self.pushed_sizes(env, sizes) };
        let plan = self.plan(&sizes, Some(&kernel.gpu().clone()));
        match (plan.direction, plan.strategy, S::Mul::CONSTANT) {
            (Direction::Push, ..) => self.emit_pushed(env, kernel, (n, length)),
            (_, strategy, Some(constant)) if strategy.counts() && kernel.is_resident() => {
                let bits = sizes.bit_tensor && self.forced().strategy != Some(Strategy::CountTiles);
                match self.emit_counted_in_loop(env, kernel, n, constant, bits)? {
                    Some(node) => Ok(node),
                    None => self.emit_pulled(env, kernel, Format::Csr, (n, length), None),
                }
            }
            (_, _, Some(constant)) if plan.format == Format::Hybrid => {
                self.emit_hybrid(env, kernel, (n, length), constant)
            }
            (_, strategy, Some(constant)) if strategy.counts() => self.emit_counted(env, kernel, n, constant, strategy),
            _ => self.emit_pulled(env, kernel, plan.format, (n, length), None),
        }
    }

    /// Whether a loop can keep the operand's presence bitmap: an element depends on the state's element of the same index alone.
    fn may_keep_presence(&self, env: &Env<'_>, kernel: &KernelBuilder) -> bool {
        let mut reads = Reads::default();
        self.operand.reads(env, &mut reads);
        let own_only = reads.is_own() && !reads.is_everything() && reads.matrices().is_empty();
        kernel.may_keep_presence() && own_only && !self.operand.is_heavy()
    }

    /// Emits a loop's product that counts over tiles. The loop keeps the operand's presence bitmap. Returns nothing if tile-rows differ
    /// much in length: a few warps would count for as long as all others together.
    fn emit_counted_in_loop(
        &self,
        env: &Env<'_>,
        kernel: &mut KernelBuilder,
        n: usize,
        constant: S::Out,
        by_tensor_cores: bool,
    ) -> Result<Option<Node>> {
        let tiles = self.tiles_on(&kernel.gpu().clone())?;
        let why = match (tiles.are_uniform(), by_tensor_cores) {
            (false, _) => "rows are pulled: tile-rows differ much in length",
            (true, true) => "tensor cores multiply bits, 16 tiles at once",
            (true, false) => "set bits are counted: no 1-bit matrix units here",
        };
        tracing::debug!(operation = self.operation(), counted = "in the loop", why, at = %self.at, "plan");
        if !tiles.are_uniform() {
            return Ok(None);
        }
        let out = kernel.element::<S::Out>();
        let at = kernel.position();
        let operand = self.operand.emit(&env.for_operand(), kernel)?;
        let present = kernel.keep_presence(&operand, at, n)?;
        let at = kernel.position();
        kernel.push(present);
        kernel.tiles(tiles);
        kernel.push_element(constant);
        kernel.count_product();
        let add = kernel.monoid::<S::Out, S::Add>(self.ring.add());
        let template = if by_tensor_cores { "vxm::BitTensorProduct" } else { "vxm::CountProduct" };
        let ty = kernel.ty(template, [out, add, by_tensor_cores.into()]);
        if by_tensor_cores {
            kernel.set_counted(ty, at);
        }
        Ok(Some(Node::new(ty, false)))
    }

    /// Pushes an operand of `n` places, and emits the result of `length` places as a stored vector.
    fn emit_pushed(&self, env: &Env<'_>, kernel: &mut KernelBuilder, (n, length): (usize, usize)) -> Result<Node> {
        let gpu = kernel.gpu().clone();
        let rows = if self.transposed { self.matrix.transposed_on(&gpu)? } else { self.matrix.on(&gpu)? };
        let mut first = KernelBuilder::new(&gpu);
        let operand = self.operand.emit(&env.for_operand(), &mut first)?;
        cuda::push::push::<E::T, A, S>(kernel, (first, operand), n, &rows, length, self.ring)
    }

    /// Emits a product that counts over tiles, since all products are `constant`. Tensor cores that multiply `f16` count before the kernel;
    /// others, and other threads, count inside it.
    fn emit_counted(
        &self,
        env: &Env<'_>,
        kernel: &mut KernelBuilder,
        n: usize,
        constant: S::Out,
        strategy: Strategy,
    ) -> Result<Node> {
        let gpu = kernel.gpu().clone();
        let out = kernel.element::<S::Out>();
        let mut first = KernelBuilder::new(&gpu);
        let node = self.operand.emit(&env.for_operand(), &mut first)?;
        let present = presence_on(kernel, first, &node, n)?;
        let (tiles, add) = (self.tiles_on(&gpu)?, self.ring.add());
        if strategy == Strategy::CountTilesTensor {
            let counts = Arc::new(tiles.count_present(present)?);
            return Ok(counts_view(kernel, &counts, 0, constant, add));
        }
        let (at, is_primary) = (kernel.position(), !kernel.has_primary());
        kernel.push(present);
        kernel.tiles(tiles);
        kernel.push_element(constant);
        let add = kernel.monoid::<S::Out, S::Add>(add);
        let bits = strategy == Strategy::CountTilesBits;
        if bits {
            kernel.include(sources::BIT_TENSOR);
        }
        let template = if bits { "vxm::BitTensorProduct" } else { "vxm::CountProduct" };
        let ty = kernel.ty(template, [out, add, is_primary.into()]);
        if is_primary {
            kernel.set_primary_over_tiles(ty, at, bits);
        }
        Ok(Node::new(ty, false))
    }

    /// Emits a product that counts over full tiles and over rows of the rest, in one kernel. If either are skewed, tiles are counted before
    /// the kernel, and the rows of the rest are pulled as others are.
    fn emit_hybrid(
        &self,
        env: &Env<'_>,
        kernel: &mut KernelBuilder,
        (n, length): (usize, usize),
        constant: S::Out,
    ) -> Result<Node> {
        let gpu = kernel.gpu().clone();
        let held = self.matrix.hybrid_on(&gpu, !self.transposed)?;
        let mut first = KernelBuilder::new(&gpu);
        let operand = self.operand.emit(&env.for_operand(), &mut first)?;
        let present = presence_on(kernel, first, &operand, n)?;
        if !held.is_even() {
            let counts = Arc::new(held.tiles.count_bits(present)?);
            let counted = counts_view(kernel, &counts, 0, constant, self.ring.add());
            // the rows of the rest are by the result's index
            let rest = Product { matrix: &held.rest, transposed: true, ..*self };
            let folded = rest.emit_pulled(env, kernel, Format::Csr, (n, length), None)?;
            let add = kernel.functor(self.ring.add());
            return Ok(Node::new(kernel.ty("vxm::EWiseAdd", [counted.ty, folded.ty, add]), false));
        }
        let out = kernel.element::<S::Out>();
        let (at, is_primary) = (kernel.position(), !kernel.has_primary());
        kernel.push(present);
        kernel.tiles(held.tiles.clone());
        kernel.push_element(constant);
        let offset = kernel.rest(held.rest.on(&gpu)?);
        let add = kernel.monoid::<S::Out, S::Add>(self.ring.add());
        let ty = kernel.ty("vxm::CountHybrid", [out, add, is_primary.into(), offset]);
        if is_primary {
            kernel.set_primary_over_tiles(ty, at, false);
        }
        Ok(Node::new(ty, false))
    }

    /// Emits a product that folds its rows inside the kernel, over tiles or CSR rows. They are those of `share` if ranks share the matrix.
    pub(super) fn emit_pulled(
        &self,
        env: &Env<'_>,
        kernel: &mut KernelBuilder,
        format: Format,
        (n, length): (usize, usize),
        share: Option<Arc<DeviceCsr<A>>>,
    ) -> Result<Node> {
        kernel.element::<S::Out>();
        let at = kernel.position();
        let Arrangement { bins, hot_columns } = self.arrangement(env, kernel, format, (n, length))?;
        let operand = match &hot_columns {
            Some(renumbered) => kernel.stored(renumbered),
            None => emit_operand(&self.operand, &env.for_operand(), kernel)?,
        };
        let slots = env.ranks().and_then(|on| on.slots);
        let (policy, operand) = self.policy.emit(kernel, operand.ty, slots)?;
        kernel.count_product();
        if format == Format::Tiles {
            let tiles = self.tiles_on(&kernel.gpu().clone())?;
            let values = tiles.values_address();
            kernel.tiles(tiles);
            kernel.push(values);
            let (ring, a) = (self.ring_type(kernel), kernel.element::<A>());
            let ty = kernel.ty("vxm::PullTiles", [operand, a, ring, policy]);
            return Ok(Node::new(ty, false));
        }
        // a loop may look at the entries of a row in any order, so the monoid must allow that
        let tracks_blockers = H::BLOCKS && S::Add::EXACT && self.ring.add().is_commutative() && !kernel.in_mask();
        let is_primary = size_of::<S::Out>() <= STAGED_BYTES && !kernel.has_primary();
        let rows = share.map_or_else(|| self.rows_on(&kernel.gpu().clone()), Ok)?;
        let (entries, longest, length) = (rows.nnz(), rows.longest(), rows.nrows());
        if tracks_blockers {
            kernel.note_locality(&rows)?;
        }
        let offset = kernel.rows(rows, hot_columns.is_some());
        let in_loop = kernel.is_resident() && !kernel.in_auxiliary() && env.filterable_rows().is_some();
        let compactable = in_loop && tracks_blockers && self.filters() && !H::EXITS_EARLY && size_of::<A>() == 0;
        let compacts = compactable && self.compacts_rows(kernel, longest, (entries, length))?;
        let template = if compacts { "vxm::CompactingPull" } else { "vxm::Pull" };
        let ty = self.pull_type(kernel, template, (operand, policy), offset, is_primary);
        if tracks_blockers {
            kernel.track_blockers(ty, at, self.policy.filters_by_key() && !H::EXITS_EARLY);
        }
        // Staging pays for the fixed tree only: a thread that folds in order needs few registers, and may stop early. And staged
        // entries don't know their row, so they can't be filtered.
        if is_primary && !S::Add::EXACT && !H::FILTERS {
            kernel.set_primary(ty, at);
            if let Some(binned) = bins {
                kernel.set_binned(binned);
            }
        }
        Ok(Node::new(ty, false))
    }

    /// The C++ type of the semiring.
    fn ring_type(&self, kernel: &mut KernelBuilder) -> CppType {
        let out = kernel.element::<S::Out>();
        let add = kernel.monoid::<S::Out, S::Add>(self.ring.add());
        let mul = kernel.functor(self.ring.mul());
        kernel.ty("vxm::Semiring", [out, mul, add])
    }

    /// The C++ type of rows that are folded inside the kernel, given the types of the operand, of the edge policy, and of the row offsets.
    pub(super) fn pull_type(
        &self,
        kernel: &mut KernelBuilder,
        template: &'static str,
        (operand, policy): (CppType, CppType),
        offset: CppType,
        is_primary: bool,
    ) -> CppType {
        let a = kernel.element::<A>();
        let (ring, matrix) = (self.ring_type(kernel), kernel.ty("vxm::MatrixTypes", [offset, a]));
        kernel.ty(template, [operand, matrix, ring, policy, is_primary.into()])
    }

    /// The arrangement of a pulled matrix's entries, if one pays: bins, or else renumbered columns, for which it returns the operand
    /// in their order. Logs the choice if the matrix is used often.
    fn arrangement(
        &self,
        env: &Env<'_>,
        kernel: &KernelBuilder,
        format: Format,
        (n, length): (usize, usize),
    ) -> Result<Arrangement<E::T>> {
        let gpu = kernel.gpu();
        // all rows are read, and no row reads its own element
        let whole = env.wanted(length) == length && !(H::EXITS_EARLY || self.filters());
        let alone = !(kernel.is_masked() || kernel.is_resident() || kernel.has_primary());
        let often = format == Format::Csr && whole && alone && self.rows_on(gpu)?.is_used_often();
        if !often {
            return Ok(Arrangement { bins: None, hot_columns: None });
        }
        let bins = if kernel.launches_row_classes() { self.bins(env, gpu)? } else { None };
        let hot_columns = if bins.is_none() { self.hot_columns(env, gpu, n)? } else { None };
        let (entries, why) = match (&bins, &hot_columns) {
            (Some(_), _) => ("in bins", "columns are scattered: bins read the vector in slices"),
            (_, Some(_)) => (
                "by renumbered columns",
                "most entries lie in few columns, and their vector elements fit a cache together",
            ),
            _ => ("as they lie", "no arrangement pays, or there is no memory for one"),
        };
        tracing::debug!(operation = self.operation(), entries, why, at = %self.at, "plan");
        Ok(Arrangement { bins, hot_columns })
    }

    /// The matrix by the result's index, on a GPU.
    fn rows_on(&self, gpu: &Gpu) -> Result<Arc<DeviceCsr<A>>> {
        if self.transposed { self.matrix.on(gpu) } else { self.matrix.transposed_on(gpu) }
    }

    /// The matrix's tiles by the result's index, on a GPU.
    fn tiles_on(&self, gpu: &Gpu) -> Result<Arc<DeviceTiles<A>>> {
        self.matrix.tiles_on(gpu, !self.transposed)
    }

    /// The matrix's entries in bins (propagation blocking), if that pays, and the kernel that multiplies them with the operand. It pays
    /// only for inexact monoids: others are folded without being staged.
    #[inline(never)]
    fn bins(&self, env: &Env<'_>, gpu: &Gpu) -> Result<Option<Binned>> {
        let (rows, widths) = (self.rows_on(gpu)?, [size_of::<E::T>(), size_of::<S::Out>()]);
        let worth = !S::Add::EXACT && !self.operand.is_heavy() && !widths.contains(&0);
        if !worth || !rows.may_bin(widths[0].max(widths[1])) {
            return Ok(None);
        }
        let mut multiply = propagation_blocking::builder(gpu);
        let node = self.operand.emit(&env.for_operand(), &mut multiply)?;
        let bins = if node.full { rows.bins()? } else { None };
        let Some(bins) = bins.cloned() else { return Ok(None) };
        let (a, out, mul) = (multiply.element::<A>(), multiply.element::<S::Out>(), multiply.functor(self.ring.mul()));
        let ty = multiply.ty("vxm::MultiplyBins", [node.ty, a, out, mul]);
        Ok(Some(Binned { bins, multiply: (multiply, ty), widths }))
    }

    /// The operand in the order of the matrix's renumbered columns (hot columns first), if renumbering pays.
    #[inline(never)]
    fn hot_columns(&self, env: &Env<'_>, gpu: &Gpu, n: usize) -> Result<Option<DeviceVector<E::T>>> {
        let rows = self.rows_on(gpu)?;
        if rows.hot_columns()?.is_none() {
            return Ok(None);
        }
        let mut first = KernelBuilder::new(gpu);
        let node = emit_operand(&self.operand, &env.for_operand(), &mut first)?;
        match first.gather_hot(&node, &rows) {
            Some(node) => Ok(Some(cuda::terminals::eval(first, &node, n)?)),
            None => Ok(None),
        }
    }
}
