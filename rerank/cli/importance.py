"""``rerank importance``: importance of the features of models."""

from __future__ import annotations

from typing import Any, ClassVar

from rerank.cli.frame import TESTS, Output, Verb, VerbGroup, Workers, verb, write
from rerank.cli.train import Configured
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.training.options import TrainOptions


class Ranked(Output, Verb):
    """A table of features, the most important ones first."""

    top: int = setting(50, "rows of the table", flags=("--top", "-n"), metavar="N", ge=1)
    out: str | None = setting(  # type: ignore[assignment]  # it may be left out
        None, "write all rows as well, in the order of features (TSV)", flags=("--out", "-o"), metavar="FILE"
    )

    def show(self, found: Any) -> None:
        """Print what was found, and write all of its rows if asked to."""
        from rerank.core.files.write import write_lines
        from rerank.core.tables.text import text_lines

        tables = found.tables(self.top)
        write(self.as_, lambda: text_lines(tables[0]), found.as_json, lambda: tables)
        if self.out is not None:
            write_lines(self.out, found.tsv())


class Grouped(Settings):
    """Features that go together."""

    group: tuple[str, ...] = setting(
        (), "features that go together, as for --features: 'prm*,-prm7'; default: each alone", metavar="ITEMS"
    )


class Weights(Ranked):
    """Options of ``rerank importance weights``."""

    reads: ClassVar = True

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")


@verb(Weights)
def weights(given: Weights) -> None:
    """Print the weights of a linear model times the features' standard deviations within lists.

    \b
    rerank importance weights model dev.txt
    """
    from rerank.models.importance import standardised_weights

    given.check_out(given.data, given.model)
    found = standardised_weights(given.model, given.data, reading=given.reading)
    given.show(found)


class Permute(Grouped, Workers, Ranked):
    """Options of ``rerank importance permute``."""

    reads: ClassVar = True
    judges: ClassVar = ("metrics", "baseline", "missing_lists", "level")

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    data: str = setting(..., "judged lists; - is standard input", argument=True, metavar="DATA")
    metric: str | None = setting(None, "metric of the loss", flags=("--metric", "-m"), metavar="METRIC")
    repeats: int = setting(10, "permutations of each list", metavar="N", ge=1, group=TESTS)
    permutation_seed: int = setting(1, "random seed of the permutations", metavar="N", ge=0, group=TESTS)


@verb(Permute)
def permute(given: Permute) -> None:
    """Permute each feature, or group of features, within each list; report the metric's loss, with intervals.

    \b
    rerank importance permute model test.txt --metric AP
    rerank importance permute model test.store --metric PARSEVAL --group 'Rule*' --group 'Heads*'
    """
    from rerank.models.importance import permutation_importance

    if given.metric is None:
        raise ConfigError("no metric: give one (--metric)")
    given.check_out(given.data, given.model)
    found = permutation_importance(
        given.model,
        given.data,
        given.metric,
        groups=given.group,
        **given.others("model", "data", "metric", "group", "top", "out", "as_"),
        **given.judging,
    )
    given.show(found)


class Ablate(Configured, Grouped, Ranked):
    """Options of ``rerank importance ablate``."""

    configures: ClassVar = TrainOptions
    judges: ClassVar = ("metrics", "baseline", "missing_lists", "level", "seed")

    test: str | None = setting(None, "lists on which models are compared; default: dev", metavar="FILE")
    test_refs: tuple[str, ...] = setting((), "their references", metavar="FILE")
    resampling_seed: int = setting(12345, "random seed of the tests", metavar="N", ge=0, group=TESTS)


@verb(Ablate)
def ablate(given: Ablate) -> None:
    """Train without each feature, or group of features; report the loss of the metric on other lists.

    \b
    rerank importance ablate --data train.txt --dev vali.txt --test test.txt --metric AP --keep best
    """
    from rerank.training.ablation import ablation
    from rerank.training.config import read_config

    trained = read_config(
        given.config,
        given.set_ or [],
        given.typed if given.learner is None else {**given.typed, "learner.name": given.learner},
    )
    given.check_out(*trained.files(), *(given.test_refs or []), *([] if given.test is None else [given.test]))
    found = ablation(
        None,
        trained,
        test=given.test,
        test_refs=given.test_refs or [],
        groups=given.group or [],
        judging={"seed": given.resampling_seed, **given.judging},
    )
    given.show(found)


GROUP = VerbGroup(
    "Measure importance of features: weights, permutations, ablation.",
    {"weights": weights, "permute": permute, "ablate": ablate},
)
