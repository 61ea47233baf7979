"""The linter of English finds what is too long, and nothing in code, links and intervals."""

import lint_prose
import pytest

LONG = " ".join(["word"] * 31)


def rules(text: str, name: str = "page.md") -> list[str]:
    return [finding.rule for finding in lint_prose.page_findings(lint_prose.ROOT / name, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LONG}.", ["sentence of 31 words"]),
        (f"{LONG[5:]}.", []),
        (f"- an item\n- {LONG}", ["sentence of 31 words"]),
        (f"First part: {LONG[60:]}; a semicolon ends none: {LONG[60:]}.", ["sentence of 44 words"]),
        (f"{LONG[60:]}. `Code` begins the next one: {LONG[60:]}.", []),
        (f"```\n{LONG}\n```\n\n    {LONG}\n\n# {LONG}", []),
        (f"`{LONG}` and [{LONG[80:]}](https://a.b/c) and [.12, 1.50]", []),
        (f"| {LONG} | ok |", ["sentence of 31 words"]),
        ("Short. " * 121, ["paragraph of 121 words"]),
    ],
)
def test_pages(text: str, expected: list[str]) -> None:
    assert rules(text) == expected


def test_cells_of_the_readme() -> None:
    text = "| one | " + "word. " * 16 + "|"
    assert rules(text, "README.md") == ["cell of 16 words"]
    assert rules(text) == []


def test_a_finding_has_the_line_of_its_block() -> None:
    (finding,) = lint_prose.page_findings(lint_prose.ROOT / "page.md", f"one\n\ntwo\n{LONG}")
    assert str(finding).startswith("page.md:3: sentence of 32 words: two word")


SOURCE = '''
"""A module, read anew."""
anew = f"goes on {1}"  # but for this


def f():
    """Whether it is."""


class C:
    """Of what kind."""
'''


def test_phrases_and_docstrings_of_sources() -> None:
    path = lint_prose.ROOT / "x.py"
    found = [*lint_prose.phrase_findings(path, SOURCE), *lint_prose.docstring_findings(path, SOURCE)]
    assert [(one.line, one.words) for one in found] == [
        *((2, "anew"), (3, "goes on"), (3, "but for"), (11, "Of what kind")),
        *((7, "Whether it is."), (11, "Of what kind.")),
    ]


def test_a_phrase_of_a_page() -> None:
    found = list(
        lint_prose.phrase_findings(lint_prose.ROOT / "page.md", "at least\nIn place of it, the least squares")
    )
    assert [(one.line, one.rule) for one in found] == [(2, "write 'instead of'")]


def test_no_page_is_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint_prose.main(["--pages"]) == 0
    assert capsys.readouterr().out == ""
