"""The ladder: items ranked by comparisons, with intervals, goodness of fit and what to compare next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import to_json
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, p_text
from rerank.core.text import count, some
from rerank.core.types import Floats, Index
from rerank.evaluation.results import plain
from rerank.extensions.preferences.comparisons import Comparisons, comparisons_of
from rerank.extensions.preferences.models import Likelihood, Pairs, Rankings, solved

Intervals = Literal["auto", "bootstrap", "profile", "wald", "none"]
QUANTILE = 1.959963984540054  # of the standard normal distribution at .975
_PROFILED = 100  # items up to which intervals of profile likelihood are the default


class Fit(NamedTuple):
    """How well the model describes the comparisons of each pair.

    Attributes
    ----------
    chi_square : float
        Pearson's statistic of pairs' observed and expected wins, a tie being half a win.
    degrees : int
        Pairs minus parameters; 0 or less = every pair is fitted.
    p : float, optional
        None without degrees, or if outcomes are probabilities.
    worst : list of (item, item, observed, expected, standardised residual)
        The pairs that fit least.
    cycles, triads : int
        Cyclic triads by majority (a beats b, b beats c, c beats a), and triads of which all pairs have one.
    """

    chi_square: float
    degrees: int
    p: float | None
    worst: list[tuple[str, str, float, float, float]]
    cycles: int
    triads: int


class Next(NamedTuple):
    """A comparison to ask for, and by which share it lowers the mean variance of differences."""

    first: str
    second: str
    reduction: float


@dataclass(frozen=True, eq=False, repr=False)
class Ladder(Display):
    """Items by strength.

    Attributes
    ----------
    items : list of str
        The strongest first.
    strengths : float64 (n_items)
        Natural logarithm of odds; their mean is 0, or the reference has 0.
    intervals : float64 (n_items, 2)
        95 % intervals; NaN = none.
    win_rates : float64 (n_items)
        The probability to win, half of a tie included, against the reference, or on average against the
        others; order and length have no effect in it.
    counts : float64 (n_items, 3)
        Wins, ties and losses; of rankings, items placed below and above.
    effects : mapping of str to float
        Order, length, tie, slopes of judges.
    log_likelihood : float
    fit : Fit, optional
    next : list of Next
    covariance : float64 (n_items, n_items)
        Of strengths, in the order of ``items``.
    notes : list of str
    settings : mapping
    """

    items: list[str]
    strengths: Floats
    intervals: Floats
    win_rates: Floats
    counts: Floats
    effects: Mapping[str, float]
    log_likelihood: float
    fit: Fit | None
    next: list[Next]
    covariance: Floats
    notes: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def _scaled(self, values: Any) -> Any:
        return 1000 + values * 400 / np.log(10) if self.settings["scale"] == "elo" else values

    def tables(self) -> list[Table]:
        """Return a row for each item, then effects, and comparisons to ask for."""
        digits = 1 if self.settings["scale"] == "elo" else 3

        def value(x: float) -> str:
            return f"{x:z.{digits}f}"

        def interval(x: tuple[float, float] | None) -> str:
            return "-" if x is None or x[0] != x[0] else f"{value(x[0])} to {value(x[1])}"

        columns = (
            Column("rank", ("rank",)),
            Column("item", ("item",), left=True),
            Column("strength", ("strength",), value),
            Column("95% interval", ("low", "high"), interval),
            Column("win rate", ("win_rate",), lambda p: "-" if p != p else f"{100 * p:.1f}%"),
            Column("won/tied/lost", ("won", "tied", "lost"), lambda c: "/".join(f"{x:.6g}" for x in c)),
        )
        rows = []
        for k, item in enumerate(self.items):
            ends = tuple(self._scaled(self.intervals[k]).tolist())
            counts = tuple(self.counts[k].tolist())
            cells = (
                k + 1,
                item,
                float(self._scaled(self.strengths[k])),
                ends,
                float(self.win_rates[k]),
                counts,
            )
            rows.append(Row(cells))
        found = [Table(columns, tuple(rows), notes=tuple(self.notes))]
        if self.effects:
            heads = (
                Column("effect", ("effect",), left=True),
                Column("value", ("value",), lambda x: f"{x:z.3f}"),
            )
            found.append(Table(heads, tuple(Row(one) for one in self.effects.items())))
        if self.next:
            asked = (
                Column("compare next", ("first",), left=True),
                Column("with", ("second",), left=True),
                Column("variance", ("reduction",), lambda x: f"-{100 * x:.2f}%"),
            )
            found.append(Table(asked, tuple(Row(tuple(one)) for one in self.next)))
        return found

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        keys = ("rank", "item", "strength", "low", "high", "win_rate", "won", "tied", "lost")
        records = list(self.tables()[0].records())
        found: dict[str, Any] = plain(
            {
                "settings": dict(self.settings),
                "items": [{key: record[key] for key in keys} for record in records],
                "effects": dict(self.effects),
                "log_likelihood": self.log_likelihood,
                "fit": None if self.fit is None else self.fit._asdict(),
                "next": [one._asdict() for one in self.next],
                "notes": list(self.notes),
            }
        )
        return found


def rate(
    comparisons: Any,
    *,
    ties: Literal["half", "davidson"] = "half",
    prior: float | None = None,
    order: bool = False,
    length: Literal["none", "shared", "each"] = "none",
    judge_effects: bool = False,
    reference: str | None = None,
    intervals: Intervals = "auto",
    samples: int = 1000,
    seed: int = 12345,
    next: int = 0,
    scale: Literal["logit", "elo"] = "logit",
    columns: Mapping[str, str] | None = None,
    out: str | None = None,
) -> Ladder:
    """Rank systems, or other items, by comparisons: Bradley-Terry, Davidson, Plackett-Luce.

    Parameters
    ----------
    comparisons : see ``comparisons_of``. Rankings of several items are rated by Plackett-Luce.
    ties : a tie is half a win of each item (Bradley-Terry), or has a probability of its own (Davidson).
    prior : standard deviation of strengths, which are normal around 0; None = none, the maximum of the
        likelihood.
    order : whether the item that is named first has an advantage.
    length : effect of tanh of the difference of lengths, in standard deviations: none, one slope, or a slope
        of each item.
    judge_effects : whether each judge has a slope (the more reliable, the larger), normal around 1 with
        standard deviation .5.
    reference : the item whose strength is 0, against which win rates are.
    intervals : of 95 %; bootstrap over prompts, profile likelihood, Wald's, or none; auto is the bootstrap if
        prompts have several comparisons, otherwise profile likelihood, of over 100 items Wald's.
    samples, seed : of the bootstrap.
    next : number of comparisons to suggest.
    scale : of strengths in tables: natural logarithms of odds, or Elo's 1000 + 400 log10 of odds.
    columns : names of columns by role.
    out : file for the ladder as JSON.

    Returns
    -------
    Ladder

    Raises
    ------
    RerankError
        Besides errors of reading: without a prior, if the comparisons fall apart, or an item won or lost all
        of its own; if options do not fit the comparisons.

    Examples
    --------
    >>> import rerank
    >>> games = [("a", "b")] * 3 + [("b", "a")] + [("b", "c")] * 2 + [("c", "b")]
    >>> found = rerank.rate(games, intervals="none")
    >>> found.items, round(float(found.strengths[0] - found.strengths[1]), 6)
    (['a', 'b', 'c'], 1.098612)
    """
    given = comparisons_of(comparisons, columns)
    _check(given, ties, prior, order, length, judge_effects, intervals, scale, samples, next)
    items, n = given.items, len(given.items)
    if reference is not None and reference not in items:
        raise ConfigError(f"unknown reference {reference!r}; {did_you_mean(reference, items)}")
    model = likelihood(given, ties=ties, prior=prior, order=order, length=length, judge_effects=judge_effects)
    notes: list[str] = []
    parts = components(model)
    if len(parts) > 1:
        if prior is None:
            raise DataError(
                f"{given.source}: {_apart(parts, items)}; expected one that connects them, or --prior"
            )
        notes.append(f"{_apart(parts, items)}: what is in two of them is compared by the prior alone")
    if prior is None:
        _check_finite(model, given)
    x = model.maximum()
    centre = np.full(n, 1 / n) if reference is None else (np.arange(n) == items.index(reference)) * 1.0
    contrast = np.eye(n) - centre[None, :]
    strengths = contrast @ x[:n]
    point = model.posterior(x)
    covariance = contrast @ _inverse(point.information, n) @ contrast.T
    kind = _default_intervals(given, n) if intervals == "auto" else intervals
    if kind == "profile" and judge_effects:
        raise ConfigError("intervals profile: not used with judge effects, expected bootstrap, wald or none")
    if kind == "wald":
        half = QUANTILE * np.sqrt(np.maximum(np.diag(covariance), 0))
        ends = np.column_stack([strengths - half, strengths + half])
    elif kind == "profile":
        ends = profile_intervals(model, x, contrast, covariance)
    elif kind == "bootstrap":
        ends, failed = bootstrap_intervals(model, x, contrast, given, prior, samples, seed)
        if failed:
            notes.append(
                f"{failed} of {samples} samples of the bootstrap have no finite strengths and are left out: "
                "intervals are too narrow (--prior mends that)"
            )
    else:
        ends = np.full((n, 2), np.nan)
    if reference is not None:
        ends[items.index(reference)] = np.nan
    rates = _win_rates(model, x, None if reference is None else items.index(reference))
    fit = _fit(model, x, given)
    what = {"bootstrap": "percentiles over prompts" if given.named_lists else "percentiles over comparisons"}
    if kind == "bootstrap":
        what["bootstrap"] += f", {samples} samples, seed {seed}"
    what |= {"profile": "profile likelihood", "wald": "Wald"}
    if kind != "none":
        notes.append(f"95% interval: {what[kind]}")
    notes = [_what(given, model, ties, prior), *notes]
    if fit is not None:
        notes += _fit_notes(fit)
    ranked = np.lexsort((np.arange(n), -np.round(strengths, 9)))
    found = Ladder(
        [items[i] for i in ranked],
        strengths[ranked],
        ends[ranked],
        rates[ranked],
        _counts(given)[ranked],
        _effects(model, x, given),
        model.at(x).value,
        fit,
        next_comparisons(covariance, strengths, items, next, x[-1] if getattr(model, "tie", False) else None),
        covariance[np.ix_(ranked, ranked)],
        notes,
        {
            "ties": ties,
            "prior": prior,
            "order": order,
            "length": length,
            "judge_effects": judge_effects,
            "reference": reference,
            "intervals": kind,
            "samples": samples if kind == "bootstrap" else None,
            "seed": seed if kind == "bootstrap" else None,
            "scale": scale,
        },
    )
    if out is not None:
        write_lines(out, [to_json(found.as_json()).removesuffix("\n")])
    return found


def _check(
    given: Comparisons,
    ties: str,
    prior: float | None,
    order: bool,
    length: str,
    judge_effects: bool,
    intervals: str,
    scale: str,
    samples: int,
    n_next: int,
) -> None:
    """Raise an error for settings that are wrong or that the comparisons do not fit."""
    for name, value, known in (
        ("ties", ties, ("half", "davidson")),
        ("length", length, ("none", "shared", "each")),
        ("intervals", intervals, get_args(Intervals)),
        ("scale", scale, ("logit", "elo")),
    ):
        if value not in known:
            raise ConfigError(f"unknown {name} {value!r}; {did_you_mean(value, known)}")
    if prior is not None and not (prior > 0 and np.isfinite(prior)):
        raise ConfigError(f"--prior: found {prior:g}, expected a standard deviation above 0")
    if samples < 1 or n_next < 0:
        raise ConfigError(
            f"found {samples} samples and {n_next} comparisons to ask for, expected 1 and 0 or more"
        )
    if given.rankings is not None:
        used = [("--ties davidson", ties != "half"), ("--order", order), ("--length", length != "none")]
        for option, is_used in [*used, ("--judge-effects", judge_effects)]:
            if is_used:
                raise ConfigError(f"{given.source}: {option} is not used with rankings, only with pairs")
        return
    if ties == "davidson":
        if not given.outcomes[:, 1].any():
            raise DataError(f"{given.source}: found no tie, expected some for --ties davidson")
        if not given.outcomes[:, [0, 2]].any():
            raise DataError(f"{given.source}: found ties alone, expected a win for --ties davidson")
    if order and not given.ordered:
        raise ConfigError(f"{given.source}: --order: the file does not tell which item was shown first")
    if length != "none":
        if given.lengths is None:
            raise ConfigError(f"{given.source}: --length: found no lengths or texts (length_1 and length_2)")
        if np.ptp(given.lengths[:, 0] - given.lengths[:, 1]) == 0:
            raise DataError(f"{given.source}: --length: every difference of lengths is the same")
    if judge_effects and given.judges is None:
        raise ConfigError(f"{given.source}: --judge-effects: found no column of judges")
    if judge_effects and len(given.judge_ids) < 2:
        raise ConfigError(f"{given.source}: --judge-effects: found one judge, expected two or more")


def likelihood(
    given: Comparisons,
    *,
    ties: str = "half",
    prior: float | None = None,
    order: bool = False,
    length: str = "none",
    judge_effects: bool = False,
) -> Likelihood:
    """Return the likelihood of comparisons; prompts are what the bootstrap resamples."""
    if given.rankings is not None:
        return Rankings(len(given.items), given.rankings, given.lists, prior=prior)
    lengths = None
    if length != "none":
        assert given.lengths is not None
        difference = given.lengths[:, 0] - given.lengths[:, 1]
        lengths = np.tanh(difference / difference.std())
    return Pairs(
        len(given.items),
        given.first,
        given.second,
        given.outcomes,
        given.lists,
        prior=prior,
        tie=ties == "davidson",
        order=order,
        lengths=lengths,
        each=length == "each",
        judges=given.judges if judge_effects else None,
    )


def _graph(model: Likelihood, strong: bool) -> tuple[int, Index]:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    winners, losers = model.edges()
    n = model.n_items
    graph = coo_matrix((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    parts: tuple[int, Index] = connected_components(
        graph, directed=True, connection="strong" if strong else "weak"
    )
    return parts


def components(model: Likelihood) -> list[Index]:
    """Return the items of each part of the graph of comparisons, the largest first."""
    n, of = _graph(model, strong=False)
    parts = [np.flatnonzero(of == k) for k in range(n)]
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _apart(parts: list[Index], items: list[str]) -> str:
    names = "; ".join(f"{{{some([items[i] for i in part])}}}" for part in parts[:4])
    return f"comparisons fall apart into {len(parts)} components: {names}{'; ...' * (len(parts) > 4)}"


def _check_finite(model: Likelihood, given: Comparisons) -> None:
    """Raise DataError if some items never lose to the others: without a prior they are infinitely strong."""
    n, of = _graph(model, strong=True)
    if n == 1:
        return
    winners, losers = model.edges()
    crossing = of[winners] != of[losers]
    # Parts that nothing of another part beat, and parts that beat nothing of another one.
    unbeaten = np.setdiff1d(np.arange(n), of[losers[crossing]])
    winless = np.setdiff1d(np.arange(n), of[winners[crossing]])
    single = [
        (given.items[int(np.flatnonzero(of == k)[0])], word)
        for ks, word in ((unbeaten, "won"), (winless, "lost"))
        for k in ks
        if np.count_nonzero(of == k) == 1
    ]
    hint = "strengths are infinite; expected a prior (--prior 1)"
    if single:
        who = some([f"{name!r} {word} every comparison" for name, word in single])
        raise DataError(f"{given.source}: {who}: {hint}")
    top = [given.items[i] for i in np.flatnonzero(of == unbeaten[0])]
    who = f"{some(top)} ({count(len(top), 'item')}) won every comparison with the others"
    raise DataError(f"{given.source}: {who}: {hint}")


def _inverse(information: Any, n: int) -> Floats:
    """The covariance of the first ``n`` parameters."""
    right = np.eye(information.shape[0])[:, :n]
    return solved(information, right)[:n]


def _default_intervals(given: Comparisons, n: int) -> Intervals:
    if given.named_lists and len(given.list_ids) < len(given):
        return "bootstrap"
    return "profile" if n <= _PROFILED else "wald"


def profile_intervals(model: Likelihood, x: Floats, contrast: Floats, covariance: Floats) -> Floats:
    """Return the values of each contrast at which twice the profile log-likelihood is 3.84 below its maximum.

    Found by the secant rule on the signed root of the difference, which is nearly linear.

    Parameters
    ----------
    model : Likelihood
    x : float64 (n_parameters), the maximum.
    contrast : float64 (n_items, n_items)
        A row for each value: its weights of the strengths.
    covariance : float64 (n_items, n_items) of the values.

    Returns
    -------
    float64 (n_items, 2)
    """
    best = model.posterior(x).value
    out = np.full((len(contrast), 2), np.nan)
    with progress.step("profile likelihood", len(contrast), "item") as advance:
        for i, row in enumerate(contrast):
            c = np.zeros(len(x))
            c[: len(row)] = row
            error = float(np.sqrt(max(covariance[i, i], 0.0)))
            for side in (0, 1) if error > 0 else ():
                sign = 2 * side - 1
                v0, r0, at = float(c @ x), 0.0, x
                v = v0 + sign * QUANTILE * error
                for _ in range(50):
                    at, value = _constrained(model, at, c, v)
                    r = float(np.sqrt(max(2 * (best - value), 0.0)))
                    if abs(r - QUANTILE) < 1e-7 or r == r0:
                        break
                    v0, r0, v = v, r, v + (QUANTILE - r) * (v - v0) / (r - r0)
                out[i, side] = v
            advance(1)
    return out


def _constrained(model: Likelihood, x: Floats, c: Floats, v: float) -> tuple[Floats, float]:
    """The maximum under c @ x == v, and its value."""
    point = model.posterior(x)
    along = solved(point.information, c)
    x = x + along * ((v - c @ x) / (c @ along))
    for _ in range(100):
        point = model.posterior(x)
        both = solved(point.information, np.column_stack([point.gradient, c]))
        step = both[:, 0] - both[:, 1] * ((c @ both[:, 0]) / (c @ both[:, 1]))
        share = 1.0
        while (
            model.posterior(x + share * step).value < point.value - 1e-12 * abs(point.value) and share > 1e-6
        ):
            share /= 2
        x = x + share * step
        if np.abs(step).max() < 1e-9:
            break
    return x, model.posterior(x).value


def bootstrap_intervals(
    model: Likelihood,
    x: Floats,
    contrast: Floats,
    given: Comparisons,
    prior: float | None,
    samples: int,
    seed: int,
) -> tuple[Floats, int]:
    """Return percentile intervals of resampled prompts (n_items, 2), and the samples left out.

    Prompts are drawn with all of their comparisons, which are not independent. Samples whose likelihood has
    no maximum are left out; FitError if these are more than half.
    """
    rng = np.random.default_rng(seed)
    clusters = int(given.lists.max()) + 1
    drawn, failed = [], 0
    with progress.step("bootstrap", samples, "sample") as advance:
        for _ in range(samples):
            weights = np.bincount(rng.integers(clusters, size=clusters), minlength=clusters).astype(
                np.float64
            )
            other = model.weighted(weights)
            try:
                if prior is None and _graph(other, strong=True)[0] > 1:
                    failed += 1
                else:
                    drawn.append(contrast @ other.maximum(x, 1e-6)[: len(contrast)])
            except FitError:
                failed += 1
            advance(1)
    if failed * 2 > samples:
        raise FitError(
            f"bootstrap: {failed} of {samples} samples have no finite strengths; expected a prior (--prior)"
        )
    return np.percentile(np.array(drawn), [2.5, 97.5], axis=0).T, failed


def chances(strengths: Floats, tie: float | None) -> Floats:
    """Return the probability that each item beats each other one, half of a tie included, (n, n)."""
    half = (strengths[:, None] - strengths[None, :]) / 2
    extra = 0.0 if tie is None else np.exp(tie - np.abs(half))
    top = np.abs(half)
    win, loss = np.exp(half - top), np.exp(-half - top)
    found: Floats = (win + extra / 2) / (win + loss + extra)
    return found


def _win_rates(model: Likelihood, x: Floats, reference: int | None) -> Floats:
    p = chances(x[: model.n_items], x[-1] if getattr(model, "tie", False) else None)
    if reference is not None:
        return np.array(p[:, reference])
    np.fill_diagonal(p, 0)
    means: Floats = p.sum(axis=1) / (len(p) - 1)
    return means


def _counts(given: Comparisons) -> Floats:
    n = len(given.items)
    out = np.zeros((n, 3))
    if given.rankings is not None:
        for ranking in given.rankings:
            below = np.arange(len(ranking))[::-1]
            out[ranking, 0] += below
            out[ranking, 2] += below[::-1]
        return out
    for k in range(3):
        out[:, k] = np.bincount(given.first, given.outcomes[:, k], n)
        out[:, k] += np.bincount(given.second, given.outcomes[:, 2 - k], n)
    return out


def _fit(model: Likelihood, x: Floats, given: Comparisons) -> Fit | None:
    if not isinstance(model, Pairs):
        return None
    p1, pt, p2 = model.probabilities(x)
    win, tie, loss = model.outcomes.T
    n, score = win + tie + loss, win + tie / 2
    low, high = np.minimum(model.first, model.second), np.maximum(model.first, model.second)
    turned = model.first > model.second
    codes, cell = np.unique(low * model.n_items + high, return_inverse=True)

    def by_pair(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, len(codes)), dtype=np.float64)

    expected = by_pair(n * np.where(turned, p2 + pt / 2, p1 + pt / 2))
    observed = by_pair(np.where(turned, n - score, score))
    variance = by_pair(n * (p1 + p2 - (p1 - p2) ** 2) / 4)
    residuals = (observed - expected) / np.sqrt(np.maximum(variance, 1e-300))
    statistic = float(residuals @ residuals)
    free = (
        model.n_parameters
        - (1 if model.precision[0] == 0 else 0)
        - len(given.judge_ids) * (model.judges is not None)
    )
    degrees = len(codes) - free
    p = None
    if degrees > 0 and not given.soft:
        from scipy.special import gammaincc

        p = float(gammaincc(degrees / 2, statistic / 2))
    one, two = np.divmod(codes, model.n_items)
    worst = (
        [
            (
                given.items[one[k]],
                given.items[two[k]],
                float(observed[k]),
                float(expected[k]),
                float(residuals[k]),
            )
            for k in np.argsort(-np.abs(residuals), kind="stable")[:5].tolist()
        ]
        if degrees > 0
        else []
    )
    total = by_pair(n)
    cycles, triads = _triads(model.n_items, one, two, 2 * observed - total)
    return Fit(statistic, degrees, p, worst, cycles, triads)


def _triads(n: int, one: Index, two: Index, lead: Floats) -> tuple[int, int]:
    """Cyclic triads, and all whose three pairs have a majority."""
    from scipy.sparse import csr_matrix

    kept = lead != 0
    winners = np.where(lead > 0, one, two)[kept]
    losers = np.where(lead > 0, two, one)[kept]
    beats = csr_matrix((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    beats = beats.toarray() if n <= 3000 else beats
    either = beats + beats.T

    def closed(matrix: Any) -> int:  # trace of the cube
        square = matrix @ matrix
        product = square.multiply(matrix.T) if hasattr(square, "multiply") else square * matrix.T
        return round(float(product.sum()))

    return closed(beats) // 3, closed(either) // 6


def _fit_notes(fit: Fit) -> list[str]:
    notes = []
    if fit.degrees > 0:
        p = "" if fit.p is None else f", p {p_text(fit.p)}"
        notes.append(f"fit of pairs: chi-square {fit.chi_square:.1f} of {fit.degrees} degrees of freedom{p}")
        a, b, observed, expected, z = fit.worst[0]
        notes.append(f"worst pair: {a} against {b} won {observed:.6g}, expected {expected:.1f} (z {z:+.1f})")
    else:
        notes.append("fit of pairs: not tested, as many parameters as pairs")
    if fit.triads:
        notes.append(f"{fit.cycles} of {fit.triads} triads are cyclic (a beats b, b beats c, c beats a)")
    return notes


def _what(given: Comparisons, model: Likelihood, ties: str, prior: float | None) -> str:
    kind = (
        "Plackett-Luce"
        if given.rankings is not None
        else "Davidson"
        if ties == "davidson"
        else "Bradley-Terry"
    )
    noun = "ranking" if given.rankings is not None else "comparison"
    prompts = f", {count(len(given.list_ids), 'prompt')}" if given.named_lists else ""
    prior_text = "no prior" if prior is None else f"prior with standard deviation {prior:g}"
    return f"{kind}: {count(len(given), noun)} of {count(model.n_items, 'item')}{prompts}, {prior_text}"


def _effects(model: Likelihood, x: Floats, given: Comparisons) -> dict[str, float]:
    names = [
        f"judge {given.judge_ids[int(name[6:])]}"
        if name.startswith("judge ")
        else f"length {given.items[int(name[7:])]}"
        if name.startswith("length ")
        else name
        for name in model.names
    ]
    return dict(zip(names, x[model.n_items :].tolist(), strict=True))


def next_comparisons(
    covariance: Floats, strengths: Floats, items: Sequence[str], n: int, tie: float | None = None
) -> list[Next]:
    """Return comparisons that lower the expected mean variance of differences of strengths most, one by one.

    A comparison of i and j adds the information w = p (1 - p) (with ties: the variance of a score) to
    c = e_i - e_j, so that the covariance S loses S c c' S w / (1 + w c' S c). Each is chosen with those
    before it asked for.

    Parameters
    ----------
    covariance : float64 (n_items, n_items)
    strengths : float64 (n_items)
    """
    size = len(strengths)
    half = (strengths[:, None] - strengths[None, :]) / 2
    top = np.abs(half)
    win, loss = np.exp(half - top), np.exp(-half - top)
    total = win + loss + (0.0 if tie is None else np.exp(tie - top))
    p1, p2 = win / total, loss / total
    weight = (p1 + p2 - (p1 - p2) ** 2) / 4
    centre = np.eye(size) - 1 / size
    s = centre @ covariance @ centre
    found = []
    for _ in range(n if size > 1 else 0):
        square = s @ s
        d, e = np.diag(s), np.diag(square)
        spread = d[:, None] + d[None, :] - 2 * s
        drop = weight * (e[:, None] + e[None, :] - 2 * square) / (1 + weight * spread)
        drop[np.tril_indices(size)] = -np.inf
        i, j = divmod(int(np.argmax(drop)), size)
        trace = float(np.trace(s))
        found.append(Next(items[i], items[j], float(drop[i, j]) / trace if trace > 0 else 0.0))
        c = s[:, i] - s[:, j]
        s = s - np.outer(c, c) * (weight[i, j] / (1 + weight[i, j] * spread[i, j]))
    return found
