use vxm_semiring::op;

#[op]
fn entry(a: u32, b: ()) -> u32 {
    b
}

fn main() {}
