"""What can go wrong while tuning: one line, exit 2, nothing written; streams and archives of all sorts."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rerank as package
from rerank import load_model

DATA = ("train", "--data", "dev.nbest", "-f", "moses", "--refs", "dev.ref")
MERT = (*DATA, "-m", "BLEU", "-l", "mert", "-s", "restarts=2")
PRO = (*DATA, "-m", "BLEU", "-l", "pro", "--label", "sBLEU")
PERCEPTRON = (*DATA, "-m", "BLEU", "-l", "perceptron", "--label", "sBLEU")
M = ("--out", "m")
WRONG = [
    ((*MERT, *M, "--jobs", "-1"), "jobs: found -1, expected 0 or more"),
    ((*MERT, *M, "--seeds", "0"), "seeds: found 0, expected 1 or more"),
    (
        (*DATA, "-m", "BLEU", "-l", "mert", *M, "-s", "restarts=1.5"),
        "restarts: found 1.5, expected a whole number",
    ),
    (
        (*DATA, "-m", "BLEU", "-l", "mert", *M, "-s", "restarts=none"),
        "restarts: found 'none', expected a whole number",
    ),
    ((*MERT, *M, "-s", "l2=nan"), "l2: found 'nan', expected a finite number"),
    ((*MERT, *M, "-s", "directions=up"), "directions: found 'up', expected 'coordinate', 'random' or 'both'"),
    ((*MERT, *M, "-s", "scaling="), "scaling: found none, expected 'auto', 'none', 'minmax'"),
    ((*DATA, *M, "-s", "learner=pro"), "learner: found 'pro', expected keys and values"),
    (
        (*DATA[:-2], "-m", "BLEU", "-l", "mert", *M, "-s", "data.refs=true"),
        "refs: found true, expected a list",
    ),
    ((*MERT, *M, "-s", "keep_margin=-1"), "select.keep_margin: found -1, expected auto"),
    ((*MERT, *M, "--dev", "equal.nbest"), "equal.nbest: no references of the dev lists; give them with"),
    ((*MERT, *M, "--init", "archive"), "archive: found something else, or a damaged file, expected a model"),
    ((*MERT, *M, "--init", "voted"), "voted: found a model of kind voted, expected a linear one"),
    ((*PERCEPTRON, *M, "--init", "huge"), "huge: the weight of 'tm_0' is too large for its scaled feature"),
    (
        (*PERCEPTRON, *M, "--scaling", "none", "--init", "huge"),
        "dev.nbest: scores under the initial weights overflow",
    ),
    ((*PRO, *M, "--init", "huge"), "dev.nbest: the loss overflows; are the initial weights too large?"),
    (
        ("train", "--data", "equal.nbest", *PRO[3:-1], "WER", *M),
        "equal.nbest: no list has two different labels",
    ),
    (
        ("train", "--data", "tiny.nbest", *PRO[3:], *M),
        "tiny.nbest: the features do not differ in any pair (or by less",
    ),
    ((*MERT, "--out", ""), "no model file to write"),
    ((*MERT, "--out", "dev.nbest"), "--out: dev.nbest is one of the input files"),
    ((*MERT, "--out", "./dev.ref"), "--out: dev.ref is one of the input files"),
    ((*MERT, "--out", "folder"), "folder: is a folder, expected a file"),
    ((*MERT, "--out", "nowhere/m", "--curve", "c"), "nowhere/m: no folder nowhere to write to"),
    ((*MERT, *M, "--curve", "nowhere/c"), "nowhere/c: no folder nowhere to write to"),
    ((*MERT, *M, "--curve", "./m"), "--curve: m is the output of --out"),
    ((*MERT, "--out", "timing.c", "--curve", "c"), "--curve: timing.c is the output of --out"),
    ((*MERT, "--out", "-", "--curve", "-"), "--curve: - is the output of --out"),
    ((*MERT, *M, "--curve", "c{seed}", "--seeds", "2"), "--curve: {seed} is for --out alone"),
    (("import", "voted", *M), "voted: found a model of unknown format, expected --from"),
    (("export", "voted", "--to", "tsv", *M), "voted: a voted model: votes are counted within each list"),
    (("export", "kept", "--to", "tsv", "--ini", "x", *M), "--ini: not used by the format tsv"),
    (("predict", "archive", "dev.nbest", "-f", "moses"), "archive: found something else, or a damaged file"),
]


@pytest.fixture
def files(nbest, rerank):
    """Lists, weights and models to go wrong with."""
    lines = [line.split("lm=")[0] for line in (nbest / "dev.nbest").read_text().splitlines()]
    for name, text in {
        "tiny.nbest": "".join(f"{line}lm= {k}e-300 ||| 0\n" for k, line in enumerate(lines)),
        "equal.nbest": "".join(f"{i} ||| yes ||| lm= {k} ||| 0\n" for i in range(3) for k in range(2)),
        "huge": "lm\t1e300\ntm_0\t-1e308\ntm_1\t0\n",
        "archive": "PK\x03\x04 cut off",
    }.items():
        (nbest / name).write_text(text)
    (nbest / "folder").mkdir()
    rerank(*PERCEPTRON, "-s", "average=voted", "--out", "voted")
    rerank(*MERT, "--keep-margin", "0.5", "--out", "kept")
    return nbest


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(a[-4:]) for a, _ in WRONG])
def test_a_mistake_is_a_one_line_error_with_exit_2_and_writes_nothing(rerank, files, arguments, message):
    before = {path.name: path.is_dir() or path.read_bytes() for path in files.iterdir()}
    result = rerank(*arguments, code=2)
    assert result.out == ""
    assert result.err.startswith("rerank: ")
    assert result.err.count("\n") == 1
    assert message in result.err
    assert {path.name: path.is_dir() or path.read_bytes() for path in files.iterdir()} == before


def test_a_keep_margin_is_not_lost_in_silence(rerank, files):
    result = rerank("export", "kept", "--to", "tsv", "--out", "-")
    assert result.err.splitlines() == [
        "rerank: note: kept: its keep margin 0.5 is no part of a score, so it is left out",
        "rerank: tsv: a linear model, 3 weights, to -",
    ]
    assert [line.split("\t")[0] for line in result.out.splitlines()] == ["lm", "tm_0", "tm_1"]


def test_none_may_be_typed_if_a_setting_accepts_it(rerank, files):
    rerank(*PRO, "--out", "a")
    rerank(*PRO, "-s", "threshold=none", "-s", "seed=none", "--out", "b")
    assert (files / "a").read_bytes() == (files / "b").read_bytes()


def test_a_setting_of_select_needs_no_section(rerank, files):
    rerank(*MERT, "-s", "keep_margin=0.5", "--out", "again")
    assert (files / "again").read_bytes() == (files / "kept").read_bytes()


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """What the shell makes of a command line of rerank."""
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    asked = ["sh", "-c", command.replace("rerank ", f"{shlex.quote(sys.executable)} -m rerank ")]
    return subprocess.run(asked, cwd=folder, env=environment, capture_output=True, check=False)


def test_models_are_written_and_read_as_archives_and_through_pipes(rerank, files):
    expected = rerank("predict", "voted", "dev.nbest", "-f", "moses").out
    rerank(*PERCEPTRON, "-s", "average=voted", "--out", "voted.gz")
    assert (files / "voted.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert rerank("predict", "voted.gz", "dev.nbest", "-f", "moses").out == expected
    done = shell(f"rerank {' '.join(PERCEPTRON)} -s average=voted --out - > piped", files)
    assert (files / "piped").read_bytes() == (files / "voted").read_bytes(), done.stderr
    given = " ".join(PERCEPTRON).replace("--data dev.nbest", "--data -")
    done = shell(f"rerank {given} -s average=voted -o - <dev.nbest >both", files)
    assert load_model("both").explain() == load_model("voted").explain(), done.stderr
    done = shell("rerank predict - dev.nbest -f moses < voted", files)
    assert done.stdout.decode() == expected
    rerank("export", "kept", "--to", "tsv", "--out", "kept.tsv")
    rerank("import", "kept.tsv", "--out", "plain.xz")
    assert load_model("plain.xz").explain() == load_model("kept").explain()
    done = shell("gzip < kept | rerank export - --to tsv --out -", files)
    assert done.stdout == (files / "kept.tsv").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize(
    "command", ["show kept", "predict voted dev.nbest -f moses", "list learners mert", "--help"]
)
def test_a_full_disk_of_standard_output_is_reported(files, command):
    done = shell(f"rerank {command} > /dev/full", files)
    last = done.stderr.splitlines()[-1]  # after a note that these lists are the training lists
    assert (done.returncode, last) == (2, b"rerank: <stdout>: no space left on device")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_is_reported(rerank, files):
    assert rerank(*MERT, "--out", "/dev/full", code=2).err == "rerank: /dev/full: no space left on device\n"
    rerank(*MERT, "--out", "/dev/null")


@pytest.mark.parametrize("command", ["--help", "--version", "show kept", "export kept --to tsv -o -"])
def test_a_pipe_that_is_closed_before_anything_is_printed(files, command):
    done = shell(f"(sleep 0.5; rerank {command}; echo $? > code) | true", files)
    assert ((files / "code").read_text(), done.stderr) == ("141\n", b"")


def test_streams_that_are_closed(files):
    done = shell("rerank predict voted dev.nbest -f moses >&-", files)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(b"rerank: <stdout>: ")
    assert done.stderr.count(b"\n") == 2  # a note that these lists are the training lists
    quiet = shell("rerank predict kept dev.nbest -f moses 2>&-", files)
    assert quiet.stdout == shell("rerank predict kept dev.nbest -f moses 2>/dev/null", files).stdout
    assert len(quiet.stdout.splitlines()) == 7


def test_a_deviation_that_is_not_known_is_not_printed_as_nan(rerank, files):
    for name in ("kept", "voted"):
        rerank("predict", name, "dev.nbest", "-f", "moses", "--out", f"{name}.scores")
    judged = ("eval", "dev.nbest", "-f", "moses", "--refs", "dev.ref", "-m", "BLEU")
    table = rerank(*judged, "kept.scores", "voted.scores", "--replicas", "--samples", 1).out
    assert " between runs, unknown over resampled lists" in table
    assert "nan" not in table
