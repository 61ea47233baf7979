"""Systems of ``rerank eval`` and ``rerank compare``: score files, runs, tables, features."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import is_file, read_head, shown
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats
from rerank.data.arrays import real_array
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.frames import columns_of, is_frame
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.data.reading import FITTED, Reading
from rerank.evaluation.align_systems import FIRST_BEST, MISSING_SCORES, SystemPool, read_judgements
from rerank.formats.base import FORMATS, Format, detect, format_of_folder, load_for
from rerank.formats.scores import read_scores
from rerank.formats.sources import Data, is_path, read_judged, read_lists
from rerank.metrics.judges import untied

if TYPE_CHECKING:
    from rerank.formats.trec.qrels import Judgements

BASE = "base"  # the first stage's scores as a system; FIRST_BEST is its order


def gathered(data: Data, reading: Reading) -> SystemPool:
    """Return what DATA holds: judgements alone, a run and its judgements (``qrels``), or other lists.

    ``reading.missing`` is for the scores of systems: other features may lack values.

    Raises
    ------
    ConfigError
        If an option of reading would not be used, or ``missing`` needs training.
    DataError
        If judgements and run are swapped.
    """
    from rerank.formats.scores import holds_judgements

    missing = reading.missing
    check_missing(missing)
    if not is_path(data):
        return SystemPool(read_judged(data, reading), None, missing=missing)
    path = os.fspath(data)
    if reading.format is None and holds_judgements(path):
        unused = [*reading.changed(), *(key for key in ("first_best", "features") if getattr(reading, key))]
        if unused:
            flag = unused[0].replace("_", "-")
            raise ConfigError(f"--{flag} is not used: {shown(path)} holds judgements (qrels)")
        return SystemPool(None, read_judgements(path))
    if reading.qrels is not None and is_run(path, reading):
        run = read_with_all_scores(path, reading.with_settings(qrels=None))
        return SystemPool(run, read_judgements(reading.qrels), missing=missing)
    lists = read_with_all_scores(path, reading)
    if lists.labels is None and is_run(path, reading):
        hint = (
            ""
            if FORMATS.get("trec").recognises(read_head(path))
            else ", also this file if it holds judgements"
        )
        raise DataError(f"{lists.source}: a run has no judgements; give them by --qrels FILE{hint}")
    return SystemPool(lists, None, missing=missing)


def check_missing(missing: str | None) -> None:
    """Raise ConfigError if a policy for missing scores is unknown, or needs training."""
    if missing is None or missing in MISSING_SCORES:
        return
    if missing in FITTED:
        expected = f"expected {', '.join(MISSING_SCORES)}"
        raise ConfigError(f"missing={missing} is fitted by 'rerank train'; {expected}")
    raise ConfigError(f"unknown missing {missing!r}; {did_you_mean(missing, MISSING_SCORES)}")


def read_with_all_scores(path: str, reading: Reading) -> CandidateLists:
    """Return the lists of a file; values that it lacks are NaN, unless its format defines what they are."""
    if reading.missing is not None and "missing" not in _format(path, reading).honours:
        reading = reading.with_settings(missing=None)  # it is for the systems alone
    if reading.missing in ("nan", "list-mean"):
        return read_lists(path, reading.with_settings(missing="nan"))
    return load_for(path, reading, "nan", if_refused=True)


def _format(path: str, reading: Reading) -> type[Format]:
    """The format that a file or folder is read in."""
    if reading.format is None and path != "-" and os.path.isdir(path):
        return FORMATS.get(format_of_folder(path))
    return FORMATS.get(reading.format or detect(path, read_head(path))[0])


def is_run(path: str, reading: Reading) -> bool:
    """Return whether a file is read in a format of runs; False also if its format is unknown."""
    if path != "-" and os.path.isdir(path):
        return False
    try:
        name = reading.format or detect(path, read_head(path))[0]
    except ConfigError:
        return False
    return FORMATS.get(name).of_runs


def add_files(gathering: SystemPool, data: Data, paths: Sequence[str], reading: Reading) -> None:
    """Add systems to those of ``gathering``, each by its path, as DATA:FEATURE or as TABLE:FEATURE.

    A file is a score file, or scores by ids, by its content. Those of TABLE:FEATURE are by ids.

    Parameters
    ----------
    gathering : SystemPool
    data : as typed; only a path has the systems DATA:FEATURE, with ":FEATURE" for short.
    paths : the systems as typed, which are their names.
    reading : how DATA is read.

    Raises
    ------
    ConfigError
        If a name could be a file and a feature, or numbers by line have no lines to follow.
    DataError
        If a file does not hold scores.
    """
    from rerank.formats.scores import holds_numbers, read_scored

    base = gathering.base
    for path in paths:
        feature = feature_of(data, path)
        if feature is not None:
            gathering.own[path] = _of_data(gathering, feature, shown(str(data)))
        elif base is not None and path in base.names() and not os.path.exists(path):
            raise ConfigError(f"{path}: no such file; the feature of {base.source} is :{path}")
        elif not os.path.exists(path) and is_file(path.rpartition(":")[0]):
            file, _, column = path.rpartition(":")
            if holds_numbers(file):
                found = f"numbers alone, which have no feature {column!r}"
                raise ConfigError(f"{path}: {file} holds {found}; expected a table with ids")
            gathering.by_id[path] = read_scored(file, reading, column)
        elif not holds_numbers(path):
            gathering.by_id[path] = read_scored(path, reading)
        elif base is None:
            expected = "a run, or a table with ids of lists and items"
            raise ConfigError(
                f"{shown(path)}: numbers alone, which follow lines of items; expected {expected}"
            )
        else:
            gathering.own[path] = base.from_input_order(read_scores(path, base))


def add_data(gathering: SystemPool, data: Data, reading: Reading, names: Sequence[str]) -> None:
    """Add the run that DATA is as the first system, under its path, unless it is named already."""
    base = gathering.base
    if base is None or isinstance(data, CandidateLists) or reading.merge or os.fspath(data) in names:
        return
    if base.run_scores is not None and is_run(os.fspath(data), reading):
        gathering.own = {os.fspath(data): base.run_scores, **gathering.own}


def feature_of(data: Data, path: str) -> str | None:
    """Return the feature of DATA that a system is, None if it is a file; ConfigError if it could be both."""
    prefixes = [":"] if isinstance(data, CandidateLists) else [f"{os.fspath(data)}:", ":"]
    found = next((path[len(prefix) :] for prefix in prefixes if path.startswith(prefix)), None)
    if found and path != "-" and os.path.exists(path):
        raise ConfigError(f"{path}: is a file, and could be a feature of DATA; write ./{path} for the file")
    return found or None


def _of_data(gathering: SystemPool, name: str, data: str) -> Floats:
    """A feature of DATA, or its first stage's order or scores, by item."""
    base = gathering.base
    if base is None:
        raise ConfigError(f"{data} holds judgements (qrels), which have no feature {name!r}")
    names = base.names()
    if name in names:
        values = base.features.column(base.column_of(name)).astype(np.float64)
    elif name == FIRST_BEST and base.first_best is not None:
        values = untied(base, base.first_best)
        if base.run_scores is not None:
            values[np.isnan(base.run_scores)] = np.nan
    elif name == BASE and base.base_scores is not None:
        values = base.base_scores
    else:
        known = [
            *names,
            *[FIRST_BEST] * (base.first_best is not None),
            *[BASE] * (base.base_scores is not None),
        ]
        raise ConfigError(f"{base.source}: no feature {name!r}; {did_you_mean(name, known)}")
    return values


