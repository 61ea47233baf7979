"""Selective reranking of judged lists: decisions, probabilities and guarantees, fitted on other lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import opening_once
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import tsv
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, interval_text, p_text, value_text
from rerank.core.tables.text import text_lines
from rerank.core.types import Floats, Index, Mask
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note, note_shared
from rerank.data.reading import Reading
from rerank.evaluation.bootstrap import Test, tests_of
from rerank.evaluation.evaluate import evaluate, evaluate_files
from rerank.evaluation.judged import Judged, judge_systems
from rerank.evaluation.results import WHOLE, plain
from rerank.evaluation.systems import is_run
from rerank.extensions.selection.calibration import CALIBRATIONS, Reliability, reliability
from rerank.extensions.selection.confidence import LEARNED, RULES, Logistic
from rerank.extensions.selection.conformal import check_alpha, controlled_threshold, set_width
from rerank.extensions.selection.curve import Curve
from rerank.extensions.selection.sample import RIGHT, Sample
from rerank.formats.sources import check_outputs, inputs_of, is_path
from rerank.metrics.judging import Judging
from rerank.models.predictions import run_lines
from rerank.report.page import check_page, write_page
from rerank.training.out_of_fold import folds_of

ALWAYS, ORACLE = "always", "oracle"
Given = Any  # see evaluate


@dataclass(frozen=True, eq=False)
class Fitted:
    """Rule that is fitted on some lists and used on others."""

    logistic: Logistic | None
    thresholds: dict[str, float]
    calibrations: dict[str, Callable[[Floats], Floats]]
    width: float | None

    def confidence(self, sample: Sample, rule: str, lists: Index) -> Floats:
        """The confidence in some lists by a rule, float64 (n)."""
        if rule != LEARNED:
            return sample.confidence[lists, list(RULES).index(rule)]
        assert self.logistic is not None
        return self.logistic.of(sample.confidence[lists])


@dataclass(frozen=True, eq=False, repr=False)
class Selective(Display):
    """A system that is used only on the lists on which it can be trusted.

    Attributes
    ----------
    rules : tuple of str
        See ``rerank.extensions.selection.confidence.RULES``.
    judged : Judged
        The system and each rule's choice, as systems.
    tests : mapping of str to (Test, Test)
        Of each rule against always using the system, and against the baseline; ``holm`` is over all of them.
    curves : mapping of str to Curve
        Of each rule, and of the oracle.
    used : mapping of str to bool (n_lists)
        The lists on which a rule uses the system.
    scores : mapping of str to float64 (n_items)
        Of what each rule chooses: the system's or the baseline's, in the order of the caller's rows.
    probabilities : mapping of str to float64 (n_lists)
        P(better) and P(right) by the first rule; NaN where it is unknown.
    reliabilities : mapping of str to Reliability
    kept : int64 (n_lists), optional
        The size of the set of items among which a right one is, with probability 1 - alpha or more.
    kept_right : (int, int)
        In how many sets one is, of how many lists.
    settings : mapping of str to Any
    """

    rules: tuple[str, ...]
    judged: Judged
    tests: Mapping[str, tuple[Test, Test]]
    curves: Mapping[str, Curve]
    used: Mapping[str, Mask]
    scores: Mapping[str, Floats]
    probabilities: Mapping[str, Floats]
    reliabilities: Mapping[str, Reliability]
    kept: Index | None
    kept_right: tuple[int, int]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def plot(self, ax: Any = None) -> Any:
        """Draw the metric over the share of lists on which the system is used; return the axes.

        Parameters
        ----------
        ax : axes of matplotlib; None = those of a new figure.

        Raises
        ------
        ConfigError
            If matplotlib is not installed.
        """
        from rerank.evaluation.plots import curves

        lines = {
            name: (np.linspace(0.0, 1.0, len(one.values)), one.values) for name, one in self.curves.items()
        }
        ax = curves(lines, ax)
        ax.set(xlabel="share of lists on which the system is used", ylabel=self.curves[ORACLE].judge.name)
        return ax

    def _records(self) -> list[dict[str, Any]]:
        """A row for the baseline, always using the system, each rule, and the bounds of the curve."""
        judge = self.curves[ORACLE].judge
        ends = {"baseline": self.curves[ORACLE].baseline, ALWAYS: self.curves[ORACLE].system}
        values = {name: corpus_value(judge, rows) for name, rows in ends.items()}
        n = len(ends[ALWAYS])
        half = Curve(judge, ends["baseline"], ends[ALWAYS], np.zeros(n))
        metric = next(iter(self.judged.metrics.values()))
        rows: list[dict[str, Any]] = [
            {"choice": "baseline", "used": 0.0, "value": values["baseline"]},
            {"choice": ALWAYS, "used": 1.0, "value": values[ALWAYS], "area": half.area},
        ]
        for rule in self.rules:
            row = metric.rows[rule][WHOLE]
            against = dict(zip((ALWAYS, "baseline"), self.tests[rule], strict=True))
            rows.append(
                {
                    "choice": rule,
                    "used": float(self.used[rule][self._known].mean()),
                    "value": row.value,
                    "ci": row.ci,
                    "area": self.curves[rule].area,
                    "p_always": against[ALWAYS].p_bootstrap,
                    "holm_always": against[ALWAYS].holm,
                    "p_baseline": against["baseline"].p_bootstrap,
                    "holm_baseline": against["baseline"].holm,
                }
            )
        oracle = self.curves[ORACLE]
        best = int(np.argmax(judge.better * oracle.values))
        rows.append(
            {"choice": ORACLE, "used": best / n, "value": float(oracle.values[best]), "area": oracle.area}
        )
        return rows

    @property
    def _known(self) -> Mask:
        return self.judged.parts[0].judged

    def tables(self) -> list[Table]:
        """Return the table of rules, and that of probabilities and sets."""
        metric = next(iter(self.judged.metrics.values()))
        digits = metric.digits

        def number(value: float | None) -> str:
            return value_text(value, digits)

        def ci(value: tuple[float, float] | None) -> str:
            return interval_text(value, digits)

        def share(value: float | None) -> str:
            return value_text(value, 3)

        columns = (
            Column("choice", ("choice",), left=True),
            Column("used", ("used",), share),
            Column(metric.typed, ("value",), number),
            Column("interval", ("ci",), ci),
            Column("area", ("area",), number),
            Column("p always", ("p_always",), p_text),
            Column("Holm", ("holm_always",), p_text),
            Column("p baseline", ("p_baseline",), p_text),
            Column("Holm", ("holm_baseline",), p_text),
        )
        records = self._records()
        rows = tuple(Row(tuple(row.get(column.keys[0]) for column in columns)) for row in records)
        chosen = "best value" if self.settings["alpha"] is None else f"{self.settings['loss']} lists"
        notes = (
            f"used: the share of {int(self._known.sum())} judged lists that take the system's choice; "
            f"thresholds chosen by the {chosen}, {self.settings['fitted_on']}",
            "area: the mean of the metric over all coverages; that of always is of lists in random order",
            f"Holm: p corrected for {2 * len(self.rules)} tests",
        )
        tables = [Table(columns, rows, notes=notes, signatures=(f"{metric.typed}: {metric.signature}",))]
        facts = [
            (f"P({name})", self.settings["rules"][0], one.error, one.ci, sum(bin_[0] for bin_ in one.bins))
            for name, one in self.reliabilities.items()
        ]
        if facts:
            heads = (
                Column("probability", ("probability",), left=True),
                Column("from", ("rule",), left=True),
                Column("calibration error", ("error",), share),
                Column("interval", ("ci",), lambda value: interval_text(value, 3)),
                Column("lists", ("lists",)),
            )
            tables.append(Table(heads, tuple(Row(one) for one in facts)))
        if self.kept is not None:
            heads = (
                Column("alpha", ("alpha",), left=True),
                Column("items kept", ("mean_kept",), lambda value: value_text(value, 1)),
                Column("of", ("mean_items",), lambda value: value_text(value, 1)),
                Column("a right one is kept", ("kept_right",), share),
                Column("lists", ("lists",)),
            )
            lists = self.judged.parts[0].lists
            right, of = self.kept_right
            cells = (self.settings["alpha"], float(self.kept.mean()), float(lists.lengths.mean()))
            tables.append(Table(heads, (Row((*cells, right / max(of, 1), of)),)))
        return tables

    def lines(self) -> list[str]:
        """Return the tables as plain text, line by line."""
        parts = [["", *text_lines(one)] for one in self.tables()]
        return [line for part in parts for line in part][1:]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; None replaces absent values."""
        found: dict[str, Any] = plain(
            {
                "settings": dict(self.settings),
                "signature": next(iter(self.judged.metrics.values())).signature,
                "choices": self._records(),
                "reliability": {name: one._asdict() for name, one in self.reliabilities.items()},
                "sets": None
                if self.kept is None
                else {
                    "mean_kept": float(self.kept.mean()),
                    "kept_right": self.kept_right[0],
                    "lists": self.kept_right[1],
                },
            }
        )
        return found

    def curve_lines(self) -> Iterator[str]:
        """Yield lines of a table of the curves (TSV): rule, coverage, value."""
        return tsv(
            ("rule", "coverage", "value"),
            (
                (rule, k / max(len(curve.confidence), 1), float(value))
                for rule, curve in self.curves.items()
                for k, value in enumerate(curve.values)
            ),
        )

    def list_lines(self) -> Iterator[str]:
        """Yield lines of a table of lists (TSV): what each rule uses, probabilities, and items kept."""
        heads = ["list", *self.rules, *(f"p_{name}" for name in self.probabilities)]
        columns = [
            [name for _, name in self.judged.list_keys()],
            *([("baseline", "system")[one] for one in self.used[rule].tolist()] for rule in self.rules),
            *([p if p == p else None for p in of.tolist()] for of in self.probabilities.values()),
        ]
        if self.kept is not None:
            heads, columns = [*heads, "kept"], [*columns, self.kept.tolist()]
        return tsv(heads, zip(*columns, strict=True))


