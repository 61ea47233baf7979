"""Measures of retrieval: AP, RR, P@k, R@k, Success@k and nDCG in three families, equal to trec_eval's where
it has them and ties fall as there; and pass@k, which is Success@k as it is known from language models.

Each is a mean over lists. Lists without any judged item are left out; unjudged items of other lists
count as not relevant. The binary measures take items with label >= ``rel`` (1 unless said); pass@k takes
every label above 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Bytes, Floats, Mask
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import (
    FAMILIES,
    Metric,
    Parameter,
    Preparation,
    mean_from_sums,
    refuse_unknown,
)
from rerank.metrics.relevance import Placement, Relevance
from rerank.native.metrics import _ranking

BINARY = {
    "AP": _ranking.average_precision,
    "RR": _ranking.reciprocal_rank,
    "P": _ranking.hits,
    "R": _ranking.hits,
    "Success": _ranking.success,
    "pass": _ranking.success,
}
# The least label that counts where none is said; of pass any above 0, and only such items are ever placed.
DEFAULT_REL = {"pass": 0.0}
NEED_CUTOFF = ("P", "R", "Success", "pass")
# ir_measures' dcg=..., and what the families are: gain of a label, divisor at place i.
DCG = {
    "nDCG": ("log2", "rel", "log2(1+i)"),
    "nDCG-exp": ("exp-log2", "2^rel-1", "log2(1+i)"),
    "nDCG-letor": ("letor", "2^rel-1", "1,log2(i)"),
}


def _number(value: float) -> str:
    """The shortest text that reads back as ``value``, whole numbers without a point."""
    return str(int(value)) if value == int(value) else repr(value)


def _relevance(preparation: Preparation) -> Relevance:
    return Relevance(preparation.lists, preparation.ties)


@dataclass(frozen=True)
class RankingMetric:
    """One measure of retrieval; ``cutoff`` None = the whole list, ``rel`` is of no use to nDCG."""

    measure: str
    cutoff: int | None = None
    rel: float = 1.0

    @property
    def name(self) -> str:
        default = DEFAULT_REL.get(self.measure, 1.0)
        rel = "" if self.rel == default else f"(rel={_number(self.rel)})"
        return f"{self.measure}{rel}" + ("" if self.cutoff is None else f"@{self.cutoff}")

    def prepare(
        self, lists: CandidateLists, *, ties: str | None = None, no_relevant: str = "zero"
    ) -> RankingJudge:
        """A judge of these lists; see Relevance for ``ties`` and Preparation for ``no_relevant``."""
        return self.prepare_in(Preparation(lists, ties, no_relevant))

    def prepare_in(self, preparation: Preparation) -> RankingJudge:
        """A judge that shares its Relevance with the others of ``preparation``."""
        relevance = preparation.shared(_relevance)
        kind = BinaryJudge if self.measure in BINARY else GainJudge
        return kind(self, relevance, preparation.no_relevant)


class RankingJudge(ABC):
    """Mean of a measure over lists; its statistics are [value, 1] of each list that counts, else [0, 0]."""

    better = 1
    digits = 4

    def __init__(self, metric: RankingMetric, relevance: Relevance, no_relevant: str) -> None:
        self.metric = metric
        self.name = metric.name
        self.stage = relevance
        self.no_relevant = no_relevant
        longest = int(relevance.lists.lengths.max())
        self.cutoff = longest if metric.cutoff is None else min(metric.cutoff, longest)

    @property
    def signature(self) -> str:
        parts = [self.name, *self._formula(), f"ties:{self.stage.ties}", f"no_relevant:{self.no_relevant}"]
        return "|".join([*parts, "unjudged:not-relevant", f"version:{__version__}"])

    @property
    def judged(self) -> Mask:
        """Lists with a judged item, bool (n_lists)."""
        return self.stage.judged

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """[value, counted] of each list under ``scores`` (n_items): float64 (n_lists, 2)."""
        return self.of(self.stage.place(scores))

    def of(self, placed: Placement) -> Floats:
        """The statistics of a placement that this judge's stage has made, for judges that share one."""
        out = np.empty((len(self.possible), 2))
        value = self._values(placed)
        if not self.possible.all():
            value[~self.possible] = 1.0 if self.no_relevant == "one" else 0.0
        np.multiply(value, self.counted, out=out[:, 0])
        out[:, 1] = self.counted
        return out

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Means (...) of sums (..., 2); NaN where no list counts."""
        return mean_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Statistics of the first stage's ranking, None where the lists have none."""
        placed = self.stage.first_best
        return None if placed is None else self.of(placed)

    def random(self) -> float:
        """Exact expectation over all orders of each list."""
        return corpus_value(self, self.of(self.stage.random))

    def oracle(self) -> float:
        """Value of the order of the labels."""
        return corpus_value(self, self.of(self.stage.oracle))

    @cached_property
    def counted(self) -> Floats:
        """1.0 for the lists that the mean is over, else 0.0 (n_lists)."""
        counted = self.judged & self.possible if self.no_relevant == "skip" else self.judged
        return counted.astype(np.float64)

    @property
    @abstractmethod
    def possible(self) -> Mask:
        """Lists with a relevant item, bool (n_lists)."""

    @abstractmethod
    def _values(self, placed: Placement) -> Floats:
        """The measure of each list (n_lists)."""

    @abstractmethod
    def _formula(self) -> list[str]:
        """What the signature says of how it is computed."""


