"""Tables of evaluations: what they show, aligned, within their width, plain where no terminal is."""

from __future__ import annotations

import io

import numpy as np
import pytest

from rerank.data.lists import CandidateLists
from rerank.evaluation.evaluate import Evaluation, evaluate
from rerank.report.tables import print_table, table_text

METRICS = ["MAP", "NDCG@10", "RR", "PairAcc"]


def evaluated(n_metrics: int = 3, first_best: bool = True, **settings: str) -> Evaluation:
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


def test_three_metrics_stand_side_by_side_in_a_hundred_columns() -> None:
    text = table_text(evaluated(3))
    grid, notes = text.split("\n\n")
    lines = grid.splitlines()
    assert max(map(len, lines)) <= 100
    assert [name in lines[0] for name in METRICS] == [True, True, True, False]
    assert [line.split()[0] for line in lines[3:6]] == ["first-best", "random", "oracle"]
    assert [line.split()[0] for line in lines[7:]] == ["a.txt", "[b].txt"]
    assert "20 lists, 200 items; left out for want of a judged item: 1" in notes
    assert "Holm's correction for 2 systems" in notes
    assert all(f"{name}|" in notes for name in ("AP", "nDCG@10", "RR"))


def test_numbers_stand_under_the_names_of_their_columns() -> None:
    head, *rows = table_text(evaluated(3)).splitlines()[1:9]
    end = head.index("value") + len("value")
    for row in (row for row in rows if not row.startswith("-")):
        number = row[:end].split()[-1]
        assert len(number) == 6
        assert 0.0 <= float(number) <= 1.0


def test_the_values_shown_are_the_evaluations() -> None:
    evaluation = evaluated(1)
    row = next(line for line in table_text(evaluation).splitlines() if line.startswith("a.txt"))
    result = evaluation.systems["a.txt"]["AP"]
    assert result.ci is not None
    assert row.split()[1] == f"{result.value:.4f}"
    assert row.split()[2] == "-".join(f"{end:.3f}".removeprefix("0") for end in result.ci)
    assert row.split()[-1] == f"{result.wins}/{result.ties}/{result.losses}"


@pytest.mark.parametrize(("n_metrics", "width"), [(4, 100), (3, 60)])
def test_what_is_too_wide_becomes_one_block_per_metric(n_metrics: int, width: int) -> None:
    blocks = table_text(evaluated(n_metrics), width).split("\n\n")
    assert len(blocks) == n_metrics + 1
    for name, block in zip(METRICS, blocks[:-1], strict=False):
        assert block.splitlines()[0].strip() == name
        assert "won/tied/lost" in block


def test_columns_without_a_meaning_are_absent() -> None:
    text = table_text(evaluated(2, first_best=False))
    assert "gap" not in text
    assert "p:" not in text
    named = table_text(evaluated(2, first_best=False, baseline="a.txt"))
    assert "a.txt (baseline)" in named
    assert "against a.txt" in named
    assert "Holm" not in named  # one test needs no correction


def test_plain_text_goes_to_a_file_and_styles_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = evaluated(3)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    file, terminal = io.StringIO(), Terminal()
    print_table(evaluation, file)
    print_table(evaluation, terminal)
    assert file.getvalue() == table_text(evaluation)
    assert "\x1b[" not in file.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert "[b].txt" in terminal.getvalue()
    monkeypatch.setenv("TERM", "dumb")
    dumb = Terminal()
    print_table(evaluation, dumb)
    assert dumb.getvalue() == table_text(evaluation, 80)  # rich takes a dumb terminal for 80 columns


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    print_table(evaluated(1), terminal)
    assert terminal.getvalue() == table_text(evaluated(1))
