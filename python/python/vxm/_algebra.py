"""Monoids and semirings of operators."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _operators as ops
from . import _vxm
from ._kinds import FLOATS, INTEGERS, KINDS, dtype_of, fields_of, is_struct
from ._operators import Op
from ._words import plain

__all__ = ["ANY", "Monoid", "Semiring", "monoid", "semiring"]

_Value = Union[bool, int, float, np.void]


class Monoid:
    """An associative operator and its identity. Make one with `vxm.monoid`; built-in operators such as `vxm.MIN` have theirs."""

    op: Op
    """The operator."""

    def __init__(
        self,
        op: Op,
        identity: Callable[[str], _Value],
        terminal: Callable[[str], Optional[_Value]],
        properties: Callable[[str], tuple[bool, bool, bool]],
        check: bool,
    ) -> None:
        self.op = op
        self._identity, self._terminal, self._properties = identity, terminal, properties
        self._check = check
        self._made: dict[Any, _vxm.Monoid] = {}

    def of(self, kind: str) -> _vxm.Monoid:
        """The monoid over elements of a kind. Its laws are checked once."""
        program = self.op.program(kind, kind)
        made = self._made.get(program)
        if made is not None:
            return made
        if program.result != kind:
            raise TypeError(f"{self.op.name}: expected a result of type {kind}, as a monoid has, found {program.result}")
        identity, terminal = plain(kind, self._identity(kind), "identity"), self._terminal(kind)
        terminal = None if terminal is None else plain(kind, terminal, "terminal")
        made = _vxm.Monoid(program, identity, terminal, *self._properties(kind))
        if self._check:
            made = made.check()
        self._made[program] = made
        return made

    def __repr__(self) -> str:
        return f"<vxm.Monoid {self.op.name}>"


def monoid(
    op: Op,
    identity: _Value,
    *,
    terminal: Optional[_Value] = None,
    commutative: bool = True,
    exact: Optional[bool] = None,
    check: bool = True,
) -> Monoid:
    """A monoid: an associative operator and the value that changes no other one.

    ``terminal`` is a value that no other changes: a fold may stop there. ``exact`` says whether the operator is associative, bit for
    bit; without it, integers and bools are, and floats and structs with a float are not. An exact and commutative monoid is folded in any order, which is
    faster. Say ``exact=True`` of an operator on floats that only chooses one of its operands.

    At the first use with a kind, the laws are tried on extreme and on random values, unless ``check`` is false; of structs on extreme ones but NaN. The identity may change NaN,
    as infinity does in `vxm.MIN`.

    >>> import vxm
    >>> farther = vxm.monoid(vxm.op(lambda a, b: a if a > b else b), 0)
    >>> farther
    <vxm.Monoid lambda>
    >>> wrong = vxm.monoid(vxm.MINUS, 0)
    >>> vxm.Vector.from_numpy([1, 2, 3]).reduce(wrong)
    Traceback (most recent call last):
        ...
    vxm.InputError: MINUS over i64: 0 is no identity: with 1 it gives -1

    Raises `TypeError` here, and `vxm.InputError` at the first use if a law is broken.
    """
    _expect_op(op)
    if len(op.parameters) != 2:
        raise TypeError(f"{op.name}: expected an operator of two operands, found one of {len(op.parameters)}")

    def properties(kind: str) -> tuple[bool, bool, bool]:
        return commutative, not _has_floats(kind) if exact is None else exact, False

    return Monoid(op, lambda _: identity, lambda _: terminal, properties, check)


def _has_floats(kind: str) -> bool:
    """Whether a kind is that of floats, or of structs with one."""
    return kind in FLOATS if not is_struct(kind) else any(field.kind in FLOATS for field in fields_of(kind).values())


def _expect_op(op: Any) -> None:
    if not isinstance(op, Op):
        raise TypeError(f"expected an operator, as vxm.op makes, found {type(op).__name__}")


class Semiring:
    """A monoid that adds, and an operator that multiplies a vector's element and a matrix's entry. Make one with `vxm.semiring`."""

    def __init__(self, add: Monoid, mul: Op, name: str) -> None:
        self.add, self.mul, self._name = add, mul, name

    def __repr__(self) -> str:
        return f"<vxm.Semiring {self._name}>"


def semiring(add: Union[Monoid, Op], mul: Union[Monoid, Op]) -> Semiring:
    """A semiring of a monoid and a multiplication.

    In ``x.vxm(graph, ring)`` the multiplication takes the vector's element first, and the edge's weight second. In ``mxv(graph, x, ring)`` it
    takes the weight first: so `vxm.FIRST` is the element in the one and the weight in the other.

    >>> import vxm
    >>> @vxm.op
    ... def wider(width, edge):
    ...     return min(width, edge)
    >>> vxm.semiring(vxm.MAX, wider)
    <vxm.Semiring MAX_wider>
    """
    adding, multiplying = as_monoid(add), as_op(mul)
    if len(multiplying.parameters) != 2:
        found = len(multiplying.parameters)
        raise TypeError(f"{multiplying.name}: expected an operator of two operands, found one of {found}")
    return Semiring(adding, multiplying, f"{adding.op.name}_{multiplying.name}")


def as_op(op: Any) -> Op:
    """An operator, or a monoid's."""
    if isinstance(op, Monoid):
        return op.op
    _expect_op(op)
    found: Op = op
    return found


