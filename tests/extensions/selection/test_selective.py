"""Selective reranking: curves, thresholds, probabilities and guarantees against slow twins, and in use."""

import json
from dataclasses import replace
from pathlib import Path

import make
import numpy as np
import pytest
from reference import selection as slow

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.evaluation.judged import judge_systems
from rerank.extensions.selection.calibration import Isotonic, Platt, reliability
from rerank.extensions.selection.confidence import Logistic, confidences
from rerank.extensions.selection.conformal import check_alpha, controlled_threshold, set_width
from rerank.extensions.selection.curve import Curve
from rerank.extensions.selection.sample import Sample, right_items
from rerank.metrics.judging import Judging
from rerank.training.out_of_fold import folds_of


def drawn(n_lists=40, seed=3, noise=1.5, size=6):
    """Lists with a first-stage ranking, and the scores of a system that is often better."""
    rng = np.random.default_rng(seed)
    lists = make.lists(sizes=[size] * n_lists, seed=seed, grades=(0, 2), unjudged=0.0)
    n, labels = lists.n_items, np.array(lists.labels)
    labels[lists.offsets[:-1]] = 2.0  # each list has a right item
    lists = replace(lists, labels=labels)
    first = np.asarray(lists.labels) + noise * 1.5 * rng.normal(size=n)
    scores = np.asarray(lists.labels) + noise * rng.normal(size=n)
    return replace(lists, first_best=first), scores


def sample_of(lists, scores, metric="AP"):
    return Sample.of(judge_systems(lists, {"system": scores}, Judging.by(metric)), "system")


def test_confidences_are_those_of_single_lists():
    lists, scores = drawn(size=5)
    scores = np.round(scores, 1)  # ties
    found = confidences(lists, scores, np.round(lists.first_best, 1))
    np.testing.assert_allclose(found, slow.confidences(lists, scores, np.round(lists.first_best, 1)))


def test_a_list_of_one_item_has_no_margin_and_is_as_sure_as_can_be():
    lists = make.lists([[1.0], [0.0, 1.0]])
    found = confidences(lists, np.array([0.5, 1.0, 1.0]), np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(found[0], [0.0, np.inf, 1.0, -np.inf])
    np.testing.assert_allclose(found[1], [0.0, 0.0, 0.0, -1.0], atol=1e-12)


def test_items_that_were_not_returned_are_below_all_others():
    lists = make.lists([[1.0, 0.0, 0.0], [0.0, 1.0]])
    scores = np.array([0.5, np.nan, 0.25, np.nan, np.nan])
    found = confidences(lists, scores, np.array([1.0, 2.0, np.nan, 3.0, 1.0]))
    np.testing.assert_allclose(found[:, 0], [np.inf, 0.0])
    np.testing.assert_allclose(found[:, 1], [0.25, 0.0])
    assert not np.isnan(found).any()


@pytest.mark.parametrize("confidence", [[3, 1, 2, 5, 4], [1, 1, 2, 2, 2], [0, 0, 0, 0, 0]], ids=str)
def test_curve_is_the_mean_over_orders(confidence):
    lists, scores = drawn(n_lists=5)
    sample = sample_of(lists, scores)
    found = sample.curve(np.arange(5), np.array(confidence, dtype=float))

    def value(rows):
        return float(sample.judge.score_from_sums(np.sum(rows, axis=0)))

    expected = slow.curve(value, found.baseline, found.system, confidence)
    np.testing.assert_allclose(found.values, expected)
    assert found.area == pytest.approx(np.trapezoid(expected, np.linspace(0, 1, 6)))


def test_ends_of_the_curve_are_the_baseline_and_the_system():
    lists, scores = drawn()
    found = rerank.selective(lists, scores, "AP", rules="gap")
    values = found.curves["gap"].values
    whole = rerank.evaluate(lists, {"system": scores}, "AP").metrics["AP"]
    assert values[0] == pytest.approx(whole.first_best)
    assert values[-1] == pytest.approx(whole.rows["system"][100].value)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3, 0.6])
