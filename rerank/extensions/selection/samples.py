"""Benefit of more samples: metrics of k samples over k, and from which k on the next ones stop paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, interval_text, p_text, value_text
from rerank.core.tables.text import text_lines
from rerank.evaluation.judged import Judged
from rerank.evaluation.results import WHOLE, MetricResults, plain
from rerank.evaluation.significance import bootstrap_p, holm

if TYPE_CHECKING:
    from rerank.report.page.parts import Section, View


def sizes_to(largest: int) -> list[int]:
    """Return 1, 2, 4, ... and the largest number of samples; ConfigError if that is below 2."""
    if largest < 2:
        raise ConfigError(f"curve-n: found {largest}, expected 2 or more samples")
    return [*(1 << i for i in range((largest - 1).bit_length())), largest]


def by_sizes(metrics: Sequence[str], largest: int) -> list[str]:
    """Return metrics such as best, maj or wmaj for each number of samples: best@1, best@2, ...

    Raises ConfigError if there is none, or one has a number of its own.
    """
    if not metrics:
        raise ConfigError("curve-n: found no metric, expected some without @k, such as best, maj or wmaj")
    for name in metrics:
        if "@" in name:
            raise ConfigError(f"curve-n: found metric {name}, expected {name.partition('@')[0]}: k is varied")
    return [f"{name}@{k}" for name in metrics for k in sizes_to(largest)]


class Step(NamedTuple):
    """A metric of k samples.

    Attributes
    ----------
    system, metric : str
    k : int
    value : float
    ci : (float, float), optional
    gain : float, optional
        Over the row before, larger is better.
    p, holm : float, optional
        Of that gain by the paired bootstrap over lists, and after Holm's correction for all rows.
    rest : float, optional
        What the largest k gains over this one, larger is better.
    rest_holm : float, optional
        Of that, after Holm's correction for all rows.
    """

    system: str
    metric: str
    k: int
    value: float
    ci: tuple[float, float] | None
    gain: float | None = None
    p: float | None = None
    holm: float | None = None
    rest: float | None = None
    rest_holm: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SampleCurve(Display):
    """Metrics of k samples over k.

    Attributes
    ----------
    judged : Judged
        Of the metrics that ``by_sizes`` gave.
    metrics : sequence of str
        Without k.
    largest : int
    """

    judged: Judged
    metrics: Sequence[str]
    largest: int

    @cached_property
    def steps(self) -> list[Step]:
        """Return a row for each system, metric and k."""
        sizes = sizes_to(self.largest)
        found: list[Step] = []
        for base in self.metrics:
            metrics = [self.judged.metric(f"{base}@{k}") for k in sizes]
            for system in self.judged.runs:
                rows = [metric.rows[system][WHOLE] for metric in metrics]
                for j, (k, row) in enumerate(zip(sizes, rows, strict=True)):
                    gain, p = self._gain(system, metrics[j], metrics[j - 1]) if j else (None, None)
                    last = k == self.largest
                    rest, of_rest = (None, None) if last else self._gain(system, metrics[-1], metrics[j])
                    found.append(Step(system, base, k, row.value, row.ci, gain, p, None, rest, of_rest))
        gains, rests = holm([one.p for one in found]), holm([one.rest_holm for one in found])
        return [
            one._replace(holm=gain, rest_holm=rest)
            for one, gain, rest in zip(found, gains, rests, strict=True)
        ]

    def _gain(self, system: str, metric: MetricResults, other: MetricResults) -> tuple[float, float | None]:
        """By how much one metric of a system is better than another one, and p."""
        more = metric.rows[system][WHOLE].value - other.rows[system][WHOLE].value
        table = self.judged.bootstrap_table()
        own, others = (table.sampled[system][one.place] for one in (metric, other))
        return metric.better * more, bootstrap_p(own, others, more)

    def enough(self) -> dict[tuple[str, str], int]:
        """Return, by system and metric, the smallest k from which the largest is not significantly better."""
        alpha, sizes = 1 - self.judged.judging.level, sizes_to(self.largest)
        following = dict(pairwise(sizes))
        found: dict[tuple[str, str], int] = {}
        for one in reversed(self.steps):
            key = one.system, one.metric
            pays = (one.rest or 0.0) > 0 and one.rest_holm is not None and one.rest_holm < alpha
            if key not in found or (not pays and found[key] == following[one.k]):
                found[key] = one.k
        return dict(reversed(found.items()))

    def tables(self) -> list[Table]:
        """Return the table of steps."""
        digits = next(iter(self.judged.metrics.values())).digits
        columns = (
            Column("system", ("system",), left=True),
            Column("metric", ("metric",), left=True),
            Column("k", ("k",)),
            Column("value", ("value",), lambda value: value_text(value, digits)),
            Column("interval", ("ci",), lambda value: interval_text(value, digits)),
            Column("gain", ("gain",), lambda value: value_text(value, digits)),
            Column("p", ("p",), p_text),
            Column("Holm", ("holm",), p_text),
        )
        keys = [column.keys[0] for column in columns]
        rows = tuple(Row(tuple(getattr(one, key) for key in keys)) for one in self.steps)
        enough = tuple(
            f"{system}, {metric}: k = {k} is enough, {self.largest} is not significantly better"
            if k < self.largest
            else f"{system}, {metric}: {k} is significantly better than fewer"
            for (system, metric), k in self.enough().items()
        )
        tested = sum(one.p is not None for one in self.steps)
        notes = (
            f"gain: over the row above; p: paired bootstrap over lists; Holm: p corrected for {tested} tests",
            *enough,
        )
        first = (self.judged.metric(f"{base}@1").signature for base in self.metrics)
        signatures = tuple(one.replace("@1|", "@k|", 1) for one in first)
        return [Table(columns, rows, notes=notes, signatures=signatures)]

    def lines(self) -> list[str]:
        """Return the table as plain text, line by line."""
        return [line for one in self.tables() for line in text_lines(one)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        enough = [
            {"system": system, "metric": metric, "k": k} for (system, metric), k in self.enough().items()
        ]
        found: dict[str, Any] = plain({"steps": [one._asdict() for one in self.steps], "enough": enough})
        return found

    def section(self, view: View) -> Section:
        """Return the section of the page: a figure for each metric, values over k."""
        from rerank.report.page.drawing import Series
        from rerank.report.page.parts import Section, figure, number

        figures = []
        sizes = np.array(sizes_to(self.largest), dtype=np.float64)
        for base in self.metrics:
            digits = self.judged.metric(f"{base}@1").digits
            lines = []
            for system in view.drawn:
                rows = [one for one in self.steps if (one.system, one.metric) == (system, base)]
                ends = np.array([one.ci or (np.nan, np.nan) for one in rows]).T
                y = np.array([one.value for one in rows])
                lines.append(Series(system, sizes, y, view.look(system), *ends))
            said = "; ".join(
                f"{line.name} {number(line.y[0], digits)} to {number(line.y[-1], digits)}" for line in lines
            )
            svg = view.pen.lines(
                f"{base}@k for k from 1 to {self.largest}: {said}.",
                lines,
                x_label="k, samples",
                y_label=f"{base}@k",
                number=partial(number, digits=digits),
                ticks=[(float(k), str(int(k))) for k in sizes],
                log_x=True,
            )
            caption = f"Values with {view.percent()} intervals."
            figures.append(figure(svg, f"{base}@k", caption, [view.key(name) for name in view.drawn]))
        lead = "What k of the samples of a list give, as a mean over all choices of k." + view.some_drawn()
        return Section("samples", "Value by number of samples", lead, (), figures)
