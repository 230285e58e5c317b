"""Arrays of other packages on a GPU, such as CuPy's: taken, and lent, without a byte over the bus.

Both go by DLPack, or by the CUDA array interface. The specifications: https://dmlc.github.io/dlpack and
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _vxm
from ._errors import DeviceError, Error, InputError, ShapeError
from ._kinds import INTEGERS, dtype_of, is_struct, kind_of
from ._words import padded_type, word_of

if TYPE_CHECKING:
    from ._vectors import Vector

__all__ = ["Lent", "csr_on_gpu", "foreign", "on_gpu"]

# DLPack's numbers of the host, of a GPU, of page-locked memory of the host, and of memory that moves between both
_HOST, _GPU, _LOCKED, _MANAGED = 1, 2, 3, 13


def _place(values: Any) -> Optional[int]:
    """DLPack's number of the kind of device that holds an array; None for what isn't DLPack's."""
    where = getattr(values, "__dlpack_device__", None)
    if where is None or isinstance(values, type):
        return None
    given = where()
    try:
        kind, _ = given
        return int(kind)
    except (TypeError, ValueError):
        raise InputError(f"expected __dlpack_device__ to give two numbers, found {given!r}") from None


def on_gpu(values: Any) -> bool:
    """Whether these are an array on a GPU."""
    place = _place(values)
    return getattr(values, "__cuda_array_interface__", None) is not None if place is None else place in (_GPU, _MANAGED)


def foreign(values: Any, what: str) -> _vxm.Foreign:
    """An array with one axis on a GPU, as the compiled part takes it."""
    if not on_gpu(values):
        raise InputError(f"{what}: expected an array on a GPU, as others are, found {type(values).__name__}")
    try:
        return _vxm.Foreign.of_capsule(_capsule(values)) if hasattr(values, "__dlpack__") else _by_interface(values)
    except (Error, TypeError) as error:
        raise type(error)(f"{what}: {error}") from None
    except (LookupError, OverflowError, ValueError, AttributeError, RuntimeError) as error:
        raise InputError(f"{what}: expected an array by DLPack or the CUDA array interface, found {type(error).__name__}: {error}") from error


def _capsule(values: Any) -> Any:
    """An array by DLPack, ready on CUDA's default stream."""
    try:
        capsule = values.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:
        # of a package from before version 1.0
        capsule = values.__dlpack__(stream=1)
    if type(capsule).__name__ != "PyCapsule":
        raise InputError(f"expected __dlpack__ to give a capsule, found {type(capsule).__name__}")
    return capsule


def _by_interface(values: Any) -> _vxm.Foreign:
    """An array of a package without DLPack."""
    given = values.__cuda_array_interface__
    if not isinstance(given, dict) or not isinstance(given.get("typestr"), str) or not isinstance(given.get("shape"), tuple):
        raise InputError("expected a __cuda_array_interface__ with a typestr and a shape")
    dtype = np.dtype(given["typestr"])
    if given.get("mask") is not None:
        raise InputError("expected an array without a mask")
    if len(given["shape"]) != 1:
        raise ShapeError(f"expected an array with one axis, found {len(given['shape'])} axes")
    kind = kind_of(dtype)
    if is_struct(kind) or not dtype.isnative:
        raise TypeError(f"expected numbers in this machine's byte order, found {dtype}")
    (stride,) = given.get("strides") or (dtype.itemsize,)
    return _vxm.Foreign.at(given["data"][0] or 0, given["shape"][0], stride, kind)


def _integers(values: Any, what: str) -> _vxm.Foreign:
    """Integers on a GPU."""
    array = foreign(values, what)
    if array.kind not in INTEGERS:
        raise InputError(f"{what}: expected integers, found {dtype_of(array.kind)}")
    return array


def csr_on_gpu(indptr: Any, indices: Any, data: Any) -> Optional[tuple[_vxm.Foreign, _vxm.Foreign, Optional[_vxm.Foreign]]]:
    """The arrays of CSR, if any of them lies on a GPU."""
    if not (on_gpu(indptr) or on_gpu(indices) or on_gpu(data)):
        return None
    return _integers(indptr, "indptr"), _integers(indices, "indices"), None if data is None else foreign(data, "data")


class Lent:
    """The side of a vector that other packages read: its elements, where they lie."""

    __slots__ = ()
    _core: _vxm.Expr

    @classmethod
    def from_dlpack(cls, array: Any) -> Vector:
        """A vector of an array of another package, such as CuPy, which is copied. It lies where the array does: on its GPU, or the
        host.
        """
        # of a vector
        vector: Any = cls
        if on_gpu(array):
            made: Vector = vector._of(_vxm.Expr.foreign(foreign(array, "array")))
            return made
        place = _place(array)
        if place is None:
            raise TypeError(f"array: expected one by DLPack or the CUDA array interface, found {type(array).__name__}")
        if place not in (_HOST, _LOCKED):
            raise DeviceError(f"array: expected one on the host or a CUDA GPU, found one on DLPack's device {place}")
        made = vector.from_numpy(np.from_dlpack(array))
        return made

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The elements of a full vector on a GPU, for packages that read this: ``cupy.asarray(vector)``. They aren't to be written."""
        try:
            return self._interface()
        except BufferError as error:
            raise AttributeError(str(error)) from None

    def __getattr__(self, name: str) -> Any:
        # what the property raises ends here
        if name == "__cuda_array_interface__":
            try:
                self._interface()
            except BufferError as error:
                raise AttributeError(str(error)) from None
        raise AttributeError(f"a vector has no attribute {name!r}")

    def _interface(self) -> dict[str, Any]:
        if self._core.device == "cpu":
            raise AttributeError("a vector on the host has no __cuda_array_interface__: to(\"cuda\") moves it")
        kind = self._core.kind
        address = self._core.device_address()
        dtype, word = padded_type(kind) if is_struct(kind) else dtype_of(kind), word_of(kind).itemsize
        return {
            "version": 3,
            "shape": (len(self._core),),
            "typestr": dtype.str,
            "descr": dtype.descr,
            "data": (address, True),
            "strides": None if dtype.itemsize == word else (word,),
            # all work on it is done
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers of the device."""
        on, _, number = self._core.device.partition(":")
        return (_HOST, 0) if on == "cpu" else (_GPU, int(number or 0))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """The elements of a full vector, for packages that take them by DLPack: ``cupy.from_dlpack(vector)``.

        On a GPU they read the vector where it lies, and aren't to write it. Before version 1.0 DLPack couldn't say so: packages that use it get
        a copy on the GPU.

        >>> import numpy as np, vxm
        >>> np.from_dlpack(vxm.Vector.from_numpy([1.5, 2.5]))
        array([1.5, 2.5])
        """
        here, asked = self.__dlpack_device__(), None if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if here[0] == _GPU and (asked is None or asked[0] != _HOST):
            return self._core.dlpack(stream, max_version, asked, copy)
        if asked is not None and asked[0] != _HOST:
            raise BufferError(f"expected device {here} or the host, found {asked}: to() moves a vector")
        if copy is False:
            raise BufferError("a vector is copied for the host: expected no copy=False")
        # a vector has `to_numpy`
        array: Any = self.to_numpy()
        given = {"stream": stream, "max_version": max_version}
        return array.__dlpack__(**{name: value for name, value in given.items() if value is not None})
