"""What labels say: each vertex' label is the least vertex of its component."""

from __future__ import annotations

from typing import Any, Iterator

import networkx as nx
import numpy as np

from ._graph import BackendGraph

__all__ = ["count_of", "is_one", "parts_of"]


def parts_of(G: BackendGraph, labels: np.ndarray) -> Iterator[set[Any]]:
    """The nodes of each component, by their first nodes."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    parts = np.split(order, ends) if order.size else []
    return (set(G.named(part)) for part in parts)


def count_of(labels: np.ndarray) -> int:
    """The number of components."""
    return int((labels == np.arange(labels.size)).sum())


def is_one(labels: np.ndarray) -> bool:
    """Whether there is one component. A graph without nodes is an error, as in networkx."""
    if labels.size == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return not labels.any()
