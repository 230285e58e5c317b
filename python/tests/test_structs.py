"""Elements that are structs, compared with plain loops over NumPy's records."""

from __future__ import annotations

import heapq
import operator
import os
import pickle

import numpy as np
import pytest
import vxm

DEVICES = ["cpu", "cuda"] if os.environ.get("VXM_TEST_DEVICE") == "cuda" else ["cpu"]


@vxm.struct
class Hop:
    """A distance, and the vertex before."""

    cost: vxm.u32
    parent: vxm.u32


@vxm.struct
class Mixed:
    """Fields of all widths that fit together."""

    is_open: bool
    level: vxm.i8
    code: vxm.u16
    weight: vxm.f32


@vxm.struct
class Pair:
    """A struct of less than a word."""

    small: "vxm.i16"
    flag: "bool"


INFINITE = Hop(2**32 - 1, 2**32 - 1)


@vxm.op
def nearer(a, b):  # type: ignore[no-untyped-def]
    """The lesser cost; of equal costs the lesser parent."""
    return a if (a.cost, a.parent) <= (b.cost, b.parent) else b


@vxm.op
def along(hop: Hop, weight: vxm.u32) -> Hop:  # type: ignore[valid-type]
    """A path that is one edge longer. The parent is set where it starts."""
    return Hop(vxm.saturating_add(hop.cost, weight), hop.parent)


@vxm.op
def leaving(vertex, hop):  # type: ignore[no-untyped-def]
    """What neighbours are told."""
    return Hop(cost=hop.cost, parent=vertex)


