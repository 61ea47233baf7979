"""Learners as estimators of scikit-learn: its conventions, its searches, and the models of rerank.train."""

import doctest
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rerank
import rerank.sklearn
from rerank.core.errors import DataNote
from rerank.sklearn import Reranker

RNG = np.random.default_rng(0)
QID = np.repeat([f"q{i}" for i in range(12)], 6)
ORDER = RNG.permutation(len(QID))  # rows of a list are not contiguous
X = RNG.normal(size=(len(QID), 4))
Y = (X[:, 0] - X[:, 1] + RNG.normal(scale=0.5, size=len(QID)) > 0.5).astype(float)
X, Y, QID = X[ORDER], Y[ORDER], QID[ORDER]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
DATED = pl.DataFrame(X).with_columns(day=pl.lit("2020-01-02").str.to_date())
WEIGHTS = np.array([1.0 + int(name[1:]) % 3 for name in QID])

_ONE_WEIGHT = "weights are those of lists, and rows without group and qid are one list"


def failed(estimator):
    return {
        "check_sample_weights_not_overwritten": _ONE_WEIGHT,
        "check_sample_weight_equivalence_on_dense_data": _ONE_WEIGHT,
        "check_sample_weight_equivalence_on_sparse_data": _ONE_WEIGHT,
        "check_all_zero_sample_weights_error": "the learner refuses the weights in other words",
    }


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([Reranker()], expected_failed_checks=failed)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_example_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctest, "master", None)
        assert doctest.testmod(rerank.sklearn).failed == 0


@pytest.mark.parametrize(
    "data", [X, X.astype(np.float32), FRAME, csr_array(X)], ids=["f8", "f4", "frame", "csr"]
)
@pytest.mark.parametrize("settings", [{}, {"scaling": "list-zscore", "epochs": 3, "seed": 5}])
def test_the_model_is_that_of_train(data, settings):
    if settings and isinstance(data, csr_array):
        settings = {**settings, "scaling": "zscore"}
    lists = rerank.CandidateLists.from_arrays(data, Y, qid=QID)
    expected = rerank.train(lists, "perceptron", **settings)
    found = Reranker("perceptron", **settings).fit(data, Y, qid=QID)
    assert found.model_.as_file().getvalue() == expected.as_file().getvalue()
    assert np.array_equal(found.predict(data, qid=QID), expected.score(lists))
    score = rerank.evaluate(lists, expected.score(lists), "nDCG@10")["nDCG@10"]
    assert found.score(data, Y, qid=QID) == score


def test_group_and_weights_of_lists():
    order = np.argsort(QID, kind="stable")
    sizes = np.full(12, 6)
    by_group = Reranker(epochs=4).fit(X[order], Y[order], group=sizes, sample_weight=WEIGHTS[order])
    by_qid = Reranker(epochs=4).fit(X[order], Y[order], qid=QID[order], sample_weight=WEIGHTS[order])
    lists = rerank.CandidateLists.from_arrays(X[order], Y[order], group=sizes)
    expected = rerank.train(lists, epochs=4, list_weights=WEIGHTS[order][::6])
    for found in (by_group, by_qid):
        assert np.array_equal(found.predict(X), expected.score(rerank.CandidateLists.from_arrays(X)))
    assert by_group.score(X[order], Y[order], group=sizes) == by_qid.score(X[order], Y[order], qid=QID[order])


def test_parameters_clones_and_pickles():
    reranker = Reranker("perceptron", epochs=3).set_params(seed=4, scoring="RR")
    assert reranker.get_params() == {"learner": "perceptron", "scoring": "RR", "epochs": 3, "seed": 4}
    again = clone(reranker)
    assert again.get_params() == reranker.get_params()
    assert repr(again) == "Reranker(epochs=3, scoring='RR', seed=4)"
    assert again._repr_html_()
    fitted = again.fit(FRAME, Y, qid=QID)
    loaded = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert np.array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert not hasattr(pickle.loads(pickle.dumps(reranker)), "model_")  # noqa: S301
    assert clone(fitted).set_params(learner="ranksvm").get_params()["learner"] == "ranksvm"


