"""Runs and judgements read by the kernel, against reading them line by line."""

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.core.errors import DataNote, FormatError
from rerank.core.files import read as files
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.formats.trec import ThreeColumnRun, TRECRun
from rerank.formats.trec.qrels import Judgements, read_qrels
from tests.reference import trec as slow

DOCUMENTS = [b"d1", b"d2", b"clueweb09-en0000-00-00000", b"d" * 70, "dö".encode(), b"d\xff", b"0"]
QUERIES = [b"1", b"q2", b"query-" + b"3" * 60, "ä".encode()]
NUMBERS = [b"1", b"-2.5e3", b".5", b"7.", b"3", b"2", b"0.30000000000000004", b"123456789012345678.5", b"+4"]
SEPARATORS = [b" ", b"\t", b"  ", b" \t", b"\x0b", b"\r"]
ENDS = [b"\n", b"\r\n", b" \n", b"\n\n", b"\n \t\n"]
ODD = [b"", b" ", b"\n", b"x", b"e9", b"nan", b"1e999", b"1_0", b"\xff", b"\0", b"\r", b"\t", b"\xef\xbb\xbf"]


def made(rng: random.Random, fields: Callable[[], list[bytes]], plain: bool, tabs: bool) -> bytes:
    """Return a file of lines, mostly of one form, some bytes of which are changed."""
    separators = [b"\t"] if tabs else SEPARATORS[:1] if plain else SEPARATORS
    ends = ENDS[:1] if plain else ENDS
    parts = []
    for _ in range(rng.randrange(1, 30)):
        cells = fields()
        parts += [cell for field in cells for cell in (field, rng.choice(separators))][:-1]
        parts.append(rng.choice(ends))
    data = b"".join(parts)
    if rng.random() < 0.3:
        data = data.rstrip()
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        at = rng.randrange(len(data) + 1)
        new = rng.choice([*ODD, bytes([rng.randrange(256)])])
        data = data[:at] + new + data[at + rng.randrange(3) :]
    return rng.choice((b"", b"", b"\xef\xbb\xbf", b"\n")) + data


def outcome(read: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return what was read, or the error's text, and the notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataNote)
        try:
            return read(*args), [str(note.message) for note in caught]
        except FormatError as error:
            return str(error), []


def strings(column: StringColumn) -> list[bytes]:
    return [column.bytes_at(i) for i in range(len(column))]


@pytest.mark.parametrize("block", [40, 300, 1 << 20])
@pytest.mark.parametrize("n_fields", [3, 6])
def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_fields: int, block: int) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    rng = random.Random(block + n_fields)
    path = tmp_path / "x"
    read_so_far = 0
    for _ in range(150):
        pool = [b"d%d" % k for k in range(99)] + DOCUMENTS
        rng.shuffle(pool)
        numbers = NUMBERS if rng.random() < 0.7 else [b"1", b"2", b"3", b"07"]
        together, query = rng.random() < 0.5, [QUERIES[0]]

        def fields(pool=pool, numbers=numbers, together=together, query=query) -> list[bytes]:
            if not together or rng.random() < 0.2:
                query[0] = rng.choice(QUERIES)
            document = pool.pop() if rng.random() < 0.99 else pool[-1]
            if n_fields == 3:
                return [query[0], document, rng.choice(numbers)]
            rank = rng.choice([b"1", b"-3", b"+007", b"999999999999999"])
            return [query[0], b"Q0", document, rank, rng.choice(numbers), rng.choice([b"t", b"t", b"u\xff"])]

        path.write_bytes(made(rng, fields, rng.random() < 0.5, tabs=False))
        strict = rng.random() < 0.3
        source = str(path)
        kind = TRECRun if n_fields == 6 else ThreeColumnRun
        wanted, _ = outcome(slow.run_of, path.read_bytes(), source, n_fields, strict)
        found, notes = outcome(kind.read_run, source, Reading(strict=strict))
        if isinstance(wanted, str) or isinstance(found, str):
            ranked = isinstance(wanted, dict) and wanted["ranked"]
            if n_fields == 3 and ranked and "ranks 1, 2, ... of each query" in found:
                continue  # refused once the lines were read
            assert found == wanted, path.read_bytes()
            continue
        read_so_far += 1
        assert found.offsets.tolist() == wanted["offsets"]
        assert list(found.queries) == wanted["queries"]
        assert strings(found.documents) == wanted["documents"]
        assert (None if found.rows is None else found.rows.tolist()) == wanted["rows"]
        if n_fields == 6:
            assert found.tag == wanted["tag"]
            assert found.scores.tolist() == wanted["scores"]
            assert found.ranks.tolist() == wanted["ranks"]
            assert any("tags in one run" in note for note in notes) == (wanted["tags"] > 1)
        else:
            ranks = wanted["scores"]
            assert found.scores.tolist() == ([1 / rank for rank in ranks] if wanted["ranked"] else ranks)
        n, line = wanted["apart"]
        contiguous = [note for note in notes if "not contiguous" in note]
        words = f"the lines of {n} list{'s' * (n > 1)} are not contiguous (from line {line});"
        assert [words in note for note in contiguous] == [True] * (n > 0)
    assert read_so_far > 30


