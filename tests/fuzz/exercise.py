"""What is done with an input: it is read, and what was read is used, so that wrong data shows as a crash."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from contracts.test_formats import EXAMPLES
from contracts.test_learners import some_lists
from fuzz.corpus import Seed
from fuzz.piped import check_pipes
from small_training import fit, make_learner

from rerank.core.errors import DataNote
from rerank.data.classes import Predictions, class_lists, read_predictions
from rerank.data.columns.strings import StringColumn
from rerank.data.describe import describe
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.heads import read_heads
from rerank.extensions.preferences.comparisons import comparisons_of
from rerank.extensions.preferences.ladder import rate
from rerank.formats import FORMATS, load
from rerank.formats.feature_columns import read_feature_names
from rerank.formats.scores import read_scores
from rerank.formats.trec.qrels import read_qrels
from rerank.formats.vector_files import read_vectors
from rerank.formats.weights import read_weights
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES, parse
from rerank.models.base import load_model
from rerank.models.classes import ClassesModel
from rerank.models.exchange.calls import export, read_model
from rerank.models.linear import LinearModel
from rerank.models.preference import PreferenceModel
from rerank.models.weights import NamedWeights, initial_for
from rerank.training.config import read_config

_WIDE = 100_000
_LISTS = some_lists()
_WRITERS = [name for name in FORMATS.names() if FORMATS.get(name).holds]
_METRICS = [(FAMILIES.get(name).needs, FAMILIES.get(name).examples) for name in FAMILIES.names()]
_OF_CLASSES = [family.examples[0] for family in map(FAMILIES.get, FAMILIES.names()) if family.of_classes]
_METRICS = [(needs, examples) for needs, examples in _METRICS if needs]


def put(seed: Seed, folder: str) -> str:
    """Write an input into an empty folder; return the path of what is read."""
    for name, data in seed.beside.items():
        Path(folder, name).write_bytes(data)
    path = Path(folder, "input")
    if set(seed.files) == {""}:
        path.write_bytes(seed.files[""])
    else:
        path.mkdir()
        for name, data in seed.files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    return str(path)


def exercise(target: str, seed: Seed, folder: str, draw: random.Random) -> None:
    """Read an input that ``put`` wrote and use it; raises RerankError if the package refuses it.

    Anything else that is raised, numpy's warnings included, is a finding.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataNote)
        kind, _, name = target.partition(":")
        path = os.path.join(folder, "input")
        if draw.random() < 0.05:
            check_pipes(target, seed, folder, draw.choice((1, 7, 4_096, 1 << 20)))
        _USES[kind](path, name, _options(seed, folder), draw)


def _options(seed: Seed, folder: str) -> dict[str, Any]:
    """The options of an input, with the places of the files that they name."""

    def placed(value: Any) -> Any:
        if isinstance(value, list):
            return [placed(inner) for inner in value]
        return os.path.join(folder, value) if value in seed.beside else value

    return {key: placed(value) for key, value in seed.options.items()}


