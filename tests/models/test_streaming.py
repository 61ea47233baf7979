"""Predictions block by block are those of the whole file: the same bytes, notes, errors and exit codes."""

from __future__ import annotations

import gzip
import io
import json
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
from rerank.models import predict
from rerank.models import streaming as predicting

WHOLE = 1 << 40


def lines_of(n_lists: int, width: int = 4, seed: int = 1, sizes: tuple[int, int] = (1, 4)) -> list[bytes]:
    """Lines of lists of some features; now and then a comment, a blank line or a line out of order."""
    rng = random.Random(seed)
    lines: list[bytes] = []
    for q in range(n_lists):
        for i in range(rng.randint(*sizes)):
            values = " ".join(
                f"{j}:{rng.randint(-99, 99) / 8}" for j in range(1, width + 1) if rng.random() < 0.9
            )
            lines.append(f"{rng.randint(0, 2)} qid:q{q} {values} # d{i}".encode())
        if rng.random() < 0.2:
            lines.append(rng.choice([b"", b"# a comment", b"  \t"]))
    return lines


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    (folder / "train.letor").write_bytes(b"\n".join(lines_of(40, sizes=(4, 6))) + b"\n")
    train = rerank.load(folder / "train.letor")
    found = {}
    for name, settings in {
        "perceptron": {"epochs": 2},
        "zscore": {"learner": "ridge", "scaling": "zscore"},
        "list": {"learner": "ridge", "scaling": "list-zscore"},
        "mean": {"learner": "ridge", "missing": "mean"},
        "stumps": {"learner": "rankboost", "rounds": 5},
        "kernel": {"learner": "kernel-perceptron", "epochs": 1},
        "random": {"learner": "random"},
    }.items():
        found[name] = str(folder / name)
        rerank.train(train, **settings).save(found[name])
    return found


