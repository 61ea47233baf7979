"""The model of diversified lists: another model, whose order of each list is changed greedily."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.records import Number, Record, fact
from rerank.core.types import AnyArray, Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.data.overlap import note_trained_on
from rerank.data.reading import Missing
from rerank.extensions.decision.expressions import AUTO
from rerank.extensions.decision.model import DecidingModel, packed_record, unpacked_record
from rerank.extensions.diversity import aspects, similarities
from rerank.extensions.diversity.orders import NEUTRAL, OF_ITEMS, Method, Table, diversified, parsed
from rerank.metrics.base import parse
from rerank.models.base import MODELS, Arrays, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model

_SHARES = tuple(k / 10 for k in range(11))


class ShareRecord(Record):
    """The choice of a share: on what, by which metric, and the metric's values."""

    on: str = fact(max_length=100)
    metric: str = fact(max_length=200)
    value: Number[float]
    without: Number[float]
    tried: tuple[tuple[float, float | None], ...] = fact((), max_length=100)  # None = no value


class Diversification(Record):
    """The way lists are diversified; a share of None leaves the order of the scores as it is."""

    method: Method
    share: float | None = fact(None, ge=0, le=1)
    by: str = fact(max_length=1000)  # the similarity, or the aspects
    weights: str | None = fact(None, max_length=1000)  # the file of the aspects' weights
    depth: int | None = fact(None, ge=1)
    tuned: ShareRecord | None = None

    def line(self) -> str:
        """Return the method as one line."""
        if self.share is None:
            return "the scores alone decide: no share was better on the lists that it was chosen on"
        of = "similarity" if self.method in OF_ITEMS else "aspects"
        down = "" if self.depth is None else f", the first {self.depth} places"
        weights = "" if self.weights is None else f" weighted by {self.weights}"
        return f"{self.method}:{self.share:g} by {of} {self.by}{weights}{down}"