def systems_in(scores: Any) -> dict[str, Any] | None:
    """Return several systems by name: a mapping that is no run, or the columns of a data frame; else None.

    Raises
    ------
    DataError
        If there is no system, or a name is not a text.
    """
    if not isinstance(scores, Mapping):
        if not is_frame(scores):
            return None
        return columns_of(scores, "scores")
    if not scores:
        raise DataError("scores: found an empty mapping, expected systems by name or a run")
    if is_nested_mapping(scores) and not any(map(is_nested_mapping, scores.values())):
        return None
    other = next((name for name in scores if not isinstance(name, str)), None)
    if other is not None:
        raise DataError(f"scores: found the name {other!r} of a system, expected a text")
    return dict(scores)


def is_nested_mapping(data: Any) -> bool:
    """Return whether data are a mapping of mappings, as judgements and runs are."""
    return isinstance(data, Mapping) and bool(data) and all(isinstance(one, Mapping) for one in data.values())


def gathered_values(
    data: Any, systems: Mapping[str, Any], read: SystemPool | None = None, missing: str | None = None
) -> SystemPool:
    """Return judgements and systems as Python users hold them.

    Parameters
    ----------
    data : CandidateLists, or judgements, a mapping of query to a mapping of document to label.
    systems : by name, scores as ``scores_of`` takes them, or a run, a mapping of list to a mapping of item to
        score, or the name of a feature, or the path of a file.
    read : what ``gathered`` made of a file, instead of ``data``.
    missing : of other data, what an item counts as that a system has no score of, one of MISSING_SCORES. If
        it is None, scores in the order of the rows must not be NaN.

    Raises
    ------
    DataError
        If a value is not a number, a system has no score at all, or scores without ids have no items to
        follow.
    """
    from rerank.formats.scores import Scored
    from rerank.metrics.judges import scores_of

    if read is not None:
        gathering = read
    elif isinstance(data, Mapping):
        gathering = SystemPool(None, mapped_judgements(data, "the judgements"), missing=missing)
    else:
        gathering = SystemPool(data, None, missing=missing)
    for name, scores in systems.items():
        if isinstance(scores, Mapping):
            gathering.by_id[name] = Scored(*mapped_items(scores, name, "score"))
        elif is_path(scores):
            _add_named(gathering, name, os.fspath(scores))
        elif gathering.base is None:
            found = f"found {type(scores).__name__}, expected a run as {{query: {{document: score}}}}"
            raise DataError(f"{name}: {found}, which judgements of that form need")
        else:
            try:
                rows = scores_of(scores, gathering.base, partial=gathering.missing is not None)
            except DataError as error:
                text = str(error)
                raise DataError(text if text.startswith(name) else f"{name}: {text}") from None
            if np.isnan(rows).all():
                raise DataError(f"{name}: no score")
            gathering.own[name] = gathering.base.from_input_order(rows)
    return gathering