def random_mixed(n: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    weights = draw.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    weights[:: 7] = np.nan
    return Mixed.array(draw.integers(0, 2, n).astype(bool), draw.integers(-128, 128, n), draw.integers(0, 2**16, n), weights)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype.names == expected.dtype.names
    for name in expected.dtype.names or ():
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_shortest_paths_with_parents(seed: int, threads: int, device: str) -> None:
    draw, n, m = np.random.default_rng(seed), 200, 700
    graph = vxm.Graph.from_coo(n, draw.integers(0, n, m), draw.integers(0, n, m), draw.integers(1, 9, m).astype(np.uint32))
    nearest = vxm.monoid(nearer, INFINITE)
    start = vxm.Vector.from_pairs(n, [3], [Hop(0, 3)]).or_(INFINITE).eval()

    def body(hops: vxm.Expression) -> vxm.Expression:
        told = hops.map_index(leaving)
        return hops.ewise_add(told.vxm(graph, vxm.semiring(nearest, along)), nearer)

    # the source's own parent is itself, though a neighbour offers a longer way
    found = vxm.fixpoint(start).while_changed().step(body).eval(threads=threads, device=device).state.to_numpy()
    # over entries that know where they start, no element is made anew
    edges = graph.matrix().map_index(vxm.op(lambda i, j, weight: Hop(weight, i)), device=device)
    ring = vxm.semiring(nearest, vxm.op(lambda hop, edge: Hop(vxm.saturating_add(hop.cost, edge.cost), edge.parent)))
    loop = vxm.fixpoint(start).while_changed().monotone().step(lambda hops: hops.ewise_add(hops.vxm(edges, ring), nearer))
    same(loop.eval(threads=threads, device=device).state.to_numpy(), found)

    offsets, columns, weights = graph._core.weighted_csr()
    best = {3: (0, 3)}
    queue = [(0, 3)]
    while queue:
        cost, v = heapq.heappop(queue)
        if cost > best[v][0]:
            continue
        for k in range(offsets[v], offsets[v + 1]):
            u, offered = int(columns[k]), (cost + int(weights[k]), v)
            if u not in best or offered < best[u]:
                if u not in best or offered[0] < best[u][0]:
                    heapq.heappush(queue, (offered[0], u))
                best[u] = offered
    expected = Hop.array([best.get(v, (2**32 - 1, 0))[0] for v in range(n)], [best.get(v, (0, 2**32 - 1))[1] for v in range(n)])
    same(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_fields_of_all_widths(device: str) -> None:
    values = random_mixed(500, 5)

    @vxm.op
    def turned(x):  # type: ignore[no-untyped-def]
        level = x.level if x.is_open else vxm.div(x.level, 2)
        return Mixed(not x.is_open, level, x.code ^ vxm.u16(0xFF), -x.weight if x.code > 100 else x.weight)

    found = vxm.Vector.from_numpy(values).map(turned).eval(device=device).to_numpy()
    level = np.where(values["is_open"], values["level"], np.trunc(values["level"] / 2)).astype(np.int8)
    weight = np.where((values["code"] ^ 0xFF) >= 0, np.where(values["code"] > 100, -values["weight"], values["weight"]), 0)
    same(found, Mixed.array(~values["is_open"], level, values["code"] ^ 0xFF, weight.astype(np.float32)))
    for name in values.dtype.names or ():
        single = vxm.Vector.from_numpy(values).map(FIELDS[name]).eval(device=device)
        np.testing.assert_array_equal(single.to_numpy(), values[name])
        assert single.dtype == values.dtype[name]


FIELDS = {
    "is_open": vxm.op(lambda x: x.is_open),
    "level": vxm.op(lambda x: x.level),
    "code": vxm.op(lambda x: x.code),
    "weight": vxm.op(lambda x: x.weight),
}


def test_arrays_come_back_as_they_were() -> None:
    values = random_mixed(100, 1)
    vector = vxm.Vector.from_numpy(values)
    assert vector.kind == "{is_open: bool, level: i8, code: u16, weight: f32}"
    assert vector.dtype == Mixed.dtype and len(vector) == 100
    same(vector.to_numpy(), values)
    same(pickle.loads(pickle.dumps(vector)).to_numpy(), values)
    assert vector == vxm.Vector.from_numpy(values) and vector != vxm.Vector.from_numpy(values[::-1])
    # a type that is aligned, or has the fields elsewhere, holds the same
    spread = np.zeros(100, np.dtype({"names": values.dtype.names, "formats": ["?", "i1", "u2", "f4"], "offsets": [12, 3, 8, 4], "itemsize": 16}))
    for name in values.dtype.names or ():
        spread[name] = values[name]
    assert vxm.Vector.from_numpy(spread) == vector
    small = vxm.Vector.from_numpy(Pair.array([-5, 7], [True, False]))
    assert [tuple(pair) for pair in small.to_numpy()] == [(-5, True), (7, False)]
    assert small[0].small == -5 and small[0].flag


def test_nan_has_one_bit_pattern() -> None:
    one, other = np.zeros(1, Mixed.dtype), np.zeros(1, Mixed.dtype)
    one["weight"], other["weight"] = np.nan, np.array([0xFFC0_0001], np.uint32).view(np.float32)
    assert vxm.Vector.from_numpy(one).digest == vxm.Vector.from_numpy(other).digest


def test_sparse_vectors_and_masks() -> None:
    hops = vxm.Vector.from_pairs(5, [4, 1], [(7, 0), (3, 2)], dtype=Hop)
    assert hops.nvals == 2 and hops[0] is None and tuple(hops[1]) == (3, 2)
    filled = hops.or_(INFINITE).eval().to_numpy()
    assert [int(hop.cost) for hop in filled] == [2**32 - 1, 3, 2**32 - 1, 2**32 - 1, 7]
    assert [tuple(hop) for hop in hops.to_numpy(missing=Hop(1, 1))][:2] == [(1, 1), (3, 2)]
    near = hops.select(vxm.op(lambda x: x.cost < 5)).eval()
    assert near.indices.tolist() == [1]
    assert hops.mask(~near).eval().indices.tolist() == [4]
    assert tuple(vxm.Vector.full(2, Hop(1, 2))[1]) == (1, 2)
    assert tuple(vxm.fill(Hop(1, 2), 3).eval()[2]) == (1, 2)
    gathered = hops.or_(INFINITE).eval().gather(vxm.Vector.from_numpy([4, 4], dtype="u32")).eval()
    assert [int(hop.cost) for hop in gathered.to_numpy()] == [7, 7]


@pytest.mark.parametrize("device", DEVICES)
def test_matrices_of_structs(device: str) -> None:
    draw, n = np.random.default_rng(8), 30
    places = np.unique(draw.integers(0, n * n, 150))
    rows, columns = places // n, places % n
    values = Hop.array(draw.integers(0, 50, places.size), draw.integers(0, 9, places.size))
    a = vxm.Matrix.from_coo(rows, columns, values, shape=(n, n))
    assert a.kind == "{cost: u32, parent: u32}" and a.dtype == Hop.dtype
    same(a.to_coo()[2], values)
    same(a.T.T.to_coo()[2], values)
    nearest = vxm.monoid(nearer, INFINITE)
    found = a.reduce_rows(nearest, device=device)
    for row in range(n):
        of_row = sorted(tuple(value) for value in values[rows == row])
        assert found[row] is None if not of_row else tuple(found[row]) == of_row[0]
    assert tuple(a.reduce(nearest, device=device)) == min(tuple(value) for value in values)

    @vxm.op
    def joined(x, y):  # type: ignore[no-untyped-def]
        return Hop(x.cost + y.cost, min(x.parent, y.parent))

    product = a.mxm(a, vxm.semiring(nearest, joined), device=device)
    table = {(int(i), int(j)): tuple(int(part) for part in value) for i, j, value in zip(rows, columns, values)}
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    for (i, k), x in table.items():
        for j in range(n):
            if (k, j) in table:
                y = table[k, j]
                made = (x[0] + y[0], min(x[1], y[1]))
                expected[i, j] = min(expected.get((i, j), made), made)
    assert product.nvals == len(expected)
    assert all(tuple(int(part) for part in product[place]) == value for place, value in expected.items())


def test_equality_of_structs_is_that_of_fields() -> None:
    same_as = vxm.op(lambda a, b: a == b)
    other_than = vxm.op(lambda a, b: a != b)
    one, nan, zero, minus = Mixed(True, 1, 2, 3.0), Mixed(True, 1, 2, float("nan")), Mixed(True, 1, 2, 0.0), Mixed(True, 1, 2, -0.0)
    assert same_as(one, one) and not other_than(one, one)
    assert not same_as(nan, nan) and other_than(nan, nan)
    assert same_as(zero, minus) and not other_than(zero, minus)
    assert not same_as(one, zero)


def test_tuples_compare_as_in_python() -> None:
    below = vxm.op(lambda a, b: (a.cost, a.parent) < (b.cost, b.parent))
    most = vxm.op(lambda a, b: (a.cost, a.parent) <= (b.cost, b.parent))
    above = vxm.op(lambda a, b: (a.cost, a.parent) > (b.cost, b.parent))
    least = vxm.op(lambda a, b: (a.cost, a.parent) >= (b.cost, b.parent))
    equal = vxm.op(lambda a, b: (a.cost, a.parent) == (b.cost, b.parent))
    other = vxm.op(lambda a, b: (a.cost, a.parent) != (b.cost, b.parent))
    made = {below: operator.lt, most: operator.le, above: operator.gt, least: operator.ge, equal: operator.eq, other: operator.ne}
    values = [(i, j) for i in range(3) for j in range(3)]
    for op, expected in made.items():
        for a in values:
            for b in values:
                assert bool(op(Hop(*a), Hop(*b))) == expected(a, b), (a, expected, b)


def test_a_captured_struct_and_its_field_are_read_at_each_use() -> None:
    limit = Hop(5, 0)
    below = vxm.op(lambda x: x.cost < limit.cost)
    replaced = vxm.op(lambda x: limit if x.parent == 0 else x)
    assert below(Hop(4, 0)) and not below(Hop(5, 0))
    assert tuple(replaced(Hop(1, 0))) == (5, 0)
    limit = Hop(9, 1)
    assert below(Hop(5, 0))
    assert tuple(replaced(Hop(1, 0))) == (9, 1)
    assert tuple(vxm.op(lambda a, b: nearer(a, b)).bind(Hop(3, 3))(Hop(3, 4))) == (3, 3)


def test_a_monoid_that_breaks_a_law_is_told_with_its_fields() -> None:
    hops = vxm.Vector.from_numpy(Hop.array([1, 2], [3, 4]))
    with pytest.raises(vxm.InputError, match=r"nearer over \{cost: u32, parent: u32\}: Identity: 0 \+ a == a: \{cost: 0, parent: 0\}, not"):
        hops.reduce(vxm.monoid(nearer, Hop(0, 0)))
    first = vxm.op(lambda a, b: Hop(min(a.cost, b.cost), a.parent))
    with pytest.raises(vxm.InputError, match=r"Identity|Commutativity"):
        hops.reduce(vxm.monoid(first, INFINITE))
    halves = vxm.op(lambda a, b: a if b.cost == 2**32 - 1 else b if a.cost == 2**32 - 1 else Hop((a.cost & b.cost) ^ 1, a.parent | b.parent))
    with pytest.raises(vxm.InputError, match="Associativity: .* for a = .*say exact=False"):
        hops.reduce(vxm.monoid(halves, Hop(2**32 - 1, 0), commutative=False))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a: a.length, "found a field `length` of {cost: u32, parent: u32}; use one of cost, parent"),
        (lambda a: a + a, "found + of {cost: u32, parent: u32}; write a struct's field, as in x.cost"),
        (lambda a: a < a, "found < of {cost: u32, parent: u32}; write a struct's field"),
        (lambda a: max(a, a), "found max of {cost: u32, parent: u32}; write a struct's field"),
        (lambda a: vxm.u32(a), "found a cast of {cost: u32, parent: u32} to u32; write a struct's field"),
        (lambda a: a if a.cost == 0 else 1, "found the number 1 where {cost: u32, parent: u32} is expected; make a struct"),
        (lambda a: a if a.cost == 0 else a.cost, "found {cost: u32, parent: u32} in one branch and u32 in the other; write a struct's field"),
        (lambda a: Hop(a.cost, 1.5), "found the number 1.5 where u32 is expected; write an integer"),
        (lambda a: Hop(a.cost, -1), "found the number -1, which doesn't fit u32"),
        (lambda a: Hop(a, 1), "found {cost: u32, parent: u32} for the field `cost`, which is u32; give it a number"),
        (lambda a: Hop(vxm.u64(a.cost), 1), "found u64 for the field `cost`, which is u32; cast it, as in u32(x)"),
        (lambda a: Hop(a.cost), "found 1 operands of Hop; write 2"),
        (lambda a: Hop(a.cost, parents=1), "found an operand `parents` of Hop; write each of cost, parent once"),
        (lambda a: Hop(a.cost, cost=1), "found an operand `cost` of Hop; write each of cost, parent once"),
        (lambda a: Hop(**a), "found arguments with two stars; write each of cost, parent once"),
        (lambda a: (a.cost, a.parent) < (a.cost, a.parent, a.cost), "found a comparison of 2 with 3 values; write as many on both sides"),
        (lambda a: a["cost"], "found a subscript; an operator only sees its operands: pass the value as one; of a struct write x.cost"),
        (lambda a: a.cost(), "found a method of a value, `cost`"),
    ],
)
def test_what_operators_refuse(function: object, text: str) -> None:
    with pytest.raises(vxm.OperatorError) as found:
        vxm.op(function).program(Hop)  # type: ignore[arg-type]
    assert text in str(found.value)


