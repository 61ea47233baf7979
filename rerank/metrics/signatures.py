"""The words of signatures as settings of metrics, so that a printed signature can be given as a metric.

A signature is ``NAME|word|word|...``; most words are ``KEY:VALUE``. Words that are no settings, such as
``mean:lists`` or ``nrefs:1``, state facts, which the metric's judge checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rerank.core.settings import Field

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
