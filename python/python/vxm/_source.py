"""The source of a function: its tree, its places, and what it reads from outside."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from types import CodeType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._emit import Emitting, OperatorError, Refusal
from ._kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["Reading", "Source", "cast_kind", "closure", "key_of", "known", "names"]

KNOWN = MappingProxyType(
    {
        **{min: "min", max: "max", abs: "abs", np.minimum: "min", np.maximum: "max", np.abs: "abs"},
        **{math.sqrt: "sqrt", math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc"},
        **{math.isnan: "is_nan", math.isfinite: "is_finite", math.isinf: "is_infinite"},
        **{math.exp: "exp", math.expm1: "exp_m1", math.log: "ln", math.log1p: "ln_1p", math.log2: "log2", math.log10: "log10"},
        **{math.tanh: "tanh", math.sin: "sin", math.cos: "cos", math.pow: "powf", math.copysign: "copysign"},
        **{np.exp: "exp", np.exp2: "exp2", np.expm1: "exp_m1", np.log: "ln", np.log1p: "ln_1p", np.log2: "log2"},
        **{np.log10: "log10", np.tanh: "tanh", np.sin: "sin", np.cos: "cos", np.copysign: "copysign"},
        **{np.sqrt: "sqrt", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc"},
        **{np.isnan: "is_nan", np.isfinite: "is_finite", np.isinf: "is_infinite"},
    }
)
"""The operations for functions of Python and NumPy."""


def known(function: Any) -> Optional[str]:
    """The operation for a function of Python or NumPy."""
    try:
        return KNOWN.get(function)
    except TypeError:
        # it can't be hashed
        return None


def cast_kind(function: Any) -> Optional[str]:
    """The kind that a call of this type casts to."""
    try:
        return kind_of(function) if isinstance(function, type) else None
    except TypeError:
        return None


class Reading:
    """An expression that Python evaluates. Its value may change from one time to the next."""

    __slots__ = ("_code", "_function")

    def __init__(self, node: ast.expr, function: FunctionType) -> None:
        self._code = compile(ast.Expression(node), function.__code__.co_filename, "eval")
        self._function = function

    def value(self) -> Any:
        """The value now."""
        return eval(self._code, self._function.__globals__, closure(self._function))

    def key(self) -> Hashable:
        """Something that is equal for equal values, and for no others."""
        return key_of(self.value())


def key_of(value: Any) -> Hashable:
    """Something that is equal for equal values, and for no others: nan is equal to nan, and 1 isn't equal to True."""
    if isinstance(value, (bool, int)):
        return type(value), value
    if isinstance(value, (float, np.generic)):
        return type(value), str(value.dtype) if isinstance(value, np.void) else "", repr(value)
    # an object stands for itself, and is kept so that no other gets its number
    return _Same(value)


class _Same:
    """Equal if it holds the same object."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._held is other._held

    def __hash__(self) -> int:
        return id(self._held)


def closure(function: FunctionType) -> dict[str, Any]:
    """The variables of the functions around it."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # it isn't assigned yet: then Python finds no such name
            continue
    return found


