//! Operators with `match`, `return`, tuples, structs and type parameters.

use super::{Program, STEP};
use vxm_semiring::*;

/// A step of a route: what it cost so far, and the vertex that it comes from.
#[scalar]
pub struct Hop {
    cost: u32,
    parent: u32,
}

/// Fields of several sizes.
#[scalar]
pub struct Mixed {
    wide: f32,
    narrow: i16,
    byte: u8,
    flag: bool,
}

const FAR: u32 = 1 << 20;
const NOWHERE: Hop = Hop { cost: u32::MAX, parent: 7 };

const START: Mixed = Mixed { wide: -1.5, narrow: -7, byte: 200, flag: true };
const LOW: Mixed = Mixed { wide: 0.0, narrow: 0, byte: 0, flag: false };

/// Structs: fields, construction in another order, patterns, an update, comparison.
#[op]
fn nearer(a: Hop, b: Hop) -> Hop {
    if a == b {
        return Hop { parent: a.parent / 2, ..a };
    }
    match a {
        Hop { cost: 0, .. } => Hop { parent: b.parent, cost: 1u32 },
        Hop { cost: FAR.., parent } if parent > 7 => Hop { cost: FAR, parent: parent - 7 },
        Hop { cost, parent: 1 | 2 } => Hop { cost: cost + b.cost, parent: 3u32 },
        Hop { cost: 9, .. } => NOWHERE,
        _ if a.cost < b.cost || a.cost == b.cost && a.parent <= b.parent => a,
        _ => b,
    }
}

/// Fields that are assigned to, of types that C++ would promote.
#[op]
fn mixed(mut a: Mixed, b: Mixed) -> Mixed {
    a.wide = a.wide.max(b.wide);
    if a.flag {
        a.narrow -= b.narrow * 3;
    } else {
        a.byte = a.byte + b.byte;
    }
    let Mixed { byte, flag: other, .. } = if b == LOW { START } else { b };
    let sum = byte + a.byte;
    a.flag = !other && sum > 7;
    a
}

/// `match` on an integer: constants, ranges, alternatives, names, guards; and `return` within.
#[op]
fn judge(kind: i16, x: i32) -> i32 {
    let scale = match kind {
        -3 => -1,
        STEP => 7,
        0 | 1 => 2,
        2..=9 => 3i32,
        n @ 10..20 if x > n as i32 => n as i32 - x,
        i16::MIN..=-100 => return x,
        n => {
            let twice = n * 2;
            twice as i32
        }
    };
    if scale == 7 {
        return 0;
    }
    let y = match x & 3 {
        0 => x / 2,
        1 => {
            let z = x - 1;
            z * scale
        }
        _ => -x,
    };
    y + scale
}

/// Tuples, of `if`s and of functions' results; literals that take the type of a call; an unknown type of a variable.
#[op]
fn sorted(a: u8, b: u8) -> u8 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let pair = (high - low, judge(a as i16, 3i32) as u8);
    let (mut rest, (third, _)): (u8, (bool, u8)) = (pair.1, (pair.0 > 3, 1));
    rest += match (third, low) {
        (true, 0..=9) => 1,
        (false, x) | (true, x) if x > 200 => 3,
        (_, 100) => 0,
        (_, other) => other,
    };
    let doubled = thrice.call(rest) + 1;
    if doubled > 9 { doubled - low } else { 2 + thrice.call(doubled) }
}

/// One text for all numbers.
#[op]
fn thrice<T: Number>(a: T) -> T {
    let two = 2u8 as T;
    if a == T::GREATEST || a < T::ZERO {
        return T::LEAST + T::ONE;
    }
    T::max(a * two + a, a)
}

/// The logarithm of a sum of exponentials.
#[op]
fn log_sum<T: Float>(a: T, b: T) -> T {
    let (high, low) = (a.max(b), a.min(b));
    if low == T::LEAST {
        return high;
    }
    high + (low - high).exp().ln_1p()
}

