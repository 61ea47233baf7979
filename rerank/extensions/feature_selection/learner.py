"""A learner around another one, which sees only selected features.

Features are selected on the lists that the learner gets, so within folds and cross-validation on the training
part alone. The model takes all features and finds its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.feature_selection.methods import narrowed, select
from rerank.extensions.feature_selection.options import Selecting
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import Base, MetaLearner
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.models.linear import LinearModel

_NOTE = "selected"  # the name of the line that says what was kept, in the record of a training


@MODELS.register("selected-features")
class SelectedModel(Model):
    """The scores of a model that sees only some of the features.

    Parameters
    ----------
    feature_names : list of str
        All features.
    columns : int64 (k)
        Those that it sees, rising.
    base : Model
        Of these k features.
    """

    kind = "selected-features"

    def __init__(self, feature_names: list[str], columns: Index, base: Model) -> None:
        super().__init__(feature_names)
        if base.adapts or isinstance(base, ClassesModel):
            raise DataError(f"a model of kind {base.kind}, expected one that scores the items of lists")
        d = len(feature_names)
        if not len(columns) or columns[0] < 0 or columns[-1] >= d or np.any(columns[1:] <= columns[:-1]):
            raise DataError(f"{len(columns)} columns, expected rising ones from 0 to {d - 1}")
        if base.feature_names != [feature_names[j] for j in columns.tolist()]:
            raise DataError("a model of other features than those that are selected")
        self.columns, self.base = columns, base
        self.listwise = base.listwise  # type: ignore[misc]  # of the base

    @property
    def uses_test_labels(self) -> bool:
        return self.base.uses_test_labels

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return self.base.score_prepared(narrowed(lists, self.columns))

    def multiply_weight(self, column: int, factor: float) -> None:
        place = np.flatnonzero(self.columns == column)
        if len(place):
            self.base.multiply_weight(int(place[0]), factor)

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return self.base._cause(narrowed(lists, self.columns), item)

    def arrays(self) -> Arrays:
        return {"base": packed_model(self.base), "columns": self.columns}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"base": PACKED, "columns": ArrayForm("<i8", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, arrays["columns"], unpacked_model(arrays["base"], "base"))

    def described(self) -> dict[str, Any]:
        training = self.base.training
        return {
            "features seen": len(self.columns),
            "scores of": {"learner": training.learner, **training.settings},
            **self.base.described(),
        }

    def training_lines(self) -> list[str]:
        return [*super().training_lines(), *self.base.training_lines(), str(self.training.notes[_NOTE])]

    def explain(self) -> list[tuple[str, float]]:
        return self.base.explain()

    def remarks(self) -> dict[str, str]:
        return self.base.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        return self.base.step_shares()


class SelectedLinear(LinearModel):
    """A linear model of which only selected features have a weight; in a file it is a linear model."""

    def training_lines(self) -> list[str]:
        return [*super().training_lines(), str(self.training.notes[_NOTE])]


@LEARNERS.register("select-features", "feature-selection")
class SelectFeatures(Selecting, MetaLearner):
    """Another learner, fitted to the features that a method selects on the training lists.

    The model of a linear learner has the weight 0 for all other features.

    References
    ----------
    Collins & Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005
    (section 6.4 names the families of methods).
    """

    name = "select-features"
    summary = "another learner on features that boosting, a filter, backward elimination or l1 selects"
    source = "Collins & Koo 2005, section 6.4"

    base: Base = setting(
        "ranksvm", "learner that gets the selected features: a name, or its name and settings"
    )
    n_features: int | None = setting(None, "number of features to keep; none = half of them", ge=1)
    seed: int = setting(1, "random seed of the base learner unless it has its own", ge=0)

    default_scaling: ClassVar[str] = "zscore"

    def check_values(self) -> None:
        Selecting.check_values(self)
        MetaLearner.check_values(self)

    def _why_no_base(self, base: Learner) -> str:
        if base.needs_unlabelled or base.uses_test_labels:
            return "it adapts to the lists that it ranks"
        return super()._why_no_base(base)

    @property
    def wants_judge(self) -> bool:
        return self.base_learner.wants_judge

    @property
    def takes_base_scale(self) -> bool:
        return self.base_learner.takes_base_scale

    @property
    def chooses_on_dev(self) -> bool:
        return self.base_learner.chooses_on_dev

    def scaling_of(self, lists: CandidateLists) -> str:  # type: ignore[override]  # it depends on the base
        """Return the scaling that the base learner would have."""
        return self.base_learner.scaling_of(lists)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        n = max(1, lists.n_features // 2) if self.n_features is None else self.n_features
        found = select(lists, n, self)
        columns, names = np.sort(found.columns), lists.names()
        dev = None if inputs.dev is None else (narrowed(inputs.dev[0], columns), inputs.dev[1])
        base = self.base_learner
        judge = inputs.judge if base.uses_metric else None
        model = base.fit(narrowed(lists, columns), judge=judge, dev=dev)
        model.training.learner, model.training.settings = base.name, base.get_params()
        made: Model = SelectedModel(names, columns, model)
        if type(model) is LinearModel:
            weights = np.zeros(len(names))
            weights[columns] = model.weights
            made = SelectedLinear(names, weights)
            made.base_weight = model.base_weight
        training, made.curve = made.training, model.curve
        training.rounds, training.data = model.training.rounds, model.training.data
        training.notes = {**model.training.notes, _NOTE: found.line(names)}
        return made
