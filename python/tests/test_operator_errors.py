"""What operators refuse, and how they say it."""

from __future__ import annotations

import importlib
import linecache
import os
import re
import textwrap
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import vxm

TABLE = [1, 2, 3]
EMPTY = 0


def helper(a):
    return a


@vxm.op
def one_way(a):
    return other_way(a)


@vxm.op
def other_way(a):
    return one_way(a)


def loop(a, b):
    for _ in range(3):
        a = a + b
    return a


def looped(a, b):
    while a < b:
        a += 1
    return a


def comprehended(a, b):
    return sum(a for _ in range(3))


def unreturned(a, b):
    if a < b:
        return a


def partly(a, b):
    if a < b:
        return a
    elif a == b:
        b = a
    a = b


def bare(a, b):
    if a < b:
        return
    return b


def one_branch(a, b):
    if a < b:
        c = a
    return c


def unassigned(a, b):
    c = d + a
    d = b
    return c + d


def two_kinds(a, b):
    if a < b:
        c = a
    else:
        c = a < b
    return c


def returns_two_kinds(a, b):
    if a < b:
        return a
    return a < b


def narrow(a, b) -> vxm.u8:
    return a + b


def narrow_variable(a, b):
    c: vxm.u8 = a
    return c + b


def outside(a, b):
    global EMPTY
    EMPTY = a
    return b


def stored(a, b):
    a.x = b
    return a


def subscripted(a, b):
    TABLE[0] = b
    return a


def unpacked(a, b):
    a, b = TABLE
    return a


def unpacked_too_few(a, b):
    a, b = a, b, a
    return a


def inner(a, b):
    def more():
        return a

    return more()


def effect(a, b):
    a + b
    return a


def printed(a, b):
    print("never")
    return a


def checked(a, b):
    assert a < b
    return a


def raised(a, b):
    raise ValueError(a)


def imported(a, b):
    import math

    return math.sqrt(a)


def deleted(a, b):
    del a
    return b


def valueless(a, b):
    c: vxm.u32
    return a


