"""JSON of our own: complete, versioned, described by schema.json, and read back with the same bits.

It has two views of a model. The first is a scorer over raw features, which any program can evaluate. The
second, ``model``, is the content of the model file, from which it is read back. Both must agree.
"""

from __future__ import annotations

import io
import json
import math
import re
from typing import Any

import numpy as np

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.types import AnyArray
from rerank.models.archive import META, ModelArchive, archive_of
from rerank.models.base import Model, model_of_file
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat, ExportOptions
from rerank.models.exchange.portable import Portable, Term, portable
from rerank.models.exchange.python import ALL

VERSION = 1
_MARK = b'"rerank-exchange"'
_DTYPES = ("<f8", "<i8", "<i4", "|u1")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@EXCHANGE.register("json")
class Json(ExchangeFormat):
    """JSON of our own."""

    name = "json"
    summary = "JSON with a schema: everything, weights raw and standardised"
    holds = ALL
    writes = True
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.lstrip()[:1] == b"{" and _MARK in content[:200]

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        assert scorer.model is not None
        found = _scorer(scorer) | {"model": _content(scorer.model)}
        return json.dumps(found, ensure_ascii=True, allow_nan=False, indent=1) + "\n"

    def model(self, content: bytes, source: str) -> Model:
        try:
            given = json.loads(content)
        except (ValueError, UnicodeDecodeError) as error:
            raise DataError(f"no JSON: {error}") from None
        if not isinstance(given, dict) or given.get("format") != "rerank-exchange":
            raise DataError("no JSON of 'rerank export --to json'")
        if type(given.get("version")) is not int or given["version"] != VERSION:
            raise DataError(f"version {given.get('version')!r}, expected {VERSION}")
        stored = given.get("model")
        if not isinstance(stored, dict) or not isinstance(stored.get("arrays"), dict):
            raise DataError("no 'model' with 'arrays'")
        arrays = {name: _array(name, value) for name, value in stored["arrays"].items()}
        if not all(re.fullmatch("[a-z_.]{1,40}", name) for name in arrays):
            raise DataError("an array that is not this model's")
        found = model_of_file(archive_of(_plain(stored.get("meta")), arrays).getvalue(), source)
        again = _scorer(portable(found, source))
        del again["rerank"]
        differing = next((key for key, value in again.items() if given.get(key) != value), None)
        if differing is not None:
            raise DataError(
                f"{differing!r} is not that of 'model': a changed file; change and export the model"
            )
        return found


def _scorer(scorer: Portable) -> dict[str, Any]:
    """The scorer over raw features as plain values."""
    found: dict[str, Any] = {
        "format": "rerank-exchange",
        "version": VERSION,
        "rerank": __version__,
        "kind": scorer.kind,
        "features": scorer.inputs,
        "absent": "missing" if math.isnan(scorer.absent) else 0.0,
    }
    if scorer.terms:
        found["linear"] = {
            "raw": raw_weights(scorer.terms, scorer.inputs),
            "standardised": [_term(t) for t in scorer.terms],
        }
    if scorer.counted:
        found["times_present"] = True
    if scorer.steps:
        found["steps"] = [
            {
                "feature": s.source,
                "at": s.at.tolist(),
                "values": s.values.tolist(),
                "missing": _number(s.missing),
                "missing_apart": s.apart,
            }
            for s in scorer.steps
        ]
    if scorer.trees:
        found["trees"] = [
            {
                "feature": t.feature.tolist(),
                "threshold": t.threshold.tolist(),
                "missing_left": t.nan_left.tolist(),
                "zero_is_missing": t.zero_missing.tolist(),
                "left": t.left.tolist(),
                "right": t.right.tolist(),
                "leaf": t.leaf.tolist(),
            }
            for t in scorer.trees
        ]
    if scorer.base_weight is not None:
        found["base_weight"] = scorer.base_weight
    if scorer.keep_margin is not None:
        found["keep_margin"] = _with_names(scorer.keep_margin)
    if scorer.thresholds is not None and scorer.labels is not None:
        thresholds = [_with_names(v) for v in scorer.thresholds.tolist()]
        found["grades"] = {"thresholds": thresholds, "labels": scorer.labels.tolist()}
    return found


