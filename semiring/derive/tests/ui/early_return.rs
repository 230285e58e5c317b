use vxm_semiring::op;

#[op]
fn leave(a: u32) -> u32 {
    1 + if a == 0 { return 1 } else { 2 }
}

#[op]
fn nothing(a: u32) -> u32 {
    if a == 0 {
        return;
    }
    a
}

fn main() {}
