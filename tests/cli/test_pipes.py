"""Pipes in every place of the command line: they are read from their beginning, and once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from fuzz.piped import pipe_of

DATA = Path(__file__).resolve().parents[2] / "data"
LETOR = b"1 qid:1 1:2\n0 qid:1 1:1\n"
QRELS = "".join(f"query{i} 0 doc{j} {(i * 7 + j * 3) % 2}\n" for i in range(700) for j in range(12))
RUN = "".join(f"query{i} Q0 doc{j} {j + 1} {20 - j} s\n" for i in range(700) for j in range(12))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    assert len(QRELS) > 2 * (1 << 16)


@pytest.mark.parametrize("block", [997, 1 << 16, 1 << 20])
def test_runs_and_judgements_from_pipes(files, rerank, block):
    wanted = rerank("eval", "run", "--qrels", "qrels", "-m", "AP", "-q").out
    assert "700 lists, 8400 items" in wanted
    for run, qrels in (("run", None), (None, "qrels"), (None, None)):
        with pipe_of(RUN.encode(), block) as first, pipe_of(QRELS.encode(), block) as second:
            found = rerank("eval", run or first, "--qrels", qrels or second, "-m", "AP", "-q")
        assert found.out == wanted
    wanted = rerank("eval", "qrels", "run", "-m", "AP", "-q").out.partition("\nrun")[2]
    with pipe_of(RUN.encode(), block) as first, pipe_of(QRELS.encode(), block) as second:
        found = rerank("eval", second, first, "-m", "AP", "-q").out
    assert found.partition(f"\n{first}")[2].split() == wanted.split()


def test_standard_input_by_its_other_name(files):
    command = [sys.executable, "-m", "rerank", "eval", "NAME", "--qrels", "qrels", "-m", "AP", "-q"]
    found = []
    for name in ("run", "-", "/dev/stdin"):
        command[4] = name
        done = subprocess.run(command, input=RUN.encode(), capture_output=True, timeout=60, check=True)
        found.append(done.stdout)
    assert found[0] == found[1] == found[2] != b""


def test_a_pipe_is_given_twice(tmp_path, rerank):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for system in (fifo, ":1"):
        thread = threading.Thread(target=fifo.write_bytes, args=(LETOR,))
        thread.start()
        result = rerank("eval", fifo, system, "-f", "svmlight", "-m", "AP", code=None)
        thread.join()
        assert result.code == (2 if system is fifo else 0)
        assert "Traceback" not in result.err


def test_a_configuration_from_a_pipe_has_paths_from_here(tmp_path, rerank, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.letor").write_bytes(LETOR)
    content = b"data:\n  train: train.letor\nlearner: {name: perceptron}\n"
    with pipe_of(content, 3) as path:
        rerank("train", path, "--out", "model", "-q")
    with pipe_of(LETOR, 3) as data:
        rerank("train", "--data", data, "--learner", "perceptron", "--out", "again", "-q")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    with pipe_of((tmp_path / "model").read_bytes(), 100) as model, pipe_of(LETOR, 1) as data:
        found = rerank("predict", model, data, "-q").out
    assert found == rerank("predict", "model", "train.letor", "-q").out
    with pipe_of(content, 3) as path:
        err = rerank("run", path, "--out", "runs", code=2).err
    assert f"{path}: learner: a single learner is for 'rerank train'" in err


def test_an_experiment_refuses_pipes(tmp_path, rerank, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pipe_of(LETOR, 3) as path:
        text = f"data: {{train: {path}, test: {path}}}\nmetrics: [AP]\nlearners: {{a: {{name: ridge}}}}\n"
        (tmp_path / "c.yaml").write_text(text)
        err = rerank("run", "c.yaml", "--out", "runs", code=2).err
    assert f"data: found {path}, expected files: a pipe can be read only once" in err


def test_outputs_to_open_descriptors(tmp_path):
    (tmp_path / "x").write_bytes(LETOR)
    (tmp_path / "log").write_text("kept\n")
    convert = [
        sys.executable, "-m", "rerank", "convert", "x", "--out", "/dev/stdout", "--to", "svmlight",
        "-q",
    ]  # fmt: skip
    with (tmp_path / "log").open("ab") as log:
        subprocess.run(convert, cwd=tmp_path, stdout=log, timeout=60, check=True)
    assert (tmp_path / "log").read_bytes() == b"kept\n" + LETOR
    assert subprocess.run(convert, cwd=tmp_path, capture_output=True, timeout=60, check=True).stdout == LETOR
    reading, writing = os.pipe()
    convert[6] = f"/dev/fd/{writing}"
    subprocess.run(convert, cwd=tmp_path, pass_fds=[writing], timeout=60, check=True)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == LETOR
    done = subprocess.run(convert, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, f"rerank: {convert[6]}: bad file descriptor\n")


SPELLING, RUNS = DATA / "spelling-tiny", DATA / "runs-tiny"
WRITTEN = {
    "a.nbest": "0 ||| a b ||| lm= -1 ||| -1\n0 ||| c ||| lm= -2 ||| -2\n1 ||| d ||| lm= -1 ||| -1\n",
    "a.ref": "a b\nd e\n",
    "a.flat": "a b\nc\nd\ne f\n",
    "a.weights": "1\t0.5\n2\t-1\n",
    "a.scores": "".join(f"{(7 * i) % 5}\n" for i in range(72)),
    "a.weighted": "64\t2\n",
}
# Every file is given as |NAME.
COMMANDS = """
train --data |train --dev |dev -m RR --set epochs=3 --feature-names |names --out OUT
train --data |train --init |a.weights --learner perceptron --set epochs=2 --out OUT
predict |model |test --as table --format svmlight
show |model
validate |test
pairs |test
eval |test |a.scores :3 -m RR --format svmlight
compare |test |a.scores :3 -m RR
eval |bm25.run |dense.json --qrels |qrels.tsv -m AP
eval |qrels.tsv |bm25.run -m AP
eval |bm25.run --merge |dense.json --qrels |qrels.tsv -m AP
eval |a.nbest --refs |a.ref --refs |b.ref -m BLEU
eval |a.flat --refs |a.ref --format flat -m BLEU
convert |test --out OUT --to jsonl
append |test s=|a.scores --out OUT --to jsonl
split |test --part one=.5 --out OUT --suffix .letor
label |a.nbest --refs |a.ref -m sBLEU
features consensus |a.nbest --by ngram1 --out OUT --to jsonl
features select |train --keep 2 --out OUT --to jsonl
features qa |questions --trees box --match form --leaves form --out OUT --to jsonl
weigh-lists |train |test --basis kernel --out OUT
similarity |test --out OUT
importance weights |model |test
importance permute |model |test -m RR
import |a.weights --out OUT
export |model --to tsv --out OUT
label |bundle.tar --native |natives.tar -m GDT
""".strip().split("\n")


@pytest.fixture
def inputs(tmp_path, rerank, monkeypatch):
    """The files of the commands by name, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**WRITTEN, "b.ref": WRITTEN["a.ref"]}.items():
        (tmp_path / name).write_text(text)
    for part in ("train", "dev", "test"):
        shutil.copy(SPELLING / f"{part}.letor", part)
    shutil.copy(SPELLING / "features.txt", "names")
    shutil.copy(DATA / "questions-tiny" / "train.jsonl", "questions")
    for path in RUNS.iterdir():
        shutil.copy(path, path.name)
    for name, folder in (("bundle", "models"), ("natives", "natives")):
        shutil.make_archive(name, "tar", DATA / "structures-tiny" / folder)
    rerank("train", "--data", "train", "--learner", "ranksvm", "--out", "model", "-q")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_verb_takes_its_inputs_from_pipes(command, inputs, tmp_path, rerank):
    found = []
    for piped in (False, True):
        with ExitStack() as stack:
            arguments, names = [], {}
            for word in command.split():
                before, bar, name = word.partition("|")
                if bar and piped:
                    pipe = stack.enter_context(pipe_of((tmp_path / name).read_bytes(), 1_009))
                    names[pipe], name = name, pipe
                arguments.append(before + name)
            out = rerank(*arguments, "-q").out
        for pipe, name in names.items():
            out = out.replace(pipe, name)
        made = tmp_path / "OUT"
        files = sorted(made.rglob("*")) if made.is_dir() else [made] if made.exists() else []
        contents = {path.name: path.read_bytes() for path in files if path.is_file()}
        for pipe, name in names.items():
            contents = {file: data.replace(pipe.encode(), name.encode()) for file, data in contents.items()}
        found.append(([word for word in out.split() if set(word) != {"-"}], contents))
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    assert found[0] == found[1]
    assert found[0] != ([], {})
