#!/usr/bin/env python3
"""Positions as scores: LETOR's sets for rank aggregation, in which larger is better and missing is worst.

    python scripts/positions_to_scores.py FOLDER OUT [--curve log] [--depth 1000]

FOLDER holds Fold1, Fold2, ... with train.txt, vali.txt and test.txt. In MQ2007-agg and MQ2008-agg a value is
the position of a document in a ranker's list, 1 at the top, and NULL if the ranker did not return it. OUT has
the same files with 1 - ln(position) / ln(1 + depth), or with --curve linear 1 - position / (1 + depth), and
without the values that are NULL: readers take them as 0, less than every score, or as missing (NaN).
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

from rerank.core.files.write import write_lines

CURVES = ("log", "linear")
_VALUE = re.compile(r" (\d+):(\S+)")


def score(position: float, curve: str, depth: int) -> float:
    """Return the score of a position: 1 or a little less at the top, more than 0 at ``depth``."""
    if not 1 <= position <= depth:
        raise ValueError(f"position {position:g}: expected 1 to {depth}")
    if curve == "log":
        return 1 - math.log(position) / math.log(1 + depth)
    return 1 - position / (1 + depth)


def converted(line: str, curve: str, depth: int) -> str:
    """Return a line of LETOR's aggregation files with scores, without its NULLs."""
    row, mark, comment = line.rstrip("\n").partition("#")

    def changed(match: re.Match[str]) -> str:
        number, value = match.groups()
        return "" if value == "NULL" else f" {number}:{score(float(value), curve, depth):.9g}"

    return _VALUE.sub(changed, row).rstrip() + (f" #{comment}" if mark else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--curve", choices=CURVES, default="log")
    parser.add_argument("--depth", type=int, default=1000)
    asked = parser.parse_args(arguments)
    files = sorted(asked.folder.glob("Fold*/*.txt"))
    if not files:
        parser.error(f"{asked.folder}: no Fold*/*.txt")
    for file in files:
        out = asked.out / file.parent.name / file.name
        out.parent.mkdir(parents=True, exist_ok=True)
        with file.open(encoding="utf-8") as lines:
            try:
                made = [converted(line, asked.curve, asked.depth) for line in lines]
            except ValueError as error:
                parser.error(f"{file}: {error}")
        write_lines(str(out), made)


if __name__ == "__main__":
    main()
