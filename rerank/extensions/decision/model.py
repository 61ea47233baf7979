"""The model of minimum Bayes risk: another model, whose scores give a posterior over each list."""

from __future__ import annotations

import copy
import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.records import Number, Record, fact, read_json
from rerank.core.types import AnyArray, Bytes, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.decision.expressions import AUTO, MATRIX, automatic, utility_of
from rerank.extensions.decision.gain import Posterior, Tuned, decided, posterior
from rerank.extensions.decision.pruning import Pruned, pruned_gains
from rerank.extensions.decision.utilities import Pairing
from rerank.models.base import MODELS, Arrays, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.models.pipeline import Chain

_OF_FEATURES = ("kernel:", "feature:")
_LONGEST = 1 << 16  # bytes of a decision in a model file


class TemperatureRecord(Record):
    """Choice of a temperature: on what, by which metric, and the metric's values."""

    on: str = fact(max_length=100)
    metric: str = fact(max_length=200)
    value: Number[float]
    without: Number[float]
    tried: tuple[tuple[float | None, float | None], ...] = fact((), max_length=100)  # None = inf, no value


class Decision(Record):
    """Decision by scores; a temperature of None leaves the scores as they are."""

    utility: str = fact(max_length=1000)
    temperature: float | None = fact(None, ge=0)
    flat: bool = False  # whether the temperature is infinite, which JSON cannot hold
    posterior: Posterior = "softmax"
    tuned: TemperatureRecord | None = None
    prune: float | None = fact(None, gt=0.5, le=1)  # see ``pruning``
    seed: int | None = fact(None, ge=0)  # of pruning; None = 1

    @property
    def divisor(self) -> float | None:
        """The temperature."""
        return float("inf") if self.flat else self.temperature

    def line(self) -> str:
        """Return the decision as one line."""
        if self.divisor is None:
            return "the scores decide: no temperature was better on the lists that it was chosen on"
        how = "given weights" if self.posterior == "given" else f"softmax of scores / {self.divisor:.4g}"
        return f"largest expected {self.utility}, probabilities: {how}"


class DecidingModel(Model):
    """Base of models that order each list by the scores of another model, as which they are shown.

    Attributes
    ----------
    base : Model
        Scores the lists.
    """

    listwise = True
    base: Model

    @property
    def uses_test_labels(self) -> bool:
        return self.base.uses_test_labels

    @abstractmethod
    def decision_lines(self) -> list[str]:
        """Return how lists are ordered, and how a setting of it was found, as lines."""

    def training_lines(self) -> list[str]:
        return [*super().training_lines(), *self.decision_lines()]

    def explain(self) -> list[tuple[str, float]]:
        return self.base.explain()

    def remarks(self) -> dict[str, str]:
        return self.base.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        return self.base.step_shares()