@MODELS.register("diversified")
class DiversifiedModel(DecidingModel):
    """Another model's scores of each list, and an order in which the first items differ.

    Its scores are places, counted from the end of the list: the best item of n has n.

    Parameters
    ----------
    base : Model
        Scores the lists.
    diversification : Diversification
    """

    kind = "diversified"

    def __init__(self, base: Model, diversification: Diversification) -> None:
        super().__init__(base.input_names)
        if base.adapts or isinstance(base, ClassesModel | DiversifiedModel):
            raise DataError(f"a model of kind {base.kind}, expected one that scores the items of lists")
        if diversification.method in OF_ITEMS:
            similarities.check(diversification.by)
        self.base, self.diversification = base, diversification
        self.used = ""  # what the similarity auto stood for when lists were scored last
        self.absent = base.fill

    @property
    def missing_policy(self) -> Missing | None:
        """That of the model whose scores these are."""
        return self.base.missing_policy

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return self._raw(lists, False)

    def _raw(self, lists: CandidateLists, strict: bool) -> Floats:
        scores = self.base.score_items(lists, strict=strict)
        chosen = self.diversification
        if chosen.share is None:
            return diversified("mmr", 1.0, scores, lists.offsets, (np.empty((k, 0)) for k in lists.lengths))
        return diversified(
            chosen.method, chosen.share, scores, lists.offsets, self.compared(lists), chosen.depth
        )

    def compared(self, lists: CandidateLists) -> Iterator[Table]:
        """Yield the similarities, or the aspects and their weights, of the items of each list."""
        if self.diversification.method not in OF_ITEMS:
            return aspects.tables(self.diversification.by, lists, self.diversification.weights)
        self.used = similarities.resolved(self.diversification.by, lists)
        longest = int(lists.lengths.max())
        shown = f"the similarities of {longest**2:,} pairs of candidates of a list"
        memory.require(32 * longest**2, shown, "shorter lists need less")
        return similarities.tables(self.used, lists)

    def arrays(self) -> Arrays:
        by = self.diversification.by
        if self.diversification.method in OF_ITEMS:
            held = not by.startswith("matrix:")
        else:
            held = by.startswith(aspects.FEATURES)
        held = held and self.diversification.weights is None
        if not held:
            by = self.diversification.weights or by
            raise ConfigError(f"{by}: a file about the lists of another file: no model can hold it")
        return {"base": packed_model(self.base), "diversification": packed_record(self.diversification)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"base": PACKED, "diversification": ArrayForm("|u1", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        chosen = unpacked_record(arrays["diversification"], Diversification)
        if chosen.by.startswith("matrix:"):
            raise DataError("a matrix of similarities in a model")
        if chosen.method not in OF_ITEMS and not chosen.by.startswith(aspects.FEATURES):
            raise DataError("a file of aspects in a model")
        if chosen.weights is not None:
            raise DataError("a file of weights in a model")
        base = unpacked_model(arrays["base"], "base")
        if base.input_names != feature_names:
            raise DataError(f"{len(base.input_names)} features of the base for {len(feature_names)}")
        return cls(base, chosen)

    def described(self) -> dict[str, Any]:
        training = self.base.training
        return {
            "diversity": self.diversification.line(),
            "scores of": {"learner": training.learner, **training.settings},
            **self.base.described(),
            "weights of": "the scores",
        }

    def decision_lines(self) -> list[str]:
        """Return how lists are diversified, and how the share was found, as lines."""
        chosen = self.diversification
        lines = [f"diversity: {chosen.with_fields(by=self.used or chosen.by).line()}"]
        tuned = chosen.tuned
        if tuned is not None:
            values = f"{tuned.metric} {tuned.without:.4f} by the scores, {tuned.value:.4f} diversified so"
            lines.append(f"share chosen on {tuned.on}: {values}")
        return lines


def diversify(
    model: Model | str | os.PathLike[str],
    method: str,
    by: str | None = None,
    depth: int | None = None,
    *,
    tune_on: CandidateLists | None = None,
    metric: str | None = None,
    weights: str | None = None,
) -> DiversifiedModel:
    """Return a model that ranks lists so that their first items differ.

    Parameters
    ----------
    model : Model, or its file
    method : str
        ``mmr:0.7``, ``dpp:0.7``, ``xquad:0.5`` or ``pm2:0.5``. Without a number the share is chosen on
        ``tune_on``.
    by : str, optional
        For mmr and dpp the similarity of two items (see ``rerank.extensions.diversity.similarities``), None =
        auto; for xquad and pm2 their aspects (see ``rerank.extensions.diversity.aspects``).
    depth : int, optional
        So many places are diversified, the others keep the order of the scores; None = all.
    tune_on : CandidateLists, optional
        Labelled lists, not those that the model was trained on.
    metric : str, optional
        What chooses the share, such as alpha-nDCG@10; needed with ``tune_on``.
    weights : str, optional
        For xquad and pm2 a file with the weights of the aspects, their probabilities given the query: query,
        aspect and weight; None = all aspects of a list have the same weight.

    Returns
    -------
    DiversifiedModel
        Its scores are places. If it chose a share, to let the scores alone decide was among the choices.

    Raises
    ------
    ConfigError
        If the method, the similarity or the aspects are unknown, the share is not in 0 to 1, or one of what
        chooses it is absent or not used.
    DataError
        If the model does not score the items of lists, or the lists lack what is compared or judged.

    References
    ----------
    See ``rerank.extensions.diversity.orders``.

    Examples
    --------
    >>> import rerank
    >>> texts = ["the jaguar is a cat", "the jaguar is a big cat", "jaguar builds cars"]
    >>> lists = rerank.CandidateLists.from_arrays(
    ...     [[3.0], [2.9], [2.8]], [1, 0, 0], group=[3], texts=texts, feature_names=["f"]
    ... )
    >>> model = rerank.train(lists, learner="best-feature", metric="label@1")
    >>> rerank.diversify(model, "mmr:0.3").score(lists)
    array([3., 1., 2.])
    """
    base = copy.copy(model) if isinstance(model, Model) else load_model(os.fspath(model))
    name, share = parsed(method)
    if depth is not None and depth < 1:
        raise ConfigError(f"depth: found {depth}, expected 1 or more")
    if by is None and name not in OF_ITEMS:
        raise ConfigError(f"diversify: {name} needs aspects: a file, or features:ITEMS (--aspects)")
    if name not in OF_ITEMS:
        aspects.check(str(by))
    elif weights is not None:
        raise ConfigError(f"diversify: {name} has no aspects, which weights belong to (--aspect-weights)")
    if (share is None) != (tune_on is not None):
        found = "no number and no lists" if share is None else "a number and lists"
        raise ConfigError(
            f"diversify {method}: found {found} that choose it, expected one ({name}:0.5, --tune-on)"
        )
    if (metric is None) != (tune_on is None):
        found = "no metric that chooses the share" if metric is None else f"metric {metric} without lists"
        raise ConfigError(f"diversify: found {found}; expected both (--tune-on, --tune-metric)")
    chosen = Diversification(method=name, share=share, by=by or AUTO, weights=weights, depth=depth)
    made = DiversifiedModel(base, chosen)
    made.training = base.training
    if tune_on is not None and metric is not None:
        made.diversification = _tuned(made, tune_on, parse(metric).prepare(tune_on))
    return made


def _tuned(made: DiversifiedModel, lists: CandidateLists, judge: PreparedMetric) -> Diversification:
    """The diversification with the best share of eleven; on ties the scores decide, then the first share."""
    base, chosen = made.base, made.diversification
    known = base.training.data.sketch or ""
    note_trained_on(known, base.input_names, lists, "lists that the model was trained on")
    scores = base.score_items(lists)
    n = int((lists.lengths**2).sum())
    memory.require(8 * n, f"what is compared of {n:,} pairs", "fewer or shorter lists need less")
    tables = list(made.compared(lists))
    without = value_of(judge, diversified("mmr", 1.0, scores, lists.offsets, tables))
    best, share, tried = judge.better * without, None, []
    for one in _SHARES:
        if one == NEUTRAL.get(chosen.method):
            continue
        order = diversified(chosen.method, one, scores, lists.offsets, tables, chosen.depth)
        value = value_of(judge, order)
        tried.append((one, None if np.isnan(value) else value))
        if judge.better * value > best or np.isnan(best):
            best, share = judge.better * value, one
    name = os.path.basename(lists.source)[:100]
    record = ShareRecord(
        on=name, metric=judge.name, value=judge.better * best, without=without, tried=tuple(tried)
    )
    return chosen.with_fields(share=share, tuned=record)
