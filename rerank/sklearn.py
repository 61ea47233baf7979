"""Learners as estimators of scikit-learn (extra ``rerank[sklearn]``).

They stand in pipelines, are cloned, searched by ``GridSearchCV`` and pickled. ``Reranker.fit`` gives the
model of ``rerank.train`` for the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rerank.core.errors import DataError, DataNote, RerankError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, NDArray
from rerank.data import frames
from rerank.data.array_inputs import vector
from rerank.data.arrays import is_masked, real_array
from rerank.data.lists import CandidateLists
from rerank.data.names import note_features
from rerank.evaluation.judged import values_of
from rerank.learners.base import LEARNERS, Learner
from rerank.metrics.base import parse
from rerank.metrics.judging import Judging
from rerank.models.base import Model, model_of_file
from rerank.training.options import KEYWORDS
from rerank.training.train import train

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError:
    raise ImportError("this needs scikit-learn 1.6 or later: pip install 'rerank[sklearn]'") from None

SCORING = "nDCG@10"  # of ``Reranker.score`` if no metric is named
_OF_TRAIN = (
    "dev",
    "unlabelled",
    "initial",
    "checkpoint",
    *KEYWORDS,
)  # not the learner's


class RerankerError(RerankError, ValueError):
    """ValueError for scikit-learn: rows, settings or lists do not fit."""


class Reranker(BaseEstimator):  # type: ignore[misc]
    """A learner that ranks the rows of each list, as an estimator of scikit-learn.

    Rows belong to the lists that ``qid`` or ``group`` name. For cross-validation use ``GroupKFold`` with
    ``groups=qid``, and let scikit-learn pass ``qid`` on::

        sklearn.set_config(enable_metadata_routing=True)
        Reranker("ranksvm").set_fit_request(qid=True).set_score_request(qid=True)

    Parameters
    ----------
    learner : str
        A name of ``rerank list learners``.
    scoring : str, optional
        The metric of ``score``; None = ``metric`` if it is given, otherwise nDCG@10.
    **settings
        The learner's settings, and the other arguments of ``rerank.train``, such as metric and scaling. They
        are attributes and parameters like ``learner``; ``fit`` checks them.

    Attributes
    ----------
    model_ : rerank.Model
        With ``save(path)``, ``explain()`` and the record of the training.
    n_features_in_ : int
    feature_names_in_ : array of str
        If X was a data frame.

    Examples
    --------
    >>> from rerank.sklearn import Reranker
    >>> X, y, qid = [[0.0], [1.0], [3.0], [2.0]], [0, 1, 1, 0], [1, 1, 2, 2]
    >>> reranker = Reranker("perceptron", epochs=5).fit(X, y, qid=qid)
    >>> reranker
    Reranker(epochs=5)
    >>> bool(reranker.score(X, y, qid=qid) == 1)
    True
    """

    def __init__(self, learner: str = "perceptron", *, scoring: str | None = None, **settings: Any) -> None:
        self.learner = learner
        self.scoring = scoring
        for name, value in settings.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Train a model.

        Parameters
        ----------
        X : array, data frame or sparse matrix (n_rows, n_features)
            NaN = missing, for learners that accept it.
        y : array (n_rows)
            Labels; larger is better, NaN = unjudged.
        group : array of int, optional
            Lengths of consecutive lists.
        qid : array (n_rows), optional
            The list of each row. Without ``group`` and ``qid`` all rows are one list.
        sample_weight : array (n_rows), optional
            The weight of each row's list: rows of a list have the same one.

        Raises
        ------
        RerankError
            If a setting is wrong, or the rows cannot be learnt from; it is a ValueError as well.
        """
        if y is None:
            raise RerankerError("fit requires y to be passed, but the target y is None")
        try:
            frames.refuse_other_rows(X=X, y=y, qid=qid, sample_weight=sample_weight)
            missing = LEARNERS.get(self.learner).accepts_nan or bool(self._settings().get("missing"))
            lists = self._lists(X, y, group, qid, missing=missing, reset=True)
            if lists.n_items == 1:
                raise DataError("found 1 sample, expected lists of two or more")
            if group is None and qid is None:
                text = f"all {lists.n_items} rows are one list, as neither qid nor group is given"
                warnings.warn(text, DataNote, stacklevel=2)
            note_features("X", lists.feature_names or ())
            weights = None if sample_weight is None else _of_lists(sample_weight, lists)
            settings = self._settings()
            self.model_ = train(lists, learner=self.learner, list_weights=weights, **settings)
        except RerankError as error:
            raise RerankerError(str(error)) from None
        self._by_list = group is not None or qid is not None
        return self

    def predict(self, X: Any, *, group: Any = None, qid: Any = None) -> Floats:
        """Return a score for each row, float64 (n_rows); in each list the larger is the better.

        Parameters
        ----------
        X : array, data frame or sparse matrix (n_rows, n_features)
        group, qid : as for ``fit``; only needed if features are scaled or filled within lists, or by models
            whose scores depend on the list in another way, such as rrf and voted perceptrons.
        """
        check_is_fitted(self)
        if self._needs_lists() and group is None and qid is None:
            what = "its scores depend on the lists, and it was fitted with group or qid; give one of them"
            raise RerankerError(f"predict: {what}")
        try:
            lists = self._lists(X, None, group, qid, missing=True, reset=False)
            return self.model_.score(lists)
        except RerankError as error:
            raise RerankerError(str(error)) from None

    def decision_function(self, X: Any, *, group: Any = None, qid: Any = None) -> Floats:
        """Return what ``predict`` returns."""
        return self.predict(X, group=group, qid=qid)

    def score(
        self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: None = None
    ) -> float:
        """Return the metric ``scoring`` of the predicted ranking, with the sign changed if lower is better.

        Pipelines pass ``sample_weight=None`` on; there are no weights of lists in metrics.

        Raises
        ------
        RerankerError
            If the lists are not given but were given to ``fit``: one list of all rows is another measure; or
            if ``sample_weight`` is given.
        """
        check_is_fitted(self)
        if sample_weight is not None:
            raise RerankerError("score: metrics have no weights of lists, found sample_weight")
        if self._by_list and group is None and qid is None:
            routing = "sklearn.set_config(enable_metadata_routing=True) and .set_score_request(qid=True)"
            raise RerankerError(f"score: fit was given lists; give qid, in cross-validation by {routing}")
        metric = self.scoring or self._settings().get("metric") or SCORING
        frames.refuse_other_rows(X=X, y=y, qid=qid)
        try:
            lists = self._lists(X, y, group, qid, missing=True, reset=False)
            found = values_of(lists, self.model_.score(lists), Judging.by(metric))[metric]
            return parse(metric).better * found
        except RerankError as error:
            raise RerankerError(str(error)) from None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the learner and the settings that were given, by name."""
        return {"learner": self.learner, "scoring": self.scoring, **self._settings()}

    def set_params(self, **params: Any) -> Self:
        """Set the learner or settings.

        Raises
        ------
        RerankerError
            If a name is neither a setting of the learner nor an argument of ``rerank.train``.
        """
        learner = params.get("learner", self.learner)
        known = ["learner", "scoring", *_OF_TRAIN]
        kind = _learner(learner)
        known += params if kind is None else kind.settings  # fit refuses an unknown learner
        for name in params:
            if name not in known and name not in self._settings():
                raise RerankerError(
                    f"learner {learner}: unknown setting {name!r}; {did_you_mean(name, known)}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _settings(self) -> dict[str, Any]:
        """Return the given settings besides the learner and the scoring: scikit-learn's parameters."""
        hidden = ("learner", "scoring")
        return {
            name: value
            for name, value in vars(self).items()
            if name not in hidden and not name.startswith("_") and not name.endswith("_")
        }

    def _lists(self, X: Any, y: Any, group: Any, qid: Any, *, missing: bool, reset: bool) -> CandidateLists:
        """The rows as lists; raises the errors of scikit-learn if they are not of the form of ``fit``."""
        X = validate_data(
            self,
            _unmasked(X, "X"),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if missing else True,
            reset=reset,
        )
        labels = None if y is None else _labels(y, X.shape[0])
        names = getattr(self, "feature_names_in_", None)
        return CandidateLists.from_arrays(
            X, labels, group=group, qid=qid, feature_names=None if names is None else names.tolist()
        )

    def _needs_lists(self) -> bool:
        """Return whether scores depend on the lists, and fit was given them."""
        model = self.model_
        filled = model.missing_policy in ("list-mean", "list-min") or model.scaling_name.startswith("list-")
        return self._by_list and (model.listwise or filled or model.keep_margin is not None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.input_tags.sparse = True
        kind = _learner(self.learner)
        tags.input_tags.allow_nan = kind is not None and kind.accepts_nan
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, the model as the content of its file."""
        state: dict[str, Any] = super().__getstate__()
        model = state.get("model_")
        return state | {"model_": model.as_file().getvalue()} if isinstance(model, Model) else state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        content = state.get("model_")
        loaded = {} if content is None else {"model_": model_of_file(content, "the pickled model")}
        super().__setstate__({**state, **loaded})


def _learner(name: Any) -> type[Learner] | None:
    """The learner called ``name``, None if there is none: parameters are checked by ``fit``."""
    known = {*LEARNERS.names(), *(alias for one in LEARNERS.names() for alias in LEARNERS.aliases(one))}
    return LEARNERS.get(name) if isinstance(name, str) and name in known else None


def _labels(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Labels (n_rows) as numbers, NaN = unjudged; raises ValueError if they are not."""
    y = _unmasked(y, "y")
    y = np.asarray(check_array(y, ensure_2d=False, dtype="numeric", ensure_all_finite="allow-nan"))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n_rows,):
        raise DataError(f"y has shape {y.shape}, expected ({n_rows},)")
    return vector(y, "y", n_rows)


def _unmasked(values: Any, what: str) -> Any:
    """Return values as scikit-learn knows them: masked ones become NaN, dates and durations are refused."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if is_masked(values) or kind in ("m", "M"):
        return real_array(values, what)
    if hasattr(values, "columns"):
        frames.check_numbers(values, what)
    return values


def _of_lists(sample_weight: Any, lists: CandidateLists) -> Floats:
    """The weight of each list, float64 (n_lists), from those of its rows.

    Raises
    ------
    DataError
        If rows of a list have different weights.
    """
    values = vector(sample_weight, "sample_weight", lists.n_items)
    items = lists.from_input_order(values)
    weights = items[lists.offsets[:-1]]
    other = np.flatnonzero(items != np.repeat(weights, lists.lengths))
    if len(other):
        place = lists.place_of(int(other[0]))
        raise DataError(
            f"sample_weight: {place} differs from the first item, expected one weight for each list"
        )
    return weights
