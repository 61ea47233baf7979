"""Plain tables beside the same ones drawn by rich: every byte is equal."""

from __future__ import annotations

import random
from io import StringIO

import pytest

from rerank.core.tables import table

CELLS = (
    "",
    "a",
    "bb",
    "0.1234",
    "été",
    "日本",
    "x y",
    "  lead",
    "trail  ",
    "e\u0301",
    "*",
    "a\tb",
    "\u200b",
    "ﬁ",
)
HEADS = (*CELLS, "two\nlines", "\nlow", "a\n\nb")


def by_rich(part):
    out = StringIO()
    table._console(out, table._ROOM, styled=False).print(table._text(part))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def some_table(draw, n_rows, ruled):
    n = draw.randrange(1, 5)
    rows = [[draw.choice(CELLS) for _ in range(n)] for _ in range(n_rows)]
    heads = [draw.choice(HEADS) if draw.random() < 0.8 else "" for _ in range(n)]
    left = draw.randrange(n + 1)
    if ruled:
        return table.block(heads, rows, left=left, dim=draw.randrange(4))
    return table.table(heads, rows, left=left, gap=draw.randrange(4))


@pytest.mark.parametrize("seed", range(3))
def test_plain_tables_are_those_of_rich(seed):
    draw, plain = random.Random(seed), 0
    for _ in range(300):
        n_rows = draw.randrange(5)
        part = some_table(draw, n_rows, draw.random() < 0.5)
        if draw.random() < 0.4:
            parts = [part, *(some_table(draw, n_rows, draw.random() < 0.8) for _ in range(draw.randrange(3)))]
            part = table.beside([draw.choice(CELLS) for _ in parts], parts)
        assert table.drawn(part) == by_rich(part)
        plain += part.lines() is not None
    assert plain > 150


@pytest.mark.parametrize("text", ["", "a b ", "日本\n\x1b[1m", "x" * 200, "[bold]x[/]", ":smile:"])
def test_plain_strings_are_those_of_rich(text):
    assert table.drawn(text) == by_rich(text)
