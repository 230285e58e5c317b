//! Machine code of programs, made while a process runs (the feature `jit`).
//!
//! A single operator is compiled once it was called often. The engine asks for code of whole rows, by [`prepare`] and [`prepare_push`], for
//! products that fold many entries and loops that relax edges. Programs that differ in captured constants only share their code.
//!
//! Where Cranelift doesn't know the processor, or no memory may be executed, programs are interpreted as without the feature.

mod code;
mod floats;
mod integers;
mod rows;
mod values;

use core::any::TypeId;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::interpret::Ready;
use super::kind::Kind;
use super::program::{Program, Text, Value};
use crate::{BinaryOp, Element, Monoid, Semiring};

/// The lanes of a segment of the fixed tree, which folds float sums and other monoids that aren't exact.
pub const LANES: usize = 32;
/// The most entries of a segment of that tree.
pub const SEGMENT: usize = 1024;
/// After so many calls a program is compiled. Compiling takes about as long as that many calls of a few operations by the interpreter. So
/// calls never take more than twice the time of the better way. E071
const CALLS: u32 = 16_384;

/// What is compiled of two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// A row's fold with a full vector.
    Fold { exact: bool, reversed: bool },
    /// Joins of a row's products into a state's elements. `alone`: no other thread writes them meanwhile.
    Push { alone: bool },
}

/// Code for the rows of a semiring.
#[derive(Debug, Clone, Copy)]
struct Shape {
    add: Program,
    mul: Program,
    /// The bits of the monoid's terminal value.
    terminal: Option<u64>,
    /// The types of the vector's, the matrix's and the result's elements.
    types: [TypeId; 3],
    /// The bytes of those elements.
    sizes: [u8; 3],
    task: Task,
}

impl Shape {
    #[inline(always)]
    fn of<X: Element, A: Element, S: Semiring<X, A>>(ring: S, task: Task) -> Option<Self> {
        let (add, mul) = (ring.add().as_program()?, ring.mul().as_program()?);
        Some(Self {
            add,
            mul,
            terminal: ring.add().terminal().map(|x| x.wide_bits() as u64),
            types: [TypeId::of::<X>(), TypeId::of::<A>(), TypeId::of::<S::Out>()],
            sizes: [size_of::<X>() as u8, size_of::<A>() as u8, size_of::<S::Out>() as u8],
            task,
        })
    }

    /// Whether the code for another shape of the same multiplication is the code for this one: captured constants may differ.
    #[inline(always)]
    fn is_as(&self, other: &Self) -> bool {
        std::ptr::eq(self.add.0.machine.shared, other.add.0.machine.shared)
            && (self.terminal, self.types, self.task) == (other.terminal, other.types, other.task)
    }

    /// Whether results are of the program's own type, not words of its bits.
    fn is_typed(&self) -> bool {
        self.types[2] == self.add.result().type_id()
    }

    /// Whether elements of these types hold what the programs take and return. Any operator may name a program, so the code relies on this.
    fn fits(&self) -> bool {
        let ([x, a, out], result) = (self.types, self.add.result());
        let taken = matches!(*self.mul.parameters(), [first, second] if first.fits_type(x) && second.fits_type(a));
        taken
            && self.mul.result() == result
            && *self.add.parameters() == [result; 2]
            && result != Kind::Unit
            && result.fits_type(out)
    }

    /// The member of the multiplication's list for this shape; otherwise the end of the list.
    #[inline(always)]
    fn find(&self) -> Result<&'static Node, &'static OnceLock<&'static Node>> {
        let mut next = &self.mul.0.machine.shared.rows;
        while let Some(node) = next.get() {
            if node.shape.is_as(self) {
                return Ok(node);
            }
            next = &node.next;
        }
        Err(next)
    }

    /// The code, if it was made.
    #[inline(always)]
    fn code(&self) -> Option<Code> {
        self.find().ok()?.code
    }

    /// Makes the code, unless that was tried before.
    fn make(self) {
        static MAKING: Mutex<()> = Mutex::new(());
        if self.find().is_ok() {
            return;
        }
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(end) = self.find() {
            let code = if self.fits() { rows::compiled(&self) } else { None };
            let node = Node { shape: self, code, next: OnceLock::new() };
            let added = end.set(Box::leak(Box::new(node)));
            debug_assert!(added.is_ok(), "nodes are added one at a time");
        }
    }
}

