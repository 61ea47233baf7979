"""Plain tables and wrapped texts beside the same ones drawn by rich: every byte is equal."""

import random
from io import StringIO

import pytest
from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rerank.core.tables import text

CELLS = (
    "a", "bb", "0.1234", "été", "日本", "x y", "  lead", "trail  ", "e\u0301", "*", "a\tb", "\u200b",
    "ﬁ",
)  # fmt: skip
HEADS = (*CELLS, "two\nlines", "\nlow", "a\n\nb")
WORDS = ("word", "longer-word", "x" * 17, "日本語", "a", "of", "the", "y" * 38, "é")
RULE = "    \n    \n----\n    \n----\n    \n    \n    \n"  # rules below heads and sections alone


def drawn_by_rich(table, width=10_000):
    out = StringIO()
    Console(file=out, width=width, color_system=None, highlight=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def rich_table(heads, rows, left, gap, dim=None):
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=any(heads))
    height = max(head.count("\n") for head in heads)
    for j, head in enumerate(heads):
        head = "\n" * (height - head.count("\n")) + head
        lines = [text.cell_text(line) for line in head.split("\n")]
        made.add_column(Text("\n".join(lines)), no_wrap=True, justify="left" if j < left else "right")
    for row in rows:
        made.add_row(*(Text(text.cell_text(cell)) for cell in row))
    if dim is not None:
        made.box, made.show_edge, made.padding = Box(RULE, ascii=True), False, (0, 0, 0, 0)
        if 0 < dim < len(rows):
            made.rows[dim - 1].end_section = True
    return made


@pytest.mark.parametrize("seed", range(3))
def test_plain_tables_are_those_of_rich(seed):
    draw = random.Random(seed)
    for _ in range(200):
        n, n_rows, gap = draw.randrange(1, 5), draw.randrange(5), draw.randrange(4)
        rows = [[draw.choice(CELLS).rstrip() for _ in range(n)] for _ in range(n_rows)]
        heads = [draw.choice(HEADS).rstrip() for _ in range(n)]
        left = draw.randrange(n + 1)
        assert text.drawn(text.lined_up(heads, rows, left=left, gap=gap)) == drawn_by_rich(
            rich_table(heads, rows, left, gap)
        )
        ruled = text.block(heads, rows, left=left, dim=gap)
        assert text.drawn(ruled) == drawn_by_rich(rich_table(heads, rows, left, 0, gap))


@pytest.mark.parametrize("seed", range(3))
def test_facts_are_wrapped_as_rich_wraps_them(seed):
    draw = random.Random(seed)
    for _ in range(200):
        words = (draw.choice(["", " "]) + draw.choice(WORDS) for _ in range(draw.randrange(40)))
        name, value, width = draw.choice(CELLS).strip(), " ".join(words), draw.choice([40, 60])
        made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        made.add_column(no_wrap=True)
        made.add_column(overflow="fold")
        made.add_row(Text(text.cell_text(name)), Text(value))
        assert text.facts([(name, value)], width) == drawn_by_rich(made, width)


def test_tables_stand_beside_each_other_below_their_titles():
    blocks = [
        text.block([" "], [["oracle"], ["a"]], left=1, dim=1),
        text.block(["n"], [["1"], ["22"]], dim=1),
    ]
    assert text.drawn(text.beside(["", "title"], blocks)) == [
        *("        title", "         n", "------  --", "oracle   1", "------  --", "a       22")
    ]


@pytest.mark.parametrize("line", ["", "a b ", "日本\n\x1b[1m", "x" * 200, "[bold]x[/]", ":smile:"])
def test_strings_are_lines_without_markup(line):
    assert text.drawn(line) == [line.rstrip().replace("\n", "\\n").replace("\x1b", "\\x1b")]
