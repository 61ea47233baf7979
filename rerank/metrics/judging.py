"""Options of judging: one declaration for Python, the command line and everything in between.

A set of metrics stands for them wherever several may be named; results, signatures and tables have its
metrics. Another set is an entry of ``SETS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting

SEED = 12345  # of every resampling by default


class Judging(Settings):
    """Options of judging systems: keyword arguments in Python, options of eval, compare and report."""

    help_group: ClassVar[str] = "Tests"

    metrics: tuple[str, ...] = setting(
        (), "AP, nDCG@10, BLEU, WER ...", flags=("--metric", "-m"), metavar="METRIC", group=""
    )
    baseline: str | None = setting(
        None,
        "the system that the others are tested against",
        flags=("--baseline", "-b"),
        metavar="SYSTEM",
        group="",
    )
    ties: Literal["trec", "expected", "input"] | None = setting(
        None,
        "tie breaking: like trec_eval (default if items have ids), in expectation, or by input order",
    )
    no_relevant: Literal["zero", "skip", "one"] = setting("zero", "score of lists that have no relevant item")
    missing_lists: Literal["any", "zero", "skip"] | None = setting(
        None,
        "judged lists of which a run returned nothing: 0 if another run returned some (any, default), always "
        "0 (zero, trec_eval -c), or left out for all",
    )
    missing: str | None = setting(None, "what replaces scores that a system lacks")
    samples: int = setting(1000, "bootstrap samples of the lists", ge=1)
    level: float = setting(0.95, "level of the intervals", gt=0, lt=1, metavar="LEVEL")
    seed: int = setting(SEED, "random seed of the tests", ge=0)

    @classmethod
    def by(cls, metrics: Sequence[str] | str | None, **settings: Any) -> Self:
        """Return settings for some metrics or one; None stands for the default of every setting.

        Raises
        ------
        ConfigError
            If a setting is unknown or out of range, or there is no metric among ``metrics``.
        """
        named = (metrics,) if isinstance(metrics, str) else tuple(metrics or ())
        if metrics is not None and not named:
            raise ConfigError("no metric is named")
        return cls(metrics=named, **{name: value for name, value in settings.items() if value is not None})


AS_USUAL = Judging()

# ``rerank.metrics.bleu`` is the function, after ``import rerank.metrics.bleu``, too;
# ``from rerank.metrics.bleu import Bleu`` reads the file.
OF_FILES = frozenset({"bleu", "chrf"})


class MetricSet(Struct, frozen=True):
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
