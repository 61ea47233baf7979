"""Model files of RankLib, which the plug-ins of Elasticsearch and OpenSearch load too.

RankLib computes in single precision, has no missing values (they count as 0) and numbers features from 1.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray
from rerank.data.names import numbers_in
from rerank.models.base import Model
from rerank.models.exchange.base import (
    EXCHANGE,
    LINEAR,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
    note,
)
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.reading import (
    Nodes,
    numbered_names,
    real,
    tree_model,
    tree_of,
    weights_by_number,
    whole_number,
)
from rerank.models.exchange.single import float32_text, raw_pairs, server_terms, single_trees
from rerank.models.exchange.trees import PortableTree, next_double, rounds_at_most, step_tree


@EXCHANGE.register("ranklib")
class RankLib(ExchangeFormat):
    """RankLib's files."""

    name = "ranklib"
    summary = "RankLib's files: linear models, ensembles of trees"
    holds = frozenset({LINEAR, STEPS, TREES})
    writes = True
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.lstrip()[:3] == b"## "

    def model(self, content: bytes, source: str) -> Model:
        text = content.decode("utf-8", "replace").replace("\r\n", "\n")
        lines = [line.strip() for line in text.split("\n")]
        kind = next((line[2:].strip() for line in lines if line), "") if lines else ""
        if not text.lstrip().startswith("##"):
            raise DataError("no model of RankLib, which begins with ## and its name")
        if kind in _NETS:
            raise DataError(
                f"a neural network ({kind}), which no model of this package is; train a linear model"
            )
        if "<ensemble>" in text:
            return _ensembles(text, kind)
        if kind not in _WEIGHTED and kind != "RankBoost":
            raise DataError(f"a model of RankLib called {kind[:40]!r}")
        row = next((line for line in lines if line and not line.startswith("##")), "")
        cells = [cell.split(":") for cell in row.partition("#")[0].split()]
        if kind == "RankBoost":
            return _rankboost(cells)
        weights: dict[int, float] = {}
        for cell in cells:
            if len(cell) != 2:
                raise DataError(f"found {':'.join(cell)[:40]!r}, expected FEATURE:WEIGHT")
            number, weight = whole_number(cell[0], "feature"), real(cell[1], "weight")
            if number in weights and kind != "AdaRank":
                raise DataError(f"feature {number} twice")
            weights[number] = weights.get(number, 0.0) + weight
        constant = weights.pop(0, 0.0)
        if constant:
            note(f"{source}: its constant {constant:.6g}, which changes no order, is left out")
        return weights_by_number(weights)

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        known = numbers_in(scorer.inputs)
        numbers = list(range(1, len(scorer.inputs) + 1))
        if known is not None and "0" not in scorer.inputs:
            numbers = [int(name) for name in scorer.inputs]
        if scorer.terms or not (scorer.steps or scorer.trees):
            pairs = raw_pairs(server_terms(scorer, "RankLib"))
            places = dict(zip(scorer.inputs, numbers, strict=True))
            weights = " ".join(f"{places[name]}:{weight!r}" for name, weight in pairs.items())
            return _LINEAR + (weights or f"{numbers[0]}:0.0") + "\n"
        trees = single_trees(scorer, "RankLib", missing=False)
        lines = [_TREES.format(n=len(trees), leaves=max(len(tree.leaf) for tree in trees))]
        lines.append("<ensemble>")
        for k, tree in enumerate(trees, 1):
            lines += [f'\t<tree id="{k}" weight="1.0">', *_nodes(tree, numbers), "\t</tree>"]
        return "\n".join([*lines, "</ensemble>", ""])


_WEIGHTED = ("Coordinate Ascent", "Linear Regression", "AdaRank")
_NETS = ("RankNet", "LambdaRank", "ListNet")
_TOKEN = re.compile(
    r"\s*(?:<(/?)(ensemble|tree|split|feature|threshold|output)((?:\s+[a-z]+=\"[^\"<>]*\")*)\s*>|([^<>\s]+))\s*"
)
_WEIGHT = re.compile(r'weight="([^"]*)"')
_SIDE = re.compile(r'pos="(left|right)"')


