"""Messages in a file with their times, and progress as lines."""

import re
import time
from pathlib import Path

import pytest

from rerank.cli import messages, progress
from rerank.core.progress import Step, shown_on, step

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
LISTS = "1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:1\n1 qid:1 1:4\n"  # qid 1 is not contiguous


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.letor").write_text(LISTS)
    return tmp_path


def lines_of(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    assert all(TIME.match(line) for line in lines)
    return [TIME.sub("", line) for line in lines]


def test_a_log_has_what_is_printed_and_what_quiet_hides(rerank, folder):  # type: ignore[no-untyped-def]
    printed = rerank("train", "--data", "a.letor", "--out", "m", "--log", "log").err
    said = [line.removeprefix("rerank: ") for line in printed.splitlines()]
    first, *lines, last = lines_of(folder / "log")
    assert (lines, last) == (said, "exit code 0")
    assert first.endswith("train --data a.letor --out m --log log")
    assert rerank("train", "--data", "a.letor", "--out", "m", "--log", "log", "-q").err == ""
    assert lines_of(folder / "log")[len(said) + 3 : -1] == said  # appended
    rerank("eval", "none", "x", "--log", "log", code=2)
    assert lines_of(folder / "log")[-2:] == ["none: no such file or folder", "exit code 2"]
    rerank("validate", "a.letor")
    assert lines_of(folder / "log")[-1] == "exit code 2"  # of one command


def test_a_log_is_no_other_file(rerank, folder):  # type: ignore[no-untyped-def]
    error = rerank("validate", "a.letor", "--log", "a.letor", code=2).err
    assert error == "rerank: --log: a.letor holds something else than messages of rerank\n"
    assert (folder / "a.letor").read_text() == LISTS
    assert "no such file or folder" in rerank("validate", "a.letor", "--log", "none/log", code=2).err


@pytest.mark.parametrize(("how", "several"), [("auto", True), ("lines", True), ("none", False)])
def test_a_line_every_minute_where_there_is_no_terminal(how, several, capsys, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(messages, "_MINUTE", 0.02)
    with messages.showing(how), step("training x", 10, "epoch") as advance:
        advance(3, ("dev AP", 0.25))
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert bool(lines) == several
    for line in lines:
        assert re.fullmatch(
            r"rerank: after 0:00:0\d: training x: 3/10 epochs, 0:00:0\d left, dev AP 0.2500", line
        )


def test_a_line_has_steps_that_count_and_the_last_one():
    assert progress.line([]) == ""
    outer, middle, inner = Step("folds", 5, "fold"), Step("fold 2"), Step("reading x")
    outer(2)
    outer.begun = middle.begun = inner.begun = time.monotonic() - 3600
    assert progress.line([outer, middle, inner]) == "after 1:00:00: folds: 2/5 folds, 1:30:00 left; reading x"


def test_a_step_without_a_display_is_not_followed(capsys):
    tracker = messages.progress.Tracker()
    with shown_on(tracker), step("x", 3, "round"):
        assert [one.what for one in tracker.steps] == ["x"]
    assert capsys.readouterr().err == ""
