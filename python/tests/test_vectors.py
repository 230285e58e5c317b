"""Vectors and expressions, compared with NumPy: every kind, places without elements, masks, products, reductions."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest
import vxm
from conftest import limited_memory

KINDS = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]
NUMBERS = KINDS[1:]
# the values of each kind that show most
EDGES = {
    "b": [False, True, True, False],
    "u": [0, 1, 3, -1],
    "i": [0, 1, -1, 7],
    "f": [0.0, -0.0, np.inf, np.nan, -1.5, 2.0],
}


def values(kind: str, n: int, seed: int = 1) -> np.ndarray:
    dtype = np.dtype(vxm._kinds.KINDS[kind])  # type: ignore[attr-defined]
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, n).astype(bool)
    drawn = rng.integers(-100 if dtype.kind != "u" else 0, 100, n).astype(dtype)
    edges = np.array(EDGES[dtype.kind]).astype(dtype) if dtype.kind != "u" else np.array([0, 1, 3, np.iinfo(dtype).max], dtype)
    drawn[: edges.size] = edges[:n]
    return drawn


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        held = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[held]), np.signbit(expected[held]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 6, 100])
def test_arrays_come_back(kind: str, n: int) -> None:
    array = values(kind, n)
    u = vxm.Vector.from_numpy(array)
    assert (u.kind, len(u), u.nvals, u.dtype) == (kind, n, n, array.dtype)
    same(u.to_numpy(), array)
    same(u.values, array)
    same(u.indices, np.arange(n, dtype=np.uint32))
    assert u == vxm.Vector.from_numpy(array) and u.device == "cpu"
    if n:
        assert type(u[0]) is array.dtype.type
    half = vxm.Vector.from_pairs(2 * n, np.arange(n) * 2, array)
    assert (len(half), half.nvals) == (2 * n, n)
    same(half.to_numpy(missing=0)[::2], array)
    if n:
        assert half[1] is None and half != u
        with pytest.raises(vxm.InputError, match=f"{n} of {2 * n} places hold no element"):
            half.to_numpy()


@pytest.mark.parametrize("kind", NUMBERS)
def test_verbs_are_those_of_numpy(kind: str) -> None:
    x, y = values(kind, 90), values(kind, 90, seed=2)
    u, v = vxm.Vector.from_numpy(x), vxm.Vector.from_numpy(y)
    with np.errstate(all="ignore"):
        same(u.ewise_mult(v, vxm.PLUS).eval().to_numpy(), x + y)
        same(u.ewise_add(v, vxm.TIMES).eval().to_numpy(), x * y)
        same(u.map(vxm.AINV).eval().to_numpy(), -x)
        same(u.ewise_mult(v, vxm.LT).eval().to_numpy(), x < y)
        less = u.select(vxm.GT.bind(y[5])).eval()
        same(less.indices, np.flatnonzero(x > y[5]).astype(np.uint32))
        same(less.values, x[x > y[5]])
        weighted = vxm.op(lambda a, b, c: a * b + c)
        same(vxm.map3(weighted, u, v, u).eval().to_numpy(), x * y + x)
        same(vxm.map2(vxm.MINUS, u, v).eval().to_numpy(), x - y)
    where = u.map_index(vxm.op(lambda i, a: i)).eval().to_numpy()
    same(where, np.arange(90, dtype=np.uint32))
    same(u.select_index(vxm.op(lambda i, a: i % 3 == 1)).eval().indices, np.arange(1, 90, 3, dtype=np.uint32))
    same(u.pattern().eval().to_numpy(), np.ones(90, bool))
    same(u.nonzero().eval().to_numpy(), x != 0)


@pytest.mark.parametrize("kind", NUMBERS)
def test_places_without_elements(kind: str) -> None:
    x, y = values(kind, 40), values(kind, 40, seed=2)
    at, to = np.arange(0, 40, 2), np.arange(0, 40, 3)
    u, v = vxm.Vector.from_pairs(40, at, x[at]), vxm.Vector.from_pairs(40, to, y[to])
    both, either = np.intersect1d(at, to), np.union1d(at, to)
    found = u.ewise_mult(v, vxm.MAX).eval()
    same(found.indices, both.astype(np.uint32))
    found = u.ewise_add(v, vxm.FIRST).eval()
    same(found.indices, either.astype(np.uint32))
    expected = np.where(np.isin(np.arange(40), at), x, y)
    same(found.values, expected[either])
    same(u.or_(0).eval().to_numpy(), np.where(np.isin(np.arange(40), at), x, x.dtype.type(0)))
    same(u.mask(v).eval().indices, both.astype(np.uint32))
    same(u.mask(~v).eval().indices, np.setdiff1d(at, to).astype(np.uint32))
    same(u.mask(v.pattern()).eval().values, x[both])


def graphs(weight: str) -> tuple[vxm.Graph, np.ndarray]:
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 60, 300), rng.integers(0, 60, 300)
    held = rng.integers(1, 50, 300).astype(vxm._kinds.KINDS[weight])  # type: ignore[attr-defined]
    graph = vxm.Graph.from_coo(60, rows, columns, held, directed=True)
    offsets, columns, weights = graph._core.weighted_csr()
    dense = np.full((60, 60), -1, held.dtype if held.dtype.kind != "u" else np.int64)
    for i in range(60):
        dense[i, columns[offsets[i] : offsets[i + 1]]] = weights[offsets[i] : offsets[i + 1]]
    return graph, dense


@pytest.mark.parametrize("weight", ["u32", "u64", "f32", "f64"])
@pytest.mark.parametrize("element", ["u32", "u64", "f32", "f64"])
def test_products_with_weights(weight: str, element: str) -> None:
    graph, dense = graphs(weight)
    there = dense >= 0
    x = (np.arange(60) * 7 % 41).astype(vxm._kinds.KINDS[element])  # type: ignore[attr-defined]
    u = vxm.Vector.from_numpy(x)
    # of different kinds, so the operator casts
    ring = vxm.semiring(vxm.MIN, vxm.op(lambda a, b: vxm.i64(a) + vxm.i64(b)))
    most = np.iinfo(np.int64).max
    sums = np.where(there, x.astype(np.int64)[:, None] + dense.astype(np.int64), most)
    same(u.vxm(graph, ring).or_identity().eval().to_numpy(), sums.min(axis=0))
    less = vxm.semiring(vxm.MAX, vxm.op(lambda a, b: vxm.i64(a) - vxm.i64(b)))
    gaps = np.where(there, dense.astype(np.int64) - x.astype(np.int64)[None, :], np.iinfo(np.int64).min)
    same(vxm.mxv(graph, u, less).or_identity().eval().to_numpy(), gaps.max(axis=1))
    # a multiplication that doesn't read the weight
    same(u.vxm(graph, vxm.semiring(vxm.PLUS, vxm.PAIR)).or_(0).eval().to_numpy(), there.sum(axis=0).astype(np.uint32))


def test_products_without_weights() -> None:
    path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3])
    u = vxm.Vector.from_numpy(np.array([1, 2, 3, 4], np.uint8))
    assert u.vxm(path, vxm.semiring(vxm.PLUS, vxm.FIRST)).eval().to_numpy().tolist() == [2, 4, 6, 3]
    assert u.vxm(path, vxm.semiring(vxm.MAX, vxm.PLUS)).eval().to_numpy().tolist() == [3, 4, 5, 4]
    assert u.vxm(path, vxm.semiring(vxm.ANY, vxm.FIRST)).eval().to_numpy().tolist() == [2, 1, 2, 3]
    truth = vxm.Vector.from_numpy(np.array([True, False, False, False]))
    assert truth.vxm(path, vxm.semiring(vxm.LOR, vxm.FIRST)).eval().to_numpy().tolist() == [False, True, False, False]
    with pytest.raises(vxm.OperatorError, match="SECOND"):
        u.vxm(path, vxm.semiring(vxm.PLUS, vxm.SECOND))


@pytest.mark.parametrize("kind", NUMBERS)
def test_reductions(kind: str) -> None:
    x = np.abs(values(kind, 3000)) if kind[0] != "f" else np.arange(3000).astype(kind.replace("f", "float")) / 8
    u = vxm.Vector.from_numpy(x)
    assert u.reduce(vxm.MAX) == x.max() and u.reduce(vxm.MIN) == x.min()
    with np.errstate(all="ignore"):
        total = x.sum(dtype=x.dtype)
    assert u.reduce(vxm.PLUS) == total or np.isclose(u.reduce(vxm.PLUS), total, rtol=1e-6)
    assert type(u.reduce(vxm.MAX)) is x.dtype.type
    empty = vxm.Vector.from_numpy(x[:0])
    assert empty.reduce(vxm.PLUS) == 0


def test_a_monoid_of_ones_own() -> None:
    @vxm.op
    def longest(a, b):  # type: ignore[no-untyped-def]
        return a if a >= b else b

    monoid = vxm.monoid(longest, 0, terminal=2**32 - 1)
    u = vxm.Vector.from_numpy(np.array([3, 9, 2], np.uint32))
    assert u.reduce(monoid) == 9
    path = vxm.Graph.from_coo(3, [0, 1], [1, 2])
    assert u.vxm(path, vxm.semiring(monoid, vxm.FIRST)).eval().to_numpy().tolist() == [9, 3, 9]
    # the identity doesn't suit every kind
    with pytest.raises(vxm.InputError, match="longest over i32: 0 is no identity: with -"):
        vxm.Vector.from_numpy(np.array([-5], np.int32)).reduce(vxm.monoid(longest, 0))
    with pytest.raises(vxm.InputError, match="expected a value of type u8, found 4294967295"):
        vxm.Vector.from_numpy(np.array([5], np.uint8)).reduce(monoid)
    # a claim that isn't so
    later = vxm.op(lambda a, b: b if b != 0 else a)
    with pytest.raises(vxm.InputError, match="Commutativity"):
        u.reduce(vxm.monoid(later, 0))
    assert u.reduce(vxm.monoid(later, 0, commutative=False)) == 2
    assert u.reduce(vxm.ANY) == 3
    for wrong in [vxm.op(lambda a: a), vxm.AINV]:
        with pytest.raises(TypeError, match="operator of two operands"):
            vxm.monoid(wrong, 0)
    with pytest.raises(TypeError, match="a result of type u32, as a monoid has, found bool"):
        u.reduce(vxm.monoid(vxm.LT, 0))
    with pytest.raises(TypeError, match="MINUS has no known identity"):
        vxm.semiring(vxm.MINUS, vxm.PLUS)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_monoid_of_floats(kind: str) -> None:
    u = vxm.Vector.from_numpy([1.5, -2.0, 7.0], dtype=kind)
    greatest = vxm.op(lambda a, b: max(a, b))
    for exact in (None, True):
        assert u.reduce(vxm.monoid(greatest, -np.inf, exact=exact)) == 7.0
    either = vxm.op(lambda a, b: a + b - a * b)
    assert u.reduce(vxm.monoid(either, 0.0)) == (1.5 - 2.0 + 3.0) + 7.0 - 2.5 * 7.0
    with pytest.raises(vxm.InputError, match="0.0 is no identity: with -1.0 it gives 0.0"):
        u.reduce(vxm.monoid(greatest, 0.0))
    with pytest.raises(vxm.InputError, match="Associativity.*say exact=False"):
        u.reduce(vxm.monoid(vxm.PLUS, -0.0, exact=True))
    chosen = vxm.op(lambda a, b: a if a > b else b)
    with pytest.raises(vxm.InputError, match="Commutativity.*say commutative=False"):
        u.reduce(vxm.monoid(chosen, -np.inf))
    assert u.reduce(vxm.monoid(chosen, -np.inf, commutative=False)) == 7.0


def test_sums_of_floats_have_one_order() -> None:
    graph = vxm.Graph.from_file("rmat:10:8")
    x = np.random.default_rng(5).random(graph.vertices)
    ring = vxm.semiring(vxm.PLUS, vxm.FIRST)
    digests = {vxm.Vector.from_numpy(x).vxm(graph, ring).eval(threads=threads).digest for threads in (1, 2, 7)}
    assert len(digests) == 1


def test_gather() -> None:
    u = vxm.Vector.from_numpy([5.0, 7.0, 9.0])
    index = vxm.Vector.from_pairs(4, [0, 1, 3], [2, 0, 9], dtype="u32")
    found = u.gather(index).eval()
    assert (found.indices.tolist(), found.values.tolist()) == ([0, 1], [9.0, 5.0])
    with pytest.raises(TypeError, match="index of kind u32, found f64"):
        u.gather(u)


def test_sets() -> None:
    members = vxm.Vector.members(6, [4, 1, 1])
    assert (members.kind, members.nvals, members.dtype) == ("()", 2, None)
    assert members.to_numpy().tolist() == [False, True, False, False, True, False]
    assert members[4] is True and members[0] is False
    more = members.ewise_add(vxm.Vector.members(6, [0]), vxm.FIRST).eval()
    assert more.indices.tolist() == [0, 1, 4]
    assert members.map(vxm.PAIR.bind(0)).eval().values.tolist() == [1, 1]
    with pytest.raises(TypeError, match="a set has no values"):
        members.values
    with pytest.raises(TypeError, match="the elements of a set have no value"):
        members.vxm(vxm.Graph.from_coo(6, [0], [1]), vxm.semiring(vxm.MIN, vxm.FIRST))
    with pytest.raises(TypeError, match="nvals counts them"):
        members.reduce(vxm.PLUS)


def test_all_nans_are_one() -> None:
    odd = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    assert vxm.Vector.from_numpy(odd) == vxm.Vector.full(2, np.nan, "f32")
    u = vxm.Vector.from_numpy(np.array([0.0, -1.0], np.float32))
    roots = u.ewise_mult(u, vxm.op(lambda a, b: vxm.sqrt(b) - vxm.sqrt(b))).eval()
    assert roots.digest == vxm.Vector.from_numpy(np.array([0.0, np.nan], np.float32)).digest


def test_a_constant_from_outside_is_read_anew() -> None:
    factor = 2.0
    scaled = vxm.op(lambda a: a * factor)
    u = vxm.Vector.from_numpy([1.0, 3.0])
    first = u.map(scaled)
    factor = 5.0
    assert first.eval().to_numpy().tolist() == [2.0, 6.0]
    assert u.map(scaled).eval().to_numpy().tolist() == [5.0, 15.0]


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: vxm.Vector.from_numpy([[1]]), vxm.ShapeError, "one axis"),
        (lambda: vxm.Vector.from_numpy([1j]), TypeError, "expected bool, u8"),
        (lambda: vxm.Vector.from_numpy(["a"]), TypeError, "expected bool, u8"),
        (lambda: vxm.Vector.from_numpy([300], "u8"), vxm.InputError, "expected values of type u8, found 300"),
        (lambda: vxm.Vector.from_numpy([1.5], "i32"), vxm.InputError, "expected values of type i32, found 1.5"),
        (lambda: vxm.Vector.from_numpy([np.nan], "i32"), vxm.InputError, "expected values of type i32, found nan"),
        (lambda: vxm.Vector.from_pairs(3, [3], [1]), vxm.InputError, "indices below 3, found 3"),
        (lambda: vxm.Vector.from_pairs(3, [-1], [1]), vxm.InputError, "indices below 3, found -1"),
        (lambda: vxm.Vector.from_pairs(3, [0, 1], [1]), vxm.ShapeError, "2 indices but 1 values"),
        (lambda: vxm.Vector.from_pairs(-1, [], []), vxm.InputError, "n: expected"),
        (lambda: vxm.Vector.members(2, [2]), vxm.InputError, "indices below 2, found 2"),
        (lambda: vxm.Vector(), TypeError, "make a vector by"),
        (lambda: vxm.fill(1.5, 3, "u32"), TypeError, "expected a value of type u32, found 1.5"),
        (lambda: vxm.fill(-1, 3, "u32"), vxm.InputError, "expected a value of type u32, found -1"),
        (lambda: vxm.Vector.full(3, 1.5, "u64"), vxm.InputError, "expected values of type u64, found 1.5"),
        (lambda: vxm.Vector.full(3, np.inf, "u32"), vxm.InputError, "expected values of type u32, found inf"),
        (lambda: vxm.Vector.full(3, [1, 2], "u32"), vxm.InputError, "a single value, found 2"),
        (lambda: vxm.Vector.from_numpy([1])[1], vxm.PlaceError, "expected an index below 1, found 1"),
        (lambda: vxm.Vector.from_numpy([1]).map(3), TypeError, "expected an operator, as vxm.op makes, found int"),
        (lambda: vxm.Vector.from_numpy([1]).ewise_add(3, vxm.PLUS), TypeError, "ewise_add: expected a vector"),
        (
            lambda: vxm.Vector.from_numpy([1]).ewise_add(vxm.Vector.from_numpy([1.0]), vxm.PLUS),
            TypeError,
            "operands of one kind, found i64 and f64",
        ),
        (
            lambda: vxm.Vector.from_numpy([1]).ewise_add(vxm.Vector.from_numpy([1, 2]), vxm.PLUS),
            vxm.ShapeError,
            "a vector of 1 does not fit one of 2",
        ),
        (
            lambda: vxm.Vector.from_numpy([1]).ewise_add(vxm.Vector.from_numpy([1]), vxm.LT),
            TypeError,
            "a result of type i64",
        ),
        (lambda: vxm.Vector.from_numpy([1]).select(vxm.AINV), TypeError, "a result of type bool"),
        (lambda: vxm.Vector.from_numpy([1]).or_(1.5), TypeError, "expected a value of type i64, found 1.5"),
        (lambda: vxm.Vector.from_numpy([1]).or_identity(), TypeError, "expected a product"),
        (lambda: vxm.Vector.from_numpy([1]).eval(device="gpu"), vxm.Error, "gpu"),
        (lambda: vxm.Vector.from_numpy([1]).eval(threads=0), vxm.InputError, "threads"),
        (lambda: vxm.Vector.from_numpy([1]).vxm(3, vxm.semiring(vxm.MIN, vxm.FIRST)), TypeError, "a vxm.Graph or a vxm.Matrix, found int"),
        (lambda: vxm.Vector.from_numpy([1]).vxm(vxm.Graph.from_coo(1, [], []), vxm.MIN), TypeError, "a semiring"),
        (
            lambda: vxm.Vector.from_numpy([1]).vxm(vxm.Graph.from_coo(2, [], []), vxm.semiring(vxm.MIN, vxm.FIRST)),
            vxm.ShapeError,
            "a vector of 1 does not fit a graph of 2 vertices",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        make()  # type: ignore[operator]


def test_a_large_expression_is_refused() -> None:
    x: vxm.Expression = vxm.Vector.from_numpy([1])
    with pytest.raises(vxm.InputError, match="more than 500 nodes: evaluate a part of it by eval"):
        for _ in range(11):
            x = x.ewise_add(x, vxm.PLUS)
    assert x.reduce(vxm.PLUS) in (2**k for k in range(11))


def test_vectors_are_sequences_and_arrays() -> None:
    u = vxm.Vector.from_pairs(3, [0, 2], [4, 5])
    assert list(u) == [4, None, 5]
    with pytest.raises(IndexError, match="expected an index below 3, found 3"):
        u[3]
    assert np.asarray(vxm.Vector.from_numpy([1, 2])).tolist() == [1, 2]
    assert np.asarray(vxm.Vector.members(3, [1])).tolist() == [False, True, False]
    for vector in (u, vxm.Vector.members(3, [1]), vxm.Vector.full(2, np.nan, "f32")):
        assert pickle.loads(pickle.dumps(vector)) == vector
        assert copy.deepcopy(vector) == vector
    with pytest.raises(AttributeError, match="an expression has no attribute 'to_numpy': eval\\(\\) makes a vector"):
        u.map(vxm.AINV).to_numpy()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'other'$"):
        u.map(vxm.AINV).other  # type: ignore[attr-defined]


def test_kinds_of_a_product_are_told() -> None:
    graph = vxm.Graph.from_coo(2, [0], [1], [7])
    with pytest.raises(vxm.OperatorError, match="vxm: the vector holds i64, the graph's weights u64: PLUS: found i64 \\+ u64"):
        vxm.Vector.from_numpy([1, 2]).vxm(graph, vxm.semiring(vxm.MIN, vxm.PLUS))
    with pytest.raises(vxm.Error, match="the graph has no weights"):
        vxm.Vector.from_numpy([1, 2]).vxm(vxm.Graph.from_coo(2, [0], [1]), vxm.semiring(vxm.MIN, vxm.SECOND))


def test_deep_expressions_are_refused_or_run() -> None:
    u, path = vxm.Vector.from_numpy([1, 2, 3]), vxm.Graph.from_coo(3, [0, 1], [1, 2])
    ring = vxm.semiring(vxm.MIN, vxm.FIRST)
    product: vxm.Expression = u
    with pytest.raises(vxm.InputError, match="more than 100 products of products: evaluate a part of them by eval"):
        for _ in range(101):
            product = product.vxm(path, ring)
    assert product.eval().to_numpy().tolist() == [1, 2, 1]
    chain: vxm.Expression = u
    for _ in range(498):
        chain = chain.map(vxm.AINV)
    assert chain.eval() == u


@pytest.mark.parametrize(
    ("values", "dtype", "error"),
    [
        (np.array([1, 2.7], object), "u64", TypeError),
        ([1 + 1j], "f64", TypeError),
        (np.array(["2020-01-01"], "M8[D]"), "u8", TypeError),
        ([2, 0], "bool", vxm.InputError),
        ([1e300], "f32", vxm.InputError),
        ([np.inf], "u32", vxm.InputError),
    ],
)
def test_values_that_a_type_does_not_hold(values: object, dtype: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="values: expected"):
        vxm.Vector.from_numpy(values, dtype=dtype)  # type: ignore[arg-type]


def test_single_values_that_a_type_does_not_hold() -> None:
    u = vxm.Vector.from_pairs(3, [1], [7], dtype="u8")
    for missing in (1.5, np.nan, 300, -1):
        with pytest.raises(vxm.InputError, match="values of type u8"):
            u.to_numpy(missing=missing)
    with pytest.raises(vxm.InputError, match="expected a value of type f32, found 1e\\+300"):
        vxm.fill(1e300, 3, "f32")
    assert vxm.fill(np.inf, 1, "f32").eval()[0] == np.inf
    with pytest.raises(vxm.InputError, match="index 1 occurs twice"):
        vxm.Vector.from_pairs(5, [1, 1], [1, 2])
    with pytest.raises(TypeError, match="device: expected a name"):
        u.eval(device=None)  # type: ignore[arg-type]
    with pytest.raises(vxm.InputError, match="threads: expected a number from 1 to 1024, found -1"):
        u.eval(threads=-1)
    members = vxm.Vector.members(3, [1])
    with pytest.raises(TypeError, match="the elements of a set have no value"):
        vxm.map3(vxm.select, members, members, members)
    with pytest.raises(TypeError, match="or_: the elements of a set have no value"):
        members.or_(1)


def test_what_does_not_fit_memory_is_refused() -> None:
    sparse = vxm.Vector.from_pairs(2**32 - 1, [0, 5], [1, 2])
    assert sparse.map(vxm.AINV).eval().values.tolist() == [-1, -2]
    for large in (
        sparse.or_(1),
        vxm.fill(1, 2**32 - 1),
        sparse.gather(vxm.Vector.from_numpy([0], dtype="u32")),
    ):
        with limited_memory(), pytest.raises(vxm.OutOfMemoryError, match="an expression of"):
            large.eval()


def test_memory_is_given_back() -> None:
    graph = vxm.Graph.from_file("rmat:10:8")
    ring = vxm.semiring(vxm.PLUS, vxm.FIRST)
    x = vxm.Vector.full(graph.vertices, 1.0)
    for _ in range(200):
        x = x.vxm(graph, ring).or_(0.0).map(vxm.TIMES.bind(0.01)).eval()
    gc.collect()
    assert np.isfinite(x.reduce(vxm.PLUS))
