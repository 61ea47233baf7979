"""Positions as scores: larger is better, and what a ranker did not return is left out."""

import math

import numpy as np
import positions_to_scores
import pytest

import rerank

LINES = """\
1 qid:7 1:1 2:NULL 3:12 #docid = A inc = 1
0 qid:7 1:1000 2:3 3:NULL #C
0 qid:8 1:NULL 2:NULL 3:NULL #B
"""


def convert(tmp_path, *options, lines=LINES):
    (tmp_path / "in" / "Fold1").mkdir(parents=True, exist_ok=True)
    (tmp_path / "in" / "Fold1" / "test.txt").write_text(lines)
    positions_to_scores.main([str(tmp_path / "in"), str(tmp_path / "out"), *options])
    return tmp_path / "out" / "Fold1" / "test.txt"


def test_files_are_read_with_scores_above_what_is_missing(tmp_path):
    path = convert(tmp_path)
    assert path.read_text().splitlines()[2] == "0 qid:8 #B"
    lists = rerank.load(path, missing="nan", layout="dense")
    X = lists.features.to_dense()
    expected = [1 - math.log(p) / math.log(1001) for p in (1, 12, 1000, 3)]
    assert np.isnan(X).sum() == 5
    assert X[~np.isnan(X)] == pytest.approx(expected, abs=1e-9)
    assert np.nanmin(X) > 0
    assert lists.item_ids[0] == "A"


def test_linear_scores_and_another_depth(tmp_path):
    X = rerank.load(convert(tmp_path, "--curve", "linear", "--depth", "1999"), layout="dense").features
    assert X.to_dense()[:2].tolist() == [[0.9995, 0, 0.994], [0.5, 0.9985, 0]]


@pytest.mark.parametrize("value", ["0", "1001", "-3"])
def test_a_value_that_is_no_position_is_refused(tmp_path, capsys, value):
    with pytest.raises(SystemExit):
        convert(tmp_path, lines=f"1 qid:7 1:{value}\n")
    assert f"position {value}: expected 1 to 1000" in capsys.readouterr().err


def test_a_folder_without_folds_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        positions_to_scores.main([str(tmp_path), str(tmp_path / "out")])
    assert "no Fold*/*.txt" in capsys.readouterr().err
