"""``rerank selective``, ``calibrate`` and ``budget``: on which lists a choice can be trusted, or improved."""

from __future__ import annotations

from typing import ClassVar, Literal

from rerank.cli.frame import CHOICE, OUTPUTS, Printed, Verb, verb, write
from rerank.core.errors import ConfigError
from rerank.core.settings import setting


class UseSelectively(Printed, Verb):
    """Options of ``rerank selective``."""

    reads: ClassVar = True
    judges: ClassVar = ()

    data: str = setting(..., "judged lists, or judgements (qrels)", argument=True, metavar="DATA")
    scores: str = setting(
        ..., "the system: a score file, a run, DATA:FEATURE, as of eval", argument=True, metavar="SYSTEM"
    )
    dev: str | None = setting(
        None, "judged lists to choose by; without them other folds of DATA", metavar="FILE", group=CHOICE
    )
    dev_scores: str | None = setting(None, "the system's scores of --dev", metavar="FILE", group=CHOICE)
    folds: int | None = setting(None, "folds of DATA, without --dev [5]", metavar="K", group=CHOICE)
    rule: tuple[str, ...] = setting(
        (),
        "how lists are ordered: margin, gap, entropy, baseline-gap, logistic; repeatable, the first gives "
        "scores and probabilities [all]",
        metavar="NAME",
        group=CHOICE,
    )
    alpha: float | None = setting(
        None,
        "keep the expected loss at or below ALPHA, instead of the best value; and report sets of items that "
        "hold a right one with probability 1 - alpha",
        metavar="ALPHA",
        group=CHOICE,
    )
    loss: Literal["worse", "drop"] = setting(
        "worse", "with --alpha: lists that get worse, or by how much a metric from 0 to 1 drops", group=CHOICE
    )
    calibration: Literal["platt", "isotonic"] = setting("platt", "calibration of probabilities", group=CHOICE)
    out: str | None = setting(
        None, "write the scores by the first rule", flags=("--out", "-o"), metavar="FILE", group=OUTPUTS
    )
    per_list: str | None = setting(
        None,
        "write for each list what is used, P(better) and P(right) (TSV)",
        metavar="FILE",
        group=OUTPUTS,
    )
    curve: str | None = setting(
        None, "write the metric over coverage, by rule (TSV)", metavar="FILE", group=OUTPUTS
    )
    html: str | None = setting(
        None,
        "write a page with curves and reliability diagrams (needs rerank[report])",
        metavar="FILE",
        group=OUTPUTS,
    )


@verb(UseSelectively)
def selective(given: UseSelectively) -> None:
    """Use a system only on the lists on which it can be trusted, and the baseline elsewhere.

    \b
    rerank selective test.txt scores.txt --metric AP
    rerank selective test.txt scores.txt --metric AP --dev dev.txt --dev-scores dev-scores.txt --alpha .1
    """
    from rerank.extensions.selection.confidence import RULES
    from rerank.extensions.selection.selective import selective as select

    judging = dict(given.judging)
    metrics = judging.pop("metrics", ())
    if len(metrics) != 1:
        raise ConfigError(f"found {len(metrics)} metrics, expected one to choose by (--metric)")
    if (given.dev is None) != (given.dev_scores is None):
        raise ConfigError("--dev and --dev-scores: give both or none")
    if given.dev is not None and given.folds is not None:
        raise ConfigError("--folds: not used with --dev, whose lists are chosen by")
    found = select(
        metric=metrics[0],
        dev=None if given.dev is None else (given.dev, given.dev_scores),
        folds=given.folds or 5,
        rules=given.rule or tuple(RULES),
        **given.others("dev", "dev_scores", "folds", "rule", "as_"),
        **judging,
    )
    write(given.as_, found.lines, found.as_json, found.tables)


