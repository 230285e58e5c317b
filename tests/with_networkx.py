"""Compares the command's answers with networkx, or with the definition in a few lines, on generated graphs.

Usage: with_networkx.py COMMAND [GRAPHS]. COMMAND is the path of `vxm`; GRAPHS is how many graphs there are, by default 200.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

import networkx as nx


def graph(seed):
    """A graph of up to 60 vertices, of one of four kinds."""
    draw = random.Random(seed)
    n = draw.randint(2, 60)
    kinds = [
        lambda: nx.gnm_random_graph(n, draw.randint(1, 3 * n), seed=seed),
        lambda: nx.barabasi_albert_graph(n + 3, 2, seed=seed),
        lambda: nx.grid_2d_graph(draw.randint(2, 7), draw.randint(2, 7)),
        lambda: nx.disjoint_union(nx.star_graph(draw.randint(1, 40)), nx.cycle_graph(draw.randint(3, 20))),
    ]
    return nx.convert_node_labels_to_integers(kinds[seed % len(kinds)]())


def write(g, path, weighted=False):
    """Writes a graph as Matrix Market."""
    kind = "integer" if weighted else "pattern"
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate {kind} symmetric\n{len(g)} {len(g)} {g.number_of_edges()}\n")
        weight = {(u, v): f" {g[u][v]['weight']}" if weighted else "" for u, v in g.edges}
        file.writelines(f"{max(u, v) + 1} {min(u, v) + 1}{w}\n" for (u, v), w in weight.items())


def forest(seed):
    """A forest: the parent of each vertex that has one, in no order of numbers."""
    draw = random.Random(seed)
    names = draw.sample(range(60), draw.randint(1, 60))
    near = draw.choice([1, 3, 60])
    return {v: draw.choice(names[max(0, k - near) : k]) for k, v in enumerate(names) if k and draw.random() < 0.9}


def check_forest(run, parents):
    """Compares the roots with those of networkx: the vertex of each weak component without an edge to a parent."""
    g = nx.DiGraph(list(parents.items()))
    g.add_nodes_from(range(60))
    _, rows = run("roots")
    expected = {v: root for part in nx.weakly_connected_components(g) for root in part if root not in parents for v in part}
    assert {int(v) - 1: int(root) - 1 for v, root in rows} == expected


def check_paths(run, g, seed):
    """Compares trees of hops and of weights from 0 to 2 with networkx' lengths: the least parent of those with the fewest edges."""
    draw = random.Random(seed)
    source = draw.randrange(len(g))
    for u, v in g.edges:
        g[u][v]["weight"] = draw.randint(0, 2)
    write(g, run.path, weighted=True)
    hops = nx.single_source_shortest_path_length(g, source)
    _, rows = run("bfs", "--parents", "--source", str(source + 1))
    expected = {v: min((u for u in g[v] if hops[u] + 1 == hops[v]), default=v) for v in hops}
    assert {int(v) - 1: int(parent) - 1 for v, parent in rows} == expected
    far = nx.single_source_dijkstra_path_length(g, source)
    last = nx.DiGraph((u, v) for a, b in g.edges for u, v in ((a, b), (b, a)) if u in far and far[u] + g[u][v]["weight"] == far[v])
    last.add_node(source)
    edges = nx.single_source_shortest_path_length(last, source)
    assert edges.keys() == far.keys()
    _, rows = run("sssp", "--parents", "--source", str(source + 1))
    expected = {v: min((u for u in last.predecessors(v) if edges[u] + 1 == edges[v]), default=v) for v in far}
    expected[source] = source
    assert {int(v) - 1: int(parent) - 1 for v, parent in rows} == expected


def propagated(g, rounds):
    """The labels after synchronous rounds of label propagation, ties to the least label."""
    labels = list(range(len(g)))
    for _ in range(rounds):
        counts = [Counter(labels[u] for u in g[v]) for v in range(len(g))]
        labels = [min(c, key=lambda x: (-c[x], x)) if c else labels[v] for v, c in enumerate(counts)]
    return labels


def check(run, g):
    """Compares all answers of a graph. `run` returns the command's report, and what it wrote."""
    n = len(g)
    _, rows = run("betweenness")
    expected = nx.betweenness_centrality(g, normalized=False)
    assert len(rows) == n and all(abs(float(x) - expected[int(v) - 1]) <= 1e-9 * (1 + float(x)) for v, x in rows)
    _, rows = run("labels")
    assert [int(label) - 1 for _, label in rows] == propagated(g, 20)
    told, rows = run("communities")
    parts = defaultdict(set)
    for v, c in rows:
        parts[c].add(int(v) - 1)
    expected = nx.community.modularity(g, parts.values()) if g.number_of_edges() else 0.0
    assert abs(told["modularity"] - expected) < 1e-9 and told["communities"] == len(parts)
    best = nx.community.modularity(g, nx.community.louvain_communities(g, seed=1))
    square = nx.power(g, 2)
    _, rows = run("mis", "--distance", "2")
    members = {int(v) - 1 for (v,) in rows}
    assert not any(u in members and v in members for u, v in square.edges)
    assert all(v in members or not members.isdisjoint(square[v]) for v in square)
    for order in ("random", "largest-degree-first", "smallest-degree-last"):
        told, rows = run("color", "--distance", "2", "--order", order)
        colors = {int(v) - 1: int(c) for v, c in rows}
        assert len(colors) == n and all(colors[u] != colors[v] for u, v in square.edges)
        assert set(colors.values()) == set(range(1, told["colors"] + 1))
    return expected, best


def main(command, graphs=200):
    sums = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "graph.mtx"), os.path.join(folder, "out")

        def run(algorithm, *options):
            arguments = [command, algorithm, path, "--json", "--threads", "1", "--device", "cpu", "--out", out, *options]
            told = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
            assert told["valid"], told
            with open(out) as file:
                return told, [line.split() for line in file]

        run.path = path
        for seed in itertools.islice(itertools.count(), int(graphs)):
            parents = forest(seed)
            with open(path, "w") as file:
                file.write(f"%%MatrixMarket matrix coordinate pattern general\n60 60 {len(parents)}\n")
                file.writelines(f"{v + 1} {parent + 1}\n" for v, parent in parents.items())
            check_forest(run, parents)
            g = graph(seed)
            check_paths(run, g, seed)
            g = graph(seed)
            write(g, path)
            try:
                sums = [x + y for x, y in zip(sums, check(run, g))]
            except AssertionError as error:
                raise AssertionError(f"graph {seed}, {g}") from error
    ours, theirs = (x / int(graphs) for x in sums)
    print(f"all answers of {graphs} graphs agree; mean modularity {ours:.4f}, of networkx' Louvain {theirs:.4f}")
    # synchronous rounds find about as good communities as moves one at a time
    assert ours > 0.9 * theirs


if __name__ == "__main__":
    main(*sys.argv[1:])
