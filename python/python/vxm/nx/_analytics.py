"""Functions of networkx for ranks, dense parts, strong components, trees, matchings and covers."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Optional, Union

import networkx as nx
import numpy as np

from .._errors import InputError
from .._graph import Graph
from ._convert import adjacency
from ._graph import BackendGraph
from ._labels import count_of, is_one, parts_of
from ._place import place_of

__all__ = [
    "average_clustering",
    "betweenness_centrality",
    "clustering",
    "core_number",
    "is_strongly_connected",
    "is_weakly_connected",
    "k_truss",
    "maximal_matching",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "min_weighted_vertex_cover",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "pagerank",
    "strongly_connected_components",
    "transitivity",
    "triangles",
    "weakly_connected_components",
]

_UNDIRECTED = {
    "average_clustering",
    "betweenness_centrality",
    "clustering",
    "core_number",
    "k_truss",
    "maximal_matching",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "min_weighted_vertex_cover",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "transitivity",
    "triangles",
}
_SIMPLE = _UNDIRECTED - {"betweenness_centrality"} | {"pagerank"}
# where the argument `weight` stands in functions that take none
_UNWEIGHTED = {"average_clustering": 2, "betweenness_centrality": 3, "clustering": 2, "min_weighted_vertex_cover": 1}


def unsupported(name: str, graph: Any, argument: Callable[..., Any]) -> Optional[str]:
    """Why the answer couldn't be that of networkx; None if it can. ``argument(place, key, default)`` is an argument of the call."""
    if name in _UNDIRECTED and graph.is_directed():
        return "a directed graph"
    if name in _SIMPLE and graph.is_multigraph():
        return "parallel edges"
    if name in _UNWEIGHTED and argument(_UNWEIGHTED[name], "weight") is not None:
        return "weights"
    if name == "betweenness_centrality":
        k = argument(1, "k")
        if argument(4, "endpoints", False):
            return "endpoints that count"
        if k is not None and (not isinstance(k, int) or k < 1):
            return "a number of sources below 1"
    if name == "pagerank":
        if argument(5, "nstart") is not None or argument(7, "dangling") is not None:
            return "ranks to begin with, or of dangling nodes"
        alpha = argument(1, "alpha", 0.85)
        if not (isinstance(alpha, (int, float)) and 0 <= alpha < 1 and argument(4, "tol", 1e-6) > 0):
            return "a damping outside of 0 to 1, or no tolerance"
        if not (isinstance(argument(3, "max_iter", 100), int) and 0 < argument(3, "max_iter", 100) < 2**31):
            return "a number of rounds that doesn't fit"
        if not isinstance(argument(6, "weight", "weight"), (str, type(None))):
            return "weights that aren't the name of an attribute"
    if name.endswith(("spanning_edges", "spanning_tree")):
        place = 1 if name.endswith("edges") else 2
        if argument(place, "algorithm", "kruskal") != "kruskal":
            return "algorithms other than kruskal"
        if not isinstance(argument(3 - place, "weight", "weight"), str):
            return "weights that aren't the name of an attribute"
    if name == "k_truss" and not isinstance(argument(1, "k"), int):
        return "a number of triangles that isn't an integer"
    if name in READS_ORIGINAL and isinstance(graph, BackendGraph) and graph.original is None:
        return "a graph of which the original isn't known"
    return None


READS_ORIGINAL = {name for name in __all__ if "spanning" in name} | {"k_truss"}
"""The functions that read attributes of the graph of networkx."""
_LOOPS = "Input graph has self loops which is not permitted; Consider using G.remove_edges_from(nx.selfloop_edges(G))."


def strongly_connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Iterator[set[Any]]:
    return parts_of(G, G.vxm.strong_components(**place_of(device, threads)))


def number_strongly_connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> int:
    return count_of(G.vxm.strong_components(**place_of(device, threads)))


