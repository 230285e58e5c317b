"""Loops: a body, which is an expression of a state, is evaluated until the state changes nowhere, or is settled."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _vxm
from ._algebra import Monoid, as_monoid, as_op
from ._arrays import number
from ._errors import InputError, ShapeError
from ._vectors import Expression, Vector, _place, _test, closed

if TYPE_CHECKING:
    from ._operators import Op
    from ._vxm import Program

__all__ = ["Fixed", "Fixpoint", "Loop", "Step", "fixpoint"]

_MOST_ROUNDS = 2**32 - 1
_numbers = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Fixed:
    """What a loop ends with."""

    state: Vector
    """The state."""
    rounds: int
    """How many rounds it took. It may depend on the schedule."""


def fixpoint(state: Vector) -> Fixpoint:
    """A loop that begins with a state, which holds an element at each place.

    >>> import vxm
    >>> path = vxm.Graph.from_coo(3, [0, 1], [1, 2])
    >>> labels = vxm.Vector.from_numpy([0, 1, 2], dtype="u32")
    >>> least = vxm.semiring(vxm.MIN, vxm.FIRST)
    >>> found = vxm.fixpoint(labels).while_changed().step(lambda x: x.ewise_add(x.vxm(path, least), vxm.MIN)).eval()
    >>> found.state.to_numpy()
    array([0, 0, 0], dtype=uint32)
    """
    if not isinstance(state, Vector):
        raise TypeError(f"fixpoint: expected a vector, found {type(state).__name__}")
    if state.kind == "()":
        raise TypeError("fixpoint: the elements of a set have no value")
    if state.nvals != len(state):
        found = len(state) - state.nvals
        raise InputError(f"fixpoint: expected an element at each of {len(state)} places, found none at {found}")
    return Fixpoint(state)


class Fixpoint:
    """A loop that doesn't say yet when it ends."""

    def __init__(self, state: Vector) -> None:
        self._state = state

    def while_changed(self) -> Loop:
        """Evaluates the body until a round changes nothing. A place where the body has no element keeps the one that it holds."""
        return Loop(self._state, None)

    def __getattr__(self, name: str) -> Any:
        hint = ": say when it ends, by while_changed() or while_active(op)" if name in dir(Loop) else ""
        raise AttributeError(f"a loop's beginning has no attribute {name!r}{hint}")

    def while_active(self, op: Op) -> Loop:
        """Evaluates the body where ``op(x)`` is true, until it is so nowhere. A round that changes nothing is an error."""
        return Loop(self._state, _test(as_op(op).program(self._state.kind), "while_active"))


class Loop:
    """A loop that says when it ends."""

    def __init__(self, state: Vector, active: Optional[Program]) -> None:
        self._state, self._active = state, active
        self._monotone, self._at_most = False, None

    def monotone(self) -> Loop:
        """Claims that every fair schedule reaches the same state, also one that reads old elements. Such a loop is faster.

        It holds if elements only ever move in one direction, as `vxm.MIN` with the element itself makes them.
        """
        made = Loop(self._state, self._active)
        made._monotone, made._at_most = True, self._at_most
        return made

    def at_most(self, rounds: int) -> Loop:
        """Ends with an error if it isn't done after so many rounds. Without it, a loop may take as many as there are places, at least 65,536."""
        made = Loop(self._state, self._active)
        made._monotone = self._monotone
        made._at_most = number(rounds, "rounds", _MOST_ROUNDS, f"1 to {_MOST_ROUNDS}")
        if made._at_most == 0:
            raise InputError(f"rounds: expected 1 to {_MOST_ROUNDS}, found 0")
        return made

    _at_most: Optional[int]

    def step(self, body: Callable[[Expression], Expression]) -> Step:
        """The loop of a body. ``body(state)`` is called once: it returns an expression of the next state."""
        numbered = next(_numbers)
        return Step(self, numbered, [self._body(numbered, body, "step")])

    def _body(self, numbered: int, body: Callable[[Expression], Expression], what: str) -> Expression:
        """The expression that a body returns."""
        if not callable(body):
            raise TypeError(f"{what}: expected a function of the state, found {type(body).__name__}")
        state = Expression._of(_vxm.Expr.state(numbered, self._state.kind, len(self._state)))
        made = body(state)
        if not isinstance(made, Expression):
            raise TypeError(f"{what}: expected a body that returns an expression, found {type(made).__name__}")
        if made.kind != self._state.kind:
            raise TypeError(f"{what}: expected an expression of kind {self._state.kind}, found {made.kind}")
        if len(made) != len(self._state):
            raise ShapeError(f"{what}: an expression of {len(made)} does not fit a state of {len(self._state)}")
        return made


