//! The program key: a record of what a kernel is built from, written while it is built.
//!
//! Compiled programs are found by their key. Only a new key needs the kernel's text, which is then generated from the key's parts: making
//! and comparing text takes longer than most kernels run.

use std::any::TypeId;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use vxm_semiring::{KernelText, Source};

/// A C++ type or template argument in a kernel's text. It is valid for the kernel builder that made it, and for no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CppType(Spelling);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Name(Name),
    Number(u64),
    /// The generated type of this number, in the order in which the key lists them.
    Generated(usize),
}

impl Hash for Spelling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Name(name) => name.hash(state),
            Self::Number(number) => state.write_u64(*number),
            Self::Generated(number) => state.write_usize(*number),
        }
    }
}

impl From<&'static str> for CppType {
    fn from(name: &'static str) -> Self {
        Self(Spelling::Name(Name(name)))
    }
}

impl From<bool> for CppType {
    fn from(value: bool) -> Self {
        if value { "true".into() } else { "false".into() }
    }
}

impl From<usize> for CppType {
    fn from(number: usize) -> Self {
        Self(Spelling::Number(number as u64))
    }
}

/// A constant text of this crate, compared by address. If equal texts lie at two addresses, keys differ needlessly, and a program is
/// merely looked up by its text once more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name(pub(crate) &'static str);

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.as_ptr() as usize);
    }
}

/// A part of a program key. Equal sequences of parts generate equal programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// An operator's type.
    Operator(TypeId),
    /// An operator's text, if its type doesn't determine it.
    Text(Box<str>),
    /// A generated C++ type: its kind, and the type it is generated for. It may refer to the operator that precedes it.
    Generated(Kind, TypeId),
    /// An argument of the next [`Template`](Self::Template).
    Argument(CppType),
    /// A generated C++ type: the template of this name with the arguments before it. Without a name, it is the arguments' concatenation.
    Template(Option<Name>),
    /// A number that the program depends on besides its types: the device, or the launch bounds.
    Number(u64),
    /// The name of a kernel, or a source file that it needs.
    Name(Name),
}

/// What a [`Maker`] generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Element,
    Functor,
    /// A monoid's type, and whether a warp may fold its elements by one instruction.
    Monoid(bool),
}

impl Hash for Part {
    /// Hashes about one word for each part, and skips some fields: keys with equal hashes are compared in full.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Operator(of) | Self::Generated(_, of) => of.hash(state),
            Self::Text(text) => text.hash(state),
            Self::Argument(ty) => ty.hash(state),
            Self::Template(name) => name.hash(state),
            Self::Number(number) => state.write_u64(*number),
            Self::Name(name) => name.hash(state),
        }
    }
}

/// Generates a C++ type: returns its name, and adds the functions that it uses to the text.
type Maker = Box<dyn Fn(&mut KernelText) -> String + Send + Sync>;

/// The key of the program that a kernel builder builds, and what its text is generated from.
pub(crate) struct ProgramKey {
    parts: Vec<Part>,
    makers: Vec<Maker>,
    /// The number of generated C++ types.
    generated: usize,
    /// The constants that are kernel arguments, and so no part of the key.
    arguments: Vec<u64>,
}

thread_local! {
    /// An empty vector with the capacity of the last key, which spares an allocation for each key.
    static REUSED_PARTS: Cell<Vec<Part>> = const { Cell::new(Vec::new()) };
}

impl Drop for ProgramKey {
    fn drop(&mut self) {
        self.parts.clear();
        // as a thread ends, its vector may be gone already
        let _ = REUSED_PARTS.try_with(|parts| parts.set(std::mem::take(&mut self.parts)));
    }
}

impl ProgramKey {
    /// An empty key.
    pub(crate) fn new() -> Self {
        Self { parts: REUSED_PARTS.take(), makers: Vec::with_capacity(16), generated: 0, arguments: Vec::new() }
    }

    /// The constants that are kernel arguments, and so no part of the key.
    pub(crate) fn arguments(&self) -> &[u64] {
        &self.arguments
    }

