"""Request bodies of the learning-to-rank plug-ins of Elasticsearch and OpenSearch: a feature set and a model.

The plug-ins compute in single precision. Each feature is read from a numeric field of its name until its
template is replaced by a query.
"""

from __future__ import annotations

import json
from typing import Any

from rerank.models.exchange.base import (
    BASE_SCORE,
    EXCHANGE,
    LINEAR,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
)
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.single import as_float32, server_terms, single_trees
from rerank.models.exchange.trees import PortableTree
from rerank.models.exchange.xgboost import below

_SOURCE = "doc[params.field].size() == 0 ? 0 : doc[params.field].value"


@EXCHANGE.register("elasticsearch")
class Elasticsearch(ExchangeFormat):
    """Request bodies."""

    name = "elasticsearch"
    summary = "bodies of the plug-in's requests: feature set and model"
    holds = frozenset({LINEAR, STEPS, TREES, BASE_SCORE})
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        name = options.name or "rerank"
        if scorer.terms or not (scorer.steps or scorer.trees):
            terms = server_terms(scorer, "Elasticsearch")
            body: dict[str, Any] = {
                "type": "model/linear",
                "definition": {feature: weight for feature, weight, _, _ in terms},
            }
            normed = {
                feature: {"standard": {"mean": shift, "standard_deviation": divisor}}
                for feature, _, shift, divisor in terms
                if shift != 0.0 or divisor != 1.0
            }
            if normed:
                body["feature_normalizers"] = normed
            features = [feature for feature, _, _, _ in terms]
        else:
            trees = single_trees(scorer, "Elasticsearch", missing=False)
            splits = [_node(tree, scorer.inputs) for tree in trees]
            body = {"type": "model/xgboost+json", "definition": json.dumps(splits)}
            features = [scorer.inputs[j] for j in scorer.used()]
        sets = [
            {
                "name": feature,
                "params": [],
                "template_language": "script_feature",
                "template": {"lang": "painless", "source": _SOURCE, "params": {"field": feature}},
            }
            for feature in features
        ]
        content = {
            "featureset": {"name": name, "features": sets},
            "model": {"name": name, "model": body},
        }
        return json.dumps(content, allow_nan=False, indent=1) + "\n"


def _node(tree: PortableTree, names: list[str]) -> dict[str, Any]:
    """A tree as XGBoost dumps it."""
    n = len(tree.feature)
    leaves = as_float32(tree.leaf)
    nodes: list[dict[str, Any]] = [{} for _ in range(n)]
    depth = [0] * (n + 1)

    def made(child: int) -> dict[str, Any]:
        return nodes[child] if child >= 0 else {"nodeid": n - 1 - child, "leaf": leaves[-1 - child]}

    for i in range(n):
        left, right = int(tree.left[i]), int(tree.right[i])
        yes, no = (c if c >= 0 else n - 1 - c for c in (left, right))
        for child in (left, right):
            if child >= 0:
                depth[child] = depth[i] + 1
        nodes[i].update(
            nodeid=i,
            depth=depth[i],
            split=names[int(tree.feature[i])],
            split_condition=below(float(tree.threshold[i])),
            yes=yes,
            no=no,
            missing=yes if tree.nan_left[i] else no,
            children=[made(left), made(right)],
        )
    return made(tree.root)
