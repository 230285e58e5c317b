"""Graph algorithms as sparse linear algebra, on CPU threads and NVIDIA GPUs, with the same bits everywhere.

>>> import vxm
>>> path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3])
>>> path
<vxm.Graph of 4 vertices and 3 edges>
>>> path.bfs(0)
array([0, 1, 2, 3])

`Graph` holds a graph and runs algorithms; `certify` checks answers. `vxm.nx` is a backend of networkx.
"""

from __future__ import annotations

from . import certify
from ._errors import (
    ConvergenceError,
    DeviceError,
    Error,
    FileError,
    InputError,
    OutOfMemoryError,
    ShapeError,
    WrongAnswer,
)
from ._graph import Coloring, Graph, IndependentSet
from ._vxm import __version__, devices

__all__ = [
    "Coloring",
    "ConvergenceError",
    "DeviceError",
    "Error",
    "FileError",
    "Graph",
    "IndependentSet",
    "InputError",
    "OutOfMemoryError",
    "ShapeError",
    "WrongAnswer",
    "__version__",
    "certify",
    "devices",
]