/// Methods that are new in this file.
#[op]
fn methods(a: f32, b: f32) -> f64 {
    let bits = a.to_bits() ^ b.to_bits().rotate_left(3);
    let near = f32::from_bits(bits).clamp(-1000.0, 1000.0);
    let product = a.mul_add(b, near).round();
    let far = (bits as i32).abs_diff(17);
    product.copysign(b) as f64 + far as f64 * near.signum().to_f64() + a.abs().powf(0.5).sin() as f64
}

#[test]
fn operators_that_grew() {
    let mut program = Program::default();
    program.binary::<Hop, Hop, _>(nearer);
    program.binary::<Mixed, Mixed, _>(mixed);
    program.binary::<i16, i32, _>(judge);
    program.binary::<u8, u8, _>(sorted);
    for_each!(&mut program; i8 i64 u16 u32 f32 f64 => |p, T| { p.unary::<T, _>(thrice); });
    program.binary::<f32, f32, _>(log_sum);
    program.binary::<f64, f64, _>(log_sum);
    program.binary::<f32, f32, _>(methods);
    program.run();
}

/// An unread variable beside a read one of a similar name.
#[op]
#[allow(unused_variables)]
fn unread(a: u32, b: u32) -> u32 {
    let _x = a;
    let x = b;
    _x
}

/// A variable that changes while a name stands for what it was.
#[op]
fn before_and_after(mut a: u32, b: u32) -> u32 {
    let r: u32 = match a {
        n => {
            if b > 3 {
                a = a + 1;
                n
            } else {
                n
            }
        }
    };
    r + a * 16
}

/// A literal beside a block, and literals of structs' fields.
#[op]
fn beside_blocks(a: Hop, b: Hop) -> Hop {
    let mut made = Hop { cost: 0, parent: b.cost };
    let r = {
        let t = doubled(a.cost);
        t
    } + 1;
    made.cost = 7;
    if (Hop { cost: 3, parent: r }).parent == 4 {
        made.cost = r;
    }
    Hop { parent: made.parent - 2, ..made }
}
#[op]
fn doubled(a: u32) -> u32 {
    a * 2
}

#[scalar]
pub struct Wide {
    v: i64,
}
#[scalar]
pub struct Setters {
    x: u8,
    set_x: u8,
    x_: u8,
    xset: u8,
}

/// The least literal where the type isn't known, names that setters might have, an arm behind one that always matches.
#[op]
#[allow(unreachable_patterns)]
fn odd_names(a: Wide, b: Setters) -> Setters {
    let negative = a.v == -9223372036854775808;
    match a {
        Wide { v: -9223372036854775808 } => return Setters { x: 1, set_x: 2, x_: 3, xset: 4 },
        Wide { v } if v < -1 => return Setters { set_x: b.x, ..b },
        _n => {
            if negative {
                return b;
            }
        }
        Wide { v: 0 } => return b,
    }
    Setters { xset: b.set_x, x_: b.xset, x: b.x_, set_x: b'x' }
}

type Cost = u32;

/// Another name of a type, type parameters named like macros, a shadowed name in an arm, a count of another type.
#[op]
fn other_names(a: Cost, b: u16) -> Cost {
    let kept = match b {
        a if a > 3 => a,
        _ => 0u16,
    };
    let one = match a {
        0 => 1,
        null if null > 9 => generic(null),
        _ => a + 1,
    };
    if one > 7 {
        return one - 2 << (small(kept as u8) + 1);
    } else {
        return (kept as u32) + 1;
    };
}
#[op]
fn generic<NULL: Number>(a: NULL) -> NULL {
    let half: f64 = halved(a);
    half as NULL
}
#[op]
#[allow(non_camel_case_types)]
fn halved<int: Number>(a: int) -> f64 {
    a as f64 / 2.
}
#[op]
fn small(a: u8) -> u8 {
    a & 3
}

#[test]
fn operators_that_were_attacked() {
    let mut program = Program::default();
    program.binary::<u32, u32, _>(unread);
    program.binary::<u32, u32, _>(before_and_after);
    program.binary::<Hop, Hop, _>(beside_blocks);
    program.binary::<Wide, Setters, _>(odd_names);
    program.binary::<u32, u16, _>(other_names);
    program.unary::<i16, _>(generic);
    program.unary::<u64, _>(halved);
    program.run();
}
