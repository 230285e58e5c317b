//! The CUDA C++ side of an operator: how its text reaches a kernel.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::Element;
use crate::lowered::PRELUDE;

/// The device functions a kernel is composed of, each once, in an order in which callees stand before their callers.
///
/// ```
/// use vxm_semiring::{KernelText, PLUS, Source};
/// let mut text = KernelText::new();
/// assert_eq!(PLUS.source(&mut text), "vxm::add");
/// assert!(text.text().contains("namespace vxm"));
/// ```
#[derive(Debug, Default, Clone)]
pub struct KernelText {
    headers: BTreeSet<&'static str>,
    /// Whether the prelude is wanted, which stands before all functions.
    prelude: bool,
    functions: Vec<Function>,
    arguments: Option<Vec<u64>>,
}

#[derive(Debug, Clone)]
struct Function {
    name: Arc<str>,
    text: Arc<str>,
    /// Whether the name tells the text.
    hashed: bool,
}

impl KernelText {
    /// No functions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No functions yet; [constants](Self::constant) become arguments, so that one program serves all their values.
    pub fn with_arguments() -> Self {
        Self { arguments: Some(Vec::new()), ..Self::default() }
    }

    /// No functions yet; constants become arguments behind these, those of another text that [adopts](Self::adopt) this one.
    pub fn after(arguments: Vec<u64>) -> Self {
        Self { arguments: Some(arguments), ..Self::default() }
    }

    /// An expression for a value that an operator is bound to: its literal, or a place in `vxm_args`.
    ///
    /// ```
    /// use vxm_semiring::KernelText;
    /// assert_eq!(KernelText::new().constant(7u32), "7u");
    /// let mut text = KernelText::with_arguments();
    /// assert_eq!(text.constant(7u32), "vxm::element<unsigned int>(vxm_args[0])");
    /// assert_eq!(text.arguments(), [7]);
    /// ```
    pub fn constant<T: Element>(&mut self, value: T) -> String {
        T::declare(self);
        let Some(arguments) = &mut self.arguments else { return value.literal() };
        arguments.push(value.bits());
        format!("vxm::element<{}>(vxm_args[{}])", T::CUDA, arguments.len() - 1)
    }

    /// The bits of the constants that became arguments, in the order of their places.
    pub fn arguments(&self) -> &[u64] {
        self.arguments.as_deref().unwrap_or_default()
    }

    /// Adds `#include <header>`, once, before all functions.
    pub fn include(&mut self, header: &'static str) {
        self.headers.insert(header);
    }

    /// Adds the [operations](crate::lowered) that all operators' text rests on, once.
    pub fn prelude(&mut self) {
        self.prelude = true;
    }

    /// Adds the function `name` with its whole text, unless it is there already.
    pub fn define(&mut self, name: &str, text: impl Into<String>) {
        if !self.defines(name) {
            self.functions.push(Function { name: name.into(), text: text.into().into(), hashed: false });
        }
    }

    /// Adds a function named after a `key` that tells its text from all others' of that stem, and returns the name: `{stem}_{hash}`. The text
    /// is made, from the name, if it isn't there already.
    pub fn define_keyed(&mut self, stem: &str, key: &str, text: impl FnOnce(&str) -> String) -> String {
        let name = format!("{stem}_{:016x}", fnv1a(key.as_bytes()));
        if !self.defines(&name) {
            self.functions.push(Function { name: (&*name).into(), text: text(&name).into(), hashed: true });
        }
        name
    }

    /// Adds a function named after its own content and returns the name: `{stem}_{hash}`.
    ///
    /// `text` makes the whole text from the name. Two operators that share a Rust name but not a text (or the constants
    /// spliced into it) so never meet in one kernel.
    pub fn define_hashed(&mut self, stem: &str, text: impl Fn(&str) -> String) -> String {
        self.define_keyed(stem, &text(stem), &text)
    }

    /// Adds what `make` adds to an empty text, made once and kept in `made`; returns what `make` does.
    pub fn once(&mut self, made: &'static Made, make: fn(&mut Self) -> String) -> String {
        let (name, added) = made.0.get_or_init(|| {
            let mut text = Self::new();
            let name = make(&mut text);
            (name, text)
        });
        self.adopt(added);
        name.clone()
    }

    /// Adds what is in another text. If that has arguments, it was begun [after](Self::after) this one's, which are the first of its.
    ///
    /// # Panics
    /// It wasn't.
    pub fn adopt(&mut self, other: &Self) {
        self.prelude |= other.prelude;
        self.headers.extend(&other.headers);
        for function in &other.functions {
            if !self.defines(&function.name) {
                self.functions.push(function.clone());
            }
        }
        if let (Some(own), Some(arguments)) = (&mut self.arguments, &other.arguments) {
            assert!(arguments.starts_with(own), "the text was begun after other arguments");
            own.clone_from(arguments);
        }
    }

    fn defines(&self, name: &str) -> bool {
        self.functions.iter().any(|function| &*function.name == name)
    }

    /// The text of all: headers, then functions, callees first.
    pub fn text(&self) -> String {
        let prelude = if self.prelude { [PRELUDE, "\n"].concat() } else { String::new() };
        format!("{}{prelude}{}", self.headers(), self.definitions())
    }

    /// The text of all, with a library between the prelude and the functions that may call it.
    pub fn text_over(&self, library: &[&str]) -> String {
        [&self.headers(), PRELUDE, "\n", &library.concat(), &self.definitions()].concat()
    }

    /// Adds to `key` what tells this text from others over the same library.
    pub fn sign(&self, key: &mut String) {
        for header in &self.headers {
            key.push_str(header);
            key.push('\n');
        }
        for function in &self.functions {
            key.push_str(&function.name);
            key.push('\n');
            if !function.hashed {
                key.push_str(&function.text);
            }
        }
    }

    fn headers(&self) -> String {
        self.headers.iter().map(|header| format!("#include <{header}>\n")).collect()
    }

    /// The functions beside the prelude.
    fn definitions(&self) -> String {
        self.functions.iter().flat_map(|function| [&*function.text, "\n"]).collect()
    }
}

/// What an operator adds to a kernel, once it was asked for: it is the same every time.
#[derive(Debug, Default)]
pub struct Made(OnceLock<(String, KernelText)>);

impl Made {
    /// Not asked for yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// The FNV-1a hash: stable across platforms and releases, which the standard hashers do not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Something whose CUDA C++ text can be spliced into a kernel.
pub trait Source: Copy + Send + Sync + 'static {
    /// Adds the device function and all it calls to `text`; returns what to call, so that `{name}(a, b)` is an expression.
    ///
    /// The arguments must have exactly the types of the operands: C++ would convert others silently.
    fn source(self, text: &mut KernelText) -> String;

    /// Adds the bits of the [constants](KernelText::constant) that [`source`](Self::source) makes arguments of, in their order, and returns
    /// `true`, if its type and how many there are before tell all the rest of its text. A kernel that is there already is then found without
    /// making the text, and nobody looks again: where the text depends on more, another's kernel runs. `false`, the default, is always right,
    /// whatever was added, and has the text made at each call.
    fn constants(self, _bits: &mut Vec<u64>) -> bool {
        false
    }
}