def is_strongly_connected(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> bool:
    return is_one(G.vxm.strong_components(**place_of(device, threads)))


def weakly_connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Iterator[set[Any]]:
    return parts_of(G, G.undirected.components(**place_of(device, threads)))


def number_weakly_connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> int:
    return count_of(G.undirected.components(**place_of(device, threads)))


def is_weakly_connected(G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None) -> bool:
    return is_one(G.undirected.components(**place_of(device, threads)))


def core_number(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> dict[Any, int]:
    if G.loops.size:
        raise nx.NetworkXNotImplemented(_LOOPS)
    return dict(zip(G.nodes_, G.vxm.core_numbers(**place_of(device, threads)).tolist()))


def _chosen(G: BackendGraph, nodes: Any) -> list[int]:
    """The vertices of a node, of those of several nodes that there are, or of all nodes."""
    if nodes is None:
        return list(range(len(G)))
    if nodes in G:
        return [G.find(nodes)]  # type: ignore[list-item]
    try:
        found = map(G.find, nodes)
        return list(dict.fromkeys(vertex for vertex in found if vertex is not None))
    except TypeError as error:
        raise nx.NetworkXError(f"Node {nodes} is not in the graph, or not a sequence of nodes: {error}") from None


def _of_nodes(G: BackendGraph, nodes: Any, values: list[Any]) -> Any:
    """The value of one node, or a dict of the values of several."""
    chosen = _chosen(G, nodes)
    if nodes is not None and nodes in G:
        return values[chosen[0]]
    return {G.nodes_[vertex]: values[vertex] for vertex in chosen}


def triangles(
    G: BackendGraph, nodes: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Union[int, dict[Any, int]]:
    found: Union[int, dict[Any, int]] = _of_nodes(G, nodes, G.vxm.triangles(**place_of(device, threads)).tolist())
    return found


def clustering(
    G: BackendGraph,
    nodes: Any = None,
    weight: Any = None,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> Union[float, dict[Any, float]]:
    # networkx has the integer 0 where there is no triangle
    shares = [share or 0 for share in G.vxm.clustering(**place_of(device, threads)).tolist()]
    found: Union[float, dict[Any, float]] = _of_nodes(G, nodes, shares)
    return found


def average_clustering(
    G: BackendGraph,
    nodes: Any = None,
    weight: Any = None,
    count_zeros: bool = True,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> float:
    shares: list[float] = G.vxm.clustering(**place_of(device, threads)).tolist()
    kept = [shares[vertex] for vertex in _chosen(G, nodes)]
    kept = kept if count_zeros else [share for share in kept if share]
    return sum(kept) / len(kept)


def transitivity(G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None) -> float:
    if len(G) == 0:
        return 0
    closed = 2 * int(G.vxm.triangles(**place_of(device, threads)).sum())
    degrees = G.vxm.degrees
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


def betweenness_centrality(
    G: BackendGraph,
    k: Optional[int] = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> dict[Any, float]:
    n = len(G)
    sampled = None
    if k is not None and k != n:
        sampled = np.array([G.find(node) for node in seed.sample(G.nodes_, k)], np.int64)
    if n < 3:
        return dict.fromkeys(G.nodes_, 0.0)
    try:
        found = G.vxm.betweenness(sampled, **place_of(device, threads))
    except InputError as error:
        raise NotImplementedError(str(error)) from None
    sources = n if sampled is None else k
    assert sources is not None
    # the sum over ordered pairs of a source and another vertex
    sums = found * (2.0 * sources / n)
    if sampled is None:
        sums *= 1.0 / ((n - 1) * (n - 2)) if normalized else 0.5
        return dict(zip(G.nodes_, sums.tolist()))
    # a source is an end of no pair with itself
    own = math.nan if sources < 2 else sources - 1
    first = np.zeros(n, bool)
    first[sampled] = True
    pairs = np.where(first, own, sources)
    sums *= 1.0 / (pairs * (n - 2)) if normalized else (n - 1) / (pairs * 2.0)
    return dict(zip(G.nodes_, sums.tolist()))


def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: Optional[dict[Any, Any]] = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> dict[Any, float]:
    n = len(G)
    if n == 0:
        return {}
    if not G.is_directed() and G.loops.size:
        raise NotImplementedError("ranks of an undirected graph with self-loops")
    if weight is not None and not _all_ones(G, weight):
        raise NotImplementedError("weights other than 1")
    sources = None if personalization is None else _sources(G, personalization)
    # walks start at the sources, those of networkx at all nodes: that may take more rounds
    found = G.vxm.pagerank(
        damping=alpha,
        rounds=max_iter * (1 if sources is None else 2),
        tolerance=n * tol,
        sources=sources,
        **place_of(device, threads),
    )
    if not found.change < n * tol:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return dict(zip(G.nodes_, found.ranks.tolist()))


def _all_ones(G: BackendGraph, weight: str) -> bool:
    """Whether all weights are 1."""
    if not G.vxm.weighted and G.original is None:
        return True
    held = G.weighted(weight)._core.weighted_csr()
    return held is None or bool((held[2] == 1).all())


def _sources(G: BackendGraph, personalization: dict[Any, Any]) -> Optional[list[int]]:
    """The vertices where walks start, each with the same probability."""
    chosen = {vertex: value for node, value in personalization.items() if (vertex := G.find(node)) is not None}
    if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in chosen.values()):
        raise NotImplementedError("personalization by values that aren't finite numbers")
    kept = {vertex: value for vertex, value in chosen.items() if value != 0}
    if not kept:
        raise ZeroDivisionError
    if len(set(kept.values())) > 1 or next(iter(kept.values())) < 0:
        raise NotImplementedError("personalization by different values")
    return sorted(kept)


def maximal_matching(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> set[tuple[Any, Any]]:
    edges = G.vxm.matching(**place_of(device, threads)).edges()
    return set(zip(G.named(edges[:, 0]), G.named(edges[:, 1])))


def min_weighted_vertex_cover(
    G: BackendGraph, weight: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> set[Any]:
    if G.loops.size:
        raise NotImplementedError("a cover of self-loops")
    return set(G.named(G.vxm.vertex_cover(**place_of(device, threads)).members))


def k_truss(
    G: BackendGraph, k: int, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Any:
    if G.loops.size:
        raise nx.NetworkXNotImplemented(_LOOPS)
    if G.original is None:
        raise NotImplementedError("a graph of which the original isn't known")
    H = G.original.copy()
    if k > 2:
        edges = G.vxm.ktruss(min(k, 2**32 - 1), **place_of(device, threads)).edges
        n = np.int64(len(G))
        kept = edges[:, 0] * n + edges[:, 1]
        _, _, rows, columns = adjacency(G.original)
        dropped = (rows < columns) & ~np.isin(rows * n + columns, kept)
        H.remove_edges_from(zip(G.named(rows[dropped]), G.named(columns[dropped])))
    H.remove_nodes_from(list(nx.isolates(H)))
    return H


def _spanning_edges(G: BackendGraph, weight: str, ignore_nan: bool, least: bool, place: dict[str, Any]) -> np.ndarray:
    """The edges of the forest that Kruskal's algorithm finds in networkx, in its order, as pairs of vertices."""
    if G.original is None:
        raise NotImplementedError("a graph of which the original isn't known")
    _, _, rows, columns = adjacency(G.original)
    values = [data.get(weight, 1) for row in G.original._adj.values() for data in row.values()]
    # each edge at its first node
    listed = [(value, entry) for entry, value in enumerate(values) if rows[entry] <= columns[entry]]
    missing = next((entry for value, entry in listed if math.isnan(value)), None)
    if missing is not None and not ignore_nan:
        u, v = G.named(np.array([rows[missing], columns[missing]]))
        raise ValueError(f"NaN found as an edge weight. Edge {(u, v, G.original._adj[u][v])}")
    listed = [(value, entry) for value, entry in listed if rows[entry] != columns[entry] and not math.isnan(value)]
    # of equal weights, those that networkx lists first
    listed.sort(key=lambda pair: pair[0], reverse=not least)
    order = np.array([entry for _, entry in listed], np.int64)
    ranks = np.arange(order.size, dtype=np.uint32)
    graph = Graph.from_coo(len(G), rows[order], columns[order], ranks)
    found = graph.spanning_forest(**place)
    return found.edges[np.argsort(found.weights)]


def _spanning(
    G: BackendGraph, weight: str, data: bool, ignore_nan: bool, least: bool, place: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    try:
        edges = _spanning_edges(G, weight, ignore_nan, least, place)
    except ValueError as error:
        # networkx finds it when the edges are listed
        return _failing(error)
    # all at once: the graph may change, or be gone, before the edges are listed
    rows = G.original._adj
    pairs = zip(G.named(edges[:, 0]), G.named(edges[:, 1]))
    return iter([(u, v, rows[u][v]) if data else (u, v) for u, v in pairs])


def _failing(error: ValueError) -> Iterator[tuple[Any, ...]]:
    raise error
    yield


def minimum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> Iterator[tuple[Any, ...]]:
    return _spanning(G, weight, data, ignore_nan, True, place_of(device, threads))


def maximum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> Iterator[tuple[Any, ...]]:
    return _spanning(G, weight, data, ignore_nan, False, place_of(device, threads))


def _tree(G: BackendGraph, edges: Iterator[tuple[Any, ...]]) -> Any:
    """A graph of networkx with these edges, and the attributes of the original."""
    T = G.original.__class__()
    T.graph.update(G.original.graph)
    T.add_nodes_from(G.original.nodes.items())
    T.add_edges_from(edges)
    return T


def minimum_spanning_tree(
    G: BackendGraph,
    weight: str = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> Any:
    return _tree(G, _spanning(G, weight, True, ignore_nan, True, place_of(device, threads)))


def maximum_spanning_tree(
    G: BackendGraph,
    weight: str = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> Any:
    return _tree(G, _spanning(G, weight, True, ignore_nan, False, place_of(device, threads)))
