"""Consensus of protein models by their structures."""

import itertools
import statistics as of
from dataclasses import replace

import numpy as np
import pytest
from reference.everything import judged_lists, plain
from reference.metrics.proteins import value_of_model

from rerank.core.errors import ConfigError, DataError
from rerank.core.workers import parallel
from rerank.extensions.decision.consensus import consensus, consensus_features
from rerank.extensions.proteins import consensus as model_pairs
from rerank.metrics.base import parse

LISTS = judged_lists(4, sizes=(7, 1, 2, 9, 3))


def slow(lists, name, statistic):
    """Each model with every other one, the longer one as the native."""
    asked = {"gdt": name != "TM", "tm": name == "TM"}
    out = []
    for part in plain(lists, np.zeros(lists.n_items)):
        for k, model in enumerate(part.traces):
            others = [other for j, other in enumerate(part.traces) if j != k and other]
            pairs = [sorted((model, other), key=len) for other in others] if model else []
            values = [value_of_model(parse(name).family, *pair, **asked) for pair in pairs]
            out.append(getattr(of, statistic)(values) if values else 0.0)
    return out


@pytest.mark.parametrize(("name", "statistic"), [("GDT-TS", "mean"), ("GDT_HA", "median"), ("TM", "mean")])
def test_every_model_is_compared_with_every_other(name, statistic, monkeypatch):
    expected = slow(LISTS, name, statistic)
    assert consensus(LISTS, name, statistic) == pytest.approx(expected, abs=1e-9)
    assert 0.0 in expected
    assert len(set(expected)) > 10
    monkeypatch.setattr(model_pairs, "_RESIDUES", 60)
    with parallel.using(2):
        assert consensus(LISTS, name, statistic) == pytest.approx(expected, abs=1e-9)


def test_workers_and_other_metrics_change_no_bit(monkeypatch):
    alone = consensus(LISTS, "TM")
    calls = []
    block = model_pairs._block
    monkeypatch.setattr(model_pairs, "_RESIDUES", 60)
    monkeypatch.setattr(model_pairs, "_block", lambda *task: (calls.append(task[1:3]), block(*task))[1])
    with parallel.using(2):
        together = consensus_features(LISTS, ["GDT-TS", "coverage", "TM"])
    assert together.feature_names[-1] == "consensus.TM.mean"
    assert np.array_equal(together.features.column(3), alone)
    sizes = [np.count_nonzero(part) for part in np.split(LISTS.traces.lengths, LISTS.offsets[1:-1])]
    assert sum(stop - start for start, stop in calls) == sum(
        n * (n - 1) // 2 for n in sizes
    )  # each pair once


def test_the_order_of_the_models_changes_nothing():
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(LISTS.offsets)])
    assert consensus(LISTS.reordered(order), "GDT-TS") == pytest.approx(consensus(LISTS, "GDT-TS")[order])


def test_what_cannot_be_compared():
    with pytest.raises(ConfigError, match="consensus by RMSD: models that share no residue have none"):
        consensus(LISTS, "RMSD")
    with pytest.raises(DataError, match="everything: the candidates have no structures to compare"):
        consensus(replace(LISTS, traces=None), "GDT-TS")
    assert np.array_equal(consensus(replace(LISTS, natives=None), "TM"), consensus(LISTS, "TM"))
