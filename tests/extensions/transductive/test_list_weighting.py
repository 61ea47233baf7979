"""The learner list-iw: the base's own model of weighted lists, and nothing of test labels in it."""

from dataclasses import replace

import numpy as np
import pytest
from reference import rankboost as slow
from small_training import make_learner, saved

import rerank
from rerank.core.errors import ConfigError, FitError
from rerank.core.tables.data import to_json
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation
from rerank.data.scaling import fit_scaling
from rerank.extensions.transductive.weighting.lists import ListWeighting
from rerank.metrics.base import parse
from rerank.models.describe import model_lines, model_record


def some_lists(seed, n=14, width=4):
    """Graded lists of different shapes; one of a single item and one whose labels are equal."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, n)
    sizes[1] = 1
    scales = np.repeat(rng.gamma(1, 1, (n, width)), sizes, axis=0)
    X = np.round(rng.normal(size=(int(sizes.sum()), width)) * scales, 2)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=len(X))), 0, 3)
    lists = CandidateLists.from_arrays(X, y, group=sizes, source=f"set {seed}")
    y[lists.offsets[2] : lists.offsets[3]] = 1
    return CandidateLists.from_arrays(X, y, group=sizes, source=f"set {seed}")


def weights_of(train, test, scaling="zscore", **settings):
    """The weights of the learner's lists."""
    fitted = fit_scaling(scaling, train)
    found = ListWeighting(**settings).weigh_lists(fitted.apply(train), fitted.apply(test), 1)
    return fitted.apply(train), found.weights


@pytest.mark.parametrize("base", ["mert", "ranksvm", "loglinear", "ridge", "coordinate-ascent", "rankboost"])
@pytest.mark.parametrize("basis", ["gaussian", "kernel"])
def test_the_model_is_that_of_the_base_with_list_weights(base, basis):
    train, test = some_lists(0), some_lists(1, 12)
    own = {"name": base, "rounds": 5} if base == "rankboost" else base
    more = {"use": "initial"} if base == "rankboost" else {}
    model = rerank.train(train, "list-iw", base=own, basis=basis, unlabelled=test, metric="label@1", **more)
    ready, weights = weights_of(train, test, basis=basis)
    settings = {"rounds": 5} if base == "rankboost" else {}
    judge = parse("label@1").prepare(ready)
    expected = make_learner(base, settings).fit(ready, judge=judge, list_weights=weights)
    assert type(model) is type(expected)
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(model.arrays()[name], array)
    assert (model.training.learner, model.training.settings["base"]) == ("list-iw", own)


def test_costs_of_rankboost_are_tied_over_the_pairs_of_a_list():
    train, test = some_lists(2), some_lists(3, 12)
    model = rerank.train(train, "list-iw", base={"rounds": 6}, unlabelled=test)
    ready, weights = weights_of(train, test)
    learner = make_learner("rankboost", {"rounds": 6})
    pairs = slow.pairs_of(ready, PairRelation("all"))
    most = max(weights[i] for i, *_ in pairs)
    costs = {(a, b): (0.5 - 0.5 * weights[i] / most, 0.5 + 0.5 * weights[i] / most) for i, a, b in pairs}
    rounds, scores = slow.rounds(ready, PairRelation("all"), learner, costs=costs)
    np.testing.assert_allclose(model.score_prepared(ready), scores, atol=1e-6)
    assert model.training.notes["loss"] == pytest.approx(rounds[-1][2], rel=1e-6)


def test_dev_lists_and_rounds_are_those_of_the_base(tmp_path):
    train, dev, test = some_lists(0), some_lists(5), some_lists(1)
    for use in ("cost", "initial"):
        model = rerank.train(
            train,
            "list-iw",
            dev=dev,
            metric="nDCG@3",
            unlabelled=test,
            use=use,
            base={"rounds": 9, "keep": "best"},
        )
        values = [row["dev"] for row in model.curve]
        assert model.training.rounds.kept == 1 + values.index(max(values))
        assert model.n_rounds == model.training.rounds.kept


def test_settings_of_the_base_and_of_the_weights_are_chosen_on_folds():
    model = rerank.train(
        some_lists(0, 30),
        "list-iw",
        metric="label@1",
        unlabelled=some_lists(1),
        base="mert",
        select="cv",
        folds=3,
        grid={"kernel": ["list", "angles"], "base.restarts": [1, 2]},
    )
    assert len(model.training.choice.cells) == 4
    assert model.training.unlabelled.lists == 14


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"base": "prank"}, "learner prank is no base of learner list-iw: it accepts no list weights"),
        ({"base": "iw"}, "learner iw is no base of learner list-iw: it has a base itself"),
        ({"base": "mert", "use": "initial"}, "use is for base=rankboost: learner mert takes the weights"),
        ({"kernel": "polynomial"}, "unknown kernel 'polynomial'"),
        ({"base": {"name": "rankboost", "no": 1}}, "base learner rankboost: unknown setting 'no'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, expected):
    with pytest.raises(ConfigError, match=expected):
        make_learner("list-iw", settings)


def test_inputs_that_the_base_needs_are_asked_for():
    train, test = some_lists(0), some_lists(1)
    with pytest.raises(FitError, match="learner mert needs a metric of single candidates"):
        rerank.train(train, "list-iw", base="mert", unlabelled=test)
    with pytest.raises(FitError, match="learner list-iw accepts no list weights"):
        make_learner("list-iw", {}).fit(train, unlabelled=test, list_weights=np.ones(14))
    with pytest.raises(FitError, match="set 0: no judged item; learner rankboost learns from labels"):
        make_learner("list-iw", {}).fit(
            CandidateLists.from_arrays(train.features, group=train.lengths, source="set 0"), unlabelled=test
        )
    scored = replace(train, base_scores=train.features.column(1))
    with pytest.raises(ConfigError, match="base_scale has no effect on learner list-iw"):
        rerank.train(scored, "list-iw", unlabelled=test, base_scale=2)


def test_lists_with_pairs_that_all_weigh_0_are_refused():
    """The one training list like the test lists has no pair; no other shares a feature with them."""
    X = np.zeros((9, 3))
    X[:3, 0] = X[3:6, 0] = [1, 2, 3]
    X[6:, 1] = [1, 2, 4]
    train = CandidateLists.from_arrays(X, [0, 1, 2, 2, 1, 0, 1, 1, 1], group=[3, 3, 3], source="odd")
    test = CandidateLists.from_arrays(X[6:], group=[3])
    for use in ("cost", "initial"):
        with pytest.raises(FitError, match="odd: the weight of every list with a pair is 0"):
            rerank.train(train, "list-iw", basis="kernel", use=use, unlabelled=test, scaling="none")


def test_the_weights_are_shown(tmp_path):
    model = rerank.train(some_lists(0), "list-iw", base={"rounds": 2}, components=3, unlabelled=some_lists(1))
    lines = model_lines(saved(model, tmp_path))
    notes = " ".join(" ".join(lines).split())
    for text in ("kernel list (components 3)", "width ", "weights_effective 0.", "weights_zeros "):
        assert text in notes
    shown = next(line for line in lines if line.startswith("unlabelled"))
    assert "lists 14, items " in shown
    assert "sketch" not in shown
    assert '"sketch"' not in to_json(model_record(model))
