"""Lists in other forms: other formats, more columns, parts of a set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.files.write import make_folder
from rerank.data.array_inputs import vector
from rerank.data.folds import fold_names, folds_of, parts_of, shares_of
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.formats import base
from rerank.formats.scores import ScoreFile
from rerank.formats.sources import (
    Data,
    all_or_none,
    as_lists,
    check_outputs,
    checked_format,
    inputs_of,
    is_path,
    read_lists,
)

_MOST_FOLDS = 10_000  # folders that are made


def save(
    data: Any,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Write lists to a file, which appears whole or not at all, and return them.

    Parameters
    ----------
    data, group, qid, refs : a file, CandidateLists or plain sequences, as for ``rerank.evaluate``.
    path : the file, "-" = standard output; a name that ends in ``.store`` or / is a folder that keeps
        every column.
    format : name of the format; None = by the suffix of ``path``.
    reading : how a file is read.

    Returns
    -------
    CandidateLists
        What was written.

    Raises
    ------
    RerankError
        If the suffix names no format, the format cannot hold the lists, or a file cannot be read or written,
        or is both.

    Examples
    --------
    >>> import rerank, tempfile
    >>> path = tempfile.mkdtemp() + "/lists.jsonl"
    >>> rerank.save([["the cat", "a cat"], ["it rains"]], path)
    CandidateLists(2 lists, 3 items, 0 dense features)
    >>> rerank.load(path)
    CandidateLists(2 lists, 3 items, 0 dense features)
    """
    path = os.fspath(path)
    target = checked_format(path, format, data, reading)
    lists = as_lists(data, group=group, qid=qid, refs=refs, reading=reading)
    base.save(lists, path, target)
    return lists


def append(
    data: Data,
    columns: Mapping[str, Any],
    out: str | None = None,
    to: str | None = None,
    *,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return lists with further features.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    columns : the feature's name to its values (n_items), in the order of the caller's rows, or to a file of
        one number per item line.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    reading : how a file of lists is read.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a name exists already, there are more or fewer values, or a file cannot be read or written.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2])
    >>> rerank.append(lists, {"length": [7, 5]}).feature_names
    ['1', 'length']
    """
    files = [os.fspath(values) for values in columns.values() if is_path(values)]
    target = None if out is None else checked_format(out, to, data, reading, *files)
    lists = read_lists(data, reading)
    (made,) = appending(columns)(iter([lists]), True)
    if out is not None and target is not None:
        base.save(made, out, target)
    return made


def appending(
    columns: Mapping[str, Any],
) -> Callable[[Iterator[CandidateLists], bool], Iterator[CandidateLists]]:
    """Return what adds features to lists block by block, see ``append``; its values are those of all blocks.

    The second argument says whether the only block is all.
    """

    def change(blocks: Iterator[CandidateLists], whole: bool) -> Iterator[CandidateLists]:
        files = {name: ScoreFile(os.fspath(path)) for name, path in columns.items() if is_path(path)}
        n_items, source = 0, ""
        for lists in blocks:
            n_items, source = n_items + lists.n_items, lists.source
            added = {}
            for name, values in columns.items():
                file = files.get(name)
                given = vector(values, name, lists.n_items) if file is None else file.take(lists.n_items)
                if file is not None and (len(given) < lists.n_items or whole):
                    file.check_end(n_items + sum(one.n_items for one in blocks), source)
                added[name] = lists.from_input_order(given)
            yield lists.with_added(added)
        for file in files.values():
            file.check_end(n_items, source)

    return change


def split(
    data: Data,
    parts: Mapping[str, float] | Sequence[str] = (),
    *,
    folds: int | None = None,
    seed: int = 1,
    out: str | None = None,
    suffix: str = ".letor",
    reading: Reading | None = None,
) -> dict[str, CandidateLists]:
    """Draw parts or folds of the lists; every list is whole in one part.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    parts : the share of each part by name, such as ``{"train": 0.8, "test": 0.2}``, or "train=0.8" and so on.
    folds : number of folds, instead of parts: "fold1/train", "fold1/test", ...
    seed : random seed.
    out : folder where a file of each part goes, all or none; None = nothing is written.
    suffix : of the files; it names their format.
    reading : how a file is read.

    Returns
    -------
    dict of str to CandidateLists

    Raises
    ------
    RerankError
        If both or neither of parts and folds are given, shares sum to more than 1, the suffix is unknown, or
        a file cannot be written or is an input, which is checked first.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0]] * 10, group=[2] * 5)
    >>> parts = rerank.split(lists, {"train": 0.8, "test": 0.2})
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 4, 'test': 1}
    """
    if bool(parts) == (folds is not None):
        raise ConfigError("give parts (--part NAME=SHARE, twice or more) or --folds K")
    if folds is not None and folds > _MOST_FOLDS:
        raise ConfigError(f"--folds: found {folds}, expected at most {_MOST_FOLDS}")
    shares = [f"{name}={share}" for name, share in parts.items()] if isinstance(parts, Mapping) else parts
    names = shares_of(shares) if folds is None else fold_names(folds)
    paths: dict[str, str] = {}
    if out is not None:
        if os.path.basename(suffix) != suffix:
            raise ConfigError(
                f"--suffix: found {suffix!r}, expected one that names no folder, such as .letor"
            )
        target = base.format_for(f"part{suffix}")
        paths = {name: os.path.join(out, f"{name}{suffix}") for name in names}
    with all_or_none():
        if paths:
            for path in paths.values():
                make_folder(os.path.dirname(path))
            check_outputs({"--out": list(paths.values())}, inputs_of(data, reading), store=target == "store")
        lists = read_lists(data, reading)
        drawn = dict(parts_of(lists, shares, seed) if folds is None else folds_of(lists, folds, seed))
        for name, path in paths.items():
            base.save(drawn[name], path, target)
    return drawn
