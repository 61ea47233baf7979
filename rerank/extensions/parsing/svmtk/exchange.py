"""Models of SVM-light-TK as preference models, and preference models as its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import shown
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import TREE
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.parsing.svmtk.kernels import kernel_text, parameters_of
from rerank.extensions.parsing.svmtk.model import SvmtkModel, is_model, read_model, write_model
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat, ExportOptions, ImportOptions, note
from rerank.models.preference import PreferenceModel, equal_items, tree_names
from rerank.similarity.expression import ItemKernel


@EXCHANGE.register("svmtk")
class Svmtk(ExchangeFormat):
    """Model files of SVM-light-TK."""

    name, pairs = "svmtk", False
    summary = "SVM-light-TK, preference models"
    reads = writes = True
    honours = frozenset({"tree_names"})

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return not cls.pairs and is_model(content)

    def read(self, path: str, options: ImportOptions, content: bytes | None = None) -> Model:
        return import_svmtk(path, options.tree_names or ())

    def write(self, model: Model, source: str, out: str, options: ExportOptions) -> None:
        found = export_svmtk(model, source, out, pairs=self.pairs)
        note(f"{out}: the trees of each line, in this order: {', '.join(found.tree_names()) or 'none'}")


@EXCHANGE.register("svmtk-pairs")
class SvmtkPairs(Svmtk):
    """Model files of SVM-light-TK for pairs (-W R, -V R); both kinds are read in the same way."""

    name, pairs = "svmtk-pairs", True
    summary = "SVM-light-TK, preference models of pairs"


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


def export_svmtk(model: Model, source: str, out: str, *, pairs: bool = False) -> CandidateLists:
    """Write a preference model as one of SVM-light-TK.

    The program then scores lines of format svmtk as the model scores the items, or with ``pairs`` the
    single candidates of svmtk-pairs. A keep margin and probabilities are left out.

    Parameters
    ----------
    model : the model.
    source : where it is from, for messages.
    out : the file to write, "-" = standard output.
    pairs : whether the model is one of pairs (-W R -V R).

    Returns
    -------
    CandidateLists
        The support items.

    Raises
    ------
    RerankError
        If the model is of another kind, or its kernel is one that the program does not have.
    """
    if not isinstance(model, PreferenceModel):
        raise ConfigError(f"{source}: a model of kind {model.kind}, expected preference")
    if model.missing_policy not in (None, "error"):
        raise ConfigError(f"{source}: SVM-light-TK cannot fill missing values ({model.missing_policy})")
    if model.scaling is not None or model.base_weight is not None:
        scaled = f"scaled features ({model.scaling_name}); --scaling none trains without"
        what = "a weight of the base score" if model.scaling is None else scaled
        raise ConfigError(f"{source}: SVM-light-TK cannot have {what}")
    if model.support is None:
        raise ConfigError(f"{source}: the model has no support item")
    try:
        said = parameters_of(model.kernel, model.support, pairs=pairs)
    except ConfigError as error:
        raise ConfigError(
            f"{source}: SVM-light-TK cannot have the kernel {model.kernel.text}: {error}"
        ) from None
    coefficients = model.coefficients * said.factor
    threshold = -model.bias
    if pairs:
        total, most = coefficients.sum(), np.abs(coefficients).sum()
        if not said.of_trees_or_linear and abs(total) > _ROUNDING * most:
            found = f"coefficients that sum to {total:.6g}"
            raise ConfigError(
                f"{source}: found {found}, expected 0, as those of pairs; --to svmtk can hold them"
            )
        threshold -= _of_nothing(model)
    write_model(
        SvmtkModel(said.parameters, threshold, pairs, said.support, coefficients, model.support.n_items), out
    )
    return model.support
