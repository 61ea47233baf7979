"""How systems are judged: one declaration for Python, the command line and everything in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists
    from rerank.metrics.judges import ReportJudge

SEED = 12345  # of every resampling by default
OF_CLASSES = ("zero-one", "Hamming")
OF_LABELS = ("AP", "RR", "nDCG@10")


class Judging(Settings):
    """How systems are judged: keyword arguments in Python, options of eval, compare and report."""

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
    missing: str | None = setting(None, "what takes the place of scores that a system lacks")
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

    def on(self, lists: CandidateLists) -> Judging:
        """Return the same with the default metrics of ``lists`` if none is named."""
        return self if self.metrics else self.with_settings(metrics=default_metrics(lists))

    def prepare(self, lists: CandidateLists) -> dict[str, ReportJudge]:
        """Return the metrics prepared for lists, by their names as typed; they share their work.

        Raises
        ------
        ConfigError
            If a metric is unknown, or none is named.
        DataError
            If a needed column is missing.
        """
        from rerank.metrics.base import parse_all, prepare_all  # the command line starts without them

        typed = parse_all(self.metrics)
        return dict(zip(typed, prepare_all(lists, typed.values(), self), strict=True))


AS_USUAL = Judging()


def default_metrics(lists: CandidateLists) -> tuple[str, ...]:
    """Return the metrics to report if none is named.

    For examples with classes these are zero-one and Hamming; for lists without labels PARSEVAL with gold
    trees, BLEU with references and GDT-TS with native structures; otherwise AP, RR and nDCG@10.

    Parameters
    ----------
    lists : the lists that are judged.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        If the lists have nothing to judge by.
    """
    from rerank.data.columns.traces import SUPERPOSITIONS

    if lists.labels is not None:
        return OF_LABELS
    if lists.classes is not None:
        return OF_CLASSES
    if lists.gold is not None or "PARSEVAL" in lists.counts:
        return ("PARSEVAL",)
    if lists.references or "BLEU" in lists.counts:
        return ("BLEU",)
    if lists.natives is not None or SUPERPOSITIONS in lists.counts:
        return ("GDT-TS",)
    return OF_LABELS
