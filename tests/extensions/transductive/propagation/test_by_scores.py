"""Rankers of any kind propagated by their scores: against dense algebra, in files, in degenerate cases."""

import numpy as np
import pytest
from reference import score_propagation as slow
from small_training import fit, rewritten

from rerank.core.errors import ConfigError, DataError, FitError, FormatError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.adapter import packed_json
from rerank.extensions.transductive.propagation.by_scores import PropagateScores
from rerank.learners.base import LEARNERS
from rerank.models.base import load_model

BASES = [
    {"name": "rankboost", "rounds": 6},
    {"name": "lambdamart", "rounds": 4, "min_leaf": 1},
    {"name": "ranksvm"},
    {"name": "preference-svm", "kernel": "gaussian(gamma=0.1)"},
]


def some_lists(seed, sizes=(6, 5, 1, 9, 4, 7, 8), levels=3):
    """Lists of real features, of which one has one item and one no pair."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(n, 4))
    y = np.clip(np.round(X[:, 1] * X[:, 0] + rng.normal(0, 0.5, n)), 0, levels - 1)
    y[-8:] = 1.0
    return CandidateLists.from_arrays(X, y, group=list(sizes), source=f"lists {seed}")


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("kernel", "neighbours"), [("list", 2), ("bhattacharyya", 3), ("angles", "all")])
def test_scores_are_harmonic_score_vectors(base, kernel, neighbours):
    train, test = some_lists(1), some_lists(2, (5, 6, 3))
    method = PropagateScores(base=base, kernel=kernel, neighbours=neighbours)
    model = fit(method, train, scaling="none")
    expected = slow.scores_of(method.base_learner, train, test, kernel, neighbours)
    np.testing.assert_allclose(model.score(test), expected, atol=1e-8)
    assert model.training_lines()[0] == "rankers of 4 of 7 lists"


def test_linear_rankers_of_all_neighbours_rank_as_their_mean():
    train, test = some_lists(1), some_lists(2, (5, 6, 3))
    model = fit(PropagateScores(base="ranksvm", neighbours="all"), train)
    found = model.adapt(test)
    assert found.jointly
    assert found.facts["reached"] == 3
    assert all(-1 <= row.diagnostics["agreement"] <= 1 for row in found.rows)
    assert all(1 / 4 <= row.diagnostics["largest_share"] <= 1 for row in found.rows)


def test_one_training_list_ranks_every_list():
    train, test = some_lists(1, (6,)), some_lists(2, (5, 6, 3))
    train = train.replace_labels(np.arange(6.0))
    model = fit(PropagateScores(base="ranksvm"), train)
    for row in model.adapt(test).rows:
        assert row.diagnostics == {"agreement": pytest.approx(1), "largest_share": pytest.approx(1)}
        assert row.tau == pytest.approx(1)  # the unadapted model is that of the only list


def test_lists_that_no_ranker_reaches_get_the_mean_of_all():
    train, test = some_lists(1), some_lists(2, (5, 1, 6))
    model = fit(PropagateScores(base="ranksvm", neighbours=2), train)
    rows = model.adapt(test).rows
    assert [row.reason for row in rows] == ["", "not reached: mean ranker", ""]


def test_equal_scores_are_no_agreement_but_finite():
    train = some_lists(1)
    model = fit(PropagateScores(base={"name": "rankboost", "rounds": 3}), train)
    test = CandidateLists.from_arrays(np.full((4, 4), 3.0))
    assert np.ptp(model.score(test)) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": np.array([0, 5], dtype=np.int64)},
        {"bounds": np.array([0], dtype=np.int64)},
        {"trained": np.array([0, 1, 3], dtype=np.int64)},
        {"trained": np.array([0, 1, 3, 7], dtype=np.int64)},
        {"trained": np.array([0, 3, 1, 5], dtype=np.int64)},
        {"rankers": np.zeros(100, dtype=np.uint8)},
        {"method": packed_json({"kernel": "nonsense", "neighbours": 3})},
        {"method": packed_json({"kernel": "list", "neighbours": 0})},
    ],
)
def test_a_damaged_model_is_refused(change, tmp_path):
    fit(PropagateScores(base="ranksvm"), some_lists(1)).save(str(tmp_path / "m"))
    with pytest.raises(FormatError):
        load_model(rewritten(tmp_path / "m", tmp_path / "n", **change))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"neighbours": 0}, "neighbours: found 0"),
        ({"kernel": "lists"}, "kernel"),
        ({"base": {"name": "ranksvm", "C": "dev"}}, "it chooses by development lists"),
        ({"base": "propagate"}, "it has a base itself"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        PropagateScores(**settings)


def test_lists_without_a_pair_train_no_ranker():
    lists = some_lists(1).replace_labels(np.ones(40))
    with pytest.raises((FitError, DataError)):
        PropagateScores(base="ranksvm").fit(lists)


def test_a_base_that_needs_a_metric_gets_it_for_all_lists():
    learner = LEARNERS.get("propagate-scores")(base="coordinate-ascent")
    model = fit(learner, some_lists(1), metric="nDCG@5")
    assert np.isfinite(model.score(some_lists(2))).all()
