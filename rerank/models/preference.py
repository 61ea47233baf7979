"""Models of preferences between items: sums of any kernel on items over support items."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import AnyArray, Bytes, Floats, Index
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined_forest
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.dual import support_fact, support_rows
from rerank.similarity.expression import ItemKernel
from rerank.similarity.item_sums import item_sums
from rerank.similarity.tree_sets import TreeSet

_LONGEST = 100_000  # characters of an expression


@MODELS.register("preference")
class PreferenceModel(Model):
    """score(x) = the sum over support items of their coefficient times K(x, support item), plus a bias.

    A kernel of pairs K(a, c) + K(b, d) - K(a, d) - K(b, c) with coefficients of pairs gives the same scores:
    an item's coefficient is the sum of those of the pairs in which it is the better one, less that of the
    others. The score of a list costs one row of the kernel for each of its items.

    Parameters
    ----------
    feature_names
        The model's columns; none if the kernel compares trees only.
    kernel
        K; it names the kinds of trees that it compares.
    support
        Items of training in one list, with these columns and trees; None if there are none.
    coefficients
        float64 (n_support).
    scale
        Probabilities of being the best item are proportional to exp(scale * score) within a list; None if
        they were not learnt.
    bias
        Added to every score, as models of other programs have it.
    """

    kind = "preference"
    weighs_items = True

    def __init__(
        self,
        feature_names: list[str],
        kernel: ItemKernel,
        support: CandidateLists | None,
        coefficients: Floats,
        scale: float | None = None,
        bias: float = 0.0,
    ) -> None:
        super().__init__(feature_names)
        n, d = (0, len(feature_names)) if support is None else (support.n_items, support.n_features)
        if coefficients.shape != (n,) or d != len(feature_names):
            found = f"{coefficients.size} coefficients for {n} items"
            raise DataError(f"{found} with {d} of {len(feature_names)} features")
        if not np.isfinite(coefficients).all():
            raise DataError("a coefficient that is not finite")
        if scale is not None and not (np.isfinite(scale) and scale >= 0.0):
            raise DataError(f"a scale of probabilities of {scale:g}")
        if not np.isfinite(bias):
            raise DataError(f"a bias of {bias:g}")
        self.kernel, self.support, self.coefficients, self.scale = kernel, support, coefficients, scale
        self.bias = bias

    @classmethod
    def of_items(
        cls, kernel: ItemKernel, lists: CandidateLists, rows: Index, coefficients: Floats
    ) -> PreferenceModel:
        """Return the model whose support items are some rows of ``lists``."""
        kernel = kernel.resolved(lists)
        names = lists.names() if kernel.compares("features") else []
        if not len(rows):
            return cls(names, kernel, None, coefficients)
        features = (lists.features if names else Dense(np.empty((lists.n_items, 0)))).take(rows).compressed()
        trees = {name: lists.forest(name).take(rows) for name in tree_names(kernel)}
        return cls(names, kernel, _support(names, features, trees), coefficients)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        if self.support is None:
            return np.full(lists.n_items, self.bias)
        if self.feature_names:  # the same columns under the same names: nothing is to be reported again
            lists = lists.with_features(lists.features, self.feature_names)
        support, items = self.kernel.prepare(self.support, lists)
        return item_sums(support, np.arange(support.n), self.coefficients, items) + self.bias

    def probabilities(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return the probability of each item to be the best one of its list, float64 (n_items).

        Order, columns and scaling are as for ``score``. They are 1 in sum over each list. A keep margin
        changes choices, not probabilities.

        Raises DataError if the model has no scale of probabilities, or as ``score``.
        """
        if self.scale is None:
            raise DataError("the model has no probabilities; train it with probability=true")
        scores = lists.from_input_order(self.raw_score(lists, strict=strict))
        return lists.input_order(softmax(lists, self.scale * scores))

    def n_weighted(self) -> int:
        """Return how many features a support item has a value of."""
        return 0 if self.support is None else len(self.support.features.occurring())

    def described(self) -> dict[str, str]:
        facts = {"kernel": self.kernel.text, "support": support_fact(self.coefficients)}
        if self.bias:
            facts["bias"] = f"{self.bias:.6g}"
        if self.scale is not None:
            facts["probability"] = f"softmax of {self.scale:.6g} * score in a list"
        return facts

    def explain(self) -> list[tuple[str, float]]:
        """Return the coefficients of support items, numbered from 1, largest magnitude first."""
        return support_rows(self.coefficients)

    def arrays(self) -> Arrays:
        support = self.support
        names = tree_names(self.kernel)
        forests = [_EMPTY if support is None else support.forest(name) for name in names]
        trees, which = _different(forests)
        rows = _NO_ROWS if support is None else support.features.compressed()
        out: Arrays = {
            "kernel": np.frombuffer(self.kernel.text.encode("utf-8"), dtype=np.uint8),
            "coefficients": self.coefficients,
            "which": which.reshape(len(names), len(self.coefficients)),
            "indptr": rows.indptr,
            "indices": rows.indices,
            "data": np.ones(rows.n_values) if rows.data is None else rows.data,
        }
        if self.scale is not None:
            out["scale"] = np.array([self.scale])
        if self.bias:
            out["bias"] = np.array([self.bias])
        return out | trees.arrays()

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        kinds = {
            "|u1": ("kernel", "vocabulary.bytes"),
            "<f8": ("coefficients", "data"),
            "<i8": ("indptr", "offsets", "vocabulary.offsets"),
            "<i4": ("indices", "symbols", "sizes"),
        }
        forms = {name: ArrayForm(dtype, (None,)) for dtype, names in kinds.items() for name in names}
        return forms | {"which": ArrayForm("<i8", (None, None))}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"scale": ArrayForm("<f8", (1,)), "bias": ArrayForm("<f8", (1,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        kernel, coefficients, which = _kernel_of(arrays["kernel"]), arrays["coefficients"], arrays["which"]
        names, n = tree_names(kernel), len(coefficients)
        if which.shape != (len(names), n) or bool(feature_names) > kernel.compares("features"):
            found = f"trees of {which.shape[1]} items in {which.shape[0]} columns"
            raise DataError(f"{found} and {len(feature_names)} features for the kernel {kernel.text!r}")
        rows = Sparse(arrays["indptr"], arrays["indices"], arrays["data"], len(feature_names))
        rows.check(False)
        vocabulary = StringColumn(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"])
        trees = Forest(arrays["offsets"], arrays["symbols"], arrays["sizes"], vocabulary)
        if which.size and not (which.min() >= 0 and which.max() < len(trees)):
            raise DataError(f"a support item with a tree beyond the {len(trees)} of the model")
        if rows.n_items != n:
            raise DataError(f"{n} coefficients for {rows.n_items} items")
        scale = float(arrays["scale"][0]) if "scale" in arrays else None
        bias = float(arrays["bias"][0]) if "bias" in arrays else 0.0
        support = None
        if n:
            nodes = int(trees.lengths()[which].astype(np.float64).sum())
            memory.require(8 * nodes, f"{nodes:,} nodes of the trees of support items")
            forests = {name: trees.take(places) for name, places in zip(names, which, strict=True)}
            support = _support(feature_names, rows, forests)
        return cls(feature_names, kernel, support, coefficients, scale, bias)

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return "the sum over support items overflows"


_EMPTY = Forest.from_strings([])
_NO_ROWS = Sparse(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), 0)


def tree_names(kernel: ItemKernel) -> list[str]:
    """Return the kinds of trees that a kernel compares, which names them all (``ItemKernel.resolved``)."""
    leaves = kernel.expression.leaves()
    return list(dict.fromkeys(leaf.of[0] for leaf in leaves if leaf.kernel.compares == "trees"))


def softmax(lists: CandidateLists, values: Floats) -> Floats:
    """Return shares of exp(values) within each list, float64 (n_items); values are in the order of items."""
    starts, lengths = lists.offsets[:-1], lists.lengths
    with np.errstate(under="ignore"):
        shares: Floats = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), lengths))
        shares /= np.repeat(np.add.reduceat(shares, starts), lengths)
    return shares


