"""Answers: certificates, SciPy's and networkx' answers, and all options."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
from conftest import random_matrix

import vxm


@pytest.mark.parametrize("priority", ["random", "degree", "resolve", "sorted", "sorted-id"])
@pytest.mark.parametrize("formulation", [None, "decide", "count"])
def test_sets_are_maximal(graph: vxm.Graph, priority: str, formulation: str | None) -> None:
    if (priority, formulation) == ("resolve", "decide"):
        with pytest.raises(vxm.InputError, match="priority `resolve` requires formulation `count`, found `decide`"):
            graph.mis(priority=priority, formulation=formulation)
        return
    found = [graph.mis(priority=priority, formulation=formulation, seed=3, threads=threads) for threads in (1, 3, None)]
    vxm.certify.independent_set(graph, found[0].members)
    assert all(np.array_equal(found[0].members, other.members) for other in found)


@pytest.mark.parametrize("priority", ["random", "degree", "resolve", "sorted", "sorted-id"])
def test_sets_of_many_seeds_are_those_of_each(graph: vxm.Graph, priority: str) -> None:
    seeds = [*range(17), 2**64 - 1]
    found = graph.mis_many(seeds, priority=priority)
    for seed, one in zip(seeds, found):
        assert np.array_equal(one.members, graph.mis(priority=priority, seed=seed).members)
    assert len(found) == len(seeds)
    with pytest.raises(vxm.InputError, match="seed: expected 0 to 18446744073709551615, found -1"):
        graph.mis_many([3, -1])


@pytest.mark.parametrize("method", ["is", "max-times", "mis", "jp", "min-max", "hash", "neighbor-reduce", "speculative"])
@pytest.mark.parametrize("order", ["random", "largest-degree-first", "smallest-degree-last"])
def test_colorings_are_proper(graph: vxm.Graph, method: str, order: str) -> None:
    found = graph.color(method=method, order=order, seed=5)
    assert vxm.certify.coloring(graph, found.colors) == found.count == found.colors.max()
    assert np.array_equal(graph.color(method=method, order=order, seed=5, threads=1).colors, found.colors)


def test_an_order_gives_the_greedy_answers(graph: vxm.Graph) -> None:
    order = np.random.default_rng(7).permutation(graph.vertices)
    matrix = graph.to_scipy()
    taken, colors = set(), {}
    for v in order.tolist():
        neighbors = matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]].tolist()
        if taken.isdisjoint(neighbors):
            taken.add(v)
        seen = {colors.get(u) for u in neighbors}
        colors[v] = next(color for color in range(1, len(seen) + 2) if color not in seen)
    assert graph.mis(order=order).members.tolist() == sorted(taken)
    assert graph.color(order=order).colors.tolist() == [colors[v] for v in range(graph.vertices)]


def test_components_and_hops_are_those_of_scipy(graph: vxm.Graph) -> None:
    labels = graph.components()
    count, expected = csgraph.connected_components(graph.to_scipy())
    assert vxm.certify.components(graph, labels) == count
    assert len(set(zip(labels.tolist(), expected.tolist()))) == count
    hops = graph.bfs(3)
    lengths = csgraph.dijkstra(graph.to_scipy(), indices=3, unweighted=True)
    assert np.array_equal(hops, np.where(np.isinf(lengths), -1, lengths))
    assert vxm.certify.levels(graph, 3, hops) == (hops >= 0).sum()


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("directed", [True, False])
def test_lengths_are_those_of_scipy(dtype: type, directed: bool) -> None:
    matrix = random_matrix(300, 500, 11, dtype)
    graph = vxm.Graph.from_scipy(matrix, weights=True, directed=directed, symmetrize="union")
    lengths = graph.sssp(5)
    expected = csgraph.dijkstra(graph.to_scipy().astype(np.float64), indices=5)
    far = np.inf if np.issubdtype(dtype, np.floating) else -1
    assert np.array_equal(lengths, np.where(np.isinf(expected), far, expected))
    assert (lengths == far).any() and lengths.dtype == (dtype if far == np.inf else np.int64)
    hops = graph.bfs(5)
    assert np.array_equal(hops >= 0, ~np.isinf(expected))


def test_formats_and_devices_give_the_same(graph: vxm.Graph) -> None:
    for device in vxm.devices():
        for format in ("auto", "csr", "tiles", "hybrid"):
            place = {"device": device, "format": format}
            assert np.array_equal(graph.mis(**place).members, graph.mis().members)
            assert np.array_equal(graph.color(**place).colors, graph.color().colors)
            assert np.array_equal(graph.components(**place), graph.components())
            assert np.array_equal(graph.bfs(0, **place), graph.bfs(0))
    assert vxm.devices()[0] == "cpu"
    assert np.array_equal(graph.mis(device="auto").members, graph.mis().members)


def test_negative_weights_may_be_directed() -> None:
    graph = vxm.Graph.from_coo(3, [0, 0, 1], [1, 2, 2], [4.0, 1.0, -5.0], directed=True)
    assert graph.sssp(0).tolist() == [0, 4, -1]
    cycle = vxm.Graph.from_coo(2, [0, 1], [1, 0], [1.0, -2.0], directed=True)
    with pytest.raises(vxm.InputError, match="sssp: 0 reaches a cycle of negative weight"):
        cycle.sssp(0)


def test_certificates_refuse_wrong_answers() -> None:
    path = vxm.Graph.from_networkx(nx.path_graph(4))
    wrong = [
        lambda: vxm.certify.independent_set(path, [0, 1, 3]),
        lambda: vxm.certify.independent_set(path, np.array([True, False, False, False])),
        lambda: vxm.certify.coloring(path, [1, 2, 2, 1]),
        lambda: vxm.certify.coloring(path, [1, 2, 0, 1]),
        lambda: vxm.certify.components(path, [0, 0, 0, 3]),
        lambda: vxm.certify.levels(path, 0, [0, 1, 2, -1]),
        lambda: vxm.certify.levels(path, 0, [0, 1, 2, 2**40]),
        lambda: vxm.certify.coloring(path, [1, 2]),
    ]
    for check in wrong:
        with pytest.raises(vxm.WrongAnswer, match="^wrong answer: "):
            check()
