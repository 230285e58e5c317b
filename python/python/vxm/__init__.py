"""Graph algorithms as sparse linear algebra, on CPU threads and NVIDIA GPUs, with the same bits everywhere.

>>> import vxm
>>> path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3])
>>> path
<vxm.Graph of 4 vertices and 3 edges>
>>> path.bfs(0)
array([0, 1, 2, 3])

`Graph` holds a graph and runs algorithms; `certify` checks answers. `op`, `semiring`, `Vector`, `Matrix` and `fixpoint` are for algorithms
of your own. `vxm.nx` is a backend of networkx.
"""

from __future__ import annotations

from . import certify
from ._algebra import ANY, Monoid, Semiring, monoid, semiring
from ._analytics import Clique, Communities, Forest, Matching, PageRank, Truss, VertexCover
from ._colorings import Aggregates, Coloring, Extension, color_columns, color_rows, decompress
from ._errors import (
    ConvergenceError,
    DeviceError,
    Error,
    FileError,
    InputError,
    OutOfMemoryError,
    PlaceError,
    ShapeError,
    WrongAnswer,
)
from ._graph import Graph, IndependentSet
from ._loops import Fixed, Fixpoint, Loop, Step, fixpoint
from ._matrix import Matrix
from ._operators import (
    ABS, AINV, BAND, BNOT, BOR, BXOR, DIV, EQ, FIRST, GE, GT, IDENTITY, LAND, LE, LNOT, LOR, LT, LXOR, MAX, MIN, MINUS,
    MINV, NE, ONE, Op, OperatorError, PAIR, PLUS, RDIV, RMINUS, SECOND, SQRT, TIMES, ceil, count_ones, div, f32, f64, floor,
    i8, i16, i32, i64, is_finite, is_infinite, is_nan, leading_zeros, op, rem, rotate_left, rotate_right, saturating_add,
    saturating_sub, select, sqrt, trailing_zeros, trunc, u8, u16, u32, u64,
)  # fmt: skip
from ._renumbered import Renumbered
from ._structs import Struct, struct
from ._vectors import Expression, Vector, fill, map2, map3, mxv
from ._vxm import __version__, devices

__all__ = [
    "ABS", "AINV", "ANY", "Aggregates", "BAND", "BNOT", "BOR", "BXOR", "Clique", "Coloring", "Communities", "ConvergenceError", "DIV", "DeviceError", "EQ",
    "Error", "Expression", "Extension", "FIRST", "FileError", "Fixed", "Fixpoint", "Forest", "GE", "GT", "Graph", "IDENTITY", "IndependentSet", "InputError",
    "LAND", "LE", "LNOT", "LOR", "LT", "Loop", "LXOR", "MAX", "MIN", "MINUS", "MINV", "Matching", "Matrix", "Monoid", "NE", "ONE", "Op", "OperatorError",
    "OutOfMemoryError", "PAIR", "PLUS", "PageRank", "PlaceError", "RDIV", "RMINUS", "Renumbered", "SECOND", "SQRT", "Semiring", "ShapeError", "Step", "Struct", "TIMES", "Truss", "Vector",
    "VertexCover", "WrongAnswer", "__version__", "ceil", "certify", "color_columns", "color_rows", "count_ones", "decompress", "devices", "div", "f32", "f64", "fill", "fixpoint",
    "floor", "i16", "i32", "i64", "i8", "is_finite", "is_infinite", "is_nan", "leading_zeros", "map2", "map3", "monoid",
    "mxv", "op", "rem", "rotate_left", "rotate_right", "saturating_add", "saturating_sub", "select", "semiring", "sqrt", "struct",
    "trailing_zeros", "trunc", "u16", "u32", "u64", "u8",
]  # fmt: skip
