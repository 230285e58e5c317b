"""Operators: their values, what they refuse, and when they are compiled."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import pytest

import vxm

UNSIGNED = ["u8", "u16", "u32", "u64"]
SIGNED = ["i8", "i16", "i32", "i64"]
INTEGERS = UNSIGNED + SIGNED
# before NumPy 2, a float32 and a float of Python make a float64
FLOATS = ["f32", "f64"] if int(np.__version__.split(".")[0]) >= 2 else ["f64"]
TYPES = {kind: getattr(vxm, kind) for kind in [*INTEGERS, "f32", "f64"]} | {"bool": np.bool_}

LIMIT: Any = 10
SCALE = np.float32(0.5)


def edges(kind: str) -> list[Any]:
    """Values of a kind: those at its limits, and random ones."""
    if kind == "bool":
        return [np.False_, np.True_]
    draw = np.random.default_rng(sum(kind.encode()))
    if kind in ("f32", "f64"):
        tiny = np.finfo(TYPES[kind]).tiny
        held = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, tiny, 1e30, -1e30, math.inf, -math.inf, math.nan, *draw.normal(size=4)]
        return [TYPES[kind](value) for value in held]
    limits = np.iinfo(TYPES[kind])
    near = [0, 1, 2, 3, 7, limits.max // 2, limits.max - 1, limits.max, limits.min, limits.min + 1]
    if limits.min < 0:
        near += [-1, -2, -7]
    return [TYPES[kind](value) for value in [*near, *draw.integers(limits.min, limits.max, 4, dtype=TYPES[kind])]]


def wrapped(kind: str, value: Any) -> Any:
    """The number in a kind, as integers wrap."""
    if kind in INTEGERS:
        bits = np.iinfo(TYPES[kind]).bits
        value = int(value) % 2**bits
        value -= 2**bits if kind[0] == "i" and value >= 2 ** (bits - 1) else 0
    return TYPES[kind](value)


def same(one: Any, other: Any) -> bool:
    """Whether both have the same type and the same bits; nan is like any nan."""
    return type(one) is type(other) and (one.tobytes() == other.tobytes() or (one != one and other != other))


def early(a, b):
    if a > b:
        if b == 3:
            return a
        a = a - b
    elif a == b:
        return b * 2
    return a + b


def swapped(a, b):
    low, high = a, b
    if low > high:
        low, high = high, low
    high -= low
    return high ^ low


def counted(a, b):
    n = 0
    if a > b:
        n += 1
    if a > 5:
        n = n + 2
    if not b < 100:
        n += 4
    return a + n


def nested(a, b):
    """A function with a text of its own.

