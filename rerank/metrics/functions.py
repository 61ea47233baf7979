"""Every family of metrics as a function of plain sequences, made from its declaration."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import keyword
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.settings import describe
from rerank.data import array_inputs as given
from rerank.data.array_inputs import dimensions
from rerank.data.arrays import cells
from rerank.data.classes import Predictions, class_lists
from rerank.data.columns.strings import StringColumn
from rerank.data.frames import refuse_other_rows
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.formats.sources import lists_of, rows_of_references
from rerank.metrics.base import FAMILIES, Metric
from rerank.metrics.judges import nothing_judged, scores_of, statistics
from rerank.metrics.judging import OF_FILES, Judging

_Options = dict[str, Any]


@functools.cache
def names() -> dict[str, str]:
    """Return the family of each function by the function's name: canonical names before other ones."""
    found: dict[str, str] = {}
    families = [name for name in FAMILIES.names() if _form(FAMILIES.get(name)) is not None]
    spellings = [(name, name) for name in families]
    spellings += [(alias, name) for name in families for alias in FAMILIES.aliases(name)]
    for spelling, family in spellings:
        name = re.sub(r"\W+", "_", spelling.lower().replace("++", "pp")).strip("_")  # ndcg_exp, chrfpp
        name += "_" * keyword.iskeyword(name)
        hidden = importlib.util.find_spec(f"rerank.metrics.{name}") and name not in OF_FILES
        if "+1" not in spelling and not hidden:  # bleu_1 would be taken for BLEU of single words
            found.setdefault(name, family)
    return found


@functools.cache
def function(name: str) -> Callable[..., float]:
    """Return the function called ``name``; raise AttributeError, with the nearest name, if it is unknown."""
    if name not in names():
        known = did_you_mean(name, names())
        raise AttributeError(f"module 'rerank.metrics' has no attribute {name!r}; {known}")
    kind = FAMILIES.get(names()[name])
    form = _form(kind)
    assert form is not None  # names() has no other
    settings = [key for key in kind.settings if key != "cutoff"]
    if "cutoff" in kind.settings:
        settings.insert(0, "k")

    def measure(*args: Any, **options: Any) -> float:
        try:
            bound = signature.bind(*args, **options).arguments
        except TypeError as error:
            raise ConfigError(f"{name}: {error}; expected {name}{signature}") from None
        given = {key: value for key, value in bound.items() if key in settings and value is not None}
        metric = kind.from_parts({key: v for key, v in given.items() if key != "k"}, given.get("k"))
        return form(metric, {key: value for key, value in bound.items() if key not in settings})

    own = inspect.signature(_INPUTS[form]).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in own]
    signature = inspect.Signature([*plain, *(_parameter(kind, key) for key in settings)])
    measure.__name__ = measure.__qualname__ = name
    measure.__module__ = "rerank.metrics"
    measure.__doc__ = _docstring(kind, form, settings)
    measure.__signature__ = signature  # type: ignore[attr-defined]
    return measure


def _parameter(kind: type[Metric], key: str) -> inspect.Parameter:
    """A setting of the metric as a keyword."""
    field = kind.settings["cutoff" if key == "k" else key]
    default = inspect.Parameter.empty if field.required else field.default
    return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default)


def _docstring(kind: type[Metric], form: Callable[[Metric, _Options], float], settings: Sequence[str]) -> str:
    """Return the docstring: the metric, and its arguments."""
    meanings = {"k" if key == "cutoff" else key: text for key, _, _, text in describe(kind)}
    lines = [f"{kind.family}: {kind.summary}.", "", kind.meaning, "", "Parameters", "----------"]
    lines += [inspect.getdoc(_INPUTS[form]) or ""]
    lines += [f"{key} : {meanings[key]}." for key in settings]
    return "\n".join([*lines, "", f"Source: {kind.source}"])


def _form(kind: type[Metric]) -> Callable[[Metric, _Options], float] | None:
    """Return the function that calls the family, None if plain sequences do not have what it needs."""
    if "inner" in kind.settings or not getattr(kind, "of_arrays", True):
        return None
    if kind.of_classes:
        return _of_classes
    return {
        ("labels",): _of_labels,
        ("texts", "references"): _of_texts,
        ("trees", "gold"): _of_trees,
        ("traces", "natives"): _of_structures,
    }.get(kind.needs)


def _value(metric: Metric, lists: CandidateLists, scores: Any, **options: Any) -> float:
    """The metric of scores in the order of the caller's rows."""
    judge = metric.prepare(lists, Judging.by(None, **options))
    items = lists.from_input_order(scores_of(scores, lists))
    if not judge.judged.any():
        raise nothing_judged(lists)
    return float(corpus_value(judge, statistics([judge], items)[0]))


def _labels_and_scores(
    labels: Any,
    scores: Any,
    *,
    group: Any = None,
    qid: Any = None,
    ties: str | None = None,
    no_relevant: str = "zero",
) -> None:
    """labels : sequence of numbers for each list, or flat with ``group`` or ``qid``; larger is better.
    scores : of the same shape; larger is better.
    group : lengths of the lists, for flat sequences.
    qid : id of each item's list, for flat sequences.
    ties : "expected", the mean over all orders of tied items (None is the same), or "input".
    no_relevant : value of a list without a relevant item: "zero", "one" or "skip"."""


def _of_labels(metric: Metric, options: _Options) -> float:
    labels, scores = options.pop("labels"), options.pop("scores")
    refuse_other_rows(labels=labels, scores=scores, qid=options.get("qid"))
    lists = lists_of(labels, group=options.pop("group", None), qid=options.pop("qid", None))
    if lists.labels is None:
        raise DataError("labels: found texts, expected numbers, such as 1 for relevant items")
    return _value(metric, lists, scores, **options)


