"""Graphs and their algorithms."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from . import _vxm
from ._analytics import Analytics
from ._arrays import flat, integers, number, permutation, same_integers, seed_of, sides_of, threads_of, unsigned, weights
from ._colorings import Colorings, asked_order
from ._errors import InputError, ShapeError
from ._foreign import csr_on_gpu
from ._kinds import NOTHING, kind_of
from ._renumbered import Renumbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from ._matrix import Matrix

__all__ = ["Graph", "IndependentSet"]

_MOST_VERTICES = 2**32 - 1


@dataclass(frozen=True, eq=False)
class IndependentSet:
    """A maximal independent set."""

    members: NDArray[np.uint32]
    """The vertices of the set, ascending."""
    rounds: int
    """How many rounds it took. It may depend on the schedule."""


class Graph(Colorings, Analytics):
    """A graph with vertices 0 to n - 1, undirected or directed, with or without weights. It doesn't change.

    Make one with `from_coo`, `from_scipy`, `from_csr`, `from_networkx` or `from_file`. An undirected graph has no self-loops. Arrays are
    copied, so a later change to them doesn't change the graph.

    Every algorithm takes these arguments:

    - ``device``: ``cpu``, ``cuda``, ``cuda:N`` or ``auto`` (the first GPU if there is one). The copy on a GPU is kept for later calls.
    - ``threads``: the number of threads, from 1 to 1024; without it, one for each core.

    Answers don't depend on them. The GIL is released while an algorithm runs. Ctrl-C stops it within a moment, and raises
    `KeyboardInterrupt`. A loop that runs on a GPU goes on in the background until it is done.
    """

    __slots__ = ("__weakref__", "_core")
    _core: _vxm.Graph

    def __init__(self) -> None:
        raise TypeError("make a graph with from_coo, from_scipy, from_csr, from_networkx or from_file")

    @classmethod
    def _of(cls, core: _vxm.Graph) -> Graph:
        graph = object.__new__(cls)
        graph._core = core
        return graph

    @classmethod
    def from_csr(
        cls,
        indptr: ArrayLike,
        indices: ArrayLike,
        data: Optional[ArrayLike] = None,
        *,
        shape: Optional[tuple[int, int]] = None,
        directed: bool = False,
        symmetrize: str = "check",
    ) -> Graph:
        """A graph of the arrays of a square matrix in CSR: row ``i`` is ``indices[indptr[i]:indptr[i + 1]]``, ascending.

        ``data`` are weights: non-negative integers, ``float32`` or ``float64``. ``symmetrize`` says what becomes of a matrix that
        isn't symmetric, in an undirected graph: ``check`` refuses it, ``union`` takes an edge in either direction (of two weights the
        lesser), and ``trust`` doesn't look: the caller guarantees a symmetric matrix without self-loops. O(n + entries) time.
        If the arrays lie on a GPU, as those of CuPy do, so does the graph, and it is checked there.

        >>> import vxm
        >>> vxm.Graph.from_csr([0, 1, 2], [1, 0])
        <vxm.Graph of 2 vertices and 1 edge>
        >>> vxm.Graph.from_csr([0, 1, 1], [1])
        Traceback (most recent call last):
            ...
        vxm.InputError: expected an undirected graph (a symmetric matrix), found entry (0, 1) without entry (1, 0)

        Raises `vxm.InputError`, which names the first entry that is wrong.
        """
        on_gpu = csr_on_gpu(indptr, indices, data)
        if on_gpu is not None:
            sides = sides_of(shape, len(on_gpu[0]))
            return cls._of(_vxm.Graph.foreign(sides, on_gpu, bool(directed), symmetrize))
        starts, columns = same_integers(indptr, indices, ("indptr", "indices"))
        rows, cols = sides_of(shape, starts.size)
        values = None if data is None else weights(data, "data")
        return cls._of(_vxm.Graph.from_csr((rows, cols), starts, columns, values, bool(directed), symmetrize))

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, weights: bool = False, directed: bool = False, symmetrize: str = "check"
    ) -> Graph:
        """A graph of a square sparse matrix or array of SciPy. Each stored entry is an edge, explicit zeros included.

        ``weights`` takes the matrix' values as the edges' weights. ``directed`` and ``symmetrize`` are as in `from_csr`. A matrix in CSR
        with sorted indices is read as it is; others are converted, and duplicates are summed as SciPy does. O(n + entries) time.

        >>> import scipy.sparse, vxm
        >>> matrix = scipy.sparse.coo_array(([2.5, 2.5], ([0, 1], [1, 0])), shape=(3, 3))
        >>> graph = vxm.Graph.from_scipy(matrix, weights=True)
        >>> graph.sssp(0)
        array([0. , 2.5, inf])

        Raises `vxm.InputError`.
        """
        try:
            csr = matrix.tocsr()
        except AttributeError:
            raise TypeError(f"expected a sparse matrix of SciPy, found {type(matrix).__name__}") from None
        # `has_canonical_format` looks at every index, so the matrix is tried first
        for canonical in (False, True):
            try:
                data = csr.data if weights else None
                options = {"shape": csr.shape, "directed": directed, "symmetrize": symmetrize}
                return cls.from_csr(csr.indptr, csr.indices, data, **options)
            except InputError:
                if canonical or csr.has_canonical_format:
                    raise
                csr = csr.copy()
                csr.sum_duplicates()
        raise AssertionError("unreachable")

    @classmethod
    def from_coo(
        cls,
        n: int,
        rows: ArrayLike,
        columns: ArrayLike,
        values: Optional[ArrayLike] = None,
        *,
        directed: bool = False,
    ) -> Graph:
        """A graph of ``n`` vertices with the edges ``(rows[k], columns[k])``, in any order.

        In an undirected graph an edge may be given in either direction or in both, and self-loops are dropped. Of parallel edges one is
        kept: the lightest, if there are ``values``. These are weights as in `from_csr`.

        >>> import vxm
        >>> graph = vxm.Graph.from_coo(3, [0, 1, 1], [1, 0, 2], [7, 5, 2])
        >>> graph.edges
        2
        >>> graph.sssp(0)
        array([0, 5, 7])

        Raises `vxm.InputError`, which names the first edge outside the graph.
        """
        count = number(n, "n", _MOST_VERTICES, f"0 to {_MOST_VERTICES} vertices")
        left, right = same_integers(rows, columns, ("rows", "columns"))
        held = None if values is None else weights(values, "values")
        return cls._of(_vxm.Graph.from_coo(count, left, right, held, bool(directed)))

    @classmethod
    def from_file(
        cls,
        path: Union[str, os.PathLike[str]],
        *,
        weights: bool = False,
        directed: bool = False,
        symmetrize: str = "union",
        input: Optional[str] = None,
        columns: Optional[Sequence[Union[int, str]]] = None,
    ) -> Graph:
        """The graph of a file, in any of the formats of the command ``vxm``, gzipped or not. Or a generated one: ``rmat:20:8``.

        ``input`` tells the format, such as ``"metis"``; else content and name do. ``"names"`` reads a list of edges between names.
        ``columns`` are those of both ends and perhaps of weights: of a list of edges their numbers from 1, such as ``(1, 2, 3)``, and of a table of
        Parquet or Arrow their names, such as ``("source", "target", "km")``. Weights are ``float64``. Of lists and tables they are read from that
        column, of a matrix' file from its values, which are 1 where it has none.
        Vertices are numbered from 0; `numbers` tells their numbers in the file, and `names` their names. Self-loops are dropped without weights.

        >>> import vxm
        >>> vxm.Graph.from_file("grid:3x4")
        <vxm.Graph of 12 vertices and 17 edges>

        Raises `vxm.FileError` if it can't be read, and `vxm.InputError`, which names file, line and column, if its text is wrong.
        """
        chosen = None if columns is None else [str(column) for column in columns]
        return cls._of(_vxm.Graph.from_file(os.fspath(path), bool(weights), bool(directed), symmetrize, input, chosen))

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: Optional[str] = None) -> Graph:
        """A graph of a networkx graph, directed if that is. Vertices are numbered in the order of ``list(graph)``.

        ``weight`` names the edges' attribute that holds the weights; an edge without it weighs 1. Of parallel edges the lightest counts.

        >>> import networkx as nx, vxm
        >>> vxm.Graph.from_networkx(nx.cycle_graph(5)).components().tolist()
        [0, 0, 0, 0, 0]
        """
        from .nx._convert import arrays_of

        n, rows, columns, values = arrays_of(graph, weight)
        return cls.from_coo(n, rows, columns, values, directed=graph.is_directed())

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return self._core.vertices

    @property
    def edges(self) -> int:
        """The number of edges. In an undirected graph an edge counts once."""
        return self._core.entries if self.directed else self._core.entries // 2

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._core.directed

    @property
    def device(self) -> str:
        """Where the graph was made: ``cpu``, or ``cuda:N``. Copies on other devices are kept once they were used."""
        return self._core.device

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._core.dtype is not None

    @property
    def dtype(self) -> Optional[np.dtype[Any]]:
        """The type of the weights: ``uint32``, ``uint64``, ``float32`` or ``float64``; None without weights."""
        name = self._core.dtype
        return None if name is None else np.dtype(name)

    def matrix(self) -> Matrix:
        """The adjacency matrix: an entry ``(i, j)`` for each edge, which holds its weight; a pattern without weights. It shares what is stored.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 1], [1, 2], directed=True).matrix()
        <vxm.Matrix of 3 x 3, 2 entries of ()>
        """
        from ._matrix import Matrix

        kind = NOTHING if self.dtype is None else kind_of(self.dtype)
        return Matrix._of(_vxm.Matrix.of_graph(self._core, kind))

    @property
    def name(self) -> Optional[str]:
        """The short name of the file that the graph was read from, or the specification that it was generated from."""
        return self._core.name

    @property
    def nbytes(self) -> int:
        """The bytes that the graph takes on the host, with the transposes and tiles built so far."""
        return self._core.nbytes

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbours of each vertex; in a directed graph, of edges that leave it."""
        return self._core.degrees()

    def __len__(self) -> int:
        return self.vertices

    def __repr__(self) -> str:
        kind = ("directed " if self.directed else "") + (f"{self.dtype}-weighted " if self.weighted else "")
        vertices = "vertex" if self.vertices == 1 else "vertices"
        edges = "edge" if self.edges == 1 else "edges"
        return f"<{kind}vxm.Graph of {self.vertices} {vertices} and {self.edges} {edges}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (*self._arrays(), self.directed, self._core.old_numbers())

    def info(self) -> dict[str, Any]:
        """Facts about the graph: its size, its degrees, and what was changed to read it.

        ``degrees`` counts the vertices of degree 0, 1, 2 to 3, 4 to 7, and so on.

        >>> import vxm
        >>> info = vxm.Graph.from_file("grid:2x3").info()
        >>> info["degree"], info["degrees"]
        ({'min': 2, 'mean': 2.3333333333333335, 'max': 3}, [0, 0, 6])
        """
        degrees = self.degrees
        n = self.vertices
        # the exponent of 2 above each degree
        classes = np.frexp(degrees.astype(np.float64))[1]
        return {
            "graph": self.name,
            "vertices": n,
            "edges": self.edges,
            "directed": self.directed,
            "dtype": None if self.dtype is None else self.dtype.name,
            "degree": {
                "min": int(degrees.min()) if n else 0,
                "mean": self._core.entries / max(n, 1),
                "max": int(degrees.max()) if n else 0,
            },
            "isolated": int((degrees == 0).sum()),
            "bytes": self.nbytes,
            "degrees": np.bincount(classes).tolist() if n else [],
            "changed": self._core.report,
        }

    def numbers(self, vertices: Optional[ArrayLike] = None) -> NDArray[np.uint64]:
        """The numbers of ``vertices`` (without it, of all) in the file that the graph was read from; else the vertices themselves."""
        listed = np.arange(self.vertices) if vertices is None else integers(vertices, "vertices")
        return self._core.numbers(listed.astype(np.int64, copy=False))

    def names(self, vertices: Optional[ArrayLike] = None) -> list[str]:
        """What the file that the graph was read from calls ``vertices`` (without it, all): names, or numbers as text."""
        listed = np.arange(self.vertices) if vertices is None else integers(vertices, "vertices")
        return self._core.names(listed.astype(np.int64, copy=False))

    def vertex(self, name: Union[int, str]) -> int:
        """The vertex with this number or name in the file. Raises `vxm.InputError` if there is none."""
        found = self._core.vertex(name if isinstance(name, str) else str(int(name)))
        if found is None:
            raise InputError(f"expected the number or name of one of {self.vertices} vertices, found {name}")
        return found

    def to_scipy(self) -> Any:
        """The graph as a ``scipy.sparse.csr_array``: weights, or ``True`` for each edge. An undirected edge is stored both ways.

        >>> import vxm
        >>> vxm.Graph.from_coo(2, [0], [1]).to_scipy().toarray().tolist()
        [[False, True], [True, False]]
        """
        from scipy.sparse import csr_array

        indptr, indices, data = self._arrays()
        narrow = indices.size < 2**31 and self.vertices < 2**31
        kind = np.int32 if narrow else np.int64
        data = np.ones(indices.size, bool) if data is None else data
        return csr_array((data, indices.astype(kind), indptr.astype(kind)), shape=(self.vertices, self.vertices))

    def renumbered(self, by: Union[str, ArrayLike] = "rcm") -> Renumbered:
        """The graph with other numbers for its vertices, so that a run reads memory that lies together. O(n log n + m log(degree)) time.

        ``by`` is an order: ``rcm`` (reverse Cuthill-McKee: neighbours get near numbers, for meshes and roads), ``degree`` (hubs first, for graphs
        of skewed degrees), or an array with the old number of each new vertex. Sets, colourings, distances and counts stay the same, at
        other places: `Renumbered.restored` brings them back. Hashes that break ties are those of the old numbers. What names vertices, as
        parents and the labels of components, names the new ones: ``old`` tells which they are.

        >>> import vxm
        >>> star = vxm.Graph.from_coo(4, [3, 3, 3], [0, 1, 2])
        >>> hub = star.renumbered("degree")
        >>> hub.old
        array([3, 0, 1, 2], dtype=uint32)
        >>> hub.restored(hub.graph.bfs(0))
        array([1, 1, 1, 0])

        Raises `vxm.InputError`: an order is unknown, or a number is missing or stands twice. `vxm.ShapeError`: there isn't a number for each vertex.
        """
        if isinstance(by, str) and by not in ("rcm", "degree"):
            raise InputError(f"by: expected rcm, degree or an array, found `{by}`")
        asked = by if isinstance(by, str) else unsigned(by, "by")
        if not isinstance(asked, str) and asked.size != self.vertices:
            raise ShapeError(f"by: expected the old number of each of {self.vertices} vertices, found {asked.size}")
        core, old = self._core.renumbered(asked)
        return Renumbered(Graph._of(core), old)

    def mis(
        self,
        *,
        priority: Optional[str] = None,
        formulation: Optional[str] = None,
        distance: int = 1,
        seed: int = 0,
        order: Optional[ArrayLike] = None,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> IndependentSet:
        """A maximal independent set: no two members are neighbours, and each other vertex has a neighbour in the set.

        ``priority`` is the order in which vertices may join: ``random``, ``degree``, ``resolve``, ``sorted`` (the default) or ``sorted-id``.
        With a ``distance`` of 2 no two members have a common neighbour either, and each other vertex is within two edges of a member; there is no
        ``resolve``. ``formulation`` is how a round is written as products: ``decide`` or ``count``. With ``order``, an array of all vertices, the
        result is the sequential greedy set of that order. ``format`` is the storage: ``auto``, ``csr`` or ``tiles``.

        >>> import vxm
        >>> star = vxm.Graph.from_coo(4, [0, 0, 0], [1, 2, 3])
        >>> star.mis().members
        array([1, 2, 3], dtype=uint32)
        >>> star.mis(order=[0, 1, 2, 3]).members
        array([0], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric, or an option is unknown.
        """
        place = (device, format, threads_of(threads))
        if isinstance(order, str):
            raise InputError(f"order: expected an array of all vertices, found `{order}`: a name is a priority")
        if order is not None and priority is not None:
            raise InputError(f"priority: expected none with an order of one's own, found `{priority}`")
        if distance == 2:
            if formulation is not None or priority == "resolve":
                what = f"formulation `{formulation}`" if formulation is not None else "priority `resolve`"
                raise InputError(f"{what} is for distance 1: expected another at distance 2")
            asked = asked_order((priority or "sorted") if order is None else order, seed, self.vertices)
            return IndependentSet(*_vxm.mis_at_distance_2(self._core, asked, place))
        if distance != 1:
            raise InputError(f"distance: expected 1 or 2, found {distance}")
        if order is None:
            return IndependentSet(*_vxm.mis(self._core, priority or "sorted", formulation, seed_of(seed), place))
        key = permutation(order, self.vertices)
        return IndependentSet(*_vxm.mis_in_order(self._core, key, place))

    def mis_many(
        self,
        seeds: Iterable[int],
        *,
        priority: str = "sorted",
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> list[IndependentSet]:
        """Maximal independent sets by several seeds at once: those that `mis` finds by each, in less time than one after another.

        >>> import vxm
        >>> path = vxm.Graph.from_coo(7, range(6), range(1, 7))
        >>> max(path.mis_many(range(8)), key=lambda found: found.members.size).members
        array([0, 2, 4, 6], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric, or an option is unknown.
        """
        place = (device, format, threads_of(threads))
        found = _vxm.mis_many(self._core, priority, [seed_of(seed) for seed in seeds], place)
        return [IndependentSet(*one) for one in found]

    def components(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint32]:
        """The connected component of each vertex, as the least vertex in it.

        >>> import vxm
        >>> vxm.Graph.from_coo(5, [0, 2, 1], [2, 4, 3]).components()
        array([0, 1, 0, 1, 0], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        return _vxm.components(self._core, (device, format, threads_of(threads)))

    def bfs(
        self, source: int, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.int64]:
        """The number of hops from ``source`` to each vertex along the edges, and -1 where no path leads.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 2], [1, 0], directed=True).bfs(0)
        array([ 0,  1, -1])
        """
        return _vxm.bfs(self._core, self._vertex(source, "source"), (device, format, threads_of(threads)))

    def sssp(self, source: int, *, device: str = "cpu", threads: Optional[int] = None) -> NDArray[Any]:
        """The length of a shortest path from ``source`` to each vertex.

        Lengths are ``int64`` for integer weights, with -1 where no path leads; for floats they have the weights' type, and there it is
        ``inf``. Float weights may be negative as long as the source reaches no cycle of negative length. In an undirected graph an edge
        of negative weight is such a cycle. A float sum is rounded at each edge, from the source on.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 0, 1], [2, 1, 2], [9, 4, 3]).sssp(0)
        array([ 0,  4,  7, -1])

        Raises `vxm.InputError`: the graph has no weights, or the source reaches a cycle of negative length.
        """
        return _vxm.sssp(self._core, self._vertex(source, "source"), (device, "auto", threads_of(threads)))

    def _arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], Optional[NDArray[Any]]]:
        """Row offsets, columns, and values of the matrix with weights; of the pattern, if there are none."""
        held = self._core.weighted_csr()
        return (*self._core.csr(), None) if held is None else held


def _rebuilt(indptr: Any, indices: Any, data: Any, directed: bool, old: Any = None) -> Graph:
    """The graph of the arrays of a pickled one. ``old`` has the numbers that vertices had, if they got others."""
    if old is not None:
        # in the old numbers, which break ties, and from there in the new ones
        rows, columns = np.repeat(old, np.diff(indptr)), old[indices]
        order = np.lexsort((columns, rows))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=old.size))])
        before = _rebuilt(starts, columns[order], None if data is None else data[order], directed)
        return before.renumbered(old).graph
    symmetrize = "check" if data is not None else "trust"
    return Graph.from_csr(indptr, flat(indices, "indices"), data, directed=directed, symmetrize=symmetrize)
