//! The CUDA C++ text of programs.

use std::fmt::Write as _;

use super::kind::Kind;
use super::operation::Operation;
use super::program::{Id, Program, Value};
use crate::{Element, KernelText};

/// A type that a kernel's function takes or returns: its name in CUDA C++, and whether it is the kind's own or a word of its bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    cuda: &'static str,
    declare: fn(&mut KernelText),
    is_word: bool,
}

impl Held {
    /// How elements of type `T` hold values of the kind.
    pub(super) fn of<T: Element>(kind: Kind) -> Self {
        Self { cuda: T::CUDA, declare: T::declare, is_word: T::NAME != kind.name() }
    }
}

impl Program {
    /// The function's text in CUDA C++, over values of its own types. Kernels have it over the elements' types.
    ///
    /// ```
    /// use vxm_semiring::dynamic::{Builder, Kind};
    /// let mut code = Builder::new("half", &[Kind::F32])?;
    /// let two = code.constant(Kind::F32, 0x4000_0000, false)?;
    /// let result = code.call("div", &[code.parameter(0)?, two])?;
    /// assert!(code.finish(result)?.cuda().contains("vxm::div(v0, v1)"));
    /// # Ok::<(), vxm_semiring::dynamic::ProgramError>(())
    /// ```
    pub fn cuda(self) -> String {
        let own = |kind: Kind| Held { cuda: kind.cuda(), declare: |_| {}, is_word: false };
        let parameters: Vec<_> = self.parameters().iter().map(|&kind| own(kind)).collect();
        let mut text = KernelText::with_arguments();
        function_of(self, &parameters, own(self.result()), &mut text);
        text.definitions()
    }
}

/// The name of an operation in the prelude, where names of C++ operators have a `_` appended.
fn function(operation: Operation, text: &mut KernelText) -> String {
    if operation.is_elementary() {
        return crate::elementary::define(operation.name(), text);
    }
    let escape = match operation {
        Operation::BitAnd | Operation::BitOr | Operation::BitXor | Operation::Not => "_",
        _ => "",
    };
    format!("vxm::{}{escape}", operation.name())
}

/// A declaration of the prelude, and the header of a kind that needs one.
fn declare(kind: Kind, text: &mut KernelText) {
    match kind {
        Kind::F16 => half::f16::declare(text),
        Kind::Bf16 => half::bf16::declare(text),
        _ => text.prelude(),
    }
}

/// The value of a kind that a word holds, as an expression.
fn unpack(kind: Kind, word: &str) -> String {
    match kind {
        Kind::Bool => format!("({word} & 1) != 0"),
        _ if kind.is_float() => format!("vxm::bits<{}>({word})", kind.cuda()),
        _ => format!("({}){word}", kind.cuda()),
    }
}

/// The word that holds a value of a kind, as an expression of type `word`. All NaNs have the same bits, as on a CPU.
fn pack(kind: Kind, word: &str, value: &str) -> String {
    match kind {
        Kind::Bool => format!("({word}){value}"),
        _ if kind.is_float() => format!("({word})vxm::word({value})"),
        _ => format!("({word})vxm::plain({value})"),
    }
}

/// Adds the program's function to the text, with parameters and a result of these types, and returns its name.
pub(super) fn define(program: Program, parameters: &[Held], result: Held, text: &mut KernelText) -> String {
    let code = &program.0.text;
    for held in parameters.iter().chain([&result]) {
        (held.declare)(text);
    }
    code.values.iter().for_each(|(_, kind)| declare(*kind, text));
    plain(program, parameters, result, text).unwrap_or_else(|| function_of(program, parameters, result, text))
}

/// Adds a function with the program's values as its body, and returns the function's name.
fn function_of(program: Program, parameters: &[Held], result: Held, text: &mut KernelText) -> String {
    let code = &program.0.text;
    let mut body = String::new();
    for (id, (value, kind)) in code.values.iter().enumerate() {
        let of = |id: Id| format!("v{id}");
        let made = match *value {
            Value::Parameter(_) if *kind == Kind::Unit => continue,
            Value::Parameter(at) if parameters[usize::from(at)].is_word => unpack(*kind, &format!("p{at}")),
            Value::Parameter(at) => format!("p{at}"),
            Value::Constant { bits, captured: false } => kind.literal(bits),
            Value::Constant { bits, captured: true } => captured(*kind, bits, text),
            Value::Call(operation, operands) => {
                let operands = operands[..operation.arity()].iter().map(|&id| of(id)).collect::<Vec<_>>();
                format!("{}({})", function(operation, text), operands.join(", "))
            }
            Value::Cast(operand) => format!("vxm::cast<{}>({})", kind.cuda(), of(operand)),
            Value::OfBits(operand) => format!("vxm::from_bits<{}>({})", kind.cuda(), of(operand)),
            Value::Select([test, yes, no]) => format!("{} ? {} : {}", of(test), of(yes), of(no)),
        };
        let _ = write!(body, "const {} v{id} = {made}; ", kind.cuda());
    }
    let returned = format!("v{}", code.result);
    let returned = if result.is_word { pack(program.result(), result.cuda, &returned) } else { returned };
    let listed: Vec<_> = parameters.iter().enumerate().map(|(at, held)| format!("{} p{at}", held.cuda)).collect();
    text.define_hashed(code.name.as_str(), |name| {
        format!("VXM_FN {} {name}({}) {{ {body}return {returned}; }}", result.cuda, listed.join(", "))
    })
}

/// The prelude's function that does all that the program does.
fn plain(program: Program, parameters: &[Held], result: Held, text: &mut KernelText) -> Option<String> {
    let code = &program.0.text;
    let is_integer = |kind: Kind| kind.is_integer() && kind.size() >= 4;
    let same = |held: &Held, kind: Kind| !held.is_word && is_integer(kind);
    let typed = parameters.iter().zip(&code.parameters).all(|(held, kind)| same(held, *kind));
    let [(Value::Parameter(0), _), (Value::Parameter(1), _), (Value::Call(operation, [0, 1, _]), kind)] =
        code.values.as_slice()
    else {
        return None;
    };
    let is_plain = operation.arity() == 2 && typed && same(&result, *kind);
    is_plain.then(|| function(*operation, text))
}

/// A captured constant: an argument of the kernel.
fn captured(kind: Kind, bits: u64, text: &mut KernelText) -> String {
    macro_rules! constant {
        ([$($name:ident $t:ty),*]) => {
            match kind {
                Kind::Unit => text.constant(()),
                $(Kind::$name => text.constant(<$t as Element>::from_bits(bits)),)*
            }
        };
    }
    use half::{bf16, f16};
    super::kind::each_scalar! { constant! {} }
}
