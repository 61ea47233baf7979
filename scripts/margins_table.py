#!/usr/bin/env python3
"""Even against uneven margins of each learner and relation, as a table in Markdown.

    rerank report runs/margins-ohsumed ... --all-pairs --as json --samples 5000 > report.json
    python scripts/margins_table.py report.json --names OHSUMED ...

Rows of the experiments are called LEARNER RELATION MARGIN (configs/margins-*.yaml). The first metric of each
data set counts. p-values are those of the paired bootstrap. A star is below .05 after Holm's correction for
all differences of the table.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from rerank.evaluation.significance import holm

Row = tuple[str, str]


def differences(one: dict[str, Any]) -> dict[Row, dict[str, Any]]:
    """Return the pair (uneven less even) of each learner and relation of a data set, from its report."""
    found = {}
    metric = next(iter(one["metrics"].values()))
    for pair in metric["pairs"]:
        a, b = (pair[side].rsplit(" ", 1) for side in "ab")
        if a[0] == b[0] and {a[1], b[1]} == {"even", "uneven"}:
            swapped = a[1] == "uneven"
            first, second = ("b", "a") if swapped else ("a", "b")
            sign = 1.0 if swapped else -1.0  # differences of reports are a less b
            ends = sorted(sign * end for end in pair["ci"])
            learner, relation = a[0].split(" ", 1)
            found[learner, relation] = {
                "even": pair[f"value_{first}"],
                "uneven": pair[f"value_{second}"],
                "difference": sign * pair["difference"],
                "ci": ends,
                "p": pair["p_bootstrap"],
            }
    return found


def table(sets: dict[str, dict[Row, dict[str, Any]]]) -> list[str]:
    """Return the lines of the table, with Holm's correction over all of its differences."""
    cells = [cell for one in sets.values() for cell in one.values()]
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]), strict=True):
        cell["holm"] = p
    rows = list(dict.fromkeys(row for one in sets.values() for row in one))
    lines = ["| learner | pairs | " + " | ".join(sets) + " |", "| --- " * (len(sets) + 2) + "|"]
    for row in rows:
        texts = [_text(one[row]) if row in one else "" for one in sets.values()]
        lines.append(f"| {' | '.join([*row, *texts])} |")
    least = min(cell["holm"] for cell in cells)
    return [*lines, "", f"{len(cells)} tests, smallest corrected p {least:.2g}"]


def _text(cell: dict[str, Any]) -> str:
    digits = 3 if abs(cell["even"]) <= 1 else 2
    number = [f"{value:.{digits}f}" for value in (cell["even"], cell["uneven"])]
    gain, low, high = (
        f"{round(value, digits) + 0.0:+.{digits}f}" for value in (cell["difference"], *cell["ci"])
    )
    star = "*" if cell["holm"] < 0.05 else ""
    return f"{number[0]}, {number[1]} ({gain} [{low}, {high}]){star}"


def main() -> None:
    """Print the table of a report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=argparse.FileType("r", encoding="utf-8"), help="JSON, - is a pipe")
    parser.add_argument("--names", nargs="+", help="of the data sets; otherwise those of the experiments")
    given = parser.parse_args()
    found = json.load(given.report)["sets"]
    names = given.names or [one["name"] for one in found]
    sets = {}
    for name, one in zip(names, found, strict=True):
        sets[f"{name}, {next(iter(one['metrics']))}"] = differences(one)
    print("\n".join(table(sets)))


if __name__ == "__main__":
    main()