def _support(names: list[str], features: Features, trees: Mapping[str, Forest]) -> CandidateLists:
    """Support items as a list."""
    structures = {name: forest for name, forest in trees.items() if name != TREE}
    bounds = np.array([0, features.n_items])
    own, source = trees.get(TREE), "support items"
    return CandidateLists(
        bounds, features, feature_names=names, trees=own, structures=structures, source=source
    )


def _different(forests: list[Forest]) -> tuple[Forest, Index]:
    """The different trees of all forests, with the symbols that occur, and the place of each tree in them."""
    every = joined_forest(forests or [_EMPTY])
    (interned,) = TreeSet.of(every)
    _, firsts, which = np.unique(interned.distinct, return_index=True, return_inverse=True)
    trees = every.take(firsts)
    used, symbols = np.unique(trees.symbols, return_inverse=True)
    vocabulary = trees.vocabulary.take(used.astype(np.int64))
    return Forest(trees.offsets, symbols.astype(np.int32), trees.sizes, vocabulary), which.astype(np.int64)


def _kernel_of(content: Bytes) -> ItemKernel:
    """The kernel whose text is in a model file; DataError if it is not a kernel, or lacks names of trees."""
    if len(content) > _LONGEST:
        raise DataError(f"a kernel of {len(content):,} characters")
    try:
        kernel = ItemKernel.parse(content.tobytes().decode("utf-8"))
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(f"damaged text of a kernel: {error}") from None
    if any(leaf.kernel.compares == "trees" and not leaf.of for leaf in kernel.expression.leaves()):
        raise DataError(f"the kernel {kernel.text!r}, which does not name its trees")
    return kernel


def equal_items(lists: CandidateLists, names: list[str], *, features: bool) -> Index:
    """Return a number for each item, int64 (n_items): equal items have one.

    - ``lists``: some lists.
    - ``names``: the kinds of trees that are compared.
    - ``features``: whether features are compared.
    """
    forests = [lists.forest(name) for name in names]
    columns = [trees.distinct for trees in TreeSet.of(*forests)] if forests else []
    if features:
        rows = lists.features.compressed()
        data = np.ones(rows.n_values) if rows.data is None else rows.data + 0.0  # -0 is 0
        bounds = rows.indptr.tolist()
        known: dict[bytes, int] = {}
        of_rows = itertools.pairwise(bounds)
        keys = (rows.indices[a:b].tobytes() + data[a:b].tobytes() for a, b in of_rows)
        numbers = (known.setdefault(key, len(known)) for key in keys)
        columns.append(np.fromiter(numbers, np.int64, lists.n_items))
    codes: Index = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)
    return codes
