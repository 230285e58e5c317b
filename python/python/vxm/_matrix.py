"""Matrices of any shape: the verbs of GraphBLAS that take or make one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _vxm
from ._algebra import Monoid, as_op
from ._arrays import flat, index_of, same_integers
from ._errors import InputError, ShapeError
from ._foreign import csr_on_gpu
from ._graph import Graph
from ._kinds import NOTHING, dtype_of, is_struct, kind_of
from ._matrix_verbs import MatrixVerbs, matrix_of, shape_of
from ._vectors import Complement, Expression, Vector, _cast, _place, _places, closed
from ._words import element, values_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._operators import Op

__all__ = ["Matrix"]


class Matrix(MatrixVerbs):
    """A matrix of any shape, which is stored. It doesn't change. A place may hold no entry.

    Make one with `from_coo`, `from_scipy`, `from_csr`, `from_diagonal`, `from_file` or `Graph.matrix`. A matrix of kind ``()`` is a pattern:
    its entries have no values. Each verb runs at once and makes a new matrix; it takes ``device`` and ``threads``, as those of `vxm.Graph` do.
    Answers don't depend on them. ``x.vxm(a, ring)`` and ``vxm.mxv(a, x, ring)`` multiply a vector.

    >>> import vxm
    >>> a = vxm.Matrix.from_coo([0, 0, 1], [0, 2, 1], [5, 7, 1], shape=(2, 3))
    >>> a
    <vxm.Matrix of 2 x 3, 3 entries of i64>
    >>> a.mxm(a.T, vxm.semiring(vxm.PLUS, vxm.TIMES)).to_scipy().toarray()
    array([[74,  0],
           [ 0,  1]])
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("make a matrix by Matrix.from_coo, from_scipy, from_csr, from_diagonal or from_file")

    @classmethod
    def from_coo(
        cls,
        rows: ArrayLike,
        columns: ArrayLike,
        values: Optional[ArrayLike] = None,
        *,
        shape: tuple[int, int],
        dtype: Any = None,
        duplicates: Union[Op, Monoid, None] = None,
    ) -> Matrix:
        """A matrix with ``values[k]`` at ``(rows[k], columns[k])``; without values, a pattern.

        Two values at one place are refused, unless ``duplicates`` says how they are joined, in the order given. In a pattern a place may
        occur twice. O(n log n) time.

        >>> import vxm
        >>> vxm.Matrix.from_coo([1, 1], [0, 0], [2.5, 4.0], shape=(2, 2), duplicates=vxm.PLUS)[1, 0]
        np.float64(6.5)

        Raises `vxm.InputError`, which names the first place that is wrong.
        """
        m, n = shape_of(shape)
        places = _places(rows, m, "rows"), _places(columns, n, "columns")
        if places[0].size != places[1].size:
            raise ShapeError(f"{places[0].size} rows but {places[1].size} columns")
        if values is None:
            _of_pattern(dtype=dtype, duplicates=duplicates)
            return cls._of(_vxm.Matrix.from_coo(NOTHING, (m, n), *places, None, None))
        array = flat(values if dtype is None else _cast(values, dtype), "values")
        if array.size != places[0].size:
            raise ShapeError(f"{places[0].size} rows but {array.size} values")
        kind = kind_of(array.dtype)
        join = None if duplicates is None else closed(as_op(duplicates).program(kind, kind), kind, "duplicates")
        return cls._of(_vxm.Matrix.from_coo(kind, (m, n), *places, words_of(array, kind), join))

    @classmethod
    def from_csr(
        cls, indptr: ArrayLike, indices: ArrayLike, data: Optional[ArrayLike] = None, *, shape: tuple[int, int], dtype: Any = None
    ) -> Matrix:
        """A matrix of the arrays of CSR: row ``i`` is ``indices[indptr[i]:indptr[i + 1]]``, ascending. Without data, a pattern.

        If they lie on a GPU, as the arrays of CuPy do, so does the matrix.

        >>> import vxm
        >>> vxm.Matrix.from_csr([0, 2, 3], [0, 2, 1], [5, 7, 1], shape=(2, 3))
        <vxm.Matrix of 2 x 3, 3 entries of i64>

        Raises `vxm.InputError`, which names the first entry or row that is wrong.
        """
        sides, on_gpu = shape_of(shape), csr_on_gpu(indptr, indices, data)
        if on_gpu is not None:
            if dtype is not None and (on_gpu[2] is None or kind_of(dtype) != on_gpu[2].kind):
                raise TypeError("dtype: expected none for arrays on a GPU: convert the values there")
            return cls._of(_vxm.Matrix.foreign(sides, on_gpu))
        starts, columns = same_integers(indptr, indices, ("indptr", "indices"))
        if data is None:
            _of_pattern(dtype=dtype)
            return cls._of(_vxm.Matrix.from_csr(NOTHING, sides, starts, columns, None))
        array = flat(data if dtype is None else _cast(data, dtype), "data")
        kind = kind_of(array.dtype)
        return cls._of(_vxm.Matrix.from_csr(kind, sides, starts, columns, words_of(array, kind)))

    @classmethod
    def from_scipy(cls, matrix: Any, dtype: Any = None) -> Matrix:
        """The matrix of a sparse matrix or array of SciPy, explicit zeros included. Duplicates are summed, as SciPy does.

        >>> import scipy.sparse, vxm
        >>> vxm.Matrix.from_scipy(scipy.sparse.eye_array(3, 4, k=1))
        <vxm.Matrix of 3 x 4, 3 entries of f64>

        Raises `vxm.InputError`.
        """
        if not hasattr(matrix, "tocsr"):
            hint = ": make it sparse, by scipy.sparse.csr_array(a)" if isinstance(matrix, np.ndarray) else ""
            raise TypeError(f"expected a sparse matrix of SciPy, found {type(matrix).__name__}{hint}")
        csr = matrix.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return cls.from_csr(csr.indptr, csr.indices, csr.data, shape=csr.shape, dtype=dtype)

    @classmethod
    def from_diagonal(cls, diagonal: Vector, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The square matrix with a vector as its diagonal.

        >>> import vxm
        >>> vxm.Matrix.from_diagonal(vxm.Vector.from_numpy([2.0, 3.0]))[1, 1]
        np.float64(3.0)
        """
        if not isinstance(diagonal, Vector):
            hint = ": eval() makes a vector of it" if isinstance(diagonal, Expression) else ""
            raise TypeError(f"from_diagonal: expected a vector, found {type(diagonal).__name__}{hint}")
        return cls._of(_vxm.Matrix.from_diagonal(diagonal._core, _place(device, threads)))

    @classmethod
    def from_file(cls, path: Union[str, os.PathLike[str]], *, input: Optional[str] = None) -> Matrix:
        """The matrix of a file of Matrix Market, ``.npz`` and the like, unchanged. Values are ``f64``, and 1 where the file has none.

        Raises `vxm.FileError` if it can't be read, and `vxm.InputError`, which names file, line and column, if its text is wrong.
        """
        return cls._of(_vxm.Matrix.from_file(os.fsdecode(path), input))

    @classmethod
    def concat(cls, tiles: Sequence[Sequence[Matrix]], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """One matrix of tiles that lie in rows and columns, all of one kind.

        >>> import vxm
        >>> a = vxm.Matrix.from_diagonal(vxm.Vector.from_numpy([1, 2]))
        >>> vxm.Matrix.concat([[a, a, a]]).shape
        (2, 6)
        """
        if not isinstance(tiles, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in tiles):
            raise TypeError("concat: expected a list of rows, each a list of matrices")
        if not tiles or not tiles[0]:
            raise InputError("concat: expected at least one matrix, found none")
        cores = [[matrix_of(tile, "concat")._core for tile in row] for row in tiles]
        kinds = list(dict.fromkeys(core.kind for row in cores for core in row))
        if len(kinds) > 1:
            raise TypeError(f"concat: expected tiles of one kind, found {kinds[0]} and {kinds[1]}")
        return cls._of(_vxm.Matrix.concat(cores, _place(device, threads)))

    @property
    def dtype(self) -> Optional[np.dtype[Any]]:
        """The type of the entries; None for a pattern."""
        return None if self.kind == NOTHING else dtype_of(self.kind)

    @property
    def nvals(self) -> int:
        """The number of entries."""
        return self._core.nvals

    @property
    def device(self) -> str:
        """Where the matrix was made: ``cpu``, or ``cuda:N``. Copies on other devices are kept once they were used."""
        return self._core.device

    @property
    def T(self) -> Matrix:  # noqa: N802
        """The transpose. It shares what is stored."""
        return self.transpose(device=self.device)

    def transpose(self, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The transpose, on a device."""
        return Matrix._of(self._core.transposed(_place(device, threads)))

    def to(self, device: str) -> Matrix:
        """The matrix on a device. Verbs with that device need no copy then."""
        return Matrix._of(self._core.to_device(_place(device, None)))

    def to_csr(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], Optional[NDArray[Any]]]:
        """Row offsets, columns, and values; None instead of the values of a pattern."""
        starts, columns, words = self._core.csr()
        return starts, columns, None if words is None else values_of(words, self.kind)

    def to_vectors(self) -> tuple[Vector, Vector, Optional[Vector]]:
        """Row offsets (u64), columns (u32), and values as vectors, which lie where the matrix was made; None instead of the values of a pattern."""
        starts, columns, values = (None if core is None else Expression._of(core) for core in self._core.vectors())
        assert isinstance(starts, Vector) and isinstance(columns, Vector) and not isinstance(values, Complement)
        return starts, columns, values if isinstance(values, Vector) else None

    def to_coo(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Optional[NDArray[Any]]]:
        """Rows, columns, and values, row by row; None instead of the values of a pattern.

        >>> import vxm
        >>> vxm.Matrix.from_coo([1, 0], [0, 2], [7, 5], shape=(2, 3)).to_coo()
        (array([0, 1], dtype=uint32), array([2, 0], dtype=uint32), array([5, 7]))
        """
        starts, columns, values = self.to_csr()
        return np.repeat(np.arange(self.shape[0], dtype=np.uint32), np.diff(starts)), columns, values

    def to_scipy(self) -> Any:
        """The matrix as a ``scipy.sparse.csr_array``. Entries of a pattern become true."""
        import scipy.sparse

        if is_struct(self.kind):
            raise TypeError(f"to_scipy: a matrix of SciPy holds numbers, not {self.kind}: take a field by map(op), or use to_coo()")
        starts, columns, values = self.to_csr()
        held = np.ones(columns.size, bool) if values is None else values
        fits = max(columns.size, *self.shape) <= np.iinfo(np.int32).max
        index = np.int32 if fits else np.int64
        return scipy.sparse.csr_array((held, columns.astype(index), starts.astype(index)), shape=self.shape)

    def to_graph(self, *, directed: bool = False, symmetrize: str = "check") -> Graph:
        """The graph whose edges are the entries, with their values as weights, unless this is a pattern. See `Graph.from_csr`. It lies where the
        matrix does.

        >>> import vxm
        >>> vxm.Matrix.from_coo([0, 1], [1, 0], shape=(2, 2)).to_graph().components()
        array([0, 0], dtype=uint32)
        """
        if not is_struct(self.kind):
            return Graph._of(_vxm.Graph.of_matrix(self._core, bool(directed), symmetrize))
        return Graph.from_csr(*self.to_csr(), shape=self.shape, directed=directed, symmetrize=symmetrize)

    def __getitem__(self, place: tuple[int, int]) -> Any:
        """The entry at ``(row, column)``, or None; of a pattern, whether there is one. Raises `vxm.PlaceError` outside of the matrix."""
        if not isinstance(place, tuple) or len(place) != 2:
            raise TypeError("expected a place, as in a[row, column]")
        (m, n), (row, column) = self.shape, place
        found = self._core.get(index_of(row, "row", m), index_of(column, "column", n))
        return element(self.kind, found)

    def __repr__(self) -> str:
        (m, n), held = self.shape, "1 entry" if self.nvals == 1 else f"{self.nvals} entries"
        return f"<vxm.Matrix of {m} x {n}, {held} of {self.kind}>"

    def __eq__(self, other: object) -> bool:
        """Whether both have one shape and kind, and the same entries, bit for bit: NaN equals itself, and 0.0 isn't -0.0."""
        return self._core.equals(other._core) if isinstance(other, Matrix) else NotImplemented

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # not by rows, as indexing by one number would

    def __invert__(self) -> Complement:
        return Complement(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (*self.to_csr(), self.shape)


def _of_pattern(**given: Any) -> None:
    """Refuses arguments that say something of values, where there are none."""
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name}: a pattern has no values: leave it out, or give values")


def _rebuilt(starts: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Matrix:
    """A matrix of what was pickled."""
    return Matrix.from_csr(starts, columns.astype(np.int64), values, shape=shape)
