"""Elements as the words that the compiled part takes: of 32 bits for kinds of up to 32, else of 64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._kinds import INTEGERS, KINDS, NOTHING, dtype_of, fields_of, fits, is_struct, kind_of, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["element", "padded_type", "plain", "record", "records", "values_of", "without_fields", "word_of", "words_of"]


def word_of(kind: str) -> np.dtype[Any]:
    """The type of words for a kind."""
    return np.dtype(np.uint64 if dtype_of(kind).itemsize > 4 else np.uint32)


def padded_type(kind: str) -> np.dtype[Any]:
    """The type of a struct that fills a word."""
    fields = fields_of(kind)
    formats, offsets = [KINDS[field.kind] for field in fields.values()], [field.offset for field in fields.values()]
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": word_of(kind).itemsize})


def _canonical(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """The values of a kind of numbers. All NaNs have one bit pattern, and so has what is true."""
    if kind == "bool":
        truths: NDArray[Any] = np.ascontiguousarray(array, np.bool_).view(np.uint8) != 0
        return truths
    if KINDS[kind].kind == "f":
        unknown = np.isnan(array)
        array = np.where(unknown, KINDS[kind].type(np.nan), array) if unknown.any() else array
    return np.ascontiguousarray(array, KINDS[kind])


def words_of(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """The words of values, which have the kind."""
    if is_struct(kind):
        padded = np.zeros(array.shape, padded_type(kind))
        for name, field in fields_of(kind).items():
            padded[name] = _canonical(array[name], field.kind)
        return padded.view(word_of(kind))
    size = KINDS[kind].itemsize
    return _canonical(array, kind).view(f"u{size}").astype(word_of(kind), copy=False)


def values_of(words: NDArray[Any], kind: str) -> NDArray[Any]:
    """The values that lie in words."""
    if is_struct(kind):
        padded, array = words.view(padded_type(kind)), np.empty(words.shape, dtype_of(kind))
        for name in fields_of(kind):
            array[name] = padded[name]
        return array
    return words.astype(f"u{KINDS[kind].itemsize}", copy=False).view(KINDS[kind])


def element(kind: str, found: Any) -> Any:
    """The element of NumPy for what the compiled part gives: a number, or a struct's word. None and members of sets stay."""
    if found is None or kind == NOTHING:
        return found
    if is_struct(kind):
        return values_of(np.array([found], word_of(kind)), kind)[0]
    return KINDS[kind].type(found)


def plain(kind: str, value: Any, what: str) -> Any:
    """What the compiled part takes for an element: a number of Python, or a struct's word."""
    if is_struct(kind):
        return int(words_of(record(kind, value, what).reshape(1), kind)[0])
    if isinstance(value, (np.void, np.ndarray, tuple, list)):
        raise TypeError(f"{what}: expected {kind}, found {_shown(value)}")
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: Any) -> str:
    """What a value is, for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.size} {value.dtype}"
    return kind_of(value.dtype) if isinstance(value, np.void) and value.dtype.names else type(value).__name__


def record(kind: str, value: Any, what: str) -> NDArray[Any]:
    """The struct of a record of NumPy, or of a tuple of numbers that its fields can hold: an array of no axes."""
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, np.void) and value.dtype.names:
        if kind_of(value.dtype) != kind:
            raise TypeError(f"{what}: expected {kind}, found {kind_of(value.dtype)}")
        return np.array(value)
    if not isinstance(value, tuple):
        raise TypeError(f"{what}: expected {kind}, found {_shown(value)}")
    fields = fields_of(kind)
    if len(value) != len(fields):
        raise TypeError(f"{what}: expected {kind}, found {len(value)} values")
    made = np.zeros((), dtype_of(kind))
    for (name, field), held in zip(fields.items(), value):
        number = held.item() if isinstance(held, np.generic) else held
        suits = isinstance(number, (bool, int, float)) and (field.kind == "bool") == isinstance(number, bool)
        if not suits or (isinstance(number, float) and field.kind in INTEGERS):
            raise TypeError(f"{what}: {name}: expected {field.kind}, found {shown(number)}")
        if field.kind != "bool" and number == number and not fits(field.kind, number):
            raise OverflowError(f"{what}: {name}: expected a number that fits {field.kind}, found {shown(number)}")
        made[name] = number
    return made


def records(kind: str, values: Any, what: str) -> NDArray[Any]:
    """The structs of an array with fields, or of a list of records and tuples."""
    if isinstance(values, np.ndarray):
        if values.dtype.names is None or kind_of(values.dtype) != kind:
            found = values.dtype if values.dtype.names is None else kind_of(values.dtype)
            raise TypeError(f"{what}: expected structs {kind}, found {found}")
        return values
    if isinstance(values, (tuple, np.void)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{what}: expected an array or a list of structs {kind}, found {_shown(values)}")
    held = list(values)
    made = np.empty(len(held), dtype_of(kind))
    for at, value in enumerate(held):
        made[at] = record(kind, value, f"{what}[{at}]")
    return made


def without_fields(verb: str, *kinds: str) -> None:
    """Refuses structs."""
    for kind in filter(is_struct, kinds):
        raise TypeError(f"{verb}: {kind} has fields: read or make them by map(op)")
