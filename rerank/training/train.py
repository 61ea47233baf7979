"""Training: from files or lists and options to a model, and the model to its files."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataNote, Interrupted
from rerank.core.files.write import check_target, write_lines
from rerank.core.types import ArrayLike
from rerank.core.workers.parallel import using
from rerank.data.array_inputs import vector
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note_shared
from rerank.data.reading import DataSection, Part
from rerank.data.selection import selected
from rerank.data.text_reading import to_rank
from rerank.evaluation.notes import note_ndcg
from rerank.formats.base import load_for
from rerank.formats.sources import (
    Data,
    all_or_none,
    check_inputs,
    check_outputs,
    is_path,
    read_lists,
    timing_of,
)
from rerank.learners.base import Learner
from rerank.metrics.labelling import label
from rerank.models.base import Model
from rerank.models.training import RestartsRecord
from rerank.training.checkpoint import check_keeps, checkpointed, finished
from rerank.training.data import NO_SIDE_INPUTS, SideInputs
from rerank.training.options import KEYWORDS, TrainOptions, check_data, options_of
from rerank.training.pipeline import Pipeline, check_metric_used, pipeline_of
from rerank.training.select import select

if TYPE_CHECKING:
    from rerank.models.weights import NamedWeights


class TrainResult(Struct):
    """A fitted model, the training lists, the seconds of each step and, with several seeds, all models.

    The features of the lists may be given up, see ``CandidateLists.give_up_features``.
    """

    model: Model
    metric: str | None
    lists: CandidateLists
    seconds: dict[str, float] = field(default_factory=dict)
    by_seed: dict[int, Model] = field(default_factory=dict)

    def summary(self) -> list[str]:
        """Return lines for a person: what was learnt from what."""
        from rerank.models.describe_training import choice_lines, seed_lines, training_lines

        lines = [*choice_lines(self.model.training), *training_lines(self.model, self.lists, self.metric)]
        seeds = self.model.training.seeds
        return lines if seeds is None else [*lines, *seed_lines(seeds)]


def train(
    data: Data,
    options: TrainOptions | Learner | str | None = None,
    *,
    dev: Data | None = None,
    unlabelled: Data | None = None,
    list_weights: ArrayLike | None = None,
    initial: NamedWeights | None = None,
    checkpoint: str | None = None,
    **given: Any,
) -> Model:
    """Train a model on lists with labels.

    Parameters
    ----------
    data : training lists: CandidateLists, a file or a data frame.
    options : all settings as ``rerank.training.config.read_config`` returns them; or a name of ``rerank list
        learners``, or a learner, whose other settings are ``given``.
    dev : development lists, on which the metric is watched after each round.
    unlabelled : the lists to be ranked, for learners that learn from them; labels are not read.
    list_weights : importance weights of the training lists, such as ``weigh_lists(lists, test).weights``.
    initial : weights of the raw features to start from.
    checkpoint : file that keeps the state of the training, from which the same call continues if it was
        interrupted; deleted at the end.
    given : settings by name, without their section: those of ``rerank help configuration``, such as metric,
        scaling, base_scale, missing, unjudged, keep_margin, tune_base, select, grid, folds and seeds, and the
        learner's own; ``learner`` is its name.

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
    pipeline = pipeline_from(options, **given)
    owned = is_path(data) and (dev is None or is_path(dev))
    lists, dev, side = given_inputs(pipeline, data, dev, unlabelled, list_weights, initial)
    if checkpoint is not None:
        check_target(checkpoint)
    check_metric_used(pipeline, lists, dev)
    workers = using(pipeline.options.jobs, pipeline.options.cluster)
    with workers, checkpointed(checkpoint, pipeline, lists, dev, side):
        model = select(pipeline, lists, dev, side, owned=owned).model
    finished(checkpoint)
    return model


def pipeline_from(options: TrainOptions | Learner | str | None = None, **given: Any) -> Pipeline:
    """Return what ``train`` does with the same arguments; raise ConfigError if they do not fit together."""
    if isinstance(options, TrainOptions):
        if given:
            raise ConfigError(f"{next(iter(given))}: not used with TrainOptions, which have all settings")
        return pipeline_of(options)
    if options is not None and "learner" in given:
        raise ConfigError(f"learner: given twice, {options!r} and {given['learner']!r}")
    learner = given.pop("learner", options)
    if not isinstance(learner, Learner):
        return pipeline_of(options_of(learner, given))
    more = {name: value for name, value in given.items() if name not in KEYWORDS}
    learner = learner.copy_with(more, f"learner {learner.name}") if more else learner
    return pipeline_of(options_of(learner, {name: given[name] for name in given.keys() - more}), learner)


