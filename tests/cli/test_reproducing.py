"""``rerank run`` on a file with numbers to regenerate."""

from __future__ import annotations

import pytest

CONFIG = """\
text: text.md
steps:
  version: {run: [rerank --version]}
  pairs: {run: [rerank list learners ridge], needs: ["${NO_SUCH_VARIABLE}"]}
numbers:
  - {text: version, printed: "0.1", step: version, find: 'rerank (\\d+\\.\\d+)'}
  - {text: pairs, printed: 7 pairs, step: pairs, find: '(\\d+)'}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.md").write_text("version 0.1, 7 pairs\n")
    (tmp_path / "numbers.yaml").write_text(CONFIG)
    return tmp_path


def test_numbers_are_regenerated(rerank, place):
    assert "not run yet" in rerank("run", "numbers.yaml", "--status", code=1).out
    found = rerank("run", "numbers.yaml", "--jobs", 2)
    assert found.out.splitlines()[1].split() == ["version", "version", "0.1", "0.1", "same"]
    assert "pairs: not run: NO_SUCH_VARIABLE is not set" in found.out
    assert (place / "runs" / "numbers" / "numbers.json").is_file()
    assert rerank("run", "numbers.yaml", "--status").out == found.out


def test_a_number_that_differs(rerank, place):
    (place / "text.md").write_text("version 99.1, 7 pairs\n")
    (place / "numbers.yaml").write_text(CONFIG.replace('"0.1"', '"99.1"'))
    assert "differs" in rerank("run", "numbers.yaml", "--task", 1, "--out", "out", code=1).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models"], "--models: not used with numbers:, found in numbers.yaml"),
        (["--shard", "1/2"], "--shard: not used with numbers:"),
        (["--list"], "--list: not used with numbers:"),
        (["--task", 3], "--task: found 3, expected 1 to 2"),
        (["--status", "--task", 1], "--task: not used with --status, which runs nothing"),
        (["--status", "--jobs", 2], "--jobs: not used with --status, which runs nothing"),
    ],
)
def test_options_without_effect_are_refused(rerank, place, options, message):
    assert message in rerank("run", "numbers.yaml", *options, code=2).err
