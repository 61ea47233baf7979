"""A model as text for people, or as JSON."""

from __future__ import annotations

import json
from typing import Any

from rerank.models.base import Model, plain_margin
from rerank.models.fragments import ModelFragments
from rerank.models.training import LATER, RestartsRecord
from rerank.report.choice import choice_lines
from rerank.report.fragments import fragment_lines, fragment_records
from rerank.report.runs import spread_lines
from rerank.report.table import facts, pairs
from rerank.report.training import abstain_lines, base_lines, gain_line, margin_line, unjudged_lines
from rerank.text import count


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


def _fill_lines(model: Model, top: int | None) -> list[str]:
    """The means that take the place of missing values."""
    rows = [] if model.imputation is None else model.imputation.rows(model.input_names)
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


def model_json(model: Model, top: int | None = None, fragments: ModelFragments | None = None) -> str:
    """Return a model without its arrays, its weights by name, and fragments of trees, as JSON."""
    remarks = model.remarks()
    weights = [
        {"name": name, "weight": weight, **({"remark": remarks[name]} if name in remarks else {})}
        for name, weight in model.explain()[:top]
    ]
    shares = [{"name": name, "share": share} for name, share in model.step_shares()[:top]]
    parts = {**_parts(model), "features": len(model.feature_names), "weights": weights}
    if model.imputation is not None:
        rows = [
            (name, None if mean != mean else mean, n)
            for name, mean, n in model.imputation.rows(model.input_names)
        ]
        fills = [{"name": name, "mean": mean, "missing": n} for name, mean, n in rows]
        parts["missing"] = {"policy": model.missing_policy, "features": fills}
    return json.dumps(
        parts
        | ({"shares": shares} if shares else {})
        | ({} if fragments is None else fragment_records(fragments)),
        indent=2,
        ensure_ascii=False,
    )


def model_lines(model: Model, top: int | None = None, fragments: ModelFragments | None = None) -> list[str]:
    """Return the same as aligned text, the heaviest weights first."""
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
    weights = model.explain()
    rows.append(("features", f"{len(model.feature_names)}, {model.n_weighted()} with a weight"))
    lines = facts(rows)
    heaviest = weights[:top]
    if heaviest:
        remarks = model.remarks()
        rows = [(name, f"{weight: .6g}  {remarks.get(name, '')}") for name, weight in heaviest]
        lines += ["", *pairs(rows)]
    if len(heaviest) < len(weights):
        lines.append(f"... and {len(weights) - len(heaviest)} more")
    lines += _fill_lines(model, top)
    lines += _share_lines(model.step_shares(), top)
    lines += [] if fragments is None else fragment_lines(fragments)
    rounds = training.rounds
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
        *pairs([(name, f"{share:6.1%}") for name, share in shares[:top]]),
    ]
    return (
        [*lines, f"... and {len(shares) - len(shares[:top])} more"]
        if len(shares) > len(shares[:top])
        else lines
    )


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
