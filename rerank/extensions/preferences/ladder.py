"""The ladder: items ranked by comparisons, with intervals, goodness of fit and what to compare next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import to_json
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.evaluation.results import plain
from rerank.extensions.preferences.comparisons import Comparisons, comparisons_of
from rerank.extensions.preferences.connections import apart, check_finite, components
from rerank.extensions.preferences.fit import Fit, fit_notes, fit_of
from rerank.extensions.preferences.intervals import (
    QUANTILE,
    Intervals,
    bootstrap_intervals,
    profile_intervals,
)
from rerank.extensions.preferences.models import Likelihood, Pairs, Rankings, chances_of, solved
from rerank.extensions.preferences.next_comparisons import Next, next_comparisons

_PROFILED = 100  # items up to which intervals of profile likelihood are the default


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
                f"{given.source}: {apart(parts, items)}; expected one that connects them, or --prior"
            )
        notes.append(f"{apart(parts, items)}: what is in two of them is compared by the prior alone")
    if prior is None:
        check_finite(model, given)
    x = model.maximum()
    centre = np.full(n, 1 / n) if reference is None else (np.arange(n) == items.index(reference)) * 1.0
    contrast = np.eye(n) - centre[None, :]
    strengths = contrast @ x[:n]
    point = model.posterior(x)
    covariance = contrast @ _inverse(point.information, n) @ contrast.T
    kind = _default_intervals(given, n, judge_effects) if intervals == "auto" else intervals
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
    fit = fit_of(model, x, given)
    what = {"bootstrap": "percentiles over prompts" if given.named_lists else "percentiles over comparisons"}
    if kind == "bootstrap":
        what["bootstrap"] += f", {samples} samples, seed {seed}"
    what |= {"profile": "profile likelihood", "wald": "Wald"}
    if kind != "none":
        notes.append(f"95% interval: {what[kind]}")
    notes = [_what(given, model, ties, prior), *notes]
    if fit is not None:
        notes += fit_notes(fit)
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
        next_comparisons(covariance, strengths, items, next, model.tie_at(x)),
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


def _inverse(information: Any, n: int) -> Floats:
    """The covariance of the first ``n`` parameters."""
    right = np.eye(information.shape[0])[:, :n]
    return solved(information, right)[:n]


def _default_intervals(given: Comparisons, n: int, judge_effects: bool) -> Intervals:
    if given.named_lists and len(given.list_ids) < len(given):
        return "bootstrap"
    return "profile" if n <= _PROFILED and not judge_effects else "wald"


def _win_rates(model: Likelihood, x: Floats, reference: int | None) -> Floats:
    strengths = x[: model.n_items]
    win, tie, _, _ = chances_of(strengths[:, None] - strengths[None, :], model.tie_at(x))
    p = win + tie / 2
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
