"""The spelling task: what is chosen, its order, its messages. Most of it needs the extra ``demo``."""

import importlib.util
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import make_spelling
import pytest

SCRIPT = Path(make_spelling.__file__)
EXTRA = all(importlib.util.find_spec(module) for module in make_spelling.NEEDED)
needs_extra = pytest.mark.skipif(not EXTRA, reason="needs pip install 'rerank[demo]'")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("spelling")
    assert make_spelling.main(["--lists", "30", "--candidates", "10", "--out", str(out)]) == 0
    return out


def rows(path: Path) -> list[tuple[int, str, list[float], str, str]]:
    """(label, qid, values, query, candidate) of each line."""
    read = []
    for line in path.read_text(encoding="ascii").splitlines():
        numbers, _, words = line.partition(" # ")
        label, qid, *columns = numbers.split()
        query, _, candidate = words.partition(" -> ")
        read.append((int(label), qid, [float(c.partition(":")[2]) for c in columns], query, candidate))
    return read


@needs_extra
def test_lists_are_in_the_order_of_the_first_stage(made: Path) -> None:
    from rapidfuzz.distance import OSA

    names = (made / "features.txt").read_text().split()
    counts = make_spelling.read_counts()
    ids = []
    for part in ("train", "dev", "test"):
        lists = defaultdict(list)
        for row in rows(made / f"{part}.letor"):
            lists[row[1]].append(row)
        ids += list(lists)
        for lines in lists.values():
            assert len(lines) == 10
            query = lines[0][3]
            nearest = sorted(counts, key=lambda w, q=query: (OSA.distance(q, w), -counts[w], w))[:10]
            assert [line[4] for line in lines] == nearest
            assert [line[2][names.index("distance")] for line in lines] == [
                OSA.distance(query, word) for word in nearest
            ]
    assert ids == [f"qid:{i}" for i in range(1, 31)]


@needs_extra
def test_labels_are_the_dictionary_s_corrections_and_no_letter_leaks(made: Path) -> None:
    dictionary = dict(make_spelling.read_dictionary())
    letters = {}
    for part in ("train", "dev", "test"):
        found = rows(made / f"{part}.letor")
        assert all((label == 1) == (word in dictionary[query]) for label, _, _, query, word in found)
        letters[part] = {
            word[0] for _, _, _, query, _ in found for word in dictionary[query] if word.isalpha()
        }
    assert not letters["train"] & letters["dev"]
    assert not letters["train"] & letters["test"]
    assert not letters["dev"] & letters["test"]


@needs_extra
def test_the_same_seed_makes_the_same_bytes(made: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(SCRIPT), "--lists", "30", "--candidates", "10", "--out", str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "123"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        p.name: p.read_bytes() for p in made.iterdir()
    }


@needs_extra
def test_more_lists_than_there_are_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_spelling.main(["--lists", "1000000", "--out", str(tmp_path / "new")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("make_spelling.py: --lists 1000000: train would need 600000")
    assert message.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_remarks_and_several_corrections_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dictionary.txt").write_text(
        "Teh->the\nabd->and, bad,\nclas->class, disabled for a reason\nalot->a lot\n"
        "cafe1->cafe\nbad->bade\nhte->thw\nteh->them\n"
    )
    monkeypatch.setattr(make_spelling, "files", lambda _package: tmp_path)
    assert dict(make_spelling.read_dictionary())["abd"] == ["and", "bad"]
    counts = {"the": 9, "and": 8, "bad": 7, "class": 6}
    entries, skipped = make_spelling.choose_entries(counts)
    assert [(entry.query, entry.corrections) for entry in entries] == [
        ("teh", ("the",)),
        ("abd", ("and", "bad")),
        ("clas", ("class",)),
    ]
    assert sorted(skipped.values()) == [1, 1, 1, 1, 1]


def test_a_missing_extra_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(make_spelling, "NEEDED", {"sys": "here", "no_such_module": "not-here"})
    assert make_spelling.main(["--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == (
        "make_spelling.py: not installed: not-here; pip install 'rerank[demo]'\n"
    )


@pytest.mark.parametrize("wrong", [["--lists", "4"], ["--candidates", "x"], ["--seed", "-1"]])
def test_a_number_out_of_range_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit) as stopped:
        make_spelling.main([*wrong, "--out", "unused"])
    assert stopped.value.code == 2
    assert f"found {wrong[1]!r}, expected a whole number" in capsys.readouterr().err
