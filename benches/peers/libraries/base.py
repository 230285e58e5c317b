"""What a library can do, as calls that are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from answers import UNREACHED
from workload import Workload


@dataclass(frozen=True)
class Call:
    """One way to do a task by a library."""

    text: str
    run: Callable[[], Any]
    read: Callable[[Any], Any] = np.asarray
    parallel: bool = False
    """Whether it uses several threads, although its library mostly doesn't."""


class Library:
    """A library with a graph in its own form. Graphs are made outside of all times."""

    name: str
    package: str
    parallel = False
    most_edges: float = float("inf")

    def __init__(self, work: Workload, threads: int) -> None:
        self.work = work
        self.threads = threads

    def threads_of(self, call: Call) -> int:
        """How many threads a call may use."""
        return self.threads if self.parallel or call.parallel else 1

    @classmethod
    def version(cls) -> str:
        """The version of the package."""
        return version(cls.package)

    def calls(self, task: str) -> list[Call]:
        """The ways to do a task; none if the library doesn't have it."""
        method = getattr(self, task.replace("-", "_"), None)
        return method() if method else []


def members(n: int, listed: np.ndarray) -> np.ndarray:
    member = np.zeros(n, dtype=bool)
    member[listed] = True
    return member


def dense(missing: float) -> Callable[[Any], np.ndarray]:
    return lambda vector: vector.to_dense(fill_value=missing)


def finite(found: np.ndarray) -> np.ndarray:
    """Distances as integers, with `UNREACHED` where they are infinite, or so great that they stand for that."""
    return np.where(found < 1e300, found, UNREACHED).astype(np.int64)
