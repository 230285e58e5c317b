//! Loops over the entries of a row, around the instructions of a semiring's two programs.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    BlockArg, InstBuilder, MemFlags, StackSlotData, StackSlotKind, Type, Value as Held, types,
};
use cranelift_frontend::FunctionBuilder;

use super::code::{address, compile};
use super::values::{Writer, type_of};
use super::{Code, LANES, Shape, Task};
use crate::dynamic::kind::Kind;

/// Bytes of a column.
const COLUMN: i64 = 4;

/// Compiles what a shape asks for.
pub(super) fn compiled(shape: &Shape) -> Option<Code> {
    let address = address()?;
    let fold = [address; 6];
    let code = match shape.task {
        Task::Fold { exact: true, reversed } => compile(&fold, |to| left_to_right(shape, reversed, address, to))?,
        Task::Fold { exact: false, .. } => compile(&fold, |to| by_lanes(shape, address, to))?,
        Task::Push { alone } => {
            let mut push = [address; 9];
            push[5] = types::I64;
            let code = compile(&push, |to| pushed(shape, alone, address, to))?;
            // SAFETY: it was compiled with the parameters and the result of this type
            return Some(Code::Push(unsafe { std::mem::transmute::<*const u8, super::Push>(code) }));
        }
    };
    // SAFETY: as above
    Some(Code::Fold(unsafe { std::mem::transmute::<*const u8, super::Fold>(code) }))
}

/// The integer type of `size` bytes.
fn word_of(size: u8) -> Type {
    match size {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

/// A value of the kind from an element of `size` bytes in memory; `None` for the entry of a pattern.
fn load(w: &mut Writer<'_, '_>, kind: Kind, size: u8, from: Held, offset: i32) -> Option<Held> {
    let of = type_of(kind);
    if size == 0 {
        return None;
    }
    if of.is_float() {
        return Some(w.to.ins().load(of, MemFlags::trusted(), from, offset));
    }
    let held = w.to.ins().load(word_of(size), MemFlags::trusted(), from, offset);
    Some(w.unpack(kind, held))
}

/// The bits of a value in a word of this type.
fn to_word(w: &mut Writer<'_, '_>, kind: Kind, word: Type, value: Held) -> Held {
    let bits = w.pack(kind, value);
    w.narrowed(word, bits)
}

/// The address of the element at `index`, which has 32 bits.
fn place(w: &mut Writer<'_, '_>, address: Type, of: Held, size: u8, index: Held) -> Held {
    let index = if address == types::I32 { index } else { w.to.ins().uextend(address, index) };
    let offset = w.to.ins().ishl_imm(index, i64::from(size.trailing_zeros()));
    w.to.ins().iadd(of, offset)
}

/// The programs of a function that is written, and where it finds their captured constants.
struct Row<'s> {
    shape: &'s Shape,
    address: Type,
    of_add: Held,
    of_mul: Held,
}

impl Row<'_> {
    /// `u[column] ⊗ weight`, for the entry with its column and weight at these addresses, `at` entries on.
    fn product(&self, w: &mut Writer<'_, '_>, vector: Held, (column, weight): (Held, Held), at: i32) -> Held {
        let kinds = self.shape.mul.parameters();
        let [x_size, a_size, _] = self.shape.sizes;
        let column = w.to.ins().load(types::I32, MemFlags::trusted(), column, at * COLUMN as i32);
        let x = place(w, self.address, vector, x_size, column);
        let x = load(w, kinds[0], x_size, x, 0);
        let a = load(w, kinds[1], a_size, weight, at * i32::from(a_size));
        self.times(w, x, a)
    }

    /// `x ⊗ a`.
    fn times(&self, w: &mut Writer<'_, '_>, x: Option<Held>, a: Option<Held>) -> Held {
        w.program(&self.shape.mul.0.text, self.of_mul, [x, a, None])
    }

    /// `a ⊕ b`.
    fn add(&self, w: &mut Writer<'_, '_>, a: Held, b: Held) -> Held {
        w.program(&self.shape.add.0.text, self.of_add, [Some(a), Some(b), None])
    }
}

/// Whether a value is the terminal one.
fn is_terminal(w: &mut Writer<'_, '_>, shape: &Shape, bits: u64, value: Held) -> Held {
    let kind = shape.add.result();
    let terminal = w.constant(kind, bits);
    match type_of(kind).is_float() {
        true if shape.is_typed() => w.to.ins().fcmp(FloatCC::Equal, value, terminal),
        true => {
            let (value, terminal) = (w.pack(kind, value), w.to.ins().iconst(types::I64, bits as i64));
            w.to.ins().icmp(IntCC::Equal, value, terminal)
        }
        false => w.to.ins().icmp(IntCC::Equal, value, terminal),
    }
}

