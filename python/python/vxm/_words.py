"""Elements as the words that the compiled part takes: of 32 bits for kinds of up to 32, else of 64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._kinds import KINDS, NOTHING, dtype_of, fields_of, is_struct, kind_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["element", "plain", "values_of", "words_of"]


def _word(kind: str) -> np.dtype[Any]:
    """The type of words for a kind."""
    return np.dtype(np.uint64 if dtype_of(kind).itemsize > 4 else np.uint32)


def _padded(kind: str) -> np.dtype[Any]:
    """The type of a struct that fills a word."""
    fields = fields_of(kind)
    formats, offsets = [KINDS[field.kind] for field in fields.values()], [field.offset for field in fields.values()]
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": _word(kind).itemsize})


def _canonical(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """The values of a kind of numbers. All NaNs have one bit pattern."""
    if KINDS[kind].kind == "f":
        unknown = np.isnan(array)
        array = np.where(unknown, KINDS[kind].type(np.nan), array) if unknown.any() else array
    return np.ascontiguousarray(array, KINDS[kind])


def words_of(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """The words of values, which have the kind."""
    if is_struct(kind):
        padded = np.zeros(array.shape, _padded(kind))
        for name, field in fields_of(kind).items():
            padded[name] = _canonical(array[name], field.kind)
        return padded.view(_word(kind))
    size = KINDS[kind].itemsize
    return _canonical(array, kind).view(f"u{size}").astype(_word(kind), copy=False)


def values_of(words: NDArray[Any], kind: str) -> NDArray[Any]:
    """The values that lie in words."""
    if is_struct(kind):
        padded, array = words.view(_padded(kind)), np.empty(words.shape, dtype_of(kind))
        for name in fields_of(kind):
            array[name] = padded[name]
        return array
    return words.astype(f"u{KINDS[kind].itemsize}", copy=False).view(KINDS[kind])


def element(kind: str, found: Any) -> Any:
    """The element of NumPy for what the compiled part gives: a number, or a struct's word. None and members of sets stay."""
    if found is None or kind == NOTHING:
        return found
    if is_struct(kind):
        return values_of(np.array([found], _word(kind)), kind)[0]
    return KINDS[kind].type(found)


def plain(kind: str, value: Any, what: str) -> Any:
    """What the compiled part takes for an element: a number of Python, or a struct's word."""
    if is_struct(kind):
        found = kind_of(value.dtype) if isinstance(value, (np.void, np.ndarray)) else type(value).__name__
        if found != kind or np.shape(value) != ():
            raise TypeError(f"{what}: expected {kind}, found {found}")
        return int(words_of(np.asarray(value).reshape(1), kind)[0])
    return value.item() if isinstance(value, np.generic) else value
