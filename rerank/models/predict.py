"""Models applied to lists: scores, rankings, the best candidates, classes."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data import frames
from rerank.data.categories import column_of
from rerank.data.first_best import first_largest, margin_of, switched
from rerank.data.labels import Quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note, note_trained_on, strangers
from rerank.data.reading import Reading, read_as
from rerank.data.selection import selected
from rerank.formats import format_of
from rerank.formats.base import FORMATS, LARGE, load_for
from rerank.formats.sources import Data, all_or_none, check_outputs, inputs_of, is_path, read_lists
from rerank.models import predictions
from rerank.models.base import ORACLE, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.feature_sources import move_encoders, reading_for

if TYPE_CHECKING:
    from rerank.models.adaptation import Adaptation

_OF_ROWS = ("scores", "grades", "probabilities", "classes")  # which are the same for any lists
_NO_SCORES = ("grades", "probabilities")
Read = Callable[[Reading], CandidateLists]
_CACHE_BY = ("list-kernel", "histogram")  # how a cache of rankers compares lists


class Predicted(Struct, frozen=True, eq=False):
    """Lists, the model, and the scores or predicted labels of their items.

    ``scores`` are float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.
    """

    lists: CandidateLists
    model: Model
    scores: Floats  # of a model of classes: (n_items, n_outputs)
    switched: int | None = None  # lists in which the keep margin lets another item than the first-best win
    adaptation: Adaptation | None = None  # of a model that adapts


def predict(
    model: str | os.PathLike[str] | Model,
    data: Any,
    as_: str | None = None,
    *,
    out: str | None = None,
    group: Any = None,
    qid: Any = None,
    tag: str | None = None,
    keep_margin: str | None = None,
    transductive_report: str | None = None,
    allow_oracle: bool = False,
    cache: str | None = None,
    cache_nearest: int | None = None,
    cache_by: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    strict: bool = False,
    streamed: bool = False,
    reading: Reading | None = None,
    **places: str | None,
) -> Any:
    """Score lists with a model, and return or write scores or rankings, as ``rerank predict`` does.

    Parameters
    ----------
    model : a model, or its file.
    data : CandidateLists, a file, a data frame with a column of lists, or features (n_rows, n_features) with
        ``group`` or ``qid``. For scores of models that look at one item at a time, no lists are needed.
    as_ : "scores", "grades" or "probabilities": float64 (n_rows), in the order of the caller's rows;
        "table": a ``Ranking``, which becomes a data frame, with the columns p_right and p_better of a model
        that ``calibrate`` returned; "run": scores by item id, by list id; "best": the
        best candidate of each list, its text or its id; "nbest": the lists, each with its best item first;
        "classes": a prediction for each row. None = classes for a model of classes, otherwise scores.
    out : file that they are written to, "-" = standard output: one score, label or class per line, a table, a
        TREC run, the lists in their own format, or a candidate per line. None = they are returned.
    group, qid : of features, as for ``CandidateLists.from_arrays``.
    tag : name of a TREC run; None = rerank, or rerank-ORACLE for such a model.
    keep_margin : instead of the model's: a number, inf, or none.
    transductive_report : file for what a transductive model did to each list (TSV).
    allow_oracle : accept a model that uses the labels of the lists that it ranks.
    cache : folder in which a transductive model stores the rankers of lists, and finds those of earlier ones.
    cache_nearest, cache_by : rank new lists by the rankers of so many stored lists, which are compared by
        "list-kernel" (None) or "histogram"; see ``TransductiveModel.open_cache``.
    jobs, cluster : workers of a transductive model; see ``core.workers.parallel.using``.
    strict : refuse features that the model does not know, and features that are absent.
    streamed : write large files and pipes to ``out`` block by block if possible; see ``models.streaming``.
    reading : how a file is read.
    places : folders of the model's encoders, and of their cache, if they are others than in training:
        ``encoder``, ``cross_encoder`` and ``vector_cache``.

    Returns
    -------
    ndarray, list, dict, CandidateLists, Ranking, Predicted or Streamed
        As ``as_`` says; with ``out`` a ``Predicted``: the lists, their scores, and what the model did.

    Raises
    ------
    RerankError
        If the model or the lists cannot be read, do not fit each other, or have not what ``as_`` needs; if
        the output does not use a setting, or cannot be written.

    Examples
    --------
    >>> import rerank
    >>> frame = {"qid": ["a", "a", "b", "b"], "id": ["x", "y", "z", "w"], "bm25": [1, 3, 2, 5]}
    >>> train = rerank.CandidateLists.from_frame(frame | {"label": [0, 1, 0, 1]})
    >>> model = rerank.train(train, epochs=2)
    >>> rerank.predict(model, frame, "best")
    ['y', 'w']
    >>> rerank.predict(model, frame, "table").to_dataframe()["rank"].tolist()
    [1, 2, 1, 2]
    """
    reading = reading or Reading()
    strict = strict or reading.strict
    writer = predictions.writer(as_ or "scores")
    if tag is not None and as_ != "run":
        raise ConfigError(f"--tag: not used by --as {as_ or 'scores'}, expected --as run")
    if keep_margin is not None and as_ in _NO_SCORES:
        what = "labels" if as_ == "grades" else as_
        raise ConfigError(f"--keep-margin changes which item is chosen, not the {what} of --as {as_}")
    format = reading.format
    if out is not None and as_ == "nbest" and format is None:
        if not is_path(data):
            raise ConfigError("--as nbest: found lists without a file, expected reading.format")
        format = format_of(os.fspath(data))
    outputs = {"--out": out, "--transductive-report": transductive_report}
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    given = {option: file for option, file in outputs.items() if file is not None}
    check_outputs(given, inputs_of(data, reading, path))
    scorer = copy.copy(model) if path is None else load_model(path)
    if not isinstance(scorer, Model):
        raise ConfigError(f"model: found {type(scorer).__name__}, expected a model, or the path of one")
    move_encoders(scorer, places)
    check_oracle(scorer, allow_oracle)
    adapting = {"--jobs": jobs, "--cluster": cluster, "--cache": cache, **outputs, "--out": None}
    idle = next((option for option, value in adapting.items() if value is not None), None)
    if idle is not None and not scorer.adapts:
        raise ConfigError(f"{idle}: not used by a model of kind {scorer.kind}, expected a transductive one")
    _check_cache(cache, cache_nearest, cache_by)
    as_ = as_ or ("classes" if isinstance(scorer, ClassesModel) else "scores")
    read = partial(_lists, scorer, data, as_, group, qid)
    if isinstance(scorer, ClassesModel):
        if keep_margin is not None:
            raise ConfigError("--keep-margin is for models of lists, this one is of classes")
        return _predict_classes(scorer, read, as_, out, strict, reading)
    if as_ == "classes":
        raise ConfigError(f"--as classes: a model of kind {scorer.kind} predicts no classes")
    answer = predictor(scorer, as_) if as_ in _NO_SCORES else scorer.score
    if keep_margin is not None:
        scorer.keep_margin, scorer.calibration = margin_of(keep_margin), None  # which is of other choices
    run = tag or f"rerank-{ORACLE}" * allow_oracle or "rerank"
    small = is_path(data) and os.path.isfile(data) and os.path.getsize(data) < LARGE
    if streamed and out is not None and is_path(data) and not small:
        from rerank.models.streaming import predict_file

        if found := predict_file(scorer, data, read, reading, as_, out, answer, writer, strict, run):
            return found
    lists = read(reading)
    known = scorer.training.data.sketch or ""
    note_trained_on(known, scorer.input_names, lists, "lists that the model was trained on")
    note_strangers(scorer, lists)
    adaptation = None
    if scorer.adapts:
        from rerank.core.workers.parallel import using

        rankers = None if cache is None else scorer.open_cache(cache, cache_nearest, cache_by or _CACHE_BY[0])
        with using(jobs, cluster), progress.step("adapting to lists", lists.n_lists, "list") as advance:
            adaptation = scorer.adapt(lists, strict=strict, advance=advance, cache=rankers)
        scores = adaptation.scores
    else:
        scores = answer(lists, strict=strict)
    items = lists.from_input_order(scores)
    columns = {}
    if as_ == "table" and scorer.calibration is not None:
        columns = scorer.calibration.columns(lists, items)
        writer = partial(predictions.table_lines, columns=columns)
    with all_or_none():
        if transductive_report is not None and adaptation is not None:
            write_lines(transductive_report, adaptation.tsv())
        if out is not None and format is not None and as_ == "nbest":
            predictions.write_reordered(lists, items, format, out)
        elif out is not None:
            write_lines(out, writer(lists, items, run))
    if out is None:
        return predictions.in_memory(as_, lists, scores, columns)
    decides = scorer.keep_margin is not None and as_ not in _NO_SCORES
    n = int(switched(lists, items).sum()) if decides else None
    return Predicted(lists, scorer, scores, n, adaptation)


def _predict_classes(
    model: ClassesModel, read: Read, as_: str, out: str | None, strict: bool, reading: Reading
) -> Any:
    """``predict`` of a model of classes."""
    writers: dict[str, Callable[[Floats], Iterable[str]]] = {
        "classes": model.decoded,
        "scores": predictions.output_lines,
        "table": lambda scores: predictions.class_table(scores, model.outputs, model.ranked(scores)),
    }
    if as_ not in writers or (as_ == "table" and out is None):
        allowed = [name for name in writers if name != "table" or out is not None]
        raise ConfigError(f"--as {as_}: a model of classes predicts {', '.join(allowed)}")
    lists = read(reading.with_settings(classes=True))
    scores = model.class_scores(lists, strict=strict)
    if out is None:
        return list(model.decoded(scores)) if as_ == "classes" else scores
    write_lines(out, writers[as_](scores))
    return Predicted(lists, model, scores)


def _lists(model: Model, data: Any, as_: str, group: Any, qid: Any, reading: Reading) -> CandidateLists:
    """The lists to score; ``as_`` says whether their grouping matters."""
    if group is None and qid is None and (is_path(data) or isinstance(data, CandidateLists)):
        return lists_for(model, data, reading)
    if is_path(data) or isinstance(data, CandidateLists):
        raise DataError("group and qid are for features in memory, found a file or CandidateLists")
    listwise = model.adapts or model.scaling_name.startswith("list-")
    free = as_ in _OF_ROWS and not listwise and model.keep_margin is None
    if frames.is_frame(data) and group is None and qid is None:
        if not free or frames.has_lists(data):
            return CandidateLists.from_frame(data, categorical=_categorical(model))
    elif group is None and qid is None and not free:
        raise DataError(f"{as_}: depends on the lists of the rows; give group or qid, or CandidateLists")
    X = frames.plain(data) if frames.is_frame(data) else data
    return CandidateLists.from_arrays(X, group=group, qid=qid)


def lists_for(model: Model, data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file as ``model`` needs them: absent values are missing if it treats them.

    Raises
    ------
    RerankError
        As ``read_lists``; ConfigError if ``reading.missing`` is another policy than the model's, or
        ``reading.features`` leaves out features of the model that the lists have.
    """
    from rerank.data.names import Columns, match

    if not is_path(data):
        return read_lists(data, reading)
    reading = reading or Reading()
    honoured = FORMATS.get(reading.format or format_of(os.fspath(data))).honours
    reading = reading_for(model.chain.sources, reading, honoured, _categorical(model))
    lists = _for_policy(model, data, reading.with_settings(features=()))
    if not reading.features:
        return lists
    chosen = selected(lists, reading.features)
    names = model.input_names
    theirs = Columns(names, len(names), model.training.data.features or "")
    there, kept = (match(part.columns(), theirs).places for part in (lists, chosen))
    if len(lost := np.setdiff1d(there[there >= 0], kept)):
        found = f"{count(len(lost), 'feature')} of the model ({some([names[j] for j in lost.tolist()])})"
        raise ConfigError(f"--features leaves out {found}, which takes its own columns; leave the option out")
    return chosen


