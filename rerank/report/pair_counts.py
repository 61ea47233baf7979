"""How many pairs each pair relation gives: users choose by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, RelationName, make_pairs
from rerank.errors import ConfigError, DataError
from rerank.registry import did_you_mean


def standard_relations(lists: CandidateLists) -> list[PairRelation]:
    """The relations of Shen & Joshi, and label gaps at quartiles of the label differences.

    The gaps are of labels that take more than ten values; with fewer, the differences that occur but
    for the largest.
    """
    relations = [
        PairRelation("best-rest"),
        PairRelation("split"),
        PairRelation("ordinal"),
        PairRelation("ordinal", ordinal_factor=2, ordinal_gap=20),
        PairRelation("split", split_top=300, split_bottom=700),
        PairRelation("neighbours"),
    ]
    return relations + [PairRelation("all", label_gap=gap) for gap in _label_gaps(lists)]


def _label_gaps(lists: CandidateLists) -> list[float]:
    if lists.labels is None:
        raise DataError(f"{lists.source}: no labels, so no pairs")
    values = np.unique(lists.labels[~np.isnan(lists.labels)])
    if len(values) < 2:
        return []
    if len(values) <= 10:
        differences = np.unique(np.subtract.outer(values, values))
        return [float(gap) for gap in differences[(differences > 0) & (differences < differences[-1])]]
    spread = _differences_within(lists)
    return [float(f"{gap:.3g}") for gap in np.unique(np.quantile(spread, [0.25, 0.5, 0.75])) if gap > 0]


def _differences_within(lists: CandidateLists, per_list: int = 50) -> npt.NDArray[np.float64]:
    """Absolute label differences of up to ``per_list`` evenly spaced items of each list."""
    assert lists.labels is not None
    parts = []
    for i in range(lists.n_lists):
        labels = lists.labels[lists.offsets[i] : lists.offsets[i + 1]]
        labels = labels[~np.isnan(labels)]
        labels = labels[np.linspace(0, len(labels) - 1, min(per_list, len(labels))).astype(int)]
        parts.append(np.abs(np.subtract.outer(labels, labels))[np.triu_indices(len(labels), 1)])
    return np.concatenate(parts)


def parse_relation(text: str) -> PairRelation:
    """The relation of learner settings such as "pairs=split split_top=5"; raises ConfigError."""
    known = [field.name for field in fields(PairRelation)]
    values: dict[str, Any] = {}
    for part in text.split():
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"relation {text!r}: found {part!r}, expected KEY=VALUE")
        if key not in known:
            raise ConfigError(f"relation {text!r}: unknown setting {key!r}; {did_you_mean(key, known)}")
        values[key] = value if key == "pairs" or value == "best" else _number(value, text)
    name = values.get("pairs", "ordinal")
    if name not in get_args(RelationName):
        raise ConfigError(
            f"relation {text!r}: unknown pairs {name!r}; {did_you_mean(name, get_args(RelationName))}"
        )
    return PairRelation(**values)


def _number(text: str, whole: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise ConfigError(f"relation {whole!r}: found {text!r}, expected a number") from None
    return int(value) if value.is_integer() else value


def settings_of(relation: PairRelation) -> str:
    """The relation as settings that a learner takes."""
    text = f"pairs={relation.pairs}"
    if relation.pairs == "split" and relation.split_top != "best":
        text += f" split_top={relation.split_top}"
    if relation.pairs == "split" and relation.split_bottom is not None:
        text += f" split_bottom={relation.split_bottom}"
    if relation.pairs == "ordinal" and relation.ordinal_factor != 1:
        text += f" ordinal_factor={relation.ordinal_factor:g}"
    if relation.pairs == "ordinal" and relation.ordinal_gap:
        text += f" ordinal_gap={relation.ordinal_gap:g}"
    if relation.pairs == "all" and relation.label_gap:
        text += f" label_gap={relation.label_gap:g}"
    return text


def pair_rows(
    lists: CandidateLists, relations: Sequence[PairRelation]
) -> list[tuple[str, int, int, float, int]]:
    """(settings, pairs, lists with a pair, mean and largest number of pairs in those lists) of each."""
    rows = []
    for relation in relations:
        pairs = make_pairs(lists, relation)
        counts = pairs.counts
        mean = float(counts.mean()) if len(counts) else 0.0
        rows.append((settings_of(relation), pairs.n_pairs, pairs.n_lists, mean, int(counts.max(initial=0))))
    return rows


def pair_lines(lists: CandidateLists, relations: Sequence[PairRelation]) -> list[str]:
    """The same as an aligned table."""
    rows = pair_rows(lists, relations)
    cells = [("relation", "pairs", "lists", "mean", "most")]
    cells += [
        (name, str(n), f"{used}/{lists.n_lists}", f"{mean:.1f}", str(most))
        for name, n, used, mean, most in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(5)]
    return [
        "  ".join(
            [f"{row[0]:<{widths[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    ]
