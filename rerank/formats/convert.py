"""Lists in other forms: other formats, more columns, parts of a set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, overload

from rerank.core.errors import ConfigError
from rerank.core.files.atomic_output import make_folder
from rerank.data.array_inputs import vector
from rerank.data.folds import fold_names, folds_of, parts_of, shares_of
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.scores import read_scores
from rerank.formats import base
from rerank.formats.sources import (
    Data,
    Written,
    all_or_none,
    as_lists,
    check_outputs,
    checked_format,
    inputs_of,
    read_lists,
    written,
)

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


def append(data: Data, columns: Mapping[str, Any]) -> CandidateLists:
    """Return lists with further features.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    columns : the feature's name to its values (n_items), in the order of the caller's rows.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a name exists already, or there are more or fewer values.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2])
    >>> rerank.append(lists, {"length": [7, 5]}).feature_names
    ['1', 'length']
    """
    lists = as_lists(data)
    added = {
        name: lists.from_input_order(vector(values, name, lists.n_items)) for name, values in columns.items()
    }
    return lists.with_added(added)


@overload
def split(data: Data, parts: Mapping[str, float], *, seed: int = 1) -> dict[str, CandidateLists]: ...


@overload
def split(data: Data, *, folds: int, seed: int = 1) -> dict[str, CandidateLists]: ...


def split(
    data: Data, parts: Mapping[str, float] | None = None, *, folds: int | None = None, seed: int = 1
) -> dict[str, CandidateLists]:
    """Draw parts or folds of the lists; every list is whole in one part.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    parts : the share of each part by name, such as ``{"train": 0.8, "test": 0.2}``.
    folds : number of folds, in place of parts: "fold1/train", "fold1/test", ...
    seed : of the drawing.

    Returns
    -------
    dict of str to CandidateLists

    Raises
    ------
    RerankError
        If both or neither of parts and folds are given, or shares sum to more than 1.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0]] * 10, group=[2] * 5)
    >>> parts = rerank.split(lists, {"train": 0.8, "test": 0.2})
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 4, 'test': 1}
    """
    if (parts is None) == (folds is None):
        raise ConfigError("give parts, such as {'train': 0.8, 'test': 0.2}, or folds, a number")
    lists = as_lists(data)
    if folds is not None:
        return dict(folds_of(lists, folds, seed))
    if not isinstance(parts, Mapping):
        raise ConfigError(f"parts: found {parts!r}, expected shares by name, such as {{'train': 0.8}}")
    return dict(parts_of(lists, [f"{name}={share}" for name, share in parts.items()], seed))


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
