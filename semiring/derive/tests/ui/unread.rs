#![deny(unused_variables)]
use vxm_semiring::op;

#[op]
fn first(a: u32, edge: u32, _weight: u32) -> u32 {
    let spare = a + 1;
    let (x, y) = (a, 2u32);
    match a {
        0 => x,
        n => a,
    }
}

fn main() {}
