"""Models of columns that have no names but numbers."""

from __future__ import annotations

import re

import numpy as np

from rerank.data.missing import Imputation
from rerank.data.names import numbered
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.pipeline import Chain
from rerank.models.trees import TreeModel


def without_first(model: Model) -> Model:
    """Return an imported model without its first column, which no score depends on."""
    names = numbered(len(model.feature_names) - 1)
    if isinstance(model, LinearModel):
        other: Model = LinearModel(names, np.ascontiguousarray(model.weights[1:]))
    else:
        assert isinstance(model, TreeModel)
        other = TreeModel.from_text(names, _moved(model.text, len(names)))
    if model.imputation is not None:
        other.chain = Chain((Imputation("nan", len(names), 0),))
    return other


def _moved(text: bytes, n: int) -> bytes:
    """LightGBM's text with every feature one place before."""
    head, *trees = re.split(rb"(?=^Tree=[0-9]+\n)", text, flags=re.MULTILINE)

    def before(line: re.Match[bytes]) -> bytes:
        return b"split_feature=" + b" ".join(b"%d" % (int(token) - 1) for token in line[1].split()) + b"\n"

    trees = [re.sub(rb"^split_feature=(.*)\n", before, tree, flags=re.MULTILINE) for tree in trees]
    end = len(b"end of trees\n")
    sizes = [len(tree) - (end if k == len(trees) else 0) for k, tree in enumerate(trees, 1)]
    for key, value in {
        b"max_feature_idx": b"%d" % (n - 1),
        b"feature_names": b" ".join(b"Column_%d" % j for j in range(n)),
        b"tree_sizes": b" ".join(b"%d" % size for size in sizes),
    }.items():
        line = key + b"=" + value
        head = re.sub(rb"^" + key + rb"=.*$", lambda _, line=line: line, head, flags=re.MULTILINE)
    return head + b"".join(trees)
