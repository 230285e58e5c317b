//! Expressions and products on ranks with GPUs: each rank runs kernels over its pieces, between which changed elements travel.

use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::ranks::{ChangedSlots, Lines, ShareOnGpu, StaleRows, nothing, take_own};
use crate::backend::cuda::terminals::{self, Merging};
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::backend::tuning;
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::Store;
use crate::operations::differ::Differ;
use crate::operations::expr::{Env, Expr};
use crate::operations::ranks::Sources;
use crate::operations::terminal::emitted;
use crate::ranks::{Grid, Share};
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, KernelText, Monoid, PLUS, SECOND, Source, UnaryOp};

/// This rank's piece of an expression, on its GPU.
#[inline(never)]
pub(crate) fn piece<E: Expr>(expression: &E, env: &Env<'_>, grid: &Grid, gpu: &Gpu) -> Result<DeviceVector<E::T>> {
    if let Some(held) = expression.piece_on_gpu(env) {
        return Ok(held);
    }
    let places = grid.count(expression.len(env)?);
    let (kernel, node) = emitted(expression, env, gpu)?;
    terminals::eval(kernel, &node, places)
}

/// Adds a piece that the host has made to a kernel.
pub(crate) fn stored<T: Element>(kernel: &mut KernelBuilder, piece: &Store<T>) -> Result<Node> {
    let piece = DeviceVector::upload(kernel.gpu(), piece)?;
    Ok(kernel.stored(&piece))
}

/// Copies of a vector's elements at the slots of a share.
#[derive(Debug)]
pub(crate) struct Replicas<T: Element> {
    /// This rank's own elements, as others know them along the column and along the row of ranks.
    told: Option<DeviceVector<T>>,
    told_rows: Option<DeviceVector<T>>,
    slots: DeviceVector<T>,
}

impl<T: Element> Replicas<T> {
    /// No copies yet. `own` says that rows' own elements are read.
    #[inline(never)]
    fn new(lines: Lines<'_>, gpu: &Gpu, own: bool) -> Result<Self> {
        let slots = match lines.row.is_some() && !own {
            // never read, but present, so that the slots of columns alone decide whether all are
            true => DeviceVector::zeros_first(gpu, lines.slots, lines.rows)?,
            false => nothing(gpu, lines.slots)?,
        };
        Ok(Self { told: None, told_rows: None, slots })
    }

    /// The elements at all slots.
    pub fn slots(&self) -> &DeviceVector<T> {
        &self.slots
    }

    /// Brings the slots up to date with the vector, of which this rank owns `piece`. All ranks call this.
    #[inline(never)]
    pub fn refresh(&mut self, lines: Lines<'_>, piece: DeviceVector<T>, own: bool) -> Result<ChangedSlots> {
        let gpu = piece.gpu().clone();
        let mut changed = ChangedSlots::new(&gpu, self.slots.len() / tuning::RANKS_MOST_READ)?;
        let counts = lines.column.counts(&gpu)?;
        if lines.row.is_none() {
            take_own(&piece, &mut self.slots, &changed, lines.column.counter(&counts))?;
        }
        let told = self.told.as_deref();
        let mut full = lines.column.tell(told, &piece, &mut self.slots, Some(&mut changed), &counts)?;
        full &= piece.known_count() == Some(piece.len());
        if let Some(row) = lines.row.filter(|_| own) {
            let (told, counts) = (self.told_rows.as_deref(), row.own.counts(&gpu)?);
            full &= row.own.tell(told, &piece, &mut self.slots, Some(&mut changed), &counts)?;
            self.told_rows = Some(piece.clone());
        }
        if full {
            self.slots.note_full();
        }
        self.told = Some(piece);
        Ok(changed)
    }
}

/// The state of a product on a rank's GPU; see [`Pull`](crate::operations::ranks::Pull), which is the same on a CPU.
#[derive(Debug)]
pub(crate) struct PullOnGpu<X: Element, A: Element, T: Element> {
    share: u64,
    replicas: Replicas<X>,
    /// The entries that take part, if keys leave some out.
    entries: Option<Arc<DeviceCsr<A>>>,
    stale: StaleRows,
    partial: DeviceVector<T>,
    /// Partial results as the rows' owners know them, and what this rank heard of its own rows.
    told: Option<DeviceVector<T>>,
    heard: DeviceVector<T>,
    told_wanted: Option<DeviceVector<()>>,
    wanted: DeviceVector<()>,
}

