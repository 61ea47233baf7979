"""Decimal text to float64 and back, against Python's float() and repr()."""

import math
import random
import re
import struct
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rerank.native.data._number import parse

NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def check(token: bytes) -> None:
    got = parse(token)
    if NUMBER.fullmatch(token) is None:
        assert got is None, token
    else:
        assert got is not None, token
        assert struct.pack("<d", got) == struct.pack("<d", float(token)), token


def random_decimal(rng: random.Random) -> str:
    digits = "".join(
        rng.choices("0123456789", k=rng.choice([0, 1, 2, 5, 7, 8, 9, 15, 16, 17, 19, 20, 25, 40]))
    )
    text = "0" * rng.choice([0, 0, 0, 1, 9, 20]) + digits
    if rng.random() < 0.7:
        place = rng.randint(0, len(text))
        text = f"{text[:place]}.{text[place:]}"
    if rng.random() < 0.5:
        exponent = rng.choice([rng.randint(0, 30), rng.randint(290, 345), rng.randint(0, 99999)])
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + str(exponent)
    return rng.choice(["", "-", "+"]) + text


def random_float(rng: random.Random) -> float:
    kind = rng.randrange(3)
    if kind == 0:
        value = struct.unpack("<d", rng.getrandbits(63).to_bytes(8, "little"))[0]
        return float(value) if math.isfinite(value) else 1.0
    if kind == 1:
        return math.ldexp(rng.random(), rng.randint(-1080, -1010))  # around the subnormal border
    return rng.random() * 10.0 ** rng.randint(-5, 22)


def near_halfway(rng: random.Random) -> str:
    """Text at or near the middle between two floats."""
    value = random_float(rng)
    above = math.nextafter(value, math.inf)
    if math.isinf(above):
        return repr(value)
    with localcontext() as context:
        context.prec = 1200
        middle = (Decimal(value) + Decimal(above)) / 2
        kind = rng.randrange(4)
        if kind == 0:
            return str(middle)
        if kind == 1:
            return f"{middle:.{rng.randint(14, 25)}e}"
        if kind == 2:
            return str(middle) + rng.choice(["0" * 30, "0" * 30 + "1"]) if "E" not in str(middle) else "1"
        return repr(value)


@pytest.mark.parametrize("seed", range(4))
def test_random_decimals(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15000):
        check(random_decimal(rng).encode())
        check(near_halfway(rng).encode())


@pytest.mark.parametrize("places", range(10))
def test_plain_decimals_of_every_length(places: int) -> None:
    rng = random.Random(places)
    for digits in range(1, 10):
        for _ in range(200):
            value = rng.randrange(10**digits)
            for sign in ("", "-", "+"):
                check(f"{sign}{value}.{rng.randrange(10**places):0{places}d}".encode())
                check(f"{sign}{value}".encode())


@pytest.mark.parametrize(
    "text",
    [
        "0", "-0", "-0.0", "0e999999999999999999999", "1e-999999999999999999999", "1e999999999999999999999",
        "9007199254740992", "9007199254740993", "9007199254740992.5", "9007199254740993e22", "1e22", "1e23",
        "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308",
        "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623158e308",
        "1.7976931348623159e308", "6.520804200793011e-08", "8.5e-1", "123456789012345678",
        "18446744073709551616",
        "0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400", "9" * 19, "9" * 20, "." + "9" * 30,
        "", ".", "-", "+", "+-1", "--1", "1..2", "1.2.3", "1e", "1e+", "e5", ".e5", "1 ", " 1", "1_000",
        "0x10",
        "nan", "inf", "1f", "1d0", "\u0661",
    ],
)  # fmt: skip
def test_edges(text: str) -> None:
    check(text.encode())


@given(st.text("0123456789.-+eE :x\t", max_size=24))
@settings(max_examples=300, deadline=None)
def test_any_token(text: str) -> None:
    check(text.encode())


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_repr_of_any_float(value: float) -> None:
    check(repr(value).encode())
