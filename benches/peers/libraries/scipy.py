"""SciPy: sparse products, and `scipy.sparse.csgraph`."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from answers import DAMPING, ROUNDS, UNREACHED, partition
from workload import Workload

from .base import Call, Library, finite


class Scipy(Library):
    name, package = "scipy", "scipy"

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        shape = (work.vertices, work.vertices)
        # products are faster with narrow indices
        narrow = np.int32 if work.indices.size < 2**31 else np.int64
        arrays = work.indices.astype(narrow), work.indptr.astype(narrow)
        self.ones = scipy.sparse.csr_array((np.ones(work.indices.size), *arrays), shape=shape)
        self.weights = scipy.sparse.csr_array((work.weights.astype(np.float64), *arrays), shape=shape)

    def bfs(self) -> list[Call]:
        return [Call("breadth_first_order", self._levels)]

    def sssp(self) -> list[Call]:
        return [Call("dijkstra", lambda: csgraph.dijkstra(self.weights, indices=self.work.source), finite)]

    def components(self) -> list[Call]:
        read = lambda found: partition(found[1])  # noqa: E731
        return [
            Call("connected_components", lambda: csgraph.connected_components(self.ones, directed=False), read),
            # the strong components of a symmetric matrix are the same
            Call("connected_components, strong", lambda: csgraph.connected_components(self.ones, connection="strong"), read),
        ]

    def pagerank(self) -> list[Call]:
        return [Call("20 products", self._ranked)]

    def msf(self) -> list[Call]:
        return [Call("minimum_spanning_tree", lambda: csgraph.minimum_spanning_tree(self.weights).sum(), int)]

    def spmv(self) -> list[Call]:
        return [Call("csr_array @ x", lambda: self.weights @ self.work.x)]

    def _levels(self) -> np.ndarray:
        """Levels from the order of a search: a level ends where the parents do that lie in the level before."""
        n, source = self.work.vertices, self.work.source
        order, parents = csgraph.breadth_first_order(self.ones, source)
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(order.size)
        above = place[parents[order[1:]]]
        hops = np.full(n, UNREACHED)
        start, end, depth = 0, 1, 0
        while start < end:
            hops[order[start:end]] = depth
            start, end, depth = end, 1 + int(np.searchsorted(above, end)), depth + 1
        return hops

    def _ranked(self) -> np.ndarray:
        n, degrees = self.work.vertices, self.work.degrees
        lone = degrees == 0
        share = DAMPING / np.maximum(degrees, 1)
        ranks = np.full(n, 1 / n)
        for _ in range(ROUNDS):
            base = (1 - DAMPING + DAMPING * ranks[lone].sum()) / n
            ranks = self.ones @ (ranks * share) + base
        return ranks
