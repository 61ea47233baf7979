"""Evaluation: metrics of scores, and tests of systems against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rerank.data.class_lists import read_predictions
from rerank.data.lists import CandidateLists
from rerank.data.scores import read_scores
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError
from rerank.evaluation import evaluate as evaluation
from rerank.evaluation.compare import Comparisons, compare_all
from rerank.evaluation.evaluate import Evaluation
from rerank.evaluation.results import Results
from rerank.experiment.classes import (
    DEFAULT,
    has_classes,
    judged,
    note_predictions,
    predictions_of,
    reading_for,
)
from rerank.experiment.notes import note_evaluation, note_systems
from rerank.experiment.outputs import all_or_none, check_outputs
from rerank.experiment.sources import Data, as_lists, inputs_of, read_judged
from rerank.files import write_lines
from rerank.metrics.sequences import scores_of
from rerank.reading import Reading
from rerank.report import page, record


def default_metrics(lists: CandidateLists) -> tuple[str, ...]:
    """Return the metrics to report if none is named.

    For examples with classes these are zero-one and Hamming; for lists without labels PARSEVAL with gold
    trees and BLEU with references; otherwise AP, RR and nDCG@10.
    """
    if has_classes(lists):
        return DEFAULT
    if lists.labels is None and (lists.gold is not None or "PARSEVAL" in lists.counts):
        return ("PARSEVAL",)
    if lists.labels is None and (lists.references or "BLEU" in lists.counts):
        return ("BLEU",)
    return ("AP", "RR", "nDCG@10")


def evaluate(
    data: Any,
    scores: Any,
    metrics: Sequence[str] | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    ties: str | None = None,
    no_relevant: str = "zero",
) -> dict[str, float]:
    """Return metrics of one ranking.

    Parameters
    ----------
    data : CandidateLists; or plain sequences, the labels or the texts of all items: a sequence for each list,
        or flat with ``group`` or ``qid``.
    scores : larger is better; in the shape of ``data``, or flat in the order of the caller's rows, as
        ``Model.score`` returns them: the lines of the file, or the rows given with ``qid``. For examples with
        classes one prediction per row: a class, a collection of them, or text as ``ClassesModel.predicted``
        returns it.
    metrics : names as in ``rerank list metrics``; None = PARSEVAL, BLEU, zero-one and Hamming, or AP, RR and
        nDCG@10, whatever the lists have the columns for.
    group : lengths of the lists, for flat sequences.
    qid : id of each item's list, for flat sequences.
    refs : for each list, its reference or several; lists come in the order of their first rows.
    ties : "trec", "expected" or "input"; None = trec if items have ids, otherwise expected.
    no_relevant : value of a list without a relevant item: "zero", "one", or "skip" to leave it out.

    Returns
    -------
    dict
        Values by the names given; NaN if no list counts. 0 to 100 for BLEU, WER and PARSEVAL, 0 to 1 for
        measures of ranking.

    Raises
    ------
    RerankError
        If a metric is unknown, labels, texts or references are absent, or a score is NaN.

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
    """
    lists = as_lists(data, group=group, qid=qid, refs=refs)
    chosen = default_metrics(lists) if metrics is None else metrics
    if has_classes(lists):
        lists, systems = judged(lists, {"scores": predictions_of(scores, "scores", lists)}, chosen)
        ranking = systems["scores"]
    else:
        ranking = scores_of(scores, lists)
    return evaluation.values(lists, ranking, chosen, ties=ties, no_relevant=no_relevant)


def compare(
    data: Any,
    systems: Mapping[str, Any],
    metrics: Sequence[str] | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    **options: Any,
) -> Comparisons:
    """Test every two systems against each other, as ``rerank compare`` does.

    Parameters
    ----------
    data, metrics, group, qid, refs : as for ``evaluate``.
    systems : name to scores, which are as for ``evaluate``.
    options : ``ties``, ``no_relevant``, ``samples``, ``level`` and ``seed`` of the tests.

    Returns
    -------
    Comparisons
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
    lists = as_lists(data, group=group, qid=qid, refs=refs)
    chosen = default_metrics(lists) if metrics is None else metrics
    if has_classes(lists):
        found = {name: predictions_of(values, name, lists) for name, values in systems.items()}
        lists, ranked = judged(lists, found, chosen)
    else:
        ranked = {name: _named_scores(name, scores, lists) for name, scores in systems.items()}
    return compare_all(lists, ranked, chosen, **options)


