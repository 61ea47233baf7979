"""Data frames of pandas and polars, tables of Arrow and mappings of columns; none of them is imported."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import frame_of
from rerank.core.text import some
from rerank.core.types import AnyArray
from rerank.data.arrays import cells, real_array
from rerank.data.categories import indicators, wanted
from rerank.data.names import (
    KNOWN,
    KNOWN_OF_CLASSES,
    LISTS,
    is_of_number,
    note_resembling,
    resembled,
    spells_number,
)

_MOST_NAMED = 5  # columns of a message
# Arguments of ``from_arrays``, and those of ``from_frame`` that name the same.
_OF_ARRAYS = {"qid": "list_column", "y": "label_column", "item_ids": "id_column", "texts": "text_column"}
_OF_ARRAYS |= {"answers": "answer_column", "classes": "classes_column"}


def is_frame(data: Any) -> bool:
    """Return whether data are a frame of columns with names: of pandas, polars or Arrow, or a mapping."""
    if isinstance(data, Mapping):
        return True
    columns = getattr(data, "columns", None)
    return hasattr(data, "column_names") or (columns is not None and not callable(columns))


def columns_of(frame: Any, source: str) -> dict[str, Any]:
    """Return the columns of a frame by name.

    Raises DataError if it is no frame, or two columns have one name.
    """
    if hasattr(frame, "collect") and not isinstance(frame, Mapping):
        raise DataError(f"{source}: found a {type(frame).__name__}, expected a frame; call .collect() first")
    if not is_frame(frame):
        found = f"found {type(frame).__name__}, expected a data frame of pandas or polars, an Arrow table"
        raise DataError(f"{source}: {found}, or a mapping of column names to columns")
    if isinstance(frame, Mapping):
        names = list(frame)
    else:
        names = list(getattr(frame, "column_names", None) or frame.columns)
    texts = [str(name) for name in names]
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{source}: found two columns {twice!r}, expected each column once")
    return {text: frame[name] for text, name in zip(texts, names, strict=True)}


def numbers(column: Any) -> AnyArray | None:
    """Return a column as floats, NaN for missing ones, or None if it is not one of numbers."""
    try:
        values = real_array(column, "column")
    except DataError:
        return None
    return values if values.ndim == 1 else None


def arguments_of(
    frame: Any,
    source: str,
    *,
    classes_column: str | None = None,
    features: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    **roles: str | None,
) -> dict[str, Any]:
    """Return the arguments of ``CandidateLists.from_arrays`` for a frame.

    Raises ConfigError if a column is not there; DataError if there is no column of lists, or a column does
    not hold what its role needs.

    frame, classes_column, features, categorical : see ``CandidateLists.from_frame``.
    source : what errors call the frame.
    roles : ``list_column``, ``label_column``, ``id_column``, ``text_column`` and ``answer_column``, or their
        names in ``from_arrays``; None = by name.
    """
    columns = columns_of(frame, source)
    roles["classes_column"] = classes_column
    for key in roles.keys() - _OF_ARRAYS.values():
        if key not in _OF_ARRAYS:
            raise ConfigError(f"from_frame: unknown argument {key!r}; {did_you_mean(key, _OF_ARRAYS)}")
        if roles.get(same := _OF_ARRAYS[key]) is not None:
            raise ConfigError(f"from_frame: {key} and {same} name the same, expected one of them")
        roles[same] = roles.pop(key)
    classes_column = roles["classes_column"]
    given = {role: name for role, name in roles.items() if name}
    _check_names(columns, given, [] if features is None else features, source)
    taken = {*given.values(), *(features or ())}
    asked = wanted(categorical, columns, source, "categorical=", taken)
    taken.update(asked)
    known = KNOWN if classes_column is None else KNOWN_OF_CLASSES
    for role, names in known.items():
        if role == "label_column" and classes_column is not None:
            continue
        name = next((one for one in names if one in columns and one not in taken), None)
        if role not in given and name is not None:
            given[role] = name
            taken.add(name)
    if "list_column" not in given and classes_column is None:
        raise DataError(_without_lists(frame, columns, taken, source))
    rest = [name for name in columns if name not in taken]
    chosen = list(_features(columns, rest, known, source) if features is None else features)
    arrays = []
    for name in chosen:
        values = numbers(columns[name])
        if values is None:
            raise DataError(f"{source}: column {name!r} holds no numbers and cannot be a feature")
        arrays.append(values)
    more = indicators({name: cells(columns[name]) for name in asked}, source)
    chosen += more
    arrays += more.values()
    n_items = len(columns[next(iter(columns))]) if columns else 0
    found: dict[str, Any] = {
        "X": np.column_stack(arrays) if chosen else np.empty((n_items, 0)),
        "feature_names": chosen,
        "source": source,
    }
    if "list_column" in given:
        found["qid"] = cells(columns[given["list_column"]])
    if "label_column" in given:
        found["y"] = _labels(columns[given["label_column"]], given["label_column"], source)
    if classes_column is not None:
        found["classes"] = cells(columns[classes_column])
    if "id_column" in given:
        name = given["id_column"]
        found["item_ids"] = ids = cells(columns[name])
        if None in ids:
            missing = f"the id of row {ids.index(None) + 1} is missing"
            raise DataError(f"{source}: column {name!r}: {missing}")
    for role, name in (("text_column", "texts"), ("answer_column", "answers")):
        if role in given:
            found[name] = cells(columns[given[role]])
    return found


def _check_names(
    columns: Mapping[str, Any], given: Mapping[str, str], features: Sequence[str], source: str
) -> None:
    """Raise ConfigError if a column is not there, or has two roles."""
    if isinstance(features, str):
        raise ConfigError(f"features: found the text {features!r}, expected a list of column names")
    named = [*given.items(), *(("features", name) for name in features)]
    for role, name in named:
        if name not in columns:
            raise ConfigError(f"{source}: no column {name!r} ({role}); {did_you_mean(str(name), columns)}")
    names = [name for _, name in named]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        roles = " and ".join(role for role, name in named if name == twice)
        raise ConfigError(f"{source}: column {twice!r} is given for {roles}, expected one of them")


def _without_lists(frame: Any, columns: Mapping[str, Any], taken: set[str], source: str) -> str:
    """Return advice if no column names the lists."""
    level = getattr(getattr(frame, "index", None), "name", None)
    if isinstance(level, str) and level in LISTS:
        return f"{source}: {level!r} is the index, expected a column; call .reset_index() first"
    free = [name for name in columns if name not in taken]
    near = next((f" (is it {name!r}?)" for name in free[:1000] if resembled(name, LISTS)), "")
    expected = f"expected one of {', '.join(LISTS)}, or list_column=NAME{near}"
    return f"{source}: found no column of lists, {expected}; columns: {some(list(columns), _MOST_NAMED)}"


def _features(
    columns: Mapping[str, Any], rest: Sequence[str], known: Mapping[str, Sequence[str]], source: str
) -> Iterator[str]:
    """Yield the columns of numbers without another role, and note which columns are left out.

    Raises DataError if a column holds texts that spell numbers.
    """
    spare = {name for names in known.values() for name in names}
    left = []
    note_resembling(source, (name for name in rest if name not in spare), LISTS)
    for name in rest:
        if name in spare:
            left.append(f"{name!r} (a name of another role)")
        elif numbers(columns[name]) is not None:
            yield name
        else:
            first = next((value for value in cells(columns[name]) if value is not None), None)
            if isinstance(first, str) and spells_number(first) and is_of_number(name):
                advice = "convert it to numbers, or name the features (features=)"
                raise DataError(f"{source}: column {name!r} holds texts such as {first!r}; {advice}")
            left.append(f"{name!r}")
    if left:
        warnings.warn(
            f"{source}: columns that are no features are left out: {some(left, _MOST_NAMED)}",
            DataNote,
            stacklevel=4,
        )


def _labels(column: Any, name: str, source: str) -> AnyArray:
    """Labels as numbers, NaN if they are missing."""
    found = numbers(column)
    if found is None:
        others = (value for value in cells(column) if not isinstance(value, int | float | None))
        first = next(others, None)
        advice = "expected numbers (larger is better), or classes (classes_column=)"
        raise DataError(f"{source}: column {name!r} of labels holds {first!r}, {advice}")
    return found


def check_numbers(frame: Any, source: str) -> None:
    """Raise DataError, with the column, if a frame of features has a column of texts."""
    for name, column in columns_of(frame, source).items():
        kind = getattr(getattr(column, "dtype", None), "kind", "")
        if kind not in ("b", "i", "u", "f") and numbers(column) is None:
            advice = "leave it out of X, or use CandidateLists.from_frame, which takes whole frames"
            raise DataError(f"{source}: column {name!r} holds no numbers; {advice}")


def has_lists(frame: Any) -> bool:
    """Return whether a frame has a column that names the lists."""
    return any(name in LISTS for name in columns_of(frame, "data frame"))


def plain(frame: Any) -> Any:
    """Return a frame as ``CandidateLists.from_arrays`` takes it: columns of numbers with names."""
    return frame if hasattr(frame, "__array__") else frame_of(columns_of(frame, "data frame"))


def columns_of_lists(lists: Any) -> dict[str, Any]:
    """Return the columns of ``CandidateLists.to_frame``."""
    index = lists.list_index.tolist()
    columns = {"list": lists.input_order(np.array([lists.list_id(i) for i in range(len(lists))])[index])}
    texts = {"id": lists.item_ids, "text": lists.texts, "answer": lists.answers, "classes": lists.classes}
    for name, strings in texts.items():
        if strings is not None:
            columns[name] = lists.input_order(np.array(list(strings), dtype=object))
    if lists.labels is not None:
        columns["label"] = lists.input_order(lists.labels)
    names = lists.names()
    for name in columns:
        if name in names:
            raise DataError(f"{lists.source}: feature {name!r} has the name of another column of the frame")
    values = lists.input_order(lists.features.to_dense())
    return {name: list(column) if column.dtype == object else column for name, column in columns.items()} | {
        name: values[:, j] for j, name in enumerate(names)
    }


def refuse_other_rows(**arrays: Any) -> None:
    """Raise DataError if two of the arguments are frames or series of pandas with different indexes.

    Entries belong together by position. Series that pandas would align by their index are not meant so.
    """
    found = [(name, value.index) for name, value in arrays.items() if hasattr(value, "iloc")]
    for name, other in found[1:]:
        first, index = found[0]
        if len(other) == len(index) and not index.equals(other):
            advice = "align them by .loc, or give arrays (.to_numpy()) to take the rows in their order"
            raise DataError(f"{first} and {name} have different indexes; {advice}")
