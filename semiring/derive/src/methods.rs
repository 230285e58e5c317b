//! The methods of numbers that an operator may call, and what a refusal says to write instead of others.

/// The types of a method's operands and result.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// `(T) -> T`
    Unary,
    /// `(T, T) -> T`
    Binary,
    /// `(T, T, T) -> T`
    Ternary,
    /// `(T, u32) -> T`
    Counted,
    /// `(T) -> u32`
    Count,
    /// `(T) -> bool`
    Test,
    /// `(T, T)` to the unsigned type of the same width
    Distance,
    /// `(T)` to the unsigned type of the same width
    Bits,
}

impl Shape {
    /// The number of operands, the receiver included.
    pub fn operands(self) -> usize {
        match self {
            Shape::Unary | Shape::Count | Shape::Test | Shape::Bits => 1,
            Shape::Binary | Shape::Counted | Shape::Distance => 2,
            Shape::Ternary => 3,
        }
    }

    /// Whether all operands have one type.
    pub fn is_uniform(self) -> bool {
        matches!(self, Shape::Binary | Shape::Ternary | Shape::Distance)
    }

    /// Whether the result has the first operand's type.
    pub fn returns_operand(self) -> bool {
        matches!(self, Shape::Unary | Shape::Binary | Shape::Ternary | Shape::Counted)
    }
}

/// The methods: name, function of `lowered`, shape.
const METHODS: &[(&str, &str, Shape)] = &[
    ("abs", "abs", Shape::Unary),
    ("abs_diff", "abs_diff", Shape::Distance),
    ("ceil", "ceil", Shape::Unary),
    ("clamp", "clamp", Shape::Ternary),
    ("copysign", "copysign", Shape::Binary),
    ("cos", "cos", Shape::Unary),
    ("count_ones", "count_ones", Shape::Count),
    ("count_zeros", "count_zeros", Shape::Count),
    ("exp", "exp", Shape::Unary),
    ("exp2", "exp2", Shape::Unary),
    ("exp_m1", "exp_m1", Shape::Unary),
    ("floor", "floor", Shape::Unary),
    ("is_finite", "is_finite", Shape::Test),
    ("is_infinite", "is_infinite", Shape::Test),
    ("is_nan", "is_nan", Shape::Test),
    ("leading_ones", "leading_ones", Shape::Count),
    ("leading_zeros", "leading_zeros", Shape::Count),
    ("ln", "ln", Shape::Unary),
    ("ln_1p", "ln_1p", Shape::Unary),
    ("log10", "log10", Shape::Unary),
    ("log2", "log2", Shape::Unary),
    ("max", "max", Shape::Binary),
    ("min", "min", Shape::Binary),
    ("mul_add", "mul_add", Shape::Ternary),
    ("pow", "pow", Shape::Counted),
    ("powf", "powf", Shape::Binary),
    ("reverse_bits", "reverse_bits", Shape::Unary),
    ("rotate_left", "rotate_left", Shape::Counted),
    ("rotate_right", "rotate_right", Shape::Counted),
    ("round", "round", Shape::Unary),
    ("saturating_add", "saturating_add", Shape::Binary),
    ("saturating_mul", "saturating_mul", Shape::Binary),
    ("saturating_sub", "saturating_sub", Shape::Binary),
    ("signum", "signum", Shape::Unary),
    ("sin", "sin", Shape::Unary),
    ("sqrt", "sqrt", Shape::Unary),
    ("tanh", "tanh", Shape::Unary),
    ("to_bits", "to_bits", Shape::Bits),
    ("trailing_ones", "trailing_ones", Shape::Count),
    ("trailing_zeros", "trailing_zeros", Shape::Count),
    ("trunc", "trunc", Shape::Unary),
    ("wrapping_abs", "abs", Shape::Unary),
    ("wrapping_add", "add", Shape::Binary),
    ("wrapping_mul", "mul", Shape::Binary),
    ("wrapping_neg", "neg", Shape::Unary),
    ("wrapping_pow", "pow", Shape::Counted),
    ("wrapping_shl", "shl", Shape::Counted),
    ("wrapping_shr", "shr", Shape::Counted),
    ("wrapping_sub", "sub", Shape::Binary),
];

