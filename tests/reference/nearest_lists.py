"""A transductive method for tests: the base learner with weights of labelled lists by nearness."""

import warnings
from typing import Literal

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.extensions.transductive.base import Adapted, Adapter, Transductive


def means(lists):
    """The mean features of each list, NaN as 0."""
    values = np.nan_to_num(np.asarray(lists.features.to_dense(), dtype=float))
    return np.add.reduceat(values, lists.offsets[:-1]) / lists.lengths[:, None]


class NearestLists(Transductive):
    """Fit the base learner with lists weighted by exp(-width * squared distance of mean features)."""

    name = "nearest-lists"
    summary = "the base learner with near lists weighted"

    width: float = setting(1.0, "how fast weights fall", ge=0)
    noise: float = setting(0.0, "random part of weights", ge=0)
    does: Literal["adapts", "warns", "fails", "overflows", "unknown"] = setting("adapts", "what goes wrong")
    oracle: bool = setting(False, "weigh items by their labels")

    @property
    def uses_test_labels(self):
        return self.oracle

    def adapter(self, lists):
        return _Nearest(self, lists)


class _Nearest(Adapter):
    def __init__(self, method, lists):
        self.method, self.lists, self.base = method, lists, method.base_learner
        self.means = means(lists)

    def adapt(self, one, rng):
        assert (one.labels is not None) == self.method.uses_test_labels
        if one.n_items == 1:
            return Adapted(None, "one item", {"largest": np.nan})
        distance = ((self.means - means(one)) ** 2).sum(axis=1)
        weights = np.exp(-self.method.width * distance) + 1e-3
        weights += self.method.noise * rng.random(len(weights))
        if self.method.oracle:
            weights[1:2] *= 1 + float(np.nan_to_num(one.labels) @ np.arange(one.n_items))
        if self.method.does == "warns":
            warnings.warn("a note", DataNote, stacklevel=1)
        if self.method.does == "fails":
            raise FitError("no pair")
        model = self.base.fit(self.lists, list_weights=weights)
        if self.method.does == "overflows":
            model.weights = np.full(one.n_features, 1e308)
        largest = np.nan if self.method.does == "unknown" else float(weights.max())
        return Adapted(model, "", {"largest": largest})
