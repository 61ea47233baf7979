"""Likelihoods of comparisons: Bradley-Terry, Davidson's ties, Plackett-Luce; and their maximum by Newton."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.errors import FitError
from rerank.core.types import Floats, Index

DENSE = 3000  # parameters up to which matrices are dense
_STEPS, _FAR = 500, 60.0
_SLOPES = 4.0  # precision of slopes of judges, about 1: a standard deviation of .5
_RIDGE = 1e-6  # chooses the smallest slopes of lengths where comparisons cannot


class Point(NamedTuple):
    """A log-likelihood at some parameters, with its gradient and the information, both with the prior."""

    value: float
    gradient: Floats
    information: Any


class Likelihood(ABC):
    """The log-likelihood of comparisons of ``n_items`` items, whose strengths are the first parameters.

    Attributes
    ----------
    n_items : int
    names : list of str
        Of further parameters: order, length, tie, judges.
    mean, precision : float64 (n_parameters)
        Of the Gaussian prior; a precision of 0 is no prior.
    """

    n_items: int
    names: Sequence[str] = ()
    mean: Floats
    precision: Floats

    def _set_prior(
        self, sd: float | None, mean: Sequence[float] = (), precision: Sequence[float] = ()
    ) -> None:
        own = 0.0 if sd is None else sd**-2
        self.mean = np.append(np.zeros(self.n_items), mean)
        self.precision = np.append(np.full(self.n_items, own), precision)

    @property
    def n_parameters(self) -> int:
        """The number of parameters."""
        return len(self.mean)

    def tie_at(self, parameters: Floats) -> float | None:
        """Return the parameter of ties; None = the model has none."""
        return None

    @abstractmethod
    def at(self, parameters: Floats) -> Point:
        """Return the point of the likelihood alone, without the prior."""

    @abstractmethod
    def weighted(self, weights: Floats) -> Likelihood:
        """Return the likelihood in which a cluster of comparisons counts ``weights`` (n_clusters) times."""

    @abstractmethod
    def edges(self) -> tuple[Index, Index]:
        """Return winners and losers; a tie, or a chance of both, is an edge either way."""

    def posterior(self, parameters: Floats) -> Point:
        """Return the point with the prior, and with the sum of strengths fixed if they have none."""
        point = self.at(parameters)
        away = parameters - self.mean
        value = point.value - 0.5 * float(self.precision @ away**2)
        added = self.precision.copy()
        information = point.information
        if added[0] == 0:  # without a prior strengths are known except for their sum
            added[0] = float(information.diagonal()[: self.n_items].mean()) or 1.0
        if isinstance(information, np.ndarray):
            information[np.diag_indices_from(information)] += added
        else:
            from scipy.sparse import diags

            information = information + diags(added)
        return Point(value, point.gradient - self.precision * away, information)

    def maximum(self, start: Floats | None = None, close: float = 1e-10) -> Floats:
        """Return the parameters of the maximum; without a prior strengths sum to 0.

        start : where to begin. close : the largest change of a parameter by the last step of Newton.

        Raises FitError if it is not reached, as if the order of the answers explains every verdict.
        """
        x = self.mean.copy() if start is None else start.copy()
        here = self.posterior(x)
        for _ in range(_STEPS):
            try:
                step = solved(here.information, here.gradient)
            except FitError:
                if np.abs(x - self.mean).max() < _FAR / 4:
                    raise
                break
            size, share = float(np.abs(step).max(initial=0.0)), 1.0
            there = self.posterior(x + step)
            while there.value < here.value - 1e-12 * abs(here.value) and share > 1e-8:
                share /= 2
                there = self.posterior(x + share * step)
            x, here = x + share * step, there
            if np.abs(x).max(initial=0.0) > _FAR:
                break
            if size < close:
                if self.precision[0] == 0:
                    x[: self.n_items] -= x[: self.n_items].mean()
                return x
        far = int(np.argmax(np.abs(x - self.mean)))
        what = "strengths" if far < self.n_items else self.names[far - self.n_items]
        raise FitError(
            f"{what}: the likelihood has no maximum that can be reached; expected a prior (--prior)"
        )


def solved(matrix: Any, right: Floats) -> Floats:
    """Return the solution of a positive definite system, dense or sparse; raises FitError if it is not."""
    if isinstance(matrix, np.ndarray):
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        try:
            factor = cho_factor(matrix, check_finite=False)
        except LinAlgError:
            factor = None
        # The share of each parameter's information that those before it leave.
        left = 0.0 if factor is None else float((np.diag(factor[0]) ** 2 / np.diag(matrix)).min())
        if factor is None or left < 1e-12:
            raise FitError(
                "comparisons do not determine every effect, such as that of the order if one item always is "
                "first; expected fewer effects, or a prior (--prior)"
            )
        found: Floats = cho_solve(factor, right, check_finite=False)
        return found
    from scipy.sparse.linalg import splu

    sparse: Floats = splu(matrix.tocsc()).solve(right)
    return sparse


def chances_of(d: Floats, tie: float | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the probabilities of a win, a tie and a loss, and the logarithm of their divisor.

    Parameters
    ----------
    d : differences of strengths, of any shape.
    tie : parameter of ties (Davidson 1970); None = there are none.
    """
    if tie is None:  # with one exponential
        small = np.exp(-np.abs(d))
        more, less = 1 / (1 + small), small / (1 + small)
        ahead = d >= 0
        log_total = np.abs(d) / 2 + np.log1p(small)
        return np.where(ahead, more, less), np.zeros_like(d), np.where(ahead, less, more), log_total
    half = d / 2
    top = np.maximum(np.abs(half), tie)
    win, draw, loss = np.exp(half - top), np.exp(tie - top), np.exp(-half - top)
    total = win + draw + loss
    return win / total, draw / total, loss / total, top + np.log(total)


