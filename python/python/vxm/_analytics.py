"""Searches, ranks, dense parts, components, forests, matchings, communities and covers of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _vxm
from ._arrays import integers, number, seed_of, threads_of
from ._colorings import asked_order
from ._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Analytics", "Clique", "Communities", "Forest", "Matching", "PageRank", "Truss", "VertexCover"]

_MOST_ROUNDS = 2**32 - 1


@dataclass(frozen=True, eq=False)
class PageRank:
    """The rank of each vertex."""

    ranks: NDArray[Any]
    """The ranks, which add up to 1."""
    rounds: int
    """How many rounds it took."""
    change: float
    """The sum of the absolute changes in the last round; infinite without a tolerance."""


@dataclass(frozen=True, eq=False)
class Truss:
    """A k-truss."""

    edges: NDArray[np.uint32]
    """The ends of its edges, a row for each, the lesser first."""
    support: NDArray[np.uint32]
    """Of how many triangles of the truss each edge is part."""
    rounds: int
    """How many rounds it took."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A minimum spanning forest."""

    edges: NDArray[np.uint32]
    """The ends of its edges, a row for each, the lesser first."""
    weights: NDArray[Any]
    """The weight of each edge."""
    rounds: int
    """How many rounds it took."""


@dataclass(frozen=True, eq=False)
class Matching:
    """A matching: edges without common ends."""

    mate: NDArray[np.int64]
    """The other end of each vertex' edge; -1 if the vertex isn't matched."""
    rounds: int
    """How many rounds it took."""

    def edges(self) -> NDArray[np.int64]:
        """The ends of the edges, a row for each, the lesser first.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 2], [1, 3]).matching().edges()
        array([[0, 1],
               [2, 3]])
        """
        first = np.flatnonzero(self.mate > np.arange(self.mate.size))
        return np.stack([first, self.mate[first]], axis=1)


@dataclass(frozen=True, eq=False)
class Communities:
    """A division of a graph into communities."""

    labels: NDArray[np.uint32]
    """The community of each vertex, named by a vertex in it."""
    count: int
    """How many communities there are."""
    modularity: float
    """The share of edges within communities, less what is expected of random edges between vertices of these degrees."""
    rounds: int
    """How many rounds it took."""


@dataclass(frozen=True, eq=False)
class Clique:
    """A maximal clique: its members are all neighbours of each other, and no other vertex is a neighbour of all."""

    members: NDArray[np.uint32]
    """The members of the largest clique that was found, ascending."""
    sizes: NDArray[np.uint32]
    """The number of members of the clique that was found around each vertex."""


@dataclass(frozen=True, eq=False)
class VertexCover:
    """A vertex cover: each edge has an end in it."""

    members: NDArray[np.uint32]
    """Its members, ascending."""
    mate: NDArray[np.int64]
    """The mate of each vertex in a maximal matching; -1 if it has none. Each edge of the matching needs a member of its own."""

    @property
    def least(self) -> int:
        """A lower bound: no cover has fewer members. This one has at most twice as many."""
        return int((self.mate >= 0).sum()) // 2