/// The code of a program: the bits of its arguments, and those of its captured constants, to the bits of its result.
type Call = unsafe extern "C" fn(u64, u64, u64, *const u64) -> u64;
/// The captured constants of the monoid's and the multiplication's program.
type Constants = [*const u64; 2];
/// Captured constants, columns, weights, their number, and the vector's elements, to the bits of the row's fold.
type Fold = unsafe extern "C" fn(*const u64, *const u64, *const u32, *const u8, usize, *const u8) -> u64;
/// Captured constants, columns, weights, their number, an element's bits, the state's elements, and room for places and former elements, to
/// their number.
type Push =
    unsafe extern "C" fn(*const u64, *const u64, *const u32, *const u8, usize, u64, *mut u8, *mut u32, *mut u8) -> u64;

/// Code that stays until the process ends.
#[derive(Debug, Clone, Copy)]
enum Code {
    Fold(Fold),
    Push(Push),
}

/// A member of the list of what was compiled of a multiplication. Programs are never freed, so neither are these.
#[derive(Debug)]
struct Node {
    shape: Shape,
    code: Option<Code>,
    next: OnceLock<&'static Node>,
}

/// What is compiled of a program.
#[derive(Debug)]
pub(super) struct Machine {
    /// The bits of the program's captured constants, in order.
    constants: Box<[u64]>,
    shared: &'static Shared,
}

/// What is compiled of programs that are the same but for captured constants. It lives until the process ends, as programs do.
#[derive(Debug, Default)]
struct Shared {
    /// The code of the program itself, once it is compiled.
    call: OnceLock<Call>,
    /// The number of calls so far, or a few less: threads overwrite each other's.
    calls: AtomicU32,
    /// Code of rows, of which the program is the multiplication.
    rows: OnceLock<&'static Node>,
}

impl Machine {
    /// What was compiled of the program, which may be something already: of one with other captured constants.
    pub(super) fn of(text: &Text) -> Self {
        static SHARED: OnceLock<Mutex<HashMap<Text, &'static Shared>>> = OnceLock::new();
        let (mut plain, mut constants) = (text.clone(), Vec::new());
        for (value, _) in &mut plain.values {
            if let Value::Constant { bits, captured: true } = value {
                constants.push(std::mem::take(bits));
            }
        }
        let mut shared = SHARED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let shared = *shared.entry(plain).or_insert_with(|| Box::leak(Box::default()));
        Self { constants: constants.into(), shared }
    }

    /// The result by compiled code. Counts the call otherwise.
    #[inline(always)]
    pub(super) fn call(&self, ready: &Ready, [a, b, c]: [u64; 3]) -> Option<u64> {
        match self.shared.call.get() {
            // SAFETY: the code was compiled for a program with as many captured constants of the same kinds
            Some(code) => Some(unsafe { code(a, b, c, self.constants.as_ptr()) }),
            None => {
                self.count(ready);
                None
            }
        }
    }

    fn count(&self, ready: &Ready) {
        let calls = self.shared.calls.load(Ordering::Relaxed);
        if calls < CALLS {
            self.shared.calls.store(calls + 1, Ordering::Relaxed);
        } else if calls == CALLS && self.shared.calls.swap(u32::MAX, Ordering::Relaxed) != u32::MAX {
            self.compile(&ready.text);
        }
    }

    #[cold]
    #[inline(never)]
    fn compile(&self, text: &Text) {
        if let Some(code) = values::compiled(text) {
            // another thread's is as good
            let _ = self.shared.call.set(code);
        }
    }
}

impl Program {
    /// Compiles the program now, instead of after many calls.
    pub fn compile(self) {
        self.0.machine.shared.calls.store(u32::MAX, Ordering::Relaxed);
        self.0.machine.compile(&self.0.text);
    }

    /// Whether calls run machine code.
    pub fn is_compiled(self) -> bool {
        self.0.machine.shared.call.get().is_some()
    }
}

/// Makes machine code for the rows of products over this semiring, if it is made of programs: for folds, from the last entry if `reversed`.
pub fn prepare<X: Element, A: Element, S: Semiring<X, A>>(ring: S, reversed: bool) {
    let exact = <S::Add as Monoid<S::Out>>::EXACT;
    if let Some(shape) = Shape::of::<X, A, S>(ring, Task::Fold { exact, reversed }) {
        shape.make();
    }
}

