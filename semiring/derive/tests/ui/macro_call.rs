use vxm_semiring::op;

#[op]
fn loud(a: u32) -> u32 {
    println!("{a}");
    a
}

fn main() {}
