//! What a kernel is made of, written down as it is composed. Programs are known by that; the text is made of it for those alone that aren't.

use std::any::TypeId;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use vxm_semiring::{KernelText, Source};

/// A piece of a kernel's text: a type, or a template's argument. Of one kernel: another's is another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece(Spelling);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Name(Name),
    Number(u64),
    /// What the recipe makes in its step of this number.
    Made(usize),
}

impl Hash for Spelling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Name(name) => name.hash(state),
            Self::Number(number) => state.write_u64(*number),
            Self::Made(number) => state.write_usize(*number),
        }
    }
}

impl From<&'static str> for Piece {
    fn from(name: &'static str) -> Self {
        Self(Spelling::Name(Name(name)))
    }
}

impl From<bool> for Piece {
    fn from(value: bool) -> Self {
        if value { "true".into() } else { "false".into() }
    }
}

impl From<usize> for Piece {
    fn from(number: usize) -> Self {
        Self(Spelling::Number(number as u64))
    }
}

/// A text of the program's own: told from others by where it lies, since one that lies twice is found twice, and no worse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name(pub(super) &'static str);

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

/// What tells a program from others, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// An operator, by its type.
    Operator(TypeId),
    /// What else tells it, where its type doesn't tell all.
    Text(Box<str>),
    /// What is made of the operator before it, or of a type.
    Made(Kind, TypeId),
    /// An argument of the template that follows.
    Argument(Piece),
    /// A piece, made of the arguments before it: a template's instance, or if it has no name one text.
    Template(Option<Name>),
    /// What stands beside the kernel's own text: the device and what is known of rows, files and entries.
    Number(u64),
    Name(Name),
}

/// What a maker makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Element,
    Functor,
    /// Of a monoid, and whether a warp may join its elements at once.
    Monoid(bool),
}

impl Hash for Part {
    /// A word each, or nearly: what is equal is compared all the same.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Operator(of) | Self::Made(_, of) => of.hash(state),
            Self::Text(text) => text.hash(state),
            Self::Argument(piece) => piece.hash(state),
            Self::Template(name) => name.hash(state),
            Self::Number(number) => state.write_u64(*number),
            Self::Name(name) => name.hash(state),
        }
    }
}

/// Makes a piece, and adds the functions that it names.
type Maker = Box<dyn Fn(&mut KernelText) -> String + Send + Sync>;

/// What a kernel is made of, in order.
pub(super) struct Recipe {
    parts: Vec<Part>,
    makers: Vec<Maker>,
    /// How many pieces there are.
    made: usize,
    /// The constants that become arguments.
    arguments: Vec<u64>,
}

thread_local! {
    /// Room for parts, of the recipe before: more than an allocator has at hand.
    static SPARE: Cell<Vec<Part>> = const { Cell::new(Vec::new()) };
}

impl Drop for Recipe {
    fn drop(&mut self) {
        self.parts.clear();
        // gone as a thread ends
        let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.parts)));
    }
}

impl Recipe {
    /// Of nothing yet.
    pub(super) fn new() -> Self {
        Self { parts: SPARE.take(), makers: Vec::with_capacity(16), made: 0, arguments: Vec::new() }
    }

    /// The constants that become arguments.
    pub(super) fn arguments(&self) -> &[u64] {
        &self.arguments
    }

