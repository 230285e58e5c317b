"""Bad input: the class of each exception, and its line of text."""

from __future__ import annotations

import re
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import vxm

PATH = vxm.Graph.from_coo(3, [0, 1], [1, 2])
ARROW = vxm.Graph.from_coo(2, [0], [1], directed=True)

REFUSED = [
    (lambda: vxm.Graph.from_coo(2, [0, 5], [1, 1]), r"the edge \(5, 1\) lies outside a graph of 2 vertices"),
    (lambda: vxm.Graph.from_coo(2, [0, -1], [1, 1]), r"the edge \(-1, 1\) lies outside a graph of 2 vertices"),
    (lambda: vxm.Graph.from_coo(2, [0], [1, 1]), "1 rows but 2 columns"),
    (lambda: vxm.Graph.from_coo(2, [0], [1], [1, 2]), "1 edges but 2 values"),
    (lambda: vxm.Graph.from_coo(-1, [], []), "n: expected 0 to 4294967295 vertices, found -1"),
    (lambda: vxm.Graph.from_coo(2, [0.5], [1]), "rows: expected integers, found float64"),
    (lambda: vxm.Graph.from_coo(2, [[0]], [1]), "rows: expected an array with one axis, found 2 axes"),
    (lambda: vxm.Graph.from_coo(2, [0], [1], [-3]), "values: expected integers from 0, found -3: convert them to float64"),
    (lambda: vxm.Graph.from_coo(2, [0], [1], ["x"]), "values: expected integers from 0, float32 or float64, found <U1"),
    (lambda: vxm.Graph.from_csr([0, 1, 2], [1, 7]), "Csr: row 1: column 7, of 2 columns"),
    (lambda: vxm.Graph.from_csr([0, 2, 2], [1, 0]), "Csr: row 0: column 0 follows column 1: columns of a row strictly ascend"),
    (lambda: vxm.Graph.from_csr([0, 1, 2], [1, 0], [1.0]), "Csr: 2 columns but 1 values"),
    (lambda: vxm.Graph.from_csr([], []), "indptr: expected 1 offsets, found none"),
    (lambda: vxm.Graph.from_csr([0, 1], [0], symmetrize="maybe"), "unknown symmetrization `maybe`: expected check, union, trust"),
    (lambda: vxm.Graph.from_scipy(scipy.sparse.csr_array((2, 3))), r"expected a graph \(a square matrix\), found a 2 x 3 matrix"),
    (lambda: PATH.mis(priority="best"), "unknown priority `best`: expected random, degree, resolve, sorted, sorted-id"),
    (lambda: PATH.mis(format="coo"), "unknown format `coo`: expected auto, csr, tiles"),
    (lambda: PATH.mis(seed=-1), "seed: expected 0 to 18446744073709551615, found -1"),
    (lambda: PATH.mis(threads=0), "threads: expected a number from 1 to 1024, found 0"),
    (lambda: PATH.mis(device="tpu"), "unknown device `tpu`: expected auto, cpu, cuda, cuda:N"),
    (lambda: PATH.mis(order=[0, 0, 1]), "order: expected each of 3 vertices once, found none of 2"),
    (lambda: PATH.mis(order=[0, 1]), "order: expected each of 3 vertices once, found 2"),
    (lambda: PATH.color(method="dsatur"), "unknown method `dsatur`: expected is, max-times, mis, jp"),
    (lambda: PATH.color(method="is", order=[0, 1, 2]), "method: expected `jp` for an order of one's own, found `is`"),
    (lambda: PATH.bfs(3), "source: expected one of 3 vertices, found 3"),
    (lambda: PATH.sssp(0), "sssp: expected a graph with weights, found one without"),
    (lambda: ARROW.components(), "expected an undirected graph"),
    (lambda: vxm.certify.independent_set(PATH, [4]), "members: expected vertices below 3, found 4"),
    (lambda: vxm.Graph.from_file("grid:3"), "grid:3: expected"),
    (lambda: vxm.Graph.from_networkx(nx.Graph([(0, 1, {"w": "x"})]), weight="w"), "w: expected numbers as weights: could not convert"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_bad_input_is_named(call, text: str) -> None:
    with pytest.raises(vxm.InputError, match="^" + text) as caught:
        call()
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


def test_files_name_their_place(tmp_path) -> None:
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 7\n")
    with pytest.raises(vxm.InputError, match=r"bad.mtx:3:3: expected a column from 1 to 3, found `7`"):
        vxm.Graph.from_file(path)
    with pytest.raises(vxm.FileError, match="none.mtx: No such file") as caught:
        vxm.Graph.from_file(tmp_path / "none.mtx")
    assert isinstance(caught.value, OSError) and caught.value.errno == 2


def test_wrong_types_are_type_errors() -> None:
    for call in (lambda: PATH.bfs("0"), lambda: vxm.Graph.from_scipy(3), vxm.Graph, lambda: PATH.mis(threads="2")):
        with pytest.raises(TypeError):
            call()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' limits aren't read")
def test_too_little_memory_is_told() -> None:
    program = """
import resource, vxm
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    vxm.Graph.from_coo(2**30, [0], [1])
except MemoryError as error:
    assert isinstance(error, vxm.OutOfMemoryError)
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert re.fullmatch(r"Graph: 1 edges: needs 40.1 GiB of memory, .* are available", done.stdout.strip())


def test_a_missing_gpu_is_told() -> None:
    with pytest.raises(vxm.DeviceError) as caught:
        PATH.mis(device=f"cuda:{len(vxm.devices()) + 7}")
    assert isinstance(caught.value, RuntimeError)


def test_all_have_one_base() -> None:
    names = ["InputError", "ShapeError", "FileError", "OutOfMemoryError", "DeviceError", "ConvergenceError", "WrongAnswer"]
    for name in names:
        error = getattr(vxm, name)
        assert issubclass(error, vxm.Error) and error.__module__ == "vxm"
    assert issubclass(vxm.ShapeError, vxm.InputError)


def test_arrays_are_copied() -> None:
    rows = np.array([0, 1])
    graph = vxm.Graph.from_coo(3, rows, [1, 2])
    rows[:] = 2
    assert graph.bfs(0).tolist() == [0, 1, 2]