impl<X: Element, A: Element, T: Element> PullOnGpu<X, A, T> {
    /// A product that has made nothing yet.
    #[inline(never)]
    pub fn new(held: &HeldShare<'_, A>, own: bool) -> Result<Self> {
        let HeldShare { gpu, share, on_gpu, .. } = *held;
        let rows = share.csr.nrows();
        let heard = on_gpu.row.as_ref().map_or_else(|| nothing(gpu, 0), |row| row.nothing_heard(gpu))?;
        Ok(Self {
            share: share.id,
            replicas: Replicas::new(on_gpu.lines(), gpu, own)?,
            entries: None,
            stale: StaleRows::all(gpu, rows)?,
            partial: nothing(gpu, rows)?,
            told: None,
            heard,
            told_wanted: None,
            wanted: nothing(gpu, if on_gpu.row.is_some() { rows } else { 0 })?,
        })
    }

    /// Whether this is a product over `share`.
    pub fn is_of(&self, share: &Share<A>) -> bool {
        self.share == share.id
    }

    /// Forgets results and chosen entries, but not the copies of elements.
    pub fn begin_anew(&mut self) -> Result<()> {
        self.entries = None;
        self.stale.mark_all()
    }

    /// Whether entries were chosen already.
    pub fn has_entries(&self) -> bool {
        self.entries.is_some()
    }

    /// Lets only `entries` take part.
    pub fn choose(&mut self, entries: Arc<DeviceCsr<A>>) {
        self.entries = Some(entries);
    }

    /// The entries that take part.
    pub fn entries(&self, share: &ShareOnGpu<A>) -> Arc<DeviceCsr<A>> {
        self.entries.as_ref().unwrap_or(&share.csr).clone()
    }

    /// The operand's elements at the slots of the share.
    pub fn operand(&self) -> &DeviceVector<X> {
        self.replicas.slots()
    }

    /// Brings the copies up to date with this rank's piece of the operand. Returns the rows to fold. `due` are the places at which the result
    /// is read. All ranks call this.
    #[inline(never)]
    pub fn refresh(
        &mut self,
        share: &ShareOnGpu<A>,
        piece: DeviceVector<X>,
        sources: Sources<'_>,
        due: Option<&DeviceVector<()>>,
    ) -> Result<DeviceVector<()>> {
        let gpu = piece.gpu().clone();
        let changed = self.replicas.refresh(share.lines(), piece, sources.own)?;
        if !changed.are_listed() {
            self.stale.mark_all()?;
        } else if !changed.is_empty() {
            self.stale.mark_readers(&*share.readers()?, &changed, sources.own)?;
        }
        match (due, &share.row) {
            (None, _) => self.stale.take(None),
            (Some(due), None) => self.stale.take(Some(due)),
            (Some(due), Some(row)) => {
                let told = self.told_wanted.as_deref();
                row.own.tell(told, due, &mut self.wanted, None, &row.own.counts(&gpu)?)?;
                self.told_wanted = Some(due.clone());
                self.stale.take(Some(&self.wanted))
            }
        }
    }

    /// Stores the folds that a kernel makes at its mask's places.
    pub fn store(&mut self, kernel: KernelBuilder, node: &Node) -> Result<()> {
        terminals::write(kernel, node, &Merging::Replace, &mut self.partial)
    }

    /// The result at this rank's `count` places. At places where it isn't read it may be old. All ranks call this.
    #[inline(never)]
    pub fn result<M: Monoid<T>>(&mut self, share: &ShareOnGpu<A>, count: usize, add: M) -> Result<DeviceVector<T>> {
        let Some(row) = &share.row else { return Ok(self.partial.clone()) };
        let joined = row.joined(self.told.as_deref(), &self.partial, &mut self.heard, count, add)?;
        self.told = Some(self.partial.clone());
        Ok(joined)
    }
}

/// A rank's share on its host and on its GPU.
pub struct HeldShare<'s, A: Element> {
    pub(crate) grid: &'s Grid,
    pub(crate) gpu: &'s Gpu,
    pub(crate) share: &'s Share<A>,
    pub(crate) on_gpu: &'s ShareOnGpu<A>,
}

impl<A: Element> HeldShare<'_, A> {
    /// All entries.
    pub(crate) fn entries(&self) -> &DeviceCsr<A> {
        &self.on_gpu.csr
    }

    /// The slots.
    pub(crate) fn slots(&self) -> Slots<'_> {
        Slots { grid: self.grid, gpu: self.gpu, lines: self.on_gpu.lines() }
    }
}

