"""OAP-BPM against several PRanks by the pseudo-code; when it stops."""

import numpy as np
import pytest
from reference.graded import layouts, passes_of, ranks_of, separable_grades, whole_lists
from reference.ordinal import prank as slow_prank

from rerank.data.lists import CandidateLists
from rerank.learners.ordinal import OapBpm


def shown_to(learner, lists):
    """For each ranker, the rows that it sees in each round."""
    passes = passes_of(learner, lists)
    out = []
    for seed in np.random.SeedSequence(learner.seed).spawn(learner.rankers):
        rng = np.random.default_rng(seed)
        out.append([rows[rng.random(len(rows)) < learner.coin] for rows in passes])
    return out


@pytest.mark.parametrize("average", ["last", "average"])
@pytest.mark.parametrize(("rankers", "coin"), [(1, 0.5), (4, 0.3), (3, 0.02)])
def test_weights_and_thresholds_are_the_mean_of_the_rankers(average, rankers, coin):
    for seed in range(3):
        lists = whole_lists(seed, n_lists=9)
        learner = OapBpm(rankers=rankers, coin=coin, average=average, epochs=4, seed=seed)
        ranks, k = ranks_of(lists)
        X = lists.features.to_dense()
        runs = [slow_prank(X, ranks, k, passes, stop=False) for passes in shown_to(learner, lists)]
        chosen = [run[0] if average == "last" else run[1] for run in runs]
        updates = np.sum([run[2] for run in runs], axis=0).tolist()
        for data in layouts(lists):
            model = learner.fit(data)
            assert not model.training.rounds.converged
            np.testing.assert_allclose(
                model.weights, np.mean([w for w, _ in chosen], axis=0), rtol=1e-12, atol=1e-12
            )
            np.testing.assert_allclose(
                model.thresholds, np.mean([b for _, b in chosen], axis=0), rtol=1e-12, atol=1e-12
            )
            assert [[row["updates"], row["rank_loss"]] for row in model.curve] == updates


def test_it_stops_only_when_every_ranker_grades_every_item_rightly():
    lists, _, _ = separable_grades(5, 3, n=40)
    model = OapBpm(rankers=3, coin=0.2, average="last", epochs=5000).fit(lists)
    assert model.training.rounds.converged
    assert model.training.rounds.run < 5000
    # The grading rules that are right for all items are a convex cone: their mean is right as well.
    np.testing.assert_array_equal(model.grades(lists), lists.labels)
    quiet = [row["updates"] == 0 for row in model.curve]
    assert quiet[-1]
    assert sum(quiet) > 1  # a round without an update alone did not end it


def test_rankers_that_saw_nothing_know_nothing():
    lists = CandidateLists.from_arrays(np.eye(2), [0.0, 1.0])
    model = OapBpm(rankers=2, coin=1e-9, epochs=2).fit(lists)
    assert not model.weights.any()
    assert not model.thresholds.any()
