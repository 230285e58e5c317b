use vxm_semiring::op;

#[op]
fn name(a: u32) -> u32 {
    match a {
        0 => 1,
        _ => a,
    }
}

fn main() {}
