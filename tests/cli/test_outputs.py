"""An output never is an input or another output; several appear together; places that cannot be written."""

from __future__ import annotations

import os
import shutil

import pytest
from command_line import NBEST

import rerank as package
from rerank.core.errors import RerankError
from rerank.core.files import write as placing
from rerank.data.reading import Reading
from rerank.formats.convert import append, save, split
from rerank.models.predict import predict

PARSES = """\
(S1 (S (NP (PRP it)) (VP (VBD ran))))
-3.5\t(S1 (S (NP (PRP it)) (VP (VBD ran))))
-4.25\t(S1 (S (NP (PRP it)) (NP (VBD ran))))
"""
LEARN = "train --data {train.letor} --set epochs=1"
# Commands in which {NAME} is an input and OUT the output: it is each of the inputs in turn.
INPUTS = [
    f"{LEARN} --out OUT",
    "train --data train.letor --dev {dev.letor} -m AP --set epochs=1 --out OUT",
    "train {run.yaml} --out OUT",
    f"{LEARN} --out m2 --curve OUT",
    "train --data train.letor --set epochs=1 --feature-names {features.txt} --out OUT",
    "train --data train.letor --set epochs=1 --quantise model={model} --out OUT",
    "train --data train.letor -l mert -m label@1 --init {model} --out OUT",
    "train --data {dev.nbest} --refs {dev.ref} --label sBLEU --set epochs=1 --out OUT",
    "predict {model} {test.letor} --out OUT",
    "predict model test.letor --feature-names {features.txt} --out OUT",
    "predict model run.run --qrels {qrels} --out OUT",
    "eval {test.letor} {scores} --per-list OUT",
    "eval test.letor --baseline {scores} --per-list OUT",
    "eval {dev.nbest} --refs {dev.ref} --per-list OUT",
    "eval {test.letor} --baseline {scores} --html OUT",
    "compare {test.letor} {scores} other --html OUT",
    "convert {train.letor} --out OUT --to svmlight",
    "convert {s.store} --out OUT --to store",
    "convert {dev.nbest} --merge {more.nbest} --out OUT --to moses",
    "append {test.letor} x={scores} --to svmlight --out OUT",
    "label {dev.nbest} --refs {dev.ref} --metric sBLEU --to moses --out OUT",
    "features consensus {dev.nbest} --by ngram1 --to moses --out OUT",
    "features select {train.letor} --keep 2 --to svmlight --out OUT",
    "import {w.tsv} --out OUT",
    "import b --from bllip --feature-names {ids} --out OUT",
    "export {model} --to tsv --out OUT",
    "export {model} --to python --out OUT",
    "import {linear.txt} --from ranklib --out OUT",
    "export model --to moses-ini --ini {moses.ini} --out OUT",
]


def inputs(command):
    return [word.strip("{}") for part in command.split() for word in part.rpartition("=")[::2] if "{" in word]


CASES = [(command, name, "itself") for command in INPUTS for name in inputs(command)]
CASES += [(command, name, alias) for alias in ("link", "hard link") for command, name, _ in CASES[::8]]


@pytest.fixture
def files(work, rerank):
    """Files for every verb; those of the repository are copied, so that nothing can reach them."""
    for path in list(work.iterdir()):
        source = path.resolve()
        path.unlink()
        shutil.copy(source, path)
    rerank("train", "--data", "train.letor", "--set", "epochs=1", "--out", "model")
    rerank("predict", "model", "test.letor", "--out", "scores")
    rerank("convert", "train.letor", "--out", "s.store")
    for name, text in {
        "run.yaml": "data: {train: train.letor}\nlearner: {name: perceptron, epochs: 1}\n",
        "dev.nbest": NBEST,
        "more.nbest": NBEST,
        "dev.ref": "the cat sat down\nit rains in town\nyes\n",
        "run.run": "1 Q0 d1 1 2.0 r\n",
        "qrels": "1 0 d1 1\n",
        "w.tsv": "1\t0.5\n",
        "linear.txt": "## Coordinate Ascent\n1:0.5\n",
        "b": "1=0.5\n",
        "ids": "1\tx\n",
        "moses.ini": "[weight]\nlm= 1\n",
        "train.parses": PARSES,
        "heads": "* left\n",
    }.items():
        (work / name).write_text(text)
    return work


