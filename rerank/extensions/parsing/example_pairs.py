"""Pairs of a better and a worse example, from Python, as lists of two items."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.types import Floats
from rerank.data.array_inputs import frame_names, in_brackets, is_labelled
from rerank.data.arrays import real_array
from rerank.data.columns.forests import BracketError, Forest
from rerank.data.columns.schema import TREE
from rerank.data.lists import CandidateLists

SIDES = ("better", "worse")


def preference_pairs(
    better: Any, worse: Any, *, features: Any = None, feature_names: Sequence[str] | None = None
) -> CandidateLists:
    """Return a list of two items for each pair of a better and a worse example, with labels 1 and 0.

    Lists of several candidates with trees are made by ``CandidateLists.from_arrays``.

    Parameters
    ----------
    better, worse : sequence (n_pairs)
        An example is a tree, or a mapping of names to trees, such as ``{"question": ..., "passage": ...}``;
        all of them have the same names. A tree is a string in brackets, a tree of NLTK or a nested list, see
        ``rerank.data.array_inputs.forest_of``; "" and None are missing trees.
    features : pair of arrays or data frames (n_pairs, n_features), optional
        Those of the better and of the worse examples.
    feature_names : sequence of str, optional
        None = the columns of the data frames.

    Returns
    -------
    CandidateLists
        The better example of pair i is item 2 i, the worse one item 2 i + 1.

    Raises
    ------
    DataError
        If there are not as many better examples as worse ones, names of trees differ, one is not a tree, or
        the features do not fit.

    Examples
    --------
    >>> import rerank
    >>> better = ["(S (NP dogs) (VP bark))", ["S", ["NP", "cats"], ["VP", "sleep"]]]
    >>> worse = ["(S (NP bark) (NP dogs))", ["S", ["NP", "sleep"], ["NP", "cats"]]]
    >>> pairs = rerank.preference_pairs(better, worse)
    >>> model = rerank.train(pairs, learner="preference-svm", kernel="sst")
    >>> trees = ["(S (NP mice) (VP squeak))", "(S (NP squeak) (NP mice))"]
    >>> model.score(rerank.CandidateLists.from_arrays(None, trees=trees)).round(2)
    array([ 0.25, -0.25])
    """
    sides = [_examples(values, side) for values, side in zip((better, worse), SIDES, strict=True)]
    n = len(sides[0])
    if n != len(sides[1]):
        raise DataError(f"pairs: found {n} better examples and {len(sides[1])} worse ones")
    if n == 0:
        raise DataError("pairs: found no examples")
    examples = [one for pair in zip(*sides, strict=True) for one in pair]
    names = _tree_names(examples)
    forests = {name: _forest([one[name] for one in examples], name) for name in names}
    values, columns = _features(features, n)
    lists = CandidateLists.from_arrays(
        values,
        [1.0, 0.0] * n,
        group=[2] * n,
        feature_names=columns if feature_names is None else feature_names,
        trees=forests.pop(TREE, None),
        structures=forests,
        source="pairs",
    )
    _warn_of_equal(lists)
    return lists


def _where(item: int) -> str:
    """Return the name of an example in messages."""
    return f"pair {item // 2 + 1}, {SIDES[item % 2]}"


def _examples(values: Any, side: str) -> list[Mapping[Any, Any]]:
    """The examples of one side, each as its trees by name."""
    if isinstance(values, str | bytes | Mapping) or is_labelled(values):
        found = f"one {type(values).__name__}"
    elif not hasattr(values, "__iter__") and not hasattr(values, "__getitem__"):
        found = type(values).__name__
    else:
        return [one if isinstance(one, Mapping) else {TREE: one} for one in values]
    raise DataError(f"{side}: found {found}, expected a sequence of examples, one for each pair")


def _tree_names(examples: list[Mapping[Any, Any]]) -> list[str]:
    """The names of trees, which all examples share."""
    names = list(examples[0])
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{_where(0)}: found the name {name!r}, expected text")
    for item, example in enumerate(examples):
        for label in {"label", "labels", "y"} & example.keys():
            raise DataError(
                f"{_where(item)}: found {label!r}; better examples have the label 1, worse ones 0"
            )
        if example.keys() != set(names) or not names:
            found = ", ".join(map(str, example)) or "no trees"
            expected = ", ".join(map(str, names)) or "a tree"
            raise DataError(f"{_where(item)}: found {found}, expected {expected}")
    return names


def _forest(trees: list[Any], name: str) -> Forest:
    """The trees of one name."""
    try:
        return Forest.from_strings(
            in_brackets(tree, f"{_where(item)}, {name}") for item, tree in enumerate(trees)
        )
    except BracketError as error:
        found = f"found {error.found}, expected {error.expected}"
        raise DataError(f"{_where(error.tree)}, {name}: {found}") from None


def _features(features: Any, n: int) -> tuple[Floats | None, list[str] | None]:
    """The feature vectors of all examples, and the names of the columns if both sides have them."""
    if features is None:
        return None, None
    if not isinstance(features, tuple | list) or len(features) != len(SIDES):
        found = f"{type(features).__name__} of {len(features)}" if hasattr(features, "__len__") else "another"
        raise DataError(f"features: found {found}, expected two arrays: of better and of worse examples")
    names = [frame_names(side) for side in features]
    if names[0] != names[1]:
        raise DataError(f"features: found the columns {names[0]} and {names[1]}, expected the same")
    arrays = []
    for side, values in zip(SIDES, features, strict=True):
        array = real_array(values, f"features of {side} examples").astype(np.float64, copy=False)
        if array.ndim != 2 or len(array) != n:
            raise DataError(
                f"features of {side} examples have shape {array.shape}, expected ({n}, n_features)"
            )
        arrays.append(array)
    if arrays[0].shape != arrays[1].shape:
        raise DataError(f"features have shapes {arrays[0].shape} and {arrays[1].shape}, expected the same")
    return np.stack(arrays, axis=1).reshape(2 * n, -1), names[0]


def _warn_of_equal(lists: CandidateLists) -> None:
    """Report pairs of two equal examples."""
    values = lists.features.to_dense()
    equal = ((values[::2] == values[1::2]) | (np.isnan(values[::2]) & np.isnan(values[1::2]))).all(axis=1)
    for name in lists.tree_names():
        texts = list(lists.forest(name).to_strings())
        equal &= [a == b for a, b in zip(texts[::2], texts[1::2], strict=True)]
    if equal.any():
        first = int(equal.argmax()) + 1
        text = f"pairs: {equal.sum()} of {len(equal)} have two equal examples, the first is pair {first}"
        warnings.warn(f"{text}; nothing is learnt from them", DataNote, stacklevel=3)