def test_structs_that_cannot_be() -> None:
    with pytest.raises(TypeError, match="Long: expected a struct of 1 to 8 bytes, found 12 in a, b"):

        @vxm.struct
        class Long:
            a: vxm.u64
            b: vxm.u32

    with pytest.raises(TypeError, match="Odd: a: expected bool, u8, .*, found <class 'complex'>"):

        @vxm.struct
        class Odd:
            a: complex

    with pytest.raises(TypeError, match="Nested: a: expected bool, .*, found {cost: u32, parent: u32}"):

        @vxm.struct
        class Nested:
            a: Hop  # type: ignore[valid-type]

    with pytest.raises(TypeError, match="Empty: expected annotated variables"):

        @vxm.struct
        class Empty:
            pass

    with pytest.raises(TypeError, match="Given: a: expected a field without a value"):

        @vxm.struct
        class Given:
            a: vxm.u32 = 3  # type: ignore[assignment]

    with pytest.raises(TypeError, match="expected a class with annotated variables, found int"):
        vxm.struct(3)  # type: ignore[arg-type]
    for dtype, text in [
        (np.dtype([("a b", "u4")]), "expected fields named as variables of Python, but not dtype, found 'a b'"),
        (np.dtype([("a", "u4", 2)]), "field `a`: expected bool"),
        (np.dtype([("a", [("b", "u4")])]), "field `a`: expected bool"),
        (np.dtype([("class", "u4")]), "expected fields named as variables"),
        (np.dtype([("dtype", "u4")]), "expected fields named as variables of Python, but not dtype"),
        (np.dtype([("a", "u8"), ("b", "?")]), "expected a struct of 1 to 8 bytes, found 9 in a, b"),
    ]:
        with pytest.raises(TypeError, match=text):
            vxm.Vector.from_numpy(np.zeros(3, dtype))


