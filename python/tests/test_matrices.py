"""Matrices and their verbs, compared with SciPy, NumPy and loops of Python: every kind, shapes that aren't square, masks, errors."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import vxm
from conftest import limited_memory
from vxm._kinds import KINDS as TYPES

KINDS = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]
NUMBERS = KINDS[1:]
Entries = dict[tuple[int, int], Any]


def entries(m: int, n: int, kind: Optional[str], seed: int = 1, share: float = 0.3) -> Entries:
    """Random entries of a kind; of a pattern, with None."""
    rng = np.random.default_rng(seed)
    held = rng.random((m, n)) < share
    if kind is None:
        return {(int(i), int(j)): None for i, j in np.argwhere(held)}
    low = -9 if kind[0] in "if" else 0
    drawn = rng.integers(low, 10 if kind != "bool" else 2, (m, n)).astype(TYPES[kind])
    return {(int(i), int(j)): drawn[i, j] for i, j in np.argwhere(held)}


def matrix(found: Entries, shape: tuple[int, int], kind: Optional[str]) -> vxm.Matrix:
    rows, columns = [i for i, _ in found], [j for _, j in found]
    if kind is None:
        return vxm.Matrix.from_coo(rows, columns, shape=shape)
    return vxm.Matrix.from_coo(rows, columns, np.array(list(found.values()), TYPES[kind]), shape=shape)


def told(a: vxm.Matrix) -> Entries:
    rows, columns, values = a.to_coo()
    held = [None] * a.nvals if values is None else list(values)
    return {(int(i), int(j)): x for i, j, x in zip(rows, columns, held)}


def same(a: vxm.Matrix, expected: Entries) -> None:
    found = told(a)
    assert list(found) == sorted(expected)
    for place, value in expected.items():
        assert found[place] == value or (value != value and found[place] != found[place]), place
        assert value is None or type(found[place]) is type(value)


SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (5, 8), (9, 4)]


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("shape", SHAPES)
def test_entries_come_back(kind: Optional[str], shape: tuple[int, int]) -> None:
    held = entries(*shape, kind)
    a = matrix(held, shape, kind)
    assert (a.shape, a.kind, a.nvals, a.device) == (shape, kind or "()", len(held), "cpu")
    assert a.dtype == (None if kind is None else TYPES[kind])
    same(a, held)
    same(a.T, {(j, i): x for (i, j), x in held.items()})
    assert a.T.T == a and a.T.shape == shape[::-1]
    starts, columns, values = a.to_csr()
    assert vxm.Matrix.from_csr(starts, columns.astype(np.int64), values, shape=shape) == a
    assert pickle.loads(pickle.dumps(a)) == a and copy.deepcopy(a) == a and a.to("cpu") == a
    outside = a.to_scipy()
    assert outside.shape == shape and outside.nnz == len(held)
    back = vxm.Matrix.from_scipy(outside)
    assert back == a if kind is not None else back.pattern() == a
    for (i, j), x in held.items():
        assert a[i, j] == (True if kind is None else x)
    if len(held) < shape[0] * shape[1]:
        i, j = next((i, j) for i in range(shape[0]) for j in range(shape[1]) if (i, j) not in held)
        assert a[i, j] is (False if kind is None else None)
        more = {**held, (i, j): None if kind is None else TYPES[kind].type(1)}
        assert matrix(more, shape, kind) != a and hash is not None


def test_scipy_in_every_form() -> None:
    dense = np.array([[0, 2, 0], [3, 0, 4]])
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        assert np.array_equal(vxm.Matrix.from_scipy(scipy.sparse.coo_array(dense).asformat(form)).to_scipy().toarray(), dense)
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)).tocsr()
    assert vxm.Matrix.from_scipy(twice)[0, 1] == 3.0
    unsorted = scipy.sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert told(vxm.Matrix.from_scipy(unsorted)) == {(0, 0): 2.0, (0, 1): 1.0}
    assert list(unsorted.indices) == [1, 0]
    zero = scipy.sparse.csr_array((np.array([0.0]), np.array([1]), np.array([0, 1])), shape=(1, 2))
    assert vxm.Matrix.from_scipy(zero).nvals == 1 and vxm.Matrix.from_scipy(zero).nonzero().nvals == 0
    assert vxm.Matrix.from_scipy(zero, dtype="f32").kind == "f32"


def test_what_occurs_twice() -> None:
    rows, columns, values = [1, 0, 1, 1], [2, 0, 2, 2], [5, 7, 3, 9]
    with pytest.raises(vxm.InputError, match=r"row 1, column 2|\(1, 2\)"):
        vxm.Matrix.from_coo(rows, columns, values, shape=(2, 3))
    for op, expected in ((vxm.PLUS, 17), (vxm.MIN, 3), (vxm.FIRST, 5), (vxm.SECOND, 9), (vxm.MINUS, -7)):
        assert vxm.Matrix.from_coo(rows, columns, values, shape=(2, 3), duplicates=op)[1, 2] == expected
    assert vxm.Matrix.from_coo(rows, columns, shape=(2, 3)).nvals == 2
    with pytest.raises(TypeError, match="duplicates: expected an operator with a result of type i64"):
        vxm.Matrix.from_coo(rows, columns, values, shape=(2, 3), duplicates=vxm.EQ)


def folded(op: Callable[[Any, Any], Any], products: list[Any]) -> Any:
    total = products[0]
    for product in products[1:]:
        total = op(total, product)
    return total


def multiplied(a: Entries, b: Entries, add: Callable[[Any, Any], Any], mul: Callable[[Any, Any], Any]) -> Entries:
    """The product by definition, with sums in ascending order."""
    products: dict[tuple[int, int], list[Any]] = {}
    rows: dict[int, list[tuple[int, Any]]] = {}
    for (k, j), y in sorted(b.items()):
        rows.setdefault(k, []).append((j, y))
    with np.errstate(over="ignore"):
        for (i, k), x in sorted(a.items()):
            for j, y in rows.get(k, []):
                products.setdefault((i, j), []).append(mul(x, y))
        return {place: folded(add, found) for place, found in products.items()}


@vxm.op
def concatenated(a: vxm.u64, b: vxm.u64):
    """Doesn't commute: it takes the operand that isn't 0 first."""
    return a if a != 0 else b


FIRST_OF = vxm.monoid(concatenated, 0, commutative=False)
RINGS = {
    "plus_times": (vxm.semiring(vxm.PLUS, vxm.TIMES), lambda x, y: x + y, lambda x, y: x * y),
    "min_plus": (vxm.semiring(vxm.MIN, vxm.PLUS), min, lambda x, y: x + y),
    "max_min": (vxm.semiring(vxm.MAX, vxm.MIN), max, min),
}


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_products_are_those_of_the_definition(kind: str, ring: str) -> None:
    semiring, add, mul = RINGS[ring]
    for seed, (m, l, n) in enumerate([(5, 7, 4), (1, 9, 6), (6, 1, 3), (4, 5, 0), (0, 3, 2)]):
        left, right = entries(m, l, kind, seed, 0.5), entries(l, n, kind, seed + 9, 0.5)
        a, b = matrix(left, (m, l), kind), matrix(right, (l, n), kind)
        expected = multiplied(left, right, add, mul)
        product = a.mxm(b, semiring)
        assert product.kind == kind and product.shape == (m, n)
        same(product, expected)
        assert a.mxm(b, semiring, threads=1) == product
        held = entries(m, n, None, seed + 20, 0.4)
        mask = matrix(held, (m, n), None)
        same(a.mxm(b, semiring, mask=mask), {place: x for place, x in expected.items() if place in held})
        same(a.mxm(b, semiring, mask=~mask), {place: x for place, x in expected.items() if place not in held})
        assert b.T.mxm(a.T, semiring) == product.T


def test_products_of_other_kinds() -> None:
    left, right = entries(6, 8, "u32", 3, 0.5), entries(8, 5, "u32", 4, 0.5)
    a, b = matrix(left, (6, 8), "u32"), matrix(right, (8, 5), "u32")
    count = multiplied(left, right, lambda x, y: np.uint32(x + y), lambda x, y: np.uint32(1))
    pair = vxm.semiring(vxm.PLUS, vxm.PAIR)
    same(a.mxm(b, pair), count)
    same(a.pattern().mxm(b, pair), count)
    same(a.pattern().mxm(b.pattern(), pair), count)
    # a pattern on one side, values on the other
    second = vxm.semiring(vxm.MAX, vxm.SECOND)
    same(a.pattern().mxm(b, second), multiplied(left, right, max, lambda x, y: y))
    same(a.mxm(b, second), multiplied(left, right, max, lambda x, y: y))
    same(a.mxm(b.pattern(), vxm.semiring(vxm.MAX, vxm.FIRST)), multiplied(left, right, max, lambda x, y: x))
    wide = vxm.op(lambda x, y: vxm.u64(x) << 32 | vxm.u64(y))
    same(a.mxm(b, vxm.semiring(FIRST_OF, wide)), multiplied(left, right, lambda x, y: x or y, lambda x, y: np.uint64(int(x) << 32 | int(y))))
    # words of different widths
    scaled = matrix({place: np.float64(x) / 2 for place, x in left.items()}, (6, 8), "f64")
    grown = vxm.op(lambda x, y: x * vxm.f64(y))
    halves = {place: np.float64(x) / 2 for place, x in left.items()}
    same(scaled.mxm(b, vxm.semiring(vxm.PLUS, grown)), multiplied(halves, right, lambda x, y: x + y, lambda x, y: x * np.float64(y)))
    less = vxm.semiring(vxm.LOR, vxm.op(lambda x, y: x < vxm.f64(y)))
    same(scaled.mxm(b, less), multiplied(halves, right, lambda x, y: x or y, lambda x, y: np.bool_(x < y)))


def test_a_right_entry_without_value_counts_as_1() -> None:
    a = matrix(entries(5, 6, "i32", 1, 0.5), (5, 6), "i32")
    ones, ring = a.map(vxm.op(lambda x: vxm.i32(1))), vxm.semiring(vxm.PLUS, vxm.TIMES)
    assert a.mxm(a.pattern().T, ring) == a.mxm(ones.T, ring)


def test_float_sums_have_the_bits_of_one_order() -> None:
    rng = np.random.default_rng(5)
    a = scipy.sparse.random_array((60, 400), density=0.5, rng=rng, format="csr")
    b = scipy.sparse.random_array((400, 50), density=0.5, rng=rng, format="csr")
    ours = vxm.Matrix.from_scipy(a), vxm.Matrix.from_scipy(b)
    product = ours[0].mxm(ours[1], vxm.semiring(vxm.PLUS, vxm.TIMES))
    np.testing.assert_allclose(product.to_scipy().toarray(), (a @ b).toarray(), rtol=1e-12)
    for threads in (1, 2, 5):
        assert ours[0].mxm(ours[1], vxm.semiring(vxm.PLUS, vxm.TIMES), threads=threads) == product


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_entries_are_chosen(kind: Optional[str]) -> None:
    held = entries(7, 9, kind, 6, 0.6)
    a = matrix(held, (7, 9), kind)
    same(a.pattern(), dict.fromkeys(held))
    for k in (-20, -3, -1, 0, 1, 2, 20, 2**70):
        same(a.tril(k), {(i, j): x for (i, j), x in held.items() if j - i <= k})
        same(a.triu(k), {(i, j): x for (i, j), x in held.items() if j - i >= k})
    even = vxm.op(lambda i, j, a: (i + j) % vxm.u32(2) == vxm.u32(0))
    same(a.select_index(even), {(i, j): x for (i, j), x in held.items() if (i + j) % 2 == 0})
    chosen = entries(7, 9, "u32", 7)
    mask = matrix(chosen, (7, 9), "u32")
    same(a.mask(mask), {place: x for place, x in held.items() if place in chosen})
    same(a.mask(~mask), {place: x for place, x in held.items() if place not in chosen})
    true = {place for place, x in chosen.items() if x}
    same(a.mask(mask.nonzero()), {place: x for place, x in held.items() if place in true})
    if kind is not None:
        same(a.nonzero(), {place: None for place, x in held.items() if x})
        zero = TYPES[kind].type(0)
        same(a.select(vxm.NE.bind(zero)) if kind != "bool" else a.select(vxm.IDENTITY), {p: x for p, x in held.items() if x})
    assert a.degrees().to_numpy().tolist() == [sum(i == row for i, _ in held) for row in range(7)]
    square = a.resized((7, 7))
    same(square, {(i, j): x for (i, j), x in held.items() if j < 7})
    assert a.resized((12, 30)).shape == (12, 30) and a.resized((12, 30)).resized((7, 9)) == a
    diagonal = square.diagonal()
    on = {i: x for (i, j), x in held.items() if i == j}
    assert list(diagonal.indices) == sorted(on) and diagonal.kind == a.kind
    same(vxm.Matrix.from_diagonal(diagonal), {(i, i): x for i, x in on.items()})


@pytest.mark.parametrize("kind", NUMBERS)
def test_verbs_of_entries(kind: str) -> None:
    left, right = entries(6, 5, kind, 8, 0.5), entries(6, 5, kind, 9, 0.5)
    a, b = matrix(left, (6, 5), kind), matrix(right, (6, 5), kind)
    one = TYPES[kind].type(1)
    with np.errstate(over="ignore"):
        same(a.map(vxm.PLUS.bind(1)), {place: x + one for place, x in left.items()})
        same(a.ewise_mult(b, vxm.TIMES), {place: x * right[place] for place, x in left.items() if place in right})
        both = {place: left[place] - right[place] if place in left and place in right else left.get(place, right.get(place)) for place in left | right}
        same(a.ewise_add(b, vxm.MINUS), both)
        same(
            a.ewise_union(3, b, 2, vxm.MINUS),
            {place: left.get(place, TYPES[kind].type(3)) - right.get(place, TYPES[kind].type(2)) for place in left | right},
        )
        product = a.kronecker(b, vxm.PLUS)
        same(product, {(6 * i + k, 5 * j + l): x + y for (i, j), x in left.items() for (k, l), y in right.items()})
    same(a.ewise_mult(b, vxm.LT), {place: np.bool_(x < right[place]) for place, x in left.items() if place in right})
    same(a.ewise_mult(b.pattern(), vxm.FIRST), {place: x for place, x in left.items() if place in right})
    where = vxm.op(lambda i, j, a: vxm.u64(i) * vxm.u64(100) + vxm.u64(j))
    same(a.map_index(where), {(i, j): np.uint64(100 * i + j) for i, j in left})
    rows, columns = [4, 0, 4], [1, 3]
    same(a.extract(rows, columns), {(k, l): left[i, j] for k, i in enumerate(rows) for l, j in enumerate(columns) if (i, j) in left})
    part = b.extract([0, 1], [2, 4, 0])
    region = {(i, j): (k, l) for k, i in enumerate([5, 2]) for l, j in enumerate([0, 3, 1])}
    new = told(part)
    kept = {place: x for place, x in left.items() if place not in region}
    same(a.assign([5, 2], [0, 3, 1], part), {**kept, **{place: new[at] for place, at in region.items() if at in new}})
    joined = dict(left)
    with np.errstate(over="ignore"):
        for place, at in region.items():
            if at in new:
                joined[place] = left[place] + new[at] if place in left else new[at]
    same(a.assign([5, 2], [0, 3, 1], part, vxm.PLUS), joined)
    same(a, left)


@pytest.mark.parametrize("kind", NUMBERS)
def test_folds(kind: str) -> None:
    held = entries(6, 5, kind, 10, 0.5)
    a = matrix(held, (6, 5), kind)
    for op, python in ((vxm.MIN, min), (vxm.MAX, max), (vxm.PLUS, None)):
        def fold(found: list[Any]) -> Any:
            with np.errstate(over="ignore"):
                return folded(python or (lambda x, y: x + y), found)

        rows, columns = a.reduce_rows(op), a.reduce_columns(op)
        assert (rows.kind, columns.kind, len(rows), len(columns)) == (kind, kind, 6, 5)
        for vector, at in ((rows, 0), (columns, 1)):
            for k in range(len(vector)):
                found = [x for place, x in sorted(held.items()) if place[at] == k]
                assert vector[k] == (fold(found) if found else None)
        assert a.reduce(op) == fold([x for _, x in sorted(held.items())])
        assert type(a.reduce(op)) is TYPES[kind].type
    assert vxm.Matrix.from_coo([], [], np.empty(0, TYPES[kind]), shape=(2, 2)).reduce(vxm.PLUS) == 0


def test_patterns_are_joined() -> None:
    left, right = entries(5, 6, None, 1), entries(5, 6, None, 2)
    a, b = matrix(left, (5, 6), None), matrix(right, (5, 6), None)
    same(a.ewise_add(b, vxm.FIRST), left | right)
    same(a.ewise_mult(b, vxm.PAIR), {place: np.uint32(1) for place in left if place in right})
    same(a.kronecker(b, vxm.PAIR), {(5 * i + k, 6 * j + l): np.uint32(1) for i, j in left for k, l in right})
    same(a.assign([0], [0], matrix({(0, 0): None}, (1, 1), None)), {**left, (0, 0): None})
    same(vxm.Matrix.concat([[a, b], [b, a]]), {(i + 5 * r, j + 6 * c): None for r in (0, 1) for c in (0, 1) for i, j in (left if r == c else right)})
    same(a.map(vxm.PAIR.bind(0)), {place: np.uint32(1) for place in left})


@pytest.mark.parametrize("kind", KINDS)
def test_entries_are_cast(kind: str) -> None:
    held = entries(6, 5, "i16", 4, 0.6)
    a = matrix(held, (6, 5), "i16").astype(kind)
    if kind == "bool":
        same(a, {place: np.bool_(x != 0) for place, x in held.items()})
    else:
        same(a, {place: np.int64(x).astype(TYPES[kind]) for place, x in held.items()})
    u = vxm.Vector.from_pairs(4, [0, 2], [1, 0], dtype="i16").astype(kind).eval()
    assert u.kind == kind and u.to_numpy(missing=0).tolist() == [1, 0, 0, 0]


def test_slices() -> None:
    held = entries(7, 6, "f32", 3, 0.5)
    a = matrix(held, (7, 6), "f32")
    assert a.extract(slice(None), slice(None)) == a
    assert a.extract(slice(1, 5, 2), slice(None, None, -1)) == a.extract([1, 3], range(5, -1, -1))
    assert a.assign(slice(2), slice(3), a.extract(slice(2), slice(3))) == a


def test_tiles() -> None:
    held = entries(7, 6, "f32", 3, 0.5)
    a = matrix(held, (7, 6), "f32")
    tiles = [[a.extract(rows, columns) for columns in (range(2), range(2, 6))] for rows in (range(3), range(3, 3), range(3, 7))]
    assert vxm.Matrix.concat(tiles) == a
    with pytest.raises(vxm.ShapeError, match="concat: matrix of 3 x 2 does not fit tile of 7 x 2"):
        vxm.Matrix.concat([[a, tiles[0][0]]])
    with pytest.raises(vxm.InputError, match="concat: expected at least one matrix, found none"):
        vxm.Matrix.concat([])
    with pytest.raises(TypeError, match="concat: expected tiles of one kind, found f32 and f64"):
        vxm.Matrix.concat([[a, vxm.Matrix.from_scipy(scipy.sparse.csr_array((7, 6)))]])


@pytest.mark.parametrize("kind", NUMBERS)
def test_vectors_times_matrices(kind: str) -> None:
    held = entries(5, 8, kind, 4, 0.5)
    a = matrix(held, (5, 8), kind)
    x = vxm.Vector.from_numpy(np.arange(1, 6).astype(TYPES[kind]))
    y = vxm.Vector.from_pairs(8, [1, 4, 5, 7], np.arange(4, 8).astype(TYPES[kind]))
    ring = vxm.semiring(vxm.PLUS, vxm.TIMES)
    dense = np.zeros((5, 8), TYPES[kind])
    for place, value in held.items():
        dense[place] = value
    w, v = x.vxm(a, ring).eval(), vxm.mxv(a, y, ring).eval()
    assert (len(w), len(v)) == (8, 5)
    assert np.array_equal(w.to_numpy(missing=0), x.to_numpy() @ dense)
    assert np.array_equal(v.to_numpy(missing=0), dense @ y.to_numpy(missing=0))
    # through both, in one expression
    twice = vxm.mxv(a, x.vxm(a, ring), ring).eval()
    assert np.array_equal(twice.to_numpy(missing=0), dense @ (dense.T @ x.to_numpy()))
    assert vxm.mxv(a.T, x, ring).eval() == w and y.vxm(a.T, ring).eval() == v


def test_a_loop_over_a_rectangular_matrix() -> None:
    # rows are people, columns are groups: the least person whom each reaches through groups
    a = vxm.Matrix.from_coo([0, 1, 1, 2, 3, 4], [0, 0, 1, 1, 2, 2], shape=(5, 3))
    least_left, least_right = vxm.semiring(vxm.MIN, vxm.FIRST), vxm.semiring(vxm.MIN, vxm.SECOND)
    start = vxm.Vector.from_numpy(np.arange(5, dtype=np.uint32))
    loop = vxm.fixpoint(start).while_changed().monotone()
    found = loop.step(lambda x: x.ewise_add(vxm.mxv(a, x.vxm(a, least_left), least_right), vxm.MIN)).eval()
    assert found.state.to_numpy().tolist() == [0, 0, 0, 3, 3]


def test_graphs_and_matrices() -> None:
    graph = vxm.Graph.from_file("rmat:8:4")
    a = graph.matrix()
    assert (a.shape, a.nvals, a.kind) == ((graph.vertices,) * 2, 2 * graph.edges, "()")
    assert np.array_equal(a.to_graph().components(), graph.components())
    ring = vxm.semiring(vxm.PLUS, vxm.PAIR)
    corners = a.mxm(a, ring, mask=a).reduce_rows(vxm.PLUS).to_numpy(missing=0)
    assert np.array_equal(corners // 2, graph.triangles())
    for dtype in (np.uint32, np.uint64, np.float32, np.float64):
        weighted = vxm.Graph.from_coo(3, [0, 1], [1, 2], np.array([5, 7], dtype), directed=True)
        held = weighted.matrix()
        assert held.dtype == dtype and told(held) == {(0, 1): 5, (1, 2): 7}
        assert held.to_graph(directed=True).sssp(0).tolist() == weighted.sssp(0).tolist()
        assert held.pattern().to_graph(directed=True).weighted is False
    with pytest.raises(vxm.InputError, match="expected an undirected graph"):
        held.to_graph()


def test_files(tmp_path: Path) -> None:
    dense = np.array([[0.5, 0, 0], [0, 0, -2]])
    scipy.io.mmwrite(tmp_path / "a.mtx", scipy.sparse.coo_array(dense))
    a = vxm.Matrix.from_file(tmp_path / "a.mtx")
    assert a.kind == "f64" and told(a) == {(0, 0): 0.5, (1, 2): -2.0}
    assert vxm.Matrix.from_file(tmp_path / "a.mtx", input="matrix-market") == a
    with pytest.raises(vxm.FileError, match="none.mtx"):
        vxm.Matrix.from_file(tmp_path / "none.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 3 1\n3 1 5\n")
    with pytest.raises(vxm.InputError, match=r"bad.mtx:3:1"):
        vxm.Matrix.from_file(tmp_path / "bad.mtx")


def made_on(device: str, kind: str) -> list[Any]:
    """What every verb makes, on a device and from operands on the host."""
    on: Any = {"device": device}
    left, right = entries(40, 30, kind, 1, 0.2), entries(40, 30, kind, 2, 0.2)
    a, b = matrix(left, (40, 30), kind), matrix(right, (40, 30), kind)
    ring, pair = vxm.semiring(vxm.PLUS, vxm.TIMES), vxm.semiring(vxm.PLUS, vxm.PAIR)
    product = a.mxm(b.T, ring, **on)
    x = vxm.Vector.from_numpy(np.arange(1, 41).astype(TYPES[kind]))
    where = vxm.op(lambda i, j, a: vxm.u64(i) * vxm.u64(100) + vxm.u64(j))
    return [
        product,
        a.mxm(b.T, ring, mask=product.nonzero(), **on),
        a.mxm(b.T, ring, mask=~matrix(entries(40, 40, None, 3), (40, 40), None), **on),
        a.pattern(**on).mxm(b.T.pattern(**on), pair, **on),
        product.mxm(product, vxm.semiring(vxm.MAX, vxm.MIN), mask=product, **on),
        a.map(vxm.PLUS.bind(1), **on),
        a.map_index(where, **on),
        a.select(vxm.GT.bind(TYPES[kind].type(2)), **on),
        a.tril(-1, **on),
        a.triu(2, **on),
        a.transpose(**on),
        a.pattern(**on),
        a.mask(b, **on),
        a.mask(~b, **on),
        a.ewise_add(b, vxm.MINUS, **on),
        a.ewise_mult(b, vxm.TIMES, **on),
        a.ewise_mult(b, vxm.LT, **on),
        a.ewise_union(1, b, 2, vxm.MINUS, **on),
        a.kronecker(b, vxm.MAX, **on),
        a.extract([5, 0, 5], range(30), **on),
        a.assign(range(3), range(4), b.resized((3, 4)), vxm.PLUS, **on),
        a.resized((50, 20), **on),
        vxm.Matrix.concat([[a, b]], **on),
        a.reduce_rows(vxm.PLUS, **on),
        a.reduce_columns(vxm.MAX, **on),
        a.degrees(**on),
        product.diagonal(**on),
        vxm.Matrix.from_diagonal(x, **on),
        x.vxm(a, ring).eval(**on),
        vxm.mxv(product, x, ring).eval(**on),
        x.vxm(a.to(device), ring).eval(),
        x.map(vxm.PLUS.bind(3)).eval(**on),
        x.ewise_mult(x.map(vxm.TIMES.bind(2)), vxm.RMINUS).eval(**on),
        x.ewise_mult(x.map(vxm.MINUS.bind_first(90)), vxm.op(lambda x, y: y - x)).eval(**on),
        a.to(device).reduce(vxm.PLUS),
        a.reduce(vxm.MIN, **on),
    ]


@pytest.mark.parametrize("kind", ["u8", "u32", "i64", "f32", "f64"])
def test_devices_make_the_same(kind: str) -> None:
    expected = made_on("cpu", kind)
    devices = vxm.devices()
    assert len(devices) > 1 or os.environ.get("VXM_TEST_DEVICE") != "cuda", "no GPU"
    for device in devices:
        found = made_on(device, kind)
        assert len(found) == len(expected)
        for at, (one, other) in enumerate(zip(found, expected)):
            assert one == other, f"{at} on {device}"
            if isinstance(one, vxm.Matrix):
                assert one.device == device or at in (10, 11), at


def test_what_does_not_fit() -> None:
    a = vxm.Matrix.from_coo([0], [2], [5], shape=(2, 3))
    floats, pattern = vxm.Matrix.from_coo([0], [2], [5.0], shape=(2, 3)), a.pattern()
    ring = vxm.semiring(vxm.PLUS, vxm.TIMES)
    x = vxm.Vector.from_numpy([1, 2, 3])
    shapes: list[tuple[Callable[[], Any], str]] = [
        (lambda: a.mxm(a, ring), "mxm: matrix of 2 x 3 does not fit matrix of 2 x 3"),
        (lambda: a.mxm(a.T, ring, mask=a), "mxm: a mask of matrix of 2 x 3 does not fit a product of 2 x 2"),
        (lambda: a.ewise_add(a.T, vxm.PLUS), "ewise_add: matrix of 2 x 3 does not fit matrix of 3 x 2"),
        (lambda: a.ewise_mult(a.T, vxm.PLUS), "ewise_mult: matrix of 2 x 3"),
        (lambda: a.ewise_union(0, a.T, 0, vxm.PLUS), "ewise_union: matrix of 2 x 3"),
        (lambda: a.mask(a.T), "mask: matrix of 2 x 3"),
        (lambda: x.vxm(a, ring), "vxm: a vector of 3 does not fit a matrix of 2 x 3"),
        (lambda: vxm.mxv(a.T, x, ring), "mxv: a vector of 3 does not fit a matrix of 3 x 2"),
        (lambda: a.assign([0], [0, 1], a), "assign: matrix of 2 x 3 does not fit region of 1 x 2"),
        (lambda: vxm.Matrix.from_coo([0, 1], [0], [5], shape=(2, 2)), "2 rows but 1 columns"),
        (lambda: vxm.Matrix.from_coo([0, 1], [0, 1], [5], shape=(2, 2)), "2 rows but 1 values"),
    ]
    for call, message in shapes:
        with pytest.raises(vxm.ShapeError, match=message):
            call()
    values: list[tuple[Callable[[], Any], str]] = [
        (lambda: vxm.Matrix.from_coo([2], [0], [5], shape=(2, 2)), "rows: expected indices below 2, found 2"),
        (lambda: vxm.Matrix.from_coo([0], [-1], [5], shape=(2, 2)), "columns: expected indices below 2, found -1"),
        (lambda: vxm.Matrix.from_coo([0], [0], [300], shape=(1, 1), dtype="u8"), "values: expected values of type u8, found 300"),
        (lambda: vxm.Matrix.from_coo([], [], [], shape=(2**32, 1)), "shape: expected 0 to 4294967295, found 4294967296"),
        (lambda: vxm.Matrix.from_csr([0, 1], [3], [5], shape=(1, 3)), "column 3"),
        (lambda: vxm.Matrix.from_csr([0, 2], [1], [5], shape=(1, 3)), "Csr"),
        (lambda: vxm.Matrix.from_csr([0, 2], [1, 1], [5, 6], shape=(1, 3)), "Csr"),
        (lambda: vxm.Matrix.from_coo(np.ma.array([0, 1], mask=[0, 1]), [0, 1], shape=(2, 2)), "rows: expected an array without masked"),
        (lambda: vxm.Matrix.from_coo([0], [0], np.ma.array([1], mask=[1]), shape=(2, 2)), "values: expected an array without masked"),
        (lambda: a.extract([0], [3]), "columns: expected indices below 3, found 3"),
        (lambda: a.assign([0, 0], [1, 2, 0], a), "row 0, at positions 0 and 1"),
        (lambda: a.kronecker(a, vxm.PLUS).resized((2**32, 1)), "shape: expected"),
    ]
    for call, message in values:
        with pytest.raises((vxm.InputError, TypeError), match=message):
            call()
    for place in ((2, 0), (0, 3), (5, 5), (-1, 0), (0, -1)):
        with pytest.raises(vxm.PlaceError, match=f"expected an index below {3 if place[0] == 0 else 2}"):
            a[place]
    for wrong in (lambda: a[2, 0], lambda: a.extract([2], [0]), lambda: a.assign([0], [3], a.resized((1, 1)))):
        with pytest.raises(IndexError):
            wrong()
    types: list[tuple[Callable[[], Any], str]] = [
        (lambda: a[0], "expected a place"),  # type: ignore[index]
        (lambda: vxm.Matrix(), "make a matrix by"),
        (lambda: vxm.Matrix.from_coo([0], [0], shape=3), "shape: expected numbers of rows and columns"),  # type: ignore[arg-type]
        (lambda: vxm.Matrix.from_scipy(np.eye(2)), "expected a sparse matrix of SciPy, found ndarray: make it sparse"),
        (lambda: vxm.Matrix.concat([a, a]), "concat: expected a list of rows, each a list of matrices"),  # type: ignore[list-item]
        (lambda: vxm.Matrix.concat(a), "concat: expected a list of rows"),  # type: ignore[arg-type]
        (lambda: vxm.Matrix.from_coo([0], [0], shape=(1, 1), dtype="u8"), "dtype: a pattern has no values"),
        (lambda: vxm.Matrix.from_coo([0], [0], shape=(1, 1), duplicates=vxm.PLUS), "duplicates: a pattern has no values"),
        (lambda: vxm.Matrix.from_csr([0, 1], [0], shape=(1, 1), dtype="u8"), "dtype: a pattern has no values"),
        (lambda: pattern.ewise_add(pattern, "junk"), "expected an operator"),  # type: ignore[arg-type]
        (lambda: a.mxm(a.T, vxm.PLUS), "expected a semiring, as vxm.semiring makes, found an operator"),  # type: ignore[arg-type]
        (lambda: pattern.astype("u8"), "astype: the entries of a pattern have no value"),
        (lambda: a.astype(complex), "expected bool, u8"),
        (lambda: vxm.Matrix.from_coo([0], [0], [1j], shape=(1, 1)), "complex"),
        (lambda: a.mxm(scipy.sparse.csr_array((3, 3)), ring), "found csr_array: make one by vxm.Matrix.from_scipy"),  # type: ignore[arg-type]
        (lambda: a.mxm(vxm.Graph.from_file("grid:1x3"), ring), r"found Graph: take its matrix, by graph.matrix\(\)"),  # type: ignore[arg-type]
        (lambda: a.mxm(a.T, vxm.PLUS), "expected a semiring"),  # type: ignore[arg-type]
        (lambda: a.mxm(floats.T, ring), "mxm: the left matrix holds i64, the right one f64"),
        (lambda: a.mxm(pattern.T, vxm.semiring(vxm.MIN, vxm.MINUS)), r"mxm: the left matrix holds i64, the right one \(\)"),
        (lambda: a.ewise_add(floats, vxm.PLUS), "ewise_add: expected matrices of one kind, found i64 and f64"),
        (lambda: a.ewise_add(a, vxm.EQ), "ewise_add: expected an operator with a result of type i64"),
        (lambda: a.assign([0, 1], [0, 1, 2], floats), "assign: expected matrices of one kind"),
        (lambda: a.select(vxm.PLUS.bind(1)), "select: expected an operator with a result of type bool"),
        (lambda: pattern.select(vxm.GT.bind(1)), "the entries of a pattern have no value"),
        (lambda: pattern.reduce(vxm.PLUS), r"the entries of a pattern have no value: degrees\(\) counts them"),
        (lambda: pattern.reduce_rows(vxm.PLUS), "have no value"),
        (lambda: pattern.ewise_union(0, a, 0, vxm.PLUS), "have no value"),
        (lambda: a.tril(0.5), "k: expected an integer, found float"),  # type: ignore[arg-type]
        (lambda: a.map(vxm.PLUS), "expected 2 operands"),
        (lambda: a.map_index(vxm.ABS), "expected 1 operand"),
        (lambda: x.vxm(np.eye(3), ring), "expected a vxm.Graph or a vxm.Matrix, found ndarray"),  # type: ignore[arg-type]
        (lambda: x.mask(~a), "mask: expected a vector or an expression, found Matrix"),
        (lambda: a.mask(~x), "mask: expected a vxm.Matrix, found Vector"),  # type: ignore[arg-type]
        (lambda: vxm.Matrix.from_diagonal(x.map(vxm.ABS)), r"from_diagonal: expected a vector, found Expression: eval\(\)"),  # type: ignore[arg-type]
        (lambda: hash(a), "unhashable"),
    ]
    for call, message in types:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(vxm.OperatorError, match="the vector holds i64, the matrix has no values"):
        x.vxm(pattern.T, vxm.semiring(vxm.MIN, vxm.MINUS))
    with pytest.raises(AttributeError):
        a.shape = (1, 1)  # type: ignore[misc]


def test_wide_results_that_no_memory_holds_are_refused() -> None:
    most = 2**32 - 1
    row = vxm.Matrix.from_coo([1], [most - 1], [1], shape=(2, most))
    tall = vxm.Matrix.from_coo([0], [0], [1], shape=(2**20, 1))
    one, ring = vxm.Matrix.from_coo([0], [0], [9], shape=(1, 1)), vxm.semiring(vxm.PLUS, vxm.TIMES)
    x, y = vxm.Vector.from_pairs(2, [1], [4]), vxm.Vector.from_pairs(most, [most - 1], [4])
    calls: list[Callable[[], Any]] = [
        lambda: row.T,
        lambda: row.reduce_columns(vxm.PLUS),
        lambda: row.extract([1, 1], [most - 1, 0]),
        lambda: row.assign([0], [5], one),
        lambda: one.extract([0] * 300_000, [0] * 300_000),
        lambda: one.resized((most, 1)),
        lambda: vxm.Matrix.concat([[tall.resized((2**25, 1))]] * 127),
        lambda: vxm.Matrix.from_diagonal(y),
        lambda: x.vxm(row, ring).eval(),
        lambda: vxm.mxv(row, y, ring).eval(),
    ]
    with limited_memory():
        for at, call in enumerate(calls):
            with pytest.raises(vxm.OutOfMemoryError, match="needs .* of memory"):
                call()
                print(f"call {at} was made")


def test_what_no_memory_holds_is_refused() -> None:
    n = 2**21
    ones = vxm.Matrix.from_coo(np.arange(n), np.zeros(n, np.int64), shape=(n, 1))
    pair = vxm.semiring(vxm.PLUS, vxm.PAIR)
    with pytest.raises(vxm.OutOfMemoryError, match=r"needs 32\.1 TiB of memory"):
        ones.mxm(ones.T, pair)
    with pytest.raises(vxm.OutOfMemoryError, match="kronecker"):
        ones.kronecker(ones.T, vxm.PAIR)
    corner = vxm.Matrix.from_coo([5], [7], shape=(n, n))
    assert told(ones.mxm(ones.T, pair, mask=corner)) == {(5, 7): 1}
