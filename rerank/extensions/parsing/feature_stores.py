"""Stores of parses with the features of their trees."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.files.archives import COMPRESSED_SUFFIXES
from rerank.core.files.write import make_folder, write_lines
from rerank.core.tables.data import to_json
from rerank.core.tables.text import drawn, lined_up
from rerank.core.workers import parallel
from rerank.data.matrix import Dense
from rerank.data.reading import Reading
from rerank.extensions.parsing.features import TYPES, ParseFeatures, ParseSettings, choose
from rerank.extensions.parsing.heads import default_heads, read_heads
from rerank.formats import load
from rerank.formats.base import save
from rerank.formats.sources import all_or_none, check_inputs, check_outputs
from rerank.metrics.labelling import label


@dataclass(frozen=True)
class ParseStore:
    """A store of parses with tree features: its sizes, and the features of its trees by whether chosen."""

    path: str
    store: str
    lists: int
    items: int
    values: int
    known: int
    unknown: int


@dataclass(frozen=True)
class ParseStores:
    """The features chosen on the first set, and the stores of all sets."""

    chosen: ParseFeatures
    stores: Sequence[ParseStore]


def parse_features(
    paths: Sequence[str],
    folder: str,
    *,
    settings: Mapping[str, Any] | None = None,
    heads: str | None = None,
    keep_trees: bool = False,
    alone: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> ParseStores:
    """Make the tree features of Collins & Koo (2005): a store for each file, and ``features.json``.

    With gold trees, or saved counts, labels are the paper's Score of each parse, and the stores keep the
    counts of PARSEVAL.

    Parameters
    ----------
    paths : files of parses; features are chosen on the first.
    folder : where the stores go, together or not at all.
    settings : of ``rerank.extensions.parsing.features.ParseSettings``, such as ``{"cutoff": 5}``.
    heads : file with a head table; None = Collins'.
    keep_trees : whether the stores keep trees and texts.
    alone : whether features that were read, such as the log probability, are removed; base scores stay.
    jobs, cluster : threads, or the workers of a cluster; see ``core.workers.parallel.using``.
    reading : how the files are read.

    Returns
    -------
    ParseStores
        The features that were chosen, and the sizes of the stores.

    Raises
    ------
    RerankError
        If a file is missing or a folder is in a store's place, which is checked before anything is read; or
        if a file cannot be read or a store cannot be written.
    """
    if not folder:
        raise ConfigError("out: found no name, expected that of a folder")
    table = default_heads() if heads is None else read_heads(heads)
    checked = ParseSettings.checked({"heads": table, **(settings or {})}, "parse")
    places = store_paths(paths, folder)
    check_inputs(paths)
    sources = [*paths, *([] if reading is None else reading.files()), *([] if heads is None else [heads])]
    summary = os.path.join(folder, "features.json")

    made: list[ParseStore] = []
    chosen: ParseFeatures | None = None
    with parallel.using(jobs, cluster), all_or_none():
        make_folder(folder)
        check_outputs({"--out": list(places.values())}, sources, store=True)
        check_outputs({"--out": summary}, sources)
        for path, store in places.items():  # one set at a time is in memory
            lists = load(path, options=reading)
            if chosen is None:
                chosen = choose(lists, checked)
            if lists.gold is not None or "PARSEVAL" in lists.counts:
                lists = label(lists, "PARSEVAL.score")
            if alone:
                lists = lists.with_features(Dense(np.empty((lists.n_items, 0))), None)
            rows = chosen.rows(lists)
            if not keep_trees:
                lists = dataclasses.replace(lists, trees=None, gold=None, texts=None)
            lists = rows.onto(lists)
            save(lists, store, "store")
            sizes = (lists.n_lists, lists.n_items, lists.features.n_values)
            made.append(ParseStore(path, store, *sizes, rows.known, rows.unknown))
            del lists, rows
        if chosen is None:
            raise ConfigError("found no files of parses, expected one or more")
        sets = [dataclasses.asdict(one) | {"store": os.path.basename(one.store)} for one in made]
        write_lines(summary, to_json(record_of(chosen, sets)).splitlines())
    return ParseStores(chosen, made)


def store_paths(paths: Sequence[str], folder: str) -> dict[str, str]:
    """Return the store of each file, which has its name without the last suffix.

    Raises ConfigError if two files would have the same store.
    """
    stores: dict[str, str] = {}
    for path in paths:
        name = "stdin" if path == "-" else Path(path).name
        stem, suffix = os.path.splitext(name)
        if suffix.lower() in COMPRESSED_SUFFIXES:
            stem = os.path.splitext(stem)[0]
        store = os.path.join(folder, f"{stem}.store")
        if store in stores.values():
            other = next(p for p, s in stores.items() if s == store)
            raise ConfigError(
                f"{other} and {path} would both be written to {store}: give them different names"
            )
        stores[path] = store
    return stores


SECOND = "+"  # of types: those of the second pass


def type_lines(chosen: ParseFeatures) -> list[str]:
    """Return a line for each type: features seen and kept, in the first pass and with closed-class heads."""
    by_type = chosen.by_type()
    rows = []
    totals = [0, 0, 0, 0]
    for name in TYPES:
        pairs = [by_type.get(name, (0, 0)), by_type.get(name + SECOND, (0, 0))]
        if any(seen for seen, _ in pairs):
            numbers = [n for pair in pairs for n in pair]
            rows.append((name, *(str(n) if seen else "" for seen, kept in pairs for n in (seen, kept))))
            totals = [total + n for total, n in zip(totals, numbers, strict=True)]
    rows.append(("all", *map(str, totals)))
    return drawn(lined_up(("type", "seen", "kept", "lexicalised", "kept"), rows))


def record_of(chosen: ParseFeatures, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return settings, features by type (those of the second pass with a +) and each set's known ones."""
    return {
        "settings": settings_of(chosen.settings),
        "features": len(chosen),
        "types": {name: {"seen": seen, "kept": kept} for name, (seen, kept) in chosen.by_type().items()},
        "sets": sets,
    }


def settings_of(settings: ParseSettings) -> dict[str, Any]:
    """Return the settings with the head table written out."""
    heads = settings.heads or default_heads()
    return {
        "cutoff": settings.cutoff,
        "types": list(settings.types),
        "values": settings.values,
        "closed_class": list(settings.closed_class),
        "left_out": list(settings.left_out),
        "heads": heads.lines(),
    }
