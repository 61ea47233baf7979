"""Small sets of lists for the tests of every folder: as given, drawn, or with every column."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Mixed, as_features

# Every layout of a feature matrix.
LAYOUTS = ("dense", "float32", "sparse", "indicators", "mixed")


def features(layout, X):
    """The values X in a layout; indicators keep only whether a value is not zero.

    Mixed features have dense columns at both ends and between.
    """
    if layout == "dense":
        return Dense(np.ascontiguousarray(X, dtype=np.float64))
    if layout == "float32":
        return Dense(np.ascontiguousarray(X, dtype=np.float32))
    sparse = as_features(csr_array(X))
    if layout == "mixed":
        places = np.arange(0, X.shape[1], 3, dtype=np.int32)
        others = np.array(X, dtype=np.float64)
        others[:, places] = 0.0
        return Mixed(
            np.ascontiguousarray(X[:, places], dtype=np.float64), places, as_features(csr_array(others))
        )
    return sparse if layout == "sparse" else replace(sparse, data=None)


def lists(
    labels=None,
    *,
    sizes=(6, 1, 9, 4, 12),
    X=None,
    d=4,
    layout="dense",
    grades=(-1, 2),
    noise=1.0,
    unjudged=0.1,
    missing=0.0,
    tied=None,
    seed=0,
    ids=False,
    source="some lists",
    **columns,
):
    """Return lists as given, or drawn.

    Parameters
    ----------
    labels : list of list of float, optional
        The labels of each list, as they are; the features are 0 unless ``X`` is given. None = drawn: the
        first feature less the second one, with noise, rounded.
    sizes : sequence of int
        Lengths of the lists that are drawn.
    X : array (n_items, n_features), optional
        Features; None = drawn, multiples of 1/8 with many zeros (so that sums are exact and items tie).
    d : int
        The number of features that are drawn.
    layout : str
        One of ``LAYOUTS``; indicators are whether a feature is positive.
    grades : (low, high) or None
        Labels are clipped to this range; None = as they come.
    noise : float
        Standard deviation of what is added to the labels.
    unjudged, missing : float
        Shares of labels and of features (dense layouts only) that are NaN.
    tied : int, optional
        A list all of whose items have label 1.
    ids : bool
        Whether lists are named q0, q1, ... and items d0, d1, ...
    columns
        Other columns of ``CandidateLists``, such as ``base_scores``.
    """
    rng = np.random.default_rng(seed)
    drawn = labels is None
    if not drawn:
        sizes = [len(part) for part in labels]
    n = sum(sizes)
    if X is None and drawn:
        X = np.where(rng.random((n, d)) < 0.4, 0.0, np.round(rng.standard_normal((n, d)) * 8) / 8)
    elif X is None:
        X = np.zeros((n, 1))
    if layout == "indicators":
        X = (np.asarray(X) > 0).astype(float)
    if drawn:
        y = np.round(X[:, 0] - X[:, 1] + noise * rng.standard_normal(n))
        y = y if grades is None else y.clip(*grades)
        y[rng.random(n) < unjudged] = np.nan
        X = np.where(rng.random(np.shape(X)) < missing, np.nan, X)
    else:
        y = np.array([label for part in labels for label in part], dtype=np.float64)
    if tied is not None:
        start = sum(sizes[:tied])
        y[start : start + sizes[tied]] = 1.0
    found = CandidateLists.from_arrays(features(layout, X), y, group=sizes, source=source)
    if ids:
        columns = {
            "list_ids": StringColumn.from_strings(f"q{i}" for i in range(len(sizes))),
            "item_ids": StringColumn.from_strings(f"d{i}" for i in range(n)),
            **columns,
        }
    return replace(found, **columns) if columns else found


def drawn(seed=0, layout="dense", **given):
    """Lists that are drawn: ``lists`` of a seed in a layout."""
    return lists(seed=seed, layout=layout, **given)


def full_lists(layout="dense", lengths=(3, 1, 4, 2), n_features=5, seed=0):
    """Lists with every column set."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = np.where(rng.random((n, n_features)) < 0.5, 0.0, np.round(rng.standard_normal((n, n_features)), 2))
    labels = rng.integers(0, 3, n).astype(np.float64)
    labels[0] = np.nan

    def strings(count, what):
        return StringColumn.from_strings([f"{what} {i} é" * (i % 3) for i in range(count)])

    return CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        features(layout, X),
        labels=labels,
        base_scores=rng.standard_normal(n),
        first_best=rng.permutation(n).astype(np.float64),
        classes=StringColumn.from_strings([("", "1", "1,3", "2")[i % 4] for i in range(n)]),
        list_ids=StringColumn.from_strings([b"\xff", *(f"q{i}" for i in range(1, len(lengths)))]),
        item_ids=strings(n, "item"),
        rows=rng.permutation(n),
        feature_names=[f"f{j}" for j in range(n_features)],
        texts=strings(n, "text"),
        references=(strings(len(lengths), "a"), strings(len(lengths), "b")),
        trees=Forest.from_strings(
            f"(S (NP n{i})" + " (VP v)" * (i % 3) + ")" if i % 4 else "" for i in range(n)
        ),
        structures={
            name: Forest.from_strings(f"({name} w{i % 4})" if i % step else "" for i in range(n))
            for name, step in (("question", 5), ("passage", 2))
        },
        gold=Forest.from_strings(f"(S (NP n{i}))" for i in range(len(lengths))),
        counts={"WER": rng.random((n, 2)), "BLEU": rng.random((n, 10))},
        source="made",
    )


def freeze(lists):
    """Every array of the set read-only, as a memory-mapped store has them."""
    from rerank.data.store import arrays_of

    for _, array in arrays_of(lists):
        array.flags.writeable = False
    return lists


def same(a, b):
    """Whether two sets are equal in every column, their source apart."""
    from rerank.data.store import arrays_of

    left, right = dict(arrays_of(a)), dict(arrays_of(b))
    return left.keys() == right.keys() and all(
        left[k].dtype == right[k].dtype
        and left[k].shape == right[k].shape
        and left[k].tobytes() == right[k].tobytes()
        for k in left
    )
