"""What ``rerank train`` says when it is done."""

from __future__ import annotations

from rerank.data.lists import CandidateLists
from rerank.models.base import Model
from rerank.report.sparkline import sparkline
from rerank.wording import count


def training_lines(model: Model, lists: CandidateLists, metric: str | None) -> list[str]:
    """Lines for a person: what was learnt from ``lists``, and how the watched ``metric`` went."""
    lines = [_size_line(model, lists)]
    rounds = model.training.rounds
    if "run" in rounds:
        text = f"{count(rounds['run'], 'round')}, kept round {rounds['kept']}"
        if rounds.get("converged"):
            text += ", the last one without an update"
        if "dev" in rounds:
            text += f"; dev {metric} {rounds['dev']:.4f}"
        lines += [text, *_curve_lines(model, metric)]
    elif "train" in rounds:
        lines.append(f"train {metric} {rounds['train']:.4f}")
    return lines


def _size_line(model: Model, lists: CandidateLists) -> str:
    """Learner, lists, items, features and pairs."""
    training = model.training
    size = f"{count(lists.n_lists, 'list')}, {lists.n_items} items, {count(lists.n_features, 'feature')}"
    if "pairs" in training.data:
        size += f", {count(training.data['pairs'], 'pair')}"
        skipped = training.data["lists_without_pair"]
        if skipped:
            size += f" ({count(skipped, 'list has', 'lists have')} none)"
    return f"{training.learner}: {size}"


def _curve_lines(model: Model, metric: str | None) -> list[str]:
    """What was watched, round by round, as a line of bars each."""
    lines = []
    for key in ("train", "dev"):
        values = [row[key] for row in model.curve if key in row]
        if len(values) > 1:
            lines.append(f"{key:<5} {metric} {sparkline(values)} {min(values):.4f} to {max(values):.4f}")
    return lines