/// Functions of floats. A kernel has their text only if an operator calls them.
const ELEMENTARY: [&str; 11] = ["cos", "exp", "exp2", "exp_m1", "ln", "ln_1p", "log10", "log2", "powf", "sin", "tanh"];

/// Methods that are casts, with the type they cast to: `x.to_f32()`.
pub const CASTS: &[(&str, &str)] = &[("to_f32", "f32"), ("to_f64", "f64")];

/// What to write instead of a method that isn't there.
const INSTEAD: &[(&str, &str)] = &[
    ("acos", "a polynomial of your own"),
    ("asin", "a polynomial of your own"),
    ("atan", "a polynomial of your own"),
    ("cbrt", "`x.powf(1.0 / 3.0)`"),
    ("checked_add", "`saturating_add`, or `+`, which wraps"),
    ("checked_div", "`/`, which gives 0 where the divisor is 0"),
    ("checked_mul", "`saturating_mul`, or `*`, which wraps"),
    ("checked_sub", "`saturating_sub`, or `-`, which wraps"),
    ("clone", "the value itself: all values are copied"),
    ("cmp", "`a < b` and `a == b`"),
    ("cosh", "`(x.exp() + (-x).exp()) * 0.5`"),
    ("eq", "`a == b`"),
    ("fract", "`x - x.trunc()`"),
    ("from", "`as`"),
    ("hypot", "`(a * a + b * b).sqrt()`"),
    ("ilog2", "`31 - x.leading_zeros()`, for a width of 32"),
    ("into", "`as`"),
    ("is_negative", "`x < 0`"),
    ("is_positive", "`x > 0`"),
    ("is_power_of_two", "`x.count_ones() == 1`"),
    ("is_sign_negative", "`1.0f32.copysign(x) < 0.0`"),
    ("is_sign_positive", "`1.0f32.copysign(x) > 0.0`"),
    ("log", "`a.ln() / b.ln()`"),
    ("partial_cmp", "`a < b` and `a == b`"),
    ("powi", "`powf` of a float, or `pow` of an integer"),
    ("recip", "`1.0 / x`"),
    ("rem_euclid", "`((a % b) + b) % b`"),
    ("sin_cos", "`sin` and `cos`"),
    ("sinh", "`(x.exp() - (-x).exp()) * 0.5`"),
    ("tan", "`x.sin() / x.cos()`"),
    ("total_cmp", "`a < b` and `a == b`"),
    ("unwrap_or", "an `if`"),
    ("wrapping_div", "`/`, which wraps"),
    ("wrapping_rem", "`%`, which wraps"),
];

/// The function of `lowered` for a method, and its shape.
pub fn method(name: &str) -> Option<(&'static str, Shape)> {
    let found = METHODS.iter().find(|(known, ..)| *known == name)?;
    Some((found.1, found.2))
}

/// Whether kernels have the function's text only where it is called.
pub fn is_elementary(function: &str) -> bool {
    ELEMENTARY.contains(&function)
}

/// The message for a method that isn't there: what to write instead, or the nearest name.
pub fn unknown(name: &str) -> String {
    if let Some((_, instead)) = INSTEAD.iter().find(|(known, _)| *known == name) {
        return format!("`#[op]` has no `{name}`: write {instead}");
    }
    let names = METHODS.iter().map(|(name, ..)| *name).chain(CASTS.iter().map(|(name, _)| *name));
    let nearest = names.map(|known| (distance(known, name), known)).min();
    match nearest {
        Some((far, known)) if far <= 1 + name.len() / 4 => format!("`#[op]` has no `{name}`: did you mean `{known}`?"),
        _ => format!(
            "`#[op]` has no `{name}`: call another `#[op]` that computes it, or a function of `vxm_semiring::lowered` as a method"
        ),
    }
}

/// The least number of letters to insert, delete or replace that makes `b` of `a` (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
