"""Training: from a configuration or from lists to a model, and the model to its files."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rerank.core.errors import ConfigError, DataNote, Interrupted
from rerank.core.files.write import check_target, write_lines
from rerank.core.types import ArrayLike, Floats
from rerank.core.workers.parallel import using
from rerank.data.array_inputs import vector
from rerank.data.base_scale import BaseScale
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.overlap import note_shared
from rerank.data.reading import PER_PART, DataSection, Part
from rerank.data.scaling import AUTO
from rerank.data.selection import selected
from rerank.data.unjudged import Unjudged
from rerank.evaluation.notes import note_ndcg
from rerank.formats import load
from rerank.formats.sources import (
    Data,
    all_or_none,
    check_inputs,
    check_outputs,
    is_path,
    read_lists,
    timing_of,
)
from rerank.learners.base import LEARNERS, Learner
from rerank.metrics.base import parse
from rerank.models.base import Model
from rerank.models.training import RestartsRecord
from rerank.training.base_tuning import TuneOn
from rerank.training.config import TrainConfig, learner_settings
from rerank.training.fitting import Margin
from rerank.training.options import Fitted, Plan, check_metric_used, fit_by, refuse_with_classes
from rerank.training.seeds import Runs
from rerank.training.select import ChooseOn
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs

if TYPE_CHECKING:
    from rerank.data.labels import Quantiser
    from rerank.models.weights import NamedWeights


@dataclass
class TrainResult:
    """A fitted model, the training lists, the seconds of each step and, with several seeds, all runs.

    The features of the lists may be given up, see ``CandidateLists.give_up_features``.
    """

    model: Model
    metric: str | None
    lists: CandidateLists
    seconds: dict[str, float] = field(default_factory=dict)
    runs: Runs | None = None

    def summary(self) -> list[str]:
        """Return lines for a person: what was learnt from what."""
        from rerank.models.describe_training import choice_lines, seed_lines, training_lines

        lines = choice_lines(self.model.training)
        lines += training_lines(self.model, self.lists, self.metric)
        seeds = self.model.training.seeds
        return lines if seeds is None else [*lines, *seed_lines(seeds)]


def make_learner(name: str, settings: Mapping[str, Any], where: str | None = None) -> Learner:
    """Return the learner called ``name`` with these settings.

    Parameters
    ----------
    name : a name of ``rerank list learners``.
    settings : the learner's own settings.
    where : how errors begin; None = ``learner NAME``.

    Raises
    ------
    ConfigError
        With the key and the value.
    """
    return LEARNERS.get(name).checked(settings, where or f"learner {name}")


def fit(
    learner: Learner,
    lists: CandidateLists,
    *,
    dev: CandidateLists | None = None,
    list_weights: Floats | None = None,
    unlabelled: CandidateLists | None = None,
    **plan: Any,
) -> Model:
    """Return a model of a learner as ``make_learner`` returns it.

    Parameters
    ----------
    learner : what is fitted.
    lists : training lists.
    dev : development lists, which need a metric.
    list_weights : importance weights of the training lists, float64 (n_lists).
    unlabelled : the lists to be ranked, for learners that learn from them without labels.
    plan : the fields of ``rerank.Plan``, such as metric="BLEU".

    Raises
    ------
    RerankError
        ConfigError, DataError or FitError.
    """
    return fit_by(Plan(**plan), learner, lists, dev, SideInputs(unlabelled, list_weights)).model


def train(
    lists: Data,
    learner: str = "perceptron",
    dev: Data | None = None,
    metric: str | None = None,
    scaling: str | None = None,
    keep_margin: Margin = None,
    base_scale: BaseScale = 1.0,
    tune_base: TuneOn = "none",
    choose: ChooseOn = "none",
    grid: Mapping[str, Any] | None = None,
    folds: int | None = None,
    list_weights: ArrayLike | None = None,
    unlabelled: Data | None = None,
    missing: str | None = None,
    unjudged: Unjudged = "skip",
    checkpoint: str | None = None,
    **settings: Any,
) -> Model:
    """Train a model on lists with labels.

    Parameters
    ----------
    lists : training lists: CandidateLists, a file or a data frame.
    learner : a name of ``rerank list learners``.
    dev : development lists, on which the metric is watched after each round.
    metric : what is optimised and watched; ``keep="best"`` keeps the best round by it.
    scaling : a name of ``rerank list scalings``, fitted on ``lists``; it becomes part of the model. None and
        auto = the learner's default.
    keep_margin : lead over the first-best that takes its place, "auto" = tuned on ``dev``.
    base_scale : what the feature that is the base score is multiplied by, after scaling, while the learner
        sees it; "auto" = as much variance within lists as all other features together.
    tune_base : tune the base score's weight after training on "dev" or on out-of-fold scores ("folds").
    choose : choose settings, and the number of rounds, on "dev" or on out-of-fold scores ("folds").
    grid : the values of each setting to choose from, such as ``{"tau": [0.1, 1], "base_scale": [1, 3]}``.
    folds : parts of the training lists for out-of-fold scores; None = 5.
    list_weights : importance weights of the training lists, such as ``weigh_lists(lists, test).weights``.
    unlabelled : the lists to be ranked, for learners that learn from them; labels are not read.
    missing : what happens to missing values (NaN): "error", "nan" (they stay), "zero", "mean", "list-mean" or
        "indicator", see data.missing. It is fitted on ``lists`` and becomes part of the model.
    unjudged : what the learner takes the unjudged items (label NaN) of lists with a judged item for: "skip"
        leaves them out, "negative" counts them as not relevant, "error" refuses them.
    checkpoint : file that keeps the state of the training, from which the same call goes on if it was
        interrupted; deleted at the end.
    settings : the learner's own settings.

    Returns
    -------
    Model
        With ``score(lists)`` and ``save(path)``.

    Raises
    ------
    RerankError
        ConfigError, DataError or FitError.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[0.0], [1.0], [3.0], [2.0]], [0, 1, 1, 0], group=[2, 2])
    >>> model = rerank.train(lists, learner="perceptron", epochs=5)
    >>> rerank.evaluate(lists, model.score(lists), ["RR"])
    {'RR': 1.0}
    """
    from rerank.training.checkpoint import Training, checkpointed, finished

    made = make_learner(learner, settings)
    owned = is_path(lists) and (dev is None or is_path(dev))
    lists = read_lists(lists)
    dev, unlabelled = (None if one is None else read_lists(one) for one in (dev, unlabelled))
    if list_weights is not None:
        list_weights = vector(list_weights, "list_weights", lists.n_lists)
    plan = Plan(
        metric=metric,
        scaling=scaling or AUTO,
        base_scale=base_scale,
        keep_margin=keep_margin,
        tune_base=tune_base,
        choose=choose,
        grid=grid or {},
        folds=folds,
        missing=missing,
        unjudged=unjudged,
    )
    extras = SideInputs(unlabelled, list_weights)
    if checkpoint is not None:
        check_target(checkpoint)
    check_metric_used(plan, made, lists, dev)
    with checkpointed(checkpoint, Training(plan, made, lists, dev, extras)):
        model = fit_by(plan, made, lists, dev, extras, owned=owned).model
    finished(checkpoint)
    return model


def learner_of(config: TrainConfig) -> Learner:
    """Return the learner of a configuration, with the run's seed and keep."""
    name = str(config.learner["name"])
    return make_learner(name, learner_settings(config, LEARNERS.get(name).settings))


