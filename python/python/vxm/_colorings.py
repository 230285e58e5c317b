"""Colourings of graphs and of matrices, and aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _vxm
from ._arrays import number, permutation, same_integers, seed_of, threads_of, unsigned
from ._errors import InputError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Aggregates", "Coloring", "Colorings", "Extension", "arrays_of", "asked_order", "color_columns", "color_rows", "decompress"]

_MOST_COLORS = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Coloring:
    """A colouring of vertices, columns or rows."""

    colors: NDArray[np.uint32]
    """The colour of each, from 1."""
    count: int
    """The number of colours: 1 to ``count``, each used."""
    rounds: int
    """How many rounds it took. It may depend on the schedule."""

    def classes(self) -> list[NDArray[np.intp]]:
        """The members of each colour, ascending, from colour 1 on.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 1], [1, 2]).color(order=[0, 1, 2]).classes()
        [array([0, 2]), array([1])]
        """
        order = np.argsort(self.colors, kind="stable")
        starts = np.searchsorted(self.colors[order], np.arange(1, self.count + 2))
        return [order[start:end] for start, end in zip(starts[:-1], starts[1:])]

    def seeds(self) -> NDArray[np.float64]:
        """The matrix with a column for each colour, which is 1 at its members and 0 elsewhere: what a matrix is multiplied by to be compressed.

        >>> import vxm
        >>> vxm.Graph.from_coo(3, [0, 1], [1, 2]).color(order=[0, 1, 2]).seeds()
        array([[1., 0.],
               [0., 1.],
               [1., 0.]])
        """
        found = np.zeros((self.colors.size, self.count))
        found[np.arange(self.colors.size), self.colors.astype(np.intp) - 1] = 1.0
        return found


@dataclass(frozen=True, eq=False)
class Extension:
    """A colouring of which a part was given, with a most number of colours."""

    colors: NDArray[np.uint32]
    """The colour of each vertex, from 1; 0 if it has none."""
    left: int
    """How many vertices have none."""
    rounds: int
    """How many rounds it took. It may depend on the schedule."""


@dataclass(frozen=True, eq=False)
class Aggregates:
    """A partition of a graph around roots."""

    aggregate: NDArray[np.uint32]
    """The number of each vertex' aggregate."""
    roots: NDArray[np.uint32]
    """The root of each aggregate, ascending."""
    rounds: int
    """How many rounds it took to find the roots."""


