"""Pipes in every place of the command line: they are read from their beginning, and once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from fuzz.piped import pipe_of

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


def test_a_pipe_that_is_needed_twice_is_an_error(tmp_path, rerank):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    thread = threading.Thread(target=fifo.write_bytes, args=(LETOR,))
    thread.start()
    err = rerank("eval", fifo, fifo, "-f", "svmlight", "-m", "AP", code=2).err
    thread.join()
    assert err == f"rerank: {fifo}: is a pipe, which can be read only once; expected a file\n"
    with pipe_of(LETOR, 9) as path:  # the system is a feature of DATA, which is read once
        assert "1.0000" in rerank("eval", path, ":1", "-f", "svmlight", "-m", "AP").out


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
    convert = [sys.executable, "-m", "rerank", "convert", "x", "/dev/stdout", "--to", "svmlight", "-q"]
    with (tmp_path / "log").open("ab") as log:
        subprocess.run(convert, cwd=tmp_path, stdout=log, timeout=60, check=True)
    assert (tmp_path / "log").read_bytes() == b"kept\n" + LETOR
    assert subprocess.run(convert, cwd=tmp_path, capture_output=True, timeout=60, check=True).stdout == LETOR
    reading, writing = os.pipe()
    convert[5] = f"/dev/fd/{writing}"
    subprocess.run(convert, cwd=tmp_path, pass_fds=[writing], timeout=60, check=True)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == LETOR
    done = subprocess.run(convert, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, f"rerank: {convert[5]}: bad file descriptor\n")
