"""Systems that lack what Linux has give the same results; ``other_systems/sitecustomize.py`` makes them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rerank.core import system

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "data" / "spelling-tiny"
ALL_LACK = ("fcntl resource renameat2 proc posix_fallocate madvise fork", "windows")
RUN = """\
data: {train: parts/a.letor, test: parts/b.letor}
metrics: [AP]
learners: {perceptron: {epochs: 2}, ridge: }
"""
STEPS = """\
train --data t.store --learner ridge --out model
predict model t.letor --out scores
split t.letor --part a=0.5 --part b=0.5 --out parts --seed 2
convert t.letor --out t.store
train --data t.store --learner perceptron --out model
predict model t.store --out scores
split t.letor --part a=0.5 --part b=0.5 --out parts
"""
# A process for all steps; what they would leave behind on a full disk or after a kill is looked for as well.
ALL = """
import os, sys
from rerank.cli import main
from rerank.data.npy import array_in_file
for line in open("steps"):
    sys.argv = ["rerank", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
with array_in_file("array.npy", (3, 2)) as values:
    values[:] = 7
assert values.sum() == 42
"""


def results(folder: Path, without: str, steps: str) -> dict[str, bytes]:
    """The files that steps write on a system that lacks something."""
    folder.mkdir()
    lists = (TINY / "train.letor").read_text()
    (folder / "t.letor").write_text(lists[: lists.index("\n", 6000) + 1])
    (folder / "steps").write_text(f"convert t.letor --out t.store\n{steps}")
    (folder / "run.yaml").write_text(RUN)
    path = os.pathsep.join((str(ROOT / "tests" / "other_systems"), *sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "WITHOUT": without}
    done = subprocess.run(
        [sys.executable, "-c", ALL], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parts[-2] != "timings"
    }


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """The files on this system."""
    return results(tmp_path_factory.mktemp("usual") / "f", "", f"{STEPS}run run.yaml --out out --jobs 2\n")


# A process for each takes seconds: what does not meet in one function lacks together, then everything.
@pytest.mark.parametrize(
    "without", ["fcntl proc madvise", "resource renameat2 posix_fallocate fork", *ALL_LACK]
)
def test_the_results_are_those_of_this_system(without, usual, tmp_path):
    more = "run run.yaml --out out --jobs 2\n" if without in ALL_LACK else ""
    found = results(tmp_path / "f", without, STEPS + more)
    expected = {name: data for name, data in usual.items() if more or not name.startswith("out/")}
    expected["steps"] = found["steps"]
    assert sorted(found) == sorted(expected)
    assert [name for name in found if found[name] != expected[name]] == []


def test_sums_are_those_of_every_python_version():
    assert system.added([0.1] * 10) == 0.9999999999999999  # sum() from Python 3.12 on: 1.0
    assert system.added([1e308, 1e308, -1e308]) == math.inf
    assert system.added([]) == 0.0
    assert sum([0.5, 1]) == 1.5
    with pytest.raises(AssertionError, match="expected added"):
        exec("sum([0.5, 1])", {"__name__": "rerank.learners.new"})  # as a module of the package