class Colorings:
    """The methods of a graph that colour it or divide it."""

    __slots__ = ()
    _core: _vxm.Graph

    def color(
        self,
        *,
        method: str = "jp",
        rule: str = "neighbors",
        order: Union[str, ArrayLike] = "largest-degree-first",
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> Coloring:
        """A colouring in which neighbours have different colours, or vertices by another rule.

        ``rule`` is ``neighbors``; ``distance-2``, where vertices with a common neighbour differ too; or ``star``, where they may have the same
        colour only if that of the neighbour is less. ``method`` is for ``neighbors`` alone: ``is``, ``max-times``, ``mis``,
        ``jp``, ``min-max``, ``hash``, ``neighbor-reduce`` or ``speculative``. ``order`` is ``random``, ``largest-degree-first``, ``smallest-degree-last`` or ``natural``. It may also be an array of all vertices; then the method is ``jp``,
        and the result is the sequential greedy colouring of that order.

        >>> import vxm
        >>> triangle = vxm.Graph.from_coo(3, [0, 1, 2], [1, 2, 0])
        >>> triangle.color().count
        3
        >>> triangle.color(order=[2, 0, 1]).colors
        array([2, 3, 1], dtype=uint32)
        >>> star = vxm.Graph.from_coo(4, [0, 0, 0], [1, 2, 3])
        >>> [star.color(rule=rule).count for rule in ("neighbors", "distance-2", "star")]
        [2, 4, 2]

        Raises `vxm.InputError` if the graph is directed and not symmetric, or an option is unknown.
        """
        place = (device, format, threads_of(threads))
        if rule != "neighbors":
            if method != "jp":
                raise InputError(f"method: expected none with the rule `{rule}`, found `{method}`")
            return Coloring(*_vxm.color_by(self._core, rule, asked_order(order, seed, self._core.vertices), place))
        if isinstance(order, str):
            return Coloring(*_vxm.color(self._core, method, order, seed_of(seed), place))
        if method != "jp":
            raise InputError(f"method: expected `jp` for an order of one's own, found `{method}`")
        key = permutation(order, self._core.vertices)
        return Coloring(*_vxm.color_in_order(self._core, key, place))

    def extend_coloring(
        self,
        given: ArrayLike,
        *,
        most: int = _MOST_COLORS,
        order: Union[str, ArrayLike] = "largest-degree-first",
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> Extension:
        """Extends a partial colouring with the colours 1 to ``most``. Vertices that find none free are left without.

        ``given`` holds a colour for each vertex, and 0 where there is none yet. ``order`` is as in `color`: vertices late in it are left out first,
        so in register allocation it falls with what it costs to keep a value in memory.

        >>> import numpy as np, vxm
        >>> graph = vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3])
        >>> cost = np.array([50, 1, 20, 30])
        >>> found = graph.extend_coloring([0, 1, 0, 0], most=2, order=np.argsort(-cost))
        >>> found.colors, found.left
        (array([2, 1, 0, 1], dtype=uint32), 1)

        Raises `vxm.InputError`: the graph is directed and not symmetric, a given colour is above ``most``, or neighbours are given the same.
        """
        n = self._core.vertices
        colors = unsigned(given, "given")
        if colors.size != n:
            raise ShapeError(f"given: expected a colour for each of {n} vertices, found {colors.size}")
        most = number(most, "most", _MOST_COLORS, f"0 to {_MOST_COLORS}")
        place = (device, format, threads_of(threads))
        return Extension(*_vxm.extend_coloring(self._core, colors, most, asked_order(order, seed, n), place))

    def aggregates(
        self,
        *,
        order: Union[str, ArrayLike] = "random",
        seed: int = 0,
        device: str = "cpu",
        threads: Optional[int] = None,
        format: str = "auto",
    ) -> Aggregates:
        """Divides the graph into aggregates, as algebraic multigrid does with the unknowns of an equation.

        The roots are a maximal independent set at distance 2. An aggregate has one root and all its neighbours; every other member is next to one
        of those. ``order`` is ``random``, ``degree``, ``sorted`` or ``sorted-id``, or an array of all vertices: names of priorities, as `Graph.mis`
        has them. For a matrix of weights, pass the graph of its strong connections.

        >>> import vxm
        >>> path = vxm.Graph.from_coo(6, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
        >>> path.aggregates(order=[1, 4, 0, 2, 3, 5]).aggregate
        array([0, 0, 0, 1, 1, 1], dtype=uint32)

        Raises `vxm.InputError` if the graph is directed and not symmetric.
        """
        if isinstance(order, str) and order == "resolve":
            raise InputError("order `resolve`: expected random, degree, sorted or sorted-id")
        asked = asked_order(order, seed, self._core.vertices)
        return Aggregates(*_vxm.aggregates(self._core, asked, (device, format, threads_of(threads))))


def color_columns(
    matrix: Any,
    *,
    order: Union[str, ArrayLike] = "largest-degree-first",
    seed: int = 0,
    device: str = "cpu",
    threads: Optional[int] = None,
) -> Coloring:
    """Colours the columns of a sparse matrix of SciPy, which may be rectangular, so that two with an entry in the same row differ.

    One product with the matrix along the sum of a colour's unit vectors yields all entries of its columns: `Coloring.seeds` has these vectors,
    and `decompress` takes the products apart. Stored entries count, explicit zeros included. ``order`` is as in `Graph.color`.

    >>> import numpy as np, scipy.sparse, vxm
    >>> jacobian = scipy.sparse.csr_array([[2.0, 3.0, 0.0, 0.0], [0.0, 5.0, 7.0, 0.0], [0.0, 0.0, 11.0, 13.0]])
    >>> found = vxm.color_columns(jacobian)
    >>> found.count
    2
    >>> products = jacobian @ found.seeds()
    >>> vxm.decompress(jacobian, found.colors, products).toarray()
    array([[ 2.,  3.,  0.,  0.],
           [ 0.,  5.,  7.,  0.],
           [ 0.,  0., 11., 13.]])

    Raises `vxm.InputError`.
    """
    return _columns_colored(matrix, "columns", order, seed, (device, "auto", threads_of(threads)))


def color_rows(
    matrix: Any,
    *,
    order: Union[str, ArrayLike] = "largest-degree-first",
    seed: int = 0,
    device: str = "cpu",
    threads: Optional[int] = None,
) -> Coloring:
    """Colours the rows of a sparse matrix of SciPy so that two with an entry in the same column differ: `color_columns` of the transpose.

    >>> import scipy.sparse, vxm
    >>> vxm.color_rows(scipy.sparse.csr_array([[1, 0], [1, 0], [0, 1]]), order=[0, 1, 2]).colors
    array([1, 2, 1], dtype=uint32)
    """
    return _columns_colored(_csr(matrix).T, "rows", order, seed, (device, "auto", threads_of(threads)))


def decompress(pattern: Any, colors: ArrayLike, compressed: ArrayLike, *, by: str = "columns") -> Any:
    """The entries of a sparse matrix, from its products with the seeds of a colouring.

    ``pattern`` is a sparse matrix of SciPy with the entries to find; its values don't matter. ``compressed`` holds the products with
    `Coloring.seeds`, a column for each colour. The colours must be those of a colouring of this pattern by this rule: others give
    wrong numbers, and `certify.column_coloring` tells. ``by`` tells what was coloured: ``columns``; ``rows``, where row ``c - 1`` of ``compressed`` is the sum of the
    rows of colour ``c``; or ``star``, for a symmetric matrix whose graph has a star colouring (``Graph.color(rule="star")``). Returns a CSR array.

    >>> import scipy.sparse, vxm
    >>> arrow = scipy.sparse.csr_array([[9, 1, 2], [1, 7, 0], [2, 0, 7]])
    >>> found = vxm.Graph.from_scipy(arrow).color(rule="star")
    >>> found.count
    2
    >>> vxm.decompress(arrow, found.colors, arrow @ found.seeds(), by="star").toarray()
    array([[9., 1., 2.],
           [1., 7., 0.],
           [2., 0., 7.]])

    Raises `vxm.InputError`, or `vxm.ShapeError` if the shapes don't match.
    """
    import scipy.sparse

    csr = _csr(pattern)
    values = np.asarray(compressed.toarray() if hasattr(compressed, "toarray") else compressed)
    color = unsigned(colors, "colors").astype(np.intp)
    m, n = csr.shape
    if by not in ("columns", "rows", "star"):
        raise InputError(f"by: expected columns, rows or star, found `{by}`")
    if by == "star" and m != n:
        raise ShapeError(f"pattern: expected a square matrix, found {m} x {n}")
    if color.size != (m if by == "rows" else n):
        raise ShapeError(f"colors: expected one for each of {m if by == 'rows' else n}, found {color.size}")
    if color.size and color.min() == 0:
        raise InputError(f"colors: expected colours from 1, found none at {int(np.argmin(color))}")
    count = int(color.max(initial=0))
    expected = (count, n) if by == "rows" else (m, count)
    if values.shape != expected:
        raise ShapeError(f"compressed: expected an array of {expected[0]} x {expected[1]}, found {values.shape}")
    row, column = np.repeat(np.arange(m), np.diff(csr.indptr)), csr.indices
    if by == "star":
        # of the entries (i, j) and (j, i), the one in the column of the lesser colour is alone there
        swapped = color[column] > color[row]
        row, column = np.where(swapped, column, row), np.where(swapped, row, column)
    data = values[color[row] - 1, column] if by == "rows" else values[row, color[column] - 1]
    return scipy.sparse.csr_array((data, csr.indices.copy(), csr.indptr.copy()), shape=csr.shape)


def _columns_colored(matrix: Any, what: str, order: Union[str, ArrayLike], seed: int, place: _vxm.Place) -> Coloring:
    """The colouring of a matrix' columns, which messages call ``what``."""
    shape, starts, columns = arrays_of(matrix)
    return Coloring(*_vxm.color_columns(shape, starts, columns, asked_order(order, seed, shape[1], what), place))


def arrays_of(matrix: Any) -> tuple[tuple[int, int], NDArray[Any], NDArray[Any]]:
    """The shape, row offsets and columns of a sparse matrix of SciPy."""
    csr = _csr(matrix)
    return csr.shape, *same_integers(csr.indptr, csr.indices, ("indptr", "indices"))


def _csr(matrix: Any) -> Any:
    """A sparse matrix of SciPy in CSR, with sorted columns and without duplicates."""
    try:
        csr = matrix.tocsr()
    except AttributeError:
        raise TypeError(f"expected a sparse matrix of SciPy, found {type(matrix).__name__}") from None
    if csr.ndim != 2:
        raise ShapeError(f"expected a sparse matrix, found an array with {csr.ndim} axis")
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is matrix else csr
        csr.sum_duplicates()
    return csr


def asked_order(
    order: Union[str, ArrayLike], seed: int, n: int, what: str = "vertices"
) -> tuple[str, int, Optional[NDArray[np.uint32]]]:
    """An order as the compiled part takes it: a name and a seed, or keys."""
    if isinstance(order, str):
        return order, seed_of(seed), None
    return "", seed_of(seed), permutation(order, n, what)
