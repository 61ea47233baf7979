"""The number of pairs of each pair relation, by which users choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, value_text
from rerank.core.text import number
from rerank.core.types import Floats
from rerank.data.labels import Quantiser, parse_quantiser
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, RelationName, make_pairs
from rerank.data.reading import Reading
from rerank.formats.sources import Data, read_judged
from rerank.models.predict import with_quantised

FEW_LABELS = 10  # at most so many values are grades; more are real numbers


def standard_relations(lists: CandidateLists) -> list[PairRelation]:
    """Return the relations of Shen & Joshi, and label gaps at quartiles of the label differences.

    If labels take at most ten values, the gaps are all their differences but the largest.

    Raises
    ------
    DataError
        If the lists have no labels.
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
    if len(values) <= FEW_LABELS:
        differences = np.unique(np.subtract.outer(values, values))
        return [float(gap) for gap in differences[(differences > 0) & (differences < differences[-1])]]
    spread = _differences_within(lists)
    return [float(f"{gap:.3g}") for gap in np.unique(np.quantile(spread, [0.25, 0.5, 0.75])) if gap > 0]


def _differences_within(lists: CandidateLists, per_list: int = 50) -> Floats:
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
    """Return the relation of learner settings such as "pairs=split split_top=5"; raises ConfigError."""
    known = PairRelation.__struct_fields__
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
    value = number(text)
    if value is None:
        raise ConfigError(f"relation {whole!r}: found {text!r}, expected a number")
    return int(value) if value.is_integer() else value


def settings_of(relation: PairRelation) -> str:
    """Return the relation as settings of a learner."""
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


@dataclass(frozen=True)
class Scheme:
    """A relation over the pairs of ``lists``, whose labels ``quantiser`` has quantised if there is one."""

    lists: CandidateLists
    relation: PairRelation
    quantiser: Quantiser | None = None

    def row(self) -> dict[str, Any]:
        """Return settings, pairs, lists with a pair, mean and largest number of pairs in those lists."""
        pairs = make_pairs(self.lists, self.relation)
        counts = pairs.counts
        return {
            "relation": settings_of(self.relation),
            "quantise": None if self.quantiser is None else str(self.quantiser),
            "pairs": pairs.n_pairs,
            "lists": pairs.n_lists,
            "mean": float(counts.mean()) if len(counts) else 0.0,
            "most": int(counts.max(initial=0)),
        }


class PairCounts(Display, list[Scheme]):
    """The pairs of several schemes; its data frame has their ``row()``."""

    def tables(self) -> list[Table]:
        """Return the rows as a table."""
        return [pair_table(self)]


def standard_quantisers(lists: CandidateLists) -> list[Quantiser]:
    """Return the quantisers of Duh's Table 4.1 that need no threshold; none if labels have few values.

    Raises
    ------
    DataError
        If the lists have no labels.
    """
    if lists.labels is None:
        raise DataError(f"{lists.source}: no labels, so no pairs")
    if len(np.unique(lists.labels[~np.isnan(lists.labels)])) <= FEW_LABELS:
        return []
    return [Quantiser("best"), Quantiser("top", 30.0), Quantiser("kmeans", 3.0)]


def pair_table(schemes: Sequence[Scheme]) -> Table:
    """Return the rows as a table."""
    columns = (
        Column("relation", ("quantise", "relation"), _relation, left=True),
        Column("pairs", ("pairs",)),
        Column("lists", ("lists", "all_lists"), lambda counts: "/".join(map(str, counts))),
        Column("mean", ("mean",), partial(value_text, digits=1)),
        Column("most", ("most",)),
    )
    rows = []
    for scheme in schemes:
        row = scheme.row()
        name = (row["quantise"], row["relation"])
        rows.append(Row((name, row["pairs"], (row["lists"], scheme.lists.n_lists), row["mean"], row["most"])))
    notes = ("lists: those with a pair, of all; mean and most: pairs of such a list",)
    return Table(columns, tuple(rows), notes=notes)


def _relation(parts: tuple[str | None, str]) -> str:
    quantise, relation = parts
    return relation if quantise is None else f"quantise={quantise} {relation}"


def count_pairs(
    data: Data,
    relations: Sequence[str] = (),
    quantisers: Sequence[str] = (),
    *,
    reading: Reading | None = None,
) -> PairCounts:
    """Return the pairs that pair relations give, with the labels as they are and quantised.

    Parameters
    ----------
    data : a file of judged lists, or CandidateLists.
    relations : settings of learners such as "pairs=split split_top=5"; () = those of the literature.
    quantisers : such as "top=30%"; () = standard ones, unless relations are given.
    reading : how the file is read.

    Returns
    -------
    PairCounts
        A list of ``Scheme``, which is a table.

    Raises
    ------
    RerankError
        If a setting is unknown, or the lists have no labels.
    """
    chosen = [parse_relation(text) for text in relations]
    ways = [parse_quantiser(text) for text in quantisers]
    lists = read_judged(data, reading)
    if not ways and not chosen:
        ways = standard_quantisers(lists)
    schemes = PairCounts(Scheme(lists, relation) for relation in chosen or standard_relations(lists))
    for way in ways:
        coarse = with_quantised(lists, way)
        schemes += [Scheme(coarse, relation, way) for relation in chosen or [PairRelation()]]
    return schemes