@opening_once
def selective(
    data: Given,
    scores: Given,
    metric: str,
    *,
    dev: tuple[Given, Given] | None = None,
    rules: Sequence[str] | str = tuple(RULES),
    alpha: float | None = None,
    loss: Literal["worse", "drop"] = "worse",
    calibration: str = "platt",
    folds: int = 5,
    baseline: Given = None,
    out: str | None = None,
    per_list: str | None = None,
    curve: str | None = None,
    html: str | None = None,
    reading: Reading | None = None,
    **settings: Any,
) -> Selective:
    """Use a system only on the lists on which it can be trusted, and say how sure that is.

    Elsewhere the baseline is used. What decides is fitted on development lists or, without them, on the
    other folds of the lists themselves; no list is decided by its own labels.

    Parameters
    ----------
    data, scores : as for ``evaluate``, of one system.
    metric : str
        The one to choose by.
    dev : (data, scores), optional
        Judged lists to choose by, and the system's scores of them.
    rules : names, or one, of ``RULES``.
        What lists are ordered by. The first gives the probabilities.
    alpha : float, optional
        Thresholds keep the expected ``loss`` at most here (conformal risk control), instead of those with
        the best value on the lists that are chosen by; and sets of items hold a right one with probability
        1 - alpha or more, if the lists have labels.
    loss : {"worse", "drop"}
        Whether the system is worse than the baseline on a list, or by how much: for metrics from 0 to 1.
    calibration : {"platt", "isotonic"}
    folds : int
        Without ``dev``, 2 or more.
    baseline : optional
        Scores, or the name of a file, of what takes the system's place; None = the first stage's ranking.
        With ``dev`` it must be the first stage, or a feature that both have.
    out, per_list, curve, html : str, optional
        Files: the scores by the first rule (a run if the system's are one), a table of lists, one of curves,
        a page with figures.
    reading : Reading, optional
        How files are read.
    settings
        Of ``Judging``, as for ``evaluate``.

    Returns
    -------
    Selective

    Raises
    ------
    RerankError
        As ``evaluate``; if a rule or a calibration is unknown, ``alpha`` is not in (0, 1) or cannot be
        guaranteed with so few lists, or an outcome that gets a probability always or never happens.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei & Schuster: Conformal risk control. ICLR 2024.

    Examples
    --------
    >>> import rerank
    >>> labels, first = [[1, 0], [0, 1], [1, 0], [0, 1]] * 5, [[2, 1]] * 20
    >>> system = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.5], [0.1, 0.9]] * 5
    >>> found = rerank.selective(labels, system, "P@1", baseline=first, rules="margin", folds=2)
    >>> float(found.judged.systems["margin"]["P@1"].value)
    1.0
    """
    names = (rules,) if isinstance(rules, str) else tuple(rules)
    _check(names, calibration, folds, alpha, loss)
    paths = {"--out": out, "--per-list": per_list, "--curve": curve, "--html": html}
    files = [one for one in (scores, baseline, *(dev or ())) if isinstance(one, str)]
    check_outputs(
        {option: path for option, path in paths.items() if path is not None},
        inputs_of(data if is_path(data) else "", reading, *files),
    )
    if html is not None:
        check_page(html)
    sample, judging = judged_sample(data, scores, metric, baseline, reading, settings)
    n_lists, known = sample.lists.n_lists, np.flatnonzero(sample.judged)
    if dev is None:
        parts = parts_of(sample.lists, known, folds, judging.seed)
        fitted_on = f"on the other {folds - 1} of {folds} folds"
        learnt = [(sample, others, lists) for others, lists in parts]
    else:
        if is_path(data) and data == dev[0]:
            raise ConfigError(f"dev: {data} is what is judged; expected other lists, or none (folds)")
        other = judged_sample(*dev, metric, baseline, reading, settings)[0]
        note_shared(other.lists, sample.lists, "development lists")
        fitted_on = f"on {int(other.judged.sum())} lists of {other.lists.source}"
        learnt = [(other, np.flatnonzero(other.judged), np.arange(n_lists))]

    used = {rule: np.zeros(n_lists, dtype=bool) for rule in names}
    sure = {rule: np.zeros(n_lists) for rule in names}
    outcomes = sample.outcomes
    probabilities = {name: np.full(n_lists, np.nan) for name in outcomes}
    kept = None if alpha is None or RIGHT not in outcomes else np.zeros(n_lists, dtype=np.int64)
    right_kept = np.zeros(n_lists, dtype=bool)
    for source, others, lists in learnt:
        fitted = _fit(source, others, names, alpha, loss, calibration)
        for rule in names:
            sure[rule][lists] = fitted.confidence(sample, rule, lists)
            used[rule][lists] = sure[rule][lists] >= fitted.thresholds[rule]
        for name in probabilities:
            if name in fitted.calibrations:
                probabilities[name][lists] = fitted.calibrations[name](sure[names[0]][lists])
        if kept is not None and fitted.width is not None:
            near = sample.distances_from_top <= fitted.width
            kept[lists] = np.add.reduceat(near, sample.lists.offsets[:-1], dtype=np.int64)[lists]
            right_kept[lists] = sample.distances(lists) <= fitted.width
    chosen = {
        rule: np.where(mask[sample.lists.list_index], *sample.scores.values()) for rule, mask in used.items()
    }
    mixed = {name: sample.lists.input_order(values) for name, values in chosen.items()}
    systems = {ALWAYS: sample.lists.input_order(sample.scores["system"]), **mixed}
    result = judge_systems(
        sample.lists,
        {**systems, "baseline": sample.lists.input_order(sample.scores["baseline"])},
        judging.with_settings(baseline="baseline"),
    )
    tests = tests_of(
        result.bootstrap_table(),
        [(rule, other) for rule in names for other in (ALWAYS, "baseline")],
        0,
        judging.level,
    )
    curves = {rule: sample.curve(known, sure[rule][known]) for rule in names}
    curves[ORACLE] = sample.curve(known, sample.gains(known))
    reliabilities = {
        name: reliability(p[ok], happens[ok], judging.samples, judging.level, judging.seed)
        for name, p in probabilities.items()
        for of, happens in [outcomes[name]]
        for ok in [of & ~np.isnan(p)]
        if ok.any()
    }
    labelled = outcomes[RIGHT][0] if kept is not None else right_kept
    found = Selective(
        names,
        result,
        dict(zip(names, zip(tests[::2], tests[1::2], strict=True), strict=True)),
        curves,
        used,
        mixed,
        {name: p for name, p in probabilities.items() if name in reliabilities},
        reliabilities,
        kept,
        (int(np.count_nonzero(right_kept & labelled)), int(np.count_nonzero(labelled))),
        {"rules": names, "alpha": alpha, "loss": loss, "calibration": calibration, "fitted_on": fitted_on},
    )
    if out is not None:
        write_lines(
            out, _score_lines(sample.lists, chosen[names[0]], f"selective-{names[0]}", scores, reading)
        )
    for path, lines in ((per_list, found.list_lines), (curve, found.curve_lines)):
        if path is not None:
            write_lines(path, lines())
    if html is not None:
        from rerank.extensions.selection.figures import coverage_section, reliability_section

        write_page(
            found.judged, html, [partial(make, found) for make in (coverage_section, reliability_section)]
        )
    return found