def test_controlled_threshold_uses_the_system_as_often_as_its_bound_allows(alpha):
    rng = np.random.default_rng(5)
    confidence, losses = rng.integers(0, 12, 60).astype(float), (rng.random(60) < 0.3).astype(float)
    curve = Curve(None, np.zeros((60, 1)), np.zeros((60, 1)), confidence)
    found = confidence >= controlled_threshold(curve, losses, alpha)
    assert found.sum() == slow.controlled(confidence.tolist(), losses.tolist(), alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_guarantees_hold_over_splits(alpha):
    lists, scores = drawn(n_lists=300, seed=8)
    sample, rng = sample_of(lists, scores, "nDCG@5"), np.random.default_rng(1)
    kept, lost = [], []
    margin = sample.confidence[:, 0]
    for _ in range(500):
        order = rng.permutation(300)
        fit, new = order[:100], order[100:]
        width = set_width(sample.distances(fit), alpha)
        kept.append(float((sample.distances(new) <= width).mean()))
        threshold = controlled_threshold(sample.curve(fit, margin[fit]), sample.losses(fit, "worse"), alpha)
        lost.append(float((sample.losses(new, "worse") * (margin[new] >= threshold)).mean()))
    error = 3 * np.std(kept) / np.sqrt(100)  # splits share lists: far wider than of 500 independent ones
    assert 1 - alpha - error <= np.mean(kept) <= 1 - alpha + 2 / 101 + error
    assert np.mean(lost) <= alpha + 3 * np.std(lost) / np.sqrt(100)
    assert np.mean(lost) > alpha / 2  # and the bound is used


def test_sets_and_bounds_need_enough_lists():
    with pytest.raises(DataError, match=r"alpha 0\.05: found 18 judged lists, expected 19 or more"):
        check_alpha(0.05, 18)
    check_alpha(0.05, 19)
    with pytest.raises(DataError, match="2 of 4 lists have no right item"):
        set_width(np.array([0.0, 1.0, np.inf, np.inf]), 0.3)


def test_platt_meets_its_targets_and_rises():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    right = rng.random(200) < 1 / (1 + np.exp(-2 * x))
    p = Platt.fit(x, right).of(x)
    n = int(right.sum())
    targets = np.where(right, (n + 1) / (n + 2), 1 / (200 - n + 2))
    assert p.mean() == pytest.approx(targets.mean(), abs=1e-4)
    assert (p * x).mean() == pytest.approx((targets * x).mean(), abs=1e-4)
    assert (np.diff(p[np.argsort(x)]) >= 0).all()


def test_isotonic_rises_and_has_the_mean_of_each_step():
    x, right = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 4.0]), np.array([0, 1, 1, 0, 1, 1], dtype=bool)
    found = Isotonic.fit(x, right)
    np.testing.assert_allclose(found.of(x), [0, 2 / 3, 2 / 3, 2 / 3, 1, 1])
    np.testing.assert_allclose(found.of(np.array([-np.inf, 1.5, 9.0])), [0, 1 / 3, 1])


def test_reliability_of_bins_by_hand():
    p = np.array([0.1] * 10 + [0.9] * 10)
    right = np.array([False] * 8 + [True] * 2 + [True] * 9 + [False])
    found = reliability(p, right, 200, 0.95, 1)
    assert found.error == pytest.approx(0.5 * 0.1 + 0.5 * 0.0)
    assert [(n, round(mean, 6), share) for n, mean, share in found.bins] == [(10, 0.1, 0.2), (10, 0.9, 0.9)]
    assert found.ci[0] <= found.error <= found.ci[1]


def test_logistic_orders_lists_by_what_tells_them_apart():
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(size=300), np.ones(300)])
    better = rng.random(300) < 1 / (1 + np.exp(-3 * x[:, 0]))
    found = Logistic.fit(x, better)
    p = found.of(x)
    assert (np.diff(p[np.argsort(x[:, 0])]) >= 0).all()
    assert p.mean() == pytest.approx(better.mean(), abs=1e-3)
    assert found.of(np.array([[np.inf, 1.0]])) == found.of(np.array([[x[:, 0].max(), 1.0]]))


def test_no_list_is_decided_by_its_own_labels():
    lists, scores = drawn()
    found = rerank.selective(lists, scores, "AP", folds=4, rules=("margin", "logistic"))
    of = np.zeros(40, dtype=int)
    for k, fold in enumerate(folds_of(lists, 4, Judging().seed)):
        of[fold.test] = k
    labels = np.array(lists.labels)
    changed = np.isin(lists.list_index, np.flatnonzero(of == 2))
    labels[changed] = 2 - labels[changed]
    again = rerank.selective(
        replace(lists, labels=labels), scores, "AP", folds=4, rules=("margin", "logistic")
    )
    for rule in ("margin", "logistic"):
        assert (found.used[rule][of == 2] == again.used[rule][of == 2]).all()
    same = found.probabilities["better"][of == 2]
    np.testing.assert_array_equal(same, again.probabilities["better"][of == 2])


