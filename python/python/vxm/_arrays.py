"""Arrays in the types that the compiled part takes."""

from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from ._errors import InputError, PlaceError, ShapeError

__all__ = ["flat", "index_of", "integer", "integers", "number", "permutation", "same_integers", "seed_of", "sides_of", "threads_of", "unmasked", "unsigned", "weights"]


def unmasked(values: Any, what: str) -> np.ndarray:
    """The values as an array; masked ones are refused, as NumPy would read what lies below the mask."""
    if isinstance(values, np.ma.MaskedArray):
        mask: Any = np.ma.getmaskarray(values)
        # that of an array with fields has fields, too
        if any(np.any(mask[name]) for name in mask.dtype.names or ()) or (mask.dtype.names is None and np.any(mask)):
            raise InputError(f"{what}: expected an array without masked values: drop them, or fill them by .filled()")
        return np.asarray(values.data)
    if hasattr(values, "__dlpack__") or hasattr(values, "__cuda_array_interface__"):
        if not hasattr(values, "__array__") and not hasattr(values, "__array_interface__") and not hasattr(values, "__buffer__"):
            hint = "Vector.from_dlpack, Graph.from_csr and Matrix.from_csr take one on a GPU"
            raise TypeError(f"{what}: expected an array on the host, found {type(values).__name__}: {hint}")
    return np.asarray(values)


def flat(values: Any, what: str) -> np.ndarray:
    """The values as a contiguous array with one axis and the machine's byte order."""
    array = unmasked(values, what)
    if array.ndim != 1:
        raise ShapeError(f"{what}: expected an array with one axis, found {array.ndim} axes")
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def integers(values: Any, what: str) -> np.ndarray:
    """The values as ``int32`` or ``int64``; a copy only if they have another type."""
    array = flat(values, what)
    if array.dtype in (np.int32, np.int64):
        return array
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what}: expected integers, found {array.dtype}")
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{what}: expected integers below 2^63, found {array.max()}")
    return array.astype(np.int64)


def same_integers(one: Any, other: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays as ``int32``, or both as ``int64``."""
    left, right = integers(one, names[0]), integers(other, names[1])
    if left.dtype != right.dtype:
        left, right = left.astype(np.int64), right.astype(np.int64)
    return left, right


def weights(values: Any, what: str) -> np.ndarray:
    """The values as ``uint32``, ``uint64``, ``float32`` or ``float64``, none of them rounded."""
    array = flat(values, what)
    if array.dtype in (np.uint32, np.uint64, np.float32, np.float64):
        return array
    if array.size == 0:
        return np.empty(0, np.float64)
    kind = array.dtype.kind
    if kind == "b" or (kind == "u" and array.dtype.itemsize < 4):
        return array.astype(np.uint32)
    if kind == "i" and array.min() >= 0:
        return array.astype(np.uint64 if array.dtype.itemsize == 8 else np.uint32)
    if kind == "i":
        raise InputError(f"{what}: expected integers from 0, found {array.min()}: convert them to float64")
    if array.dtype == np.float16:
        return array.astype(np.float32)
    raise InputError(f"{what}: expected integers from 0, float32 or float64, found {array.dtype}")


def integer(value: Any, what: str) -> int:
    """An integer of Python or NumPy."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an integer, found {type(value).__name__}") from None


def number(value: Any, what: str, limit: int, expected: str) -> int:
    """An integer from 0 to ``limit``."""
    found = integer(value, what)
    if not 0 <= found <= limit:
        raise InputError(f"{what}: expected {expected}, found {found}")
    return found


def index_of(index: Any, what: str, n: int) -> int:
    """An index below ``n``."""
    found = integer(index, what)
    if not 0 <= found < n:
        raise PlaceError(f"{what}: expected an index below {n}, found {found}")
    return found


def permutation(order: Any, n: int, what: str = "vertices") -> np.ndarray:
    """Keys for an order of all vertices, or of others (``what``): the first gets ``n``, the last one 1."""
    array = integers(order, "order")
    if array.size != n:
        raise ShapeError(f"order: expected each of {n} {what} once, found {array.size}")
    key = np.zeros(n, np.uint32)
    inside = (array >= 0) & (array < n)
    if not inside.all():
        raise InputError(f"order: expected {what} below {n}, found {array[~inside][0]}")
    key[array] = np.arange(n, 0, -1, dtype=np.uint32)
    if not key.all():
        raise InputError(f"order: expected each of {n} {what} once, found none of {int(np.argmin(key))}")
    return key


def unsigned(values: Any, what: str) -> np.ndarray:
    """The values as ``uint32``."""
    array = unmasked(values, what)
    if array.ndim == 1:
        array = np.ascontiguousarray(array)
    if array.dtype == np.uint32 and array.ndim == 1:
        return array
    array = integers(array, what)
    limit = 2**32 - 1
    outside = (array < 0) | (array > limit)
    if outside.any():
        raise InputError(f"{what}: expected integers from 0 to {limit}, found {array[outside][0]}")
    return array.astype(np.uint32)


def seed_of(seed: int) -> int:
    """A seed of hashes."""
    return number(seed, "seed", 2**64 - 1, f"0 to {2**64 - 1}")


def threads_of(threads: Optional[int]) -> Optional[int]:
    """A number of threads, if there is one."""
    return None if threads is None else number(threads, "threads", 1024, "1 to 1024")


def sides_of(shape: Optional[tuple[int, int]], offsets: int) -> tuple[int, int]:
    """The numbers of rows and columns: as said, or a square with as many rows as the offsets of CSR tell."""
    most = 2**32 - 1
    m, n = (max(offsets - 1, 0),) * 2 if shape is None else shape
    rows, columns = (number(side, "shape", most, f"0 to {most}") for side in (m, n))
    if offsets == 0:
        raise ShapeError(f"indptr: expected {rows + 1} offsets, found none")
    return rows, columns
