#!/usr/bin/env python3
"""Make the set of data/translations-tiny: simulated N-best lists in Moses' form, with references.

A reference is drawn from a small grammar. A hypothesis is the reference after slips: words left out, doubled,
replaced by others of their class, or exchanged with the next. Its features are log probabilities, as a
decoder has them: TM sees wrong words, LM sees odd neighbours, D sees exchanges, each with noise. WP is minus
the number of words. The decoder's weights are not the best ones: it prefers hypotheses that are too short. No
decoder and no text of others was used. Needs the standard library only.

    python scripts/make_translations.py [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SEED = 11
SENTENCES, HYPOTHESES = {"dev": 60, "test": 60}, 8
NAMES = ("LM", "TM", "D", "WP")
DECODER = (0.5, 0.3, 0.3, -0.2)  # weights of the first stage
CLASSES = {
    "DT": ["the", "a", "this", "every"],
    "JJ": ["old", "small", "green", "quiet", "heavy", "early"],
    "NN": ["house", "road", "letter", "garden", "river", "market", "teacher", "ship", "window"],
    "VB": ["saw", "left", "found", "sold", "painted", "closed"],
    "IN": ["near", "behind", "with", "before", "without"],
    "RB": ["today", "again", "quickly", "alone"],
}
PHRASE = ("DT", "JJ", "NN"), ("DT", "NN")
Tokens = list[tuple[str, str]]


def drawn_reference(rng: random.Random) -> Tokens:
    """Return tagged words: noun phrase, verb, noun phrase, one or two phrases with a preposition, adverb."""
    tags = [*rng.choice(PHRASE), "VB", *rng.choice(PHRASE)]
    for _ in range(rng.randint(1, 2)):
        tags += ["IN", *rng.choice(PHRASE)]
    return [(tag, rng.choice(CLASSES[tag])) for tag in [*tags, "RB"]]


def drawn_hypothesis(rng: random.Random, reference: Tokens) -> tuple[str, list[float]]:
    """Return a text and its features."""
    tokens, wrong, odd, moved = list(reference), 0, 0, 0
    for _ in range(rng.randint(0, 5)):
        at, kind = rng.randrange(len(tokens) - 1), rng.random()
        if kind < 0.35:
            tokens.pop(at)
            odd += rng.random() < 0.3
            wrong += 1
        elif kind < 0.45:
            tokens.insert(at, tokens[at])
            odd += 1
        elif kind < 0.8:
            tag = tokens[at][0]
            tokens[at] = tag, rng.choice(CLASSES[tag])
            wrong += 1
        else:
            tokens[at], tokens[at + 1] = tokens[at + 1], tokens[at]
            odd, moved = odd + 1, moved + 1
    n = len(tokens)
    features = [
        -1.9 * n - 1.5 * odd + rng.gauss(0, 2.0),
        -0.8 * len(reference) - 1.0 * wrong + rng.gauss(0, 2.2),
        -2.0 * moved - abs(rng.gauss(0, 0.6)),
        float(-n),
    ]
    return " ".join(word for _, word in tokens), [round(value, 2) for value in features]


def make_translations(out: Path) -> None:
    """Write dev.nbest, dev.ref, test.nbest and test.ref into folder ``out``."""
    rng = random.Random(SEED)
    out.mkdir(parents=True, exist_ok=True)
    for part, sentences in SENTENCES.items():
        lines, references = [], []
        for sentence in range(sentences):
            reference = drawn_reference(rng)
            references.append(" ".join(word for _, word in reference) + "\n")
            drawn = dict(drawn_hypothesis(rng, reference) for _ in range(HYPOTHESES))
            scored = [
                (round(sum(w * x for w, x in zip(DECODER, features, strict=True)), 3), text, features)
                for text, features in drawn.items()
            ]
            for total, text, features in sorted(scored, key=lambda entry: -entry[0]):
                values = " ".join(f"{name}= {x:g}" for name, x in zip(NAMES, features, strict=True))
                lines.append(f"{sentence} ||| {text} ||| {values} ||| {total:g}\n")
        (out / f"{part}.nbest").write_text("".join(lines), encoding="ascii")
        (out / f"{part}.ref").write_text("".join(references), encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    home = Path(__file__).resolve().parent.parent / "data" / "translations-tiny"
    parser.add_argument("--out", type=Path, default=home, metavar="DIR", help="folder for the files")
    make_translations(parser.parse_args().out)
