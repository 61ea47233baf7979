"""Weights of BLLIP's reranker: ``id=weight`` a line, ids as in its feature files, what is left out is 0."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from rerank.data.types import Floats, Index
from rerank.errors import DataError, FormatError
from rerank.files import read_bytes, shown, write_lines
from rerank.formats.bllip.ids import ids_of
from rerank.formats.feature_names import check_names, read_feature_names
from rerank.formats.moses.faults import not_a_number
from rerank.formats.svmlight.faults import quoted
from rerank.native.formats._bllip import MOST_FEATURES
from rerank.text import count

_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LARGEST_DIGITS = len(str(MOST_FEATURES - 1))


def read_weights(path: str, feature_names: str | None = None) -> tuple[list[str], Floats]:
    """Names and weights of the features 0 to the last that the file or the names know: (n), (n).

    An id alone has weight 1. Names are the ids, or those of the extractor's list at the path
    ``feature_names`` ("id<TAB>name"); they are the names that format bllip gives the columns of its
    lists. A larger score is better. Raises FormatError at the first bad line, or an id that comes twice,
    and DataError where ``feature_names`` has fewer names.
    """
    source = shown(path)
    data = bytes(read_bytes(path)).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise FormatError(source, None, "an empty file", "lines 'id=weight'")
    weights: dict[int, float] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        token = line.strip(b" \t\r")
        if not token:
            continue
        feature, weight = _read_line(source, number, token)
        if feature in weights:
            raise FormatError(source, number, f"feature {feature} again", "each feature once")
        weights[feature] = weight
    names = None if feature_names is None else read_feature_names(feature_names, first=0)
    n_features = max(weights) + 1
    check_names(names, feature_names, n_features, source)
    if names is None:
        names = [str(j) for j in range(n_features)]
    out = np.zeros(len(names))
    out[np.fromiter(weights, dtype=np.int64)] = np.fromiter(weights.values(), dtype=np.float64)
    return names, out


def _read_line(source: str, number: int, token: bytes) -> tuple[int, float]:
    name, sign, value = token.partition(b"=")
    if not re.fullmatch(rb"[0-9]+", name):
        text = token.decode("utf-8", "backslashreplace")
        raise FormatError(source, number, quoted(text), "id=weight, ids from 0")
    digits = name.lstrip(b"0") or b"0"
    if len(digits) > _LARGEST_DIGITS:
        raise FormatError(source, number, f"feature {quoted(name.decode())}", f"an id below {MOST_FEATURES}")
    if not sign:
        return int(digits), 1.0
    weight = float(value) if _NUMBER.fullmatch(value) else math.nan
    if not math.isfinite(weight):
        raise FormatError(source, number, *not_a_number(value, f"weight of feature {int(digits)}:"))
    return int(digits), weight


def write_weights(path: str, names: Sequence[str], weights: Floats, feature_names: str | None = None) -> None:
    """Write weights (n) of the features ``names`` (n), those that are not 0, by rising id.

    ``feature_names`` is the extractor's list that says each name's id; without it names are ids. A weight
    of 1 is written too ("7=1"): BLLIP's trainers leave it out, but its reranker ends reading at an id
    alone. Raises DataError where a name has no id, or a weight is not finite.
    """
    if len(names) != len(weights):
        raise DataError(f"{path}: {count(len(weights), 'weight')} for {count(len(names), 'feature')}")
    if not np.all(np.isfinite(weights)):
        name = names[int(np.argmin(np.isfinite(weights)))]
        raise DataError(f"{path}: the weight of feature {name!r} is not finite")
    kept = np.flatnonzero(weights)
    ids = _ids(path, names, kept, feature_names)
    order = np.argsort(ids, kind="stable")
    numbers = weights[kept][order].tolist()
    write_lines(path, (f"{i}={_shortest(w)}" for i, w in zip(ids[order].tolist(), numbers, strict=True)))


def _shortest(weight: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(weight).removesuffix(".0")


def _ids(path: str, names: Sequence[str], kept: Index, feature_names: str | None) -> Index:
    """The ids of the features at ``kept``."""
    if feature_names is None:
        ids, known = ids_of(names, len(names))
        if not known:
            name = next((name for name in names if not name.isdigit()), names[0])
            raise DataError(
                f"{path}: feature {name!r} has no id; give the names by id (--feature-names FILE)"
            )
        return ids[kept]
    places = {name: j for j, name in enumerate(read_feature_names(feature_names, first=0))}
    unknown = next((names[j] for j in kept.tolist() if names[j] not in places), None)
    if unknown is not None:
        raise DataError(f"{path}: {feature_names} does not name feature {unknown!r}")
    return np.array([places[names[j]] for j in kept.tolist()], dtype=np.int64)
