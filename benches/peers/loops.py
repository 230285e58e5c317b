"""Algorithms over python-graphblas, for which it has no function: short loops of products, as its users would write them."""

from __future__ import annotations

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, semiring, unary

from answers import DAMPING

# a frontier of more than this share of all vertices is searched from the other side
PULL = 0.1


def independent_set(a: Matrix, degrees: Vector, seed: int = 1) -> Vector:
    """Luby's algorithm: a vertex joins if its score is above those of all its neighbours. Low degrees score high."""
    n = a.nrows
    members = Vector(bool, n)
    members(~degrees.S) << True
    drawn = Vector.from_dense(np.random.default_rng(seed).random(n, dtype=np.float32))
    scores = drawn.ewise_mult(degrees, binary.truediv).new("FP32")
    while scores.nvals:
        best = Vector("FP32", n)
        best(scores.S) << a.mxv(scores, semiring.max_second)
        winners = scores.ewise_mult(best, binary.gt).new()
        winners = winners.select("==", True).new()
        # vertices whose neighbours are all out have nothing to compare with
        winners(~best.S) << scores.apply(unary.one)
        members(winners.S) << True
        losers = a.mxv(winners, semiring.any_pair).new()
        undecided = Vector("FP32", n)
        undecided(~losers.S) << scores
        scores = Vector("FP32", n)
        scores(~winners.S) << undecided
    members.wait()
    return members


def levels(a: Matrix, source: int) -> Vector:
    """The hops from the source: push from small frontiers, pull to what isn't reached yet from large ones."""
    n = a.nrows
    found = Vector("INT32", n)
    frontier = Vector(bool, n)
    frontier[source] = True
    depth = 0
    while frontier.nvals:
        found(frontier.S) << depth
        depth += 1
        reached = Vector(bool, n)
        if frontier.nvals > PULL * n:
            reached(~found.S) << a.mxv(frontier, semiring.any_pair)
        else:
            reached(~found.S) << frontier.vxm(a, semiring.any_pair)
        frontier = reached
    found.wait()
    return found


def distances(weights: Matrix, source: int) -> Vector:
    """Bellman and Ford's algorithm: in each round, the vertices whose distance has changed try their edges."""
    found = Vector("INT64", weights.nrows)
    found[source] = 0
    changed = found.dup()
    while changed.nvals:
        tried = changed.vxm(weights, semiring.min_plus).new()
        known = tried.ewise_mult(found, binary.ge).new()
        known = known.select("==", True).new()
        changed = Vector("INT64", weights.nrows)
        changed(~known.S) << tried
        found(binary.min) << changed
    found.wait()
    return found


def components(a: Matrix) -> Vector:
    """FastSV: parents of trees are hooked onto the least grandparent next to them, until nothing changes."""
    n = a.nrows
    parent = Vector.from_dense(np.arange(n))
    grand = parent.dup()
    while True:
        least = a.mxv(grand, semiring.min_second).new()
        # a tree's root goes below the least that any of its vertices sees
        at, low = least.to_coo()
        roots = parent.to_dense()[at]
        parent(binary.min) << Vector.from_coo(roots, low, size=n, dup_op=monoid.min)
        parent(binary.min) << least
        parent(binary.min) << grand
        above = parent[parent.to_dense()].new()
        if above.isequal(grand):
            return above
        grand = above


def pagerank(a: Matrix, degrees: Vector, rounds: int) -> Vector:
    """Rounds of PageRank. The rank of vertices without edges goes to all."""
    n = a.nrows
    ranks = Vector.from_dense(np.full(n, 1 / n))
    share = degrees.apply(unary.minv).new("FP64").apply(binary.times, right=DAMPING).new()
    for _ in range(rounds):
        sent = ranks.ewise_mult(share, binary.times).new()
        lost = Vector("FP64", n)
        lost(~degrees.S) << ranks
        base = (1 - DAMPING + DAMPING * lost.reduce(monoid.plus).new().get(0.0)) / n
        received = a.mxv(sent, semiring.plus_second).new()
        ranks = Vector.from_scalar(base, n, "FP64")
        ranks(binary.plus) << received
    ranks.wait()
    return ranks


def triangles(a: Matrix, order: np.ndarray | None = None) -> int:
    """Counts triangles by a masked product of the lower triangle, of the vertices in an order if one is given."""
    if order is not None:
        a = a[order, order].new()
    lower = a.select("tril", -1).new()
    counts = Matrix("INT64", a.nrows, a.ncols)
    counts(lower.S) << lower.mxm(lower.T, semiring.plus_pair)
    return int(counts.reduce_scalar(monoid.plus).new().get(0))


def matrix(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Matrix:
    """A square matrix of the arrays of CSR."""
    n = indptr.size - 1
    return Matrix.ss.import_csr(
        nrows=n, ncols=n, indptr=indptr.astype(np.uint64), col_indices=indices.astype(np.uint64), values=values,
        is_iso=values.size == 1 and indices.size != 1, sorted_cols=True,
    )  # fmt: skip


def use_threads(count: int) -> None:
    """Sets the number of threads of SuiteSparse:GraphBLAS."""
    gb.ss.config["nthreads"] = count