def given_inputs(
    pipeline: Pipeline,
    data: Data,
    dev: Data | None,
    unlabelled: Data | None = None,
    list_weights: ArrayLike | None = None,
    initial: NamedWeights | None = None,
) -> tuple[CandidateLists, CandidateLists | None, SideInputs]:
    """Return training and dev lists, and side inputs, of the arguments of ``train``, which has the errors."""
    section = pipeline.options.data
    lists = _heading(pipeline, data) if pipeline.spread else _given(section, data, "train")
    weights = None if list_weights is None else vector(list_weights, "list_weights", lists.n_lists)
    side = SideInputs(other_lists(section, unlabelled, "unlabelled"), weights, initial=initial)
    dev = other_lists(section, dev, "dev")
    lists, side = _changed(pipeline, lists, side)
    return lists, dev, side


def _heading(pipeline: Pipeline, data: Any) -> CandidateLists:
    from rerank.training.sums.fit import heading_of  # most fits do not need it

    return heading_of(pipeline, data)


def _given(section: DataSection, data: Data, part: Part) -> CandidateLists:
    """Lists in memory, or those of a file, which is read as the section says."""
    if is_path(data):
        return load_part(section.with_settings(**{part: (os.fspath(data),)}), part)
    lists = read_lists(data)
    return lists if section.label is None or part == "unlabelled" else label(lists, section.label)


def other_lists(section: DataSection, data: Data | None, part: Part) -> CandidateLists | None:
    """Return lists besides the training lists, of which only some features are selected, too."""
    return None if data is None else selected(_given(section, data, part), section.features, lenient=True)


def _changed(
    pipeline: Pipeline, lists: CandidateLists, side: SideInputs
) -> tuple[CandidateLists, SideInputs]:
    """Training lists after the steps of stage data, with the features selected, and their former labels."""
    for step in pipeline.stage("data"):  # before features are selected: a model that quantises has its own
        side = replace(side, labels=lists.labels)
        lists = step.fit(lists, lists).apply(lists)
    return selected(lists, pipeline.options.data.features), side


def read_inputs(
    pipeline: Pipeline, of_training: Callable[[CandidateLists], CandidateLists] = lambda lists: lists
) -> tuple[CandidateLists, CandidateLists | None, SideInputs]:
    """Read the files that the options of a pipeline name: training and dev lists, and side inputs.

    Parameters
    ----------
    pipeline : what is trained.
    of_training : which of the training lists are used, before anything is learnt from them.

    Raises
    ------
    RerankError
        ConfigError before anything is read if the section ``data`` does not fit; otherwise the errors of
        files and lists.
    """
    data, learner = pipeline.options.data, pipeline.learner
    check_data(pipeline.options, learner)
    learner.check_unlabelled(bool(data.unlabelled))
    check_inputs(data.files())
    if learner.reads_classes:
        data = data.with_settings(classes=True)
    given = _heading(pipeline, data.train) if pipeline.spread else of_training(load_part(data, "train"))
    lists, side = _changed(pipeline, given, NO_SIDE_INPUTS)
    dev = selected(load_part(data, "dev"), data.features, lenient=True) if data.dev else None
    if not _note_same_file(data) and dev is not None:
        note_shared(lists, dev, "training lists")
    if data.initial_file is not None:
        from rerank.models.weights import load_weights

        side = replace(side, initial=load_weights(data.initial_file))
    if data.list_weights is not None:
        from rerank.formats.weights import read_list_weights

        side = replace(side, list_weights=read_list_weights(data.list_weights, lists))
    if data.unlabelled:
        found = selected(load_part(data, "unlabelled"), data.features, lenient=True)
        note_shared(lists, found, "training lists")
        side = replace(side, unlabelled=found)
    return lists, dev, side


