"""Checks of answers, by NumPy alone: no library judges itself."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from workload import Workload

DAMPING = 0.85
ROUNDS = 20
TOLERANCE = 1e-6
UNREACHED = -1


class Wrong(Exception):
    """An answer is wrong."""


def judge(task: str, work: Workload, answers: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """What is wrong with answers, by their names; and for each right one a note: a size, a count, a difference."""
    wrong: dict[str, str] = {}
    notes: dict[str, str] = {}
    for name, answer in answers.items():
        try:
            if np.ndim(answer) and np.size(answer) != work.vertices:
                raise Wrong(f"{np.size(answer)} numbers for {work.vertices} vertices")
            notes[name] = _CERTIFICATES[task](work, answer) if task in _CERTIFICATES else ""
        except Wrong as error:
            wrong[name] = str(error)
    left = {name: answer for name, answer in answers.items() if name not in wrong}
    if task in ("pagerank", "pagerank-tol"):
        _ranks(task, work, left, wrong, notes)
    elif task not in _CERTIFICATES:
        _equal(task, left, wrong, notes)
    return wrong, notes


def partition(labels: Any) -> np.ndarray:
    """Labels of a partition, each replaced by the least vertex that has it."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)]


def _equal(task: str, answers: dict[str, Any], wrong: dict[str, str], notes: dict[str, str]) -> None:
    """The answer that most have is right. If no answer has most voices, none is known to be right."""
    keys = {name: np.asarray(answer, dtype=np.int64).tobytes() for name, answer in answers.items()}
    votes = Counter(keys.values()).most_common()
    tie = len(votes) > 1 and votes[0][1] == votes[1][1]
    for name, key in keys.items():
        if tie or key != votes[0][0]:
            others = ", ".join(other for other in keys if keys[other] != key)
            wrong[name] = f"{_shown(task, answers[name])} differs from the answer of {others}"
        else:
            notes[name] = _shown(task, answers[name])


def _shown(task: str, answer: Any) -> str:
    if task == "components":
        return _counted(np.unique(answer).size, "component")
    if task == "cores":
        return f"degeneracy {int(np.max(answer))}"
    return _counted(int(answer), "triangle") if task == "triangles" else f"weight {int(answer)}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count != 1 else "")


def _ranks(task: str, work: Workload, answers: dict[str, np.ndarray], wrong: dict[str, str], notes: dict[str, str]) -> None:
    """Ranks must be those of NumPy.

    After the same rounds only rounding differs. With a tolerance, the ranks are off by at most tolerance * damping / (1 - damping) in all.
    """
    fixed = task == "pagerank"
    right = _ranked(work, ROUNDS if fixed else 1000, 0.0 if fixed else TOLERANCE / 1000)
    for name, ranks in answers.items():
        apart = np.abs(ranks - right)
        if fixed:
            off, most = float((apart / right).max()), 1e-9
        else:
            off, most = float(apart.sum()), 1.01 * TOLERANCE * DAMPING / (1 - DAMPING)
        if off <= most:
            notes[name] = f"largest rank {ranks.max():.6g}, off by up to {apart.max():.1g}"
        else:
            wrong[name] = f"ranks add up to {ranks.sum():.9f}, and are off by up to {apart.max():.1g}"


def _ranked(work: Workload, rounds: int, tolerance: float) -> np.ndarray:
    n, lone = work.vertices, work.degrees == 0
    ranks = np.full(n, 1 / n)
    for _ in range(rounds):
        share = ranks / np.maximum(work.degrees, 1)
        received = np.bincount(work.rows, weights=share[work.indices], minlength=n)
        before, ranks = ranks, (1 - DAMPING + DAMPING * ranks[lone].sum()) / n + DAMPING * received
        if np.abs(ranks - before).sum() < tolerance:
            break
    return ranks


def _set(work: Workload, member: np.ndarray) -> str:
    if (member[work.rows] & member[work.indices]).any():
        raise Wrong("two members are neighbours")
    seen = np.bincount(work.rows, weights=member[work.indices], minlength=work.vertices) > 0
    if not (member | seen).all():
        raise Wrong(f"vertex {int(np.argmin(member | seen))} could join the set")
    return _counted(int(member.sum()), "member")


def _coloring(work: Workload, colors: np.ndarray) -> str:
    same = colors[work.rows] == colors[work.indices]
    if same.any():
        at = int(np.argmax(same))
        raise Wrong(f"the neighbours {work.rows[at]} and {work.indices[at]} have the same colour")
    return _counted(np.unique(colors).size, "colour")


def _distances(work: Workload, weights: np.ndarray | int, found: np.ndarray) -> int:
    """Checks that `found` are the least distances from the source; weights are positive. Returns how many vertices are reached.

    No edge may shorten a distance, and every reached vertex needs an edge that gives it its distance.
    """
    found = np.asarray(found, dtype=np.int64)
    reached = found != UNREACHED
    if found[work.source] != 0:
        raise Wrong(f"the source is at distance {found[work.source]}")
    start, end = reached[work.rows], reached[work.indices]
    if (start != end).any():
        raise Wrong("an edge leads from a reached vertex to one that isn't")
    through = found[work.rows] + weights
    if (start & (through < found[work.indices])).any():
        raise Wrong("an edge shortens a distance")
    tight = np.zeros(work.vertices, dtype=bool)
    tight[work.indices[start & (through == found[work.indices])]] = True
    tight[work.source] = True
    if (reached & ~tight).any():
        raise Wrong(f"no path gives vertex {int(np.argmax(reached & ~tight))} its distance")
    return int(reached.sum())


def _levels(work: Workload, found: np.ndarray) -> str:
    reached = _distances(work, 1, found)
    return f"{reached} reached, {_counted(int(np.max(found)) + 1, 'level')}"


def _paths(work: Workload, found: np.ndarray) -> str:
    reached = _distances(work, work.weights, found)
    return f"{reached} reached, farthest {int(np.max(found))}"


def _product(work: Workload, found: np.ndarray) -> str:
    expected = np.bincount(work.rows, weights=work.weights * work.x[work.indices], minlength=work.vertices)
    if not np.array_equal(found, expected):
        raise Wrong(f"element {int(np.argmax(found != expected))} of the product is wrong")
    return f"sum {int(found.sum())}"


_CERTIFICATES = {"mis": _set, "color": _coloring, "bfs": _levels, "sssp": _paths, "spmv": _product}
