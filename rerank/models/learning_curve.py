"""The learning curve of a model: what was watched in training, by round."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import columns_of, frame_of
from rerank.core.types import Floats


class LearningCurve(list[dict[str, float]]):
    """A row for each round: its number, what the learner counted, and the metric on train and dev lists.

    Attributes
    ----------
    metric : str
        The metric that was watched, "" without one.
    kept : int, optional
        The round that became the model; None without rounds.

    Examples
    --------
    >>> curve = LearningCurve([{"round": 1, "dev": 0.5}, {"round": 2, "dev": 0.75}])
    >>> curve.arrays()["dev"]
    array([0.5 , 0.75])
    """

    metric: str = ""
    kept: int | None = None

    def arrays(self) -> dict[str, Floats]:
        """Return the values by round, float64 (n_rounds), by column; NaN if a round has no value."""
        return {name: np.array(values, dtype=np.float64) for name, values in columns_of(self).items()}

    def to_dataframe(self, library: str = "pandas") -> Any:
        """Return a row for each round as a data frame of pandas or polars; ConfigError as for results."""
        return frame_of(columns_of(self), library)

    def plot(self, *columns: str, ax: Any = None) -> Any:
        """Draw columns by round on axes of matplotlib, with a line at the round that was kept.

        Parameters
        ----------
        columns : names of columns; none = the metric on train and dev lists, or else the learner's first
            count, such as its loss.
        ax : axes of matplotlib; None = those of a new figure.

        Returns
        -------
        axes

        Raises
        ------
        ConfigError
            If matplotlib is not installed, the learner has no rounds, or a column is unknown.
        """
        from rerank.evaluation.plots import curves

        found = self.arrays()
        x = found.pop("round", np.arange(1.0, len(self) + 1))
        if not found:
            raise ConfigError("the model has no learning curve: it was loaded, or its learner has no rounds")
        for name in columns:
            if name not in found:
                raise ConfigError(f"unknown column {name!r} of the curve; {did_you_mean(name, found)}")
        watched = [name for name in ("train", "dev") if name in found]
        drawn = [*(columns or watched or list(found)[:1])]
        ax = curves({name: (x, found[name]) for name in drawn}, ax)
        if self.kept:
            ax.axvline(self.kept, label=f"kept: round {self.kept}", color="grey", linestyle=":")
            ax.legend()
        label = self.metric if set(drawn) <= {"train", "dev"} else drawn[0] if len(drawn) == 1 else ""
        ax.set(xlabel="round", ylabel=label)
        return ax
