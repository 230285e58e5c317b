"""Operators: functions of one to three numbers that run on every device, with the same bits."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from ._emit import ARITY, Emitter, Emitting, Literal, OperatorError, Refusal, Value, Void
from ._kinds import (
    FLOATS, INTEGERS, KINDS, NOTHING, NUMBERS, dtype_of, f32, f64, fits, i8, i16, i32, i64, is_struct, kind_of, shown, u8, u16, u32, u64,
)  # fmt: skip
from ._source import Source
from ._translate import Translator
from ._words import element, plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ._emit import Operand
    from ._source import Reading
    from ._vxm import Program

__all__ = [
    "ABS", "AINV", "BAND", "BNOT", "BOR", "BXOR", "DIV", "EQ", "FIRST", "GE", "GT", "IDENTITY", "KINDS", "LAND", "LE", "LNOT", "LOR",
    "LT", "LXOR", "MAX", "MIN", "MINUS", "MINV", "NE", "ONE", "Op", "OperatorError", "PAIR", "PLUS", "RDIV", "RMINUS", "SECOND", "SQRT",
    "TIMES", "ceil", "count_ones", "div", "dtype_of", "f32", "f64", "floor", "i8", "i16", "i32", "i64", "is_finite", "is_infinite",
    "is_nan", "kind_of", "leading_zeros", "op", "rem", "rotate_left", "rotate_right", "saturating_add", "saturating_sub", "select",
    "sqrt", "trailing_zeros", "trunc", "u8", "u16", "u32", "u64",
]  # fmt: skip

# programs with other captured values than these many are compiled again
_MOST_PROGRAMS = 256


class Op(Emitting):
    """An operator. Make one with `vxm.op`, or take one of the built-in ones.

    It is compiled once for each combination of kinds. Integers wrap, and a division by zero gives zero.

    >>> import numpy as np, vxm
    >>> @vxm.op
    ... def wider(width, edge):
    ...     return max(width, edge) + 1
    >>> wider
    <vxm.Op wider(width, edge)>
    >>> int(wider(np.uint8(255), np.uint8(7)))
    0
    """

    name: str
    """The name of the function."""
    parameters: tuple[str, ...]
    """The names of the operands."""

    def __init__(self, name: str, parameters: tuple[str, ...], annotations: Optional[tuple[Optional[str], ...]] = None) -> None:
        self.name = name
        self.parameters = parameters
        self._annotations = annotations or (None,) * len(parameters)
        # for each combination of kinds: what was read from outside, its values, the program
        self._programs: dict[tuple[str, ...], dict[tuple[Reading, ...], dict[tuple[Hashable, ...], Program]]] = {}

    def __call__(self, *operands: Any) -> Any:
        """The result for numbers of NumPy or Python, as a number of NumPy. None stands for the entry of a pattern.

        A number of Python has the kind of its parameter's annotation; without one, an ``int`` is i64 and a ``float`` f64.

        >>> import numpy as np, vxm
        >>> int(vxm.MINUS(np.uint8(3), np.uint8(5)))
        254
        """
        self._expect(len(operands))
        held = [
            _number(operand, kind, f"{self.name}: {name}")
            for operand, name, kind in zip(operands, self.parameters, self._annotations)
        ]
        kinds = [NOTHING if number is None else kind_of(number.dtype) for number in held]
        program = self.program(*kinds)
        return element(program.result, program.call(*(None if x is None else plain(kind, x, self.name) for kind, x in zip(kinds, held))))

    def program(self, *kinds: Any) -> Program:
        """The program for operands of these kinds. ``()`` is the kind of a pattern's entry.

        Variables outside of the function are read at each call of this method.

        >>> import vxm
        >>> vxm.LT.program("u32", "u32").result
        'bool'

        Raises `vxm.OperatorError`, which shows the place in the function.
        """
        self._expect(len(kinds))
        wanted = tuple(kind if kind == NOTHING else kind_of(kind) for kind in kinds)
        shapes = self._programs.setdefault(wanted, {})
        for readings, programs in list(shapes.items()):
            keys = _keys(readings)
            if keys in programs:
                return programs[keys]
        emitter = Emitter(self.name, wanted)
        try:
            program = emitter.finish(self.emit(emitter, emitter.parameters))
        except Refusal as refusal:
            raise OperatorError(f"{self.name}: {refusal}") from None
        except TypeError as error:
            if isinstance(error, OperatorError) or "more than" not in str(error):
                raise
            hint = "write several operators that are applied one after another"
            raise OperatorError(f"{self.name}: found more than 256 values; {hint}") from None
        except RecursionError:
            raise OperatorError(f"{self.name}: found an expression that is nested too deep; write it in several statements") from None
        programs = shapes.setdefault(tuple(emitter.captures), {})
        while len(programs) >= _MOST_PROGRAMS:
            programs.pop(next(iter(programs)), None)
        programs[tuple(emitter.captures.values())] = program
        return program

    def cuda(self, *kinds: Any) -> str:
        """The program for operands of these kinds, as text in CUDA C++."""
        return self.program(*kinds).cuda()

    def bind(self, value: Any) -> Op:
        """This operator with a fixed second operand.

        A number of Python takes the kind of its parameter's annotation; without one, that of the other operand.

        >>> import numpy as np, vxm
        >>> most = vxm.MIN.bind(10)
        >>> most
        <vxm.Op MIN(first, 10)>
        >>> int(most(np.uint8(200)))
        10
        """
        return _Bound(self, 1, value)

    def bind_first(self, value: Any) -> Op:
        """This operator with a fixed first operand.

        >>> import vxm
        >>> float(vxm.MINUS.bind_first(1.0)(0.25))
        0.75
        """
        return _Bound(self, 0, value)

    def __repr__(self) -> str:
        listed = (name if kind is None else f"{name}: {kind}" for name, kind in zip(self.parameters, self._annotations))
        return f"<vxm.Op {self.name}({', '.join(listed)})>"

    def _expect(self, count: int) -> None:
        if count != len(self.parameters):
            operands = "operand" if len(self.parameters) == 1 else "operands"
            raise TypeError(f"{self.name}: expected {len(self.parameters)} {operands}, found {count}")


class _Written(Op):
    """An operator that is a function of Python."""

    def __init__(self, function: FunctionType, scope: dict[str, Any]) -> None:
        self._source = Source(function, scope)
        self._result = self._source.annotation("return")
        parameters = self._source.parameters
        super().__init__(self._source.name, parameters, tuple(self._source.annotation(name) for name in parameters))
        # read once: it may hold much
        self._source.scope.clear()
        # `help` and doctest look for these
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        if self in emitter.stack:
            raise Refusal(f"a call of `{self.name}` by itself", "an operator has no recursion: write out its steps")
        settled = emitter.settle(operands, self._annotations)
        for operand, name, kind in zip(settled, self.parameters, self._annotations):
            if kind is None or (isinstance(operand, Value) and operand.kind == kind):
                continue
            found = operand.kind if isinstance(operand, Value) else "an operand without a value"
            instead = "pass a struct" if is_struct(kind) else f"cast it, as in {kind}(x)"
            raise Refusal(f"{found} for `{name}` of {self.name}, which is annotated {kind}", instead)
        # the same call again has the same result
        call = (self, *settled) if all(isinstance(operand, (Value, Void)) for operand in settled) else None
        if call in emitter.calls:
            return emitter.calls[call]
        emitter.stack.append(self)
        try:
            made = Translator(emitter, self._source, settled, self._result).run()
        finally:
            emitter.stack.pop()
        if call is not None:
            emitter.calls[call] = made
        return made


class _Basic(Op):
    """A built-in operator: one operation, or little more."""

    def __init__(self, name: str, parameters: str, make: Callable[[Emitter, Sequence[Operand]], Operand], doc: str) -> None:
        super().__init__(name, tuple(parameters.split()))
        self._make = make
        self.__doc__ = doc

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        return self._make(emitter, operands)


class _Bound(Op):
    """An operator of two operands, of which one is fixed."""

    def __init__(self, inner: Op, index: int, value: Any) -> None:
        if len(inner.parameters) != 2:
            raise TypeError(f"{inner.name}: expected an operator of two operands, found one of {len(inner.parameters)}")
        kind = inner._annotations[index]
        self._held = value if kind is None else _number(value, kind, f"{inner.name}: {inner.parameters[index]}")
        if not isinstance(self._held, (bool, int, float, np.generic)):
            raise TypeError(f"{inner.name}: expected a number or a struct, found {type(value).__name__}")
        other = 1 - index
        super().__init__(f"{inner.name}_bind{'' if index else '_first'}", (inner.parameters[other],), (inner._annotations[other],))
        self._inner = inner
        self._index = index

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        both = list(operands)
        both.insert(self._index, emitter.operand(self._held, captured=True))
        return self._inner.emit(emitter, emitter.settle(both, self._inner._annotations))

    def __repr__(self) -> str:
        held = shown(self._held)
        listed = [self.parameters[0], held] if self._index else [held, self.parameters[0]]
        return f"<vxm.Op {self._inner.name}({', '.join(listed)})>"


def op(function: Callable[..., Any]) -> Op:
    """Makes a function of one to three numbers an operator.

    The function is compiled from its source, so that it runs on CPUs and GPUs. It may have assignments, ``if``, ``return``, arithmetic,
    comparisons, ``min``, ``max``, ``abs``, casts such as ``vxm.u32(x)``, and calls of operators. Numbers from outside of the function
    are read when it is used.

    A parameter takes the kind of the operand, or of its annotation. A number such as ``1`` takes the kind of what it meets. Two values
    of different kinds don't mix: cast one of them. ``//`` and ``%`` round as in Python, and `vxm.div` and `vxm.rem` toward zero.

    >>> import numpy as np, vxm
    >>> @vxm.op
    ... def step(length, weight: vxm.u32) -> vxm.u64:
    ...     if weight == 0:
    ...         return length
    ...     return vxm.saturating_add(length, vxm.u64(weight))
    >>> step
    <vxm.Op step(length, weight: u32)>
    >>> int(step(np.uint64(2**64 - 2), 5)) == 2**64 - 1
    True
    >>> float(vxm.op(lambda a, b: a if a < b else b / 2)(3.0, 2.0))
    1.0

    Raises `vxm.OperatorError` if the source isn't found. What the body can't have is found at the first use.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"expected a function that is written in Python, found {type(function).__name__}")
    # annotations may be names of the function around
    return _Written(function, sys._getframe(1).f_locals)


