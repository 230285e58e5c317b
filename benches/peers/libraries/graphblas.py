"""SuiteSparse:GraphBLAS by python-graphblas."""

from __future__ import annotations

import numpy as np
from graphblas import Vector, semiring

import loops
from answers import ROUNDS, UNREACHED, partition
from workload import Workload

from .base import Call, Library, dense, members


class Graphblas(Library):
    name, package, parallel = "graphblas", "python-graphblas", True

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        loops.use_threads(threads)
        self.a = loops.matrix(work.indptr, work.indices, np.array([True]))
        self.weights = loops.matrix(work.indptr, work.indices, work.weights)
        self.floats = loops.matrix(work.indptr, work.indices, work.weights.astype(np.float64))
        linked = np.flatnonzero(work.degrees)
        self.degrees = Vector.from_coo(linked, work.degrees[linked].astype(np.float64), size=work.vertices)
        self.x = Vector.from_dense(work.x)

    def mis(self) -> list[Call]:
        read = lambda found: members(self.work.vertices, found.to_coo()[0].astype(np.int64))  # noqa: E731
        return [Call("loops.independent_set", lambda: loops.independent_set(self.a, self.degrees), read)]

    def bfs(self) -> list[Call]:
        return [Call("loops.levels", lambda: loops.levels(self.a, self.work.source), dense(UNREACHED))]

    def sssp(self) -> list[Call]:
        return [Call("loops.distances", lambda: loops.distances(self.weights, self.work.source), dense(UNREACHED))]

    def components(self) -> list[Call]:
        return [Call("loops.components", lambda: loops.components(self.a), lambda found: partition(found.to_dense()))]

    def pagerank(self) -> list[Call]:
        return [Call("loops.pagerank", lambda: loops.pagerank(self.a, self.degrees, ROUNDS), dense(0.0))]

    def triangles(self) -> list[Call]:
        by_degree = lambda: loops.triangles(self.a, np.argsort(self.work.degrees, kind="stable"))  # noqa: E731
        return [
            Call("loops.triangles", lambda: loops.triangles(self.a), int),
            Call("loops.triangles, by degree", by_degree, int),
        ]

    def spmv(self) -> list[Call]:
        return [Call("Matrix.mxv", lambda: self.floats.mxv(self.x, semiring.plus_times).new().wait(), dense(0.0))]
