"""Structs of numbers as elements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import unmasked
from ._emit import Emitting
from ._errors import ShapeError
from ._kinds import KINDS, dtype_of, fields_of, kind_of
from ._words import record

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

    def __call__(self, /, *values: Any, **named: Any) -> Any:
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
        return record(self.kind, tuple(self._given(values, named)), self.name)[()]

    def array(self, /, *columns: ArrayLike, **named: ArrayLike) -> NDArray[Any]:
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

        given = []
        for (name, field), column in zip(fields_of(self.kind).items(), self._given(columns, named)):
            given.append(_cast(np.atleast_1d(unmasked(column, name)), field.kind, f"{self.name}: {name}"))
        try:
            shape = np.broadcast_shapes(*(column.shape for column in given))
        except ValueError:
            lengths = ", ".join(str(column.shape) for column in given)
            raise ShapeError(f"{self.name}: expected columns of one length, found {lengths}") from None
        made = np.empty(shape, self.dtype)
        for name, held in zip(self.parameters, given):
            made[name] = held
        return made

    def emit(self, emitter: Emitter, operands: Sequence[Operand]) -> Operand:
        return emitter.struct(self.kind, operands)

    def __repr__(self) -> str:
        return f"<vxm.Struct {self.name} {self.kind}>"

    def _given(self, placed: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """What is given for each field."""
        rest = self.parameters[len(placed) :]
        if len(placed) > len(self.parameters) or set(named) != set(rest):
            raise TypeError(f"{self.name}: expected each of {', '.join(self.parameters)} once")
        return [*placed, *(named[name] for name in rest)]


def struct(of: type) -> Struct:
    """Makes a class an element: its annotated variables are the fields, numbers or bools of 8 bytes in all.

    Elements are records in NumPy, and one word each on all devices. Operators read fields, make structs by a call, and compare them by ``==``
    and ``!=``, or tuples of their fields by order. If fields have the same names and types in one order, structs are of one kind.

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
    if of.__bases__ != (object,):
        raise TypeError(f"{of.__name__}: expected a class of its own, found one that inherits from {of.__bases__[0].__name__}")
    annotations = of.__dict__.get("__annotations__", None) or getattr(of, "__annotations__", {})
    if not annotations:
        raise TypeError(f"{of.__name__}: expected annotated variables, as `cost: vxm.u32`, found none")
    for name in of.__dict__:
        if not (name.startswith("__") and name.endswith("__")):
            what = "a field without a value" if name in annotations else "annotated variables only, found something else of this name"
            raise TypeError(f"{of.__name__}: {name}: expected {what}")
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
