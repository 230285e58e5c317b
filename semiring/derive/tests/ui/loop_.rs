use vxm_semiring::op;

#[op]
fn sum(n: u32) -> u32 {
    let mut s: u32 = 0;
    for i in 0..n {
        s += i;
    }
    s
}

fn main() {}
