"""What expressions of operators become: values of a program, and numbers that have no kind yet."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import numpy as np

from . import _vxm
from ._errors import Error
from ._kinds import FLOATS, INTEGERS, KINDS, NOTHING, NUMBERS, SIGNED, dtype_of, fields_of, fits, is_struct, kind_of, shown
from ._words import plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["ARITY", "Choice", "Emitter", "Emitting", "Literal", "Operand", "OperatorError", "Refusal", "Untyped", "Value", "Void"]


class OperatorError(Error, TypeError):
    """A function can't be an operator. The message names the line and the column, and shows them."""


OperatorError.__module__ = "vxm"


class Refusal(Exception):
    """What was found, and what to write instead. The place isn't known yet."""

    def __init__(self, found: str, instead: str) -> None:
        super().__init__(f"found {found}; {instead}")
        self.found = found
        self.instead = instead


@dataclass(frozen=True)
class Value:
    """A value of the program."""

    id: int
    kind: str


@dataclass(frozen=True)
class Literal:
    """A number that takes its kind from where it is used."""

    value: Union[int, float]
    captured: bool


@dataclass(frozen=True)
class Choice:
    """One of two numbers that take their kind from where they are used."""

    condition: Value
    yes: Untyped
    no: Untyped


@dataclass(frozen=True)
class Void:
    """The entry of a pattern. It has no value."""


Untyped = Union[Literal, Choice]
Operand = Union[Value, Literal, Choice, Void]

# more numbers than these in a choice get their kind at once
_MOST_LEAVES = 64

_ANY = frozenset(KINDS)
_BITS = INTEGERS | {"bool"}
# the kinds that an operation takes, for a count of bits those of its first operand
_ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "neg", "abs"), NUMBERS),
    **dict.fromkeys(("min", "max", "eq", "ne", "lt", "le", "gt", "ge"), _ANY),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "not"), _BITS),
    **dict.fromkeys(("saturating_add", "saturating_sub", "floor_div", "floor_mod"), INTEGERS),
    **dict.fromkeys(("count_ones", "leading_zeros", "trailing_zeros"), INTEGERS),
    **dict.fromkeys(("pow", "rotate_left", "rotate_right", "shl", "shr"), INTEGERS),
    **dict.fromkeys(("true_div", "sqrt", "floor", "ceil", "trunc", "is_nan", "is_finite", "is_infinite"), FLOATS),
    **dict.fromkeys(("exp", "exp2", "exp_m1", "ln", "ln_1p", "log2", "log10", "tanh", "sin", "cos", "powf", "copysign"), FLOATS),
    **dict.fromkeys(("and", "or", "xor", "logical_not"), frozenset({"bool"})),
}
_UNARY = {
    "neg", "abs", "not", "logical_not", "sqrt", "floor", "ceil", "trunc", "is_nan", "is_finite", "is_infinite", "count_ones",
    "leading_zeros", "trailing_zeros", "exp", "exp2", "exp_m1", "ln", "ln_1p", "log2", "log10", "tanh", "sin", "cos",
}  # fmt: skip
ARITY = {**{name: 1 if name in _UNARY else 2 for name in _ALLOWED}, "select": 3}
"""The number of operands of each operation."""

_COUNTED = {"pow", "rotate_left", "rotate_right", "shl", "shr"}
# the engine's name, if it has another
_ENGINE = {"and": "bitand", "or": "bitor", "xor": "bitxor", "logical_not": "not", "true_div": "div"}
_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "true_div": "/", "floor_div": "//", "floor_mod": "%", "pow": "**", "powf": "**"},
    **{"shl": "<<", "shr": ">>", "bitand": "&", "bitor": "|", "bitxor": "^", "eq": "==", "ne": "!="},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "not": "~", "logical_not": "not"},
}


def _quotient(a: float, b: float) -> float:
    """Python's quotient; by 0, that of IEEE 754."""
    with np.errstate(all="ignore"):
        return a / b if b else float(np.float64(a) / np.float64(b))


def _floor_quotient(a: float, b: float) -> float:
    """Python's quotient; of integers by 0 it is 0, as in a program."""
    return 0 if b == 0 and isinstance(b, int) and isinstance(a, int) else a // b


def _floor_rest(a: float, b: float) -> float:
    """Python's remainder; of integers by 0 it is the dividend, as in a program."""
    return a if b == 0 and isinstance(b, int) and isinstance(a, int) else a % b


