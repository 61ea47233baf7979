"""``python scripts/reproduce``: its command line, and what ``rerank run`` says to its files."""

import importlib
import sys

import pytest

from rerank.core.errors import ConfigError
from rerank.experiments.config import read_experiment

CONFIG = """\
text: [text.md]
steps:
  version: {run: [rerank --version]}
  pairs: {run: [rerank list learners ridge], needs: ["${NO_SUCH_VARIABLE}"]}
numbers:
  - {text: version, printed: "0.2", step: version, find: 'rerank (\\d+\\.\\d+)'}
  - {text: pairs, printed: 7 pairs, step: pairs, find: '(\\d+)'}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.md").write_text("version 0.2, 7 pairs\n")
    (tmp_path / "numbers.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def reproduce(capsys, monkeypatch):
    """Run the script; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    main = importlib.import_module("reproduce.__main__").main

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        return code, capsys.readouterr()

    return run


def test_numbers_are_regenerated(reproduce, place):
    code, found = reproduce("numbers.yaml", "--status")
    assert code == 1
    assert "not run yet" in found.out
    code, found = reproduce("numbers.yaml", "--jobs", 2)
    assert code == 0
    assert found.out.splitlines()[1].split() == ["version", "version", "0.2", "0.2", "same"]
    assert "pairs: not run: NO_SUCH_VARIABLE is not set" in found.out
    assert (place / "runs" / "numbers" / "numbers.json").is_file()
    assert reproduce("numbers.yaml", "--status") == (0, found)


def test_cheap_steps_alone(reproduce, place):
    text = CONFIG.replace("{run: [rerank --version]}", "{run: [rerank --version], cheap: true}")
    (place / "numbers.yaml").write_text(text)
    assert "not run yet" in reproduce("numbers.yaml", "--cheap", "--status")[1].out
    code, found = reproduce("numbers.yaml", "--cheap")
    assert (code, "pairs" in found.out) == (0, False)
    assert reproduce("numbers.yaml", "--cheap", "--task", 1)[0] == 2
    (place / "text.md").write_text("version 0.3, 7 pairs\n")
    (place / "numbers.yaml").write_text(text.replace('"0.2"', '"0.3"'))
    assert reproduce("numbers.yaml", "--cheap")[0] == 1


def test_a_number_that_differs(reproduce, place):
    (place / "text.md").write_text("version 99.1, 7 pairs\n")
    (place / "numbers.yaml").write_text(CONFIG.replace('"0.2"', '"99.1"'))
    code, found = reproduce("numbers.yaml", "--task", 1, "--out", "out")
    assert code == 1
    assert "differs" in found.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", 3], "--task: found 3, expected 1 to 2"),
        (["--status", "--task", 1], "--task: not used with --status, which runs nothing"),
        (["--status", "--jobs", 2], "--jobs: not used with --status, which runs nothing"),
        (["--out", "taken"], "taken: holds something else, expected a new folder"),
    ],
)
def test_mistakes_are_one_line(reproduce, place, options, message):
    (place / "taken").mkdir()
    (place / "taken" / "file").touch()
    code, found = reproduce("numbers.yaml", *options)
    assert code == 2
    assert message in found.err


def test_the_script_is_named_to_those_who_run_its_file(place):
    with pytest.raises(ConfigError, match=r"numbers of a text: python scripts/reproduce numbers\.yaml"):
        read_experiment("numbers.yaml")