@pytest.mark.parametrize("block", [40, 300, 1 << 20])
@pytest.mark.parametrize("tabs", [False, True])
def test_judgements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tabs: bool, block: int) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    rng = random.Random(block + tabs)
    path = tmp_path / "x"
    read_so_far = 0
    for _ in range(150):
        pool = [b"d%d" % k for k in range(99)] + DOCUMENTS + [b"a b"] * tabs
        rng.shuffle(pool)

        def fields(pool=pool) -> list[bytes]:
            document = pool.pop() if rng.random() < 0.98 else pool[-1]
            cells = [rng.choice(QUERIES + [b" c  d "] * tabs), document, rng.choice(NUMBERS)]
            return cells if tabs else [cells[0], rng.choice([b"0", b"0", b"Q0"]), *cells[1:]]

        data = made(rng, fields, rng.random() < 0.5, tabs)
        header = b"query-id\tcorpus-id\tscore\n" if tabs and rng.random() < 0.5 else b""
        path.write_bytes(header + data)
        if path.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            continue
        source = str(path)
        wanted, _ = outcome(slow.qrels_of, path.read_bytes(), source)
        found, _ = outcome(read_qrels, source)
        if isinstance(wanted, str) or isinstance(found, str):
            assert found == wanted, path.read_bytes()
            continue
        read_so_far += 1
        labels, second = wanted
        assert set(found.second) == second
        assert strings(found.queries) == list(labels)
        assert strings(found.documents) == [name for judged in labels.values() for name in judged]
        assert found.offsets.tolist() == [0, *np.cumsum([len(judged) for judged in labels.values()])]
        assert found.labels.tolist() == [label for judged in labels.values() for label in judged.values()]
    assert read_so_far > 30


def test_strings_are_found_in_other_columns() -> None:
    """Against dictionaries: lists without a partner, empty ones and empty strings, repeated strings."""
    rng = random.Random(0)
    for _ in range(200):
        mine, other = (
            [[rng.choice([b"", b"a", b"b", b"longer than eight", b"longer than eighu"])
              for _ in range(rng.randrange(5))] for _ in range(rng.randrange(1, 6))]
            for _ in range(2)
        )  # fmt: skip
        columns = [StringColumn.from_strings([s for one in lists for s in one]) for lists in (mine, other)]
        bounds = [np.cumsum([0, *map(len, lists)]) for lists in (mine, other)]
        partners = np.array([rng.randrange(-1, len(other)) for _ in mine])
        found = columns[0].places_in(bounds[0], columns[1], bounds[1], partners).tolist()
        wanted = []
        for own, partner in zip(mine, partners.tolist(), strict=True):
            theirs = other[partner] if partner >= 0 else []
            start = int(bounds[1][partner]) if partner >= 0 else 0
            wanted += [start + theirs.index(s) if s in theirs else -1 for s in own]
        assert found == wanted
        flat = [(i, s) for i, own in enumerate(mine) for s in own]
        faults = [k for k, (i, s) in enumerate(flat) if not s or (i, s) in flat[:k]]
        assert columns[0].first_fault(bounds[0]) == (faults[0] if faults else -1) or not len(columns[0].data)


def test_judgements_of_equal_ids_are_used_once() -> None:
    """An id that a list, or an item, has twice is judged the first time, as if the judgement was used up."""
    lists = CandidateLists.from_arrays(np.zeros((5, 1)), group=[2, 2, 1], item_ids=["a", "a", "b", "a", "a"])
    ids = StringColumn.from_strings(["p", "q", "p"])
    judgements = Judgements.of({b"p": {b"a": 1.0, b"z": 2.0}, b"q": {b"b": 3.0}, b"r": {}}, "qrels")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        judged = judgements.on(replace(lists, list_ids=ids))
    assert np.array_equal(judged.labels, [1, np.nan, 3, np.nan, np.nan], equal_nan=True)
    assert judged.unretrieved.values.tolist() == [2]
    assert judged.unretrieved.offsets.tolist() == [0, 1, 1, 1]
    assert [re.sub("^qrels: ", "", str(note.message))[:40] for note in caught] == [
        "judges nothing of 1 query of arrays",
        "1 judged query not in arrays; left out (",
    ]