/// The slots of a rank's share, whatever its entries are.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'s> {
    grid: &'s Grid,
    gpu: &'s Gpu,
    lines: Lines<'s>,
}

impl Slots<'_> {
    /// The elements of a vector at the rows and slots. All ranks call this.
    #[inline(never)]
    pub(crate) fn ends<K: Element>(&self, u: &Vector<K>) -> Result<DeviceVector<K>> {
        let mut replicas = Replicas::new(self.lines, self.gpu, true)?;
        replicas.refresh(self.lines, u.piece_on(self.grid)?.held_on(self.gpu)?, true)?;
        Ok(replicas.slots)
    }
}

/// Whether an element changed, in the upper half of a word, and whether it is active, in the lower half.
#[derive(Debug, Clone, Copy)]
struct Tally<F>(F);

impl<F: Source> Source for Tally<F> {
    fn source(self, text: &mut KernelText) -> String {
        let (differ, active) = (Differ.source(text), self.0.source(text));
        text.define_hashed("tally", |name| {
            format!(
                "template <class T> VXM_FN unsigned long long {name}(T a, T b) {{\n    \
                 return (unsigned long long){differ}(a, b) << 32 | (unsigned long long)(bool){active}(b);\n}}"
            )
        })
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        self.0.constants(bits)
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> BinaryOp<T, T> for Tally<F> {
    type Out = u64;
    fn call(self, before: T, now: T) -> u64 {
        u64::from(Differ.call(before, now)) << 32 | u64::from(self.0.call(now))
    }
}

/// Holds of no element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Never;

impl Source for Never {
    fn source(self, text: &mut KernelText) -> String {
        text.define_hashed("never", |name| format!("template <class T> VXM_FN bool {name}(T) {{ return false; }}"))
    }
    fn constants(self, _: &mut Vec<u64>) -> bool {
        true
    }
}

impl<T: Element> UnaryOp<T> for Never {
    type Out = bool;
    fn call(self, _: T) -> bool {
        false
    }
}

/// Of this rank's elements, how many changed from `before` to `now`, and how many are active.
#[inline(never)]
pub(crate) fn tally<T: Element, F: UnaryOp<T, Out = bool>>(
    before: &DeviceVector<T>,
    now: &DeviceVector<T>,
    active: F,
) -> Result<(u64, u64)> {
    let mut kernel = KernelBuilder::new(now.gpu());
    let (left, right) = (kernel.stored(before), kernel.stored(now));
    let (op, out) = (kernel.functor(Tally(active)), kernel.element::<u64>());
    let node = Node::new(kernel.ty("vxm::EWiseMult", [left.ty, right.ty, op, out]), left.full && right.full);
    let word: u64 = terminals::fold(kernel, &node, now.len(), PLUS)?;
    Ok((word >> 32, word & u64::from(u32::MAX)))
}

/// Writes a loop's body to the elements in `due`, or to all, where it holds one.
#[inline(never)]
pub(crate) fn visit<T: Element, E: Expr<T = T>>(
    body: &E,
    env: &Env<'_>,
    due: Option<&DeviceVector<()>>,
    state: &mut DeviceVector<T>,
) -> Result<()> {
    let gpu = state.gpu().clone();
    let mut kernel = KernelBuilder::for_row_classes(&gpu);
    let node = match due {
        None => body.emit(env, &mut kernel)?,
        Some(due) => masked(&mut kernel, due, |kernel| body.emit(env, kernel))?,
    };
    let merging = Merging::Accumulate(kernel.functor(SECOND));
    terminals::write(kernel, &node, &merging, state)
}

/// Emits what `inner` does, under a mask that is a stored set.
pub(crate) fn masked(
    kernel: &mut KernelBuilder,
    mask: &DeviceVector<()>,
    inner: impl FnOnce(&mut KernelBuilder) -> Result<Node>,
) -> Result<Node> {
    kernel.note_masked();
    kernel.note_skippable();
    let inner = inner(kernel)?;
    let mask = kernel.emit_mask(|kernel| {
        let set = kernel.stored(mask);
        Ok(Node::new(kernel.ty("vxm::StructureMask", [set.ty]), set.full))
    })?;
    Ok(Node::new(kernel.ty("vxm::Masked", [inner.ty, mask.ty]), inner.full && mask.full))
}
