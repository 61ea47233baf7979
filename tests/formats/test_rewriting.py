"""Files rewritten block by block: the bytes, notes and errors that reading the whole file gives."""

import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.core.files import read as files
from rerank.formats import streaming
from rerank.formats.streaming import store, text
from rerank.formats.table import read as table

WHOLE = 1 << 40
TARGETS = ["letor", "jsonl", "csv", "tsv", "moses", "parquet", "store", "run"]
N = 9

Run = Callable[..., tuple[int, bytes, list[str]]]


@pytest.fixture
def run(rerank: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """run(block, verb, ..., out="x.csv") -> exit code, bytes of the output, lines on standard error."""

    def call(
        block: int, *arguments: Any, out: str = "-", content: bytes | None = None
    ) -> tuple[int, bytes, list[str]]:
        target = tmp_path / "out" / out
        target.parent.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            if content is not None:
                stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
                patch.setattr(sys, "stdin", stdin)
            if block == WHOLE:
                patch.setattr("rerank.formats.rewriting.blocks_of", lambda *_, **__: None)
            else:
                patch.setattr(streaming, "LARGE", 0)
                patch.setattr(files, "BLOCK", block)
                patch.setattr(table, "_ROWS", max(block // 16, 1))
            for name in ("BLOCK", "FIRST"):
                patch.setattr(text, name, min(block, 1 << 22))
            patch.setattr(store, "VALUES", block)
            result = rerank(*arguments, "--out", "-" if out == "-" else target, code=None)
        found = b""
        if out == "-":
            found = result.out.encode()
        elif target.is_dir():
            found = b"".join(path.name.encode() + path.read_bytes() for path in sorted(target.iterdir()))
        elif target.exists():
            found = target.read_bytes()
        return result.code, found, sorted(result.err.splitlines())

    return call


def same(run: Run, *arguments: Any, blocks: tuple[int, ...] = (1, 150, 1 << 22), **given: Any) -> Any:
    """Check that blocks of one list, of some and of all give what the whole file gives, and return it."""
    whole = run(WHOLE, *arguments, **given)
    for block in blocks:
        code, out, err = run(block, *arguments, **given)
        assert (code, out) == whole[:2], (block, err, whole[2])
        kept = [[line for line in lines if "read as a whole" not in line] for lines in (err, whole[2])]
        if code == 0:
            assert kept[0] == kept[1]
        else:
            assert [line for line in kept[0] if "note:" not in line] == [
                line for line in kept[1] if "note:" not in line
            ]
    return whole


def written(tmp_path: Path, source: str, change: str = "") -> Path:
    """A file of lists in the format of a suffix."""
    rng = random.Random(7)
    lines: list[str] = []
    wide = 30 if change == "sparse" else 4
    share = 0.2 if change == "sparse" else 0.9
    for q in range(N):
        for i in range(rng.randint(1, 4)):
            width = 3 if change == "late" and q < N // 2 else wide
            values = [(j, rng.randint(-9, 9) / 8) for j in range(1, width + 1) if rng.random() < share]
            if change == "zero":
                values = [(j, v) for j, v in values if j < wide] + [(wide, 0.0)]
            text = " ".join(f"{j}:{v}" for j, v in values)
            lines.append(f"{rng.randint(0, 2)} qid:{q} {text}" + (f" # d{i}" if change != "no ids" else ""))
    path = tmp_path / "source.letor"
    path.write_text("\n".join(lines) + "\n")
    if source == "letor":
        return path
    lists = rerank.load(path)
    if source in ("nbest", "jsonl"):
        texts = [f"t{k} a b" for k in range(lists.n_items)]
        lists = rerank.CandidateLists.from_arrays(
            lists.features, lists.labels, group=lists.lengths, texts=texts, item_ids=list(lists.item_ids)
        )
        lists = rerank.load(_saved(lists, tmp_path / "source0.jsonl"))
    if source in ("nbest", "run"):
        from dataclasses import replace

        scores = lists.features.to_dense()[:, 0].copy()
        lists = replace(lists, base_scores=scores)
    return _saved(lists, tmp_path / f"source.{source}", {"nbest": "moses"}.get(source))


def _saved(lists: Any, path: Path, format: str | None = None) -> Path:
    rerank.save(lists, str(path), format)
    return path


SOURCES = ["letor", "csv", "jsonl", "nbest", "run", "parquet", "store"]
pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_format_to_every_other(run: Run, tmp_path: Path, source: str, target: str) -> None:
    path = written(tmp_path, source)
    format = {"moses": ("--to", "moses"), "run": ("--to", "trec")}.get(target, ())
    same(run, "convert", path, *format, out=f"a.{target}", blocks=(1,))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("change", ["sparse", "late", "zero", "no ids"])
def test_sets_of_every_form(run: Run, tmp_path: Path, change: str, target: str) -> None:
    path = written(tmp_path, "letor", change)
    format = {"moses": ("--to", "moses"), "run": ("--to", "trec")}.get(target, ())
    same(run, "convert", path, *format, out=f"a.{target}", blocks=(1,))
