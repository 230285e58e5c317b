use vxm_semiring::op;

#[op]
fn wave(a: f32) -> f32 {
    a.sin()
}

fn main() {}
