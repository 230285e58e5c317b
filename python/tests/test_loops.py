"""Loops of operators that are written in Python, compared with plain loops and with the package's own algorithms."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
import vxm


@vxm.op
def wider(width, edge):  # type: ignore[no-untyped-def]
    """The width of a path, one edge longer."""
    return min(width, edge)


def weighted(seed: int, n: int = 300, m: int = 900) -> vxm.Graph:
    rng = np.random.default_rng(seed)
    return vxm.Graph.from_coo(n, rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 1000, m).astype(np.uint32))


def widest(graph: vxm.Graph, source: int) -> np.ndarray:
    """Widest paths by Dijkstra's algorithm."""
    offsets, columns, weights = graph._core.weighted_csr()
    width = np.zeros(graph.vertices, np.uint32)
    width[source] = 2**32 - 1
    queue = [(-int(width[source]), source)]
    while queue:
        held, v = heapq.heappop(queue)
        if -held < width[v]:
            continue
        for k in range(offsets[v], offsets[v + 1]):
            found = min(-held, int(weights[k]))
            if found > width[columns[k]]:
                width[columns[k]] = found
                heapq.heappush(queue, (-found, int(columns[k])))
    return width


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_widest_paths(seed: int, monotone: bool, threads: int) -> None:
    graph = weighted(seed)
    ring = vxm.semiring(vxm.MAX, wider)
    start = vxm.Vector.from_pairs(graph.vertices, [7], [2**32 - 1], dtype="u32").or_(0).eval()
    loop = vxm.fixpoint(start).while_changed()
    loop = loop.monotone() if monotone else loop
    found = loop.step(lambda w: w.ewise_add(w.vxm(graph, ring), vxm.MAX)).eval(threads=threads)
    np.testing.assert_array_equal(found.state.to_numpy(), widest(graph, 7))
    assert found.rounds > 1


def test_shortest_paths_are_those_of_sssp() -> None:
    graph = vxm.Graph.from_coo(5, [0, 1, 0, 2], [1, 2, 2, 3], [0.5, 0.25, 1.0, 2.0])
    start = vxm.Vector.from_pairs(5, [0], [0.0]).or_(np.inf).eval()
    ring = vxm.semiring(vxm.MIN, vxm.PLUS)
    found = vxm.fixpoint(start).while_changed().monotone().step(lambda d: d.ewise_add(d.vxm(graph, ring), vxm.MIN)).eval()
    np.testing.assert_array_equal(found.state.to_numpy(), graph.sssp(0))


@vxm.op
def decide(own, best):  # type: ignore[no-untyped-def]
    """In if no neighbour has a greater key, out if one is in."""
    if best == 2**32 - 1:
        return 1
    return own if best > own else 2**32 - 1


@vxm.op
def undecided(key):  # type: ignore[no-untyped-def]
    return 1 < key < 2**32 - 1


@pytest.mark.parametrize("monotone", [False, True])
def test_a_greedy_set(monotone: bool) -> None:
    graph = vxm.Graph.from_file("rmat:9:8")
    order = np.random.default_rng(2).permutation(graph.vertices)
    keys = np.empty(graph.vertices, np.uint32)
    keys[order] = np.arange(graph.vertices, 0, -1) + 1
    ring = vxm.semiring(vxm.MAX, vxm.FIRST)
    loop = vxm.fixpoint(vxm.Vector.from_numpy(keys)).while_active(undecided)
    loop = loop.monotone() if monotone else loop
    found = loop.step(lambda key: vxm.map2(decide, key, key.vxm(graph, ring).or_identity())).eval()
    members = np.flatnonzero(found.state.to_numpy() == 2**32 - 1)
    np.testing.assert_array_equal(members, graph.mis(order=order).members)


def test_components_by_least_labels() -> None:
    graph = vxm.Graph.from_file("er:11:1")
    labels = vxm.fill(0, graph.vertices, "u32").map_index(vxm.FIRST).eval()
    ring = vxm.semiring(vxm.MIN, vxm.FIRST)
    found = vxm.fixpoint(labels).while_changed().step(lambda x: x.ewise_add(x.vxm(graph, ring), vxm.MIN)).eval()
    np.testing.assert_array_equal(found.state.to_numpy(), graph.components())


