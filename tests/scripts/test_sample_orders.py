"""Deviations over orders of the samples: none for means over all subsets, some for the first k."""

from pathlib import Path

import pytest
import sample_orders

from rerank import load

ROOT = Path(__file__).resolve().parents[2]


def test_only_the_first_samples_depend_on_the_order(capsys):
    data = str(ROOT / "data" / "best-of-n" / "dev.jsonl")
    options = ["--score", "orm", "--k", "3", "--orders", "4", "--answer-pattern", "Answer: (.*)"]
    sample_orders.main([data, *options])
    rows = [line.rsplit(maxsplit=2) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [name for name, _, _ in rows] == [
        "best(draw=first)@3",
        "best@3",
        "maj(draw=first)@3",
        "maj@3",
        "wmaj(weight=exp, draw=first)@3",
        "wmaj(weight=exp)@3",
    ]
    assert all((float(deviation) > 0) == ("first" in name) for name, _, deviation in rows)
    lists = load(data)
    scores = lists.features.column(lists.column_of("orm"))
    ((_, mean, _),) = sample_orders.deviations(lists, scores, ["best(draw=first)@8"], 2, 0)
    assert 100 * mean == pytest.approx(100 * sample_orders.deviations(lists, scores, ["best"], 2, 0)[0][1])
