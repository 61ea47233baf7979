"""Feature selection by a filter, by boosting, by backward elimination, or by an l1 penalty.

Each method orders features by training lists alone. Ties go to the feature that comes first.

References
----------
Collins & Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005
(section 6.4; boosting).
Koller & Sahami: Toward optimal feature selection. ICML 1996 (backward elimination).
Guyon, Weston, Barnhill & Vapnik: Gene selection for cancer classification using support vector machines.
Machine Learning 46, 2002 (by weight, with refits).
Riezler & Vasserman: Incremental feature selection and l1 regularization for relaxed maximum-entropy
modeling. EMNLP 2004.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, FitError
from rerank.core.text import count, some
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.missing import FILLS, first_missing
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.data.selection import with_only
from rerank.extensions.feature_selection.native._relevance import relevance
from rerank.extensions.feature_selection.options import Selecting
from rerank.learners.base import LEARNERS
from rerank.learners.boosting import Boosting
from rerank.learners.loglinear import LogLoss, target_lists
from rerank.learners.minimise import Objective, Penalty, minimise
from rerank.models.linear import LinearModel
from rerank.models.stumps import StumpModel

_ROUNDS, _MORE, _MOST = 4, 4, 16  # of boosting for each feature: at first, each time as many more, at most
_RATIO, _PATH = 0.5, 20  # of each strength of l1 and the one before, and how many are tried
_LEAST, _DIGITS = 1e-300, 9  # of the largest worth, to which others are compared
_TOLERANCE, _ITERATIONS = 1e-2, 200  # of each minimum


class Selected(Struct, frozen=True, eq=False):
    """The features that are kept.

    Attributes
    ----------
    columns : int64 (n)
        The most important one first.
    worth : float64 (n)
        What they are ordered by, in units of the method.
    what : str
        What ``worth`` is.
    of : int
        The number of features that there were.
    """

    columns: Index
    worth: Floats
    what: str
    of: int

    def line(self, names: list[str]) -> str:
        """Return what was kept in one line; ``names`` are those of all features."""
        first = some([names[j] for j in self.columns[:6].tolist()], most=5)
        return f"{len(self.columns)} of {count(self.of, 'feature')} kept, by {self.what}: {first}"


def select(lists: CandidateLists, n: int, how: Selecting) -> Selected:
    """Return the ``n`` most important features of training lists with labels.

    They are fewer if fewer tell items apart. Values are compared as they are: weights depend on the units of
    features, so that these should be scaled first.

    Raises
    ------
    FitError
        If n is more than the number of features, a value is missing, no list has two different labels, or no
        feature tells the items of a pair apart.
    ConfigError
        If the ranker gives no linear model.
    """
    d = lists.n_features
    if not 1 <= n <= d:
        raise FitError(f"{lists.source}: {n} features to keep, expected 1 to {d}, the number that there are")
    if lists.has_missing:
        raise FitError(f"{lists.source}: {first_missing(lists)}, and features are selected by all: {FILLS}")
    if how.method == "boosting":
        columns, worth, what = _by_boosting(lists, n)
    elif how.method == "filter":
        columns, worth, what = _by_filter(lists, how.criterion or "gain")
    elif how.method == "backward":
        columns, worth, what = _backward(lists, n, how)
    else:
        columns, worth, what = _by_l1(lists, n)
    if not len(columns):
        raise FitError(f"{lists.source}: no feature tells items of different labels apart")
    return Selected(columns[:n], worth[:n], what, d)


Ordered = tuple[Index, Floats, str]


def _largest_first(worth: Floats, what: str) -> Ordered:
    """The columns whose worth is above 0, the largest first, on ties the first.

    Those are tied that differ by less than rounding explains.
    """
    order = np.argsort(-np.round(worth / max(worth.max(initial=0.0), _LEAST), _DIGITS), kind="stable")
    order = order[worth[order] > 0]
    return order.astype(np.int64), worth[order], what


def evidence(lists: CandidateLists) -> Floats:
    """Return what the lists with two different labels tell of each feature, float64 (5, n_features).

    The lists within which it varies; the pairs of different labels whose better item has the larger value, or
    the smaller one; the squared deviations of its values from the means of their lists; and the sum of their
    products with the deviations of the labels. Unjudged items are left out.
    """
    pairs = make_pairs(lists, PairRelation())
    if pairs.n_lists == 0:
        raise FitError(f"{lists.source}: no list has two different labels")
    out = np.zeros((5, lists.n_features))
    matrix, centred = lists.features.matrix(), _centred(lists, pairs)
    relevance(matrix, pairs.offsets, pairs.items, pairs.rank, centred, out)
    return out


def _centred(lists: CandidateLists, pairs: Pairs) -> Floats:
    """The labels of the items of pairs, less the means of their lists."""
    assert lists.labels is not None
    labels, sizes = lists.labels[pairs.items], np.diff(pairs.offsets)
    return labels - np.repeat(np.add.reduceat(labels, pairs.offsets[:-1]) / sizes, sizes)


def _by_filter(lists: CandidateLists, criterion: str) -> Ordered:
    """Features by what each one alone tells of the labels."""
    n_lists, right, wrong, squares, products = evidence(lists)
    if criterion == "count":
        return _largest_first(n_lists, "the number of lists within which they vary")
    pairs = make_pairs(lists, PairRelation())
    if criterion == "correlation":
        labels = np.sqrt(np.sum(_centred(lists, pairs) ** 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(squares > 0, np.abs(products) / np.sqrt(squares) / labels, 0.0)
        return _largest_first(worth, "correlation with the labels within lists")
    told = right + wrong
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(told > 0, right / told, 0.5)
        loss = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    bits = told * (1.0 - np.nan_to_num(loss)) / pairs.n_pairs
    return _largest_first(bits, "information gain on pairs")


def _by_boosting(lists: CandidateLists, n: int) -> Ordered:
    """Features in the order in which boosting chooses them; one that is the base score comes first.

    They are fewer than ``n`` if 16 rounds for each of them choose fewer.
    """
    rounds = _ROUNDS * n
    while True:
        model = Boosting(rounds=rounds).fit(lists)
        assert isinstance(model, StumpModel)
        first = np.flatnonzero(model.weights)
        order = np.concatenate([first, model.feature]).astype(np.int64)
        _, places = np.unique(order, return_index=True)
        if len(places) >= n or model.n_rounds < rounds or rounds >= _MOST * n:
            break
        rounds *= _MORE
    places = np.sort(places)
    return order[places], places.astype(np.float64), "the order in which boosting chooses them"


def _deviations(lists: CandidateLists) -> Floats:
    """The deviation of each feature from the means of lists, up to a factor that is the same for all."""
    found: Floats = np.sqrt(np.maximum(evidence(lists)[3], 0.0))
    return found


def _backward(lists: CandidateLists, n: int, how: Selecting) -> Ordered:
    """The features that are left, by weight times deviation in the last fit."""
    name = how.ranker or "ranksvm"
    learner, columns = (
        LEARNERS.get(name).checked({}, f"ranker {name}"),
        np.flatnonzero(_deviations(lists) > 0),
    )
    worth, what = np.empty(0), f"weight times deviation in the last fit of {learner.name}"
    for size in _sizes(len(columns), n, how.step or 0.5):
        some_lists = narrowed(lists, np.sort(columns))
        model = learner.fit(some_lists)
        if not isinstance(model, LinearModel):
            raise ConfigError(f"ranker {learner.name}: a model of kind {model.kind}, expected a linear one")
        places, worth, _ = _largest_first(np.abs(model.weights) * _deviations(some_lists), what)
        columns, worth = np.sort(columns)[places[:size]], worth[:size]
    return columns, worth, what


def _sizes(d: int, n: int, step: float) -> Iterator[int]:
    """Yield how many features are left after each fit."""
    while d > n:
        d = max(n, min(d - 1, int(d * (1.0 - step))))
        yield d
    if d:
        yield d


def _by_l1(lists: CandidateLists, n: int) -> Ordered:
    """The largest weights times deviations under the first strength that leaves ``n`` features."""
    loss = LogLoss(lists.features, target_lists(lists, "tied", 0.0, None))
    w = np.zeros(lists.n_features)
    strength = float(np.abs(loss(w)[1]).max())
    for _ in range(_PATH):
        if np.count_nonzero(w) >= n or strength == 0.0:
            break
        strength *= _RATIO
        try:
            w = minimise(Objective(loss, Penalty(strength, l1=True)), w, _TOLERANCE, _ITERATIONS).w
        except OverflowError as error:
            text = f"{lists.source}: the loss overflows{error}"
            raise FitError(f"{text}; scale the features (--scaling)") from None
    what = f"weight times deviation in a log-linear model, l1 penalty {strength:.3g}"
    return _largest_first(np.abs(w) * _deviations(lists), what)


def narrowed(lists: CandidateLists, columns: Index) -> CandidateLists:
    """Return the lists with only some features, int64 and rising, in the order that they have."""
    chosen = np.zeros(lists.n_features, dtype=bool)
    chosen[columns] = True
    return with_only(lists, chosen, "")