/// A fold from the first entry to the last, or from the last to the first, that ends at a terminal value.
fn left_to_right(shape: &Shape, reversed: bool, address: Type, to: &mut FunctionBuilder<'_>) {
    let entry = begin(to);
    let [of_add, of_mul, columns, weights, length, vector] = parameters(to, entry);
    let row = &Row { shape, address, of_add, of_mul };
    let (head, next, body, done) = (to.create_block(), to.create_block(), to.create_block(), to.create_block());
    let result = type_of(shape.add.result());
    for of in [address, address, result] {
        to.append_block_param(head, of);
    }
    to.append_block_param(done, result);
    let w = &mut Writer::new(to, address);
    let a_size = i64::from(shape.sizes[1]);
    let all = w.to.ins().imul_imm(length, COLUMN);
    let (first, end) = match reversed {
        false => ((columns, weights), w.to.ins().iadd(columns, all)),
        true => {
            let last = w.to.ins().iadd_imm(length, -1);
            let (column, weight) = (w.to.ins().imul_imm(last, COLUMN), w.to.ins().imul_imm(last, a_size));
            let last = (w.to.ins().iadd(columns, column), w.to.ins().iadd(weights, weight));
            (last, w.to.ins().iadd_imm(columns, -COLUMN))
        }
    };
    let way = if reversed { -1 } else { 1 };
    let sum = row.product(w, vector, first, 0);
    w.to.ins().jump(head, &args(&[first.0, first.1, sum]));

    w.to.switch_to_block(head);
    let [column, weight, sum] = parameters(w.to, head);
    match shape.terminal {
        Some(bits) => {
            let ends = is_terminal(w, shape, bits, sum);
            w.to.ins().brif(ends, done, &args(&[sum]), next, &[]);
        }
        None => {
            w.to.ins().jump(next, &[]);
        }
    }

    w.to.switch_to_block(next);
    let at = (w.to.ins().iadd_imm(column, way * COLUMN), w.to.ins().iadd_imm(weight, way * a_size));
    let ends = w.to.ins().icmp(IntCC::Equal, at.0, end);
    w.to.ins().brif(ends, done, &args(&[sum]), body, &[]);

    w.to.switch_to_block(body);
    let other = row.product(w, vector, at, 0);
    let sum = row.add(w, sum, other);
    w.to.ins().jump(head, &args(&[at.0, at.1, sum]));

    w.to.switch_to_block(done);
    let [sum] = parameters(w.to, done);
    finish(w, shape, sum);
}

