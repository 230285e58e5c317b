use vxm_semiring::op;

#[op]
fn close(a: u32) -> u32 {
    let f: u32 = (|x: u32| x)(a);
    f
}

fn main() {}
