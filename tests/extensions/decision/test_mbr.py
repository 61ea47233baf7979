"""Minimum Bayes risk and ensembles as learners, around models, and on the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest
from reference import decision as slow
from small_training import saved

import rerank as package
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.ensemble import Ensemble, EnsembleModel
from rerank.extensions.decision.expressions import utility_of
from rerank.extensions.decision.gain import decided, deviation
from rerank.extensions.decision.mbr import Mbr
from rerank.extensions.decision.model import MbrModel
from rerank.extensions.decision.tuning import tune_temperature
from rerank.extensions.decision.utilities import Pairing
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse

WORDS = ("a", "b", "c", "d")


def noisy(seed=0, n_lists=30, size=6):
    """Texts that are copies of a reference with errors, and features that know a little of these."""
    rng = np.random.default_rng(seed)
    texts, references, quality = [], [], []
    for _ in range(n_lists):
        right = rng.choice(WORDS, 6)
        references.append(" ".join(right))
        for _ in range(size):
            wrong = rng.random(6) < rng.choice([0.1, 0.3, 0.6])
            texts.append(" ".join(np.where(wrong, rng.choice(WORDS, 6), right)))
            quality.append(-wrong.sum())
    X = np.column_stack([quality + rng.normal(0, 2, len(quality)), rng.normal(size=len(quality))])
    labels = np.array(quality, dtype=float)
    lists = CandidateLists.from_arrays(
        X, labels, group=[size] * n_lists, feature_names=["good", "noise"], source=f"noisy {seed}"
    )
    strings = StringColumn.from_strings
    return replace(
        lists,
        texts=strings(texts),
        references=(strings(references),),
        list_ids=strings(f"s{seed}.{i}" for i in range(n_lists)),
    )


TRAIN, TEST = noisy(0), noisy(1)


def plain_model(lists=TRAIN):
    return package.train(lists, learner="loglinear")


def test_the_model_chooses_the_largest_expected_utility():
    model = plain_model()
    made = package.decide(model, "WER", temperature=0.7)
    scores, found = model.score(TEST), made.score(TEST)
    texts = list(TEST.texts)
    for a, b in zip(TEST.offsets[:-1], TEST.offsets[1:], strict=True):
        table = [[slow.metric_of_pair("WER", texts[c], texts[o]) for o in range(a, b)] for c in range(a, b)]
        expected = slow.gains(table, slow.softmax(scores[a:b].tolist(), 0.7))
        np.testing.assert_allclose(found[a:b], expected, atol=1e-9)
    np.testing.assert_array_equal(model.score(TEST), scores)  # the given model stays as it was


def test_the_learner_chooses_the_temperature_on_lists_that_are_new():
    model = package.train(TRAIN, learner="mbr", utility="WER", metric="WER", inner_folds=3)
    tuned = model.decision.tuned
    assert tuned.on == "3 folds of the training lists"
    assert tuned.metric == "WER"
    assert tuned.value <= tuned.without
    assert tuned.value == min(tuned.without, *(value for _, value in tuned.tried))
    on_dev = package.train(TRAIN, learner="mbr", utility="WER", metric="WER", dev=TEST)
    base, values = plain_model(), []
    for temperature, value in on_dev.decision.tuned.tried:
        made = package.decide(base, "WER", np.inf if temperature is None else temperature)
        values.append(package.evaluate(TEST, made.score(TEST), ["WER"])["WER"])
        assert values[-1] == pytest.approx(value)
    without = package.evaluate(TEST, base.score(TEST), ["WER"])["WER"]
    assert on_dev.decision.tuned.without == pytest.approx(without)
    found = package.evaluate(TEST, on_dev.score(TEST), ["WER"])["WER"]
    assert found == pytest.approx(min(without, *values))
    assert found < without  # minimum Bayes risk helps here
    assert on_dev.training_lines()[-1].startswith("temperature chosen on the dev lists: WER ")


def test_a_fixed_temperature_needs_no_metric_and_no_folds():
    made = package.decide(plain_model(), "chrF", 2.0)
    for temperature in (2.0, "inf"):
        model = package.train(TRAIN, learner="mbr", utility="chrF", temperature=temperature)
        if temperature == 2.0:
            np.testing.assert_array_equal(model.score(TEST), made.score(TEST))
        else:
            utility = utility_of("chrF")
            expected = decided(TEST, np.zeros(TEST.n_items), utility, np.inf)
            np.testing.assert_allclose(model.score(TEST), expected)


def test_without_a_metric_the_mean_label_chooses():
    model = package.train(TRAIN, learner="mbr", utility="WER", inner_folds=3)
    tuned = model.decision.tuned
    assert tuned.value >= tuned.without
    gain = package.evaluate(TEST, model.score(TEST), ["label@1"])["label@1"]
    assert gain > package.evaluate(TEST, plain_model().score(TEST), ["label@1"])["label@1"]


@pytest.mark.filterwarnings("ignore:.*is the label")
def test_scores_that_are_right_decide_alone():
    labels = np.asarray(TRAIN.labels)
    lists = CandidateLists.from_arrays(labels[:, None], labels, group=TRAIN.lengths, texts=list(TRAIN.texts))
    model = package.train(lists, learner="mbr", utility="votes")
    assert model.decision.divisor is None
    np.testing.assert_array_equal(model.score(lists), model.base.score_prepared(model.prepared(lists)))


@pytest.mark.parametrize("temperature", ["auto", 0.0, 0.5, "inf"])
def test_a_saved_model_decides_as_before(temperature, tmp_path):
    model = package.train(TRAIN, learner="mbr", utility="sBLEU", temperature=temperature, scaling="zscore")
    again = saved(model, tmp_path)
    assert again.decision == model.decision
    np.testing.assert_array_equal(again.score(TEST), model.score(TEST))


def test_a_base_scale_reaches_the_scores_and_the_utility(tmp_path):
    lists = replace(TRAIN, base_scores=TRAIN.features.column(1))
    settings = {"learner": "mbr", "utility": "kernel:gaussian", "temperature": 0.5, "scaling": "none"}
    model = package.train(lists, base_scale=4, **settings)
    X = lists.features.to_dense() * [1, 4]
    by_hand = package.train(replace(lists, features=type(lists.features)(X)), **settings)
    seen = replace(TEST, features=type(TEST.features)(TEST.features.to_dense() * [1, 4]))
    np.testing.assert_allclose(model.score(TEST), by_hand.score(seen))
    np.testing.assert_array_equal(saved(model, tmp_path).score(TEST), model.score(TEST))


def test_the_temperature_is_one_of_the_final_model():
    """A perceptron's scores grow with its training lists; out-of-fold scores are brought to its units."""
    base = {"name": "perceptron", "epochs": 5}
    model = package.train(TRAIN, learner="mbr", utility="WER", base=base, inner_folds=2)
    prepared = model.prepared(TRAIN)
    unit = deviation(prepared, model.base.score_prepared(prepared))
    temperatures = [temperature for temperature, _ in model.decision.tuned.tried[:-1]]
    assert 0.2 * unit < temperatures[6] < 2 * unit


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "mbr"}, "learner mbr is no base of learner mbr: it has a base itself"),
        ({"base": "rankboost-of-nobody"}, "rankboost-of-nobody"),
        ({"base": {"name": "perceptron", "keep": "best"}}, "keep=best needs a metric, expected keep=last"),
        ({"utility": "AP"}, "judges rankings"),
        ({"utility": "matrix:x.npy"}, "a matrix belongs to the lists of one file"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": 1, "tune": "dev"}, "tune is not used with temperature 1"),
        ({"temperature": "inf", "inner_folds": 3}, "inner_folds is not used with temperature inf"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(ConfigError, match=message):
        LEARNERS.get("mbr").checked(settings, "learner mbr")


def test_inputs_that_are_lacking():
    with pytest.raises(FitError, match="tune=dev needs development lists"):
        Mbr(tune="dev").fit(TRAIN)
    with pytest.raises(DataError, match="needs the candidates' trees"):
        package.train(TRAIN, learner="mbr", utility="PARSEVAL")
    bare = replace(TEST, texts=None)
    with pytest.raises(DataError, match="noisy 1: WER needs the candidates' texts, there are none"):
        package.decide(plain_model(), "WER").score(bare)


def test_models_and_settings_that_decide_refuses():
    model = plain_model()
    with pytest.raises(ConfigError, match="temperature: found -1, expected 0 or more"):
        package.decide(model, "WER", -1)
    with pytest.raises(ConfigError, match="not used by posterior given"):
        package.decide(model, "WER", 2, "given")
    with pytest.raises(DataError, match="a model of kind mbr, expected one that scores the items of lists"):
        package.decide(package.decide(model, "WER"), "WER")
    model.keep_margin = 0.5
    with pytest.raises(ConfigError, match=r"a keep margin of 0\.5"):
        package.decide(model, "WER")


def test_what_belongs_to_the_lists_of_one_file_is_in_no_model(tmp_path):
    np.save(tmp_path / "u.npy", np.zeros(int((TEST.lengths**2).sum())))
    made = package.decide(plain_model(), f"matrix:{tmp_path / 'u.npy'}")
    assert not made.score(TEST).any()
    with pytest.raises(ConfigError, match="no model can hold it"):
        made.save(str(tmp_path / "m"))
    others = package.decide(plain_model(), "WER", references=TEST)
    np.testing.assert_allclose(others.score(TEST), package.decide(plain_model(), "WER").score(TEST))
    with pytest.raises(ConfigError, match="no model can hold them"):
        others.save(str(tmp_path / "m"))


def test_a_stranger_can_give_no_path_in_a_model():
    made = package.decide(plain_model(), "WER")
    arrays = made.arrays()
    text = json.loads(arrays["decision"].tobytes())
    for change, message in (
        ({"utility": "matrix:/etc/passwd"}, "a matrix of utilities in a model"),
        ({"temperature": -1.0}, "temperature"),
        ({"posterior": "other"}, "posterior"),
    ):
        damaged = np.frombuffer(json.dumps(text | change).encode(), dtype=np.uint8)
        with pytest.raises(DataError, match=message):
            MbrModel.from_arrays(made.feature_names, {**arrays, "decision": damaged})


def test_the_temperature_of_an_existing_model_is_chosen_on_labelled_lists():
    made = tune_temperature(plain_model(), TEST, "WER")
    expected = package.train(TRAIN, learner="mbr", utility="WER", metric="WER", dev=TEST)
    assert made.decision.divisor == expected.decision.divisor
    np.testing.assert_array_equal(made.score(TEST), expected.score(TEST))
    with pytest.raises(ConfigError, match="utility votes is no metric"):
        tune_temperature(plain_model(), TEST, "votes")


# --- ensembles -------------------------------------------------------------------------------------------


def test_an_ensemble_is_the_mean_of_standardised_scores(tmp_path):
    members = ({"name": "loglinear"}, {"name": "perceptron", "epochs": 4})
    model = package.train(TRAIN, learner="ensemble", learners=members, inner_folds=3)
    assert isinstance(model, EnsembleModel)
    lists = model.prepared(TEST)
    parts = [one.score_prepared(lists) for one in model.members_]
    np.testing.assert_allclose(model.score(TEST), model.weights_ @ np.array(parts))
    spreads = [weight * deviation(lists, part) for weight, part in zip(model.weights_, parts, strict=True)]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.3)  # about 1/2 each, on new lists
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(TEST), model.score(TEST))
    assert "ensemble: " in model.training_lines()[-1]