def test_loops_that_do_not_end() -> None:
    u = vxm.Vector.from_numpy([3, 1])
    with pytest.raises(vxm.ConvergenceError, match="^fixpoint: did not converge: round 5 still changed 2 elements"):
        vxm.fixpoint(u).while_changed().at_most(5).step(lambda x: x.map(vxm.PLUS.bind(1))).eval()
    with pytest.raises(vxm.ConvergenceError, match="^fixpoint: stalled after 1 round"):
        vxm.fixpoint(u).while_active(vxm.GT.bind(2)).step(lambda x: x).eval()


def test_bodies_are_checked_before_they_run() -> None:
    u = vxm.Vector.from_numpy([3, 1])
    loop = vxm.fixpoint(u).while_changed()
    with pytest.raises(TypeError, match="expression of kind i64, found bool"):
        loop.step(lambda x: x.map(vxm.GT.bind(1)))
    with pytest.raises(vxm.ShapeError, match="an expression of 3 does not fit a state of 2"):
        loop.step(lambda x: vxm.fill(1, 3))
    with pytest.raises(TypeError, match="returns an expression, found NoneType"):
        loop.step(lambda x: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="while_active: expected an operator with a result of type bool"):
        vxm.fixpoint(u).while_active(vxm.AINV)
    with pytest.raises(vxm.InputError, match="expected an element at each of 3 places, found none at 1"):
        vxm.fixpoint(vxm.Vector.from_pairs(3, [0, 1], [1, 2]))
    with pytest.raises(TypeError, match="the elements of a set have no value"):
        vxm.fixpoint(vxm.Vector.members(3, [1]))
    with pytest.raises(TypeError, match="expected a vector, found list"):
        vxm.fixpoint([1])  # type: ignore[arg-type]
    kept = []
    loop.step(lambda x: kept.append(x) or x)  # type: ignore[func-returns-value]
    with pytest.raises(vxm.InputError, match="a body only builds expressions of it"):
        kept[0].eval()
    with pytest.raises(vxm.InputError, match="used outside of the loop"):
        loop.step(lambda x: x.ewise_add(kept[0], vxm.MIN)).eval()


def test_a_place_without_a_product_keeps_its_element() -> None:
    graph = vxm.Graph.from_coo(4, [0, 1], [1, 2])
    labels = vxm.Vector.from_numpy([1, 2, 3, 4])
    least = vxm.semiring(vxm.MIN, vxm.FIRST)
    found = vxm.fixpoint(labels).while_changed().at_most(9).step(lambda x: vxm.fill(1, 4).mask(x.vxm(graph, least))).eval()
    assert found.state.to_numpy().tolist() == [1, 1, 1, 4]


def test_what_is_forgotten_is_told() -> None:
    begun = vxm.fixpoint(vxm.Vector.from_numpy([1]))
    with pytest.raises(AttributeError, match="'step': say when it ends, by while_changed"):
        begun.step(lambda x: x)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'state': eval\\(\\) runs it"):
        begun.while_changed().step(lambda x: x).state  # type: ignore[attr-defined]


def test_a_loop_runs_again() -> None:
    graph = weighted(1)
    ring = vxm.semiring(vxm.MAX, wider)
    start = vxm.Vector.from_pairs(graph.vertices, [0], [9], dtype="u32").or_(0).eval()
    loop = vxm.fixpoint(start).while_changed().step(lambda w: w.ewise_add(w.vxm(graph, ring), vxm.MAX))
    assert loop.eval().state == loop.eval(threads=2).state


HIGH = 1 << 31


@vxm.op
def elect(key, best):  # type: ignore[no-untyped-def]
    """A vertex above its neighbours becomes a candidate."""
    return key | vxm.u32(HIGH) if key > best else key


@vxm.op
def is_candidate(key):  # type: ignore[no-untyped-def]
    """Whether a vertex is a candidate, or has joined."""
    return key >= vxm.u32(HIGH)


@vxm.op
def settle(key, near):  # type: ignore[no-untyped-def]
    """A candidate joins the set; a neighbour of one leaves."""
    joined = vxm.u32(2**32 - 1) if key >= vxm.u32(HIGH) else key
    return vxm.u32(0) if near else joined


@vxm.op
def is_open(key):  # type: ignore[no-untyped-def]
    """Whether a vertex has neither joined nor left."""
    return key != vxm.u32(0) and key != vxm.u32(2**32 - 1)