def test_values_that_do_not_fit() -> None:
    hops = vxm.Vector.from_numpy(Hop.array([1], [2]))
    with pytest.raises(TypeError, match="Hop: expected each of cost, parent once"):
        Hop(1)
    with pytest.raises(TypeError, match="Hop: expected each of cost, parent once"):
        Hop(1, cost=2)
    with pytest.raises(OverflowError, match="Hop: cost: expected a number that fits u32, found -1"):
        Hop(-1, 2)
    with pytest.raises(TypeError, match="Hop: cost: expected u32, found 1.5"):
        Hop(1.5, 2)
    with pytest.raises(TypeError, match="Mixed: is_open: expected bool, found 1"):
        Mixed(1, 2, 3, 4.0)
    with pytest.raises(vxm.InputError, match="expected values of type u32, found -1"):
        Hop.array([-1], [0])
    with pytest.raises(TypeError, match=r"or_: expected \{cost: u32, parent: u32\}, found int"):
        hops.or_(3)
    with pytest.raises(TypeError, match=r"or_: expected \{cost: u32, parent: u32\}, found \{small: i16, flag: bool\}"):
        hops.or_(Pair(1, True))
    with pytest.raises(TypeError, match=r"values: expected structs \{cost: u32, parent: u32\}, found \{small"):
        vxm.Vector.from_numpy(Pair.array([1], [True]), dtype=Hop)
    with pytest.raises(TypeError, match="astype: {cost: u32, parent: u32} has fields"):
        hops.astype("u32")
    with pytest.raises(TypeError, match="nonzero: {cost: u32, parent: u32} has fields"):
        hops.nonzero()
    with pytest.raises(TypeError, match="identity: expected {cost: u32, parent: u32}, found int"):
        hops.reduce(vxm.monoid(nearer, 0))
    with pytest.raises(TypeError, match="ewise_add: expected operands of one kind"):
        hops.ewise_add(vxm.Vector.from_numpy(Pair.array([1], [True])), vxm.FIRST)
    with pytest.raises(TypeError, match="ewise_add: expected operands of one kind"):
        # as large, but other fields
        hops.ewise_add(vxm.Vector.from_numpy([5], dtype="u64"), vxm.FIRST)
    matrix = vxm.Matrix.from_coo([0], [0], [(1, 2)], shape=(1, 1), dtype=Hop)
    with pytest.raises(TypeError, match="to_scipy: a matrix of SciPy holds numbers, not {cost"):
        matrix.to_scipy()
    assert tuple(matrix[0, 0]) == (1, 2)
    assert tuple(vxm.Vector.from_numpy(Hop.array([1, 2], [3, 4])).reduce(vxm.ANY)) == (1, 3)


