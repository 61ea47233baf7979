"""The learner of ranker propagation: a ranker for each training list, and one for all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import numpy as np

from rerank.core.errors import DataError, FitError
from rerank.core.records import Record
from rerank.core.text import count, some
from rerank.core.types import AnyArray, Floats, Ints
from rerank.data.judge import label_judge
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adaptation import taus
from rerank.extensions.transductive.adapter import METHOD, packed_json, unpacked_json
from rerank.extensions.transductive.adapting import AdaptingModel, Advance
from rerank.extensions.transductive.cache import RankerCache
from rerank.extensions.transductive.lists import (
    feature_arrays,
    feature_members,
    features_of,
    generator,
    single,
)
from rerank.extensions.transductive.propagation.nearest_rankers import ranked_by_nearest, with_propagated
from rerank.extensions.transductive.propagation.ranked import Nodes, Ranked, own_scores, ranked_by_graph
from rerank.extensions.transductive.propagation.settings import (
    PropagationSettings,
    linear_weights,
    list_rankers,
    normalised,
)
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.ranksvm import RankSVM
from rerank.models.adaptation import Adaptation, ListRow
from rerank.models.base import MODELS, ORACLE, Arrays, Model, heaviest_first
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.models.linear import LinearModel

_SOURCE = "training lists"
_LEARNER = "propagate"
_LONGEST_REASON = 1000


@LEARNERS.register("propagate", "ranker-propagation")
class Propagate(PropagationSettings):
    """A linear ranker for each training list, propagated to the lists to be ranked.

    Lists are nodes of a graph, which has edges between neighbours by a kernel on lists. The rankers of lists
    without labels minimise the sum over edges of K_ij |w_i - w_j|^2, with the rankers of training lists
    given: each is the mean of its neighbours' rankers, weighted by similarity. A training list without two
    different labels trains no ranker, and is a node as the lists to be ranked are. A list that no trained
    ranker reaches is ranked by the mean of them.

    The scores of a list depend on the other lists that are scored with it: give predict all lists at once.
    With form=inductive they do not: a list is ranked by the merged rankings of the rankers of its nearest
    training lists. Unlabelled lists (--unlabelled) then join these, with rankers that are propagated to them.

    A base learner that optimises a metric gets the mean label of the chosen items of a list for its ranker,
    as metrics of a corpus are not defined for one list. The ranker of all lists gets the metric that is
    given.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, sections
    8.5 and 9.3.4.
    """

    name = "propagate"
    summary = "a ranker for each training list, carried over to lists that are like it"
    source = "Duh 2009"
    default_scaling: ClassVar[str] = "zscore"
    accepts_unlabelled: ClassVar[bool] = True

    @property
    def uses_metric(self) -> bool:
        return self.base_learner.needs_judge or getattr(self.base_learner, "keep", "last") == "train"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = without_labels(lists, labels=True)
        of_all = self._of_all(labelled, inputs)
        dropped = np.empty(0, dtype=np.int32)
        if self.drop_below:  # features with small weights in a ranking SVM
            svm = RankSVM().fit(labelled)
            assert isinstance(svm, LinearModel)
            sizes: Floats = np.abs(svm.weights)
            if (sizes < self.drop_below).all():
                raise FitError(
                    f"{labelled.source}: drop_below={self.drop_below:g} leaves no feature to the kernel: the "
                    f"largest weight is {sizes.max():g}"
                )
            dropped = np.flatnonzero(sizes < self.drop_below).astype(np.int32)
        found = list_rankers(self.base_learner, labelled, self.normalise)
        if not found.trained.any():
            reasons = ", ".join(dict.fromkeys(found.reasons))
            raise FitError(f"{lists.source}: no list trains a ranker ({reasons})")
        nodes = Nodes(without_labels(lists, labels=False), found.weights, found.reasons)
        if self.control == "none" and self.form == "inductive":
            nodes = with_propagated(nodes.with_unlabelled(inputs.unlabelled), self, dropped)
        model = PropagationModel(nodes, self, of_all, dropped)
        model.training.data = of_all.training.data
        return model

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        super()._check(lists, inputs)
        if inputs.unlabelled is not None and (self.control != "none" or self.form != "inductive"):
            found = f"form={self.form}" if self.control == "none" else f"control={self.control}"
            text = (
                "unlabelled lists are for form=inductive; the transductive form uses all lists that it ranks"
            )
            raise FitError(f"learner {self.name}: found {found}, but {text}")

    def _of_all(self, labelled: CandidateLists, inputs: FitInputs) -> LinearModel:
        """The base learner's model of all lists, normalised."""
        base = self.base_learner
        judge = inputs.judge
        if judge is None and (base.needs_judge or getattr(base, "keep", "last") == "train"):
            judge = label_judge(labelled)
        found = base.fit(labelled, judge=judge)
        weights = normalised(linear_weights(base, found), self.normalise)
        model = LinearModel(found.feature_names, weights)
        model.training = found.training
        model.training.learner, model.training.settings = base.name, base.get_params()
        return model