def train_from(config: TrainConfig, checkpoint: str | None = None) -> TrainResult:
    """Train according to a configuration; the state of the training is kept in the file ``checkpoint``.

    Raises
    ------
    RerankError
        ConfigError if no training lists are named or a name is unknown, which is checked before anything
        is read; otherwise the errors of files, lists and learners.
    """
    from rerank.training.checkpoint import Training, check_keeps, checkpointed

    if config.cluster is not None and not plan_of(config).several:
        advice = "--seeds, --choose or --tune-base folds make several"
        raise ConfigError(f"cluster: not used by one fit, which runs in this process; {advice}")
    started = time.perf_counter()
    with using(config.jobs, config.cluster):
        if checkpoint is not None:
            check_keeps(learner_of(config))
        inputs = inputs_of_training(config)
        if config.select.metric is not None:
            note_ndcg(inputs.lists, [config.select.metric])
        check_metric_used(inputs.plan, inputs.learner, inputs.lists, inputs.dev)
        loaded = time.perf_counter()
        parts = Training(inputs.plan, inputs.learner, inputs.lists, inputs.dev, inputs.extras)
        with checkpointed(checkpoint, parts):
            fitted = fit_inputs(inputs, owned=True)
    seconds = {"load": loaded - started, "fit": time.perf_counter() - loaded}
    return TrainResult(fitted.model, config.select.metric, inputs.lists, seconds, fitted.runs)


@dataclass(frozen=True, eq=False)
class TrainInputs:
    """What a configuration trains: the learner, the plan around it, and the lists as they were read."""

    learner: Learner
    plan: Plan
    lists: CandidateLists
    dev: CandidateLists | None
    quantiser: Quantiser | None
    extras: SideInputs = NO_SIDE_INPUTS


