"""Propagation by a list kernel that is learnt from how unlike the rankers of labelled lists are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adapting import Advance
from rerank.extensions.transductive.propagation import Propagate, PropagationModel
from rerank.extensions.transductive.propagation.ranked import Nodes, Ranked, ranked_by_graph
from rerank.extensions.transductive.propagation.settings import why_no_rankers
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import Base, MetaLearner
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.training import Fact
from rerank.similarity.axes import most_axes, principal_axes
from rerank.similarity.base import Kernel, Prepared, check_comparable

_FLOOR = 0.01  # added to the standard deviations of features, whose logarithms are compared
_STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
_FOLDS = 5
_MOST = 20_000  # pairs of lists that the weights are learnt from


@dataclass(frozen=True, eq=False)
class Descriptors:
    """Descriptors by which lists are compared.

    Attributes
    ----------
    axes : float64 (n_lists, k, n_features)
        The first principal axes, unit vectors; 0 for axes that a list does not have.
    scales : float64 (n_lists, n_features)
        Logarithms of the standard deviations of features within the list, with 0.01 added.
    """

    axes: Floats
    scales: Floats

    @classmethod
    def of(cls, lists: CandidateLists, components: int) -> Descriptors:
        """Return the descriptors of lists; DataError if there are none, or features miss or are too large."""
        check_comparable(lists)
        n, d = lists.n_lists, lists.n_features
        memory.require(8 * n * d * (components + 1), f"{components} axes of {n:,} lists")
        found = principal_axes(lists, min(components, most_axes(lists)))
        axes, scales = np.zeros((n, components, d)), np.empty((n, d))
        for i in range(n):
            own = slice(int(found.bounds[i]), int(found.bounds[i + 1]))
            axes[i][: found.values.shape[1], found.columns[own]] = found.values[own].T
            items = lists.features.take(slice(int(lists.offsets[i]), int(lists.offsets[i + 1])))
            with np.errstate(over="ignore", invalid="ignore"):
                scales[i] = np.log(_FLOOR + items.to_dense().astype(np.float64).std(axis=0))
        if not np.isfinite(scales).all():
            raise DataError(
                f"{lists.source}: the deviation of a feature overflows; scale the features (--scaling)"
            )
        return cls(axes, scales)

    @property
    def empty(self) -> Index:
        """The lists of equal items."""
        return np.flatnonzero(~self.axes.any(axis=(1, 2))).astype(np.int64)

    def differences(self, i: Index, j: Index) -> Floats:
        """Return how lists ``i`` and ``j`` differ, float64 (len(i), k + n_features).

        By each axis, 1 - |cosine| of the two lists' axes of that rank; by each feature, the absolute
        difference of the logarithms of its deviations.
        """
        cosines = np.abs(np.einsum("pkd,pkd->pk", self.axes[i], self.axes[j]))
        return np.hstack([1.0 - np.minimum(cosines, 1.0), np.abs(self.scales[i] - self.scales[j])])


class _Prepared(Prepared):
    """Lists with their descriptors."""

    def __init__(self, found: Descriptors, weights: Floats) -> None:
        self.n, self.empty = len(found.scales), found.empty
        self._found, self._weights = found, weights

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        mine, theirs, k = self._found, other._found, self._found.axes.shape[1]
        out[:] = 0.0
        with np.errstate(over="ignore"):  # lists that are infinitely unlike have the similarity 0
            for a in np.flatnonzero(self._weights[:k]):
                cosines = np.abs(np.einsum("id,jd->ij", mine.axes[first:last, a], theirs.axes[:, a]))
                out += self._weights[a] * (1.0 - np.minimum(cosines, 1.0))
            for f in np.flatnonzero(self._weights[k:]):
                columns = mine.scales[first:last, f, None], theirs.scales[:, f]
                out += self._weights[k + f] * np.abs(columns[0] - columns[1])
        np.exp(-out, out=out)
        out[np.isin(np.arange(first, last), self.empty)] = 0.0
        out[:, other.empty] = 0.0


class LearnedKernel(Kernel):
    """exp(-sum of weights times differences): the similarity of lists by their axes and scales.

    It is not registered, since its weights come from labelled lists. Lists of equal items are similar to
    none.

    Parameters
    ----------
    weights : float64 (components + n_features)
        Of the differences, 0 or more.
    components : int
        The number of axes.
    """

    name = "learnt"
    summary = "differences of axes and scales, with weights learnt from labelled lists"

    def __init__(self, weights: Floats, components: int) -> None:
        super().__init__()
        self._weights, self._components = weights, components

    def prepare(
        self, lists: CandidateLists, other: CandidateLists | None = None
    ) -> tuple[_Prepared, _Prepared]:
        sets = (lists,) if other is None else (lists, other)
        found = [_Prepared(Descriptors.of(one, self._components), self._weights) for one in sets]
        return found[0], found[-1]


def unlikeness(lists: CandidateLists, rankers: Floats) -> Floats:
    """Return how unlike the rankers of lists are, float64 (n_lists, n_lists): symmetric, from 0 to 2.

    That of two is 1 less the mean of the correlations of both rankers' scores on the items of the one list,
    and on those of the other. A ranker that gives the items of a list one score has the correlation 0 with
    others there.

    rankers : float64 (n_lists, n_features), the ranker of each list.
    """
    n = lists.n_lists
    correlations = np.empty((n, n))
    for i in range(n):
        items = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        scores = lists.features.take(items).to_dense().astype(np.float64) @ rankers.T
        scores -= scores.mean(axis=0)
        norms = np.sqrt(np.einsum("ij,ij->j", scores, scores))
        scores /= np.where(norms > 0, norms, 1.0)
        correlations[i] = scores[:, i] @ scores
    found: Floats = np.clip(1.0 - 0.5 * (correlations + correlations.T), 0.0, 2.0)
    np.fill_diagonal(found, 0.0)
    return found


def nonnegative_ridge(differences: Floats, target: Floats, strength: float) -> Floats:
    """Return the weights, 0 or more, and last the constant, 0 or more, of a ridge regression.

    They minimise the mean squared error plus ``strength`` times the sum of squared weights.

    differences : float64 (n, m). target : float64 (n).
    """
    from scipy.optimize import nnls

    m = differences.shape[1]
    rows = np.hstack([differences, np.ones((len(differences), 1))])
    moments = rows.T @ rows / len(rows) + np.diag([strength] * m + [1e-12])
    root = np.linalg.cholesky(moments)
    found: Floats = nnls(root.T, np.linalg.solve(root, rows.T @ target / len(rows)))[0]
    return found


@dataclass(frozen=True, eq=False)
class Learnt:
    """The weights of a kernel and how they were found.

    Attributes
    ----------
    weights : float64 (m)
        Scaled so that the mean of exp's argument over the pairs is -1; 0 if no difference counts.
    strength : float
        Of the penalty.
    explained : float
        Share of the variance of unlikeness in pairs with a left-out list, for that strength; it may be
        negative.
    """

    weights: Floats
    strength: float
    explained: float


def learn_weights(
    differences: Floats, target: Floats, first: Index, second: Index, strength: float | None, folds: Index
) -> Learnt:
    """Return the weights with which differences predict how unlike rankers are.

    Differences are divided by their means, and the strength minimises the squared error in pairs with a list
    of a fold that is left out; on ties the largest one.

    Parameters
    ----------
    differences : float64 (n, m)
        Of pairs of lists.
    target : float64 (n)
        How unlike their rankers are.
    first, second : int64 (n)
        The two lists of each pair.
    strength : float or None
        Of the penalty; None = chosen.
    folds : int64 (n_lists)
        The fold of each list.
    """
    means = differences.mean(axis=0)
    scaled = differences / np.where(means > 0, means, 1.0)
    tried = np.array(sorted(_STRENGTHS, reverse=True) if strength is None else [strength])
    errors, total = np.zeros(len(tried)), 0.0
    for fold in range(int(folds.max()) + 1):
        out = (folds[first] == fold) | (folds[second] == fold)
        if out.all() or not out.any():
            continue
        total += float(np.square(target[out] - target[~out].mean()).sum())
        for s, one in enumerate(tried.tolist()):
            fitted = nonnegative_ridge(scaled[~out], target[~out], one)
            predicted = scaled[out] @ fitted[:-1] + fitted[-1]
            errors[s] += float(np.square(target[out] - predicted).sum())
    best = int(np.argmin(errors))
    weights = nonnegative_ridge(scaled, target, float(tried[best]))[:-1]
    size = float((scaled @ weights).mean())
    weights = weights / np.where(means > 0, means, 1.0) / (size if size > 0 else 1.0)
    explained = 1.0 - errors[best] / total if total > 0 else np.nan
    return Learnt(weights * (means > 0), float(tried[best]), float(explained))


@LEARNERS.register("propagate-learned", "learned-propagation")
class PropagateLearned(MetaLearner):
    """``propagate`` with a list kernel that is learnt from the training lists.

    The kernel is exp(-sum of weights times differences of two lists): by each of their first axes, 1 -
    |cosine|; by each feature, the difference of the logarithms of its standard deviations. The weights, 0 or
    more, are those of a ridge regression of how unlike the rankers of two training lists are, which is 1 less
    the mean correlation of their scores on the items of both lists. Its strength is cross-validated by lists.

    If no difference predicts anything, or fewer than 3 lists have a ranker, all lists are equally similar.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.3, which proposes to learn the kernel from the rankers of labelled lists, without a method.
    """

    name = "propagate-learned"
    summary = "propagate by a list kernel learnt from how unlike the training lists' rankers are"
    source = "Duh 2009, section 9.3.3"
    watches: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = False
    default_scaling: ClassVar[str] = "zscore"

    base: Base = setting(
        "ranksvm", "learner of the rankers: a name, or its name and settings; base.C is one of them"
    )
    neighbours: Literal["all"] | int = setting(
        10, "number of nearest lists that a list has edges to, or all", ge=1
    )
    components: int = setting(5, "principal axes of each list that are compared", ge=1)
    strength: Literal["auto"] | float = setting(
        "auto", "penalty on squared weights of the kernel, 0 or more; auto = cross-validated", ge=0
    )
    seed: int = setting(
        1, "random seed of folds and pairs, also of the base learner unless it has its own", ge=0
    )

    def _why_no_base(self, base: Learner) -> str:
        return super()._why_no_base(base) or why_no_rankers(base)

    @property
    def uses_metric(self) -> bool:
        return self._plain.uses_metric

    @property
    def _plain(self) -> Propagate:
        """The learner whose kernel is not learnt."""
        return Propagate(
            base=self.base, neighbours=self.neighbours, components=self.components, seed=self.seed
        )

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        plain = self._plain._fit(lists, inputs)
        assert isinstance(plain, PropagationModel)
        nodes = plain.nodes
        found = self._learnt(nodes)
        model = LearnedModel(nodes, plain.settings, plain.unadapted, plain.dropped)
        model.weights = found.weights
        model.training.data = plain.training.data
        if not np.isnan(found.explained):
            facts: dict[str, Fact] = {"kernel_strength": found.strength, "kernel_explained": found.explained}
            model.training.notes = model.training.notes | facts
        return model

    def _learnt(self, nodes: Nodes) -> Learnt:
        """The kernel's weights, from the lists that trained a ranker and are not of equal items."""
        described = Descriptors.of(nodes.lists, self.components)
        kept = np.setdiff1d(np.flatnonzero(nodes.trained), described.empty)
        if len(kept) < 3:  # no pair is left out and another one not
            return Learnt(np.zeros(self.components + nodes.lists.n_features), np.nan, np.nan)
        rng = np.random.default_rng(self.seed)
        folds = rng.permutation(len(kept)) % _FOLDS
        first, second = np.triu_indices(len(kept), 1)
        if len(first) > _MOST:
            drawn = np.sort(rng.choice(len(first), _MOST, replace=False))
            first, second = first[drawn], second[drawn]
        unlike = unlikeness(nodes.lists.subset(kept), nodes.weights[kept])
        differences = described.differences(kept[first], kept[second])
        strength = None if self.strength == "auto" else self.strength
        return learn_weights(differences, unlike[first, second], first, second, strength, folds)


