//! Products on ranks.

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::fold::Rows;
use crate::backend::view::VectorView;
use crate::error::{Error, Result};
use crate::formats::{Store, StoreView};
use crate::operations::expr::{Env, Expr};
use crate::operations::product::Product;
use crate::operations::product::cpu::ProductView;
use crate::operations::product::edge_policy::{EdgePolicy, Unkeyed};
use crate::operations::ranks::{self, OnRanks, Pull, Sources, fold_rows};
use crate::ranks::Grid;
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
            match view.fixed() {
                Some(fixed) => fold_rows(&rows, &fixed),
                None => fold_rows(&rows, &DynView::of(&view)),
            }
        };
        pull.store(&rows, made);
        let add = self.ring.add();
        let result = pull.result(&share, sources.count, |x, y| add.call(x, y))?;
        if let Some(kept) = on.kept {
            kept.put(number, pull);
        }
        Ok(Store::Bitmap(result))
    }

    /// Fails if rows would be folded in parts that the monoid can't join.
    fn check_grid(&self, grid: &Grid) -> Result<()> {
        let (rows, columns) = grid.shape();
        // equal products may be joined in any order
        let any_order = self.ring.add().is_commutative() || S::Mul::CONSTANT.is_some();
        if columns == 1 || (S::Add::EXACT && any_order) {
            return Ok(());
        }
        let (at, verb, why) = (self.at, self.operation(), if S::Add::EXACT { "commutative" } else { "exact" });
        Err(Error::invalid(format!(
            "{at}: {verb}: a monoid that isn't {why}, on a grid of {rows}x{columns}: expected one column of ranks, {}x1",
            grid.size()
        )))
    }
}
