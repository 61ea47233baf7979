"""Evaluation: metrics of scores, and tests of systems against each other."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rerank.core.errors import ConfigError
from rerank.core.files.inputs import opening_once
from rerank.core.files.streams import write_lines
from rerank.data.columns.traces import SUPERPOSITIONS
from rerank.data.frames import refuse_other_rows
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.evaluation import evaluate as evaluation
from rerank.evaluation.evaluate import Evaluation
from rerank.evaluation.significance import SEED
from rerank.experiment.align_systems import FIRST_BEST, Systems
from rerank.experiment.classes import (
    DEFAULT,
    has_classes,
    judged,
    note_predictions,
    predictions_of,
    reading_for,
)
from rerank.experiment.notes import note_evaluation, note_ndcg, note_systems
from rerank.experiment.systems import (
    add_data,
    add_files,
    check_missing,
    gathered,
    gathered_values,
    is_nested_mapping,
    systems_in,
)
from rerank.formats.sources import Data, all_or_none, as_lists, check_outputs, inputs_of, is_path

if TYPE_CHECKING:
    from rerank.evaluation.compare import Comparisons

Metrics = Sequence[str] | str | None
OF_LABELS = ("AP", "RR", "nDCG@10")


def default_metrics(lists: CandidateLists) -> tuple[str, ...]:
    """Return the metrics to report if none is named.

    For examples with classes these are zero-one and Hamming; for lists without labels PARSEVAL with gold
    trees, BLEU with references and GDT-TS with native structures; otherwise AP, RR and nDCG@10.
    """
    if has_classes(lists):
        return DEFAULT
    if lists.labels is None and (lists.gold is not None or "PARSEVAL" in lists.counts):
        return ("PARSEVAL",)
    if lists.labels is None and (lists.references or "BLEU" in lists.counts):
        return ("BLEU",)
    if lists.labels is None and (lists.natives is not None or SUPERPOSITIONS in lists.counts):
        return ("GDT-TS",)
    return OF_LABELS


@opening_once
def evaluate(
    data: Any,
    scores: Any,
    metrics: Metrics = None,
    *,
    baseline: str | None = None,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    ties: str | None = None,
    no_relevant: str = "zero",
    missing_lists: str | None = None,
    missing: str | None = None,
    samples: int | None = None,
    level: float | None = None,
    seed: int | None = None,
    replicas: bool | None = None,
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
    baseline : of several systems, the one that the others are tested against; None = the first stage's
        ranking ("first-best") if the lists have one.
    group : lengths of the lists, for flat sequences.
    qid : id of each item's list, for flat sequences.
    refs : for each list, its reference or several; lists come in the order of their first rows.
    ties : "trec", "expected" or "input"; None = trec if items have ids, otherwise expected.
    no_relevant : value of a list without a relevant item: "zero", "one", or "skip" to leave it out.
    missing_lists : how a judged query counts that the run lacks: "any" and "skip" leave it out, as trec_eval
        does, unless ``data`` are lists and hold it, "zero" counts 0, as trec_eval -c. None = any. Several
        systems: see ``compare``.
    missing : what an item counts as that a system has no score of, in a list of which it has others: "nan"
        (not returned, so below the others), "zero", "list-mean" (the mean of its other scores in the list),
        or "error". None is "nan", but NaN in the caller's own arrays is an error.

    samples, level, seed, replicas : of intervals and tests of several systems, see
        ``rerank.evaluation.evaluate.evaluate``.

    Returns
    -------
    Values or Evaluation
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
    if type(data) is dict and type(scores) is dict:
        others = baseline, group, qid, refs, missing_lists, missing, samples, level, seed, replicas
        if ties in (None, "trec") and no_relevant == "zero" and all(one is None for one in others):
            from rerank.experiment.mappings import values_of_mappings

            plain = values_of_mappings(data, scores, OF_LABELS if metrics is None else metrics)
            if plain is not None:
                return plain
    several = systems_in(scores)
    tests = {"samples": samples, "level": level, "seed": seed, "replicas": replicas}
    tests = {name: value for name, value in tests.items() if value is not None}
    given = {**tests, **({} if baseline is None else {"baseline": baseline})}
    if several is None and given:
        expected = "expected several systems, such as {'a': scores, 'b': scores}"
        raise ConfigError(f"{next(iter(given))}: not used with the scores of one, {expected}")
    systems = {"scores": scores} if several is None else several
    policies = missing, missing_lists
    found, chosen = _systems_of(data, systems, metrics, policies, group=group, qid=qid, refs=refs)
    note_ndcg(found.lists, chosen)
    if several is None:
        ranking = found.scores["scores"]
        return evaluation.values(
            found.lists,
            ranking,
            chosen,
            ties=ties,
            no_relevant=no_relevant,
            missing_lists=found.missing_lists,
            missing=found.missing,
        )
    if _is_first_best(baseline, systems):
        _check_first_best(found.lists)
        baseline = None
    options: dict[str, Any] = {"missing_lists": found.missing_lists, "missing": found.missing, **tests}
    return evaluation.evaluate(
        found.lists,
        found.scores,
        chosen,
        baseline=baseline,
        ties=ties,
        no_relevant=no_relevant,
        **options,
    )


@opening_once
def compare(
    data: Any,
    systems: Any,
    metrics: Metrics = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    ties: str | None = None,
    no_relevant: str = "zero",
    missing_lists: str | None = None,
    missing: str | None = None,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Comparisons:
    """Test every two systems against each other, as ``rerank compare`` does.

    Parameters
    ----------
    data, metrics, group, qid, refs : as for ``evaluate``.
    systems : a mapping of name to scores, which are as for ``evaluate``, or a data frame with a column for
        each system.
    ties, no_relevant : as for ``evaluate``.
    missing_lists : how a judged list counts of which a system returned nothing: "any" (0 if another system
        returned some of it, otherwise it is left out; None is the same), "zero" (0 in any case), or "skip"
        (it is left out for all systems).
    missing : as for ``evaluate``.
    samples, level, seed : of the tests, see ``rerank.evaluation.compare.compare_all``.

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
    from rerank.evaluation.compare import compare_all

    several = systems_in(systems)
    if several is None:
        found_ = f"found {type(systems).__name__}"
        raise ConfigError(f"systems: {found_}, expected scores by name, such as {{'a': scores, 'b': scores}}")
    policies = missing, missing_lists
    found, chosen = _systems_of(data, several, metrics, policies, group=group, qid=qid, refs=refs)
    return compare_all(
        found.lists,
        found.scores,
        chosen,
        missing_lists=found.missing_lists,
        missing=found.missing,
        ties=ties,
        no_relevant=no_relevant,
        samples=samples,
        level=level,
        seed=seed,
    )


