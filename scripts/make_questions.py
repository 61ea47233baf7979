#!/usr/bin/env python3
"""Make the set of data/questions-tiny: questions about invented places, each with sentences that may answer.

A sentence answers if it names the place, what was done to it and the kind of thing that is asked for. Of the
others some name the place but something else was done to it, or the same was done to another place, or
what is asked for is missing. Words carry tags (word_TAG). The first stage scores the share of the question's
words that a sentence has, with noise. Sentences and draws are seeded. Needs the standard library only.

    python scripts/make_questions.py [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

SEED = 7
SIZES = {"train": 30, "test": 20}
ONE_OF = 8  # of so many sentences that would answer, one is judged wrong

COLOURS = ("Amber", "Silver", "Crooked", "Green", "Northern", "Old", "Sleeping", "White")
THINGS = ("Bridge", "Mill", "Tower", "Harbour", "Library", "Garden")
PEOPLE = ("Lena Orvik", "Tomas Reel", "Ida Brandt", "Paul Norden", "Mira Vogel", "Jon Aske")
# The question's form of a verb, and that of sentences.
DEEDS = (("build", "built"), ("paint", "painted"), ("close", "closed"), ("restore", "restored"))
BY, IN = "by_IN", "in_IN"


def tagged(name: str, tag: str = "NNP") -> str:
    """Return each word of a name with its tag."""
    return " ".join(f"{word}_{tag}" for word in name.split())


def question_of(kind: str, place: str, deed: tuple[str, str]) -> str:
    """Return a question for a person or a year."""
    if kind == "person":
        return f"Who_WP {deed[1]}_VBD the_DT {tagged(place)} ?_."
    return f"When_WRB was_VBD the_DT {tagged(place)} {deed[1]}_VBN ?_."


def sentence_of(place: str, deed: tuple[str, str], person: str | None, year: int | None) -> str:
    """Return a sentence on what was done to a place, by whom and when if these are given."""
    if person is not None and year is None:
        return f"{tagged(person)} {deed[1]}_VBD the_DT {tagged(place)} ._."
    words = f"The_DT {tagged(place)} was_VBD {deed[1]}_VBN"
    words += f" {BY} {tagged(person)}" if person else ""
    return f"{words} {IN} {year}_CD ._." if year else f"{words} after_IN the_DT long_JJ war_NN ._."


def candidates_of(rng: random.Random, kind: str, place: str, deed: tuple[str, str]) -> list[tuple[str, int]]:
    """Return sentences with their labels, shuffled."""

    def sentence(right_place: bool, right_deed: bool, answers: bool) -> str:
        named = place if right_place else rng.choice([p for p in places() if p != place])
        done = deed if right_deed else rng.choice([d for d in DEEDS if d != deed])
        person, year = rng.choice(PEOPLE), rng.randint(1780, 1960)
        asked_person = kind == "person"
        with_person = answers if asked_person else not answers or rng.random() < 0.5
        with_year = answers if not asked_person else not answers or rng.random() < 0.5
        return sentence_of(named, done, person if with_person else None, year if with_year else None)

    rows = [(sentence(True, True, True), int(rng.randrange(ONE_OF) > 0))]
    rows += [
        (sentence(*three), 0) for three in ((True, False, True), (False, True, True), (True, True, False))
    ]
    rows += [(sentence(rng.random() < 0.5, False, rng.random() < 0.5), 0) for _ in range(2)]
    rng.shuffle(rows)
    return rows


def places() -> list[str]:
    """Return the names of all places."""
    return [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]


def lists_of(n: int, rng: random.Random, part: str) -> list[dict[str, Any]]:
    """Return so many lists, the best first stage's score first."""
    lists = []
    for i, place in enumerate(rng.sample(places(), n)):
        kind, deed = rng.choice(("person", "year")), rng.choice(DEEDS)
        asked = question_of(kind, place, deed)
        words = set(asked.lower().split())
        rows: list[dict[str, Any]] = []
        for text, label in candidates_of(rng, kind, place, deed):
            shared = len(words.intersection(text.lower().split())) / len(words)
            rows.append({"text": text, "label": label, "score": round(shared + rng.uniform(0, 0.5), 3)})
        rows.sort(key=lambda row: -row["score"])
        named = [{"id": f"{part}{i + 1}.{k}", **row} for k, row in enumerate(rows, 1)]
        lists.append({"id": f"{part}{i + 1}", "prompt": asked, "candidates": named})
    return lists


def main() -> None:
    """Write train.jsonl and test.jsonl."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "questions-tiny")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    for part, n in SIZES.items():
        with open(out / f"{part}.jsonl", "w", encoding="utf-8") as file:
            for one in lists_of(n, rng, part):
                file.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
