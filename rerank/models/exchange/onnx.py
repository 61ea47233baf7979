"""ONNX in doubles: an input ``X`` (n, n_features) of raw features, NaN = missing, an output ``score`` (n).

The graph uses opset 17 of ai.onnx and opset 5 of ai.onnx.ml (onnx 1.16, onnxruntime 1.18 or newer). The
package onnx writes it (extra ``[onnx]``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank._version import __version__
from rerank.core.errors import ConfigError
from rerank.core.types import AnyArray
from rerank.models.exchange.base import (
    BASE_SCORE,
    COUNTED,
    EXCHANGE,
    LINEAR,
    MIXED,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
)
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.trees import PortableTree

OPSET, ML_OPSET, IR_VERSION = 17, 5, 10


@EXCHANGE.register("onnx")
class Onnx(ExchangeFormat):
    """ONNX."""

    name = "onnx"
    summary = "ONNX in doubles, opset 17 and ai.onnx.ml 5 (extra [onnx])"
    holds = frozenset({LINEAR, STEPS, TREES, COUNTED, BASE_SCORE, MIXED})
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> bytes:
        try:
            import onnx
        except ImportError:
            raise ConfigError("--to onnx needs the package onnx: pip install 'rerank[onnx]'") from None
        graph = _Graph(onnx)
        for tree in scorer.trees:
            if tree.zero_missing.any():
                raise ConfigError(
                    "onnx cannot express splits that take 0 for missing; lightgbm and python can"
                )
        score = graph.score(scorer)
        outputs = ["score"]
        graph.add("Identity", [score], "score")
        if scorer.thresholds is not None and scorer.labels is not None:
            at = graph.constant(scorer.thresholds[None])
            column = graph.add("Unsqueeze", [score, graph.constant(np.array([1]))])
            passed = graph.add("Cast", [graph.add("GreaterOrEqual", [column, at])], to=onnx.TensorProto.INT64)
            place = graph.add("ReduceSum", [passed, graph.constant(np.array([1]))], keepdims=0)
            graph.add("Gather", [graph.constant(scorer.labels), place], "grade")
            outputs.append("grade")
        helper, double = onnx.helper, onnx.TensorProto.DOUBLE
        shapes = {"X": ["n", len(scorer.inputs)]} | (
            {"base": ["n"]} if scorer.base_weight is not None else {}
        )
        made = helper.make_graph(
            graph.nodes,
            options.name or "rerank",
            [helper.make_tensor_value_info(name, double, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info(name, double, ["n"]) for name in outputs],
            graph.constants,
            doc_string=f"A rerank model of kind {scorer.kind}; larger scores are better.",
        )
        model = helper.make_model(
            made,
            producer_name="rerank",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        )
        helper.set_model_props(model, {"features": json.dumps(scorer.inputs)})
        onnx.checker.check_model(model)
        found: bytes = model.SerializeToString(deterministic=True)
        return found


class _Graph:
    """Nodes and constants with names of their own."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: AnyArray) -> str:
        """Add a constant; return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **given: Any) -> str:
        """Add a node; return the name of its output."""
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **given))
        return name

    def score(self, scorer: Portable) -> str:
        """Add the nodes of the sum; return its name."""
        parts = [self._terms(scorer)] if scorer.terms else []
        trees = scorer.as_trees()
        if trees:
            parts.append(self._trees(trees))
        unknown = [one.source for one in scorer.steps if np.isnan(one.missing)]
        if unknown:  # an item without a value has no score
            x = self.add("Gather", ["X", self.constant(np.array(unknown))], axis=1)
            gone = self.add("Where", [self.add("IsNaN", [x]), self._double(np.nan), self._double(0.0)])
            parts.append(self._sum(gone))
        if scorer.base_weight is not None:
            parts.append(self.add("Mul", ["base", self._double(scorer.base_weight)]))
        if not parts:  # a constant: 0 for every item, whatever X holds
            flags = self.add("Cast", [self.add("IsNaN", ["X"])], to=self.onnx.TensorProto.DOUBLE)
            parts.append(self._sum(self.add("Mul", [flags, self._double(0.0)])))
        total = parts[0]
        for part in parts[1:]:
            total = self.add("Add", [total, part])
        return total

    def _double(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float64))

    def _sum(self, name: str) -> str:
        """The sums of rows."""
        return self.add("ReduceSum", [name, self.constant(np.array([1]))], keepdims=0)

    def _terms(self, scorer: Portable) -> str:
        terms = scorer.terms
        x = self.add("Gather", ["X", self.constant(np.array([t.source for t in terms]))], axis=1)
        columns = {
            "shift": [t.shift for t in terms],
            "divisor": [1.0 if t.present is not None else t.divisor for t in terms],
            "weight": [t.weight for t in terms],
            "missing": [t.missing for t in terms],
        }
        rows = {name: self.constant(np.array([values])) for name, values in columns.items()}
        value = self.add("Div", [self.add("Sub", [x, rows["shift"]]), rows["divisor"]])
        value = self.add("Mul", [value, rows["weight"]])
        if any(t.present is not None for t in terms):
            fixed = self.constant(np.array([[t.present is not None for t in terms]]))
            present = self.constant(np.array([[t.present or 0.0 for t in terms]]))
            value = self.add("Where", [fixed, present, value])
        total = self._sum(self.add("Where", [self.add("IsNaN", [x]), rows["missing"], value]))
        if scorer.counted:
            gone = self.add("Cast", [self.add("IsNaN", ["X"])], to=self.onnx.TensorProto.DOUBLE)
            there = self.add("Sub", [self._double(float(len(scorer.inputs))), self._sum(gone)])
            total = self.add("Mul", [total, there])
        return total

    def _trees(self, trees: Sequence[PortableTree]) -> str:
        """An ensemble; a tree of one leaf is a split with two equal ones."""
        feature: list[int] = []
        threshold: list[float] = []
        nan_left: list[int] = []
        ways: dict[str, tuple[list[int], list[int]]] = {"true": ([], []), "false": ([], [])}
        leaves: list[float] = []
        roots = []
        for tree in trees:
            first, first_leaf = len(feature), len(leaves)
            roots.append(first)
            leaves += tree.leaf.tolist()
            splits = len(tree.feature)
            feature += tree.feature.tolist() if splits else [0]
            threshold += tree.threshold.tolist() if splits else [0.0]
            nan_left += tree.nan_left.tolist() if splits else [0]
            for way, children in (("true", tree.left), ("false", tree.right)):
                for child in children.tolist() if splits else [-1]:
                    ways[way][0].append(child + first if child >= 0 else first_leaf - 1 - child)
                    ways[way][1].append(int(child < 0))
        helper: Any = self.onnx.numpy_helper
        found = self.add(
            "TreeEnsemble",
            ["X"],
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function=1,
            post_transform=0,
            tree_roots=roots,
            nodes_featureids=feature,
            nodes_splits=helper.from_array(np.array(threshold), "splits"),
            nodes_modes=helper.from_array(np.zeros(len(feature), dtype=np.uint8), "modes"),
            nodes_truenodeids=ways["true"][0],
            nodes_falsenodeids=ways["false"][0],
            nodes_trueleafs=ways["true"][1],
            nodes_falseleafs=ways["false"][1],
            nodes_missing_value_tracks_true=[int(v) for v in nan_left],
            leaf_targetids=[0] * len(leaves),
            leaf_weights=helper.from_array(np.array(leaves), "leaves"),
        )
        return self.add("Squeeze", [found, self.constant(np.array([1]))])