class Calibrate(Printed, Verb):
    """Options of ``rerank calibrate``."""

    reads: ClassVar = True
    judges: ClassVar = ("metrics", "baseline", "missing_lists")

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    data: str = setting(..., "judged lists, others than those of training", argument=True, metavar="DATA")
    metric: str | None = setting(
        None,
        "fit P(better) too: that by this metric the choice is better than the first stage's",
        flags=("--metric", "-m"),
        metavar="METRIC",
        group=CHOICE,
    )
    rule: Literal["gap", "margin", "entropy", "baseline-gap"] | None = setting(
        None, "confidence from which probabilities are computed [gap]", group=CHOICE
    )
    method: Literal["platt", "isotonic", "temperature"] = setting(
        "platt", "method; temperature: the softmax of all scores, for P(right)", group=CHOICE
    )
    folds: int = setting(5, "folds that measure the calibration error", metavar="K", group=CHOICE)
    out: str | None = setting(
        None, "write the model with its probabilities", flags=("--out", "-o"), metavar="FILE", group=OUTPUTS
    )


@verb(Calibrate)
def calibrate(given: Calibrate) -> None:
    """Fit the probability that a model's choice is right, which predict --as table then prints.

    \b
    rerank calibrate model dev.txt --out calibrated
    rerank calibrate model dev.txt --metric AP --method isotonic --out calibrated
    rerank predict calibrated test.txt --as table
    """
    from rerank.extensions.selection.calibrate import calibrate as fit

    if given.metric is None:
        unused = [name for name in ("ties", "no_relevant") if name in given.judging]
        if unused:
            raise ConfigError(f"--{unused[0].replace('_', '-')}: not used without --metric")
    if given.method == "temperature" and (given.rule or given.metric):
        what = "--rule" if given.rule else "--metric"
        raise ConfigError(f"{what}: not used by --method temperature, which is of all scores and P(right)")
    found = fit(rule=given.rule or "gap", **given.others("rule", "as_"), **given.judging)
    write(given.as_, found.lines, found.as_json, found.tables)


class SendLists(Printed, Verb):
    """Options of ``rerank budget``."""

    reads: ClassVar = True
    judges: ClassVar = ("metrics", "missing_lists")

    data: str = setting(..., "judged lists, or judgements (qrels)", argument=True, metavar="DATA")
    second: str = setting(
        ...,
        "the second stage: a score file, a run, DATA:FEATURE, as of eval",
        argument=True,
        metavar="SYSTEM",
    )
    metric: str = setting(..., "metric of the gain", flags=("--metric", "-m"), metavar="METRIC")
    budgets: tuple[str, ...] = setting(
        (),
        "shares of the cost of all lists [.1, .25, .5]",
        flags=("--budget",),
        metavar="SHARE",
        group=CHOICE,
    )
    cost: str = setting(
        "lists",
        "lists (all cost the same), items, or a file in the form of --list-weights",
        metavar="COST",
        group=CHOICE,
    )
    folds: int = setting(5, "cross-validation folds for the expected gain", metavar="K", group=CHOICE)
    new: str | None = setting(
        None, "lists with a first stage alone, whose order --per-list gets", metavar="FILE", group=CHOICE
    )
    per_list: str | None = setting(
        None, "write lists, the first to send first, with cost and gain (TSV)", metavar="FILE", group=OUTPUTS
    )
    curve: str | None = setting(
        None, "write the metric by the share of the cost (TSV)", metavar="FILE", group=OUTPUTS
    )


@verb(SendLists)
def budget(given: SendLists) -> None:
    """Choose lists for a costly second stage, and measure the gain by share of its cost.

    \b
    rerank budget test.txt slow.txt --metric AP
    rerank budget test.txt slow.txt --metric AP --cost items --budget .2 --new more.txt --per-list order.tsv
    """
    from rerank.extensions.selection.budget import BUDGETS
    from rerank.extensions.selection.budget import budget as spend

    shares = []
    for text in given.budgets:
        try:
            shares.append(float(text))
        except ValueError:
            raise ConfigError(f"--budget: found {text!r}, expected a share between 0 and 1") from None
    if given.new is not None and given.per_list is None:
        raise ConfigError("--new: not used without --per-list, which gets the order of its lists")
    found = spend(budgets=shares or BUDGETS, **given.others("budgets", "as_"), **given.judging)
    write(given.as_, found.lines, found.as_json, found.tables)
