"""The graph that all libraries get: the arrays of a symmetric matrix, and weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import vxm

HEAVIEST = 100


@dataclass(frozen=True)
class Workload:
    """A simple undirected graph with integer weights, as the arrays of CSR."""

    name: str
    graph: vxm.Graph
    """The graph as vxm read it, without weights."""
    indptr: np.ndarray
    indices: np.ndarray
    rows: np.ndarray
    """The row of each entry."""
    weights: np.ndarray
    """The weight of each entry: an integer from 1 to `HEAVIEST`."""
    source: int
    """The first vertex of the greatest degree: searches start there."""

    @property
    def vertices(self) -> int:
        return self.indptr.size - 1

    @property
    def edges(self) -> int:
        return self.indices.size // 2

    @cached_property
    def degrees(self) -> np.ndarray:
        return np.diff(self.indptr)

    @cached_property
    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each edge once: its lesser end, its greater end, its weight."""
        once = self.rows < self.indices
        return self.rows[once], self.indices[once], self.weights[once]

    @cached_property
    def x(self) -> np.ndarray:
        """A vector of small integers: sums of products with the weights are exact in `float64`, in any order."""
        return (np.arange(self.vertices) % 7 + 1).astype(np.float64)


def load(name: str) -> Workload:
    """The graph of a generator or a file. Raises `vxm.Error`."""
    graph = vxm.Graph.from_file(name)
    matrix = graph.to_scipy() if graph.vertices else None
    if matrix is None:
        raise vxm.InputError(f"{name}: expected a graph with at least one vertex")
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    degrees = np.diff(indptr)
    rows = np.repeat(np.arange(degrees.size), degrees)
    return Workload(name, graph, indptr, indices, rows, _drawn(rows, indices), int(degrees.argmax()))


def _drawn(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A weight for each entry, the same in both directions: a hash of its ends."""
    low, high = np.minimum(rows, columns).astype(np.uint64), np.maximum(rows, columns).astype(np.uint64)
    mixed = (low << np.uint64(32)) | high
    for factor in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
        mixed = mixed ^ (mixed >> np.uint64(31))
        mixed = mixed * np.uint64(factor)
    return (mixed >> np.uint64(40)).astype(np.int64) % HEAVIEST + 1
