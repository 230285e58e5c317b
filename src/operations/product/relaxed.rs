//! The edges of a product, for loops that relax them.

use crate::backend::cpu::compiled;
use crate::backend::cpu::relax::Relax;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::loops::relaxed::{EdgesOnGpu, emit_edges};
use crate::backend::plan::{Direction, Format};
use crate::backend::profile::{Counts, Probe};
use crate::error::Result;
use crate::formats::{Csr, Shared};
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::relaxed::RelaxedEdges;
use crate::operations::product::Product;
use crate::operations::product::edge_policy::EdgePolicy;
use crate::operations::product::planning::spills;
use core::any::TypeId;
use core::marker::PhantomData;
use std::ops::Range;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring, Source};

/// The edges of a product of a loop's state, which has elements of type `X`.
struct Edges<'a, X, A, S> {
    /// Rows by the operand's index.
    out: &'a Csr<A>,
    /// Rows by the result's index, if they are at hand.
    into: Option<&'a Csr<A>>,
    ring: S,
    of: PhantomData<fn(X)>,
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> Product<'_, E, A, S, H> {
    /// The edges along which a loop with the body `x ⊕ (x ⊕.⊗ A)` relaxes, if this is its product and its ⊕ is known as `join`.
    pub(super) fn edges<'s>(
        &'s self,
        env: &Env<'_>,
        join: (TypeId, usize),
    ) -> Option<Box<dyn RelaxedEdges<S::Out> + 's>> {
        let forced = self.forced();
        let free = forced.format != Some(Format::Tiles) && forced.direction != Some(Direction::Pull);
        let regroups = S::Add::EXACT && self.ring.add().is_commutative();
        let same = self.ring.add().known_as() == Some(join) && TypeId::of::<E::T>() == TypeId::of::<S::Out>();
        if !(free && regroups && same && self.operand.is_state(env)) || H::EXITS_EARLY || H::FILTERS {
            return None;
        }
        Some(Box::new(self))
    }
}

impl<E: Expr, A: Element, S: Semiring<E::T, A>, H: EdgePolicy<E::T, S::Out>> RelaxedEdges<S::Out>
    for &Product<'_, E, A, S, H>
{
    fn on_host(&self) -> Box<dyn Relax<S::Out> + '_> {
        let matrix = self.matrix;
        let out = if self.transposed { matrix.csr_transposed() } else { matrix.csr() };
        let into = if self.transposed { Some(matrix.csr()) } else { matrix.known_transposed() };
        compiled::prepare_push::<E::T, A, S>(self.ring, out.columns().len());
        Box::new(Edges::<E::T, A, S> { out, into, ring: self.ring, of: PhantomData })
    }

    fn emit(&self, kernel: &mut KernelBuilder) -> Result<Option<EdgesOnGpu>> {
        let (matrix, gpu) = (self.matrix, kernel.gpu().clone());
        let rows = |by_column: bool| if by_column { matrix.transposed_on(&gpu) } else { matrix.on(&gpu) };
        // edges are followed from their ends only if entries have no weights
        let into = if size_of::<A>() == 0 { Some(rows(!self.transposed)?) } else { None };
        Ok(emit_edges::<E::T, A, S>(kernel, rows(self.transposed)?, into, self.ring))
    }
}

impl<X: Element, A: Element, S: Semiring<X, A>> Edges<'_, X, A, S> {
    /// `x ⊗ a`. `X` is the same type as the result's.
    #[inline(always)]
    fn times(&self, x: S::Out, a: A) -> S::Out {
        self.ring.mul().call(X::from_wide_bits(x.wide_bits()), a)
    }
}

impl<X: Element, A: Element, S: Semiring<X, A>> Relax<S::Out> for Edges<'_, X, A, S> {
    fn identity(&self) -> S::Out {
        self.ring.add().identity()
    }

    fn join(&self, held: S::Out, other: S::Out) -> S::Out {
        self.ring.add().call(held, other)
    }

    fn product(&self, x: S::Out, entry: usize) -> S::Out {
        self.times(x, self.out.values()[entry])
    }

    fn is_annihilating(&self) -> bool {
        let identity = self.ring.add().identity();
        // a block at a time, without a branch for each entry
        let keeps = |block: &[A]| {
            block.iter().fold(true, |keeps, &a| keeps & (self.times(identity, a).bits() == identity.bits()))
        };
        let values = self.out.values();
        if self.is_pattern() { keeps(&values[..values.len().min(1)]) } else { values.chunks(1 << 12).all(keeps) }
    }

    fn is_pattern(&self) -> bool {
        size_of::<A>() == 0
    }

    fn offsets(&self) -> &[u64] {
        self.out.offsets()
    }

    fn columns(&self) -> &[u32] {
        self.out.columns()
    }

    fn spills(&self) -> bool {
        spills(self.out)
    }

    fn can_pull(&self) -> bool {
        self.into.is_some()
    }

    fn push(&self, state: &Shared<S::Out>, i: usize, alone: bool, changed: &mut Vec<(u32, S::Out)>) {
        let (x, view, add) = (state.get(i), state.view(), self.ring.add());
        let own = X::from_wide_bits(x.wide_bits());
        if S::Mul::IS_PROGRAM && compiled::push(self.ring, own, (self.out, i), (state, alone), changed) {
            return;
        }
        let (columns, values) = self.out.row(i);
        for (&j, &a) in columns.iter().zip(values) {
            let (held, product) = (view.get(j as usize), self.times(x, a));
            if add.call(held, product).bits() == held.bits() {
                continue;
            }
            if let Some(old) = state.replace(j as usize, product, alone, |held, product| add.call(held, product)) {
                changed.push((j, old));
            }
        }
    }

    fn pull(
        &self,
        state: &Shared<S::Out>,
        due: &[u64],
        product: S::Out,
        range: Range<usize>,
        probe: Option<&Probe>,
    ) -> Vec<u32> {
        let Some(rows) = self.into else { return Vec::new() };
        let (view, add, mut changed) = (state.view(), self.ring.add(), Vec::new());
        for j in range.start * 64..(range.end * 64).min(rows.nrows()) {
            let held = view.get(j);
            let joined = add.call(held, product);
            if joined.bits() == held.bits() {
                continue;
            }
            let (columns, _) = rows.row(j);
            let found = columns.iter().position(|&k| due[k as usize / 64] >> (k % 64) & 1 == 1);
            if let Some(probe) = probe {
                let edges = found.map_or(columns.len(), |k| k + 1) as u64;
                let counts = Counts { visits: 1, edges, ..Counts::default() };
                probe.add_visit(j, columns.len() as u64, &counts, Some((found.is_some(), false)));
            }
            if found.is_some() {
                state.put(j, joined);
                changed.push(j as u32);
            }
        }
        changed
    }
}
