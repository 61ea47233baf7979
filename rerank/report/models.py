"""A model told to a person, or as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from rerank.models.base import Model
from rerank.report.columns import columns
from rerank.report.restarts import spread_lines
from rerank.report.training import gain_line, margin_line


def _parts(model: Model) -> dict[str, Any]:
    training = model.training
    return {
        "kind": model.kind,
        "learner": training.learner,
        "settings": training.settings,
        "scaling": model.scaling.name if model.scaling is not None else "none",
        "data": training.data,
        "rounds": training.rounds,
        "keep_margin": "inf" if model.keep_margin == math.inf else model.keep_margin,
        "keep": training.keep,
        "gains": training.gains,
        "seeds": training.seeds,
    }


def model_json(model: Model, top: int | None = None) -> str:
    """All of a model but its arrays, and its weights by name, as JSON."""
    weights = [{"name": name, "weight": weight} for name, weight in model.explain()[:top]]
    return json.dumps(
        {**_parts(model), "features": len(model.feature_names), "weights": weights},
        indent=2,
        ensure_ascii=False,
    )


def model_lines(model: Model, top: int | None = None) -> list[str]:
    """The same as aligned text, heaviest weights first."""
    parts, training = _parts(model), model.training
    rows = [("model", parts["kind"]), ("learner", parts["learner"] or "unknown")]
    parts["rounds"] = {name: value for name, value in training.rounds.items() if not isinstance(value, list)}
    rows += [(name, _flat(parts[name])) for name in ("settings", "scaling", "data", "rounds") if parts[name]]
    if model.keep_margin is not None:
        rows.append(("margin", margin_line(model).removeprefix("keep margin ")))
    rows += [("gain", gain_line(gain)) for gain in training.gains]
    if training.seeds:
        rows.append(("seeds", _flat(training.seeds)))
    weights = model.explain()
    known = set(model.feature_names)
    weighted = sum(name in known for name, _ in weights)
    rows.append(("features", f"{len(model.feature_names)}, {weighted} with a weight"))
    lines = columns(rows)
    shown = weights[:top]
    if shown:
        widest = max(len(name) for name, _ in shown)
        lines += ["", *(f"{name:<{widest}}  {weight: .6g}" for name, weight in shown)]
    if len(shown) < len(weights):
        lines.append(f"... and {len(weights) - len(shown)} more")
    if len(training.rounds.get("restarts", ())) > 1:
        lines += ["", *spread_lines(training.rounds, [name for name, _ in shown])]
    return lines


def _flat(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items())


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