def tree(folder):
    return {p: p.is_dir() or p.read_bytes() for p in folder.rglob("*")}


@pytest.mark.parametrize(("command", "name", "alias"), CASES, ids=[f"{c}: {n}, {a}" for c, n, a in CASES])
def test_an_output_is_never_an_input(rerank, files, command, name, alias):
    out = name
    if alias == "link":
        (files / "alias").symlink_to(name)
        out = "alias"
    elif alias == "hard link":
        os.link(files / name, files / "alias")
        out = "alias"
    before = tree(files)
    words = command.replace("OUT", f"./{out}").replace("{", "").replace("}", "").split()
    err = rerank(*words, code=2).err
    assert err.startswith("rerank: --"), err
    assert f"{name} is one of the input files; write to another place" in err
    assert err.count("\n") == 1
    assert tree(files) == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "split ./parts/train.letor --part train=.8 --part dev=.2 --out parts",
            "parts/train.letor is one of",
        ),
        ("split parts/train.letor --folds 2 --out parts --suffix .x.letor", "parts/train.letor is one of"),
        ("features parse parts/features.json --format parses --out parts", "parts/features.json is one of"),
        ("features parse s.store --heads heads --out .", "s.store is one of the input files"),
        ("train --data train.letor --set epochs=1 --curve m --out m", "m is the output of --out"),
        ("train --data train.letor -m AP --seeds 2 --out m.{seed} --curve m.1", "m.1 is the output of --out"),
        ("train --data m.2 -f letor -m AP --seeds 2 --out m.{seed}", "m.2 is one of the input files"),
        ("predict model s.store --out s.store/labels.npy", "s.store/labels.npy is within the input"),
        ("convert s.store --out s.store/inner.store", "s.store/inner.store is within the input"),
        ("append test.letor x=s.store/labels.npy --out s.store", "s.store contains the input"),
        ("split test.letor --part a=.5 --part b=.5 --out linked", "linked/a.letor is the output of --out"),
        (
            "split test.letor --part a=.5 --suffix /../z.letor --out parts",
            "expected one that names no folder",
        ),
        ("split test.letor --part ../a=.5 --out parts", "--part ../a=.5: expected NAME=SHARE"),
    ],
)
def test_derived_outputs_are_checked(rerank, files, command, message):
    (files / "parts" / "fold1").mkdir(parents=True)
    for name in ("train.letor", "features.json"):
        shutil.copy("train.letor" if name == "train.letor" else "train.parses", files / "parts" / name)
    os.link(files / "parts" / "train.letor", files / "parts" / "fold1" / "test.x.letor")
    shutil.copy("train.letor", files / "m.2")
    (files / "linked").mkdir()
    (files / "linked" / "a.letor").write_text("1 qid:1 1:1\n")
    (files / "linked" / "b.letor").symlink_to("a.letor")
    before = tree(files)
    err = rerank(*command.split(), code=2).err
    assert message in err
    assert err.count("\n") == 1
    assert tree(files) == before


def test_library_functions_have_the_same_protection(files):
    lists = package.load("test.letor")
    for call in (
        lambda: save("test.letor", "test.letor", "svmlight"),
        lambda: append(lists, {"x": "scores"}, "scores", "svmlight"),
        lambda: predict("model", lists, out="model"),
        lambda: split(files / "test.letor", ["test=.5"], out="."),
        lambda: save(lists, "q", "svmlight", reading=Reading(qrels="q")),
    ):
        before = tree(files)
        with pytest.raises(RerankError, match="is one of the input files"):
            call()
        assert tree(files) == before


def test_devices_are_no_files(rerank, files):
    rerank("predict", "model", "test.letor", "--out", "/dev/null")
    assert "empty" in rerank("predict", "model", "/dev/null", "-f", "letor", "--out", "/dev/null", code=2).err


