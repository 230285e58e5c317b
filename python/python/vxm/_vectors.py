"""Vectors, and expressions of them: the verbs of GraphBLAS over a graph's matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _operators as ops
from . import _vxm
from ._algebra import Monoid, Semiring, as_monoid, as_op, as_semiring, casting
from ._arrays import flat, index_of, integers, number, unmasked
from ._errors import InputError, PlaceError, ShapeError
from ._foreign import Lent
from ._graph import Graph
from ._kinds import FLOATS, KINDS, NOTHING, dtype_of, is_struct, kind_of
from ._operators import OperatorError
from ._words import element, plain, record, records, values_of, without_fields, words_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._matrix import Matrix
    from ._operators import Op

__all__ = ["Complement", "Expression", "Vector", "fill", "map2", "map3", "mxv"]

_MOST = 2**32 - 1
_Place = tuple[str, str, Optional[int]]


def _same_length(what: str, one: int, other: int) -> None:
    if one != other:
        raise ShapeError(f"{what}: a vector of {one} does not fit one of {other}")


class Complement:
    """A mask that selects the places where an expression or a matrix holds nothing: ``~expression``."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __invert__(self) -> Any:
        return self.inner


class Expression:
    """What a vector is computed by: a vector, or verbs over expressions. Nothing runs before `eval`, `reduce`, or a loop.

    An expression knows its length and the kind of its elements. A place may hold no element. Verbs are those of GraphBLAS: a union takes
    the only element where one operand has none, an intersection drops it.
    """

    __slots__ = ("_core",)
    _core: _vxm.Expr

    @classmethod
    def _of(cls, core: _vxm.Expr) -> Expression:
        made = object.__new__(Vector if core.is_vector else Expression)
        made._core = core
        return made

    def __init__(self) -> None:
        raise TypeError("make a vector by Vector.from_numpy, from_pairs, full or members")

    def __len__(self) -> int:
        return len(self._core)

    @property
    def kind(self) -> str:
        """The kind of the elements, as ``u32``; ``()`` for a set, which holds no values."""
        return self._core.kind

    def __repr__(self) -> str:
        return f"<vxm.{type(self).__name__} of {len(self)} {self.kind}>"

    def vxm(self, graph: Union[Graph, Matrix], ring: Semiring) -> Expression:
        """The product with a matrix, or a graph's: ``w[j] = add over edges (i, j) of mul(self[i], weight)``.

        Without weights, an edge's entry has no value: use a multiplication such as `vxm.FIRST` that doesn't read it.

        >>> import vxm
        >>> path = vxm.Graph.from_coo(3, [0, 1], [1, 2], [5, 7])
        >>> length = vxm.Vector.from_numpy([0, 100, 100], dtype="u64")
        >>> length.vxm(path, vxm.semiring(vxm.MIN, vxm.PLUS)).eval().to_numpy()
        array([105,   5, 107], dtype=uint64)
        """
        return self._product(graph, ring, transposed=False)

    def _product(self, graph: Union[Graph, Matrix], ring: Semiring, transposed: bool) -> Expression:
        from ._matrix import Matrix

        verb = "mxv" if transposed else "vxm"
        if not isinstance(graph, (Graph, Matrix)):
            raise TypeError(f"{verb}: expected a vxm.Graph or a vxm.Matrix, found {type(graph).__name__}")
        as_semiring(ring, verb)
        if isinstance(graph, Matrix):
            if len(self) != graph.shape[transposed]:
                m, n = graph.shape
                raise ShapeError(f"{verb}: a vector of {len(self)} does not fit a matrix of {m} x {n}")
        elif len(self) != graph.vertices:
            raise ShapeError(f"{verb}: a vector of {len(self)} does not fit a graph of {graph.vertices} vertices")
        if self.kind == NOTHING:
            raise TypeError(f"{verb}: the elements of a set have no value: give them one, as in set.map(vxm.PAIR.bind(0))")

        def program(entry: str) -> _vxm.Program:
            kinds = (entry, self.kind) if transposed else (self.kind, entry)
            made = ring.mul.program(*kinds)
            return made.flipped() if transposed else made

        dtype = graph.dtype
        try:
            mul = program(NOTHING if dtype is None else kind_of(dtype))
        except OperatorError as error:
            owner, held = ("the matrix", "values") if isinstance(graph, Matrix) else ("the graph", "weights")
            told = f"{owner} has no {held}" if dtype is None else f"{owner}'s {held} {kind_of(dtype)}"
            raise OperatorError(f"{verb}: the vector holds {self.kind}, {told}: {error}") from None
        if isinstance(graph, Matrix):
            core = self._core.matrix_product(graph._core, transposed, ring.add.of(mul.result), mul)
            return Expression._of(core)
        weighted = dtype is not None
        if weighted and not mul.reads(1):
            # then the weights needn't be brought
            try:
                mul, weighted = program(NOTHING), False
            except TypeError:
                pass
        core = self._core.product(graph._core, weighted, transposed, ring.add.of(mul.result), mul)
        return Expression._of(core)

    def map(self, op: Op) -> Expression:
        """``op(x)`` of every element."""
        return Expression._of(self._core.map(as_op(op).program(self.kind)))

    def map_index(self, op: Op) -> Expression:
        """``op(index, x)`` of every element. The index is u32."""
        return Expression._of(self._core.map_index(as_op(op).program("u32", self.kind)))

    def astype(self, dtype: Any) -> Expression:
        """The elements cast to another type, as Rust does: floats are cut to integers, what doesn't fit becomes the nearest value.

        >>> import vxm
        >>> vxm.Vector.from_numpy([1.5, -2.5, 300.0]).astype("u8").eval().to_numpy()
        array([  1,   0, 255], dtype=uint8)
        """
        kind = kind_of(dtype)
        if self.kind == NOTHING:
            raise TypeError("astype: the elements of a set have no value: give them one, as in set.map(vxm.PAIR.bind(0))")
        without_fields("astype", self.kind, kind)
        return Expression._of(self._core.map(casting(self.kind, kind)))

    def ewise_add(self, other: Expression, op: Union[Op, Monoid]) -> Expression:
        """The union: ``op(x, y)`` where both hold an element, and the only element where one does."""
        _same_length("ewise_add", len(self), len(_expression(other, "ewise_add")))
        if self.kind != other.kind:
            raise TypeError(f"ewise_add: expected operands of one kind, found {self.kind} and {other.kind}")
        if self.kind == NOTHING:
            return Expression._of(self._core.ewise_add(other._core, ops.FIRST.program("u32", "u32")))
        program = closed(as_op(op).program(self.kind, self.kind), self.kind, "ewise_add")
        return Expression._of(self._core.ewise_add(other._core, program))

    def ewise_mult(self, other: Expression, op: Union[Op, Monoid]) -> Expression:
        """The intersection: ``op(x, y)`` where both hold an element."""
        _same_length("ewise_mult", len(self), len(_expression(other, "ewise_mult")))
        return Expression._of(self._core.ewise_mult(other._core, as_op(op).program(self.kind, other.kind)))

    def select(self, op: Op) -> Expression:
        """The elements for which ``op(x)`` is true."""
        return Expression._of(self._core.select(_test(as_op(op).program(self.kind), "select")))

    def select_index(self, op: Op) -> Expression:
        """The elements for which ``op(index, x)`` is true."""
        return Expression._of(self._core.select_index(_test(as_op(op).program("u32", self.kind), "select_index")))

    def or_(self, value: Any) -> Expression:
        """The elements, and ``value`` at every place that holds none."""
        if self.kind == NOTHING:
            raise TypeError("or_: the elements of a set have no value: all of its places are Vector.members(n, range(n))")
        return Expression._of(self._core.or_(plain(self.kind, value, "or_")))

    def or_identity(self) -> Expression:
        """A product's elements, and the identity of its monoid at every place that holds none."""
        return Expression._of(self._core.or_identity())

    def pattern(self) -> Expression:
        """The set of places that hold an element."""
        return Expression._of(self._core.pattern())

    def nonzero(self) -> Expression:
        """The set of places that hold an element other than 0 or false: a mask by value."""
        if self.kind == NOTHING:
            return self
        without_fields("nonzero", self.kind)
        return self.select(ops.IDENTITY if self.kind == "bool" else ops.NE.bind(KINDS[self.kind].type(0))).pattern()

    def gather(self, index: Expression) -> Expression:
        """``w[k] = self[index[k]]``, for an index of kind u32. It is absent where either is."""
        if _expression(index, "gather").kind != "u32":
            raise TypeError(f"gather: expected an index of kind u32, found {index.kind}: make it with dtype=\"u32\"")
        return Expression._of(self._core.gather(index._core))

    def pointer_jump(self, op: Op = ops.IDENTITY) -> Expression:
        """The ends of chains of pointers, of kind u32: ``y = self[i]``, then ``y = self[op(y)]`` while that is less.

        >>> import vxm
        >>> vxm.Vector.from_numpy([0, 0, 1, 2, 4], dtype="u32").pointer_jump().eval().to_numpy()
        array([0, 0, 0, 0, 4], dtype=uint32)
        """
        if self.kind != "u32":
            raise TypeError(f"pointer_jump: expected elements of kind u32, found {self.kind}")
        return Expression._of(self._core.pointer_jump(closed(as_op(op).program("u32"), "u32", "pointer_jump")))

    def mask(self, mask: Union[Expression, Complement]) -> Expression:
        """The elements where the mask holds one, whatever its value; with ``~mask``, where it holds none."""
        inner = _expression(mask.inner if isinstance(mask, Complement) else mask, "mask")
        _same_length("mask", len(self), len(inner))
        held = inner if inner.kind == NOTHING else inner.pattern()
        return Expression._of(self._core.mask(held._core, isinstance(mask, Complement)))

    def __getattr__(self, name: str) -> Any:
        hint = ": eval() makes a vector of it" if name in dir(Vector) else ""
        raise AttributeError(f"an expression has no attribute {name!r}{hint}")

    def __invert__(self) -> Complement:
        return Complement(self)

    def eval(self, *, device: str = "cpu", threads: Optional[int] = None) -> Vector:
        """The vector that the expression stands for. It lies on the device where it was made.

        ``device`` and ``threads`` are as in `vxm.Graph`. Answers don't depend on them.

        >>> import vxm
        >>> u = vxm.Vector.from_numpy([1.0, 5.0, 2.0])
        >>> u.map(vxm.TIMES.bind(0.5)).eval().to_numpy()
        array([0.5, 2.5, 1. ])
        """
        made = Expression._of(_vxm.eval(self._core, _place(device, threads)))
        assert isinstance(made, Vector)
        return made

    def reduce(self, monoid: Union[Monoid, Op], *, device: str = "cpu", threads: Optional[int] = None) -> Any:
        """All elements, folded into one element of NumPy; the monoid's identity if there are none.

        >>> import vxm
        >>> int(vxm.Vector.from_numpy([1, 5, 2]).reduce(vxm.MAX))
        5
        """
        if self.kind == NOTHING:
            raise TypeError("reduce: the elements of a set have no value: nvals counts them")
        folded = _vxm.reduce(self._core, as_monoid(monoid).of(self.kind), _place(device, threads))
        return element(self.kind, folded)


