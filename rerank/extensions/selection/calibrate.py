"""Probabilities that a model's choice is right, fitted to judged lists and kept in the model."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import opening_once
from rerank.core.records import Record, fact
from rerank.core.registry import did_you_mean
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, interval_text, value_text
from rerank.core.tables.text import text_lines
from rerank.core.types import Floats, Index, Mask
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note, note_trained_on
from rerank.data.reading import Reading
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.results import plain
from rerank.extensions.selection.calibration import CALIBRATIONS, Isotonic, Platt, Reliability, reliability
from rerank.extensions.selection.confidence import LEARNED, RULES, confidences
from rerank.extensions.selection.sample import BETTER, RIGHT, Sample, right_choices, right_items
from rerank.extensions.selection.selective import parts_of
from rerank.formats.sources import check_outputs, inputs_of
from rerank.metrics.judges import first_stage
from rerank.metrics.judging import Judging
from rerank.models.base import CALIBRATIONS as KINDS
from rerank.models.base import Calibration, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.predict import lists_for

TEMPERATURE = "temperature"
METHODS = (*CALIBRATIONS, TEMPERATURE)
OF_SYSTEM = ("gap", "entropy")  # rules that do without a baseline


class Temperature(Record):
    """P = the share of the chosen item in the softmax of the list's scores divided by a temperature.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger: On calibration of modern neural networks. ICML 2017.
    """

    temperature: float = fact(gt=0)

    @classmethod
    def fit(cls, lists: CandidateLists, scores: Floats, right: Mask, chosen: Mask) -> Self:
        """Fit by the likelihood of whether the choice is right.

        Parameters
        ----------
        lists : CandidateLists
        scores : float64 (n_items)
        right : bool (n), of the lists that are fitted to
        chosen : bool (n_lists), which these are
        """
        from scipy.optimize import minimize_scalar

        spread = _spread(lists, scores)

        def loss(log_t: float) -> float:
            p = np.clip(_shares(lists, scores, spread * np.exp(log_t))[chosen], 1e-12, 1 - 1e-12)
            return -float(np.where(right, np.log(p), np.log1p(-p)).sum())

        grid = np.linspace(-8, 8, 33)
        at = float(grid[int(np.argmin([loss(x) for x in grid]))])
        found = minimize_scalar(loss, bounds=(at - 0.5, at + 0.5), method="bounded")
        return cls(temperature=float(spread * np.exp(found.x)))

    def of(self, lists: CandidateLists, scores: Floats) -> Floats:
        """Return the probability of each list's choice, float64 (n_lists)."""
        return _shares(lists, scores, self.temperature)


def _spread(lists: CandidateLists, scores: Floats) -> float:
    """By how much the scores of a list lie below its largest, on average: the scale of temperatures."""
    below = np.maximum.reduceat(scores, lists.offsets[:-1])[lists.list_index] - scores
    found = float(below[np.isfinite(below)].mean())
    return found if found > 0 else 1.0


def _shares(lists: CandidateLists, scores: Floats, temperature: float) -> Floats:
    top = np.maximum.reduceat(scores, lists.offsets[:-1])[lists.list_index]
    with np.errstate(over="ignore"):
        found: Floats = 1.0 / np.add.reduceat(np.exp((scores - top) / temperature), lists.offsets[:-1])
    return found


class Outcome(Record):
    """Calibration of the probability of one outcome.

    Attributes
    ----------
    name : str, right or better.
    rule : str, of ``RULES``; "" with a temperature.
    """

    name: str
    rule: str
    platt: Platt | None = None
    isotonic: Isotonic | None = None
    temperature: Temperature | None = None

    def check_values(self) -> None:
        parts = [one for one in (self.platt, self.isotonic, self.temperature) if one is not None]
        rules = [""] if self.temperature is not None else [one for one in RULES if one != LEARNED]
        if len(parts) != 1 or self.rule not in rules or self.name not in (RIGHT, BETTER):
            raise DataError(f"not the description of a probability: {self.name!r}, {self.rule!r}")

    def of(self, lists: CandidateLists, scores: Floats, confidence: Floats) -> Floats:
        """Return the probability for each list, float64 (n_lists); NaN without a baseline that it needs."""
        if self.temperature is not None:
            return self.temperature.of(lists, scores)
        x = confidence[:, list(RULES).index(self.rule)]
        fitted = self.platt or self.isotonic
        assert fitted is not None
        p = fitted.of(np.where(np.isnan(x), 0.0, x))
        return np.where(np.isnan(x), np.nan, p)


