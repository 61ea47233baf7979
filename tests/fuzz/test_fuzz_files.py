"""Findings of tests/fuzz/files.py that are fixed, and the fuzzer itself: what it covers and catches."""

from __future__ import annotations

import argparse
import itertools
import os
import random
from pathlib import Path

import numpy as np
import pytest
from fuzz import files
from fuzz.corpus import Seed, corpus, targets
from fuzz.mutate import mutated
from fuzz.typed import all_of

from rerank.formats import FORMATS
from rerank.formats.base import recognising
from rerank.formats.buffers import BOM
from rerank.learners.base import LEARNERS

CASES = sorted((Path(__file__).parent / "cases").glob("*/"))


def test_everything_that_is_registered_is_fuzzed():
    models = [seed for name, seeds in corpus().items() if name.startswith("model:") for seed in seeds]
    assert set(corpus()) == set(targets())
    assert len(models) > len(LEARNERS.names())


@pytest.mark.parametrize("target", targets())
def test_the_inputs_that_mutations_start_from_are_read(target):
    for seed in corpus()[target]:
        assert any(files.fault_of(target, seed, random.Random(k)) is None for k in range(10)), seed


def test_formats_are_imported_by_signs_that_their_files_have():
    """What recognises content among all formats is the same as what does among those with its signs."""
    draw, kinds = random.Random(3), {name: FORMATS.get(name) for name in FORMATS.names()}
    seen = set()
    for target in (name for name in corpus() if name.startswith(("format:", "text:"))):
        seeds = [*corpus()[target], *(mutated(draw, corpus()[target]) for _ in range(50))]
        for content in (data.removeprefix(BOM) for seed in seeds for data in seed.files.values()):
            for head in (content, content[: draw.randrange(len(content) + 1)], b"\r\n \t" + content):
                found = [name for name, kind in kinds.items() if kind.recognises(head)]
                assert recognising(head, kinds) == found, head
                seen.update(found)
    assert seen == {name for name, kind in kinds.items() if kind.signs}


@pytest.mark.parametrize(
    "target", [name for name in targets() if name.startswith(("format:", "text:", "config:"))]
)
def test_values_of_every_type_are_read_or_refused_in_one_line(target):
    """A sample of what tests/fuzz/typed.py tries."""
    inputs = itertools.islice(all_of(target, corpus()[target], 1), 0, 20_000, 40 if "store" in target else 5)
    for k, (what, seed) in enumerate(inputs):
        assert not files.fault_of(target, seed, random.Random(k)), what


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_finding_that_was_fixed_stays_fixed(case):
    target, seed = files.read_case(case)
    for k in range(5):
        assert not files.fault_of(target, seed, random.Random(k))


def options(tmp_path, **changes):
    return argparse.Namespace(
        **{"minutes": 1.0, "inputs": 40, "seed": 5, "jobs": 2, "seconds": 0.5, "memory": 300, **changes},
        out=str(tmp_path / "out"),
        scratch=str(tmp_path),
    )


def crash(folder):
    os.abort()


def hang(folder):
    while True:
        pass


def fill(folder):
    return np.ones(1 << 29)


def fault(folder):
    return {}["no such key"]


@pytest.mark.parametrize(
    ("use", "what"),
    [(crash, "ended by SIGABRT"), (hang, "ended by SIGPROF"), (fill, "MemoryError"), (fault, "KeyError")],
)
def test_a_crash_a_hang_too_much_memory_and_an_exception_are_findings(
    use, what, tmp_path, monkeypatch, capfd
):
    def used(target, seed, folder, draw):
        if b"4" in seed.files[""]:
            use(folder)

    monkeypatch.setattr(files, "exercise", used)
    seeds = {"text:x": [Seed({"": b"1\n4\n"}), Seed({"": b"1\n"})]}
    assert files.run(seeds, options(tmp_path, inputs=6)) == 1
    printed = capfd.readouterr().out
    assert f"finding: text:x: {what}" in printed
    assert "6 inputs in" in printed
    case = next((tmp_path / "out").iterdir())
    target, seed = files.read_case(case)
    assert target == "text:x"
    assert b"4" in seed.files[""]


def test_a_run_is_the_same_for_any_number_of_workers(tmp_path, capfd):
    tables = []
    for jobs in (1, 2):
        seeds = {name: inputs for name, inputs in corpus().items() if name.startswith("text:")}
        assert files.run(seeds, options(tmp_path, jobs=jobs, seconds=9.0)) == 0
        tables.append(capfd.readouterr().out.split("40 inputs in")[0])
    assert tables[0] == tables[1]
    assert "finding" in tables[0]
