"""The arguments of `run` and `compare.py`. It needs no package, so `run` can refuse bad arguments before it installs anything."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

TASKS = {
    "mis": "Maximal independent set",
    "color": "Greedy colouring",
    "bfs": "BFS levels",
    "sssp": "Weighted shortest paths",
    "components": "Connected components",
    "pagerank": "PageRank, 20 rounds",
    "pagerank-tol": "PageRank, to a tolerance of 1e-6",
    "triangles": "Triangle count",
    "cores": "Core numbers",
    "msf": "Weight of a minimum spanning forest",
    "spmv": "Sparse matrix times vector",
}


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        stop(message)


def stop(message: str) -> NoReturn:
    """Ends the program with a line on standard error and status 2."""
    print(f"peers: {message}", file=sys.stderr)
    sys.exit(2)


def parse(words: list[str]) -> argparse.Namespace:
    """The arguments, checked as far as that is possible without reading a graph."""
    parser = Parser(
        prog="benches/peers/run",
        description="Times vxm beside other libraries of Python, and checks that their answers agree.",
        epilog="Tasks: " + ", ".join(TASKS) + ". See benches/peers/README.md.",
        allow_abbrev=False,
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--threads", metavar="N", type=_number("--threads", 1024), default=cores, help="default: one for each core")
    parser.add_argument("--only", metavar="TASK,..", type=_tasks, default=list(TASKS), help="these tasks alone")
    parser.add_argument("--runs", metavar="K", type=_number("--runs", 1000), default=5, help="the best of K runs counts; default: 5")
    parser.add_argument("--csv", metavar="FILE", help="also write one row for each measurement")
    parser.add_argument("graphs", metavar="GRAPH", nargs="+", help="a generator, such as rmat:16:8, or a file that vxm reads")
    return parser.parse_args(words)


def _number(option: str, most: int):
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
            stop(f"{option}: expected a number from 1 to {most}, found `{text}`")
        return int(text)

    return number


def _tasks(text: str) -> list[str]:
    named = text.split(",")
    for name in named:
        if name not in TASKS:
            stop(f"--only: expected tasks among {', '.join(TASKS)}, found `{name}`")
    return [task for task in TASKS if task in named]


if __name__ == "__main__":
    parse(sys.argv[1:])
