"""What the tab key completes, by the protocol of the scripts that ``--install-completion`` writes."""

import os
import subprocess
import sys

import pytest

from rerank.cli.help import pages
from rerank.cli.parser import names_of, topics
from rerank.data.scaling import SCALINGS
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES
from rerank.metrics.judging import SETS
from rerank.similarity.base import ITEM_KERNELS, KERNELS


def completed(*words: str, heavy: str = "") -> list[str]:
    """What bash gets for the last word; fails if a module of ``heavy`` was imported."""
    code = "import sys; from rerank.cli import main\n"
    code += f"try: main()\nfinally: assert not {{*{heavy.split()!r}}} & set(sys.modules)"
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    environment = {**os.environ, **asked, "_RERANK_COMPLETE": "complete_bash"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stderr == ""
    return found.stdout.split()


def test_verbs_are_completed_without_importing_them() -> None:
    heavy = "numpy rich yaml rerank.data.reading rerank.cli.train rerank.cli.importance"
    assert completed("rerank", "we", heavy=heavy) == ["weigh-lists"]


def test_options_and_their_values_are_completed_without_numpy() -> None:
    heavy = "numpy scipy rich rerank.learners rerank.metrics.base"
    assert completed("rerank", "train", "--keep", heavy=heavy) == ["--keep", "--keep-margin"]
    found = completed("rerank", "train", "--learner", "pr", heavy=heavy)
    assert {"prank", "perceptron"} & set(found) == {"prank"}
    assert completed("rerank", "eval", "x", "--as", "m", heavy=heavy) == ["markdown"]


def test_names_are_those_of_the_registries() -> None:
    assert names_of("learners") == LEARNERS.names()
    assert names_of("metrics") == sorted([*FAMILIES.names(), *SETS])
    assert names_of("formats") == FORMATS.names()
    assert names_of("kernels") == sorted([*KERNELS.names(), *ITEM_KERNELS.names()])
    assert names_of("scalings") == sorted(["auto", *SCALINGS])
    assert names_of("others") == []
    assert topics() == list(pages())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell: str) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "rerank list ker", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment = {**os.environ, **asked, "_RERANK_COMPLETE": f"complete_{shell}"}
    found = subprocess.run(
        [sys.executable, "-m", "rerank"], env=environment, capture_output=True, text=True, check=True
    )
    assert "kernels" in found.stdout
    assert "metrics" not in found.stdout


def test_files_are_left_to_the_shell() -> None:
    assert completed("rerank", "eval", "te") == []
