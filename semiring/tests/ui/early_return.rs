use vxm_semiring::op;

#[op]
fn leave(a: u32) -> u32 {
    if a == 0 {
        return 1;
    }
    a
}

fn main() {}
