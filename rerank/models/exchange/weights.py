"""Models from and to the files of other tools: weights by name, and whole models."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rerank.core.errors import ConfigError, DataNote
from rerank.core.files.read import opening_once
from rerank.core.registry import Registry
from rerank.core.text import count
from rerank.formats.sources import check_outputs, inputs_of
from rerank.formats.weights import WeightOptions, read_weights, write_weights
from rerank.models.base import Model
from rerank.models.linear import Linear, LinearModel
from rerank.models.preference import PreferenceModel
from rerank.models.weights import load_linear, weights_of


class ModelFormat(ABC):
    """A file format of whole models. Register a subclass with ``MODEL_FORMATS.register(name)``."""

    name: ClassVar[str]

    @classmethod
    def recognises(cls, path: str) -> bool:
        """Return whether a file clearly is of this format."""
        return False

    @abstractmethod
    def read(self, path: str, tree_names: Sequence[str]) -> Model:
        """Return the model of a file; RerankError if it is damaged or cannot be expressed."""

    @abstractmethod
    def write(self, path: str, out: str) -> Model:
        """Write the model of the file ``path`` to ``out`` and return it; RerankError if it cannot be."""


MODEL_FORMATS: Registry[type[ModelFormat]] = Registry(
    "model format", "rerank.extensions", base=lambda: ModelFormat
)


@opening_once
def import_weights(
    path: str,
    out: str,
    format: str | None = None,
    *,
    feature_names: str | None = None,
    tree_names: Sequence[str] = (),
) -> Model:
    """Make a model from a weight file, or a model file of SVM-light-TK, and write it.

    Parameters
    ----------
    path : the file, "-" = standard input.
    out : the model file.
    format : tsv, moses-ini, bllip or svmtk; None = by content.
    feature_names : file with the id of each feature (bllip).
    tree_names : names of an item's trees, in the order of the file (svmtk); none = tree, or tree1, tree2, ...

    Returns
    -------
    Model

    Raises
    ------
    RerankError
        If a file cannot be read or written, is of an unknown format, or does not use an option.
    """
    check_outputs({"--out": out}, inputs_of(path, None, feature_names))
    known = MODEL_FORMATS.names()
    if format is None:
        format = next((name for name in known if MODEL_FORMATS.get(name).recognises(path)), None)
    if format in known:
        if feature_names is not None:
            raise ConfigError(f"models of format {format} do not use --feature-names")
        found = MODEL_FORMATS.get(format)().read(path, tree_names)
        found.save(out)
        return found
    if tree_names:
        raise ConfigError(f"weight files do not use --tree-names; models of format {known[0]} do")
    names, values = read_weights(path, format, WeightOptions(feature_names))
    model = LinearModel(names, values)
    model.save(out)
    return model


def export_weights(
    path: str, out: str, format: str, *, ini: str | None = None, feature_names: str | None = None
) -> Model:
    """Write a linear model's weights of the raw features, or a preference model for SVM-light-TK.

    A keep margin is not a weight and is left out, and so is what fills missing values, with a DataNote.

    Parameters
    ----------
    path : the model file.
    out : the weight file, "-" = standard output.
    format : tsv, moses-ini or bllip; svmtk or svmtk-pairs for preference models.
    ini : a moses.ini whose other content is kept.
    feature_names : as for ``import_weights``.

    Returns
    -------
    Model
        The model of the file.

    Raises
    ------
    RerankError
        If a file cannot be read or written, the model has no such weights, or the format is unknown or does
        not use an option.
    """
    check_outputs({"--out": out}, inputs_of(path, None, ini, feature_names))
    if format in MODEL_FORMATS.names():
        if ini is not None or feature_names is not None:
            used = "--ini" if ini is not None else "--feature-names"
            raise ConfigError(f"models of format {format} do not use {used}")
        return MODEL_FORMATS.get(format)().write(path, out)
    model = load_linear(path)
    named = weights_of(model, path)
    if model.missing_policy not in (None, "error"):
        text = f"what fills missing values ({model.missing_policy}) is no weight, so it is left out"
        warnings.warn(f"{path}: {text}: fill them in the same way", DataNote, stacklevel=2)
    write_weights(out, named.names, named.weights, format, WeightOptions(feature_names, ini))
    return model


def size_of_model(model: Model, of_raw: bool = False) -> str:
    """Return how many weights a model has, or features, or support items; ``of_raw``: what weights are of."""
    if isinstance(model, LinearModel):
        return count(len(model.weights), "weight") + " of the raw features" * of_raw
    if isinstance(model, PreferenceModel):
        return count(len(model.explain()), "support item")
    return count(len(model.input_names), "feature")


def export_notes(model: Model, source: str, out: str) -> list[str]:
    """Return what a file of weights does not say: the order of trees, the scaling, the keep margin."""
    notes = []
    if isinstance(model, PreferenceModel):
        trees = ", ".join(model.support.tree_names() if model.support else ()) or "none"
        notes.append(f"{out}: the trees of each line, in this order: {trees}")
    if isinstance(model, Linear) and model.scaling_name != "none":
        left = f"without the constant {model.unscaled(source).constant:.6g}, which changes no order"
        notes.append(f"{out}: weights of the raw features, from scaling {model.scaling_name}, {left}")
    if model.keep_margin is not None:
        margin = f"its keep margin {model.keep_margin:.6g}"
        notes.append(f"{source}: {margin} is not a weight, so it is left out")
    return notes
