"""Syntax of utilities, and the utility that a text names.

A utility is written as

- a metric of single candidates: ``sBLEU``, ``chrF``, ``TER``, ``WER``, ``CER``, ``PARSEVAL``, ``GDT-TS``,
  ``TM``, ... of the candidate, with the other one in the reference's place;
- ``ngram1`` to ``ngram4``: the share of the candidate's n-grams that the other one has;
- ``votes``: 1 if both have the same answer (or text, in lists without answers), else 0;
- ``kernel:EXPRESSION``: a kernel of items, such as ``kernel:sst`` or ``kernel:gaussian(gamma=0.1)``;
- ``feature:NAME``: minus the distance of the values of a feature;
- ``matrix:PATH``: numbers from a file, see ``matrices``.
"""

from __future__ import annotations

import re

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.matrices import MatrixUtility
from rerank.extensions.decision.utilities import (
    FeatureUtility,
    KernelUtility,
    StructureUtility,
    TextUtility,
    Utility,
    Votes,
)
from rerank.metrics.base import parse
from rerank.metrics.bleu import ORDERS
from rerank.metrics.selecting import SelectingMetric
from rerank.similarity.expression import ItemKernel

_NGRAM = re.compile(r"ngram([1-9])")
AUTO = "auto"
MATRIX = "matrix"
_PREFIXES = ("kernel", "feature", MATRIX)
# What ``auto`` stands for: the first one whose column the lists have.
_BY_COLUMN = (("trees", "PARSEVAL"), ("traces", "GDT-TS"), ("answers", "votes"), ("texts", "sBLEU"))
_OTHERWISE = "kernel:gaussian"


def utility_of(text: str, lists: CandidateLists | None = None) -> Utility:
    """Return the utility that ``text`` is written for; a bare name may be a feature of ``lists``.

    Raises ConfigError if it names nothing, or a metric that judges rankings.
    """
    kind, _, rest = text.partition(":")
    if kind in _PREFIXES and rest:
        if kind == "kernel":
            return KernelUtility(text, ItemKernel.parse(rest))
        if kind == "feature":
            return FeatureUtility(text, rest)
        return MatrixUtility(text, rest)
    if lists is not None and text in lists.names():
        return FeatureUtility(text, text)
    if text == "votes":
        return Votes(text)
    match = _NGRAM.fullmatch(text)
    if match is not None:
        if int(match[1]) > ORDERS:
            raise ConfigError(f"utility {text}: n-grams go up to {ORDERS}")
        return TextUtility(text, None, int(match[1]))
    metric = parse(text)
    if not isinstance(metric, SelectingMetric):
        raise ConfigError(f"utility {text}: it judges rankings, not single candidates")
    if metric.of_pairs:
        return StructureUtility(text, metric)
    if not {"references", "gold"} & set(metric.needs):
        raise ConfigError(f"utility {text}: it compares a candidate with no other one")
    return TextUtility(text, metric)


def automatic(lists: CandidateLists) -> str:
    """Return the utility that ``auto`` stands for: by trees, structures, answers, texts, or features."""
    return next((name for column, name in _BY_COLUMN if getattr(lists, column) is not None), _OTHERWISE)
