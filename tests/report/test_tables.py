"""Tables of evaluations: what they show, aligned, within their width, plain without a terminal."""

import io
import re

import numpy as np
import pytest
from small_judging import evaluate

from rerank.core.tables.text import drawn, facts, lined_up
from rerank.data.lists import CandidateLists
from rerank.evaluation.judged import Judged

METRICS = ["MAP", "NDCG@10", "RR", "PairAcc"]


def evaluated(n_metrics: int = 3, first_best: bool = True, **settings: str) -> Judged:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 200).astype(float)
    labels[:10] = np.nan
    lists = CandidateLists.from_arrays(np.zeros((200, 1)), labels, group=[10] * 20)
    if first_best:
        lists = lists.with_first_best("input")
    systems = {"a.txt": labels + rng.normal(size=200), "[b].txt": rng.normal(size=200)}
    systems = {name: np.nan_to_num(scores) for name, scores in systems.items()}
    return evaluate(lists, systems, METRICS[:n_metrics], samples=100, **settings)  # type: ignore[arg-type]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_three_metrics_fit_side_by_side_in_a_hundred_columns() -> None:
    text = evaluated(3).text()
    grid, notes = text.split("\n\n")
    lines = grid.splitlines()
    assert max(map(len, lines)) <= 100
    assert [name in lines[0] for name in METRICS] == [True, True, True, False]
    assert [line.split()[0] for line in lines[4:7]] == ["first-best", "random", "oracle"]
    assert [line.split()[0] for line in lines[8:]] == ["a.txt", "[b].txt"]
    assert "20 lists, 200 items; 1 list without a judged item left out" in notes
    assert "Holm's correction for 2 systems" in notes
    assert all(f"{name}|" in notes for name in ("AP", "nDCG@10", "RR"))


def test_numbers_are_below_the_names_of_their_columns() -> None:
    head, *rows = evaluated(3).text().splitlines()[2:10]
    end = head.index("value") + len("value")
    for row in (row for row in rows if not row.startswith("-")):
        number = row[:end].split()[-1]
        assert len(number) == 6
        assert 0.0 <= float(number) <= 1.0


def test_the_values_shown_are_the_evaluations() -> None:
    evaluation = evaluated(1)
    row = next(line for line in evaluation.text().splitlines() if line.startswith("a.txt"))
    result = evaluation.systems["a.txt"]["AP"]
    assert result.ci is not None
    assert row.split()[1] == f"{result.value:.4f}"
    assert row.split()[2] == "-".join(f"{end:.3f}".removeprefix("0") for end in result.ci)
    assert row.split()[-1] == f"{result.test.wins}/{result.test.ties}/{result.test.losses}"


@pytest.mark.parametrize(("n_metrics", "width"), [(4, 100), (3, 60)])
def test_what_is_too_wide_becomes_one_block_per_metric(n_metrics: int, width: int) -> None:
    blocks = evaluated(n_metrics).text(width).split("\n\n")
    assert len(blocks) == n_metrics + 1
    for name, block in zip(METRICS, blocks[:-1], strict=False):
        assert block.splitlines()[0].strip() == name
        assert "won/tied/lost" in block


def test_columns_without_a_meaning_are_absent() -> None:
    text = evaluated(2, first_best=False).text()
    assert "gap" not in text
    assert "p:" not in text
    named = evaluated(2, first_best=False, baseline="a.txt").text()
    assert "a.txt (baseline)" in named
    assert "against a.txt" in named
    assert "Holm" not in named  # one test needs no correction


@pytest.fixture(
    params=[{}, {"TERM": "xterm"}, {"FORCE_COLOR": "1", "COLORTERM": "truecolor"}, {"COLUMNS": "20"}]
)
def environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a caller's environment holds may change plain text."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
def test_a_file_gets_plain_text_in_every_environment() -> None:
    file = io.StringIO()
    evaluated(3).print(file)
    assert file.getvalue() == evaluated(3).text()
    assert "\x1b" not in file.getvalue()
    assert max(map(len, file.getvalue().splitlines()[:9])) > 80  # nothing is cut or wrapped


@pytest.mark.usefixtures("environment")
def test_a_terminal_gets_styles_unless_it_cannot_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    evaluated(3).print(terminal)
    assert "\x1b[1m" in terminal.getvalue()
    assert "[b].txt" in terminal.getvalue()
    bare = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert [line.rstrip() for line in bare.splitlines()] == evaluated(3).text().splitlines()
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
        plain = Terminal()
        evaluated(3).print(plain)
        assert plain.getvalue() == evaluated(3).text()
        monkeypatch.delenv(name)


def test_a_narrow_terminal_gets_one_table_per_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "64")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    evaluated(3).print(terminal)
    assert terminal.getvalue() == evaluated(3).text(64) != evaluated(3).text()
    assert max(map(len, terminal.getvalue().split("\n\n")[0].splitlines())) <= 64


def test_cells_are_never_cut_wrapped_or_read_as_markup() -> None:
    name = "/a/long/path/" + "x" * 300 + "/[bold]scores[/bold] of :smile:.txt"
    (head, row) = drawn(lined_up(("name", "value"), [(name, "1.5")]))
    assert row == f"{name}    1.5"
    assert head.split() == ["name", "value"]
    assert drawn(lined_up(("", ""), [("a", "b"), ("", "")], left=2)) == ["a  b", ""]


def test_facts_wrap_their_last_column_only() -> None:
    lines = facts([("name", "word " * 40), ("a longer name", "short")])
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("name           word word")
    assert lines[1].startswith(" " * 15 + "word")
    assert lines[-1] == "a longer name  short"
    assert facts([]) == []
    wide = facts([("n" * 120, "word " * 8)])
    assert wide[0].startswith("n" * 120 + "  word")
