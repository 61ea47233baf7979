"""Models applied to lists: scores, rankings, the best candidates, classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.files.streams import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data import frames
from rerank.data.first_best import first_largest, margin_of, switched
from rerank.data.labels import Quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note, note_trained_on, strangers
from rerank.data.reading import Reading, read_as
from rerank.data.selection import selected
from rerank.formats import format_of
from rerank.formats.base import load_for
from rerank.formats.sources import Data, all_or_none, check_outputs, inputs_of, is_path, read_lists
from rerank.models import predictions
from rerank.models.base import CHEATING, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.predictions import Ranking

OTHER_PREDICTIONS = ("grades", "probabilities")
CACHE_BY = ("list-kernel", "histogram")  # how a cache of rankers compares lists


OUTPUTS = ("scores", "table", "run", "best", "nbest", "grades", "probabilities", "classes")


_OF_ROWS = ("scores", "grades", "probabilities", "classes")  # which are the same for any lists


@dataclass(frozen=True, eq=False)
class Predicted:
    """Lists, the model, and the scores or predicted labels of their items.

    ``scores`` are float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.
    """

    lists: CandidateLists
    model: Model
    scores: Floats  # of a model of classes: (n_items, n_outputs)
    switched: int | None  # lists in which the keep margin lets another item than the first-best win
    adaptation: Any = None  # of a transductive model


def predict(
    model: str | os.PathLike[str] | Model,
    data: Any,
    as_: str | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    strict: bool = False,
) -> Any:
    """Score lists with a model, as ``rerank predict`` does.

    Parameters
    ----------
    model : a model, or its file.
    data : CandidateLists, a file, a data frame with a column of lists, or features (n_rows, n_features) with
        ``group`` or ``qid``. For scores of models that look at one item at a time, no lists are needed.
    as_ : "scores", "grades" or "probabilities": float64 (n_rows), in the order of the caller's rows;
        "table": a ``Ranking``, which becomes a data frame; "run": scores by item id, by list id; "best": the
        best candidate of each list, its text or its id; "nbest": the lists, each with its best item first;
        "classes": a prediction for each row. None = classes for a model of classes, otherwise scores.
    group, qid : of features, as for ``CandidateLists.from_arrays``.
    strict : refuse features that the model does not know, and features that are absent.

    Returns
    -------
    ndarray, list, dict, CandidateLists or Ranking
        As ``as_`` says.

    Raises
    ------
    RerankError
        If the model or the lists cannot be read, do not fit each other, or have not what ``as_`` needs.

    Examples
    --------
    >>> import rerank
    >>> frame = {"qid": ["a", "a", "b", "b"], "id": ["x", "y", "z", "w"], "bm25": [1, 3, 2, 5]}
    >>> train = rerank.CandidateLists.from_frame(frame | {"label": [0, 1, 0, 1]})
    >>> model = rerank.train(train, rounds=2)
    >>> rerank.predict(model, frame, "best")
    ['y', 'w']
    >>> rerank.predict(model, frame, "table").to_dataframe()["rank"].tolist()
    [1, 2, 1, 2]
    """
    loaded = load_model(os.fspath(model)) if isinstance(model, str | os.PathLike) else model
    if not isinstance(loaded, Model):
        raise ConfigError(f"model: found {type(loaded).__name__}, expected a model, or the path of one")
    as_ = as_ or ("classes" if isinstance(loaded, ClassesModel) else "scores")
    if as_ not in OUTPUTS:
        raise ConfigError(f"as_: unknown output {as_!r}; {did_you_mean(as_, OUTPUTS)}")
    check_cheating(loaded, cheating=False)
    lists = _lists(loaded, data, as_, group, qid)
    if isinstance(loaded, ClassesModel):
        if as_ not in ("classes", "scores"):
            raise ConfigError(f"as_: a model of classes predicts classes and scores, found {as_!r}")
        scores = loaded.class_scores(lists, strict=strict)
        return list(loaded.decoded(scores)) if as_ == "classes" else scores
    if as_ == "classes":
        raise ConfigError(f"as_: a model of kind {loaded.kind} predicts no classes")
    if as_ in ("grades", "probabilities"):
        return predictor(loaded, as_)(lists, strict=strict)
    note_trained_on(
        loaded.training.data.sketch or "", loaded.feature_names, lists, "lists that the model was trained on"
    )
    note_strangers(loaded, lists)
    scores = loaded.score(lists, strict=strict)
    if as_ == "scores":
        return scores
    items = lists.from_input_order(scores)
    if as_ == "best":
        return list(predictions.best_lines(lists, items, ""))
    if as_ == "nbest":
        return lists.reordered(predictions.ranking(lists, items))
    found = Ranking.of(lists, items)
    return found if as_ == "table" else found.as_run()


def _lists(model: Model, data: Any, as_: str, group: Any, qid: Any) -> CandidateLists:
    """The lists to score; ``as_`` says whether their grouping matters."""
    if group is None and qid is None and (is_path(data) or isinstance(data, CandidateLists)):
        return lists_for(model, data)
    if is_path(data) or isinstance(data, CandidateLists):
        raise DataError("group and qid are for features in memory, found a file or CandidateLists")
    listwise = model.adapts or model.scaling_name.startswith("list-")
    free = as_ in _OF_ROWS and not listwise and model.keep_margin is None
    if frames.is_frame(data) and group is None and qid is None:
        if not free or frames.has_lists(data):
            return CandidateLists.from_frame(data)
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
    lists = _for_policy(model, data, reading.model_copy(update={"features": ()}))
    if not reading.features:
        return lists
    chosen = selected(lists, reading.features)
    names = model.input_names
    theirs = Columns(names, len(names), model.training.data.features or "")
    there, kept = (match(part.columns(), theirs).places for part in (lists, chosen))
    lost = np.setdiff1d(there[there >= 0], kept)
    if len(lost):
        found = f"{count(len(lost), 'feature')} of the model ({some([names[j] for j in lost.tolist()])})"
        raise ConfigError(f"--features leaves out {found}, which takes its own columns; leave the option out")
    return chosen


def _for_policy(model: Model, data: str | os.PathLike[str], reading: Reading) -> CandidateLists:
    """The lists with all features, absent values read as the model's policy needs them."""
    if model.missing_policy is None:
        return read_lists(data, reading)
    if reading.missing not in (None, model.missing_policy):
        found = (
            f"--missing {reading.missing}: the model keeps --missing {model.missing_policy} of its training"
        )
        raise ConfigError(f"{found}; leave the option out")
    return load_for(data, reading.model_copy(update={"missing": None}), read_as(model.missing_policy))


