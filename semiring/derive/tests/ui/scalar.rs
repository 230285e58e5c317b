use vxm_semiring::{op, scalar};

#[scalar]
struct Padded {
    kind: u8,
    cost: u32,
}

#[scalar]
struct Odd {
    cost: u32,
    kind: u8,
}

#[scalar]
struct Large {
    cost: u64,
    parent: u64,
    hops: u8,
}

#[scalar]
struct Between {
    cost: u64,
    parent: u32,
}

#[scalar]
struct Pair(u32, u32);

#[scalar]
struct Any<T> {
    cost: T,
}

#[scalar]
struct Text {
    name: String,
}

#[op]
fn both(a: u32, b: u32) -> (u32, u32) {
    (a, b)
}

#[op]
fn five(a: u32) -> u32 {
    let (b, ..) = (a, a, a, a, a);
    b
}

fn main() {}
