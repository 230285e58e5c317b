"""Exponentials, logarithms, powers and angles in operators."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vxm

TYPES = {"f32": np.float32, "f64": np.float64}


def operator_of(function: object) -> vxm.Op:
    return vxm.op(lambda a: function(a))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_elementary_functions(kind: str) -> None:
    functions = [math.exp, math.expm1, math.log, math.log1p, math.log2, math.log10, math.tanh, math.sin, math.cos]
    for function in functions:
        computed = operator_of(function)
        for a in (0.1, 0.5, 1.0, 2.0, 7.25, 80.0):
            expected = TYPES[kind](function(float(TYPES[kind](a))))
            assert abs(computed(TYPES[kind](a)) - expected) <= 2 * abs(np.spacing(expected)), (function, a)
    power = vxm.op(lambda a, b: a**b)
    assert power(TYPES[kind](3.0), TYPES[kind](4.0)) == 81 and power(TYPES[kind](16.0), TYPES[kind](-0.25)) == 0.5
    assert vxm.op(lambda a: np.exp(a) + np.log(a) ** 2)(TYPES[kind](1.0)) == pytest.approx(math.e, rel=1e-6)
    assert np.isnan(vxm.op(lambda a: math.log(a))(TYPES[kind](-1.0)))
