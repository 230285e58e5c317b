"""Translates the body of a function into values of a program.

All operations are total, so both sides of an ``if`` are computed, and a select takes one of them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._emit import Emitting, Refusal, Value
from ._source import cast_kind, key_of, known, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._emit import Emitter, Operand
    from ._source import Source

__all__ = ["Translator"]

_BINARY: dict[type[ast.operator], str] = {
    **{ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "true_div", ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"},
    **{ast.Pow: "pow", ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor"},
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    **{ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"},
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "not", ast.Not: "logical_not"}

# what a refused node is called, and what to write instead
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("For", "AsyncFor", "While"), ("a loop", "an operator has none: write out its steps")),
    **dict.fromkeys(("ListComp", "SetComp", "DictComp", "GeneratorExp"), ("a loop", "an operator has none: write out its steps")),
    "Subscript": ("a subscript", "an operator only sees its operands: pass the value as one; of a struct write x.cost"),
    "JoinedStr": ("a string", "use numbers"),
    "NamedExpr": ("an assignment in an expression", "write it in a line of its own"),
    **dict.fromkeys(("Global", "Nonlocal"), ("an assignment to a variable outside of the function", "return the value instead")),
    **dict.fromkeys(("FunctionDef", "AsyncFunctionDef", "Lambda"), ("a function in an operator", "write it outside, as an operator")),
    **dict.fromkeys(("Tuple", "List", "Set", "Dict"), ("a collection", "an operator has numbers only: use a variable for each, or a vxm.struct")),
    **dict.fromkeys(("Raise", "Assert", "Try", "TryStar"), ("an exception", "an operator can't fail: return a value")),
    **dict.fromkeys(("Import", "ImportFrom"), ("an import", "write it outside of the function")),
}


class _Always:
    """The condition of a path that has returned in any case."""


_ALWAYS = _Always()


@dataclass(frozen=True)
class _Unset:
    """A variable that can't be read, and why."""

    found: str
    instead: str


@dataclass(frozen=True)
class _Flow:
    """What a list of statements returns, and when. None stands for never."""

    done: Union[None, Value, _Always] = None
    value: Optional[Operand] = None


_Scope = dict[str, "Union[Operand, _Unset]"]


