"""XGBoost's JSON of trees. It computes in single precision: x goes left if float32(x) < threshold."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats
from rerank.data.missing import Imputation
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, STEPS, TREES, ExchangeFormat, ExportOptions, note
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.reading import (
    Nodes,
    constant_tree,
    linear_model,
    member,
    numbered_names,
    numbers,
    parsed_json,
    real,
    tree_model,
    tree_of,
    whole_number,
)
from rerank.models.exchange.single import as_float32, single_trees
from rerank.models.exchange.trees import PortableTree, rounds_below
from rerank.models.exchange.ubjson import ubjson
from rerank.models.pipeline import Chain

_ROOT = 2147483647  # the parent of a root


@EXCHANGE.register("xgboost")
class XgBoost(ExchangeFormat):
    """XGBoost's JSON."""

    name = "xgboost"
    summary = "XGBoost's JSON of trees"
    holds = frozenset({STEPS, TREES})
    writes = True
    reads = True
    columns_from_0 = True
    honours = frozenset({"first_column"})

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        head = content[:4000].lstrip()
        saved = re.match(rb'\{\s*"(learner|version)"|\{L.{8}(learner|version)', head, re.DOTALL)
        return saved is not None or (b'"nodeid"' in head and head[:1] == b"[")

    def model(self, content: bytes, source: str) -> Model:
        binary = content[:1] == b"{" and content[1:2] in (b"L", b"l", b"i", b"U", b"I", b"}")
        given = ubjson(content) if binary else parsed_json(content)
        found = _dumped(given, source) if isinstance(given, list) else _saved(given, source)
        found.chain = Chain((Imputation("nan", len(found.feature_names), 0),))
        return found

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        trees = single_trees(scorer, "XGBoost", missing=True)
        n = len(scorer.inputs)
        model = {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": list(range(len(trees) + 1)),
            "tree_info": [0] * len(trees),
            "trees": [_tree(tree, k, n) for k, tree in enumerate(trees)],
        }
        content = {
            "learner": {
                "attributes": {},
                "feature_names": scorer.inputs,
                "feature_types": ["float"] * n,
                "gradient_booster": {"model": model, "name": "gbtree"},
                "learner_model_param": {
                    "base_score": "0E0",
                    "boost_from_average": "0",
                    "num_class": "0",
                    "num_feature": str(n),
                    "num_target": "1",
                },
                "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
            },
            "version": [2, 1, 0],
        }
        return json.dumps(content, allow_nan=False) + "\n"


_IDENTITY = {
    *("rank:ndcg", "rank:pairwise", "rank:map", "reg:squarederror", "reg:linear", "reg:absoluteerror"),
    *("reg:pseudohubererror", "reg:quantileerror", "reg:squaredlogerror", "binary:hinge"),
}
_LOGISTIC = ("binary:logistic", "reg:logistic", "binary:logitraw")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")


