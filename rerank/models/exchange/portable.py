"""Scorer of single items over raw features, which every export format writes.

Scaling, what fills missing values, indicators and the parts of each kind of model become a few plain parts,
which a writer of any format can express or refuse.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Ints, Mask
from rerank.models.base import Model
from rerank.models.dual import DualModel
from rerank.models.exchange.trees import (
    LARGEST,
    ZEROS,
    PortableTree,
    effective,
    next_double,
    pruned,
    raw_thresholds,
    scaled,
    step_tree,
)
from rerank.models.fusion import CombMnz, CombSum
from rerank.models.lightgbm_parser import Tree
from rerank.models.linear import Linear, ThresholdModel
from rerank.models.stumps import StumpModel
from rerank.models.trees import TreeModel

BASE = "base_score"
_OF_LISTS = {
    "voted": "votes are counted within each list; train another learner, such as perceptron",
    "rrf": "ranks are taken within each list; train combsum",
    "fusion": "runs are fused list by list; train combsum",
    "random": "random scores belong to no features",
    "preference": "support items are compared with each item; --to svmtk writes them",
    "classes": "scores of several classes, not one score",
    "dual-classes": "scores of several classes, not one score",
}


class Term(NamedTuple):
    """One summand of a score: weight * ((x - shift) / divisor) of a value x of the input ``source``.

    With ``present`` not None the summand is that for every value. ``missing`` is what a missing value adds,
    NaN if it has no score.
    """

    source: int
    weight: float
    shift: float
    divisor: float
    missing: float
    present: float | None = None


class Steps(NamedTuple):
    """A step function of the input ``source``: values (n + 1) by how many thresholds (n) x >= at passes.

    Thresholds rise. ``missing`` is what a missing value adds, NaN if it has no score; with ``apart`` to a sum
    of its own, which is added last.
    """

    source: int
    at: Floats
    values: Floats
    missing: float
    apart: bool


@dataclass(frozen=True, eq=False)
class Portable:
    """A scorer: the sum of the terms, the steps or trees, what is missing, and the weighted base score.

    Attributes
    ----------
    kind : the kind of the model.
    inputs : names of the raw features.
    absent : value of a feature that an item lacks altogether: 0, or NaN = missing.
    terms, steps, trees : summed in this order, each part in a sum of its own.
    counted : whether the sum of the terms is multiplied by the number of inputs that are not missing.
    base_weight : weight of the first stage's score, None without one.
    keep_margin : see ``data.first_best``; None without one.
    thresholds, labels : of models with grades.
    model : the model that it is of.
    """

    kind: str
    inputs: list[str]
    absent: float = 0.0
    terms: list[Term] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    trees: list[PortableTree] = field(default_factory=list)
    counted: bool = False
    base_weight: float | None = None
    keep_margin: float | None = None
    thresholds: Floats | None = None
    labels: Floats | None = None
    model: Model | None = None

    def scores(self, values: Floats, base: Floats | None = None) -> Floats:
        """Return the score of each row (n_items, n_inputs), NaN where a missing value has none.

        ``base``: the first stage's scores, float64 (n_items), if the scorer weights them.
        """
        n = len(values)
        total = np.zeros(n)
        with np.errstate(over="ignore", invalid="ignore"):
            for term in self.terms:
                x = values[:, term.source]
                product = (x - term.shift) / term.divisor * term.weight
                there = product if term.present is None else np.full(n, term.present)
                total += np.where(np.isnan(x), term.missing, there)
            if self.counted:
                total *= np.count_nonzero(~np.isnan(values), axis=1)
            part, gone = np.zeros(n), np.zeros(n)
            for steps in self.steps:
                x = values[:, steps.source]
                missing = np.isnan(x)
                there = steps.values[np.searchsorted(steps.at, x, side="right")]
                if steps.apart:
                    part += np.where(missing, 0.0, there)
                    gone += np.where(missing, steps.missing, 0.0)
                else:
                    part += np.where(missing, steps.missing, there)
            for tree in self.trees:
                part += tree.scores(values)
            total = total + part + gone
            return total if self.base_weight is None else total + self.base_weight * _given(base)

    def used(self) -> list[int]:
        """Return the inputs that a score depends on, rising."""
        found = {term.source for term in self.terms} | {steps.source for steps in self.steps}
        for tree in self.trees:
            found.update(np.unique(tree.feature).tolist())
        return sorted(found)

    def as_trees(self) -> list[PortableTree]:
        """Return trees instead of steps; only if there are no terms."""
        return [step_tree(one.source, one.at, one.values, one.missing) for one in self.steps] + self.trees


def _given(base: Floats | None) -> Floats:
    assert base is not None
    return base


class _Column(NamedTuple):
    """A column of the model: where its values are from, its scale, and what fills it."""

    source: int
    indicator: bool
    shift: float
    divisor: float
    fill: float  # scaled value that replaces a missing one; NaN = it stays missing
    empty: bool  # no training item had a value: it is 0 always


def portable(model: Model, source: str) -> Portable:
    """Return the scorer of a model; ``source`` is how errors begin.

    Raises
    ------
    ConfigError
        In one line, if scores depend on the whole list or the kind of model has no such form: the part that
        is in the way, and what to train instead.
    """
    if model.adapts:
        raise ConfigError(
            f"{source}: a {model.kind} model makes a ranker for each list; train its base learner"
        )
    if model.kind in _OF_LISTS:
        raise ConfigError(f"{source}: a {model.kind} model: {_OF_LISTS[model.kind]}")
    if model.chain.sources:
        raise ConfigError(f"{source}: its features are computed from texts, which no other tool does")
    if model.listwise:
        raise ConfigError(f"{source}: a {model.kind} model looks at the whole list")
    columns = _columns(model, source)
    if isinstance(model, Linear):
        found = Portable(model.kind, [], terms=_terms(columns, model.weights))
        if isinstance(model, ThresholdModel):
            found = replace(found, thresholds=model.thresholds, labels=model.labels)
    elif isinstance(model, CombSum):
        columns = [one._replace(fill=np.nan) if model.imputation is None else one for one in columns]
        terms = [
            term._replace(missing=0.0) if np.isnan(term.missing) else term
            for term in _terms(columns, model.weights)
        ]
        counted = isinstance(model, CombMnz)
        if counted and not np.isnan([one.fill for one in columns]).all():  # what is filled is there
            terms, counted = [_times(term, len(columns)) for term in terms], False
        found = Portable(model.kind, [], terms=terms, counted=counted)
    elif isinstance(model, DualModel):
        if model.kernel.name != "linear":
            raise ConfigError(f"{source}: a {model.kernel.name} kernel compares items; train --kernel linear")
        weights = model.support.transposed_product(model.coefficients)
        if not np.isfinite(weights).all():
            raise DataError(f"{source}: weights of features that are too large")
        found = Portable("linear", [], terms=_terms(columns, weights))
    elif isinstance(model, StumpModel):
        terms = _terms(columns, model.linear)
        if model.missing is not None:  # the steps say what a missing value adds, unless it has a weight in w
            weighed = {column.source for column, w in zip(columns, model.weights, strict=True) if w != 0}
            terms = [
                term._replace(missing=0.0) if np.isnan(term.missing) and term.source not in weighed else term
                for term in terms
            ]
        trees = _trees(columns, getattr(model, "trees", []), source)  # of conjunctions
        found = Portable(model.kind, [], terms=terms, steps=_steps(columns, model), trees=trees)
    elif isinstance(model, TreeModel):
        found = Portable(model.kind, [], trees=_trees(columns, model.trees, source))
    else:
        raise ConfigError(f"{source}: models of kind {model.kind} cannot be exported")
    return replace(
        found,
        inputs=list(model.input_names),
        absent=model.fill,
        base_weight=model.base_weight,
        keep_margin=model.keep_margin,
        model=model,
    )


def _columns(model: Model, source: str) -> list[_Column]:
    """The columns of a model; ConfigError if their values depend on other items."""
    imputation, scaling = model.imputation, model.scaling
    name = model.scaling_name
    if name.startswith("list-"):
        raise ConfigError(f"{source}: scaling {name} looks at the whole list; train with --scaling zscore")
    if name == "rank":
        raise ConfigError(
            f"{source}: scaling rank looks features up in all training values; train with --scaling zscore"
        )
    policy = model.missing_policy
    if policy is not None and policy.startswith("list-"):
        raise ConfigError(f"{source}: --missing {policy} looks at the whole list; train with --missing mean")
    width = len(model.feature_names)
    shift, divisor = np.zeros(width), np.ones(width)
    if scaling is not None and name != "none":
        divisor = scaling.divisors(source)
        shift = np.asarray(scaling.values.get("shift", shift))
    n = len(model.input_names)
    fill, empty = np.full(n, np.nan), np.zeros(n, dtype=bool)
    sources = list(range(n))
    if imputation is not None:
        if policy == "zero":
            fill[:] = 0.0
        elif imputation.values:
            empty = np.isnan(imputation.values["means"])
            fill = np.where(empty, 0.0, imputation.values["means"])
        sources += imputation.indicated.tolist()
        if scaling is None or model.chain.fitted.index(imputation) < model.chain.fitted.index(scaling):
            fill = scaled(fill, shift[:n], divisor[:n])
    return [
        _Column(j, c >= n, float(shift[c]), float(divisor[c]), float(fill[j]), bool(empty[j] and c < n))
        for c, j in enumerate(sources)
    ]


def _times(term: Term, n: int) -> Term:
    """A summand times a number."""
    present = None if term.present is None else n * term.present
    return term._replace(weight=n * term.weight, missing=n * term.missing, present=present)


def _scaled(column: _Column, value: float) -> float:
    return float(scaled(np.array([value]), np.array([column.shift]), np.array([column.divisor]))[0])


def _terms(columns: list[_Column], weights: Floats) -> list[Term]:
    """The summands of weights (n_columns) that are not 0."""
    terms = []
    for column, weight in zip(columns, weights.tolist(), strict=True):
        if weight == 0.0:
            continue
        if column.indicator:
            missing, present = weight * _scaled(column, 1.0), weight * _scaled(column, 0.0)
            terms.append(Term(column.source, weight, column.shift, column.divisor, missing, present))
            continue
        missing = weight * column.fill  # NaN without a fill
        constant = column.empty or column.divisor == np.inf
        present = weight * _scaled(column, 0.0) if column.empty else 0.0 if constant else None
        terms.append(Term(column.source, weight, column.shift, column.divisor, missing, present))
    return terms


def _steps(columns: list[_Column], model: StumpModel) -> list[Steps]:
    """The step functions of a model's stumps, in the order of its columns."""
    stumps, step = model.stumps
    unknown = model.missing is None
    of_missing = np.full(len(columns), np.nan) if unknown else np.nan_to_num(model.of_missing())
    found = []
    for j, column in enumerate(columns):
        part = slice(int(stumps.first[j]), int(stumps.first[j + 1]))
        at, size = stumps.at[part], step[part]
        missing = float(of_missing[j])
        if not len(at) and (unknown or missing == 0.0):
            continue
        zero = int(np.searchsorted(at, 0.0, side="right"))
        # Summed away from 0, as the kernel does.
        values = np.concatenate([-np.cumsum(size[:zero][::-1])[::-1], [0.0], np.cumsum(size[zero:])])

        def value(x: float, at: Floats = at, values: Floats = values) -> float:
            return float(values[np.searchsorted(at, x, side="right")])

        if column.indicator or column.empty:
            there = value(_scaled(column, 0.0))
            gone = value(_scaled(column, 1.0)) if column.indicator else there
            found.append(Steps(column.source, np.empty(0), np.array([there]), gone, False))
            continue
        filled = not np.isnan(column.fill)
        if filled:
            missing = value(column.fill)
        n = len(at)
        raw = raw_thresholds(next_double(at, -np.inf), np.full(n, column.shift), np.full(n, column.divisor))
        reached = raw < LARGEST
        raw = np.where(np.isinf(raw), -LARGEST, next_double(raw, np.inf))[reached]
        found.append(Steps(column.source, raw, values[: int(reached.sum()) + 1], missing, not filled))
    return found


