use vxm_semiring::op;

#[op]
fn wave(a: f32) -> f32 {
    a.tan()
}

#[op]
fn letters(a: f32) -> f32 {
    a.sqr()
}

#[op]
fn far(a: f32) -> f32 {
    a.interpolate_between_neighbours(a)
}

#[op]
fn count(a: u32) -> u32 {
    a.clamp(3)
}

fn main() {}