# kinds of both operands, what is found, and what to write instead
REFUSED: list[tuple[Callable[..., Any], str, str]] = [
    (loop, "u32 u32", "found a loop; an operator has none: write out its steps"),
    (looped, "u32 u32", "found a loop; an operator has none"),
    (comprehended, "u32 u32", "found a loop; an operator has none"),
    (lambda a, b: [a, b], "u32 u32", "found a collection; an operator has numbers only"),
    (lambda a, b: (a, b), "u32 u32", "found a collection"),
    (lambda a, b: helper(a), "u32 u32", "found a call of `helper`, which isn't an operator; decorate it with vxm.op"),
    (lambda a, b: missing(a), "u32 u32", "found a name that isn't defined: name 'missing' is not defined; define it"),  # noqa: F821
    (lambda a, b: TABLE(a), "u32 u32", "found a call of `TABLE`, which isn't an operator; call a function or an operator"),
    (lambda a, b: a.real, "u32 u32", "found the attribute `real` of u32; only structs have fields"),
    (lambda a, b: a.astype(b), "u32 u32", "found a method of a value, `astype`; use operators and functions"),
    (lambda a, b: a(b), "u32 u32", "found a call of a value; call a function or an operator"),
    (lambda a, b: TABLE[a], "u32 u32", "found a subscript; an operator only sees its operands"),
    (lambda a, b: TABLE, "u32 u32", "found `TABLE`, which is of type list; use a number or a bool"),
    (lambda a, b: "text", "u32 u32", "found a value of type str; use a number or a bool"),
    (lambda a, b: f"{a}", "u32 u32", "found a string; use numbers"),
    (lambda a, b: None, "u32 u32", "found a value of type NoneType; use a number or a bool"),
    (lambda a, b: a + 1j, "u32 u32", "found a value of type complex; use a number or a bool"),
    (lambda a, b: np.float16(1) * a, "u32 u32", "found a number of type float16; use one of bool, u8"),
    (lambda a, b: (c := a) + c, "u32 u32", "found an assignment in an expression; write it in a line of its own"),
    (lambda a, b: min(*a), "u32 u32", "found arguments with a star; write each one"),
    (lambda a, b: min(a, b, key=abs), "u32 u32", "found an argument with a name; pass it by its position"),
    (lambda a, b: min(a), "u32 u32", "found 1 operands of min; write at least 2"),
    (lambda a, b: abs(a, b), "u32 u32", "found 2 operands of abs; write 1"),
    (lambda a, b: vxm.u8(a, b), "u32 u32", "found 2 operands of a cast to u8; write one"),
    (lambda a, b: vxm.sqrt(a, b), "f32 f32", "found 2 operands of sqrt; write 1"),
    (lambda a, b: a is b, "u32 u32", "found `is`; use == != < <= > >="),
    (lambda a, b: a not in b, "u32 u32", "found `not in`; use == != < <= > >="),
    (lambda a, b: a @ b, "u32 u32", "found the operator MatMult; use + - *"),
    (lambda a, b: a + b, "u32 f32", "found u32 + f32; cast one of them, as in u32(x)"),
    (lambda a, b: a + b, "bool f32", "found bool + f32; cast one of them, as in f32(x)"),
    (lambda a, b: a + b, "bool bool", "found + of bool; expected u8, u16, u32, u64, i8, i16, i32, i64, f32, f64: cast the operand"),
    (lambda a, b: +a, "bool bool", "found + of bool; cast it, as in u32(x)"),
    (lambda a, b: a < b, "u32 i32", "found u32 < i32; cast one of them"),
    (lambda a, b: min(1, a, b), "u32 u64", "found min of u32 and u64; cast one of them"),
    (lambda a, b: a if a < 3 else b, "u32 u64", "found u32 in one branch and u64 in the other; cast one of them"),
    (lambda a, b: a / b, "u32 u32", "found / of u32; write // for integers, or cast, as in f64(x)"),
    (lambda a, b: a // b, "f32 f32", "found // of f32; write floor(a / b) for floats"),
    (lambda a, b: a % b, "f32 f32", "found % of f32; write rem(a, b) for floats"),
    (lambda a, b: a**b, "f32 u32", "found f32 ** u32; cast one of them, as in f32(x)"),
    (lambda a, b: a**b, "u32 i32", "found an exponent of kind i32; cast it, as in u32(n)"),
    (lambda a, b: a**-1, "u32 u32", "found the number -1, which doesn't fit u32; write one that fits"),
    (lambda a, b: a << b, "u32 f32", "found a number of bits of kind f32; cast it, as in u32(n)"),
    (lambda a, b: a & b, "f32 f32", "found & of f32; expected bool, u8, u16"),
    (lambda a, b: a + 0.5, "u32 u32", "found the number 0.5 where u32 is expected; write an integer, or cast, as in f64(x)"),
    (lambda a, b: a + 300, "u8 u8", "found the number 300, which doesn't fit u8; write one that fits, or cast, as in i64(x)"),
    (lambda a, b: a - -1, "u8 u8", "found the number -1, which doesn't fit u8"),
    (lambda a, b: a * 1e39, "f32 f32", "found the number 1e+39, which doesn't fit f32"),
    (lambda a, b: a == 1, "bool bool", "found the number 1 where bool is expected; write True or False, or compare"),
    (lambda a, b: a if b else a, "u32 u32", "found a condition of kind u32; compare instead, as in x != 0"),
    (lambda a, b: not a, "u32 u32", "found not of u32; compare instead, as in x == 0"),
    (lambda a, b: a and b, "u32 u32", "found and of u32; compare instead, as in x != 0"),
    (lambda a, b: vxm.sqrt(a), "u32 u32", "found sqrt of u32; expected f32, f64: cast the operand"),
    (lambda a, b: vxm.saturating_add(a, b), "f32 f32", "found saturating_add of f32; expected u8, u16"),
    (lambda a, b: a + TABLE[7], "u32 u32", "found an expression that raises IndexError: list index out of range; change it"),
    (lambda a, b: a << 1 << (1 << -1), "u32 u32", "found an expression that raises ValueError: negative shift count; change its numbers"),
    (lambda a, b: a + vxm.u8(300), "u8 u8", "found the number 300, which doesn't fit u8"),
    (lambda a, b: a + int(1), "u8 u8", "found u8 + i64; cast one of them"),
    (lambda a, b: a + vxm.u8(3) * vxm.u16(4), "u8 u8", "found u8 * u16; cast one of them"),
    (lambda a, b: one_way(a), "u32 u32", "found a call of `one_way` by itself; an operator has no recursion"),
    (unreturned, "u32 u32", "found a path that ends without a return; return a value on each path"),
    (partly, "u32 u32", "found a path that ends without a return"),
    (bare, "u32 u32", "found a return without a value; return one"),
    (one_branch, "u32 u32", "found `c`, which only one branch of an `if` assigns; assign it before the `if`"),
    (unassigned, "u32 u32", "found `d`, which isn't assigned here; assign it on each path to this line"),
    (two_kinds, "u32 u32", "found `c` after an `if`: u32 in one branch and bool in the other; cast one of them, as in u32(x)"),
    (returns_two_kinds, "u32 u32", "found u32 in one branch and bool in the other; cast one of them, as in u32(x)"),
    (narrow, "u32 u32", "found u32 for the result, which is annotated u8; cast it, as in u8(x)"),
    (narrow_variable, "u32 u32", "found u32 for `c`, which is annotated u8; cast it, as in u8(x)"),
    (outside, "u32 u32", "found an assignment to a variable outside of the function; return the value instead"),
    (stored, "u32 u32", "found an assignment to something else than a variable; assign to a plain name"),
    (subscripted, "u32 u32", "found an assignment to something else than a variable"),
    (unpacked, "u32 u32", "found an assignment of something else to several variables; write as many values, as in a, b = b, a"),
    (unpacked_too_few, "u32 u32", "found an assignment of something else to several variables"),
    (inner, "u32 u32", "found a function in an operator; write it outside, as an operator"),
    (effect, "u32 u32", "found an expression without effect; assign it, or return it"),
    (printed, "u32 u32", "found an expression without effect"),
    (checked, "u32 u32", "found an exception; an operator can't fail: return a value"),
    (raised, "u32 u32", "found an exception"),
    (imported, "u32 u32", "found an import; write it outside of the function"),
    (deleted, "u32 u32", "found a statement of the kind Delete; use assignments, if, return and arithmetic"),
    (valueless, "u32 u32", "found a variable without a value; assign one"),
]


@pytest.mark.parametrize(("function", "kinds", "text"), REFUSED)
def test_refused_bodies_are_named(function: Callable[..., Any], kinds: str, text: str, capsys: Any) -> None:
    operator = vxm.op(function)
    for _ in range(2):
        with pytest.raises(vxm.OperatorError, match=re.escape(text)) as caught:
            operator.program(*kinds.split())
        first, line, caret = str(caught.value).splitlines()
        place = re.match(r"(\w+), line (\d+), column (\d+) of (.*\.py): found ", first)
        assert place is not None and place[1] in (operator.name, "one_way", "other_way") and place[4] == __file__
        shown = Path(__file__).read_text(encoding="utf-8").splitlines()[int(place[2]) - 1]
        assert line.strip() == shown.strip() and caret.strip() == "^"
        # the caret stands below the column
        assert line[caret.index("^") :] == shown[int(place[3]) - 1 :]
    assert capsys.readouterr().out == ""


def test_a_message_shows_its_place() -> None:
    @vxm.op
    def größer(größe, b):
        if größe > b: return größe * b + 0.5  # fmt: skip
        return b

    line = größer.__wrapped__.__code__.co_firstlineno + 2
    with pytest.raises(vxm.OperatorError) as caught:
        größer.program("u8", "u8")
    expected = f"""\
        größer, line {line}, column 30 of {__file__}: found the number 0.5 where u8 is expected; write an integer, or cast, as in f64(x)
            if größe > b: return größe * b + 0.5  # fmt: skip
                                 ^"""
    assert str(caught.value) == textwrap.dedent(expected)


def defaulted(a, b=1):
    return a


def starred(*a):
    return a


def named(a, *, b):
    return a


def many(a, b, c, d):
    return a


def none():
    return 1


SIGNATURES = [
    (defaulted, "found a default; leave it out: an operator gets all operands"),
    (starred, "found the parameter `a`, which isn't positional; write one to three positional parameters"),
    (named, "found the parameter `b`, which isn't positional; write one to three positional parameters"),
    (many, "found 4 parameters; write one to three"),
    (none, "found 0 parameters; write one to three"),
]


@pytest.mark.parametrize(("function", "text"), SIGNATURES)
def test_refused_parameters_are_named(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(vxm.OperatorError, match=rf"^{function.__name__}, line \d+, column \d+ of .*: {re.escape(text)}\n"):
        vxm.op(function)


def test_the_source_must_be_found() -> None:
    held: dict[str, Any] = {}
    exec("def unseen(a): return a", held)
    with pytest.raises(vxm.OperatorError, match="^unseen, in <string>: found no source; write it in a file or a notebook"):
        vxm.op(held["unseen"])
    twins = [lambda a: a + 1, lambda a: a + 2]  # fmt: skip
    with pytest.raises(vxm.OperatorError, match=r"^lambda, line \d+ of .*: found 2 functions like it in this line; write one in a line"):
        vxm.op(twins[0])
    different = [lambda a: a + 1, lambda b: b + 2]  # fmt: skip
    assert vxm.op(different[1])(1) == 3

    async def later(a):
        return a

    with pytest.raises(vxm.OperatorError, match=r"^later, line \d+ of .*: found no such function in the source"):
        vxm.op(later)


def test_operator_errors_are_type_errors() -> None:
    assert issubclass(vxm.OperatorError, TypeError) and vxm.OperatorError.__module__ == "vxm"


def test_a_source_that_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def f(a):\n    return a + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("changing")
    assert vxm.op(module.f)(np.uint8(1)) == 2
    file.write_text("def f(a):\n    return a + 2\n")
    os.utime(file, (1, 1))
    with pytest.raises(vxm.OperatorError, match="the source isn't that of the function any more; import or define it again"):
        vxm.op(module.f)


def test_operators_that_are_too_long_or_too_deep() -> None:
    with pytest.raises(vxm.OperatorError, match="nested too deep; write it in several statements"):
        made("return " + "-" * 900 + "a")(1)
    with pytest.raises(vxm.OperatorError, match="more than 256 values; write several operators"):
        made("\n    ".join([f"a = a * 3 + {k}" for k in range(300)] + ["return a"]))(1)
    with pytest.raises(vxm.OperatorError, match="more than 256 values; write several operators"):
        made("\n    ".join([f"if a > {k}: a = {k}" for k in range(300)] + ["return a"]))(1)


def test_long_integers_are_told_by_their_length() -> None:
    large = 10**5000
    with pytest.raises(vxm.OperatorError, match="the number an integer of 16610 bits, which doesn't fit u8|an integer of 16610 bits"):
        vxm.op(lambda a: a + large)(np.uint8(1))
    assert repr(vxm.MIN.bind(large)) == "<vxm.Op MIN(first, an integer of 16610 bits)>"
    with pytest.raises(OverflowError, match="found an integer of 16610 bits"):
        vxm.MIN(large, 1)


def test_operators_of_operators_are_translated_once() -> None:
    doubled = vxm.op(lambda a: a + a)
    for _ in range(40):
        doubled = twice(doubled)
    assert int(doubled(np.uint64(1))) == 2**41


def twice(inner):  # type: ignore[no-untyped-def]
    @vxm.op
    def outer(a):  # type: ignore[no-untyped-def]
        return inner(a) + inner(a)

    return outer


def made(body: str) -> vxm.Op:
    """An operator of one parameter with this body. Its source is where Python looks for a notebook's."""
    text = f"def written(a):\n    {body}\n"
    name = f"<written {len(text)} {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, object] = {}
    exec(compile(text, name, "exec"), scope)
    return vxm.op(scope["written"])  # type: ignore[arg-type]