    /// Adds a C++ type that `make` will generate. `kind`, the type `Of` and the operator that was added last must determine it.
    pub(crate) fn make<Of: 'static>(
        &mut self,
        kind: Kind,
        make: impl Fn(&mut KernelText) -> String + Send + Sync + 'static,
    ) -> CppType {
        self.parts.push(Part::Generated(kind, TypeId::of::<Of>()));
        self.makers.push(Box::new(make));
        self.next()
    }

    fn next(&mut self) -> CppType {
        self.generated += 1;
        CppType(Spelling::Generated(self.generated - 1))
    }

    /// Adds an operator to the key, and its constants to the arguments. Returns a function that adds the operator's C++ functions to a
    /// text, and returns the operator's C++ name.
    #[inline(never)]
    pub(crate) fn operator<O: Source>(&mut self, op: O) -> impl Fn(&mut KernelText) -> String + Send + Sync + use<O> {
        self.parts.push(Part::Operator(TypeId::of::<O>()));
        let before = self.arguments.len();
        if !op.constants(&mut self.arguments) {
            self.arguments.truncate(before);
            let mut text = KernelText::after(std::mem::take(&mut self.arguments));
            let name = op.source(&mut text);
            self.text(&name, &text);
        }
        move |text| op.source(text)
    }

    /// Adds `text` to the key, and its constants to the arguments. The text was begun after the arguments so far. The key also holds the
    /// number of arguments after it, since unused ones shift those that follow.
    pub(crate) fn text(&mut self, name: &str, text: &KernelText) {
        let mut identity = format!("{name} {}\n", text.arguments().len());
        text.sign(&mut identity);
        self.parts.push(Part::Text(identity.into()));
        self.arguments = text.arguments().to_vec();
    }

    /// Adds a number that the operator which was added last, and what is generated for it, depend on.
    pub(crate) fn number(&mut self, number: u64) {
        self.parts.push(Part::Number(number));
    }

    /// Adds the C++ type `name<arguments>`, or without a name the concatenation of the arguments.
    #[inline(never)]
    pub(crate) fn template<const N: usize>(&mut self, name: Option<&'static str>, arguments: [CppType; N]) -> CppType {
        self.parts.extend(arguments.iter().map(|&ty| Part::Argument(ty)));
        self.parts.push(Part::Template(name.map(Name)));
        self.next()
    }

    /// Calls `with` on the complete key: these parts and the `extra` ones.
    pub(crate) fn with<R>(&mut self, extra: impl Iterator<Item = Part>, with: impl FnOnce(&[Part]) -> R) -> R {
        let own = self.parts.len();
        self.parts.extend(extra);
        let answer = with(&self.parts);
        self.parts.truncate(own);
        answer
    }

    /// Generates the kernel's text, and the spelling of each C++ type.
    pub(crate) fn generate(&self) -> (KernelText, Spellings) {
        let (mut text, mut spellings) = (KernelText::with_arguments(), Spellings(Vec::new()));
        text.prelude();
        let (mut makers, mut arguments) = (self.makers.iter(), Vec::new());
        for part in &self.parts {
            match part {
                Part::Generated(..) => spellings.0.extend(makers.next().map(|make| make(&mut text))),
                Part::Argument(ty) => arguments.push(spellings.spell(*ty)),
                Part::Template(name) => {
                    spellings.0.push(match name {
                        Some(Name(name)) => format!("{name}<{}>", arguments.join(", ")),
                        None => arguments.concat(),
                    });
                    arguments.clear();
                }
                _ => {}
            }
        }
        debug_assert_eq!(text.arguments(), self.arguments, "an operator's constants are those of its source");
        (text, spellings)
    }
}

/// The spellings of a key's generated C++ types.
pub(crate) struct Spellings(Vec<String>);

impl Spellings {
    /// The text of a C++ type.
    pub(crate) fn spell(&self, ty: CppType) -> String {
        match ty.0 {
            Spelling::Name(Name(name)) => name.to_owned(),
            Spelling::Number(number) => number.to_string(),
            Spelling::Generated(k) => self.0[k].clone(),
        }
    }
}

/// A fast hash of words for program keys. Collisions cost time only, since the map compares keys.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        // the map needs good low bits, but only the upper bits of a product depend on all bits of its factors: swap the halves
        self.0.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm_semiring::{Bind, MINUS, PAIR, PLUS, RMINUS, TRIL};

    /// The key and the text of a kernel of one operator.
    fn kernel(op: impl Source) -> (Vec<Part>, String) {
        let mut program_key = ProgramKey::new();
        let source = program_key.operator(op);
        let ty = program_key.make::<()>(Kind::Functor, source);
        let (text, spellings) = program_key.generate();
        (program_key.parts.clone(), format!("{}\n{}", spellings.spell(ty), text.text()))
    }

    /// Keys differ exactly where texts do.
    #[test]
    fn keys_differ_where_texts_do() {
        let kernels = [
            kernel(PLUS),
            kernel(MINUS),
            kernel(PAIR),
            kernel(PLUS.bind(1u32)),
            kernel(PLUS.bind(2u32)),
            kernel(PLUS.bind(1u64)),
            kernel(PLUS.bind_first(1u32)),
            kernel(RMINUS.bind(1u32)),
            kernel(RMINUS.bind(1u32).bind(1u32)),
            kernel(TRIL),
            kernel(TRIL.offset(1)),
            kernel(TRIL.offset(2)),
            kernel(TRIL.offset(0)),
        ];
        for (key, text) in &kernels {
            for (other, others) in &kernels {
                assert_eq!(key == other, text == others, "{key:?} {other:?}\n{text}\n{others}");
            }
        }
    }

    /// An operator with constants that its text doesn't use.
    #[derive(Clone, Copy)]
    struct Unused(u32);

    impl Source for Unused {
        fn source(self, text: &mut KernelText) -> String {
            (0..self.0).for_each(|k| drop(text.constant(k)));
            PLUS.source(text)
        }
    }

    /// The number of unused arguments that precede an operator is part of the key.
    #[test]
    fn unused_arguments_are_in_the_key() {
        let [one, two] = [1, 2].map(|constants| {
            let mut program_key = ProgramKey::new();
            let unused = program_key.operator(Unused(constants));
            program_key.make::<()>(Kind::Functor, unused);
            let bound = program_key.operator(PLUS.bind(7u32));
            program_key.make::<()>(Kind::Functor, bound);
            (program_key.parts.clone(), program_key.generate().0.text())
        });
        assert!(one.0 != two.0 && one.1 != two.1);
    }

    /// Equal operators at different argument positions have different keys and texts.
    #[test]
    fn argument_positions_are_in_the_key() {
        let [one, two] = [1, 2].map(|constants| {
            let mut program_key = ProgramKey::new();
            for value in 0..constants {
                let source = program_key.operator(PLUS.bind(value));
                program_key.make::<()>(Kind::Functor, source);
            }
            (program_key.parts.clone(), program_key.generate().0.text())
        });
        assert!(one.0 != two.0 && one.1 != two.1 && two.1.contains("vxm_args[1]"));
    }
}