class Pairs(Likelihood):
    """Comparisons of two items: Bradley and Terry, or Davidson for ties.

    With d = slope of the judge * (strength 1 - strength 2 + order + length effect), the first item wins with
    a probability in proportion to exp(d / 2), loses to exp(-d / 2), ties to exp(tie). Without ``tie`` a tie
    is half a win of each.

    Parameters
    ----------
    n_items : int
    first, second : int64 (n)
    outcomes : float64 (n, 3)
        Weights of win, tie and loss of the first item.
    clusters : int64 (n)
        Comparisons that are resampled together, from 0.
    prior : float, optional
        Standard deviation of the strengths.
    tie : bool
        Whether ties have a parameter.
    order : bool
        Whether the first place has one.
    lengths : float64 (n), optional
        What the effect of length is proportional to.
    each : bool
        Whether every item has a slope of its own for ``lengths``; those of both items add up.
    judges : int64 (n), optional
        Judges from 0; each has a slope, which is near 1 by its prior.

    References
    ----------
    Bradley & Terry: Rank analysis of incomplete block designs. Biometrika 39, 1952.
    Davidson: On extending the Bradley-Terry model to accommodate ties. JASA 65, 1970, equation 2.2.
    """

    def __init__(
        self,
        n_items: int,
        first: Index,
        second: Index,
        outcomes: Floats,
        clusters: Index,
        *,
        prior: float | None = None,
        tie: bool = False,
        order: bool = False,
        lengths: Floats | None = None,
        each: bool = False,
        judges: Index | None = None,
    ) -> None:
        self.n_items, self.tie = n_items, tie
        if not order and lengths is None:  # either direction of a pair is the same cell
            turned = first > second
            first, second = np.where(turned, second, first), np.where(turned, first, second)
            outcomes = np.where(turned[:, None], outcomes[:, ::-1], outcomes)
        if lengths is None:
            n_judges = 1 if judges is None else int(judges.max()) + 1
            codes = (first * n_items + second) * n_judges + (0 if judges is None else judges)
            found, cell = _distinct(codes, n_items * n_items * n_judges)
            pair, judge = np.divmod(found, n_judges)
            self.first, self.second = np.divmod(pair, n_items)
            self.judges = None if judges is None else judge
        else:
            cell = np.arange(len(first))
            self.first, self.second, self.judges = first, second, judges
        self._rows = cell, clusters, outcomes
        self.outcomes = self._outcomes(np.ones(int(clusters.max(initial=-1)) + 1))
        # How differences depend on effects: columns from n_items on, and values, by cell.
        ones = np.ones(len(self.first))
        self._effects: list[tuple[Any, Floats]] = [(n_items, ones)] if order else []
        at = n_items + order
        if lengths is not None and each:
            self._effects += [(at + self.first, lengths), (at + self.second, lengths)]
        elif lengths is not None:
            self._effects.append((at, lengths))
        names = (["order"] if order else []) + (["length"] * (lengths is not None and not each))
        names += [f"length {i}" for i in range(n_items)] if each else []
        n_extras = len(names)
        n_judges = 0 if self.judges is None else int(self.judges.max()) + 1
        self.names = [*names, *[f"judge {k}" for k in range(n_judges)], *(["tie"] if tie else [])]
        self.slopes = slice(n_items + n_extras, n_items + n_extras + n_judges)
        self._set_prior(
            prior,
            [0.0] * n_extras + [1.0] * n_judges + [0.0] * tie,
            [_RIDGE if each and name.startswith("length") else 0.0 for name in names]
            + [_SLOPES] * n_judges
            + [0.0] * tie,
        )
        n = self.n_parameters
        if n <= DENSE:
            memory.require(8 * 4 * n * n, f"the information matrix of {n:,} parameters")

    def weighted(self, weights: Floats) -> Pairs:
        from copy import copy

        other = copy(self)
        other.outcomes = self._outcomes(weights)
        return other

    def _outcomes(self, weights: Floats) -> Floats:
        """The outcomes of each cell, of which a cluster counts its weight."""
        cell, clusters, outcomes = self._rows
        factor = weights[clusters]
        n = len(self.first)
        return np.column_stack([np.bincount(cell, outcomes[:, k] * factor, n) for k in range(3)])

    def edges(self) -> tuple[Index, Index]:
        win, tie, loss = (self.outcomes[:, k] > 0 for k in range(3))
        ahead, behind = win | tie, loss | tie
        winners = np.concatenate([self.first[ahead], self.second[behind]])
        return winners, np.concatenate([self.second[ahead], self.first[behind]])

    def _differences(self, x: Floats) -> tuple[Floats, Floats | None, Floats]:
        """The undivided differences, slopes (None = 1) and differences, (n_cells)."""
        plain: Floats = x[self.first] - x[self.second]
        for columns, values in self._effects:
            plain += x[columns] * values
        if self.judges is None:
            return plain, None, plain
        slopes = x[self.slopes][self.judges]
        return plain, slopes, slopes * plain

    def probabilities(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return how probable a win, a tie and a loss of the first item of each cell are."""
        return chances_of(self._differences(x)[2], self.tie_at(x))[:3]

    def tie_at(self, parameters: Floats) -> float | None:
        return float(parameters[-1]) if self.tie else None

    def _counts(self) -> tuple[Floats, Floats, Floats]:
        win, tie, loss = self.outcomes.T
        return (win, tie, loss) if self.tie else (win + tie / 2, np.zeros(len(win)), loss + tie / 2)

    def at(self, x: Floats) -> Point:
        plain, slopes, d = self._differences(x)
        p1, pt, p2, log_total = chances_of(d, self.tie_at(x))
        win, tie, loss = self._counts()
        n = win + tie + loss
        value = float(((win - loss) * d / 2 - n * log_total).sum() + (tie.sum() * x[-1] if self.tie else 0.0))
        pull = (win - loss - n * (p1 - p2)) / 2
        weight = n * (p1 + p2 - (p1 - p2) ** 2) / 4
        entries = self._derivatives(plain, slopes)
        size = self.n_parameters
        gradient = np.zeros(size)
        sums = Sums(size)
        for k, (a, by_a) in enumerate(entries):
            gradient += np.bincount(a, by_a * pull, size)
            weighted = weight * by_a
            sums.add_diagonal(a, weighted * by_a)
            for b, by_b in entries[k + 1 :]:
                sums.add(a, b, weighted * by_b)
        if self.tie:
            last = np.full(len(n), size - 1)
            gradient[-1] = (tie - n * pt).sum()
            for a, by_a in entries:
                sums.add(a, last, -n * pt * (p1 - p2) / 2 * by_a)
            sums.add_diagonal(last, n * pt * (1 - pt))
        return Point(value, gradient, sums.symmetric())

    def _derivatives(self, plain: Floats, slopes: Floats | None) -> list[tuple[Index, Floats]]:
        """Derivatives of differences that are not 0: parameters and values, by cell."""
        slope = np.ones(len(plain)) if slopes is None else slopes
        entries = [(self.first, slope), (self.second, -slope)]
        entries += [
            (np.broadcast_to(columns, plain.shape), slope * values) for columns, values in self._effects
        ]
        if self.judges is not None:
            entries.append((self.slopes.start + self.judges, plain))
        return entries


class Sums:
    """A symmetric matrix that is a sum of entries; it is dense if it is small."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._diagonal = np.zeros(size)
        self._sum = np.zeros(size * size) if size <= DENSE else np.empty(0)
        self._entries: list[tuple[Index, Index, Floats]] = []

    def add(self, rows: Index, columns: Index, values: Floats) -> None:
        """Add entries, each of which the other triangle gets too."""
        if self._size <= DENSE:
            self._sum += np.bincount(rows * self._size + columns, values, self._size**2)
            return
        self._entries.append((rows, columns, values))

    def add_diagonal(self, places: Index, values: Floats) -> None:
        """Add to the diagonal."""
        self._diagonal += np.bincount(places, values, self._size)

    def symmetric(self) -> Any:
        """Return the matrix."""
        if self._size <= DENSE:
            matrix = self._sum.reshape(self._size, self._size)
            matrix = matrix + matrix.T
            matrix[np.diag_indices(self._size)] += self._diagonal
            return matrix
        from scipy.sparse import csr_matrix, diags

        rows, columns, values = map(np.concatenate, zip(*self._entries, strict=True))
        matrix = csr_matrix((values, (rows, columns)), shape=(self._size, self._size))
        return matrix + matrix.T + diags(self._diagonal)


def _distinct(codes: Index, n: int) -> tuple[Index, Index]:
    """The codes that are there, in order, and the place of each one among them; all are below ``n``."""
    if n > 10 * len(codes):
        found, cell = np.unique(codes, return_inverse=True)
        return found, cell
    there = np.bincount(codes, minlength=n) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


class Rankings(Likelihood):
    """Rankings of two or more items: Plackett and Luce. An item is chosen among those not yet placed.

    Parameters
    ----------
    n_items : int
    rankings : list of int64, the best item first.
    clusters : int64 (n_rankings)
    prior : float, optional

    References
    ----------
    Plackett: The analysis of permutations. Applied Statistics 24, 1975.
    Luce: Individual choice behavior. 1959.
    """

    def __init__(
        self, n_items: int, rankings: Sequence[Index], clusters: Index, *, prior: float | None = None
    ) -> None:
        self.n_items = n_items
        by_length: dict[int, list[int]] = {}
        for k, ranking in enumerate(rankings):
            by_length.setdefault(len(ranking), []).append(k)
        # Of one length: the items (m, length) and their clusters (m).
        self._blocks = [
            (np.array([rankings[k] for k in rows], dtype=np.int64), clusters[rows])
            for rows in by_length.values()
        ]
        self._weights = [np.ones(len(rows)) for rows in by_length.values()]
        self._set_prior(prior)
        if n_items <= DENSE:
            memory.require(8 * 4 * n_items * n_items, f"the information matrix of {n_items:,} parameters")

    def weighted(self, weights: Floats) -> Rankings:
        from copy import copy

        other = copy(self)
        other._weights = [weights[clusters] for _, clusters in self._blocks]
        return other

    def edges(self) -> tuple[Index, Index]:
        pairs = [
            (items[kept, k], items[kept, k + 1])
            for (items, _), weights in zip(self._blocks, self._weights, strict=True)
            for kept in [weights > 0]
            for k in range(items.shape[1] - 1)
        ]
        return np.concatenate([one for one, _ in pairs]), np.concatenate([two for _, two in pairs])

    def at(self, x: Floats) -> Point:
        n = self.n_items
        value, gradient, sums = 0.0, np.zeros(n), Sums(n)
        for (items, _), weights in zip(self._blocks, self._weights, strict=True):
            strengths = x[items]
            top = strengths.max(axis=1, keepdims=True)
            odds = np.exp(strengths - top)
            rest = np.cumsum(odds[:, ::-1], axis=1)[:, ::-1]  # of all items from here on
            choices = items.shape[1] - 1  # the last item is no choice
            value += float((weights[:, None] * (strengths - top - np.log(rest))[:, :choices]).sum())
            once, twice = 1 / rest, 1 / rest**2
            once[:, choices:], twice[:, choices:] = 0, 0
            chosen = odds * np.cumsum(once, axis=1)
            pull = np.append(np.ones(choices), 0.0) - chosen
            gradient += np.bincount(items.ravel(), (weights[:, None] * pull).ravel(), n)
            both = odds * np.cumsum(twice, axis=1)
            places = items.ravel()
            sums.add_diagonal(places, (weights[:, None] * (chosen - odds * both)).ravel())
            for k in range(choices):  # the earlier place of two
                shared = -weights[:, None] * both[:, k : k + 1] * odds[:, k + 1 :]
                later = items[:, k + 1 :]
                earlier = np.broadcast_to(items[:, k : k + 1], later.shape)
                sums.add(earlier.ravel(), later.ravel(), shared.ravel())
        return Point(value, gradient, sums.symmetric())
