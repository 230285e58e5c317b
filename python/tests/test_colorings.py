"""Colourings of matrices, by other rules, with a given part, and aggregates, against loops over SciPy's arrays."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from conftest import random_matrix

import vxm


def rectangular(m: int, n: int, entries: int, seed: int) -> scipy.sparse.csr_array:
    draw = np.random.default_rng(seed)
    values = draw.integers(1, 1000, entries).astype(float)
    matrix = scipy.sparse.coo_array((values, (draw.integers(0, m, entries), draw.integers(0, n, entries))), shape=(m, n))
    return matrix.tocsr()


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (5, 300), (300, 5), (1, 1)])
@pytest.mark.parametrize("order", ["natural", "random", "largest-degree-first", "smallest-degree-last"])
def test_matrices_come_back(shape: tuple[int, int], order: str) -> None:
    matrix = rectangular(*shape, 4 * max(shape), 3)
    found = vxm.color_columns(matrix, order=order, seed=7)
    assert vxm.certify.column_coloring(matrix, found.colors) == found.count
    back = vxm.decompress(matrix, found.colors, matrix @ found.seeds())
    assert (back != matrix).nnz == 0
    rows = vxm.color_rows(matrix, order=order, seed=7)
    assert vxm.certify.column_coloring(matrix.T, rows.colors) == rows.count
    back = vxm.decompress(matrix, rows.colors, rows.seeds().T @ matrix.toarray(), by="rows")
    assert (back != matrix).nnz == 0
    assert sorted(np.concatenate(found.classes()).tolist()) == list(range(shape[1]))
    assert np.array_equal(vxm.color_columns(matrix, order=order, seed=7, threads=1).colors, found.colors)


def test_a_result_shares_nothing_with_the_pattern() -> None:
    pattern = scipy.sparse.csr_array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    found = vxm.color_columns(pattern)
    values = pattern.copy()
    values.data = np.arange(6.0)
    back = vxm.decompress(pattern, found.colors, scipy.sparse.csr_array(values @ found.seeds()))
    assert (back != values).nnz == 0
    back.eliminate_zeros()
    assert pattern.nnz == 6 and pattern.indices.tolist() == [0, 1, 1, 2, 0, 2]


def test_an_order_gives_the_greedy_colouring() -> None:
    matrix = rectangular(80, 120, 400, 5)
    order = np.random.default_rng(1).permutation(120)
    sharing = (matrix.T @ matrix).tocsr()
    colors: dict[int, int] = {}
    for column in order.tolist():
        seen = {colors.get(int(other)) for other in sharing.indices[sharing.indptr[column] : sharing.indptr[column + 1]]}
        colors[column] = next(color for color in range(1, 122) if color not in seen)
    assert vxm.color_columns(matrix, order=order).colors.tolist() == [colors[column] for column in range(120)]


def test_stars_and_distance_2(graph: vxm.Graph) -> None:
    pattern = graph.to_scipy()
    n = graph.vertices
    upper = scipy.sparse.triu(random_matrix(n, 1, 1) * 0 + pattern)
    upper.data = np.arange(1.0, upper.nnz + 1)
    hessian = (upper + upper.T + scipy.sparse.diags_array(np.arange(1.0, n + 1))).tocsr()
    for order in ("natural", "random", "largest-degree-first", "smallest-degree-last"):
        found = graph.color(rule="star", order=order)
        back = vxm.decompress(hessian, found.colors, hessian @ found.seeds(), by="star")
        assert (back != hessian).nnz == 0
        near = graph.color(rule="distance-2", order=order)
        closed = (pattern + scipy.sparse.eye_array(n)).tocsr()
        assert vxm.certify.column_coloring(closed, near.colors) == near.count >= found.count - 1


def test_given_colours_are_kept(graph: vxm.Graph) -> None:
    whole = graph.color()
    given = np.where(np.arange(graph.vertices) % 3 == 0, whole.colors, 0)
    assert np.array_equal(graph.extend_coloring(whole.colors).colors, whole.colors)
    found = graph.extend_coloring(given)
    assert found.left == 0 and np.array_equal(found.colors[given > 0], given[given > 0])
    vxm.certify.coloring(graph, found.colors)
    few = graph.extend_coloring(np.zeros(graph.vertices, int), most=2, order="random", seed=3)
    pattern = graph.to_scipy()
    for v in np.flatnonzero(few.colors == 0):
        around = few.colors[pattern.indices[pattern.indptr[v] : pattern.indptr[v + 1]]]
        assert {1, 2} <= set(around.tolist())
    assert few.left == np.count_nonzero(few.colors == 0) and few.colors.max() <= 2


def test_aggregates_are_around_their_roots(graph: vxm.Graph) -> None:
    found = graph.aggregates(seed=5)
    whole = nx.from_scipy_sparse_array(graph.to_scipy())
    assert np.array_equal(found.aggregate[found.roots], np.arange(found.roots.size))
    for number, root in enumerate(found.roots.tolist()):
        assert all(found.aggregate[v] == number for v in whole[root])
    roots = set(found.roots.tolist())
    for v in whole:
        if v not in roots and roots.isdisjoint(whole[v]):
            inner = [u for u in whole[v] if not roots.isdisjoint(whole[u])]
            assert found.aggregate[v] == min(found.aggregate[u] for u in inner)
    order = np.random.default_rng(3).permutation(graph.vertices)
    assert order[0] in graph.aggregates(order=order).roots


def test_wrong_arguments_are_refused() -> None:
    path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3])
    matrix = scipy.sparse.csr_array([[1, 1, 0], [0, 1, 1]])
    cases = [
        (lambda: path.color(rule="stars"), vxm.InputError, "unknown rule `stars`: expected neighbors, distance-2, star"),
        (lambda: path.color(rule="star", method="mis"), vxm.InputError, "expected none with the rule `star`, found `mis`"),
        (lambda: path.color(rule="star", order="up"), vxm.InputError, "unknown order `up`"),
        (lambda: path.color(rule="star", order=[0, 1]), vxm.ShapeError, "expected each of 4 vertices once, found 2"),
        (lambda: path.extend_coloring([1, 1, 0, 0]), vxm.InputError, "vertex 0 and a neighbour of it are given the same"),
        (lambda: path.extend_coloring([9, 0, 0, 0], most=3), vxm.InputError, "colour 9 is given: expected 1 to 3"),
        (lambda: path.extend_coloring([1]), vxm.ShapeError, "expected a colour for each of 4 vertices, found 1"),
        (lambda: path.extend_coloring([-1, 0, 0, 0]), vxm.InputError, "expected integers from 0 to 4294967295, found -1"),
        (lambda: path.extend_coloring([0] * 4, most=-1), vxm.InputError, "most: expected 0 to 4294967295, found -1"),
        (lambda: path.aggregates(order="resolve"), vxm.InputError, "expected random, degree, sorted or sorted-id"),
        (lambda: vxm.color_rows(matrix, order=[0, 1, 1]), vxm.ShapeError, "expected each of 2 rows once, found 3"),
        (lambda: vxm.color_columns(scipy.sparse.coo_array([1.0, 0, 2])), vxm.ShapeError, "found an array with 1 axis"),
        (lambda: vxm.color_columns([[1, 2]]), TypeError, "expected a sparse matrix of SciPy, found list"),
        (lambda: vxm.color_columns(matrix, order=[0, 1, 1]), vxm.InputError, "expected each of 3 columns once, found none of 2"),
        (lambda: vxm.color_columns(matrix, order="up"), vxm.InputError, "unknown order `up`"),
        (lambda: vxm.decompress(matrix, [1, 2, 1], np.ones((2, 3))), vxm.ShapeError, "an array of 2 x 2, found \\(2, 3\\)"),
        (lambda: vxm.decompress(matrix, [1, 2], np.ones((2, 2))), vxm.ShapeError, "expected one for each of 3, found 2"),
        (lambda: vxm.decompress(matrix, [1, 0, 2], np.ones((2, 2))), vxm.InputError, "expected colours from 1, found none at 1"),
        (lambda: vxm.decompress(matrix, [1, 2, 1], np.ones((2, 2)), by="stars"), vxm.InputError, "found `stars`"),
        (lambda: vxm.decompress(matrix, [1, 2, 1], np.ones((2, 2)), by="star"), vxm.ShapeError, "a square matrix, found 2 x 3"),
        (lambda: vxm.certify.column_coloring(matrix, [1, 1, 2]), vxm.WrongAnswer, "columns 0 and 1 both have colour 1"),
        (lambda: vxm.certify.column_coloring(matrix, [1, 2]), vxm.ShapeError, "expected one for each of 3 columns, found 2"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
    one_way = vxm.Graph.from_coo(3, [0], [1], directed=True)
    for call in (lambda: one_way.color(rule="star"), lambda: one_way.aggregates(), lambda: one_way.extend_coloring([0] * 3)):
        with pytest.raises(vxm.InputError, match="a symmetric matrix"):
            call()
