"""Models that are sums of regression trees, as LightGBM grows them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model, heaviest_first
from rerank.models.lightgbm_parser import Tree, TreeText, read_trees
from rerank.native.models import _trees


@MODELS.register("trees")
class TreeModel(Model):
    """score(x) = the sum over trees of the leaf that x reaches, added in the order of the trees.

    The file holds LightGBM's text of the trees, which it can read itself (``text``); scores need no LightGBM
    and have the same bits as its raw predictions. Missing values are treated as it does: they go where the
    split's training put them, and where training had none, they count as 0.

    Parameters
    ----------
    feature_names
        The model's columns.
    trees
        LightGBM's text and what was read from it.
    """

    kind = "trees"

    def __init__(self, feature_names: list[str], trees: TreeText) -> None:
        super().__init__(feature_names)
        self._trees = trees

    @classmethod
    def from_text(cls, feature_names: list[str], text: bytes) -> Self:
        """Return the model of what LightGBM's ``model_to_string()`` gives, with our names of its features.

        Raises DataError if it is not such a text, or has what is not supported: several classes, categorical
        splits, linear leaves, averaged trees.
        """
        return cls(feature_names, read_trees(text, len(feature_names)))

    @property
    def text(self) -> bytes:
        """LightGBM's text up to the end of the trees, without the list of its parameters."""
        return self._trees.text

    @property
    def trees(self) -> list[Tree]:
        """Return the trees of the text."""
        return self._trees.trees

    @property
    def n_rounds(self) -> int:
        """The number of trees."""
        return len(self.trees)

    def prefix(self, n: int) -> TreeModel:
        """Return the model of the first ``n`` trees, with the same steps, margin and base weight."""
        if not 0 <= n <= self.n_rounds:
            raise DataError(f"found {n}, expected a number of rounds from 0 to {self.n_rounds}")
        other = type(self)(self.feature_names, self._trees.prefix(n))
        other.chain, other.keep_margin, other.base_weight = self.chain, self.keep_margin, self.base_weight
        other.training = self.training
        return other

    @cached_property
    def _packed(self) -> PackedTrees:
        return PackedTrees(self.trees)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        scores, unknown = self._packed.scores(lists.features)
        if unknown >= 0:
            name = self.feature_names[unknown]
            text = (
                f"feature {name!r} is missing (NaN) in some items, but never was in training: it counts as 0"
            )
            warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=2)
        return scores

    def arrays(self) -> Arrays:
        return {"text": np.frombuffer(self.text, dtype=np.uint8)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"text": ArrayForm("|u1", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls.from_text(feature_names, arrays["text"].tobytes())

    def shares(self) -> dict[str, Floats]:
        """Return each feature's share of the ``gain`` of all splits and of their number (``splits``).

        float64 (n_features) each; all 0 without a split.
        """
        n, trees = len(self.feature_names), self.trees
        feature = np.concatenate([np.empty(0, dtype=np.int64), *(tree.feature for tree in trees)])
        gain = np.concatenate([np.empty(0), *(tree.gain for tree in trees)])
        sums: dict[str, Floats] = {
            "gain": np.bincount(feature, np.maximum(gain, 0.0), minlength=n).astype(np.float64),
            "splits": np.bincount(feature, minlength=n).astype(np.float64),
        }
        return {name: values / (values.sum() or 1.0) for name, values in sums.items()}

    def explain(self) -> list[tuple[str, float]]:
        """Return each feature's share of the gain of all splits, the largest first."""
        return heaviest_first(self.feature_names, self.shares()["gain"])

    def remarks(self) -> dict[str, str]:
        shares = self.shares()["splits"].tolist()
        return {
            name: f"{share:.1%} of the splits" for name, share in zip(self.feature_names, shares, strict=True)
        }

    def n_weighted(self) -> int:
        return int(np.count_nonzero(self.shares()["splits"]))


class PackedTrees:
    """Trees as the kernel walks them.

    - ``trees``: what is summed; may be empty.
    """

    def __init__(self, trees: list[Tree]) -> None:
        self._trees = trees
        splits = offsets_of(np.array([len(tree.feature) for tree in trees], dtype=np.int64))
        leaves = offsets_of(np.array([len(tree.leaf) for tree in trees], dtype=np.int64))

        def joined(parts: list[Any], dtype: type) -> Any:
            return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype)

        def links(side: str) -> Index:
            found = [
                np.where(child >= 0, child + split, child - leaf)
                for tree, split, leaf in zip(trees, splits, leaves, strict=False)
                for child in [getattr(tree, side).astype(np.int64)]
            ]
            return joined(found, np.int64)

        root = [
            split if len(tree.feature) else -1 - leaf
            for tree, split, leaf in zip(trees, splits, leaves, strict=False)
        ]
        feature = joined([tree.feature for tree in trees], np.int32)
        self.used, place = np.unique(feature, return_inverse=True)
        self._native = _trees.Trees(
            self.used.astype(np.int32),
            place.astype(np.int32),
            joined([tree.threshold for tree in trees], np.float64),
            joined([tree.kind for tree in trees], np.int32),
            np.stack([links("left"), links("right")]).astype(np.int32),
            joined([tree.leaf for tree in trees], np.float64),
            np.array(root, dtype=np.int32),
        )

    def __reduce__(self) -> tuple[type[PackedTrees], tuple[list[Tree]]]:
        return PackedTrees, (self._trees,)

    def scores(self, features: Features) -> tuple[Floats, int]:
        """Return the sums (n_items), and a feature that is NaN but never was in training (or -1)."""
        out = np.zeros(features.n_items)
        place = np.full(features.n_features, -1, dtype=np.int32)
        place[self.used] = np.arange(len(self.used), dtype=np.int32)
        found = _trees.scores(features.matrix(), self._native, place, out)
        return out, int(self.used[found]) if found >= 0 else -1
