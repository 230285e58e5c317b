use vxm_semiring::{op, scalar};

#[op]
fn within(mut a: u32, b: u32) -> u32 {
    let r = { a = a + b; a } - { a = a * 3; a };
    r
}

#[op]
fn hidden(a: u32) -> u32 {
    #[cfg(any())]
    {
        return 0;
    }
    a
}

#[op(HOP)]
fn hop(a: u32) -> u32 {
    if a == 0 { 0 } else { HOP(a - 1) }
}

#[op]
fn again(a: u32) -> u32 {
    if a == 0 { 0 } else { self::again(a - 1) }
}

#[scalar]
struct Edge {
    cost: u32,
}

#[op]
fn twice(a: u32, a: u32) -> u32 {
    a
}

#[op]
fn both(a: u32, b: u32) -> u32 {
    match (a, b) {
        (x, x) => x,
    }
}

#[op]
fn tuples(a: u32, b: u32) -> bool {
    (a, b) == (b, a)
}

#[op]
fn swapped(mut a: u32, mut b: u32) -> u32 {
    (a, b) = (b, a);
    a
}

fn main() {}
