"""``rerank eval`` block by block: the bytes, notes and errors that judging the whole set gives."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.core.files import read as files
from rerank.evaluation import evaluate
from rerank.evaluation.streaming import judge
from rerank.formats import streaming
from rerank.formats.streaming import store, text
from rerank.formats.table import read as table

WHOLE = 1 << 40
N = 30
Run = Callable[..., tuple[int, str, list[str], int]]


@pytest.fixture
def run(rerank: Any) -> Run:
    """run(block, ...) -> exit code of eval, output, lines on standard error, blocks that were judged."""

    def call(block: int, *arguments: Any, content: bytes | None = None) -> tuple[int, str, list[str], int]:
        judged = []

        class Kept(judge._Kept):
            def judged(self, *arguments: Any, **settings: Any) -> Any:
                found = super().judged(*arguments, **settings)
                judged.append(len(self.lengths))
                return found

        with pytest.MonkeyPatch.context() as patch:
            if content is not None:
                stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
                patch.setattr(sys, "stdin", stdin)
            patch.setattr(judge, "_Kept", Kept)
            patch.setattr(evaluate, "LARGE", 0)
            patch.setattr(streaming, "LARGE", 0)
            if block == WHOLE:
                patch.setattr(judge, "blocks_of", lambda *_, **__: None)
            else:
                patch.setattr(files, "BLOCK", block)
            patch.setattr(table, "_ROWS", max(min(block, 1 << 22) // 16, 1))
            for name in ("BLOCK", "FIRST"):
                patch.setattr(text, name, min(block, 1 << 22))
            patch.setattr(store, "VALUES", block)
            result = rerank("eval", *arguments, "--samples", "50", code=None)
        return result.code, result.out, sorted(result.err.splitlines()), sum(judged)

    return call


def same(
    run: Run, *arguments: Any, in_blocks: bool = True, least: int = 6, **given: Any
) -> tuple[int, str, list[str], int]:
    """Check that blocks of some lists and of all give what the whole set gives, and return that."""
    whole = run(WHOLE, *arguments, **given)
    for block in (1, 300, 1 << 22):
        found = run(block, *arguments, **given)
        assert found[:3] == whole[:3], block
        assert (found[3] > 0) is (in_blocks and whole[0] == 0), block
        assert block > 1 or found[3] >= least or not in_blocks or whole[0], block
    return whole


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A LETOR file, and two score files a and b beside it."""
    rng = random.Random(3)
    lines = []
    for q in range(N):
        for _ in range(rng.randint(1, 6)):
            features = " ".join(f"{j}:{rng.randint(-9, 9) / 8}" for j in range(1, 4))
            lines.append(f"{rng.randint(0, 2)} qid:{q} {features}")
    path = tmp_path / "data.letor"
    path.write_text("\n".join(lines) + "\n")
    for name in "ab":
        scores = [rng.randint(0, 20) / 4 for _ in lines]
        (tmp_path / name).write_text("".join(f"{score}\n" for score in scores))
    return path


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_letor(run: Run, data: Path, form: str) -> None:
    a, b = data.parent / "a", data.parent / "b"
    metrics = [f"--metric={name}" for name in ("AP", "nDCG@2", "ndcg@3", "RR", "label@1", "loss@1", "P@9")]
    code, out, err, _ = same(run, data, a, b, ":2", *metrics, "--as", form)
    assert code == 0
    assert out
    assert any("is taken as" in line for line in err)
    assert any("share the largest score" in line for line in err)


def test_defaults_baseline_and_values_of_lists(run: Run, data: Path) -> None:
    a, b = data.parent / "a", data.parent / "b"
    assert same(run, data, a, a.parent / "b", "--baseline", b)[0] == 0
    assert same(run, data, a, "--first-best", "input", "--baseline", "first-best", "-m", "label@1")[0] == 0
    assert same(run, data, a, "--baseline", "first-best", in_blocks=False)[0] == 2
    assert same(run, data, "--per-list", "-")[0] == 0
    _, out, _, _ = same(run, data, a, "--first-best", "input", "--per-list", "-", "--no-relevant", "skip")
    assert "first_best" in out
    assert same(run, data, a, b, "--replicas", "-m", "AP")[0] == 0


