"""Figure 1 of the Predtron paper on a tiny configuration."""

import importlib.util

import numpy as np
import predtron_figure1
import pytest

CONFIG = """
seed: 3
repetitions: 2
test_lists: 5
ties: [score, index]
panels:
  a:
    vary: n
    values: [2, 6, 8]
    n: 8
    m: 6
    p: 4
    curves:
      -i^2: {exponent: 2.0}
      1/i: {positions: reciprocal}
  c:
    vary: p
    values: [10, 12]
    n: 4
    m: 5
    p: 10
    s: 3
    curves:
      l1: {norm: p}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "figure.yaml"
    path.write_text(CONFIG)
    return path


def test_every_point_has_a_row_and_a_cell(config, tmp_path, capsys):
    out = tmp_path / "out"
    predtron_figure1.main([str(config), "--out", str(out)])
    rows = [line.split("\t") for line in (out / "figure1.tsv").read_text().splitlines()]
    assert rows[0] == ["panel", "ties", "curve", "x", "mean", "error", "median"]
    assert len(rows) == 1 + 2 * 3 * 2 + 2 * 2
    assert all(0 <= float(row[4]) <= 1 for row in rows[1:])
    text = (out / "figure1.txt").read_text()
    assert text in capsys.readouterr().out
    assert text.count("±") == 16 + 4  # a cell for each point, and in each heading
    if importlib.util.find_spec("matplotlib"):
        figures = sorted(path.name for path in out.glob("*.svg"))
        assert figures == [f"figure1-{panel}-{ties}.svg" for panel in "ac" for ties in ("index", "score")]
    again = tmp_path / "again"
    predtron_figure1.main([str(config), "--out", str(again)])
    assert (again / "figure1.tsv").read_bytes() == (out / "figure1.tsv").read_bytes()


def test_quick_makes_two_points_of_each_curve(config, tmp_path):
    predtron_figure1.main([str(config), "--out", str(tmp_path / "out"), "--quick"])
    assert len((tmp_path / "out" / "figure1.tsv").read_text().splitlines()) == 1 + 2 * 2 * 2 + 2 * 2


@pytest.mark.parametrize("s", [None, 3])
def test_labels_follow_the_thresholds_of_the_paper(s):
    panel = predtron_figure1.Panel(s=s)
    X, y = predtron_figure1.draw(panel, 40, 6, 9, np.random.default_rng(1))
    again = np.random.default_rng(1)
    if s is None:
        direction = again.standard_normal(9)
    else:
        direction = np.zeros(9)
        direction[again.choice(9, 3, replace=False)] = again.choice([-1.0, 1.0], 3)
        assert np.abs(X).max() <= 1
    scores = X @ (direction / np.linalg.norm(direction))
    for score, label in zip(scores, y, strict=True):
        j = 6 - label  # 1/(j + 1) <= score <= 1/j, no bound above for j = 1 and below for j = m
        assert j == 6 or score >= 1 / (j + 1)
        assert j == 1 or score <= 1 / j


def test_a_wrong_key_is_an_error_of_one_line(config, tmp_path, capsys):
    config.write_text(CONFIG.replace("seed: 3", "sead: 3"))
    with pytest.raises(SystemExit):
        predtron_figure1.main([str(config), "--out", str(tmp_path / "out")])
    assert "unknown setting 'sead'; did you mean 'seed'?" in capsys.readouterr().err.replace("\n", " ")
