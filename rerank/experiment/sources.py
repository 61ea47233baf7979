"""What functions of this package take as lists: a file, CandidateLists, or plain sequences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.store import restore
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError
from rerank.files import os_error
from rerank.formats import load
from rerank.formats.base import load_for
from rerank.metrics.judges import checked_scores
from rerank.models.base import Model
from rerank.reading import Reading, read_as

Data = str | os.PathLike[str] | CandidateLists


def read_lists(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file ("-" = standard input), read according to ``reading``; lists are kept."""
    return data if isinstance(data, CandidateLists) else load(data, options=reading)


def read_judged(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return lists as ``read_lists`` does, for use without their features: missing values are no error."""
    reading = reading or Reading()
    if isinstance(data, CandidateLists) or reading.missing is not None:
        return read_lists(data, reading)
    return load_for(data, reading, "nan", if_refused=True)


def lists_for(model: Model, data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file as ``model`` needs them: absent values are missing if it treats them.

    Raises
    ------
    RerankError
        As ``read_lists``; ConfigError if ``reading.missing`` is another policy than the model's.
    """
    if isinstance(data, CandidateLists) or model.missing_policy is None:
        return read_lists(data, reading)
    reading = reading or Reading()
    if reading.missing not in (None, model.missing_policy):
        found = (
            f"--missing {reading.missing}: the model keeps --missing {model.missing_policy} of its training"
        )
        raise ConfigError(f"{found}; leave the option out")
    return load_for(data, reading.model_copy(update={"missing": None}), read_as(model.missing_policy))


def inputs_of(data: Data, reading: Reading | None = None, *more: str | None) -> list[str]:
    """Return the paths of all files that are read: those of ``data``, of options of reading, and ``more``."""
    own = [] if isinstance(data, CandidateLists) else [os.fspath(data)]
    options = [] if reading is None else reading.files()
    return [*own, *options, *(path for path in more if path is not None)]


def check_inputs(paths: Iterable[str]) -> None:
    """Raise RerankError if a file or store does not exist; an interrupted replacement is completed first."""
    for path in paths:
        if path != "-":
            restore(path)
            if not os.path.exists(path):
                raise os_error(path, FileNotFoundError())


def as_lists(
    data: Any, *, group: Any = None, qid: Any = None, refs: Sequence[Any] | None = None
) -> CandidateLists:
    """Return CandidateLists of plain sequences.

    Parameters
    ----------
    data : CandidateLists, which stay as they are; or the labels or the texts of all items: nested, a
        sequence for each list, or flat. Labels are larger for better items, NaN = unjudged.
    group : lengths of the lists, for flat data.
    qid : id of each item's list, for flat data. Without ``group`` and ``qid`` flat data are one list.
    refs : for each list, its reference or a sequence of references, equally many for each list.

    Raises
    ------
    DataError
        If the sequences do not fit together.
    """
    if isinstance(data, CandidateLists):
        if group is not None or qid is not None or refs is not None:
            raise DataError("group, qid and refs are for plain sequences, found CandidateLists")
        return data
    if _is_nested(data):
        if group is not None or qid is not None:
            raise DataError("group and qid are for flat sequences, found a sequence of sequences")
        group = [len(items) for items in data]
        data = list(chain.from_iterable(data))
    values = list(data)
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) < len(values):
        raise DataError("found texts and numbers, expected either the texts or the labels of the items")
    labels = None if texts else values
    lists = CandidateLists.from_arrays(
        np.empty((len(values), 0)), labels, group=group, qid=qid, texts=texts or None
    )
    return lists if refs is None else replace(lists, references=_references(refs, lists))


def scores_of(scores: Any, lists: CandidateLists) -> Floats:
    """Return scores float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.

    Nested scores are a sequence for each of ``lists``; flat ones are in that order already.

    Raises
    ------
    DataError
        If one is NaN or not a number, or they do not match the lists.
    """
    if _is_nested(scores):
        found, expected = [len(row) for row in scores], lists.lengths.tolist()
        if found != expected:
            bad = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
            if bad is None:
                raise DataError(f"found scores of {len(found)} lists, expected {len(expected)}")
            raise DataError(f"list {bad + 1}: found {found[bad]} scores, expected {expected[bad]}")
        return lists.input_order(_checked(list(chain.from_iterable(scores)), lists))
    return _checked(scores, lists)


def _checked(scores: Any, lists: CandidateLists) -> Floats:
    return checked_scores(scores, lists.n_items).astype(np.float64, copy=False)


def _is_nested(data: Any) -> bool:
    """Whether it is a sequence of sequences, one for each list."""
    first = next(iter(data), 0.0)  # data[0] of a pandas Series is the row with the label 0
    return not isinstance(first, str) and np.ndim(first) > 0


def _references(refs: Sequence[Any], lists: CandidateLists) -> tuple[StringColumn, ...]:
    """A column of (n_lists) for each reference."""
    rows = [(row,) if isinstance(row, str) else tuple(row) for row in refs]
    if len(rows) != lists.n_lists:
        raise DataError(f"refs: found references of {len(rows)} lists, expected {lists.n_lists}")
    if len({len(row) for row in rows}) > 1:
        raise DataError("refs: found lists with different numbers of references, expected the same number")
    return tuple(StringColumn.from_strings(column) for column in zip(*rows, strict=True))