def test_weights_are_learnt_from_out_of_fold_scores():
    members = ("loglinear", {"name": "perceptron", "epochs": 1, "seed": 3}, "random")
    with pytest.raises(ConfigError, match="learner random is no member of learner ensemble"):
        Ensemble(learners=members)
    noise = {"name": "ridge"}
    model = package.train(TRAIN, learner="ensemble", learners=("loglinear", noise), weights="loglinear")
    assert np.isfinite(model.weights_).all()
    with pytest.raises(ConfigError, match="not a linear one"):
        package.train(TRAIN, learner="ensemble", learners=("loglinear", noise), weights="rankboost")


def test_learnt_weights_of_a_fold_do_not_see_its_labels():
    learner = Ensemble(learners=("loglinear", "ridge"), weights="loglinear", inner_folds=3)
    from rerank.learners.base import FitInputs
    from rerank.training.out_of_fold import folds_of

    folds = folds_of(TRAIN, 3, 1)
    first = learner.with_held_out(TRAIN, FitInputs(), folds)[1]
    labels = np.array(TRAIN.labels)
    items = np.concatenate([np.arange(TRAIN.offsets[i], TRAIN.offsets[i + 1]) for i in folds[0].test])
    labels[items] = labels[items][::-1]
    second = learner.with_held_out(TRAIN.replace_labels(labels), FitInputs(), folds)[1]
    # The units are those of the final model, which sees all labels: the order in a list is the fold's own.
    for i in folds[0].test:
        here = slice(TRAIN.offsets[i], TRAIN.offsets[i + 1])
        assert np.corrcoef(first[here], second[here])[0, 1] > 0.999