def _saved(given: Any, source: str) -> Model:
    """The model of ``Booster.save_model``."""
    learner = member(given, "learner")
    param = member(learner, "learner_model_param")
    booster = member(learner, "gradient_booster")
    name = member(booster, "name", kind=str)
    n_features = whole_number(param.get("num_feature"), "num_feature")
    for key, most in (("num_class", 1), ("num_target", 1)):
        if whole_number(param.get(key, 0), key) > most:
            raise DataError(f"{key} is {param[key]}: several outputs, not one score")
    names = learner.get("feature_names") or []
    if not names and n_features <= 1_000_000:
        names = [str(j) for j in range(1, n_features + 1)]
    if (
        not isinstance(names, list)
        or not all(isinstance(one, str) for one in names)
        or len(names) != n_features
    ):
        raise DataError(f"feature_names do not fit num_feature {n_features}")
    objective = member(learner, "objective", "name", kind=str)
    margin = _margin(param.get("base_score", "0"), objective)
    if name == "gblinear":
        weights = numbers(member(booster, "model"), "weights")
        if len(weights) != n_features + 1:
            raise DataError(f"{len(weights)} weights for {n_features} features and a constant")
        if weights[-1] + margin != 0:
            note(f"{source}: its constant {weights[-1] + margin:.6g}, which changes no order, is left out")
        return linear_model(names, weights[:-1])
    dropped = numbers(booster, "weight_drop") if name == "dart" else None
    model = member(booster, "gbtree", "model") if name == "dart" else member(booster, "model")
    if name not in ("gbtree", "dart"):
        raise DataError(f"a booster of kind {name[:40]!r}, expected gbtree, dart or gblinear")
    listed = member(model, "trees", kind=list)
    if dropped is not None and len(dropped) != len(listed):
        raise DataError(f"{len(dropped)} weights of {len(listed)} trees")
    trees, gains = ([constant_tree(margin)], [np.empty(0)]) if margin else ([], [])
    for k, one in enumerate(listed):
        factor = 1.0 if dropped is None else float(np.float32(dropped[k]))
        tree, gain = _read_tree(one, n_features, k, factor)
        trees.append(tree)
        gains.append(gain)
    attributes = learner.get("attributes")
    best = attributes.get("best_iteration") if isinstance(attributes, dict) else None
    if best is not None and whole_number(best, "best_iteration") + 1 < len(listed):
        note(f"{source}: all {len(listed)} trees are kept, also those after its best iteration {best}")
    if objective in _LOGISTIC or objective in _LOG:
        note(f"{source}: scores are those before the link of {objective} (output_margin), in the same order")
    return tree_model(trees, names, gains)


def _margin(text: Any, objective: str) -> float:
    """The constant of the margin, as XGBoost makes it of base_score, which is in units of predictions."""
    base = real(text.strip("[]") if isinstance(text, str) else text, "base_score")
    base = float(_single(np.array([base]))[0])
    if objective in _LOGISTIC:
        if not 0.0 < base < 1.0:
            raise DataError(f"base_score {base:g} of {objective}, expected between 0 and 1")
        return float(np.float32(-np.log(1.0 / base - 1.0)))
    if objective in _LOG:
        if not base > 0.0:
            raise DataError(f"base_score {base:g} of {objective}, expected above 0")
        return float(np.float32(np.log(base)))
    if objective not in _IDENTITY:
        raise DataError(f"objective {objective[:40]!r}, whose constant is not known")
    return base


def _read_tree(one: Any, n_features: int, number: int, factor: float) -> tuple[PortableTree, Floats]:
    try:
        if whole_number(member(one, "tree_param").get("size_leaf_vector", 1), "size_leaf_vector") > 1:
            raise DataError("leaves with several outputs")
        if numbers(one, "split_type", whole=True).any() if "split_type" in one else False:
            raise DataError("categorical splits, which are not supported")
        condition = numbers(one, "split_conditions")
        single = _single(condition)
        nodes = Nodes(
            numbers(one, "split_indices", whole=True),
            rounds_below(single),
            numbers(one, "default_left", whole=True) != 0,
            numbers(one, "left_children", whole=True),
            numbers(one, "right_children", whole=True),
            (single.astype(np.float32) * np.float32(factor)).astype(np.float64),
            numbers(one, "loss_changes") if "loss_changes" in one else np.ones(len(condition)),
        )
        return tree_of(nodes, n_features)
    except DataError as error:
        raise DataError(f"tree {number}: {error}") from None


def _single(values: Floats) -> Floats:
    """Numbers as XGBoost holds them, in single precision."""
    if not np.all(np.abs(values) <= np.finfo(np.float32).max):
        raise DataError("a number that is too large for single precision")
    return values.astype(np.float32).astype(np.float64)


