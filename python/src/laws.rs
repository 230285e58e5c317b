//! The laws of monoids over structs, tried on structs with extreme fields. Those over numbers are checked by `vxm::semiring::laws`.

use crate::kinds::Struct;
use crate::programs::Monoid;
use pyo3::prelude::*;

/// A law that doesn't hold, and an example.
pub struct Broken {
    /// Its name, as in [`vxm::semiring::laws::Law`].
    pub law: &'static str,
    pub what: String,
}

impl Monoid {
    /// The first law that fails on structs with extreme fields.
    pub fn broken_over(&self, py: Python<'_>, of: &Struct) -> PyResult<Option<Broken>> {
        let op = |a: u64, b: u64| self.op.code.call_bits([a, b, 0]);
        let (samples, zero) = (of.samples(), self.identity);
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
                if found != a {
                    return broken("Identity", text, found, a, &[a]);
                }
            }
            if let Some((t, found)) = self.terminal.map(|t| (t, op(t, a))).filter(|(t, found)| t != found) {
                return broken("Terminal", "t + a == t, t terminal", found, t, &[a]);
            }
            for &b in &samples {
                let (ab, ba) = (op(a, b), op(b, a));
                if self.commutative && ab != ba {
                    return broken("Commutativity", "a + b == b + a", ab, ba, &[a, b]);
                }
                for &c in samples.iter().filter(|_| self.exact) {
                    let (left, right) = (op(ab, c), op(a, op(b, c)));
                    if left != right {
                        return broken("Associativity", "(a + b) + c == a + (b + c)", left, right, &[a, b, c]);
                    }
                }
            }
        }
        Ok(None)
    }
}