class Analytics:
    """The methods of a graph that search it, rank its vertices or divide it."""

    __slots__ = ()
    _core: _vxm.Graph

    def bfs_parents(
        self, source: int, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.int64]:
        """A tree of the fewest hops: for each vertex, its least in-neighbour that is one hop nearer to ``source``; -1 where no path leads.

        The source is its own parent.

        >>> import vxm
        >>> vxm.Graph.from_coo(5, [0, 0, 2, 1], [1, 2, 3, 3]).bfs_parents(0)
        array([ 0,  0,  0,  1, -1])
        """
        return _vxm.bfs_parents(self._core, self._vertex(source, "source"), (device, format, threads_of(threads)))

    def bfs_many(
        self, sources: Iterable[int], *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.int64]:
        """The number of hops from each of several sources to each vertex, a row for each source; -1 where no path leads.

        64 searches at a time read the graph once a step, so many are much faster than one after another.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 1], [1, 2]).bfs_many([0, 2])
        array([[0, 1, 2],
               [2, 1, 0]])
        """
        listed = self._listed(sources, "sources")
        return _vxm.bfs_many(self._core, listed, (device, format, threads_of(threads)))

    def sssp_parents(self, source: int, *, device: str = "cpu", threads: Optional[int] = None) -> NDArray[np.int64]:
        """A tree of shortest paths: for each vertex, the one before it on a path from ``source`` with the fewest edges; -1 where no path leads.

        The source is its own parent. Of several the least counts.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 0, 1], [2, 1, 2], [9, 4, 3]).sssp_parents(0)
        array([ 0,  0,  1, -1])

        Raises `vxm.InputError`: the graph has no weights, or the source reaches a cycle of negative length.
        """
        return _vxm.sssp_parents(self._core, self._vertex(source, "source"), (device, "auto", threads_of(threads)))

    def pagerank(
        self,
        *,
        damping: float = 0.85,
        rounds: int = 1000,
        tolerance: float = 1e-6,
        sources: Optional[Iterable[int]] = None,
        dtype: Any = np.float64,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> PageRank:
        """PageRank: where a random walk is that follows edges with the probability ``damping``, and else starts anew.

        Walks start at any vertex, or at those of ``sources``. A walk also starts anew at a vertex without edges that leave it. It ends after
        ``rounds``, or once a round changes the ranks by less than ``tolerance`` in all; with a tolerance of 0 only after ``rounds``. Weights don't
        count. ``dtype`` is ``float32`` or ``float64``.

        >>> import vxm
        >>> found = vxm.Graph.from_coo(3, [0, 1], [2, 2], directed=True).pagerank()
        >>> int(found.ranks.argmax()), round(float(found.ranks.sum()), 9)
        (2, 1.0)

        Raises `vxm.InputError`: the damping isn't from 0 to below 1, or the tolerance is negative; there are no sources.
        """
        listed = None if sources is None else self._listed(sources, "sources")
        rounds = number(rounds, "rounds", _MOST_ROUNDS, f"0 to {_MOST_ROUNDS}")
        walk = (float(damping), rounds, float(tolerance))
        return PageRank(*_vxm.pagerank(self._core, walk, listed, np.dtype(dtype).name, (device, format, threads_of(threads))))

    def core_numbers(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint32]:
        """The core number of each vertex: the greatest k such that it is in a subgraph in which each vertex has k neighbours.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).core_numbers()
        array([2, 2, 2, 1], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        return _vxm.core_numbers(self._core, (device, format, threads_of(threads)))

    def triangles(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint64]:
        """The number of triangles at each vertex.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).triangles()
        array([1, 1, 1, 0], dtype=uint64)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        return _vxm.triangles(self._core, (device, format, threads_of(threads)))

    def clustering(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.float64]:
        """The local clustering coefficient of each vertex: the share of its pairs of neighbours that are neighbours; 0 if there is no pair.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).clustering().round(3)
        array([1.   , 1.   , 0.333, 0.   ])

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        return _vxm.clustering(self._core, (device, format, threads_of(threads)))

    def ktruss(self, k: int, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto") -> Truss:
        """The k-truss: the greatest subgraph in which each edge is part of at least k - 2 triangles.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).ktruss(3).edges
        array([[0, 1],
               [0, 2],
               [1, 2]], dtype=uint32)

        Raises `vxm.InputError`: the graph is directed and not symmetric, or k is less than 3.
        """
        k = number(k, "k", 2**32 - 1, "an integer from 3 to 2^32 - 1")
        (tails, heads, support), rounds = _vxm.ktruss(self._core, k, (device, format, threads_of(threads)))
        return Truss(np.stack([tails, heads], axis=1), support, rounds)

    def strong_components(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint32]:
        """The strongly connected component of each vertex, as the least vertex in it.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3], directed=True).strong_components()
        array([0, 0, 0, 3], dtype=uint32)
        """
        return _vxm.strong_components(self._core, (device, format, threads_of(threads)))[0]

    def spanning_forest(self, *, device: str = "cpu", threads: Optional[int] = None) -> Forest:
        """A minimum spanning forest: a tree in each component, of the least total weight.

        Of equal weights the edge of the lesser ends comes first, so the forest is that of Kruskal's method.

        >>> import vxm
        >>> found = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 0], [0.5, 0.7, 0.9]).spanning_forest()
        >>> found.edges.tolist(), found.weights.tolist()
        ([[0, 1], [1, 2]], [0.5, 0.7])

        Raises `vxm.InputError`: the graph has no weights, a weight is NaN, or the graph is directed and not symmetric.
        """
        core, distinct = _ranked(self._core, "spanning_forest")
        (tails, heads, places), rounds = _vxm.spanning_forest(core, (device, "auto", threads_of(threads)))
        return Forest(np.stack([tails, heads], axis=1), distinct[places], rounds)

    def matching(
        self, *, weighted: bool = False, seed: int = 0, device: str = "cpu", threads: Optional[int] = None
    ) -> Matching:
        """A maximal matching: no edge can be added. It has at least half as many edges as any.

        With ``weighted`` its weight is at least half the weight of any, for weights from 0 on.

        >>> import vxm
        >>> path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3], [3, 4, 3])
        >>> path.matching(weighted=True).mate
        array([-1,  2,  1, -1])

        Raises `vxm.InputError`: the graph is directed and not symmetric; with ``weighted``, it has no weights, or a weight is negative or NaN.
        """
        core, place = self._core, (device, "auto", threads_of(threads))
        if weighted:
            core, distinct = _ranked(core, "matching")
            if distinct.size and distinct[0] < 0:
                raise InputError(f"matching: a weight of {distinct[0]}: expected weights from 0 on")
        return Matching(*_vxm.matching(core, bool(weighted), seed_of(seed), place))

    def betweenness(
        self,
        sources: Union[None, int, ArrayLike] = None,
        *,
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> NDArray[np.float64]:
        """The betweenness of each vertex: the sum, over all pairs of others, of the share of their shortest paths that lead through it.

        It is estimated by the paths from ``sources``, an array of vertices. A number of sources draws so many, by ``seed``. The estimate is
        scaled to all pairs. Without ``sources`` it is exact.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3]).betweenness()
        array([0., 2., 2., 0.])

        Raises `vxm.InputError`: the graph is directed and not symmetric, a source is no vertex, or there are too many shortest paths to count.
        """
        n = self._core.vertices
        listed: Optional[list[int]]
        if sources is None:
            listed = None
        elif np.ndim(sources) == 0:
            count = number(sources, "sources", 2**32 - 1, "a number of sources from 1 on")
            if count == 0:
                raise InputError("sources: expected a number of sources from 1 on, found 0")
            listed = None if count >= n else _vxm.drawn(self._core, count, seed_of(seed)).tolist()
        else:
            listed = self._listed(integers(sources, "sources").tolist(), "sources")
            if not listed:
                raise InputError("betweenness: no sources: expected at least one vertex")
        return _vxm.betweenness(self._core, listed, (device, format, threads_of(threads)))

    def communities(
        self,
        *,
        tolerance: float = 1e-6,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> Communities:
        """Communities of great modularity, by Louvain's method. It goes on while moves raise the modularity by more than ``tolerance``.

        >>> import vxm
        >>> triangles = vxm.Graph.from_coo(6, [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
        >>> found = triangles.communities()
        >>> found.count, len(set(found.labels[:3].tolist())), len(set(found.labels[3:].tolist()))
        (2, 1, 1)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        place = (device, format, threads_of(threads))
        return Communities(*_vxm.communities(self._core, float(tolerance), place))

    def labels(
        self, *, rounds: int = 20, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint32]:
        """Communities by label propagation: in each round a vertex takes the label that most of its neighbours have, of several the least.

        It ends after ``rounds``, or when no label changes.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 1, 2], [1, 2, 0]).labels()
        array([0, 0, 0], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        rounds = number(rounds, "rounds", _MOST_ROUNDS, f"0 to {_MOST_ROUNDS}")
        return _vxm.labels(self._core, rounds, (device, format, threads_of(threads)))[0]

    def roots(
        self, *, device: str = "cpu", threads: Optional[int] = None, format: str = "auto"
    ) -> NDArray[np.uint32]:
        """The root of each vertex of a forest: a directed graph with at most one edge from each vertex, to its parent.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [1, 2], [0, 1], directed=True).roots()
        array([0, 0, 0, 3], dtype=uint32)

        Raises `vxm.InputError`: edges form a cycle, or a vertex has several edges that leave it.
        """
        return _vxm.roots(self._core, (device, format, threads_of(threads)))[0]

    def clique(
        self,
        *,
        order: Union[str, ArrayLike] = "smallest-degree-last",
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> Clique:
        """A large maximal clique, by a greedy search around every vertex. ``order`` is as in `color`: vertices early in it are added first.

        >>> import vxm
        >>> vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).clique().members
        array([0, 1, 2], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        asked = asked_order(order, seed, self._core.vertices)
        return Clique(*_vxm.clique(self._core, asked, (device, format, threads_of(threads))))

    def vertex_cover(
        self,
        *,
        priority: str = "sorted",
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> VertexCover:
        """A small vertex cover: each edge has an end in it. At most twice as large as the smallest.

        It is what an independent set of ``priority`` leaves, or the ends of the edges of a maximal matching, whichever is smaller.

        >>> import vxm
        >>> found = vxm.Graph.from_coo(4, [0, 0, 0], [1, 2, 3]).vertex_cover()
        >>> found.members, found.least
        (array([0], dtype=uint32), 1)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        place = (device, format, threads_of(threads))
        return VertexCover(*_vxm.vertex_cover(self._core, priority, seed_of(seed), place))

    def _listed(self, vertices: Iterable[int], what: str) -> list[int]:
        try:
            listed = list(vertices)
        except TypeError:
            raise TypeError(f"{what}: expected a list of vertices, found {type(vertices).__name__}") from None
        return [self._vertex(vertex, what) for vertex in listed]

    def _vertex(self, vertex: int, what: str) -> int:
        n = self._core.vertices
        return number(vertex, what, n - 1, f"one of {n} vertices")


def _ranked(core: _vxm.Graph, what: str) -> tuple[_vxm.Graph, NDArray[Any]]:
    """The graph with the place of each weight among the distinct ones, ascending, and these. What depends on their order alone is the same."""
    held = core.weighted_csr()
    if held is None:
        raise InputError(f"{what}: expected a graph with weights, found one without")
    indptr, indices, data = held
    if data.dtype.kind == "f" and np.isnan(data).any():
        raise InputError(f"{what}: a weight of NaN: expected numbers")
    distinct, places = np.unique(data, return_inverse=True)
    n = core.vertices
    ranked = _vxm.Graph.from_csr(
        (n, n), indptr, indices.astype(np.int64), places.reshape(-1).astype(np.uint32), core.directed, "check"
    )
    return ranked, distinct
