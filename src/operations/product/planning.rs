//! What the plan is told about a product, and what it answers: sizes, forced choices, and a log of each choice.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::push::can_push;
use crate::backend::plan::{self, Direction, Format, Plan, Schedule, Sizes, Strategy};
use crate::backend::tuning::tuning;
use crate::backend::view::Support;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::formats::bitmap::places;
use crate::memory;
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::dependencies::Reads;
use crate::operations::product::Product;
use crate::operations::product::edge_policy::EdgePolicy;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// Whether rows lie in a file larger than memory, or are read as if they did.
pub(super) fn spills<A: Element>(csr: &Csr<A>) -> bool {
    matches!(plan::forced().schedule, Some(Schedule::Sweeps(_))) || memory::spills(csr)
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// Whether any entries are left out of rows.
    pub(super) fn filters(&self) -> bool {
        H::FILTERS_BY_STATE || self.policy.filters_by_key()
    }

    /// Whether a sweep may keep parts of the rows: settled elements then make the same products for good.
    pub(super) fn may_keep_parts(&self, env: &Env<'_>) -> bool {
        if !S::Add::EXACT {
            return false;
        }
        let mut operand = Reads::default();
        self.operand.reads(env, &mut operand);
        operand.is_at_most_own()
    }

    /// The verb that leaves entries out.
    pub(super) fn filter_verb(&self) -> &'static str {
        if self.policy.filters_by_key() { "oriented" } else { "edge_status" }
    }

    /// Whether entries are filtered once, before a loop starts: if some row is `long`. Logs the choice.
    pub(super) fn filters_before_loop(&self, long: bool) -> bool {
        let why = if long {
            "long rows would be read again and again"
        } else {
            "rows are short: a filtered copy would not pay"
        };
        tracing::debug!(operation = self.filter_verb(), chosen = if long { "before the loop" } else { "at every visit" }, why, at = %self.at, "plan");
        long
    }

    /// Adds room for row compaction to a loop's kernel, if some row is long and there is memory for a copy of the
    /// columns. Logs the choice. Compacted rows lose entries that no longer take part as the loop visits them.
    pub(super) fn compacts_rows(
        &self,
        kernel: &mut KernelBuilder,
        longest: usize,
        (entries, rows): (usize, usize),
    ) -> Result<bool> {
        let long = longest > tuning().compact_row;
        let room = match long.then(|| kernel.reserve_compaction(entries, rows)) {
            // without the copy the loop is only slower: too little memory is no reason to fail
            Some(Err(Error::Device(crate::kernels::Error::DeviceMemory { .. }))) | None => false,
            Some(made) => made.map(|()| true)?,
        };
        let why = match (long, room) {
            (true, true) => "entries that no longer take part are not read again",
            (true, false) => "no memory for a copy of the columns",
            _ => "rows are short: a copy of their columns would not pay",
        };
        tracing::debug!(operation = self.filter_verb(), compacts = room, why, at = %self.at, "plan");
        Ok(room)
    }

    /// The choices that are forced on this product.
    pub(super) fn forced(&self) -> plan::Forced {
        let forced = plan::forced();
        // a matrix that prefers tiles has them for products that count: others read fewer bytes from rows
        let own = self.matrix.format().filter(|&format| format == Format::Csr || self.counts());
        plan::Forced { format: forced.format.or(own), ..forced }
    }

    /// Whether all products are alike, so that an element depends on their number alone.
    fn counts(&self) -> bool {
        S::Mul::CONSTANT.is_some() && S::Add::EXACT && !(H::EXITS_EARLY || self.filters())
    }

    /// Plans the product, and logs the plan. If it counts over rows that are pulled on `gpu` or the host, outside of a loop, the matrix counts it:
    /// after a few such products, the format is chosen by counting tiles.
    pub(super) fn plan(&self, sizes: &Sizes, gpu: Option<&Gpu>) -> Plan {
        let (mut plan, forced) = (plan::product(sizes, self.forced()), self.forced());
        let free = forced.format.is_none() && forced.strategy.is_none();
        if free
            && sizes.splits
            && sizes.counting
            && !sizes.lengths
            && plan.format == Format::Csr
            && plan.direction == Direction::Pull
        {
            let chosen = self.matrix.choose_format(gpu, !self.transposed);
            plan = plan::product(&Sizes { chosen, ..*sizes }, forced);
        }
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

    /// The number of entries in the rows of the operand's elements, if counting them is cheap.
    pub(super) fn push_entries<'s>(support: Support<'_>, n: usize, by_operand: impl Fn() -> &'s Csr<A>) -> Option<u64> {
        if S::Add::EXACT { entries_at(support, n, &|| by_operand().offsets()) } else { None }
    }

    /// Adds to `sizes` what a push would cost on a GPU. The GPU knows at most an upper bound of the operand's number of
    /// elements; their rows are taken to have the mean length.
    pub(super) fn pushed_sizes(&self, env: &Env<'_>, sizes: Sizes) -> Sizes {
        match self.operand.known_count(env) {
            Some(count) if can_push(self.ring.add()) && count < sizes.elements => {
                let mean = self.matrix.nnz().div_ceil(sizes.elements as u64);
                Sizes { elements: count, push_entries: Some(count as u64 * mean + tuning().device_push), ..sizes }
            }
            _ => sizes,
        }
    }

    /// Whether a single product is the monoid's terminal value, and so decides an element.
    pub(super) fn is_decided_by_one_product(&self) -> bool {
        S::Mul::CONSTANT.is_some_and(|product| self.ring.add().is_terminal(product))
    }

    /// The product's sizes for the plan, where the operand is taken to be full.
    pub(super) fn sizes(&self, n: usize, length: usize, wanted: usize, tensor: bool) -> Sizes {
        let (forced, add) = (self.forced(), self.ring.add());
        let tileable = self.matrix.can_tile();
        let counts = forced.strategy.is_some_and(Strategy::counts_tiles);
        let fill = match forced.format {
            // the tiles will be made
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
            terminal: H::EXITS_EARLY || add.terminal().is_some() || add.is_terminal(add.identity()),
            counting: self.counts(),
            pulls: self.filters(),
            lengths: false,
            fill: fill.filter(|_| tileable),
            splits: tileable && size_of::<A>() == 0,
            by_bits: false,
            chosen: None,
            tensor,
            bit_tensor: false,
        }
    }
}

/// The number of entries in the rows of a support, if counting them is cheap. `offsets` makes the rows' offsets.
fn entries_at<'s>(support: Support<'_>, n: usize, offsets: &dyn Fn() -> &'s [u64]) -> Option<u64> {
    let held;
    let held = match support {
        Support::List(list) => list,
        Support::Bits(bits) if support.count(n) < n / 8 => {
            held = places(bits);
            &held
        }
        _ => return None,
    };
    let offsets = offsets();
    Some(held.iter().map(|&i| offsets[i as usize + 1] - offsets[i as usize]).sum())
}
