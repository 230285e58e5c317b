"""Certificates: checks of answers by code that shares nothing with the engine.

Each raises `vxm.WrongAnswer`, which names the least vertex where the answer is wrong. All take O(vertices + edges) time.

>>> import vxm
>>> path = vxm.Graph.from_coo(3, [0, 1], [1, 2])
>>> vxm.certify.independent_set(path, [0, 2])
>>> vxm.certify.independent_set(path, [0])
Traceback (most recent call last):
    ...
vxm.WrongAnswer: wrong answer: neither 2 nor a neighbour of it is in the set
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _vxm
from ._arrays import integers, unsigned
from ._colorings import arrays_of
from ._errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._graph import Graph

__all__ = [
    "clique", "coloring", "column_coloring", "components", "core_numbers", "independent_set", "levels", "matching", "parents",
    "strong_components", "triangles", "vertex_cover",
]  # fmt: skip


def independent_set(graph: Graph, members: ArrayLike) -> None:
    """Checks that no two of ``members`` are neighbours, and that each other vertex has a neighbour among them.

    ``members`` are vertices, or one bool for each vertex. Raises `vxm.WrongAnswer`; `vxm.InputError` if a member is no vertex.
    """
    _vxm.check_mis(_core(graph), _members(graph, members))


def coloring(graph: Graph, colors: ArrayLike) -> int:
    """Checks that each vertex has a colour above 0 that no neighbour has. Returns the number of colours.

    >>> import vxm
    >>> vxm.certify.coloring(vxm.Graph.from_coo(3, [0, 1], [1, 2]), [1, 2, 1])
    2
    """
    return _vxm.check_coloring(_core(graph), unsigned(colors, "colors"))


def column_coloring(matrix: Any, colors: ArrayLike) -> int:
    """Checks that each column of a sparse matrix of SciPy has a colour above 0, and that two with an entry in the same row differ. Returns the
    number of colours.

    >>> import scipy.sparse, vxm
    >>> vxm.certify.column_coloring(scipy.sparse.csr_array([[1, 1, 0], [0, 1, 1]]), [1, 2, 1])
    2
    """
    return _vxm.check_column_coloring(*arrays_of(matrix), unsigned(colors, "colors"))


def components(graph: Graph, labels: ArrayLike) -> int:
    """Checks that each vertex' label is the least vertex of its component. Returns the number of components.

    >>> import vxm
    >>> vxm.certify.components(vxm.Graph.from_coo(3, [0], [1]), [0, 0, 2])
    2
    """
    return _vxm.check_components(_core(graph), unsigned(labels, "labels"))


def levels(graph: Graph, source: int, hops: ArrayLike) -> int:
    """Checks that ``hops`` are the fewest from ``source`` to each vertex, and -1 where no path leads. Returns how many are reached.

    >>> import vxm
    >>> vxm.certify.levels(vxm.Graph.from_coo(3, [0], [1]), 0, [0, 1, -1])
    2
    """
    return _vxm.check_bfs(_core(graph), graph._vertex(source, "source"), _optional(hops, "hops"))


def parents(graph: Graph, source: int, tree: ArrayLike) -> int:
    """Checks that ``tree`` holds each vertex' least in-neighbour that is one hop nearer to ``source``; the source for itself, and -1 where no
    path leads. Returns the most hops.

    >>> import vxm
    >>> vxm.certify.parents(vxm.Graph.from_coo(3, [0], [1]), 0, [0, 0, -1])
    1
    """
    return _vxm.check_parents(_core(graph), graph._vertex(source, "source"), _optional(tree, "tree"))


def core_numbers(graph: Graph, cores: ArrayLike) -> int:
    """Checks each vertex' core number against a sequential program. Returns the greatest.

    >>> import vxm
    >>> vxm.certify.core_numbers(vxm.Graph.from_coo(3, [0], [1]), [1, 1, 0])
    1
    """
    return _vxm.check_cores(_core(graph), unsigned(cores, "cores"))


def triangles(graph: Graph, counts: ArrayLike) -> int:
    """Checks each vertex' number of triangles against a sequential program. Returns the number of triangles.

    >>> import vxm
    >>> vxm.certify.triangles(vxm.Graph.from_coo(3, [0, 1, 2], [1, 2, 0]), [1, 1, 1])
    1
    """
    array = integers(counts, "counts")
    if (array < 0).any():
        raise InputError(f"counts: expected integers from 0 on, found {array.min()}")
    return _vxm.check_triangles(_core(graph), array.astype(np.uint64))


def strong_components(graph: Graph, labels: ArrayLike) -> int:
    """Checks that each vertex' label is the least vertex of its strongly connected component. Returns the number of components.

    >>> import vxm
    >>> vxm.certify.strong_components(vxm.Graph.from_coo(2, [0], [1], directed=True), [0, 1])
    2
    """
    return _vxm.check_strong_components(_core(graph), unsigned(labels, "labels"))


def matching(graph: Graph, mate: ArrayLike) -> int:
    """Checks that mates are neighbours, and each other's mates, and that no edge has two ends without (-1). Returns the number of edges.

    >>> import vxm
    >>> vxm.certify.matching(vxm.Graph.from_coo(3, [0, 1], [1, 2]), [1, 0, -1])
    1
    """
    return _vxm.check_matching(_core(graph), _optional(mate, "mate"))


def clique(graph: Graph, members: ArrayLike) -> int:
    """Checks that all ``members`` are neighbours of each other, and that no other vertex is a neighbour of all. Returns their number.

    >>> import vxm
    >>> vxm.certify.clique(vxm.Graph.from_coo(3, [0, 1], [1, 2]), [0, 1])
    2
    """
    return _vxm.check_clique(_core(graph), _members(graph, members))


def vertex_cover(graph: Graph, members: ArrayLike, mate: ArrayLike) -> int:
    """Checks that each edge has an end among ``members``, and that ``mate`` is a maximal `matching`. Returns the number of its edges: no cover has
    fewer members.

    >>> import vxm
    >>> vxm.certify.vertex_cover(vxm.Graph.from_coo(3, [0, 1], [1, 2]), [1], [1, 0, -1])
    1
    """
    return _vxm.check_cover(_core(graph), _members(graph, members), _optional(mate, "mate"))


def _optional(values: ArrayLike, what: str) -> np.ndarray:
    """Numbers from 0 on, or -1 for none."""
    array = integers(values, what).astype(np.int64, copy=False)
    if (array < -1).any():
        raise InputError(f"{what}: expected numbers from 0 on, or -1 for none, found {array.min()}")
    return array


def _members(graph: Graph, members: ArrayLike) -> np.ndarray:
    """One bool for each vertex, of vertices or of bools."""
    array = np.asarray(members)
    if array.dtype != bool:
        listed = _vertices(graph, array, "members")
        array = np.zeros(graph.vertices, bool)
        array[listed] = True
    return np.ascontiguousarray(array)


def _core(graph: Graph) -> _vxm.Graph:
    if not isinstance(getattr(graph, "_core", None), _vxm.Graph):
        raise TypeError(f"expected a vxm.Graph, found {type(graph).__name__}")
    return graph._core


def _vertices(graph: Graph, values: Any, what: str) -> np.ndarray:
    array = integers(values, what)
    outside = (array < 0) | (array >= graph.vertices)
    if outside.any():
        raise InputError(f"{what}: expected vertices below {graph.vertices}, found {array[outside][0]}")
    return array
