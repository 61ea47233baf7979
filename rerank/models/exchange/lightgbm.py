"""LightGBM's text of trees: written for its Booster, and read from it.

Thresholds and leaves are doubles, and missing values have their own way: the scores are the same to the bit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats
from rerank.data.names import numbered
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, STEPS, TREES, ExchangeFormat, ExportOptions, note
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.trees import LEFT, NANS, ZEROS, PortableTree
from rerank.models.lightgbm_parser import END
from rerank.models.trees import TreeModel

_UNFIT = re.compile(r'[\s\[\]{}",:]')


@EXCHANGE.register("lightgbm")
class LightGbm(ExchangeFormat):
    """LightGBM's text."""

    name = "lightgbm"
    summary = "LightGBM's text of trees"
    holds = frozenset({STEPS, TREES})
    writes = True
    reads = True
    columns_from_0 = True
    honours = frozenset({"first_column"})

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content[:13] in (b"tree\nversion=", b"tree\r\nversion")

    @classmethod
    def without_values(cls, content: bytes) -> bool:
        return (
            re.search(rb"^feature_infos=none( |$)", content[: content.find(b"\nTree=")], re.MULTILINE)
            is not None
        )

    def model(self, content: bytes, source: str) -> Model:
        text = content.replace(b"\r\n", b"\n")
        head, gap, rest = text.partition(b"\n\n")
        lines = head.decode("utf-8", "replace").split("\n")
        fields = dict(line.partition("=")[::2] for line in lines)
        if fields.get("version") == "v3":  # 2.3 to 3.1: the same fields, except for linear trees
            lines[lines.index("version=v3")] = "version=v4"
        averaged = "average_output" in lines
        lines = [line for line in lines if line != "average_output"]
        last = fields.get("max_feature_idx", "")
        if not (last.isascii() and last.isdigit() and len(last) < 9):
            raise DataError(f"max_feature_idx is {last[:40] or 'absent'}, expected a number")
        names = fields.get("feature_names", "").split(" ")
        if len(names) != int(last) + 1:
            raise DataError(f"{len(names)} feature_names, but max_feature_idx says {int(last) + 1}")
        if names == [f"Column_{j}" for j in range(len(names))]:
            names = numbered(len(names))
        if len(set(names)) < len(names) or "" in names:
            raise DataError("two features of one name, or a name that is empty")
        # Only trees are parsed as ASCII: names are ours from here on.
        at = next((i for i, line in enumerate(lines) if line.startswith("feature_names=")), None)
        if at is not None:
            lines[at] = "feature_names=" + " ".join(f"Column_{j}" for j in range(len(names)))
        lines = [line for line in lines if not line.startswith(("feature_infos=", "monotone_constraints="))]
        found = TreeModel.from_text(names, "\n".join(lines).encode() + gap + rest)
        return _averaged(found) if averaged else found

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        names = [_UNFIT.sub("_", name) for name in scorer.inputs]
        if names != scorer.inputs:
            note('lightgbm: blanks and []{}",: in names of features are written as _')
        if len(set(names)) < len(names) or "" in names:
            raise ConfigError("lightgbm: two names of features differ in blanks or brackets alone: --names")
        return tree_text(scorer.as_trees(), names)


def _averaged(model: TreeModel) -> TreeModel:
    """The model of a random forest: leaves divided by the number of trees."""
    text = model.text
    n = max(model.n_rounds, 1)

    def divided(line: re.Match[bytes]) -> bytes:
        values = [float(token) / n for token in line[1].split()]
        return b"leaf_value=" + " ".join(map(_number, values)).encode() + b"\n"

    parts = re.split(rb"(?=^Tree=[0-9]+\n)", text, flags=re.MULTILINE)
    parts[1:] = [re.sub(rb"^leaf_value=(.*)\n", divided, part, flags=re.MULTILINE) for part in parts[1:]]
    end = len(END)
    sizes = [len(part) - (end if i == len(parts) - 2 else 0) for i, part in enumerate(parts[1:])]
    line = b"tree_sizes=" + " ".join(map(str, sizes)).encode()
    head = re.sub(rb"^tree_sizes=.*$", lambda _: line, parts[0], flags=re.MULTILINE)
    return TreeModel.from_text(model.feature_names, head + b"".join(parts[1:]))


def tree_text(trees: Sequence[PortableTree], names: Sequence[str], gains: Sequence[Floats] = ()) -> str:
    """Return LightGBM's text of trees.

    - ``trees``: what is summed.
    - ``names``: of the features, without blanks.
    - ``gains``: of the splits of each tree, float64 (n_splits); by default 1 for each.
    """
    parts = []
    for number, tree in enumerate(trees):
        n = len(tree.feature)
        kind = NANS + LEFT * tree.nan_left.astype(np.int64)
        kind = np.where(tree.zero_missing, kind - NANS + ZEROS, kind)
        gain = gains[number] if gains else np.ones(n)
        counts = np.zeros(n + 1, dtype=np.int64)
        fields = {
            "num_leaves": [n + 1],
            "num_cat": [0],
            "split_feature": tree.feature,
            "split_gain": gain,
            "threshold": tree.threshold,
            "decision_type": kind,
            "left_child": tree.left,
            "right_child": tree.right,
            "leaf_value": tree.leaf,
            "leaf_weight": counts,
            "leaf_count": counts,
            "internal_value": counts[:n],
            "internal_weight": counts[:n],
            "internal_count": counts[:n],
            "is_linear": [0],
            "shrinkage": [1],
        }
        lines = [
            f"{key}={' '.join(map(_number, np.asarray(value).tolist()))}" for key, value in fields.items()
        ]
        parts.append("\n".join([f"Tree={number}", *lines, "", "", ""]))
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={len(names) - 1}",
        "objective=lambdarank",
        f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(['[-inf:inf]'] * len(names))}",
        f"tree_sizes={' '.join(str(len(part.encode())) for part in parts)}",
    ]
    return "\n".join([*head, "", "".join(parts) + "end of trees", ""])


def _number(value: float) -> str:
    return repr(value)
