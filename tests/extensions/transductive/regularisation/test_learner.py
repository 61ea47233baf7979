"""Score regularisation: what is chosen and by what, model files, lists that it cannot smooth."""

import dataclasses
import json

import numpy as np
import pytest
from reference import score_regularisation as slow
from small_training import fit, rewritten, saved

import rerank
from rerank.core.errors import ConfigError, DataError, FitError, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.judge import label_judge, value_of
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.adapter import packed_json
from rerank.extensions.transductive.regularisation.learner import ScoreRegularisation
from rerank.extensions.transductive.regularisation.model import RegularisedModel
from rerank.metrics.base import parse
from rerank.models.base import load_model


def topical(seed, n_lists=12, n=12):
    """Lists in which relevant items share words, and a noisy feature."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_lists * n) < 0.4).astype(float)
    X = np.column_stack([y + rng.normal(0, 1.5, len(y)), rng.normal(size=len(y))])
    words = np.array(["apple pear plum fig", "stone brick slate lime"])
    texts = [" ".join(rng.permutation(words[int(label)].split())[:3]) for label in y]
    return CandidateLists.from_arrays(X, y, group=[n] * n_lists, texts=texts, source=f"topics {seed}")


def slow_scores(lists, scores, alpha, k):
    texts, out = list(lists.texts), []
    for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        part = texts[a:b]
        edges = slow.edges_of(lambda i, j, part=part: slow.text_affinity(part, i, j), len(part), k)
        out += slow.smoothed(scores[a:b].tolist(), edges, alpha)
    return np.array(out)


def test_scores_are_those_of_the_base_smoothed_as_by_hand():
    train, test = topical(1), topical(2, n_lists=3)
    base = fit("ranksvm", train)
    model = fit(ScoreRegularisation(alpha=0.6, neighbours=4), train)
    np.testing.assert_allclose(model.score(test), slow_scores(test, base.score(test), 0.6, 4), rtol=1e-9)
    zero = fit(ScoreRegularisation(alpha=0.0), train)
    np.testing.assert_array_equal(zero.score(test), base.score(test))


def test_smoothing_helps_where_relevant_items_are_alike():
    train, dev, test = topical(1), topical(2), topical(3)
    base = fit("ranksvm", train)
    model = fit(ScoreRegularisation(), train, dev=dev, metric="AP")
    assert model.smoothing.affinity == "texts"
    assert model.smoothing.alpha > 0
    values = [rerank.evaluate(test, one.score(test), ["AP"])["AP"] for one in (base, model)]
    assert values[1] > values[0] + 0.1


def test_the_choice_is_the_best_of_all_on_dev_and_recorded():
    train, dev = topical(1), topical(2)
    model = fit(ScoreRegularisation(), train, dev=dev, metric="AP")
    notes = model.training.notes
    best = None
    for alpha in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9):
        for k in (3, 5, 10, 20, "all"):
            one = fit(ScoreRegularisation(alpha=alpha, neighbours=k), train)
            value = rerank.evaluate(dev, one.score(dev), ["AP"])["AP"]
            if best is None or value > best[0]:
                best = value, alpha, k
    assert (notes["value"], notes["alpha"], notes["neighbours"]) == (pytest.approx(best[0]), *best[1:])
    assert notes["unadapted"] == rerank.evaluate(dev, fit("ranksvm", train).score(dev), ["AP"])["AP"]
    (line,) = model.training_lines()
    assert line.startswith(f"smoothed with alpha {best[1]:g}, {best[2]} neighbours by texts (of 26 choices, ")
    assert "chosen on dev): AP " in line


def test_without_dev_lists_out_of_fold_scores_choose():
    train = topical(1)
    model = fit(ScoreRegularisation(base={"name": "ranksvm", "C": 1.0}), train, metric="AP")
    notes = model.training.notes
    assert notes["chosen_on"] == "out-of-fold scores of 5 folds"
    assert notes["value"] > notes["unadapted"]
    # Out of fold the base is worse than on the lists that it was fitted to.
    own = rerank.evaluate(train, fit("ranksvm", train, C=1.0).score(train), ["AP"])["AP"]
    assert notes["unadapted"] != own


def test_without_a_metric_the_mean_label_of_the_first_item_chooses():
    train = topical(1)
    model = ScoreRegularisation().fit(train)
    assert model.training.notes["metric"] == "label@1"
    judged = ScoreRegularisation().fit(train, judge=label_judge(train))
    assert judged.smoothing == model.smoothing


def test_one_list_with_a_pair_chooses_nothing():
    lists = topical(1, n_lists=3)
    labels = lists.labels.copy()
    labels[12:] = 1
    one = lists.replace_labels(labels)
    model = fit(ScoreRegularisation(), one, metric="AP")
    assert model.smoothing.alpha == 0
    assert "chosen on nothing, as fewer than two lists have different labels" in model.training_lines()[0]
    np.testing.assert_array_equal(model.score(lists), fit("ranksvm", one).score(lists))


def test_noise_chooses_no_smoothing():
    rng = np.random.default_rng(5)
    y = np.tile([0.0, 1.0], 40)
    X = np.column_stack([y + rng.normal(0, 0.01, 80)])
    texts = [str(rng.integers(3)) for _ in y]
    lists = CandidateLists.from_arrays(X, y, group=[8] * 10, texts=texts)
    model = fit(ScoreRegularisation(), lists, dev=lists, metric="AP")
    assert model.smoothing.alpha == 0  # on ties the base wins
    np.testing.assert_array_equal(model.score(lists), fit("ranksvm", lists).score(lists))
    assert {row.reason for row in model.adapt(lists).rows} == {"alpha is 0"}
    bare = dataclasses.replace(lists, texts=None)
    np.testing.assert_array_equal(model.score(bare), model.score(lists))


def test_lists_that_are_not_smoothed_say_why():
    train = topical(1)
    model = fit(ScoreRegularisation(alpha=0.5, neighbours=2), train)
    X = np.array([[1.0, 2], [1, 2], [1, 2], [3, 1], [4, 0]])
    test = CandidateLists.from_arrays(X, group=[1, 2, 2], texts=["a", "b", "b", "c", "d"])
    found = model.adapt(test)
    assert [row.reason for row in found.rows] == ["one item", "equal scores", "no two similar items"]
    assert not any(row.adapted for row in found.rows)
    np.testing.assert_array_equal(found.scores, found.unadapted)
    other = model.adapt(topical(2, n_lists=1)).rows[0]
    assert other.adapted
    assert other.diagnostics["isolated"] == 0
    assert other.diagnostics["edges"] >= 12


def test_a_list_is_scored_without_regard_to_others_or_to_the_order_of_its_items():
    train, test = topical(1), topical(2, n_lists=4)
    model = fit(ScoreRegularisation(alpha=0.7, neighbours=3), train)
    scores = model.score(test)
    np.testing.assert_array_equal(model.score(test.subset([2])), scores[24:36])
    order = np.concatenate([a + np.random.default_rng(a).permutation(12) for a in range(0, 48, 12)])
    np.testing.assert_allclose(model.score(test.reordered(order)), scores[order], rtol=1e-9)


def test_texts_that_the_model_compares_must_be_there():
    model = fit(ScoreRegularisation(alpha=0.5), topical(1), metric="AP")
    bare = dataclasses.replace(topical(2), texts=None)
    with pytest.raises(
        DataError, match="topics 2: found no texts of the items, which affinity=texts compares"
    ):
        model.score(bare)


def test_swapped_texts_change_the_scores():
    test = topical(2)
    model = fit(ScoreRegularisation(alpha=0.5, neighbours=3), topical(1))
    turned = dataclasses.replace(test, texts=StringColumn.from_strings(list(test.texts)[::-1]))
    assert not np.allclose(model.score(turned), model.score(test))


@pytest.mark.parametrize("affinity", ["features", "texts", "gaussian(gamma=0.5)", "linear(1)"])
def test_a_saved_model_scores_as_before(affinity, tmp_path):
    train, test = topical(1), topical(2)
    model = fit(ScoreRegularisation(alpha=0.5, neighbours=3, affinity=affinity), train)
    again = saved(model, tmp_path)
    assert isinstance(again, RegularisedModel)
    np.testing.assert_array_equal(again.score(test), model.score(test))
    assert again.described() == model.described()


def test_trees_alone_are_enough():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40).astype(float)
    trees = [f"(S ({'NP' if label else 'VP'} w{rng.integers(4)}))" for label in y]
    lists = CandidateLists.from_arrays(np.empty((40, 0)), y, group=[8] * 5, trees=trees)
    model = fit(ScoreRegularisation(base="preference-svm", alpha=0.5, neighbours=3), lists)
    assert model.smoothing.affinity == "ptk(tree)"
    assert model.feature_names == []
    assert rerank.evaluate(lists, model.score(lists), ["AP"])["AP"] > 0.9


def test_a_tuner_as_base_gets_the_metric_and_needs_dev_lists_to_choose():
    train, dev = topical(1), topical(2)
    model = fit(ScoreRegularisation(base="coordinate-ascent"), train, dev=dev, metric="AP")
    assert model.training.notes["metric"] == "AP"
    with pytest.raises(FitError, match="auto needs development lists"):
        fit(ScoreRegularisation(base="coordinate-ascent"), train, metric="AP")
    with pytest.raises(FitError, match="needs a metric"):
        ScoreRegularisation(base="coordinate-ascent", alpha=0.5, neighbours=3).fit(train)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.0}, "alpha: found 1"),
        ({"alpha": -0.1}, "alpha: found -0.1"),
        ({"alpha": "dev"}, "alpha"),
        ({"neighbours": 0}, "neighbours: found 0"),
        ({"neighbours": "most"}, "neighbours"),
        ({"affinity": "words"}, "affinity"),
        ({"base": "fg"}, "it has a base itself"),
        ({"base": "random"}, "it reads no features"),
        ({"folds": 1}, "folds: found 1"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        ScoreRegularisation(**settings)


@pytest.mark.parametrize(
    "change",
    [{"alpha": 1.0}, {"affinity": "auto"}, {"affinity": "nonsense"}, {"neighbours": 0}, {"more": 1}],
)
def test_a_damaged_model_is_refused(change, tmp_path):
    model = fit(ScoreRegularisation(alpha=0.5, neighbours=3), topical(1))
    model.save(str(tmp_path / "m"))
    method = packed_json(json.loads(model.arrays()["method"].tobytes()) | change)
    with pytest.raises(FormatError, match="damaged"):
        load_model(rewritten(tmp_path / "m", tmp_path / "n", method=method))


def test_the_value_of_the_choice_is_that_of_the_model_on_dev():
    train, dev = topical(1), topical(2)
    model = fit(ScoreRegularisation(affinity="features"), train, dev=dev, metric="nDCG@5")
    judge = parse("nDCG@5").prepare(dev)
    assert model.training.notes["value"] == pytest.approx(value_of(judge, model.score(dev)))
