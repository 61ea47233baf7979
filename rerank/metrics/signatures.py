"""The words of signatures as settings of metrics, so that a printed signature can be given as a metric.

A signature is ``NAME|word|word|...``; most words are ``KEY:VALUE``. Words that are no settings, such as
``mean:lists`` or ``nrefs:1``, state facts, which the metric's judge checks. The word ``norm:`` names steps of
text normalisation, which are in a registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from rerank.core.registry import Registry
from rerank.core.settings import Field
from rerank.core.settings import setting as declared
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.common import note

# Words that are settings under other names, for the metrics that have these.
_WORDS: dict[str, dict[str, Any]] = {
    "gain:rel": {"dcg": "log2"},
    "gain:2^rel-1": {"dcg": "exp-log2"},
    "discount:1,log2(i)": {"dcg": "letor"},
    "case:lc": {"lc": True},
    "case:mixed": {"case_sensitive": True},
    "norm:yes": {"normalized": True},
    "punct:no": {"no_punct": True},
}
KEYS = {word.partition(":")[0] for word in _WORDS}
_LOOKED_AT = 1 << 20  # bytes of texts in which upper case is looked for
_LETTERS = 100  # of texts that tell
_OF_LABELS = "gain:(2^rel-1)/2^"  # before the largest label


def settings_in(words: Iterable[str], known: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values that words of a signature give to settings of a metric; of one key the last counts.

    Parameters
    ----------
    words : words of a signature.
    known : the settings of the metric.
    """
    out: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition(":")
        found = _WORDS.get(word, {key: value})
        name, bracket, amount = value.removesuffix("]").partition("[")
        if key == "smooth" and bracket:
            found = {"smooth": amount} if name == "add-1" else {"smooth": name, "value": amount}
        elif word.startswith(_OF_LABELS):
            found = {"max": word.removeprefix(_OF_LABELS)}
        for setting in found.keys() & known.keys():
            given, faults = known[setting].read(setting, found[setting])
            out |= {} if faults else {setting: given}
    return out


def known_words(word: str) -> str:
    """Return which words of the key of an unknown one are known, for the end of a message."""
    key = word.partition(":")[0]
    known = [one for one in _WORDS if one.startswith(f"{key}:")]
    return f"; known: {', '.join(known)}" if known else ""


class Normaliser(ABC):
    """A step of normalisation by its name: ``apply`` changes a text.

    Attributes
    ----------
    facts : words of signatures beside the name that change the result, such as the version of a package.
    """

    apply: Callable[[str], str]
    facts: tuple[str, ...] = ()

    @abstractmethod
    def __init__(self, name: str) -> None: ...

    @classmethod  # noqa: B027  (most steps have nothing to report)
    def note_forms(cls, lists: CandidateLists) -> None:
        """Warn if the texts differ from their references mostly in what these steps remove."""


NORMALISERS: Registry[type[Normaliser]] = Registry("step of normalisation", "rerank.extensions")


def norm_setting() -> Any:
    """Return the parameter ``norm`` of error rates."""
    return declared("none", "steps that change texts first, joined by +, such as lower+punct", parse=_steps)


def normalisers(norm: str) -> list[Normaliser]:
    """Return the steps of a parameter ``norm``; raises ConfigError."""
    return [] if norm == "none" else [NORMALISERS.get(name)(name) for name in norm.split("+")]


def note_forms(lists: CandidateLists) -> None:
    """Warn if texts and references differ mostly in case or punctuation."""
    NORMALISERS.get("lower").note_forms(lists)


def note_case(lists: CandidateLists, metric: Any) -> None:
    """Warn if only the references have capital letters and a metric of texts tells them from small ones."""
    settings = metric.get_params()
    if settings.get("lc", True) or settings.get("norm", "none") != "none" or lists.texts is None:
        return
    (upper, lower), (of_references, _) = map(_letters, (lists.texts, lists.references[0]))
    if lower >= _LETTERS and not upper and of_references:
        what = "the texts have no capital letters, the references do"
        note(f"{lists.source}: {what}; {metric.family}(lc=1) counts them in one case")


def _letters(column: StringColumn) -> tuple[int, int]:
    """Return how many letters A to Z and a to z are in the first strings."""
    counts = np.bincount(column.data[:_LOOKED_AT], minlength=256)
    return int(counts[65:91].sum()), int(counts[97:123].sum())


def norm_words(norm: str) -> list[str]:
    """Return the words of a signature for a parameter ``norm``: none if texts stay as they are."""
    facts = [fact for step in normalisers(norm) for fact in step.facts]
    return [] if norm == "none" else [f"norm:{norm}", *dict.fromkeys(facts)]


def _steps(norm: Any) -> Any:
    normalisers(str(norm))
    return norm
