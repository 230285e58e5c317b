use vxm_semiring::op;

#[op]
fn half(a: u32) -> u32 {
    if a > 3 { 1 }
}

fn main() {}
