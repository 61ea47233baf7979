"""CatBoost's JSON of oblivious trees (``save_model(path, format="json")``), which are only read.

CatBoost holds features and borders in single precision: bit i of a leaf's number is float32(x_i) > border_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import Floats
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat, note
from rerank.models.exchange.reading import (
    constant_tree,
    member,
    numbers,
    parsed_json,
    real,
    records,
    tree_model,
)
from rerank.models.exchange.trees import PortableTree, rounds_at_most

_DEEPEST = 16  # CatBoost's own limit


@EXCHANGE.register("catboost")
class CatBoost(ExchangeFormat):
    """CatBoost's JSON."""

    name = "catboost"
    summary = "CatBoost's JSON of oblivious trees"
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.lstrip()[:1] == b"{" and b'"oblivious_trees"' in content

    def model(self, content: bytes, source: str) -> Model:
        given = parsed_json(content)
        features = member(given, "features_info")
        if features.get("categorical_features") or features.get("text_features"):
            raise DataError("categorical or text features, which are not supported")
        if "oblivious_trees" not in given:
            raise DataError("no 'oblivious_trees' (grow_policy=SymmetricTree)")
        listed = records(features, "float_features")
        names, flat, treatment = [], [], []
        for one in listed:
            number = member(one, "flat_feature_index", kind=int)
            name = one.get("feature_id") or one.get("feature_name") or str(number + 1)
            names.append(str(name))
            flat.append(number)
            treatment.append(str(one.get("nan_value_treatment", "AsIs")))
        if not names or len(set(flat)) < len(flat) or min(flat) < 0:
            raise DataError("float_features without names or numbers of their own")
        # CatBoost's own names are numbers from 0; as ours they would be taken for numbers from 1.
        if all(name == str(number) for name, number in zip(names, flat, strict=True)):
            names = [str(number + 1) for number in flat]
        order = np.argsort(flat, kind="stable").tolist()
        place = {j: k for k, j in enumerate(order)}
        trees = records(given, "oblivious_trees")
        total = sum(1 << min(len(member(tree, "splits", kind=list)), _DEEPEST) for tree in trees)
        memory.require(200 * total, f"{total:,} leaves of oblivious trees")
        scale, bias = _scale_and_bias(given)
        found = [constant_tree(bias)] if bias else []
        for k, tree in enumerate(trees):
            try:
                found.append(_tree(tree, place, treatment, scale))
            except DataError as error:
                raise DataError(f"tree {k}: {error}") from None
        note(f"{source}: scores are CatBoost's RawFormulaVal")
        return tree_model(found, [names[j] for j in order])


def _scale_and_bias(given: Any) -> tuple[float, float]:
    """The factor of all leaves, and the constant."""
    pair = given.get("scale_and_bias", [1.0, [0.0]])
    scale = real(member(pair, 0, kind=(int, float)), "scale")
    bias = pair[1] if len(pair) > 1 else 0.0
    values = bias if isinstance(bias, list) else [bias]
    if len(values) > 1:
        raise DataError(f"{len(values)} constants: several outputs, not one score")
    return scale, real(values[0], "bias") if values else 0.0


def _tree(tree: Any, place: dict[int, int], treatment: list[str], scale: float) -> PortableTree:
    """An oblivious tree as one of splits, the last split first: it is the highest bit of a leaf's number."""
    splits = records(tree, "splits")
    if len(splits) > _DEEPEST:
        raise DataError(f"{len(splits)} splits, expected {_DEEPEST} at most")
    leaves = numbers(tree, "leaf_values")
    if len(leaves) != 1 << len(splits):
        raise DataError(f"{len(leaves)} leaves for {len(splits)} splits: several outputs, or a damaged file")
    feature, border, left = [], [], []
    for split in splits[::-1]:
        if split.get("split_type", "FloatFeature") != "FloatFeature":
            raise DataError(f"splits of type {str(split['split_type'])[:40]}, which are not supported")
        number = member(split, "float_feature_index", kind=int)
        if number not in place:
            raise DataError(f"a split of feature {number}, which there is not")
        feature.append(place[number])
        border.append(real(member(split, "border", kind=(int, float)), "border"))
        left.append(treatment[number] != "AsTrue")
    depth = len(splits)
    n = (1 << depth) - 1
    with np.errstate(over="ignore"):  # leaves that overflow are refused with the model
        leaves = leaves * scale
        single = np.array(border, dtype=np.float64).astype(np.float32).astype(np.float64)
    threshold: Floats = rounds_at_most(single) if depth else np.empty(0)
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    nodes = np.arange(n, dtype=np.int64)
    children = np.stack([2 * nodes + 1, 2 * nodes + 2])
    # The nodes of the last level are the leaves, from left to right.
    children = np.where(children < n, children, n - 1 - children).astype(np.int32)
    return PortableTree(
        np.array(feature, dtype=np.int32)[level],
        threshold[level],
        np.array(left, dtype=np.bool_)[level],
        np.zeros(n, dtype=np.bool_),
        children[0],
        children[1],
        leaves,
    )
