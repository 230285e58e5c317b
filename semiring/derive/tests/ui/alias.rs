use vxm_semiring::{UnaryOp, op};

#[op("twice")]
fn twice(a: u32) -> u32 {
    a + a
}

/// The operator has a name of its own, so a variable may have the function's.
#[op(THRICE)]
fn thrice(a: u32) -> u32 {
    a * 3
}

#[op]
fn parent(a: u32) -> u32 {
    a
}

fn main() {
    let thrice = thrice(2) + THRICE.call(2);
    let parent = parent(thrice);
}
