"""Choice of lists for a costly second stage that cannot be afforded for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import opening_once
from rerank.core.files.write import write_lines
from rerank.core.tables.data import tsv
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, p_text, value_text
from rerank.core.tables.text import text_lines
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.evaluation.results import plain
from rerank.evaluation.significance import bootstrap_p, bootstrap_sums, holm
from rerank.extensions.selection.confidence import Standardised, confidences
from rerank.extensions.selection.sample import Sample
from rerank.extensions.selection.selective import judged_sample, parts_of
from rerank.formats.sources import check_outputs, inputs_of, is_path, read_lists
from rerank.formats.weights import read_list_weights
from rerank.metrics.judges import first_stage

BUDGETS = (0.1, 0.25, 0.5)
OF_LISTS = ("lists", "items")  # costs that need no file
_RIDGES = (1.0, 10.0, 100.0, 1000.0, np.inf)  # of weights of standardised values; infinite: no weight


@dataclass(frozen=True)
class ExpectedGain:
    """Expected gain of a second stage on a list, from the first stage alone: ridge regression.

    The ridge minimises the squared error of lists that are left out one by one. If none is better
    than the mean gain alone, all lists are expected to gain that, and are sent at random.

    Attributes
    ----------
    scale : Standardised
    weights : float64 (k)
    mean : float
    """

    scale: Standardised
    weights: Floats
    mean: float

    @classmethod
    def fit(cls, x: Floats, gains: Floats) -> ExpectedGain:
        """Fit values (n, k) of ``first_stage_values`` to gains (n)."""
        scale = Standardised.fit(x)
        z, rest = scale.of(x), gains - gains.mean()
        weights, least = np.zeros(z.shape[1]), np.inf
        for ridge in reversed(_RIDGES):
            inverse = np.linalg.inv(z.T @ z + ridge * np.eye(z.shape[1])) if ridge < np.inf else 0.0 * z.T @ z
            leverage = 1 / len(z) + np.einsum("ij,jk,ik->i", z, inverse, z)
            tried = inverse @ z.T @ rest
            left_out = (rest - z @ tried) / np.maximum(1 - leverage, 1e-9)
            if left_out @ left_out < least * (1 - 1e-12):
                weights, least = tried, float(left_out @ left_out)
        return cls(scale, weights, float(gains.mean()))

    def of(self, x: Floats) -> Floats:
        """Return expected gains, float64 (n)."""
        found: Floats = self.mean + self.scale.of(x) @ self.weights
        return found


def first_stage_values(lists: CandidateLists, baseline: Floats) -> Floats:
    """Return what is known of each list before the second stage, float64 (n_lists, 3).

    They are the lead of the first stage's choice, how uneven the softmax of its scores is, and the logarithm
    of the number of items.
    """
    of = confidences(lists, baseline, baseline)
    return np.column_stack([of[:, 1:3], np.log(lists.lengths)])


class Spent(NamedTuple):
    """Result of a budget.

    Attributes
    ----------
    budget : float, the share of the cost of all lists.
    lists : float, the lists that are sent.
    value, random, oracle : float
        The metric if lists are sent by expected gain per cost, at random, by the gain per cost they have.
    gain : float
        The mean gain over random; larger is better.
    p, holm : float, optional
        Of that by the bootstrap over lists; after Holm's correction for all budgets.
    """

    budget: float
    lists: float
    value: float
    random: float
    oracle: float
    gain: float
    p: float | None
    holm: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Budget(Display):
    """Lists for which a second stage is worth its cost.

    Attributes
    ----------
    sample : Sample
        The lists, judged by the first stage ("baseline") and the second one ("system").
    costs : float64 (n_lists)
    expected : float64 (n_lists)
        Gains by models of the other folds.
    spent : list of Spent
    new : CandidateLists, optional
        Other lists, with ``new_expected`` gains and ``new_costs``.
    settings : mapping of str to Any
    """

    sample: Sample
    costs: Floats
    expected: Floats
    spent: list[Spent]
    new: CandidateLists | None = None
    new_expected: Floats | None = None
    new_costs: Floats | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def curves(self) -> dict[str, tuple[Floats, Floats]]:
        """Return the share of the cost and the metric after each list: expected, oracle, random."""
        return _curves(self.sample, self.costs, self.expected)

    def areas(self) -> dict[str, float]:
        """Return the mean of the metric over all budgets, by curve."""
        return {
            name: float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)) for name, (x, y) in self.curves.items()
        }

    def tables(self) -> list[Table]:
        """Return a row for each budget."""
        digits = self.sample.judge.digits

        def number(value: float | None) -> str:
            return value_text(value, digits)

        columns = (
            Column("budget", ("budget",), lambda share: f"{100 * share:.4g}%"),
            Column("lists", ("lists",), lambda n: f"{n:.0f}"),
            Column(self.settings["metric"], ("value",), number),
            Column("random", ("random",), number),
            Column("oracle", ("oracle",), number),
            Column("gain", ("gain",), number),
            Column("p", ("p",), p_text),
            Column("Holm", ("holm",), p_text),
        )
        rows = tuple(Row(tuple(getattr(one, column.keys[0]) for column in columns)) for one in self.spent)
        ends = self.curves["random"][1]
        areas = ", ".join(f"{name} {number(area)}" for name, area in self.areas().items())
        notes = (
            f"{int(self.sample.judged.sum())} judged lists; cost: {self.settings['cost']}; "
            f"first stage alone {number(float(ends[0]))}, second one everywhere {number(float(ends[-1]))}",
            f"area, the mean over all budgets: {areas}",
            "gain: over lists sent at random, per list; p: bootstrap over lists, Holm: for all budgets",
        )
        return [Table(columns, rows, notes=notes, signatures=(self.settings["signature"],))]

    def lines(self) -> list[str]:
        """Return the table as plain text, line by line."""
        return [line for one in self.tables() for line in text_lines(one)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        found: dict[str, Any] = plain(
            {
                "settings": dict(self.settings),
                "budgets": [one._asdict() for one in self.spent],
                "areas": self.areas(),
            }
        )
        return found

    def list_lines(self) -> Iterator[str]:
        """Yield a table of lists (TSV), of the new ones if there are some, the first to be sent first."""
        lists, expected, costs = self.sample.lists, self.expected, self.costs
        if self.new is not None:
            assert self.new_expected is not None
            assert self.new_costs is not None
            lists, expected, costs = self.new, self.new_expected, self.new_costs
        order = _order(expected, costs)
        share = np.cumsum(costs[order]) / costs.sum()
        rows = zip(order.tolist(), share.tolist(), strict=True)
        return tsv(
            ("list", "cost", "expected_gain", "spent"),
            ((lists.list_id(i), float(costs[i]), float(expected[i]), at) for i, at in rows),
        )

    def curve_lines(self) -> Iterator[str]:
        """Yield a table of the curves (TSV): curve, share of the cost, value."""
        rows = (
            (name, float(x), float(y))
            for name, both in self.curves.items()
            for x, y in zip(*both, strict=True)
        )
        return tsv(("curve", "spent", "value"), rows)


@opening_once
def budget(
    data: Any,
    second: Any,
    metric: str,
    *,
    cost: str | Sequence[float] = "lists",
    budgets: Sequence[float] = BUDGETS,
    folds: int = 5,
    baseline: Any = None,
    new: Any = None,
    per_list: str | None = None,
    curve: str | None = None,
    reading: Reading | None = None,
    **settings: Any,
) -> Budget:
    """Choose the lists for a costly second stage: those with the largest expected gain per cost.

    The gain is expected from what the first stage says alone, by regression on judged lists on which the
    second stage was run. It is judged on the other folds, and may be applied to new lists.

    Parameters
    ----------
    data, second : as for ``evaluate``: judged lists, and the second stage's scores.
    metric : str
    cost : "lists" (each costs the same), "items" (each item does), the name of a file as of --list-weights,
        or numbers above 0 (n_lists).
    budgets : shares of the cost of all lists, between 0 and 1.
    folds : 2 or more.
    baseline : the first stage's scores; None = its ranking in the lists.
    new : lists with a first stage, of which ``per_list`` tells the order in which to send them.
    per_list, curve : names of files.
    reading : how files are read.
    settings : of ``Judging``, as for ``evaluate``.

    Returns
    -------
    Budget

    Raises
    ------
    RerankError
        As ``evaluate``; for a budget outside (0, 1), a cost that is not above 0, or too few judged lists.

    Examples
    --------
    >>> import rerank
    >>> labels, first = [[1, 0], [0, 1]] * 20, [[0.9, 0.1], [0.52, 0.5]] * 20
    >>> found = rerank.budget(labels, labels, "P@1", baseline=first, budgets=[0.5])
    >>> round(found.spent[0].value, 4), round(found.spent[0].random, 4)
    (1.0, 0.75)
    """
    for share in budgets:
        if not 0 < share < 1:
            raise ConfigError(f"budget: found {share:g}, expected a share between 0 and 1")
    if not budgets:
        raise ConfigError("no budget is named")
    if folds < 2:
        raise ConfigError(f"folds: found {folds}, expected 2 or more")
    if new is not None and baseline is not None:
        raise ConfigError("baseline: not used with new lists, whose first stage is known")
    if new is not None and not (isinstance(cost, str) and cost in OF_LISTS):
        raise ConfigError("cost: found costs of the judged lists, expected lists or items with new lists")
    files = [one for one in (second, baseline, new) if isinstance(one, str)]
    outputs = {"--per-list": per_list, "--curve": curve}
    check_outputs(
        {option: path for option, path in outputs.items() if path is not None},
        inputs_of(data if is_path(data) else "", reading, *files),
    )
    sample, judging = judged_sample(data, second, metric, baseline, reading, settings)
    lists, known = sample.lists, np.flatnonzero(sample.judged)
    costs = _costs(cost, lists)
    x, gains = first_stage_values(lists, sample.scores["baseline"]), np.zeros(lists.n_lists)
    gains[known] = sample.gains(known)
    expected = np.zeros(lists.n_lists)
    for train, test in parts_of(lists, known, folds, judging.seed):
        model = ExpectedGain.fit(x[train], gains[train])
        expected[test] = model.of(x[test]) - model.mean
    # One mean for all folds: that of the others is low where a fold's own gains are high.
    expected += gains[known].mean()
    found = Budget(
        sample,
        costs,
        expected,
        _spent(sample, costs, expected, tuple(sorted(set(budgets))), judging.samples, judging.seed),
        *_new_lists(new, cost, reading, ExpectedGain.fit(x[known], gains[known])),
        settings={
            "metric": metric,
            "signature": f"{metric}: {sample.judge.signature}",
            "cost": cost if isinstance(cost, str) else "as given",
            "folds": folds,
        },
    )
    for path, lines in ((per_list, found.list_lines), (curve, found.curve_lines)):
        if path is not None:
            write_lines(path, lines())
    return found


def _costs(cost: str | Sequence[float], lists: CandidateLists) -> Floats:
    """The cost of each list, float64 (n_lists)."""
    if isinstance(cost, str) and cost in OF_LISTS:
        return np.ones(lists.n_lists) if cost == "lists" else lists.lengths.astype(np.float64)
    costs = read_list_weights(cost, lists) if isinstance(cost, str) else np.asarray(cost, dtype=np.float64)
    if costs.shape != (lists.n_lists,):
        raise DataError(f"cost: found {costs.size} numbers, expected {lists.n_lists}, one for each list")
    if not (np.isfinite(costs).all() and costs.min(initial=1.0) > 0):
        at = int(np.argmin(np.isfinite(costs) & (costs > 0)))
        raise DataError(f"cost of list {lists.list_id(at)!r}: found {costs[at]:g}, expected a number above 0")
    return costs


def _new_lists(
    new: Any, cost: str | Sequence[float], reading: Reading | None, model: ExpectedGain
) -> tuple[CandidateLists | None, Floats | None, Floats | None]:
    """New lists, what is expected of them, and their costs."""
    if new is None:
        return None, None, None
    lists = read_lists(new, reading)
    first = first_stage(lists)
    if first is None:
        raise DataError(f"{lists.source}: found no ranking of a first stage")
    return lists, model.of(first_stage_values(lists, first)), _costs(cost, lists)


def _order(gains: Floats, costs: Floats) -> Index:
    return np.argsort(-gains / costs, kind="stable").astype(np.int64)


def _curve(sample: Sample, known: Index, costs: Floats, gains: Floats) -> tuple[Floats, Floats]:
    """The share of the cost and the metric as judged lists (n) are sent, equal ones together."""
    before, after = (sample.statistics[name][known] for name in ("baseline", "system"))
    order = _order(gains, costs)
    falling = (gains / costs)[order]
    ends = np.append(0, np.flatnonzero(np.append(falling[1:] != falling[:-1], True)) + 1)
    sums = np.vstack([np.zeros(before.shape[1]), np.cumsum((after - before)[order], axis=0)])[ends]
    spent = np.append(0.0, np.cumsum(costs[order]))[ends] / costs.sum()
    shares = np.union1d(spent, np.linspace(0, 1, 101))  # between two ends lists come at random
    between = np.column_stack([np.interp(shares, spent, column) for column in sums.T])
    return shares, np.atleast_1d(np.asarray(sample.judge.score_from_sums(before.sum(axis=0) + between)))


def _curves(sample: Sample, costs: Floats, expected: Floats) -> dict[str, tuple[Floats, Floats]]:
    """The curve of each way to choose among the judged lists."""
    known = np.flatnonzero(sample.judged)
    gains = {"expected": expected[known], "oracle": sample.gains(known), "random": costs[known]}
    return {name: _curve(sample, known, costs[known], one) for name, one in gains.items()}


def _spent(
    sample: Sample, costs: Floats, expected: Floats, budgets: Sequence[float], samples: int, seed: int
) -> list[Spent]:
    """Return the result of each budget; lists at its edge, all of one gain per cost, are sent in part."""
    known = np.flatnonzero(sample.judged)
    curves, gains, own = _curves(sample, costs, expected), sample.gains(known), costs[known]
    per_cost = expected[known] / own
    sent = np.column_stack([_sent(per_cost, own, share) for share in budgets])
    per_list = np.round((sent - np.array(budgets)) * gains[:, None], 12)
    sampled = bootstrap_sums(per_list, samples, seed)
    means = per_list.sum(axis=0)
    p = [bootstrap_p(sampled[:, j], np.zeros(samples), float(means[j])) for j in range(len(budgets))]
    corrected, found = holm(p), []
    for j, share in enumerate(budgets):
        values = {name: float(np.interp(share, *curve)) for name, curve in curves.items()}
        three = values["expected"], values["random"], values["oracle"]
        found.append(Spent(share, float(sent[:, j].sum()), *three, float(means[j]), p[j], corrected[j]))
    return found


def _sent(per_cost: Floats, costs: Floats, share: float) -> Floats:
    """The part of each list that is sent, from 0 to 1 (n): those at the edge are sent in part."""
    of = np.unique(-per_cost, return_inverse=True)[1]
    spent = np.cumsum(np.bincount(of, weights=costs))
    before = np.append(0.0, spent[:-1])
    part: Floats = np.clip((share * costs.sum() - before) / (spent - before), 0.0, 1.0)
    return part[of]
