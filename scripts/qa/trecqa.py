#!/usr/bin/env python3
"""Convert TREC QA (Wang et al. 2007, as JSON with tokens and Penn tags) to lists of tagged passages.

A line of the input is a question "q" and its candidates "c", each with "tok" and "pos"; candidates have a
"label". Tokens become word_TAG, with --entities word_TAG#TYPE. There is no first stage, and the input lists
relevant candidates first, so that tied scores would be ordered by relevance. Candidates are therefore in the
order of a hash of their text, which is also their id: "first-best" is a random order. Published values are of
the questions that have right and wrong candidates (--mixed).

    python scripts/qa/trecqa.py /data/trecqa/train.jsonl.gz train.jsonl
    rerank features qa train.jsonl --tagged _ --overlap --out train.store

--untag takes lists that features qa wrote as JSON Lines, and removes the tags of their words.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def tagged(text: Entry, entities: bool = False) -> str:
    """Return tokens with their tags and, if they are wanted, the types of their entities."""
    words = [f"{word}_{tag}" for word, tag in zip(text["tok"], text["pos"], strict=True)]
    if entities:
        words = [f"{word}#{kind}" for word, kind in zip(words, text["ner"], strict=True)]
    return " ".join(words)


def candidate(found: Entry, entities: bool) -> Entry:
    """Return a candidate with the hash of its text as its id."""
    return {
        "id": hashlib.blake2b(tagged(found).encode(), digest_size=8).hexdigest(),
        "text": tagged(found, entities),
        "label": found["label"],
    }


def entry_of(line: Entry, entities: bool) -> Entry:
    """Return the list of a question."""
    candidates = sorted((candidate(one, entities) for one in line["c"]), key=lambda one: one["id"])
    return {"id": line["qid"], "question": tagged(line["q"], entities), "candidates": candidates}


def plain(text: str) -> str:
    """Return tagged words without their tags."""
    return " ".join(word.rpartition("_")[0] for word in text.split(" "))


def untagged(entry: Entry) -> Entry:
    """Return a list whose question and texts have no tags."""
    candidates = [{**one, "text": plain(one["text"])} for one in entry["candidates"]]
    return {**entry, "prompt": plain(entry["prompt"]), "candidates": candidates}


def main() -> None:
    """Write the lists of a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("input", type=Path, help="JSON Lines, plain or .gz")
    parser.add_argument("output", type=Path, help="JSON Lines to write")
    parser.add_argument("--mixed", action="store_true", help="only questions with right and wrong passages")
    parser.add_argument("--entities", action="store_true", help="tokens with the types of their entities")
    parser.add_argument("--untag", action="store_true", help="input is that of features qa; remove tags")
    given = parser.parse_args()
    opened = gzip.open if given.input.suffix == ".gz" else open
    with opened(given.input, "rt", encoding="utf-8") as lines:
        read = map(json.loads, lines)
        entries = [untagged(one) if given.untag else entry_of(one, given.entities) for one in read]
    if given.mixed:
        entries = [entry for entry in entries if len({one["label"] for one in entry["candidates"]}) > 1]
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
