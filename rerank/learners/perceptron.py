"""Perceptrons for ranking and reranking (Shen & Joshi 2005, Algorithms 1 and 2)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from rerank.core import memory
from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.blocks import list_rows
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, MarginName, PairRelation, Pairs, RelationName
from rerank.learners.base import LEARNERS, FitInputs, Learner, weighted_pairs
from rerank.learners.initial import check_start, initial_weights
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds, linear_scores, restore, state_of, visit_orders
from rerank.models.base import Model
from rerank.models.linear import LinearModel, VotedModel, Votes
from rerank.models.training import DataRecord
from rerank.native.data._matrix import Difference, Sum
from rerank.native.learners import _pair_norms, _perceptron, _violations
from rerank.native.learners._weights import Weights

Snapshot = tuple[int, float]
Visit = Callable[[Index], tuple[int, int]]

MAX_BYTES = 1 << 30
_SHUFFLED = 1 << 20  # pairs are shuffled together, at least those of one list


class Ballots:
    """Every weight vector after an update, and the number of visits that it survived.

    The vectors are stored dense. More than 1 GiB of them is a FitError that suggests averaging. Weights
    ``start`` (n_features) at the beginning vote too, unless they are 0.
    """

    def __init__(self, start: Floats) -> None:
        self.n_features = len(start)
        self.vectors: list[Floats] = [start.copy()] if start.any() else []
        self.survived: list[float] = [0.0] * len(self.vectors)
        self._counted: dict[int, tuple[Votes, int]] = {}

    def visit(self, weights: Floats, updated: bool) -> None:
        """Record a visit that left ``weights`` (n_features): a new vector, or one more visit survived."""
        if updated:
            row = self.n_features * 8
            size = (len(self.vectors) + 1) * row
            if size // memory.SMALL > (size - row) // memory.SMALL:  # the next piece, and its copy
                help = "average=average needs one vector"
                memory.require(memory.SMALL + 2 * row, "more voted weights", help)
            if size > MAX_BYTES:
                text = f"voted weights: {len(self.vectors)} vectors of {self.n_features} features fill 1 GiB"
                raise FitError(f"{text}; use average=average, which approximates them (Collins 2002)")
            self.vectors.append(weights.copy())
            self.survived.append(1.0)
        elif self.vectors:
            self.survived[-1] += 1.0

    def snapshot(self) -> Snapshot:
        """Return the current state as a value that later visits do not change."""
        return len(self.vectors), self.survived[-1] if self.survived else 0.0

    def score(self, snapshot: Snapshot, lists: CandidateLists) -> Floats:
        """Return the scores (n_items) of a snapshot, not older than the last one scored here."""
        n, last = snapshot
        votes, counted = self._counted.get(id(lists), (Votes(lists), 0))
        for t in range(counted, n - 1):  # their counts are final
            votes.add(linear_scores(self.vectors[t], lists), self.survived[t])
        self._counted[id(lists)] = votes, max(counted, n - 1)
        if n == 0:
            return votes.scores()
        now = votes.copy()
        now.add(linear_scores(self.vectors[n - 1], lists), last)
        return now.scores()

    def state(self) -> State:
        """Return all vectors and their visits, for a checkpoint."""
        vectors = np.array(self.vectors, dtype=np.float64).reshape(-1, self.n_features)
        return {"vectors": vectors, "survived": np.array(self.survived)}

    def restore(self, state: State) -> None:
        """Go to what ``state`` returned."""
        vectors, survived = state["vectors"], state["survived"]
        copy_into(np.empty((len(survived), self.n_features)), vectors)
        self.vectors, self.survived = list(vectors), survived.tolist()
        self._counted.clear()

    def model(self, feature_names: list[str], snapshot: Snapshot) -> VotedModel:
        """Return the model of a snapshot."""
        n, last = snapshot
        vectors = np.array(self.vectors[:n]).reshape(n, self.n_features)
        survived = np.array(self.survived[:n])
        if n:
            survived[-1] = last
        return VotedModel(feature_names, vectors, survived)


@LEARNERS.register("perceptron")
class Perceptron(Learner):
    """Pairwise perceptron with uneven margins over any relation between ranks.

    A pair of items of ranks p < q in the relation T(p, q) is violated if w·(x - x') <= g(p, q) * tau.
    Algorithm 1 then adds g * (x - x') at once. Algorithm 2 adds the sum of a list's updates after the
    list, which needs no loop over pairs (engine "fast", O(k log k) for k candidates).

    Algorithm 1 goes through the pairs of a list in random order, and averages the weights over all pairs. In
    the order of the labels (pair_order=fixed), with a mean over lists, the last pairs of each list, those of
    items of equally low labels, decide: on graded lists such a model may rank no better than chance.

    The weight of a list multiplies its updates. A list of weight 0 is not visited, as if it were absent.

    References
    ----------
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005.
    """

    name = "perceptron"
    summary = "pairwise perceptron with uneven margins (Algorithms 1 and 2)"
    source = "Shen & Joshi 2005"
    default_scaling = "zscore"
    iterates = "epochs"
    renamed: ClassVar = {"rounds": "epochs"}
    resumable = True
    accepts_initial = True
    accepts_list_weights = True
    overflow_help: ClassVar[str] = "scale the features (--scaling)"

    algorithm: Literal[1, 2] = setting(
        2, "1 updates after each violated pair, 2 after each list; the same thing with rivals=top"
    )
    pair_order: Literal["random", "fixed"] = setting(
        "random",
        "algorithm 1: pairs of a list in random order, averaged after every pair, or as the paper prints it, "
        "by labels and averaged after every list (fixed)",
    )
    pairs: RelationName = setting("ordinal", "relation T: which items must outscore which")
    split_top: int | Literal["best"] = setting("best", "split: ranks up to this one are good")
    split_bottom: int | None = setting(None, "split: ranks from this one on are bad; none = all others")
    ordinal_factor: float = setting(1.0, "ordinal: factor * p < q", ge=1)
    ordinal_gap: float = setting(0.0, "ordinal: p + gap < q", ge=0)
    label_gap: float = setting(0.0, "all: label > other label + gap", ge=0)
    margin: MarginName = setting("even", "g: 1 (even), 1/p - 1/q (uneven), or the difference of the labels")
    margin_power: float = setting(1.0, "uneven: 1/p^a - 1/q^a", gt=0)
    tau: float = setting(0.0, "learning margin", ge=0)
    tau_scale: Literal["absolute", "norm"] = setting(
        "absolute",
        "norm: tau is multiplied by the mean of |x - x'|^2 over all pairs and, if updates are not multiplied "
        "by g, divided by the mean of g",
    )
    rivals: Literal["all", "top"] = setting(
        "all", "update with all violated pairs of a list, or with the one that is worst now (top)"
    )
    target: Literal["first", "highest"] = setting(
        "first",
        "best-rest with rivals=top: the item that must beat the rest is the first of those tied for best, or "
        "the one of them that scores highest now",
    )
    step: Literal["auto", "margin", "one"] = setting(
        "auto", "factor of an update: g (margin) or 1 (one, with rivals=top); auto = one with rivals=top"
    )
    epochs: int = setting(30, "maximum number of epochs; training stops after an epoch without updates", ge=1)
    average: Literal["last", "average", "voted"] = setting(
        "average", "the last weights, their mean over all visits, or a vote of the weights after each list"
    )
    dimension: float = setting(
        0.0,
        "value of an extra dimension for each training item, which makes them separable (Li et al. 2002)",
        ge=0,
    )
    init: Literal["auto", "given", "base", "zero"] = setting(
        "auto",
        "initial weights: given (with --init), base (they reproduce the first stage's scores) or zero; "
        "auto = given, else zero",
    )
    keep: Keep = setting("last", KEEP_HELP)
    engine: Literal["auto", "reference", "fast"] = setting(
        "auto", "loop over pairs (reference), O(k log k) (fast), or the quicker one for each list"
    )
    shuffle: bool = setting(True, "shuffle the lists before each epoch")
    seed: int = setting(1, "random seed of the orders", ge=0)

    def check_values(self) -> None:
        self.relation, self.margin_function  # noqa: B018 (they check their own ranges)
        # Settings that would have no effect with these rivals.
        if self.pair_order == "fixed" and (self.algorithm == 2 or self.rivals == "top"):
            raise ConfigError("pair_order=fixed is for algorithm=1 with rivals=all")
        if self.rivals == "top":
            if self.engine != "auto":
                raise ConfigError(f"engine={self.engine} is for rivals=all: rivals=top has one engine")
            if self.target == "highest" and self.pairs != "best-rest":
                raise ConfigError(f"target=highest is for pairs=best-rest, not pairs={self.pairs}")
            if self.step != "auto" and self.margin == "even":
                raise ConfigError(f"step={self.step} is for margin=uneven and label: even margins are 1")
            return
        if self.algorithm == 1 and self.engine == "fast":
            raise ConfigError("engine 'fast' is for algorithm 2: algorithm 1 has only its pair loop")
        if self.target == "highest" or self.step == "one":
            found = "target=highest" if self.target == "highest" else "step=one"
            raise ConfigError(f"{found} is for rivals=top")

    @property
    def draws(self) -> bool:
        return self.shuffle or (self.algorithm == 1 and self.rivals == "all" and self.pair_order == "random")

    @functools.cached_property
    def relation(self) -> PairRelation:
        """The relation T(p, q) of these settings."""
        return PairRelation(*(getattr(self, name) for name in PairRelation.__struct_fields__))

    @property
    def rate(self) -> float:
        """The learning rate of multiplicative updates; 0 = additive ones."""
        return 0.0

    @property
    def plain(self) -> bool:
        """Return whether updates are not multiplied by g."""
        return self.rivals == "top" and self.step != "margin" and self.margin != "even"

    @functools.cached_property
    def margin_function(self) -> Margin:
        """The margin g(p, q) of these settings."""
        return Margin(self.margin, self.margin_power)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.tau_scale == "norm" and self.tau == 0:  # not sooner: a grid may give tau
            raise ConfigError(f"learner {self.name}: tau_scale=norm multiplies tau, which is 0: set tau")
        given = lists, inputs.list_weights, self.relation, self.margin_function
        pairs, factors = weighted_pairs(*given, f"a pair under pairs={self.pairs}")
        if not factors.all():
            pairs, factors = pairs.subset(np.flatnonzero(factors)), factors[factors > 0]
        watch = Rounds(lists, inputs, self.keep)
        start, init = initial_weights(lists, inputs, self.init, otherwise="zero")
        if init != "zero":
            check_start(lists, start)
        state = PerceptronState(self, lists, pairs, factors, start)
        ballots = state.ballots
        orders = visit_orders(pairs.n_lists, self.epochs, self.shuffle, self.seed)
        for visits in watch.each(orders, self.epochs, state, unit="epoch"):
            updates = violated = 0
            for some in [visits] if ballots is None else visits.reshape(-1, 1):
                updated, here = state.visit(some)
                if updated and not (np.isfinite(state.w).all() and np.isfinite(state.weights.drift).all()):
                    raise FitError(f"{lists.source}: the weights overflow; {self.overflow_help}")
                if ballots is not None:
                    ballots.visit(state.w, updated > 0)
                updates += updated
                violated += here
            watch.record(state.reached(), state.scores, updates=updates, violated=violated)
            if updates == 0:
                break
        reached, rounds = watch.kept(state.reached(), converged=watch.settled)
        names = lists.names()
        model = LinearModel(names, reached) if ballots is None else ballots.model(names, reached)
        model.curve = watch.curve
        model.training.rounds = rounds
        if init != "zero":
            model.initial = start
            model.training.rounds = rounds.with_fields(init=init)
        if self.tau_scale == "norm":
            model.training.notes["absolute_tau"] = state.tau
        model.training.data = DataRecord(pairs=pairs.n_pairs, lists_without_pair=pairs.n_skipped)
        return model


class PerceptronState:
    """The state of training: weights with their mean or their votes, separating dimensions, scratch.

    ``visit`` visits lists and returns the number of those with an update, and of violated pairs.
    """

    def __init__(
        self, learner: Perceptron, lists: CandidateLists, pairs: Pairs, factors: Floats, start: Floats
    ) -> None:
        self.learner = learner
        self.source = lists.source
        top = learner.rivals == "top"
        once = learner.algorithm == 2 or top  # otherwise weights move within a list
        self.matrix, rows, most = list_rows(lists.features, pairs, learner.epochs if once else 0)
        fast = None if learner.engine == "auto" else learner.engine == "fast"
        given = (pairs.offsets, rows, pairs.start, pairs.stop, pairs.h, pairs.c)
        even = learner.margin == "even"
        self.pairs = _violations.ListPairs(*given, learner.tau, even, fast)
        self.tau = learner.tau
        if learner.tau_scale == "norm":
            self.tau *= self._unit(pairs)
            self.pairs = _violations.ListPairs(*given, self.tau, even, fast)
        if top:
            self.pairs.only_top(learner.target == "highest", learner.plain)
        self.weights = Weights(start.copy(), most, learner.rate)
        self.ballots = Ballots(start) if learner.average == "voted" else None
        self.dimension = _perceptron.Dimension(learner.dimension**2, len(rows))
        fixed = self.matrix, self.pairs, self.dimension
        moved: dict[str, Any] = {"factors": factors, "weights": self.weights}
        if once:
            moved["total"] = Sum(self.matrix, pairs.offsets, rows)
            self.visit: Visit = functools.partial(_perceptron.batch_round, *fixed, **moved)
        else:
            one = functools.partial(_perceptron.online_round, *fixed, **moved)
            self.visit = functools.partial(self._visit_online, one, pairs.counts)

    def _visit_online(self, visit: Any, counts: Index, lists: Index) -> tuple[int, int]:
        """Visit lists with Algorithm 1; the pairs of some of them are shuffled at a time."""
        shuffle, total = self.learner.pair_order == "random", np.zeros(2, dtype=np.int64)
        rng = np.random.default_rng((self.learner.seed, int(self.weights.visits)))
        for some in np.split(lists, np.flatnonzero(np.diff(np.cumsum(counts[lists]) // _SHUFFLED)) + 1):
            n = int(counts[some].sum())
            memory.require(8 * n, f"an order of {n:,} pairs", "algorithm=2 needs none")
            total += visit(some, order=rng.random(n) if shuffle else np.empty(n), shuffle=shuffle)
        return int(total[0]), int(total[1])

    def _unit(self, pairs: Pairs) -> float:
        """The unit of tau_scale=norm: how far a mean update moves a mean margin, in units of g.

        Raises FitError if it overflows or is 0.
        """
        scratch = Difference(self.matrix)
        total = _pair_norms.sum_of_squared_norms(self.matrix, self.pairs, pairs.losses, scratch)
        unit = float(total / pairs.n_pairs) / (pairs.mean_margin if self.learner.plain else 1.0)
        unit *= 2.0 * self.learner.rate or 1.0  # how far a first step of 1 moves a weight of Winnow
        if not 0 < unit * self.learner.tau < np.inf:
            found = "are all 0" if total == 0 else "or margins are too large; scale the features (--scaling)"
            raise FitError(f"{self.source}: tau_scale=norm: the differences of the pairs {found}")
        return unit

    @property
    def w(self) -> Floats:
        """The weights now (n_features)."""
        values: Floats = self.weights.values
        return values

    def reached(self) -> Any:
        """Return the weights now, their mean over all visits so far, or the snapshot of the votes."""
        if self.ballots is not None:
            return self.ballots.snapshot()
        return self.weights.mean() if self.learner.average == "average" else self.w.copy()

    @property
    def scores(self) -> Callable[[Any, CandidateLists], Floats]:
        """Return the function that scores lists by what was ``reached``."""
        return linear_scores if self.ballots is None else self.ballots.score

    def state(self) -> State:
        """Return what later rounds depend on."""
        own = {"weights": state_of(self.weights), "own": self.dimension.own.copy()}
        return own if self.ballots is None else {"now": own, "ballots": self.ballots.state()}

    def restore(self, state: State) -> None:
        """Go to a state."""
        if self.ballots is not None:
            self.ballots.restore(state["ballots"])
            state = state["now"]
        restore(self.weights, state["weights"])
        copy_into(self.dimension.own, state["own"])
