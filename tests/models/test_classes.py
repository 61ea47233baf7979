import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, full_lists
from reference import classes as reference
from small_training import rewritten, saved

from rerank.core.errors import DataError, FormatError
from rerank.data.lists import CandidateLists
from rerank.data.scaling import fit_scaling
from rerank.models.base import load_model
from rerank.models.classes import ClassesModel
from rerank.models.describe import model_lines, model_record
from rerank.models.linear import LinearModel
from rerank.models.pipeline import Chain

DECODES = ("binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking")
CASES = [(decode, False) for decode in DECODES] + [("multiclass", True), ("ordinal", True)]


def model_of(decode="multiclass", reject=False, n_features=2, names=("1", "2", "5"), seed=0):
    rng = np.random.default_rng(seed)
    names = names[:2] if decode == "binary" else names
    n_outputs = 1 if decode == "binary" else len(names)
    features = [f"f{j}" for j in range(n_features)]
    weights, bias = rng.standard_normal((n_outputs, n_features)), rng.standard_normal(n_outputs)
    return ClassesModel(features, weights, names, decode, bias, reject)


def lists_of(X, **more):
    X = np.asarray(X, dtype=float)
    return CandidateLists.from_arrays(X, classes=["1"] * len(X), feature_names=["f0", "f1"], **more)


SCORES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 1e300]), min_size=3, max_size=3)


@given(st.sampled_from(CASES), st.lists(SCORES, min_size=1, max_size=4))
def test_predictions_are_those_of_the_twin(case, rows):
    decode, reject = case
    model = model_of(decode, reject)
    scores = np.array(rows)[:, : len(model.weights)]
    expected = [reference.predicted(model.classes, decode, reject, row) for row in scores.tolist()]
    assert model.decoded(scores) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("decode", "reject"), CASES)
def test_scores_are_in_the_order_of_the_rows(layout, decode, reject, tmp_path):
    lists = full_lists(layout)
    model = model_of(decode, reject, n_features=5)
    model.chain = Chain((fit_scaling("zscore", lists),) if layout == "dense" else ())
    ready = lists if model.scaling is None else model.scaling.apply(lists)
    expected = ready.features.to_dense() @ model.weights.T + model.bias
    found = model.class_scores(lists)
    assert np.allclose(found, lists.input_order(expected), rtol=1e-12)
    assert model.predicted(lists) == model.decoded(found)
    again = saved(model, tmp_path)
    assert again.class_scores(lists).tobytes() == found.tobytes()
    assert again.predicted(lists) == model.predicted(lists)


def test_features_are_matched_by_name():
    model, lists = model_of(), lists_of([[1, 2], [3, 4]])
    turned = CandidateLists.from_arrays([[2, 1], [4, 3]], feature_names=["f1", "f0"])
    assert model.class_scores(turned).tobytes() == model.class_scores(lists).tobytes()


def test_a_rejection_takes_a_strict_lead():
    model = model_of(reject=True)
    assert model.decoded(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])) == [
        "REJECT",
        "REJECT",
        "1",
    ]
    assert model.decoded(np.array([[1.0, 0.0, 0.0], [np.sqrt(3) - 1, 1.0, 0.0]])) == ["1", "2"]


def test_only_a_binary_model_has_a_score():
    lists = lists_of([[1, 2], [3, 4]])
    binary = model_of("binary")
    assert np.array_equal(binary.score(lists), binary.class_scores(lists)[:, 0])
    with pytest.raises(DataError, match=r"no single score of an item: predicted\(lists\) and class_scores"):
        model_of().score(lists)


def test_scores_that_are_not_finite_are_named():
    model = model_of()
    model.weights = np.array([[10.0, -10.0]] * 3)
    with pytest.raises(DataError, match="score 1 of list '2', item 1 is inf"):
        model.class_scores(lists_of([[0, 0], [1.7e308, -1.7e308]]))
    with pytest.raises(DataError, match=r"is nan: a feature is missing"):
        model_of().predicted(lists_of([[0, np.nan]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros((2, 2))}, "2 x 2 weights for 3 outputs and 2 columns"),
        ({"weights": np.full((3, 2), np.nan)}, "not finite"),
        ({"bias": np.zeros(2)}, "2 constants for 3 outputs"),
        ({"bias": np.full(3, np.inf)}, "not finite"),
        ({"classes": ()}, "0 classes"),
        ({"classes": ("a", "b", "a")}, "two classes of one name"),
        ({"classes": ("1", "2", "+1")}, "two classes of one name"),
        ({"classes": ("1", "2", "a,b")}, "not one, 'a,b'"),
        ({"classes": ("1", "2", "")}, "not one, ''"),
        ({"classes": ("1", "2", "REJECT")}, "not one, 'REJECT'"),
        ({"decode": "binary"}, "3 classes of a binary model"),
        ({"decode": "multilabel", "reject": True}, "multilabel predictions that rejects"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    parts = {
        "weights": np.zeros((3, 2)),
        "classes": ("1", "2", "3"),
        "decode": "multiclass",
        "bias": None,
        "reject": False,
    }
    with pytest.raises(DataError, match=message):
        ClassesModel(["f0", "f1"], **{**parts, **change})


@pytest.mark.parametrize(
    "meta",
    [
        b"",
        b"[]",
        b'{"classes": ["1", "2", "5"], "decode": "multiclass"}',
        b'{"classes": ["1", "2", "5"], "decode": "any", "reject": false}',
        b'{"classes": ["1", "2", "5"], "decode": "binary", "reject": false}',
        b'{"classes": ["1", 2, "5"], "decode": "multiclass", "reject": false}',
        b'{"classes": "125", "decode": "multiclass", "reject": false}',
        b'{"classes": ["1", "2"], "decode": "multiclass", "reject": false}',
        b'{"classes": ["1", "2", "5"], "decode": "multiclass", "reject": 1}',
        b'{"classes": ["1", "2", "5"], "decode": "multiclass", "reject": false, "more": 1}',
    ],
)
def test_damaged_names_are_refused(meta, tmp_path):
    model_of().save(str(tmp_path / "m"))
    path = rewritten(tmp_path / "m", tmp_path / "n", classes=np.frombuffer(meta, dtype=np.uint8))
    with pytest.raises(FormatError, match="a damaged model"):
        load_model(path)


def test_names_that_are_not_utf8_survive(tmp_path):
    model = model_of(names=("\udcff", "é", "z"))
    model.save(str(tmp_path / "m"))
    assert load_model(str(tmp_path / "m")).classes == model.classes


def test_show_names_classes():
    model = ClassesModel(
        ["petal"],
        np.array([[2.0], [0.0], [-3.0]]),
        ("a", "b", "c"),
        "multiclass",
        np.array([0, 0.5, 0]),
        True,
    )
    text = "\n".join(model_lines(model))
    assert "predicts  multiclass, may reject" in text
    assert "classes   a, b, c" in text
    assert text.index("petal [c]") < text.index("petal [a]") < text.index("(constant) [b]")
    assert "1, 1 with a weight" in text
    assert model_record(model)["weights"][0] == {"name": "petal [c]", "weight": -3.0}
    assert LinearModel(["a"], np.ones(1)).described() == {}
