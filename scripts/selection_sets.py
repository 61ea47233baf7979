#!/usr/bin/env python3
"""Utterances and solutions of RERANK_DATA as tables, for the verdicts of the manual's page on selection.

    RERANK_DATA=... python scripts/selection_sets.py --out DIR

DIR/aishell-{train,dev,test}.csv: hypotheses of 7,176 utterances. Features are the recogniser's score, the
place and the lead over the next one, the label is 1 - character error rate. Each part has a third of the
speakers.
DIR/gsm8k.csv: four solutions of each of 1,319 problems, that of the larger model with a verifier first.
Features are the systems, the share of the other solutions with the same answer, and lengths; label 1 is
right; answer is the final answer.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SYSTEMS = ("175b_verification", "175b_finetuning", "6b_verification", "6b_finetuning")
PARTS = ("train", "dev", "test")
_ANSWER = re.compile(r"#### *(.*)|A: *(.*)")


def aishell(data: Path) -> dict[str, list[list[Any]]]:
    """Rows by part: list, id, label and features of each hypothesis, the recogniser's first one first."""
    scores, rates = (
        json.loads(gzip.decompress((data / "asr-aishell" / f"hyps_{name}.json.gz").read_bytes()))
        for name in ("score", "cer")
    )
    speakers = sorted({utterance[6:11] for utterance in scores})
    found: dict[str, list[list[Any]]] = {part: [] for part in PARTS}
    for utterance, hypotheses in scores.items():
        values = list(hypotheses.values())
        rows = found[PARTS[speakers.index(utterance[6:11]) % 3]]
        for place, (name, score) in enumerate(hypotheses.items()):
            lead = score - values[min(place + 1, len(values) - 1)]
            rows.append([utterance, name, 1 - rates[utterance][name], score, 1 / (place + 1), lead])
    return found


def gsm8k(data: Path) -> Iterable[list[Any]]:
    """List, id, label, features and answer of each solution."""
    text = gzip.decompress((data / "gsm8k-solutions" / "example_model_solutions.jsonl.gz").read_bytes())
    for number, line in enumerate(text.decode("utf-8").splitlines()):
        record = json.loads(line)
        solutions = [record[name]["solution"] for name in SYSTEMS]
        answers = [_answer(solution) for solution in solutions]
        for place, (name, solution) in enumerate(zip(SYSTEMS, solutions, strict=True)):
            same = (answers.count(answers[place]) - 1) / (len(SYSTEMS) - 1)
            of = [float(name == other) for other in SYSTEMS[:3]]
            steps = solution.count("\n") + 1
            yield [
                number,
                name,
                int(record[name]["is_correct"]),
                *of,
                same,
                len(solution),
                steps,
                answers[place],
            ]


def _answer(solution: str) -> str:
    found = _ANSWER.findall(solution)
    return "".join(found[-1]).replace(",", "").strip() if found else solution[-20:]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    folder, data = parser.parse_args().out, Path(os.environ["RERANK_DATA"])
    folder.mkdir(parents=True, exist_ok=True)
    heads = ["list", "id", "label"]
    tables: dict[str, tuple[list[str], Iterable[list[Any]]]] = {
        f"aishell-{part}": ([*heads, "score", "place", "lead"], rows) for part, rows in aishell(data).items()
    }
    tables["gsm8k"] = ([*heads, *SYSTEMS[:3], "same_answer", "characters", "steps", "answer"], gsm8k(data))
    for name, (head, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([head, *rows])


if __name__ == "__main__":
    main()
