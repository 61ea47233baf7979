"""Models from and to the files of other tools: weights, models of SVM-light-TK."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.files.read import opening_once, shown
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import TREE
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.parsing.svmtk.kernels import kernel_text, parameters_of
from rerank.extensions.parsing.svmtk.model import SvmtkModel, is_model, read_model, write_model
from rerank.formats.sources import (
    check_outputs,
    inputs_of,
)
from rerank.formats.weights import WeightOptions, read_weights, write_weights
from rerank.models.base import Model, load_model
from rerank.models.linear import LinearModel
from rerank.models.preference import PreferenceModel, equal_items, tree_names
from rerank.models.weights import load_linear, weights_of
from rerank.similarity.expression import ItemKernel

SVMTK, SVMTK_PAIRS = "svmtk", "svmtk-pairs"


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
    if format == SVMTK or (format is None and is_model(path)):
        if feature_names is not None:
            raise ConfigError(f"models of format {SVMTK} do not use --feature-names")
        found = import_svmtk(path, tree_names)
        found.save(out)
        return found
    if tree_names:
        raise ConfigError(f"weight files do not use --tree-names; models of format {SVMTK} do")
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
    format : tsv, moses-ini or bllip; svmtk or svmtk-pairs for preference models, see ``export_svmtk``.
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
    if format in (SVMTK, SVMTK_PAIRS):
        if ini is not None or feature_names is not None:
            used = "--ini" if ini is not None else "--feature-names"
            raise ConfigError(f"models of format {format} do not use {used}")
        return export_svmtk(path, out, pairs=format == SVMTK_PAIRS)
    model = load_linear(path)
    named = weights_of(model, path)
    if model.missing_policy not in (None, "error"):
        text = f"what fills missing values ({model.missing_policy}) is no weight, so it is left out"
        warnings.warn(f"{path}: {text}: fill them in the same way", DataNote, stacklevel=2)
    write_weights(out, named.names, named.weights, format, WeightOptions(feature_names, ini))
    return model


_ROUNDING = 1e-9  # of a sum, as a share of the sum of magnitudes


def import_svmtk(path: str, names: Sequence[str] = ()) -> PreferenceModel:
    """Return a model of SVM-light-TK as a preference model.

    The score of an item is what the program gives a single candidate: a line of format svmtk, or for models
    of pairs (-W R, -V R) a line whose second half is empty. The value that the program gives a pair is the
    difference of the two scores less the threshold b.

    Parameters
    ----------
    path : the model file.
    names : the names of an item's trees, in the order of the file; none = tree, or tree1, tree2, ...

    Raises
    ------
    RerankError
        If the file is damaged, or its kernel is one that this package does not have.
    """
    found = read_model(path)
    support = _renamed(found.support, names)
    try:
        kernel = ItemKernel.parse(kernel_text(found, support))
    except ConfigError as error:
        raise ConfigError(f"{shown(path)}: {error}") from None
    coefficients = found.coefficients
    if found.pairs:
        coefficients = np.stack([coefficients, -coefficients], axis=1).reshape(-1)
    codes = equal_items(support, tree_names(kernel), features=kernel.compares("features"))
    _, firsts, numbers = np.unique(codes, return_index=True, return_inverse=True)
    sums: Floats = np.bincount(numbers, coefficients, minlength=len(firsts)).astype(np.float64)
    order = np.argsort(firsts, kind="stable")
    model = PreferenceModel.of_items(kernel, support, firsts[order], sums[order])
    model.bias = -found.threshold - (_of_nothing(model) if found.pairs else 0.0)
    return model


def _renamed(support: CandidateLists, names: Sequence[str]) -> CandidateLists:
    """Support items whose trees have other names."""
    if not names:
        return support
    forests = [support.forest(name) for name in support.tree_names()]
    if len(names) != len(forests) or len(set(names)) < len(names):
        found = f"{count(len(forests), 'tree')} per item"
        raise DataError(f"{support.source}: {found}, expected as many different names: {', '.join(names)}")
    named = dict(zip(names, forests, strict=True))
    return replace(support, trees=named.pop(TREE, None), structures=named)


def _of_nothing(model: PreferenceModel) -> float:
    """The score, without the bias, of an item without trees whose features are 0."""
    names = tree_names(model.kernel)
    nothing = {name: Forest.from_strings([""]) for name in names}
    item = CandidateLists(
        np.array([0, 1]),
        Dense(np.zeros((1, len(model.feature_names)))),
        feature_names=model.feature_names,
        trees=nothing.pop(TREE, None),
        structures=nothing,
    )
    return float(model.score_aligned(item)[0]) - model.bias


def export_svmtk(path: str, out: str, *, pairs: bool = False) -> PreferenceModel:
    """Write a preference model as one of SVM-light-TK.

    The program then scores lines of format svmtk as the model scores the items, or with ``pairs`` the
    single candidates of svmtk-pairs. A keep margin and probabilities are left out.

    Parameters
    ----------
    path : the model file.
    out : the file to write, "-" = standard output.
    pairs : whether the model is one of pairs (-W R -V R).

    Raises
    ------
    RerankError
        If the model is of another kind, or its kernel is one that the program does not have.
    """
    model = load_model(path)
    if not isinstance(model, PreferenceModel):
        raise ConfigError(f"{path}: a model of kind {model.kind}, expected preference")
    if model.missing_policy not in (None, "error"):
        raise ConfigError(f"{path}: SVM-light-TK cannot fill missing values ({model.missing_policy})")
    if model.scaling is not None or model.base_weight is not None:
        scaled = f"scaled features ({model.scaling_name}); --scaling none trains without"
        what = "a weight of the base score" if model.scaling is None else scaled
        raise ConfigError(f"{path}: SVM-light-TK cannot have {what}")
    if model.support is None:
        raise ConfigError(f"{path}: the model has no support item")
    try:
        said = parameters_of(model.kernel, model.support, pairs=pairs)
    except ConfigError as error:
        raise ConfigError(
            f"{path}: SVM-light-TK cannot have the kernel {model.kernel.text}: {error}"
        ) from None
    coefficients = model.coefficients * said.factor
    threshold = -model.bias
    if pairs:
        total, most = coefficients.sum(), np.abs(coefficients).sum()
        if not said.of_trees_or_linear and abs(total) > _ROUNDING * most:
            found = f"coefficients that sum to {total:.6g}"
            raise ConfigError(
                f"{path}: found {found}, expected 0, as those of pairs; --as svmtk can hold them"
            )
        threshold -= _of_nothing(model)
    write_model(
        SvmtkModel(said.parameters, threshold, pairs, said.support, coefficients, model.support.n_items), out
    )
    return model
