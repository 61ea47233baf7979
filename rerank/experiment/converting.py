"""Lists and weights in other forms: other formats, more columns, parts, other tools' weight files."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataNote
from rerank.core.files.atomic_output import make_folder
from rerank.core.files.inputs import opening_once
from rerank.core.files.streams import write_lines
from rerank.core.text import count
from rerank.core.workers import parallel
from rerank.data.folds import fold_names, folds_of, parts_of, shares_of
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.experiment.derive import item_judges, item_rows, with_label
from rerank.experiment.outputs import Written, all_or_none, check_outputs, checked_format, written
from rerank.experiment.sources import Data, as_lists, inputs_of, read_lists
from rerank.experiment.svmtk import export_svmtk, import_svmtk
from rerank.formats import base
from rerank.formats.scores import read_scores
from rerank.formats.svmtk.model import is_model
from rerank.formats.weights import WeightOptions, read_weights, write_weights
from rerank.metrics.base import parse
from rerank.metrics.structures import StructureMetric
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.weights import load_linear, weights_of

SVMTK, SVMTK_PAIRS = "svmtk", "svmtk-pairs"
STANDARD = "-"  # standard output
_MOST_FOLDS = 10_000  # folders that are made


def save(
    data: Any,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
) -> None:
    """Write lists to a file, which appears whole or not at all.

    Parameters
    ----------
    data, group, qid, refs : CandidateLists or plain sequences, as for ``rerank.evaluate``.
    path : the file, "-" = standard output; a name that ends in ``.store`` or / is a folder that keeps
        every column.
    format : name of the format; None = by the suffix of ``path``.

    Raises
    ------
    RerankError
        If the suffix names no format, the format cannot hold the lists, or the file cannot be written.

    Examples
    --------
    >>> import rerank, tempfile
    >>> path = tempfile.mkdtemp() + "/lists.jsonl"
    >>> rerank.save([["the cat", "a cat"], ["it rains"]], path)
    >>> rerank.load(path)
    CandidateLists(2 lists, 3 items, 0 dense features)
    """
    base.save(as_lists(data, group=group, qid=qid, refs=refs), os.fspath(path), format)


def convert_file(data: Data, out: str, to: str | None = None, *, reading: Reading | None = None) -> Written:
    """Write lists in another format.

    Parameters
    ----------
    data : a file of lists, or CandidateLists.
    out : the file to write, "-" = standard output.
    to : name of the format to write; None = by the suffix of ``out``.
    reading : how the file is read.
    """
    target = checked_format(out, to, data, reading)
    return written(read_lists(data, reading), out, target)


def append_file(
    data: Data,
    columns: Mapping[str, str],
    out: str,
    to: str | None = None,
    *,
    reading: Reading | None = None,
) -> Written:
    """Write lists with further features, read from files of one number per item line.

    Parameters
    ----------
    data, out, to, reading : as for ``convert_file``.
    columns : the feature's name to the file of its values.
    """
    target = checked_format(out, to, data, reading, *columns.values())
    lists = read_lists(data, reading)
    added = {name: lists.from_input_order(read_scores(path, lists)) for name, path in columns.items()}
    return written(lists.with_added(added), out, target)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Lists with labels by the metric ``metric``."""

    lists: CandidateLists
    metric: str

    def spread(self) -> str:
        """Return the range and the mean of the labels, and how many items and lists have some, in words."""
        labels = self.lists.labels
        assert labels is not None
        known = labels[~np.isnan(labels)]
        spread = f"{known.min():.4g} to {known.max():.4g}, mean {known.mean():.4g}"
        left = self.lists.n_lists - int(np.count_nonzero(self.lists.judged_lists()))
        unjudged = f"; {count(left, 'list')} unjudged" if left else ""
        return f"{self.metric} of {count(len(known), 'item')}: {spread}{unjudged}"


