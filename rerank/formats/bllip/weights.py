"""Weights of BLLIP's reranker: ``id=weight`` per line, ids as in its feature files, absent ones are 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.streams import shown, write_lines
from rerank.core.types import Floats, Index
from rerank.data.width import is_wide
from rerank.formats.bllip.write import WHOLE, ids_of
from rerank.formats.common import exceeds, finite, quoted
from rerank.formats.feature_names import ColumnNames, read_feature_names
from rerank.formats.weights import WEIGHTS, WeightOptions, WeightsFormat, weight_lines
from rerank.native.formats._bllip import MOST_FEATURES

_LINE = re.compile(rb"\s*[0-9]+=[-+0-9.eE]+\s*$")
_ID = re.compile(rb"0*([0-9]+)")


@WEIGHTS.register("bllip")
class BllipWeights(WeightsFormat):
    """Reader and writer of the weights of BLLIP's reranker.

    Names are the ids, or those of the extractor's list ``feature_names`` ("id<TAB>name"); they are the names
    that format bllip gives the columns of its lists. A larger score is better.
    """

    name = "bllip"
    summary = "id=weight per line (BLLIP's reranker)"
    honours = frozenset({"feature_names"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(_LINE.match(head.split(b"\n", 1)[0]))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        """Read the weights of the features 0 to the last one in the file or the list of names.

        If that is far above the number of weights and names, only features with either, and feature 0, count.
        An id alone has weight 1. Raises DataError if the list has too few names.
        """
        weights: dict[int, float] = {}
        for source, number, line in weight_lines(path, "id=weight"):
            feature, weight = _read_line(source, number, line.strip(b" \t\r"))
            if feature in weights:
                raise FormatError(source, number, f"feature {feature} again", "each feature once")
            weights[feature] = weight
        given = ColumnNames("", {}, 0)
        n_features = max(weights) + 1
        if options.feature_names is not None:
            given = read_feature_names(options.feature_names, first=0)
            given.check(n_features, shown(path))
            n_features = given.n_columns
        present = sorted({0, *weights, *given.names})
        columns = present if is_wide(n_features, len(present)) else range(n_features)
        return given.at(columns), np.array([weights.get(column, 0.0) for column in columns])

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write the weights that are not 0, by rising id.

        A weight of 1 is written too ("7=1"): BLLIP's trainers leave it out, but its reranker stops reading at
        an id alone. Raises DataError if a name has no id.
        """
        kept = np.flatnonzero(weights)
        ids = _ids(path, names, kept, options.feature_names)
        order = np.argsort(ids, kind="stable")
        texts = (repr(weight).removesuffix(".0") for weight in weights[kept][order].tolist())
        write_lines(path, (f"{i}={text}" for i, text in zip(ids[order].tolist(), texts, strict=True)))


def _read_line(source: str, number: int, token: bytes) -> tuple[int, float]:
    name, sign, value = token.partition(b"=")
    match = _ID.fullmatch(name)
    if match is None:
        raise FormatError(source, number, quoted(token), "id=weight, ids from 0")
    if exceeds(match[1], MOST_FEATURES - 1):
        raise FormatError(source, number, f"feature {quoted(name)}", f"an id below {MOST_FEATURES}")
    feature = int(match[1])
    return feature, finite(value, source, number, f"weight of feature {feature}:") if sign else 1.0


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
    given = read_feature_names(feature_names, first=0)
    columns = dict(zip(given.names.values(), given.names, strict=True))
    out = []
    for name in (names[j] for j in kept.tolist()):
        column = columns.get(name, int(name) if WHOLE.fullmatch(name) else given.n_columns)
        if column >= given.n_columns or given.at([column]) != [name]:
            raise DataError(f"{path}: {feature_names} does not name feature {name!r}")
        out.append(column)
    return np.array(out, dtype=np.int64)
