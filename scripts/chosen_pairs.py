#!/usr/bin/env python3
"""Test chosen pairs of rows of an experiment, with Holm's correction for these pairs alone.

p-values are those of the paired bootstrap in a report of all pairs, whose own correction counts every pair.
The report is that of an experiment, or of rerank compare, whose rows are files.

    rerank report runs/x --all-pairs --as json --out pairs.json
    python scripts/chosen_pairs.py pairs.json AP --pair "new row" "old row" --pair "another row" "old row"
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rerank.evaluation.significance import holm


def main() -> None:
    """Print a line for each pair: difference, interval, p, p after the correction, lists won, tied, lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="of rerank report --all-pairs or compare, --as json")
    parser.add_argument("metric")
    parser.add_argument("--pair", nargs=2, action="append", required=True, metavar=("ROW", "BASELINE"))
    given = parser.parse_args()
    found = json.loads(given.report.read_text(encoding="utf-8"))
    found = found if "metrics" in found else found["sets"][0]
    pairs = {(one["a"], one["b"]): one for one in found["metrics"][given.metric]["pairs"]}
    rows = []
    for row, baseline in given.pair:
        if (row, baseline) in pairs:
            one, sign = pairs[row, baseline], 1
        elif (baseline, row) in pairs:
            one, sign = pairs[baseline, row], -1
        else:
            parser.error(f"found no pair of {row!r} and {baseline!r}")
        low, high = sorted(sign * end for end in one["ci"])
        won = [one["wins"], one["ties"], one["losses"]][::sign]
        rows.append((f"{row} - {baseline}", sign * one["difference"], low, high, one["p_bootstrap"], won))
    for (name, gap, low, high, p, won), corrected in zip(rows, holm([row[4] for row in rows]), strict=True):
        counts = "/".join(map(str, won))
        print(f"{name:60} {gap:+.4f} [{low:+.4f}, {high:+.4f}]  p {p:.3f}  Holm {corrected:.3f}  {counts}")


if __name__ == "__main__":
    main()
