//! What a sweep keeps of rows that lie in a file larger than memory.

use crate::backend::cpu::active::Sweeping;
use crate::backend::view::VectorView;
use crate::formats::Csr;
use crate::operations::entry_filter::{AppendRow, build};
use crate::operations::product::edge_policy::EdgePolicy;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// A product's part in a sweep.
pub(super) struct Swept<'s, V, A: Element, S, H> {
    /// Rows by the result's index.
    pub csr: &'s Csr<A>,
    pub operand: &'s V,
    pub ring: S,
    pub policy: H,
    pub sweep: &'s dyn Sweeping,
}

impl<V, A, S, H> Swept<'_, V, A, S, H>
where
    V: VectorView,
    A: Element,
    S: Semiring<V::T, A>,
    H: EdgePolicy<V::T, S::Out>,
{
    /// Visits all elements in the order of their rows, and keeps the entries that active elements may still need: those of other active
    /// elements, and of settled ones those that decide their fold. `None` if there is no room for them; the visits were made all the same.
    ///
    /// A settled element doesn't change any more, so neither do its products. If a monoid returns one of its operands, as minimum and maximum
    /// do, then one entry stands for all settled ones.
    pub fn kept(&self) -> Option<Csr<A>> {
        // an entry that doesn't take part, by the row's own element, may hide one that does
        let one_for_all = AtomicBool::new(self.ring.add().is_commutative() && !H::FILTERS);
        let row = |i: usize, columns: &mut Vec<u32>, values: &mut Vec<A>| {
            if !self.sweep.visit(i) || !self.sweep.has_room() {
                return;
            }
            let from = columns.len();
            if !(one_for_all.load(Relaxed) && self.keep_one_for_all(i, columns, values)) {
                one_for_all.store(false, Relaxed);
                columns.truncate(from);
                values.truncate(from);
                self.keep_taking_part(i, columns, values);
            }
            if !self.sweep.takes_room((columns.len() - from) * (size_of::<u32>() + size_of::<A>())) {
                columns.truncate(from);
                values.truncate(from);
            }
        };
        // behind a pointer, so that building is compiled once for a type of entries
        let row: &AppendRow<'_, A> = &row;
        let kept = build(self.csr.nrows(), self.csr.ncols(), row);
        self.sweep.has_room().then_some(kept)
    }

    /// Appends the entries of row `i` with active elements, and one that stands for all others. Returns whether there is such a one: its
    /// product is the fold of theirs.
    fn keep_one_for_all(&self, i: usize, columns: &mut Vec<u32>, values: &mut Vec<A>) -> bool {
        // the fold of settled elements' products; the entry with that product, and its place among those that are kept
        let mut settled: Option<(S::Out, (u32, A), usize)> = None;
        let (js, entries) = self.csr.row(i);
        for (&j, &a) in js.iter().zip(entries) {
            // asked first: an element that is settled by now is read as it stays
            if self.sweep.is_active(j as usize) {
                columns.push(j);
                values.push(a);
                continue;
            }
            let Some(x) = self.operand.at(j as usize) else { continue };
            let product = self.ring.mul().call(x, a);
            let fold = settled.map_or(product, |(fold, ..)| self.ring.add().call(fold, product));
            match settled {
                Some((before, ..)) if before.bits() == fold.bits() => {}
                _ if product.bits() == fold.bits() => settled = Some((product, (j, a), columns.len())),
                _ => return false,
            }
        }
        if let Some((_, (j, a), place)) = settled {
            columns.insert(place, j);
            values.insert(place, a);
        }
        true
    }

    /// Appends the entries of row `i` that take part, or may do so later.
    fn keep_taking_part(&self, i: usize, columns: &mut Vec<u32>, values: &mut Vec<A>) {
        let (key, own) = (self.policy.key(i), self.operand.at(i));
        let takes_part = |j: usize| {
            let active = self.sweep.is_active(j);
            self.policy.passes_key(key, j)
                && match self.operand.at(j) {
                    Some(x) => !H::FILTERS_BY_STATE || own.is_some_and(|own| self.policy.passes_state(own, x)),
                    None => active,
                }
        };
        let (js, entries) = self.csr.row(i);
        for (&j, &a) in js.iter().zip(entries) {
            if takes_part(j as usize) {
                columns.push(j);
                values.push(a);
            }
        }
    }
}
