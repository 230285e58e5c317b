"""A graph with other numbers for its vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import unmasked
from ._errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._graph import Graph

__all__ = ["Renumbered"]


@dataclass(frozen=True, eq=False)
class Renumbered:
    """A graph with other numbers for its vertices, and the way back."""

    graph: Graph
    """The graph. Its vertices are numbered from 0, and have no names."""
    old: NDArray[np.uint32]
    """The old number of each of its vertices. So ``old[found.members]`` are members of the old graph."""

    def restored(self, values: ArrayLike) -> NDArray[Any]:
        """Values of the vertices, such as distances or colours, at the places of the old numbers.

        >>> import vxm
        >>> path = vxm.Graph.from_coo(5, [0, 3, 1, 4], [3, 1, 4, 2])
        >>> near = path.renumbered("rcm")
        >>> near.graph.to_scipy().indices.tolist()
        [1, 0, 2, 1, 3, 2, 4, 3]
        >>> near.restored(near.graph.components() == 0).all()
        np.True_

        Raises `vxm.ShapeError` unless there is a value for each vertex.
        """
        array = unmasked(values, "values")
        if array.shape[:1] != self.old.shape:
            raise ShapeError(f"values: expected one for each of {self.old.size} vertices, found an array of {array.shape}")
        made = np.empty_like(array)
        made[self.old] = array
        return made
