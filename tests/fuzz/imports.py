"""Valid models of other programs for every format that is imported, none of them made by these programs."""

from __future__ import annotations

import io
import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from rerank.formats.weights import WEIGHTS
from rerank.models.base import Model
from rerank.models.exchange.calls import readers
from rerank.models.exchange.reading import Nodes, tree_model, tree_of
from rerank.models.linear import LinearModel

SVM = b"""SVM-light Version V6.20
0 # kernel type
3 # kernel parameter -d
empty# kernel parameter -u
9 # highest feature index
3 # number of support vectors plus 1
0.25 # threshold b
0.5 1:1 3:-2 #
-2 qid:3 1:1e-3 # x
"""
LINEAR = b"solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 3\nbias 1\nw\n0.5 \n-2 \n7 \n1e-3 \n"
VECTORS = (
    b"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nlabel -1 1\nnr_sv 1 1\nSV\n"
    b"0.5 1:1 2:-4 \n-0.25 2:4 \n"
)


def grown() -> Model:
    """Two trees of three features."""
    rows = np.array([0.5, -1.0, 0.0, 0.0, 0.0])
    nodes = Nodes(
        np.array([0, 2, 0, 0, 0]),
        rows,
        np.array([1, 0, 0, 0, 0]),
        np.array([1, 3, -1, -1, -1]),
        np.array([2, 4, -1, -1, -1]),
        np.array([0.0, 0.0, 0.25, -0.5, 1.0]),
        np.ones(5),
    )
    tree, _ = tree_of(nodes, 3)
    return tree_model([tree, tree], ["a", "b", "c"])


def written(model: Model, to: str) -> bytes:
    """What is exported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m")
        rerank.export(model, str(path), to)
        return path.read_bytes()


def with_kernel(way: str, *vectors: str) -> bytes:
    """A model of SVM-light-TK of single candidates (S) or pairs (R)."""
    values = ["3", "1", "1", "1", "empty", "0.4", "0.5", "+", "0", "0", "0.4", "3", way, way, "0"]
    lines = ["SVM-light Version V5.01-TK-1.5", "5 # kernel type"]
    for letter, value in zip("dgsruLTCFSMNVWU", values, strict=True):
        lines.append(f"{value}{'' if letter == 'u' else ' '}# kernel parameter -{letter}")
    lines += ["2 # highest feature index", "9 # number of training documents"]
    lines += [f"{len(vectors) + 1} # number of support vectors plus 1"]
    lines += ["0.25 # threshold b, each following line is a SV (starting with alpha*y)", *vectors]
    return "\n".join([*lines, ""]).encode()


def ubjson(value: Any) -> bytes:
    """UBJSON of plain values, numbers as XGBoost writes them: typed arrays."""
    if isinstance(value, dict):
        inner = [_text(key) + ubjson(one) for key, one in value.items()]
        return b"{" + b"".join(inner) + b"}"
    if isinstance(value, list):
        if value and all(isinstance(one, float) for one in value):
            return b"[$d#L" + struct.pack(">q", len(value)) + struct.pack(f">{len(value)}f", *value)
        if value and all(type(one) is int for one in value):
            return b"[$l#L" + struct.pack(">q", len(value)) + struct.pack(f">{len(value)}i", *value)
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"S" + _text(value)
    return b"D" + struct.pack(">d", value) if isinstance(value, float) else b"L" + struct.pack(">q", value)


def _text(text: str) -> bytes:
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


def dumped(content: bytes) -> bytes:
    """The trees of an exported body for Elasticsearch, which are those of XGBoost's dump."""
    found: str = json.loads(content)["model"]["model"]["definition"]
    return found.encode()


def catboost() -> bytes:
    """Oblivious trees."""
    floats = [
        {"flat_feature_index": j, "feature_index": j, "feature_id": name, "nan_value_treatment": "AsFalse"}
        for j, name in enumerate("abc")
    ]
    splits = [
        {"border": b, "float_feature_index": j, "split_type": "FloatFeature"}
        for j, b in ((0, 0.5), (2, -1.0))
    ]
    content = {
        "features_info": {"float_features": floats},
        "oblivious_trees": [{"leaf_values": [1.0, 2.0, 3.0, -4.0], "splits": splits}],
        "scale_and_bias": [1.0, [0.5]],
    }
    return json.dumps(content).encode()


def arrays(**given: Any) -> bytes:
    """An .npz file."""
    out = io.BytesIO()
    np.savez(out, **given)
    return out.getvalue()


def import_seeds() -> dict[str, list[bytes]]:
    """Files by format."""
    trees, linear = grown(), LinearModel(["1", "2", "3"], np.array([0.5, -2.0, 1e-3]))
    xgboost = written(trees, "xgboost")
    found = {
        "json": [written(trees, "json"), written(linear, "json")],
        "lightgbm": [written(trees, "lightgbm")],
        "xgboost": [xgboost, ubjson(json.loads(xgboost)), dumped(written(trees, "elasticsearch"))],
        "catboost": [catboost()],
        "ranklib": [
            written(trees, "ranklib"),
            written(linear, "ranklib"),
            b"## RankBoost\n\n1:1.0:0.5 2:2.0:0.25\n",
            b"## Linear Regression\n0:1.5 2:0.5\n",
        ],
        "svm-rank": [SVM],
        "libsvm": [LINEAR, VECTORS],
        "svmtk": [with_kernel("S", "0.5  |BT| (S (A (a)) (B (b))) |ET| 1:1 2:-2  |EV| ")],
        "svmtk-pairs": [with_kernel("R", "1  |BT| (A (a)) |BT| (B (b)) |ET| 1:1  |BV| 2:1e-3  |EV| ")],
        "sklearn": [
            arrays(coef=np.array([0.5, 1.0]), mean=np.zeros(2), scale=np.array([1.0, 2.0])),
            arrays(
                offsets=np.array([0, 3]),
                feature=np.array([1, 0, 0]),
                threshold=np.array([0.5, 0.0, 0.0]),
                left=np.array([1, -1, -1]),
                right=np.array([2, -1, -1]),
                value=np.array([0.0, 1.0, -1.0]),
                missing_left=np.array([1, 0, 0]),
                constant=np.array([0.5]),
                single=np.array([1]),
                n_features=np.array([2]),
            ),
        ],
    }
    assert {*found, *WEIGHTS.names()} == set(readers()), "tests/fuzz/imports.py has no input for a format"
    return found
