"""Models written by version 0.1.0 (tests/golden/models) still load, show the same and are saved the same.

They were trained on data/spelling-tiny and on the N-best lists of tests/cli/conftest.py, one for each learner
and for each kind of training record.
"""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rerank.core.tables.data import to_json
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.model"))


def shown_before(name):
    """What ``rerank show --top 3`` of 0.1.0 printed, as words: columns may be aligned otherwise today."""
    text = (FOLDER / "shown.txt").read_text(encoding="utf-8")
    return text.split(f"== {name}\n")[1].split("\n== ")[0].split()


def members(path):
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(found.pop("meta.json"))
    del meta["rerank"]  # the version that wrote it
    settings = meta["training"]["settings"]  # epochs had another name
    meta["training"]["settings"] = {"epochs" if key == "rounds" else key: settings[key] for key in settings}
    return json.dumps(meta, indent=1), found


@pytest.mark.parametrize("name", NAMES)
def test_an_old_model_is_shown_as_before(name):
    model = load_model(str(FOLDER / f"{name}.model"))
    new = "of the scaled features"  # which 0.1.0 did not print
    lines = [line for line in model_lines(model, 3) if new not in line]
    assert "\n".join(lines).split() == shown_before(name)
    to_json(model_record(model))


@pytest.mark.parametrize("name", NAMES)
def test_an_old_model_is_saved_as_it_was(name, tmp_path):
    path = FOLDER / f"{name}.model"
    load_model(str(path)).save(str(tmp_path / "again"))
    before, after = members(path), members(tmp_path / "again")
    assert before[0] == after[0]  # keys in the same order as well
    assert before[1] == after[1]


def test_every_learner_of_the_release_is_there():
    learners = {load_model(str(FOLDER / f"{name}.model")).training.learner for name in NAMES}
    assert learners == {
        *("best-feature", "mert", "mira", "oap-bpm", "perceptron"),
        *("prank", "pro", "random", "uneven-margin"),
    }


def test_seeds_and_gains_have_attributes():
    training = load_model(str(FOLDER / "perceptron-seeds.model")).training
    assert training.seeds.values == (0.75, 0.75, 0.75)
    assert training.seeds.by == "best"
    assert [gain.use for gain in training.gains] == ["fit", "choice", "choice"]
    assert training.keep.leading == 3
    assert np.isclose(training.seeds.within_seeds, 0)
