"""Threads, forks and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import vxm

GRAPH = vxm.Graph.from_file("rmat:14:8")


def test_the_gil_is_released() -> None:
    graph = vxm.Graph.from_file("grid:1000x1000")
    began, ticks, done = threading.Event(), [], threading.Event()

    def tick() -> None:
        began.set()
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    began.wait()
    start = time.perf_counter()
    graph.color(threads=1)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start < at < end for at in ticks) > 5


def test_threads_may_call_at_once() -> None:
    expected = GRAPH.mis().members
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(GRAPH.mis().members)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(np.array_equal(expected, members) for members in found)


def in_child(text: str, timeout: float = 60) -> str:
    """The output of a Python program."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_works() -> None:
    program = """
import os, sys, vxm
graph = vxm.Graph.from_file("rmat:12:8")
expected = graph.mis(threads=2).members.tolist(), graph.components().tolist()
for generation in range(2):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))
    assert (graph.mis(threads=2).members.tolist(), graph.components().tolist()) == expected
    assert vxm.Graph.from_coo(3, [0], [1]).components().tolist() == [0, 0, 2]
    try:
        graph.mis(device="cuda")
        raise SystemExit(5)
    except vxm.DeviceError as error:
        assert "forked" in str(error), error
    assert graph.mis(device="auto").members.tolist() == expected[0]
print("done", flush=True)
"""
    assert in_child(program).strip() == "done"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_returns_at_once() -> None:
    # on one thread this takes seconds
    program = """
import os, signal, threading, time, vxm
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
graph = vxm.Graph.from_file("rmat:19:8")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    graph.color(method="neighbor-reduce", threads=1)
    print("ended after", time.perf_counter() - start)
except KeyboardInterrupt:
    print("interrupted after", time.perf_counter() - start)
print(vxm.Graph.from_coo(2, [0], [1]).components(threads=2).tolist(), flush=True)
os._exit(0)
"""
    first, second = in_child(program).strip().splitlines()
    assert first.startswith("interrupted after") and float(first.split()[-1]) < 2
    assert second == "[0, 0]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_loop_that_was_left_does_not_hold_later_calls_up() -> None:
    # a million rounds
    program = """
import os, signal, threading, time, numpy as np, vxm
signal.signal(signal.SIGINT, signal.default_int_handler)
start = vxm.Vector.from_numpy(np.arange(1_000_000))
loop = vxm.fixpoint(start).while_changed().step(lambda x: x.map(vxm.AINV))
for threads in (1, 2):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        loop.eval(threads=threads)
        print("ended")
    except KeyboardInterrupt:
        print("left")
    before = time.perf_counter()
    vxm.Vector.from_numpy([1, 2]).map(vxm.AINV).eval(threads=threads)
    print(time.perf_counter() - before < 10, flush=True)
os._exit(0)
"""
    assert in_child(program).split() == ["left", "True"] * 2


def test_spawned_processes_take_graphs() -> None:
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        members = pool.apply(vxm.Graph.mis, (GRAPH,)).members
    assert np.array_equal(members, GRAPH.mis().members)


def test_a_handler_that_does_not_raise_changes_nothing() -> None:
    if not hasattr(signal, "setitimer"):
        pytest.skip("there are no timers")
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    graph = vxm.Graph.from_file("grid:700x700")
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        colors = graph.color(threads=1).colors
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert vxm.certify.coloring(graph, colors) > 1 and calls


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize(
    "work",
    [
        "vxm.fixpoint(vxm.Vector.from_numpy(np.arange(100_000))).while_changed().step(lambda x: x.map(vxm.AINV)).eval()",
        "[GRAPH.pagerank() for _ in range(1000)]",
        "vxm.Graph.from_file('rmat:22:16')",
        "a.mxm(a, vxm.semiring(vxm.PLUS, vxm.TIMES))",
    ],
)
def test_ctrl_c_stops_the_work(work: str) -> None:
    program = f"""
import os, signal, threading, time, numpy as np, vxm
signal.signal(signal.SIGINT, signal.default_int_handler)
GRAPH = vxm.Graph.from_file("rmat:16:16")
a = vxm.Matrix.from_scipy(GRAPH.to_scipy().astype(float))
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {work}
    print("ended")
except KeyboardInterrupt:
    print("stopped")
start = time.perf_counter()
used = 1
while used > 0.05:
    before = time.process_time()
    time.sleep(0.25)
    used = time.process_time() - before
print(time.perf_counter() - start, flush=True)
os._exit(0)
"""
    # each work takes far longer, but the product, which takes twice as long
    said, waited = in_child(program).split()
    assert said == "stopped" and float(waited) < 4
