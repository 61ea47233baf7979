"""Tables: the same raw values in every form, escaped, folded and shortened to a width."""

import csv
import io
from functools import partial

import pytest

from rerank.core.tables.display import tables_text
from rerank.core.tables.table import (
    DETAIL,
    RECORD,
    Column,
    Group,
    Row,
    Table,
    interval_text,
    p_text,
    value_text,
)
from rerank.core.tables.text import cells_of, drawn, shortened, table_drawings

NASTY = '<b>a & b_c|"d"</b>'


def table(n_groups: int = 2, name: str = NASTY, **settings: object) -> Table:
    columns = [Column("", ("system",), left=True)]
    for name_of in ("AP", "WER")[:n_groups]:
        group = Group(name_of, f"{name_of} @ <1>")
        better = 1 if name_of == "AP" else -1
        columns += [
            Column("value", ("value",), partial(value_text, digits=4), group, better=better, star="paper"),
            Column("interval", ("low", "high"), partial(interval_text, digits=4), group, bracketed=True),
            Column("p", ("p",), p_text, group, level=DETAIL, star="text", note=f"p of {name_of}"),
            Column("p of others", ("other",), p_text, group, level=RECORD),
        ]
    first, second = (0.25, (0.125, 0.5), 0.00001, 0.5), (-1 / 3, None, None, None)
    rows = (
        Row(("random", *(float("nan"), "", "", "") * n_groups), reference=True),
        Row((name, *first * n_groups), stars=frozenset({"AP"})),
        Row(("other", *second * n_groups)),
    )
    return Table(tuple(columns), rows, notes=("a note",), signatures=("AP|v:1",), **settings)  # type: ignore[arg-type]


def test_records_have_raw_values_by_row_and_group() -> None:
    records = list(table().records())
    assert [(one["system"], one["metric"]) for one in records[2:4]] == [(NASTY, "AP"), (NASTY, "WER")]
    assert records[2] == {
        "system": NASTY, "metric": "AP", "value": 0.25, "low": 0.125, "high": 0.5, "p": 0.00001, "other": 0.5,
    }  # fmt: skip
    assert set(records[0].values()) == {"random", "AP", None}
    read = list(csv.DictReader(io.StringIO(tables_text([table()], "csv"))))
    assert [float(one["value"]) for one in read[4:]] == [-1 / 3, -1 / 3]
    assert [one["low"] for one in read] == ["", "", "0.125", "0.125", "", ""]
    assert "metric" not in next(Table(table().columns[:1], (Row(("a",)),)).records())


def test_paper_forms_mark_the_best_value_and_the_significant_one() -> None:
    markdown, latex = (tables_text([table()], form) for form in ("markdown", "latex"))
    row = next(line for line in markdown.splitlines() if "b\\_c" in line)
    assert row.endswith(r"| **0.2500**\* \[.125-.500\] | 0.2500 \[.125-.500\] |")
    assert row.startswith(r"| \<b\>a \& b\_c\|")
    assert "| other | -0.3333 | **-0.3333** |" in markdown
    assert "| *random* | - | - |" in markdown
    assert r" & \textbf{0.2500}$^{*}$ {\small [.125--.500]} & 0.2500 {\small [.125--.500]} \\" in latex
    assert r"other & $-$0.3333 & \textbf{$-$0.3333} \\" in latex
    assert latex.index(r"\textit{random}") < latex.index(r"\midrule", latex.index(r"\textit{random}"))
    for text in (markdown, latex):
        assert "p of" not in text  # a column of details
        assert "a note" in text.lower()
        assert "AP|v:1" in text.replace("\\", "")


def test_tables_of_one_group_show_all_but_details() -> None:
    latex = tables_text([table(1)], "latex")
    assert r" & \multicolumn{1}{c}{AP @ \textless{}1\textgreater{}} \\" in latex
    assert "**AP @ \\<1\\>**" in tables_text([table(1)], "markdown")
    apart = tables_text([table(2, together=False)], "markdown")
    assert apart.count("| other |") == 2
    assert apart.count("a note") == 1


def test_html_is_an_escaped_fragment() -> None:
    html = tables_text([table()], "html")
    assert "&lt;b&gt;a &amp; b_c|&quot;d&quot;&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "script" not in html
    assert html.count("<tr>") == 5
    assert 'colspan="2">AP @ &lt;1&gt;' in html


@pytest.mark.parametrize("width", [24, 30, 40, 60, 200])
def test_terminals_get_tables_that_fit_with_whole_numbers(width: int) -> None:
    whole = table(name="/very/long/folder/" + "x" * 60 + "/scores.txt")
    tables, notes = table_drawings(whole, width, fitting=True)
    lines = [line for table in tables for line in drawn(table)]
    assert max(map(cells_of, lines)) <= width
    text = "\n".join(lines)
    assert text.count("0.2500") == 2
    assert text.count(".125-.500") == 2
    assert ("…" in text) == (width < 200)
    assert ("<.001*" in text) == (len(tables) > 1)
    assert ("p of AP" in notes) == (len(tables) > 1)


def test_names_lose_their_middle() -> None:
    assert shortened("abcdefgh", 8) == "abcdefgh"
    assert shortened("abcdefgh", 7) == "abc…fgh"
    assert shortened("abcdefgh", 6) == "abc…gh"
