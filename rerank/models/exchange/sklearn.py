"""Plain arrays of scikit-learn's linear models and gradient boosting in an .npz file, without pickle.

Linear: ``coef`` (n_features), and ``mean`` and ``scale`` of a StandardScaler if one is before it. Trees:
``offsets`` (n_trees + 1) into the nodes, and for each node ``feature``, ``threshold``, ``left``, ``right``
(within its tree, -1 = a leaf), ``value`` and ``missing_left``; ``constant`` is added. ``single`` is 1 if
features are rounded to float32 before they are compared, as those of GradientBoosting are. ``n_features``
is the number of features, which are numbered from 1; --names gives them names.
"""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray
from rerank.data.npy import ArrayForm
from rerank.data.scaling import Scaling
from rerank.models.archive import ModelArchive
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat
from rerank.models.exchange.reading import Nodes, constant_tree, linear_model, tree_model, tree_of
from rerank.models.exchange.trees import rounds_at_most
from rerank.models.pipeline import Chain

_REALS, _WHOLE = ArrayForm("<f8", (None,)), ArrayForm("<i8", (None,))
_LINEAR = {"coef": _REALS, "mean": _REALS, "scale": _REALS}
_TREES = {
    "offsets": _WHOLE,
    "feature": _WHOLE,
    "threshold": _REALS,
    "left": _WHOLE,
    "right": _WHOLE,
    "value": _REALS,
    "missing_left": _WHOLE,
    "constant": ArrayForm("<f8", (1,)),
    "single": ArrayForm("<i8", (1,)),
    "n_features": ArrayForm("<i8", (1,)),
}
_MOST = 1 << 20


@EXCHANGE.register("sklearn")
class SciKitLearn(ExchangeFormat):
    """Arrays of scikit-learn's models."""

    name = "sklearn"
    summary = "plain arrays (.npz) of scikit-learn's linear models and gradient boosting"
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.startswith(b"PK\x03\x04") and (b"coef.npy" in content or b"offsets.npy" in content)

    def model(self, content: bytes, source: str) -> Model:
        archive = ModelArchive(content, source, "arrays of 'rerank help exchange'")
        linear = archive.has("coef")
        wanted = _LINEAR if linear else _TREES
        optional = ("mean", "scale") if linear else ("constant", "single", "missing_left")
        wanted = {name: form for name, form in wanted.items() if name not in optional or archive.has(name)}
        arrays = archive.arrays(wanted)
        return _linear(arrays) if linear else _trees(arrays)


def _linear(arrays: dict[str, AnyArray]) -> Model:
    weights = arrays["coef"]
    n = len(weights)
    if n > _MOST or not n:
        raise DataError(f"{n} weights, expected 1 to {_MOST}")
    model = linear_model([str(j) for j in range(1, n + 1)], weights)
    if "scale" in arrays or "mean" in arrays:
        scale, mean = arrays.get("scale", np.ones(n)), arrays.get("mean", np.zeros(n))
        found = {"name": "zscore", "n_features": n, "shifts": True}
        if not np.isfinite(scale).all():
            raise DataError("a scale that is not finite")
        model.chain = Chain((Scaling.restore(found, {"divisor": scale, "shift": mean}),))
    return model


def _trees(arrays: dict[str, AnyArray]) -> Model:
    offsets, n_features = arrays["offsets"], int(arrays["n_features"][0])
    if not 0 < n_features <= _MOST:
        raise DataError(f"{n_features} features, expected 1 to {_MOST}")
    n = len(arrays["feature"])
    parts = [arrays[name] for name in ("threshold", "left", "right", "value")]
    missing_left = arrays.get("missing_left", np.zeros(n, dtype=np.int64))
    if any(len(part) != n for part in (*parts, missing_left)):
        raise DataError("arrays of nodes that have other lengths")
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != n or np.any(np.diff(offsets) <= 0):
        raise DataError(f"offsets that are no bounds of {n} nodes")
    threshold, left, right, value = parts
    if np.isnan(threshold).any():
        raise DataError("a threshold that is no number")
    if int(arrays.get("single", np.zeros(1))[0]):
        threshold = rounds_at_most(threshold)
    constant = float(arrays.get("constant", np.zeros(1))[0])
    trees = [constant_tree(constant)] if constant else []
    for k, (first, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        rows = slice(first, stop)
        nodes = Nodes(
            arrays["feature"][rows],
            threshold[rows],
            missing_left[rows] != 0,
            left[rows],
            right[rows],
            value[rows],
            np.ones(stop - first),
        )
        try:
            tree, _ = tree_of(nodes, n_features)
        except DataError as error:
            raise DataError(f"tree {k}: {error}") from None
        trees.append(tree)
    return tree_model(trees, [str(j) for j in range(1, n_features + 1)])
