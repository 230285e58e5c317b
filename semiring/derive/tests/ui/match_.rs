use vxm_semiring::{Edge, op, scalar};

#[op]
fn name(a: f32) -> u32 {
    match a {
        0.0 => 1,
        _ => 2,
    }
}

#[op]
fn missing(a: u32, status: Edge) -> u32 {
    match (a, status) {
        (0..=9, _) => 1,
        (_, Edge::Final) => 2,
    }
}

#[op]
fn parts(a: u32, b: u32) -> u32 {
    match (a, b) {
        (x, 1) | (1, x) => x,
        _ => 0,
    }
}

#[scalar]
struct Hop {
    cost: u32,
    parent: u32,
}

#[op]
fn field(a: Hop) -> u32 {
    match a {
        Hop { price: 0, .. } => 1,
        _ => a.cost,
    }
}

fn main() {}
