use vxm_semiring::op;

#[op]
fn pick<T>(a: T, b: T) -> T {
    a
}

fn main() {}