class Translator:
    """Translates one call of a function."""

    def __init__(self, emitter: Emitter, source: Source, operands: Sequence[Operand], result: Optional[str]) -> None:
        self._emitter = emitter
        self._source = source
        self._result = result
        self._scope: _Scope = dict(zip(source.parameters, operands))
        self._outside: dict[int, bool] = {}

    def run(self) -> Operand:
        """The result of the function."""
        node = self._source.node
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        flow = self._block(node.body)
        if flow.value is None or flow.done is not _ALWAYS:
            refusal = Refusal("a path that ends without a return", "return a value on each path, after the last if for one")
            raise self._source.error(node.body[-1], refusal)
        return flow.value

    # statements

    def _block(self, statements: Sequence[ast.stmt]) -> _Flow:
        flow = _Flow()
        for statement in statements:
            try:
                flow = self._then(flow, self._statement(statement))
            except Refusal as refusal:
                raise self._source.error(statement, refusal) from None
            if flow.done is _ALWAYS:
                break
        return flow

    def _statement(self, node: ast.stmt) -> _Flow:
        if isinstance(node, ast.Return):
            return _Flow(_ALWAYS, self._returned(node))
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AugAssign):
            name = self._target(node.target)
            self._scope[name] = self._binary(node.op, self._name(name), self._expression(node.value))
        elif isinstance(node, ast.AnnAssign):
            self._annotated(node)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                raise Refusal("an expression without effect", "assign it, or return it")
        elif not isinstance(node, ast.Pass):
            raise _refused(node, "a statement")
        return _Flow()

    def _returned(self, node: ast.Return) -> Operand:
        if node.value is None:
            raise Refusal("a return without a value", "return one")
        operand = self._expression(node.value)
        return operand if self._result is None else self._as(operand, self._result, "the result", node.value)

    def _as(self, operand: Operand, kind: str, what: str, node: ast.expr) -> Value:
        """The operand, which must suit an annotation."""
        try:
            value = self._emitter.value(operand, kind)
            if value.kind != kind:
                raise Refusal(f"{value.kind} for {what}, which is annotated {kind}", f"cast it, as in {kind}(x)")
        except Refusal as refusal:
            raise self._source.error(node, refusal) from None
        return value

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, (ast.Tuple, ast.List)):
            self._scope[self._target(target)] = self._expression(value)
            return
        if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
            raise Refusal("an assignment of something else to several variables", "write as many values, as in a, b = b, a")
        targets = [self._target(one) for one in target.elts]
        self._scope.update(zip(targets, [self._expression(one) for one in value.elts]))

    def _annotated(self, node: ast.AnnAssign) -> None:
        name = self._target(node.target)
        if node.value is None:
            raise Refusal("a variable without a value", "assign one")
        try:
            held = self._read(node.annotation)
        except Refusal:
            # Python doesn't capture a name that is only read by the annotation of a local variable
            held = ast.unparse(node.annotation).rpartition(".")[2]
        kind = self._source.kind(held, node.annotation)
        self._scope[name] = self._as(self._expression(node.value), kind, f"`{name}`", node.value)

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        refusal = Refusal("an assignment to something else than a variable", "assign to a plain name")
        raise self._source.error(node, refusal)

    def _if(self, node: ast.If) -> _Flow:
        condition = self._condition(node.test)
        before = self._scope
        self._scope = dict(before)
        yes = self._block(node.body)
        after, self._scope = self._scope, dict(before)
        no = self._block(node.orelse)
        if yes.done is not _ALWAYS:
            self._scope = after if no.done is _ALWAYS else self._merged(condition, after, self._scope)
        return self._either(condition, yes, no)

    def _merged(self, condition: Value, yes: _Scope, no: _Scope) -> _Scope:
        """The variables after both branches."""
        merged: _Scope = {}
        for name in {**yes, **no}:
            text = f"`{name}`, which only one branch of an `if` assigns"
            missing = _Unset(text, "assign it before the `if`")
            one, other = yes.get(name, missing), no.get(name, missing)
            if one is other:
                merged[name] = one
            elif isinstance(one, _Unset) or isinstance(other, _Unset):
                merged[name] = one if isinstance(one, _Unset) else other
            else:
                try:
                    merged[name] = self._emitter.choose(condition, one, other)
                except Refusal as refusal:
                    # it is an error only where the variable is read
                    merged[name] = _Unset(f"`{name}` after an `if`: {refusal.found}", refusal.instead)
        return merged

    def _either(self, condition: Value, yes: _Flow, no: _Flow) -> _Flow:
        """What two branches return together."""
        value = yes.value if no.value is None else no.value
        if yes.value is not None and no.value is not None:
            value = self._emitter.choose(condition, yes.value, no.value)
        if yes.done is no.done:
            return _Flow(yes.done, value)
        if yes.done is _ALWAYS and no.done is None:
            return _Flow(condition, value)
        done = self._emitter.choose(condition, self._flag(yes.done), self._flag(no.done))
        return _Flow(self._emitter.condition(done), value)

    def _then(self, first: _Flow, second: _Flow) -> _Flow:
        """What two statements return together, one after the other."""
        if first.done is None or isinstance(first.done, _Always) or first.value is None:
            return second
        if second.value is None:
            return first
        value = self._emitter.choose(first.done, first.value, second.value)
        if isinstance(second.done, _Always):
            return _Flow(_ALWAYS, value)
        done = self._emitter.apply("or", (first.done, self._flag(second.done)))
        return _Flow(self._emitter.condition(done), value)

    def _flag(self, done: Union[None, Value, _Always]) -> Value:
        return done if isinstance(done, Value) else self._emitter.constant("bool", done is _ALWAYS)

    # expressions

    def _expression(self, node: ast.expr) -> Operand:
        try:
            return self._constant(node) if self._is_outside(node) else self._computed(node)
        except Refusal as refusal:
            raise self._source.error(node, refusal) from None

    def _computed(self, node: ast.expr) -> Operand:
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._expression(node.left), self._expression(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            operation = "and" if isinstance(node.op, ast.And) else "or"
            found = self._expression(node.values[0])
            for value in node.values[1:]:
                found = self._emitter.apply(operation, (found, self._expression(value)))
            return found
        if isinstance(node, ast.IfExp):
            condition = self._condition(node.test)
            return self._emitter.choose(condition, self._expression(node.body), self._expression(node.orelse))
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._emitter.field(self._expression(node.value), node.attr)
        raise _refused(node, "an expression")

    def _name(self, name: str) -> Operand:
        held = self._scope.get(name, _Unset(f"`{name}`, which isn't assigned here", "assign it on each path to this line"))
        if isinstance(held, _Unset):
            raise Refusal(held.found, held.instead)
        return held

    def _condition(self, node: ast.expr) -> Value:
        operand = self._expression(node)
        try:
            return self._emitter.condition(operand)
        except Refusal as refusal:
            raise self._source.error(node, refusal) from None

    def _binary(self, kind: ast.operator, left: Operand, right: Operand) -> Operand:
        operation = _BINARY.get(type(kind))
        if operation is None:
            raise Refusal(f"the operator {type(kind).__name__}", "use + - * / // % ** << >> & | ^")
        return self._emitter.apply(operation, (left, right))

    def _unary(self, node: ast.UnaryOp) -> Operand:
        operand = self._expression(node.operand)
        if not isinstance(node.op, ast.UAdd):
            return self._emitter.apply(_UNARY[type(node.op)], (operand,))
        if isinstance(operand, Value) and operand.kind == "bool":
            raise Refusal("+ of bool", "cast it, as in u32(x)")
        return operand

    def _compare(self, node: ast.Compare) -> Operand:
        sides = [self._side(side) for side in (node.left, *node.comparators)]
        found: Optional[Operand] = None
        for kind, left, right in zip(node.ops, sides, sides[1:]):
            operation = _COMPARISONS.get(type(kind))
            if operation is None:
                word = {"Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}[type(kind).__name__]
                raise Refusal(f"`{word}`", "use == != < <= > >=")
            one = self._compared(operation, left, right)
            found = one if found is None else self._emitter.apply("and", (found, one))
        if found is None:
            raise AssertionError("a comparison has two sides")
        return found

    def _side(self, node: ast.expr) -> list[Operand]:
        """One side of a comparison: an operand, or those of a tuple."""
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            return [self._expression(part) for part in node.elts]
        return [self._expression(node)]

    def _compared(self, operation: str, left: Sequence[Operand], right: Sequence[Operand]) -> Operand:
        """Whether two tuples compare so, the first parts that differ deciding, as in Python."""
        if len(left) != len(right):
            raise Refusal(f"a comparison of {len(left)} with {len(right)} values", "write as many on both sides")
        return self._emitter.lexical(operation, list(zip(left, right)))

    def _call(self, node: ast.Call) -> Operand:
        function = self._function(node)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise Refusal("arguments with a star", "write each one")
        if node.keywords and not isinstance(function, Emitting):
            raise Refusal("an argument with a name", "pass it by its position")
        operands = [self._expression(argument) for argument in node.args]
        if isinstance(function, Emitting):
            operands += self._named(node, function, len(operands))
            if len(operands) != len(function.parameters):
                raise Refusal(f"{len(operands)} operands of {function.name}", f"write {len(function.parameters)}")
            return function.emit(self._emitter, operands)
        kind = cast_kind(function)
        if kind is not None:
            if len(operands) != 1:
                raise Refusal(f"{len(operands)} operands of a cast to {kind}", "write one")
            return self._emitter.cast(operands[0], kind)
        operation = known(function)
        if operation is None:
            text = "decorate it with vxm.op, if it is yours" if callable(function) else "call a function or an operator"
            raise Refusal(f"a call of `{ast.unparse(node.func)}`, which isn't an operator", text)
        if operation in ("min", "max"):
            return self._emitter.fold(operation, operands)
        return self._emitter.apply(operation, operands)

    def _named(self, node: ast.Call, function: Emitting, placed: int) -> list[Operand]:
        """The operands with names, in the order of the parameters that follow the ones in place."""
        if not node.keywords:
            return []
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        rest = function.parameters[placed:]
        known = f"write each of {', '.join(function.parameters)} once"
        for name in given:
            if name not in rest:
                raise Refusal("arguments with two stars" if name is None else f"an operand `{name}` of {function.name}", known)
        for name in rest:
            if name not in given:
                raise Refusal(f"no operand `{name}` of {function.name}", known)
        return [self._expression(given[name]) for name in rest]

    def _function(self, node: ast.Call) -> Any:
        if self._has_locals(node.func):
            if isinstance(node.func, ast.Attribute):
                raise Refusal(f"a method of a value, `{node.func.attr}`", "use operators and functions")
            raise Refusal("a call of a value", "call a function or an operator")
        return self._read(node.func)

    # what lies outside of the function

    def _has_locals(self, node: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self._source.locals for part in ast.walk(node))

    def _is_outside(self, node: ast.expr) -> bool:
        """Whether Python evaluates an expression: it has no variable of the function, and calls no operator."""
        found = self._outside.get(id(node))
        if found is None:
            calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
            found = not (self._has_locals(node) or any(self._calls_operator(call) for call in calls) or self._is_typed(node))
            self._outside[id(node)] = found
        return found

    def _is_typed(self, node: ast.expr) -> bool:
        """Whether it is arithmetic, or casts a number. NumPy has other rules for these, and they depend on its version."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            try:
                return cast_kind(self._read(node.func)) is not None and _is_number(self._read(node.args[0]))
            except Refusal:
                return False
        return isinstance(node, ast.BinOp) or (isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not))

    def _calls_operator(self, node: ast.Call) -> bool:
        try:
            return isinstance(self._read(node.func), Emitting)
        except Refusal:
            return False

    def _read(self, node: ast.expr) -> Any:
        """The value of an expression that Python evaluates."""
        reading = self._source.reading(node)
        try:
            value = reading.value()
        except NameError as error:
            raise Refusal(f"a name that isn't defined: {error}", "define it before the operator is used") from None
        except Exception as error:
            raise Refusal(f"an expression that raises {type(error).__name__}: {error}", "change it") from None
        if any(True for _ in names(node)):
            self._emitter.captures[reading] = key_of(value)
        return value

    def _constant(self, node: ast.expr) -> Operand:
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda, ast.NamedExpr)):
            raise _refused(node, "an expression")
        value = node.value if isinstance(node, ast.Constant) else self._read(node)
        if _is_number(value):
            return self._emitter.operand(value, any(self._may_change(name) for name in names(node)))
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = ast.unparse(node)
            raise Refusal(f"`{name}`, which is of type {type(value).__name__}", "use a number or a bool")
        if type(node).__name__ in _REFUSED:
            raise _refused(node, "an expression")
        raise Refusal(f"a value of type {type(value).__name__}", "use a number or a bool")

    def _may_change(self, node: ast.expr) -> bool:
        """Whether a name holds anything but a type."""
        try:
            return not isinstance(self._read(node), type)
        except Refusal:
            # the variable of a generator
            return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.generic))


def _refused(node: ast.AST, what: str) -> Refusal:
    name = type(node).__name__
    found, instead = _REFUSED.get(name, (f"{what} of the kind {name}", "use assignments, if, return and arithmetic"))
    return Refusal(found, instead)
