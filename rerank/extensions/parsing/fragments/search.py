"""The heaviest fragments of a space, by best-first search with an upper bound.

The weight of a fragment is the sum over its occurrences of coefficient times product (spaces.py). Occurrences
of one sign only lose weight as a fragment grows, up to the bounds of ``Space``, so that the larger of both
signs' sums bounds every larger fragment: the search of Pighin and Moschitti with a proof of what it found.

References
----------
Pighin, Moschitti: On reverse feature engineering of syntactic tree kernels. CoNLL 2010. Morishita, Sese:
Traversing itemset lattices with statistical metric pruning. PODS 2000 (the bound).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats, Index
from rerank.extensions.parsing.fragments.spaces import NOISE, Part, Space, require_finite, runs

MOST_LEVELS = 64  # of a fragment: a deeper one is not looked for
MOST_ROWS = 1 << 22  # of fragments that wait, and of one that grows
_BEAM = 200  # fragments of one size that grow after the search for a proof has given up
_COST = 500  # rows that a step costs besides its own


class Step(NamedTuple):
    """The last node of a fragment: ``up`` levels above the one before it hangs its parent."""

    before: Step | None
    up: int
    key: int
    n_nodes: int  # of the whole fragment


@dataclass(frozen=True, eq=False)
class Fragment:
    """A fragment whose growth may go on.

    step : the last node
    depth : its depth
    children : how many children each node has on the branch from the root to the last one
    places : int64 (n), the places of the last node, rising
    values : float64 (n), the sums of coefficients times products over the occurrences that end there
    """

    step: Step
    depth: int
    children: tuple[int, ...]
    places: Index
    values: Floats


class Reach(NamedTuple):
    """Nodes that a fragment can still get, with a parent ``up`` levels above its last one.

    starts, lengths : int64 (n), the run of such places for each place of the last node
    gain, other : float64 (n), bounds: if growth below and beside the new node multiplies the product by x,
        all growth does by at most max(gain x, other)
    """

    up: int
    starts: Index
    lengths: Index
    gain: Floats
    other: Floats


@dataclass(frozen=True, eq=False)
class Growth:
    """All ways to grow one fragment by one step, sorted by key.

    Group g, with ``places[starts[g]:starts[g + 1]]`` and their values, is the fragment that is got with
    ``keys[g]`` ``ups[g]`` levels above the last node. factors (n): bounds of further growth.
    """

    ups: Index
    keys: Index
    starts: Index
    places: Index
    values: Floats
    factors: Floats

    @classmethod
    def of(
        cls, n_keys: int, ups: Index, keys: Index, places: Index, values: Floats, factors: Floats
    ) -> Growth:
        """Sort and sum values of one place; ``factors`` are the same for the same place and key."""
        size = len(places) and int(places.max()) + 1
        codes = (ups * n_keys + keys) * size + places
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        new = np.flatnonzero(np.diff(codes, prepend=-1))
        chosen = order[new]
        places, ups, keys = places[chosen], ups[chosen], keys[chosen]
        sums = np.add.reduceat(values[order], new) if len(new) else values
        starts = np.flatnonzero(np.diff(ups * n_keys + keys, prepend=-1))
        ends = np.append(starts, len(places))
        return cls(ups[starts], keys[starts], ends, places, sums, factors[chosen])

    def sums(self, values: Floats) -> Floats:
        """Return the sum of each group."""
        return np.add.reduceat(values, self.starts[:-1]) if len(values) else values


@dataclass
class Search:
    """The ``n`` heaviest fragments of at least ``min_nodes`` nodes; see ``run``.

    Attributes
    ----------
    most_work : int
        Rows of occurrences that are visited before the search for a proof ends; a greedy search continues
        for half as many.
    missed : float
        The largest weight that a fragment not examined can have; 0 if all were examined.
    """

    space: Space
    n: int
    min_nodes: int
    most_work: int
    missed: float = 0.0
    _best: list[tuple[float, int, float, Step]] = field(default_factory=list)
    _waiting: list[tuple[float, int, Fragment]] = field(default_factory=list)
    _tick: int = 0
    _n_rows: int = 0

    @np.errstate(over="ignore", invalid="ignore")
    def run(self) -> list[tuple[float, Step]]:
        """Return weights and last steps, heaviest first; those found earlier first on ties.

        Raises
        ------
        DataError
            If a weight exceeds the largest number.
        """
        self._weigh(None, self._beginning())
        work = self.most_work
        while self._waiting and -self._waiting[0][0] > self._least():
            if work < 0:
                self.missed = max(self.missed, -self._waiting[0][0])
                self._dive(self.most_work // 2)
                break
            bound, _, fragment = heapq.heappop(self._waiting)
            self._n_rows -= len(fragment.places)
            work -= self._grow(bound, fragment)
        if self.missed <= self._least():
            self.missed = 0.0
        return [(weight, step) for _, _, weight, step in sorted(self._best, reverse=True)]

    def _grow(self, bound: float, fragment: Fragment) -> int:
        """Weigh every way to grow a fragment by one step; return the work."""
        reach = self._reach(fragment) if fragment.depth < MOST_LEVELS else []
        rows = sum(int(one.lengths.sum()) for one in reach)
        if not reach or rows > MOST_ROWS:
            self.missed = max(self.missed, -bound)
            return _COST
        self._weigh(fragment, self.growth(fragment, reach))
        return rows + len(reach) * (_COST + len(fragment.places))

    def _dive(self, work: int) -> None:
        """Grow greedily, of the fragments of each size those with the largest bounds, without a proof."""
        while self._waiting and work > 0:
            size = min(entry[2].step.n_nodes for entry in self._waiting)
            level = sorted(entry for entry in self._waiting if entry[2].step.n_nodes == size)[:_BEAM]
            self._waiting = [entry for entry in self._waiting if entry[2].step.n_nodes > size]
            self._n_rows = sum(len(entry[2].places) for entry in self._waiting)
            for bound, _, fragment in level:
                if -bound > self._least():
                    work -= self._grow(bound, fragment)

    def _beginning(self) -> Growth:
        """Every fragment of one step."""
        support = self.space.support
        places = support.representatives
        places = places[self.space.root_keys[places] >= 0]
        values = support.totals[support.node[places]] * self.space.at_root
        keys, zeros = self.space.root_keys[places], np.zeros(len(places), dtype=np.int64)
        n_keys = int(keys.max(initial=0)) + 1
        return Growth.of(n_keys, zeros, keys, places, values, self.space.below[places])

    def _reach(self, fragment: Fragment) -> list[Reach]:
        """Return the places where a fragment can grow, from the root's children to those of the last node."""
        space, support = self.space, self.space.support
        branch = [fragment.places]  # from the last node upwards
        for _ in range(fragment.depth):
            branch.append(support.parent[branch[-1]])
        gain, other = np.ones(len(branch[0])), np.zeros(len(branch[0]))
        found = []
        for up in range(len(branch) - 1, -1, -1):
            if up < len(branch) - 1:
                other = np.fmax(space.begun[branch[up]] * gain, other)  # 0 times an infinite bound is 0
                gain = space.after[branch[up]] * gain
            if space.most is not None and fragment.children[len(branch) - 1 - up] >= space.most:
                continue
            starts = branch[up - 1] + 1 if up else support.first[branch[0]]
            lengths = support.n_right[branch[up - 1]] if up else support.first[branch[0] + 1] - starts
            found.append(Reach(up, starts, lengths, gain, other))
        return found

    def growth(self, fragment: Fragment, reach: list[Reach]) -> Growth:
        """Return every way to grow a fragment by one step, within its reach."""
        space = self.space
        parts = []
        for up, starts, lengths, gain, other in reach:
            rows, places = np.repeat(np.arange(len(starts)), lengths), runs(starts, lengths)
            can = space.keys[places] >= 0
            rows, places = rows[can], places[can]
            values = fragment.values[rows] * space.at_child
            if up > 0:
                values = fragment.values[rows] * space.at_sibling * space.gap ** (places - starts[rows])
            above = np.fmax(space.begun[places] * gain[rows], other[rows])
            factors = np.fmax(space.below[places] * space.after[places] * gain[rows], above)
            parts.append((np.full(len(places), up), space.keys[places], places, values, factors))
        ups, keys, places, values, factors = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Growth.of(len(space.key_nodes), ups, keys, places, values, factors)

    def _weigh(self, parent: Fragment | None, growth: Growth) -> None:
        """Enter the fragments of a growth into the best ones, and those that may lead to better ones."""
        weights, magnitudes = growth.sums(growth.values), growth.sums(np.abs(growth.values))
        require_finite(weights)
        later = growth.values * growth.factors
        bounds = np.maximum(growth.sums(np.maximum(later, 0)), growth.sums(np.maximum(-later, 0)))
        bounds[np.isnan(bounds)] = np.inf
        sizes = np.abs(weights)
        sizes[sizes <= NOISE * magnitudes] = 0.0
        least = self._least()
        chosen = np.flatnonzero((sizes > least) | (bounds > least))
        for g in chosen[np.argsort(-sizes[chosen], kind="stable")].tolist():
            fragment = self._grown(parent, growth, g)
            self._tick += 1
            if sizes[g] > self._least() and fragment.step.n_nodes >= self.min_nodes:
                entry = (float(sizes[g]), -self._tick, float(weights[g]), fragment.step)
                (heapq.heappush if len(self._best) < self.n else heapq.heapreplace)(self._best, entry)
            if bounds[g] > self._least():
                heapq.heappush(self._waiting, (-float(bounds[g]), self._tick, fragment))
                self._n_rows += len(fragment.places)
        if self._n_rows > MOST_ROWS:
            self._drop()

    def _grown(self, parent: Fragment | None, growth: Growth, g: int) -> Fragment:
        """Group ``g`` of a growth; ``parent`` is None for the beginning."""
        up, key = int(growth.ups[g]), int(growth.keys[g])
        own = slice(growth.starts[g], growth.starts[g + 1])
        places, values = growth.places[own].copy(), growth.values[own].copy()
        if parent is None:
            return Fragment(Step(None, 0, key, 1 + len(self.space.root(key)[1])), 0, (0,), places, values)
        depth = parent.depth + 1 - up
        children = (*parent.children[: depth - 1], parent.children[depth - 1] + 1, 0)
        step = Step(parent.step, up, key, parent.step.n_nodes + int(self.space.key_nodes[key]))
        return Fragment(step, depth, children, places, values)

    def _least(self) -> float:
        """Return the bound that a fragment must exceed to be one of the best."""
        return self._best[0][0] if len(self._best) == self.n else 0.0

    def _drop(self) -> None:
        """Forget fragments that cannot lead to the best ones, then the half with the smallest bounds."""
        least = self._least()
        kept = sorted(entry for entry in self._waiting if -entry[0] > least)
        half = len(kept) // 2 if sum(len(entry[2].places) for entry in kept) > MOST_ROWS else len(kept)
        for bound, _, _ in kept[half:]:
            self.missed = max(self.missed, -bound)
        self._waiting = kept[:half]  # sorted, so a heap
        self._n_rows = sum(len(entry[2].places) for entry in self._waiting)

    @np.errstate(over="ignore", invalid="ignore")
    def places(self, step: Step) -> Index:
        """Return the places of the roots of a fragment, each distinct subtree once."""
        fragment, growth = None, self._beginning()
        for last in _steps(step):
            if fragment is not None:
                growth = self.growth(fragment, self._reach(fragment))
            g = int(np.flatnonzero((growth.ups == last.up) & (growth.keys == last.key))[0])
            fragment = self._grown(fragment, growth, g)
        assert fragment is not None
        places = fragment.places
        for _ in range(fragment.depth):
            places = self.space.support.parent[places]
        return np.unique(places)

    def part(self, step: Step) -> Part:
        """Return a whole fragment."""
        first, *others = _steps(step)
        branch = [self.space.root(first.key)]
        for step in others:
            del branch[len(branch) - step.up :]
            branch.append(self.space.attached(branch[-1], step.key))
        return branch[0]


def _steps(last: Step) -> list[Step]:
    """All steps of a fragment, the root first."""
    steps = [last]
    while steps[-1].before is not None:
        steps.append(steps[-1].before)
    return steps[::-1]