def _format(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    if draw.random() < 0.2 and "strict" in FORMATS.get(name).honours:
        options["strict"] = True
    if draw.random() < 0.2 and "layout" in FORMATS.get(name).honours:
        options.setdefault("layout", draw.choice(("dense", "sparse")))
        options.pop("missing", None)
    _use(load(path, format=name, **options), path, draw)


def _use(lists: CandidateLists, path: str, draw: random.Random) -> None:
    """Score the lists with a model and a metric; at times write them, or learn from them."""
    if lists.classes is not None and lists.labels is None:
        _use_classes(lists, Predictions("p", list(lists.input_order(np.array(list(lists.classes))))), draw)
    scores = np.zeros(lists.n_items)
    if lists.n_features <= _WIDE and not lists.has_missing:
        weights = np.random.default_rng(draw.randrange(1 << 30)).standard_normal(lists.n_features)
        scores = np.nan_to_num(LinearModel(lists.names(), weights).score_items(lists))
    lists.fingerprint()
    known = [examples for needs, examples in _METRICS if all(_holds(lists, column) for column in needs)]
    if known:
        parse(draw.choice(draw.choice(known))).prepare(lists).per_list(scores)
    what = draw.random()
    if what < 0.15:
        FORMATS.get(draw.choice(_WRITERS))().write(lists, f"{path}.again")
    elif what < 0.2 and lists.n_features <= 1_000:
        learner = make_learner(draw.choice(("perceptron", "prank")), {"epochs": 1})
        fit(learner, lists, metric="label@1")
    elif what < 0.3:
        lists.subset([draw.randrange(lists.n_lists)]).with_first_best("input")


def _use_classes(lists: CandidateLists, predictions: Predictions, draw: random.Random) -> None:
    """Judge predictions of examples; at times learn from the examples."""
    describe(lists)
    expanded, scores = class_lists(lists, {"p": predictions}, ranked=draw.random() < 0.2)
    parse(draw.choice(["AP", *_OF_CLASSES])).prepare(expanded).per_list(scores["p"])
    if draw.random() < 0.3 and lists.n_features <= 1_000:
        task = draw.choice(("binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking"))
        fit(make_learner("predtron", {"task": task, "epochs": 1}), lists).predicted(lists)


def _holds(lists: CandidateLists, column: str) -> bool:
    value = getattr(lists, column)
    return value is not None and len(value) > 0


def _model(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    model = load_model(path)
    model.explain()
    model.save(f"{path}.again")
    if isinstance(model, ClassesModel):
        model.predicted(_LISTS)
    else:
        model.score(_LISTS.with_first_best("input"))


def _import(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    model = read_model(path, draw.choice((None, name, name, name)))
    model.explain()
    model.save(f"{path}.again")
    if isinstance(model, PreferenceModel):
        export(model, f"{path}.out", name)
        return
    if model.imputation is None or not model.input_names:
        lists = _LISTS if len(model.input_names) == _LISTS.n_features else _named(model.input_names)
        model.score(lists)
    export(model, f"{path}.out", draw.choice(("json", "python", "c", "sql")))


def _named(names: list[str]) -> CandidateLists:
    """Two items with these features."""
    names = names[:1_000]
    return CandidateLists.from_arrays(np.ones((2, len(names))), group=[2], feature_names=names)


def _weights(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    names, weights = read_weights(path, draw.choice((None, name)))
    lists = _LISTS.with_features(_LISTS.features, [*names, *(f"{path} {j}" for j in range(6))][:6])
    initial_for(NamedWeights(names, weights, path), lists, None)


def _config(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    config = read_config(path, ["epochs=3"] if draw.random() < 0.2 else [])
    settings = {key: value for key, value in config.learner.items() if key != "name"}
    make_learner(config.learner["name"], settings)
    LEARNERS.get(config.learner["name"])


def _text(path: str, name: str, options: dict[str, Any], draw: random.Random) -> None:
    if name == "scores":
        read_scores(path, _LISTS.subset([2]))
    elif name == "predictions":
        _use_classes(EXAMPLES, read_predictions(path, EXAMPLES), draw)
    elif name == "heads":
        read_heads(path)
    elif name == "qrels":
        read_qrels(path)
    elif name == "vectors":
        ids = StringColumn.from_strings("abca") if draw.random() < 0.5 else None
        vectors, _ = read_vectors(path, ids, 3 if ids is None else 4, "item", "lists")
        assert np.isfinite(vectors).all()
    elif name == "comparisons":
        given = comparisons_of(path)
        if draw.random() < 0.5:
            rate(given, prior=draw.choice((None, 0.5)))
    else:
        read_feature_names(path, draw.choice((0, 1)))


_USES = {
    "format": _format,
    "model": _model,
    "import": _import,
    "weights": _weights,
    "config": _config,
    "text": _text,
}