@pytest.mark.parametrize(
    "command",
    [
        "split test.letor --folds 2 --out new/parts",
        "features parse train.parses --format parses --cutoff 1 --apply more.parses --out new",
        "train --data train.letor -m AP --set epochs=1 --seeds 3 --out m.{seed} --curve c",
    ],
)
def test_all_outputs_appear_or_none(rerank, files, monkeypatch, command):
    (files / "more.parses").write_text(PARSES)
    before = tree(files)
    real, calls = placing.StagedOutput.commit, []

    def swap(part):
        calls.append(part)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(part)

    monkeypatch.setattr(placing.StagedOutput, "commit", swap)
    err = rerank(*command.split(), code=2).err
    assert "no space left on device" in err.splitlines()[-1]
    assert tree(files) == before
    calls.extend("more than three")
    rerank(*command.split())
    assert len(tree(files)) > len(before)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("none/x{}", "none/x{}: no folder none to write to"),
        ("folder{}", "folder{}: "),
        ("dangling{}", "dangling{}: no folder "),
        ("loop{}", "loop{}: "),
        ("train.letor/x{}", "train.letor/x{}: no folder train.letor to write to"),
        ("/proc/x{}", "/proc/x{}: "),
        ("x" * 300 + "{}", "file name too long"),
    ],
)
@pytest.mark.parametrize("suffix", [".letor", ".store"])
def test_a_place_that_cannot_be_written_is_one_line(rerank, files, out, message, suffix):
    (files / f"folder{suffix}").mkdir()
    (files / f"dangling{suffix}").symlink_to("none/x")
    (files / f"loop{suffix}").symlink_to(f"loop{suffix}")
    before = set(files.iterdir())
    err = rerank("convert", "test.letor", "--out", out.format(suffix), code=2).err
    assert message.format(suffix) in err
    assert err.count("\n") == 1
    assert set(files.iterdir()) == before


@pytest.mark.parametrize("suffix", [".letor", ".store"])
def test_a_dangling_link_is_followed(rerank, files, suffix):
    (files / f"link{suffix}").symlink_to(f"target{suffix}")
    rerank("convert", "test.letor", "--out", f"link{suffix}")
    assert (files / f"link{suffix}").is_symlink()
    assert (files / f"target{suffix}").exists()


@pytest.mark.parametrize(
    "command",
    [
        *(f"pairs test.letor --as {form}" for form in ("text", "json", "csv", "markdown", "latex")),
        "eval test.letor 1.scores -m AP --by-list",
        "compare test.letor 1.scores 2.scores -m AP --as json",
        "validate test.letor --as csv",
        "show m",
        "list learners --as markdown",
        "list metrics nDCG",
    ],
)
def test_out_has_what_is_printed(rerank, work, command):
    for k in (1, 2):
        (work / f"{k}.scores").write_text("".join(f"{(k * i) % 7}\n" for i in range(72)))
    rerank("train", "--data", "train.letor", "--set", "epochs=1", "--out", "m")
    words = command.split()
    printed = rerank(*words).out
    assert rerank(*words, "--out", "o").out == ""
    assert (work / "o").read_text() == printed
    assert rerank(*words, "-o", "-").out == printed


@pytest.mark.parametrize(
    "command",
    [
        "eval {} 1.scores -m AP",
        "eval test.letor {} -m AP",
        "compare test.letor {} 2.scores",
        "validate {}",
        "pairs {}",
    ],
)
def test_what_is_printed_does_not_replace_an_input(rerank, work, command):
    for k in (1, 2):
        (work / f"{k}.scores").write_text("".join(f"{(k * i) % 7}\n" for i in range(72)))
    name = "1.scores" if "test.letor {}" in command else "test.letor"
    error = rerank(*command.format(name).split(), "--out", name, code=2).err
    assert error == f"rerank: --out: {name} is one of the input files; write to another place\n"


def test_outputs_of_eval_are_two_files(rerank, work):
    (work / "s").write_text("1\n" * 72)
    error = rerank("eval", "test.letor", "s", "-m", "AP", "--out", "o", "--per-list", "o", code=2).err
    assert "o is the output of --" in error