def predict_file(
    model: str | Model,
    data: Data,
    out: str = "-",
    *,
    as_: str | None = None,
    tag: str | None = None,
    keep_margin: str | None = None,
    transductive_report: str | None = None,
    cheating: bool = False,
    cache: str | None = None,
    cache_nearest: int | None = None,
    cache_by: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> Predicted:
    """Score lists with a model and write the scores, or a ranking.

    Parameters
    ----------
    model : a model file, or a model.
    data : a file of lists, or CandidateLists.
    out : the file to write, "-" = standard output.
    as_ : "scores", "grades" or "probabilities", one per input line; "table"; "run", a TREC run; "nbest", the
        lists in their own format, best first; "best", the best candidate of each list. Models of classes:
        "classes", one prediction per example; "scores", those of all outputs; "table". None = classes or
        scores.
    tag : name of a TREC run; None = rerank, or rerank-CHEATING for such a model.
    keep_margin : in place of the model's: a number, inf, or none.
    transductive_report : file for what a transductive model did to each list (TSV).
    cheating : accept a model that uses the labels of the lists that it ranks.
    cache : folder in which a transductive model stores the rankers of lists, and finds those of earlier ones.
    cache_nearest, cache_by : rank new lists by the rankers of so many stored lists, which are compared by
        "list-kernel" (None) or "histogram"; see ``TransductiveModel.open_cache``.
    jobs, cluster : workers of a transductive model; see ``core.workers.parallel.using``.
    reading : how the file is read; ``strict`` refuses features that the model does not know.

    Raises
    ------
    RerankError
        If the model or the lists cannot be read, or the output does not use a setting.
    """
    reading = reading or Reading()
    writer = predictions.writer(as_ or "scores")
    other = None if as_ not in OTHER_PREDICTIONS else as_  # what is not scores
    if tag is not None and as_ != "run":
        raise ConfigError(f"--tag: not used by --as {as_ or 'scores'}, expected --as run")
    if keep_margin is not None and other is not None:
        what = "labels" if other == "grades" else other
        raise ConfigError(f"--keep-margin changes which item is chosen, not the {what} of --as {other}")
    format = reading.format
    if as_ == "nbest" and format is None:
        if isinstance(data, CandidateLists):
            raise ConfigError("--as nbest: found lists without a file, expected reading.format")
        format = format_of(os.fspath(data))
    outputs = {"--out": out, "--transductive-report": transductive_report}
    check_outputs(
        {option: path for option, path in outputs.items() if path is not None},
        inputs_of(data, reading, model if isinstance(model, str) else None),
    )
    scorer = load_model(model) if isinstance(model, str) else model
    _check_transductive(
        scorer,
        cheating,
        {
            "--jobs": jobs,
            "--cluster": cluster,
            "--cache": cache,
            "--transductive-report": transductive_report,
        },
    )
    _check_cache(cache, cache_nearest, cache_by)
    if isinstance(scorer, ClassesModel):
        return _predict_classes(scorer, data, out, as_, keep_margin, reading)
    if as_ == "classes":
        raise ConfigError(f"--as classes: a model of kind {scorer.kind} predicts no classes")
    if other is not None:
        predictor(scorer, other)  # refuses models without them before the data is read
    elif keep_margin is not None:
        scorer.keep_margin = margin_of(keep_margin)
    lists = lists_for(scorer, data, reading)
    known = scorer.training.data.sketch or ""
    note_trained_on(known, scorer.input_names, lists, "lists that the model was trained on")
    note_strangers(scorer, lists)
    adaptation = None
    if scorer.adapts:
        from rerank.core.workers.parallel import using

        rankers = None if cache is None else scorer.open_cache(cache, cache_nearest, cache_by or CACHE_BY[0])
        with using(jobs, cluster), progress.step("adapting to lists", lists.n_lists, "list") as advance:
            adaptation = scorer.adapt(lists, strict=reading.strict, advance=advance, cache=rankers)
        scores = adaptation.scores
    else:
        answer = scorer.score if other is None else predictor(scorer, other)
        scores = answer(lists, strict=reading.strict)
    decides = scorer.keep_margin is not None and other is None
    items = lists.from_input_order(scores)
    with all_or_none():
        if transductive_report is not None and adaptation is not None:
            write_lines(transductive_report, adaptation.tsv())
        if format is not None and as_ == "nbest":
            predictions.write_reordered(lists, items, format, out)
        else:
            write_lines(out, writer(lists, items, tag or f"rerank-{CHEATING}" * cheating or "rerank"))
    switching = int(switched(lists, items).sum()) if decides else None
    return Predicted(lists, scorer, scores, switching, adaptation)


def check_cheating(model: Model, cheating: bool) -> None:
    """Raise ConfigError if a model uses the labels of the lists that it ranks unasked, or must in vain."""
    if model.cheats and not cheating:
        text = f"{CHEATING}: this model uses the labels of the lists that it ranks"
        raise ConfigError(f"{text}; --cheating allows it, for a control experiment")
    if cheating and not model.cheats:
        raise ConfigError("--cheating: not used by this model, which ranks lists without their labels")


def _check_transductive(model: Model, cheating: bool, options: Mapping[str, object]) -> None:
    """Raise ConfigError if a model does not use an option, or cheats unasked."""
    check_cheating(model, cheating)
    given = next((option for option, value in options.items() if value is not None), None)
    if given is not None and not model.adapts:
        raise ConfigError(f"{given}: not used by a model of kind {model.kind}, expected a transductive one")


def _check_cache(cache: str | None, nearest: int | None, by: str | None) -> None:
    """Raise ConfigError for an option of the cache that would not be used, or is unknown."""
    if by is not None and by not in CACHE_BY:
        raise ConfigError(f"--cache-by: found {by!r}; {did_you_mean(by, CACHE_BY)}")
    if nearest is not None and nearest < 1:
        raise ConfigError(f"--cache-nearest: found {nearest}, expected 1 or more")
    for option, value, needed, there in (
        ("--cache-nearest", nearest, "--cache", cache),
        ("--cache-by", by, "--cache-nearest", nearest),
    ):
        if value is not None and there is None:
            raise ConfigError(f"{option}: not used without {needed}")


def _predict_classes(
    model: ClassesModel, data: Data, out: str, as_: str | None, keep_margin: str | None, reading: Reading
) -> Predicted:
    """``predict_file`` of a model of classes."""
    as_ = as_ or "classes"
    writers: dict[str, Callable[[Floats], Iterable[str]]] = {
        "classes": model.decoded,
        "scores": predictions.output_lines,
        "table": lambda scores: predictions.class_table(scores, model.outputs, model.ranked(scores)),
    }
    if as_ not in writers:
        raise ConfigError(f"--as {as_}: a model of classes predicts {', '.join(writers)}")
    if keep_margin is not None:
        raise ConfigError("--keep-margin is for models of lists, this one is of classes")
    lists = lists_for(model, data, reading.model_copy(update={"classes": True}))
    scores = model.class_scores(lists, strict=reading.strict)
    write_lines(out, writers[as_](scores))
    return Predicted(lists, model, scores, None)


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
