"""A model in words, as tables and as a record: its facts and its weights.

Models describe themselves by these functions, which therefore cannot import them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.tables.table import Column, Row, Table, facts_table, table_of
from rerank.core.tables.text import facts, pairs
from rerank.core.text import count
from rerank.data.names import Columns
from rerank.data.selection import columns_matching
from rerank.evaluation.results import plain
from rerank.models.describe_training import (
    abstain_lines,
    base_lines,
    choice_lines,
    gain_line,
    margin_line,
    spread_lines,
    unjudged_lines,
)
from rerank.models.training import LATER, RestartsRecord, plain_margin

RAW = "of the raw features, after missing values are filled: scores are their sum and a constant"
SCALED = "of the scaled features"
MOST_ROWS = 50  # weights in a notebook


@dataclass(frozen=True)
class Scale:
    """Scaling of a feature, and the weight of the raw feature."""

    shift: float
    divisor: float
    raw_weight: float | None


@dataclass(frozen=True)
class ShownWeights:
    """The rows of weights that are shown of a model, and what to say about them.

    Attributes
    ----------
    rows : names and weights, the heaviest first.
    n : how many rows there are without a choice of features.
    features : the names of the features that were chosen, None = all.
    constant : what raw scores have besides, None if the weights are those of the model itself.
    kind : what the weights are of, "" if the model scales no feature.
    scales : of a feature that is scaled to (x - shift) / divisor the shift, the divisor, which is infinite if
        the feature is constant, and the weight of the raw feature if the model is linear.
    """

    rows: list[tuple[str, float]]
    n: int
    features: frozenset[str] | None = None
    constant: float | None = None
    kind: str = ""
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def scale_of(self, row: str) -> dict[str, float]:
        """Return the scale of a row's feature by the names that JSON and tables have, empty without one."""
        scale = self.scales.get(_feature_of(row, self.scales))
        found = {} if scale is None else asdict(scale)
        return {key: value for key, value in found.items() if value is not None}

    def notes(self, top: int | None) -> list[str]:
        """Return lines on what is not shown of the first ``top`` rows, and on the constant."""
        left, others = len(self.rows) - len(self.rows[:top]), self.n - len(self.rows)
        lines = [f"... and {left} more"] if left else []
        lines += [f"... and {others} of other features"] if others else []
        if self.constant is not None:
            what = "the same for all items: it changes no order in a list"
            lines.append(f"constant {self.constant:.6g}, {what}")
        return lines

    def fills(self, model: Any) -> list[tuple[str, float, int]]:
        """Return the rows of ``Imputation.rows`` of the features that were chosen."""
        rows = [] if model.imputation is None else model.imputation.rows(model.input_names)
        return [row for row in rows if self.features is None or row[0] in self.features]


def shown_weights(
    model: Any, features: Sequence[str] = (), unscaled: bool = False, source: str = "the model"
) -> ShownWeights:
    """Return the weights to show of a model.

    Parameters
    ----------
    model : a model.
    features : only rows of these features, items as ``--features`` takes them.
    unscaled : weights of the raw features.
    source : how errors begin.

    Raises
    ------
    ConfigError, DataError
        If the model has no weights of raw features, or an item matches no feature.
    """
    is_raw = model.scaling is None or model.scaling.name == "none"
    rows, constant, kind = model.explain(), None, "" if is_raw or model.weighs_items else SCALED
    scales = {} if unscaled else _scales(model)
    if unscaled:
        if not hasattr(model, "unscaled"):
            raise ConfigError(f"{source}: a model of kind {model.kind} has no weights of raw features")
        raw = model.unscaled(source)
        own = set(raw.names)
        rest = [row for row in rows if row[0] not in own]  # thresholds
        rows, constant, kind = [*raw.heaviest_first(), *rest], raw.constant, RAW
    elif scales and kind:
        kind += ", (x - shift) / divisor" + "; --unscaled: of the raw ones" * hasattr(model, "unscaled")
    n, wanted = len(rows), None
    if features:
        names = model.feature_names
        chosen = columns_matching(Columns(names, len(names)), features, source)
        wanted = frozenset(names[j] for j in np.flatnonzero(chosen).tolist())
        rows = [row for row in rows if _feature_of(row[0], set(names)) in wanted]
    return ShownWeights(rows, n, wanted, constant, kind, scales)


def _scales(model: Any) -> dict[str, Scale]:
    """The scales of features by name, none if they are scaled within lists, by ranks or not at all."""
    if model.scaling is None or "divisor" not in model.scaling.values:
        return {}
    divisors = model.scaling.values["divisor"]
    shifts = model.scaling.values.get("shift", np.zeros(len(divisors)))
    raw = [None] * len(divisors)
    if hasattr(model, "unscaled"):
        with np.errstate(over="ignore"):
            raw = (model.weights / divisors).tolist()
    columns = zip(model.feature_names, shifts.tolist(), divisors.tolist(), raw, strict=True)
    return {name: Scale(*values) for name, *values in columns}


