//! The impedance of an electrical network at one frequency: a semiring over complex numbers, as elements of 16 bytes.
//!
//! `Y[i, j]` is the admittance between two nodes, and each node also leads to the ground. Kirchhoff's law says of the voltages `v` under
//! currents `i` into the nodes: `v[k] * total[k] = i[k] + sum over j of v[j] * Y[j, k]`. Jacobi's method repeats that until it holds.

use vxm::prelude::*;

/// A complex number.
#[scalar]
struct Complex {
    re: f64,
    im: f64,
}
const ZERO: Complex = Complex { re: 0.0, im: 0.0 };
const ONE: Complex = Complex { re: 1.0, im: 0.0 };

#[op]
fn plus(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re + b.re, im: a.im + b.im }
}
/// Sums of floats aren't exact: they are taken in one order everywhere, so the bits are the same.
impl Monoid<Complex> for plus {
    const IDENTITY: Complex = ZERO;
    const EXACT: bool = false;
    const COMMUTATIVE: bool = true;
}
#[op]
fn times(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}
#[op]
fn over(a: Complex, b: Complex) -> Complex {
    let size = b.re * b.re + b.im * b.im;
    Complex { re: (a.re * b.re + a.im * b.im) / size, im: (a.im * b.re - a.re * b.im) / size }
}
#[op]
fn distance(a: Complex, b: Complex) -> f64 {
    (a.re - b.re).abs().max((a.im - b.im).abs())
}

/// The voltages under `current`, with the admittances `y` between nodes and `ground` of each node to the ground.
fn voltages(y: &Matrix<Complex>, ground: &Vector<Complex>, current: &Vector<Complex>) -> Result<Vector<Complex>> {
    // total = ground + the sum of each row of Y; v = current / total
    let total = ground.ewise_add(&y.reduce_rows(plus)?, plus).eval()?;
    let mut v = current.ewise_mult(&total, over).eval()?;
    loop {
        // next = (current + v plus.times Y) / total
        let flows = current.ewise_add(v.vxm(y, semiring(plus, times)), plus);
        let next = flows.ewise_mult(&total, over).eval()?;
        let change = next.ewise_mult(&v, distance).reduce(MAX)?;
        v = next;
        if change < 1e-15 {
            return Ok(v);
        }
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // a ladder: resistors of 1 ohm in a row, and behind each a capacitor to the ground, of 0.7 ohm at this frequency
    const SECTIONS: u32 = 40;
    let (conductance, capacitor) = (ONE, Complex { re: 0.0, im: 1.0 / 0.7 });
    let sides = (0..SECTIONS - 1).flat_map(|k| [(k, k + 1, conductance), (k + 1, k, conductance)]);
    let y = Matrix::from_triples(SECTIONS as usize, SECTIONS as usize, sides)?;
    let ground = Vector::full(SECTIONS as usize, capacitor);
    // one ampere into the first node
    let current = Vector::from_pairs(SECTIONS as usize, [(0, ONE)])?.or(ZERO).eval()?;
    // on a GPU if there is one; the answer has the same bits
    let v = Device::auto().scope(|| voltages(&y, &ground, &current))?;
    let found = v.get(0).ok_or("no voltage at the first node")?;

    // the same by the rules of circuits, from the last section on: in parallel with a capacitor, then in series with a resistor
    let parallel = |z: Complex| over(ONE, plus(capacitor, over(ONE, z)));
    let last = over(ONE, capacitor);
    let expected = (1..SECTIONS).fold(last, |z, _| parallel(plus(z, ONE)));
    println!(
        "impedance: {:.9} {:+.9}i ohm; by the rules of circuits {:.9} {:+.9}i",
        found.re, found.im, expected.re, expected.im
    );
    assert!(distance(found, expected) < 1e-12);

    // what flows in flows out, through the capacitors
    let out = v.ewise_mult(&ground, times).reduce(plus)?;
    assert!(distance(out, ONE) < 1e-12);
    println!("digest {:016x}", v.digest());
    Ok(())
}
