"""Rankings judged over the same resampled lists, the basis of intervals, tests and variances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rerank.data.judge import corpus_value
from rerank.data.types import Floats, Mask
from rerank.evaluation.significance import Comparison, bootstrap_sums, compare, interval
from rerank.evaluation.variance import Variance, of_values
from rerank.metrics.judges import ReportJudge


class Resampled:
    """Statistics of several rankings by the same judges, and their sums over the same resampled lists.

    Methods take rankings by their names in ``rows``, and judges by their position m in ``judges``.

    Parameters
    ----------
    judges : sequence of ReportJudge
    rows : mapping of str to list of float64 (n_lists, k)
        The statistics of each ranking, by judge.
    judged : bool (n_lists)
        The lists that are drawn from.
    samples, seed : int
    """

    def __init__(
        self,
        judges: Sequence[ReportJudge],
        rows: Mapping[str, list[Floats]],
        judged: Mask,
        samples: int,
        seed: int,
    ) -> None:
        self.judges = judges
        self.rows = rows
        if not rows:
            return
        columns = [per_list[judged] for row in rows.values() for per_list in row]
        sums = bootstrap_sums(np.concatenate(columns, axis=1), samples, seed)
        parts = iter(np.split(sums, np.cumsum([column.shape[1] for column in columns])[:-1], axis=1))
        self._sampled = {
            name: [np.asarray(judge.score_from_sums(next(parts))) for judge in judges] for name in rows
        }

    def value(self, name: str, m: int) -> float:
        """Return the corpus value of a ranking by judge m."""
        return corpus_value(self.judges[m], self.rows[name][m])

    def list_values(self, name: str, m: int) -> Floats:
        """Return each list's value on its own (n_lists), NaN if the list does not count."""
        judge = self.judges[m]
        return np.where(judge.judged, judge.score_from_sums(self.rows[name][m]), np.nan)

    def interval(self, name: str, m: int, level: float) -> tuple[float, float] | None:
        """Return the percentile interval of a ranking's value by judge m."""
        return interval(self._sampled[name][m], level)

    def compare(self, a: str, b: str, m: int) -> Comparison:
        """Return the tests of ranking a against ranking b by judge m."""
        return compare(
            self.list_values(a, m),
            self.list_values(b, m),
            self.judges[m].better,
            self.value(a, m) - self.value(b, m),
            self._sampled[a][m],
            self._sampled[b][m],
        )

    def variance(self, names: Sequence[str], m: int, level: float) -> Variance:
        """Return how much runs of one system differ by judge m, and how much the lists contribute."""
        values = [self.value(name, m) for name in names]
        sampled = np.stack([self._sampled[name][m] for name in names])
        return of_values(self.judges[m].name, values, sampled, level)
