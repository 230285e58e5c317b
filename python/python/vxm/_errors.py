"""The exceptions of the package."""

from __future__ import annotations

__all__ = [
    "ConvergenceError",
    "DeviceError",
    "Error",
    "FileError",
    "InputError",
    "OutOfMemoryError",
    "PlaceError",
    "ShapeError",
    "WrongAnswer",
]


class Error(Exception):
    """The base of all exceptions of this package. Each displays as one line, but `OperatorError` shows the place, too."""


class InputError(Error, ValueError):
    """A value, a name, an array or the text of a file isn't what was expected."""


class PlaceError(InputError, IndexError):
    """An index lies outside of a vector or a matrix."""


class ShapeError(InputError):
    """The shapes of two operands don't fit."""


class FileError(Error, OSError):
    """A file can't be opened or read. ``errno`` is the operating system's number of the error."""


class OutOfMemoryError(Error, MemoryError):
    """Something doesn't fit into the memory of the host or of a device; found before it is allocated."""


class DeviceError(Error, RuntimeError):
    """A device is missing or lost, or its libraries are."""


class ConvergenceError(Error, RuntimeError):
    """A loop stalled, or didn't converge within its rounds."""


class WrongAnswer(Error):
    """A certificate refused an answer."""


for _class in (Error, InputError, PlaceError, ShapeError, FileError, OutOfMemoryError, DeviceError, ConvergenceError, WrongAnswer):
    _class.__module__ = "vxm"
del _class
