"""Tree kernels in the style of scikit-learn: Gram matrices for its learners with precomputed kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, RerankError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.array_inputs import forest_of
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.similarity.base import ITEM_KERNELS
from rerank.similarity.expression import ItemKernel
from rerank.similarity.gram_matrices import filled

_DEFAULTS = {"name": "ptk", "decay": 0.4, "mu": 0.4, "max_children": None, "normalise": True, "jobs": None}


class TreeKernel:
    """A tree kernel as a transformer of scikit-learn: trees become rows of the kernel with those of ``fit``.

    It can be cloned, stands in a ``Pipeline`` before ``SVC(kernel="precomputed")``, and its parameters can be
    searched by ``GridSearchCV``. scikit-learn itself is not needed.

    Parameters
    ----------
    name : str
        ``st``, ``sst``, ``sst-leaves``, ``ptk`` or ``bow``; see ``rerank list kernels NAME``.
    decay, mu : float
        Above 0, at most 1. ``bow`` uses neither, and only ``ptk`` uses mu.
    max_children : int, optional
        Of ``ptk``: most children of a node of a fragment, None = any number; 5 gives SVM-light-TK's values.
    normalise : bool
        Divide K(x, y) by the square root of K(x, x) K(y, y).
    jobs : int, optional
        Threads, 0 = one per core, None = as ``parallel.using`` says. The result is the same for any.

    Attributes
    ----------
    trees_ : Forest
        The trees of ``fit``.

    Examples
    --------
    >>> from rerank import TreeKernel
    >>> trees = ["(S (D a) (N dog))", "(S (D a) (N cat))", ["S", ["D", "the"], ["N", "dog"]]]
    >>> TreeKernel("sst", decay=1, normalise=False).fit_transform(trees).tolist()
    [[6.0, 3.0, 3.0], [3.0, 6.0, 1.0], [3.0, 1.0, 6.0]]
    """

    def __init__(
        self,
        name: str = "ptk",
        decay: float = 0.4,
        mu: float = 0.4,
        max_children: int | None = None,
        normalise: bool = True,
        jobs: int | None = None,
    ) -> None:
        # Values are kept as they are, which cloning relies on, and checked by fit.
        self.name = name
        self.decay = decay
        self.mu = mu
        self.max_children = max_children
        self.normalise = normalise
        self.jobs = jobs

    def fit(self, trees: Iterable[Any] | Forest, y: object = None) -> Self:
        """Keep trees for ``transform``.

        Parameters
        ----------
        trees
            Strings in brackets, nested lists or tuples, trees of NLTK, or a Forest; see
            ``rerank.data.array_inputs.forest_of``. A missing parse has the kernel 0 with all trees.
        y
            Ignored, as scikit-learn's pipelines give it to every step.

        Raises
        ------
        ConfigError, DataError
            If a parameter is wrong or has no effect, or one is not a tree.
        """
        self._kernel()
        self.trees_ = forest_of(trees)
        return self

    def transform(self, trees: Iterable[Any] | Forest) -> Floats:
        """Return the kernel of each tree with each one of ``fit``, float64 (n, n_fit).

        A value depends on its two trees alone.

        Raises
        ------
        ConfigError, DataError, RerankError
            As ``fit``; also before ``fit``, or if there is no memory for the matrix.
        """
        kernel = self._kernel()
        if not hasattr(self, "trees_"):
            raise RerankError("TreeKernel: transform needs trees to compare with: call fit first")
        theirs, mine = kernel.prepare(_items(self.trees_), _items(forest_of(trees)))
        with parallel.using(self.jobs):
            return filled(mine, theirs)

    def fit_transform(self, trees: Iterable[Any] | Forest, y: object = None) -> Floats:
        """Return the kernel of each tree with each tree, a symmetric matrix, float64 (n, n).

        ``fit`` and ``transform`` give these values up to the last bits, in twice the time.
        """
        self.fit(trees)
        (mine,) = self._kernel().prepare(_items(self.trees_))
        with parallel.using(self.jobs):
            return filled(mine, mine)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {key: getattr(self, key) for key in _DEFAULTS}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; raise ConfigError if one is unknown."""
        for key, value in params.items():
            if key not in _DEFAULTS:
                raise ConfigError(f"TreeKernel: unknown parameter {key!r}; {did_you_mean(key, _DEFAULTS)}")
            setattr(self, key, value)
        return self

    def __repr__(self) -> str:
        params = self.get_params()
        changed = [f"{key}={value!r}" for key, value in params.items() if value != _DEFAULTS[key]]
        return f"TreeKernel({', '.join(changed)})"

    def _kernel(self) -> ItemKernel:
        """The kernel of these parameters, those without effect refused."""
        known = [name for name in ITEM_KERNELS.names() if ITEM_KERNELS.get(name).compares == "trees"]
        if self.name not in known:
            raise ConfigError(
                f"TreeKernel: unknown kernel {self.name!r}; {did_you_mean(str(self.name), known)}"
            )
        fields = ITEM_KERNELS.get(self.name).settings
        settings = {
            key: value
            for key, value in self.get_params().items()
            if key in fields or (key not in ("name", "jobs") and value != _DEFAULTS[key])
        }
        return ItemKernel.of(self.name, settings)


def _items(trees: Forest) -> CandidateLists:
    """The trees as those of items."""
    return CandidateLists.from_arrays(np.empty((len(trees), 0)), trees=trees, source="trees")
