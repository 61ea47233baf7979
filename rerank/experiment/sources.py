"""What functions of this package take as lists: a file, CandidateLists, a data frame, plain sequences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.streams import os_error
from rerank.core.text import count, some
from rerank.data.frames import is_frame
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading, read_as
from rerank.data.selection import selected
from rerank.data.store import restore
from rerank.formats import load
from rerank.formats.base import load_for

if TYPE_CHECKING:
    from rerank.models.base import Model

Data = str | os.PathLike[str] | CandidateLists | Any  # Any: data frames, which are not imported


def is_path(data: Data) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether data are a file, and not in memory."""
    return isinstance(data, str | os.PathLike)


def read_lists(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file ("-" = standard input), read according to ``reading``; lists are kept.

    Data frames become lists, see ``CandidateLists.from_frame``.

    Raises
    ------
    RerankError
        If a file or a frame holds no lists, or data are something else.
    """
    if is_path(data):
        return load(data, options=reading)
    if isinstance(data, CandidateLists):
        return data
    if is_frame(data):
        return CandidateLists.from_frame(data)
    expected = "expected CandidateLists (from_arrays and from_frame make them), a path or a data frame"
    raise DataError(f"found {type(data).__name__}, {expected}")


def read_judged(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return lists as ``read_lists`` does, for use without their features: missing values are no error."""
    reading = reading or Reading()
    if not is_path(data) or reading.missing is not None:
        return read_lists(data, reading)
    return load_for(data, reading, "nan", if_refused=True)


def lists_for(model: Model, data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file as ``model`` needs them: absent values are missing if it treats them.

    Raises
    ------
    RerankError
        As ``read_lists``; ConfigError if ``reading.missing`` is another policy than the model's, or
        ``reading.features`` leaves out features of the model that the lists have.
    """
    from rerank.data.names import Columns, match

    if not is_path(data):
        return read_lists(data, reading)
    reading = reading or Reading()
    lists = _for_policy(model, data, reading.with_settings(features=()))
    if not reading.features:
        return lists
    chosen = selected(lists, reading.features)
    names = model.input_names
    theirs = Columns(names, len(names), model.training.data.features or "")
    there, kept = (match(part.columns(), theirs).places for part in (lists, chosen))
    lost = np.setdiff1d(there[there >= 0], kept)
    if len(lost):
        found = f"{count(len(lost), 'feature')} of the model ({some([names[j] for j in lost.tolist()])})"
        raise ConfigError(f"--features leaves out {found}, which takes its own columns; leave the option out")
    return chosen


def _for_policy(model: Model, data: str | os.PathLike[str], reading: Reading) -> CandidateLists:
    """The lists with all features, absent values read as the model's policy needs them."""
    if model.missing_policy is None:
        return read_lists(data, reading)
    if reading.missing not in (None, model.missing_policy):
        found = (
            f"--missing {reading.missing}: the model keeps --missing {model.missing_policy} of its training"
        )
        raise ConfigError(f"{found}; leave the option out")
    return load_for(data, reading.with_settings(missing=None), read_as(model.missing_policy))


def inputs_of(data: Data, reading: Reading | None = None, *more: str | None) -> list[str]:
    """Return the paths of all files that are read: those of ``data``, of options of reading, and ``more``."""
    own = [os.fspath(data)] if is_path(data) else []
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
    """Return the lists of a file, of a data frame, or of plain sequences.

    Parameters
    ----------
    data : CandidateLists, a path, a data frame (see ``CandidateLists.from_frame``), or the labels or texts of
        all items.
    group, qid, refs : of plain sequences, see ``rerank.metrics.sequences.lists_of``.

    Raises
    ------
    RerankError
        If a file cannot be read, or the sequences do not fit together.
    """
    from rerank.metrics.sequences import lists_of

    if isinstance(data, str | os.PathLike) or is_frame(data):
        if group is not None or qid is not None or refs is not None:
            raise DataError("group, qid and refs are for plain sequences, found a file or a data frame")
        return read_lists(data)
    return lists_of(data, group=group, qid=qid, refs=refs)
