//! The CUDA C++ text of operators, and how it gets into a kernel.

use core::any::TypeId;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::Element;
use crate::lowered::PRELUDE;

/// The device functions of a kernel's operators: each function once, callees before callers.
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
    /// Whether the text needs the prelude, which precedes all functions.
    prelude: bool,
    functions: Vec<Function>,
    /// The bits of the constants that became arguments; `None` if constants are spliced in as literals.
    arguments: Option<Vec<u64>>,
}

#[derive(Debug, Clone)]
struct Function {
    name: Arc<str>,
    text: Arc<str>,
    /// Whether the name contains a hash that determines the text.
    hashed: bool,
}

impl KernelText {
    /// An empty text, in which constants are literals.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty text in which [constants](Self::constant) become kernel arguments, so that one compiled program serves all their values.
    pub fn with_arguments() -> Self {
        Self { arguments: Some(Vec::new()), ..Self::default() }
    }

    /// An empty text in which constants become arguments that follow `arguments`. These are the arguments so far of the text that will
    /// [adopt](Self::adopt) this one.
    pub fn after(arguments: Vec<u64>) -> Self {
        Self { arguments: Some(arguments), ..Self::default() }
    }

    /// A CUDA C++ expression for a constant: its literal, or an element of `vxm_args` if this text collects arguments.
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
        let first = arguments.len();
        arguments.extend(value.words());
        let words: Vec<_> = (first..arguments.len()).map(|at| format!("vxm_args[{at}]")).collect();
        format!("vxm::element<{}>({})", T::CUDA, words.join(", "))
    }

    /// The bits of the constants that became arguments, in the order of their indices in `vxm_args`.
    pub fn arguments(&self) -> &[u64] {
        self.arguments.as_deref().unwrap_or_default()
    }

    /// Adds `#include <header>` before all functions, unless it is there already.
    pub fn include(&mut self, header: &'static str) {
        self.headers.insert(header);
    }

    /// Adds the [prelude](PRELUDE) with the operations that all operators' text uses, unless it is there already.
    pub fn prelude(&mut self) {
        self.prelude = true;
    }

    /// Adds the function `name`, with `text` as its whole definition, unless a function of that name is there already.
    pub fn define(&mut self, name: &str, text: impl Into<String>) {
        if !self.defines(name) {
            self.functions.push(Function { name: name.into(), text: text.into().into(), hashed: false });
        }
    }

    /// Adds a function named `{stem}_{hash of key}` and returns the name. `key` must determine the text among all functions of that stem.
    ///
    /// `text` makes the definition from the name. It is called only if no function of that name is there already.
    pub fn define_keyed(&mut self, stem: &str, key: &str, text: impl FnOnce(&str) -> String) -> String {
        let name = format!("{stem}_{:016x}", fnv1a(key.as_bytes()));
        if !self.defines(&name) {
            self.functions.push(Function { name: (&*name).into(), text: text(&name).into(), hashed: true });
        }
        name
    }

    /// Adds a function named after a hash of its own text, `{stem}_{hash}`, and returns the name.
    ///
    /// `text` makes the definition from the name. So two operators with the same Rust name but different text, or different constants
    /// spliced into it, get different functions in a kernel.
    pub fn define_hashed(&mut self, stem: &str, text: impl Fn(&str) -> String) -> String {
        self.define_keyed(stem, &text(stem), &text)
    }

    /// Adds what `make` adds to an empty text, and returns what `make` returns. `make` runs only once: `made` keeps its result.
    ///
    /// If `make` leads back to the same `made`, operators call each other in a circle. Then the text has an `#error`, and no kernel compiles.
    pub fn once(&mut self, made: &'static Made, make: fn(&mut Self) -> String) -> String {
        thread_local! {
            /// The addresses of what this thread is making.
            static MAKING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
        }
        /// Forgets the last address, also if `make` panics.
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                MAKING.with_borrow_mut(Vec::pop);
            }
        }
        let address = core::ptr::from_ref(made) as usize;
        if MAKING.with_borrow(|making| making.contains(&address)) {
            self.define("vxm_circle", "#error an #[op] calls itself by way of others: a kernel has no recursion");
            return "vxm_circle".to_owned();
        }
        MAKING.with_borrow_mut(|making| making.push(address));
        let _leave = Leave;
        let (name, added) = made.0.get_or_init(|| {
            let mut text = Self::new();
            let name = make(&mut text);
            (name, text)
        });
        self.adopt(added);
        name.clone()
    }

    /// Adds the headers, functions and arguments of another text. If both texts collect arguments, `other` must have been begun
    /// [after](Self::after) this one's, so that its arguments start with them.
    ///
    /// # Panics
    /// If the arguments of `other` do not start with this text's.
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

    /// The whole text: headers, prelude, then functions, callees first.
    pub fn text(&self) -> String {
        let prelude = if self.prelude { [PRELUDE, "\n"].concat() } else { String::new() };
        format!("{}{prelude}{}", self.headers(), self.definitions())
    }

    /// The whole text, with `library` between the prelude and the functions, which may call the library.
    pub fn text_over(&self, library: &[&str]) -> String {
        [&self.headers(), PRELUDE, "\n", &library.concat(), &self.definitions()].concat()
    }

    /// Appends to `key` what distinguishes this text from others over the same library: headers, names, and the text of functions
    /// if their names don't determine it.
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

    /// The text of the functions, without the prelude.
    pub(crate) fn definitions(&self) -> String {
        self.functions.iter().flat_map(|function| [&*function.text, "\n"]).collect()
    }
}

/// A cache for the text that an operator adds to a kernel, which is the same every time. See [`KernelText::once`].
#[derive(Debug, Default)]
pub struct Made(OnceLock<(String, KernelText)>);

impl Made {
    /// An empty cache.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// The FNV-1a hash, which is stable across platforms and releases. The standard hashers do not promise that.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An operator that provides CUDA C++ text for kernels.
pub trait Source: Copy + Send + Sync + 'static {
    /// Adds the operator's device function, and all functions it calls, to `text`. Returns the function's name: `{name}(a, b)` is a call.
    ///
    /// The arguments of a call must have exactly the types of the operands: C++ would convert others silently.
    fn source(self, text: &mut KernelText) -> String;

    /// What identifies the operator among all: two of equal identity compute the same. `None` if it isn't known. By default it is the type of
    /// an operator without fields. Loops that relax edges need it.
    ///
    /// ```
    /// use vxm_semiring::{Bind, MIN, PLUS, Source};
    /// assert!(MIN.known_as() == MIN.known_as() && MIN.known_as() != PLUS.known_as());
    /// assert_eq!(MIN.bind(3u32).known_as(), None);
    /// ```
    fn known_as(self) -> Option<(TypeId, usize)> {
        (size_of::<Self>() == 0).then(|| (TypeId::of::<Self>(), 0))
    }

    /// Appends the bits of the operator's [constants](KernelText::constant), in the order in which [`source`](Self::source) makes arguments
    /// of them. Returns whether the operator's type, and the number of constants before its own, determine the rest of its text.
    ///
    /// `true` lets the engine find a compiled kernel without making the text, and nothing checks the text afterwards. If the text does
    /// depend on more, a kernel of another operator may run. `false`, the default, is always right, whatever was appended. The text is then
    /// made at each call.
    fn constants(self, _bits: &mut Vec<u64>) -> bool {
        false
    }
}
