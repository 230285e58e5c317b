use vxm_semiring::op;

#[op]
fn read(a: &u32) -> u32 {
    *a
}

#[op]
fn borrow(a: u32) -> u32 {
    max(&a, &a)
}

fn main() {}
