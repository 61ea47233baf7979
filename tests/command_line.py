"""The command line inside the test process: fixtures of all tests, by ``conftest``."""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rerank.cli import main

ROOT = Path(__file__).resolve().parent.parent
TINY = ROOT / "data" / "spelling-tiny"


NBEST = """\
0 ||| the cat sat ||| lm= -4 tm= -2 -1 ||| -6
0 ||| the cat sat down ||| lm= -5 tm= -1 -3 ||| -6.5
0 ||| a cat ||| lm= -3 tm= -5 -2 ||| -8
1 ||| it rains in the town ||| lm= -7 tm= -3 -1 ||| -10
1 ||| it rains in town ||| lm= -8 tm= -2.5 -1 ||| -10.5
2 ||| yes ||| lm= -1 tm= -1 0 ||| -2
2 |||  ||| lm= 0 tm= -9 0 ||| -9
"""


def tsv(path):
    """The rows of a file, a dictionary each."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@dataclass
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def rerank(capfd, monkeypatch):
    """rerank("eval", "data", ...) -> Result, as the shell would see it; code=None accepts any exit code."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object, code: int | None = 0) -> Result:
        monkeypatch.setattr(sys, "argv", ["rerank", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        result = Result(exit_.value.code or 0, out, err)
        assert code is None or result.code == code, result
        assert "Traceback" not in err
        return result

    return run


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder to work in, with the tiny sets as train.letor, dev.letor, test.letor and features.txt."""
    for path in TINY.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nbest(tmp_path, monkeypatch):
    """A folder to work in, with dev.nbest, its dev.ref, and a moses.ini of its features."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.nbest").write_text(NBEST)
    (tmp_path / "dev.ref").write_text("the cat sat down\nit rains in town\nyes\n")
    (tmp_path / "moses.ini").write_text("[feature]\nx\n\n[weight]\nlm= 1\ntm= 0.5 0.25\n")
    return tmp_path