/// Makes machine code for pushes along the rows of a matrix, if the semiring is made of programs.
pub fn prepare_push<X: Element, A: Element, S: Semiring<X, A>>(ring: S) {
    for alone in [false, true] {
        if let Some(shape) = Shape::of::<X, A, S>(ring, Task::Push { alone }) {
            shape.make();
        }
    }
}

#[inline(always)]
fn constants(programs: [Program; 2]) -> Constants {
    programs.map(|program| program.0.machine.constants.as_ptr())
}

/// Machine code that folds the entries of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowFold<X, A, T> {
    code: Fold,
    programs: [Program; 2],
    of: PhantomData<fn(X, A) -> T>,
}

impl<X: Element, A: Element, T: Element> RowFold<X, A, T> {
    /// The code, if [`prepare`] made it.
    #[inline(always)]
    pub fn of<S: Semiring<X, A, Out = T>>(ring: S, reversed: bool) -> Option<Self> {
        let exact = <S::Add as Monoid<T>>::EXACT;
        let shape = Shape::of::<X, A, S>(ring, Task::Fold { exact, reversed })?;
        let Code::Fold(code) = shape.code()? else { return None };
        Some(Self { code, programs: [shape.add, shape.mul], of: PhantomData })
    }

    /// `⊕ over k of vector[columns[k]] ⊗ weights[k]`, from the first entry to the last if the monoid is exact, otherwise over the lanes of
    /// one segment: there are at most [`SEGMENT`] entries then. `None` if there are none.
    ///
    /// # Safety
    /// `vector` points to elements, and each column is below their number. Other threads write them at most atomically.
    ///
    /// # Panics
    /// Columns and weights differ in number.
    #[inline(always)]
    pub unsafe fn fold(self, columns: &[u32], weights: &[A], vector: *const X) -> Option<T> {
        assert_eq!(columns.len(), weights.len(), "each entry has a column and a weight");
        if columns.is_empty() {
            return None;
        }
        let (columns, weights, entries) = (columns.as_ptr(), weights.as_ptr().cast(), columns.len());
        let [add, mul] = constants(self.programs);
        // SAFETY: the code was compiled for elements of these types; the caller guarantees what it reads
        Some(T::from_wide_bits(unsafe { (self.code)(add, mul, columns, weights, entries, vector.cast()) }.into()))
    }
}

/// Machine code that joins the products of a row into elements of a state.
#[derive(Debug, Clone, Copy)]
pub struct RowPush<X, A, T> {
    code: Push,
    programs: [Program; 2],
    of: PhantomData<fn(X, A) -> T>,
}

impl<X: Element, A: Element, T: Element> RowPush<X, A, T> {
    /// The code, if [`prepare_push`] made it. `alone` promises that no other thread writes the state's elements meanwhile.
    #[inline(always)]
    pub fn of<S: Semiring<X, A, Out = T>>(ring: S, alone: bool) -> Option<Self> {
        let shape = Shape::of::<X, A, S>(ring, Task::Push { alone })?;
        let Code::Push(code) = shape.code()? else { return None };
        Some(Self { code, programs: [shape.add, shape.mul], of: PhantomData })
    }

    /// Replaces `state[columns[k]]` by `state[columns[k]] ⊕ (x ⊗ weights[k])` for each place `k` of the row where that is something else.
    /// Those places are written to `found`, and the elements that were replaced to `before`; their number is returned.
    ///
    /// # Safety
    /// `state` points to elements, and each column is below their number. Other threads read them only atomically. They write them only
    /// atomically, and not at all if the code is for a thread alone.
    ///
    /// # Panics
    /// Columns and weights differ in number, or `found` or `before` is shorter.
    #[inline(always)]
    pub unsafe fn push(
        self,
        columns: &[u32],
        weights: &[A],
        x: X,
        state: *mut T,
        (found, before): (&mut [u32], &mut [T]),
    ) -> usize {
        let entries = columns.len();
        let fits = weights.len() == entries && found.len() >= entries && before.len() >= entries;
        assert!(fits, "each entry has a weight, and room for what it may change");
        let (columns, weights) = (columns.as_ptr(), weights.as_ptr().cast());
        let (found, before) = (found.as_mut_ptr(), before.as_mut_ptr().cast());
        let [add, mul] = constants(self.programs);
        // SAFETY: the code was compiled for elements of these types, and writes at most as many places as there are columns; the caller
        // guarantees what it reads and writes of the state
        let number = unsafe {
            (self.code)(add, mul, columns, weights, entries, x.wide_bits() as u64, state.cast(), found, before)
        };
        number as usize
    }
}