Run = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def run(rerank: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(block, "model", "data", ...) -> exit code, output, lines on standard error; ``content``: a pipe."""

    def call(block: int, *arguments: Any, content: bytes | None = None) -> tuple[int, str, list[str]]:
        with pytest.MonkeyPatch.context() as patch:
            if content is not None:
                stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
                patch.setattr(sys, "stdin", stdin)
            for module in (streaming, predict):
                patch.setattr(module, "LARGE", WHOLE if block == WHOLE else 0)
            patch.setattr(text, "BLOCK", block)
            patch.setattr(text, "FIRST", block)
            patch.setattr(store, "VALUES", block)
            if block < WHOLE:
                patch.setattr(files, "BLOCK", block)
                patch.setattr(table, "_ROWS", max(block // 16, 1))
            if block == WHOLE:
                patch.setattr(predicting, "OUTPUTS", ())
            result = rerank("predict", *arguments, code=None)
        return result.code, result.out, sorted(result.err.splitlines())

    return call


def same(run: Run, *arguments: Any, blocks: tuple[int, ...] = (1, 150, 1 << 22), **given: Any) -> Any:
    """Check that blocks of one list, of some and of all give what the whole file gives, and return it."""
    whole = run(WHOLE, *arguments, **given)
    for block in blocks:
        code, out, err = run(block, *arguments, **given)
        assert (code, out) == whole[:2]
        noted = [line for line in whole[2] if code == 0 or not line.startswith("rerank: note: ")]
        assert [line for line in err if code == 0 or not line.startswith("rerank: note: ")] == noted
    return whole


OUTPUTS = ["scores", "table", "best", "run", "nbest"]


@pytest.mark.parametrize("as_", OUTPUTS)
@pytest.mark.parametrize("name", ["perceptron", "zscore", "list", "mean", "stumps", "kernel", "random"])
def test_files_and_pipes(models: dict[str, str], run: Run, tmp_path: Path, name: str, as_: str) -> None:
    content = b"\n".join(lines_of(30, seed=2))
    path = tmp_path / "a.letor"
    path.write_bytes(content)
    code, out, _ = same(run, models[name], path, "--as", as_)
    assert code == 0
    assert out
    assert same(run, models[name], "-", "--as", as_, "--format", "svmlight", content=content)[1] == out


@pytest.mark.parametrize("change", ["narrow", "wide", "sparse", "no ids", "few ids", "gz", "bom"])
@pytest.mark.parametrize("name", ["perceptron", "zscore", "mean"])
def test_sets_of_every_form(models: dict[str, str], run: Run, tmp_path: Path, name: str, change: str) -> None:
    lines = lines_of(30, {"narrow": 3, "wide": 6}.get(change, 4), seed=3)
    if change == "sparse":
        lines = [line.replace(b" 2:", b" 20:").replace(b" 3:", b" 300:") for line in lines_of(30, seed=4)]
        lines = [b" ".join(t for t in line.split(b" ") if not t.startswith(b"4:")) for line in lines]
    if change in ("no ids", "few ids"):
        few = change == "few ids"
        lines = [
            line if few and i % 5 == 0 else line.partition(b" # ")[0] for i, line in enumerate(lines) if line
        ]
    content = b"\n".join(lines)
    content = {"gz": gzip.compress(content), "bom": b"\xef\xbb\xbf" + content}.get(change, content)
    path = tmp_path / "a.letor"
    path.write_bytes(content)
    assert same(run, models[name], path)[0] == 0
    assert same(run, models[name], "-", "--format", "svmlight", content=content)[0] == 0
    assert same(run, models[name], path, "--out", tmp_path / "out")[0] == 0


def test_columns_that_come_late(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    """The first lists have fewer columns than the model: absent ones are 0 only if others have them."""
    lines = [b"1 qid:a 1:1 2:2", b"0 qid:a 1:2 2:1", *[b"1 qid:b%d 1:1 2:1" % i for i in range(40)]]
    for last in (b"0 qid:c 1:1 2:1 3:1 4:2 5:1 6:1", b"0 qid:c 1:1 2:1"):
        path = tmp_path / "a.letor"
        path.write_bytes(b"\n".join([*lines, last]))
        for name in ("perceptron", "mean", "zscore"):
            for options in ((), ("--missing", "nan") if name != "mean" else (), ("--layout", "dense")):
                same(run, models[name], path, *options)
                same(run, models[name], "-", "--format", "svmlight", *options, content=path.read_bytes())


@pytest.mark.parametrize(
    "bad", [b"0 qid:x 1:a", b"0 1:2", b"x qid:x 1:1", b"0 qid:x 1:1 1:2", b"0 qid:x 0:1"]
)
def test_a_fault_in_the_last_block(models: dict[str, str], run: Run, tmp_path: Path, bad: bytes) -> None:
    lines = lines_of(20, seed=5)
    path = tmp_path / "a.letor"
    path.write_bytes(b"\n".join([*lines, bad, *lines_of(3, seed=6)]))
    code, out, err = run(WHOLE, models["zscore"], path)
    assert (code, out) == (2, "")
    assert f":{len(lines) + 1}: found" in err[0]
    for block in (1, 200, 1 << 22):
        found, out, lines_of_error = run(block, models["zscore"], path)
        assert (found, lines_of_error) == (code, err)
        assert bool(out) == (block < 1 << 22)  # what was printed before stays
        assert run(block, models["zscore"], path, "--out", tmp_path / "out")[0] == 2
        assert not (tmp_path / "out").exists()


def test_lists_that_are_apart(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    """They are brought together as in whole files; what cannot be done any more is an error."""
    lines = [line for line in lines_of(20, seed=7) if line and not line.startswith((b"#", b" "))]
    path = tmp_path / "a.letor"
    path.write_bytes(b"\n".join([*lines, b"1 qid:q0 1:2 # late"]))
    for name in ("zscore", "list"):
        assert same(run, models[name], path, "--out", tmp_path / name)[0] == 0
    assert same(run, models["zscore"], path)[0] == 0  # scores of items are the same in any list
    content = path.read_bytes()
    assert same(run, models["zscore"], "-", "--format", "svmlight", content=content)[0] == 0
    for arguments in ((models["list"],), (models["zscore"],)):
        code, out, err = run(1, *arguments, path, "--as", "table")
        assert (code, bool(out)) == (2, True)
        assert f"{path.name}:{len(lines) + 1}: found list 'q0' again (its first line is 1)" in err[-1]
    assert run(1, models["zscore"], path, "--strict")[0] == 2


def test_ids_that_come_late(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    lines = [b"1 qid:%d 1:1 2:1 3:1 4:%d" % (i // 2, i) for i in range(40)]
    path = tmp_path / "a.letor"
    path.write_bytes(b"\n".join([*lines, b"1 qid:z 1:1 2:1 3:1 4:1 # id"]))
    assert same(run, models["zscore"], path)[0] == 0
    code, _, err = run(1, models["zscore"], path, "--as", "table")
    assert code == 2
    assert ":41: found the id of an item, expected none" in err[-1]


def test_margins_and_training_lists(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    content = b"\n".join(lines_of(40, sizes=(4, 6)))  # the lists of training
    path = tmp_path / "a.letor"
    path.write_bytes(content)
    err = same(run, models["zscore"], path, "--keep-margin", "0.1", "--first-best", "input")[2]
    assert any("switch" in line for line in err)
    assert any("100% of the lists have the features of lists that the model was trained on" in e for e in err)


def test_python_gets_sizes(models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.letor"
    path.write_bytes(b"\n".join(lines_of(30, seed=2)))
    lists = rerank.load(path)
    for module in (streaming, predict):
        monkeypatch.setattr(module, "LARGE", 0)
    found = rerank.predict(models["zscore"], path, out=str(tmp_path / "out"), streamed=True)
    assert isinstance(found, predicting.Streamed)
    assert (found.lists.n_lists, found.lists.n_items) == (lists.n_lists, lists.n_items)
    assert len((tmp_path / "out").read_text().splitlines()) == lists.n_items


def table_of(n_lists: int, seed: int, mark: str = ",") -> str:
    """A table of lists with features and texts, some of them quoted over several lines."""
    rng = random.Random(seed)
    rows = [mark.join(["qid", "id", "1", "2", "note", "text", "3", "4", "label"])]
    for q in range(n_lists):
        for i in range(rng.randint(1, 4)):
            values = [str(rng.randint(-99, 99) / 8) for _ in range(4)]
            text = rng.choice(["the cat", '"a, cat"', '"two\nlines"', '"a ""cat"""', ""])
            cells = [f"q{q}", f"d{i}", *values[:2], "n/a", text.replace(",", mark), *values[2:], str(i)]
            rows.append(mark.join(cells))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("as_", OUTPUTS)
@pytest.mark.parametrize("name", ["perceptron", "zscore", "list", "mean"])
def test_tables(models: dict[str, str], run: Run, tmp_path: Path, name: str, as_: str) -> None:
    path, piped = tmp_path / "a.csv", table_of(25, 1, "\t").encode()
    found = table_of(25, 1)
    path.write_text(found.replace("two\nlines", "one line") if as_ == "best" else found)
    assert same(run, models[name], path, "--as", as_)[0] == 0
    if as_ == "scores":
        assert same(run, models[name], "-", "--format", "table", content=piped)[0] == 0
        assert same(run, models[name], path, "--features", "1-3")[0] == 2
        assert same(run, models[name], path, "--first-best", "2", "--keep-margin", ".5")[0] == 0


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ("qz,d,1,2,n,t,3,x,0", 2),
        ("qz,d,1,2,n,t,3,,0", 2),
        ("qz,d,1,2", 2),
        (",d,1,2,n,t,3,4,0", 2),
        ('qz,d,1,2,n,"t,3,4,0', 2),
        ("qz,d,1,2,7,t,3,4,0", 0),
    ],
)
def test_rows_of_the_last_block(
    models: dict[str, str], run: Run, tmp_path: Path, cells: str, code: int
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table_of(20, 2) + cells + "\n")
    whole = run(WHOLE, models["zscore"], path)
    assert whole[0] == code
    for block in (1, 100, 1 << 20):
        found = run(block, models["zscore"], path)
        assert (found[0], found[2][0]) == (code, whole[2][0])  # the error is the first one
        assert whole[1] in (found[1], "")