@pytest.mark.parametrize("spec", ["grid:30x40", "rmat:10:8", "road:20"])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_round_of_two_steps(spec: str, monotone: bool, threads: int) -> None:
    graph = vxm.Graph.from_file(spec)
    order = np.random.default_rng(3).permutation(graph.vertices)
    keys = np.empty(graph.vertices, np.uint32)
    keys[order] = np.arange(graph.vertices, 0, -1)
    highest = vxm.semiring(vxm.MAX, vxm.FIRST)
    loop = vxm.fixpoint(vxm.Vector.from_numpy(keys, dtype="u32")).while_active(is_open)
    loop = loop.monotone() if monotone else loop
    found = (
        loop.step(lambda key: vxm.map2(elect, key, key.select(is_open).vxm(graph, highest).or_(0)))
        .then(lambda key: vxm.map2(settle, key, key.map(is_candidate).vxm(graph, vxm.semiring(vxm.LOR, vxm.FIRST)).or_(False)))
        .eval(threads=threads)
    )
    members = np.flatnonzero(found.state.to_numpy() == 2**32 - 1)
    np.testing.assert_array_equal(members, graph.mis(order=order).members)


def test_steps_that_are_refused() -> None:
    start = vxm.Vector.from_numpy([1, 2], dtype="u32")
    changed = vxm.fixpoint(start).while_changed().step(lambda x: x.map(vxm.IDENTITY))
    with pytest.raises(TypeError, match="then: a loop while_changed has one step"):
        changed.then(lambda x: x.map(vxm.IDENTITY))
    active = vxm.fixpoint(start).while_active(vxm.GT.bind(0)).step(lambda x: x.map(vxm.MINUS.bind(1)))
    with pytest.raises(TypeError, match="then: expected a body that returns an expression, found int"):
        active.then(lambda x: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(vxm.ShapeError, match="then: an expression of 3 does not fit a state of 2"):
        active.then(lambda x: vxm.fill(1, 3, dtype="u32"))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("spec", ["grid:30x40", "rmat:10:8", "er:10:2", "road:20"])
def test_components_by_scatter_reduce(spec: str, threads: int) -> None:
    graph = vxm.Graph.from_file(spec)
    names = vxm.fill(0, graph.vertices, "u32").map_index(vxm.FIRST).eval()
    least = vxm.semiring(vxm.MIN, vxm.FIRST)
    loop = vxm.fixpoint(names).while_changed().monotone()
    loop = loop.step(lambda f: f.pointer_jump().ewise_add(f.vxm(graph, least), vxm.MIN))
    found = loop.scatter_reduce(vxm.IDENTITY, vxm.MIN).eval(threads=threads)
    np.testing.assert_array_equal(found.state.to_numpy(), graph.components())


def test_scatter_reduce_refuses_what_it_cannot_do() -> None:
    path = vxm.Graph.from_coo(3, [0, 1], [1, 2])
    names = vxm.Vector.from_numpy([0, 1, 2], dtype="u32")
    ring = vxm.semiring(vxm.MIN, vxm.FIRST)

    def body(f: vxm.Expression) -> vxm.Expression:
        return f.vxm(path, ring)

    loop = vxm.fixpoint(names)
    with pytest.raises(TypeError, match="scatter_reduce: expected a monotone loop"):
        loop.while_changed().step(body).scatter_reduce(vxm.IDENTITY, vxm.MIN)
    with pytest.raises(TypeError, match="scatter_reduce: expected a loop while_changed, found while_active"):
        loop.while_active(vxm.GT.bind(0)).step(body).scatter_reduce(vxm.IDENTITY, vxm.MIN)
    monotone = loop.while_changed().monotone().step(body)
    with pytest.raises(vxm.InputError, match="^scatter_reduce: a monoid that isn't idempotent, and makes"):
        monotone.scatter_reduce(vxm.IDENTITY, vxm.PLUS).eval()
    with pytest.raises(vxm.InputError, match="expected an exact and commutative monoid, found FIRST"):
        monotone.scatter_reduce(vxm.IDENTITY, vxm.ANY)
    with pytest.raises(TypeError, match="scatter_reduce: root: expected an operator with a result of type u32"):
        monotone.scatter_reduce(vxm.op(lambda x: vxm.u64(x)), vxm.MIN)
    with pytest.raises(TypeError, match="pointer_jump: expected elements of kind u32, found i64"):
        vxm.Vector.from_numpy([0, 0]).pointer_jump()
    # no place 9: the chain ends, and nothing is joined
    far = vxm.Vector.from_numpy([9, 9, 1], dtype="u32")
    assert far.pointer_jump().eval().to_numpy().tolist() == [9, 9, 1]
    assert vxm.Vector.from_pairs(4, [1, 3], [1, 1], dtype="u32").pointer_jump().eval().indices.tolist() == [1, 3]
