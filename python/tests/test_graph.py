"""Making graphs, and what they tell of themselves."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from conftest import random_matrix

import vxm


def dense(graph: vxm.Graph) -> np.ndarray:
    return graph.to_scipy().toarray()


def symmetric(n: int, seed: int) -> scipy.sparse.csr_array:
    matrix = random_matrix(n, 4 * n, seed)
    return (matrix + matrix.T).tocsr()


def loopless(matrix: np.ndarray) -> np.ndarray:
    return matrix.astype(bool) & ~np.eye(len(matrix), dtype=bool)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
def test_scipy_matrices_are_taken(index: type, kind: str) -> None:
    matrix = symmetric(60, 1)
    expected = loopless(matrix.toarray())
    given = matrix.asformat(kind)
    if kind == "csr":
        given.indptr, given.indices = given.indptr.astype(index), given.indices.astype(index)
    assert np.array_equal(dense(vxm.Graph.from_scipy(given)), expected)
    spmatrix = scipy.sparse.csr_matrix(matrix)
    assert np.array_equal(dense(vxm.Graph.from_scipy(spmatrix)), expected)


def test_unsorted_indices_and_duplicates_are_taken() -> None:
    # row 0: columns 2, 1, 1
    given = scipy.sparse.csr_array(([1.0, 2.0, 3.0, 5.0, 1.0], [2, 1, 1, 0, 0], [0, 3, 4, 5]), shape=(3, 3))
    graph = vxm.Graph.from_scipy(given, weights=True)
    assert dense(graph).tolist() == [[0, 5, 1], [5, 0, 0], [1, 0, 0]]
    assert given.indices.tolist() == [2, 1, 1, 0, 0]


def test_union_takes_either_direction() -> None:
    matrix = random_matrix(50, 120, 2)
    given = matrix.toarray()
    assert np.array_equal(dense(vxm.Graph.from_scipy(matrix, symmetrize="union")), loopless(given + given.T))
    graph = vxm.Graph.from_scipy(matrix, weights=True, symmetrize="union")
    least = np.where((given > 0) & (given.T > 0), np.minimum(given, given.T), np.maximum(given, given.T))
    assert np.array_equal(dense(graph), least)


def test_asymmetry_is_named() -> None:
    matrix = scipy.sparse.csr_array(([1.0, 1.0, 1.0], [1, 0, 0], [0, 1, 2, 3]), shape=(3, 3))
    with pytest.raises(vxm.InputError, match=r"found entry \(2, 0\) without entry \(0, 2\)$"):
        vxm.Graph.from_scipy(matrix)
    weighted = scipy.sparse.csr_array(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    assert vxm.Graph.from_scipy(weighted).edges == 1
    with pytest.raises(vxm.InputError, match=r"found entry \(0, 1\) without an equal entry \(1, 0\)$"):
        vxm.Graph.from_scipy(weighted, weights=True)


def test_self_loops_are_dropped() -> None:
    graph = vxm.Graph.from_scipy(scipy.sparse.csr_array(np.eye(3) + np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)))
    assert (graph.edges, graph.degrees.tolist()) == (2, [1, 2, 1])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.uint32, np.uint64, np.float32, np.float64, bool])
def test_weights_keep_their_values(dtype: type) -> None:
    graph = vxm.Graph.from_coo(3, [0, 1], [1, 2], np.array([1, 0], dtype))
    assert graph.sssp(0).tolist() == [0, 1, 1]
    assert graph.weighted and graph.dtype in (np.uint32, np.uint64, np.float32, np.float64)


def test_a_graph_survives_pickling_and_scipy() -> None:
    for options in ({}, {"directed": True}, {"directed": True, "weights": True}, {"weights": True, "symmetrize": "union"}):
        graph = vxm.Graph.from_scipy(random_matrix(40, 100, 3), **{"symmetrize": "union", **options})
        copies = [
            pickle.loads(pickle.dumps(graph)),
            vxm.Graph.from_scipy(graph.to_scipy(), weights=graph.weighted, directed=graph.directed),
        ]
        for copy in copies:
            assert repr(copy) == repr(graph)
            assert np.array_equal(dense(copy), dense(graph))


def test_edges_come_in_any_order_and_direction() -> None:
    graph = vxm.Graph.from_coo(4, np.array([3, 0, 1, 2], np.int32), [2, 1, 0, 2])
    assert graph.edges == 2
    assert graph.info()["changed"] == "dropped 1 self-loop; dropped 1 duplicate"
    directed = vxm.Graph.from_coo(4, [3, 0, 1, 3], [2, 1, 0, 2], directed=True)
    assert directed.edges == 3 and repr(directed) == "<directed vxm.Graph of 4 vertices and 3 edges>"


def test_networkx_graphs_are_numbered_in_their_order() -> None:
    given = nx.MultiDiGraph([("b", "a", {"weight": 3}), ("b", "a", {"weight": 2}), ("a", "c", {"weight": 0.5})])
    graph = vxm.Graph.from_networkx(given, weight="weight")
    assert graph.sssp(0).tolist() == [0, 2, 2.5]
    assert graph.directed and graph.edges == 2


def test_info_counts_degrees() -> None:
    info = vxm.Graph.from_coo(6, [0, 0, 0, 0], [1, 2, 3, 4]).info()
    assert info["degree"] == {"min": 0, "mean": 8 / 6, "max": 4}
    assert (info["isolated"], info["degrees"]) == (1, [1, 4, 0, 1])


def test_files_keep_their_numbers(tmp_path) -> None:
    path = tmp_path / "snap.txt"
    path.write_text("# a list\n7 9000\n9000 12\n")
    graph = vxm.Graph.from_file(path)
    assert graph.numbers().tolist() == [7, 12, 9000]
    assert graph.vertex(12) == 1 and graph.name == "snap"
    with pytest.raises(vxm.InputError, match="expected the number or name of one of 3 vertices, found 8"):
        graph.vertex(8)
    path = tmp_path / "weighted.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 2.5\n2 3 1\n")
    graph = vxm.Graph.from_file(path, weights=True, directed=True)
    assert graph.sssp(0).tolist() == [0, 2.5, 3.5] and graph.numbers([0]).tolist() == [1]
    assert vxm.Graph.from_file(path, weights=True).sssp(2).tolist() == [3.5, 1, 0]


def test_lists_have_weights_in_a_column(tmp_path) -> None:
    path = tmp_path / "roads.txt"
    path.write_text("# id from to km\n1 7 9 2\n2 9 12 0.5\n")
    graph = vxm.Graph.from_file(path, weights=True, directed=True, columns=(2, 3, 4))
    assert graph.sssp(graph.vertex(7)).tolist() == [0, 2, 2.5] and graph.numbers().tolist() == [7, 9, 12]
    assert vxm.Graph.from_file(path, columns=(2, 3)).edges == 2
    assert vxm.Graph.from_file(path, weights=True, columns=["2", "3", "4"]).sssp(2).tolist() == [2.5, 0.5, 0]
    path.write_text("a,b,3\nb,c,4\n")
    assert vxm.Graph.from_file(path, weights=True, directed=True, input="names", columns=(1, 2, 3)).sssp(0).tolist() == [0, 3, 7]
    with pytest.raises(vxm.InputError, match=r"no weights: expected columns=\(FROM, TO, WEIGHT\)"):
        vxm.Graph.from_file(path, weights=True, input="names")
    with pytest.raises(vxm.InputError, match="expected different numbers of columns from 1 on"):
        vxm.Graph.from_file(path, input="names", columns=("from", "to"))
    with pytest.raises(vxm.InputError, match="columns: expected two or three, found 1"):
        vxm.Graph.from_file(path, columns=(1,))
    with pytest.raises(vxm.InputError, match="expected a file, an edge list or a table"):
        vxm.Graph.from_file("grid:3x4", columns=(1, 2))
    wel = tmp_path / "a.wel"
    wel.write_text("0 1 5\n1 0 5\n")
    assert vxm.Graph.from_file(wel, weights=True).sssp(0).tolist() == [0, 5]


def test_files_keep_their_names(tmp_path) -> None:
    path = tmp_path / "people.txt"
    path.write_text("Zoé\tAnn Lee\nAnn Lee\tBob\n", encoding="utf-8")
    graph = vxm.Graph.from_file(path, input="names")
    assert graph.names() == ["Ann Lee", "Bob", "Zoé"] and graph.names([2]) == ["Zoé"]
    assert graph.vertex("Bob") == 1 and graph.bfs(graph.vertex("Zoé")).tolist() == [1, 2, 0]
    assert vxm.Graph.from_file(path, input="names", directed=True).edges == 2
    assert vxm.Graph.from_file("grid:2x2").names([3]) == ["3"]
    with pytest.raises(vxm.InputError, match="found Eve"):
        graph.vertex("Eve")
    with pytest.raises(vxm.InputError, match="lies outside"):
        graph.names([3])
    with pytest.raises(vxm.InputError, match="--input names reads names"):
        vxm.Graph.from_file(path)
    with pytest.raises(vxm.InputError, match="unknown input format `csv`"):
        vxm.Graph.from_file(path, input="csv")
    networkx = pytest.importorskip("networkx")
    path = tmp_path / "people.graphml"
    networkx.write_graphml(networkx.Graph([("Zoé", "Ann & Lee"), ("Ann & Lee", "Bob")]), path)
    graph = vxm.Graph.from_file(path)
    assert graph.names() == ["Ann & Lee", "Bob", "Zoé"] and graph.edges == 2


def test_empty_graphs_work() -> None:
    for n in (0, 1):
        graph = vxm.Graph.from_coo(n, [], [])
        assert graph.components().tolist() == list(range(n))
        assert graph.mis().members.tolist() == list(range(n))
        assert graph.info()["vertices"] == n
    assert vxm.Graph.from_csr([0], []).vertices == 0


@pytest.mark.parametrize("by", ["rcm", "degree", "shuffled"])
def test_a_renumbered_graph_has_the_same_answers(graph: vxm.Graph, by: str) -> None:
    n = graph.vertices
    asked = np.random.default_rng(3).permutation(n) if by == "shuffled" else by
    other = graph.renumbered(asked)
    assert np.array_equal(np.sort(other.old), np.arange(n))
    if by == "shuffled":
        np.testing.assert_array_equal(other.old, asked)
    assert (other.graph.to_scipy() != graph.to_scipy()[other.old][:, other.old]).nnz == 0
    np.testing.assert_array_equal(np.sort(other.old[other.graph.mis(seed=4).members]), graph.mis(seed=4).members)
    np.testing.assert_array_equal(other.restored(other.graph.color(seed=4).colors), graph.color(seed=4).colors)
    source = int(other.old[0])
    np.testing.assert_array_equal(other.restored(other.graph.bfs(0)), graph.bfs(source))
    vxm.certify.coloring(other.graph, other.graph.color().colors)


def test_a_renumbered_graph_keeps_weights_and_directions() -> None:
    arrows = vxm.Graph.from_coo(4, [0, 1, 3], [1, 2, 0], [2.5, 1.0, 4.0], directed=True)
    other = arrows.renumbered([2, 0, 3, 1])
    assert other.graph.directed and other.graph.dtype == np.float64
    np.testing.assert_array_equal(other.restored(other.graph.sssp(2)), arrows.sssp(3))


def test_a_pickled_renumbered_graph_breaks_ties_alike(graph: vxm.Graph) -> None:
    made = graph.renumbered(np.random.default_rng(5).permutation(graph.vertices))
    made = pickle.loads(pickle.dumps(made))
    assert (made.graph.to_scipy() != graph.to_scipy()[made.old][:, made.old]).nnz == 0
    np.testing.assert_array_equal(np.sort(made.old[made.graph.mis().members]), graph.mis().members)
    np.testing.assert_array_equal(made.restored(made.graph.color().colors), graph.color().colors)
    arrows = vxm.Graph.from_coo(4, [0, 1, 3], [1, 2, 0], [2.5, 1.0, 4.0], directed=True).renumbered([2, 0, 3, 1]).graph
    copy = pickle.loads(pickle.dumps(arrows))
    assert copy.directed and (copy.to_scipy() != arrows.to_scipy()).nnz == 0


def test_orders_that_are_none() -> None:
    path = vxm.Graph.from_coo(3, [0, 1], [1, 2])
    with pytest.raises(vxm.InputError, match="by: expected rcm, degree or an array, found `best`"):
        path.renumbered("best")
    with pytest.raises(vxm.InputError, match="renumbering: place 2 has number 2: expected each number below 3 once"):
        path.renumbered([0, 2, 2])
    with pytest.raises(vxm.ShapeError, match="by: expected the old number of each of 3 vertices, found 2"):
        path.renumbered([0, 1])
    with pytest.raises(vxm.InputError, match="by: expected an array without masked values"):
        path.renumbered(np.ma.array([0, 1, 2], mask=[0, 0, 1]))
    with pytest.raises(vxm.ShapeError, match="by: expected an array with one axis, found 0 axes"):
        path.renumbered(3)
    with pytest.raises(vxm.InputError, match="expected integers from 0"):
        path.renumbered([0, -1, 2])
    with pytest.raises(vxm.ShapeError, match=r"values: expected one for each of 3 vertices, found an array of \(2,\)"):
        path.renumbered("rcm").restored([1, 2])