def _categorical(model: Model) -> list[str]:
    """The columns whose categories the model knows, for data that may have them."""
    return [f"{column}?" for column in dict.fromkeys(map(column_of, model.input_names)) if column]


def _for_policy(model: Model, data: str | os.PathLike[str], reading: Reading) -> CandidateLists:
    """The lists with all features, absent values read as the model's policy needs them."""
    if model.missing_policy is None:
        return read_lists(data, reading)
    if reading.missing not in (None, model.missing_policy):
        found = (
            f"--missing {reading.missing}: the model keeps --missing {model.missing_policy} of its training"
        )
        raise ConfigError(f"{found}; leave the option out")
    return load_for(data, reading.with_settings(missing=None), read_as(model.missing_policy), fill=False)


def check_oracle(model: Model, allow_oracle: bool) -> None:
    """Raise ConfigError for an oracle model that is not allowed, or ``allow_oracle`` without such a model."""
    if model.uses_test_labels and not allow_oracle:
        text = f"{ORACLE}: this model uses the labels of the lists that it ranks"
        raise ConfigError(f"{text}; --allow-oracle allows it, for a control experiment")
    if allow_oracle and not model.uses_test_labels:
        raise ConfigError("--allow-oracle: not used by this model, which ranks lists without their labels")


def _check_cache(cache: str | None, nearest: int | None, by: str | None) -> None:
    """Raise ConfigError for an option of the cache that would not be used, or is unknown."""
    if by is not None and by not in _CACHE_BY:
        raise ConfigError(f"--cache-by: found {by!r}; {did_you_mean(by, _CACHE_BY)}")
    if nearest is not None and nearest < 1:
        raise ConfigError(f"--cache-nearest: found {nearest}, expected 1 or more")
    for option, value, needed, there in (
        ("--cache-nearest", nearest, "--cache", cache),
        ("--cache-by", by, "--cache-nearest", nearest),
    ):
        if value is not None and there is None:
            raise ConfigError(f"{option}: not used without {needed}")


