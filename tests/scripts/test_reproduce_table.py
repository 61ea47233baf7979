"""The table of numbers found again."""

from io import StringIO

from reproduce.printed import Regenerated
from reproduce.table import as_json, print_reproduction

ROWS = [
    Regenerated("rerank eval x", "demo", "exact", "a 1\nb 2\n", "a 1\nb 3\n"),
    Regenerated("rerank show", "demo", "exact", "c\nd\n", "c\nd\n"),
    Regenerated("reading\x1b", "reader", "measured", "530 MB", "265 MB", (0.5,)),
    Regenerated("AP", "eval", "exact", "AP .446", missing="not run: X is not set", excused=True),
]


def text(rows) -> str:
    out = StringIO()
    print_reproduction(rows, out)
    return out.getvalue()


def test_the_table():
    assert text(ROWS) == (
        "step    what           printed  found    \n"
        "demo    rerank eval x  2 lines  2 lines  differs\n"
        "demo    rerank show    2 lines  2 lines  same\n"
        "reader  reading\\x1b    530 MB   265 MB   measured, × 0.50\n"
        "eval    AP             AP .446  -        not run\n"
        "\n"
        "eval: not run: X is not set\n"
        "\n"
        "rerank eval x\n"
        "- b 2\n"
        "+ b 3\n"
        "\n"
        "4 entries: 1 differs or is missing, 1 not run\n"
    ).replace("found    \n", "found\n")


def test_json():
    found = as_json(ROWS)
    assert found["good"] is False
    assert [row["verdict"] for row in found["numbers"]] == [
        "differs",
        "same",
        "measured",
        "not run: X is not set",
    ]
    assert found["numbers"][2]["quotients"] == [0.5]
    assert as_json(ROWS[1:])["good"] is True


def test_nothing_differs():
    assert text(ROWS[1:]).endswith("\n3 entries: none differs or is missing, 1 not run\n")
