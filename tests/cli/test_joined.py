"""``--data`` and ``--dev`` given several times: the files are joined."""

import pytest

from rerank import load, load_model
from rerank.formats.convert import split

LEARN = ("train", "--set", "epochs=3", "-m", "AP")


@pytest.fixture
def parts(work):
    """train.letor in two parts, a.letor and b.letor."""
    lists = load("train.letor")
    half = lists.n_lists // 2
    lines = (work / "train.letor").read_text().splitlines(keepends=True)
    cut = int(lists.offsets[half])
    (work / "a.letor").write_text("".join(lines[:cut]))
    (work / "b.letor").write_text("".join(lines[cut:]))
    return work


def learnt(path):
    model = load_model(path)
    return model.explain(), model.training.data.fingerprint, model.training.data.lists


@pytest.mark.parametrize("how", ["options", "yaml", "store"])
def test_joined_files_give_what_one_file_gives(rerank, parts, how):
    rerank(*LEARN, "--data", "train.letor", "--dev", "dev.letor", "--out", "whole")
    if how == "options":
        rerank(*LEARN, "--data", "a.letor", "-d", "b.letor", "--dev", "dev.letor", "--out", "m")
    elif how == "yaml":
        (parts / "run.yaml").write_text("data: {train: [a.letor, b.letor], dev: dev.letor}\n")
        rerank(*LEARN, "run.yaml", "--out", "m")
    else:
        rerank("convert", "b.letor", "--out", "b.store")
        rerank(*LEARN, "--data", "a.letor", "--data", "b.store", "--dev", "dev.letor", "--out", "m")
    assert learnt("m") == learnt("whole")


def test_several_dev_files(rerank, parts):
    split("dev.letor", ["d1=.5", "d2=.5"], out=".")
    err = rerank(*LEARN, "--data", "train.letor", "--dev", "d1.letor", "--dev", "d2.letor", "--out", "m").err
    assert "dev AP" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--data a.letor --data a.letor", "is in both a.letor and a.letor"),
        ("--data a.letor --data train.letor", "is in both a.letor and train.letor"),
        ("--data a.letor --data none.letor", "none.letor: no such file or folder"),
        (
            "--data a.letor --data b.letor --refs r",
            "data.refs: belongs to one file of lists, found 2 in data.train",
        ),
        ("--data a.letor --data b.letor --merge r", "data.merge: belongs to one file of lists"),
        ("--data a.letor --dev a.letor --dev b.letor --dev-ids r", "data.dev_ids: belongs to one file"),
        ("--data a.letor --data b.letor --curve b.letor", "--curve: b.letor is one of the input files"),
    ],
)
def test_what_cannot_be_joined_is_one_line(rerank, parts, arguments, message):
    (parts / "r").write_text("x\n")
    err = rerank(*LEARN, *arguments.split(), "--out", "m", code=2).err
    assert message in err
    assert err.count("\n") == 1
    assert not (parts / "m").exists()


def test_dev_and_train_in_one_file_are_reported(rerank, parts):
    err = rerank(*LEARN, "-d", "a.letor", "-d", "b.letor", "--dev", "b.letor", "--out", "m").err
    assert "note: dev and train are the same file, b.letor" in err
