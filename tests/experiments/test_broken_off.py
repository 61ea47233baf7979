"""Runs that are broken off, meet each other, or fail in part: the next run gives the same bytes."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from fuzz.children import HITS, command, import_everything, small_files

from rerank.cli.frame import EXIT_INTERRUPTED, EXIT_NO, EXIT_USAGE
from rerank.core.errors import FormatError, RerankError
from rerank.core.files.folders import named_lock
from rerank.core.workers import parallel
from rerank.experiments.folder import read_run
from rerank.experiments.overview import Overview
from rerank.experiments.run import run

from .conftest import ROOT, tree

SMALL = """\
data: {train: "fold{fold}/train.letor", test: "fold{fold}/test.letor"}
folds: [a, b]
metrics: [AP, RR]
learners: {random: , ridge: }
"""


@pytest.fixture
def small(folder):
    (folder / "run.yaml").write_text(SMALL)
    import_everything()
    return folder


def undisturbed(folder):
    """The bytes of a run that nothing happens to, and how many calls of it change files."""
    done = command("run run.yaml --out whole")
    assert done.code == 0, done
    return tree(folder / "whole"), done.calls


@pytest.mark.parametrize("hit", ["kill", "Ctrl-C", "full disk"])
def test_a_run_that_is_broken_off_at_any_call_is_finished_by_the_next(hit, small):
    whole, calls = undisturbed(small)
    assert calls > 60
    for at in range({"kill": 1, "Ctrl-C": 3, "full disk": 2}[hit], calls, calls // 4):
        shutil.rmtree("out", ignore_errors=True)
        broken = command("run run.yaml --out out", at, HITS[hit])
        assert broken.calls >= at
        assert "Traceback" not in broken.err
        if hit == "Ctrl-C":
            assert broken.code == EXIT_INTERRUPTED
        if hit == "full disk":
            assert broken.code in (0, EXIT_NO, EXIT_USAGE)
            assert all(line.startswith("rerank: ") for line in broken.err.splitlines()), broken.err
        again = command("run run.yaml --out out")
        assert again.code == 0, (at, again)
        assert tree(small / "out") == whole, at


def test_a_disk_that_is_too_small_for_a_file_fails_in_one_line(small):
    whole, _ = undisturbed(small)
    for size in (0, 100, 1500):
        shutil.rmtree("out", ignore_errors=True)
        broken = command("run run.yaml --out out", before=small_files(size))
        assert broken.code in (EXIT_NO, EXIT_USAGE), broken
        assert "Traceback" not in broken.err
        assert "file too large" in broken.err
        assert command("run run.yaml --out out").code == 0
        assert tree(small / "out") == whole


def rerank_run(*options):
    """A run in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "rerank", "run", "run.yaml", *options],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_two_runs_at_once_do_each_cell_once(small):
    whole, _ = undisturbed(small)
    both = [rerank_run("--out", "out"), rerank_run("--out", "out")]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sum(int(re.search(r"(\d+) cells? trained", text)[1]) for text in said) == 4
    assert tree(small / "out") == whole


def test_tasks_and_shards_in_any_order_give_what_one_run_gives(small):
    whole, _ = undisturbed(small)
    for options in ("--task 4", "--shard 2/2", "--task 1", "--shard 1/2"):
        assert command(f"run run.yaml --out out {options}").code == 0
    assert tree(small / "out") == whole


def test_a_cell_that_fails_keeps_its_log_while_the_rest_goes_on(small, monkeypatch):
    text = SMALL.replace("ridge: ", "ridge: , rrf: , pro: {data: {features: 3}, metric: label}")
    (small / "run.yaml").write_text(text)
    lines = (small / "folda" / "train.letor").read_text()
    (small / "folda" / "train.letor").write_text(re.sub(" 3:[^ \n]*", "", lines))
    done = command("run run.yaml --out out")
    assert done.code == EXIT_NO
    assert "cell 7 failed (pro, fold a): " in done.err
    assert done.err.splitlines()[-1] == "rerank: out: 7 cells trained, 1 failed"
    found = read_run("out")
    assert [found.state(cell) for cell in found.cells] == ["done"] * 6 + ["failed", "done"]
    log = (small / "out" / "failed" / f"{found.cells[6].key}.log").read_text()
    assert log.startswith("cell 7: pro, fold a, seed 1, share 100 %\nerror: ")
    assert "Traceback" in log
    assert Overview("run.yaml", "out").progress()[-2].startswith("cell 7 failed (pro, fold a): ")


def test_a_log_goes_when_its_cell_succeeds(small, monkeypatch):
    def killed(function, tasks):
        for number, _ in enumerate(tasks):
            yield number, parallel.TaskError(RerankError("the worker process was killed twice"), killed=True)

    monkeypatch.setattr(parallel, "as_completed", killed)
    found = run("run.yaml", "out")
    assert [error for _, error in found.failed] == ["the worker process was killed twice"] * 4
    assert len(list((small / "out" / "failed").iterdir())) == 4
    monkeypatch.undo()
    monkeypatch.chdir(small)
    assert len(run("run.yaml", "out").trained) == 4
    assert not list((small / "out" / "failed").iterdir())


def test_a_store_that_disappears_during_a_run_fails_its_cells_only(small, monkeypatch):
    real = parallel.as_completed

    def after_loss(function, tasks):
        shutil.rmtree(tasks[1][0].test.store)
        return real(function, tasks)

    monkeypatch.setattr(parallel, "as_completed", after_loss)
    found = run("run.yaml", "out")
    assert [cell.fold for cell, _ in found.failed] == ["b", "b"]
    assert all("test" in error for _, error in found.failed)
    monkeypatch.undo()
    monkeypatch.chdir(small)
    assert len(run("run.yaml", "out").trained) == 2


def test_a_damaged_record_is_named(small):
    found = run("run.yaml", "out")
    record = found.folder.file("cells", found.folder.cells[0].key, "record.json")
    with open(record, "w") as file:
        file.write("{}")
    with pytest.raises(FormatError, match=re.escape(record)):
        run("run.yaml", "out")
    with pytest.raises(FormatError, match=r"nothing without experiment\.json"):
        read_run("nowhere")


def test_a_cell_that_is_being_done_is_running(small):
    run("run.yaml", "out", task=1)
    code = (
        "import sys; from rerank.core.files.folders import named_lock\n"
        "with named_lock('out', sys.argv[1]) as mine:\n    print(mine, flush=True); sys.stdin.read()"
    )
    key = read_run("out").cells[1].key
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code, key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as other:
        assert other.stdout.readline() == "True\n"
        overview = Overview("run.yaml", "out")
        assert list(overview.states.values()) == ["done", "running", "missing", "missing"]
        assert not overview.is_done
        with named_lock("out", key) as mine:
            assert not mine
        other.communicate()
    with named_lock("out", key) as mine:
        assert mine
