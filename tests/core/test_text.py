"""Numbers that users type."""

import pytest

from rerank.core.errors import ConfigError
from rerank.core.text import number
from rerank.data.first_best import margin_of
from rerank.data.folds import parts_of
from rerank.data.labels import parse_quantiser
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse
from rerank.models.pair_counts import parse_relation

LISTS = CandidateLists.from_arrays([[0.0]] * 4, group=[1] * 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("+1", 1), ("-0.5", -0.5), (".5", 0.5), ("5.", 5), ("1e5", 1e5), ("1E-2", 0.01), ("007", 7)],
)
def test_a_decimal_number(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text", [*["1_000", "1e999", "inf", "nan", "0x10", "0x1p3", "1,5", "١", "−1", "1e", "."], "", " 1", "1\n"]
)
def test_what_else_python_reads_is_no_number(text: str) -> None:
    assert number(text) is None


def test_digits_without_end_take_linear_time() -> None:
    """They took hours, in the line of a file of scores too."""
    for digits in ("9" * 1_000_000, "." + "9" * 1_000_000, "1e" + "9" * 1_000_000):
        assert number(digits + "-0") is None


@pytest.mark.parametrize("text", ["0_1", "1e999", "nan", "\u0661"])
def test_options_refuse_them(text: str) -> None:
    for call in (
        lambda: margin_of(text),
        lambda: parse_quantiser(f"above={text}"),
        lambda: parse_relation(f"pairs=ordinal ordinal_gap={text}"),
        lambda: list(parts_of(LISTS, [f"a={text}"], 1)),
        lambda: parse(f"nDCG@{text}"),
        lambda: parse(f"RBP(p={text})"),
        lambda: parse(f"nDCG@{'1' * 5000}"),
    ):
        with pytest.raises(ConfigError):
            call()


def test_an_infinite_margin_keeps_every_first_best() -> None:
    assert margin_of("inf") == float("inf")
