"""Runs of one learner over consecutive seeds, their variance, and the choice of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError
from rerank.core.workers import parallel
from rerank.data.judge import corpus_value
from rerank.evaluation.variance import Variance, variance
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.training import SeedsRecord
from rerank.training.base_tuning import NO_TUNING, BaseTuning
from rerank.training.fitting import Margin, final_scores, fit_prepared, note_choice_on_dev
from rerank.training.prepare import Prepared

_RUN_BYTES = 4096  # of a model beside its weights


@dataclass(frozen=True, eq=False)
class Runs:
    """Models of one learner by seed, their variance on ``part`` (train or dev), and the chosen seed."""

    models: dict[int, Model]
    part: str
    variance: Variance
    seed: int

    @property
    def model(self) -> Model:
        """The chosen model."""
        return self.models[self.seed]


def fit_seeds(
    prepared: Prepared,
    learner: Learner,
    n: int,
    keep_margin: Margin = None,
    tune_base: BaseTuning = NO_TUNING,
) -> Runs:
    """Fit ``n`` times, with the learner's seed and those after it, and choose one run by the metric.

    That is the best run on the dev lists; on ties the first wins. Without dev lists it is the median run on
    the training lists, the lower one of two: the best one there is the one that overfits most.

    Parameters
    ----------
    prepared : lists, judges and scaling.
    learner : one that has a seed.
    n : number of runs, 2 or more.
    keep_margin, tune_base : as for ``fit_prepared``, in each run.

    Raises
    ------
    ConfigError
        If the learner draws nothing, no metric is given, or n is below 2.
    """
    settings = learner.get_params()
    if "seed" not in settings:
        raise ConfigError(f"seeds: learner {learner.name} draws nothing, so it has no seed to vary")
    part = prepared.chooser
    judge = part.judge
    if judge is None:
        raise ConfigError("seeds: runs are compared by a metric: give one (--metric, metric=)")
    if n < 2:
        raise ConfigError(f"seeds: found {n}, expected 2 or more")
    size = 8 * part.lists.n_features + 24 * part.lists.n_lists + _RUN_BYTES
    memory.require(n * size, f"{n:,} runs", "fewer runs need less (--seeds)")
    seeds = [settings["seed"] + k for k in range(n)]
    runs = [(prepared, type(learner)(**{**settings, "seed": seed}), keep_margin, tune_base) for seed in seeds]
    step = ("training with several seeds", "run")
    models = parallel.each(fit_prepared, runs, threads=True, anywhere=True, step=step)
    rows = [judge.per_list(final_scores(model, part.lists)) for model in models]
    goodness = np.array([judge.better * corpus_value(judge, row) for row in rows])
    goodness[np.isnan(goodness)] = -np.inf
    worst_first = np.lexsort((-np.arange(n), goodness))
    chosen = worst_first[-1] if prepared.dev is not None else worst_first[(n - 1) // 2]
    found = Runs(dict(zip(seeds, models, strict=True)), part.name, variance(judge, rows), seeds[chosen])
    training = found.model.training
    training.seeds = SeedsRecord(
        first=seeds[0],
        n=n,
        chosen=found.seed,
        by="median" if prepared.dev is None else "best",
        on=part.name,
        **found.variance.as_dict(),
    )
    note_choice_on_dev(training)
    return found
