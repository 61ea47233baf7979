"""A model as text, as tables, or as a record."""

from __future__ import annotations

from typing import Any

from rerank.core.tables.sheet import Column, Row, Sheet, facts_sheet
from rerank.core.tables.text import facts, pairs
from rerank.core.text import count
from rerank.evaluation.results import plain
from rerank.models.base import Model, plain_margin
from rerank.models.fragments import ModelFragments
from rerank.models.training import LATER, RestartsRecord
from rerank.report.choice import choice_lines
from rerank.report.fragments import fragment_lines, fragment_records, fragment_sheets
from rerank.report.runs import spread_lines
from rerank.report.training import abstain_lines, base_lines, gain_line, margin_line, unjudged_lines
from rerank.report.weight_table import ShownWeights, shown_weights


def _parts(model: Model) -> dict[str, Any]:
    training = model.training.as_json()
    if "unlabelled" in training:
        training["unlabelled"] = _without_sketch(training["unlabelled"])
    return {
        "kind": model.kind,
        "learner": training["learner"],
        "settings": training["settings"],
        **model.described(),
        **({} if model.imputation is None else {"missing": _missing(model)}),
        "scaling": model.scaling_name,
        "data": _without_sketch(training["data"]),
        "rounds": training["rounds"],
        **({} if model.base_weight is None else {"base_weight": model.base_weight}),
        "keep_margin": plain_margin(model.keep_margin),
        "keep": training["keep"],
        "gains": training["gains"],
        "seeds": training["seeds"],
        **{name: training[name] for name in LATER if name in training},
    }


def _missing(model: Model) -> str:
    """The policy for missing values, and how many features lacked some in training."""
    assert model.imputation is not None
    rows = model.imputation.rows(model.input_names)
    lacking = f"; in training {count(len(rows), 'feature')} had missing values" if rows else ""
    return f"{model.missing_policy}{lacking}"