def _feature_of(row: str, names: Container[str]) -> str:
    """The feature of a row, which may go on after its name, as in ``length >= 3``; "" if it has none."""
    while row not in names:
        row, space, _ = row.rpartition(" ")
        if not space:
            return ""
    return row


def _parts(model: Any) -> dict[str, Any]:
    training = model.training.as_json()
    if "unlabelled" in training:
        training["unlabelled"] = _without_sketch(training["unlabelled"])
    return {
        "kind": model.kind,
        "learner": training["learner"],
        "settings": training["settings"],
        **model.described(),
        **{f"{one.kind}_features": one.summary() for one in model.chain.sources},
        **({} if model.imputation is None else {"missing": _missing(model)}),
        "scaling": model.scaling_name,
        "data": _without_sketch(training["data"]),
        "rounds": training["rounds"],
        **({} if model.base_weight is None else {"base_weight": model.base_weight}),
        **({} if model.calibration is None else {"calibration": model.calibration.summary()}),
        "keep_margin": plain_margin(model.keep_margin),
        "keep": training["keep"],
        "gains": training["gains"],
        "seeds": training["seeds"],
        **{name: training[name] for name in LATER if name in training},
    }


def _missing(model: Any) -> str:
    """The policy for missing values, and how many features lacked some in training."""
    assert model.imputation is not None
    rows = model.imputation.rows(model.input_names)
    lacking = f"; in training {count(len(rows), 'feature')} had missing values" if rows else ""
    scaled = " among scaled values" if model.missing_policy == "zero" and model.imputation.after else ""
    return f"{model.missing_policy}{scaled}{lacking}"