def test_columns_of_a_table_that_come_late(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    """A column without a cell is none, until a row has one: then the whole file decides."""
    path = tmp_path / "a.csv"
    rows = [f"q{i // 2},{i},1,2,," for i in range(40)]
    path.write_text("\n".join(["qid,id,1,2,3,4", *rows]) + "\n")
    for name in ("mean", "zscore"):
        same(run, models[name], path, "--missing", "mean" if name == "mean" else "nan")
    path.write_text("\n".join(["qid,id,1,2,3,4", *rows, "z,1,1,2,3,4"]) + "\n")
    assert same(run, models["mean"], path, "--out", tmp_path / "out")[0] == 0
    for block in (16, WHOLE):
        assert run(block, models["zscore"], path, "--missing", "nan")[0] == 2


def test_rows_that_are_apart(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table_of(20, 3) + "q1,late,1,2,n,t,3,4,0\n")
    n_lines = path.read_text().count("\n")
    assert same(run, models["list"], path, "--out", tmp_path / "out")[0] == 0
    assert same(run, models["zscore"], path)[0] == 0
    code, out, err = run(40, models["list"], path, "--as", "table")
    assert (code, bool(out)) == (2, True)
    assert f"a.csv:{n_lines}: found list 'q1' again (its first line is" in err[-1]


def test_stores(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.letor"
    path.write_bytes(b"\n".join(lines_of(30, seed=8)))
    for layout in ("dense", "sparse"):
        rerank.save(rerank.load(path, layout=layout), str(tmp_path / f"{layout}.store"))
        for name in ("perceptron", "list", "mean"):
            for as_ in OUTPUTS[:-1]:  # a store is written to no pipe
                assert same(run, models[name], tmp_path / f"{layout}.store", "--as", as_)[0] == 0
    options = ("--features", "1-4", "--first-best", "1", "--keep-margin", "1")
    assert same(run, models["zscore"], tmp_path / "dense.store", *options)[0] == 0


def jsonl_of(n_lists: int, seed: int, per_line: str, change: str = "") -> bytes:
    """A list or a candidate a line; some features are left out, some keys are odd, some lines are blank."""
    rng = random.Random(seed)
    lines = []
    for q in range(n_lists):
        prompt = {"prompt": f"p{q}"} if rng.random() < 0.9 else {}
        candidates: list[dict[str, Any]] = []
        for i in range(rng.randint(0 if per_line == "list" and q else 1, 4)):
            features = {str(j): rng.randint(-99, 99) / 8 for j in range(1, 5) if rng.random() < 0.9}
            if change == "late" and q > n_lists // 2:
                features["late"] = 1.5
            one: dict[str, Any] = {"text": f"t {q} {i}", "id": f"d{i}", "label": i % 3, "features": features}
            odd = {"rank": i} if rng.random() < 0.3 else {"note": "x"} if rng.random() < 0.5 else {}
            candidates.append(one | odd)
        if change == "flat":
            candidates = [
                {"text": one["text"], "id": one["id"], "1": 0.5, "2": i, "3": 1, "4": q}
                for i, one in enumerate(candidates)
            ]
        if per_line == "list":
            own = {"id": f"q{q}"} if change != "no ids" else {}
            lines.append(json.dumps({**own, **prompt, "candidates": candidates}))
        else:
            lines += [json.dumps({"list": f"q{q}", **prompt, **one}) for one in candidates]
        if rng.random() < 0.1:
            lines.append("")
    return "\n".join(lines).encode()


def moses_of(n_lists: int, seed: int, change: str = "") -> bytes:
    rng = random.Random(seed)
    lines = []
    for q in range(n_lists):
        for i in range(rng.randint(1, 4)):
            values = [rng.randint(-99, 99) / 8 for _ in range(4)]
            named = [f"{j}= {value}" for j, value in enumerate(values, 1)]
            named = [one for one in named if change != "gaps" or rng.random() < 0.8]
            if change == "late" and q > n_lists // 2:
                named.append("late= 1 2")
            lines.append(f"{q} ||| text {q} {i} ||| {' '.join(named)} ||| {-i}")
    return "\n".join(lines).encode()


def run_of(n_queries: int, seed: int, change: str = "") -> bytes:
    rng = random.Random(seed)
    lines = []
    for q in range(n_queries):
        for i in range(rng.randint(1, 4)):
            tag = "other" if change == "tags" and q > n_queries // 2 else "1"
            rank = 9 - i if change == "disorder" and q % 3 else i
            lines.append(f"q{q} Q0 d{i} {rank} {8 - i - rng.random()} {tag}")
        if rng.random() < 0.1:
            lines.append("")
    return "\n".join(lines).encode()


TEXTS: dict[str, tuple[str, bytes]] = {
    "lists": ("jsonl", jsonl_of(25, 1, "list")),
    "lists without ids": ("jsonl", jsonl_of(25, 2, "list", "no ids")),
    "late feature": ("jsonl", jsonl_of(25, 3, "list", "late")),
    "items": ("jsonl", jsonl_of(25, 4, "item")),
    "flat items": ("jsonl", jsonl_of(25, 5, "item", "flat")),
    "late feature of items": ("jsonl", jsonl_of(25, 6, "item", "late")),
    "moses": ("moses", moses_of(25, 1)),
    "moses with gaps": ("moses", moses_of(25, 2, "gaps")),
    "moses, late": ("moses", moses_of(25, 3, "late")),
    "run": ("trec", run_of(25, 1)),
    "run, disorder": ("trec", run_of(25, 2, "disorder")),
    "run, tags": ("trec", run_of(25, 3, "tags")),
}


@pytest.mark.parametrize("form", TEXTS)
def test_other_texts(models: dict[str, str], run: Run, tmp_path: Path, form: str) -> None:
    """Lists and candidates of JSON Lines, N-best lists and runs, whose features and tags may come late."""
    format, content = TEXTS[form]
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    for name, as_ in (("list", "table"), ("mean", "run"), ("perceptron", "scores")):
        options = ("--as", as_, "--format", format)
        blocks = (1, 400) if as_ == "table" else (150,)
        assert same(run, models[name], path, *options, "--out", tmp_path / "out", blocks=blocks)[0] == 0
        if "tags" not in form and not (name == "mean" and "late" in form):
            packed = gzip.compress(content)
            assert same(run, models[name], "-", *options, content=packed, blocks=(200,))[1]


FAULTS = {
    "lists": b'{"id": "z", "candidates": [{"text": 1, "id": "d", "label": 1, "features": {}}]}',
    "items": b'{"list": "z", "id": "d", "label": 1, "features": {"1": 2}}',  # no text
    "flat items": b'{"list": "z", "text": "t", "id": "d", "1": "x", "2": 1, "3": 1, "4": "0.5"}',
    "moses": b"z ||| t ||| 1= x 2= 1 3= 1 4= 1 ||| 1",
    "run": b"z Q0 d first 2 1",
}


@pytest.mark.parametrize("form", FAULTS)
def test_faults_of_other_texts(models: dict[str, str], run: Run, tmp_path: Path, form: str) -> None:
    """The error is that of the whole file, and what was printed before stays."""
    format, content = TEXTS[form]
    path = tmp_path / "a.txt"
    path.write_bytes(content + b"\n" + FAULTS[form])
    whole = run(WHOLE, models["perceptron"], path, "--format", format)
    assert (whole[0], whole[1]) == (2, "")
    assert f":{content.count(b'%c' % 10) + 2}: found" in whole[2][0]
    for block in (1, 300):
        code, out, err = run(block, models["perceptron"], path, "--format", format)
        assert (code, bool(out), err[0]) == (2, True, whole[2][0])


def test_a_list_on_two_lines(models: dict[str, str], run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    content = TEXTS["lists"][1]
    path.write_bytes(content + b"\n" + content.splitlines()[0])
    whole = run(WHOLE, models["perceptron"], path)
    code, out, err = run(300, models["perceptron"], path)
    assert (code, bool(out), err) == (2, True, whole[2])
    assert "again (line 1) at id, expected each list once" in err[0]


@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_parquet(models: dict[str, str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from rerank.formats import parquet

    monkeypatch.setattr(parquet, "_ROWS", 3)
    (tmp_path / "a.csv").write_text(table_of(20, 4))
    lists = rerank.load(tmp_path / "a.csv")
    path = tmp_path / "a.parquet"
    rerank.save(lists, str(path))
    assert same(run, models["list"], path, "--as", "run", blocks=(1,))[0] == 0
    content = path.read_bytes()
    assert same(run, models["list"], "-", "--format", "parquet", content=content, blocks=(1,))[1]
    rows = [f"q{i // 2},{i},{'' if i == 37 else 1},2,3,4" for i in range(40)]
    (tmp_path / "b.csv").write_text("\n".join(["qid,id,1,2,3,4", *rows, ""]))
    rerank.save(rerank.load(tmp_path / "b.csv", missing="nan"), str(path))
    code, _, err = run(1, models["list"], path)
    assert code == 2
    assert ":38: found a missing value in column '1'" in err[0]