def label_file(
    data: Data,
    metric: str | Sequence[str],
    out: str | None = None,
    to: str | None = None,
    *,
    per_item: str | None = None,
    jobs: int | None = None,
    reading: Reading | None = None,
) -> Labelled:
    """Write lists with a metric of each candidate as its label, see ``derive.labelled``, or only the table.

    Parameters
    ----------
    data, to, reading : as for ``convert_file``.
    out : the file of lists to write, "-" = standard output. None = only the table of ``per_item``, which then
        goes to standard output unless it has a file.
    metric : a metric of single candidates, such as sBLEU; of several the first makes the labels.
    per_item : file for the values of all metrics of each item (TSV), in the order of the caller's rows. A
        value is as the metric has it, errors not negated, and empty if the item has none.
    jobs : threads that superpose structures.

    Raises
    ------
    RerankError
        If there are several metrics with ``out`` alone, ``to`` is given without ``out``, several ``jobs``
        without a metric that superposes structures, a metric is unknown or judges rankings, a column is
        missing, or a file cannot be read or written.
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    if not metrics:
        raise ConfigError("no metric is named")
    if out is None and to is not None:
        raise ConfigError(f"--to {to}: not used without --out, which names the file of lists")
    if out is None and per_item is None:
        per_item = STANDARD
    if len(metrics) > 1 and per_item is None:
        raise ConfigError(
            f"found {len(metrics)} metrics, expected one; --per-item FILE writes those of others"
        )
    if jobs not in (None, 1) and not any(isinstance(parse(name), StructureMetric) for name in metrics):
        raise ConfigError(f"--jobs {jobs}: not used by {', '.join(metrics)}, only to superpose structures")
    target = None if out is None else checked_format(out, to, data, reading)
    if per_item is not None:
        inputs = inputs_of(data, reading)
        if out is None or target == "store":
            check_outputs({"--per-item": per_item}, [*inputs, *([] if out is None else [out])])
        else:
            check_outputs({"--out": out, "--per-item": per_item}, inputs)
    with parallel.using(jobs):
        lists = read_lists(data, reading)
        judges = item_judges(lists, metrics)
    made = with_label(lists, judges[metrics[0]])
    with all_or_none():
        if out is not None and target is not None:
            written(_without_unheld(made, lists, target), out, target)
        if per_item is not None:
            write_lines(per_item, item_rows(lists, judges))
    return Labelled(made, metrics[0])


def _without_unheld(made: CandidateLists, lists: CandidateLists, target: str) -> CandidateLists:
    """``made`` without new counts of texts if the format holds no counts: texts give them again."""
    if not lists.references or "counts" in base.FORMATS.get(target).holds:
        return made
    return dataclasses.replace(made, counts=lists.counts)


def split_file(
    data: Data,
    folder: str,
    *,
    parts: Sequence[str] = (),
    folds: int | None = None,
    seed: int = 1,
    suffix: str = ".letor",
    reading: Reading | None = None,
) -> list[Written]:
    """Draw parts or folds of the lists and write them; every list is whole in one part.

    Parameters
    ----------
    data, reading : as for ``convert_file``.
    folder : where the files go, together or not at all.
    parts : ``NAME=SHARE``, such as ``dev=0.1``.
    folds : number of folds of train and test, in place of parts.
    seed : of the drawing.
    suffix : of the files; it names their format.

    Raises
    ------
    RerankError
        If both or neither of parts and folds are given, shares sum to more than 1, the suffix is unknown, or
        a file cannot be written or is an input, which is checked first.
    """
    if bool(parts) == (folds is not None):
        raise ConfigError("give parts (--part NAME=SHARE, twice or more) or --folds K")
    if folds is not None and folds > _MOST_FOLDS:
        raise ConfigError(f"--folds: found {folds}, expected at most {_MOST_FOLDS}")
    if os.path.basename(suffix) != suffix:
        raise ConfigError(f"--suffix: found {suffix!r}, expected one that names no folder, such as .letor")
    target = base.format_for(f"part{suffix}")
    names = shares_of(parts) if folds is None else fold_names(folds)
    paths = {name: os.path.join(folder, f"{name}{suffix}") for name in names}
    with all_or_none():
        for path in paths.values():
            make_folder(os.path.dirname(path))
        check_outputs({"--out": list(paths.values())}, inputs_of(data, reading), store=target == "store")
        lists = read_lists(data, reading)
        drawn = parts_of(lists, parts, seed) if folds is None else folds_of(lists, folds, seed)
        return [written(some, paths[name], target) for name, some in drawn]


@opening_once
def import_weights(
    path: str,
    out: str,
    format: str | None = None,
    *,
    feature_names: str | None = None,
    tree_names: Sequence[str] = (),
) -> Model:
    """Make a model from a weight file, or a model file of SVM-light-TK, and write it.

    Parameters
    ----------
    path : the file, "-" = standard input.
    out : the model file.
    format : tsv, moses-ini, bllip or svmtk; None = by content.
    feature_names : file with the id of each feature (bllip).
    tree_names : names of an item's trees, in the order of the file (svmtk); none = tree, or tree1, tree2, ...
    """
    check_outputs({"--out": out}, inputs_of(path, None, feature_names))
    if format == SVMTK or (format is None and is_model(path)):
        if feature_names is not None:
            raise ConfigError(f"models of format {SVMTK} do not use --feature-names")
        found = import_svmtk(path, tree_names)
        found.save(out)
        return found
    if tree_names:
        raise ConfigError(f"weight files do not use --tree-names; models of format {SVMTK} do")
    names, values = read_weights(path, format, WeightOptions(feature_names))
    model = LinearModel(names, values)
    model.save(out)
    return model


def export_weights(
    path: str, out: str, format: str, *, ini: str | None = None, feature_names: str | None = None
) -> Model:
    """Write a linear model's weights of the raw features, or a preference model for SVM-light-TK.

    A keep margin is not a weight and is left out, and so is what fills missing values, with a DataNote.

    Parameters
    ----------
    path : the model file.
    out : the weight file, "-" = standard output.
    format : tsv, moses-ini or bllip; svmtk or svmtk-pairs for preference models, see ``export_svmtk``.
    ini : a moses.ini whose other content is kept.
    feature_names : as for ``import_weights``.
    """
    check_outputs({"--out": out}, inputs_of(path, None, ini, feature_names))
    if format in (SVMTK, SVMTK_PAIRS):
        if ini is not None or feature_names is not None:
            used = "--ini" if ini is not None else "--feature-names"
            raise ConfigError(f"models of format {format} do not use {used}")
        return export_svmtk(path, out, pairs=format == SVMTK_PAIRS)
    model = load_linear(path)
    named = weights_of(model, path)
    if model.missing_policy not in (None, "error"):
        text = f"what fills missing values ({model.missing_policy}) is no weight, so it is left out"
        warnings.warn(f"{path}: {text}: fill them in the same way", DataNote, stacklevel=2)
    write_weights(out, named.names, named.weights, format, WeightOptions(feature_names, ini))
    return model
