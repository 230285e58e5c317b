use vxm_semiring::op;

#[op]
fn pick<T>(a: T, b: T) -> T {
    a
}

#[op]
fn made<T: Number>(a: u32) -> T {
    a as T
}

#[op]
fn three<T: Number>(a: T) -> T {
    a + 3
}

#[op]
fn most<T: Number>(a: T) -> T {
    a.min(T::MAX)
}

#[op]
fn half<T: Float + Copy>(a: T) -> T {
    a
}

fn main() {}
