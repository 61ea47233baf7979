"""The best-of-N set in data/ is what its script makes, with the properties that it states."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from make_bestofn import OPERATIONS, SAMPLES, SIZES, Draws

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "data" / "best-of-n"


def entries(part: str) -> list[dict]:
    return [json.loads(line) for line in (COMMITTED / f"{part}.jsonl").read_text("ascii").splitlines()]


def test_the_script_makes_the_committed_bytes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    script = ROOT / "scripts" / "make_bestofn.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path)], env=environment, check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in COMMITTED.iterdir()}
    assert sorted(made) == ["dev.jsonl", "test.jsonl", "train.jsonl"]
    assert sum(map(len, made.values())) < 200_000


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    script = ROOT / "scripts" / "make_bestofn.py"
    done = subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path / "file")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("make_bestofn.py: ")


@pytest.mark.parametrize("part", SIZES)
def test_an_answer_is_right_if_its_problem_is_solved(part: str) -> None:
    found = entries(part)
    assert len(found) == SIZES[part]
    for entry in found:
        numbers = {int(number) for number in re.findall(r"\d+", entry["prompt"])}
        assert len(entry["completions"]) == SAMPLES
        for answer in entry["completions"]:
            first, second = re.findall(r"(\d+) ([-+x]) (\d+) = (-?\d+)", answer["text"])
            assert {int(first[0]), int(first[2]), int(second[2])} == numbers
            assert answer["text"].endswith(f"Answer: {second[3]}")
            sums_hold = all(OPERATIONS[sign](int(a), int(b)) == int(c) for a, sign, b, c in (first, second))
            assert sums_hold or not answer["correct"]
            assert answer["n_tokens"] == len(re.findall(r"\w+|[^\w\s]", answer["text"]))


def test_no_problem_occurs_twice_and_some_have_no_right_answer() -> None:
    everything = [entry for part in SIZES for entry in entries(part)]
    assert len({entry["prompt"] for entry in everything}) == len(everything)
    solved = [sum(answer["correct"] for answer in entry["completions"]) for entry in everything]
    assert min(solved) == 0
    assert 0.25 < sum(solved) / (SAMPLES * len(solved)) < 0.6


def test_scores_are_as_informative_as_the_script_states() -> None:
    answers = [answer for entry in entries("train") for answer in entry["completions"]]

    def mean(key: str, chosen) -> float:
        values = [answer[key] for answer in answers if chosen(answer)]
        return sum(values) / len(values)

    for key in ("orm", "prm"):
        assert mean(key, lambda a: a["correct"]) > mean(key, lambda a: not a["correct"])
    long, short = (lambda a: a["n_tokens"] > 25), (lambda a: a["n_tokens"] < 20)
    assert mean("orm", long) > mean("orm", short) + 0.5  # the bias
    assert mean("logprob", long) < mean("logprob", short)


def test_noise_has_mean_0_and_deviation_1() -> None:
    draws = Draws(3)
    values = [draws.noise() for _ in range(20_000)]
    mean = sum(values) / len(values)
    assert abs(mean) < 0.03
    assert abs(sum((v - mean) ** 2 for v in values) / len(values) - 1) < 0.05