def _keys(readings: tuple[Reading, ...]) -> tuple[Hashable, ...]:
    """What the readings give now. If one of them raises, it is something that no program has."""
    try:
        return tuple(reading.key() for reading in readings)
    except Exception:
        # the translation meets it again, and says where
        return (object(),)


def _number(value: Any, kind: Optional[str], what: str) -> Any:
    """A number as one of NumPy, of this kind if it is given."""
    if value is None:
        return None
    if isinstance(value, np.generic):
        try:
            found = kind_of(value.dtype)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
        if kind not in (None, found):
            if is_struct(found) or is_struct(str(kind)):
                raise TypeError(f"{what}: expected {kind}, found {found}")
            raise TypeError(f"{what}: expected {kind}, found {found}: cast it, as in {kind}(x)")
        return value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{what}: expected a number or a struct, found {type(value).__name__}")
    kind = kind or ("bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64")
    suits = kind == "bool" if isinstance(value, bool) else kind in (NUMBERS if isinstance(value, int) else FLOATS)
    if not suits:
        raise TypeError(f"{what}: expected {kind}, found {type(value).__name__}")
    if kind in NUMBERS and not fits(kind, value):
        raise OverflowError(f"{what}: expected a number that fits {kind}, found {shown(value)}")
    return dtype_of(kind).type(value)


