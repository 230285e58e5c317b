"""Graphs for the tests, and a limit of memory."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse

import vxm

@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """16 GB of address space at most."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


SPECS = ["grid:30x40", "rmat:10:8", "er:10:2", "kron:8:16", "road:20", "delaunay:9", "rgg:9"]


@pytest.fixture(params=SPECS)
def graph(request: pytest.FixtureRequest) -> vxm.Graph:
    """A generated graph."""
    return vxm.Graph.from_file(request.param)


def random_matrix(n: int, entries: int, seed: int, dtype: type = np.float64) -> scipy.sparse.csr_array:
    """A matrix with random entries, neither symmetric nor sorted: weights are whole numbers from 1."""
    draw = np.random.default_rng(seed)
    rows, columns = draw.integers(0, n, (2, entries))
    values = draw.integers(1, 100, entries).astype(dtype)
    matrix = scipy.sparse.csr_array((n, n), dtype=dtype)
    matrix = scipy.sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return matrix