@MODELS.register("learned-propagation")
class LearnedModel(PropagationModel):
    """Ranks lists by propagated rankers, with a kernel that was learnt.

    Attributes
    ----------
    weights : float64 (components + n_features)
        Of the kernel.
    """

    kind = "learned-propagation"
    weights: Floats

    @property
    def kernel(self) -> LearnedKernel:
        """The kernel on lists."""
        return LearnedKernel(self.weights, self.settings.components)

    def _ranked(self, lists: CandidateLists, advance: Advance | None) -> Ranked:
        found = ranked_by_graph(self.nodes, lists, self.settings, self.dropped, self.kernel)
        if advance is not None:
            advance(lists.n_lists)
        return found

    def arrays(self) -> Arrays:
        return super().arrays() | {"kernel_weights": self.weights}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return super().members(n_features) | {"kernel_weights": ArrayForm("<f8", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        model = super().from_arrays(feature_names, arrays)
        weights = arrays["kernel_weights"]
        expected = model.settings.components + len(feature_names)
        if len(weights) != expected or not (np.isfinite(weights) & (weights >= 0)).all():
            raise DataError(f"kernel_weights: expected {expected} numbers of 0 or more")
        model.weights = weights
        return model

    def training_lines(self) -> list[str]:
        explained = self.training.notes.get("kernel_explained")
        line = "too few lists with rankers to learn a kernel: all lists are equally similar"
        if explained is not None:
            line = (
                f"the learnt kernel explains {explained:.1%} of how unlike the rankers of left-out lists are"
            )
        return [*super().training_lines(), line]

    def described(self) -> dict[str, Any]:
        k = self.settings.components
        names = [*(f"axis {a + 1}" for a in range(k)), *(f"scale of {name}" for name in self.feature_names)]
        largest = np.argsort(-self.weights, kind="stable")[:5]
        heaviest = {names[m]: float(self.weights[m]) for m in largest if self.weights[m] > 0}
        compared = {"kernel": "learnt", "components": k, "neighbours": self.settings.neighbours}
        return super().described() | {"compared by": compared, "weights of the kernel": heaviest or "0"}
