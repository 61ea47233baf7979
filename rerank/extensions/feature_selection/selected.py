"""``rerank features select``: lists with only the features that a method selects on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.scaling import fit_scaling
from rerank.extensions.feature_selection.methods import Selected, narrowed, select
from rerank.extensions.feature_selection.options import Selecting
from rerank.formats.base import FORMATS, save
from rerank.formats.sources import Data, checked_format, read_lists
from rerank.learners.ranksvm import RankSVM


class SelectedFeatures(Struct, frozen=True, eq=False):
    """The lists with the features that are kept, their names, the most important one first, and a line."""

    lists: CandidateLists
    names: list[str]
    found: Selected
    line: str


def select_features(
    data: Data,
    keep: int,
    out: str | None = None,
    to: str | None = None,
    *,
    reading: Reading | None = None,
    **settings: Any,
) -> SelectedFeatures:
    """Select features of training lists with labels.

    Values that the methods compare are scaled as learners scale them (dense features by their deviation,
    sparse ones not at all); the lists that are returned and written have their own values. To select within
    folds or cross-validation train with ``learner="select-features"``.

    Parameters
    ----------
    data : a file of training lists, CandidateLists or a data frame. Only these lists are read.
    keep : the number of features to keep, in the order that they have.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    reading : how the file is read.
    settings : ``method`` (boosting, filter, backward or l1), ``criterion`` of a filter (gain, count or
        correlation), ``ranker`` and ``step`` of backward elimination.

    Returns
    -------
    SelectedFeatures

    Raises
    ------
    RerankError
        ConfigError if settings do not fit together, or the format of ``out`` holds no names of features and
        these are no numbers; FitError if there are fewer features than are to be kept,
        a value is missing, or the lists have no pair; the errors of files.

    References
    ----------
    Collins & Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005
    (section 6.4).

    Examples
    --------
    >>> import rerank
    >>> X = [[0.0, 3.0, 1.0], [1.0, 2.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    >>> lists = rerank.CandidateLists.from_arrays(X, [0, 1, 0, 1], group=[2, 2], feature_names=list("abc"))
    >>> rerank.select_features(lists, 2, method="filter").names
    ['a', 'b']
    """
    how = Selecting.checked(settings, "select_features")
    target = None if out is None else checked_format(out, to, data, reading)
    lists = read_lists(data, reading)
    scaled = lists if lists.has_missing else fit_scaling(RankSVM.scaling_of(lists), lists).apply(lists)
    found = select(scaled, keep, how)
    names = lists.names()
    made = narrowed(lists, found.columns)
    if out is not None and target is not None:
        save(_as_written(lists, made, found, target, out), out, target)
    return SelectedFeatures(made, [names[j] for j in found.columns.tolist()], found, found.line(names))


def _as_written(
    lists: CandidateLists, made: CandidateLists, found: Selected, target: str, out: str
) -> CandidateLists:
    """The lists with what is kept; in a format without names others are 0, so that numbers stay."""
    if FORMATS.get(target)().keeps(made, "feature_names"):
        return made
    if not lists.columns().unnamed:
        text = (
            f"{target} holds no names of features, so that those that are kept would be mistaken for others"
        )
        raise ConfigError(f"{out}: {text}; write a store or jsonl (--to)")
    places = np.full(lists.n_features, -1, dtype=np.int64)
    places[found.columns] = found.columns
    return lists.with_features(lists.features.select(places, lists.n_features), None)