def _trees(columns: list[_Column], trees: list[Tree], source: str) -> list[PortableTree]:
    """Trees of a model over raw features."""
    shift = np.array([column.shift for column in columns])
    divisor = np.array([column.divisor for column in columns])
    fill = np.array([column.fill for column in columns])
    empty = np.array([column.empty for column in columns], dtype=bool)
    indicator = np.array([column.indicator for column in columns], dtype=bool)
    sources = np.array([column.source for column in columns], dtype=np.int32)
    plain = bool(np.all(shift == 0.0) and np.all(divisor == 1.0) and np.isnan(fill).all())
    found = []
    for tree in trees:
        threshold, nan_left = effective(tree)
        zero_missing: Mask = (tree.kind & ZEROS) != 0
        if zero_missing.any() and not plain:
            raise ConfigError(f"{source}: splits that take 0 for missing, of scaled or filled features")
        c = tree.feature
        decided: Ints = np.full(len(c), -1, dtype=np.int64)
        if not plain and len(c):
            nan_left = np.where(np.isnan(fill[c]), nan_left, fill[c] <= threshold)
            zero = scaled(np.zeros(len(c)), shift[c], divisor[c]) <= threshold
            one = scaled(np.ones(len(c)), shift[c], divisor[c]) <= threshold
            raw = raw_thresholds(threshold, shift[c], divisor[c])
            # An indicator is 1 of what is missing, 0 of every number.
            raw = np.where(indicator[c] | empty[c], np.where(zero, LARGEST, -np.inf), raw)
            nan_left = np.where(indicator[c], one, np.where(empty[c], zero, nan_left))
            threshold = raw
        threshold = np.minimum(threshold, LARGEST)
        decided[(threshold == LARGEST) & nan_left] = 1
        decided[(threshold == -np.inf) & ~nan_left] = 0
        # No number goes left: the children change places.
        swap = threshold == -np.inf
        left, right = np.where(swap, tree.right, tree.left), np.where(swap, tree.left, tree.right)
        decided[swap & (decided == 0)] = 1
        new = PortableTree(
            sources[c].astype(np.int32),
            np.where(swap, LARGEST, threshold),
            np.where(swap, ~nan_left, nan_left).astype(np.bool_),
            zero_missing,
            left.astype(np.int32),
            right.astype(np.int32),
            tree.leaf,
        )
        found.append(pruned(new, decided) if (decided >= 0).any() else new)
    return found