def test_choice_is_the_systems_ranking_or_the_baselines():
    lists, scores = drawn()
    found = rerank.selective(lists, scores, "AP", rules="margin")
    used = found.used["margin"][lists.list_index]
    assert 0 < used.sum() < len(used)
    np.testing.assert_array_equal(found.scores["margin"], np.where(used, scores, lists.first_best))
    value = rerank.evaluate(lists, found.scores["margin"], "AP")["AP"]
    assert found.judged.systems["margin"]["AP"].value == pytest.approx(value)


def test_development_lists_decide_alone():
    dev, dev_scores = drawn(seed=4)
    lists, scores = drawn(seed=5)
    found = rerank.selective(lists, scores, "AP", dev=(dev, dev_scores), rules="margin")
    sample = sample_of(dev, dev_scores)
    threshold = sample.curve(np.arange(40), sample.confidence[:, 0]).best_threshold()
    margins = sample_of(lists, scores).confidence[:, 0]
    np.testing.assert_array_equal(found.used["margin"], margins >= threshold)


def test_right_items_are_the_best_of_lists_that_have_better_and_worse():
    lists = make.lists([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0, np.nan, 2.0], [np.nan, np.nan], [-3.0, -1.0]])
    found = right_items(lists)
    assert [found[a:b].tolist() for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)] == [
        [False, False],
        [True, True],
        [False, True, False, True],
        [False, False],
        [False, True],
    ]


def test_metrics_of_the_whole_set_are_mixed_by_their_statistics():
    """WER of mixed choices: errors and words of all lists are summed."""
    rng = np.random.default_rng(6)
    words, texts, references = list("abcdefgh"), [], []
    for _ in range(30):
        reference = rng.choice(words, rng.integers(1, 9)).tolist()
        references.append(" ".join(reference))
        texts.append([" ".join(w for w in reference if rng.random() < 0.7) or "x" for _ in range(4)])
    first, system = rng.normal(size=(30, 4)).tolist(), rng.normal(size=(30, 4)).tolist()
    found = rerank.selective(
        texts, system, "WER", refs=references, baseline=first, rules="gap", loss="worse", alpha=0.4
    )
    mixed = found.scores["gap"].reshape(30, 4)
    value = rerank.evaluate(texts, mixed.tolist(), ["WER"], refs=references)["WER"]
    assert found.judged.systems["gap"]["WER"].value == pytest.approx(value)
    gain = found.curves["oracle"].confidence
    assert found.curves["oracle"].values.min() <= min(found.curves["gap"].values)
    assert (gain > 0).any()
    assert (gain < 0).any()
    with pytest.raises(ConfigError, match="loss drop: WER has values outside 0 to 1"):
        rerank.selective(
            texts, system, "WER", refs=references, baseline=first, rules="gap", loss="drop", alpha=0.4
        )


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"rules": "margni"}, "unknown rule 'margni'; did you mean 'margin'"),
        ({"rules": ("gap", "gap")}, "rule gap is given twice"),
        ({"rules": ()}, "no rule is named"),
        ({"calibration": "plat"}, "unknown calibration 'plat'"),
        ({"alpha": 1.0}, "alpha: found 1, expected a number between 0 and 1"),
        ({"alpha": 0.001}, "alpha 0.001: found 32 judged lists, expected 999 or more"),
        ({"folds": 1}, "folds: found 1, expected 2 or more"),
        ({"folds": 41}, "found 40 judged lists, expected 41 or more for 41 folds"),
        ({"loss": "other"}, "loss: found 'other'"),
    ],
    ids=str,
)
def test_settings_that_cannot_work(settings, error):
    lists, scores = drawn()
    with pytest.raises((ConfigError, DataError), match=error):
        rerank.selective(lists, scores, "AP", **settings)


def test_lists_without_an_order_need_a_baseline():
    lists, scores = drawn()
    with pytest.raises(DataError, match="found no ranking of a first stage; name a system"):
        rerank.selective(replace(lists, first_best=None), scores, "AP")


