"""The graph that networkx keeps for this backend."""

from __future__ import annotations

import operator
import weakref
from functools import cached_property
from typing import Any, Iterator, Optional

import networkx as nx
import numpy as np

from .._graph import Graph
from ._convert import adjacency, weights_of

__all__ = ["BackendGraph"]


class BackendGraph:
    """A networkx graph as a `vxm.Graph`, with the nodes of its vertices. It doesn't change.

    >>> import networkx as nx, vxm.nx
    >>> graph = vxm.nx.BackendGraph.from_networkx(nx.path_graph("abc"))
    >>> nx.single_source_shortest_path_length(graph, "b")
    {'b': 0, 'a': 1, 'c': 1}
    """

    __networkx_backend__ = "vxm"

    def __init__(
        self,
        graph: Graph,
        nodes: list[Any],
        ids: Optional[dict[Any, int]],
        degrees: np.ndarray,
        loops: np.ndarray,
        multigraph: bool,
        attributes: dict[str, Any],
        original: Optional[weakref.ref[Any]] = None,
    ) -> None:
        self.__networkx_cache__: dict[str, Any] = {}
        self.vxm = graph
        self.nodes_ = nodes
        self._ids = ids
        self.degrees = degrees
        """Each node's degree in networkx' sense: parallel edges count, and a self-loop twice."""
        self.loops = loops
        """The vertices with a self-loop."""
        self._multigraph = multigraph
        self.graph = attributes
        self._original = original
        self._weighted: dict[str, Graph] = {}

    @classmethod
    def from_networkx(
        cls, graph: Any, weight: Optional[str] = None, default: Any = 1, *, refer: bool = False
    ) -> BackendGraph:
        """Converts a graph of networkx. O(nodes + edges) time. Raises `NotImplementedError` for weights that aren't taken.

        With ``refer`` it refers to that graph, which may not change then. Functions that return graphs with all attributes need it.
        """
        nodes, ids, rows, columns = adjacency(graph)
        values = None if weight is None else weights_of(graph, weight, default)
        core = Graph.from_coo(len(nodes), rows, columns, values, directed=graph.is_directed())
        loops = rows[rows == columns]
        degrees = np.bincount(rows, minlength=len(nodes))
        if graph.is_multigraph():
            degrees = np.fromiter((degree for _, degree in graph.degree()), np.int64, len(nodes))
        else:
            degrees[loops] += 1
        original = weakref.ref(graph) if refer else None
        return cls(core, nodes, ids, degrees, loops, graph.is_multigraph(), dict(graph.graph), original)

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.vxm.directed

    def is_multigraph(self) -> bool:
        """Whether the original may have parallel edges."""
        return self._multigraph

    def number_of_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes_)

    order = number_of_nodes

    def number_of_edges(self) -> int:
        """The number of edges; parallel ones count as one."""
        return self.vxm.edges + (0 if self.is_directed() else self.loops.size)

    def __len__(self) -> int:
        return len(self.nodes_)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes_)

    def __contains__(self, node: Any) -> bool:
        try:
            return self.find(node) is not None
        except TypeError:
            return False

    def __repr__(self) -> str:
        return f"<vxm.nx.BackendGraph of {len(self)} nodes and {self.number_of_edges()} edges>"

    def find(self, node: Any) -> Optional[int]:
        """The vertex of a node; None if there is none. Raises `TypeError` if the node can't be hashed."""
        if self._ids is not None:
            return self._ids.get(node)
        hash(node)
        try:
            # node i is i, or whatever equals it
            node = operator.index(node)
        except TypeError:
            pass
        try:
            return range(len(self.nodes_)).index(node)
        except ValueError:
            return None

    def named(self, vertices: np.ndarray) -> list[Any]:
        """The nodes of vertices."""
        listed = vertices.tolist()
        return listed if self._ids is None else list(map(self.nodes_.__getitem__, listed))

    @property
    def original(self) -> Any:
        """The graph of networkx that this one was made of; None if it is gone, or wasn't to be referred to."""
        return None if self._original is None else self._original()

    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of each entry of the adjacency matrix."""
        indptr, indices = self.vxm._core.csr()
        return np.repeat(np.arange(len(self)), np.diff(indptr)), indices.astype(np.int64)

    @cached_property
    def reversed(self) -> Graph:
        """The graph with its edges turned round."""
        if not self.is_directed():
            return self.vxm
        tails, heads = self._entries()
        return Graph.from_coo(len(self), heads, tails, directed=True)

    @cached_property
    def undirected(self) -> Graph:
        """The graph without its edges' directions."""
        if not self.is_directed():
            return self.vxm
        return Graph.from_coo(len(self), *self._entries())

    def weighted(self, name: str) -> Graph:
        """The graph with the weights ``name``. Raises `NotImplementedError` if it was converted without."""
        if self.vxm.weighted:
            return self.vxm
        if self.original is None:
            raise NotImplementedError("a graph that was converted without weights")
        if name not in self._weighted:
            _, _, rows, columns = adjacency(self.original)
            values = weights_of(self.original, name)
            self._weighted[name] = Graph.from_coo(len(self), rows, columns, values, directed=self.is_directed())
        return self._weighted[name]

    def to_networkx(self) -> Any:
        """The graph of networkx, without attributes of nodes and edges. Raises `NotImplementedError` for a multigraph."""
        if self._multigraph:
            raise NotImplementedError("parallel edges aren't kept")
        graph = nx.DiGraph() if self.is_directed() else nx.Graph()
        graph.graph.update(self.graph)
        graph.add_nodes_from(self.nodes_)
        tails, heads = self._entries()
        kept = slice(None) if self.is_directed() else tails <= heads
        graph.add_edges_from(zip(self.named(tails[kept]), self.named(heads[kept])))
        if not self.is_directed():
            graph.add_edges_from((node, node) for node in self.named(self.loops))
        return graph
