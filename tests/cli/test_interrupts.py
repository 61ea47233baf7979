"""What Ctrl-C says: how far the work was, what is kept, and how to go on."""

import importlib
import random
import re

import pytest

from rerank.core.checkpoints import Slot
from rerank.learners.rounds import Rounds

TRAIN = ["train", "--data", "a.letor", "--metric", "AP", "--out", "m", "--set", "epochs=8", "--set", "tau=9"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = random.Random(1)
    for name in ("a", "b"):
        rows = [(rng.randrange(2), i // 5, rng.random(), rng.random()) for i in range(100)]
        lines = [f"{y} qid:{name}{q} 1:{x:.3f} 2:{z:.3f}\n" for y, q, x, z in rows]
        (tmp_path / f"{name}.letor").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def press(patch, owner, name, times):
    """Press Ctrl-C in the call of a method after so many others."""
    method, calls = getattr(owner, name), [0]

    def pressed(*args, **kwargs):
        calls[0] += 1
        if calls[0] > times:
            raise KeyboardInterrupt
        return method(*args, **kwargs)

    patch.setattr(owner, name, pressed)


def test_training_without_and_with_a_checkpoint(rerank, folder, monkeypatch):
    rerank(*TRAIN, "--curve", "curve")
    expected = [(folder / name).read_bytes() for name in ("m", "curve")]
    (folder / "m").unlink()
    with monkeypatch.context() as patch:
        press(patch, Rounds, "record", 3)
        found = rerank(*TRAIN, code=130)
    hint = "nothing written (--checkpoint FILE keeps what is done)"
    assert found.err == f"rerank: interrupted after epoch 3 of 8; {hint}\n"
    assert not (folder / "m").exists()
    again = [*TRAIN, "--curve", "curve", "--checkpoint", "c"]
    with monkeypatch.context() as patch:
        patch.setattr(Slot, "due", lambda place: True)
        press(patch, Rounds, "record", 5)
        found = rerank(*again, code=130)
    assert found.err == "rerank: interrupted after epoch 5 of 8; kept in c; the same command continues\n"
    found = rerank(*again)
    assert "note: c: training continues where it was interrupted" in found.err
    assert [(folder / name).read_bytes() for name in ("m", "curve")] == expected
    assert not (folder / "c").exists()
    assert (
        "checkpoint: learner ridge keeps none"
        in rerank(*TRAIN[:-4], "-l", "ridge", "--checkpoint", "c", code=2).err
    )
    (folder / "c").write_text("something else\n")
    assert "c: found something else, or a damaged file" in rerank(*again, code=2).err


def test_a_learner_without_checkpoints(rerank, folder, monkeypatch):
    monkeypatch.setattr("rerank.learners.penalised.minimise", lambda *_: press_now())
    found = rerank("train", "--learner", "ridge", "--data", "a.letor", "--out", "m", code=130)
    assert found.err == "rerank: interrupted; nothing written\n"


def press_now():
    raise KeyboardInterrupt


def test_cells_of_an_experiment_are_kept(rerank, folder, monkeypatch):
    (folder / "e.yaml").write_text(
        "data: {train: a.letor, test: b.letor}\nmetrics: [AP]\nseeds: 3\n"
        "learners: {perceptron: {epochs: 2}}\n"
    )
    run = importlib.import_module("rerank.experiments.run")
    with monkeypatch.context() as patch:
        press(patch, run, "_enter", 2)
        found = rerank("run", "e.yaml", "--out", "r", code=130)
    last = found.err.splitlines()[-1]
    assert re.fullmatch(r"rerank: interrupted; [123] of 3 cells kept in r; the same command continues", last)
    rerank("run", "e.yaml", "--out", "r")
    assert rerank("run", "e.yaml", "--out", "r", "--status").out
