"""igraph."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np

from answers import DAMPING, UNREACHED, partition
from workload import Workload

from .base import Call, Library, finite


class Igraph(Library):
    name, package = "igraph", "igraph"

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        tails, heads, weights = work.upper
        self.graph = igraph.Graph(n=work.vertices, edges=np.stack([tails, heads], axis=1))
        self.graph.es["weight"] = weights.tolist()

    def color(self) -> list[Call]:
        return [Call("vertex_coloring_greedy", self.graph.vertex_coloring_greedy)]

    def bfs(self) -> list[Call]:
        read = lambda found: finite(np.array(found[0], dtype=np.float64))  # noqa: E731
        return [
            Call("distances", lambda: self.graph.distances(self.work.source), read),
            Call("bfs", lambda: self.graph.bfs(self.work.source), self._layers),
        ]

    def sssp(self) -> list[Call]:
        read = lambda found: finite(np.array(found[0], dtype=np.float64))  # noqa: E731
        return [Call("distances", lambda: self.graph.distances(self.work.source, weights="weight"), read)]

    def components(self) -> list[Call]:
        return [Call("connected_components", self.graph.connected_components, lambda found: partition(found.membership))]

    def pagerank_tol(self) -> list[Call]:
        return [Call("pagerank", lambda: self.graph.pagerank(damping=DAMPING), parallel=True)]

    def triangles(self) -> list[Call]:
        degrees = self.work.degrees.astype(np.float64)
        paths = float((degrees * (degrees - 1) / 2).sum())
        return [
            Call("transitivity_undirected", lambda: self.graph.transitivity_undirected(mode="zero"), lambda share: round(share * paths / 3))
        ]

    def cores(self) -> list[Call]:
        return [Call("coreness", self.graph.coreness)]

    def msf(self) -> list[Call]:
        _, _, weights = self.work.upper
        run = lambda: weights[self.graph.spanning_tree("weight", return_tree=False)].sum()  # noqa: E731
        return [Call("spanning_tree", run, int)]

    def _layers(self, found: Any) -> np.ndarray:
        order, starts, _ = found
        hops = np.full(self.work.vertices, UNREACHED)
        hops[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return hops
