"""How steady algorithms are on parses, on small lists."""

from __future__ import annotations

import sys

import numpy as np
import parse_steadiness
from small_parses import parse_lists

import rerank


def test_steadiness_is_the_deviation_of_late_rounds(monkeypatch, capsys, tmp_path):
    for seed, part in enumerate(("train", "dev")):
        rerank.save(parse_lists(seed), str(tmp_path / f"{part}.store"))
    given = [str(tmp_path), str(tmp_path / "curves.tsv"), "--epochs", "4", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["parse_steadiness.py", *given])
    parse_steadiness.main()
    columns, *lines = [line.split("\t") for line in (tmp_path / "curves.tsv").read_text().splitlines()]
    found = [dict(zip(columns, line, strict=True)) for line in lines]
    assert len(found) == 2 * 2 * 2 * 4
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    some = [row for row in found if (row["algorithm"], row["average"]) == ("1", "last")]
    late = [[float(row["F"]) for row in some if row["seed"] == seed][2:] for seed in ("1", "2")]
    deviation = np.mean([np.std(row) for row in late])
    assert f"deviation over epochs {deviation:.3f}" in printed[0]