def _add_named(gathering: SystemPool, name: str, text: str) -> None:
    """Add the system ``name``, which is a feature of the lists or a file."""
    base = gathering.base
    if base is not None and text in base.names():
        gathering.own[name] = base.features.column(base.column_of(text)).astype(np.float64)
        return
    if not os.path.exists(text) and not is_file(text.rpartition(":")[0]):
        hint = did_you_mean(text, [] if base is None else base.names())
        raise DataError(f"{name}: found {text!r}, which is neither a file nor a feature; {hint}")
    read = SystemPool(base, gathering.qrels)
    add_files(read, base if base is not None else text, [text], Reading())
    if text in read.own:
        gathering.own[name] = read.own[text]
    else:
        gathering.by_id[name] = read.by_id[text]


def mapped_judgements(qrels: Mapping[Any, Any], source: str) -> Judgements:
    """Return labels by document, by query, as judgements; errors are those of ``mapped_items``."""
    from rerank.formats.trec.qrels import Judgements

    lists, labels = mapped_items(qrels, "qrels", "label")
    assert lists.list_ids is not None
    assert lists.item_ids is not None
    ids, items = lists.list_ids, lists.item_ids
    repeated = items.repeated(lists.offsets)
    if repeated.any():  # 1 and "1" are one document, which has its last label
        out: dict[bytes, dict[bytes, float]] = {}
        for k, i in enumerate(lists.list_index.tolist()):
            out.setdefault(ids.bytes_at(i), {})[items.bytes_at(k)] = float(labels[k])
        return Judgements.of(out, source)
    return Judgements(source, ids, lists.offsets, items, labels)


def mapped_items(nested: Mapping[Any, Any], name: str, what: str) -> tuple[CandidateLists, Floats]:
    """Return lists with ids of numbers by document, by query, and the numbers, float64 (n_items).

    Queries without a document are left out. Raises DataError with ``name`` if a number is none.
    """
    for query, documents in nested.items():
        if not isinstance(documents, Mapping):
            found = f"{type(documents).__name__} for query {query!r}"
            raise DataError(f"{name}: found {found}, expected a mapping of document to {what}")
    kept = {str(query): documents for query, documents in nested.items() if documents}
    pairs = [(str(document), value) for documents in kept.values() for document, value in documents.items()]
    if not pairs:
        raise DataError(f"{name}: no {what}")
    values = real_array([value for _, value in pairs], f"{name}: {what}s").astype(np.float64, copy=False)
    lists = CandidateLists(
        offsets_of([len(documents) for documents in kept.values()]),
        as_features(np.empty((len(pairs), 0))),
        list_ids=StringColumn.from_strings(kept),
        item_ids=StringColumn.from_strings(document for document, _ in pairs),
        source=name,
    )
    if not np.isfinite(values).all():
        where = lists.place_of(int(np.argmin(np.isfinite(values))))
        raise DataError(f"{name}: the {what} of {where} is not a finite number")
    return lists, values
