"""Arrays of networkx graphs."""

from __future__ import annotations

import numbers
from itertools import chain
from typing import Any, Optional

import numpy as np

from .._errors import InputError

__all__ = ["adjacency", "arrays_of", "weights_of"]

_EXACT = 2**53


def adjacency(graph: Any) -> tuple[list[Any], Optional[dict[Any, int]], np.ndarray, np.ndarray]:
    """The nodes; their numbers (None if node ``i`` is ``i``); the row and column of each entry of the adjacency matrix.

    An undirected edge is two entries, parallel edges are one. O(nodes + edges) time.
    """
    nodes = list(graph)
    n = len(nodes)
    plain = all(type(node) is int for node in nodes) and nodes == list(range(n))
    ids = None if plain else dict(zip(nodes, range(n)))
    # a view of some of the parallel edges has rows that are longer than what they list
    rows = list(map(list, graph._adj.values()) if graph.is_multigraph() else graph._adj.values())
    degrees = np.fromiter(map(len, rows), np.int64, n)
    heads = chain.from_iterable(rows)
    columns = np.fromiter(heads if ids is None else map(ids.__getitem__, heads), np.int64, int(degrees.sum()))
    return nodes, ids, np.repeat(np.arange(n), degrees), columns


def weights_of(graph: Any, name: str, default: Any = 1) -> np.ndarray:
    """The weight of each entry of `adjacency`: the attribute ``name``, of parallel edges the least.

    ``uint64`` if all weights are integers, else ``float64``. Raises `NotImplementedError` if sums of weights would not be those of Python's
    numbers: for weights below 0 or infinite, other types, and integers too large for an exact sum.
    """
    get = (lambda data: data.get(name, default)) if not graph.is_multigraph() else None
    if get is None:
        held = [_least(keys, name, default) for row in graph._adj.values() for keys in row.values()]
    else:
        held = [get(data) for row in graph._adj.values() for data in row.values()]
    kinds = set(map(type, held))
    whole = all(issubclass(kind, (numbers.Integral, np.bool_)) for kind in kinds)
    if not whole and not all(issubclass(kind, (numbers.Integral, np.bool_, float, np.float64)) for kind in kinds):
        others = sorted(kind.__name__ for kind in kinds)
        raise NotImplementedError(f"weights of types {', '.join(others)}: expected int or float")
    if not held:
        return np.empty(0, np.uint64)
    least, most, mixed = min(held), max(held), len(kinds) > 1 and not whole
    if mixed:
        most_whole = max((abs(int(w)) for w in held if not isinstance(w, float)), default=0)
        if most_whole * len(graph) >= _EXACT:
            raise NotImplementedError("integers and floats whose sums aren't exact")
    if not least >= 0:
        raise NotImplementedError(f"a weight of {least}: expected 0 or more")
    if whole:
        if int(most) * len(graph) >= 2**63:
            raise NotImplementedError(f"a weight of {most}: the length of a path may not fit into 63 bits")
        return np.fromiter(map(int, held), np.uint64, len(held))
    array = np.array(held, np.float64)
    if np.isnan(array).any() or float(array.max()) * len(graph) == np.inf:
        raise NotImplementedError("weights that are NaN or too large")
    return array


def _least(keys: dict[Any, dict[Any, Any]], name: str, default: Any) -> Any:
    """The least weight of parallel edges."""
    found = [data.get(name, default) for data in keys.values()]
    if any(weight is None for weight in found):
        raise NotImplementedError("a weight of None")
    return min(found)


def arrays_of(graph: Any, weight: Optional[str]) -> tuple[int, np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """The number of vertices, rows, columns, and weights if ``weight`` names an attribute."""
    nodes, _, rows, columns = adjacency(graph)
    if weight is None:
        return len(nodes), rows, columns, None
    try:
        return len(nodes), rows, columns, weights_of(graph, weight)
    except NotImplementedError:
        # what a backend leaves to networkx is a float here
        return len(nodes), rows, columns, _floats(graph, weight)


def _floats(graph: Any, name: str) -> np.ndarray:
    """The weight of each entry of `adjacency` as ``float64``. Raises `vxm.InputError` for what is no number."""
    parallel = graph.is_multigraph()
    cells = (keys.values() if parallel else (keys,) for row in graph._adj.values() for keys in row.values())
    try:
        return np.array([min(float(data.get(name, 1)) for data in cell) for cell in cells], np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers as weights: {error}") from None
