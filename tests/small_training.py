"""Learners, models and all runs, as tests name them."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from rerank.learners.base import LEARNERS
from rerank.models.base import load_model
from rerank.training.data import SideInputs
from rerank.training.select import select
from rerank.training.train import pipeline_from


def make_learner(name, settings):
    """The learner called ``name`` with these settings."""
    return LEARNERS.get(name).checked(settings, f"learner {name}")


def fit(learner, lists, dev=None, unlabelled=None, list_weights=None, initial=None, **given):
    """The model of a learner; unlike ``rerank.train`` it accepts a metric that the learner does not use."""
    side = SideInputs(unlabelled, list_weights, initial=initial)
    return all_runs(learner, lists, dev, side, **given).model


def all_runs(learner, lists, dev=None, side=None, **given):
    """The selected model and those of all seeds."""
    return select(pipeline_from(learner, **given), lists, dev, side or SideInputs())


def saved(model, folder):
    """The model as its file gives it back; saved once more it has the same bytes."""
    first, second = Path(folder, "saved"), Path(folder, "saved again")
    model.save(str(first))
    again = load_model(str(first))
    assert type(again) is type(model)
    assert again.explain() == model.explain()
    again.save(str(second))
    assert first.read_bytes() == second.read_bytes()
    return again


def rewritten(path, out, meta=(), **changes):
    """The path of a model's file with other metadata and arrays; without those that are None."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["meta.json"] = json.dumps(json.loads(members["meta.json"]) | dict(meta)).encode()
    for name, array in changes.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        members[f"{name}.npy"] = buffer.getvalue()
        if array is None:
            del members[f"{name}.npy"]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return str(out)