@KINDS.register("choice")
class Calibrated(Calibration):
    """Probabilities that a model's choices are right, or better than the first stage's."""

    kind: ClassVar[str] = "choice"

    outcomes: tuple[Outcome, ...]
    lists: int

    def columns(self, lists: CandidateLists, scores: Floats) -> dict[str, Floats]:
        """Return ``p_right`` and ``p_better`` of each list (n_lists), as far as they were fitted.

        scores : float64 (n_items), of the model.
        """
        confidence = confidence_of(lists, scores)
        found = {f"p_{one.name}": one.of(lists, scores, confidence) for one in self.outcomes}
        lacking = [name for name, p in found.items() if np.isnan(p).any()]
        if lacking:
            note(f"{lists.source}: found no ranking of a first stage: no {', '.join(lacking)}")
        return found

    def summary(self) -> str:
        """Return what is known, in a line."""
        names = ", ".join(f"P({one.name})" for one in self.outcomes)
        return f"{names} from {self.lists} lists"


def confidence_of(lists: CandidateLists, scores: Floats) -> Floats:
    """Return ``confidences`` against the first stage; without one NaN for the rules that need it."""
    first = first_stage(lists)
    found = confidences(lists, scores, scores if first is None else first)
    if first is None:
        found[:, [j for j, rule in enumerate(RULES) if rule not in OF_SYSTEM and rule != LEARNED]] = np.nan
    return found


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedModel(Display):
    """A model with calibrated probabilities.

    Attributes
    ----------
    model : Model
        Its ``predict(..., as_="table")`` has columns p_right and p_better.
    reliabilities : mapping of str to Reliability
        By outcome, of probabilities from models of the other folds.
    records : list of dict
        What the table shows.
    """

    model: Model
    reliabilities: Mapping[str, Reliability]
    records: list[dict[str, Any]]

    def tables(self) -> list[Table]:
        """Return a row for each outcome."""

        def share(value: float | None) -> str:
            return value_text(value, 3)

        columns = (
            Column("probability", ("probability",), left=True),
            Column("from", ("from",), left=True),
            Column("lists", ("lists",)),
            Column("happens", ("happens",), share),
            Column("calibration error", ("error",), share),
            Column("interval", ("ci",), lambda value: interval_text(value, 3)),
            Column("Brier", ("brier",), share),
            Column("of a constant", ("constant",), share),
        )
        rows = tuple(Row(tuple(row[column.keys[0]] for column in columns)) for row in self.records)
        notes = (
            "probabilities of each list are fitted to the other folds; the model keeps those fitted to all",
            "Brier: the mean squared error of the probability; of a constant: of the share that happens",
        )
        return [Table(columns, rows, notes=notes)]

    def lines(self) -> list[str]:
        """Return the table as plain text, line by line."""
        return [line for one in self.tables() for line in text_lines(one)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON, with the bins of reliability diagrams."""
        bins = {name: one.bins for name, one in self.reliabilities.items()}
        found: dict[str, Any] = plain({"probabilities": self.records, "bins": bins})
        return found


@opening_once
def calibrate(
    model: str | os.PathLike[str] | Model,
    data: Any,
    metric: str | None = None,
    *,
    rule: str = "gap",
    method: str = "platt",
    folds: int = 5,
    out: str | None = None,
    reading: Reading | None = None,
    **settings: Any,
) -> CalibratedModel:
    """Fit P(the model's choice is right), and P(it is better than the first stage's), to judged lists.

    Right is a choice with the best label of its list. The lists must be others than those of training.

    Parameters
    ----------
    model : a model, or its file.
    data : judged lists: CandidateLists, a data frame or a file.
    metric : the metric by which a choice is better than the first stage's; None = only P(right).
    rule : margin, gap, entropy or baseline-gap: what P is computed from; not used by temperature.
    method : platt, isotonic or temperature (of P(right) alone).
    folds : of the cross-validation that measures the calibration error, 2 or more.
    out : file of the model with its probabilities.
    reading : how a file is read.
    settings : of ``Judging``, as for ``evaluate``.

    Returns
    -------
    CalibratedModel

    Raises
    ------
    RerankError
        As ``predict`` and ``evaluate``; if the model adapts to lists or predicts classes, the lists have
        neither labels nor a metric, an outcome always or never happens, or there are too few lists.

    Examples
    --------
    >>> import rerank
    >>> X, group = [[3.0], [1.0], [0.5], [2.0]] * 10, [2] * 20
    >>> train = rerank.CandidateLists.from_arrays(X, [1, 0, 0, 1] * 10, group=group)
    >>> other = rerank.CandidateLists.from_arrays([[x + 1.0] for [x] in X], [1, 0, 1, 0] * 10, group=group)
    >>> found = rerank.calibrate(rerank.train(train, epochs=1), other)
    >>> [row["probability"] for row in found.records]
    ['P(right)']
    """
    if method not in METHODS:
        raise ConfigError(f"unknown method {method!r}; {did_you_mean(method, METHODS)}")
    rules = [name for name in RULES if name != LEARNED]
    if rule not in rules:
        raise ConfigError(f"unknown rule {rule!r}; {did_you_mean(rule, rules)}")
    if folds < 2:
        raise ConfigError(f"folds: found {folds}, expected 2 or more")
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    check_outputs({} if out is None else {"--out": out}, inputs_of(data, reading, path))
    found = copy.copy(model) if isinstance(model, Model) else load_model(os.fspath(model))
    if found.adapts or isinstance(found, ClassesModel):
        raise ConfigError(f"a model of kind {found.kind} has no choice whose probability could be kept")
    lists = lists_for(found, data, reading)
    sketch = found.training.data.sketch or ""
    note_trained_on(sketch, found.input_names, lists, "lists that the model was trained on")
    scores, judging = found.score_items(lists), Judging(**settings)
    outcomes = _outcomes(lists, scores, metric, settings)
    if method == TEMPERATURE:
        outcomes.pop(BETTER, None)
    elif rule not in OF_SYSTEM and first_stage(lists) is None:
        raise DataError(f"{lists.source}: found no ranking of a first stage, which rule {rule} needs")
    if not outcomes:
        raise DataError(f"{lists.source}: found no labels, which P(right) is fitted to")
    confidence = confidence_of(lists, scores)
    fit = partial(_fit, lists, scores, confidence, rule, method)
    kept: list[Outcome] = []
    records: list[dict[str, Any]] = []
    reliabilities: dict[str, Reliability] = {}
    for name, (of, happens) in outcomes.items():
        known = np.flatnonzero(of)
        p = np.full(lists.n_lists, np.nan)
        for train, test in parts_of(lists, known, folds, judging.seed):
            p[test] = fit(name, happens, train).of(lists, scores, confidence)[test]
        kept.append(fit(name, happens, known))
        fair, right = p[known], happens[known]
        measured = reliability(fair, right, judging.samples, judging.level, judging.seed)
        reliabilities[name] = measured
        records.append(
            {
                "probability": f"P({name})",
                "from": method if method == TEMPERATURE else f"{rule}, {method}",
                "lists": len(known),
                "happens": float(right.mean()),
                "error": measured.error,
                "ci": measured.ci,
                "brier": float(np.mean((fair - right) ** 2)),
                "constant": float(right.mean() * (1 - right.mean())),
            }
        )
    n_lists = max(int(of.sum()) for of, _ in outcomes.values())
    found.calibration = Calibrated(outcomes=tuple(kept), lists=n_lists)
    if out is not None:
        found.save(out)
    return CalibratedModel(found, reliabilities, records)


def _outcomes(
    lists: CandidateLists, scores: Floats, metric: str | None, settings: Mapping[str, Any]
) -> dict[str, tuple[Mask, Mask]]:
    """Return for each outcome the masks (n_lists) of lists on which it is known and on which it happens."""
    found: dict[str, tuple[Mask, Mask]] = {}
    right = right_items(lists)
    if right is not None:
        found[RIGHT] = right_choices(lists, scores, right)
    if metric is not None:
        if first_stage(lists) is None:
            text = f"found no ranking of a first stage that a choice could be better than by {metric}"
            raise DataError(f"{lists.source}: {text}")
        judged = evaluate(lists, {"system": lists.input_order(scores)}, [metric], **settings)
        found[BETTER] = Sample.of(judged, "system").outcomes[BETTER]
    return found


def _fit(
    lists: CandidateLists,
    scores: Floats,
    confidence: Floats,
    rule: str,
    method: str,
    name: str,
    happens: Mask,
    known: Index,
) -> Outcome:
    """Fit the probability of an outcome to some lists; DataError if it always or never happens there."""
    right = happens[known]
    if right.all() or not right.any():
        often = "always" if len(right) and right.all() else "never"
        raise DataError(f"{lists.source}: the choice is {often} {name} on {len(right)} lists: no P({name})")
    if method == TEMPERATURE:
        chosen = np.zeros(lists.n_lists, dtype=bool)
        chosen[known] = True
        found = Temperature.fit(lists, scores, happens[chosen], chosen)
        return Outcome(name=name, rule="", temperature=found)
    x = confidence[known, list(RULES).index(rule)]
    fitted: dict[str, Any] = {method: CALIBRATIONS[method].fit(x, right)}
    return Outcome(name=name, rule=rule, **fitted)
