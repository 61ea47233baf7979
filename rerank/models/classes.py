"""Models of classes: a weight vector for each class, and how a prediction is read from the scores."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.records import Record, read_json
from rerank.core.types import AnyArray, Floats, Index, Mask
from rerank.data.columns.class_sets import REJECT, class_set, coder
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model, multiplied

Decode = Literal["binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking"]
_ONE_CLASS = ("multiclass", "ordinal")


class Meta(Record):
    """Content of a model file besides numbers."""

    classes: tuple[str, ...]
    decode: Decode
    reject: bool


@MODELS.register("classes")
class ClassesModel(Model):
    """Scores t = Wx + b of an example; the prediction is read from t.

    - binary: one score, of the second class if it is above 0, otherwise of the first one.
    - multiclass and ordinal: the class with the largest score, on ties the first. If the model may reject,
      it does so if the sum of all m scores divided by the root of m is larger.
    - multilabel: the classes with scores above 0.
    - multilabel-ranking: all classes by their scores, on ties in their order.

    Parameters
    ----------
    feature_names
        The model's columns.
    weights
        W, float64 (n_outputs, n_features). There is an output for each class; a binary model has one.
    classes
        The class names.
    decode
        How predictions are read from scores, see above.
    bias
        b, float64 (n_outputs); None = zeros.
    reject
        Whether a prediction may be ``REJECT`` (multiclass and ordinal).

    Raises
    ------
    DataError
        If these do not fit each other, or a number is not finite.
    """

    kind = "classes"

    def __init__(
        self,
        feature_names: list[str],
        weights: Floats,
        classes: Sequence[str],
        decode: Decode,
        bias: Floats | None = None,
        reject: bool = False,
    ) -> None:
        super().__init__(feature_names)
        n_outputs = 1 if decode == "binary" else len(classes)
        _check_names(classes, decode)
        if reject and decode not in _ONE_CLASS:
            raise DataError(f"a model of {decode} predictions that rejects")
        columns = len(self._columns())
        if weights.shape != (n_outputs, columns):
            found = " x ".join(map(str, weights.shape))
            raise DataError(f"{found} weights for {n_outputs} outputs and {columns} columns")
        bias = np.zeros(n_outputs) if bias is None else bias
        if bias.shape != (n_outputs,):
            raise DataError(f"{bias.size} constants for {n_outputs} outputs")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise DataError("a weight that is not finite")
        self.weights = weights
        self.bias = bias
        self.classes = tuple(classes)
        self.decode = decode
        self.reject = reject

    @property
    def outputs(self) -> tuple[str, ...]:
        """The class of each score: a binary model has one score, of its second class."""
        return self.classes[1:] if self.decode == "binary" else self.classes

    def class_scores(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return the scores of each example, float64 (n_items, n_outputs), in the order of the caller's rows.

        Columns and scaling are as for ``Model.score``. A binary model has one output, otherwise there is one
        for each of ``classes``.

        Raises DataError if the lists have no feature of the model, or a score is not finite.
        """
        n_bytes = 16 * lists.n_items * len(self.outputs)  # with the copy in the caller's order
        memory.require(n_bytes, f"{len(self.outputs):,} scores of {lists.n_items:,} examples")
        return lists.input_order(self._scores(self.prepared(lists, strict=strict)))

    def predicted(self, lists: CandidateLists, *, strict: bool = False) -> list[str]:
        """Return the prediction for each example as text, in the order of the caller's rows.

        A class; a set of classes separated by commas, "" if it is empty; ``REJECT``; or all classes
        separated by commas, the best first. Errors are those of ``class_scores``.
        """
        return self.decoded(self.class_scores(lists, strict=strict))

    def decoded(self, scores: Floats) -> list[str]:
        """Return the predictions for ``class_scores``, see ``predicted``."""
        names = self.classes
        if self.decode == "multilabel":
            return [",".join(itertools.compress(names, row)) for row in scores > 0]
        if self.decode == "multilabel-ranking":
            return [",".join(names[c] for c in row) for row in self.ranked(scores).tolist()]
        if self.decode == "binary":
            return [names[int(above)] for above in scores[:, 0] > 0]
        best = scores.argmax(axis=1).tolist()
        refused = self.rejected(scores).tolist()
        return [REJECT if no else names[c] for c, no in zip(best, refused, strict=True)]

    def candidates(self, scores: Floats) -> Floats:
        """Return the predictions for ``class_scores`` as scores of all classes, float64 (n, n_classes).

        They are 1 for predicted classes and 0 for others, -1 for all if the prediction is ``REJECT``, and
        fall by 1 along a ranking, as ``data.classes.class_lists`` has them.
        """
        rows, m = np.arange(len(scores))[:, None], len(self.classes)
        out = np.zeros((len(scores), m))
        if self.decode == "multilabel":
            out[scores > 0] = 1.0
        elif self.decode == "multilabel-ranking":
            out[rows, self.ranked(scores)] = np.arange(m, 0.0, -1)
        elif self.decode == "binary":
            out[rows, (scores > 0).astype(np.int64)] = 1.0
        else:
            out[rows, scores.argmax(axis=1)[:, None]] = 1.0
            out[self.rejected(scores)] = -1.0
        return out

    def candidates_prepared(self, lists: CandidateLists, scores: Floats | None = None) -> Floats:
        """Return ``candidates`` of prepared lists by item; errors are those of ``class_scores``.

        ``scores``, float64 (n_items, n_outputs), are used if the caller knows them.
        """
        n_bytes = 32 * lists.n_items * len(self.classes)  # scores and predictions, and as the judge has them
        memory.require(n_bytes, f"{len(self.classes):,} scores of {lists.n_items:,} examples")
        return self.candidates(self._scores(lists) if scores is None else self._finite(lists, scores))

    def ranked(self, scores: Floats) -> Index:
        """Return the outputs by score, the largest first, on ties in their order: int64 (n, n_outputs)."""
        return np.argsort(-scores, axis=1, kind="stable").astype(np.int64)

    def rejected(self, scores: Floats) -> Mask:
        """Return whether each prediction is ``REJECT``, bool (n)."""
        if not self.reject:
            return np.zeros(len(scores), dtype=bool)
        total = np.zeros(len(scores))
        with np.errstate(over="ignore", invalid="ignore"):
            for column in scores.T:  # in a fixed order
                total = total + column
        return total * (1.0 / math.sqrt(scores.shape[1])) > scores.max(axis=1)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        if self.decode != "binary":
            advice = "predicted(lists) and class_scores(lists) have its predictions"
            raise DataError(f"a {self.decode} model of classes has no single score of an item: {advice}")
        return self._outputs(lists)[:, 0]

    def _columns(self) -> list[str]:
        """The names of the columns of the weights."""
        return self.feature_names

    def _outputs(self, lists: CandidateLists) -> Floats:
        """The scores of prepared lists by item."""
        out = np.empty((lists.n_items, len(self.weights)))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported
            for c, row in enumerate(self.weights):
                out[:, c] = lists.features.scores(row) + self.bias[c]
        return out

    def _scores(self, ready: CandidateLists) -> Floats:
        return self._finite(ready, self._outputs(ready))

    @staticmethod
    def _finite(ready: CandidateLists, scores: Floats) -> Floats:
        """The scores; DataError if one is not finite."""
        if not np.isfinite(scores).all():
            item, c = np.argwhere(~np.isfinite(scores))[0].tolist()
            found = f"score {c + 1} of {ready.place_of(item)} is {scores[item, c]}"
            raise DataError(f"{ready.source}: {found}: a feature is missing, or too large")
        return scores

    def multiply_weight(self, column: int, factor: float) -> None:
        self.weights = multiplied(self.weights, column, factor)

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights and constants of all outputs with their classes, largest magnitude first."""
        rows = [
            (f"{name} [{output}]", weight)
            for output, row, constant in zip(self.outputs, self.weights, self.bias, strict=True)
            for name, weight in zip(
                (*self._columns(), "(constant)"), (*row.tolist(), float(constant)), strict=True
            )
            if weight != 0
        ]
        return sorted(rows, key=lambda row: -abs(row[1]))

    def n_weighted(self) -> int:
        return int(np.any(self.weights != 0, axis=0).sum())

    def described(self) -> dict[str, Any]:
        predicts = f"{self.decode}, may reject" if self.reject else self.decode
        return {"predicts": predicts, "classes": ", ".join(self.classes)}

    def arrays(self) -> Arrays:
        meta = Meta(classes=self.classes, decode=self.decode, reject=self.reject)
        text = json.dumps(meta.as_json(), ensure_ascii=False).encode("utf-8", "surrogateescape")
        return {"weights": self.weights, "bias": self.bias, "classes": np.frombuffer(text, dtype=np.uint8)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {
            "weights": ArrayForm("<f8", (None, n_features)),
            "bias": ArrayForm("<f8", (None,)),
            "classes": ArrayForm("|u1", (None,)),
        }

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        meta = read_meta(arrays["classes"])
        return cls(feature_names, arrays["weights"], meta.classes, meta.decode, arrays["bias"], meta.reject)


def read_meta(packed: AnyArray) -> Meta:
    """Return what ``arrays`` has packed as "classes"; DataError if it is damaged."""
    try:
        return Meta.from_json(read_json(packed.tobytes()))
    except ValueError as error:
        raise DataError(f"classes that are no JSON ({error})") from None


def _check_names(classes: Sequence[str], decode: str) -> None:
    """Raise DataError for names that a prediction could not be read back from."""
    if not classes or (decode == "binary" and len(classes) != 2):
        raise DataError(f"{len(classes)} classes of a {decode} model")
    for name in classes:
        try:
            alone = class_set(name) == (name,)
        except ValueError:
            alone = False
        if not alone:
            raise DataError(f"a class name that is not one, {name[:40]!r}")
    code_of = coder(classes)
    if [code_of(name) for name in classes] != list(range(len(classes))):
        raise DataError("two classes of one name")
