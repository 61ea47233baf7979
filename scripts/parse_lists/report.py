"""Tables of the cells that were run: values with intervals, paired tests, and Shen & Joshi's claims."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from table_cells.rows import interval_of, pair_row, write_rows

import rerank
from parse_lists.sets import PARTS, SEED
from rerank import CandidateLists
from rerank.data.folds import folds
from rerank.data.joining import joined
from rerank.data.judge import SelectingJudge
from rerank.data.matrix import Dense
from rerank.data.types import Floats
from rerank.evaluation.compare import compare_all
from rerank.evaluation.pairs import Pair
from rerank.evaluation.significance import holm
from rerank.metrics.base import parse

METRIC = "PARSEVAL"
SAMPLES = 2000
FIRST = "first-best"
# Of Shen & Joshi (2005), Table 2: a claim, the learner that it calls better, and the other one.
CLAIMS = (
    ("uneven margins help", "split-uneven", "split-even"),
    ("uneven margins help", "ordinal-uneven", "ordinal-even"),
    ("ordinal beats best against rest", "ordinal-even", "cd02"),
    ("ordinal beats best against rest", "ordinal-uneven", "cd02"),
)


class System(NamedTuple):
    """What a learner chose in each list, and the records of its cells."""

    chosen: Floats
    cells: list[dict[str, Any]]


def tables(out: Path, features: Sequence[str], learners: Sequence[str], cv: int) -> None:
    """Write the tables of one division, and print the values."""
    values, tests, claims = [], [], []
    for name in features:
        lists = judged_lists(out / "stores" / name, cv)
        systems = {
            learner: found
            for learner in learners
            if (found := read_system(out / "cells" / name / learner, lists, cv)) is not None
        }
        scores = {learner: one_hot(system.chosen, lists) for learner, system in systems.items()}
        assert lists.first_best is not None  # the parser's order
        scores[FIRST] = lists.first_best
        pairs = compare_all(lists, scores, [METRIC], samples=SAMPLES).pairs[METRIC] if len(scores) > 1 else []
        values += value_rows(name, lists, scores, systems, pairs)
        tests += [{"features": name} | pair_row(pair) for pair in pairs]
        claims += claim_rows(name, pairs)
    suffix = f"cv{cv}" if cv else "test"
    for kind, rows in (("values", values), ("pairs", tests), ("claims", claims)):
        write_rows(out / f"{kind}-{suffix}.tsv", rows)
    for row in values:
        print("\t".join(map(str, row.values())))
    for row in claims:
        print("\t".join(map(str, row.values())))


def judged_lists(stores: Path, cv: int) -> CandidateLists:
    """The lists that are judged, without their features."""
    parts = [rerank.load(stores / f"{part}.store") for part in (PARTS if cv else ("test",))]
    return joined([part.with_features(Dense(np.empty((part.n_items, 0))), None) for part in parts])


def read_system(folder: Path, lists: CandidateLists, cv: int) -> System | None:
    """What a learner chose; None if a cell is missing."""
    names = [f"{k + 1}-{cv}" for k in range(cv)] or ["test"]
    if not all((folder / f"{name}.json").is_file() for name in names):
        return None
    cells = [json.loads((folder / f"{name}.json").read_text()) for name in names]
    chosen = np.empty(lists.n_lists)
    parts = [fold.test for fold in folds(lists.n_lists, cv, SEED)] if cv else [np.arange(lists.n_lists)]
    for part, cell in zip(parts, cells, strict=True):
        chosen[part] = cell["chosen"]
    return System(chosen, cells)


def one_hot(chosen: Floats, lists: CandidateLists) -> Floats:
    """Scores that put the chosen item of each list first."""
    scores = np.zeros(lists.n_items)
    scores[lists.offsets[:-1] + chosen.astype(np.int64)] = 1.0
    return scores


def value_rows(
    name: str,
    lists: CandidateLists,
    scores: dict[str, Floats],
    systems: dict[str, System],
    pairs: Sequence[Pair],
) -> list[dict[str, Any]]:
    """A row for each system: its F with an interval, its gain over the first stage, and its costs."""
    judge = parse(METRIC).prepare(lists)
    assert isinstance(judge, SelectingJudge)  # PARSEVAL is
    against = [pair for pair in pairs if pair.b == FIRST]
    corrected = holm([pair.p_bootstrap for pair in against])
    gains = {pair.a: replace(pair, holm=p) for pair, p in zip(against, corrected, strict=True)}
    rows = []
    for system, of_items in scores.items():
        found = judge.per_list(of_items)
        low, high = interval_of(judge, found, SAMPLES)
        row = {
            "features": name,
            "system": system,
            "lists": lists.n_lists,
            "F": f"{float(judge.score_from_sums(found.sum(axis=0))):.2f}",
            "interval": f"{low:.2f} to {high:.2f}",
        }
        rows.append(row | gain_columns(gains.get(system)) | cost_columns(systems.get(system)))
    best = {"features": name, "system": "oracle", "lists": lists.n_lists, "F": f"{judge.oracle():.2f}"}
    return [*rows, best]


def gain_columns(pair: Pair | None) -> dict[str, str]:
    """The gain over the first stage, and its p-value corrected for all learners."""
    if pair is None or pair.ci is None:
        return {"gain": "", "gain_interval": "", "holm": ""}
    low, high = pair.ci
    return {
        "gain": f"{pair.difference:+.2f}",
        "gain_interval": f"{low:+.2f} to {high:+.2f}",
        "holm": "" if pair.holm is None else f"{pair.holm:.4f}",
    }


def cost_columns(system: System | None) -> dict[str, str]:
    """Means over the cells of what training cost and used, and what was chosen."""
    if system is None:
        return {}
    cells = system.cells

    def mean(key: str) -> float:
        return float(np.mean([cell[key] for cell in cells]))

    chosen = Counter(json.dumps(cell.get("settings", {})) for cell in cells)
    return {
        "features_used": f"{mean('features_used'):.0f}",
        "seconds": f"{mean('seconds'):.0f}",
        "memory_mb": f"{max(cell['memory_mb'] for cell in cells)}",
        "settings": "; ".join(f"{text} x{times}" for text, times in chosen.most_common()),
        "chosen_by": f"{np.mean([cell.get('chosen_by', np.nan) for cell in cells]):.2f}",
        "rounds": ",".join(str(cell.get("rounds")) for cell in cells),
        "base_factor": ",".join(f"{cell.get('base_factor') or 1:.2f}" for cell in cells),
    }


def claim_rows(name: str, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The claims whose systems were run, with p-values corrected for all of them."""
    known = {frozenset((pair.a, pair.b)): pair for pair in pairs}
    asked = [(claim, a, b) for claim, a, b in CLAIMS if frozenset((a, b)) in known]
    found = [known[frozenset((a, b))] for _, a, b in asked]
    rows: list[dict[str, Any]] = []
    for (claim, a, b), pair, p in zip(asked, found, holm([pair.p_bootstrap for pair in found]), strict=True):
        sign = 1.0 if pair.a == a else -1.0
        low, high = sorted(sign * value for value in pair.ci or (np.nan, np.nan))
        verdict = "undecided" if p is None or p > 0.05 else "holds" if sign * pair.difference > 0 else "false"
        difference = f"{sign * pair.difference:+.2f} [{low:+.2f}, {high:+.2f}]"
        claimed = {"features": name, "claim": claim, "better": a, "worse": b}
        rows.append({**claimed, "difference": difference, "holm": p, "verdict": verdict})
    return rows