def test_searches_pass_the_lists_on():
    with sklearn.config_context(enable_metadata_routing=True):
        reranker = Reranker("perceptron").set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(reranker, {"epochs": [1, 5]}, cv=GroupKFold(3))
        search.fit(X, Y, groups=QID, qid=QID)
        values = cross_val_score(
            reranker.set_params(epochs=5), X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID}
        )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(values.mean())
    folds = GroupKFold(3).split(X, Y, QID)
    expected = []
    for train, test in folds:
        model = rerank.train(rerank.CandidateLists.from_arrays(X[train], Y[train], qid=QID[train]), epochs=5)
        lists = rerank.CandidateLists.from_arrays(X[test], Y[test], qid=QID[test])
        expected.append(rerank.evaluate(lists, model.score(lists), "nDCG@10")["nDCG@10"])
    assert values.tolist() == pytest.approx(expected)
    pipeline = make_pipeline(MinMaxScaler(), Reranker(epochs=3)).fit(X, Y, reranker__qid=QID)
    assert pipeline.predict(X).shape == (len(X),)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MinMaxScaler(), Reranker(epochs=3).set_fit_request(qid=True))
        pipeline[-1].set_score_request(qid=True)
        found = cross_val_score(pipeline, X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
    assert np.isfinite(found).all()


def test_a_search_that_loses_the_lists_is_an_error():
    """Without routing, scikit-learn passes qid to fit alone: the score would be that of a single list."""
    search = GridSearchCV(Reranker(), {"epochs": [1]}, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(ValueError, match=r"score: fit was given lists; give qid, in cross-validation by"):
        search.fit(X, Y, groups=QID, qid=QID)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: Reranker("ranksmv").fit(X, Y, qid=QID),
            "unknown learner 'ranksmv'; did you mean 'ranksvm'?",
        ),
        (lambda: Reranker(epochz=3).fit(X, Y, qid=QID), "unknown setting 'epochz'; did you mean 'epochs'?"),
        (lambda: Reranker().set_params(epochz=3), "unknown setting 'epochz'; did you mean 'epochs'?"),
        (lambda: Reranker().fit(X, Y.astype("datetime64[s]"), qid=QID), "y must be numbers: found"),
        (lambda: Reranker().fit(X, pl.Series(Y).cast(pl.Datetime), qid=QID), "y must be numbers"),
        (lambda: Reranker().fit(X.astype("datetime64[s]"), Y, qid=QID), "X must be numbers"),
        (lambda: Reranker().fit(DATED, Y, qid=QID), "X: column 'day' holds no numbers"),
        (lambda: Reranker().fit(X, Y, qid=QID[:-1]), "qid has shape (71,), expected (72,)"),
        (lambda: Reranker().fit(X, Y, group=[6, 6]), "group must be whole numbers that sum to 72"),
        (
            lambda: Reranker().fit(X, Y, qid=QID, sample_weight=np.arange(72.0)),
            "expected one weight for each list",
        ),
        (lambda: Reranker().fit(FRAME, pd.Series(Y)[::-1], qid=QID), "X and y have different indexes"),
        (lambda: Reranker().fit(X * np.nan, Y, qid=QID), "Input X contains NaN"),
        (
            lambda: Reranker().fit(X, Y, qid=QID).predict(X[:, :3]),
            "X has 3 features, but Reranker is expecting 4",
        ),
        (lambda: Reranker().fit(FRAME, Y, qid=QID).predict(FRAME[["b", "a", "c", "d"]]), "same order"),
        (lambda: Reranker().fit(FRAME, Y, qid=QID).predict(FRAME[["a", "b", "c"]]), "feature names"),
        (lambda: Reranker(scoring="MPA").fit(X, Y, qid=QID).score(X, Y, qid=QID), "unknown metric 'MPA'"),
        *(
            (lambda one=one: one.fit(X, Y, qid=QID).predict(X), "predict: its scores depend on the lists")
            for one in (
                Reranker(scaling="list-zscore"),
                Reranker(missing="list-mean"),
                Reranker("rrf"),
                Reranker("perceptron", average="voted"),
            )
        ),
        (
            lambda: Reranker().fit(X, Y, qid=QID).score(X, Y, qid=QID, sample_weight=WEIGHTS),
            "score: metrics have no weights of lists, found sample_weight",
        ),
    ],
)
def test_mistakes_are_errors_of_one_line(use, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        use()


def test_rows_without_lists_and_columns_that_leak_are_reported():
    with pytest.warns(DataNote, match="all 72 rows are one list, as neither qid nor group is given"):
        Reranker(epochs=1).fit(X, Y)
    with pytest.warns(DataNote, match="features have names of lists or labels: 'label'; are they meant"):
        Reranker(epochs=1).fit(FRAME.assign(label=RNG.normal(size=72)), Y, qid=QID)
    with pytest.warns(DataNote, match="'qid'"):
        rerank.CandidateLists.from_arrays(FRAME.assign(qid=1), Y, qid=QID)
    with pytest.raises(NotFittedError):
        Reranker().predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Reranker("lambdamart", rounds=1).fit(np.where(X > 2, np.nan, X), np.where(Y > 9, np.nan, Y), qid=QID)


def test_masked_values_are_missing_ones():
    X_gone, y_gone = np.where(X > 2, np.nan, X), np.where(X[:, 0] > 1, np.nan, Y)
    masked = np.ma.masked_array(X, X > 2), np.ma.masked_array(Y, X[:, 0] > 1)
    given = (X_gone, y_gone), masked
    fits = [Reranker("lambdamart", rounds=1).fit(*one, qid=QID) for one in given]
    assert len({fit.model_.training.data.fingerprint for fit in fits}) == 1
