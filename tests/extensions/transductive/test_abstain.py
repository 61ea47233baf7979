"""Kendall's tau-b between two rankings, and the threshold below which a model abstains."""

import numpy as np
import pytest
from reference.nearest_lists import NearestLists
from scipy.stats import kendalltau
from small_training import fit, saved

from rerank.core.errors import FitError
from rerank.data.judge import corpus_value, value_of
from rerank.extensions.transductive.adaptation import ALWAYS, NEVER, abstained, tau_b, tuned_threshold
from rerank.metrics.base import parse
from rerank.models.adaptation import Adaptation, ListRow
from rerank.models.describe_training import training_lines

QUICK = {"name": "rankboost", "rounds": 4}


@pytest.mark.parametrize("seed", range(30))
def test_tau_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    a, b = (rng.integers(0, rng.integers(2, 12), n).astype(float) for _ in range(2))
    a[0], b[0], a[1], b[1] = 0, 0, 1, 1  # neither is constant
    assert tau_b(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
    assert tau_b(a, a) == tau_b(a, 2 * a + 1) == 1.0
    assert tau_b(a, -a) == -1.0


def test_tau_of_constant_rankings():
    one, constant, rising = np.zeros(1), np.zeros(3), np.arange(3.0)
    assert tau_b(one, one) == tau_b(constant, constant) == 1.0
    assert tau_b(constant, rising) == tau_b(rising, constant) == 0.0


def adaptation(rng, lists, spread=0.5):
    """Random scores of two rankings, with their taus."""
    before = rng.integers(0, 6, lists.n_items).astype(float)
    own = before + np.repeat(rng.random(lists.n_lists) < spread, lists.lengths) * rng.normal(
        0, 2, len(before)
    )
    parts = [slice(*pair) for pair in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]
    taus = [tau_b(own[part], before[part]) for part in parts]
    rows = [
        ListRow(str(i), part.stop - part.start, True, "", tau, 0.0)
        for i, (part, tau) in enumerate(zip(parts, taus, strict=True))
    ]
    return Adaptation(own, before, tuple(rows))


def with_threshold(lists, found, threshold):
    """The scores of a model with a threshold, list by list."""
    scores = found.scores.copy()
    for i, row in enumerate(found.rows):
        if row.tau < threshold:
            part = slice(lists.offsets[i], lists.offsets[i + 1])
            scores[part] = found.unadapted[part]
    return scores


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metric", ["nDCG@5", "AP", "label@1"])
def test_the_threshold_is_the_best_of_all(seed, metric, make_lists):
    rng = np.random.default_rng(seed)
    lists = make_lists(seed, sizes=(1, 6, 5, 9, 4, 7, 2, 2, 8, 6))
    found, judge = adaptation(rng, lists), parse(metric).prepare(lists)
    taus = {row.tau for row in found.rows}
    tried = {t: value_of(judge, with_threshold(lists, found, t)) for t in {NEVER, ALWAYS, *taus}}
    best = max(tried.values())
    threshold = tuned_threshold(found, judge)
    assert value_of(judge, with_threshold(lists, found, threshold)) == pytest.approx(best, abs=1e-12)
    kept = sum(row.tau < threshold for row in found.rows)
    equal = [t for t, value in tried.items() if value >= best - 1e-12]
    assert kept == max(sum(tau.tau < t for tau in found.rows) for t in equal)
    assert threshold in (NEVER, ALWAYS) or threshold not in taus


@pytest.mark.parametrize("seed", range(5))
def test_the_record_counts_lists(seed, make_lists):
    lists = make_lists(seed)
    found = adaptation(np.random.default_rng(seed), lists, 0.9)
    judge = parse("nDCG").prepare(lists)
    record = abstained(found, judge, 0.4, tuned=True)
    below = [row.tau < 0.4 for row in found.rows]
    own, before = (judge.per_list(scores) for scores in (found.scores, found.unadapted))
    gains = [corpus_value(judge, own[[i]]) - corpus_value(judge, before[[i]]) for i in range(lists.n_lists)]
    assert record.kept == sum(below)
    assert record.improved == sum(gain > 1e-9 for gain, kept in zip(gains, below, strict=True) if not kept)
    assert record.harmed == sum(gain < -1e-9 for gain, kept in zip(gains, below, strict=True) if not kept)
    assert record.value == pytest.approx(value_of(judge, with_threshold(lists, found, 0.4)))
    assert record.adapted == value_of(judge, found.scores)
    assert record.unadapted == value_of(judge, found.unadapted)


def test_lists_below_the_threshold_have_the_unadapted_ranking(make_lists):
    lists, test = make_lists(1), make_lists(2)
    free = fit(NearestLists(base=QUICK, noise=9.0), lists).adapt(test)
    taus = sorted(row.tau for row in free.rows)
    model = fit(NearestLists(base=QUICK, noise=9.0, abstain=(taus[0] + taus[1]) / 2), lists)
    found = model.adapt(test)
    for i, row in enumerate(found.rows):
        part = slice(test.offsets[i], test.offsets[i + 1])
        assert row.tau == free.rows[i].tau
        keeps = row.tau < model.threshold
        assert row.reason.startswith("tau below") == keeps
        np.testing.assert_array_equal(found.scores[part], (free.unadapted if keeps else free.scores)[part])
    assert sum(row.reason.startswith("tau below") for row in found.rows) == 1


def test_the_threshold_is_chosen_on_dev_and_recorded(make_lists, tmp_path):
    lists, dev = make_lists(1), make_lists(2)
    method = NearestLists(base=QUICK, noise=9.0, abstain="auto")
    assert method.chooses_on_dev
    model = fit(method, lists, dev=dev, metric="nDCG@5")
    record = model.training.abstain
    assert (record.tuned, record.threshold, record.metric) == (True, model.threshold, "nDCG@5")
    judge = parse("nDCG@5").prepare(dev)
    assert value_of(judge, model.score(dev)) == pytest.approx(record.value, abs=1e-12)
    assert record.value >= max(record.adapted, record.unadapted)
    (line,) = [line for line in training_lines(model, lists, "nDCG@5") if line.startswith("abstain")]
    assert f"{record.kept} of 6 dev lists" in line
    again = saved(model, tmp_path)
    assert (again.threshold, again.training.abstain) == (model.threshold, record)


def test_a_threshold_needs_dev_lists_with_a_value(make_lists):
    method = NearestLists(base=QUICK, abstain="auto")
    with pytest.raises(FitError, match=r"abstain=auto is chosen on development lists .*--dev, --metric"):
        fit(method, make_lists(1), metric="nDCG@5")
    empty = make_lists(2).replace_labels(None)
    with pytest.raises(FitError, match=r"no value|unjudged"):
        fit(method, make_lists(1), dev=empty.replace_labels(np.full(empty.n_items, np.nan)), metric="nDCG@5")
