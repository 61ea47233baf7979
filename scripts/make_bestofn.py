#!/usr/bin/env python3
"""Make the small best-of-N set of data/best-of-n: word problems, eight answers each, scores of two verifiers.

No language model is asked: problems, answers with their slips, and all scores are drawn here, seeded, so that
what each score is worth is known. Needs the standard library only.

    python scripts/make_bestofn.py [--out DIR]

The scores, as such scores are:

logprob   sum of the tokens' log-probabilities: right answers have likelier tokens, long ones more of them.
n_tokens  words, numbers and signs of the answer.
orm       an outcome verifier: sees what is right through much noise, and likes what is long.
prm       a process verifier: the share of steps whose sum is right; a wrong step of thought escapes it.
"""

from __future__ import annotations

import argparse
import json
import operator
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 1
SIZES = {"train": 60, "dev": 30, "test": 60}
SAMPLES = 8
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "x": operator.mul,
}  # fmt: skip
SWAPPED = {"+": "-", "-": "+", "x": "+"}

# A problem of a, b, c is solved by (a first b) second c.
PROBLEMS = (
    ("{name} buys {a} boxes of {b} {things} and gives {c} away. How many {things} are left?", "x", "-"),
    ("{name} finds {a} {things} on each of {b} days and {c} on the next. How many in all?", "x", "+"),
    ("Each of {c} trays holds {a} {things}, and {b} of them break on each. How many stay whole?", "-", "x"),
    ("{name} saves {a} coins a week, a friend {b}. How many have both after {c} weeks?", "+", "x"),
)
NAMES = ("Ada", "Bruno", "Chen", "Dora", "Emil", "Fatma", "Goran", "Hana")
THINGS = ("pens", "eggs", "cards", "shells", "stamps", "beads")
WORDINGS = (
    "{one}; {two}. Answer: {answer}",
    "First {one}. Then {two}. Answer: {answer}",
    "Step by step: first {one}. After that we have {two}. So it is {answer}. Answer: {answer}",
)


@dataclass(frozen=True)
class Problem:
    """A text, and how it is solved: (a first b) second c."""

    text: str
    a: int
    b: int
    c: int
    first: str
    second: str

    @property
    def answer(self) -> int:
        return OPERATIONS[self.second](OPERATIONS[self.first](self.a, self.b), self.c)


class Draws:
    """Draws by ``random()`` alone, whose values no Python version changes."""

    def __init__(self, seed: int) -> None:
        self.share = random.Random(seed).random

    def below(self, n: int) -> int:
        return int(self.share() * n)

    def one_of(self, things: Sequence[str]) -> str:
        return things[self.below(len(things))]

    def noise(self) -> float:
        """All but normal, mean 0, deviation 1, without a logarithm that machines may round apart."""
        return sum(self.share() for _ in range(12)) - 6.0

    def problem(self) -> Problem:
        text, first, second = PROBLEMS[self.below(len(PROBLEMS))]
        a, b = 12 + self.below(30), 3 + self.below(9)
        c = 2 + self.below(8)
        words = {"name": self.one_of(NAMES), "things": self.one_of(THINGS)}
        return Problem(text.format(a=a, b=b, c=c, **words), a, b, c, first, second)

    def slip(self) -> int:
        """By how much a sum goes wrong."""
        return (1, 2, 10)[self.below(3)] * (1 if self.share() < 0.5 else -1)


def answer_of(draws: Draws, problem: Problem, skill: float) -> dict[str, object]:
    """One completion: text, features and whether it is right; ``skill`` is the chance of no slip."""
    kind = "none" if draws.share() < skill else draws.one_of(("first", "second", "operation", "operation"))
    second = SWAPPED[problem.second] if kind == "operation" else problem.second
    between = OPERATIONS[problem.first](problem.a, problem.b) + (draws.slip() if kind == "first" else 0)
    answer = OPERATIONS[second](between, problem.c) + (draws.slip() if kind == "second" else 0)
    one = f"{problem.a} {problem.first} {problem.b} = {between}"
    two = f"{between} {second} {problem.c} = {answer}"
    text = draws.one_of(WORDINGS).format(one=one, two=two, answer=answer)
    right = answer == problem.answer
    n_tokens = len(re.findall(r"\w+|[^\w\s]", text))
    per_token = 0.30 + (0.0 if right else 0.06) + 0.06 * draws.noise()
    sound_steps = 1.0 if kind in ("none", "operation") else 0.5
    return {
        "text": text,
        "logprob": round(-n_tokens * max(per_token, 0.02), 2),
        "n_tokens": n_tokens,
        "orm": round(1.2 * right + 0.10 * (n_tokens - 20) + 0.7 * draws.noise(), 2),
        "prm": round(sound_steps + 0.2 * draws.noise(), 2),
        "correct": right,
    }


def make_parts(seed: int) -> dict[str, list[str]]:
    """The lines of each part; no problem occurs twice."""
    draws = Draws(seed)
    seen: set[str] = set()
    parts: dict[str, list[str]] = {}
    for part, size in SIZES.items():
        lines: list[str] = []
        while len(lines) < size:
            problem = draws.problem()
            if problem.text in seen:
                continue
            seen.add(problem.text)
            skill = 0.8 * draws.share()
            entry = {
                "prompt_id": f"{part}-{len(lines) + 1}",
                "prompt": problem.text,
                "completions": [answer_of(draws, problem, skill) for _ in range(SAMPLES)],
            }
            lines.append(json.dumps(entry, separators=(",", ":")))
        parts[part] = lines
    return parts


def make_bestofn(out: Path) -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl into folder ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    for part, lines in make_parts(SEED).items():
        (out / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    home = Path(__file__).resolve().parent.parent / "data" / "best-of-n"
    parser.add_argument("--out", type=Path, default=home, metavar="DIR", help="folder for the files")
    try:
        make_bestofn(parser.parse_args(arguments).out)
    except OSError as error:
        print(f"make_bestofn.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
