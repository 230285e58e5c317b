use vxm_semiring::op;

#[op]
fn index(a: usize) -> u32 {
    a as u32
}

#[op]
fn nothing(a: u32) {}

#[op]
fn many(a: u32, b: u32, c: u32, d: u32) -> u32 {
    a
}

fn main() {}
