"""Settings of learners that do not exist, are out of range or would have no effect are one line."""

import pytest

from rerank.core.errors import ConfigError
from rerank.learners.boosting import Boosting
from rerank.learners.ordinal import UnevenMargin
from rerank.learners.perceptron import Perceptron
from rerank.learners.predtron import Predtron
from rerank.learners.preference import PreferenceSVM

WRONG = [
    (Boosting, {"relevant": 2.0}, "relevant is for task=classification"),
    (
        Boosting,
        {"task": "classification", "pair_weighting": "score"},
        "pair_weighting=score is for task=ranking",
    ),
    (Boosting, {"alpha0": -1.0}, "alpha0: found -1"),
    (
        Boosting,
        {"loss": "log", "engine": "reference", "epsilon": 0.1},
        "epsilon is not for loss=log, engine=reference",
    ),
    (Boosting, {"loss": "log", "pair_weighting": "score"}, "pair_weighting=score is for loss=exp"),
    (
        Perceptron,
        {"pairs": "split", "split_top": 5, "split_bottom": 4},
        "split_bottom must be above split_top",
    ),
    (Perceptron, {"algorithm": 1, "engine": "fast"}, "engine 'fast' is for algorithm 2"),
    (Perceptron, {"pair_order": "fixed"}, "pair_order=fixed is for algorithm=1 with rivals=all"),
    (Perceptron, {"algorithm": 1, "rivals": "top", "pair_order": "fixed"}, "pair_order=fixed is for"),
    (Perceptron, {"target": "highest"}, "target=highest is for rivals=top"),
    (Perceptron, {"step": "one", "margin": "label"}, "step=one is for rivals=top"),
    (Perceptron, {"rivals": "top", "engine": "fast"}, "engine=fast is for rivals=all"),
    (
        Perceptron,
        {"rivals": "top", "target": "highest"},
        "target=highest is for pairs=best-rest, not pairs=ordinal",
    ),
    (Perceptron, {"rivals": "top", "step": "margin"}, "step=margin is for margin=uneven and label"),
    (Perceptron, {"marjin": "even"}, "unknown setting 'marjin'; did you mean 'margin'"),
    (Predtron, {"positions": "reciprocal", "exponent": 2.0}, "exponent is for positions=power"),
    (Predtron, {"degree": 3}, "degree is for kernel=polynomial"),
    (Predtron, {"kernel": "linear", "gamma": 2.0}, "gamma is for kernel=polynomial and gaussian"),
    (Predtron, {"kernel": "gaussian", "constant": 2.0}, "constant is for kernel=polynomial"),
    (Predtron, {"kernel": "linear", "norm": "p"}, "norm=p is for kernel=none"),
    (Predtron, {"kernel": "linear", "init": "given"}, "init=given is for kernel=none"),
    (Predtron, {"eta": 0}, "eta: found 0, expected more than 0 or theorem"),
    (Predtron, {"eta": "theory"}, "eta: "),
    (
        Predtron,
        {"task": "binary", "loss": "Hamming"},
        "loss: found 'Hamming', expected zero-one for task=binary",
    ),
    (Predtron, {"loss": "zero-one"}, "loss: found 'zero-one', expected nDCG for task=ranking"),
    (Predtron, {"task": "multilabel", "reject": 0.5}, "reject is for task=binary, multiclass, ordinal"),
    (Predtron, {"reject": 0.5}, "not task=ranking"),
    (Predtron, {"bias": 0.0}, "bias is for task=binary"),
    (Predtron, {"task": "binary", "cutoff": 3}, "cutoff is for task=ranking"),
    (Predtron, {"task": "binary", "exponent": 2.0}, "exponent is for task=ranking, multilabel-ranking"),
    (Predtron, {"task": "binary", "init": "zero"}, "init is for task=ranking"),
    (
        Predtron,
        {"task": "binary", "class_weights": "balanced"},
        "class_weights have no effect on task=binary",
    ),
    (Predtron, {"task": "multiclass", "variant": "loss-driven"}, "variant=loss-driven has no effect"),
    (Predtron, {"task": "multiclass", "reject": 0.0}, "reject: found 0, expected a finite number above 0"),
    (
        Predtron,
        {"task": "ordinal", "class_weights": {"2": -1}},
        "class_weights.2: found -1, expected a finite",
    ),
    (Predtron, {"task": "ordinal", "class_weights": "even"}, "class_weights: found 'even'"),
    (
        Predtron,
        {"task": "ordinal", "reject": {"1:2": None}},
        "reject: found '1:2', expected class: number, with a",
    ),
    (
        Predtron,
        {"task": "ordinal", "reject": {True: 2}},
        "reject: found yes or no as a class, expected it in quotes",
    ),
    (PreferenceSVM, {"kernel": "ptkk(question)"}, "ptkk"),
    (PreferenceSVM, {"kernel": "ptk(question"}, "kernel 'ptk"),
    (PreferenceSVM, {"C": 0}, "C: found 0, expected more than 0, auto or dev"),
    (PreferenceSVM, {"probability_folds": 3}, "probability_folds=3: not used without probability=true"),
    (UnevenMargin, {"tau_plus": -1, "tau_minus": -1}, "tau_plus and tau_minus are both below 0"),
]


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    WRONG,
    ids=[f"{kind.__name__}-{message}" for kind, _, message in WRONG],
)
def test_wrong_settings_are_refused_in_one_line(learner, settings, message):
    with pytest.raises(ConfigError) as caught:
        learner(**settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