def _plus(emitter: Emitter, operands: Sequence[Operand]) -> Operand:
    first, second = operands
    return emitter.apply("add", (first, Literal(1, captured=False) if isinstance(second, Void) else second))


def _times(emitter: Emitter, operands: Sequence[Operand]) -> Operand:
    first, second = operands
    return emitter.apply("mul", (first, Literal(1, captured=False))) if isinstance(second, Void) else emitter.apply("mul", operands)


def _one(emitter: Emitter, operands: Sequence[Operand]) -> Operand:
    kind = emitter.value(operands[0]).kind
    if is_struct(kind):
        raise Refusal(f"ONE of {kind}", "write an operator that makes the struct")
    return emitter.constant(kind, True if kind == "bool" else 1 if kind in INTEGERS else 1.0)


def _applied(operation: str, swapped: bool = False) -> Callable[[Emitter, Sequence[Operand]], Operand]:
    return lambda emitter, operands: emitter.apply(operation, operands[::-1] if swapped else operands)


_OPERANDS = {1: "operand", 2: "first second", 3: "condition yes no"}


def _basic(name: str, doc: str, operation: str, swapped: bool = False) -> Op:
    return _Basic(name, _OPERANDS[ARITY[operation]], _applied(operation, swapped), doc)


PLUS: Op = _Basic("PLUS", "first second", _plus, "The sum. Over a pattern's entry it adds 1.")
MINUS = _basic("MINUS", "The first less the second.", "sub")
RMINUS = _basic("RMINUS", "The second less the first.", "sub", swapped=True)
TIMES: Op = _Basic("TIMES", "first second", _times, "The product. Over a pattern's entry it is the first operand.")
DIV = _basic("DIV", "The first divided by the second, for integers toward zero.", "div")
RDIV = _basic("RDIV", "The second divided by the first, for integers toward zero.", "div", swapped=True)
MIN = _basic("MIN", "The lesser.", "min")
MAX = _basic("MAX", "The greater.", "max")
FIRST: Op = _Basic("FIRST", "first second", lambda emitter, both: emitter.value(both[0]), "The first.")
SECOND: Op = _Basic("SECOND", "first second", lambda emitter, both: emitter.value(both[1]), "The second.")
PAIR: Op = _Basic("PAIR", "first second", lambda emitter, both: emitter.constant("u32", 1), "1 as u32, for any operands.")
LOR = _basic("LOR", "Whether one of two bools is true.", "or")
LAND = _basic("LAND", "Whether both of two bools are true.", "and")
LXOR = _basic("LXOR", "Whether two bools differ.", "xor")
BOR = _basic("BOR", "The bits that are set in one of the operands.", "bitor")
BAND = _basic("BAND", "The bits that are set in both operands.", "bitand")
BXOR = _basic("BXOR", "The bits that differ.", "bitxor")
EQ = _basic("EQ", "Whether both are equal.", "eq")
NE = _basic("NE", "Whether they differ.", "ne")
LT = _basic("LT", "Whether the first is less.", "lt")
GT = _basic("GT", "Whether the first is greater.", "gt")
LE = _basic("LE", "Whether the first is less or equal.", "le")
GE = _basic("GE", "Whether the first is greater or equal.", "ge")

