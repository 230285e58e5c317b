use vxm_semiring::op;

#[op]
fn next(a: u32) -> bool {
    1 + 1 == 2
}

#[op]
fn following(a: u32) -> bool {
    a > 3 && {
        let three = 3;
        three > a
    }
}

fn main() {}