/// A fold of one segment's entries: position `p` belongs to lane `p % LANES`, and lanes are joined by halves. Short rows take straight code.
fn by_lanes(shape: &Shape, address: Type, to: &mut FunctionBuilder<'_>) {
    let entry = begin(to);
    let [of_add, of_mul, columns, weights, length, vector] = parameters(to, entry);
    let row = &Row { shape, address, of_add, of_mul };
    let result = type_of(shape.add.result());
    let done = to.create_block();
    to.append_block_param(done, result);
    let lanes = result.bytes();
    let lanes = to.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, lanes * LANES as u32, 4));
    let w = &mut Writer::new(to, address);

    for few in 1..=4 {
        let (straight, more) = (w.to.create_block(), w.to.create_block());
        let matches = w.to.ins().icmp_imm(IntCC::Equal, length, few);
        w.to.ins().brif(matches, straight, &[], more, &[]);
        w.to.switch_to_block(straight);
        let products: Vec<_> = (0..few as i32).map(|at| row.product(w, vector, (columns, weights), at)).collect();
        let sum = match *products {
            [a] => a,
            [a, b] => row.add(w, a, b),
            [a, b, c] => {
                let sum = row.add(w, a, c);
                row.add(w, sum, b)
            }
            [a, b, c, d] => {
                let (one, other) = (row.add(w, a, c), row.add(w, b, d));
                row.add(w, one, other)
            }
            _ => unreachable!("one to four"),
        };
        w.to.ins().jump(done, &args(&[sum]));
        w.to.switch_to_block(more);
    }

    let size = i64::from(result.bytes());
    let base = w.to.ins().stack_addr(address, lanes, 0);
    let most = w.to.ins().iconst(address, LANES as i64);
    let is_short = w.to.ins().icmp(IntCC::UnsignedLessThan, length, most);
    let used = w.to.ins().select(is_short, length, most);
    let zero = w.to.ins().iconst(address, 0);
    let lane = |w: &mut Writer<'_, '_>, at: Held| {
        let offset = w.to.ins().imul_imm(at, size);
        w.to.ins().iadd(base, offset)
    };
    let entry_at = |w: &mut Writer<'_, '_>, at: Held| {
        let (column, weight) = (w.to.ins().imul_imm(at, COLUMN), w.to.ins().imul_imm(at, i64::from(shape.sizes[1])));
        (w.to.ins().iadd(columns, column), w.to.ins().iadd(weights, weight))
    };
    count(w, address, zero, used, |w, at| {
        let entry = entry_at(w, at);
        let value = row.product(w, vector, entry, 0);
        let to = lane(w, at);
        w.to.ins().store(MemFlags::trusted(), value, to, 0);
    });
    count(w, address, most, length, |w, at| {
        let entry = entry_at(w, at);
        let value = row.product(w, vector, entry, 0);
        let own = w.to.ins().band_imm(at, LANES as i64 - 1);
        let to = lane(w, own);
        let held = w.to.ins().load(result, MemFlags::trusted(), to, 0);
        let sum = row.add(w, held, value);
        w.to.ins().store(MemFlags::trusted(), sum, to, 0);
    });

    // the number of lanes in use, and half the power of two that isn't below it
    let (head, body, last) = (w.to.create_block(), w.to.create_block(), w.to.create_block());
    w.to.append_block_param(head, address);
    w.to.append_block_param(head, address);
    let below = w.to.ins().iadd_imm(used, -1);
    let zeros = w.to.ins().clz(below);
    let bits = w.to.ins().irsub_imm(zeros, i64::from(address.bits()) - 1);
    let one = w.to.ins().iconst(address, 1);
    let half = w.to.ins().ishl(one, bits);
    w.to.ins().jump(head, &args(&[used, half]));
    w.to.switch_to_block(head);
    let [used, half] = parameters(w.to, head);
    w.to.ins().brif(half, body, &[], last, &[]);
    w.to.switch_to_block(body);
    let pairs = w.to.ins().isub(used, half);
    count(w, address, zero, pairs, |w, at| {
        let (low, high) = (lane(w, at), w.to.ins().iadd(at, half));
        let high = lane(w, high);
        let held = w.to.ins().load(result, MemFlags::trusted(), low, 0);
        let other = w.to.ins().load(result, MemFlags::trusted(), high, 0);
        let sum = row.add(w, held, other);
        w.to.ins().store(MemFlags::trusted(), sum, low, 0);
    });
    let next = w.to.ins().ushr_imm(half, 1);
    w.to.ins().jump(head, &args(&[half, next]));
    w.to.switch_to_block(last);
    let sum = w.to.ins().load(result, MemFlags::trusted(), base, 0);
    w.to.ins().jump(done, &args(&[sum]));

    w.to.switch_to_block(done);
    let [sum] = parameters(w.to, done);
    finish(w, shape, sum);
}

