use vxm_semiring::op;

#[op]
fn twice(a: u32) -> u32 {
    let b = a + a;
    b
}

fn main() {}