def as_semiring(ring: Any, verb: str) -> Semiring:
    """A semiring."""
    if not isinstance(ring, Semiring):
        found = "an operator" if isinstance(ring, Op) else type(ring).__name__
        raise TypeError(f"{verb}: expected a semiring, as vxm.semiring makes, found {found}")
    return ring


def as_monoid(monoid: Any) -> Monoid:
    """A monoid, or a built-in operator's."""
    if isinstance(monoid, Monoid):
        return monoid
    _expect_op(monoid)
    found = _BUILT_IN.get(monoid)
    if found is None:
        raise TypeError(f"{monoid.name} has no known identity: make a monoid by vxm.monoid({monoid.name}, identity)")
    return found


def _least(kind: str) -> _Value:
    if kind == "bool":
        return False
    return int(np.iinfo(KINDS[kind]).min) if kind in INTEGERS else -np.inf


def _greatest(kind: str) -> _Value:
    if kind == "bool":
        return True
    return int(np.iinfo(KINDS[kind]).max) if kind in INTEGERS else np.inf


def _zero(kind: str) -> _Value:
    # 0.0 would change -0.0
    return -0.0 if kind in FLOATS else 0


def _built_in(
    op: Op,
    identity: Callable[[str], _Value],
    terminal: Callable[[str], Optional[_Value]] = lambda _: None,
    *,
    commutative: bool = True,
    exact: bool = False,
    except_nan: bool = False,
) -> Monoid:
    def properties(kind: str) -> tuple[bool, bool, bool]:
        return commutative, exact or kind not in FLOATS, except_nan and kind in FLOATS

    return Monoid(op, identity, terminal, properties, check=False)


_BUILT_IN: dict[Op, Monoid] = {
    ops.PLUS: _built_in(ops.PLUS, _zero),
    ops.TIMES: _built_in(ops.TIMES, lambda kind: 1, lambda kind: None if kind in FLOATS else 0),
    ops.MIN: _built_in(ops.MIN, _greatest, _least, exact=True, except_nan=True),
    ops.MAX: _built_in(ops.MAX, _least, _greatest, exact=True, except_nan=True),
    ops.LOR: _built_in(ops.LOR, lambda _: False, lambda _: True),
    ops.LAND: _built_in(ops.LAND, lambda _: True, lambda _: False),
    ops.LXOR: _built_in(ops.LXOR, lambda _: False),
    ops.BOR: _built_in(ops.BOR, lambda _: 0),
    ops.BAND: _built_in(ops.BAND, lambda kind: -1 if kind[0] == "i" else _greatest(kind)),
    ops.BXOR: _built_in(ops.BXOR, lambda _: 0),
}

ANY = _built_in(ops.FIRST, lambda kind: np.zeros(1, dtype_of(kind))[0], commutative=False, exact=True)
"""Any of several elements: the one with the least index."""


@functools.lru_cache(maxsize=None)
def casting(kind: str, to: str) -> _vxm.Program:
    """The program that casts values of a kind to another one. To bool it compares with 0."""
    code = _vxm.Builder("cast", [kind])
    value = code.parameter(0)
    if to == "bool" != kind:
        return code.finish(code.call("ne", [value, code.constant(kind, 0, False)]), to)
    return code.finish(code.cast(value, to), to)