def test_names_and_messages() -> None:
    assert repr(Hop) == "<vxm.Struct Hop {cost: u32, parent: u32}>"
    assert Hop.__doc__ == "A distance, and the vertex before."
    assert repr(along) == "<vxm.Op along(hop: {cost: u32, parent: u32}, weight: u32)>"
    assert along.program(Hop, "u32").parameters == ["{cost: u32, parent: u32}", "u32"]
    with pytest.raises(TypeError, match=r"along: hop: expected \{cost: u32, parent: u32\}, found u32"):
        along(np.uint32(3), 5)


def test_only_structs_become_structs() -> None:
    """Nothing is put into all fields, rounded, or read of a text."""
    hops = vxm.Vector.from_pairs(4, [1], [Hop(1, 2)])
    assert [tuple(hop) for hop in hops.to_numpy(missing=(7, 8))] == [(7, 8), (1, 2), (7, 8), (7, 8)]
    assert tuple(vxm.Vector.full(2, (1, 2), dtype=Hop)[1]) == (1, 2)
    assert tuple(hops.or_((5, 6)).eval()[0]) == (5, 6)
    mixed = vxm.Vector.from_pairs(3, [0, 1], [Hop(1, 2), (3, 4)], dtype=Hop)
    assert [tuple(hop) for hop in mixed.values] == [(1, 2), (3, 4)]
    for wrong in (-1, 1.5, (1, 2, 3), (1.5, 2), ("1", "5"), (None, 5), (1,), [], "x", [(1, 2)], Pair(1, True)):
        with pytest.raises(TypeError, match="^missing"):
            hops.to_numpy(missing=wrong)
        with pytest.raises(TypeError, match=r"^values\[0\]"):
            vxm.Vector.from_numpy([wrong], dtype=Hop)
    with pytest.raises(OverflowError, match=r"^values\[1\]: cost: expected a number that fits u32, found -1"):
        vxm.Vector.from_numpy([(1, 2), (-1, 2)], dtype=Hop)
    with pytest.raises(TypeError, match="values: expected structs .*, found int64"):
        vxm.Vector.from_numpy(np.array([-1, 3]), dtype=Hop)
    with pytest.raises(TypeError, match="or_: expected {cost: u32, parent: u32}, found an array of 2"):
        hops.or_(Hop.array([1, 2], 3))
    with pytest.raises(OverflowError, match="Hop: cost: expected a number that fits u32, found an integer of 20001 bits"):
        Hop(1 << 20000, 1)
    for wrong in (np.str_("3"), np.datetime64(3, "s"), np.complex64(1), Hop(1, 2), [1]):
        with pytest.raises(TypeError, match="Hop: cost: expected u32"):
            Hop(wrong, 2)
    with pytest.raises(vxm.ShapeError, match="Hop: expected columns of one length"):
        Hop.array([1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match=r"or_: expected u32, found tuple"):
        vxm.Vector.from_numpy([1], dtype="u32").or_((1, 2))
    with pytest.raises(vxm.InputError, match="missing: expected a single value, found 0"):
        vxm.Vector.from_pairs(2, [0], [1]).to_numpy(missing=[])


def test_what_is_true_has_one_bit_pattern() -> None:
    raw = np.zeros(2, Pair.dtype)
    raw.view(np.uint8).reshape(2, 3)[:, 2] = [1, 255]
    assert vxm.Vector.from_numpy(raw) == vxm.Vector.from_numpy(Pair.array(0, [True, True]))
    odd = np.array([0, 1, 2], np.uint8).view(np.bool_)
    assert vxm.Vector.from_numpy(odd).digest == vxm.Vector.from_numpy([False, True, True]).digest


def test_fields_come_before_methods() -> None:
    @vxm.struct
    class Total:
        sum: vxm.f32
        real: vxm.u32

    held = Total(1.5, 7)
    assert held.sum == np.float32(1.5) and held.real == 7 and held.item() == (1.5, 7)
    assert int(vxm.op(lambda x: held.real + x)(np.uint32(1))) == 8
    mean = vxm.monoid(vxm.op(lambda a, b: Total(a.sum + b.sum, a.real + b.real)), Total(0.0, 0))
    values = np.random.default_rng(4).random(1000).astype(np.float32)
    found = vxm.Vector.from_numpy(Total.array(values, 1)).reduce(mean)
    assert found.real == 1000 and abs(found.sum / found.real - values.mean()) < 1e-5


def test_least_of_floats_with_its_place() -> None:
    @vxm.struct
    class At:
        value: vxm.f32
        index: vxm.u32

    lesser = vxm.op(lambda a, b: a if (a.value, a.index) <= (b.value, b.index) else b)
    values = np.random.default_rng(6).random(500).astype(np.float32)
    places = vxm.Vector.from_numpy(At.array(values, np.arange(500)))
    found = places.reduce(vxm.monoid(lesser, At(np.inf, 2**32 - 1)))
    assert found.index == values.argmin() and found.value == values.min()
    # it only chooses, so it may be folded in any order
    assert places.reduce(vxm.monoid(lesser, At(np.inf, 2**32 - 1), exact=True)) == found


def test_masked_arrays_of_structs() -> None:
    hops = np.ma.array(Hop.array([1, 2], 0))
    assert vxm.Vector.from_numpy(hops).nvals == 2
    hops[1] = np.ma.masked
    with pytest.raises(vxm.InputError, match="values: expected an array without masked values"):
        vxm.Vector.from_numpy(hops)


def test_classes_that_hold_more_than_fields() -> None:
    class Base:
        a: vxm.u8

    class Inherits(Base):
        b: vxm.u8

    class Acts:
        a: vxm.u8

        def method(self) -> None:
            """Does nothing."""

    with pytest.raises(TypeError, match="Inherits: expected a class of its own, found one that inherits from Base"):
        vxm.struct(Inherits)
    with pytest.raises(TypeError, match="Acts: method: expected annotated variables only"):
        vxm.struct(Acts)

    @vxm.struct
    class Own:
        self: vxm.u8

    @vxm.op
    def first(x: Own) -> vxm.u8:  # type: ignore[valid-type]
        return x.self

    assert Own(self=3).self == 3 and first(Own(4)) == 4
    assert Own.array(self=[1, 2]).size == 2