def _fill_lines(model: Any, weights: ShownWeights, top: int | None) -> list[str]:
    """The means that replace missing values, and how many lack one."""
    rows = weights.fills(model)
    if not rows[:top]:
        return []
    assert model.imputation is not None
    n = model.imputation.n_items
    least = model.missing_policy == "list-min"
    shown = [
        (name, ("" if least else f"{0.0 if mean != mean else mean: .6g}  ") + f"{k} of {n} items")
        for name, mean, k in rows[:top]
    ]
    lists = ", if no item of the list has one" if model.missing_policy == "list-mean" else ""
    filled = "" if least else f"instead of a missing value{lists}; "
    lines = ["", f"{filled}items without one in training", *pairs(shown)]
    return [*lines, f"... and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else lines


def _without_sketch(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "sketch"}


def model_record(
    model: Any, top: int | None = None, fragments: Any | None = None, shown: ShownWeights | None = None
) -> dict[str, Any]:
    """Return a model without its arrays, its weights by name, and fragments of trees, for JSON.

    ``shown`` are the weights; None = all of the model's own.
    """
    shown = shown or shown_weights(model)
    remarks = model.remarks()
    weights = [
        {"name": name, "weight": weight, **shown.scale_of(name)}
        | ({"remark": remarks[name]} if name in remarks else {})
        for name, weight in shown.rows[:top]
    ]
    shares = [{"name": name, "share": share} for name, share in model.step_shares()[:top]]
    parts = {**_parts(model), "features": len(model.feature_names), "weights": weights}
    if model.imputation is not None:
        rows = [(name, None if mean != mean else mean, n) for name, mean, n in shown.fills(model)]
        fills = [{"name": name, "mean": mean, "missing": n} for name, mean, n in rows]
        filled = {"policy": model.missing_policy, "after_scaling": model.imputation.after}
        parts["missing"] = filled | {"features": fills}
    if weights:
        scaled = "scaled features" if shown.constant is None and shown.kind else "raw features"
        parts["weights_of"] = "support items" if model.weighs_items else scaled
    if shown.constant is not None:
        parts |= {"unscaled": True, "constant": shown.constant}
    more = ({"shares": shares} if shares else {}) | ({} if fragments is None else fragments.as_json())
    record: dict[str, Any] = plain(parts | more)
    return record


def model_tables(
    model: Any, top: int | None = None, fragments: Any | None = None, shown: ShownWeights | None = None
) -> list[Table]:
    """Return what is known of a model, its weights, its features' shares of steps, and fragments of trees."""
    feature = Column("feature", ("name",), left=True)
    share = Column("share of all steps", ("share",), "{:.1%}".format)
    shares = Table((feature, share), tuple(map(Row, model.step_shares()[:top])))
    weights = shown or shown_weights(model)
    known = facts_table(model_facts(model) + _kind_fact(weights, top))
    tables = [known, weight_table(model, top, weights), _fill_table(weights.fills(model), top), shares]
    tables += [] if fragments is None else fragments.tables()
    return [table for table in tables if table.rows]


def _kind_fact(weights: ShownWeights, top: int | None) -> list[tuple[str, str]]:
    """Return the kind of the weights, if features are scaled."""
    return [("weights", weights.kind)] if weights.kind and weights.rows[:top] else []


def _fill_table(rows: list[tuple[str, float, int]], top: int | None) -> Table:
    columns = (
        Column("feature", ("name",), left=True),
        Column("fill value", ("mean",), lambda mean: f"{0.0 if mean != mean else mean:.6g}"),
        Column("items without one in training", ("missing",)),
    )
    return Table(columns, tuple(map(Row, rows[:top])))


def weight_table(model: Any, top: int | None = None, weights: ShownWeights | None = None) -> Table:
    """Return the weights, the heaviest first."""
    weights = weights or shown_weights(model)
    remarks, shown = model.remarks(), weights.rows[:top]
    columns = [Column("feature", ("name",), left=True), Column("weight", ("weight",), "{:.6g}".format)]
    scales = [weights.scale_of(name) for name, _ in shown]
    keys = list(dict.fromkeys(key for scale in scales for key in scale))
    columns += [
        Column(key.replace("_", " "), (key,), lambda n: "" if n is None else f"{n:.6g}") for key in keys
    ]
    columns += [Column("remark", ("remark",), left=True)] if remarks else []
    rows = [
        Row((name, weight, *map(scale.get, keys), *([remarks.get(name, "")] if remarks else [])))
        for (name, weight), scale in zip(shown, scales, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), notes=tuple(weights.notes(top)))


def model_facts(model: Any) -> list[tuple[str, str]]:
    """Return what is known of a model but its weights, as names and texts."""
    parts, training = _parts(model), model.training
    rows = [("model", parts["kind"]), ("learner", parts["learner"] or "unknown")]
    parts["rounds"] = {name: value for name, value in parts["rounds"].items() if not isinstance(value, list)}
    order = ["missing", "scaling", "data", "unlabelled", "list_weights", "rounds", "notes"]
    shown = ("settings", *model.described(), *(f"{s.kind}_features" for s in model.chain.sources), *order)
    rows += [(name.replace("_", " "), _flat(parts[name])) for name in shown if parts.get(name)]
    rows += [("choice", line.strip()) for line in choice_lines(training)[:2]]
    rows += [("unjudged", line.removeprefix("unjudged: ")) for line in unjudged_lines(training)]
    rows += [("base", line) for line in base_lines(training)]
    rows += [("dev", line) for line in abstain_lines(training)]
    if model.base_weight is not None:
        rows.append(("base score", f"{model.base_weight:.6g} times the first stage's score is added"))
    if model.keep_margin is not None:
        rows.append(("margin", margin_line(model).removeprefix("keep margin ")))
    rows += [("calibration", parts["calibration"])] if "calibration" in parts else []
    rows += [("gain", gain_line(gain)) for gain in training.gains]
    rows += [("seeds", _flat(parts["seeds"]))] if parts["seeds"] else []
    rows.append(("features", f"{len(model.feature_names)}, {model.n_weighted()} with a weight"))
    return rows


def model_lines(
    model: Any, top: int | None = None, fragments: Any | None = None, shown: ShownWeights | None = None
) -> list[str]:
    """Return the same as aligned text, the heaviest weights first."""
    weights = shown or shown_weights(model)
    lines, heaviest = facts(model_facts(model) + _kind_fact(weights, top)), weights.rows[:top]
    if heaviest:
        remarks = model.remarks()
        rows = [(name, f"{weight: .6g}  {remarks.get(name, '')}") for name, weight in heaviest]
        lines += ["", *pairs(rows)]
    lines += weights.notes(top) if heaviest or not model.weighs_items else []
    lines += _fill_lines(model, weights, top)
    lines += _share_lines(model.step_shares(), top)
    lines += [] if fragments is None else fragments.lines()
    rounds = model.training.rounds
    if isinstance(rounds, RestartsRecord) and len(rounds.restarts) > 1:
        lines += ["", *spread_lines(rounds, [name for name, _ in heaviest])]
    return lines


def model_records(model: Any) -> list[dict[str, Any]]:
    """Return all weights with their scales and remarks, for data frames and notebooks."""
    remarks, shown = model.remarks(), shown_weights(model)
    return [
        {"feature": name, "weight": weight, **shown.scale_of(name)}
        | ({"remark": remarks.get(name, "")} if remarks else {})
        for name, weight in shown.rows
    ]


def notebook_table(model: Any) -> Table:
    """Return the first weights, above what else is known of the model."""
    records, known = model_records(model), [line for line in model_lines(model, top=0) if line.strip()]
    more = [f"... and {len(records) - MOST_ROWS} more"] if len(records) > MOST_ROWS else []
    return table_of(records[:MOST_ROWS], title=repr(model), notes=[*more, *known])


def _share_lines(shares: list[tuple[str, float]], top: int | None) -> list[str]:
    """Return each feature's share of all steps, for models that have shares."""
    if not shares[:top]:
        return []
    rows = pairs([(name, f"{share:6.1%}") for name, share in shares[:top]])
    left = [f"... and {len(shares) - len(rows)} more"] if len(shares) > len(rows) else []
    return ["", "share of all steps by feature", *rows, *left]


def _flat(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items())


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return f"({_flat(value)})"
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