class Source:
    """The source of a function."""

    def __init__(self, function: FunctionType, scope: Optional[dict[str, Any]] = None) -> None:
        self.function = function
        # what annotations may name besides, of what is there when the operator is made
        self.scope = {name: held for name, held in (scope or {}).items() if isinstance(held, (Emitting, type))}
        self.name = "lambda" if function.__name__ == "<lambda>" else function.__name__
        self.file = function.__code__.co_filename
        self.lines, self.node = self._find()
        # parameters, and all names that the body assigns
        self.locals = frozenset(function.__code__.co_varnames) | frozenset(function.__code__.co_cellvars)
        self.parameters = self._parameters()
        self._readings: dict[int, Reading] = {}

    def error(self, node: Optional[ast.AST], refusal: Refusal) -> OperatorError:
        """The exception for what was found at a node."""
        line, offset = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
        if line is None or not 1 <= line <= len(self.lines):
            return OperatorError(f"{self.name}, in {self.file}: {refusal}")
        text = self.lines[line - 1].rstrip("\r\n")
        column = len(text.encode()[:offset].decode(errors="replace"))
        start = len(text) - len(text.lstrip())
        place = f"{self.name}, line {line}, column {column + 1} of {self.file}"
        return OperatorError(f"{place}: {refusal}\n    {text.strip()}\n    {' ' * (column - start)}^")

    def reading(self, node: ast.expr) -> Reading:
        """The reading for a node: one and the same each time."""
        found = self._readings.get(id(node))
        if found is None:
            found = self._readings.setdefault(id(node), Reading(node, self.function))
        return found

    def annotation(self, name: str) -> Optional[str]:
        """The kind that a parameter is annotated with, or the result, which is called ``return``."""
        if isinstance(self.node, ast.Lambda):
            return None
        node = self.node.returns
        for argument in _arguments(self.node):
            node = argument.annotation if argument.arg == name else node
        try:
            held = self.function.__annotations__.get(name, inspect.Parameter.empty)
        except NameError as error:
            raise self.error(node, Refusal(f"an annotation that isn't a kind: {error}", 'write one, as in "u32"')) from None
        return None if held is inspect.Parameter.empty else self.kind(held, node)

    def kind(self, held: Any, node: Optional[ast.AST]) -> str:
        """The kind that an annotation means. A string may be an expression, as `from __future__ import annotations` leaves it."""
        try:
            for _ in range(2):
                if isinstance(held, str) and not _is_kind(held):
                    held = eval(held, {**self.scope, **self.function.__globals__}, closure(self.function))
            return kind_of(held)
        except Exception as error:
            refusal = Refusal(f"an annotation that isn't a kind: {error}", 'write one, as in "u32"')
            raise self.error(node, refusal) from None

    def _find(self) -> tuple[list[str], Union[ast.FunctionDef, ast.Lambda]]:
        """The lines of the file, and the function in its tree."""
        try:
            lines, _ = inspect.findsource(self.function.__code__)
            text = "".join(lines)
            functions, codes = _functions(text)
        except (OSError, SyntaxError, IndexError):
            hint = "write it in a file or a notebook: an operator is compiled from its source"
            raise OperatorError(f"{self.name}, in {self.file}: found no source; {hint}") from None
        found = [node for node in functions if self._matches(node)]
        place = f"{self.name}, line {self.function.__code__.co_firstlineno} of {self.file}"
        if len(found) == 1:
            # test runners rewrite functions that assert, which no operator does
            asserts = any(isinstance(node, ast.Assert) for node in ast.walk(found[0]))
            if not asserts and _facts(self.function.__code__) not in codes:
                raise OperatorError(f"{place}: the source isn't that of the function any more; import or define it again")
            return lines, found[0]
        if found:
            raise OperatorError(f"{place}: found {len(found)} functions like it in this line; write one in a line")
        raise OperatorError(f"{place}: found no such function in the source; write it with def, in a file that doesn't change")

    def _matches(self, node: Union[ast.FunctionDef, ast.Lambda]) -> bool:
        code = self.function.__code__
        names = [argument.arg for argument in _arguments(node)]
        if names != list(code.co_varnames[: len(names)]) or code.co_argcount != len(node.args.posonlyargs + node.args.args):
            return False
        if isinstance(node, ast.Lambda):
            return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno

    def _parameters(self) -> tuple[str, ...]:
        arguments = self.node.args
        plain = arguments.posonlyargs + arguments.args
        others = [arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        for other in others:
            if other is not None:
                refusal = Refusal(f"the parameter `{other.arg}`, which isn't positional", "write one to three positional parameters")
                raise self.error(other, refusal)
        if arguments.defaults:
            refusal = Refusal("a default", "leave it out: an operator gets all operands")
            raise self.error(arguments.defaults[0], refusal)
        if not 1 <= len(plain) <= 3:
            raise self.error(self.node, Refusal(f"{len(plain)} parameters", "write one to three"))
        return tuple(argument.arg for argument in plain)


def _is_kind(name: str) -> bool:
    try:
        kind_of(name)
    except TypeError:
        return False
    return True


@functools.lru_cache(maxsize=16)
def _functions(text: str) -> tuple[list[Union[ast.FunctionDef, ast.Lambda]], frozenset[Hashable]]:
    """The functions of a file's text, and the facts of their code."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    codes, facts = [compile(text, "<source>", "exec", dont_inherit=True)], []
    while codes:
        code = codes.pop()
        facts.append(_facts(code))
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return found, frozenset(facts)


def _facts(code: CodeType) -> Hashable:
    """What tells the code of a function from another's: where it stands, and what it does."""
    constants = tuple(repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType))
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, constants


def _arguments(node: Union[ast.FunctionDef, ast.Lambda]) -> list[ast.arg]:
    arguments = node.args
    return arguments.posonlyargs + arguments.args + arguments.kwonlyargs


def names(node: ast.AST) -> Iterator[ast.expr]:
    """The names in an expression, each with the attributes that follow it."""
    if isinstance(node, ast.expr) and _is_name(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from names(child)


def _is_name(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
