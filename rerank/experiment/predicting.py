"""Models applied to files of lists, and what files of lists contain."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from rerank.core import progress
from rerank.core.errors import ConfigError
from rerank.core.files.streams import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats
from rerank.data.first_best import margin_of, switched
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.experiment.notes import note_strangers, note_trained_on
from rerank.experiment.outputs import all_or_none, check_outputs
from rerank.experiment.sources import Data, inputs_of, lists_for, read_judged
from rerank.formats import format_of
from rerank.models.base import CHEATING, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.report import predictions

if TYPE_CHECKING:
    from rerank.report.contents import Contents
    from rerank.report.pair_counts import PairCounts
    from rerank.transductive.adaptation import Adaptation
    from rerank.transductive.cache_entries import By

OTHER_PREDICTIONS = ("grades", "probabilities")


@dataclass(frozen=True, eq=False)
class Predicted:
    """Lists, the model, and the scores or predicted labels of their items.

    ``scores`` are float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.
    """

    lists: CandidateLists
    model: Model
    scores: Floats  # of a model of classes: (n_items, n_outputs)
    switched: int | None  # lists in which the keep margin lets another item than the first-best win
    adaptation: Adaptation | None = None  # of a transductive model


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

        by: By = "histogram" if cache_by == "histogram" else "list-kernel"
        rankers = None if cache is None else scorer.open_cache(cache, cache_nearest, by)
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
            from rerank.transductive.adaptation import adaptation_tsv

            write_lines(transductive_report, adaptation_tsv(adaptation.rows))
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
    if by is not None:
        from rerank.transductive.cache_entries import By

        if by not in get_args(By):
            raise ConfigError(f"--cache-by: found {by!r}; {did_you_mean(by, get_args(By))}")
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


def validate_file(data: Data, *, reading: Reading | None = None) -> Contents:
    """Return what a file holds: lists, items, features, labels, oddities, and faults that break other tools.

    Parameters
    ----------
    data : a file of lists, or CandidateLists.
    reading : how the file is read.

    Raises
    ------
    FormatError
        With the line, if the file does not follow its format.
    """
    from rerank.report.contents import describe

    return describe(read_judged(data, reading))


def count_pairs(
    data: Data,
    relations: Sequence[str] = (),
    quantisers: Sequence[str] = (),
    *,
    reading: Reading | None = None,
) -> PairCounts:
    """Return the pairs that pair relations give, with the labels as they are and quantised.

    Parameters
    ----------
    data : a file of judged lists, or CandidateLists.
    relations : settings of learners such as "pairs=split split_top=5"; () = those of the literature.
    quantisers : such as "top=30%"; () = standard ones, unless relations are given.
    reading : how the file is read.

    Returns
    -------
    PairCounts
        A list of ``Scheme``, which is a table.

    Raises
    ------
    RerankError
        If a setting is unknown, or the lists have no labels.
    """
    from rerank.data.labels import parse_quantiser
    from rerank.data.pairs import PairRelation
    from rerank.experiment.derive import with_quantised
    from rerank.report.pair_counts import (
        PairCounts,
        Scheme,
        parse_relation,
        standard_quantisers,
        standard_relations,
    )

    chosen = [parse_relation(text) for text in relations]
    ways = [parse_quantiser(text) for text in quantisers]
    lists = read_judged(data, reading)
    if not ways and not chosen:
        ways = standard_quantisers(lists)
    schemes = PairCounts(Scheme(lists, relation) for relation in chosen or standard_relations(lists))
    for way in ways:
        coarse = with_quantised(lists, way)
        schemes += [Scheme(coarse, relation, way) for relation in chosen or [PairRelation()]]
    return schemes