class Vector(Lent, Expression):
    """A vector that is stored. It doesn't change.

    Make one with `from_numpy`, `from_dlpack`, `from_pairs`, `full` or `members`. A place may hold no element.
    """

    __slots__ = ()

    @classmethod
    def from_numpy(cls, values: ArrayLike, dtype: Any = None) -> Vector:
        """A vector with an element at each place. Without ``dtype``, elements have the array's type.

        >>> import vxm
        >>> vxm.Vector.from_numpy([3, 1, 2], dtype="u32")
        <vxm.Vector of 3 u32>
        """
        array = flat(values if dtype is None else _cast(values, dtype), "values")
        kind = kind_of(array.dtype)
        number(array.size, "values", _MOST, f"0 to {_MOST} values")
        return cls._made(kind, array.size, None, words_of(array, kind))

    @classmethod
    def from_pairs(cls, n: int, indices: ArrayLike, values: ArrayLike, dtype: Any = None) -> Vector:
        """A vector of ``n`` places with ``values[k]`` at ``indices[k]``. No index may occur twice.

        >>> import vxm
        >>> u = vxm.Vector.from_pairs(4, [2, 0], [7.0, 5.0])
        >>> u.nvals, float(u[2]), u[1]
        (2, 7.0, None)
        """
        array = flat(values if dtype is None else _cast(values, dtype), "values")
        n = number(n, "n", _MOST, f"0 to {_MOST} places")
        places = _places(indices, n)
        if places.size != array.size:
            raise ShapeError(f"{places.size} indices but {array.size} values")
        kind = kind_of(array.dtype)
        return cls._made(kind, n, places, words_of(array, kind))

    @classmethod
    def full(cls, n: int, value: Any, dtype: Any = None) -> Vector:
        """A vector of ``n`` places that all hold ``value``."""
        count = number(n, "n", _MOST, f"0 to {_MOST} places")
        checked = single(value, kind_of(np.asarray(value).dtype if dtype is None else dtype), "value")
        return cls.from_numpy(np.full(count, checked, checked.dtype))

    @classmethod
    def members(cls, n: int, indices: ArrayLike) -> Vector:
        """A set of places: a vector without values, for masks.

        >>> import vxm
        >>> vxm.Vector.members(5, [4, 1])
        <vxm.Vector of 5 ()>
        """
        made = Expression._of(_vxm.Expr.set(number(n, "n", _MOST, f"0 to {_MOST} places"), _places(indices, n)))
        assert isinstance(made, Vector)
        return made

    @classmethod
    def _made(cls, kind: str, n: int, places: Optional[NDArray[np.uint32]], words: NDArray[Any]) -> Vector:
        make = _vxm.Expr.wide if words.dtype == np.uint64 else _vxm.Expr.narrow
        made = Expression._of(make(kind, n, places, words))
        assert isinstance(made, Vector)
        return made

    @property
    def dtype(self) -> Optional[np.dtype[Any]]:
        """The type of the elements; None for a set."""
        return None if self.kind == NOTHING else dtype_of(self.kind)

    @property
    def nvals(self) -> int:
        """The number of elements."""
        return self._core.nvals

    @property
    def device(self) -> str:
        """Where the vector lies: ``cpu``, or ``cuda:N``."""
        return self._core.device

    @property
    def digest(self) -> int:
        """A hash of length, places and bits: the same for equal vectors on every device."""
        return self._core.digest

    @property
    def indices(self) -> NDArray[np.uint32]:
        """The places that hold an element, ascending."""
        return self._core.indices()

    @property
    def values(self) -> NDArray[Any]:
        """The elements, in the order of `indices`. A set has none."""
        if self.kind == NOTHING:
            raise TypeError("a set has no values")
        return values_of(self._core.words(), self.kind)

    def to_numpy(self, missing: Any = None) -> NDArray[Any]:
        """The elements as an array, with ``missing`` at every place that holds none. For a set: whether each place is in it.

        >>> import vxm
        >>> vxm.Vector.from_pairs(3, [1], [7]).to_numpy(missing=-1)
        array([-1,  7, -1])
        """
        if self.kind == NOTHING:
            held = np.zeros(len(self), bool)
            held[self.indices] = True
            return held
        if self.nvals == len(self):
            return self.values
        if missing is None:
            raise InputError(f"{len(self) - self.nvals} of {len(self)} places hold no element: say a value by missing=")
        array = np.full(len(self), single(missing, self.kind, "missing"), dtype_of(self.kind))
        array[self.indices] = self.values
        return array

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NDArray[Any]:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        values = None if self.kind == NOTHING else self.values
        return _rebuilt, (len(self), self.indices, values)

    def to(self, device: str) -> Vector:
        """The vector on a device. `eval` with that device needs no copy then."""
        made = Expression._of(_vxm.to_device(self._core, _place(device, None)))
        assert isinstance(made, Vector)
        return made

    def __getitem__(self, index: int) -> Any:
        """The element at a place, or None; of a set, whether it is a member. Raises `vxm.PlaceError` outside of the vector."""
        found = self._core.get(index_of(index, "index", len(self)))
        return element(self.kind, found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        alike = (self.kind, len(self), self.nvals) == (other.kind, len(other), other.nvals)
        return alike and self.digest == other.digest

    __hash__ = None  # type: ignore[assignment]


def _rebuilt(n: int, indices: NDArray[np.uint32], values: Optional[NDArray[Any]]) -> Vector:
    """A vector of what was pickled."""
    return Vector.members(n, indices) if values is None else Vector.from_pairs(n, indices, values)


def _cast(values: ArrayLike, dtype: Any, what: str = "values") -> NDArray[Any]:
    """The values as another type, which must hold each of them."""
    kind = kind_of(dtype)
    if is_struct(kind):
        return records(kind, unmasked(values, what) if isinstance(values, np.ndarray) else values, what)
    array = unmasked(values, what)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what}: expected numbers or bools, found {array.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        made = array.astype(KINDS[kind])
        if kind in FLOATS:
            # rounded, but not beyond the greatest number
            wrong = np.isinf(made) & ~np.isinf(array.astype(np.longdouble))
        else:
            wrong = made != array
    if wrong.any():
        raise InputError(f"{what}: expected values of type {kind}, found {array[wrong].flat[0]}")
    return made


def single(value: Any, kind: str, what: str) -> NDArray[Any]:
    """One element as an array of no axes."""
    if is_struct(kind):
        return record(kind, value, what)
    if np.size(value) != 1:
        raise InputError(f"{what}: expected a single value, found {np.size(value)}")
    return _cast(np.asarray(value).reshape(1), kind, what).reshape(())


def _places(indices: Union[ArrayLike, slice], n: int, what: str = "indices") -> NDArray[np.uint32]:
    if isinstance(indices, slice):
        return np.arange(*indices.indices(n), dtype=np.int64).astype(np.uint32)
    array = integers(indices, what)
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise PlaceError(f"{what}: expected indices below {n}, found {array[outside][0]}")
    return array.astype(np.uint32)


def _expression(value: Any, verb: str) -> Expression:
    if not isinstance(value, Expression):
        hint = ": make a vector by vxm.Vector.from_numpy(array)" if isinstance(value, np.ndarray) else ""
        raise TypeError(f"{verb}: expected a vector or an expression, found {type(value).__name__}{hint}")
    return value


def _test(program: _vxm.Program, verb: str) -> _vxm.Program:
    if program.result != "bool":
        raise TypeError(f"{verb}: expected an operator with a result of type bool, found {program!r}")
    return program


def closed(program: _vxm.Program, kind: str, verb: str) -> _vxm.Program:
    """The program, if it has a result of this kind."""
    if program.result != kind:
        raise TypeError(f"{verb}: expected an operator with a result of type {kind}, found {program!r}")
    return program


def _place(device: str, threads: Optional[int]) -> _Place:
    if not isinstance(device, str):
        raise TypeError(f"device: expected a name, as \"cpu\" or \"cuda\", found {type(device).__name__}")
    count = None if threads is None else number(threads, "threads", 1024, "a number from 1 to 1024")
    return device, "auto", count


def fill(value: Any, n: int, dtype: Any = None) -> Expression:
    """An expression that holds ``value`` at each of ``n`` places, without storing it.

    >>> import vxm
    >>> vxm.fill(7, 3, "u32").map_index(vxm.PLUS).eval().to_numpy()
    array([7, 8, 9], dtype=uint32)
    """
    kind = kind_of(np.asarray(value).dtype if dtype is None else dtype)
    count = number(n, "n", _MOST, f"0 to {_MOST} places")
    if isinstance(value, np.ndarray):
        value = single(value, kind, "fill")[()]
    return Expression._of(_vxm.Expr.fill(kind, count, plain(kind, value, "fill")))


def map2(op: Op, x: Expression, y: Expression) -> Expression:
    """``op(x, y)`` at each place where both hold an element: `Expression.ewise_mult`, with the operator first."""
    return _expression(x, "map2").ewise_mult(y, op)


def map3(op: Op, x: Expression, y: Expression, z: Expression) -> Expression:
    """``op(x, y, z)`` at each place where all three hold an element."""
    for other in (x, y, z):
        _same_length("map3", len(_expression(x, "map3")), len(_expression(other, "map3")))
    if NOTHING in (x.kind, y.kind, z.kind):
        raise TypeError("map3: the elements of a set have no value")
    return Expression._of(x._core.map3(y._core, z._core, as_op(op).program(x.kind, y.kind, z.kind)))


def mxv(graph: Union[Graph, Matrix], x: Expression, ring: Semiring) -> Expression:
    """The product of a matrix, or a graph's, and a vector: ``w[i] = add over edges (i, j) of mul(weight, x[j])``."""
    return _expression(x, "mxv")._product(graph, ring, transposed=True)
