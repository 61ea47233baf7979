"""Rankers of any kind for each training list, carried over to lists that are like it by their scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote, FitError
from rerank.core.records import Record, fact
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import AnyArray, Bytes, Floats, Index, Mask
from rerank.core.workers.pool import capture_warnings
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adaptation import tau_b, taus
from rerank.extensions.transductive.adapter import METHOD, packed_json, unpacked_json
from rerank.extensions.transductive.adapting import AdaptingModel, Advance, ShownAsUnadapted
from rerank.extensions.transductive.cache import RankerCache
from rerank.extensions.transductive.lists import feature_arrays, feature_members, features_of, single
from rerank.extensions.transductive.propagation.harmonic import harmonic
from rerank.extensions.transductive.propagation.ranked import NOT_REACHED, merge_sets, seen_by_kernel
from rerank.extensions.transductive.propagation.settings import fitted_alone, why_no_rankers
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import MetaLearner
from rerank.models.adaptation import Adaptation, ListRow
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.similarity.base import KERNELS
from rerank.similarity.graph import neighbour_graph

_NONE = np.empty(0, dtype=np.int32)  # columns that the kernel does not read


@LEARNERS.register("propagate-scores", "score-propagation")
class PropagateScores(MetaLearner):
    """A ranker of any kind for each training list, propagated to the lists to be ranked by its scores.

    Lists are nodes of the graph of ``propagate``. A function F_i belongs to each; those of training lists are
    the rankers that ``base`` learns from them alone. The others minimise the sum over edges of
    K_ij |F_i(x) - F_j(x)|^2 for the items x of any list, with scores standardised within the list: F_u(x) is
    the mean of the training lists' scores of x, weighted by the probabilities that a random walk from u meets
    their list first. For linear rankers and scores that are not standardised that is ``propagate``.

    The scores of a list depend on the other lists that are scored with it.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.2 (eq. 9.1 with the squared distance of standardised scores as divergence).
    """

    name = "propagate-scores"
    summary = "a ranker of any kind for each training list, carried over by its scores to lists like it"
    source = "Duh 2009, section 9.3.2"
    watches = False
    default_scaling = "zscore"

    kernel: str = setting("list", "similarity of lists, a name of 'rerank list kernels'")
    neighbours: Literal["all"] | int = setting(
        10, "number of nearest lists that a list has edges to, or all", ge=1
    )
    seed: int = setting(1, "random seed of the base learner unless it has its own", ge=0)

    def check_values(self) -> None:
        super().check_values()
        KERNELS.get(self.kernel)

    def _why_no_base(self, base: Learner) -> str:
        return super()._why_no_base(base) or why_no_rankers(base)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled, base = without_labels(lists, labels=True), self.base_learner
        rankers: list[Model] = []
        which, reasons = [], []
        with capture_warnings() as notes:
            unadapted = base.fit(labelled, judge=inputs.judge)
            for i in range(lists.n_lists):
                model, reason = fitted_alone(base, single(labelled, i, labels=True))
                if model is None:
                    reasons.append(reason)
                else:
                    rankers.append(model)
                    which.append(i)
        if not rankers:
            raise FitError(f"{lists.source}: no list trains a ranker ({', '.join(dict.fromkeys(reasons))})")
        for text in list(dict.fromkeys(text for text, *_ in notes))[:1]:
            warnings.warn(f"rankers of single lists: {text}", DataNote, stacklevel=2)
        unadapted.training.learner, unadapted.training.settings = base.name, base.get_params()
        nodes = ScoreNodes(without_labels(lists, labels=False), np.array(which, dtype=np.int64), rankers)
        model = ScorePropagationModel(nodes, self.kernel, self.neighbours, unadapted)
        model.training.data = unadapted.training.data
        return model

    @property
    def wants_judge(self) -> bool:
        return self.base_learner.wants_judge


@dataclass(frozen=True, eq=False)
class ScoreNodes:
    """Training lists without labels, and the models of those that trained one.

    Attributes
    ----------
    lists
        Their features, scaled.
    trained : int64 (n_rankers)
        The numbers of the lists that trained a ranker, rising.
    rankers
        Their models.
    """

    lists: CandidateLists
    trained: Index
    rankers: list[Model]

    def __post_init__(self) -> None:
        n, d = self.lists.n_lists, self.lists.n_features
        rising = (np.diff(self.trained) > 0).all()
        if len(self.trained) != len(self.rankers) or not len(self.rankers) or not rising:
            raise DataError(f"{len(self.rankers)} rankers for {len(self.trained)} lists")
        if self.trained[0] < 0 or self.trained[-1] >= n:
            raise DataError(f"a ranker of a list beyond the {n} of the model")
        if not d or self.lists.has_missing or any(len(one.feature_names) != d for one in self.rankers):
            raise DataError(f"rankers or lists that do not have the {d} features, or miss some")

    def standardised(self, one: CandidateLists) -> Floats:
        """Return the scores of a list by each ranker, with mean 0 and deviation 1: (n_rankers, n_items).

        Those of a ranker that gives all items one score are 0.
        """
        scores = np.array([ranker.score_prepared(one) for ranker in self.rankers])
        with np.errstate(over="ignore", invalid="ignore"):
            away = scores - scores.mean(axis=1, keepdims=True)
            deviations = away.std(axis=1, keepdims=True)
        found: Floats = np.divide(away, deviations, out=np.zeros_like(away), where=deviations > 0)
        found[(scores == scores[:, :1]).all(axis=1)] = 0.0
        return found


class _Record(Record):
    """The settings in a model file."""

    kernel: str = fact(max_length=100)
    neighbours: int | None = fact(None, ge=1)  # None = all


@MODELS.register("score-propagation")
class ScorePropagationModel(ShownAsUnadapted):
    """Ranks lists by scores of the rankers of training lists, which a graph of similar lists weights.

    Parameters
    ----------
    nodes
        The training lists and their rankers.
    kernel, neighbours
        As for ``PropagateScores``.
    unadapted
        The base learner's model of all training lists.
    """

    kind = "score-propagation"

    def __init__(
        self, nodes: ScoreNodes, kernel: str, neighbours: Literal["all"] | int, unadapted: Model
    ) -> None:
        super().__init__(nodes.lists.names())
        if len(unadapted.feature_names) != nodes.lists.n_features:
            raise DataError(f"{len(unadapted.feature_names)} features of the unadapted model")
        self.nodes, self.kernel, self.neighbours, self.unadapted = nodes, kernel, neighbours, unadapted

    @property
    def jointly(self) -> bool:
        return True

    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        assert cache is None  # open_cache refuses
        started, nodes = time.perf_counter(), self.nodes
        ready, n = self.with_factors(lists), lists.n_lists
        before = self._finite(ready, self.unadapted.score_aligned(ready))
        shares, reached, edges = self._shares(ready)
        scores = np.empty(ready.n_items)
        agreement = np.empty(n)
        for i in range(n):
            own = nodes.standardised(single(ready, i, labels=False))
            items = slice(int(ready.offsets[i]), int(ready.offsets[i + 1]))
            scores[items] = shares[i] @ own
            agreement[i] = shares[i] @ [tau_b(scores[items], one) for one in own]
            if advance is not None:
                advance(1)
        tau, seconds = taus(scores, before, ready.offsets), (time.perf_counter() - started) / n
        sizes = ready.lengths
        rows = tuple(
            ListRow(
                ready.list_id(i),
                int(sizes[i]),
                bool(reached[i]),
                "" if reached[i] else NOT_REACHED,
                float(tau[i]),
                seconds,
                {"agreement": float(agreement[i]), "largest_share": float(shares[i].max())},
            )
            for i in range(n)
        )
        facts = {"reached": int(reached.sum()), "edges": edges}
        return Adaptation(self._finite(ready, scores), before, rows, facts, self.jointly)

    def _shares(self, lists: CandidateLists) -> tuple[Floats, Mask, int]:
        """The weights of rankers for each list (n_lists, n_rankers), whether it is reached, and the edges."""
        nodes = self.nodes
        first, n, k = nodes.lists.n_lists, nodes.lists.n_lists + lists.n_lists, len(nodes.rankers)
        memory.require(16 * n * k, f"the weights of {k:,} rankers for {n:,} lists")
        seen = seen_by_kernel(merge_sets([nodes.lists, lists]), _NONE)
        graph = neighbour_graph(seen, KERNELS.get(self.kernel)(), self.neighbours).matrix
        labelled = np.zeros(n, dtype=bool)
        labelled[nodes.trained] = True
        found = harmonic(graph, labelled, np.eye(k))
        reached = found.reached[first:]
        shares = np.where(reached[:, None], found.values[first:], 1.0 / k)
        return shares, reached, graph.nnz // 2

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return self.unadapted._cause(lists, item)

    def arrays(self) -> Arrays:
        packed = [packed_model(one) for one in self.nodes.rankers]
        neighbours = None if self.neighbours == "all" else self.neighbours
        own: Arrays = {
            "method": packed_json(_Record(kernel=self.kernel, neighbours=neighbours).as_json()),
            "unadapted": packed_model(self.unadapted),
            "rankers": np.concatenate(packed),
            "bounds": np.cumsum([0, *map(len, packed)], dtype=np.int64),
            "trained": self.nodes.trained,
            "offsets": self.nodes.lists.offsets,
        }
        return own | self.factor_arrays() | feature_arrays(self.nodes.lists.features)

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        numbers = dict.fromkeys(("bounds", "trained", "offsets"), ArrayForm("<i8", (None,)))
        return {"method": METHOD, "unadapted": PACKED, "rankers": PACKED, **numbers}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"factors": ArrayForm("<f8", (n_features,)), **feature_members(n_features)}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        known = unpacked_json(arrays["method"], _Record)
        try:
            KERNELS.get(known.kernel)
        except ConfigError as error:
            raise DataError(str(error)) from None
        features = features_of(arrays, len(feature_names))
        lists = CandidateLists(
            arrays["offsets"], features, feature_names=feature_names, source="training lists"
        )
        rankers = _rankers_of(arrays["rankers"], arrays["bounds"], lists.n_lists)
        nodes = ScoreNodes(lists, arrays["trained"], rankers)
        model = cls(nodes, known.kernel, known.neighbours or "all", _plain(arrays["unadapted"], "unadapted"))
        model.set_factors(arrays.get("factors"))
        return model

    def described(self) -> dict[str, Any]:
        lists, training = self.nodes.lists, self.unadapted.training
        sizes = {"lists": lists.n_lists, "items": lists.n_items, "features": lists.features.describe()}
        return {
            "training lists": sizes,
            "rankers": {"trained": len(self.nodes.rankers)},
            "compared by": {"kernel": self.kernel, "neighbours": self.neighbours},
            "unadapted": {"learner": training.learner, **training.settings},
            "weights of": "the unadapted model",
        }

    def training_lines(self) -> list[str]:
        n = self.nodes.lists.n_lists
        return [f"rankers of {len(self.nodes.rankers)} of {count(n, 'list')}", *super().training_lines()]


def _rankers_of(content: Bytes, bounds: Index, most: int) -> list[Model]:
    """The models in a file, at most one for each list."""
    whole = len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == len(content)
    if not whole or (np.diff(bounds) <= 0).any() or len(bounds) - 1 > most:
        raise DataError(f"bounds: not those of 1 to {most:,} rankers of {len(content):,} bytes")
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [_plain(content[a:b], "ranker") for a, b in pairs]


def _plain(content: Bytes, what: str) -> Model:
    """A model that adapts to nothing."""
    model = unpacked_model(content, what)
    if isinstance(model, AdaptingModel):
        raise DataError(f"a model of kind {model.kind} as the {what}")
    return model
