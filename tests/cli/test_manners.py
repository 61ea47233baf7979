"""One line for a mistake, exit codes, nothing lost, closed pipes, Ctrl-C, quick help."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rerank as package

LEARN = ("train", "--data", "train.letor", "--out", "m")
WRONG = [
    (("train", "--data", "train.letor"), "no model file to write"),
    (("train", "--out", "m"), "data.train: found none"),
    (("train", "--data", "absent", "--out", "m"), "absent: no such file or folder"),
    (("train", "--data", "empty", "-f", "letor", "--out", "m"), "empty: found an empty file"),
    (("train", "--data", "train.letor", "--out", "nowhere/m"), "nowhere/m: no folder nowhere"),
    ((*LEARN, "-l", "percepton"), "did you mean 'perceptron'"),
    ((*LEARN, "-s", "tua=1"), "did you mean 'tau'"),
    (
        (*LEARN, "-s", "tau=1", "-s", "learner.tau=2"),
        "--set learner.tau=2: the key is given twice, also by --set tau=1",
    ),
    ((*LEARN, "-s", "tau"), "found no KEY=VALUE"),
    ((*LEARN, "-s", "tau=[1"), "--set tau=[1"),
    ((*LEARN, "-s", "data.trian=x"), "did you mean 'train'"),
    ((*LEARN, "-s", "tau=-1"), "tau: found -1"),
    ((*LEARN, "--scaling", "zscor"), "scaling: found 'zscor'"),
    ((*LEARN, "-s", "keep=best"), "needs a development set"),
    ((*LEARN, "-m", "NDGC@5"), "did you mean 'nDCG'"),
    ((*LEARN, "-l", "random", "--curve", "c"), "has no rounds"),
    ((*LEARN, "--format", "svmligth"), "did you mean 'svmlight'"),
    (("train", "--data", "tied", "-f", "svmlight", "--out", "m"), "tied: no list has a pair"),
    (("train", "bad.yaml", "--out", "m"), "bad.yaml:3: found"),
    (("train", "list.yaml", "--out", "m"), "list.yaml:1: found a list"),
    (("train", "unset.yaml", "--out", "m"), "environment variable NO_SUCH_VARIABLE is not set"),
    (("train", "absent.yaml", "--out", "m"), "absent.yaml: no such file"),
    (("train", "metrics.yaml", "--out", "m"), "metrics.yaml: metrics is not used by train: 'rerank eval"),
    (("train", "test.yaml", "--out", "m"), "test.yaml: data.test is not used by train: 'rerank predict'"),
    ((*LEARN, "-s", "data.test=test.letor"), "data.test is not used by train"),
    ((*LEARN, "--dev-refs", "words"), "data.dev_refs: not used without development lists (data.dev)"),
    ((*LEARN, "--dev", "absent", "-m", "AP"), "absent: no such file or folder"),
    ((*LEARN, "-s", "keep=train"), "keep=train needs a metric"),
    ((*LEARN, "--seed", "one"), "seed: found 'one', expected a whole number"),
    ((*LEARN, "--label", "sBLUE"), "did you mean 'sBLEU'"),
    ((*LEARN, "--n-best", "-1"), "n_best: found -1, expected 0 or more"),
    (("predict", "model", "test.letor", "--n-best", "-1"), "n_best: found -1, expected 0 or more"),
    (("predict", "model", "test.letor", "--tag", "me"), "--tag: not used by --as scores"),
    ((*LEARN, "--keep-margin", "auto"), "tuned on development lists"),
    ((*LEARN, "--keep-margin", "-1"), "select.keep_margin: found '-1'"),
    ((*LEARN, "--keep-margin", "auto", "--dev", "dev.letor", "-m", "RR"), "RR judges rankings"),
    ((*LEARN, "--keep-margin", "auto", "--dev", "dev.letor", "-m", "label@1"), "give --first-best"),
    ((*LEARN, "--seeds", "2"), "compared by a metric"),
    ((*LEARN, "--seeds", "0"), "seeds: found 0"),
    ((*LEARN, "--seeds", "1000000000", "-m", "RR"), "seeds: found 1000000000, expected 10000 or less"),
    (("train", "--data", "train.letor", "--out", "m.{seed}"), "give --seeds N"),
    (
        ("train", "--data", "train.letor", "--out", "m.{seed}", "--seeds", "2", "-m", "RR", "-l", "ranksvm"),
        "several runs of a learner that draws",
    ),
    (("predict", "model", "test.letor", "--keep-margin", "auto"), "keep margin: found 'auto'"),
    (("predict", "model", "test.letor", "--keep-margin", "1"), "give --first-best"),
    (("predict", "model", "test.letor", "--keep-margin", "1", "--as", "grades"), "not the labels"),
    (("eval", "test.letor", "tens", "--replicas"), "replicas: found 1"),
    (("predict", "train.letor", "test.letor"), "train.letor: found something else"),
    (("predict", "absent", "test.letor"), "absent: no such file"),
    (("predict", "model", "test.letor", "--as", "runs"), "did you mean 'run'"),
    (("predict", "model", "wide", "-f", "svmlight", "--strict"), "wide: 1 feature that the model does not"),
    (("eval", "test.letor", "short"), "short: found 1 scores, expected 72 scores"),
    (("eval", "test.letor", "words"), "words:2: found 'two', expected a score"),
    (("eval", "test.letor", "nans"), "nans:1: found 'nan', expected a score"),
    (("eval", "test.letor", "words", "words"), "given twice"),
    (
        ("eval", "test.letor", "--ties", "random"),
        "ties: found 'random', expected 'trec', 'expected' or 'input'",
    ),
    (("eval", "test.letor", "--first-best", "distnace"), "no feature 'distnace'"),
    (("list", "learner"), "did you mean 'learners'"),
    (("list", "learners", "none"), "unknown learner 'none'"),
    (("list", "formats", "moses"), "takes no name"),
    (("trian",), "No such command 'trian'"),
    (("train", "--no-such-option"), "No such option"),
    (("eval",), "Missing argument"),
    (("show",), "Missing argument"),
]


@pytest.fixture
def files(work, rerank):
    rerank("train", "--data", "train.letor", "--set", "epochs=1", "--scaling", "none", "--out", "model")
    for name, text in {
        "empty": "",
        "tied": "1 qid:1 1:1\n1 qid:1 1:2\n",
        "wide": "1 qid:1 1:0 99:1\n",
        "short": "1\n",
        "words": "1\ntwo\n",
        "tens": "10\n" * 72,
        "nans": "nan\n" * 72,
        "bad.yaml": "data:\n  train: [\n",
        "list.yaml": "- a\n",
        "metrics.yaml": "data: {train: train.letor}\nmetrics: [NONSENSE]\n",
        "test.yaml": "data: {train: train.letor, test: absent.letor}\n",
        "unset.yaml": "data: {train: '${NO_SUCH_VARIABLE}/x'}\n",
    }.items():
        (work / name).write_text(text)
    return work


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_a_mistake_is_a_one_line_error_with_exit_2_and_loses_nothing(rerank, files, arguments, message):
    (files / "m").write_text("was here before")
    before = sorted(path.name for path in files.iterdir())
    result = rerank(*arguments, code=2)
    assert result.out == ""
    assert result.err.startswith("rerank: ")
    assert result.err.count("\n") == 1
    assert message in result.err
    assert (files / "m").read_text() == "was here before"
    assert sorted(path.name for path in files.iterdir()) == before


def test_unknown_features_are_counted_and_ignored(rerank, files):
    result = rerank("predict", "model", "wide", "-f", "svmlight")
    assert result.out == "0.0\n"
    assert "note: wide: 1 feature that the model does not know (99), ignored" in result.err


HERE = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}


def shell(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "rerank", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=HERE,
        # A suite that runs in the background of a shell inherits an ignored SIGINT, and so would the child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        **options,
    )


def test_standard_input_and_output(files):
    with shell("predict", "model", "-", stdin=subprocess.PIPE) as process:
        out, err = process.communicate((files / "test.letor").read_bytes())
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 72


def test_a_closed_pipe_ends_quietly_with_141(files):
    line = (files / "test.letor").read_text().splitlines()[0]
    (files / "long.letor").write_text((line + "\n") * 20_000)
    with shell("predict", "model", "long.letor", "--as", "table") as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.wait()
    assert err == b""
    assert process.returncode == 141


def wait_for_cpu(process, seconds):
    """Wait until a process has used CPU seconds: on a busy machine no fixed time is enough."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        time.sleep(2 * seconds)
        return
    used = 0.0
    while used < seconds and process.poll() is None:
        time.sleep(0.02)
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        used = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_control_c_ends_with_130_and_one_line(files):
    endless = ("--set", "epochs=100000000", "--set", "tau=1e300", "--out", "m")
    pipe = files / "pipe.letor"
    os.mkfifo(pipe)
    with shell("train", "--data", "pipe.letor", "--format", "svmlight", *endless) as process:
        pipe.write_bytes((files / "train.letor").read_bytes())  # returns when it is being read
        wait_for_cpu(process, 1.5)  # it is past its imports and trains
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == b""
    assert re.fullmatch(
        rb"rerank: interrupted( after epoch [\d,]+ of 100,000,000)?; nothing written [^\n]*\n", err
    )
    assert not os.path.exists(files / "m")


def run_python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=HERE).stdout


def test_help_imports_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'yaml', 'multiprocessing'}"
    assert (
        run_python(f"import sys\nfrom rerank.cli import app\nprint({heavy} & set(sys.modules))") == "set()\n"
    )


def test_import_rerank_is_light_and_lazy():
    code = "import sys, rerank\nprint('numpy' in sys.modules, rerank.load.__name__, 'numpy' in sys.modules)"
    assert run_python(code) == "False load True\n"
