"""Figure 2 of Shen & Joshi on the tiny set: every epoch has a point, and its error is that of a training."""

import importlib.util
from pathlib import Path

import perceptron_figure2
import pytest

import rerank
from rerank.data.judge import value_of
from rerank.learners.perceptron import Perceptron
from rerank.metrics.base import parse

DATA = Path(__file__).resolve().parents[2] / "data" / "spelling-tiny"


def test_points_are_those_of_a_training_that_ends_there(tmp_path, capsys):
    files = [str(DATA / f"{part}.letor") for part in ("train", "test")]
    perceptron_figure2.main([*files, "--metric", "AP", "--epochs", "3", "--out", str(tmp_path)])
    rows = [line.split("\t") for line in (tmp_path / "figure2.tsv").read_text().splitlines()]
    assert rows[0] == ["curve", "epoch", "seconds", "error"]
    assert len(rows) == 1 + 4 * 3
    assert [row[1] for row in rows[1:]] == ["1", "2", "3"] * 4
    train, test = (rerank.load(path) for path in files)
    for curve, epoch, _, error in rows[1:]:
        given = {"pairs": "ordinal", "margin": "uneven", "tau": 1.0, "epochs": int(epoch)}
        model = Perceptron(**given, **perceptron_figure2.SETTINGS[curve]).fit(train)
        value = value_of(parse("AP").prepare(test), model.score(test))
        assert float(error) == pytest.approx(1 - value, abs=1e-5)
    seconds = [float(row[2]) for row in rows[1:]]
    assert all(seconds[k] <= seconds[k + 1] for k in range(11) if rows[k + 1][0] == rows[k + 2][0])
    assert capsys.readouterr().out.count("Algorithm") == 4
    if importlib.util.find_spec("matplotlib"):
        assert sorted(path.name for path in tmp_path.glob("*.svg")) == [
            "figure2-epochs.svg",
            "figure2-seconds.svg",
        ]


def test_lists_that_cannot_be_read_are_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        perceptron_figure2.main(["none", "none", "--metric", "AP", "--out", str(tmp_path)])
    assert "none" in capsys.readouterr().err