def test_minimum_bayes_risk_over_an_ensemble_shares_its_folds(monkeypatch, tmp_path):
    from rerank.extensions.decision import held_out

    calls = []
    real = held_out.fitted
    monkeypatch.setattr(held_out, "fitted", lambda *given: (calls.append(given[0].name), real(*given))[1])
    base = {"name": "ensemble", "learners": ["loglinear", "ridge"]}
    model = package.train(TRAIN, learner="mbr", utility="WER", base=base, metric="WER", inner_folds=3)
    assert calls == ["loglinear"] * 3 + ["ridge"] * 3
    assert isinstance(model.base, EnsembleModel)
    np.testing.assert_array_equal(saved(model, tmp_path).score(TEST), model.score(TEST))
    wer = package.evaluate(TEST, model.score(TEST), ["WER"])["WER"]
    assert wer < package.evaluate(TEST, plain_model().score(TEST), ["WER"])["WER"]


# --- the command line ------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package.save(TRAIN, "train.jsonl")
    package.save(TEST, "test.jsonl")
    package.save(noisy(2), "dev.jsonl")
    plain_model().save("model")
    return tmp_path


@pytest.fixture
def predict(rerank):
    """``rerank predict model test.jsonl`` with further options."""
    return lambda options, **more: rerank("predict", "model", "test.jsonl", *options.split(), **more)


