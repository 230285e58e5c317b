"""Searches, ranks, dense parts, components, forests, matchings and covers: certificates, and answers of networkx and SciPy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph as csgraph
from conftest import random_matrix

import vxm


@pytest.fixture
def other(graph: vxm.Graph) -> nx.Graph:
    """The same graph of networkx."""
    return nx.from_scipy_sparse_array(graph.to_scipy())


@pytest.fixture(params=[1, 2, 3])
def arrows(request: pytest.FixtureRequest) -> vxm.Graph:
    """A random directed graph."""
    return vxm.Graph.from_scipy(random_matrix(300, 500, request.param), directed=True)


def test_trees_of_fewest_hops(graph: vxm.Graph) -> None:
    tree, hops = graph.bfs_parents(3), graph.bfs(3)
    assert vxm.certify.parents(graph, 3, tree) == hops.max()
    reached = np.flatnonzero(hops > 0)
    assert (hops[tree[reached]] == hops[reached] - 1).all() and tree[3] == 3
    assert ((tree < 0) == (hops < 0)).all()
    with pytest.raises(vxm.WrongAnswer):
        vxm.certify.parents(graph, 3, np.where(tree == 3, -1, tree))


def test_many_searches_are_single_ones(graph: vxm.Graph, arrows: vxm.Graph) -> None:
    for one in (graph, arrows):
        sources = [*range(0, 140, 2), 5, 5]
        found = one.bfs_many(sources)
        assert found.shape == (72, one.vertices)
        for source, row in zip(sources, found):
            assert np.array_equal(row, one.bfs(source))
    assert graph.bfs_many([]).shape == (0, graph.vertices)
    with pytest.raises(vxm.InputError, match="sources: expected one of"):
        graph.bfs_many([0, graph.vertices])


@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.float64])
def test_trees_of_shortest_paths(dtype: type) -> None:
    matrix = random_matrix(200, 900, 4, dtype)
    graph = vxm.Graph.from_scipy(matrix, directed=True, weights=True)
    lengths, tree = graph.sssp(7), graph.sssp_parents(7)
    reached = lengths >= 0 if lengths.dtype == np.int64 else lengths < np.inf
    assert tree[7] == 7 and ((tree >= 0) == reached).all()
    for vertex in np.flatnonzero(tree >= 0):
        if vertex != 7:
            parent = tree[vertex]
            assert lengths[parent] + matrix[parent, vertex] == lengths[vertex]
    with pytest.raises(vxm.InputError, match="expected a graph with weights, found one without"):
        vxm.Graph.from_coo(2, [0], [1]).sssp_parents(0)


def test_ranks_are_those_of_networkx(arrows: vxm.Graph) -> None:
    matrix = arrows.to_scipy()
    other = nx.from_scipy_sparse_array(matrix.astype(float), create_using=nx.DiGraph)
    for sources in (None, [3], [1, 5, 200]):
        personal = None if sources is None else dict.fromkeys(sources, 1)
        expected = nx.pagerank(other, tol=1e-12, personalization=personal, max_iter=1000)
        found = arrows.pagerank(tolerance=1e-10, sources=sources)
        assert np.allclose(found.ranks, [expected[v] for v in range(300)], atol=1e-9)
        assert found.change < 1e-10 and found.ranks.dtype == np.float64
        single = arrows.pagerank(tolerance=1e-4, sources=sources, dtype="float32")
        assert single.ranks.dtype == np.float32 and np.allclose(single.ranks, found.ranks, atol=1e-3)
    fixed = arrows.pagerank(rounds=7, tolerance=0)
    assert fixed.rounds == 7 and fixed.change == np.inf
    for wrong, told in [({"damping": 1.5}, "damping"), ({"tolerance": -1}, "tolerance"), ({"sources": []}, "no sources"),
                        ({"sources": [300]}, "sources: expected one of 300"), ({"dtype": "int32"}, "unknown dtype")]:  # fmt: skip
        with pytest.raises(vxm.InputError, match=told):
            arrows.pagerank(**wrong)


def test_dense_parts_are_those_of_networkx(graph: vxm.Graph, other: nx.Graph) -> None:
    n = graph.vertices
    cores = graph.core_numbers()
    assert cores.tolist() == [nx.core_number(other)[v] for v in range(n)]
    assert vxm.certify.core_numbers(graph, cores) == cores.max()
    counts = graph.triangles()
    assert counts.tolist() == [nx.triangles(other)[v] for v in range(n)]
    assert vxm.certify.triangles(graph, counts) == counts.sum() // 3
    shares = nx.clustering(other)
    assert graph.clustering().tolist() == [shares[v] for v in range(n)]
    for k in (3, 4, 6):
        truss = graph.ktruss(k)
        assert {tuple(edge) for edge in truss.edges.tolist()} == {tuple(sorted(edge)) for edge in nx.k_truss(other, k).edges}
        assert (truss.support >= k - 2).all()
    with pytest.raises(vxm.InputError, match="k = 2: expected at least 3"):
        graph.ktruss(2)


def test_strong_components_are_those_of_scipy(arrows: vxm.Graph) -> None:
    count, labels = csgraph.connected_components(arrows.to_scipy(), connection="strong")
    found = arrows.strong_components()
    assert vxm.certify.strong_components(arrows, found) == count
    assert len(set(zip(labels.tolist(), found.tolist()))) == count


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float32, np.float64])
def test_forests_weigh_as_much_as_those_of_scipy(dtype: type) -> None:
    matrix = random_matrix(250, 700, 5, np.float64)
    values = matrix.data * (1 if np.dtype(dtype).kind == "u" else 0.5)
    matrix = scipy.sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    lesser = vxm.Graph.from_scipy(matrix.astype(dtype), weights=True, symmetrize="union")
    forest = lesser.spanning_forest()
    expected = csgraph.minimum_spanning_tree(lesser.to_scipy().astype(np.float64))
    assert forest.weights.dtype == dtype and len(forest.edges) == expected.nnz
    assert forest.weights.sum(dtype=np.float64) == expected.sum()
    weight = lesser.to_scipy()
    assert all(weight[i, j] == w and i < j for (i, j), w in zip(forest.edges.tolist(), forest.weights))
    with pytest.raises(vxm.InputError, match="spanning_forest: expected a graph with weights"):
        vxm.Graph.from_coo(2, [0], [1]).spanning_forest()
    with pytest.raises(vxm.InputError, match="spanning_forest: a weight of NaN"):
        vxm.Graph.from_coo(3, [0, 1], [1, 2], [1.0, np.nan]).spanning_forest()


def test_negative_weights_of_forests() -> None:
    graph = vxm.Graph.from_coo(3, [0, 1, 2], [1, 2, 0], [-2.0, 0.0, -1.0])
    assert graph.spanning_forest().weights.sum() == -3.0
    with pytest.raises(vxm.InputError, match="matching: a weight of -2.0: expected weights from 0 on"):
        graph.matching(weighted=True)


def test_matchings_are_maximal(graph: vxm.Graph) -> None:
    found = graph.matching(seed=2)
    assert vxm.certify.matching(graph, found.mate) == len(found.edges()) > 0
    assert np.array_equal(graph.matching(seed=2, threads=1).mate, found.mate)
    assert not np.array_equal(graph.matching(seed=3).mate, found.mate)
    indptr, indices, _ = graph._arrays()
    tails = np.repeat(np.arange(graph.vertices), np.diff(indptr))
    weight = (np.minimum(tails, indices) * 7 + np.maximum(tails, indices) * 13) % 50
    weighted = vxm.Graph.from_csr(indptr, indices.astype(np.int64), weight.astype(np.uint32))
    heavy = weighted.matching(weighted=True)
    assert vxm.certify.matching(weighted, heavy.mate) > 0
    matrix = weighted.to_scipy()
    total = sum(int(matrix[i, j]) for i, j in heavy.edges().tolist())
    best = nx.max_weight_matching(nx.from_scipy_sparse_array(matrix)) if graph.vertices < 600 else None
    assert best is None or 2 * total >= sum(int(matrix[i, j]) for i, j in best)
    with pytest.raises(vxm.InputError, match="matching: expected a graph with weights"):
        graph.matching(weighted=True)


def test_betweenness_is_that_of_networkx() -> None:
    for spec in ("road:12", "rmat:7:3", "er:7:2"):
        graph = vxm.Graph.from_file(spec)
        other = nx.from_scipy_sparse_array(graph.to_scipy())
        expected = nx.betweenness_centrality(other, normalized=False)
        assert np.allclose(graph.betweenness(), [expected[v] for v in range(graph.vertices)], rtol=1e-12)
        drawn = graph.betweenness(10, seed=4)
        assert np.array_equal(drawn, graph.betweenness(10, seed=4)) and not np.array_equal(drawn, graph.betweenness(10))
        assert np.array_equal(graph.betweenness(graph.vertices + 5), graph.betweenness())
        assert np.array_equal(graph.betweenness(np.arange(graph.vertices)), graph.betweenness())
    for wrong in (0, -1, [graph.vertices], [-1], []):
        with pytest.raises(vxm.InputError, match="sources"):
            graph.betweenness(wrong)


def test_communities(graph: vxm.Graph, other: nx.Graph) -> None:
    found = graph.communities()
    parts = [set(np.flatnonzero(found.labels == label).tolist()) for label in np.unique(found.labels)]
    assert len(parts) == found.count
    assert found.modularity == pytest.approx(nx.community.modularity(other, parts), abs=1e-9)
    labels = graph.labels(rounds=3)
    # a round of a vertex' neighbours' labels at a time
    matrix, expected = graph.to_scipy(), np.arange(graph.vertices)
    for _ in range(3):
        new = expected.copy()
        for v in range(graph.vertices):
            near = expected[matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]]]
            if near.size:
                values, counts = np.unique(near, return_counts=True)
                new[v] = values[counts.argmax()]
        expected = new
    assert np.array_equal(labels, expected)


def test_roots() -> None:
    parents = np.random.default_rng(6).integers(0, np.arange(1, 500))
    graph = vxm.Graph.from_coo(500, np.arange(10, 500), np.minimum(parents[9:], 400), directed=True)
    expected = np.arange(500)
    for child, parent in zip(range(10, 500), np.minimum(parents[9:], 400)):
        expected[child] = expected[parent]
    assert np.array_equal(graph.roots(), expected)
    with pytest.raises(vxm.InputError, match="cycle"):
        vxm.Graph.from_coo(3, [0, 1], [1, 0], directed=True).roots()


@pytest.mark.parametrize("order", ["smallest-degree-last", "largest-degree-first", "random", "natural"])
def test_cliques_are_maximal(graph: vxm.Graph, order: str) -> None:
    found = graph.clique(order=order, seed=1)
    assert vxm.certify.clique(graph, found.members) == found.sizes.max() == found.members.size
    assert graph.core_numbers().max() + 1 >= found.members.size <= graph.color().count
    assert np.array_equal(graph.clique(order=order, seed=1, threads=1).sizes, found.sizes)
    own = graph.clique(order=np.arange(graph.vertices))
    assert np.array_equal(own.sizes, graph.clique(order="natural").sizes)


@pytest.mark.parametrize("priority", ["random", "degree", "resolve", "sorted", "sorted-id"])
def test_covers_cover(graph: vxm.Graph, priority: str) -> None:
    found = graph.vertex_cover(priority=priority, seed=9)
    assert vxm.certify.vertex_cover(graph, found.members, found.mate) == found.least
    assert found.least <= found.members.size <= 2 * found.least
    with pytest.raises(vxm.WrongAnswer, match="neither"):
        vxm.certify.vertex_cover(graph, found.members[1:], found.mate)


def test_sets_at_distance_2(graph: vxm.Graph) -> None:
    matrix = graph.to_scipy().astype(np.int64)
    near = ((matrix @ matrix + matrix) > 0).astype(np.int64).tolil()
    near.setdiag(0)
    near = near.tocsr()
    for arguments in ({}, {"priority": "random", "seed": 4}, {"order": np.arange(graph.vertices)[::-1]}):
        members = graph.mis(distance=2, **arguments).members
        chosen = np.zeros(graph.vertices, np.int64)
        chosen[members] = 1
        assert (near @ chosen)[members].max() == 0
        assert ((near @ chosen) + chosen > 0).all()
    everything = range(graph.vertices)
    for arguments in ({"distance": 3}, {"distance": 2, "priority": "resolve"}, {"distance": 2, "formulation": "count"},
                      {"order": everything, "priority": "sorted"}, {"order": "random"}, {"distance": 2, "order": "random"}):  # fmt: skip
        with pytest.raises(vxm.InputError):
            graph.mis(**arguments)


def test_directed_graphs_are_refused_where_they_make_no_sense(arrows: vxm.Graph) -> None:
    for name in ("core_numbers", "triangles", "clustering", "matching", "betweenness", "communities", "labels", "clique",
                 "vertex_cover"):  # fmt: skip
        with pytest.raises(vxm.InputError, match="symmetric|undirected"):
            getattr(arrows, name)()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n: int) -> None:
    graph = vxm.Graph.from_coo(n, [], [])
    assert graph.core_numbers().tolist() == graph.triangles().tolist() == graph.clustering().tolist() == [0] * n
    assert graph.strong_components().tolist() == graph.labels().tolist() == graph.roots().tolist() == list(range(n))
    assert graph.matching().mate.tolist() == [-1] * n and graph.matching().edges().shape == (0, 2)
    assert graph.betweenness().tolist() == [0.0] * n and graph.ktruss(3).edges.shape == (0, 2)
    assert graph.clique().members.tolist() == [0][:n] and graph.vertex_cover().members.size == 0
    assert np.allclose(graph.pagerank().ranks, [1 / n] * n if n else [])
    assert graph.communities().count == n and graph.mis(distance=2).members.size == n


def test_certificates_refuse_what_is_no_answer() -> None:
    one = vxm.Graph.from_coo(2, [], [])
    for check in (lambda: vxm.certify.matching(one, [-2, -1]), lambda: vxm.certify.parents(one, 0, [0, -9]),
                  lambda: vxm.certify.vertex_cover(one, [], [-1, -5]), lambda: vxm.certify.levels(one, 0, [0, -3])):  # fmt: skip
        with pytest.raises(vxm.InputError, match="or -1 for none, found -"):
            check()
    with pytest.raises(TypeError, match="expected a vxm.Graph, found int"):
        vxm.certify.clique(5, [0])  # type: ignore[arg-type]
    arrows = vxm.Graph.from_coo(3, [0, 1], [1, 2], directed=True)
    for check in (lambda: vxm.certify.clique(arrows, [0, 1]), lambda: vxm.certify.triangles(arrows, [0, 0, 0])):
        with pytest.raises(vxm.InputError, match="undirected|symmetric"):
            check()


def test_self_loops_of_directed_graphs_are_no_edges() -> None:
    loops = vxm.Graph.from_coo(4, [0, 0, 1, 3, 1, 2], [0, 1, 0, 3, 2, 1], directed=True)
    plain = vxm.Graph.from_coo(4, [0, 1], [1, 2])
    assert vxm.certify.core_numbers(loops, loops.core_numbers()) == 1
    for order in ("largest-degree-first", "smallest-degree-last"):
        assert np.array_equal(loops.clique(order=order).members, plain.clique(order=order).members)


def test_directed_files(tmp_path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("10 200\n200 31\n31 10\n7 10\n")
    graph = vxm.Graph.from_file(file, directed=True)
    assert graph.directed and graph.edges == 4
    labels = graph.strong_components()
    numbers = graph.numbers().tolist()
    assert {number for number, label in zip(numbers, labels) if label == labels[numbers.index(10)]} == {10, 200, 31}
