//! The laws of monoids over structs, tried on structs with extreme fields, but NaN. Those over numbers are checked by `vxm::semiring::laws`.

use crate::kinds::Struct;
use crate::programs::Monoid;
use pyo3::prelude::*;
use vxm::semiring::laws::Law;

/// A law that doesn't hold, and an example.
pub struct Broken {
    pub law: Law,
    pub what: String,
}

impl Monoid {
    /// The first law that fails on structs with extreme fields. If the monoid isn't exact, 0.0 and -0.0 are equal.
    pub fn broken_over(&self, py: Python<'_>, of: &Struct) -> PyResult<Option<Broken>> {
        let op = |a: u64, b: u64| self.op.code.call_bits([a, b, 0]);
        let (samples, zero) = (of.samples(), self.identity);
        let differ = |x: u64, y: u64| x != y && (self.exact || !of.alike(x, y));
        let broken = |law, text: &str, found: u64, expected: u64, operands: &[u64]| {
            let mut shown = Vec::new();
            for (name, operand) in ["a", "b", "c"].iter().zip(operands) {
                shown.push(format!("{name} = {}", of.shown(py, *operand)?));
            }
            let (found, expected) = (of.shown(py, found)?, of.shown(py, expected)?);
            Ok(Some(Broken { law, what: format!("{text}: {found}, not {expected}, for {}", shown.join(", ")) }))
        };
        for &a in &samples {
            for (text, found) in [("0 + a == a", op(zero, a)), ("a + 0 == a", op(a, zero))] {
                if differ(found, a) {
                    return broken(Law::Identity, text, found, a, &[a]);
                }
            }
            if let Some((t, found)) = self.terminal.map(|t| (t, op(t, a))).filter(|(t, found)| differ(*t, *found)) {
                return broken(Law::Terminal, "t + a == t, t terminal", found, t, &[a]);
            }
            for &b in &samples {
                let (ab, ba) = (op(a, b), op(b, a));
                if self.commutative && differ(ab, ba) {
                    return broken(Law::Commutativity, "a + b == b + a", ab, ba, &[a, b]);
                }
                for &c in samples.iter().filter(|_| self.exact) {
                    let (left, right) = (op(ab, c), op(a, op(b, c)));
                    if left != right {
                        return broken(Law::Associativity, "(a + b) + c == a + (b + c)", left, right, &[a, b, c]);
                    }
                }
            }
        }
        Ok(None)
    }
}
