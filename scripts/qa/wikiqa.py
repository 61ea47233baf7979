#!/usr/bin/env python3
"""Convert WikiQA (Yang et al. 2015, WikiQA-train.tsv, -dev.tsv and -test.tsv) to lists of sentences.

A line of the input is question id, question, document id, title, sentence id, sentence and label, divided by
tabs; quotes are plain characters. Most questions have no right sentence. Published values of answer sentence
selection are of the others (--answered); those whose sentences are all right count too, with value 1.

    python scripts/qa/wikiqa.py --answered WikiQA-test.tsv test.jsonl
    rerank features text test.jsonl --text text --text title --out test.store
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"


def lists_of(path: Path) -> list[dict[str, Any]]:
    """Return the lists of a file; SystemExit at a line of another form."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="\n") as file:
        lines = file.read().replace("\r", "").splitlines()
    if not lines or lines[0].strip() != HEADER:
        raise SystemExit(f"{path}:1: found {lines[:1]}, expected {HEADER.split()}")
    lists: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != 7 or cells[6] not in ("0", "1"):
            raise SystemExit(f"{path}:{number}: found {line[:60]!r}, expected 7 cells, the last one 0 or 1")
        name, question, _, title, item, sentence, label = cells
        one = lists.setdefault(name, {"id": name, "question": question, "candidates": []})
        one["candidates"].append({"id": item, "title": title, "text": sentence, "label": int(label)})
    return list(lists.values())


def main() -> None:
    """Write the lists of a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("input", type=Path, help="WikiQA-*.tsv, plain or .gz")
    parser.add_argument("output", type=Path, help="JSON Lines to write")
    parser.add_argument("--answered", action="store_true", help="only questions with a right sentence")
    given = parser.parse_args()
    lists = lists_of(given.input)
    kept = [one for one in lists if not given.answered or any(c["label"] for c in one["candidates"])]
    given.output.write_text("".join(f"{json.dumps(one)}\n" for one in kept), encoding="utf-8")
    print(f"{given.output}: {len(kept)} of {len(lists)} questions")


if __name__ == "__main__":
    main()
