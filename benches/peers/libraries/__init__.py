"""vxm and its peers. A library that can't be imported is left out."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from .base import Call, Library

__all__ = ["Call", "Found", "Library", "found"]

_CLASSES = {
    "vxm": "Vxm",
    "graphblas": "Graphblas",
    "networkit": "Networkit",
    "igraph": "Igraph",
    "scipy": "Scipy",
    "networkx": "Networkx",
}


class Found(NamedTuple):
    """The libraries that are there, vxm first, and the reasons why others aren't."""

    libraries: list[type[Library]]
    missing: dict[str, str]


def found() -> Found:
    """All libraries that can be imported."""
    libraries: list[type[Library]] = []
    missing: dict[str, str] = {}
    for name, held in _CLASSES.items():
        try:
            libraries.append(getattr(importlib.import_module(f".{name}", __name__), held))
        except (ImportError, OSError) as error:
            missing[name] = str(error)
    return Found(libraries, missing)
