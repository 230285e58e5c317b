"""The verbs of matrices. Each runs at once, and makes a new matrix, a vector or a number."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _operators as ops
from . import _vxm
from ._algebra import Monoid, Semiring, as_monoid, as_op, as_semiring, casting
from ._arrays import integer, number
from ._errors import ShapeError
from ._kinds import KINDS, NOTHING, kind_of
from ._operators import OperatorError
from ._vectors import Complement, Expression, Vector, _place, _places, _test, closed
from ._words import element, plain, without_fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._matrix import Matrix
    from ._operators import Op

__all__ = ["MatrixVerbs", "matrix_of", "shape_of"]

_MOST = 2**32 - 1


class MatrixVerbs:
    """The verbs of `vxm.Matrix`."""

    __slots__ = ("_core",)
    _core: _vxm.Matrix

    @classmethod
    def _of(cls, core: _vxm.Matrix) -> Matrix:
        made: Any = object.__new__(cls)
        made._core = core
        return made  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self._core.shape

    @property
    def kind(self) -> str:
        """The kind of the entries, as ``u32``; ``()`` for a pattern."""
        return self._core.kind

    def mxm(
        self,
        other: Matrix,
        ring: Semiring,
        *,
        mask: Union[Matrix, Complement, None] = None,
        device: str = "cpu",
        threads: Optional[int] = None,
    ) -> Matrix:
        """The product: ``c[i, j] = add over k of mul(self[i, k], other[k, j])``, in ascending order of ``k``.

        ``mask`` keeps the places where another matrix holds an entry, or with ``~mask`` those where it holds none. Its structure bounds the
        work and the memory. Without it, entries are counted before they are computed.

        >>> import vxm
        >>> triangle = vxm.Graph.from_coo(4, [0, 1, 2, 2], [1, 2, 0, 3]).matrix()
        >>> count = triangle.mxm(triangle, vxm.semiring(vxm.PLUS, vxm.PAIR), mask=triangle)
        >>> int(count.reduce(vxm.PLUS)) // 6
        1

        Raises `vxm.ShapeError`, and `vxm.OutOfMemoryError` before memory is claimed.
        """
        matrix_of(other, "mxm")
        as_semiring(ring, "mxm")
        if self.shape[1] != other.shape[0]:
            raise ShapeError(f"mxm: {_sides(self)} does not fit {_sides(other)}")
        try:
            mul = ring.mul.program(self.kind, other.kind)
        except OperatorError as error:
            raise OperatorError(f"mxm: the left matrix holds {self.kind}, the right one {other.kind}: {error}") from None
        a, b = self._of(self._core), other
        for at, side in ((0, a), (1, b)):
            # then the values needn't be read
            if side.kind != NOTHING and not mul.reads(at):
                try:
                    mul = ring.mul.program(*(NOTHING if k == at else x.kind for k, x in enumerate((a, b))))
                except TypeError:
                    continue
                # where the product is made, so that nothing is brought to the host
                where: Any = {"device": device, "threads": threads}
                a, b = (a.pattern(**where), b) if at == 0 else (a, b.pattern(**where))
        kept = None
        if mask is not None:
            inner = matrix_of(mask.inner if isinstance(mask, Complement) else mask, "mxm: mask")
            if inner.shape != (a.shape[0], b.shape[1]):
                raise ShapeError(f"mxm: a mask of {_sides(inner)} does not fit a product of {a.shape[0]} x {b.shape[1]}")
            kept = (inner._core, isinstance(mask, Complement))
        return self._of(a._core.mxm(b._core, ring.add.of(mul.result), mul, kept, _place(device, threads)))

    def map(self, op: Op, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """``op(a)`` of every entry.

        >>> import vxm
        >>> vxm.Matrix.from_coo([0], [1], [2.0], shape=(1, 2)).map(vxm.MINV)[0, 1]
        np.float64(0.5)
        """
        return self._of(self._core.map(as_op(op).program(self.kind), _place(device, threads)))

    def astype(self, dtype: Any, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries cast to another type, as Rust does: floats are cut to integers, what doesn't fit becomes the nearest value.

        >>> import vxm
        >>> vxm.Matrix.from_coo([0], [1], [2.75], shape=(1, 2)).astype("u32")[0, 1]
        np.uint32(2)
        """
        kind = kind_of(dtype)
        if self.kind == NOTHING:
            raise TypeError("astype: the entries of a pattern have no value: give them one, as in a.map(vxm.PAIR.bind(0))")
        without_fields("astype", self.kind, kind)
        return self._of(self._core.map(casting(self.kind, kind), _place(device, threads)))

    def map_index(self, op: Op, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """``op(row, column, a)`` of every entry. The indices are u32."""
        return self._of(self._core.map_index(as_op(op).program("u32", "u32", self.kind), _place(device, threads)))

    def select(self, op: Op, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries for which ``op(a)`` is true.

        >>> import vxm
        >>> vxm.Matrix.from_coo([0, 1], [1, 0], [2, 5], shape=(2, 2)).select(vxm.GT.bind(3)).nvals
        1
        """
        if self.kind == NOTHING:
            raise TypeError("select: the entries of a pattern have no value: use select_index")
        return self._of(self._core.select(_test(as_op(op).program(self.kind), "select"), _place(device, threads)))

    def select_index(self, op: Op, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries for which ``op(row, column, a)`` is true. The indices are u32."""
        test = _test(as_op(op).program("u32", "u32", self.kind), "select_index")
        return self._of(self._core.select_index(test, _place(device, threads)))

    def tril(self, k: int = 0, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries on the diagonal ``k`` and below it: those with ``column - row <= k``, as NumPy's ``tril``."""
        return self.select_index(_triangle(_offset(k), True), device=device, threads=threads)

    def triu(self, k: int = 0, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries on the diagonal ``k`` and above it: those with ``column - row >= k``, as NumPy's ``triu``."""
        return self.select_index(_triangle(_offset(k), False), device=device, threads=threads)

    def pattern(self, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The places that hold an entry: a matrix without values."""
        return self._of(self._core.pattern(_place(device, threads)))

    def nonzero(self, *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The places that hold an entry other than 0 or false: a mask by value."""
        if self.kind == NOTHING:
            return self._of(self._core)
        without_fields("nonzero", self.kind)
        test = ops.IDENTITY if self.kind == "bool" else ops.NE.bind(KINDS[self.kind].type(0))
        return self.select(test, device=device, threads=threads).pattern(device=device, threads=threads)

    def mask(self, mask: Union[Matrix, Complement], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries where the mask holds one, whatever its value; with ``~mask``, where it holds none."""
        inner = matrix_of(mask.inner if isinstance(mask, Complement) else mask, "mask")
        _same_shape("mask", self, inner)
        return self._of(self._core.masked(inner._core, isinstance(mask, Complement), _place(device, threads)))

    def ewise_add(self, other: Matrix, op: Union[Op, Monoid], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The union: ``op(a, b)`` where both hold an entry, and the only entry where one does."""
        _same_shape("ewise_add", self, matrix_of(other, "ewise_add"))
        _same_kind("ewise_add", self, other)
        program = _joining(op, self.kind, "ewise_add")
        return self._of(self._core.ewise_add(other._core, program, _place(device, threads)))

    def ewise_mult(self, other: Matrix, op: Union[Op, Monoid], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The intersection: ``op(a, b)`` where both hold an entry."""
        _same_shape("ewise_mult", self, matrix_of(other, "ewise_mult"))
        program = as_op(op).program(self.kind, other.kind)
        return self._of(self._core.ewise_mult(other._core, program, _place(device, threads)))

    def ewise_union(
        self, alpha: Any, other: Matrix, beta: Any, op: Union[Op, Monoid], *, device: str = "cpu", threads: Optional[int] = None
    ) -> Matrix:
        """``op(a, b)`` where a matrix holds an entry, with ``alpha`` or ``beta`` for the entry that is missing.

        >>> import vxm
        >>> a = vxm.Matrix.from_coo([0, 0], [0, 1], [5, 6], shape=(1, 3))
        >>> b = vxm.Matrix.from_coo([0, 0], [1, 2], [1, 2], shape=(1, 3))
        >>> a.ewise_union(10, b, 0, vxm.MINUS).to_scipy().toarray()
        array([[5, 5, 8]])
        """
        _same_shape("ewise_union", self, matrix_of(other, "ewise_union"))
        if NOTHING in (self.kind, other.kind):
            raise TypeError("ewise_union: the entries of a pattern have no value")
        program, missing = as_op(op).program(self.kind, other.kind), (
            plain(self.kind, alpha, "ewise_union"),
            plain(other.kind, beta, "ewise_union"),
        )
        return self._of(self._core.ewise_union(other._core, missing, program, _place(device, threads)))

    def kronecker(self, other: Matrix, op: Union[Op, Monoid], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The Kronecker product: ``op(self[i, j], other[k, l])`` at row ``i * m + k``, column ``j * n + l``, if ``other`` is m x n."""
        program = as_op(op).program(self.kind, matrix_of(other, "kronecker").kind)
        return self._of(self._core.kronecker(other._core, program, _place(device, threads)))

    def extract(self, rows: Union[ArrayLike, slice], columns: Union[ArrayLike, slice], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The submatrix ``b[k, l] = self[rows[k], columns[l]]``. An index may occur more than once. A slice takes a range.

        >>> import vxm
        >>> vxm.Matrix.from_diagonal(vxm.Vector.from_numpy([1, 2, 3])).extract([2, 0], [0, 1, 2]).to_scipy().toarray()
        array([[0, 0, 3],
               [1, 0, 0]])
        """
        places = _places(rows, self.shape[0], "rows"), _places(columns, self.shape[1], "columns")
        return self._of(self._core.extract(*places, _place(device, threads)))

    def assign(
        self,
        rows: Union[ArrayLike, slice],
        columns: Union[ArrayLike, slice],
        values: Matrix,
        accum: Union[Op, Monoid, None] = None,
        *,
        device: str = "cpu",
        threads: Optional[int] = None,
    ) -> Matrix:
        """This matrix with ``values[k, l]`` at ``(rows[k], columns[l])``, absence included. All other entries stay. Each index occurs once.

        With ``accum``, an entry of ``values`` is joined with the one that is there, and absence changes nothing.

        >>> import vxm
        >>> a = vxm.Matrix.from_diagonal(vxm.Vector.from_numpy([1, 2, 3]))
        >>> a.assign([0, 2], [0, 2], vxm.Matrix.from_coo([0], [1], [9], shape=(2, 2))).to_scipy().toarray()
        array([[0, 0, 9],
               [0, 2, 0],
               [0, 0, 0]])
        """
        places = _places(rows, self.shape[0], "rows"), _places(columns, self.shape[1], "columns")
        _same_kind("assign", self, matrix_of(values, "assign"))
        join = None if accum is None else _joining(accum, self.kind, "assign")
        return self._of(self._core.assign(*places, values._core, join, _place(device, threads)))

    def resized(self, shape: tuple[int, int], *, device: str = "cpu", threads: Optional[int] = None) -> Matrix:
        """The entries within another shape, which may be smaller or larger."""
        return self._of(self._core.resized(shape_of(shape), _place(device, threads)))

    def reduce_rows(self, monoid: Union[Monoid, Op], *, device: str = "cpu", threads: Optional[int] = None) -> Vector:
        """Each row's entries, folded into one. A row without entries holds none.

        >>> import vxm
        >>> vxm.Matrix.from_coo([0, 0], [0, 2], [5, 7], shape=(2, 3)).reduce_rows(vxm.PLUS).to_numpy(missing=0)
        array([12,  0])
        """
        return _vector(self._core.reduce_rows(self._monoid(monoid, "reduce_rows"), _place(device, threads)))

    def reduce_columns(self, monoid: Union[Monoid, Op], *, device: str = "cpu", threads: Optional[int] = None) -> Vector:
        """Each column's entries, folded into one. A column without entries holds none."""
        return _vector(self._core.reduce_columns(self._monoid(monoid, "reduce_columns"), _place(device, threads)))

    def reduce(self, monoid: Union[Monoid, Op], *, device: str = "cpu", threads: Optional[int] = None) -> Any:
        """All entries, folded into one element of NumPy; the monoid's identity if there are none."""
        adding = self._monoid(monoid, "reduce")
        return element(self.kind, self._core.reduce(adding, _place(device, threads)))

    def degrees(self, *, device: str = "cpu", threads: Optional[int] = None) -> Vector:
        """The number of entries of each row, as u32. A row without entries holds 0."""
        return _vector(self._core.degrees(_place(device, threads)))

    def diagonal(self, *, device: str = "cpu", threads: Optional[int] = None) -> Vector:
        """The entries of the diagonal; of a pattern a set."""
        return _vector(self._core.diagonal(_place(device, threads)))

    def _monoid(self, monoid: Union[Monoid, Op], verb: str) -> _vxm.Monoid:
        if self.kind == NOTHING:
            raise TypeError(f"{verb}: the entries of a pattern have no value: degrees() counts them")
        return as_monoid(monoid).of(self.kind)


@functools.lru_cache(maxsize=64)
def _triangle(k: int, lower: bool) -> Op:
    """Whether an entry lies on the diagonal ``k``, or beside it on one side."""
    limit = np.int64(k)

    def tril(i, j, a):  # type: ignore[no-untyped-def]
        return ops.i64(j) - ops.i64(i) <= limit

    def triu(i, j, a):  # type: ignore[no-untyped-def]
        return ops.i64(j) - ops.i64(i) >= limit

    return ops.op(tril if lower else triu)


def _offset(k: Any) -> int:
    # beyond this every entry lies on one side
    return max(-_MOST - 1, min(integer(k, "k"), _MOST + 1))


def shape_of(shape: Any) -> tuple[int, int]:
    """A shape, if it is one."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape: expected numbers of rows and columns, as (2, 3), found {shape!r}")
    m, n = (number(side, "shape", _MOST, f"0 to {_MOST}") for side in shape)
    return m, n


def _sides(matrix: MatrixVerbs) -> str:
    m, n = matrix.shape
    return f"matrix of {m} x {n}"


def matrix_of(value: Any, verb: str) -> Matrix:
    """The value, if it is a matrix."""
    if not isinstance(value, MatrixVerbs):
        hint = {"Graph": ": take its matrix, by graph.matrix()", "csr_array": ": make one by vxm.Matrix.from_scipy(a)"}
        found = type(value).__name__
        raise TypeError(f"{verb}: expected a vxm.Matrix, found {found}{hint.get(found, '')}")
    return value  # type: ignore[return-value]


def _same_shape(verb: str, one: MatrixVerbs, other: MatrixVerbs) -> None:
    if one.shape != other.shape:
        raise ShapeError(f"{verb}: {_sides(one)} does not fit {_sides(other)}")


def _same_kind(verb: str, one: MatrixVerbs, other: MatrixVerbs) -> None:
    if one.kind != other.kind:
        raise TypeError(f"{verb}: expected matrices of one kind, found {one.kind} and {other.kind}")


def _joining(op: Any, kind: str, verb: str) -> _vxm.Program:
    """The program that joins two entries of a kind into one. Entries of a pattern are joined without it."""
    joins = as_op(op)
    return ops.FIRST.program("u32", "u32") if kind == NOTHING else closed(joins.program(kind, kind), kind, verb)


def _vector(core: _vxm.Expr) -> Vector:
    made = Expression._of(core)
    assert isinstance(made, Vector)
    return made
