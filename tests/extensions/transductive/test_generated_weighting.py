"""Generated features and weighted pairs together, by their definitions."""

import numpy as np
import pytest
from reference import kliep as slow
from small_training import fit

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.space import Basis, Points
from rerank.extensions.transductive.weighting.pairs import costs_of
from rerank.learners.base import LEARNERS

QUICK = {"name": "rankboost", "rounds": 5}


def method(**settings):
    return LEARNERS.get("fg-iw")(**{"base": QUICK, "components": 2, **settings})


def slow_weights(labelled, train, test, pairs, labels):
    """KLIEP's weights of the labelled pairs with one width, the typical distance, for both directions."""
    training = slow.pair_differences(train, labelled.labels, labelled.lengths.tolist())
    n = len(training)
    training += [-x for x in training]
    chosen = [
        (i, j)
        for i in range(len(test))
        for j in range(len(test))
        if (labels[i] != labels[j] if pairs == "oracle" else i != j)
    ]
    differences = [test[i] - test[j] for i, j in chosen]
    apart = [float(np.sqrt(((s - t) ** 2).sum())) for s in differences for t in differences]
    width = float(np.median([d for d in apart if d > 1e-9]))
    proportions, means = slow.fit(training, differences, differences, width)
    weights = [np.exp(slow.log_ratio(x, differences, width, proportions, means)) for x in training]
    return np.array(weights).reshape(2, n).mean(axis=0)


@pytest.mark.parametrize("space", ["generated", "augmented", "original"])
@pytest.mark.parametrize("use", ["cost", "initial"])
@pytest.mark.parametrize("pairs", ["all", "oracle"])
def test_rankers_are_those_of_generated_features_and_weights_by_definition(space, use, pairs, make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(space=space, use=use, pairs=pairs, widths=(1.0,)), lists)
    found = model.ranker(test, 4)
    labelled, one = model.labelled, model.prepared(test).subset([4])
    projection = Projection(KernelFeatures(components=2), Points(one))
    columns = [projection.columns(Points(some)) for some in (labelled, one)]
    original = [some.features.to_dense().astype(float) for some in (labelled, one)]
    coordinates = {
        "generated": columns,
        "original": original,
        "augmented": [np.hstack(both) for both in zip(original, columns, strict=True)],
    }[space]
    weights = slow_weights(labelled, *coordinates, pairs, one.labels)
    given = {"costs": costs_of(weights)} if use == "cost" else {"pair_weights": weights}
    names = KernelFeatures(components=2).generated_names()
    expected = Basis(model.method.base_learner, labelled).fit(columns[0], names, **given)
    wide = one.with_added(dict(zip(names, columns[1].T, strict=True)))
    np.testing.assert_allclose(found.model.score_aligned(one), expected.score_aligned(wide), atol=1e-3)
    assert found.diagnostics["median"] == pytest.approx(np.median(weights), abs=1e-3)
    assert found.diagnostics["components"] == sum(projection.counts.values())
    assert 0 <= found.diagnostics["generated_share"] <= 1
    assert 0.5 < found.diagnostics["train_accuracy"] <= 1


def test_lists_that_generate_nothing():
    rng = np.random.default_rng(0)
    lists = CandidateLists.from_arrays(rng.random((20, 2)), rng.integers(0, 3, 20), group=[6, 14])
    model = fit(method(), lists)
    for X, reason in (([[1.0, 2.0]], "one item"), ([[1.0, 2.0]] * 3, "no component")):
        (row,) = model.adapt(CandidateLists.from_arrays(np.array(X), group=[len(X)])).rows
        assert row.reason == reason
        figures = dict(row.diagnostics)
        assert figures.pop("components") == 0
        assert np.isnan(list(figures.values())).all()
        assert list(row.diagnostics) == list(model.ranker(lists, 0).diagnostics)


def test_settings_of_both_methods_are_checked():
    for settings, text in (
        ({"kernels": "cosine"}, "kernels: found 'cosine'"),
        ({"widths": (-1.0,)}, "widths: found"),
        ({"base": "ranksvm"}, "base: found ranksvm"),
        ({"space": "dual"}, "space: found 'dual'"),
    ):
        with pytest.raises(ConfigError, match=text):
            LEARNERS.get("fg-iw")(**settings)
    assert method(pairs="oracle").uses_test_labels
    assert not method().uses_test_labels
