"""The declaration of metrics: names, parameters, and the work that judges share.

A name is ``NAME``, ``NAME@k`` or ``NAME(key=value, ...)@k``, as ir_measures writes them, with a prefix
that wraps another metric (``oracle5.BLEU``) if such a family is registered. A metric's ``name`` is
canonical: it parses back to the same metric. So does its signature, ``NAME|word|word``, or a part of it:
its settings, ties and no_relevant are obeyed, and all words must be in the signature of the judge.

A family of metrics is one class in one file of this package, found without being listed anywhere::

    @register("words@1", "length")
    class Words(SelectingMetric): ...

Its declaration (summary, meaning, source, examples, needed columns, parameters) is what ``rerank list
metrics`` prints and what the contract suite, tests/contracts/test_metrics.py, runs over.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar, cast

from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import ConfigError
from rerank.core.registry import Registry, did_you_mean
from rerank.core.settings import Settings
from rerank.core.text import number
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.metrics.judges import ReportJudge
from rerank.metrics.judging import AS_USUAL, SETS, Judging, expanded, set_called
from rerank.metrics.signatures import KEYS, known_words, settings_in

T = TypeVar("T")
M = TypeVar("M", bound="type[Metric]")

FAMILIES: Registry[type[Metric]] = Registry(
    "metric", "rerank.metrics", "rerank.extensions", base=lambda: Metric
)

_NAME = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9.+-]*?(?:_[A-Za-z]+)?)"
    r"\s*(?:\((?P<parameters>[^()]*)\))?\s*(?:[@_](?P<cutoff>[0-9]{1,9}))?\s*"
)
_PREFIX = re.compile(r"\s*(?P<name>[A-Za-z]+)(?P<number>[0-9]{0,9})\.(?P<inner>.+)", re.DOTALL)
_PARTS = ("cutoff", "inner")  # fields of a metric that a name does not give in brackets


class Measure(Settings):
    """Settings under the name of a family; equal and hashable by what is measured."""

    family: ClassVar[str]

    @property
    def name(self) -> str:
        """The family with the parameters that differ from their defaults, and the cutoff."""
        fields = {key: field.default for key, field in type(self).settings.items() if key not in _PARTS}
        changed = {
            key: getattr(self, key) for key, default in fields.items() if getattr(self, key) != default
        }
        bracket = ", ".join(f"{key}={value_text(value)}" for key, value in changed.items())
        cutoff = getattr(self, "cutoff", None)
        return self.family + f"({bracket})" * bool(bracket) + ("" if cutoff is None else f"@{cutoff}")


class Metric(Measure):
    """A metric by name, before it has seen data. Its fields are the parameters of its name.

    A field ``cutoff`` is the number after @: without a default it must be given, without the field there is
    none. ``oracle5.BLEU`` gives a field ``inner`` too.

    Attributes
    ----------
    summary : str
        One line for ``rerank list metrics``.
    meaning : str
        The formula in words and the unit, one to three sentences.
    source : str
        The paper or program that defines it.
    elsewhere : str
        What other tools call it, and whether their values are equal; may be empty.
    better : {1, -1}
        1 if a larger value is better, -1 if a smaller one is. That of a prefix is its inner metric's.
    examples : tuple of str
        Canonical names of this family; the contract suite tests each.
    needs : tuple of str
        Columns of the lists that it cannot do without.
    uses_ties : bool
        Whether the mode of ties (trec, expected, input) changes it.
    list_by_list : bool
        Whether a list's statistics depend on that list alone.
    of_scores : bool
        Whether scores can change it; pass@k is the same for every ranking.
    of_order : bool
        Whether only the order of the scores counts, not how large they are.
    of_classes : bool
        Whether it judges predicted classes, see data.classes.class_lists.
    of_pool : bool
        Whether items that a system did not return change its value, apart from relevant ones.
    unreturned : str
        How a list counts of which a system returned nothing, in words.
    in_parallel : bool
        Whether workers make it faster.
    """

    summary: ClassVar[str]
    meaning: ClassVar[str]
    source: ClassVar[str]
    elsewhere: ClassVar[str] = ""
    better: ClassVar[int] = 1
    examples: ClassVar[tuple[str, ...]]
    needs: ClassVar[tuple[str, ...]] = ("labels",)
    uses_ties: ClassVar[bool] = False
    list_by_list: ClassVar[bool] = True
    of_scores: ClassVar[bool] = True
    of_order: ClassVar[bool] = True
    of_classes: ClassVar[bool] = False
    of_pool: ClassVar[bool] = False
    unreturned: ClassVar[str] = "0"
    in_parallel: ClassVar[bool] = False
    stated: ClassVar[tuple[str, ...]] = ()  # words of the signature that it was read from

    def kept_counts(self, preparation: Preparation) -> Mapping[str, Floats]:
        """Return counts of items that are worth keeping with the lists: computing them takes long."""
        return {}

    @classmethod
    def from_parts(
        cls, parameters: Mapping[str, str | float], cutoff: int | None = None, inner: Metric | None = None
    ) -> Metric:
        """Return the metric of what a name gives in brackets, after @ and after a prefix.

        Raises
        ------
        ConfigError
            If a part is unknown, missing or out of range.
        """
        known = [key for key in cls.settings if key not in _PARTS]
        for key in parameters:
            if key not in known:
                raise ConfigError(f"unknown parameter {key!r}; {did_you_mean(key, known)}")
        given = {"cutoff": cutoff, "inner": inner}
        parts = {part: value for part, value in given.items() if value is not None}
        for part in _PARTS:
            declared = cls.settings.get(part)
            if declared is None and part in parts:
                raise ConfigError(f"{cls.family} takes no {part}")
            if declared is not None and declared.required and part not in parts:
                missing = "a number and a metric" if "inner" in cls.settings else "a cutoff"
                raise ConfigError(f"{cls.family} needs {missing}, such as {cls.examples[0]}")
        return cls(**parameters, **parts).canonical()

    def canonical(self) -> Metric:
        """Return the metric as its name is printed: itself, or an equal one of another family."""
        return self

    def prepare(self, lists: CandidateLists, judging: Judging = AS_USUAL) -> ReportJudge:
        """Return a judge of these lists.

        Parameters
        ----------
        lists : CandidateLists
        judging : Judging
            How ties are broken, and what lists without a relevant item count.

        Raises
        ------
        DataError
            If a needed column is missing.
        """
        return self.prepare_stated(Preparation(lists, judging, (self,)))

    @property
    def policies(self) -> dict[str, str]:
        """Return the policies for ties and lists without relevant items that the signature states."""
        stated = (word.partition(":") for word in self.stated if self.uses_ties)
        return {key: value for key, _, value in stated if key in ("ties", "no_relevant")}

    def prepare_stated(self, preparation: Preparation) -> ReportJudge:
        """Return ``prepare_in`` by the ties and lists without relevant items that its signature states.

        Raises ConfigError if a word of the signature is not true of the judge.
        """
        judging = preparation.judging
        if self.stated and self.policies:
            judging = Judging(**{**judging.get_params(), **self.policies})
            preparation = Preparation(preparation.lists, judging, (self,))
        judge = self.prepare_in(preparation)
        *parts, version = judge.signature.split("|")
        filled = {"missing": judging.missing, "missing_lists": judging.missing_lists}
        parts += [f"{key}:{value}" for key, value in filled.items() if value is not None]
        judge.signature = "|".join([*parts, version])
        for word in self.stated:
            if word not in parts and not word.startswith("version:"):
                text = f"{word!r} is not in its signature, {judge.signature}{known_words(word)}"
                raise ConfigError(f"metric {self.name}: {text}")
        return judge

    @abstractmethod
    def prepare_in(self, preparation: Preparation) -> ReportJudge:
        """Return a judge that shares work with the others of ``preparation``.

        Raises
        ------
        DataError
            If a needed column is missing.
        """


def register(name: str, *aliases: str) -> Callable[[M], M]:
    """Return a class decorator that enters a metric under ``name`` and its aliases."""

    def enter(kind: M) -> M:
        kind.family = name
        FAMILIES.register(name, *aliases)(kind)
        return kind

    return enter


class Preparation(Struct, eq=False):
    """The lists of one evaluation, how they are judged, and the work that its judges share.

    Parameters
    ----------
    lists : CandidateLists
    judging : Judging
    metrics : sequence of Metric, optional
        Those that will be prepared, so that shared work is only what they need; None = any.
    """

    lists: CandidateLists
    judging: Judging = AS_USUAL
    metrics: Sequence[Metric] | None = None
    _made: dict[Any, Any] = {}

    def shared(self, make: Callable[[Preparation], T]) -> T:
        """Return ``make(self)``, which is called once for each ``make``."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    def of_lists(self, make: Callable[[CandidateLists], T]) -> T:
        """Return ``make(self.lists)``, which is called once for each ``make``."""
        if make not in self._made:
            self._made[make] = make(self.lists)
        return cast(T, self._made[make])