class Step:
    """A loop that is ready to run."""

    def __init__(self, loop: Loop, numbered: int, bodies: list[Expression], scattered: Optional[tuple[Program, _vxm.Monoid]] = None) -> None:
        self._loop, self._numbered, self._bodies, self._scattered = loop, numbered, bodies, scattered

    def then(self, body: Callable[[Expression], Expression]) -> Step:
        """Adds a step to each round of a loop ``while_active``. It visits what is active then, and reads the state that the step before has left.

        With several steps, `Loop.monotone` claims less: that a step has the same result whether or not a visit sees what others of the same
        step have written.

        >>> import vxm
        >>> highest = vxm.semiring(vxm.MAX, vxm.FIRST)
        >>> path = vxm.Graph.from_coo(4, [0, 1, 2], [1, 2, 3])
        >>> @vxm.op
        ... def elect(key, best):
        ...     return key | vxm.u32(1 << 31) if key > best else key
        >>> @vxm.op
        ... def leave(key, best):
        ...     return vxm.u32(0) if (key | best) >= vxm.u32(1 << 31) else key
        >>> keys = vxm.Vector.from_numpy([5, 9, 7, 2], dtype="u32")
        >>> loop = vxm.fixpoint(keys).while_active(vxm.GT.bind(0))
        >>> loop = loop.step(lambda key: vxm.map2(elect, key, key.vxm(path, highest).or_(0)))
        >>> loop.then(lambda key: vxm.map2(leave, key, key.vxm(path, highest).or_(0))).eval().rounds
        2

        Raises `TypeError` for a loop ``while_changed``.
        """
        if self._loop._active is None:
            raise TypeError("then: a loop while_changed has one step: expected while_active(op)")
        made = self._loop._body(self._numbered, body, "then")
        return Step(self._loop, self._numbered, [*self._bodies, made])

    def scatter_reduce(self, root: Op, monoid: Union[Monoid, Op]) -> Step:
        """Joins each element ``x`` that the body makes into the one at ``root(x)``, too: an element names its parent.

        This changes the answer. If it changes the parent, ``x`` may also be joined into the parent that it named until then. The loop must be
        ``while_changed`` and ``monotone``, and the monoid exact, commutative and idempotent, as `vxm.MIN`. A ``root`` outside of the state joins nothing.

        >>> import vxm
        >>> graph = vxm.Graph.from_coo(5, [0, 4, 1], [3, 1, 2])
        >>> names = vxm.Vector.from_numpy([0, 1, 2, 3, 4], dtype="u32")
        >>> least = vxm.semiring(vxm.MIN, vxm.FIRST)
        >>> loop = vxm.fixpoint(names).while_changed().monotone()
        >>> loop = loop.step(lambda f: f.pointer_jump().ewise_add(f.vxm(graph, least), vxm.MIN))
        >>> loop.scatter_reduce(vxm.IDENTITY, vxm.MIN).eval().state.to_numpy()
        array([0, 1, 1, 0, 1], dtype=uint32)

        Raises `TypeError` for another kind of loop, and `vxm.InputError` for another monoid.
        """
        kind = self._loop._state.kind
        if self._scattered is not None:
            raise TypeError("scatter_reduce: expected one, found two")
        if self._loop._active is not None:
            raise TypeError("scatter_reduce: expected a loop while_changed, found while_active")
        if not self._loop._monotone:
            raise TypeError("scatter_reduce: expected a monotone loop: elements are joined in any order")
        joins = as_monoid(monoid)
        made = joins.of(kind)
        if not made.reorders:
            raise InputError(f"scatter_reduce: expected an exact and commutative monoid, found {joins.op.name}: elements are joined in any order")
        program = closed(as_op(root).program(kind), "u32", "scatter_reduce: root")
        return Step(self._loop, self._numbered, self._bodies, (program, made))

    def __getattr__(self, name: str) -> Any:
        hint = ": eval() runs it" if name in ("state", "rounds") else ""
        raise AttributeError(f"a loop has no attribute {name!r}{hint}")

    def eval(self, *, device: str = "cpu", threads: Optional[int] = None) -> Fixed:
        """Runs the loop. ``device`` and ``threads`` are as in `vxm.Graph`.

        Raises `vxm.ConvergenceError` if it stalls or doesn't end.
        """
        loop = self._loop
        core, rounds = _vxm.run_loop(
            loop._state._core,
            self._numbered,
            [body._core for body in self._bodies],
            loop._active,
            loop._monotone,
            loop._at_most,
            self._scattered,
            _place(device, threads),
        )
        state = Expression._of(core)
        assert isinstance(state, Vector)
        return Fixed(state, rounds)