At the edge of the page.
    """
    pass
    if a < b and (a != 1 or b > 2):
        c = a
        if a == 0:
            c = b
        else:
            d = c
            c = d + 1
    else:
        c = b if b > a else a - 1
    return c


# Python's integers don't wrap, so that the result alone may, and what neither divides nor compares it
ON_INTEGERS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b + 1,
    lambda a, b: 3 - a,
    lambda a, b: a & b | 6,
    lambda a, b: a ^ ~b,
    lambda a, b: -a - +b,
    lambda a, b: a << 3,
    lambda a, b: a >> 2,
    lambda a, b: a**3 + b**0,
    lambda a, b: min(a, b, 7),
    lambda a, b: max(2, a, b),
    lambda a, b: a < b <= 100 != a,
    lambda a, b: a == b or not a > 3 and b >= 2,
    lambda a, b: a if a > b else b,
    lambda a, b: 1 if a > b else 0,
    lambda a, b: abs(a),
    lambda a, b: bool(a),
    lambda a, b: vxm.u16(5) * 2 if a > b else vxm.u16(3),
    lambda a, b: a + LIMIT,
    lambda a, b: max(a, np.iinfo(np.int8).max) - b,
    early,
    swapped,
    counted,
    nested,
]
ON_FLOATS = [
    lambda a, b: a + b * 2.5,
    lambda a, b: a / b,
    lambda a, b: 1 / a - b,
    lambda a, b: -a * 3,
    lambda a, b: abs(a) < b,
    lambda a, b: a if a >= b else b + 0.25,
    lambda a, b: np.sqrt(a),
    lambda a, b: np.floor(a) + np.ceil(b),
    lambda a, b: np.trunc(a - b),
    lambda a, b: np.isnan(a) or np.isinf(b) or not np.isfinite(a),
    lambda a, b: math.isnan(a) != math.isinf(b),
    lambda a, b: a < math.inf and b > -np.inf,
    lambda a, b: math.pi * 2 - a,
    lambda a, b: bool(a) & bool(b),
]
ON_BOOLS = [
    lambda a, b: a & b,
    lambda a, b: a | b,
    lambda a, b: a ^ b,
    lambda a, b: not a or b,
    lambda a, b: a != b,
    lambda a, b: b if a else True,
    lambda a, b: vxm.u8(a) + 1 if b else vxm.u8(0),
]


def check(function: Callable[..., Any], kind: str, exact: Callable[[Any], Any]) -> None:
    """The operator's values are those of the function."""
    compiled = vxm.op(function)
    result = compiled.program(kind, kind).result
    for a in edges(kind):
        for b in edges(kind):
            with np.errstate(all="ignore"):
                expected = wrapped(result, function(exact(a), exact(b)))
            assert same(compiled(a, b), expected), (a, b)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("function", ON_INTEGERS)
def test_integers_wrap(function: Callable[..., Any], kind: str) -> None:
    check(function, kind, int)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("function", ON_FLOATS)
def test_floats_round_as_in_numpy(function: Callable[..., Any], kind: str) -> None:
    check(function, kind, lambda value: value)


@pytest.mark.parametrize("function", ON_BOOLS)
def test_bools(function: Callable[..., Any]) -> None:
    check(function, "bool", bool)


def quotient(a, b):
    return a // b


def remainder(a, b):
    return a % b


