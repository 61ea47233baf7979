"""Ids, names, texts and paths that a terminal would obey: none reaches one, and data keep them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rerank as package
from rerank.formats import FORMATS, ReadOptions
from rerank.formats.scores import read_scored

BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = "\u200b\u200c\u2060\ufeff\u00ad\u2028\u2029\x85"
MARKS = f"\x1b]0;x\x07\x1b[2J\x9b31m\x7f\x01\x1e\r{BIDI}{HIDDEN}"
LIST, ITEM, FEATURE, TEXT = (f"{first}{MARKS}" for first in ("=l", "@i", "+f|$", "-t"))
CLASS = f"=c&{BIDI}\u200b"  # classes with control characters are refused
SCORES, FILE, MODEL = (f"{first}{MARKS.replace('/', '')}" for first in ("=s", "h", "m"))
HOME = str(Path(package.__file__).parents[1])
FORMS = ("text", "json", "csv", "markdown", "latex")
OF_FORMS = (
    "eval A.jsonl S :F -m AP -m RR",
    "eval A.jsonl S :F -m AP --by-list",
    "compare A.jsonl S :F -m AP",
    "show M",
    "validate A.jsonl",
    "validate C.csv --label-column labels --classes",
    "pairs A.jsonl",
    "similarity A.jsonl",
    "importance weights M A.jsonl",
    "importance permute M A.jsonl --metric AP",
    "importance ablate --data A.jsonl --dev A.jsonl -m AP -s epochs=1",
    "weigh-lists P.jsonl P.jsonl --out W.tsv",
    "report R",
)
COMMANDS = (
    *(f"{verb} --as {form}" for verb in OF_FORMS for form in FORMS),
    *(f"predict M A.jsonl --as {form}" for form in ("scores", "table", "nbest", "best")),
    *(f"predict K C.csv --classes --label-column labels --as {form}" for form in ("classes", "table")),
    *(f"convert A.jsonl --out - --to {form}" for form in ("jsonl", "table")),
    "report R --choices --costs",
    "export M --to tsv --out -",
    "run E.yaml --dry-run --out R",
    "run E.yaml --list --out R",
    "run E.yaml --status --out R",
    "append A.jsonl G=S --out - --to jsonl",
    "weigh-lists P.jsonl P.jsonl --out -",
    "label A.jsonl --refs REFS -m sBLEU --per-item -",
)
MISTAKES = (
    "eval A.jsonl nowhereS -m AP",
    "eval A.jsonl :nowhereF -m AP",
    "eval A.jsonl S -m F",
    "predict A.jsonl M",
    "show nowhereM",
    "train --data A.jsonl --learner F --out x",
    "train --data A.jsonl --set F=1 --out x",
    "train --data A.jsonl --scaling F --out x",
    "train --data A.jsonl --features F --out x",
    "train --data A.jsonl --out nowhereF/x",
    "train BAD.yaml --out x",
    "run BAD.yaml --out x",
    "run E.yaml --out R --FF",
    "F A.jsonl",
    "convert A.jsonl --out x --to F",
    "eval A.jsonl S -m AP --as F",
    "predict M A.jsonl --as run",
    "predict M A.jsonl --as F",
    "eval A.jsonl BROKEN -m AP",
    "validate C.csv --label-column F",
    "help F",
    "list learners F",
)


class Screen(io.TextIOWrapper):
    """A terminal within the process."""

    def __init__(self):
        super().__init__(io.BytesIO(), "utf-8", errors="strict", newline="")

    def isatty(self):
        return True

    def shown(self):
        self.flush()
        return self.buffer.getvalue().decode()


def of_items():
    for i in range(5):
        for j in range(4):
            features = {FEATURE: j * 0.5 + i, f"{FEATURE}2": float(i * j % 3)}
            yield {
                "query_id": f"{LIST}{i}",
                "id": f"{ITEM}{j}",
                "text": f"{TEXT} {j}",
                "label": (i + j) % 3,
                "features": features,
            }


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Files with hostile contents and names; the words of commands that stand for them."""
    folder = tmp_path_factory.mktemp("hostile")
    words = {"A.jsonl": f"{FILE}.jsonl", "P.jsonl": f"p{FILE}.jsonl", "C.csv": f"{FILE}.csv", "S": SCORES}
    words |= {"F": FEATURE, "M": MODEL, "K": f"k{MARKS}", "G": f"g{MARKS}", "R": f"run{MARKS}"}
    words |= {"E.yaml": f"{FILE}.yaml", "BAD.yaml": f"bad{MARKS}.yaml"}
    words |= {"REFS": f"r{MARKS}", "BROKEN": f"broken{MARKS}"}
    at = {word: folder / name for word, name in words.items()}
    at["A.jsonl"].write_text("".join(f"{json.dumps(item)}\n" for item in of_items()))
    at["P.jsonl"].write_text(at["A.jsonl"].read_text().replace("\\r", ""))  # ids of list weights have no \r
    at["S"].write_text("".join(f"{-i % 7}\n" for i in range(20)))
    at["BROKEN"].write_text(f"1\n{MARKS.replace(chr(13), '')}\n")
    at["REFS"].write_text("".join(f"{TEXT.replace(chr(13), '')} {i}\n" for i in range(5)))
    with open(at["C.csv"], "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([FEATURE, "labels"])
        writer.writerows((i, f"{CLASS}{i % 3}") for i in range(12))
    at["BAD.yaml"].write_text(json.dumps({"data": {"train": "x"}, FEATURE: {LIST: MARKS}}))
    learners = {f"=r{MARKS}": {"name": "perceptron", "epochs": 1}, "@b": {"name": "ridge"}}
    experiment = {"data": {"train": words["A.jsonl"]}, "folds": 3, "fold_dev": "none", "metrics": ["AP"]}
    at["E.yaml"].write_text(json.dumps({**experiment, "learners": learners}))
    return folder, words


@pytest.fixture
def typed(names, rerank, monkeypatch):
    """Turn a command with stand-ins into arguments; models and runs are made once."""
    folder, words = names
    monkeypatch.chdir(folder)

    stand_ins = re.compile(rf"(?<![\w.-])(nowhere)?({'|'.join(map(re.escape, words))})(?![\w.-])")

    def arguments(command):
        return [
            stand_ins.sub(lambda found: (found[1] or "") + words[found[2]], word) for word in command.split()
        ]

    if not (folder / MODEL).exists():
        rerank(*arguments("train --data A.jsonl -s epochs=2 --out M"))
        learnt = "train --data C.csv --label-column labels --learner predtron -s task=multiclass --out K"
        rerank(*arguments(learnt))
        rerank(*arguments("run E.yaml --out R"))
    return arguments


@pytest.fixture
def on_terminal(rerank, monkeypatch):
    """Run a command on a terminal; return what it showed."""
    monkeypatch.setenv("TERM", "dumb")

    def run(arguments, code=0):
        out, err = Screen(), Screen()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            patched.setattr(sys, "argv", ["rerank", *arguments])
            with pytest.raises(SystemExit) as ended:
                package.cli.main()
            sys.stdout.flush()
        assert (ended.value.code or 0) == code, err.shown()
        return out.shown() + err.shown()

    return run


def assert_harmless(text):
    assert not sorted({char for char in text if not char.isprintable()} - set("\n\t\xa0"))


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_a_terminal_obeys_reaches_it(command, typed, on_terminal):
    shown = on_terminal(typed(command))
    assert shown
    assert_harmless(shown)


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_harmless_line(command, typed, rerank):
    result = rerank(*typed(command), code=None)
    assert result.code in (1, 2)
    assert_harmless(result.out + result.err)


def test_nothing_reaches_a_real_terminal_but_styles(typed):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": HOME, "TERM": "xterm", "CI": "1"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "rerank", *typed("eval A.jsonl S -m AP --by-list")]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 1 << 16):
                shown += block
        except OSError:  # the other end is closed
            os.close(ours)
    text = shown.decode()
    assert "\x1b[2m" in text  # dim, of our own
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", lambda found: "" if found[0] != "\x1b[2J" else found[0], text)
    assert_harmless(plain.replace("\r\n", "\n"))


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("form", ["jsonl", "table", "store"])
def test_converted_lists_keep_their_names(form, typed, rerank, tmp_path):
    out = tmp_path / f"out.{form if form != 'table' else 'csv'}"
    rerank(*typed(f"convert A.jsonl --out {out}"))
    lists = FORMATS.get(form)().read(str(out), ReadOptions())
    assert list(lists.list_ids) == [f"{LIST}{i}" for i in range(5)]
    assert list(lists.item_ids)[:4] == [f"{ITEM}{j}" for j in range(4)]
    assert list(lists.texts)[:4] == [f"{TEXT} {j}" for j in range(4)]
    assert lists.names() == [FEATURE, f"{FEATURE}2"]


def test_predictions_keep_ids(typed, rerank, tmp_path):
    rerank(*typed(f"predict M A.jsonl --as table --out {tmp_path / 'table'}"))
    scored = read_scored(str(tmp_path / "table"))
    assert set(scored.lists.list_ids) == {f"{LIST}{i}" for i in range(5)}
    assert set(scored.lists.item_ids) == {f"{ITEM}{j}" for j in range(4)}
    rerank(*typed("predict M A.jsonl --as nbest --out"), tmp_path / "n.jsonl")
    assert set(FORMATS.get("jsonl")().read(str(tmp_path / "n.jsonl"), ReadOptions()).item_ids) == {
        f"{ITEM}{j}" for j in range(4)
    }


def piped(arguments):
    """What a command writes to a pipe, in bytes."""
    command = [sys.executable, "-m", "rerank", *arguments]
    environment = {**os.environ, "PYTHONPATH": HOME}
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


def rows_of(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8", "surrogateescape"), newline=""), strict=True))


def test_records_keep_names(typed):
    rows = rows_of(piped(typed("eval A.jsonl S -m AP --by-list --as csv")))
    assert {row[0] for row in rows[1:]} == {f"{LIST}{i}" for i in range(5)}
    rows = rows_of(piped(typed("show M --as csv")))
    assert {row[0] for row in rows[1:]} == {FEATURE, f"{FEATURE}2"}
    content = piped(typed("eval A.jsonl S -m AP --by-list --as json")).decode()
    assert_harmless(content)
    found = json.loads(content)
    assert {one["list"] for one in found["by_list"]} == {f"{LIST}{i}" for i in range(5)}
    assert found["systems"][-1]["name"] == SCORES


def test_records_keep_bytes_that_are_not_utf8(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w").write_bytes(b"\xff\xfeb\t1\n")
    rerank("import", "w", "--from", "tsv", "--out", "m")
    assert piped(["show", "m", "--as", "csv"]) == b"name,weight\n\xff\xfeb,1.0\n"
    assert json.loads(piped(["show", "m", "--as", "json"]))["weights"]


def test_guarded_cells_are_no_formulas_and_numbers_stay(typed, rerank, monkeypatch):
    def cells(*more):
        return [cell for row in rows_of(piped(typed("show M --as csv") + list(more))) for cell in row]

    assert FEATURE in cells()
    for found in (cells("--guard-cells"), guarded_by_variable(monkeypatch, cells)):
        assert any(cell.startswith("'+f|$\\x1b") for cell in found)
        assert not [cell for cell in found if cell[0] in "=+@\t\r\n"]
        assert [cell for cell in found if re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cell)]
        assert not any(re.match(r"'-?[0-9]", cell) for cell in found)


def guarded_by_variable(monkeypatch, cells):
    monkeypatch.setenv("RERANK_GUARD_CELLS", "1")
    return cells()


@pytest.mark.parametrize(
    "command",
    [
        "predict M A.jsonl --as table",
        "convert A.jsonl --out - --to table",
        "eval A.jsonl S -m AP --as csv --by-list",
        "eval A.jsonl S -m AP --per-list out",
        "importance weights M A.jsonl --out out",
        "report R --as csv",
        "report R --per-list out",
        "label A.jsonl --refs REFS -m sBLEU --per-item out",
    ],
)
def test_every_writer_of_csv_and_tsv_guards(command, typed, rerank):
    def written(*more):
        printed = rerank(*typed(command), *more).out
        return Path("out").read_text() if command.endswith(" out") else printed

    assert re.search(r"(^|[\n\t,\"])[=+@-][^0-9]", written())
    found = written("--guard-cells")
    assert "'=" in found or "'+" in found
    assert not re.search(r"(^|[\n\t,\"])[=+@-][^0-9\n]", found)


@pytest.mark.parametrize("form", ["table", "best"])
@pytest.mark.parametrize("end", ["\n", "\t"])
def test_what_would_break_a_line_is_refused(form, end, rerank, work):
    row = {"query_id": f"q{end}1", "id": "a", "label": 1, "features": {"f": 1.0}, "text": f"a{end}b"}
    Path("a.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row | {"id": "b", "label": 0}) + "\n")
    rerank("train", "--data", "a.jsonl", "-s", "epochs=1", "--out", "m")
    result = rerank("predict", "m", "a.jsonl", "--as", form, code=None)
    if form == "best" and end == "\t":
        assert result.out == "a\tb\n"
        return
    assert result.code == 2
    assert result.out == ""
    assert "would break the line; use --as scores" in result.err


def test_long_names_are_cut(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "x" * 120_000
    Path("c.csv").write_text(f"f,labels\n1,{name}\n2,b\n")
    found = rerank("validate", "c.csv", "--classes", "--label-column", "labels")
    assert len(found.out) + len(found.err) < 2000
    Path("f.csv").write_text(f"list,{name},label\n1,0,1\n1,1,0\n")
    for command in (
        "validate f.csv",
        "train --data f.csv -s epochs=1 --out m",
        "show m",
        f"eval f.csv :{name[:-1]} -m AP",
        f"train --data f.csv --learner {name} --out m",
        f"train --data f.csv --set {name}=1 --out m",
        f"eval f.csv f.csv -m {name}",
        f"predict m f.csv --as {name}",
        "eval f.csv :first-best -m AP",
    ):
        found = rerank(*command.split(), code=None)
        assert len(found.out) + len(found.err) < 3000, command


@pytest.mark.parametrize(
    "command",
    [
        *(verb for verb in OF_FORMS),
        "report R --choices --costs",
        "run E.yaml --dry-run --out R",
        "run E.yaml --status --out R",
    ],
)
def test_text_for_people_is_harmless_in_pipes_too(command, typed, rerank):
    assert_harmless(rerank(*typed(command)).out)


@pytest.mark.parametrize("command", ["eval A.jsonl S :F -m AP --html out.html", "report R --html out.html"])
def test_a_page_has_neither_tags_nor_bidirectional_marks_of_names(command, typed, rerank):
    rerank(*typed(command))
    page = Path("out.html").read_text()
    assert not set(page) & set(BIDI + HIDDEN + "\x1b\x07\x9b")