def _ensembles(text: str, kind: str) -> Model:
    """The model of trees; random forests are the mean of several ensembles."""
    rows: list[list[float]] = []  # feature, threshold, left, right, value of each node
    roots: list[tuple[int, float]] = []
    stack: list[int] = []
    opened: list[str] = []
    n_ensembles, weight, content, at = 0, 1.0, "", text.index("<ensemble>")
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise DataError(f"found {text[at : at + 40]!r} among the trees")
        at = found.end()
        closing, tag, attributes, word = found.groups()
        if word is not None:
            content = word
        elif closing:
            if not opened or opened.pop() != tag:
                raise DataError(f"</{tag}> without its beginning")
            if tag == "split":
                stack.pop()
            elif tag in _FIELDS and stack:
                value = real(content, tag)
                rows[stack[-1]][_FIELDS[tag]] = whole_number(content, tag) if tag == "feature" else value
            content = ""
        else:
            above = opened[-1] if opened else ""
            if above not in _INSIDE[tag]:
                raise DataError(f"<{tag}> in {above or 'no ensemble'}")
            opened.append(tag)
            if tag == "ensemble":
                n_ensembles += 1
            elif tag == "tree":
                match = _WEIGHT.search(attributes)
                weight = real(match[1], "weight") if match else 1.0
            elif tag == "split":
                number = len(rows)
                rows.append([0, math.nan, -1, -1, math.nan])
                if above == "tree":
                    roots.append((number, weight))
                else:
                    side = _SIDE.search(attributes)
                    place = 2 if side and side[1] == "left" else 3
                    if not side or rows[stack[-1]][place] != -1:
                        raise DataError("a split that is neither the left nor the right one")
                    rows[stack[-1]][place] = number
                stack.append(number)
    if opened or not roots:
        raise DataError("trees that end early" if opened else "no trees")
    if n_ensembles > 1 and kind != "Random Forests":
        raise DataError(f"{n_ensembles} ensembles of {kind[:40]!r}")
    table = np.array(rows, dtype=np.float64)
    inner = table[:, 2] >= 0
    if (
        np.any(inner != (table[:, 3] >= 0))
        or np.isnan(table[inner, 1]).any()
        or np.isnan(table[~inner, 4]).any()
    ):
        raise DataError("a split without a threshold, two children or an output")
    names = numbered_names(table[inner, 0].astype(np.int64).tolist() or [1])
    places = {int(name): j for j, name in enumerate(names)}
    feature = np.array([places.get(int(j), 0) for j in table[:, 0]])
    with np.errstate(over="ignore"):
        large = np.isinf(table[:, [1, 4]].astype(np.float32)).any()
    if large:
        raise DataError("a threshold or output that is too large for single precision")
    threshold = np.where(inner, table[:, 1], 0.0).astype(np.float32).astype(np.float64)
    left, right = table[:, 2].astype(np.int64), table[:, 3].astype(np.int64)
    leaves = np.where(inner, 0.0, table[:, 4])
    gains = np.ones(len(rows))
    nodes = Nodes(feature, rounds_at_most(threshold), threshold >= 0.0, left, right, leaves, gains)
    bounds = [*(root for root, _ in roots), len(rows)]
    trees = []
    for (root, factor), stop in zip(roots, bounds[1:], strict=True):
        part = Nodes(*(one[root:stop] for one in nodes))
        moved = part._replace(left=_moved(part.left, root), right=_moved(part.right, root))
        tree, _ = tree_of(moved, len(names))
        leaf = (tree.leaf.astype(np.float32) * np.float32(factor)).astype(np.float64) / n_ensembles
        trees.append(replace(tree, leaf=leaf))
    return tree_model(trees, names)


def _moved(children: AnyArray, root: int) -> AnyArray:
    """The children of a tree's nodes, counted from its root."""
    return np.where(children >= 0, children - root, -1)


_FIELDS = {"feature": 0, "threshold": 1, "output": 4}
_INSIDE = {
    "ensemble": ("",),
    "tree": ("ensemble",),
    "split": ("tree", "split"),
    **dict.fromkeys(("feature", "threshold", "output"), ("split",)),
}


def _rankboost(cells: list[list[str]]) -> Model:
    """The sum of steps: a weight if a feature is above its threshold. RankLib's features are float32."""
    rounds = []
    for cell in cells:
        if len(cell) != 3:
            raise DataError(f"found {':'.join(cell)[:40]!r}, expected FEATURE:THRESHOLD:WEIGHT")
        rounds.append((whole_number(cell[0], "feature"), real(cell[1], "threshold"), real(cell[2], "weight")))
    if not rounds:
        raise DataError("no rounds")
    names = numbered_names([number for number, _, _ in rounds])
    places = {int(name): j for j, name in enumerate(names)}
    above = rounds_at_most(np.array([threshold for _, threshold, _ in rounds]))
    trees = [
        step_tree(places[number], next_double(top[None], np.inf), np.array([0.0, weight]), math.nan)
        for (number, _, weight), top in zip(rounds, above, strict=True)
    ]
    zero = [replace(tree, nan_left=tree.threshold >= 0.0) for tree in trees]
    return tree_model(zero, names)


_LINEAR = """## Coordinate Ascent
## Restart = 1
## MaxIteration = 1
## StepBase = 0.05
## StepScale = 2.0
## Tolerance = 0.001
## Regularized = false
## Slack = 0.001
"""
_TREES = """## LambdaMART
## No. of trees = {n}
## No. of leaves = {leaves}
## No. of threshold candidates = -1
## Learning rate = 1.0
## Stop early = 100
"""


def _nodes(tree: PortableTree, numbers: list[int]) -> list[str]:
    """The lines of a tree."""
    lines: list[str] = []
    todo: list[tuple[str, int, int]] = [("", tree.root, 2)]  # side, child, depth; an end has the side "/"
    while todo:
        side, child, depth = todo.pop()
        tabs = "\t" * depth
        if side == "/":
            lines.append(f"{tabs}</split>")
            continue
        lines.append(f'{tabs}<split pos="{side}">' if side else f"{tabs}<split>")
        todo.append(("/", 0, depth))
        if child < 0:
            lines.append(f"{tabs}\t<output> {float32_text(float(tree.leaf[-1 - child]))} </output>")
            continue
        lines.append(f"{tabs}\t<feature> {numbers[int(tree.feature[child])]} </feature>")
        lines.append(f"{tabs}\t<threshold> {float32_text(float(tree.threshold[child]))} </threshold>")
        todo.append(("right", int(tree.right[child]), depth + 1))
        todo.append(("left", int(tree.left[child]), depth + 1))
    return lines
