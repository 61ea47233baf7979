"""Feature files of BLLIP's second stage: ``S=``, then a line per sentence with its parses' features."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from rerank.core.files.streams import read_bytes, shown
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.width import columns_to_keep, narrowed
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.bllip.read import Sentences, f_of, parse
from rerank.formats.bllip.write import ids_of, write_lists
from rerank.formats.feature_names import ColumnNames, read_feature_names

_LOG_PROBABILITY = re.compile(r"NLogP\b")  # the first stage's, with its sign changed
_FIRST_LINES = re.compile(rb"\s*S=[0-9]+\s+(G=[0-9]|$)")


@FORMATS.register("bllip")
class Bllip(Format):
    """Reader and writer of the files that BLLIP's (Charniak & Johnson's) feature extractors write.

    The first line is ``S=<sentences>``. Then each sentence has a line, ``G=<gold> N=<parses>`` and for each
    parse ``P=<its constituents> W=<those also in the gold tree> id id=value ... ,``. An id without a
    value has 1. Ids count from 0 and increase. Feature j is column j, and its name is its id, unless
    ``feature_names`` is the extractor's own list ("id<TAB>name"), which then also determines the number of
    features. Features are always sparse. If the largest id is far above the number of features present, only
    these, those with a name, and feature 0 have columns.

    counts["PARSEVAL"], float64 (n_items, 5): matched W, gold G, test P, and NaN for crossing brackets
    and the sentence's length, which the file does not contain. A label is F = 2 W / (G + P), 0 to 1. BLLIP
    uses each tree's own punctuation tags, so that values differ a little from those of evalb, which uses
    the gold tree's.
    First-best is the first parse of a list. List ids are numbers of sentences from 1. Sentences without
    a parse (N=0) are left out with a note, so that no recall counts their gold constituents, or refused
    (``strict``).

    Values are relative by default: the extractor subtracts from each feature of a list the value that
    leaves most zeros and ones, so that an absent feature has that value, whatever it was. A shift that a
    whole list shares changes no ranking by a linear model, so that values can be used as they are. They
    cannot be made absolute, as the file does not contain the shifts. They do affect trees and scaling over
    the whole training set.

    If the names say that feature 0 is NLogP, ``base_scores`` are this feature with its sign changed: the
    first stage's log probabilities, less a constant per list. Otherwise they are None.
    """

    name: ClassVar[str] = "bllip"
    summary: ClassVar[str] = "S=, then G= N= P= W= and features of parses (BLLIP's reranker)"
    suffixes: ClassVar[tuple[str, ...]] = (".bllip",)
    signs: ClassVar[tuple[bytes, ...]] = (b"S=",)
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "feature_names"})

    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "first_best", "list_ids", "feature_names", "counts"}
    )
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _FIRST_LINES.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        names = None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0)
        # The bytes of the file are gone when the lists are put together.
        n_columns = 0 if names is None else names.n_columns
        sentences = parse(read_bytes(path), shown(path), n_columns, options.strict)
        return _lists(sentences, names or ColumnNames("", {}, 0), shown(path))

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_lists(lists, path)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column == "labels":
            return np.array_equal(lists.labels, f_of(lists.counts["PARSEVAL"]))  # type: ignore[arg-type]
        if column == "list_ids":
            return list(lists.list_ids or ()) == [str(i + 1) for i in range(lists.n_lists)]
        if column == "feature_names":
            return ids_of(lists.feature_names, lists.n_features)[1]
        if column == "counts":
            return set(lists.counts) == {"PARSEVAL"}
        return super().keeps(lists, column)


def _lists(sentences: Sentences, given: ColumnNames, source: str) -> CandidateLists:
    features = sentences.features
    if given.names:
        given.check(features.n_features, source)
    columns: Iterable[int] = range(features.n_features)
    # Names of ids begin with that of column 0: so they differ from indices that count from 1.
    kept = columns_to_keep(features, np.union1d(given.columns, [0]).astype(np.int64), zeros=False)
    if kept is not None:
        features, columns = narrowed(features, kept), kept.tolist()
    names = given.at(columns)
    counts = np.full((features.n_items, 5), np.nan)
    counts[:, :3] = sentences.edges[:, [2, 0, 1]]
    base_scores = None
    if names and _LOG_PROBABILITY.match(names[0]):
        base_scores = 0.0 - features.column(0)
    numbers = np.flatnonzero(sentences.sizes) + 1
    return CandidateLists(
        offsets_of(sentences.sizes[numbers - 1]),
        features,
        labels=f_of(counts),
        base_scores=base_scores,
        first_best=-np.arange(features.n_items, dtype=np.float64),
        list_ids=StringColumn.from_strings(map(str, numbers.tolist())),
        feature_names=names,
        counts={"PARSEVAL": counts},
        source=source,
    )
