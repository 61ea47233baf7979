"""Whether distance predicts gain, on small lists."""

import gzip
import sys

import distance_and_gain
import numpy as np
import pytest
from scipy.stats import spearmanr


@pytest.mark.parametrize("seed", range(3))
def test_the_rank_correlation_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, 30).astype(float), rng.normal(size=30)
    assert distance_and_gain.rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_a_constant_has_no_correlation():
    assert np.isnan(distance_and_gain.rank_correlation(np.ones(3), np.arange(3.0)))


def test_every_figure_of_all_folds_is_printed(monkeypatch, capsys, tmp_path):
    rng = np.random.default_rng(0)
    for fold in ("A", "B"):
        (tmp_path / fold).mkdir()
        for part in ("train", "test"):
            X = rng.normal(size=(40, 3))
            lines = [
                f"{int(x[0] + rng.normal() > 0)} qid:{i // 8 + 1} 1:{x[0]:.3f} 2:{x[1]:.3f} 3:{x[2]:.3f}\n"
                for i, x in enumerate(X)
            ]
            with gzip.open(tmp_path / fold / f"{part}.txt.gz", "wt", encoding="utf-8") as file:
                file.write("".join(lines))
    given = ["distance_and_gain.py", str(tmp_path / "A"), str(tmp_path / "B"), "--rounds", "5"]
    monkeypatch.setattr(sys, "argv", given)
    distance_and_gain.main()
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("10 lists, mean gain ")
    assert [row[:24].rstrip() for row in rows] == [*distance_and_gain.NAMES, "training accuracy"]
    assert all("with the gain" in row for row in rows)
    assert not any("nan" in row for row in rows[:-1])
