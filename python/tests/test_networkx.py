"""The backend of networkx, against networkx itself."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import vxm
import vxm.nx
from vxm.nx import BackendGraph, backend

GRAPHS = {
    "numbers": nx.gnm_random_graph(200, 300, seed=1),
    "names": nx.relabel_nodes(nx.gnm_random_graph(80, 100, seed=2), lambda v: f"v{(v * 37) % 80}"),
    "shuffled": nx.relabel_nodes(nx.gnm_random_graph(60, 90, seed=3), {v: (v * 7) % 60 for v in range(60)}),
    "loops": nx.Graph([(0, 0), (0, 1), (1, 2), (2, 2), (3, 4), (5, 5)]),
    "parallel": nx.MultiGraph([(0, 1), (0, 1), (0, 1), (1, 2), (1, 3), (2, 3), (4, 4), (4, 5)]),
    "isolated": nx.empty_graph(5),
}
DIRECTED = {
    "numbers": nx.gnm_random_graph(100, 180, seed=4, directed=True),
    "parallel": nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("d", "a")]),
}


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> nx.Graph:
    return GRAPHS[request.param]


@pytest.fixture(params=[*GRAPHS, *(f"directed-{name}" for name in DIRECTED)])
def any_graph(request: pytest.FixtureRequest) -> nx.Graph:
    name = request.param
    return DIRECTED[name[9:]] if name.startswith("directed-") else GRAPHS[name]


@pytest.fixture(autouse=True)
def _no_warning_of_caches():
    nx.config.warnings_to_ignore.add("cache")
    yield
    nx.config.warnings_to_ignore.discard("cache")


def test_components(graph: nx.Graph) -> None:
    expected = list(nx.connected_components(graph, backend="networkx"))
    assert list(nx.connected_components(graph, backend="vxm")) == expected
    assert nx.number_connected_components(graph, backend="vxm") == len(expected)
    assert nx.is_connected(graph, backend="vxm") == (len(expected) == 1)
    for node in list(graph)[:5]:
        assert nx.node_connected_component(graph, node, backend="vxm") == nx.node_connected_component(graph, node)


def test_hops(any_graph: nx.Graph) -> None:
    for node in list(any_graph)[:6]:
        for cutoff in (None, 0, 2, -1, 1.5):
            for function in (nx.single_source_shortest_path_length, nx.single_target_shortest_path_length):
                found = function(any_graph, node, cutoff=cutoff, backend="vxm")
                assert found == function(any_graph, node, cutoff=cutoff)
                assert list(found.values()) == sorted(found.values())
        assert nx.descendants(any_graph, node, backend="vxm") == nx.descendants(any_graph, node)
    found = dict(nx.all_pairs_shortest_path_length(any_graph, cutoff=3, backend="vxm"))
    assert found == dict(nx.all_pairs_shortest_path_length(any_graph, cutoff=3))


@pytest.mark.parametrize("strategy", ["largest_first", "random_sequential"])
def test_colors_are_those_of_networkx(graph: nx.Graph, strategy: str) -> None:
    random.seed(5)
    expected = nx.greedy_color(graph, strategy, backend="networkx")
    random.seed(5)
    found = nx.greedy_color(graph, strategy, backend="vxm")
    assert list(found.items()) == list(expected.items())


def test_other_strategies_are_left_to_networkx(graph: nx.Graph) -> None:
    for arguments in (("smallest_last",), ("DSATUR",), (lambda G, colors: list(G),), ("largest_first", True)):
        assert isinstance(backend.can_run("greedy_color", (graph, *arguments), {}), str)
    assert backend.can_run("greedy_color", (graph,), {}) is True
    with pytest.raises(NotImplementedError):
        nx.greedy_color(graph, "smallest_last", backend="vxm")


def test_sets_hold_the_given_nodes() -> None:
    graph = GRAPHS["names"]
    seen = set()
    for seed in range(5):
        for nodes in (None, [], ["v3"], sorted(nx.maximal_independent_set(graph, seed=seed, backend="networkx"))[:7]):
            found = nx.maximal_independent_set(graph, nodes, seed=seed, backend="vxm")
            assert found == nx.maximal_independent_set(graph, nodes, seed=seed, backend="vxm")
            assert len(set(found)) == len(found) and set(nodes or ()) <= set(found)
            assert nx.is_dominating_set(graph, found) and graph.subgraph(found).number_of_edges() == 0
            seen.add(frozenset(found))
    assert len(seen) > 8


def test_sets_refuse_what_networkx_refuses() -> None:
    for graph, nodes in ((GRAPHS["names"], ["nobody"]), (nx.path_graph(3), [0, 1]), (GRAPHS["loops"], [5])):
        for name in ("networkx", "vxm"):
            with pytest.raises(nx.NetworkXUnfeasible):
                nx.maximal_independent_set(graph, nodes, backend=name)


@pytest.mark.parametrize("kind", ["int", "float", "mixed", "missing"])
def test_lengths_have_the_same_bits(any_graph: nx.Graph, kind: str) -> None:
    graph = any_graph.copy()
    draw = random.Random(6)
    for *_, data in graph.edges(data=True):
        whole, real = draw.randrange(50), draw.random()
        data["w"] = {"int": whole, "float": real, "mixed": draw.choice([whole, real]), "missing": whole}[kind]
        if kind == "missing" and draw.random() < 0.5:
            del data["w"]
    for node in list(graph)[:6]:
        for cutoff in (None, 20):
            found = nx.single_source_dijkstra_path_length(graph, node, cutoff, "w", backend="vxm")
            assert found == nx.single_source_dijkstra_path_length(graph, node, cutoff, "w")
            assert list(found)[0] == node and all(type(length) in (int, float) for length in found.values())


@pytest.mark.parametrize("weight", [-1, -0.5, float("inf"), float("nan"), Fraction(1, 3), "x", None, 2**62, 1e308])
def test_other_weights_are_left_to_networkx(weight) -> None:
    graph = nx.path_graph(20)
    graph[3][4]["weight"] = weight
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(graph, 0, backend="vxm")


@pytest.mark.parametrize("weight", [lambda u, v, data: 1, 7])
def test_other_kinds_of_weight_are_left_to_networkx(weight) -> None:
    assert isinstance(backend.can_run("single_source_dijkstra_path_length", (nx.path_graph(3), 0, None, weight), {}), str)


def test_missing_nodes_raise_what_networkx_raises() -> None:
    graph = nx.path_graph(3)
    calls = [
        lambda name: nx.single_source_shortest_path_length(graph, 7, backend=name),
        lambda name: nx.single_source_shortest_path_length(graph, 0.5, backend=name),
        lambda name: nx.single_target_shortest_path_length(graph, 7, backend=name),
        lambda name: nx.single_source_dijkstra_path_length(graph, 7, backend=name),
        lambda name: nx.node_connected_component(graph, 7, backend=name),
        lambda name: nx.descendants(graph, 7, backend=name),
        lambda name: nx.is_connected(nx.Graph(), backend=name),
        lambda name: nx.connected_components(nx.DiGraph([(0, 1)]), backend=name),
        lambda name: nx.maximal_independent_set(nx.DiGraph([(0, 1)]), backend=name),
    ]
    for call in calls:
        raised = []
        for name in ("networkx", "vxm"):
            with pytest.raises(Exception) as caught:
                call(name)
            raised.append((caught.type, str(caught.value)))
        assert raised[0][0] == raised[1][0], raised


def test_equal_nodes_are_found() -> None:
    graph = nx.path_graph(3)
    assert nx.single_source_shortest_path_length(graph, 1.0, backend="vxm") == {1: 0, 0: 1, 2: 1}
    for node in (True, np.int64(1), Fraction(1)):
        assert nx.single_source_shortest_path_length(graph, node, backend="vxm") == {1: 0, 0: 1, 2: 1}


def test_conversions_are_cached_until_a_change() -> None:
    graph = nx.path_graph(4)
    assert nx.number_connected_components(graph, backend="vxm") == 1
    kept = graph.__networkx_cache__["backends"]["vxm"]
    assert [type(held) for held in kept.values()] == [BackendGraph]
    graph.remove_edge(1, 2)
    assert nx.number_connected_components(graph, backend="vxm") == 2


def test_a_converted_graph_is_taken_and_comes_back() -> None:
    for graph in (*GRAPHS.values(), DIRECTED["numbers"]):
        held = BackendGraph.from_networkx(graph)
        assert (len(held), list(held), held.is_directed()) == (len(graph), list(graph), graph.is_directed())
        node = list(graph)[0]
        assert nx.single_source_shortest_path_length(held, node) == nx.single_source_shortest_path_length(graph, node)
        if graph.is_multigraph():
            with pytest.raises(NotImplementedError):
                held.to_networkx()
            continue
        back = held.to_networkx()
        assert list(back) == list(graph) and nx.utils.graphs_equal(back, nx.create_empty_copy(graph)) == (
            graph.number_of_edges() == 0
        )
        assert set(map(frozenset, back.edges)) == set(map(frozenset, graph.edges))
        # a function that this backend doesn't have
        assert nx.density(held.to_networkx()) == nx.density(graph)


def test_small_graphs_stay_with_networkx() -> None:
    config = nx.config.backends.vxm
    small, middle, large = nx.path_graph(10), nx.path_graph(config.min_size), nx.path_graph(config.min_first_size)
    for name in ("is_connected", "greedy_color"):
        assert isinstance(backend.should_run(name, (small,), {}), str)
        assert backend.should_run(name, (large,), {}) is True
    assert backend.should_run("greedy_color", (middle,), {}) is True
    assert isinstance(backend.should_run("is_connected", (middle,), {}), str)
    with nx.config.backend_priority(algos=["vxm"]):
        assert nx.is_connected(small) and nx.is_connected(middle) and nx.is_connected(large)
        kept = [graph.__networkx_cache__.get("backends", {}).get("vxm") for graph in (small, middle, large)]
        assert [bool(held) for held in kept] == [False, False, True]
        assert nx.greedy_color(middle) and backend.should_run("is_connected", (middle,), {}) is True
    assert isinstance(backend.should_run("single_source_dijkstra_path_length", (middle, 0), {}), str)


def test_the_configuration_says_where() -> None:
    graph = nx.path_graph(5)
    with nx.config.backends.vxm(device="nowhere"), pytest.raises(vxm.InputError, match="unknown device `nowhere`"):
        nx.is_connected(graph, backend="vxm")
    assert nx.is_connected(graph, backend="vxm", device="cpu", threads=1)


def test_importing_networkx_does_not_import_this_package() -> None:
    program = "import sys, networkx; print(networkx.config.backends.vxm.device, 'vxm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "cpu False"


def simple(name: str) -> nx.Graph:
    """A graph without parallel edges and self-loops, with attributes and weights."""
    graph = nx.Graph(GRAPHS[name])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    graph.graph["title"] = name
    for place, node in enumerate(graph):
        graph.nodes[node]["place"] = place
    for place, (*_, data) in enumerate(graph.edges(data=True)):
        data["weight"] = place * 7 % 5 + (0.5 if place % 3 == 0 else 0)
        data["label"] = str(place)
    return graph


@pytest.mark.parametrize("name", GRAPHS)
def test_dense_parts(name: str) -> None:
    graph = simple(name)
    nodes = [*list(graph)[:3], "nobody"]
    assert nx.core_number(graph, backend="vxm") == nx.core_number(graph)
    for chosen in (None, nodes, nodes[0]):
        assert nx.triangles(graph, chosen, backend="vxm") == nx.triangles(graph, chosen)
        assert nx.clustering(graph, chosen, backend="vxm") == nx.clustering(graph, chosen)
    for arguments in ({}, {"count_zeros": False}, {"nodes": nodes}):
        found = []
        for backend_name in ("vxm", "networkx"):
            try:
                found.append(nx.average_clustering(graph, backend=backend_name, **arguments))
            except ZeroDivisionError:
                found.append(None)
        assert found[0] == found[1]
    assert nx.transitivity(graph, backend="vxm") == nx.transitivity(graph)
    for k in (2, 3, 4):
        found, expected = nx.k_truss(graph, k, backend="vxm"), nx.k_truss(graph, k)
        assert nx.utils.graphs_equal(found, expected) and list(found.edges) == list(expected.edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_trees_are_those_of_networkx(name: str) -> None:
    graph = simple(name)
    for weight in ("weight", "missing"):
        for function in (nx.minimum_spanning_tree, nx.maximum_spanning_tree):
            found, expected = function(graph, weight, backend="vxm"), function(graph, weight)
            assert nx.utils.graphs_equal(found, expected) and list(found.edges) == list(expected.edges)
        for function in (nx.minimum_spanning_edges, nx.maximum_spanning_edges):
            for data in (True, False):
                found = list(function(graph, weight=weight, data=data, backend="vxm"))
                assert found == list(function(graph, weight=weight, data=data))
    if graph.size():
        u, v = next(iter(graph.edges))
        graph[u][v]["weight"] = float("nan")
        nx.config.warnings_to_ignore.add("cache")
        for ignored in (True, False):
            found = []
            for backend_name in ("vxm", "networkx"):
                try:
                    edges = nx.minimum_spanning_edges(graph, ignore_nan=ignored, data=False, backend=backend_name)
                    found.append(list(edges))
                except ValueError as error:
                    found.append(str(error))
            assert found[0] == found[1]


@pytest.mark.parametrize("name", GRAPHS)
def test_betweenness(name: str) -> None:
    graph = simple(name)
    for normalized in (True, False):
        for k in (None, 1, 3, len(graph)):
            found = nx.betweenness_centrality(graph, k, normalized, seed=3, backend="vxm")
            expected = nx.betweenness_centrality(graph, k, normalized, seed=3)
            assert list(found) == list(expected)
            assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-12, abs=1e-15, nan_ok=True)


def test_strong_and_weak_components() -> None:
    for graph in DIRECTED.values():
        for function in (nx.strongly_connected_components, nx.weakly_connected_components):
            found, expected = list(function(graph, backend="vxm")), list(function(graph))
            assert set(map(frozenset, found)) == set(map(frozenset, expected)) and len(found) == len(expected)
        for function in (nx.number_strongly_connected_components, nx.number_weakly_connected_components,
                         nx.is_strongly_connected, nx.is_weakly_connected):  # fmt: skip
            assert function(graph, backend="vxm") == function(graph)
    for function in (nx.is_strongly_connected, nx.is_weakly_connected):
        with pytest.raises(nx.NetworkXPointlessConcept):
            function(nx.DiGraph(), backend="vxm")
        assert function(nx.cycle_graph(4, create_using=nx.DiGraph), backend="vxm")


def test_ranks() -> None:
    for graph in (DIRECTED["numbers"], simple("numbers"), simple("names")):
        graph = graph.__class__(graph)
        nx.set_edge_attributes(graph, 1, "weight")
        nodes = list(graph)
        for personal in (None, {nodes[0]: 3}, {nodes[1]: 1, nodes[4]: 1.0, nodes[5]: 0}):
            found = nx.pagerank(graph, personalization=personal, tol=1e-10, max_iter=500, backend="vxm")
            expected = nx.pagerank(graph, personalization=personal, tol=1e-10, max_iter=500)
            assert found == pytest.approx(expected, abs=1e-7)
        assert nx.pagerank(graph, weight=None, backend="vxm") == pytest.approx(nx.pagerank(graph, weight=None), abs=1e-5)
        with pytest.raises(nx.PowerIterationFailedConvergence):
            nx.pagerank(graph, max_iter=2, tol=1e-12, backend="vxm")
        with pytest.raises(ZeroDivisionError):
            nx.pagerank(graph, personalization={nodes[0]: 0}, backend="vxm")
        u, v = next(iter(graph.edges))
        nx.set_edge_attributes(graph, {(u, v): 3}, "weight")
        with pytest.raises(NotImplementedError, match="pagerank"):
            nx.pagerank(graph, backend="vxm")
    assert nx.pagerank(nx.DiGraph(), backend="vxm") == {}


def test_matchings_and_covers() -> None:
    for name in GRAPHS:
        graph = simple(name)
        found = nx.maximal_matching(graph, backend="vxm")
        assert nx.is_maximal_matching(graph, found)
        cover = nx.algorithms.approximation.min_weighted_vertex_cover(graph, backend="vxm")
        assert all(u in cover or v in cover for u, v in graph.edges)
        assert len(cover) <= 2 * len(found) or not found


def test_what_differs_is_left_to_networkx() -> None:
    graph, arrows, parallel = simple("names"), DIRECTED["numbers"], GRAPHS["parallel"]
    for name, arguments in [
        ("core_number", (arrows,)), ("triangles", (parallel,)), ("clustering", (graph, None, "weight")),
        ("average_clustering", (arrows,)), ("transitivity", (arrows,)), ("k_truss", (parallel, 3)),
        ("k_truss", (graph, 2.5)), ("betweenness_centrality", (arrows,)),
        ("betweenness_centrality", (graph, None, True, "weight")), ("betweenness_centrality", (graph, None, True, None, True)),
        ("betweenness_centrality", (graph, 0)), ("pagerank", (parallel,)), ("pagerank", (graph, 1.0)),
        ("pagerank", (graph, 0.85, None, 100, 0)), ("pagerank", (graph, 0.85, None, 100, 1e-6, {1: 1})),
        ("minimum_spanning_tree", (graph, "weight", "prim")), ("minimum_spanning_edges", (graph, "boruvka")),
        ("maximum_spanning_tree", (parallel,)), ("maximal_matching", (arrows,)),
        ("min_weighted_vertex_cover", (graph, "weight")),
        ("minimum_spanning_tree", (BackendGraph.from_networkx(graph),)),
    ]:  # fmt: skip
        assert isinstance(backend.can_run(name, arguments, {}), str), (name, arguments)
    for name, arguments in [("core_number", (graph,)), ("pagerank", (arrows,)), ("minimum_spanning_tree", (graph,)),
                            ("betweenness_centrality", (graph, 3)), ("k_truss", (graph, 3))]:  # fmt: skip
        assert backend.can_run(name, arguments, {}) is True
    loops = GRAPHS["loops"]
    for function in (nx.core_number, lambda graph, backend: nx.k_truss(graph, 3, backend=backend)):
        for name in ("vxm", "networkx"):
            with pytest.raises(nx.NetworkXNotImplemented, match="self loops"):
                function(loops, backend=name)


def test_a_conversion_with_attributes_serves_all_functions() -> None:
    graph = simple("numbers")
    expected = nx.single_source_dijkstra_path_length(graph, 0)
    tree = nx.minimum_spanning_tree(graph, backend="vxm")
    held = graph.__networkx_cache__["backends"]["vxm"]
    assert len(held) == 1 and next(iter(held.values())).original is graph
    assert nx.single_source_dijkstra_path_length(graph, 0, backend="vxm") == expected
    assert nx.is_connected(graph, backend="vxm") == nx.is_connected(tree)
    with pytest.raises(NotImplementedError, match="pagerank"):
        nx.pagerank(graph, backend="vxm")
    # a change drops the conversion
    graph.add_edge(0, 199, weight=0)
    assert nx.minimum_spanning_tree(graph, backend="vxm").has_edge(0, 199)


def test_views_of_parallel_edges_are_converted() -> None:
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3), (3, 0)])
    view = graph.edge_subgraph([(0, 1, 1), (2, 3, 0)])
    assert nx.number_connected_components(view, backend="vxm") == 2


def test_a_view_follows_its_graph() -> None:
    graph = nx.complete_graph(5)
    view = graph.subgraph([0, 1, 2, 3])
    assert set(nx.core_number(view, backend="vxm").values()) == {3}
    graph.remove_edge(0, 1)
    assert set(nx.core_number(view, backend="vxm").values()) == {2}


def test_edges_of_a_forest_outlive_the_graph() -> None:
    assert len(list(nx.minimum_spanning_edges(nx.complete_graph(5), backend="vxm"))) == 4
    graph = nx.path_graph(4)
    edges = nx.minimum_spanning_edges(graph, data=False, backend="vxm")
    graph.remove_node(0)
    assert list(edges) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_walks_from_what_is_no_number_are_left_to_networkx(value) -> None:
    with pytest.raises(NotImplementedError):
        nx.pagerank(nx.path_graph(3), personalization={0: value}, backend="vxm")


def test_numbers_that_do_not_fit_are_left_to_networkx() -> None:
    assert len(nx.k_truss(nx.complete_graph(5), 2**33, backend="vxm")) == 0
    for rounds in (0, -1, 2**33):
        assert isinstance(backend.can_run("pagerank", (nx.path_graph(3),), {"max_iter": rounds}), str)
