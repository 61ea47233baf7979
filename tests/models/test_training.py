"""Training records: what they refuse, NaN in JSON, and files in which any one value is wrong."""

import copy
import json
import math
import zipfile

import pytest
from models.test_old_models import FOLDER
from small_training import saved

from rerank.core.errors import DataError, FormatError
from rerank.core.tables.data import to_json
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.training import DataRecord, FitRecord, RestartRecord, RoundsRecord, Training


def rewritten(name, path, change):
    """A copy of the old model ``name`` at ``path`` with another meta.json."""
    with zipfile.ZipFile(FOLDER / f"{name}.model") as archive, zipfile.ZipFile(path, "w") as out:
        for member in archive.namelist():
            content = archive.read(member)
            if member == "meta.json":
                meta = json.loads(content)
                content = json.dumps(change(meta) or meta).encode()
            out.writestr(member, content)
    return str(path)


def places(value, path=()):
    """The path of every value within JSON, but not within the weights' names."""
    yield path
    if isinstance(value, dict | list) and path[-1:] != ("feature_names",):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def put(meta, path, value):
    """``meta`` with another value at ``path``, or without it if that is ... (an ellipsis)."""
    if not path:
        return value
    whole = copy.deepcopy(meta)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return whole


@pytest.mark.parametrize("name", ["mert", "perceptron-seeds", "prank", "pro"])
def test_any_wrong_value_is_read_and_shown_or_is_one_line(name, tmp_path):
    with zipfile.ZipFile(FOLDER / f"{name}.model") as archive:
        meta = json.loads(archive.read("meta.json"))
    refused = []
    for path in places(meta):
        for wrong in (..., None, "word", -1, [], {}, [7], {"key": 7}):
            if path == () and wrong is ...:
                continue
            file = rewritten(name, tmp_path / "model", lambda _, p=path, w=wrong: put(meta, p, w) or [])
            try:
                model = load_model(file)
            except FormatError as error:
                refused.append(str(error).removeprefix(file))
            else:
                assert model_lines(model)
                to_json(model_record(model))
    assert len(refused) > 100
    assert not any("\n" in message or len(message) > 400 for message in refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["rounds"].update(kept="x"), "training.rounds.kept: found 'x', expected a whole number"),
        (lambda t: t["rounds"].update(bogus=1), "training.rounds.bogus is unknown"),
        (lambda t: t.update(bogus=1), "training.bogus is unknown"),
        (lambda t: t["seeds"].pop("n"), "training.seeds.n is missing"),
        (lambda t: t["gains"][1].update(use="luck"), r"training.gains.1.use: found 'luck', expected 'fit', "),
        (lambda t: t.update(rounds=[3]), r"training.rounds: found \[3\], expected keys and values"),
        (lambda t: t["rounds"].update(kept="x" * 10_000), r"training.rounds.kept: found \[...\]"),
    ],
)
def test_a_wrong_field_is_named(change, message, tmp_path):
    file = rewritten("perceptron-seeds", tmp_path / "model", lambda meta: change(meta["training"]) and None)
    with pytest.raises(FormatError, match=rf"found a damaged model \({message}"):
        load_model(file)


def test_an_unknown_kind_of_model_is_a_format_error(tmp_path):
    file = rewritten("random", tmp_path / "model", lambda meta: meta.update(kind="randum"))
    with pytest.raises(FormatError, match=r"unknown model 'randum'; did you mean 'random'\?"):
        load_model(file)


def test_pairs_without_skipped_lists_are_shown():
    """A learner that counts pairs but not the lists without one."""
    model = load_model(str(FOLDER / "random.model"))
    model.training.data = DataRecord(pairs=7)
    assert "pairs 7" in "\n".join(model_lines(model))


def test_a_metric_without_a_value_is_null_and_an_absent_one_is_left_out():
    record = RoundsRecord(run=2, kept=1, dev=math.nan)
    assert record.as_json() == {"run": 2, "kept": 1, "dev": None}
    assert math.isnan(RoundsRecord.from_json(record.as_json()).dev)
    assert RoundsRecord(run=2, kept=1, dev=None).as_json() == {"run": 2, "kept": 1}
    restart = RestartRecord(restart=0, start=math.nan, train=math.inf, steps=0, searches=1)
    assert json.loads(json.dumps(restart.as_json(), allow_nan=False))["train"] is None


def test_records_are_checked_when_a_learner_makes_them():
    with pytest.raises(DataError, match="kept: found 'two', expected a whole number"):
        RoundsRecord(run=1, kept="two")
    with pytest.raises(AttributeError, match="frozen"):
        FitRecord().train = 3.0
    training = Training()
    with pytest.raises(DataError, match=r"data\.pears is unknown"):
        training.data = {"pears": 3}
    with pytest.raises(DataError, match="found 3, expected keys and values"):
        Training.from_json(3)


def test_notes_of_a_learner_of_its_own_are_kept_and_shown(tmp_path):
    model = load_model(str(FOLDER / "random.model"))
    assert "notes" not in model.training.as_json()
    model.training.notes = {"stumps": 12, "stopped": True, "why": "no gain", "gamma": 0.25}
    again = saved(model, tmp_path)
    assert again.training == model.training
    assert "notes stumps 12, stopped yes, why no gain, gamma 0.25" in " ".join(
        "\n".join(model_lines(again)).split()
    )
    assert model_record(again)["notes"] == model.training.notes