class BinaryJudge(RankingJudge):
    """AP, RR, P@k, R@k, Success@k, pass@k."""

    @cached_property
    def _good(self) -> Bytes:
        return (self.stage.item_labels >= self.metric.rel).astype(np.uint8)

    @cached_property
    def _n_good(self) -> Floats:
        known = self.stage.known
        return known.count(known.values >= self.metric.rel)

    @cached_property
    def possible(self) -> Mask:
        return self._n_good > 0

    def _values(self, placed: Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        kernel = BINARY[self.metric.measure]
        columns = (self.stage.offsets, placed.order, placed.above, placed.tied)
        kernel(*columns, self._good, self.cutoff, out)
        if self.metric.measure == "P":  # trec_eval's: over k also where the list is shorter
            out /= float(self.metric.cutoff or 1)
        elif self.metric.measure in ("AP", "R"):
            out /= np.maximum(self._n_good, 1.0)
        return out

    def _formula(self) -> list[str]:
        return [f"rel:{_number(self.metric.rel) if self.metric.rel else '>0'}"]


class GainJudge(RankingJudge):
    """nDCG of one family."""

    def __init__(self, metric: RankingMetric, relevance: Relevance, no_relevant: str) -> None:
        super().__init__(metric, relevance, no_relevant)
        known = relevance.known
        most = int(max(relevance.lists.lengths.max(), known.lengths.max()))
        places = np.arange(1, most + 1, dtype=np.float64)
        if metric.measure == "nDCG-letor":
            self._divisors = np.log2(np.maximum(places, 2.0))
        else:
            self._divisors = np.log2(places + 1.0)
        self._discounts = np.concatenate(([0.0], np.cumsum(1.0 / self._divisors)))
        self._gains = self._gain(relevance.item_labels)
        falling = self._gain(known.values)
        if not np.isfinite(falling).all():
            largest = known.values.max()
            raise DataError(f"{relevance.lists.source}: label {largest:g} is too large for a gain of 2^rel-1")
        self._ideal = np.empty(relevance.lists.n_lists)
        cutoff = most if metric.cutoff is None else min(metric.cutoff, most)
        _ranking.ideal_dcg(known.offsets, falling, self._divisors, cutoff, self._ideal)

    def _gain(self, labels: Floats) -> Floats:
        if self.metric.measure == "nDCG":
            return labels
        with np.errstate(over="ignore"):
            return np.exp2(labels) - 1.0

    @cached_property
    def possible(self) -> Mask:
        return self._ideal > 0

    def _values(self, placed: Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        columns = (self.stage.offsets, placed.order, placed.above, placed.tied)
        _ranking.dcg(*columns, self._gains, self._divisors, self._discounts, self.cutoff, out)
        return np.divide(out, self._ideal, out=out, where=self.possible)

    def _formula(self) -> list[str]:
        _, gain, discount = DCG[self.metric.measure]
        return [f"gain:{gain}", f"discount:{discount}"]


def _binary(
    measure: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> RankingMetric:
    assert inner is None  # only names that end in a dot wrap another metric
    refuse_unknown(parameters, ["rel"])
    default = DEFAULT_REL.get(measure, 1.0)
    rel = parameters.get("rel", default)
    if not isinstance(rel, float) or not (0 < rel < float("inf") or rel == default):
        raise ConfigError(f"rel is the least label that counts as relevant, a number above 0, got {rel!r}")
    if cutoff is None and measure in NEED_CUTOFF:
        raise ConfigError(f"{measure} needs a cutoff, such as {measure}@10")
    return RankingMetric(measure, cutoff, rel)


def _ndcg(
    measure: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> RankingMetric:
    assert inner is None
    refuse_unknown(parameters, ["dcg"] if measure == "nDCG" else [])
    if "dcg" in parameters:
        families = {dcg: family for family, (dcg, _, _) in DCG.items()}
        if parameters["dcg"] not in families:
            raise ConfigError(f"dcg is one of {', '.join(families)}, got {parameters['dcg']!r}")
        measure = families[str(parameters["dcg"])]
    return RankingMetric(measure, cutoff)


FAMILIES.register("AP", "MAP", "map_cut", "average-precision")(partial(_binary, "AP"))
FAMILIES.register("RR", "MRR", "recip_rank", "reciprocal-rank")(partial(_binary, "RR"))
FAMILIES.register("P", "prec", "precision")(partial(_binary, "P"))
FAMILIES.register("R", "rec", "recall")(partial(_binary, "R"))
FAMILIES.register("Success", "hit-rate")(partial(_binary, "Success"))
FAMILIES.register("pass")(partial(_binary, "pass"))
FAMILIES.register("nDCG", "ndcg_cut")(partial(_ndcg, "nDCG"))
FAMILIES.register("nDCG-exp")(partial(_ndcg, "nDCG-exp"))
FAMILIES.register("nDCG-letor")(partial(_ndcg, "nDCG-letor"))