def _fill_lines(model: Model, weights: ShownWeights, top: int | None) -> list[str]:
    """The means that take the place of missing values."""
    rows = weights.fills(model)
    if not rows[:top]:
        return []
    assert model.imputation is not None
    n = model.imputation.n_items
    shown = [
        (name, f"{0.0 if mean != mean else mean: .6g}  {k} of {n} items") for name, mean, k in rows[:top]
    ]
    lists = ", if no item of the list has one" if model.missing_policy == "list-mean" else ""
    lines = ["", f"in place of a missing value{lists}; items without one in training", *pairs(shown)]
    return [*lines, f"... and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else lines


def _without_sketch(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "sketch"}


def model_record(
    model: Model,
    top: int | None = None,
    fragments: ModelFragments | None = None,
    shown: ShownWeights | None = None,
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
        parts["missing"] = {"policy": model.missing_policy, "features": fills}
    if weights:
        scaled = shown.constant is None and shown.kind
        parts["weights_of"] = "scaled features" if scaled else "raw features"
    if shown.constant is not None:
        parts |= {"unscaled": True, "constant": shown.constant}
    more = ({"shares": shares} if shares else {}) | ({} if fragments is None else fragment_records(fragments))
    record: dict[str, Any] = plain(parts | more)
    return record


def model_sheets(
    model: Model,
    top: int | None = None,
    fragments: ModelFragments | None = None,
    shown: ShownWeights | None = None,
) -> list[Sheet]:
    """Return what is known of a model, its weights, its features' shares of steps, and fragments of trees."""
    columns = (Column("feature", ("name",), left=True), Column("share of all steps", ("share",), _percent))
    shares = Sheet(columns, tuple(map(Row, model.step_shares()[:top])))
    weights = shown or shown_weights(model)
    known = facts_sheet(model_facts(model) + _kind_fact(weights))
    sheets = [known, weight_sheet(model, top, weights), _fill_sheet(weights.fills(model), top), shares]
    sheets += [] if fragments is None else fragment_sheets(fragments)
    return [sheet for sheet in sheets if sheet.rows]


def _kind_fact(weights: ShownWeights) -> list[tuple[str, str]]:
    """What the weights are of, if features are scaled."""
    return [("weights", weights.kind)] if weights.kind and weights.rows else []


def _fill_sheet(rows: list[tuple[str, float, int]], top: int | None) -> Sheet:
    columns = (
        Column("feature", ("name",), left=True),
        Column("in place of a missing value", ("mean",), lambda mean: f"{0.0 if mean != mean else mean:.6g}"),
        Column("items without one in training", ("missing",)),
    )
    return Sheet(columns, tuple(map(Row, rows[:top])))


def weight_sheet(model: Model, top: int | None = None, weights: ShownWeights | None = None) -> Sheet:
    """Return the weights, the heaviest first."""
    weights = weights or shown_weights(model)
    remarks, shown = model.remarks(), weights.rows[:top]
    columns = [Column("feature", ("name",), left=True), Column("weight", ("weight",), "{:.6g}".format)]
    scales = [weights.scale_of(name) for name, _ in shown]
    keys = list(dict.fromkeys(key for scale in scales for key in scale))
    columns += [Column(key.replace("_", " "), (key,), _number) for key in keys]
    columns += [Column("remark", ("remark",), left=True)] if remarks else []
    rows = [
        Row((name, weight, *map(scale.get, keys), *([remarks.get(name, "")] if remarks else [])))
        for (name, weight), scale in zip(shown, scales, strict=True)
    ]
    return Sheet(tuple(columns), tuple(rows), notes=tuple(weights.notes(top)))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def model_facts(model: Model) -> list[tuple[str, str]]:
    """Return what is known of a model but its weights, as names and texts."""
    parts, training = _parts(model), model.training
    rows = [("model", parts["kind"]), ("learner", parts["learner"] or "unknown")]
    parts["rounds"] = {name: value for name, value in parts["rounds"].items() if not isinstance(value, list)}
    shown = (
        "settings",
        *model.described(),
        "missing",
        "scaling",
        "data",
        "unlabelled",
        "list_weights",
        "rounds",
        "notes",
    )
    rows += [(name.replace("_", " "), _flat(parts[name])) for name in shown if parts.get(name)]
    rows += [("choice", line.strip()) for line in choice_lines(training)[:2]]
    rows += [("unjudged", line.removeprefix("unjudged: ")) for line in unjudged_lines(training)]
    rows += [("base", line) for line in base_lines(training)]
    rows += [("dev", line) for line in abstain_lines(training)]
    if model.base_weight is not None:
        rows.append(("base score", f"{model.base_weight:.6g} times the first stage's score is added"))
    if model.keep_margin is not None:
        rows.append(("margin", margin_line(model).removeprefix("keep margin ")))
    rows += [("gain", gain_line(gain)) for gain in training.gains]
    if parts["seeds"]:
        rows.append(("seeds", _flat(parts["seeds"])))
    rows.append(("features", f"{len(model.feature_names)}, {model.n_weighted()} with a weight"))
    return rows


def model_lines(
    model: Model,
    top: int | None = None,
    fragments: ModelFragments | None = None,
    shown: ShownWeights | None = None,
) -> list[str]:
    """Return the same as aligned text, the heaviest weights first."""
    weights = shown or shown_weights(model)
    lines, heaviest = facts(model_facts(model) + _kind_fact(weights)), weights.rows[:top]
    if heaviest:
        remarks = model.remarks()
        rows = [(name, f"{weight: .6g}  {remarks.get(name, '')}") for name, weight in heaviest]
        lines += ["", *pairs(rows)]
    lines += weights.notes(top)
    lines += _fill_lines(model, weights, top)
    lines += _share_lines(model.step_shares(), top)
    lines += [] if fragments is None else fragment_lines(fragments)
    rounds = model.training.rounds
    if isinstance(rounds, RestartsRecord) and len(rounds.restarts) > 1:
        lines += ["", *spread_lines(rounds, [name for name, _ in heaviest])]
    return lines


def _share_lines(shares: list[tuple[str, float]], top: int | None) -> list[str]:
    """Return each feature's share of all steps, for models that have shares."""
    if not shares[:top]:
        return []
    lines = [
        "",
        "share of all steps by feature",
        *pairs([(name, f"{_percent(share):>6}") for name, share in shares[:top]]),
    ]
    return (
        [*lines, f"... and {len(shares) - len(shares[:top])} more"]
        if len(shares) > len(shares[:top])
        else lines
    )


def _percent(share: float) -> str:
    return f"{share:.1%}"


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
