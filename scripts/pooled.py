#!/usr/bin/env python3
"""Test systems on the queries of several experiments together, each query counting the same.

Queries are resampled within each experiment; p-values are those of the paired bootstrap, after Holm's
correction for all pairs of a system and a baseline.

python scripts/pooled.py METRIC --systems A B --baselines C D -- runs/ONE runs/TWO ...
"""

from __future__ import annotations

import argparse

import numpy as np

from rerank.core.types import Floats
from rerank.evaluation.significance import bootstrap_p, bootstrap_sums, holm, interval
from rerank.experiments.folder import read_run
from rerank.experiments.reporting import results_of


def values_of(folder: str, metric: str) -> dict[str, Floats]:
    """The value of each list of an experiment that every system has one of, by system."""
    results = results_of(read_run(folder), [metric])
    values = {system: results.list_values(system, metric) for system in results.runs}
    known = ~np.isnan(np.column_stack(list(values.values()))).any(axis=1)
    return {system: of[known] for system, of in values.items()}


def main() -> None:
    """Print the pooled means, and a row for each pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metric")
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--baselines", nargs="+", required=True)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("folders", nargs="+")
    given = parser.parse_args()
    sets = [values_of(folder, given.metric) for folder in given.folders]
    n = sum(len(values[given.systems[0]]) for values in sets)
    names = [*given.systems, *given.baselines]
    means = {name: sum(values[name].sum() for values in sets) / n for name in names}
    print(f"{n} lists of {len(sets)} sets, {given.metric}")
    for name, mean in means.items():
        print(f"{name:16} {mean:.4f}")
    pairs = [(system, baseline) for system in given.systems for baseline in given.baselines]
    rows = []
    for a, b in pairs:
        sampled = np.zeros((given.samples, 2))
        for k, values in enumerate(sets):
            both = np.column_stack([values[a], values[b]])
            sampled += bootstrap_sums(both, given.samples, given.seed + k)
        sampled /= n
        difference = float(means[a] - means[b])
        limits = interval(sampled[:, 0] - sampled[:, 1], 0.95)
        rows.append((a, b, difference, limits, bootstrap_p(sampled[:, 0], sampled[:, 1], difference)))
    print("A                B                 A - B   95 % interval        p  Holm")
    for (a, b, difference, limits, p), corrected in zip(rows, holm([row[-1] for row in rows]), strict=True):
        low, high = limits or (np.nan, np.nan)
        print(f"{a:16} {b:14} {difference:+8.4f} {low:+8.4f} {high:+8.4f} {p:8.4f} {corrected:.4f}")


if __name__ == "__main__":
    main()
