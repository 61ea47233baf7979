"""ListNet: the top-one probabilities of a list's labels and scores."""

from __future__ import annotations

from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.loglinear.likelihood import LogLoss
from rerank.learners.loglinear.targets import target_lists
from rerank.learners.penalised import Convex, Penalised
from rerank.models.training import DataRecord


@LEARNERS.register("listnet")
class ListNet(Penalised):
    """Cross-entropy of two distributions over the items of each list: exp(label) and exp(w·x), normalised.

    These are the probabilities that an item is placed first (Cao et al.). The sum over lists plus penalty *
    |w|² is minimised; it is convex for a linear model. It is ``loglinear`` with targets=soft and a Gaussian
    prior, except for the sharpness: 1 as in the paper, so that the labels 2 and 0 share the probability 88 to
    12, where loglinear takes 50 / the range of the labels, which makes the best items nearly certain. Lists
    without two different labels are left out, as in loglinear; the paper would draw their scores together.
    List weights multiply the losses of their lists. Unjudged items are left out.

    References
    ----------
    Cao, Qin, Liu, Tsai, Li: Learning to rank: from pairwise approach to listwise approach. ICML 2007.
    """

    name = "listnet"
    summary = "cross-entropy of the softmax of the labels and that of the scores, list by list"
    source = "Cao et al. 2007"

    sharpness: float = setting(1.0, "the targets are proportional to exp(sharpness * label)", gt=0)

    def _convex(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
        chosen = target_lists(lists, "soft", self.sharpness, inputs.list_weights)
        n = len(chosen.weight)
        data = DataRecord(judged=len(chosen.items), lists_without_pair=lists.n_lists - n)
        return Convex(LogLoss(lists.features, chosen), float(chosen.weight.sum()), data)