def keep_statistics(lists: CandidateLists, metrics: Iterable[str]) -> CandidateLists:
    """Return the lists with the counts that ``metrics`` would otherwise compute each time, if there are some.

    Raises ConfigError if a metric is unknown. Raises DataError if the lists lack what a metric needs.
    """
    preparation = Preparation(lists, metrics=[parse(name) for name in metrics])
    counts: dict[str, Floats] = {}
    for metric in preparation.metrics or ():
        counts |= getattr(metric, "inner", metric).kept_counts(preparation)
    return replace(lists, counts={**lists.counts, **counts}) if counts else lists


def parse(text: str) -> Metric:
    """Return the metric called ``text``.

    Raises
    ------
    ConfigError
        If there is none; the error names the nearest one.
    """
    head, *words = map(str.strip, text.split("|"))
    if words and (wraps := re.fullmatch(r"(\w+):(\d+)", head)):  # oracle:5|label@1|...
        return parse(f"{wraps[1]}{wraps[2]}.{'|'.join(words)}")
    if words:
        head = re.sub(r"^chrF(\d)\+*$", r"chrF(beta=\1)", head)  # of characters, and words by nw:
        return _stating(parse(head), words)
    prefixed = _PREFIX.fullmatch(text)
    if prefixed and (prefix := _known(f"{prefixed['name']}.")):
        cutoff = int(prefixed["number"]) if prefixed["number"] else None
        return _make(text, prefix, {}, cutoff, parse(prefixed["inner"]))
    match = _NAME.fullmatch(text)
    if match is None:
        raise ConfigError(f"cannot read the metric {text!r}; expected NAME, NAME@k or NAME(key=value)@k")
    if named := set_called(text):
        members = ", ".join(SETS[named].metrics)
        raise ConfigError(f"{named} is a set of metrics, expected one of them: {members}")
    name = _known(match["name"]) or match["name"]
    cutoff = None if match["cutoff"] is None else int(match["cutoff"])
    return _make(text, name, _parameters(match["parameters"] or "", text), cutoff, None)