class _MethodRecord(Record):
    """The settings of the learner, and every reason why a list trained no ranker, the first one empty."""

    settings: dict[str, Any]
    reasons: tuple[str, ...]

    def check_values(self) -> None:
        if max(map(len, self.reasons), default=0) > _LONGEST_REASON:
            raise DataError(f"reasons: found a longer one than {_LONGEST_REASON} characters")


@MODELS.register("propagation")
class PropagationModel(AdaptingModel):
    """Ranks lists by rankers of training lists, which a graph of similar lists carries over to them.

    In the transductive form the scores of a list depend on the other lists that are scored with it, which
    are nodes of the graph; in the inductive form, and for controls, they do not. No form depends on the
    number of workers (``core.workers.parallel.using``).

    Parameters
    ----------
    nodes
        The training lists and their rankers.
    settings
        How rankers reach other lists.
    unadapted
        The global ranker: the base learner's model of all training lists, normalised as their rankers are.
    dropped
        The columns that the kernel does not read, int32 and rising.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, sections
    8.5 and 9.3.4.
    """

    kind = "propagation"

    def __init__(
        self, nodes: Nodes, settings: PropagationSettings, unadapted: LinearModel, dropped: Ints
    ) -> None:
        super().__init__(nodes.lists.names())
        n = nodes.lists.n_features
        if len(unadapted.feature_names) != n:
            raise DataError(f"{len(unadapted.feature_names)} features of the global ranker, expected {n}")
        if len(dropped) >= n or (np.diff(dropped) <= 0).any() or (dropped < 0).any() or (dropped >= n).any():
            raise DataError(f"dropped: not the numbers of some of {n} features in rising order")
        self.nodes, self.settings, self.unadapted, self.dropped = nodes, settings, unadapted, dropped

    @property
    def uses_test_labels(self) -> bool:
        return self.settings.uses_test_labels

    @property
    def jointly(self) -> bool:
        return self.settings.control == "none" and self.settings.form == "transductive"

    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        assert cache is None  # open_cache refuses
        started = time.perf_counter()
        ready, n = self.with_factors(lists), lists.n_lists
        found = self._ranked(ready, advance)
        scores, before = self._finite(ready, found.scores), self.unadapted.score_aligned(ready)
        tau = taus(scores, before, ready.offsets).tolist()
        seconds = (time.perf_counter() - started) / n  # they are ranked together
        sizes, reasons, figures = ready.lengths.tolist(), found.reasons, found.diagnostics
        rows = tuple(
            ListRow(ready.list_id(i), sizes[i], not reasons[i], reasons[i], tau[i], seconds, figures[i])
            for i in range(n)
        )
        return Adaptation(scores, before, rows, found.facts, self.jointly)

    def _ranked(self, lists: CandidateLists, advance: Advance | None) -> Ranked:
        """The scores of lists with the columns of the nodes."""
        settings = self.settings
        if settings.control == "none" and settings.form == "inductive":
            return ranked_by_nearest(self.nodes, lists, settings, self.dropped, advance)
        if settings.control == "none":
            found = ranked_by_graph(self.nodes, lists, settings, self.dropped)
        else:
            found = ranked_for_control(self.nodes, lists, settings, self.unadapted.weights)
        if advance is not None:
            advance(lists.n_lists)
        return found

    def _cause(self, lists: CandidateLists, item: int) -> str:
        row = lists.features.take(slice(item, item + 1)).to_dense()[0]
        if np.isnan(row).any():
            return f"its feature {self.feature_names[int(np.argmax(np.isnan(row)))]!r} is missing (NaN)"
        if np.isfinite(self.unadapted.score_aligned(lists)[item]):
            return "the ranker of its list gives no number"
        return self.unadapted._cause(lists, item)

    def arrays(self) -> Arrays:
        nodes = self.nodes
        reasons = list(dict.fromkeys(["", *nodes.reasons]))
        numbers = {reason: number for number, reason in enumerate(reasons)}
        own: Arrays = {
            "method": packed_json({"settings": self.settings.get_params(), "reasons": reasons}),
            "unadapted": packed_model(self.unadapted),
            "dropped": self.dropped,
            "offsets": nodes.lists.offsets,
            "rankers": nodes.weights,
            "reasons": np.array([numbers[reason] for reason in nodes.reasons], dtype=np.int32),
        }
        return own | self.factor_arrays() | feature_arrays(nodes.lists.features)

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        lists = {"offsets": ArrayForm("<i8", (None,)), "rankers": ArrayForm("<f8", (None, n_features))}
        numbers = dict.fromkeys(("dropped", "reasons"), ArrayForm("<i4", (None,)))
        return {"method": METHOD, "unadapted": PACKED, **lists, **numbers}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"factors": ArrayForm("<f8", (n_features,)), **feature_members(n_features)}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        known = unpacked_json(arrays["method"], _MethodRecord)
        settings = LEARNERS.get(_LEARNER).checked(known.settings, "method")
        unadapted = unpacked_model(arrays["unadapted"], "unadapted")
        if not isinstance(unadapted, LinearModel):
            raise DataError(f"a model of kind {unadapted.kind} as the global ranker, expected a linear one")
        numbers = arrays["reasons"]
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(known.reasons)):
            raise DataError(f"reasons: a number outside 0 to {len(known.reasons) - 1}")
        if known.reasons[:1] != ("",):
            raise DataError("reasons: the first one is not empty")
        features = features_of(arrays, len(feature_names))
        lists = CandidateLists(arrays["offsets"], features, feature_names=feature_names, source=_SOURCE)
        nodes = Nodes(lists, arrays["rankers"], tuple(known.reasons[number] for number in numbers.tolist()))
        model = cls(nodes, cast(PropagationSettings, settings), unadapted, arrays["dropped"])
        model.set_factors(arrays.get("factors"))
        return model

    def described(self) -> dict[str, Any]:
        nodes, settings = self.nodes, self.settings
        lists, training = nodes.lists, self.unadapted.training
        sizes = {"lists": lists.n_lists, "items": lists.n_items, "features": lists.features.describe()}
        facts: dict[str, Any] = {"training lists": sizes, "rankers": self._rankers()}
        if settings.control == "none":
            kernel = {"kernel": settings.kernel, **settings.list_kernel.get_params()}
            facts["compared by"] = {**kernel, "neighbours": settings.neighbours}
        if len(self.dropped):
            facts["not compared by"] = self._not_compared()
        facts["global ranker"] = {"learner": training.learner, **training.settings}
        facts["weights of"] = "the global ranker"
        return (
            {ORACLE: "uses the labels of the lists that it ranks", **facts}
            if self.uses_test_labels
            else facts
        )

    def _rankers(self) -> dict[str, Any]:
        """Return how many lists trained a ranker, why others did not, and how far the rankers agree."""

        def directions(weights: Floats) -> Floats:
            tiny = np.finfo(np.float64).tiny
            scaled = weights / np.maximum(np.abs(weights).max(axis=1, keepdims=True), tiny)
            found: Floats = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), tiny)
            return found

        nodes = self.nodes
        rankers, of_all = directions(nodes.rankers), directions(self.unadapted.weights[None])[0]
        n, total = len(rankers), rankers.sum(axis=0)
        facts: dict[str, Any] = {"trained": n}
        if n < nodes.lists.n_lists:
            facts["without"] = self._reasons()
        if not nodes.trained.all() and self.settings.form == "inductive":
            facts["of neighbours"] = int((nodes.known & ~nodes.trained).sum())
        if n > 1:
            facts["mean cosine"] = float((total @ total - n) / (n * (n - 1)))
        facts["mean cosine with the global ranker"] = float(total @ of_all / n)
        return facts

    def _reasons(self) -> dict[str, int]:
        """Return how many lists trained no ranker for each reason, the most frequent one first."""
        return dict(Counter(reason for reason in self.nodes.reasons if reason).most_common())

    def _not_compared(self) -> str:
        """The features that the kernel does not read."""
        names = [self.feature_names[j] for j in self.dropped]
        return f"{count(len(names), 'feature')} of {len(self.feature_names)} ({some(names)})"

    def training_lines(self) -> list[str]:
        nodes = self.nodes
        line = f"rankers of {int(nodes.trained.sum())} of {count(nodes.lists.n_lists, 'list')}"
        without = ", ".join(f"{times}: {reason}" for reason, times in self._reasons().items())
        lines = [line + (f" ({without})" if without else "")]
        if len(self.dropped):
            lines.append(f"lists are compared without {self._not_compared()}")
        return [*lines, *super().training_lines()]

    def explain(self) -> list[tuple[str, float]]:
        return heaviest_first(self.feature_names, self._of_given_features(self.unadapted.weights))

    def remarks(self) -> dict[str, str]:
        """Return the mean weight of each feature in the rankers of lists, and its standard deviation."""
        with np.errstate(over="ignore", invalid="ignore"):
            rankers = self._of_given_features(self.nodes.rankers)
            means, deviations = rankers.mean(axis=0), rankers.std(axis=0)
        return {
            name: f"of lists {mean: .4g} ± {deviation:.4g}"
            for name, mean, deviation in zip(self.feature_names, means, deviations, strict=True)
        }

    def _of_given_features(self, weights: Floats) -> Floats:
        """Weights (..., n_features) for features that have not been multiplied by the factors."""
        return weights if self.factors is None else weights * self.factors


def ranked_for_control(
    nodes: Nodes, lists: CandidateLists, settings: PropagationSettings, of_all: Floats
) -> Ranked:
    """Rank lists with the columns of ``nodes`` as ``control`` says; ``of_all`` is the global ranker."""
    n, control = lists.n_lists, settings.control
    weights: Floats = np.broadcast_to(nodes.mean if control == "mean" else of_all, (n, len(of_all)))
    reasons = [f"control: {control} ranker"] * n
    if control == "random":  # by the seed and the features of each list alone
        drawn = (generator(single(lists, i, labels=False), settings.seed) for i in range(n))
        weights, reasons = nodes.rankers[[rng.integers(len(nodes.rankers)) for rng in drawn]], [""] * n
    elif control == "oracle" and lists.labels is None:
        reasons = ["no labels: global ranker"] * n
    elif control == "oracle":
        found = list_rankers(settings.base_learner, lists, settings.normalise)
        weights = np.where(found.trained[:, None], found.weights, of_all)
        reasons = [reason and f"{reason}: global ranker" for reason in found.reasons]
    return Ranked(own_scores(lists, weights), reasons, [{} for _ in range(n)])
