"""LambdaMART, grown by LightGBM."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights, exponential_gains
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds
from rerank.models.base import Model
from rerank.models.lightgbm_parser import read_trees
from rerank.models.training import DataRecord
from rerank.models.trees import PackedTrees, TreeModel

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_SEEDS = 2**31 - 1
_MOST_GAINS = 1 << 24  # labels are numbers of gains there, kept as float32


@LEARNERS.register("lambdamart")
class LambdaMart(Learner):
    """Boosted regression trees for nDCG: LightGBM's lambdarank.

    Each round adds the tree that fits the lambdas: for each pair of items with different gains the slope of
    the logistic loss, times the change of nDCG if the two were exchanged. The query groups are the lists;
    unjudged items are left out. The round that is kept is chosen by the metric on our dev lists, not by
    LightGBM's own. It runs with deterministic=true, force_row_wise=true and one thread, so that the same
    settings give the same bytes. The model is LightGBM's text, which is scored without LightGBM.

    Labels may be any numbers: each distinct one is given its gain. List weights multiply the lambdas of their
    lists. Missing values (NaN) go to the better side of each split.

    References
    ----------
    Burges: From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research 2010.
    Ke et al.: LightGBM: a highly efficient gradient boosting decision tree. NIPS 2017.
    """

    name = "lambdamart"
    summary = "boosted regression trees for nDCG, grown by LightGBM"
    source = "Burges 2010; Ke et al. 2017"
    extra = "lightgbm"
    scale_invariant = True
    iterates = "rounds"
    accepts_nan = True
    accepts_list_weights = True

    rounds: int = setting(100, "maximum number of trees", ge=1)
    learning_rate: float = setting(0.1, "learning rate: factor of each tree", gt=0, le=1)
    leaves: int = setting(31, "maximum number of leaves per tree", ge=2, le=131072)
    min_leaf: int = setting(20, "minimum number of items per leaf", ge=1)
    min_hessian: float = setting(1e-3, "minimum sum of second derivatives per leaf", ge=0)
    l2: float = setting(0.0, "L2 regularisation of the leaf values", ge=0)
    features: float = setting(1.0, "fraction of the features that each tree sees", gt=0, le=1)
    bins: int = setting(255, "maximum number of bins per feature", ge=2, le=65535)
    gain: Literal["exp", "label"] = setting(
        "exp", "gains of nDCG: 2^label - 1, or the label (less the smallest one, if that is below 0)"
    )
    truncation: int = setting(30, "pairs have an item among the first so many", ge=1)
    normalise: bool = setting(True, "divide the lambdas of a list by a function of their sum")
    patience: int | None = setting(
        None, "keep=best: early stopping after so many rounds without improvement on dev; none = never", ge=1
    )
    keep: Keep = setting("last", KEEP_HELP)
    seed: int = setting(1, "random seed of the drawn features", ge=0, le=_SEEDS)

    @property
    def draws(self) -> bool:
        return self.features < 1

    def check_values(self) -> None:
        if self.patience is not None and self.keep != "best":
            raise ConfigError(f"patience is for keep=best, found keep={self.keep}")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        booster, judged = self._booster(lists, inputs)
        watch = Rounds(lists, inputs, self.keep)
        sums = _Sums(lists.n_features)
        converged, since, best = False, 0, -np.inf
        for r in watch.each(range(self.rounds), self.rounds):
            if _called(lists.source, booster.update) and booster.num_trees() <= r:
                converged = True  # LightGBM has no split left
                break
            sums.add(booster.model_to_string(num_iteration=1, start_iteration=r).encode())
            watch.record(r + 1, sums.scores)
            if self.patience is not None:
                assert watch.dev is not None  # keep=best
                value = watch.dev[1].better * watch.curve[-1]["dev"]
                since, best = (0, value) if value > best else (since + 1, best)
                if since >= self.patience:
                    break
        kept, rounds = watch.kept(len(watch.curve), converged=converged)
        text = booster.model_to_string(num_iteration=booster.num_trees()).encode()
        whole = TreeModel.from_text(lists.names(), text)
        model = whole.prefix(kept)
        if not any(len(tree.feature) for tree in whole.trees):
            found = f"no split of {judged} items leaves {self.min_leaf} or more on both sides (min_leaf)"
            warnings.warn(f"{lists.source}: lambdamart learnt nothing: {found}", DataNote, stacklevel=3)
        model.curve = watch.curve
        model.training.rounds = rounds
        model.training.data = DataRecord(judged=judged)
        return model

    def _booster(self, lists: CandidateLists, inputs: FitInputs) -> tuple[Any, int]:
        """LightGBM's booster before the first round, and the number of items it learns from."""
        import lightgbm

        assert lists.labels is not None  # needs_labels
        weight = checked_list_weights(inputs.list_weights, lists)
        used = ~np.isnan(lists.labels) & np.repeat(weight > 0, lists.lengths)
        rows = np.flatnonzero(used)
        if not len(rows):
            raise FitError(f"{lists.source}: every list with a judged item has weight 0")
        sizes = np.add.reduceat(used, lists.offsets[:-1], dtype=np.int64)
        gains, labels = self._gains(lists.labels[rows], lists.source)
        starts = offsets_of(sizes[sizes > 0])[:-1]
        if np.array_equal(np.minimum.reduceat(labels, starts), np.maximum.reduceat(labels, starts)):
            raise FitError(f"{lists.source}: no list has two different labels (gain={self.gain})")
        of_items = np.repeat(weight, lists.lengths)[rows]
        parameters = self._parameters() | {"label_gain": gains.tolist()}
        weights = None if np.all(of_items == of_items[0]) else of_items / of_items.max()
        data = lightgbm.Dataset(
            _table(lists, rows), label=labels, group=sizes[sizes > 0], weight=weights, params=parameters
        )
        return _called(lists.source, lambda: lightgbm.Booster(parameters, data)), len(rows)

    def _gains(self, labels: Floats, source: str) -> tuple[Floats, Floats]:
        """The distinct gains, rising, up to a power of two, and for each item which one it has."""
        if self.gain == "exp":
            gains = exponential_gains(labels, source, "gain=label")
        else:
            gains = labels / 2.0 - min(float(labels.min()), 0.0) / 2.0  # halves do not overflow
        values, numbers = np.unique(gains, return_inverse=True)
        if len(values) == 1:
            text = f"all judged items have the same gain (gain={self.gain})"
            raise FitError(f"{source}: {text}; learner lambdamart has nothing to learn from")
        if len(values) > _MOST_GAINS:
            text = f"{len(values)} distinct labels, expected {_MOST_GAINS} at most (--quantise)"
            raise FitError(f"{source}: {text}")
        unit = 1.0 if self.gain == "exp" and values[-1] < 2.0**31 else 2.0 ** np.floor(np.log2(values[-1]))
        return values / unit, numbers.astype(np.float64)

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": "lambdarank",
            "metric": "none",
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "min_sum_hessian_in_leaf": self.min_hessian,
            "lambda_l2": self.l2,
            "feature_fraction": self.features,
            "max_bin": self.bins,
            "lambdarank_truncation_level": self.truncation,
            "lambdarank_norm": self.normalise,
            "seed": self.seed,
            "data_random_seed": 1,  # of the items that make bins, where there are more than 200,000
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }


