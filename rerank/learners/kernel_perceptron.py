"""The perceptron in its dual form, under any kernel of items, with a budget (Collins & Duffy 2002)."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, MarginName, PairRelation, Pairs, RelationName
from rerank.learners.base import LEARNERS, FitInputs, Learner, weighted_pairs
from rerank.learners.perceptron import Perceptron
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds, visit_orders
from rerank.models.base import Model
from rerank.models.linear import Votes
from rerank.models.preference import PreferenceModel
from rerank.models.training import DataRecord
from rerank.models.voted_preference import VotedPreferenceModel
from rerank.native.learners._violations import ListPairs
from rerank.similarity.expression import ItemKernel, Items
from rerank.similarity.item_sums import item_sums


def _of_perceptron(name: str, **changes: Any) -> Any:
    """A setting that is the perceptron's, with another default or help."""
    field = copy.copy(Perceptron.settings[name])
    field.limits = dict(field.limits)
    vars(field).update(changes)
    return field


@LEARNERS.register("kernel-perceptron")
class KernelPerceptron(Learner):
    """Perceptron over pairs of items, for kernels of trees and vectors.

    A pair of items of ranks p < q in the relation T(p, q) is violated if f(x) - f(x') <= g(p, q) * tau, where
    f(x) = sum over support items of their coefficient times K(x, support item). After each list the
    coefficients of its items change: u of ``perceptron`` with algorithm=2 is added, or with rivals=top, as
    in Collins & Duffy (2002), 1 to the better item of the worst violated pair and -1 to the other one. With
    the kernel ``linear`` it makes the decisions of ``perceptron``.

    The scores of all lists are kept, and an update adds one sum of kernels to them. A tree kernel that stands
    alone in its term is computed once for the subtrees of all items of the update together. An update thus
    costs about one row of the kernel, and an epoch with few mistakes little, however many support items
    there are.

    The log probability of a first stage is a term of the kernel, as in ``sst(decay=0.3) +
    0.1 * linear(logprob)``: its factor is the square of Collins & Duffy's weight of that feature.

    ``budget`` bounds the support items: after an update that has too many, items leave until there are as
    many. What left is also left out of the mean of the coefficients. Equal items of different lists are
    support items of their own.

    The weight of a list multiplies its updates. A list of weight 0 is not visited, as if it were absent.

    References
    ----------
    Collins, Duffy: New ranking algorithms for parsing and tagging: kernels over discrete structures, and the
    voted perceptron. ACL 2002.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (relations and margins).
    Dekel, Shalev-Shwartz, Singer: The Forgetron: a kernel-based perceptron on a budget. SIAM J. Computing 37,
    2008 (``oldest``, here without shrinking). Orabona, Keshet, Caputo: Bounded kernel-based online learning.
    JMLR 10, 2009 (``merge``, here on one item).
    """

    name = "kernel-perceptron"
    summary = "perceptron in its dual form, under kernels of trees and vectors"
    source = "Collins & Duffy 2002"
    iterates = "epochs"
    accepts_trees = True
    accepts_list_weights = True

    kernel: str = setting(
        "auto",
        "expression such as sst(decay=0.3) + 0.1 * linear(logprob); auto = ptk of each kind of trees, and "
        "linear if there are features",
    )
    pairs: RelationName = _of_perceptron("pairs", default="best-rest")
    split_top: int | Literal["best"] = _of_perceptron("split_top")
    split_bottom: int | None = _of_perceptron("split_bottom")
    ordinal_factor: float = _of_perceptron("ordinal_factor")
    ordinal_gap: float = _of_perceptron("ordinal_gap")
    label_gap: float = _of_perceptron("label_gap")
    margin: MarginName = _of_perceptron("margin")
    margin_power: float = _of_perceptron("margin_power")
    tau: float = _of_perceptron("tau", help="learning margin, in units of the kernel")
    rivals: Literal["all", "top"] = _of_perceptron("rivals", default="top")
    epochs: int = _of_perceptron("epochs", default=5)
    average: Literal["last", "average", "voted"] = _of_perceptron(
        "average",
        help="the last coefficients, their mean over all visits, or a vote of those after each list",
    )
    budget: int | None = setting(None, "largest number of support items; none = any number", ge=2)
    budget_rule: Literal["oldest", "smallest", "merge"] = setting(
        "smallest",
        "which item leaves: the one that came first, or the one with the smallest coefficient, which may be "
        "added to the most similar item, times the projection on it (merge)",
    )
    keep: Keep = setting("last", KEEP_HELP)
    shuffle: bool = _of_perceptron("shuffle")
    seed: int = _of_perceptron("seed")

    def check_values(self) -> None:
        self.relation, self.margin_function  # noqa: B018 (they check their own ranges)
        if self.kernel != "auto":
            ItemKernel.parse(self.kernel)
        if self.budget is None and self.budget_rule != "smallest":
            raise ConfigError(f"budget_rule={self.budget_rule}: not used without a budget")
        if self.budget is not None and self.average == "voted":
            raise ConfigError("average=voted: every version votes, which needs all support items: no budget")

    @property
    def draws(self) -> bool:
        return self.shuffle

    @property
    def takes_base_scale(self) -> bool:
        return False  # a model of kernels has no weight of the base score

    @functools.cached_property
    def relation(self) -> PairRelation:
        """The relation T(p, q) of these settings."""
        return PairRelation(*(getattr(self, name) for name in PairRelation.__struct_fields__))

    @functools.cached_property
    def margin_function(self) -> Margin:
        """The margin g(p, q) of these settings."""
        return Margin(self.margin, self.margin_power)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        given = lists, inputs.list_weights, self.relation, self.margin_function
        pairs, factors = weighted_pairs(*given, f"a pair under pairs={self.pairs}")
        n_skipped = pairs.n_skipped
        if not factors.all():
            pairs, factors = pairs.subset(np.flatnonzero(factors)), factors[factors > 0]
        kernel = ItemKernel.default(lists) if self.kernel == "auto" else ItemKernel.parse(self.kernel)
        kernel = kernel.resolved(lists)
        watch = Rounds(lists, inputs, self.keep)
        watched = [lists, *(some[0] for some in (inputs.dev, inputs.observer) if some is not None)]
        state = _State(self, kernel, list({id(some): some for some in watched}.values()))
        violations = self._violations(pairs)
        for visits in watch.each(
            visit_orders(pairs.n_lists, self.epochs, self.shuffle, self.seed), self.epochs, unit="epoch"
        ):
            updates = violated = 0
            for i in visits.tolist():
                rows = pairs.items[pairs.offsets[i] : pairs.offsets[i + 1]]
                u = np.empty(len(rows))
                here = violations.updates(state.scores_of(rows), u, i)
                state.visit(rows, factors[i] * u if here else None)
                updates += here > 0
                violated += here
            watch.record(
                state.reached(), state.scores, updates=updates, violated=violated, support=len(state.support)
            )
            if updates == 0:
                break
        reached, rounds = watch.kept(state.reached(), converged=watch.settled)
        model = state.model(lists, reached)
        model.curve = watch.curve
        model.training.rounds = rounds
        model.training.data = DataRecord(pairs=pairs.n_pairs, lists_without_pair=n_skipped)
        return model

    def _violations(self, pairs: Pairs) -> ListPairs:
        """Return the object that finds the violated pairs of a list, and their updates."""
        given = pairs.offsets, pairs.items, pairs.start, pairs.stop, pairs.h, pairs.c
        found = ListPairs(*given, self.tau, self.margin == "even")
        if self.rivals == "top":
            found.only_top(False, self.margin != "even")
        return found


