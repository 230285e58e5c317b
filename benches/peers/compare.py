"""Times vxm beside peers on graphs, and checks their answers. `run` installs what it needs; README.md says what is compared."""

from __future__ import annotations

import argparse
import os
import sys

import arguments

if __name__ == "__main__":
    # before any library is loaded: some read it only once
    OPTIONS = arguments.parse(sys.argv[1:])
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(OPTIONS.threads)

import gc
import time
from typing import Any

import vxm

import libraries
import workload
from answers import judge
from libraries import Library
from report import Log, Measurement, header, tables

LONG = 10.0
"""A run of more seconds isn't repeated."""


def timed(run: Any) -> tuple[float, Any]:
    """The seconds of a call, and its answer. As in `timeit`, Python collects no garbage meanwhile."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        answer = run()
        return time.perf_counter() - start, answer
    finally:
        gc.enable()


def best_of(run: Any, runs: int) -> tuple[float, int, Any]:
    """The least seconds of warm runs, how many there were, and the last answer."""
    first, answer = timed(run)
    times: list[float] = []
    while len(times) < (1 if first > LONG else runs):
        seconds, answer = timed(run)
        times.append(seconds)
        if seconds > LONG:
            break
    return min(times), len(times), answer


def measure(task: str, work: workload.Workload, held: list[Library], runs: int) -> list[Measurement]:
    """A measurement for each call of each library."""
    made: list[Measurement] = []
    answers: dict[str, Any] = {}
    for library in held:
        for call in library.calls(task):
            row = Measurement(work.name, work.vertices, work.edges, task, library.name, call.text, library.threads_of(call))
            made.append(row)
            try:
                row.seconds, row.runs, raw = best_of(call.run, runs)
                answers[row.key] = call.read(raw)
            except Exception as error:  # a peer's own failure must not end the others
                row.failure = f"{type(error).__name__}: {error}"
    wrong, notes = judge(task, work, answers)
    for row in made:
        row.wrong, row.note = wrong.get(row.key), notes.get(row.key, "")
    return made


def loaded(name: str) -> workload.Workload:
    """The graph of an argument; ends the program with a line if there is none."""
    try:
        return workload.load(name)
    except (vxm.Error, OSError) as error:
        arguments.stop(str(error))


def graphs_of(work: workload.Workload, kinds: list[type[Library]], threads: int) -> list[Library]:
    """The libraries with a graph in their own form. A peer that can't hold it is named and left out."""
    held: list[Library] = []
    for kind in kinds:
        if work.edges > kind.most_edges:
            print(f"- Left out on {work.name}: {kind.name}, for more than {kind.most_edges:,} edges")
            continue
        try:
            held.append(kind(work, threads))
        except Exception as error:
            if kind.name == "vxm":
                raise
            print(f"- Left out on {work.name}: {kind.name} ({type(error).__name__}: {error})")
    return held


def main(options: argparse.Namespace) -> int:
    """Runs all tasks on all graphs, prints the tables, and returns the exit status."""
    found = libraries.found()
    works = [loaded(name) for name in dict.fromkeys(options.graphs)]
    try:
        log = Log(options.csv, found.libraries)
    except OSError as error:
        arguments.stop(f"{options.csv}: {error.strerror}")
    print(header(found.libraries, options.threads, options.runs), flush=True)
    for name, reason in found.missing.items():
        print(f"- Left out: {name} ({reason})")
    made: list[Measurement] = []
    for work in works:
        held = graphs_of(work, found.libraries, options.threads)
        for task in options.only:
            print(f"peers: {work.name}: {arguments.TASKS[task]}", file=sys.stderr)
            rows = measure(task, work, held, options.runs)
            log.add(rows)
            made += rows
    print(tables(made, works, found.libraries))
    bad = [row for row in made if row.wrong or (row.failure and row.library == "vxm")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(OPTIONS))