def family_of(text: str) -> type[Metric]:
    """Return the family called ``text``, in any case, or that of the metric called so.

    Raises
    ------
    ConfigError
        If there is none; the error names the nearest one.
    """
    name = _known(text) or _known(f"{text}.")
    return FAMILIES.get(name) if name else type(parse(text))


def parse_all(texts: Iterable[str]) -> dict[str, Metric]:
    """Return metrics by their names as typed, in that order; of one metric named twice the first is kept.

    A set of metrics (``metrics.judging``) is replaced by its metrics. A string is one name.

    Raises
    ------
    ConfigError
        If a name is unknown or there is none.
    """
    metrics: dict[str, Metric] = {}
    for text in expanded([texts] if isinstance(texts, str) else texts):
        metric = parse(text)
        same = next((known for known in metrics.values() if known.name == metric.name), None)
        if same is not None and same.policies != metric.policies:
            raise ConfigError(
                f"metric {text!r}: {metric.name} is named twice, with other ties or no_relevant"
            )
        if same is None:
            metrics[metric.name if "|" in text else text.strip()] = metric
    if not metrics:
        raise ConfigError("no metric is named")
    return metrics


def _stating(metric: Metric, words: Sequence[str]) -> Metric:
    """The metric with the settings that words of its signature stand for; it keeps the words."""
    of = getattr(metric, "inner", metric)
    known = {key: field for key, field in type(of).settings.items() if key not in _PARTS}
    made = type(of)(**of.get_params() | settings_in(words, known)).canonical()
    metric = made if of is metric else metric.with_settings(inner=made)
    vars(metric)["stated"] = tuple(words)
    return metric


