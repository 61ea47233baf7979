"""The data files of Collins & Koo's tables and figures, on small lists."""

import sys

import boosting_curves
import pytest
from small_parses import parse_lists

import rerank


def rows(path):
    columns, *lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [dict(zip(columns, line, strict=True)) for line in lines]


def test_files_are_those_of_the_runs(tmp_path, monkeypatch):
    for seed, part in enumerate(("train", "dev")):
        rerank.save(parse_lists(seed), str(tmp_path / f"{part}.store"))
    given = [
        str(tmp_path),
        str(tmp_path / "out"),
        "--rounds",
        "15",
        "--epsilons",
        "0.01",
        "0.1",
        "--every",
        "5",
    ]
    monkeypatch.setattr(sys, "argv", ["boosting_curves.py", *given])
    boosting_curves.main()
    found = rows(tmp_path / "out" / "curves.tsv")
    assert {(row["weighting"], row["epsilon"]) for row in found} == {
        (weighting, epsilon) for weighting in ("weighted", "unweighted") for epsilon in ("0.01", "0.1")
    }
    train, dev = (
        rerank.label(rerank.load(tmp_path / f"{part}.store"), "PARSEVAL.score") for part in ("train", "dev")
    )
    model = rerank.train(train, "boosting", dev=dev, metric="label@1", rounds=15, epsilon=0.1)
    first = rerank.evaluate(dev, dev.first_best, ["label@1"])["label@1"]
    at = {row["round"]: row for row in model.curve}
    for row in found:
        if (row["weighting"], row["epsilon"]) == ("weighted", "0.1"):
            assert float(row["score"]) == pytest.approx(100 * at[int(row["round"])]["dev"] / first, rel=1e-9)
    best = max(row["dev"] for row in model.curve)
    table = {row["epsilon"]: row for row in rows(tmp_path / "out" / "table2.tsv")}
    assert float(table["0.1"]["best_score"]) == pytest.approx(100 * best / first, rel=1e-9)
    assert [row["epsilon"] for row in rows(tmp_path / "out" / "table3.tsv")] == ["0.01", "0.1"]
    spans = [(row["from"], row["to"]) for row in rows(tmp_path / "out" / "table4.tsv")]
    assert spans[0][0] == spans[1][0] == "1"
    assert spans[0][1] == spans[-1][1]


def test_savings_are_those_of_the_paper_s_equation():
    curve = [{"work": 0.5}, {"work": 0.75}, {"work": 1.0}]
    assert boosting_curves.savings(curve, 1, 3) == 3.0
    assert boosting_curves.savings(curve, 2, 3) == 4.0
    assert boosting_curves.spans(1500) == [(1, 1500), (1, 10), (11, 100), (101, 1000), (1001, 1500)]
