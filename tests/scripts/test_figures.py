"""Every figure of the pages has an entry; what has none, has changed or has gone is found."""

import copy

import figures
import pytest

PAGE = """\
# Results

AP is .4494 [.449, .454], +1.76 in 2.5 CPU seconds, 24 × as fast, with 50 queries (section 6.3).
Reading takes 20 / 40 / 90 ms, 3 to 4 s in all; 5 to 8 items. (Cao 2007)
Try `eta=0.1` or 0.5 with [LETOR 4.0](a-0.1.md); a 95 % interval is below 2.7 Å.

## Speed

| what | figure | command |
| --- | --- | --- |
| one 3.5 | 7.25 s | `a.py` |
| two | 80 of 40 (Li 2009), 7/1/3 and 3 ms | `b.py` |
"""
EXPECTED = {
    "Results": [".4494", ".449", ".454", "+1.76", "2.5", "24", "20", "40", "90", "3", "4"],
    "Speed: one 3.5": ["7.25"],
    "Speed: two": ["80", "40", "7", "1", "3", "3"],
}


@pytest.fixture
def record() -> dict:
    entry = {"command": "c", "commit": "abc", "date": "2026-01-01", "machine": "m"}
    pages = {"page.md": {section: {**entry, "figures": found} for section, found in EXPECTED.items()}}
    return {"constants": {"page.md": ["or 0.5 with"]}, "pages": copy.deepcopy(pages)}


def test_figures_are_found(record: dict) -> None:
    found: dict[str, list[str]] = {}
    for figure in figures.figures(PAGE, ("or 0.5 with",)):
        found.setdefault(figure.section, []).append(figure.number)
    assert found == EXPECTED
    assert list(figures.faults("page.md", PAGE, record)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (".4494", ".4495", ["page.md:3: .4495: no entry", "page.md: .4494: an entry of 'Results'"]),
        ("7.25 s", "7.5 s", ["page.md:11: 7.5: no entry", "page.md: 7.25: an entry of 'Speed: one 3.5'"]),
        ("with 50 queries", "and .454 again", ["page.md:3: .454: no entry"]),
        ("20 / 40", "30 / 40", ["page.md:4: 30: no entry", "page.md: 20: an entry of 'Results'"]),
        ("7/1/3", "7/2/3", ["page.md:12: 2: no entry", "page.md: 1: an entry of 'Speed: two'"]),
        (".449, .454", ".454, .449", ["page.md:3: .454: no entry", "page.md: .454: an entry of 'Results'"]),
        ("or 0.5 with", "or 0.7 with", ["page.md:5: 0.7: no entry"]),
    ],
)
def test_a_figure_that_changed_is_found(record: dict, old: str, new: str, expected: list[str]) -> None:
    assert PAGE.replace(old, new) != PAGE
    found = list(figures.faults("page.md", PAGE.replace(old, new), record))
    assert [line[: len(start)] for line, start in zip(found, expected, strict=True)] == expected


def test_an_entry_needs_its_command(record: dict) -> None:
    record["pages"]["page.md"]["Results"]["command"] = ""
    assert list(figures.faults("page.md", PAGE, record)) == [
        "page.md: 'Results': no command in scripts/figures.json"
    ]


def test_one_section_is_recorded(record: dict) -> None:
    page = PAGE.replace(".4494", ".5").replace("7.25", "8.25")
    figures.recorded("page.md", page, record, "Results", "new command", "abc123")
    entry = record["pages"]["page.md"]["Results"]
    assert (entry["command"], entry["commit"], entry["figures"][0]) == ("new command", "abc123", ".5")
    assert [line[:20] for line in figures.faults("page.md", page, record)] == [
        "page.md:11: 8.25: no",
        "page.md: 7.25: an en",
    ]


def test_every_page_has_its_entries(capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main([]) == 0
    assert capsys.readouterr().out == ""