def inputs_of_training(
    config: TrainConfig, of_training: Callable[[CandidateLists], CandidateLists] = lambda lists: lists
) -> TrainInputs:
    """Check a configuration and read its files; errors are those of ``train_from``.

    Parameters
    ----------
    config : what is trained.
    of_training : which of the training lists are used, before anything is learnt from them.
    """
    learner = learner_of(config)
    check_config(config, learner)
    learner.check_unlabelled(bool(config.data.unlabelled))
    check_inputs(config.data.files())
    if learner.reads_classes:
        config = config.with_settings(data=config.data.with_settings(classes=True))
    data = config.data
    quantiser = None
    if data.quantise is not None:
        from rerank.data.labels import parse_quantiser

        quantiser = parse_quantiser(data.quantise)
    lists = of_training(load_part(data, "train"))
    labels = None if quantiser is None else lists.labels
    if quantiser is not None:
        from rerank.models.predict import with_quantised

        # before features are selected: a model that quantises has its own
        lists = with_quantised(lists, quantiser)
    lists = selected(lists, data.features)
    dev = None
    if data.dev:
        dev = selected(load_part(data, "dev"), data.features, lenient=True)
    if not _note_same_file(data) and dev is not None:
        note_shared(lists, dev, "training lists")
    initial = None
    if data.initial_file is not None:
        from rerank.models.weights import load_weights

        initial = load_weights(data.initial_file)
    extras = replace(_extras(data, lists), labels=labels)
    return TrainInputs(learner, plan_of(config, initial), lists, dev, quantiser, extras)


def _extras(data: DataSection, lists: CandidateLists) -> SideInputs:
    """What learners get besides the training lists, read as these are."""
    weights = None
    if data.list_weights is not None:
        from rerank.formats.weights import read_list_weights

        weights = read_list_weights(data.list_weights, lists)
    if not data.unlabelled:
        return SideInputs(list_weights=weights)
    found = selected(load_part(data, "unlabelled"), data.features, lenient=True)
    note_shared(lists, found, "training lists")
    return SideInputs(found, weights)


def fit_inputs(inputs: TrainInputs, *, owned: bool = False) -> Fitted:
    """Fit what a configuration trains; parameters and errors are those of ``fit_by``."""
    given = inputs.plan, inputs.learner, inputs.lists, inputs.dev, inputs.extras
    fitted = fit_by(*given, owned=owned)
    if inputs.quantiser is not None:
        for one in (fitted.model,) if fitted.runs is None else fitted.runs.models.values():
            one.training.data = one.training.data.with_fields(quantise=str(inputs.quantiser))
    return fitted


def plan_of(config: TrainConfig, initial: NamedWeights | None = None) -> Plan:
    """Return the plan of a configuration; ``initial`` are the weights of its file."""
    select = config.select
    return Plan(
        metric=select.metric,
        scaling=config.scaling,
        base_scale=config.base_scale,
        initial=initial,
        keep_margin=None if select.keep_margin == "none" else select.keep_margin,
        tune_base=select.tune_base,
        choose=select.choose,
        grid=config.grid,
        folds=select.folds,
        seeds=config.seeds,
        missing=config.data.missing,
        unjudged=config.data.unjudged,
    )


def train_files(
    config: TrainConfig,
    out: str,
    curve: str | None = None,
    grid_out: str | None = None,
    checkpoint: str | None = None,
) -> TrainResult:
    """Train according to a configuration and write the model.

    Parameters
    ----------
    config : as returned by ``rerank.training.config.read_config``.
    out : the model file; with {seed} in its name, one for every run.
    curve : file for the learning curve or the restarts (TSV); times go to ``timing.NAME`` next to it.
    grid_out : file for the cells of the grid (TSV).
    checkpoint : file that keeps the state of the training, deleted after the model was written.

    Raises
    ------
    RerankError
        If an output cannot be written or would overwrite an input, which is checked first; otherwise as for
        ``train_from``.
    """
    from rerank.training.checkpoint import finished

    if "{seed}" in out and config.seeds < 2:
        raise ConfigError("--out: {seed} is for several runs: give --seeds N, 2 or more")
    if curve is not None and "{seed}" in curve:
        raise ConfigError("--curve: {seed} is for --out alone; the curve is that of the run that is kept")
    if grid_out is not None and config.select.choose == "none":
        raise ConfigError("--grid-out: no cells without --choose dev or --choose folds")
    outputs = {"--out": _models(config, out), "--curve": curve, "--grid-out": grid_out}
    outputs["--checkpoint"] = checkpoint
    check_outputs({name: path for name, path in outputs.items() if path is not None}, config.files())
    with _hinting(learner_of(config), checkpoint):
        result = train_from(config, checkpoint)
    with all_or_none():
        if grid_out is not None:
            from rerank.models.describe_training import cell_rows

            write_lines(grid_out, cell_rows(result.model.training))
        if curve is not None:
            write_curve(result, curve)
        save_models(result, out)
    finished(checkpoint)
    return result


