"""Feature generation and importance weighting together (Duh 2009, section 6.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import LEARNERS
from rerank.transductive.base import Adapted, Adapter
from rerank.transductive.basis import Basis
from rerank.transductive.generation.fg import generated_share
from rerank.transductive.generation.model import GeneratedModel
from rerank.transductive.generation.projection import KernelFeatures, Projection
from rerank.transductive.importance_weighting import Weighted, training_pairs, weighted_fit
from rerank.transductive.space import Points
from rerank.transductive.weighting.pairs import Space, Weighed

SpaceName = Literal["generated", "augmented", "original"]
_FIGURES = ("components", "generated_share")


@LEARNERS.register("fg-iw")
class GeneratedWeighting(KernelFeatures, Weighted):
    """RankBoost on original and generated features, with the labelled pairs weighted for each list.

    Kernel PCA of a list's items generates features, as in ``fg``; KLIEP weights the labelled pairs, as in
    ``iw``, by differences of the generated features, which describe the list. Beside these the original ones
    add distance in directions in which the list does not vary.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 6.
    """

    name = "fg-iw"
    summary = "features by kernel PCA of each list, and labelled pairs weighted for it"
    source = "Duh 2009, section 6.2"

    space: SpaceName = setting(
        "generated", "features whose differences give the weights: generated, original, or augmented = both"
    )

    def adapter(self, lists: CandidateLists) -> Adapter:
        return _GeneratedWeighting(self, Basis(self.base_learner, lists))


class _GeneratedWeighting(Adapter):
    """The labelled items and pairs in the original space, and what fits of RankBoost share."""

    def __init__(self, method: GeneratedWeighting, basis: Basis) -> None:
        self.method, self.basis, self.points = method, basis, Points(basis.lists)
        self.kernels = KernelFeatures(**{name: getattr(method, name) for name in KernelFeatures.settings})
        self.original = None if method.space == "generated" else training_pairs(basis, self.points)

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return RankBoost's model of all features of the labelled items, their pairs weighted for a list."""
        own, lists = Points(one), self.basis.lists
        projection = Projection(self.kernels, own)
        components = float(sum(projection.counts.values()))
        figures = {"components": components, "generated_share": np.nan}
        if components == 0:
            found = Weighed.unknown("one item" if one.n_items == 1 else "no component")
            return Adapted(None, found.reason, figures | found.figures)
        columns = projection.columns(self.points)
        found = self._weighed(columns, projection.columns(own), own, one.labels, rng)
        if found.weights is None:
            return Adapted(None, found.reason, figures | found.figures)
        names = self.kernels.generated_names()
        inner = weighted_fit(self.method, self.basis, found.weights, columns, names)
        wide = lists.with_added(dict(zip(names, columns.T, strict=True)))
        figures |= found.figures | {
            "generated_share": generated_share(inner, names, wide),
            "train_accuracy": self.basis.accuracy(inner.score_prepared(wide)),
        }
        return Adapted(GeneratedModel(lists.names(), self.kernels, inner, one, projection), "", figures)

    def _weighed(
        self, columns: Floats, of_list: Floats, own: Points, labels: Floats | None, rng: np.random.Generator
    ) -> Weighed:
        """The weights in the space that the method names; generated features are (n_items, n_columns)."""
        spaces: list[Space] = []
        training = self.original
        if self.method.space != "original":
            labelled = Points(CandidateLists(self.basis.lists.offsets, Dense(columns)))
            spaces.append((labelled, Points(CandidateLists(np.array([0, own.n]), Dense(of_list)))))
            generated = training_pairs(self.basis, labelled)
            training = generated if training is None else training + generated
        if self.original is not None:
            spaces.append((self.points, own))
        assert training is not None
        return self.method.weigh(training, spaces, labels, rng)
