"""Sets of metrics that are asked for by one word, and names that are those of files too.

Another set is an entry of ``SETS``.

A set stands for its metrics wherever several may be named; results, signatures and tables have the metrics
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# ``rerank.metrics.bleu`` is the function, after ``import rerank.metrics.bleu``, too;
# ``from rerank.metrics.bleu import Bleu`` reads the file.
OF_FILES = frozenset({"bleu", "chrf"})


@dataclass(frozen=True)
class MetricSet:
    """Metrics that belong together.

    Attributes
    ----------
    summary : str
        One line for ``rerank list metrics``.
    source : str
        The papers or programs that report these.
    metrics : tuple of str
        Canonical names, in the order of the report.
    """

    summary: str
    source: str
    metrics: tuple[str, ...]


SETS: dict[str, MetricSet] = {
    "casp": MetricSet(
        "what assessors of CASP report of estimates of model accuracy",
        "Estimation of model accuracy in CASP13, Cheng et al. 2019; z-scores as in CASP16",
        ("label@1", "loss@1", "casp-z@1", "Pearson", "Spearman", "Kendall", "oracle5.label@1"),
    )
}


def set_called(text: str) -> str | None:
    """Return the set that ``text`` means, in any case; None if there is none."""
    name = text.strip().lower()
    return name if name in SETS else None


def expanded(texts: Iterable[str]) -> list[str]:
    """Return names of metrics in which those of sets are replaced by the names of their metrics."""
    out: list[str] = []
    for text in texts:
        name = set_called(text)
        out += [text] if name is None else SETS[name].metrics
    return out