def _hypotheses_and_references(
    hyps: Any, refs: Any, *, scores: Any = None, streams: bool | None = None
) -> None:
    """hyps : sequence of str, one hypothesis for each segment; with ``scores`` several for each segment.
    refs : one reference for each segment, or a sequence of references for each; or as sacrebleu has them, a
        list of streams, each with one reference for each segment.
    scores : of the hypotheses, in their shape: the best one of each segment counts.
    streams : whether ``refs`` are streams; None = by their shape."""


def _of_texts(metric: Metric, options: _Options) -> float:
    hyps, refs, scores = options["hyps"], options["refs"], options.get("scores")
    for name, value in (("hyps", hyps), ("refs", refs)):
        if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
            found = f"the text {value!r}" if isinstance(value, str) else type(value).__name__
            raise DataError(f"{name}: found {found}, expected a sequence with an entry for each segment")
    refuse_other_rows(hyps=hyps, refs=refs)
    rows = [[one] if isinstance(one, str) else one for one in cells(hyps)]
    bad = next((one for one in rows if not isinstance(one, list | tuple)), "")
    if not isinstance(bad, str):
        raise DataError(f"hyps: found {bad!r}, expected a text")
    if scores is None and any(len(row) != 1 for row in rows):
        raise DataError("hyps: found several hypotheses of a segment, expected their scores (scores=), too")
    lists = lists_of(rows)
    if lists.texts is None:
        raise DataError(f"hyps: found {rows[0][0]!r}, expected a text")
    chosen = np.zeros(lists.n_items) if scores is None else scores
    references = _references(refs, lists.n_lists, options.get("streams"))
    return _value(metric, replace(lists, references=references), chosen)


def _references(refs: Any, n: int, streams: bool | None) -> tuple[StringColumn, ...]:
    """A column for each reference of n segments."""
    rows = rows_of_references(refs)
    if streams is None and n > 1 and len(rows) == n and all(len(row) == n for row in rows):
        found = f"{n} sequences of {n} references, which can be streams or segments"
        raise DataError(f"refs: found {found}; give streams=True or streams=False")
    if streams is not True and len(rows) == n and len({len(row) for row in rows}) == 1:
        rows = list(zip(*rows, strict=True))
    elif streams is False or not rows or any(len(row) != n for row in rows):
        sizes = sorted({len(row) for row in rows})
        found = f"{len(rows)} entries of {', '.join(map(str, sizes))}"
        raise DataError(f"refs: found {found}, expected one for each of {n} hypotheses, or streams of {n}")
    return tuple(StringColumn.from_strings(row) for row in rows)


def _gold_and_predicted(classes: Any, predicted: Any) -> None:
    """classes : sequence of classes, or of collections of classes, one for each example.
    predicted : the same, as predicted."""


def _of_classes(metric: Metric, options: _Options) -> float:
    lists = CandidateLists.from_arrays(np.empty((len(options["classes"]), 0)), classes=options["classes"])
    texts = given.class_names(options["predicted"], "prediction", "predicted")
    if len(texts) != lists.n_items:
        raise DataError(f"predicted: found {len(texts)} predictions, expected {lists.n_items}")
    expanded, systems = class_lists(lists, {"predicted": Predictions("predicted", texts)}, ranked=False)
    return _value(metric, expanded, systems["predicted"])


def _trees_and_gold(trees: Any, gold: Any) -> None:
    """trees : sequence of parses, one for each sentence: strings in brackets, trees of NLTK or nested lists.
    gold : the gold parses."""


def _of_trees(metric: Metric, options: _Options) -> float:
    parses = CandidateLists.from_arrays(
        None, trees=options["trees"], group=np.ones(len(options["trees"]), int)
    )
    gold = CandidateLists.from_arrays(None, trees=options["gold"]).trees
    if gold is None or len(gold) != parses.n_lists:
        raise DataError(f"gold: found {len(options['gold'])} trees, expected {parses.n_lists}")
    return _value(metric, replace(parses, gold=gold), np.zeros(parses.n_items))


def _models_and_natives(models: Any, natives: Any) -> None:
    """models : sequence of structures, one for each native: positions of alpha carbons in Å, (n, 3), whose
        residues are numbered from 1 (a row of NaN = missing); or (numbers, positions); or None, which counts
        0, and is left out of the RMSD.
    natives : the native structures, in the same form; residues of the same number are matched."""


def _of_structures(metric: Metric, options: _Options) -> float:
    models, natives = options["models"], options["natives"]
    for name, value in options.items():
        if not hasattr(value, "__len__") or dimensions(next(iter(value), None)) == 1:
            expected = "expected a sequence of structures, each with positions (n, 3)"
            raise DataError(f"{name}: found one structure or none, {expected}")
    if len(models) != len(natives):
        raise DataError(f"natives: found {len(natives)} structures, expected {len(models)}")
    group = np.ones(len(models), dtype=np.int64)
    lists = CandidateLists.from_arrays(None, traces=models, natives=natives, group=group)
    of_structures: Any = metric
    values = of_structures.of_models(lists)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


_INPUTS: dict[Callable[[Metric, _Options], float], Callable[..., None]] = {
    _of_labels: _labels_and_scores,
    _of_texts: _hypotheses_and_references,
    _of_classes: _gold_and_predicted,
    _of_trees: _trees_and_gold,
    _of_structures: _models_and_natives,
}