def raw_weights(terms: list[Term], names: list[str]) -> dict[str, Any]:
    """Return the terms as weights of raw features and a constant, by name.

    score = constant + the sum of weight * x. For a missing x ``missing`` replaces weight * x; None:
    the item has no score.
    """
    constant = 0.0
    weights: dict[str, float] = {}
    missing: dict[str, float] = {}
    for t in terms:
        constant_part = t.present if t.present is not None else -t.weight * (t.shift / t.divisor)
        constant += constant_part
        weight = 0.0 if t.present is not None else t.weight / t.divisor
        name = names[t.source]
        weights[name] = weights.get(name, 0.0) + weight
        missing[name] = missing.get(name, 0.0) + (t.missing - constant_part)
    plain = {name: _number(value) for name, value in missing.items()}
    return {"constant": constant, "weights": weights, "missing": plain}


def _term(term: Term) -> dict[str, Any]:
    found: dict[str, Any] = {"feature": term.source, "missing": _number(term.missing)}
    if term.present is not None:
        return found | {"present": term.present}
    return found | {"weight": term.weight, "shift": term.shift, "divisor": term.divisor}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _with_names(value: float) -> float | str:
    """A number as JSON has it: names for what has none there."""
    return value if math.isfinite(value) else str(value)


def _content(model: Model) -> dict[str, Any]:
    """The content of the model file as plain values."""
    file = model.as_file().getvalue()
    archive = ModelArchive(file, "the model")
    with np.load(io.BytesIO(file), allow_pickle=False) as members:
        arrays = {name: members[name] for name in members.files if name != META}
    return {"meta": archive.meta(), "arrays": {name: _packed(array) for name, array in arrays.items()}}


def _packed(array: AnyArray) -> dict[str, Any]:
    """An array as plain values: bytes are text, one character each."""
    if array.dtype.str == "|u1":
        return {"dtype": "|u1", "text": array.tobytes().decode("latin-1")}
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        values = [_with_names(value) for value in values]
    return {"dtype": array.dtype.str, "shape": list(array.shape), "values": values}


def _array(name: str, given: Any) -> AnyArray:
    """The array of ``_packed``; DataError if it is none."""
    fault = DataError(f"array {name!r}: no dtype, shape and values that fit")
    if not isinstance(given, dict) or given.get("dtype") not in _DTYPES:
        raise fault
    if given["dtype"] == "|u1":
        text = given.get("text")
        if not isinstance(text, str) or (not text.isascii() and max(map(ord, text)) > 255):
            raise fault
        return np.frombuffer(text.encode("latin-1"), dtype=np.uint8)
    values, shape = given.get("values"), given.get("shape")
    whole = given["dtype"] != "<f8"
    if not isinstance(values, list) or not isinstance(shape, list) or len(shape) > 2:
        raise fault
    if not all(type(size) is int and 0 <= size <= 1 << 40 for size in shape) or math.prod(shape) != len(
        values
    ):
        raise fault
    plain = [_SPECIAL.get(value, value) if isinstance(value, str) else value for value in values]
    if not all(type(value) is int or (type(value) is float and not whole) for value in plain):
        raise fault
    try:
        return np.array(plain, dtype=given["dtype"]).reshape(shape)
    except (OverflowError, ValueError):
        raise fault from None


def _plain(meta: Any) -> Any:
    """Metadata that can be written again; DataError if it has numbers without a value in JSON."""
    if not isinstance(meta, dict):
        raise DataError("no 'meta' in 'model'")
    try:
        json.dumps(meta, allow_nan=False, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except ValueError as error:
        raise DataError(f"'meta': {error}") from None
    return meta
