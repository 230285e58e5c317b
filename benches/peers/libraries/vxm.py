"""The engine, by its package for Python."""

from __future__ import annotations

import numpy as np
import vxm

from answers import DAMPING, ROUNDS, TOLERANCE, partition
from workload import Workload

from .base import Call, Library, members


class Vxm(Library):
    name, package, parallel = "vxm", "vxm", True

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        self.graph, self.place = work.graph, {"device": "cpu", "threads": threads}
        self.weighted = vxm.Graph.from_csr(work.indptr, work.indices, work.weights.astype(np.uint32))
        self.floats = vxm.Graph.from_csr(work.indptr, work.indices, work.weights.astype(np.float64))
        self.x = vxm.Vector.from_numpy(work.x)
        self.ring = vxm.semiring(vxm.PLUS, vxm.TIMES)

    def mis(self) -> list[Call]:
        n = self.work.vertices
        return [Call("Graph.mis", lambda: self.graph.mis(**self.place), lambda found: members(n, found.members))]

    def color(self) -> list[Call]:
        return [Call("Graph.color", lambda: self.graph.color(**self.place), lambda found: found.colors)]

    def bfs(self) -> list[Call]:
        return [Call("Graph.bfs", lambda: self.graph.bfs(self.work.source, **self.place))]

    def sssp(self) -> list[Call]:
        return [Call("Graph.sssp", lambda: self.weighted.sssp(self.work.source, **self.place))]

    def components(self) -> list[Call]:
        return [Call("Graph.components", lambda: self.graph.components(**self.place), partition)]

    def pagerank(self) -> list[Call]:
        options = {"damping": DAMPING, "rounds": ROUNDS, "tolerance": 0.0, **self.place}
        return [Call("Graph.pagerank", lambda: self.graph.pagerank(**options), lambda found: found.ranks)]

    def pagerank_tol(self) -> list[Call]:
        options = {"damping": DAMPING, "tolerance": TOLERANCE, **self.place}
        return [Call("Graph.pagerank", lambda: self.graph.pagerank(**options), lambda found: found.ranks)]

    def triangles(self) -> list[Call]:
        return [Call("Graph.triangles", lambda: self.graph.triangles(**self.place), lambda each: int(each.sum()) // 3)]

    def cores(self) -> list[Call]:
        return [Call("Graph.core_numbers", lambda: self.graph.core_numbers(**self.place))]

    def msf(self) -> list[Call]:
        return [Call("Graph.spanning_forest", lambda: self.weighted.spanning_forest(**self.place).weights.sum(dtype=np.int64))]

    def spmv(self) -> list[Call]:
        times = lambda: vxm.mxv(self.floats, self.x, self.ring).eval(**self.place)  # noqa: E731
        return [Call("mxv", times, lambda found: found.to_numpy(missing=0.0))]
