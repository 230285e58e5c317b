"""networkx, without backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx
import numpy as np

from answers import DAMPING, TOLERANCE, UNREACHED
from workload import Workload

from .base import Call, Library, members


class Networkx(Library):
    name, package = "networkx", "networkx"
    # its independent set takes a minute there, and grows with the square
    most_edges = 200_000

    def __init__(self, work: Workload, threads: int) -> None:
        super().__init__(work, threads)
        self.graph = networkx.Graph()
        self.graph.add_nodes_from(range(work.vertices))
        self.graph.add_weighted_edges_from(zip(*(each.tolist() for each in work.upper)))

    def mis(self) -> list[Call]:
        read = lambda found: members(self.work.vertices, np.array(found, dtype=np.int64))  # noqa: E731
        return [self._call("maximal_independent_set", read, seed=1)]

    def color(self) -> list[Call]:
        return [self._call("greedy_color", self._listed, strategy="largest_first")]

    def bfs(self) -> list[Call]:
        return [self._call("single_source_shortest_path_length", self._listed, source=self.work.source)]

    def sssp(self) -> list[Call]:
        return [self._call("single_source_dijkstra_path_length", self._listed, source=self.work.source)]

    def components(self) -> list[Call]:
        run = lambda: list(networkx.connected_components(self.graph, backend="networkx"))  # noqa: E731
        return [Call("connected_components", run, self._divided)]

    def pagerank_tol(self) -> list[Call]:
        # its tolerance is for each vertex
        options = {"alpha": DAMPING, "tol": TOLERANCE / self.work.vertices, "max_iter": 1000, "weight": None}
        return [self._call("pagerank", self._listed, **options)]

    def triangles(self) -> list[Call]:
        return [self._call("triangles", lambda found: sum(found.values()) // 3)]

    def cores(self) -> list[Call]:
        return [self._call("core_number", self._listed)]

    def msf(self) -> list[Call]:
        edges = lambda: networkx.minimum_spanning_edges(self.graph, backend="networkx")  # noqa: E731
        return [Call("minimum_spanning_edges", lambda: sum(data["weight"] for _, _, data in edges()), int)]

    def _call(self, name: str, read: Callable[[Any], Any], **options: Any) -> Call:
        # without `backend` the setting of a user may send the call to another library
        return Call(name, lambda: getattr(networkx, name)(self.graph, backend="networkx", **options), read)

    def _listed(self, found: dict[int, Any]) -> np.ndarray:
        return np.array([found.get(vertex, UNREACHED) for vertex in range(self.work.vertices)])

    def _divided(self, parts: list[set[int]]) -> np.ndarray:
        least = np.empty(self.work.vertices, dtype=np.int64)
        for part in parts:
            least[list(part)] = min(part)
        return least