@MODELS.register("mbr")
class MbrModel(DecidingModel):
    """The expected utility of each item under the posterior that another model gives its list.

    Parameters
    ----------
    base : Model
        Scores the lists.
    decision : Decision
    """

    kind = "mbr"

    def __init__(self, base: Model, decision: Decision) -> None:
        super().__init__(base.feature_names)
        if base.adapts or isinstance(base, ClassesModel | MbrModel):
            raise DataError(f"a model of kind {base.kind}, expected one that scores the items of lists")
        if decision.utility != AUTO:
            utility_of(decision.utility)
        self.base, self.decision = base, decision
        self.used = ""  # what the utility auto stood for when lists were scored last
        self.factors: Floats | None = None  # of the features that the utility sees, float64 (n_features)
        self.references: tuple[CandidateLists, Floats] | None = None  # and the scores of their items
        self.pruned: Pruned | None = None  # what was left out when lists were scored last
        self.absent = base.absent

    def score_aligned(self, lists: CandidateLists) -> Floats:
        decision = self.decision
        if self.references is not None:
            others, scores = self.references
        else:
            others, scores = None, self.base.score_prepared(lists)
        if decision.divisor is None or not np.isfinite(scores).all():  # which score() reports
            return scores
        self.used = automatic(lists) if decision.utility == AUTO else decision.utility
        lists, utility = self._compared(lists), utility_of(self.used)
        if decision.prune is None:
            return decided(lists, scores, utility, decision.divisor, decision.posterior, others)
        pairing = Pairing.within(lists) if others is None else Pairing.by_id(lists, others)
        probabilities = posterior(pairing.others, scores, decision.divisor, decision.posterior)
        seed = 1 if decision.seed is None else decision.seed
        gains, self.pruned = pruned_gains(utility, pairing, probabilities, decision.prune, seed)
        return gains

    def multiply_weight(self, column: int, factor: float) -> None:
        self.base.multiply_weight(column, factor)
        factors = np.ones(len(self.feature_names)) if self.factors is None else self.factors
        self.factors = factors * np.where(np.arange(len(factors)) == column, factor, 1.0)

    def _compared(self, lists: CandidateLists) -> CandidateLists:
        """The lists as the utility compares their items: with the features that the learner saw."""
        if self.factors is None or not self.used.startswith(_OF_FEATURES):
            return lists
        for column in np.flatnonzero(self.factors != 1).tolist():
            features = lists.features.multiplied(column, float(self.factors[column]))
            lists = lists.with_values(features, "the base scale")
        return lists

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return self.base._cause(lists, item)

    def arrays(self) -> Arrays:
        if self.decision.utility.startswith(f"{MATRIX}:"):
            raise ConfigError("a matrix of utilities belongs to the lists of one file: no model can hold it")
        if self.references is not None:
            raise ConfigError(
                "lists of pseudo-references belong to the lists of one file: no model can hold them"
            )
        own: Arrays = {"base": packed_model(self.base), "decision": packed_record(self.decision)}
        return own if self.factors is None else {**own, "factors": self.factors}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"base": PACKED, "decision": ArrayForm("|u1", (None,))}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"factors": ArrayForm("<f8", (n_features,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        decision = unpacked_record(arrays["decision"], Decision)
        if decision.utility.startswith(f"{MATRIX}:"):
            raise DataError("a matrix of utilities in a model")
        base = unpacked_model(arrays["base"], "base")
        if base.feature_names != feature_names:
            raise DataError(f"{len(base.feature_names)} features of the base for {len(feature_names)}")
        model = cls(base, decision)
        model.factors = arrays.get("factors")
        if model.factors is not None and not np.isfinite(model.factors).all():
            raise DataError("a factor that is not finite")
        return model

    def described(self) -> dict[str, Any]:
        training = self.base.training
        return {
            "decision": self.decision.line(),
            "scores of": {"learner": training.learner, **training.settings},
            **self.base.described(),
            "weights of": "the scores",
        }

    def decision_lines(self) -> list[str]:
        """Return how items are chosen, and how a temperature was found, as lines."""
        utility = self.used or self.decision.utility
        lines = [f"decision: {self.decision.with_fields(utility=utility).line()}"]
        tuned = self.decision.tuned
        if tuned is not None:
            values = f"{tuned.metric} {tuned.without:.4f} by the scores, {tuned.value:.4f} decided so"
            lines.append(f"temperature chosen on {tuned.on}: {values}")
        return lines if self.pruned is None else [*lines, self.pruned.line()]


def decision_of(utility: str, found: Tuned, on: str, metric: str) -> Decision:
    """Return the decision with a temperature that was chosen on some lists by a metric."""
    tried = tuple(
        (None if np.isinf(temperature) else temperature, None if np.isnan(value) else value)
        for temperature, value in found.tried
    )
    record = TemperatureRecord(on=on, metric=metric, value=found.value, without=found.without, tried=tried)
    flat = found.temperature == np.inf
    return Decision(utility=utility, temperature=None if flat else found.temperature, flat=flat, tuned=record)


def packed_record(record: Record) -> Bytes:
    """Return a record as bytes of JSON, uint8 (n_bytes)."""
    text = json.dumps(record.as_json(), ensure_ascii=False, allow_nan=False)
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def unpacked_record(content: Bytes, kind: type[Any]) -> Any:
    """Return the record of ``packed_record``, from a file of a stranger; DataError if it is damaged."""
    if len(content) > _LONGEST:
        raise DataError(f"{kind.__name__}: found {len(content):,} bytes, expected {_LONGEST:,} at most")
    try:
        return kind.from_json(read_json(content.tobytes()))
    except ValueError as error:
        raise DataError(f"{kind.__name__}: {error}") from None


def decide(
    model: Model | str | os.PathLike[str],
    utility: str = AUTO,
    temperature: float = 1.0,
    posterior: Posterior = "softmax",
    references: CandidateLists | None = None,
    prune: float | None = None,
    seed: int | None = None,
) -> MbrModel:
    """Return a model that decides by the expected utility under the posterior of another model's scores.

    Parameters
    ----------
    model : Model, or its file
    utility : str
        See ``rerank.extensions.decision.expressions``; auto = by the columns of the lists: PARSEVAL for
        trees, GDT-TS for structures, votes for answers, sBLEU for texts, otherwise a Gaussian kernel of the
        features.
    temperature : float
        The posterior is the softmax of scores / temperature; inf = equal probabilities, 0 = the item with the
        largest score has all of it.
    posterior : {"softmax", "given"}
        given: the scores are weights of 0 or more, such as probabilities, which are divided by their sum.
    references : CandidateLists, optional
        Lists with the ids of those that will be scored: their items, weighted by the model's scores of them,
        are the pseudo-references instead of the candidates.
    prune : float, optional
        Leave out candidates of long lists that lose against the best one in more than this share of bootstrap
        samples of drawn pseudo-references, such as 0.99 (see ``rerank.extensions.decision.pruning``); None =
        compare all pairs. For metrics of texts and trees.
    seed : int, optional
        Of what is drawn for pruning; None = 1.

    Returns
    -------
    MbrModel
        Its scores are expected utilities. It can be saved, unless the utility is a matrix from a file or
        there are lists of pseudo-references.

    Raises
    ------
    ConfigError
        If the utility is unknown, the temperature is not 0 or more, or given where it has no effect, or the
        model has a keep margin, which is in units of its own scores.
    DataError
        If the model does not score the items of lists.

    References
    ----------
    Kumar & Byrne: Minimum Bayes-risk decoding for statistical machine translation. HLT-NAACL 2004.

    Examples
    --------
    >>> import rerank
    >>> texts = ["a b", "x y z", "x y w"]
    >>> lists = rerank.CandidateLists.from_arrays(
    ...     [[3.0], [2.9], [2.8]], [1, 0, 0], group=[3], texts=texts, feature_names=["f"]
    ... )
    >>> model = rerank.train(lists, learner="best-feature", metric="label@1")
    >>> texts[model.score(lists).argmax()], texts[rerank.decide(model, "sBLEU").score(lists).argmax()]
    ('a b', 'x y z')
    """
    base = copy.copy(model) if isinstance(model, Model) else load_model(os.fspath(model))
    if base.keep_margin is not None:
        found = f"a model with a keep margin of {base.keep_margin:g}, which is in units of its scores"
        raise ConfigError(f"mbr: {found}; --keep-margin none removes it (in Python model.keep_margin = None)")
    if not temperature >= 0:
        raise ConfigError(f"temperature: found {temperature:g}, expected 0 or more")
    if posterior == "given" and temperature != 1:
        raise ConfigError("temperature: not used by posterior given, whose weights are the scores themselves")
    flat = temperature == np.inf
    if seed is not None and prune is None:
        raise ConfigError("seed: not used without prune")
    if prune is not None and not 0.5 < prune <= 1:
        raise ConfigError(f"prune: found {prune:g}, expected a number above 0.5, at most 1")
    decision = Decision(
        utility=utility,
        temperature=None if flat else float(temperature),
        flat=flat,
        posterior=posterior,
        prune=prune,
        seed=seed,
    )
    scores = None if references is None else base.score_items(references)
    chain, base.chain = base.chain, Chain()
    made = MbrModel(base, decision)
    if references is not None and scores is not None:
        made.references = references, scores
    made.chain, made.training = chain, base.training
    return made
