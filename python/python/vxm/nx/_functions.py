"""The functions of networkx that this backend has. Each returns what networkx' own function does."""

from __future__ import annotations

import random
from typing import Any, Iterator, Optional

import networkx as nx
import numpy as np

from ._analytics import *  # noqa: F403
from ._analytics import __all__ as _analytics
from ._graph import BackendGraph
from ._labels import count_of, is_one, parts_of
from ._place import place_of as _place

__all__ = [
    "all_pairs_shortest_path_length",
    "connected_components",
    "descendants",
    "greedy_color",
    "is_connected",
    "maximal_independent_set",
    "node_connected_component",
    "number_connected_components",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path_length",
    "single_target_shortest_path_length",
    *_analytics,
]


def connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Iterator[set[Any]]:
    return parts_of(G, G.vxm.components(**_place(device, threads)))


def number_connected_components(
    G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None
) -> int:
    return count_of(G.vxm.components(**_place(device, threads)))


def is_connected(G: BackendGraph, *, device: Optional[str] = None, threads: Optional[int] = None) -> bool:
    return is_one(G.vxm.components(**_place(device, threads)))


def node_connected_component(
    G: BackendGraph, n: Any, *, device: Optional[str] = None, threads: Optional[int] = None
) -> set[Any]:
    vertex = G.find(n)
    if vertex is None:
        raise KeyError(n)
    labels = G.vxm.components(**_place(device, threads))
    return set(G.named(np.flatnonzero(labels == labels[vertex])))


def maximal_independent_set(
    G: BackendGraph, nodes: Any = None, seed: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> list[Any]:
    place = _place(device, threads)
    draw = (seed or random).randint(0, 2**31 - 1)
    if not nodes:
        # the greedy set of a random order, as networkx draws it
        return G.named(G.vxm.mis(priority="random", seed=draw, **place).members)
    given = set(nodes)
    listed = [vertex for vertex in map(G.find, given) if vertex is not None]
    if len(listed) < len(given):
        raise nx.NetworkXUnfeasible(f"{given} is not a subset of the nodes of G")
    first = np.array(listed, np.int64)
    is_first = np.zeros(len(G), bool)
    is_first[first] = True
    indptr, indices = G.vxm._core.csr()
    joined = any(is_first[indices[indptr[v] : indptr[v + 1]]].any() for v in listed)
    if joined or is_first[G.loops].any():
        raise nx.NetworkXUnfeasible(f"{given} is not an independent set of G")
    others = np.random.default_rng(draw).permutation(np.flatnonzero(~is_first))
    members = G.vxm.mis(order=np.concatenate([first, others]), **place).members
    return [*given, *G.named(members[~is_first[members]])]


def greedy_color(
    G: BackendGraph,
    strategy: Any = "largest_first",
    interchange: bool = False,
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> dict[Any, int]:
    reason = unsupported_coloring(strategy, interchange)
    if reason is not None:
        raise NotImplementedError(reason)
    if len(G) == 0:
        return {}
    if strategy == "largest_first":
        order = np.argsort(-G.degrees, kind="stable")
    else:
        shuffled = list(range(len(G)))
        random.shuffle(shuffled)
        order = np.array(shuffled)
    colors = G.vxm.color(order=order, **_place(device, threads)).colors
    return dict(zip(G.named(order), (colors[order].astype(np.int64) - 1).tolist()))


def unsupported_coloring(strategy: Any, interchange: bool) -> Optional[str]:
    """Why colours couldn't equal those of networkx; None if they can."""
    if interchange:
        return "colours with interchange"
    if not isinstance(strategy, str) or strategy not in ("largest_first", "random_sequential"):
        return "strategies other than largest_first and random_sequential"
    return None


def _source(G: BackendGraph, node: Any, message: str) -> int:
    vertex = G.find(node)
    if vertex is None:
        raise nx.NodeNotFound(message)
    return vertex


def _lengths(G: BackendGraph, hops: np.ndarray, cutoff: Any) -> dict[Any, int]:
    """The nodes that are reached within ``cutoff`` hops, rounded up, the nearest first. The source always is."""
    kept = np.flatnonzero(hops >= 0 if cutoff is None else (hops == 0) | ((hops > 0) & (hops - 1 < cutoff)))
    kept = kept[np.argsort(hops[kept], kind="stable")]
    return dict(zip(G.named(kept), hops[kept].tolist()))


def single_source_shortest_path_length(
    G: BackendGraph, source: Any, cutoff: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> dict[Any, int]:
    vertex = _source(G, source, f"Source {source} is not in G")
    return _lengths(G, G.vxm.bfs(vertex, **_place(device, threads)), cutoff)


def single_target_shortest_path_length(
    G: BackendGraph, target: Any, cutoff: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> dict[Any, int]:
    vertex = _source(G, target, f"Target {target} is not in G")
    return _lengths(G, G.reversed.bfs(vertex, **_place(device, threads)), cutoff)


def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: Any = None, *, device: Optional[str] = None, threads: Optional[int] = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    place = _place(device, threads)
    for vertex, node in enumerate(G.nodes_):
        yield node, _lengths(G, G.vxm.bfs(vertex, **place), cutoff)


def descendants(
    G: BackendGraph, source: Any, *, device: Optional[str] = None, threads: Optional[int] = None
) -> set[Any]:
    vertex = G.find(source)
    if vertex is None:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(G.named(np.flatnonzero(G.vxm.bfs(vertex, **_place(device, threads)) > 0)))


def single_source_dijkstra_path_length(
    G: BackendGraph,
    source: Any,
    cutoff: Any = None,
    weight: Any = "weight",
    *,
    device: Optional[str] = None,
    threads: Optional[int] = None,
) -> dict[Any, Any]:
    vertex = _source(G, source, f"Node {source} not found in graph")
    lengths = G.weighted(weight).sssp(vertex, **_place(device, threads))
    reached = lengths >= 0 if lengths.dtype == np.int64 else lengths < np.inf
    if cutoff is not None:
        reached &= lengths <= cutoff
    kept = np.flatnonzero(reached)
    kept = kept[np.argsort(lengths[kept], kind="stable")]
    found = dict(zip(G.named(kept), lengths[kept].tolist()))
    # networkx starts from the integer 0
    found[source] = 0
    return found