class _Set:
    """Lists with their scores now, and what the mean of the scores over all visits needs."""

    def __init__(self, lists: CandidateLists, items: Items, voted: bool) -> None:
        self.items = items
        self.scores, self.drift = np.zeros(items.n), np.zeros(items.n)
        self.votes = Votes(lists) if voted else None


class _State:
    """Coefficients of the training items, and the scores of some sets of lists, the first for training."""

    def __init__(
        self, learner: KernelPerceptron, kernel: ItemKernel, watched: Sequence[CandidateLists]
    ) -> None:
        self.learner, self.kernel, self.source = learner, kernel, watched[0].source
        self.voted = learner.average == "voted"
        prepared = zip(watched, kernel.prepare(*watched), strict=True)
        self.sets = {id(some): _Set(some, items, self.voted) for some, items in prepared}
        self.training = next(iter(self.sets.values()))
        self.values, self.drift = np.zeros(self.training.items.n), np.zeros(self.training.items.n)
        self.visits = 0
        self.support: dict[int, None] = {}  # in the order in which they came
        self.changes: list[tuple[Index, Floats]] = []  # of each version that votes
        self.survived: list[float] = []

    @functools.cached_property
    def diagonal(self) -> Floats:
        """K(x, x) of the training items."""
        return self.training.items.diagonal()

    def scores_of(self, rows: Index) -> Floats:
        """Return the scores now of some training items."""
        return self.training.scores[rows]

    def visit(self, rows: Index, u: Floats | None) -> None:
        """Add ``u`` to the coefficients of ``rows``, the items of a list; None = the list has no mistake."""
        if u is not None and u.any():
            if self.survived:
                self._vote()
            changed = np.flatnonzero(u)
            self._add(rows[changed], u[changed])
            self.support |= dict.fromkeys(np.sort(rows[changed]).tolist())
            while self.learner.budget is not None and len(self.support) > self.learner.budget:
                self._remove()
            if self.voted:
                self.changes.append((rows[changed], u[changed]))
                self.survived.append(0.0)
        if self.survived:
            self.survived[-1] += 1.0
        self.visits += 1

    def _add(self, rows: Index, u: Floats) -> None:
        self.values[rows] += u
        self.drift[rows] += self.visits * u
        for some in self.sets.values():
            change = item_sums(self.training.items, rows, u, some.items)
            some.scores += change
            some.drift += self.visits * change
            if not np.isfinite(some.scores).all():
                raise FitError(f"{self.source}: the scores overflow; normalise or scale the kernel")

    def _remove(self) -> None:
        """Remove a support item; with budget_rule=merge the most similar one gets its projection."""
        support = np.fromiter(self.support, np.int64)
        at = 0 if self.learner.budget_rule == "oldest" else int(np.argmin(np.abs(self.values[support])))
        row, others = support[at], np.delete(support, at)
        del self.support[int(row)]
        rows, factors = np.array([row]), np.array([-1.0])
        if self.learner.budget_rule == "merge":
            alike = item_sums(self.training.items, rows, np.ones(1), self.training.items.take(others))
            roots = np.sqrt(self.diagonal[others])
            near = int(np.argmax(np.divide(np.abs(alike), roots, out=np.zeros(len(alike)), where=roots > 0)))
            if alike[near] != 0.0 and roots[near] > 0.0:
                rows = np.array([row, others[near]])
                factors = np.array([-1.0, alike[near] / self.diagonal[others[near]]])
        value, drift = self.values[row], self.drift[row]
        for some in self.sets.values():
            change = item_sums(self.training.items, rows, factors, some.items)
            some.scores += value * change
            some.drift += drift * change
        self.values[rows] += value * factors
        self.drift[rows] += drift * factors

    def _vote(self) -> None:
        """Count the votes of the version that ends."""
        for some in self.sets.values():
            assert some.votes is not None
            some.votes.add(some.scores, self.survived[-1])

    def reached(self) -> Any:
        """Return what becomes the model: coefficients (n_items), or the number of versions and visits."""
        if self.voted:
            return len(self.survived), self.survived[-1] if self.survived else 0.0
        if self.learner.average == "last" or not self.visits:
            return self.values.copy()
        return self.values - self.drift / self.visits

    def scores(self, reached: Any, lists: CandidateLists) -> Floats:
        """Return the scores (n_items) of watched lists by what is reached now."""
        some = self.sets[id(lists)]
        if some.votes is not None:
            votes = some.votes.copy()
            if self.survived:
                votes.add(some.scores, self.survived[-1])
            return votes.scores()
        if self.learner.average == "last" or not self.visits:
            return some.scores.copy()
        return some.scores - some.drift / self.visits

    def model(self, lists: CandidateLists, reached: Any) -> Model:
        """Return the model of what was reached."""
        if not self.voted:
            rows = np.flatnonzero(reached)
            return PreferenceModel.of_items(self.kernel, lists, rows, reached[rows])
        n, last = reached
        survived = np.array([*self.survived[:n][:-1], last] if n else [])
        return VotedPreferenceModel.of_changes(self.kernel, lists, self.changes[:n], survived)
