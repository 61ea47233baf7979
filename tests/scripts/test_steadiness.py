"""How steady algorithms are, on small lists."""

import sys

import numpy as np
import steadiness
from small_parses import parse_lists

import rerank


def test_steadiness_is_the_deviation_of_late_epochs(monkeypatch, capsys, tmp_path):
    for seed, part in enumerate(("train", "dev")):
        rerank.save(parse_lists(seed), str(tmp_path / f"{part}.store"))
    files = [str(tmp_path / name) for name in ("train.store", "dev.store")]
    given = [*files, "PARSEVAL", str(tmp_path / "curves.tsv"), "--epochs", "4", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["steadiness.py", *given])
    steadiness.main()
    columns, *lines = [line.split("\t") for line in (tmp_path / "curves.tsv").read_text().splitlines()]
    found = [dict(zip(columns, line, strict=True)) for line in lines]
    assert len(found) == 3 * 2 * 2 * 4
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 6
    some = [row for row in found if (row["algorithm"], row["average"]) == ("1", "last")]
    late = [[float(row["value"]) for row in some if row["seed"] == seed][2:] for seed in ("1", "2")]
    deviation = np.mean([np.std(row) for row in late]) / np.mean(late)
    assert f"deviation over epochs {deviation:.2%}" in printed[0]
