#!/usr/bin/env python3
"""Make the set of data/parses-tiny: simulated N-best parses of made-up sentences, with their right trees.

A sentence is a noun phrase, a verb, a noun phrase and one or two phrases with a preposition. What such a
phrase belongs to, the verb or a noun before it, depends on words: "of" belongs to nouns, "with" and a tool to
the verb, and so on. The parser that is simulated does not see words: its log probabilities prefer the right
way to attach the phrases, but by less than their noise. It writes its parses in their order. Needs the
standard library only.

    python scripts/make_parses.py [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SEED = 8
SENTENCES = {"train": 80, "test": 60}
PEOPLE = ("teacher", "sailor", "farmer", "doctor")
THINGS = ("house", "boat", "letter", "picture", "box", "garden")
TOOLS = ("knife", "brush", "key", "rope")
PLACES = ("hill", "river", "market", "station")
VERBS = ("opened", "painted", "saw", "sold", "repaired")
# Preposition: the nouns after it, and the chance that it belongs to the verb.
PREPOSITIONS = {
    "of": (PLACES + PEOPLE, 0.02),
    "with": (TOOLS, 0.95),
    "near": (PLACES, 0.15),
    "before": (("winter", "noon", "supper"), 0.98),
    "for": (PEOPLE, 0.3),
}
KNOWN, NOISE = 0.8, 1.0  # what the right parse gains of its log probability, and the deviation of all


def noun_phrase(words: str, *modifiers: str) -> str:
    """Return a noun phrase, nested once for each modifier after it."""
    tree = f"(NP (DT the) (NN {words}))"
    for modifier in modifiers:
        tree = f"(NP {tree} {modifier})"
    return tree


def tree_of(
    subject: str, verb: str, thing: str, phrases: list[tuple[str, str]], attached: tuple[int, ...]
) -> str:
    """Return the tree: phrase i belongs to the verb (0), the object (1) or the phrase before it (2)."""
    parts = ["", ""]  # what belongs to the verb and to the object
    if attached[-1] == 2:
        (one, noun), (two, other) = phrases
        inner = f"(PP (IN {one}) {noun_phrase(noun, f'(PP (IN {two}) {noun_phrase(other)})')})"
        modifiers = [(attached[0], inner)]
    else:
        modifiers = [
            (to, f"(PP (IN {preposition}) {noun_phrase(noun)})")
            for to, (preposition, noun) in zip(attached, phrases, strict=True)
        ]
    parts[0] = "".join(f" {tree}" for to, tree in modifiers if to == 0)
    object_ = noun_phrase(thing, *(tree for to, tree in modifiers if to == 1))
    return f"(S1 (S {noun_phrase(subject)} (VP (VBD {verb}) {object_}{parts[0]}) (. .)))"


def make_sentence(rng: random.Random) -> tuple[str, list[tuple[float, str]]]:
    """Return the right tree and the parser's scored trees, the best first."""
    subject, verb, thing = rng.choice(PEOPLE), rng.choice(VERBS), rng.choice(THINGS)
    prepositions = rng.sample(sorted(PREPOSITIONS), rng.randint(1, 2))
    phrases = [(name, rng.choice(PREPOSITIONS[name][0])) for name in prepositions]
    to_verb = [rng.random() < PREPOSITIONS[name][1] for name in prepositions]
    if len(phrases) == 1:
        ways: list[tuple[int, ...]] = [(0,), (1,)]
        right: tuple[int, ...] = (0,) if to_verb[0] else (1,)
    else:  # brackets do not cross: after a phrase of the verb, none belongs to the object
        ways = [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]
        first = 0 if to_verb[0] else 1
        right = (first, 0) if to_verb[1] else (first, 2 if first == 0 or rng.random() < 0.3 else 1)
    scored = [
        (round(-20.0 - 6.0 * len(phrases) + KNOWN * (way == right) + rng.gauss(0, NOISE), 2), way)
        for way in ways
    ]
    scored.sort(reverse=True)
    trees = [(score, tree_of(subject, verb, thing, phrases, way)) for score, way in scored]
    return tree_of(subject, verb, thing, phrases, right), trees


def make_parses(out: Path) -> None:
    """Write train.nbest and test.nbest into folder ``out``."""
    rng = random.Random(SEED)
    out.mkdir(parents=True, exist_ok=True)
    for part, sentences in SENTENCES.items():
        blocks = []
        for _ in range(sentences):
            right, scored = make_sentence(rng)
            blocks.append("\n".join([right, *(f"{score}\t{tree}" for score, tree in scored)]) + "\n\n")
        (out / f"{part}.nbest").write_text("".join(blocks), encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    home = Path(__file__).resolve().parent.parent / "data" / "parses-tiny"
    parser.add_argument("--out", type=Path, default=home, metavar="DIR", help="folder for the files")
    make_parses(parser.parse_args().out)