@contextmanager
def _hinting(learner: Learner, checkpoint: str | None) -> Iterator[None]:
    """Name the option that keeps states if Ctrl-C loses them."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        if learner.resumable and checkpoint is None:
            raise Interrupted("nothing written (--checkpoint FILE keeps what is done)") from None
        raise


def _models(config: TrainConfig, path: str) -> list[str]:
    """The path of every model that ``save_models`` writes."""
    first = learner_of(config).get_params().get("seed")
    if "{seed}" not in path or first is None:  # fit_seeds refuses a learner without a seed
        return [path]
    return [path.replace("{seed}", str(first + k)) for k in range(config.seeds)]


def save_models(result: TrainResult, path: str) -> None:
    """Write the model, or with {seed} in the path the model of every run."""
    if result.runs is None or "{seed}" not in path:
        result.model.save(path)
        return
    for seed, model in result.runs.models.items():
        model.save(path.replace("{seed}", str(seed)))


def write_curve(result: TrainResult, path: str) -> None:
    """Write the learning curve as TSV, one row per round or restart, and the times next to it.

    Raises ConfigError if the learner has no rounds or restarts.
    """
    model, rounds = result.model, result.model.training.rounds
    restarts = rounds.restarts if isinstance(rounds, RestartsRecord) else ()
    curve = model.curve or [restart.as_json() for restart in restarts]
    if not curve:
        raise ConfigError(
            f"--curve: learner {model.training.learner!r} has no rounds or restarts, so no curve"
        )
    columns = list(curve[0])
    rows = ["\t".join(columns), *("\t".join(_cell(row[name]) for name in columns) for row in curve)]
    write_lines(path, rows)
    if path != "-":
        timing = ["step\tseconds", *(f"{step}\t{value:.3f}" for step, value in result.seconds.items())]
        write_lines(timing_of(path), timing)


def _cell(value: float | None) -> str:
    if value is None:
        return "nan"
    return str(int(value)) if isinstance(value, int) or float(value).is_integer() else repr(float(value))


def check_config(config: TrainConfig, learner: Learner) -> None:
    """Raise ConfigError at what can be refused before anything is read."""
    data = config.data
    if not data.train:
        raise ConfigError("data.train: found none, expected a file of training lists (--data FILE)")
    for part, prefix in (("train", ""), ("dev", "dev_")):
        n = len(getattr(data, part))
        keys = [f"{prefix}{key}" for key in PER_PART] + ["merge"] * (part == "train")
        for key in keys:
            if n > 1 and getattr(data, key):
                raise ConfigError(f"data.{key}: belongs to one file of lists, found {n} in data.{part}")
    if data.classes and not learner.reads_classes:
        raise ConfigError(f"data.classes: learner {learner.name} learns from labels with these settings")
    own = [
        name for name in ("label", "quantise", "refs", "first_best", "list_weights") if getattr(data, name)
    ]
    refuse_with_classes(learner, [f"data.{name}" for name in own])
    if data.init is not None and not learner.accepts_initial:
        raise ConfigError(f"learner {learner.name} accepts no initial weights (--init, data.init)")
    if data.list_weights is not None and not learner.accepts_list_weights:
        raise ConfigError(
            f"learner {learner.name} accepts no list weights (--list-weights, data.list_weights)"
        )
    if data.unlabelled:
        learner.check_unlabelled(True)
    if data.label is not None:
        parse(data.label)
    plan_of(config).check(learner)


def _note_same_file(data: DataSection) -> bool:
    """Warn if a file of development lists is one of training lists, and return whether one is."""
    train = {os.path.realpath(path) for path in data.train if path != "-"}
    same = [dev for dev in data.dev if os.path.realpath(dev) in train]
    for dev in same:
        warnings.warn(f"dev and train are the same file, {dev}", DataNote, stacklevel=3)
    return bool(same)


def load_part(data: DataSection, part: Part) -> CandidateLists:
    """Return the lists of one part with all features and labels, those of several files joined."""
    from rerank.data.joining import joined

    reading = data.reading(part).with_settings(features=())
    lists = joined([load(path, options=reading) for path in getattr(data, part)])
    if part == "unlabelled":
        return without_labels(lists, labels=False)
    bare = lists.labels is None and not lists.references and not lists.counts
    if data.refs and bare and lists.texts is not None:  # or the metric would ask for --refs, which is given
        raise ConfigError(f"{lists.source}: no references of the dev lists; give them with --dev-refs FILE")
    if data.label is None:
        return lists
    from rerank.metrics.labelling import label

    return label(lists, data.label)