def _systems_of(
    data: Any,
    systems: Mapping[str, Any],
    metrics: Metrics,
    policies: tuple[str | None, str | None],
    **shape: Any,
) -> tuple[Systems, Sequence[str]]:
    """Systems given as values on what they are judged on, and the metrics.

    ``policies`` are those for missing scores and for missing lists.
    """
    missing, missing_lists = policies
    check_missing(missing)
    refuse_other_rows(**{"data": data, **systems})
    read = None
    if is_path(data) and all(value is None for value in shape.values()):
        read = gathered(data, reading_for(metrics, Reading(missing=missing)))  # type: ignore[arg-type]
    lists = data if is_nested_mapping(data) else as_lists(data, **shape) if read is None else read.base
    if isinstance(lists, CandidateLists) and has_classes(lists):
        for name, policy in (("missing", missing), ("missing_lists", missing_lists)):
            if policy is not None:
                raise ConfigError(f"{name}: not used for examples with classes")
        chosen = default_metrics(lists) if metrics is None else metrics
        found = {name: predictions_of(values, name, lists) for name, values in systems.items()}
        return Systems(*judged(lists, found, chosen)), chosen
    together = (
        gathered_values(lists, systems, read, missing).together(metrics, missing_lists).in_order(systems)
    )
    return together, default_metrics(together.lists) if metrics is None else metrics