    /// The piece that `make` will make of `kind` and the type `Of`, and of the operator that was added last.
    pub(super) fn make<Of: 'static>(
        &mut self,
        kind: Kind,
        make: impl Fn(&mut KernelText) -> String + Send + Sync + 'static,
    ) -> Piece {
        self.parts.push(Part::Made(kind, TypeId::of::<Of>()));
        self.makers.push(Box::new(make));
        self.next()
    }

    fn next(&mut self) -> Piece {
        self.made += 1;
        Piece(Spelling::Made(self.made - 1))
    }

    /// Adds what tells an operator from others; returns what will add its functions, and name it.
    pub(super) fn operator<O: Source>(&mut self, op: O) -> impl Fn(&mut KernelText) -> String + Send + Sync + use<O> {
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

    /// Adds what tells a text, begun after the arguments so far, from others: how many there are behind it too, used or not.
    pub(super) fn text(&mut self, name: &str, text: &KernelText) {
        let mut told = format!("{name} {}\n", text.arguments().len());
        text.sign(&mut told);
        self.parts.push(Part::Text(told.into()));
        self.arguments = text.arguments().to_vec();
    }

    /// `name<arguments>`, or the arguments as one text.
    pub(super) fn template<const N: usize>(&mut self, name: Option<&'static str>, arguments: [Piece; N]) -> Piece {
        self.parts.extend(arguments.iter().map(|&piece| Part::Argument(piece)));
        self.parts.push(Part::Template(name.map(Name)));
        self.next()
    }

    /// Calls `with` on what tells the whole from others: its own parts, and `beside` them others.
    pub(super) fn with<R>(&mut self, beside: impl Iterator<Item = Part>, with: impl FnOnce(&[Part]) -> R) -> R {
        let own = self.parts.len();
        self.parts.extend(beside);
        let answer = with(&self.parts);
        self.parts.truncate(own);
        answer
    }

    /// The text, and each piece's.
    pub(super) fn made(&self) -> (KernelText, Made) {
        let (mut text, mut made) = (KernelText::with_arguments(), Made(Vec::new()));
        text.prelude();
        let (mut makers, mut arguments) = (self.makers.iter(), Vec::new());
        for part in &self.parts {
            match part {
                Part::Made(..) => made.0.extend(makers.next().map(|make| make(&mut text))),
                Part::Argument(piece) => arguments.push(made.spell(*piece)),
                Part::Template(name) => {
                    made.0.push(match name {
                        Some(Name(name)) => format!("{name}<{}>", arguments.join(", ")),
                        None => arguments.concat(),
                    });
                    arguments.clear();
                }
                _ => {}
            }
        }
        debug_assert_eq!(text.arguments(), self.arguments, "an operator's constants are those of its source");
        (text, made)
    }
}

/// The pieces that a recipe makes.
pub(super) struct Made(Vec<String>);

impl Made {
    /// A piece's text.
    pub(super) fn spell(&self, piece: Piece) -> String {
        match piece.0 {
            Spelling::Name(Name(name)) => name.to_owned(),
            Spelling::Number(number) => number.to_string(),
            Spelling::Made(k) => self.0[k].clone(),
        }
    }
}

/// A quick hash of words. What it is of is compared too.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
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
        // a product's upper bits depend on all of its factors'
        self.0.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm_semiring::{Bind, MINUS, PAIR, PLUS, RMINUS, TRIL};

    /// What a kernel of one operator is told by, and its text.
    fn kernel(op: impl Source) -> (Vec<Part>, String) {
        let mut recipe = Recipe::new();
        let source = recipe.operator(op);
        let piece = recipe.make::<()>(Kind::Functor, source);
        let (text, made) = recipe.made();
        (recipe.parts.clone(), format!("{}\n{}", made.spell(piece), text.text()))
    }

    /// What kernels are told by differs exactly where their texts do.
    #[test]
    fn texts_are_told_apart() {
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
        for (told, text) in &kernels {
            for (other, others) in &kernels {
                assert_eq!(told == other, text == others, "{told:?} {other:?}\n{text}\n{others}");
            }
        }
    }

    /// An operator that asks for constants which its text doesn't show.
    #[derive(Clone, Copy)]
    struct Idle(u32);

    impl Source for Idle {
        fn source(self, text: &mut KernelText) -> String {
            (0..self.0).for_each(|k| drop(text.constant(k)));
            PLUS.source(text)
        }
    }

    /// The same of those that an operator written by hand took before.
    #[test]
    fn idle_arguments_are_told() {
        let [one, two] = [1, 2].map(|constants| {
            let mut recipe = Recipe::new();
            let idle = recipe.operator(Idle(constants));
            recipe.make::<()>(Kind::Functor, idle);
            let bound = recipe.operator(PLUS.bind(7u32));
            recipe.make::<()>(Kind::Functor, bound);
            (recipe.parts.clone(), recipe.made().0.text())
        });
        assert!(one.0 != two.0 && one.1 != two.1);
    }

    /// Where an operator's constants stand among the arguments is told by what stands before it.
    #[test]
    fn places_of_arguments_are_told() {
        let [one, two] = [1, 2].map(|constants| {
            let mut recipe = Recipe::new();
            for value in 0..constants {
                let source = recipe.operator(PLUS.bind(value));
                recipe.make::<()>(Kind::Functor, source);
            }
            (recipe.parts.clone(), recipe.made().0.text())
        });
        assert!(one.0 != two.0 && one.1 != two.1 && two.1.contains("vxm_args[1]"));
    }
}
