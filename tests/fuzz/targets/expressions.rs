//! Random expressions over random containers, against the reference: bit for bit, in each format, direction and mask, on one thread and two.
//!
//! Bytes are steps of a stack of expressions. What the reference computes of each is kept beside it.

#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use vxm::backend::plan::{Direction, Forced, Format, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::*;
use vxm_fuzz::Bytes;

/// A type of elements, with operators that the reference has too.
trait Number: Scalar + Default {
    fn of(byte: u8) -> Self;
}

impl Number for u32 {
    fn of(byte: u8) -> Self {
        // small ones, and some that overflow
        if byte < 200 { byte.into() } else { u32::MAX - u32::from(byte) }
    }
}

impl Number for f32 {
    fn of(byte: u8) -> Self {
        match byte {
            0 => -0.0,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => f32::NAN,
            4 => 1e38,
            _ => f32::from(byte) / 7.0 - 9.0,
        }
    }
}

/// A place has an element if its byte is odd.
fn vector<T: Number>(bytes: &mut Bytes<'_>, len: usize) -> Dense<T> {
    let full = bytes.next() % 3 == 0;
    (0..len)
        .map(|_| {
            let byte = bytes.next();
            (full || byte % 2 == 1).then(|| T::of(byte / 2 + bytes.0.len() as u8))
        })
        .collect()
}

fn stored<T: Element>(dense: &Dense<T>) -> Vector<T> {
    let pairs = dense.iter().enumerate().filter_map(|(i, x)| x.map(|x| (i as u32, x)));
    Vector::from_pairs(dense.len(), pairs).expect("ascending places")
}

/// An expression and its answer.
#[derive(Clone)]
struct Both<'a, T: Element> {
    expression: DynExpr<'a, T>,
    answer: Dense<T>,
}

struct Machine<'a, T: Element> {
    arena: &'a Bump,
    stack: Vec<Both<'a, T>>,
}

impl<'a, T: Number> Machine<'a, T> {
    fn push<E: Expr<T = T> + 'a>(&mut self, node: E, answer: Dense<T>) {
        let expression = DynExpr::of(&*self.arena.alloc(node));
        self.stack.push(Both { expression, answer });
    }

    fn pop(&mut self) -> Both<'a, T> {
        match self.stack.len() {
            // the first expression stays
            1 => self.stack[0].clone(),
            _ => self.stack.pop().expect("it is never empty"),
        }
    }
}

