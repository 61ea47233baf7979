"""Models of Solr's learning-to-rank module: LinearModel and MultipleAdditiveTreesModel.

Solr computes in single precision, takes missing values for 0, and adds 1e-6 to every threshold that it reads.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats, Mask, NDArray
from rerank.models.exchange.base import (
    BASE_SCORE,
    EXCHANGE,
    LINEAR,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
    note,
)
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.single import float32_text, server_terms, single_trees
from rerank.models.exchange.trees import PortableTree

Singles = NDArray[np.float32]
SLACK = np.float32(1e-6)
_ZERO = 1e-30  # thresholds as small as LightGBM's for 0 part it from all larger values, as 0 does
_PACKAGE = "org.apache.solr.ltr"


@EXCHANGE.register("solr")
class Solr(ExchangeFormat):
    """Solr's JSON."""

    name = "solr"
    summary = "Solr's LinearModel and MultipleAdditiveTreesModel"
    holds = frozenset({LINEAR, STEPS, TREES, BASE_SCORE})
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        name = options.name or "rerank"
        features: list[dict[str, Any]] = []
        if scorer.terms or not (scorer.steps or scorer.trees):
            kind = "LinearModel"
            terms = server_terms(scorer, "Solr")
            for feature, _, shift, divisor in terms:
                entry: dict[str, Any] = {"name": feature}
                if shift != 0.0 or divisor != 1.0:
                    params = {"avg": repr(shift), "std": repr(divisor)}
                    entry["norm"] = {"class": f"{_PACKAGE}.norm.StandardNormalizer", "params": params}
                features.append(entry)
            parameters: dict[str, Any] = {"weights": {feature: weight for feature, weight, _, _ in terms}}
        else:
            kind = "MultipleAdditiveTreesModel"
            trees = single_trees(scorer, "Solr", missing=False)
            features = [{"name": scorer.inputs[j]} for j in scorer.used()]
            sizes = np.cumsum([len(tree.feature) for tree in trees])
            every, inexact = shifted(np.concatenate([tree.threshold for tree in trees]))
            inexact &= np.abs(np.concatenate([tree.threshold for tree in trees])) > _ZERO
            if inexact.any():
                what = count(int(inexact.sum()), "threshold")
                note(
                    f"Solr adds 1e-6 to thresholds: {what} near 0 cannot be exact, and are off by up to 1e-13"
                )
            roots = [
                {"weight": "1", "root": _node(tree, written, scorer.inputs)}
                for tree, written in zip(trees, np.split(every, sizes[:-1]), strict=True)
            ]
            parameters = {"trees": roots}
        content = {
            "class": f"{_PACKAGE}.model.{kind}",
            "name": name,
            "features": features,
            "params": parameters,
        }
        return json.dumps(content, allow_nan=False, indent=1) + "\n"


def shifted(threshold: Floats) -> tuple[Singles, Mask]:
    """Return float32 numbers that are these thresholds once Solr has added its slack, and where none is.

    Where none is, the sum is the next one below the threshold, so that 0 goes the right way at least.
    """
    target = threshold.astype(np.float32)
    written, found = target - SLACK, np.full_like(target, -np.inf)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = written
        for _ in range(3):
            near = np.nextafter(near, np.float32(-np.inf))
        for _ in range(7):
            better = (near + SLACK <= target) & (near + SLACK > found)
            written, found = np.where(better, near, written), np.where(better, near + SLACK, found)
            near = np.nextafter(near, np.float32(np.inf))
    return written, found != target


def _node(tree: PortableTree, written: Singles, names: list[str]) -> dict[str, Any]:
    """A tree with its thresholds as they are written."""
    nodes: list[dict[str, Any]] = [{} for _ in tree.feature]

    def made(child: int) -> dict[str, Any]:
        return nodes[child] if child >= 0 else {"value": float32_text(float(tree.leaf[-1 - child]))}

    for i, node in enumerate(nodes):
        node["feature"] = names[int(tree.feature[i])]
        node["threshold"] = float32_text(float(written[i]))
        node["left"], node["right"] = made(int(tree.left[i])), made(int(tree.right[i]))
    return made(tree.root)