def test_an_outcome_that_never_happens_gets_no_probability():
    lists = drawn()[0]
    right = np.asarray(lists.labels) * 10.0
    with pytest.warns(DataNote, match="the choice is always right on 32 lists"):
        found = rerank.selective(lists, right, "AP", rules="margin")
    assert list(found.probabilities) == ["better"]
    with pytest.raises(DataError, match=r"rule logistic: of .* lists? that differ, the system is better on"):
        rerank.selective(lists, np.asarray(lists.first_best), "AP", rules="logistic")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Lists with two features as a file, and scores of a system."""
    monkeypatch.chdir(tmp_path)
    lists, scores = drawn()
    rows = zip(lists.list_index.tolist(), lists.labels, lists.first_best, strict=True)
    (tmp_path / "test.txt").write_text(
        "".join(f"{label:g} qid:{of} 1:{first:.9f}\n" for of, label, first in rows)
    )
    (tmp_path / "scores").write_text("".join(f"{score!r}\n" for score in scores.tolist()))


@pytest.fixture
def command(request):
    """The fixture ``rerank``, whose name is that of the package here."""
    return request.getfixturevalue("rerank")


COMMAND = ("selective", "test.txt", "scores", "-m", "AP", "--baseline", ":1")


def test_verb_writes_what_python_returns(files, command):
    done = command(*COMMAND, "--as", "json", "-o", "mix", "--per-list", "lists.tsv", "--curve", "curve.tsv")
    found = json.loads(done.out)
    choices = {row["choice"]: row for row in found["choices"]}
    assert list(choices) == [
        *("baseline", "always", "margin", "gap", "entropy", "baseline-gap", "logistic", "oracle"),
    ]
    assert choices["oracle"]["area"] >= max(choices[rule]["area"] for rule in choices if rule != "baseline")
    again = command("eval", "test.txt", "mix", "-m", "AP", "--as", "json")
    value = json.loads(again.out)["systems"][0]["metrics"]["AP"]["value"]
    assert value == pytest.approx(choices["margin"]["value"])
    heads, *rows = [line.split("\t") for line in Path("lists.tsv").read_text().splitlines()]
    assert heads == [
        *("list", "margin", "gap", "entropy", "baseline-gap", "logistic", "p_better", "p_right"),
    ]
    assert len(rows) == 40
    assert choices["margin"]["used"] == sum(row[1] == "system" for row in rows) / 40
    curve = [line.split("\t") for line in Path("curve.tsv").read_text().splitlines()]
    assert len(curve) == 1 + 6 * 41


def test_verb_prints_a_table_and_sets(files, command):
    done = command(*COMMAND, "--alpha", "0.2", "--rule", "margin")
    assert "a right one is kept" in done.out
    assert "P(better)" in done.out
    assert done.out == command(*COMMAND, "--alpha", "0.2", "--rule", "margin").out


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (("-m", "RR"), "found 2 metrics, expected one to choose by"),
        (("--dev", "test.txt"), "--dev and --dev-scores: give both or none"),
        (("--dev", "test.txt", "--dev-scores", "scores", "--folds", "3"), "--folds: not used with --dev"),
        (("--out", "scores"), "--out"),
        (("--dev", "test.txt", "--dev-scores", "scores"), "dev: test.txt is what is judged"),
        (("--alpha", "2"), "alpha: found 2"),
        (("--dev", "dev.txt", "--dev-scores", "scores"), "dev.txt: no such file"),
    ],
)
def test_verb_refuses(files, command, more, error):
    before = Path("scores").read_text()
    done = command(*COMMAND, *more, code=2)
    assert error in done.err
    assert done.err.count("\n") == 1
    assert Path("scores").read_text() == before


def test_mixed_runs_are_a_run(files, command):
    """Documents that the chosen run did not return are not in it; ids, not lines, say which is which."""
    rng = np.random.default_rng(0)
    runs = {"first.run": [], "system.run": [], "qrels": []}
    for q in range(30):
        label = rng.integers(0, 2, 8)
        for name, quality in (("first.run", 0.7), ("system.run", 0.9)):
            for d in rng.choice(8, 6, replace=False).tolist():
                score = quality * label[d] + rng.normal() * 0.7
                runs[name].append(f"q{q} Q0 d{d} 0 {score:.6f} {name[0]}\n")
        runs["qrels"] += [f"q{q} 0 d{d} {label[d]}\n" for d in range(8)]
    for name, lines in runs.items():
        Path(name).write_text("".join(lines))
    done = command(
        *("selective", "qrels", "system.run", "--baseline", "first.run", "-m", "AP", "--rule", "margin"),
        *("--out", "mix.run", "--as", "json", "--per-list", "lists.tsv"),
    )
    value = next(row["value"] for row in json.loads(done.out)["choices"] if row["choice"] == "margin")
    again = json.loads(command("eval", "qrels", "mix.run", "-m", "AP", "--as", "json").out)
    assert again["systems"][0]["metrics"]["AP"]["value"] == pytest.approx(value)
    used = [line.split("\t")[1] for line in Path("lists.tsv").read_text().splitlines()[1:]]
    assert {"system", "baseline"} == set(used)
    rows = [line.split() for line in Path("mix.run").read_text().splitlines()]
    assert len(rows) == 30 * 6