def _check(rules: Sequence[str], calibration: str, folds: int, alpha: float | None, loss: str) -> None:
    """Raise ConfigError for a setting that no lists make good."""
    for i, rule in enumerate(rules):
        if rule not in RULES:
            raise ConfigError(f"unknown rule {rule!r}; {did_you_mean(rule, RULES)}")
        if rule in rules[:i]:
            raise ConfigError(f"rule {rule} is given twice")
    if not rules:
        raise ConfigError("no rule is named")
    if calibration not in CALIBRATIONS:
        raise ConfigError(f"unknown calibration {calibration!r}; {did_you_mean(calibration, CALIBRATIONS)}")
    if loss not in ("worse", "drop"):
        raise ConfigError(f"loss: found {loss!r}, expected worse or drop")
    if folds < 2:
        raise ConfigError(f"folds: found {folds}, expected 2 or more")
    if alpha is not None:
        check_alpha(alpha)


def judged_sample(
    data: Given,
    scores: Given,
    metric: str,
    baseline: Given,
    reading: Reading | None,
    settings: Mapping[str, Any],
) -> tuple[Sample, Judging]:
    """Return a system and its baseline on some lists, and how they were judged; errors are evaluate's."""
    if is_path(data) and isinstance(scores, str) and (baseline is None or isinstance(baseline, str)):
        judged = evaluate_files(data, [scores], [metric], reading=reading, baseline=baseline, **settings)
        return Sample.of(judged, scores), judged.judging
    systems = {"system": scores} if baseline is None else {"system": scores, "baseline": baseline}
    name = None if baseline is None else "baseline"
    judged = evaluate(data, systems, [metric], baseline=name, **settings)
    return Sample.of(judged, "system"), judged.judging


