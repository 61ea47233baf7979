"""What a terminal shows of long work, by a clock that only the test turns."""

import gzip
import os
import pty
import sys
import termios
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rerank
from rerank.cli.messages import on_terminal
from rerank.cli.progress import Screen, counted, left, running
from rerank.core import progress


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def terminal(monkeypatch):
    """A screen on a terminal of 100 columns, its clock, and a function that returns what was drawn since."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    clock = Clock()
    with os.fdopen(theirs, "w") as stream:

        def drawn():
            print("@", end="", file=stream, flush=True)
            seen = b""
            while not seen.endswith(b"@"):
                seen += os.read(ours, 1 << 16)
            return seen[:-1].decode()

        yield Screen(stream, clock), clock, drawn
    os.close(ours)


def test_a_line_at_once_and_a_bar_after_two_seconds(terminal):
    screen, clock, drawn = terminal
    with progress.shown_on(screen):
        with progress.step("reading a.txt", 4_000_000, "byte") as advance:
            clock.now += 0.1
            screen.tick()
            assert drawn() == ""
            clock.now += 0.15
            screen.tick()
            assert "rerank: reading a.txt" in drawn()
            clock.now += 1.75
            advance(1_000_000)
            screen.tick()
            seen = drawn()
            assert "━" in seen
            assert "1.0/4.0 MB" in seen
            assert "0:00:06 left" in seen
        assert "\x1b[2K" in drawn()  # removed with the step
        with progress.step("training", 10, "round") as advance, progress.step("within"):
            clock.now += 3
            advance(value=("dev AP", 0.25))
            screen.tick()
            seen = drawn()
            assert "training" in seen
            assert "1/10 rounds 0:00:27 left dev AP 0.2500" in " ".join(seen.split())
            assert "within" in seen
            screen.clear()  # something else is printed
            drawn()
            screen.tick()
            assert "training" in drawn()
    screen.close()
    drawn()
    screen.tick()
    assert "training" not in drawn()


def test_short_steps_show_nothing(terminal):
    screen, clock, drawn = terminal
    with progress.shown_on(screen):
        for _ in range(3):
            with progress.step("scoring"):
                clock.now += 0.05
                screen.tick()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(next, progress.over(iter([1]), "in a thread", 1, "task")).result()
        clock.now += 9
        screen.tick()
    assert drawn() == ""


@pytest.mark.parametrize(
    ("done", "total", "unit", "expected"),
    [
        (3, 10, "round", "3/10 rounds"),
        (0, 1, "fit", "0/1 fit"),
        (1200, None, "iteration", "1,200 iterations"),
        (500, 2000, "byte", "0.5/2.0 kB"),
        (3e9, None, "byte", "3.0 GB"),
        (0, None, "", ""),
    ],
)
def test_what_is_counted(done, total, unit, expected):
    assert counted(done, total, unit) == expected


def test_time_left_and_running_value():
    step = progress.Step("training", 4, "round")
    step.begun = 0.0
    assert (left(step, 5.0), running(step)) == ("", "")
    step(1, ("dev AP", float("nan")))
    assert (left(step, 3600.0), running(step)) == ("3:00:00 left", "dev AP nan")
    step(9)
    assert left(step, 3600.0) == "0:00:00 left"
    assert left(progress.Step("x"), 1.0) == ""


class Recorder:
    """A display that keeps all steps."""

    def __init__(self):
        self.steps = []
        self.open = 0

    def begin(self, step):
        self.steps.append(step)
        self.open += 1

    def end(self, step):
        self.open -= 1


def test_reading_training_and_restarts_report_their_progress(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.random((60, 2))
    rows = [f"{i % 3} qid:{i // 6} 1:{a:.3f} 2:{b:.3f}" for i, (a, b) in enumerate(values)]
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode() + b"\n"))
    recorder = Recorder()
    with progress.shown_on(recorder):
        lists = rerank.load(path)
        rerank.train(lists, "perceptron", epochs=4, metric="AP", dev=lists, average="voted", tau=1.0)
        rerank.train(lists, "mert", metric="label@1", restarts=3)
    assert recorder.open == 0
    found = {step.what: step for step in recorder.steps}
    assert found["reading a.txt.gz"].done == found["reading a.txt.gz"].total == path.stat().st_size
    epochs = next(step for step in recorder.steps if step.unit == "epoch")
    assert (epochs.done, epochs.total, epochs.value[0]) == (4, 4, "dev AP")
    assert next(step.done for step in recorder.steps if step.unit == "restart") == 4
    assert all(step.total is None or step.done <= step.total for step in recorder.steps)


@pytest.mark.parametrize("name", ["TERM", "CI"])
def test_no_display_without_a_terminal_that_redraws(name, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert on_terminal()
    monkeypatch.setenv(name, "dumb")
    assert not on_terminal()