@pytest.mark.parametrize("kind", INTEGERS)
def test_division_is_floored_as_in_python(kind: str) -> None:
    divide, rest = vxm.op(quotient), vxm.op(remainder)
    halves = vxm.op(lambda a: a // 2)
    sevens = vxm.op(lambda a: a % 7)
    for a in edges(kind):
        for b in edges(kind):
            pair = divmod(int(a), int(b)) if b else (0, a)
            assert same(divide(a, b), wrapped(kind, pair[0])), (a, b)
            assert same(rest(a, b), wrapped(kind, pair[1])), (a, b)
            toward = (abs(int(a)) // abs(int(b)) if b else 0) * (1 if (a < 0) == (b < 0) else -1)
            assert same(vxm.div(a, b), wrapped(kind, toward))
            assert same(vxm.rem(a, b), wrapped(kind, int(a) - int(b) * toward))
        assert same(halves(a), wrapped(kind, int(a) // 2))
        assert same(sevens(a), wrapped(kind, int(a) % 7))


def test_numbers_without_a_kind_divide_by_zero_too() -> None:
    @vxm.op
    def chosen(a):
        n = 0
        if a > 1:
            n = 2
        return a + 7 // n + 7 % n

    assert vxm.op(lambda a: a + 7 // 0 + 7 % 0)(1) == 8
    assert chosen(5) == 9 and chosen(1) == 8
    zero = vxm.op(lambda a: a + 1 / (0.0 if a > 1 else 2.0))
    assert zero(2.0) == math.inf and zero(1.0) == 1.5


BUILT_IN = {
    **{"PLUS": lambda a, b: a + b, "MINUS": lambda a, b: a - b, "RMINUS": lambda a, b: b - a, "TIMES": lambda a, b: a * b},
    **{"MIN": min, "MAX": max, "FIRST": lambda a, b: a, "SECOND": lambda a, b: b, "PAIR": lambda a, b: 1},
    **{"EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b, "GT": lambda a, b: a > b},
    **{"LE": lambda a, b: a <= b, "GE": lambda a, b: a >= b},
}
BITS = {"BOR": lambda a, b: a | b, "BAND": lambda a, b: a & b, "BXOR": lambda a, b: a ^ b}
ONE_OPERAND = {"IDENTITY": lambda a: a, "AINV": lambda a: -a, "ABS": abs, "ONE": lambda a: 1}


@pytest.mark.parametrize("kind", INTEGERS)
def test_built_in_operators_on_integers(kind: str) -> None:
    for name, function in {**BUILT_IN, **BITS}.items():
        operator = getattr(vxm, name)
        result = operator.program(kind, kind).result
        for a in edges(kind):
            for b in edges(kind):
                assert same(operator(a, b), wrapped(result, function(int(a), int(b)))), (name, a, b)
    for name, function in {**ONE_OPERAND, "BNOT": lambda a: ~a, "MINV": lambda a: int(1 / a) if a else 0}.items():
        for a in edges(kind):
            assert same(getattr(vxm, name)(a), wrapped(kind, function(int(a)))), (name, a)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_built_in_operators_on_floats(kind: str) -> None:
    values = [value for value in edges(kind) if value == value and value]
    for name, function in {**BUILT_IN, "DIV": lambda a, b: a / b, "RDIV": lambda a, b: b / a}.items():
        operator = getattr(vxm, name)
        result = operator.program(kind, kind).result
        for a in values:
            for b in values:
                with np.errstate(all="ignore"):
                    assert same(operator(a, b), TYPES[result](function(a, b))), (name, a, b)
    with np.errstate(all="ignore"):
        for name, function in {**ONE_OPERAND, "MINV": lambda a: TYPES[kind](1) / a, "SQRT": np.sqrt}.items():
            for a in values:
                assert same(getattr(vxm, name)(a), TYPES[kind](function(a))), (name, a)


def test_built_in_operators_on_bools() -> None:
    tables = {"LOR": "0111", "LAND": "0001", "LXOR": "0110", "EQ": "1001", "NE": "0110", "BOR": "0111", "BAND": "0001"}
    for name, table in tables.items():
        found = [getattr(vxm, name)(a, b) for a in (False, True) for b in (False, True)]
        assert "".join(str(int(one)) for one in found) == table and type(found[0]) is np.bool_
    assert vxm.LNOT(False) and vxm.BNOT(False) and vxm.ONE(False) and not vxm.LNOT(True)
    for operator in (vxm.LOR, vxm.LAND, vxm.LXOR):
        with pytest.raises(vxm.OperatorError, match="of u8; "):
            operator(vxm.u8(1), vxm.u8(1))


def test_the_entry_of_a_pattern_has_no_value() -> None:
    assert same(vxm.FIRST(vxm.u8(5), None), vxm.u8(5))
    assert same(vxm.SECOND(None, vxm.f32(5)), vxm.f32(5))
    assert same(vxm.PLUS(vxm.u8(255), None), vxm.u8(0))
    assert same(vxm.PLUS(vxm.f64(2.5), None), vxm.f64(3.5))
    assert same(vxm.TIMES(vxm.i16(-5), None), vxm.i16(-5))
    assert same(vxm.PAIR(None, None), vxm.u32(1))
    assert vxm.PAIR.program("()", "f64").result == "u32"
    hops = vxm.op(lambda length, edge: vxm.PLUS(length, edge))
    assert hops.program("u32", "()").parameters == ["u32", "()"] and hops(vxm.u32(4), None) == 5
    with pytest.raises(vxm.OperatorError, match="^MIN: found an operand that has no value; a set's elements and the edges of a graph"):
        vxm.MIN.program("u32", "()")
    with pytest.raises(vxm.OperatorError, match="found an operand that has no value"):
        vxm.op(quotient).program("u32", "()")


@pytest.mark.parametrize("kind", INTEGERS)
def test_bits(kind: str) -> None:
    limits = np.iinfo(TYPES[kind])
    width = limits.bits
    ten = vxm.op(lambda a, n: (a << n) + (a >> n))
    for a in edges(kind):
        bits = int(a) % 2**width
        text = format(bits, f"0{width}b")
        assert same(vxm.count_ones(a), vxm.u32(text.count("1")))
        assert same(vxm.leading_zeros(a), vxm.u32(width - len(text.lstrip("0"))))
        assert same(vxm.trailing_zeros(a), vxm.u32(width - len(text.rstrip("0"))))
        for n in (0, 1, 5, width - 1, width, width + 3):
            turn = n % width
            assert same(vxm.rotate_left(a, vxm.u32(n)), wrapped(kind, int(text[turn:] + text[:turn], 2)))
            assert same(vxm.rotate_right(a, vxm.u32(n)), wrapped(kind, int(text[width - turn :] + text[: width - turn], 2)))
            assert same(ten(a, vxm.u32(n)), wrapped(kind, (int(a) << turn) + (int(a) >> turn)))
            assert same(ten(a, vxm.i8(n)), ten(a, vxm.u64(n)))
        for b in edges(kind):
            for name, exact in (("saturating_add", int(a) + int(b)), ("saturating_sub", int(a) - int(b))):
                assert same(getattr(vxm, name)(a, b), TYPES[kind](max(limits.min, min(limits.max, exact)))), (a, b)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_named_functions_on_floats(kind: str) -> None:
    functions = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
    functions.update({"is_nan": np.isnan, "is_finite": np.isfinite, "is_infinite": np.isinf})
    for name, function in functions.items():
        for a in edges(kind):
            with np.errstate(all="ignore"):
                assert same(getattr(vxm, name)(a), function(a)), (name, a)
    span = vxm.op(lambda a, b: np.maximum(a, b) - np.minimum(a, b))
    assert span(1.5, 4.0) == span(4.0, 1.5) == 2.5 and span(vxm.u8(3), vxm.u8(9)) == 6
    assert vxm.sqrt(4.0) == 2 and vxm.op(lambda a: a + vxm.sqrt(4))(1.0) == 3
    assert same(vxm.select(True, vxm.u8(3), vxm.u8(4)), vxm.u8(3))
    assert vxm.op(lambda a, b: vxm.select(a < b, 1.5, a))(3.0, 4.0) == 1.5


def test_casts_are_those_of_rust() -> None:
    wrap = vxm.op(lambda a: vxm.u8(a))
    assert [int(wrap(vxm.i32(value))) for value in (-1, 256, 300)] == [255, 0, 44]
    assert [int(wrap(value)) for value in (-1.5, 2.9, 1e9, math.nan, math.inf)] == [0, 2, 255, 0, 255]
    assert same(vxm.op(lambda a: int(a))(vxm.f32(-2.9)), vxm.i64(-2))
    assert same(vxm.op(lambda a: float(a))(vxm.u8(7)), vxm.f64(7))
    assert same(vxm.op(lambda a: np.float32(a))(2**24 + 1), vxm.f32(2**24))
    assert same(vxm.op(lambda a: float(a))(True), vxm.f64(1))
    assert same(vxm.op(lambda a: int(a < 3) + 4)(2), vxm.i64(5))
    assert same(vxm.op(lambda a: bool(a))(math.nan), np.True_)
    assert same(vxm.op(lambda a: a + vxm.u8(255) * 2 + vxm.u8(1.9))(vxm.u8(0)), vxm.u8(255))
    assert vxm.op(lambda a: a < float("inf"))(1.0)
    assert vxm.op(lambda a: a + -int(LIMIT))(10) == 0
    assert same(vxm.op(lambda a: a if str(LIMIT) == "10" else -a)(vxm.i8(3)), vxm.i8(3))
    assert same(vxm.op(lambda a: vxm.u32(1 if a else 2))(True), vxm.u32(1))


def test_parameters_have_the_kind_of_their_annotation() -> None:
    @vxm.op
    def mixed(a: vxm.u32, b: "f32", c: bool) -> np.float64:  # type: ignore[name-defined]  # noqa: F821
        total: vxm.f64 = 1
        total += vxm.f64(a)
        if c:
            return total * vxm.f64(b)
        return 0

    assert repr(mixed) == "<vxm.Op mixed(a: u32, b: f32, c: bool)>"
    assert mixed(3, 0.5, True) == 2 and mixed(3, 1, False) == 0
    assert mixed.program("u32", "f32", bool).result == "f64"
    with pytest.raises(TypeError, match=r"mixed: a: expected u32, found u64: cast it, as in u32\(x\)"):
        mixed(np.uint64(3), 0.5, True)
    with pytest.raises(TypeError, match="mixed: a: expected u32, found float"):
        mixed(3.0, 0.5, True)
    with pytest.raises(TypeError, match="mixed: c: expected bool, found int"):
        mixed(3, 0.5, 1)
    with pytest.raises(OverflowError, match="mixed: a: expected a number that fits u32, found -1"):
        mixed(-1, 0.5, True)
    with pytest.raises(vxm.OperatorError, match="found f64 for `b` of mixed, which is annotated f32; cast it"):
        mixed.program("u32", "f64", "bool")
    with pytest.raises(TypeError, match="mixed: expected 3 operands, found 1"):
        mixed(1)


def test_annotations_of_python_are_wide() -> None:
    def plain(a: int, b: float) -> float:
        return float(a) + b

    assert repr(vxm.op(plain)) == "<vxm.Op plain(a: i64, b: f64)>"
    assert vxm.op(plain)(1, 2) == 3

    def wrong(a: complex):
        return a

    with pytest.raises(vxm.OperatorError, match="(?s)wrong, line .*found an annotation that isn't a kind: expected bool, u8"):
        vxm.op(wrong)


def test_numbers_outside_are_read_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    capped = vxm.op(lambda a: min(a, LIMIT))
    first = capped.program("u32")
    assert capped(vxm.u32(99)) == 10 and capped.program("u32") is first
    monkeypatch.setitem(globals(), "LIMIT", 20)
    assert capped(vxm.u32(99)) == 20 and capped.program("u32") is not first
    # it is an argument of the kernel
    assert capped.program("u32").cuda() == first.cuda() == capped.cuda("u32")
    monkeypatch.setitem(globals(), "LIMIT", 10)
    assert capped.program("u32") is first
    monkeypatch.setitem(globals(), "LIMIT", 10.0)
    with pytest.raises(vxm.OperatorError, match=r"found the number 10.0 where u32 is expected"):
        capped(vxm.u32(99))
    monkeypatch.setitem(globals(), "LIMIT", np.uint8(3))
    with pytest.raises(vxm.OperatorError, match="found min of u32 and u8; cast one of them"):
        capped(vxm.u32(99))
    monkeypatch.delitem(globals(), "LIMIT")
    with pytest.raises(vxm.OperatorError, match="found a name that isn't defined: name 'LIMIT' is not defined"):
        capped(vxm.u32(99))


def test_variables_of_outer_functions_are_read_at_each_use() -> None:
    delta, inner = 1, vxm.op(lambda a: a + 1)

    @vxm.op
    def outer(a):
        return inner(a) * delta

    assert outer(5) == 6 and outer.program("i64") is outer.program("i64")
    delta = 3
    assert outer(5) == 18
    inner = vxm.op(lambda a: a - delta)
    assert outer(5) == 6
    delta = 2
    assert outer(5) == 6
    delta = math.nan
    with pytest.raises(vxm.OperatorError, match="found the number nan where i64 is expected"):
        outer(5)


def test_programs_are_kept_for_each_combination_of_kinds() -> None:
    compiled = vxm.op(quotient)
    programs = {compiled.program(kind, kind) for kind in INTEGERS for _ in range(2)}
    assert len(programs) == len(INTEGERS)
    assert {program.name for program in programs} == {"quotient"}
    assert compiled.program(np.uint8, "uint8") is compiled.program("u8", np.dtype("u1"))
    assert "quotient" in compiled.cuda("u32", "u32")


def test_operators_call_operators() -> None:
    @vxm.op
    def clamp(value, low, high):
        return max(low, min(value, high))

    @vxm.op
    def relax(length, edge):
        return clamp(vxm.MINUS(length, edge), 2, LIMIT) + vxm.MAX.bind(5)(edge)

    assert relax(vxm.u8(9), vxm.u8(3)) == 11 and relax(vxm.i64(0), vxm.i64(50)) == 52
    assert clamp.program("f32", "f32", "f32").parameters == ["f32"] * 3
    assert vxm.op(lambda a: clamp(a, 0.5, 1))(7.0) == 1
    with pytest.raises(vxm.OperatorError, match="found 2 operands of clamp; write 3"):
        vxm.op(lambda a: clamp(a, 1))(7)


def test_operands_are_bound() -> None:
    most = vxm.MIN.bind(10)
    assert repr(most) == "<vxm.Op MIN(first, 10)>"
    assert [same(most(TYPES[kind](99)), TYPES[kind](10)) for kind in INTEGERS + FLOATS] == [True] * len(INTEGERS + FLOATS)
    assert vxm.MINUS.bind_first(10)(3) == 7 and repr(vxm.MINUS.bind_first(10)) == "<vxm.Op MINUS(10, second)>"
    assert vxm.MINUS.bind(10).cuda("i64") == vxm.MINUS.bind(11).cuda("i64")

    @vxm.op
    def scaled(a, by: vxm.f32):
        return vxm.f32(a) * by

    assert same(scaled.bind(0.5)(3), vxm.f32(1.5)) and same(scaled.bind_first(4)(0.25), vxm.f32(1))
    assert vxm.LT.bind(vxm.f32(0.5))(SCALE) == np.False_
    for call, text in (
        (lambda: scaled.bind("x"), "scaled: by: expected a number or a struct, found str"),
        (lambda: scaled.bind(np.float64(1)), r"scaled: by: expected f32, found f64: cast it, as in f32\(x\)"),
        (lambda: vxm.MIN.bind(None), "MIN: expected a number or a struct, found NoneType"),
        (lambda: vxm.ABS.bind(1), "ABS: expected an operator of two operands, found one of 1"),
        (lambda: vxm.MIN.bind(-1)(vxm.u8(3)), "MIN_bind: found the number -1, which doesn't fit u8; write one that fits"),
        (lambda: vxm.MIN.bind(np.int8(1))(vxm.u8(3)), r"MIN_bind: found min of u8 and i8; cast one of them, as in u8\(x\)"),
    ):
        with pytest.raises(TypeError, match="^" + text):
            call()


def test_operators_take_numbers_only() -> None:
    for call, text in (
        (lambda: vxm.MIN("a", 1), "MIN: first: expected a number or a struct, found str"),
        (lambda: vxm.MIN(np.float16(1), 1), "MIN: first: expected bool, u8, "),
        (lambda: vxm.MIN(1), "MIN: expected 2 operands, found 1"),
        (lambda: vxm.ABS(1, 2), "ABS: expected 1 operand, found 2"),
        (lambda: vxm.MIN(np.uint8(1), 2), r"MIN: found min of u8 and i64; cast one of them"),
        (lambda: vxm.MIN.program("u9", "u8"), "expected bool, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 or a type of NumPy"),
        (lambda: vxm.op(min), "expected a function that is written in Python, found builtin_function_or_method"),
        (lambda: vxm.SQRT(vxm.u8(4)), "SQRT: found sqrt of u8; expected f32, f64: cast the operand"),
        (lambda: vxm.PLUS(True, True), r"PLUS: found \+ of bool; expected u8"),
    ):
        with pytest.raises(TypeError, match="^" + text):
            call()
    with pytest.raises(OverflowError, match="^MIN: first: expected a number that fits i64, found 9223372036854775808"):
        vxm.MIN(2**63, 1)