def test_predict_decides_by_expected_utility(predict, files):
    result = predict("--decide mbr --utility WER --temperature 0.5 --out s")
    assert "decision: largest expected WER, probabilities: softmax of scores / 0.5" in result.err
    found = np.loadtxt("s")
    np.testing.assert_allclose(found, package.decide("model", "WER", 0.5).score(package.load("test.jsonl")))
    result = predict("--decide mbr --as best --out best")
    texts = (files / "best").read_text().splitlines()
    assert len(texts) == TEST.n_lists
    assert "largest expected sBLEU" in result.err


def test_predict_chooses_the_temperature_on_labelled_lists(predict, files):
    result = predict("--decide mbr --utility WER --tune-on dev.jsonl --out s")
    assert "temperature chosen on dev.jsonl: WER " in result.err
    made = tune_temperature("model", package.load("dev.jsonl"), "WER")
    np.testing.assert_allclose(np.loadtxt("s"), made.score(package.load("test.jsonl")))
    again = predict("--decide mbr --utility WER --tune-on train.jsonl --out s")
    assert (
        "train.jsonl: 100% of the lists have the features of lists that the model was trained on" in again.err
    )


def test_predict_takes_pseudo_references_from_other_lists(predict, files):
    predict("--decide mbr --utility WER --references-from test.jsonl --out a")
    predict("--decide mbr --utility WER --out b")
    np.testing.assert_allclose(np.loadtxt("a"), np.loadtxt("b"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--utility WER", "--utility: not used without --decide mbr"),
        ("--decide mbr --tune-metric WER", "--tune-metric: not used without --tune-on"),
        ("--decide mbr --temperature 1 --tune-on train.jsonl", "give one of both"),
        ("--decide mbr --references-from test.jsonl --tune-on train.jsonl", "give one of both"),
        ("--decide mbr --posterior given --temperature 2", "no temperature is used"),
        ("--decide mbr --utility AP", "judges rankings"),
        ("--decide mbr --utility PARSEVAL", "test.jsonl: PARSEVAL needs the candidates' trees"),
        ("--decide mbr --temperature -1", "temperature"),
        ("--decide mbr --posterior given --utility WER", "expected weights of 0 or more"),
        ("--decide mbr --utility matrix:none.npy", "none.npy: no such file or folder"),
        ("--decide most", "most"),
    ],
)
def test_options_that_do_not_fit_end_with_one_line(options, message, predict, files):
    result = predict(f"{options} --out p", code=2)
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (files / "p").exists()


def test_the_model_and_other_inputs_are_not_overwritten(predict, files):
    for name in ("model", "train.jsonl"):
        before = (files / name).read_bytes()
        options = f"--decide mbr --tune-on train.jsonl --utility WER --out {name}"
        predict(options, code=2)
        assert (files / name).read_bytes() == before


def test_parses_are_decided_by_expected_f():
    trees = ["(S (NP (N a)) (VP (V b)))", "(S (NP (N a)) (X (V b)))", "(S (Y (N a)) (X (V b)))"]
    lists = CandidateLists.from_arrays([[1.0], [0.9], [0.8]], [1, 0, 0], group=[3], feature_names=["f"])
    lists = replace(lists, trees=Forest.from_strings(trees), gold=Forest.from_strings(trees[1:2]))
    model = package.train(lists, learner="best-feature", metric="label@1")
    gains = package.decide(model).score(lists)  # auto: PARSEVAL
    assert gains.argmax() == 1
    tables = next(iter(utility_of("PARSEVAL").tables(Pairing.within(lists))))
    weights = slow.softmax(model.score(lists).tolist(), 1.0)
    np.testing.assert_allclose(gains, slow.gains(tables.tolist(), weights))
    assert parse("PARSEVAL").prepare(lists).item_values()[1] == 100