/// Joins the products of a row's entries into elements of a state. Writes the places of those that change in the row, and what they were.
fn pushed(shape: &Shape, alone: bool, address: Type, to: &mut FunctionBuilder<'_>) {
    let entry = begin(to);
    let [of_add, of_mul, columns, weights, length, own, state, found, before] = parameters(to, entry);
    let row = &Row { shape, address, of_add, of_mul };
    let (head, body, tried) = (to.create_block(), to.create_block(), to.create_block());
    let (changes, written, next, done) = (to.create_block(), to.create_block(), to.create_block(), to.create_block());
    let [_, a_size, size] = shape.sizes;
    let word = word_of(size);
    to.append_block_param(head, address);
    to.append_block_param(head, address);
    to.append_block_param(tried, word);
    to.append_block_param(next, address);
    let w = &mut Writer::new(to, address);
    let (kinds, kind) = (shape.mul.parameters(), shape.add.result());
    let own = w.unpack(kinds[0], own);
    // the same for all entries of a pattern
    let same = (a_size == 0).then(|| row.times(w, Some(own), None));
    let zero = w.to.ins().iconst(address, 0);
    w.to.ins().jump(head, &args(&[zero, zero]));

    w.to.switch_to_block(head);
    let [at, number] = parameters(w.to, head);
    let goes_on = w.to.ins().icmp(IntCC::UnsignedLessThan, at, length);
    w.to.ins().brif(goes_on, body, &[], done, &[]);

    w.to.switch_to_block(body);
    let offset = w.to.ins().imul_imm(at, COLUMN);
    let column = w.to.ins().iadd(columns, offset);
    let column = w.to.ins().load(types::I32, MemFlags::trusted(), column, 0);
    let element = place(w, address, state, size, column);
    let product = match same {
        Some(same) => same,
        None => {
            let offset = w.to.ins().imul_imm(at, i64::from(a_size));
            let weight = w.to.ins().iadd(weights, offset);
            let weight = load(w, kinds[1], a_size, weight, 0);
            row.times(w, Some(own), weight)
        }
    };
    let held = w.to.ins().load(word, MemFlags::trusted(), element, 0);
    w.to.ins().jump(tried, &args(&[held]));

    w.to.switch_to_block(tried);
    let [held] = parameters(w.to, tried);
    let typed = w.unpack(kind, held);
    let joined = row.add(w, typed, product);
    let (old, new) =
        (if shape.is_typed() { to_word(w, kind, word, typed) } else { held }, to_word(w, kind, word, joined));
    let differs = w.to.ins().icmp(IntCC::NotEqual, old, new);
    w.to.ins().brif(differs, changes, &[], next, &args(&[number]));

    w.to.switch_to_block(changes);
    match alone {
        true => {
            w.to.ins().store(MemFlags::trusted(), new, element, 0);
            w.to.ins().jump(written, &[]);
        }
        false => {
            let seen = w.to.ins().atomic_cas(MemFlags::trusted(), element, held, new);
            let swapped = w.to.ins().icmp(IntCC::Equal, seen, held);
            w.to.ins().brif(swapped, written, &[], tried, &args(&[seen]));
        }
    }

    w.to.switch_to_block(written);
    let offset = w.to.ins().imul_imm(number, COLUMN);
    let to = w.to.ins().iadd(found, offset);
    let at_32 = w.narrowed(types::I32, at);
    w.to.ins().store(MemFlags::trusted(), at_32, to, 0);
    let offset = w.to.ins().imul_imm(number, i64::from(size));
    let to = w.to.ins().iadd(before, offset);
    w.to.ins().store(MemFlags::trusted(), held, to, 0);
    let more = w.to.ins().iadd_imm(number, 1);
    w.to.ins().jump(next, &args(&[more]));

    w.to.switch_to_block(next);
    let [number_then] = parameters(w.to, next);
    let then = w.to.ins().iadd_imm(at, 1);
    w.to.ins().jump(head, &args(&[then, number_then]));

    w.to.switch_to_block(done);
    let number = if address == types::I64 { number } else { w.to.ins().uextend(types::I64, number) };
    w.to.ins().return_(&[number]);
}

/// A loop over the numbers from `first` to below `end`.
fn count(w: &mut Writer<'_, '_>, address: Type, first: Held, end: Held, each: impl FnOnce(&mut Writer<'_, '_>, Held)) {
    let (head, body, done) = (w.to.create_block(), w.to.create_block(), w.to.create_block());
    w.to.append_block_param(head, address);
    w.to.ins().jump(head, &args(&[first]));
    w.to.switch_to_block(head);
    let [at] = parameters(w.to, head);
    let goes_on = w.to.ins().icmp(IntCC::UnsignedLessThan, at, end);
    w.to.ins().brif(goes_on, body, &[], done, &[]);
    w.to.switch_to_block(body);
    each(w, at);
    let next = w.to.ins().iadd_imm(at, 1);
    w.to.ins().jump(head, &args(&[next]));
    w.to.switch_to_block(done);
}

/// Begins the function's first block, which has the function's parameters.
fn begin(to: &mut FunctionBuilder<'_>) -> cranelift_codegen::ir::Block {
    let entry = to.create_block();
    to.append_block_params_for_function_params(entry);
    to.switch_to_block(entry);
    entry
}

fn parameters<const N: usize>(to: &FunctionBuilder<'_>, block: cranelift_codegen::ir::Block) -> [Held; N] {
    std::array::from_fn(|at| to.block_params(block)[at])
}

fn args<const N: usize>(values: &[Held; N]) -> [BlockArg; N] {
    values.map(BlockArg::from)
}

/// Returns a fold's bits.
fn finish(w: &mut Writer<'_, '_>, shape: &Shape, sum: Held) {
    let bits = w.pack(shape.add.result(), sum);
    w.to.ins().return_(&[bits]);
}