_FOLDS: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "true_div": _quotient},
    **{"floor_div": _floor_quotient, "floor_mod": _floor_rest, "pow": operator.pow},
    **{"shl": operator.lshift, "shr": operator.rshift, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor},
    **{"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge},
    **{"min": min, "max": max, "neg": operator.neg, "abs": abs, "not": operator.invert},
}
_ADVICE = {
    "true_div": "write // for integers, or cast, as in f64(x)",
    "floor_div": "write floor(a / b) for floats",
    "floor_mod": "write rem(a, b) for floats",
    "logical_not": "compare instead, as in x == 0",
    "and": "compare instead, as in x != 0",
    "or": "compare instead, as in x != 0",
}


def _is_float(operand: Operand) -> bool:
    """Whether an operand is a float, or a number with a fraction."""
    return operand.kind in FLOATS if isinstance(operand, Value) else isinstance(operand, (Literal, Choice)) and _floats(operand)


class Emitting:
    """An operator: something that adds its own values to a program."""

    name: str
    parameters: tuple[str, ...]

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        """The result for these operands."""
        raise NotImplementedError


class Emitter:
    """Makes one program."""

    def __init__(self, name: str, kinds: Sequence[str]) -> None:
        self._builder = _vxm.Builder(name, list(kinds))
        self.parameters = [self._parameter(index, kind) for index, kind in enumerate(kinds)]
        self.captures: dict[Any, Hashable] = {}
        """What was read from outside of the functions."""
        self.stack: list[Emitting] = []
        """The operators that are being translated, each called by the one before."""
        self.calls: dict[Hashable, Operand] = {}
        """The results of operators on values."""

    def _parameter(self, index: int, kind: str) -> Operand:
        return Void() if kind == NOTHING else Value(self._builder.parameter(index), kind)

    def finish(self, operand: Operand) -> _vxm.Program:
        """The program with this result."""
        value = self.value(operand)
        return self._builder.finish(value.id, value.kind)

    def constant(self, kind: str, value: Union[bool, int, float], captured: bool = False) -> Value:
        """A number of a kind that can hold it; a struct's word."""
        return Value(self._builder.constant(kind, value, captured), kind)

    def operand(self, value: Any, captured: bool) -> Operand:
        """The operand for a number or a bool of Python or NumPy."""
        if isinstance(value, np.generic):
            try:
                kind = kind_of(value.dtype)
            except TypeError as error:
                what = f"a struct that can't be an element: {error}" if value.dtype.names else f"a number of type {type(value).__name__}"
                raise Refusal(what, f"use one of {', '.join(KINDS)}, or a struct of these") from None
            return self.constant(kind, plain(kind, value, "a constant"), captured)
        if isinstance(value, bool):
            return self.constant("bool", value, captured)
        if isinstance(value, int):
            return Literal(int(value), captured)
        if isinstance(value, float):
            return Literal(float(value), captured)
        raise Refusal(f"a value of type {type(value).__name__}", "use a number or a bool")

    def value(self, operand: Operand, kind: Optional[str] = None) -> Value:
        """The operand as a value: of this kind, if it is given and the operand has none."""
        if isinstance(operand, Void):
            raise Refusal("an operand that has no value", "a set's elements and the edges of a graph without weights have none: leave this operand out")
        if isinstance(operand, Value):
            return operand
        if kind is None:
            kind = "f64" if _floats(operand) else "i64"
        if isinstance(operand, Choice):
            return self._select(operand.condition, self.value(operand.yes, kind), self.value(operand.no, kind))
        number = operand.value
        if is_struct(kind):
            raise Refusal(f"the number {shown(number)} where {kind} is expected", "make a struct, as in Hop(1, 2)")
        if kind == "bool":
            raise Refusal(f"the number {shown(number)} where bool is expected", "write True or False, or compare, as in x != 0")
        if kind in INTEGERS and isinstance(number, float):
            raise Refusal(f"the number {shown(number)} where {kind} is expected", "write an integer, or cast, as in f64(x)")
        if not fits(kind, number):
            raise Refusal(f"the number {shown(number)}, which doesn't fit {kind}", "write one that fits, or cast, as in i64(x)")
        return self.constant(kind, number if kind in INTEGERS else float(number), operand.captured)

    def condition(self, operand: Operand) -> Value:
        """The operand, which must be a bool."""
        value = self.value(operand)
        if value.kind != "bool":
            raise Refusal(f"a condition of kind {value.kind}", "compare instead, as in x != 0")
        return value

    def unify(self, operands: Sequence[Operand], text: str, default: Optional[str] = None) -> list[Value]:
        """The operands as values of one kind. ``text`` has a gap for each of two kinds."""
        typed = [operand for operand in operands if isinstance(operand, Value)]
        kind = typed[0].kind if typed else default
        for operand in typed:
            if operand.kind != kind:
                kinds = text.format(kind, operand.kind)
                if is_struct(kind or "") or is_struct(operand.kind):
                    raise Refusal(kinds, "write a struct's field, as in x.cost, or make a struct of both")
                raise Refusal(kinds, f"cast one of them, as in {operand.kind if kind == 'bool' else kind}(x)")
        if kind is None and any(_floats(operand) for operand in operands):
            kind = "f64"
        return [self.value(operand, kind) for operand in operands]

    def settle(self, operands: Sequence[Operand], kinds: Sequence[Optional[str]]) -> list[Operand]:
        """The operands of a call, where a number takes the kind of its parameter, or else that of the first other operand."""
        typed = next((operand.kind for operand in operands if isinstance(operand, Value)), None)
        settled: list[Operand] = []
        for operand, kind in zip(operands, kinds):
            if isinstance(operand, (Literal, Choice)):
                suits = typed in (FLOATS if _floats(operand) else NUMBERS)
                settled.append(self.value(operand, kind or (typed if suits else None)))
            else:
                settled.append(operand)
        return settled

    def choose(self, condition: Value, yes: Operand, no: Operand) -> Operand:
        """The first operand where the condition holds, else the second."""
        if _same(yes, no):
            return yes
        if isinstance(yes, (Literal, Choice)) and isinstance(no, (Literal, Choice)):
            if _leaves(yes) + _leaves(no) <= _MOST_LEAVES:
                return Choice(condition, yes, no)
        first, second = self.unify((yes, no), "{} in one branch and {} in the other")
        return self._select(condition, first, second)

    def apply(self, operation: str, operands: Sequence[Operand]) -> Operand:
        """The result of an operation."""
        count = ARITY[operation]
        if len(operands) != count:
            raise Refusal(f"{len(operands)} operands of {operation}", f"write {count}")
        if operation == "select":
            return self.choose(self.condition(operands[0]), operands[1], operands[2])
        untyped = [operand for operand in operands if isinstance(operand, (Literal, Choice))]
        if len(untyped) == count and operation in _FOLDS:
            leaves = [_leaves(operand) for operand in untyped]
            if leaves[0] * leaves[-1] <= _MOST_LEAVES:
                return self._fold(operation, untyped)
        if operation == "pow" and any(_is_float(operand) for operand in operands):
            operation = "powf"
        if operation in _COUNTED:
            return self._counted(operation, operands[0], operands[1])
        default = "f64" if _ALLOWED[operation] == FLOATS else None
        values = self.unify(operands, _text(operation), default)
        if operation in ("eq", "ne") and is_struct(values[0].kind):
            return self._alike(operation, *values)
        self._check(operation, values[0].kind)
        if operation in ("floor_div", "floor_mod"):
            return self._floored(operation, *values)
        return self._call(_ENGINE.get(operation, operation), *values)

    def fold(self, operation: str, operands: Sequence[Operand]) -> Operand:
        """The result of an operation of two operands, applied from left to right."""
        if len(operands) < 2:
            raise Refusal(f"{len(operands)} operands of {operation}", "write at least 2")
        if any(isinstance(operand, Value) for operand in operands):
            # a number takes the kind of any other operand, not only of its neighbour
            operands = self.unify(operands, _text(operation))
        found = operands[0]
        for operand in operands[1:]:
            found = self.apply(operation, (found, operand))
        return found

    def cast(self, operand: Operand, kind: str) -> Operand:
        """The operand as another kind, as Rust's ``as`` does it."""
        if isinstance(operand, Choice):
            return self.choose(operand.condition, self.cast(operand.yes, kind), self.cast(operand.no, kind))
        if isinstance(operand, Literal) and kind in NUMBERS and not (isinstance(operand.value, float) and kind in INTEGERS):
            return self.value(operand, kind)
        value = self.value(operand)
        if value.kind == kind:
            return value
        if is_struct(value.kind) or is_struct(kind):
            raise Refusal(f"a cast of {value.kind} to {kind}", "write a struct's field, as in x.cost, or make a struct, as in Hop(1, 2)")
        if kind == "bool":
            return self._call("ne", value, self.constant(value.kind, 0 if value.kind in INTEGERS else 0.0))
        if value.kind == "bool" and kind in FLOATS:
            value = self._cast(value, "u8")
        return self._cast(value, kind)

    def field(self, operand: Operand, name: str) -> Value:
        """A field of a struct."""
        if not isinstance(operand, Value) or not is_struct(operand.kind):
            kind = operand.kind if isinstance(operand, Value) else "a number" if isinstance(operand, (Literal, Choice)) else "no value"
            raise Refusal(f"the attribute `{name}` of {kind}", "only structs have fields: use operators and functions")
        fields = fields_of(operand.kind)
        if name not in fields:
            raise Refusal(f"a field `{name}` of {operand.kind}", f"use one of {', '.join(fields)}")
        call = ("field", operand, name)
        if call not in self.calls:
            self.calls[call] = self._unpacked(operand, *fields[name])
        found = self.calls[call]
        assert isinstance(found, Value)
        return found

    def struct(self, kind: str, operands: Sequence[Operand]) -> Value:
        """The struct with these fields, in order."""
        word = _word_of(kind)
        made: Optional[Value] = None
        for operand, (name, field) in zip(operands, fields_of(kind).items()):
            value = self.value(operand, field.kind)
            if value.kind != field.kind:
                instead = "give it a number" if is_struct(value.kind) else f"cast it, as in {field.kind}(x)"
                raise Refusal(f"{value.kind} for the field `{name}`, which is {field.kind}", instead)
            bits = self._bits(value, word)
            bits = self._call("shl", bits, self.constant("u32", 8 * field.offset)) if field.offset else bits
            made = bits if made is None else self._call("bitor", made, bits)
        assert made is not None, "a struct has fields"
        return Value(made.id, kind)

    def _bits(self, value: Value, word: str) -> Value:
        """The bits of a number in a word."""
        if value.kind in FLOATS:
            value = self._call("to_bits", value)
        if value.kind in SIGNED:
            # not with its sign in all bits of the word
            value = self._cast(value, f"u{value.kind[1:]}")
        return value if value.kind == word else self._cast(value, word)

    def _unpacked(self, struct: Value, kind: str, offset: int) -> Value:
        """The number that lies in a struct's word."""
        bits = Value(struct.id, _word_of(struct.kind))
        if offset:
            bits = self._call("shr", bits, self.constant("u32", 8 * offset))
        unsigned = f"u{8 * dtype_of(kind).itemsize}"
        bits = bits if bits.kind == unsigned else self._cast(bits, unsigned)
        if kind == "bool":
            return self._call("ne", bits, self.constant(unsigned, 0))
        if kind in FLOATS:
            return Value(self._builder.of_bits(bits.id, kind), kind)
        return bits if kind == unsigned else self._cast(bits, kind)

    def _alike(self, operation: str, one: Value, other: Value) -> Value:
        """Whether all fields of two structs are equal, or some are not."""
        found: Optional[Value] = None
        for name in fields_of(one.kind):
            same = self._call(operation, self.field(one, name), self.field(other, name))
            joined = "bitand" if operation == "eq" else "bitor"
            found = same if found is None else self._call(joined, found, same)
        assert found is not None, "a struct has fields"
        return found

    def lexical(self, operation: str, pairs: Sequence[tuple[Operand, Operand]]) -> Operand:
        """Compares two tuples: the first pair that differs decides."""
        (one, other), rest = pairs[0], pairs[1:]
        if not rest:
            return self.apply(operation, (one, other))
        inner = self.lexical(operation, rest)
        if operation in ("eq", "ne"):
            return self.apply("and" if operation == "eq" else "or", (self.apply(operation, (one, other)), inner))
        strict = self.apply({"le": "lt", "ge": "gt"}.get(operation, operation), (one, other))
        return self.apply("or", (strict, self.apply("and", (self.apply("eq", (one, other)), inner))))

    def _call(self, operation: str, *values: Value) -> Value:
        try:
            made = self._builder.call(operation, [value.id for value in values])
        except TypeError as error:
            if "more than" in str(error):
                raise
            raise Refusal(str(error), "cast an operand") from error
        return Value(made, self._builder.kind(made))

    def _cast(self, value: Value, kind: str) -> Value:
        return Value(self._builder.cast(value.id, kind), kind)

    def _select(self, condition: Value, yes: Value, no: Value) -> Value:
        return Value(self._builder.select(condition.id, yes.id, no.id), yes.kind)

    def _check(self, operation: str, kind: str) -> None:
        allowed = _ALLOWED[operation]
        if kind not in allowed:
            symbol = _SYMBOLS.get(operation, operation)
            expected = ", ".join(name for name in KINDS if name in allowed)
            advice = _ADVICE.get(operation) if kind != "bool" else None
            if is_struct(kind):
                advice = "write a struct's field, as in x.cost"
            raise Refusal(f"{symbol} of {kind}", advice or f"expected {expected}: cast the operand")

    def _fold(self, operation: str, operands: Sequence[Untyped]) -> Operand:
        """The result for numbers without a kind, computed by Python."""
        for index, operand in enumerate(operands):
            if isinstance(operand, Choice):
                before, after = operands[:index], operands[index + 1 :]
                yes = self._fold(operation, [*before, operand.yes, *after])
                no = self._fold(operation, [*before, operand.no, *after])
                return self.choose(operand.condition, yes, no)
        literals = [operand for operand in operands if isinstance(operand, Literal)]
        try:
            result = _FOLDS[operation](*(literal.value for literal in literals))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Refusal(f"an expression that raises {type(error).__name__}: {error}", "change its numbers") from None
        return self.operand(result, any(literal.captured for literal in literals))

    def _counted(self, operation: str, operand: Operand, count: Operand) -> Value:
        """An operation with a number of bits, or an exponent, as second operand."""
        first = self.value(operand, count.kind if isinstance(count, Value) and count.kind in INTEGERS else None)
        self._check(operation, first.kind)
        second = self.value(count, "u32")
        # a count of bits is taken modulo the width, so that a wrapped one is as good
        if second.kind not in (("u8", "u16", "u32") if operation == "pow" else INTEGERS):
            what = "an exponent" if operation == "pow" else "a number of bits"
            raise Refusal(f"{what} of kind {second.kind}", "cast it, as in u32(n)")
        if second.kind != "u32":
            second = self._cast(second, "u32")
        return self._call(operation, first, second)

    def _floored(self, operation: str, dividend: Value, divisor: Value) -> Value:
        """Python's ``//`` and ``%``. A quotient by 0 is 0, and a remainder by 0 is the dividend."""
        rest = self._call("rem", dividend, divisor) if operation == "floor_mod" else None
        kind = dividend.kind
        if kind not in SIGNED:
            return rest or self._call("div", dividend, divisor)
        zero = self.constant(kind, 0)
        rest = rest or self._call("rem", dividend, divisor)
        signs = self._call("lt", self._call("bitxor", rest, divisor), zero)
        wrong = self._call("bitand", signs, self._call("ne", rest, zero))
        if operation == "floor_mod":
            return self._select(wrong, self._call("add", rest, divisor), rest)
        wrong = self._call("bitand", wrong, self._call("ne", divisor, zero))
        quotient = self._call("div", dividend, divisor)
        return self._select(wrong, self._call("sub", quotient, self.constant(kind, 1)), quotient)


def _word_of(struct: str) -> str:
    """The kind of the word that a struct lies in."""
    return "u32" if dtype_of(struct).itemsize <= 4 else "u64"


def _text(operation: str) -> str:
    symbol = _SYMBOLS.get(operation)
    return f"{operation} of {{}} and {{}}" if symbol is None else f"{{}} {symbol} {{}}"


def _floats(operand: Operand) -> bool:
    """Whether a number without a kind is a float."""
    if isinstance(operand, Choice):
        return _floats(operand.yes) or _floats(operand.no)
    return isinstance(operand, Literal) and isinstance(operand.value, float)


def _leaves(operand: Untyped) -> int:
    return _leaves(operand.yes) + _leaves(operand.no) if isinstance(operand, Choice) else 1


def _same(one: Operand, other: Operand) -> bool:
    if isinstance(one, Literal) and isinstance(other, Literal):
        # 1 is equal to 1.0, and nan to nothing
        return type(one.value) is type(other.value) and repr(one.value) == repr(other.value)
    return one is other or (isinstance(one, Value) and one == other)