def train_files(
    options: TrainOptions,
    out: str | None = None,
    curve: str | None = None,
    grid_out: str | None = None,
    checkpoint: str | None = None,
) -> TrainResult:
    """Train on the files that options name, and write the model.

    Parameters
    ----------
    options : as returned by ``rerank.training.config.read_config``.
    out : the model file; with {seed} in its name, one for every run; None = it is only returned.
    curve : file for the learning curve or the restarts (TSV); times go to ``timing.NAME`` next to it.
    grid_out : file for the cells of the grid (TSV).
    checkpoint : file that keeps the state of the training, deleted after the model was written.

    Raises
    ------
    RerankError
        If a setting is wrong, or an output cannot be written or would overwrite an input, which is checked
        before anything is read; otherwise the errors of files, lists and learners.
    """
    pipeline = pipeline_of(options)
    _check_outputs(pipeline, out, curve, grid_out, checkpoint)
    started = time.perf_counter()
    # Before a cluster is asked for anything: it is the beginning of the training lists.
    read = read_inputs(pipeline) if pipeline.spread else None
    with using(options.jobs, options.cluster), _hinting(pipeline.learner, checkpoint):
        if checkpoint is not None:
            check_keeps(pipeline)
        lists, dev, side = read or read_inputs(pipeline)
        if options.select.metric is not None:
            note_ndcg(lists, [options.select.metric])
        check_metric_used(pipeline, lists, dev)
        loaded = time.perf_counter()
        with checkpointed(checkpoint, pipeline, lists, dev, side):
            found = select(pipeline, lists, dev, side, owned=True)
    seconds = {"load": loaded - started, "fit": time.perf_counter() - loaded}
    metric = options.select.metric or found.model.training.rounds.metric
    result = TrainResult(found.model, metric, lists, seconds, found.by_seed)
    with all_or_none():
        if grid_out is not None:
            from rerank.models.describe_training import cell_rows

            write_lines(grid_out, cell_rows(result.model.training))
        if curve is not None:
            write_curve(result, curve)
        if out is not None:
            save_models(result, out)
    finished(checkpoint)
    return result


def _check_outputs(
    pipeline: Pipeline, out: str | None, curve: str | None, grid_out: str | None, checkpoint: str | None
) -> None:
    """Raise an error for outputs that would never be written, or over an input."""
    options = pipeline.options
    if out is not None and "{seed}" in out and (options.seeds < 2 or not pipeline.learner.draws):
        raise ConfigError("--out: {seed} is for several runs of a learner that draws: give --seeds N")
    if curve is not None and "{seed}" in curve:
        raise ConfigError("--curve: {seed} is for --out alone; the curve is that of the run that is kept")
    if grid_out is not None and options.select.by == "none":
        raise ConfigError("--grid-out: no cells without --select dev or --select cv")
    first = pipeline.learner.get_params().get("seed")
    models: list[str] = [] if out is None else [out]
    if out is not None and "{seed}" in out and first is not None:
        models = [out.replace("{seed}", str(first + k)) for k in range(options.seeds)]
    others = {"--curve": curve, "--grid-out": grid_out, "--checkpoint": checkpoint}
    given = {name: path for name, path in others.items() if path is not None}
    check_outputs({"--out": models, **given}, options.files())


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


def save_models(result: TrainResult, path: str) -> None:
    """Write the model, or with {seed} in the path the model of every run."""
    if not result.by_seed or "{seed}" not in path:
        result.model.save(path)
        return
    for seed, model in result.by_seed.items():
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
    write_lines(
        path, ["\t".join(columns), *("\t".join(_cell(row[name]) for name in columns) for row in curve)]
    )
    if path != "-":
        timing = ["step\tseconds", *(f"{step}\t{value:.3f}" for step, value in result.seconds.items())]
        write_lines(timing_of(path), timing)


def _cell(value: float | None) -> str:
    if value is None:
        return "nan"
    return str(int(value)) if isinstance(value, int) or float(value).is_integer() else repr(float(value))


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
    lists = joined([load_for(path, reading, None, fill=False) for path in getattr(data, part)])
    if part == "unlabelled":
        return to_rank(lists)
    bare = lists.labels is None and not lists.references and not lists.counts
    if data.refs and bare and lists.texts is not None:  # or the metric would ask for --refs, which is given
        raise ConfigError(f"{lists.source}: no references of the dev lists; give them with --dev-refs FILE")
    return lists if data.label is None else label(lists, data.label)