def predictor(model: Model, what: str) -> Callable[..., Floats]:
    """Return the model's function from lists to grades or probabilities (n_items).

    Raises ConfigError if it has none.
    """
    from rerank.models.preference import PreferenceModel

    found: Callable[..., Floats] | None = getattr(model, what, None)
    if found is None:
        raise ConfigError(f"--as {what}: a model of kind {model.kind} predicts no {what}")
    if isinstance(model, PreferenceModel) and model.scale is None:
        raise ConfigError(f"--as {what}: the model has none; train it with probability=true")
    return found


def note_strangers(model: Model, lists: CandidateLists) -> None:
    """Warn if a model was fitted for unlabelled lists, and some of ``lists`` are not among them.

    Models that adapt to the lists that they score are for any lists.
    """
    record = None if model.adapts else model.training.unlabelled
    share = 0.0 if record is None else strangers(record.sketch, model.input_names, lists)
    if share:
        whose = f"the unlabelled lists that this model of {model.training.learner} was fitted for"
        note(f"{lists.source}: {max(share, 0.01):.0%} of the lists are not among {whose}")


def with_quantised(lists: CandidateLists, quantiser: Quantiser) -> CandidateLists:
    """Return the same lists with quantised labels; ``model=FILE`` takes the choices of a model.

    Raises
    ------
    RerankError
        If there are no labels or the model cannot be read.
    """
    chosen = None
    if quantiser.scheme == "model":
        scores = load_model(quantiser.path).score_items(lists)
        chosen = first_largest(scores, lists.offsets)
    return quantised(lists, quantiser, chosen)