def _make(
    text: str, name: str, parameters: dict[str, str | float], cutoff: int | None, inner: Metric | None
) -> Metric:
    family = FAMILIES.get(name)
    try:
        if cutoff == 0:
            raise ConfigError("a cutoff is at least 1")
        words = KEYS & parameters.keys() - family.settings.keys()
        stated = [f"{key}:{parameters.pop(key)}" for key in words]
        metric = family.from_parts(parameters, cutoff, inner)
        return _stating(metric, stated) if stated else metric
    except ConfigError as error:
        raise ConfigError(f"metric {text!r}: {error}") from None


def _known(name: str) -> str | None:
    """The registered name meant by ``name``: itself, or the only one that differs in case alone."""
    spellings = FAMILIES.spellings()
    if name in spellings:
        return name
    near = {known for spelling, known in spellings.items() if spelling.lower() == name.lower()}
    return near.pop() if len(near) == 1 else None


def _parameters(text: str, metric: str) -> dict[str, str | float]:
    """The values of ``key=value, ...``: numbers as numbers; words may be quoted."""
    out: dict[str, str | float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value or key in out:
            raise ConfigError(f"metric {metric!r}: expected key=value once for each key, found {part!r}")
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            out[key] = value[1:-1]
            continue
        amount = number(value)
        out[key] = value if amount is None else int(amount) if amount.is_integer() else amount
    return out


def value_text(value: Any) -> str:
    """Return a parameter as a name has it: the shortest text that reads back as the same value."""
    whole = isinstance(value, int | float) and value % 1 == 0
    return str(int(value)) if whole else str(value)


def prepare_all(
    lists: CandidateLists, metrics: Iterable[str | Metric], judging: Judging = AS_USUAL
) -> list[ReportJudge]:
    """Return judges of several metrics on the same lists, which share their work.

    Parameters
    ----------
    lists : CandidateLists
    metrics : iterable of str or Metric
    judging : Judging
        Its policies for missing scores and lists, which are applied elsewhere, are part of the signatures.

    Raises
    ------
    ConfigError
        If a metric is unknown.
    DataError
        If a needed column is missing.
    """
    named = [(metric, parse(metric) if isinstance(metric, str) else metric) for metric in metrics]
    preparation = Preparation(lists, judging, [metric for _, metric in named])
    judges = []
    for name, metric in named:
        with progress.step(f"computing {name}"):
            judges.append(metric.prepare_stated(preparation))
    return judges


def prepared_by(judging: Judging, lists: CandidateLists) -> dict[str, ReportJudge]:
    """Return the metrics of ``judging`` prepared for lists, by their names as typed; they share their work.

    Raises ConfigError if a metric is unknown or none is named, and DataError if a needed column is missing.
    """
    typed = parse_all(judging.metrics)
    return dict(zip(typed, prepare_all(lists, typed.values(), judging), strict=True))
