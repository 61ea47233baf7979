"""Evaluation: metrics of scores, and tests of systems against each other."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import inputs_opened_once, opening_once
from rerank.core.files.write import write_lines
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.arrays import cells
from rerank.data.columns.class_sets import HOW_READ
from rerank.data.frames import refuse_other_rows
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note
from rerank.data.reading import Reading
from rerank.evaluation.align_systems import FIRST_BEST as SPELLED
from rerank.evaluation.align_systems import Systems
from rerank.evaluation.judged import Judged, judge_systems, values_of
from rerank.evaluation.notes import note_evaluation, note_ndcg, note_systems
from rerank.evaluation.results import FIRST_BEST
from rerank.evaluation.streaming.rankings import rankings_of
from rerank.evaluation.systems import (
    add_data,
    add_files,
    check_missing,
    gathered,
    gathered_values,
    is_nested_mapping,
    systems_in,
)
from rerank.formats.base import LARGE
from rerank.formats.sources import Data, as_lists, check_outputs, inputs_of, is_path
from rerank.metrics.judging import Judging

if TYPE_CHECKING:
    from rerank.data.classes import Predictions

Metrics = Sequence[str] | str | None
OF_CLASSES = ("zero-one", "Hamming")
OF_LABELS = ("AP", "RR", "nDCG@10")
_FEW_EXAMPLES = 5
_OF_SEVERAL = ("samples", "level", "seed", "baseline")
_OF_MAPPINGS = {"ties": "trec", "no_relevant": "zero"}  # what the fast way for dictionaries computes


@opening_once
def evaluate(
    data: Any,
    scores: Any,
    metrics: Metrics = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    replicas: bool = False,
    **settings: Any,
) -> Any:
    """Return metrics of one ranking, or those of several with intervals and tests.

    Parameters
    ----------
    data : CandidateLists, a file, a data frame; or plain sequences, the labels or the texts of all items: a
        sequence for each list, or flat with ``group`` or ``qid``; or judgements: labels by document, by
        query.
    scores : several systems as a mapping of name to scores, or a data frame with a column for each. Or the
        scores of one: larger is better; in the shape of ``data``, or flat in the order of the caller's rows,
        as ``Model.score`` returns them: the lines of the file, or the rows given with ``qid``. For examples
        with classes one prediction per row: a class, a collection of them, or text as
        ``ClassesModel.predicted`` returns it. Or a run: scores by item id, by list id; for judgements it must
        be one. Or the name of a feature, or the path of a score file or a run.
    metrics : names, or one name, as in ``rerank list metrics``; None = PARSEVAL, BLEU, zero-one and Hamming,
        or AP, RR and nDCG@10, whatever the lists have the columns for.
    group : lengths of the lists, for flat sequences.
    qid : id of each item's list, for flat sequences.
    refs : for each list, its reference or several; lists come in the order of their first rows.
    replicas : whether the systems but the baseline are runs of one system with different seeds.
    settings : of ``Judging``. ``ties``: "trec", "expected" or "input"; by default trec if items have ids,
        otherwise expected. ``no_relevant``: score of a list without a relevant item: "zero", "one", or "skip"
        to leave it out. ``missing_lists``: how a judged query counts that the run lacks: "any" (default) and
        "skip" leave it out, as trec_eval does, unless ``data`` are lists and hold it, "zero" counts 0, as
        trec_eval -c; of several systems see ``compare``. ``missing``: what an item counts as that a system
        has no score of, in a list of which it has others: "nan" (default: not returned, so below the others),
        "zero", "list-mean" (the mean of its other scores in the list), or "error"; without it, NaN in the
        caller's own arrays is an error. For several systems also ``baseline``, the one that the others are
        tested against, by default the first stage's ranking ("first-best") if the lists have one, and
        ``samples``, ``level`` and ``seed`` of intervals and tests.

    Returns
    -------
    Values or Judged
        For one ranking a dictionary of values by the names given; NaN if no list counts. 0 to 100 for BLEU,
        WER and PARSEVAL, 0 to 1 for measures of ranking. For several systems what ``rerank eval`` prints.
        Both are tables in notebooks, and have ``to_dataframe()``.

    Raises
    ------
    RerankError
        If a metric is unknown, labels, texts or references are absent, no list has a judged item, ids do not
        fit, or a score is missing.

    Examples
    --------
    Labels of two lists, and the scores of a system:

    >>> import rerank
    >>> rerank.evaluate([[1, 0, 2], [0, 1]], [[0.1, 0.2, 0.9], [0.8, 0.3]], ["RR", "P@1"])
    {'RR': 0.75, 'P@1': 0.5}

    The same with flat sequences:

    >>> rerank.evaluate([1, 0, 2, 0, 1], [0.1, 0.2, 0.9, 0.8, 0.3], ["RR"], group=[3, 2])
    {'RR': 0.75}

    Hypotheses with their references:

    >>> hypotheses = [["the cat sat", "a cat sat down"], ["it rains", "it is raining"]]
    >>> rerank.evaluate(hypotheses, [[2, 1], [1, 2]], ["WER"], refs=["the cat sat", "it is raining"])
    {'WER': 0.0}

    Several systems:

    >>> systems = {"a": [[0.1, 0.2, 0.9], [0.8, 0.3]], "b": [[0.9, 0.2, 0.1], [0.3, 0.8]]}
    >>> found = rerank.evaluate([[1, 0, 2], [0, 1]], systems, "RR", baseline="b")
    >>> found.systems["a"]["RR"].value, found.to_dataframe().shape
    (0.75, (5, 10))

    Judgements and a run:

    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}}
    >>> rerank.evaluate(qrels, {"q1": {"d1": 0.5, "d9": 0.7}, "q2": {"d3": 0.1}}, ["RR"])
    {'RR': 0.75}
    """
    if type(data) is dict and type(scores) is dict and not replicas:
        others = {name: value for name, value in settings.items() if value is not None}
        if group is qid is refs is None and others.items() <= _OF_MAPPINGS.items():
            from rerank.evaluation.mappings import values_of_mappings

            plain = values_of_mappings(data, scores, OF_LABELS if metrics is None else metrics)
            if plain is not None:
                return plain
    judging = Judging.by(metrics, **settings)
    several = systems_in(scores)
    if several is None:
        unused = [name for name in _OF_SEVERAL if settings.get(name) is not None]
        if unused or replicas:
            expected = "expected several systems, such as {'a': scores, 'b': scores}"
            raise ConfigError(f"{[*unused, 'replicas'][0]}: not used with the scores of one, {expected}")
    systems = {"scores": scores} if several is None else several
    found, judging = _systems_of(data, systems, judging, group=group, qid=qid, refs=refs)
    note_ndcg(found.lists, judging.metrics)
    if several is None:
        return values_of(found.lists, found.scores["scores"], judging)
    judging = _against(judging, systems, found.lists)
    return judge_systems(found.lists, found.scores, judging, replicas=replicas)


@opening_once
def compare(
    data: Any,
    systems: Any,
    metrics: Metrics = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    **settings: Any,
) -> Judged:
    """Test every two systems against each other, as ``rerank compare`` does.

    Parameters
    ----------
    data, metrics, group, qid, refs : as for ``evaluate``.
    systems : a mapping of name to scores, which are as for ``evaluate``, or a data frame with a column for
        each system.
    settings : of ``Judging``, as for ``evaluate``, without a baseline. ``missing_lists``: how a judged list
        counts of which a system returned nothing: "any" (default: 0 if another system returned some of it,
        otherwise it is left out), "zero" (0 in any case), or "skip" (it is left out for all systems).

    Returns
    -------
    Judged
        ``pairs`` by metric, each with both values, their difference, its interval and p-values;
        ``as_json()`` gives what ``rerank compare --as json`` prints.

    Raises
    ------
    RerankError
        As for ``evaluate``, and if there are fewer than two systems.

    Examples
    --------
    >>> import rerank
    >>> labels = [[1, 0], [0, 1], [1, 0]]
    >>> systems = {"a": [[2, 1], [1, 2], [2, 1]], "b": [[1, 2], [1, 2], [2, 1]]}
    >>> found = rerank.compare(labels, systems, ["P@1"])
    >>> pair = found.pairs["P@1"][0]
    >>> pair.a, pair.b, pair.value_a, round(pair.value_b, 3), (pair.wins, pair.ties, pair.losses)
    ('a', 'b', 1.0, 0.667, (1, 2, 0))
    """
    several = systems_in(systems)
    if several is None:
        found_ = f"found {type(systems).__name__}"
        raise ConfigError(f"systems: {found_}, expected scores by name, such as {{'a': scores, 'b': scores}}")
    judging = Judging.by(metrics, **settings)
    found, judging = _systems_of(data, several, judging, group=group, qid=qid, refs=refs)
    return judge_systems(found.lists, found.scores, judging, view="pairs", all_pairs=True)


def _systems_of(
    data: Any, systems: Mapping[str, Any], judging: Judging, **shape: Any
) -> tuple[Systems, Judging]:
    """Systems given as values on what they are judged on, and how: with metrics, for what they lack."""
    missing = judging.missing
    check_missing(missing)
    refuse_other_rows(**{"data": data, **systems})
    read = None
    if is_path(data) and all(value is None for value in shape.values()):
        read = gathered(data, _reading_for(judging.metrics, Reading(missing=missing)))  # type: ignore[arg-type]
    lists = data if is_nested_mapping(data) else as_lists(data, **shape) if read is None else read.base
    if isinstance(lists, CandidateLists) and _has_classes(lists):
        for name in ("missing", "missing_lists"):
            if getattr(judging, name) is not None:
                raise ConfigError(f"{name}: not used for examples with classes")
        judging = _with_metrics(judging, lists)
        found = {name: _predictions_of(values, name, lists) for name, values in systems.items()}
        return Systems(*_expanded(lists, found, judging.metrics)), judging
    pool = gathered_values(lists, systems, read, missing)
    together = pool.together(judging.metrics or None, judging.missing_lists).in_order(systems)
    return together, _with_metrics(judging, together.lists, together)


def _with_metrics(judging: Judging, lists: CandidateLists, read: Systems | None = None) -> Judging:
    """Return the settings of judging with metrics for these lists and the policies that had to be used."""
    used = {} if read is None else {"missing": read.missing, "missing_lists": read.missing_lists}
    return judging.with_settings(metrics=judging.metrics or default_metrics(lists), **used)


def default_metrics(lists: CandidateLists) -> tuple[str, ...]:
    """Return the metrics to report if none is named.

    For examples with classes these are zero-one and Hamming; for lists without labels PARSEVAL with gold
    trees, BLEU with references and GDT-TS with native structures; otherwise AP, RR and nDCG@10.

    Parameters
    ----------
    lists : the lists that are judged.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        If the lists have nothing to judge by.
    """
    from rerank.data.columns.traces import SUPERPOSITIONS

    if lists.labels is not None:
        return OF_LABELS
    if lists.classes is not None:
        return OF_CLASSES
    if lists.gold is not None or "PARSEVAL" in lists.counts:
        return ("PARSEVAL",)
    if lists.references or "BLEU" in lists.counts:
        return ("BLEU",)
    if lists.natives is not None or SUPERPOSITIONS in lists.counts:
        return ("GDT-TS",)
    return OF_LABELS


def _against(judging: Judging, systems: Container[str], lists: CandidateLists) -> Judging:
    """The same with None for a baseline that means the first stage; ConfigError if there is none."""
    baseline = judging.baseline
    if baseline not in (FIRST_BEST, SPELLED) or baseline in systems or os.path.exists(baseline):
        return judging
    if lists.first_best is None:
        raise ConfigError(f"baseline: {lists.source} has no first-best; name one of the systems")
    return judging.with_settings(baseline=None)


def evaluate_files(
    data: Data,
    paths: Sequence[str] = (),
    metrics: Metrics = None,
    *,
    per_list: str | None = None,
    reading: Reading | None = None,
    replicas: bool = False,
    in_blocks: bool = False,
    **settings: Any,
) -> Judged:
    """Evaluate systems against first-best, random and oracle, with significance.

    Parameters
    ----------
    data : a file of judged lists, or of judgements alone (qrels), or CandidateLists.
    paths : systems by their names: score files, one number per item line; runs and tables of scores by ids;
        features of DATA as "DATA:FEATURE" or ":FEATURE"; for examples with classes predictions, one per line.
    metrics : names; None = ``default_metrics``.
    per_list : file for the values of each list (TSV), "-" = standard output.
    reading : how the file is read.
    replicas : whether the systems but the baseline are runs of one system with different seeds.
    in_blocks : whether a large file or a pipe is read block by block where that gives the same numbers; the
        items of the lists are then unknown, so that ``by_list``, plots and pages of single lists fail.
    settings : of ``Judging``. The baseline need not be among ``paths``; "first-best" is the first stage, as
        None is if the lists have one. ``missing_lists`` is as for ``compare``; the first stage is one of the
        systems.

    Returns
    -------
    Judged

    Raises
    ------
    RerankError
        If a file cannot be read or written, a metric or the baseline is unknown, or scores and lists do not
        belong together.
    """
    judging = Judging.by(metrics, **settings)
    if per_list is not None:
        check_outputs({"--per-list": per_list}, inputs_of(data, reading, *paths, judging.baseline))
    names, baseline = list(paths), judging.baseline
    stage = baseline in (FIRST_BEST, SPELLED) and not os.path.exists(baseline)
    if baseline is not None and not stage and baseline not in names:
        names.insert(0, baseline)
    found = None
    with inputs_opened_once():
        small = is_path(data) and os.path.isfile(data) and os.path.getsize(data) < LARGE
        if in_blocks and isinstance(data, str) and not small:
            from rerank.evaluation.streaming.judge import judged_in_blocks

            judged = _reading_for(judging.metrics, reading)
            found = judged_in_blocks(data, names, judging, judged, default_metrics, replicas=replicas)
        if found is None:
            read, judging = _read_systems(data, names, judging, reading)
    if found is None:
        judging = _against(judging, names, read.lists)
        found = judge_systems(read.lists, read.scores, judging, replicas=replicas)
        if read.lists.classes is None:  # others were reported when they were read
            typed = [metric.typed for metric in found.metrics.values()]
            note_evaluation(read.lists, rankings_of(read.lists, read.scores, typed), found)
    if per_list is not None:
        from rerank.core.tables.data import per_list_tsv

        write_lines(per_list, (line.rstrip("\n") for line in per_list_tsv(found.per_list())))
    return found


def compare_files(
    data: Data,
    paths: Sequence[str],
    metrics: Metrics = None,
    *,
    reading: Reading | None = None,
    **settings: Any,
) -> Judged:
    """Test every two systems against each other; if ``data`` is a run, it is one of them, the first.

    Parameters
    ----------
    data, paths, metrics, reading : as for ``evaluate_files``.
    settings : of ``Judging``, but without a baseline.

    Returns
    -------
    Judged

    Raises
    ------
    RerankError
        As for ``evaluate_files``.
    """
    with inputs_opened_once():
        read, judging = _read_systems(data, paths, Judging.by(metrics, **settings), reading, compared=True)
    judging = judging.with_settings(baseline=next(iter(read.scores), None))
    found = judge_systems(read.lists, read.scores, judging, view="pairs", all_pairs=True)
    if read.lists.classes is None:  # others were reported when they were read
        typed = [metric.typed for metric in found.metrics.values()]
        rankings = rankings_of(read.lists, read.scores, typed)
        note_systems(read.lists, rankings, typed, found.n_lists - found.unjudged)
    return found


def _read_systems(
    data: Data,
    paths: Sequence[str],
    judging: Judging,
    reading: Reading | None,
    *,
    compared: bool = False,
) -> tuple[Systems, Judging]:
    """Systems by name as typed on what they are judged on, and how.

    If they are ``compared``, a run that is DATA is one of them, otherwise it is the first stage.
    """
    from rerank.data.classes import read_predictions

    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise ConfigError(f"{path} is given twice")
    reading = _reading_for(judging.metrics, reading)
    pool = gathered(data, reading)
    lists = pool.base
    if lists is not None and _has_classes(lists, reading):
        if judging.missing_lists is not None:
            raise ConfigError("missing_lists is for runs, not for predictions of classes")
        judging = _with_metrics(judging, lists)
        predictions = {path: read_predictions(path, lists) for path in paths}
        expanded, systems = _expanded(lists, predictions, judging.metrics)
        _note_predictions(predictions, expanded, judging.metrics)
        return Systems(expanded, systems), judging
    if compared:
        add_data(pool, data, reading, paths)
    add_files(pool, data, paths, reading)
    metrics = judging.metrics or None
    found = pool.together(metrics, judging.missing_lists, with_first_best=not compared).in_order(paths)
    return found, _with_metrics(judging, found.lists, found)


def _reading_for(metrics: Sequence[str], reading: Reading | None) -> Reading:
    """Return the options of reading for metrics: with classes if one of these judges classes."""
    from rerank.metrics.base import parse_all

    reading = reading or Reading()
    found = parse_all(metrics) if metrics else {}
    if any(metric.of_classes for metric in found.values()):
        return reading.with_settings(classes=True)
    return reading


def _has_classes(lists: CandidateLists, reading: Reading | None = None) -> bool:
    """Return whether lists are examples with classes; DataError if they were read for that and are not."""
    if reading is not None and reading.classes and lists.classes is None:
        raise DataError(f"{lists.source}: found no classes to measure against {HOW_READ}")
    return lists.classes is not None and lists.labels is None


def _expanded(
    lists: CandidateLists, systems: Mapping[str, Predictions], metrics: Sequence[str]
) -> tuple[CandidateLists, dict[str, Floats]]:
    """Lists and scores for metrics of examples with classes: these judge predictions as sets, or as rankings
    of all classes.
    """
    from rerank.data.classes import class_lists
    from rerank.metrics.base import parse_all

    of_sets = {name: metric.of_classes for name, metric in parse_all(metrics).items()}
    if len(set(of_sets.values())) > 1:
        sets, rankings = (
            next(name for name, own in of_sets.items() if own is kind) for kind in (True, False)
        )
        raise ConfigError(f"{sets} judges sets of classes and {rankings} rankings of them: ask for one kind")
    return class_lists(lists, systems, ranked=not all(of_sets.values()))


def _predictions_of(values: Any, name: str, lists: CandidateLists) -> Predictions:
    """Predictions given as one text, number or collection per row; DataError if they do not fit."""
    from rerank.data import array_inputs as given
    from rerank.data.classes import Predictions

    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise DataError(f"{name}: found {type(values).__name__}, expected a prediction for each example")
    if len(values) != lists.n_items:
        raise DataError(f"{name}: {len(values)} predictions, expected {lists.n_items}")
    numbers = any(isinstance(one, float | np.floating) and one % 1 for one in cells(values))
    return Predictions(name, given.class_names(values, "prediction", name), numbers)


def _note_predictions(
    systems: Mapping[str, Predictions], expanded: CandidateLists, metrics: Sequence[str]
) -> None:
    """Warn about predictions and examples that cannot show anything."""
    from rerank.metrics.base import parse_all

    n_classes = int(expanded.lengths[0])
    ranked = not any(metric.of_classes for metric in parse_all(metrics).values())
    seen: dict[tuple[str, ...], str] = {}
    for name, one in systems.items():
        texts = tuple(one.texts)
        if len(set(texts)) == 1 < len(texts):
            note(f"{name}: predicts {texts[0]!r} for every example")
        earlier = seen.setdefault(texts, name)
        if earlier != name:
            note(f"{name}: predicts the same as {earlier}")
        if not ranked and n_classes > 2 and all(text.count(",") == n_classes - 1 for text in texts):
            note(f"{name}: every line has all {n_classes} classes: are these rankings (nDCG, AP, RR)?")
    if systems and expanded.n_lists < _FEW_EXAMPLES:
        note(f"{expanded.source}: tests and intervals of {count(expanded.n_lists, 'example')} show little")
