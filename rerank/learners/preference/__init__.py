"""Preference SVM: a large margin between the items of each pair, under any kernel on items."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, Pairs
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights, weighted_pairs
from rerank.learners.preference.fits import Fits, Fitted, ItemPairs, learnt_scale
from rerank.learners.ranksvm import PairChoice, balance_setting, pairs_setting, tolerance_setting
from rerank.learners.regularization_path import path, require_dev, watched
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.preference import PreferenceModel, equal_items, tree_names
from rerank.models.training import DataRecord, MinimumRecord
from rerank.similarity.expression import ItemKernel

STEPS = tuple(10.0 ** (k / 2) for k in range(-4, 7))  # 0.01 to 1,000, two for each factor of ten
_FOLDS = 5


@LEARNERS.register("preference-svm")
class PreferenceSVM(Learner):
    """|w|² / 2 + C * the sum over pairs of v * max(0, 1 - w·(phi(x) - phi(x'))) is minimised.

    A pair is two items of one list, x with the larger label; phi is the map of the kernel. Two pairs have the
    kernel K(x, z) + K(x', z') - K(x, z') - K(x', z). There is no threshold: a pair and its mirror image are
    one fact, and a constant would be the same for both. The model needs one row of the kernel for each item
    that it scores.

    With list_balance=false every v is 1, and C is that of SVM-light. With list_balance=true every list
    counts as much as another, and the mean of v is 1. List weights multiply v, whose mean remains 1. Thus C
    times the number of pairs is the C of ranksvm with loss=l1. C=auto is 1 / (the mean over pairs of
    |phi(x) - phi(x')|)², SVM-light's choice. C=dev tries 0.01, 0.0316, 0.1, ..., 1000 times that, each from
    the solution of the one before, until three are worse on the dev lists, and keeps the best; on ties the
    first wins. The curve has a row for each.

    Pairs of equal items are left out and counted: their loss is 1 under any weights. Equal items of several
    lists are one in the model. The minimum is known to ``tolerance``, by the dual problem.

    probability=true learns a scale s for probabilities of being a list's best item, the softmax of s * score:
    the one of the largest likelihood, by scores of models of the other folds. If several items share the top
    label, any of them counts as the best.

    References
    ----------
    Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression. Advances in Large
    Margin Classifiers, 2000.
    Shen, Joshi: An SVM based voting algorithm with application to parse reranking. CoNLL 2003.
    Severyn, Moschitti: Structural relationships for large-scale learning of answer re-ranking. SIGIR 2012.
    """

    name = "preference-svm"
    summary = "SVM of preferences between items, under kernels of trees and vectors"
    source = "Shen & Joshi 2003; Severyn & Moschitti 2012"
    accepts_trees = True
    accepts_list_weights = True

    kernel: str = setting(
        "auto",
        "expression such as ptk(question) + ptk(passage) + linear; auto = ptk of each kind of trees, and "
        "linear if there are features",
    )
    C: float | Literal["auto", "dev"] = setting(
        "auto",
        "weight of the loss of a pair; auto = 1 / (mean norm of pairs)^2, dev = the best of 11 from 0.01 to "
        "1000 times that on the development lists",
    )
    pairs: PairChoice = pairs_setting()
    list_balance: bool = balance_setting()
    tolerance: float = tolerance_setting()
    iterations: int = setting(20_000, "maximum number of working sets per minimum", ge=1)
    cache: int = setting(
        1000, "megabytes for rows of the kernel; those that do not fit are computed again", ge=1
    )
    probability: bool = setting(False, "learn probabilities of being the best item of a list")
    probability_folds: int = setting(_FOLDS, "probability=true: number of cross-validation folds", ge=2)

    def check_values(self) -> None:
        if self.kernel != "auto":
            ItemKernel.parse(self.kernel)
        if not isinstance(self.C, str) and not 0 < self.C < np.inf:
            raise ConfigError(f"C: found {self.C:g}, expected more than 0, auto or dev")
        if self.probability_folds != _FOLDS and not self.probability:
            found = f"probability_folds={self.probability_folds}"
            raise ConfigError(f"{found}: not used without probability=true")

    @property
    def chooses_on_dev(self) -> bool:
        return self.C == "dev"

    @property
    def takes_base_scale(self) -> bool:
        return False  # a model of kernels has no weight of the base score

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.C == "dev":
            require_dev(self.name, "C", inputs)
        pairs, weight = weighted_pairs(lists, inputs.list_weights, PairRelation(self.pairs))
        n_skipped = pairs.n_skipped
        pairs = pairs.subset(np.flatnonzero(weight))
        list_weights = checked_list_weights(inputs.list_weights, lists)
        kernel = ItemKernel.default(lists) if self.kernel == "auto" else ItemKernel.parse(self.kernel)
        kernel = kernel.resolved(lists)
        fits = self._fits(lists, inputs, kernel, pairs, list_weights)
        watch = Rounds(lists, inputs, "best" if self.C == "dev" else "last")
        found = self._found(fits, watch)
        rows = fits.pairs.firsts[found.solution.beta != 0.0]
        model = PreferenceModel.of_items(kernel, lists, rows, found.solution.beta[found.solution.beta != 0.0])
        model.curve = watch.curve
        self._record(model, fits, found, inputs)
        model.training.data = DataRecord(pairs=pairs.n_pairs, lists_without_pair=n_skipped)
        self._report(fits, found)
        if self.probability:
            self._learn_scale(model, fits, pairs, list_weights, found.strength)
        return model

    def _fits(
        self, lists: CandidateLists, inputs: FitInputs, kernel: ItemKernel, pairs: Pairs, list_weights: Floats
    ) -> Fits:
        """The problem of these pairs; raises FitError if all are pairs of equal items."""
        codes = equal_items(lists, tree_names(kernel), features=kernel.compares("features"))
        items = ItemPairs.of(lists, pairs, codes, list_weights, balance=self.list_balance)
        if not len(items.better):
            raise FitError(f"{lists.source}: the items of every pair are equal, nothing tells them apart")
        others = [] if inputs.dev is None else [inputs.dev[0]]
        sets = kernel.prepare(lists, *others)
        room, stop = 1e6 * self.cache, (self.tolerance, self.iterations)
        return Fits(lists, items, sets, others, room, stop)

    def _found(self, fits: Fits, watch: Rounds) -> Fitted:
        """The minimum that becomes the model."""
        if not isinstance(self.C, str):
            return fits.minimum(self.C)
        norm = fits.mean_norm()
        with np.errstate(over="ignore", divide="ignore"):
            auto = float(np.float64(1.0) / norm / norm) if norm > 0.0 else 1.0
        if not 0.0 < auto < np.inf:
            raise FitError(f"{fits.lists.source}: the mean norm of pairs is {norm:g}; scale the features")
        if self.C == "auto":
            return fits.minimum(auto)
        steps = path([auto * step for step in STEPS], fits.minimum)
        return watched(steps, watch, on_dev=True, scores=fits.scores)

    def _record(self, model: PreferenceModel, fits: Fits, found: Fitted, inputs: FitInputs) -> None:
        """Record the minimum, and what it is of."""
        judge, dev, solution = inputs.judge, inputs.dev, found.solution
        model.training.rounds = MinimumRecord(
            iterations=fits.iterations,
            loss=solution.loss / found.strength / float(fits.pairs.weight.sum()),
            C=found.strength,
            support=len(model.coefficients),
            train=None if judge is None else value_of(judge, fits.scores(found, fits.lists)),
            dev=None if dev is None else value_of(dev[1], fits.scores(found, dev[0])),
        )
        model.training.notes = {
            "support_pairs": solution.n_pairs,
            "pairs_of_equal_items": fits.pairs.n_equal,
            "objective": solution.objective,
            "gap": solution.gap,
        }

    def _report(self, fits: Fits, found: Fitted) -> None:
        """Warn if nothing was learnt, or the minimum was not reached."""
        solution, source = found.solution, fits.lists.source
        if not solution.converged:
            share = solution.gap / solution.objective
            text = f"{source}: preference-svm stopped after {count(solution.iterations, 'working set')}"
            text += f", up to {share:.2%} of the objective above the minimum"
            warnings.warn(text, DataNote, stacklevel=4)
        elif not solution.beta.any():
            warnings.warn(f"{source}: preference-svm learnt nothing", DataNote, stacklevel=4)

    def _learn_scale(
        self, model: PreferenceModel, fits: Fits, pairs: Pairs, list_weights: Floats, strength: float
    ) -> None:
        """Learn the scale of probabilities; warn if it has no meaning."""
        found = learnt_scale(fits, pairs, list_weights, strength, self.probability_folds)
        model.scale = found.scale
        model.training.notes = {**model.training.notes, "probability_loss": found.loss}
        text = ""
        if found.at_end:
            text = "lists of other folds are ranked without error, so that probabilities are 0 and 1"
        elif found.scale == 0.0:
            text = "scores of other folds do not show which item is best, so that probabilities are equal"
        if text:
            warnings.warn(f"{fits.lists.source}: preference-svm: {text}", DataNote, stacklevel=4)
