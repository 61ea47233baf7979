"""What a measure is, apart from who computes it: names, parameters, and how judges share work.

A name is ``NAME``, ``NAME@k`` or ``NAME(key=value, ...)@k``, as ir_measures writes them, with a prefix
that wraps another measure (``oracle5.BLEU``) where such a family is registered. A metric's ``name`` is
canonical: it parses back to the same metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from rerank.data.judge import Judge
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Mask
from rerank.errors import ConfigError, DataError
from rerank.registry import Registry, did_you_mean

T = TypeVar("T")
NO_RELEVANT = ("zero", "skip", "one")
Parameter = str | float

FAMILIES: Registry[Family] = Registry("metric", "rerank.metrics")

_NAME = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9.+-]*?(?:_cut|_rank)?)"
    r"\s*(?:\((?P<parameters>[^()]*)\))?\s*(?:[@_](?P<cutoff>\d+))?\s*"
)
_PREFIX = re.compile(r"\s*(?P<name>[A-Za-z]+)(?P<number>\d*)\.(?P<inner>.+)", re.DOTALL)


class Stage(Protocol):
    """What judges of one kind count on: relevant items' places, the chosen item of each list, ..."""

    def place(self, scores: npt.ArrayLike) -> Any:
        """What ``scores`` (n_items) make of the lists; raises DataError at NaN or a wrong length."""
        ...


class ReportJudge(Judge, Protocol):
    """A judge that an evaluation can show: with its bounds, and work shared with judges of its stage."""

    @property
    def stage(self) -> Stage: ...

    @property
    def digits(self) -> int:
        """Decimals that a table shows."""
        ...

    @property
    def judged(self) -> Mask:
        """Lists that can be judged at all, bool (n_lists); the others have statistics of zero."""
        ...

    def of(self, placed: Any) -> Floats:
        """``per_list`` of what ``stage.place(scores)`` gave."""
        ...

    def first_best(self) -> Floats | None:
        """``per_list`` of the first stage's own ranking, None where the lists have none."""
        ...

    def random(self) -> float:
        """The value that a random ranking has on average."""
        ...

    def oracle(self) -> float:
        """The best value that any order reaches."""
        ...


class Metric(Protocol):
    """A measure by name, before it has seen data (hashable, equal by what it measures)."""

    @property
    def name(self) -> str: ...

    def prepare(self, lists: CandidateLists) -> ReportJudge:
        """A judge with default options."""
        ...

    def prepare_in(self, preparation: Preparation) -> ReportJudge:
        """A judge that shares what ``preparation`` has made ready."""
        ...


class Family(Protocol):
    """Makes the metrics of one name from what stood in brackets and after @."""

    def __call__(
        self, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
    ) -> Metric: ...


@dataclass(eq=False)
class Preparation:
    """The lists and options of one evaluation, and what its judges have in common.

    ties : trec | expected | input, None = trec where items have ids, else expected.
    no_relevant : value of a list without a relevant item: zero | one, or skip to leave it out.
    """

    lists: CandidateLists
    ties: str | None = None
    no_relevant: str = "zero"
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.no_relevant not in NO_RELEVANT:
            hint = did_you_mean(self.no_relevant, NO_RELEVANT)
            raise ConfigError(f"unknown no_relevant {self.no_relevant!r}; {hint}")

    def shared(self, make: Callable[[Preparation], T]) -> T:
        """What ``make`` makes of this preparation, made once."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made


def parse(text: str) -> Metric:
    """The metric called ``text``; raises ConfigError that names the nearest where there is none."""
    prefixed = _PREFIX.fullmatch(text)
    if prefixed and (prefix := _known(f"{prefixed['name']}.")):
        number = prefixed["number"]
        return _make(text, prefix, {}, int(number) if number else None, parse(prefixed["inner"]))
    match = _NAME.fullmatch(text)
    if match is None:
        raise ConfigError(f"cannot read the metric {text!r}; expected NAME, NAME@k or NAME(key=value)@k")
    name = _known(match["name"]) or match["name"]
    cutoff = None if match["cutoff"] is None else int(match["cutoff"])
    if cutoff == 0:
        raise ConfigError(f"metric {text!r}: a cutoff is at least 1")
    return _make(text, name, _parameters(match["parameters"] or "", text), cutoff, None)


def parse_all(texts: Iterable[str]) -> dict[str, Metric]:
    """Metrics by what was typed, in that order; a measure named twice is kept once, as first typed."""
    metrics: dict[str, Metric] = {}
    for text in texts:
        metric = parse(text)
        if metric.name not in {known.name for known in metrics.values()}:
            metrics[text.strip()] = metric
    if not metrics:
        raise ConfigError("no metric is named")
    return metrics


def _make(
    text: str, name: str, parameters: dict[str, Parameter], cutoff: int | None, inner: Metric | None
) -> Metric:
    family = FAMILIES.get(name)
    try:
        return family(parameters=parameters, cutoff=cutoff, inner=inner)
    except ConfigError as error:
        raise ConfigError(f"metric {text!r}: {error}") from None


def _known(name: str) -> str | None:
    """The registered name meant by ``name``: itself, or the only one equal to it but for case."""
    names = FAMILIES.names()
    spellings = {spelling: known for known in names for spelling in (known, *FAMILIES.aliases(known))}
    if name in spellings:
        return name
    near = {known for spelling, known in spellings.items() if spelling.lower() == name.lower()}
    return near.pop() if len(near) == 1 else None


def _parameters(text: str, metric: str) -> dict[str, Parameter]:
    """``key=value, ...`` read; numbers as numbers, quotes around words allowed."""
    out: dict[str, Parameter] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value or key in out:
            raise ConfigError(f"metric {metric!r}: expected key=value once for each key, found {part!r}")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        try:
            out[key] = value[1:-1] if quoted else float(value)
        except ValueError:
            out[key] = value
    return out


def refuse_unknown(parameters: Mapping[str, Parameter], known: Sequence[str]) -> None:
    """Raises ConfigError at the first parameter that is not among ``known``."""
    for key in parameters:
        if key not in known:
            raise ConfigError(f"unknown parameter {key!r}; {did_you_mean(key, known)}")


def prepare_all(
    lists: CandidateLists,
    metrics: Iterable[str | Metric],
    *,
    ties: str | None = None,
    no_relevant: str = "zero",
) -> list[ReportJudge]:
    """Judges of several metrics on the same lists, which share what they have in common."""
    preparation = Preparation(lists, ties, no_relevant)
    return [(parse(m) if isinstance(m, str) else m).prepare_in(preparation) for m in metrics]


def statistics(judges: Sequence[ReportJudge], scores: npt.ArrayLike) -> list[Floats]:
    """``per_list`` of every judge on the same scores; each stage places them once."""
    placed: dict[int, Any] = {}
    out = []
    for judge in judges:
        key = id(judge.stage)  # the judges keep their stages alive throughout
        if key not in placed:
            placed[key] = judge.stage.place(scores)
        out.append(judge.of(placed[key]))
    return out


def mean_from_sums(sums: Floats) -> Floats | float:
    """Sums of [value, counted] (..., 2) to means (...), NaN where nothing was counted."""
    if sums.ndim == 0 or sums.shape[-1] != 2:
        raise DataError(f"sums have shape {sums.shape}, expected (..., 2)")
    total, count = sums[..., 0], sums[..., 1]
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