class _Sums:
    """The scores of several sets of lists after each tree, to which only new trees are added."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self._trees: list[PackedTrees] = []
        self._done: dict[int, tuple[int, Floats]] = {}

    def add(self, text: bytes) -> None:
        """Add the one tree of a text."""
        self._trees.append(PackedTrees(read_trees(text, self.n_features).trees))

    def scores(self, n: int, lists: CandidateLists) -> Floats:
        """Return the sums (n_items) of the first ``n`` trees, all that there are."""
        done, sums = self._done.get(id(lists), (0, np.zeros(lists.n_items)))
        for tree in self._trees[done:n]:
            sums = sums + tree.scores(lists.features)[0]
        self._done[id(lists)] = n, sums
        return sums


def _table(lists: CandidateLists, rows: Any) -> Floats | csr_matrix:
    """The features of items as LightGBM takes them."""
    features = lists.features if len(rows) == lists.n_items else lists.features.take(rows)
    memory.require(4 * features.n_values, f"LightGBM's copy of {features.n_values:,} values")
    if isinstance(features, Dense):
        return features.values
    from scipy.sparse import csr_matrix

    sparse = features.compressed()
    data = np.ones(sparse.n_values) if sparse.data is None else sparse.data
    return csr_matrix((data, sparse.indices, sparse.indptr), shape=(sparse.n_items, sparse.n_features))


def _called(source: str, call: Any) -> Any:
    """Return the result of ``call``; LightGBM's complaint becomes a FitError of one line."""
    from lightgbm.basic import LightGBMError

    try:
        return call()
    except LightGBMError as error:
        raise FitError(f"{source}: LightGBM: {' '.join(str(error).split())}") from None