/// The machine for elements of a type, with operators that both types have.
macro_rules! machine {
    ($t:ty) => {
        impl<'a> Machine<'a, $t> {
            /// A step that both kinds of elements have.
            fn step(&mut self, bytes: &mut Bytes<'_>, a: &'a Matrix<$t>, grid: &Grid<$t>) {
                macro_rules! product {
                    ($x:ident, $ring:expr) => {
                        match bytes.next() % 2 {
                            0 => self.push($x.expression.vxm(a, $ring), reference::vxm(&$x.answer, grid, $ring)),
                            _ => self.push(a.mxv($x.expression, $ring), reference::mxv(grid, &$x.answer, $ring)),
                        }
                    };
                }
                macro_rules! two {
                    ($verb:ident, $x:ident, $y:ident) => {
                        match bytes.next() % 4 {
                            0 => self.push(
                                $x.expression.$verb($y.expression, PLUS),
                                reference::$verb(&$x.answer, &$y.answer, PLUS),
                            ),
                            1 => self.push(
                                $x.expression.$verb($y.expression, MIN),
                                reference::$verb(&$x.answer, &$y.answer, MIN),
                            ),
                            2 => self.push(
                                $x.expression.$verb($y.expression, MINUS),
                                reference::$verb(&$x.answer, &$y.answer, MINUS),
                            ),
                            _ => self.push(
                                $x.expression.$verb($y.expression, FIRST),
                                reference::$verb(&$x.answer, &$y.answer, FIRST),
                            ),
                        }
                    };
                }
                match bytes.next() % 9 {
                    0 => {
                        let at = bytes.below(self.stack.len());
                        self.stack.push(self.stack[at].clone());
                    }
                    1 => {
                        let (x, op) = (self.pop(), PLUS.bind(<$t>::of(bytes.next())));
                        self.push(x.expression.map(op), reference::map(&x.answer, op));
                    }
                    2 => {
                        let (y, x) = (self.pop(), self.pop());
                        two!(ewise_add, x, y);
                    }
                    3 => {
                        let (y, x) = (self.pop(), self.pop());
                        two!(ewise_mult, x, y);
                    }
                    4 => {
                        let (x, op) = (self.pop(), GT.bind(<$t>::of(bytes.next())));
                        self.push(x.expression.select(op), reference::select(&x.answer, op));
                    }
                    5 => {
                        let (x, value) = (self.pop(), <$t>::of(bytes.next()));
                        self.push(x.expression.or(value), reference::or(&x.answer, value));
                    }
                    6 => {
                        let (mask, x) = (self.pop(), self.pop());
                        let selected = reference::structural(&mask.answer);
                        match bytes.next() % 2 {
                            0 => self.push(x.expression.mask(mask.expression), reference::masked(&x.answer, &selected)),
                            _ => {
                                let others = reference::complement(&selected);
                                self.push(x.expression.mask(!mask.expression), reference::masked(&x.answer, &others));
                            }
                        }
                    }
                    _ => {
                        let x = self.pop();
                        match bytes.next() % 4 {
                            0 => product!(x, MIN_PLUS),
                            1 => product!(x, PLUS_TIMES),
                            2 => product!(x, MAX_FIRST),
                            _ => product!(x, MAX_PLUS),
                        }
                    }
                }
            }

            fn run(bytes: &mut Bytes<'_>) {
                let n = 1 + bytes.below(70);
                let way = Forced {
                    direction: [None, Some(Direction::Push), Some(Direction::Pull)][bytes.below(3)],
                    format: [None, Some(Format::Csr), Some(Format::Tiles)][bytes.below(3)],
                    ..Forced::default()
                };
                let mut grid: Grid<$t> = reference::grid(n, n, |_, _| None);
                for _ in 0..bytes.next() {
                    let (i, j, value) = (bytes.below(n), bytes.below(n), <$t>::of(bytes.next()));
                    grid.rows[i][j] = Some(value);
                }
                let triples = grid.rows.iter().enumerate().flat_map(|(i, row)| {
                    row.iter().enumerate().filter_map(move |(j, x)| x.map(|x| (i as u32, j as u32, x)))
                });
                let a = Matrix::from_triples(n, n, triples).expect("no entry repeats");
                let leaves: Vec<(Vector<$t>, Dense<$t>)> =
                    (0..3).map(|_| vector::<$t>(bytes, n)).map(|dense| (stored(&dense), dense)).collect();
                let arena = Bump::new();
                let mut machine = Machine { arena: &arena, stack: Vec::new() };
                for (vector, answer) in &leaves {
                    machine.push(vector, answer.clone());
                }
                for _ in 0..bytes.below(12) {
                    machine.step(bytes, &a, &grid);
                }
                let Both { expression, answer } = machine.pop();
                let found = force(way, || expression.eval()).expect("shapes fit");
                let same = (0..n).all(|i| found.get(i as u32).map(Element::bits) == answer[i].map(Element::bits));
                assert!(same, "{way:?}, {} steps: found {found:?}, expected {answer:?}", machine.stack.len());
                let sum = force(way, || expression.reduce(PLUS)).expect("shapes fit");
                assert_eq!(sum.bits(), reference::reduce(&answer, PLUS).bits(), "{way:?}: the sum of {answer:?}");
            }
        }
    };
}
machine!(u32);
machine!(f32);

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    match bytes.next() % 2 {
        0 => Machine::<u32>::run(&mut bytes),
        _ => Machine::<f32>::run(&mut bytes),
    }
});