def test_what_notes_say(run: Run, data: Path) -> None:
    n = len(data.read_text().splitlines())
    (data.parent / "c").write_text("1\n" * n)
    (data.parent / "d").write_text((data.parent / "a").read_text())
    err = same(run, data, *(data.parent / name for name in "acd"), "-m", "AP", "-m", "AP(rel=7)")[2]
    for text_ in ("ties decide everything", "ranks every list as", "nothing is relevant for"):
        assert any(text_ in line for line in err), text_


@pytest.mark.parametrize("metric", ["BLEU", "pass@1", "Spearman", "oracle2.label@1", "ERR@5", "PairAcc"])
def test_the_whole_set_is_read_if_bounds_need_it(run: Run, data: Path, metric: str) -> None:
    assert same(run, data, data.parent / "a", "-m", metric, in_blocks=False)[0] == (
        2 if metric == "BLEU" else 0
    )


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "store", "parquet"])
def test_formats(run: Run, data: Path, suffix: str) -> None:
    path = data.parent / f"data.{suffix}"
    rerank.save(rerank.load(data), path)
    assert same(run, path, data.parent / "a", ":2", "-m", "AP", "-m", "label@1", least=1)[0] == 0


@pytest.mark.filterwarnings("ignore")
def test_texts(run: Run, tmp_path: Path) -> None:
    rng = random.Random(1)
    rows, refs = [], []
    for i in range(N):
        refs.append(" ".join(f"w{i}{rng.choice('abc')}" for _ in range(rng.randint(1, 6))))
        for k in range(3):
            words = [*refs[-1].split()[k:], *rng.choices("xyz", k=k)]
            rows.append(f"{i} ||| {' '.join(words)} ||| x= {rng.random():.3f} ||| {-k}")
    path, references = tmp_path / "n.best", tmp_path / "refs"
    path.write_text("\n".join(rows) + "\n")
    references.write_text("\n".join(refs) + "\n")
    scores = tmp_path / "scores"
    scores.write_text("".join(f"{rng.random()}\n" for _ in rows))
    read = ["--format", "moses", "--refs", references]
    assert same(run, path, scores, ":x", *read, "-m", "WER")[0] == 0
    labelled = tmp_path / "labelled.jsonl"
    lists = rerank.load(path, format="moses", refs=str(references))
    rerank.save(lists, labelled)
    assert same(run, labelled, scores, "-m", "WER", "-m", "SER")[0] == 0
    assert same(run, labelled, scores, "-m", "BLEU", in_blocks=False)[0] == 0


def test_pipes(run: Run, data: Path) -> None:
    content = data.read_bytes()
    given = ["-", data.parent / "a", "--format", "svmlight"]
    assert same(run, *given, content=content)[0] == 0
    assert same(run, *given, "-m", "label@1", content=content)[0] == 0
    assert same(run, *given, "-m", "Spearman", in_blocks=False, content=content)[0] == 0


def test_errors(run: Run, data: Path) -> None:
    lines = (data.parent / "a").read_text().splitlines()
    short, long, odd = (data.parent / name for name in ("short", "long", "odd"))
    short.write_text("\n".join(lines[:-1]) + "\n")
    long.write_text("\n".join([*lines, "1"]) + "\n")
    odd.write_text("\n".join([*lines[:-2], "x", "1"]) + "\n")
    for path in (short, long, odd):
        assert same(run, data, path)[0] == 2
    text_ = data.read_text().splitlines()
    data.write_text("\n".join([*text_[:-1], "1 qid:x 1:z"]) + "\n")
    assert same(run, data, data.parent / "a")[0] == 2


def test_lists_apart_and_ids_in_some_blocks(run: Run, data: Path) -> None:
    text_ = data.read_text().splitlines()
    data.write_text("\n".join([*text_[1:], text_[0]]) + "\n")
    same(run, data, data.parent / "a", in_blocks=False)
    data.write_text("\n".join([*text_[:-3], *(f"{line} # d{k}" for k, line in enumerate(text_[-3:]))]) + "\n")
    code, out, _, _ = run(300, data, data.parent / "a", "-m", "AP")
    assert (code, out) == run(WHOLE, data, data.parent / "a", "-m", "AP")[:2]
