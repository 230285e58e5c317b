//! The C++ text of functors and monoids.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use std::any::TypeId;
use vxm_semiring::{Element, KernelText, Max, Min, Monoid};

/// Whether a device can replace an element if it is still the one that was read: one of 16 bytes needs compute capability 9.0.
pub(crate) fn can_swap<T: Element>(gpu: &Gpu) -> bool {
    size_of::<T>() <= 8 || gpu.arch() >= (9, 0)
}

impl KernelBuilder {
    /// A C++ type that joins values into a loop's states by a monoid.
    pub(crate) fn joins<T: Element, M: Monoid<T>>(&mut self, add: M) -> CppType {
        if !can_swap::<T>(self.gpu()) {
            self.note_unfusable("the device can't swap elements of 16 bytes");
        }
        // `MIN` and `MAX` have hardware atomics for some types
        let order = match TypeId::of::<M>() {
            id if id == TypeId::of::<Min>() => "-1",
            id if id == TypeId::of::<Max>() => "1",
            _ => "0",
        };
        let add = self.monoid::<T, M>(add);
        self.ty("vxm::Joins", [add, order.into()])
    }
}

/// Adds a C++ type with a static `call` for the function `name`, and returns the type's name.
pub(super) fn functor_type(text: &mut KernelText, name: &str) -> String {
    text.define_keyed("call", name, |this| {
        format!("struct {this} {{ template <class... X> static VXM_FN auto call(X... x) {{ return {name}(x...); }} }};")
    })
}

/// Adds a C++ type for the monoid with the function `name`, and returns the type's name. If `at_once`, and the device has an instruction
/// for the monoid, the type says that a warp may fold its elements by that instruction.
#[inline(never)]
pub(super) fn monoid_type<T: Element, M: Monoid<T>>(text: &mut KernelText, add: M, name: &str, at_once: bool) -> String {
    let (t, terminal) = (T::CUDA, add.terminal());
    // every value of such a monoid is terminal
    let always = terminal.is_none() && add.is_terminal(add.identity());
    let stops = always || terminal.is_some();
    let terminal = match terminal {
        Some(terminal) if size_of::<T>() > 0 => format!("vxm::eq(a, {})", terminal.literal()),
        _ => always.to_string(),
    };
    let (exact, commutative) = (M::EXACT, add.is_commutative());
    let at_once = match (name, t) {
        _ if !at_once || !matches!(t, "bool" | "int" | "unsigned int" | "long long" | "unsigned long long") => None,
        ("vxm::bitor_", _) => Some("Ors"),
        ("vxm::bitand_", _) => Some("Ands"),
        ("vxm::bitxor_", _) => Some("Xors"),
        ("vxm::min", _) if size_of::<T>() <= 4 => Some("Mins"),
        ("vxm::max", _) if size_of::<T>() <= 4 => Some("Maxes"),
        _ => None,
    };
    let at_once = at_once.map_or("vxm::StepByStep".to_owned(), |how| {
        format!("vxm::AtOnce<vxm::{how}, {t}, {:#x}ULL>", add.identity().wide_bits())
    });
    let key = format!("{t} {name} {terminal} {exact} {commutative} {stops} {at_once}");
    text.define_keyed("monoid", &key, |this| {
        format!(
            "struct {this} : {at_once} {{ static const bool exact = {exact}, commutative = {commutative}, stops = {stops};\n    \
             static VXM_FN {t} call({t} a, {t} b) {{ return {name}(a, b); }}\n    \
             static VXM_FN bool terminal({t} a) {{ return {terminal}; }} }};"
        )
    })
}
