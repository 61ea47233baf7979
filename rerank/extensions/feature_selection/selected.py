"""``rerank features select``: lists with only the features that a method selects on them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.scaling import fit_scaling
from rerank.extensions.feature_selection.methods import Selected, narrowed, select
from rerank.extensions.feature_selection.options import Selecting
from rerank.formats.base import save
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
        ConfigError if settings do not fit together; FitError if there are fewer features than are to be kept,
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
    ['a', 'c']
    """
    how = Selecting.checked(settings, "select_features")
    target = None if out is None else checked_format(out, to, data, reading)
    lists = read_lists(data, reading)
    scaled = lists if lists.has_missing else fit_scaling(RankSVM.scaling_of(lists), lists).apply(lists)
    found = select(scaled, keep, how)
    names = lists.names()
    made = narrowed(lists, found.columns)
    if out is not None and target is not None:
        save(made, out, target)
    return SelectedFeatures(made, [names[j] for j in found.columns.tolist()], found, found.line(names))