def _named_scores(name: str, scores: Any, lists: CandidateLists) -> Floats:
    """The scores of a system; errors begin with its name."""
    try:
        return scores_of(scores, lists)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def evaluate_files(
    data: Data,
    paths: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    per_list: str | None = None,
    html: str | None = None,
    reading: Reading | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate score files against first-best, random and oracle, with significance.

    Parameters
    ----------
    data : a file of judged lists, or CandidateLists.
    paths : score files, one number per item line, or for examples with classes predictions, one per line; a
        system's name is its path as typed.
    metrics : names; None = ``default_metrics``.
    baseline : the score file that the others are tested against; it need not be among ``paths``.
    per_list : file for the values of each list (TSV), "-" = standard output.
    html : file for the page of ``rerank.report.page``.
    reading : how the file is read.
    options : of ``rerank.evaluation.evaluate.evaluate``.
    """
    if html is not None and options.get("replicas"):
        raise ConfigError("--html shows each score file as a system of its own; leave out --replicas")
    _check_outputs(per_list, html, inputs_of(data, reading, *paths, baseline))
    names = list(paths)
    if baseline is not None and baseline not in names:
        names.insert(0, baseline)
    lists, chosen, systems = _read_systems(data, names, metrics, reading)
    found = evaluation.evaluate(lists, systems, chosen, baseline=baseline, **options)
    if lists.classes is None:  # others were reported when they were read
        note_evaluation(lists, systems, found)
    with all_or_none():
        if per_list is not None:
            write_lines(per_list, (line.rstrip("\n") for line in record.per_list_tsv(found.per_list())))
        if html is not None:
            options.pop("replicas", None)
            page.write_page(Results.of_systems(lists, systems, chosen, baseline=baseline, **options), html)
    return found


def compare_files(
    data: Data,
    paths: Sequence[str],
    metrics: Sequence[str] | None = None,
    *,
    html: str | None = None,
    reading: Reading | None = None,
    **options: Any,
) -> Comparisons:
    """Test every two score files against each other.

    Parameters
    ----------
    data, paths, metrics, reading : as for ``evaluate_files``.
    html : file for the page of ``rerank.report.page``; its figures compare the others with the first path.
    options : of ``rerank.evaluation.compare.compare_all``.
    """
    _check_outputs(None, html, inputs_of(data, reading, *paths))
    lists, chosen, systems = _read_systems(data, paths, metrics, reading)
    found = compare_all(lists, systems, chosen, **options)
    if lists.classes is None:  # others were reported when they were read
        note_systems(lists, systems, list(found.pairs), found.n_lists - found.unjudged)
    if html is not None:
        results = Results.of_systems(lists, systems, chosen, baseline=next(iter(systems)), **options)
        page.write_page(results, html, all_pairs=True)
    return found


def _check_outputs(per_list: str | None, html: str | None, inputs: Iterable[str]) -> None:
    """Raise ConfigError or RerankError if an output could not be written; for use before long work."""
    outputs = {"--per-list": per_list, "--html": html}
    check_outputs({option: path for option, path in outputs.items() if path is not None}, inputs)
    if html is not None:
        page.check_page(html)


def _read_systems(
    data: Data, paths: Sequence[str], metrics: Sequence[str] | None, reading: Reading | None
) -> tuple[CandidateLists, Sequence[str], dict[str, Floats]]:
    """What is judged, metrics, and scores by path as typed; ConfigError if a path is given twice."""
    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise ConfigError(f"score file {path} is given twice")
    reading = reading_for(metrics, reading)
    lists = read_judged(data, reading)
    chosen = metrics or default_metrics(lists)
    if not has_classes(lists, reading):
        return lists, chosen, {path: read_scores(path, lists) for path in paths}
    found = {path: read_predictions(path, lists) for path in paths}
    expanded, systems = judged(lists, found, chosen)
    note_predictions(found, expanded, chosen)
    return expanded, chosen, systems