def parts_of(lists: CandidateLists, known: Index, folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Return for each fold the judged lists to learn from and those to decide.

    The first also decides unjudged lists; copies of a list stay together. Raises DataError if the judged
    lists ``known`` are too few.
    """
    if len(known) < folds:
        raise DataError(f"found {len(known)} judged lists, expected {folds} or more for {folds} folds")
    parts = [(known[one.train], known[one.test]) for one in folds_of(lists.subset(known), folds, seed)]
    rest = np.setdiff1d(np.arange(lists.n_lists), known)
    return [(parts[0][0], np.append(parts[0][1], rest)), *parts[1:]]


def _fit(
    sample: Sample, lists: Index, rules: Sequence[str], alpha: float | None, loss: str, calibration: str
) -> Fitted:
    """Fit thresholds, probabilities and the width of sets on some lists."""
    if alpha is not None:
        check_alpha(alpha, len(lists))
    logistic = None
    if LEARNED in rules:
        gain = sample.gains(lists)
        logistic = Logistic.fit(sample.confidence[lists[gain != 0]], gain[gain != 0] > 0)
    fitted = Fitted(logistic, {}, {}, None)
    losses = None if alpha is None else sample.losses(lists, loss)
    for rule in rules:
        curve = sample.curve(lists, fitted.confidence(sample, rule, lists))
        fitted.thresholds[rule] = (
            curve.best_threshold() if losses is None else controlled_threshold(curve, losses, alpha)  # type: ignore[arg-type]
        )
    for name, (known, happens) in sample.outcomes.items():
        some = lists[known[lists]]
        if happens[some].all() or not happens[some].any():
            often = "always" if len(some) and happens[some].all() else "never"
            note(f"{sample.lists.source}: the choice is {often} {name} on {len(some)} lists: no P({name})")
            continue
        sure = fitted.confidence(sample, rules[0], some)
        fitted.calibrations[name] = CALIBRATIONS[calibration].fit(sure, happens[some]).of
    if alpha is None or sample.right is None:
        return fitted
    labelled = lists[sample.outcomes[RIGHT][0][lists]]
    check_alpha(alpha, len(labelled))
    return replace(fitted, width=set_width(sample.distances(labelled), alpha))


def _score_lines(
    lists: CandidateLists, scores: Floats, tag: str, system: Given, reading: Reading | None
) -> Iterator[str]:
    """Scores by item: one a line in the order of the lists' file, or a run if the system is one."""
    if not (isinstance(system, str) and is_run(system, reading or Reading())):
        return map(repr, lists.input_order(scores).tolist())
    return run_lines(lists, scores, tag)