@opening_once
def evaluate_files(
    data: Data,
    paths: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    missing_lists: str | None = None,
    per_list: str | None = None,
    html: str | None = None,
    reading: Reading | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate systems against first-best, random and oracle, with significance.

    Parameters
    ----------
    data : a file of judged lists, or of judgements alone (qrels), or CandidateLists.
    paths : systems by their names: score files, one number per item line; runs and tables of scores by ids;
        features of DATA as "DATA:FEATURE" or ":FEATURE"; for examples with classes predictions, one per line.
    metrics : names; None = ``default_metrics``.
    baseline : the system that the others are tested against, which need not be among ``paths``; "first-best"
        is the first stage, as None is if the lists have one.
    missing_lists : as for ``compare``; the first stage is one of the systems.
    per_list : file for the values of each list (TSV), "-" = standard output.
    html : file for the page of ``rerank.report.page``.
    reading : how the file is read.
    options : of ``rerank.evaluation.evaluate.evaluate``.
    """
    if html is not None and options.get("replicas"):
        raise ConfigError("--html shows each score file as a system of its own; leave out --replicas")
    _check_outputs(per_list, html, inputs_of(data, reading, *paths, baseline))
    names = list(paths)
    against_first = _is_first_best(baseline, names)
    if against_first:
        baseline = None
    if baseline is not None and baseline not in names:
        names.insert(0, baseline)
    read, chosen = _read_systems(data, names, metrics, reading, missing_lists)
    lists, systems = read.lists, read.scores
    if html is not None:  # the page judges the lists again
        from rerank.metrics.structures import with_superpositions

        lists = with_superpositions(lists, chosen)
    if against_first:
        _check_first_best(lists)
    options |= {"missing_lists": read.missing_lists, "missing": read.missing}
    found = evaluation.evaluate(lists, systems, chosen, baseline=baseline, **options)
    if lists.classes is None:  # others were reported when they were read
        note_evaluation(lists, systems, found)
    with all_or_none():
        if per_list is not None:
            from rerank.core.tables.data import per_list_tsv

            write_lines(per_list, (line.rstrip("\n") for line in per_list_tsv(found.per_list())))
        if html is not None:
            from rerank.evaluation.results import Results
            from rerank.report import page

            options.pop("replicas", None)
            page.write_page(Results.of_systems(lists, systems, chosen, baseline=baseline, **options), html)
    return found


def _is_first_best(baseline: str | None, systems: Container[str]) -> bool:
    """Whether a baseline names the first stage, not a system or a file."""
    if baseline not in (FIRST_BEST, evaluation.FIRST_BEST) or baseline in systems:
        return False
    return not os.path.exists(baseline)


def _check_first_best(lists: CandidateLists) -> None:
    """Raise ConfigError if the lists have no first stage to test against."""
    if lists.first_best is None:
        raise ConfigError(f"baseline: {lists.source} has no first-best; name one of the systems")


@opening_once
def compare_files(
    data: Data,
    paths: Sequence[str],
    metrics: Sequence[str] | None = None,
    *,
    missing_lists: str | None = None,
    html: str | None = None,
    reading: Reading | None = None,
    **options: Any,
) -> Comparisons:
    """Test every two systems against each other; if ``data`` is a run, it is one of them, the first.

    Parameters
    ----------
    data, paths, metrics, missing_lists, reading : as for ``evaluate_files``.
    html : file for the page of ``rerank.report.page``; its figures compare the others with the first path.
    options : of ``rerank.evaluation.compare.compare_all``.
    """
    from rerank.evaluation.compare import compare_all

    _check_outputs(None, html, inputs_of(data, reading, *paths))
    read, chosen = _read_systems(data, paths, metrics, reading, missing_lists, compared=True)
    lists, systems = read.lists, read.scores
    options |= {"missing_lists": read.missing_lists, "missing": read.missing}
    found = compare_all(lists, systems, chosen, **options)
    if lists.classes is None:  # others were reported when they were read
        note_systems(lists, systems, list(found.typed.values()), found.n_lists - found.unjudged)
    if html is not None:
        from rerank.evaluation.results import Results
        from rerank.report import page

        results = Results.of_systems(lists, systems, chosen, baseline=next(iter(systems)), **options)
        page.write_page(results, html, all_pairs=True)
    return found


def _check_outputs(per_list: str | None, html: str | None, inputs: Iterable[str]) -> None:
    """Raise ConfigError or RerankError if an output could not be written; for use before long work."""
    outputs = {"--per-list": per_list, "--html": html}
    check_outputs({option: path for option, path in outputs.items() if path is not None}, inputs)
    if html is not None:
        from rerank.report import page

        page.check_page(html)


def _read_systems(
    data: Data,
    paths: Sequence[str],
    metrics: Sequence[str] | None,
    reading: Reading | None,
    missing_lists: str | None,
    *,
    compared: bool = False,
) -> tuple[Systems, Sequence[str]]:
    """Systems by name as typed on what they are judged on, and metrics.

    If they are ``compared``, a run that is DATA is one of them, otherwise it is the first stage.
    """
    from rerank.data.classes import read_predictions

    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise ConfigError(f"{path} is given twice")
    reading = reading_for(metrics, reading)
    together = gathered(data, reading)
    lists = together.base
    if lists is not None and has_classes(lists, reading):
        if missing_lists is not None:
            raise ConfigError("missing_lists is for runs, not for predictions of classes")
        chosen = metrics or default_metrics(lists)
        found = {path: read_predictions(path, lists) for path in paths}
        expanded, systems = judged(lists, found, chosen)
        note_predictions(found, expanded, chosen)
        return Systems(expanded, systems), chosen
    if compared:
        add_data(together, data, reading, paths)
    add_files(together, data, paths, reading)
    done = together.together(metrics, missing_lists, with_first_best=not compared).in_order(paths)
    return done, metrics or default_metrics(done.lists)