def _dumped(given: list[Any], source: str) -> Model:
    """The model of ``Booster.dump_model`` in JSON, as search engines load it."""
    if not given:
        raise DataError("no trees")
    names: dict[str, int] = {}
    rows = [_dumped_nodes(tree, k, names) for k, tree in enumerate(given)]
    ordered = sorted(names, key=lambda name: (len(name), name) if name.isdigit() else (0, name))
    if all(name[:1] == "f" and name[1:].isdigit() and len(name) < 9 for name in ordered):
        final = numbered_names([int(name[1:]) + 1 for name in ordered] or [1])
        places = {name: final.index(str(int(name[1:]) + 1)) for name in ordered}
    else:
        final, places = ordered, {name: j for j, name in enumerate(ordered)}
    trees, gains = [], []
    moved = np.array([places[name] for name in names] or [0])
    for k, nodes in enumerate(rows):
        try:
            tree, gain = tree_of(nodes._replace(feature=moved[nodes.feature]), max(len(final), 1))
        except DataError as error:
            raise DataError(f"tree {k}: {error}") from None
        trees.append(tree)
        gains.append(gain)
    note(f"{source}: a dump has no base_score, which changes no order, and only the features that it uses")
    return tree_model(trees, final or ["1"], gains)


def _dumped_nodes(tree: Any, number: int, names: dict[str, int]) -> Nodes:
    """The nodes of a dumped tree, the root first; new names of features are numbered."""
    columns: list[list[float]] = [[] for _ in range(7)]
    todo = [(tree, -1, 3)]
    while todo:
        node, parent, side = todo.pop()
        here = len(columns[0])
        if parent >= 0:
            columns[side][parent] = here
        if isinstance(node, dict) and "leaf" in node:
            row = [0, 0.0, 0, -1, -1, real(node["leaf"], "leaf"), 0.0]
        else:
            children = member(node, "children", kind=list)
            ids = [member(child, "nodeid", kind=int) for child in children]
            yes, no = member(node, "yes", kind=int), member(node, "no", kind=int)
            missing = node.get("missing", yes)
            if sorted(ids) != sorted((yes, no)) or yes == no or missing not in (yes, no):
                raise DataError(f"tree {number}: yes, no and missing are not its children")
            feature = names.setdefault(member(node, "split", kind=str), len(names))
            condition = node.get("split_condition")
            if isinstance(condition, list):
                raise DataError(f"tree {number}: categorical splits, which are not supported")
            value = real(1.0 if condition is None else condition, "split_condition")
            gain = real(node.get("gain", 1.0), "gain")
            row = [feature, value, missing == yes, 0, 0, 0.0, gain]
            todo += [(children[ids.index(no)], here, 4), (children[ids.index(yes)], here, 3)]
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    whole = [np.array(columns[k], dtype=np.int64) for k in (0, 2, 3, 4)]
    return Nodes(
        whole[0],
        rounds_below(_single(np.array(columns[1], dtype=np.float64))),
        whole[1] != 0,
        whole[2],
        whole[3],
        _single(np.array(columns[5], dtype=np.float64)),
        np.array(columns[6], dtype=np.float64),
    )


def below(threshold: float) -> float:
    """The float32 above a threshold: x <= threshold is x < it."""
    with np.errstate(over="ignore"):
        above = np.nextafter(np.float32(threshold), np.float32(np.inf))
    return float(str(above if np.isfinite(above) else np.float32(threshold)))


def _tree(tree: PortableTree, number: int, n_features: int) -> dict[str, Any]:
    """A tree; splits come first, then leaves."""
    n = len(tree.feature)
    total = 2 * n + 1

    def place(child: int) -> int:
        return child if child >= 0 else n - 1 - child

    left = [place(c) for c in tree.left.tolist()] + [-1] * (n + 1)
    right = [place(c) for c in tree.right.tolist()] + [-1] * (n + 1)
    parents = [_ROOT] * total
    for i in range(n):
        parents[left[i]] = parents[right[i]] = i
    return {
        "base_weights": [0.0] * total,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [int(v) for v in tree.nan_left.tolist()] + [0] * (n + 1),
        "id": number,
        "left_children": left,
        "loss_changes": [1.0] * n + [0.0] * (n + 1),
        "parents": parents,
        "right_children": right,
        "split_conditions": [below(v) for v in tree.threshold.tolist()] + as_float32(tree.leaf),
        "split_indices": tree.feature.tolist() + [0] * (n + 1),
        "split_type": [0] * total,
        "sum_hessian": [1.0] * total,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(total),
            "size_leaf_vector": "1",
        },
    }
