"""Kinds of values, and the types of NumPy that hold them.

A kind is a name: that of a number, as ``u32``, or a struct's fields, as ``{cost: u32, parent: u32}``.
"""

from __future__ import annotations

import keyword
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "FLOATS", "Field", "INTEGERS", "KINDS", "NOTHING", "NUMBERS", "Record", "SIGNED", "dtype_of", "f32", "f64", "fields_of", "fits", "i8", "i16", "i32", "i64",
    "is_struct", "kind_of", "shown", "u8", "u16", "u32", "u64",
]  # fmt: skip

u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
f32, f64 = np.float32, np.float64

NOTHING = "()"
"""The kind of a pattern's entry, which has no value."""

_TYPES: dict[str, Any] = {
    "bool": np.bool_,
    **{"u8": u8, "u16": u16, "u32": u32, "u64": u64},
    **{"i8": i8, "i16": i16, "i32": i32, "i64": i64},
    **{"f32": f32, "f64": f64},
}
KINDS: dict[str, np.dtype[Any]] = {kind: np.dtype(held) for kind, held in _TYPES.items()}
"""The type of NumPy for each kind of numbers."""

SIGNED = frozenset(kind for kind in KINDS if kind[0] == "i")
INTEGERS = SIGNED | frozenset(kind for kind in KINDS if kind[0] == "u")
FLOATS = frozenset({"f32", "f64"})
NUMBERS = INTEGERS | FLOATS

_NAMES = {dtype.name: kind for kind, dtype in KINDS.items()}
# several types of NumPy may have one name: `long` and `long long`, for one
_HELD: dict[Any, str] = {np.dtype(code).type: _NAMES[np.dtype(code).name] for code in "?bBhHiIlLqQfd"}
_HELD.update({bool: "bool", int: "i64", float: "f64"})


class Field(NamedTuple):
    """A field of a struct."""

    kind: str
    offset: int
    """The bytes before it."""


class Record(np.record):  # type: ignore[misc]  # the stubs call its base final
    """An element with fields, which are its attributes: also those that are called as methods of NumPy, such as ``sum``."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name in (np.record.__getattribute__(self, "dtype").names or ()):
            return self[name]
        return np.record.__getattribute__(self, name)


# the most bytes of a struct, which lies in a word
_MOST_BYTES = 8
# for each kind of structs its fields, and the type of NumPy: with fields one after another, so that an element reads `x.cost`
_FIELDS: dict[str, dict[str, Field]] = {}
_RECORDS: dict[str, np.dtype[Any]] = {}


def is_struct(kind: str) -> bool:
    """Whether a kind is that of structs."""
    return kind.startswith("{")


def fields_of(kind: str) -> dict[str, Field]:
    """The fields of a kind of structs, by name and in order."""
    return _FIELDS[kind]


def _struct_of(dtype: np.dtype[Any]) -> str:
    """The kind of structs that a type of NumPy with fields holds."""
    fields: dict[str, Field] = {}
    offset = 0
    for name in dtype.names or ():
        held = dtype[name]
        kind = _NAMES.get(held.name)
        if kind is None or held.shape:
            raise TypeError(f"field `{name}`: expected {', '.join(KINDS)} or a type of NumPy for one of these, found {held}")
        if not name.isidentifier() or keyword.iskeyword(name) or name == "dtype":
            raise TypeError(f"expected fields named as variables of Python, but not dtype, found {name!r}")
        fields[name] = Field(kind, offset)
        offset += held.itemsize
    if not 0 < offset <= _MOST_BYTES:
        found = f"{offset} in {', '.join(fields)}" if fields else "no fields"
        raise TypeError(f"expected a struct of 1 to {_MOST_BYTES} bytes, found {found}")
    kind = f"{{{', '.join(f'{name}: {field.kind}' for name, field in fields.items())}}}"
    _RECORDS.setdefault(kind, np.dtype((Record, [(name, KINDS[field.kind]) for name, field in fields.items()])))
    _FIELDS.setdefault(kind, fields)
    return kind


def kind_of(dtype: Any) -> str:
    """The kind of a type of NumPy or Python, or of its name.

    A string is a kind or the full name of a type of NumPy: ``"i8"`` is a byte, as in Rust. A type with fields is a kind of structs.

    >>> import numpy as np
    >>> kind_of(np.uint32), kind_of("float64"), kind_of("i8"), kind_of(int)
    ('u32', 'f64', 'i8', 'i64')
    >>> kind_of(np.dtype([("cost", np.float32), ("parent", np.uint32)]))
    '{cost: f32, parent: u32}'
    >>> kind_of(complex)
    Traceback (most recent call last):
        ...
    TypeError: expected bool, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 or a type of NumPy for one of these, found <class 'complex'>
    """
    kind = None
    # `vxm.Struct` has one
    dtype = dtype.dtype if isinstance(getattr(dtype, "dtype", None), np.dtype) else dtype
    if isinstance(dtype, str):
        kind = dtype if dtype in KINDS or dtype in _FIELDS else _NAMES.get(dtype)
    elif isinstance(dtype, np.dtype):
        kind = _NAMES.get(dtype.name) if dtype.names is None else _struct_of(dtype)
    elif isinstance(dtype, type):
        kind = _HELD.get(dtype)
    if kind is None:
        raise TypeError(f"expected {', '.join(KINDS)} or a type of NumPy for one of these, found {dtype!r}")
    return kind


def dtype_of(kind: str) -> np.dtype[Any]:
    """The type of NumPy for a kind.

    >>> dtype_of("u16")
    dtype('uint16')
    """
    return KINDS[kind] if kind in KINDS else _RECORDS[kind]


def fits(kind: str, value: float) -> bool:
    """Whether a kind of numbers can hold a number, rounded if the kind is a float.

    >>> fits("u8", 255), fits("u8", -1), fits("f32", 1e300)
    (True, False, False)
    """
    if kind in INTEGERS:
        limits = np.iinfo(KINDS[kind])
        return isinstance(value, int) and int(limits.min) <= value <= int(limits.max)
    try:
        rounded = float(value)
    except OverflowError:
        return False
    return rounded in (np.inf, -np.inf) or not abs(rounded) > float(np.finfo(KINDS[kind]).max)


def shown(value: object) -> str:
    """A number for a message. Python refuses to write long integers.

    >>> shown(7), shown(1 << 5000)
    ('7', 'an integer of 5001 bits')
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    return str(value)
