"""networkit."""

from __future__ import annotations

from typing import Any

import networkit
import numpy as np

from answers import DAMPING, ROUNDS, TOLERANCE, partition
from workload import Workload

from .base import Call, Library, finite


class Networkit(Library):
    name, package, parallel = "networkit", "networkit", True

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        networkit.setNumberOfThreads(threads)
        tails, heads, weights = work.upper
        ends = (tails.astype(np.uint64), heads.astype(np.uint64))
        self.graph = networkit.GraphFromCoo((np.ones(tails.size), ends), n=work.vertices)
        self.graph.indexEdges()
        self.weighted = networkit.GraphFromCoo((weights.astype(np.float64), ends), n=work.vertices, weighted=True)
        self.walked = self.graph
        if not work.degrees.all():
            # only in directed graphs it passes on the rank of vertices without edges
            both = work.rows.astype(np.uint64), work.indices.astype(np.uint64)
            self.walked = networkit.GraphFromCoo((np.ones(work.rows.size), both), n=work.vertices, directed=True)

    def mis(self) -> list[Call]:
        return [Call("Luby", lambda: networkit.independentset.Luby().run(self.graph), lambda found: np.array(found, dtype=bool))]

    def bfs(self) -> list[Call]:
        run = lambda: networkit.distance.BFS(self.graph, self.work.source, storePaths=False).run()  # noqa: E731
        return [Call("BFS", run, self._distances)]

    def sssp(self) -> list[Call]:
        run = lambda: networkit.distance.Dijkstra(self.weighted, self.work.source, storePaths=False).run()  # noqa: E731
        return [Call("Dijkstra", run, self._distances)]

    def components(self) -> list[Call]:
        kinds = (networkit.components.ConnectedComponents, networkit.components.ParallelConnectedComponents)
        read = lambda found: partition(found.getPartition().getVector())  # noqa: E731
        return [Call(kind.__name__, lambda kind=kind: kind(self.graph).run(), read) for kind in kinds]

    def pagerank(self) -> list[Call]:
        return [Call("PageRank", lambda: self._ranked(0.0, ROUNDS), lambda found: np.array(found.scores()))]

    def pagerank_tol(self) -> list[Call]:
        return [Call("PageRank", lambda: self._ranked(TOLERANCE, None), lambda found: np.array(found.scores()))]

    def triangles(self) -> list[Call]:
        degrees = self.work.degrees.astype(np.float64)

        def by_vertex(found: Any) -> int:
            return int(np.rint(np.array(found.scores()) * degrees * (degrees - 1) / 2).sum()) // 3

        local = networkit.centrality.LocalClusteringCoefficient
        by_edge = lambda: networkit.sparsification.TriangleEdgeScore(self.graph).run()  # noqa: E731
        return [
            Call("LocalClusteringCoefficient, turbo", lambda: local(self.graph, turbo=True).run(), by_vertex),
            Call("TriangleEdgeScore", by_edge, lambda found: int(np.sum(found.scores())) // 3),
        ]

    def cores(self) -> list[Call]:
        return [
            Call(
                "CoreDecomposition",
                lambda: networkit.centrality.CoreDecomposition(self.graph).run(),
                lambda found: np.array(found.scores()),
            )
        ]

    def msf(self) -> list[Call]:
        kinds = (networkit.graph.KruskalMSF, networkit.graph.PrimMSF)
        return [Call(kind.__name__, lambda kind=kind: kind(self.weighted).run().getTotalWeight(), int) for kind in kinds]

    def _ranked(self, tolerance: float, rounds: int | None) -> Any:
        central = networkit.centrality
        found = central.PageRank(self.walked, DAMPING, tolerance, distributeSinks=central.SinkHandling.DistributeSinks)
        found.norm = central.Norm.L1_NORM
        if rounds is not None:
            found.maxIterations = rounds
        return found.run()

    def _distances(self, found: Any) -> np.ndarray:
        return finite(np.array(found.getDistances()))
