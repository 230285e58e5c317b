use vxm_semiring::op;

#[op]
fn twice(a: u32) -> u32 {
    let b = 2;
    a * b
}

#[op]
fn loose(a: u32) -> u32 {
    let b = callee(a, 3);
    b
}

#[op]
fn callee(a: u32, b: u32) -> u32 {
    a + b
}

fn main() {}