IDENTITY: Op = _Basic("IDENTITY", "operand", lambda emitter, one: emitter.value(one[0]), "The operand itself.")
AINV = _basic("AINV", "The negative. Integers wrap.", "neg")
MINV: Op = _Basic(
    "MINV", "operand", lambda emitter, one: emitter.apply("div", (Literal(1, captured=False), one[0])), "1 divided by it."
)
LNOT = _basic("LNOT", "Whether a bool is false.", "logical_not")
ABS = _basic("ABS", "The absolute value.", "abs")
ONE: Op = _Basic("ONE", "operand", _one, "1 of the operand's kind; of bool, true.")
BNOT = _basic("BNOT", "All bits the other way.", "not")
SQRT = _basic("SQRT", "The square root of a float.", "sqrt")

saturating_add = _basic("saturating_add", "The sum of integers, or the limit that it passes.", "saturating_add")
saturating_sub = _basic("saturating_sub", "The difference of integers, or the limit that it passes.", "saturating_sub")
rotate_left = _basic("rotate_left", "The first's bits, moved to the left by the second, and in again on the right.", "rotate_left")
rotate_right = _basic("rotate_right", "The first's bits, moved to the right by the second, and in again on the left.", "rotate_right")
count_ones = _basic("count_ones", "How many bits are set, as u32.", "count_ones")
leading_zeros = _basic("leading_zeros", "How many bits above the highest set one, as u32.", "leading_zeros")
trailing_zeros = _basic("trailing_zeros", "How many bits below the lowest set one, as u32.", "trailing_zeros")
sqrt = _basic("sqrt", "The square root of a float.", "sqrt")
floor = _basic("floor", "The greatest whole number up to a float, as a float.", "floor")
ceil = _basic("ceil", "The least whole number from a float on, as a float.", "ceil")
trunc = _basic("trunc", "A float without its fraction.", "trunc")
is_nan = _basic("is_nan", "Whether a float isn't a number.", "is_nan")
is_finite = _basic("is_finite", "Whether a float is a number, and not infinite.", "is_finite")
is_infinite = _basic("is_infinite", "Whether a float is infinite.", "is_infinite")
rem = _basic("rem", "The remainder of a division toward zero. It has the sign of the first.", "rem")
div = _basic("div", "The first divided by the second, for integers toward zero.", "div")
select = _basic("select", "The second operand where the first is true, else the third.", "select")
