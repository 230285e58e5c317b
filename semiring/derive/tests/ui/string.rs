use vxm_semiring::op;

#[op]
fn say(a: u32) -> u32 {
    "a"
}

fn main() {}
