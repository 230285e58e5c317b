"""Structs of numbers as elements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ._emit import Emitting
from ._kinds import KINDS, dtype_of, fields_of, fits, kind_of
from ._words import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._emit import Emitter, Operand

__all__ = ["Struct", "struct"]


class Struct(Emitting):
    """A type of elements with fields. Make one with `vxm.struct`.

    A call makes an element, in operators and outside of them.
    """

    name: str
    """The name of the class."""
    parameters: tuple[str, ...]
    """The names of the fields."""
    kind: str
    """The kind of its elements, as ``{cost: u32, parent: u32}``. Two structs with the same fields are of one kind."""
    dtype: np.dtype[Any]
    """The type of NumPy: records with the fields one after another."""

    def __init__(self, name: str, fields: dict[str, str]) -> None:
        self.name = name
        self.kind = kind_of(np.dtype([(field, KINDS[kind]) for field, kind in fields.items()]))
        self.dtype = dtype_of(self.kind)
        self.parameters = tuple(fields)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """An element with these fields, in order or by name, as a record of NumPy.

        >>> import vxm
        >>> @vxm.struct
        ... class Hop:
        ...     cost: vxm.u32
        ...     parent: vxm.u32
        >>> hop = Hop(7, parent=3)
        >>> int(hop.cost), int(hop.parent)
        (7, 3)

        Raises `TypeError` or `OverflowError` for a value that a field can't hold.
        """
        given = self._given(values, named)
        made = np.zeros(1, self.dtype)
        for (field, kind), value in zip(self._kinds(), given):
            suits = isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, np.void)
            number = value.item() if isinstance(value, np.generic) else value
            if not suits or (kind == "bool") != isinstance(number, bool) or (kind[0] in "ui" and isinstance(number, float)):
                raise TypeError(f"{self.name}: {field}: expected {kind}, found {value!r}")
            if kind != "bool" and not (fits(kind, number) or number != number):
                raise OverflowError(f"{self.name}: {field}: expected a number that fits {kind}, found {value!r}")
            made[field] = number
        return made[0]

    def array(self, *columns: ArrayLike, **named: ArrayLike) -> NDArray[Any]:
        """An array of elements with these fields, each an array or one value for all.

        >>> import vxm
        >>> @vxm.struct
        ... class Hop:
        ...     cost: vxm.u32
        ...     parent: vxm.u32
        >>> vxm.Vector.from_numpy(Hop.array(cost=[5, 7], parent=0))
        <vxm.Vector of 2 {cost: u32, parent: u32}>
        """
        from ._vectors import _cast

        given = [_cast(np.atleast_1d(column), kind) for (_, kind), column in zip(self._kinds(), self._given(columns, named))]
        made = np.empty(np.broadcast_shapes(*(column.shape for column in given)), self.dtype)
        for field, column in zip(self.parameters, given):
            made[field] = column
        return made

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        return emitter.struct(self.kind, operands)

    def __repr__(self) -> str:
        return f"<vxm.Struct {self.name} {self.kind}>"

    def _kinds(self) -> list[tuple[str, str]]:
        return [(name, field.kind) for name, field in fields_of(self.kind).items()]

    def _given(self, placed: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """What is given for each field."""
        rest = self.parameters[len(placed) :]
        if len(placed) > len(self.parameters) or set(named) != set(rest):
            raise TypeError(f"{self.name}: expected each of {', '.join(self.parameters)} once")
        return [*placed, *(named[name] for name in rest)]


def struct(of: type) -> Struct:
    """Makes a class an element: its annotated variables are the fields, numbers or bools of 8 bytes in all.

    Elements are arrays of records in NumPy, and one word each on all devices. Operators read fields, and make structs by a call.

    >>> import vxm
    >>> @vxm.struct
    ... class Hop:
    ...     cost: vxm.u32
    ...     parent: vxm.u32
    >>> @vxm.op
    ... def nearer(a, b):
    ...     return a if (a.cost, a.parent) <= (b.cost, b.parent) else b
    >>> nearest = vxm.monoid(nearer, Hop(2**32 - 1, 2**32 - 1))
    >>> hops = vxm.Vector.from_numpy(Hop.array(cost=[9, 4, 4], parent=[0, 2, 1]))
    >>> found = hops.reduce(nearest)
    >>> int(found.cost), int(found.parent)
    (4, 1)

    Raises `TypeError` for a class with other variables, or of more than 8 bytes.
    """
    if not isinstance(of, type):
        raise TypeError(f"expected a class with annotated variables, found {type(of).__name__}")
    annotations = of.__dict__.get("__annotations__", None) or getattr(of, "__annotations__", {})
    if not annotations:
        raise TypeError(f"{of.__name__}: expected annotated variables, as `cost: vxm.u32`, found none")
    for name in annotations:
        if name in of.__dict__:
            raise TypeError(f"{of.__name__}: {name}: expected a field without a value")
    # text is read where the class stands, which may be in a function
    caller = sys._getframe(1)
    scope = {**caller.f_globals, **caller.f_locals}
    fields = {}
    for name, held in annotations.items():
        try:
            fields[name] = _kind_in(held, scope)
        except TypeError as error:
            raise TypeError(f"{of.__name__}: {name}: {error}") from None
    try:
        made = Struct(of.__name__, fields)
    except TypeError as error:
        raise TypeError(f"{of.__name__}: {error}") from None
    made.__doc__ = of.__doc__
    made.__module__ = of.__module__
    return made


def _kind_in(held: Any, scope: dict[str, Any]) -> str:
    """The kind of a field. An annotation may be text, as `from __future__ import annotations` leaves it."""
    for _ in range(2):
        if isinstance(held, str) and held not in KINDS:
            try:
                held = eval(held, scope)
            except Exception as error:
                raise TypeError(f"an annotation that isn't a kind: {error}") from None
    kind = kind_of(held)
    if kind not in KINDS:
        raise TypeError(f"expected {', '.join(KINDS)}, found {kind}")
    return kind
