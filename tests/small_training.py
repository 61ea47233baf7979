"""Learners, models and all runs, as tests name them."""

from __future__ import annotations

from pathlib import Path

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
