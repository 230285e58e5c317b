//! Products on ranks.

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::fold::Rows;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::{DeviceCsr, DeviceVector};
use crate::backend::plan::Format;
use crate::backend::profile::Counts;
use crate::backend::tuning::STAGED_BYTES;
use crate::backend::view::VectorView;
use crate::error::{Error, Result};
use crate::formats::{Store, StoreView};
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::dependencies::Reads;
use crate::operations::product::Product;
use crate::operations::product::cpu::ProductView;
use crate::operations::product::edge_policy::{EdgePolicy, Unkeyed};
use crate::operations::ranks::on_gpu::{self, HeldShare, PullOnGpu};
use crate::operations::ranks::{self, AmongPeers, OnRanks, Pull, Sources, fold_rows};
use crate::ranks::{Grid, Share};
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// This rank's piece of the product. All ranks call this.
    pub(super) fn on_ranks(&self, on: OnRanks<'_>, env: &Env<'_>) -> Result<Store<S::Out>> {
        let (grid, (n, _)) = (on.grid, self.check(env)?);
        self.check_grid(grid)?;
        // what is folded for one element of the result is a column of the matrix in `vxm`
        let share = self.matrix.share(grid, !self.transposed, self.operation())?;
        let operand = ranks::piece(&self.operand, &env.for_operand())?.into_bitmap();
        let own = H::EXITS_EARLY || H::FILTERS_BY_STATE;
        let sources = Sources { own, rows: on.rows, count: grid.count(n) };
        let (number, held) = on.kept.map_or((0, None), |kept| kept.take::<Pull<E::T, A, S::Out>>());
        let mut pull = held.filter(|held| held.is_of(&share)).unwrap_or_else(|| Pull::new(&share, sources));
        if on.kept.is_some_and(|kept| kept.is_anew()) {
            pull.begin_anew(&share);
        }
        if self.policy.filters_by_key() && !pull.has_entries() {
            let mut keeps = vec![true; share.csr.nnz()];
            self.policy.filter_share(grid, &share, &mut keeps)?;
            pull.choose(&share, &keeps);
        }
        let rows = pull.refresh(&share, &operand, sources)?;
        let made = {
            let csr = pull.entries(&share);
            let policy = Unkeyed(self.policy);
            let view: ProductView<'_, StoreView<'_, E::T>, A, S, S::Out, Unkeyed<H>> =
                ProductView::Lazy(pull.operand(), Rows::Csr(csr), csr.offsets(), self.ring, policy);
            count_work(grid, &share, &DynView::of(&view), &rows, sources);
            match view.fixed() {
                Some(fixed) => fold_rows(&rows, &fixed),
                None => fold_rows(&rows, &DynView::of(&view)),
            }
        };
        pull.store(&rows, made);
        let add = self.ring.add();
        let result = pull.result(&share, sources.count, &|x, y| add.call(x, y))?;
        if let Some(kept) = on.kept {
            kept.put(number, pull);
        }
        Ok(Store::Bitmap(result))
    }

    /// Emits this rank's piece of the product, which is made at once, as a stored vector. All ranks call this.
    pub(super) fn emit_on_ranks(&self, on: OnRanks<'_>, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let (grid, gpu, (n, _)) = (on.grid, &kernel.gpu().clone(), self.check(env)?);
        self.check_grid(grid)?;
        let (share, on_gpu) = self.matrix.share_on_gpu(grid, !self.transposed, self.operation())?;
        let held = HeldShare { grid, gpu, share: &share, on_gpu: &on_gpu };
        let operand = on_gpu::piece(&self.operand, &env.for_operand(), grid, gpu)?;
        let own = H::EXITS_EARLY || H::FILTERS_BY_STATE;
        let (number, kept) = on.kept.map_or((0, None), |kept| kept.take::<PullOnGpu<E::T, A, S::Out>>());
        let mut pull = match kept.filter(|kept| kept.is_of(&share)) {
            Some(kept) => kept,
            None => PullOnGpu::new(&held, own)?,
        };
        if on.kept.is_some_and(|kept| kept.is_anew()) {
            pull.begin_anew()?;
        }
        if self.policy.filters_by_key()
            && !pull.has_entries()
            && let Some(entries) = self.policy.filtered_on_gpu(&held)?
        {
            pull.choose(Arc::new(entries));
        }
        let sources = Sources { own, rows: on.rows, count: grid.count(n) };
        let rows = pull.refresh(&on_gpu, operand, sources, on.due)?;
        let mut fold = KernelBuilder::for_row_classes(gpu);
        let node =
            on_gpu::masked(&mut fold, &rows, |fold| self.emit_share(fold, pull.entries(&on_gpu), pull.operand()))?;
        pull.store(fold, &node)?;
        let result = pull.result(&on_gpu, sources.count, self.ring.add())?;
        if let Some(kept) = on.kept {
            kept.put(number, pull);
        }
        Ok(kernel.stored(&result))
    }

    /// Emits the product as a part of a loop's kernel: it folds the rows of this rank's share over the state's elements in the window. What
    /// doesn't depend on the state is made at once. All ranks call this.
    pub(super) fn emit_among_peers(
        &self,
        (on, peers): (OnRanks<'_>, AmongPeers),
        env: &Env<'_>,
        kernel: &mut KernelBuilder,
    ) -> Result<Node> {
        let (grid, gpu, sizes) = (on.grid, &kernel.gpu().clone(), self.check(env)?);
        let mut reads = Reads::default();
        self.operand.reads(env, &mut reads);
        if reads.is_nothing() {
            env.note_at_places(kernel);
            let on = OnRanks::of(grid);
            return self.emit_on_ranks(on, &env.on_ranks(on), kernel);
        }
        let (share, on_gpu) = self.matrix.share_on_gpu(grid, !self.transposed, self.operation())?;
        if share.id != peers.share || on.slots.is_some() {
            kernel.note_unfusable("its products read the state through different matrices");
        }
        let held = HeldShare { grid, gpu, share: &share, on_gpu: &on_gpu };
        self.emit_pulled(&env.at_slots(held.slots()), kernel, Format::Csr, sizes, Some(on_gpu.csr.clone()))
    }

    /// Emits the fold of the rows of a share.
    fn emit_share(
        &self,
        kernel: &mut KernelBuilder,
        rows: Arc<DeviceCsr<A>>,
        operand: &DeviceVector<E::T>,
    ) -> Result<Node> {
        kernel.element::<S::Out>();
        let at = kernel.position();
        let operand = kernel.stored(operand);
        let (policy, operand) = self.policy.after_keys().emit(kernel, operand.ty, None)?;
        kernel.count_product();
        let is_primary = size_of::<S::Out>() <= STAGED_BYTES && !kernel.has_primary();
        let offset = kernel.rows(rows, false);
        let ty = self.pull_type(kernel, "vxm::Pull", (operand, policy), offset, is_primary);
        if is_primary && !S::Add::EXACT && !H::FILTERS {
            kernel.set_primary(ty, at);
        }
        Ok(Node::new(ty, false))
    }

    /// Fails if rows would be folded in parts that the monoid can't join.
    fn check_grid(&self, grid: &Grid) -> Result<()> {
        // equal products may be joined in any order
        let any_order = self.ring.add().is_commutative() || S::Mul::CONSTANT.is_some();
        let why = grid.why_rows_are_whole(S::Add::EXACT, any_order);
        why.map_or(Ok(()), |why| Err(Error::invalid(format!("{}: {}: {why}", self.at, self.operation()))))
    }
}

/// Counts the work of a product, if it is recorded: the entries that folding reads, and the elements that exchanges pack and unpack.
fn count_work<A: Element, T: Element>(
    grid: &Grid,
    share: &Share<A>,
    view: &DynView<'_, T>,
    rows: &[u32],
    sources: Sources<'_>,
) {
    if grid.ledger().is_none() {
        return;
    }
    let mut counts = Counts::default();
    for &row in rows {
        let _ = view.counted(row as usize, &mut counts);
    }
    let (along_column, along_row) = share.exchanged();
    // partial results always travel along the row; rows' own elements and the rows that are read only at times
    let along_row = along_row * (1 + usize::from(sources.own) + usize::from(sources.rows.is_some()));
    grid.work(counts.edges as usize, sources.count + rows.len() + along_column + along_row);
}
