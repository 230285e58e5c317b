use vxm_semiring::op;

#[op]
fn overwrite(a: u32) -> u32 {
    a = 3;
    a
}

#[op]
fn whole(a: f32) -> f32 {
    a + 1
}

#[op]
fn idle(a: u32) -> u32 {
    a + 1;
    a
}

fn main() {}
