use vxm_semiring::op;

const IN: u32 = 7;

#[op]
fn next(a: u32) -> bool {
    IN + 1 == a
}

#[op]
fn following(a: u32) -> bool {
    a > 3 && IN > 1
}

fn main() {}
