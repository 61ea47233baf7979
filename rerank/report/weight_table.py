"""The weights that are shown of a model: its own or those of raw features, of all features or of some."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from rerank.core.errors import ConfigError
from rerank.data.names import Columns
from rerank.data.selection import columns_matching
from rerank.models.base import Model, heaviest_first
from rerank.models.linear import Linear

RAW = "of the raw features, after missing values are filled: scores are their sum and a constant"
SCALED = "of the scaled features"


@dataclass(frozen=True)
class Scale:
    """How a feature is scaled, and the weight of the raw feature."""

    shift: float
    divisor: float
    raw_weight: float | None


@dataclass(frozen=True)
class ShownWeights:
    """The rows of weights that are shown of a model, and what to say about them.

    Attributes
    ----------
    rows : names and weights, the heaviest first.
    n : how many rows there are without a choice of features.
    features : the names of the features that were chosen, None = all.
    constant : what raw scores have besides, None if the weights are those of the model itself.
    kind : what the weights are of, "" if the model scales no feature.
    scales : of a feature that is scaled to (x - shift) / divisor the shift, the divisor, which is infinite if
        the feature is constant, and the weight of the raw feature if the model is linear.
    """

    rows: list[tuple[str, float]]
    n: int
    features: frozenset[str] | None = None
    constant: float | None = None
    kind: str = ""
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def scale_of(self, row: str) -> dict[str, float]:
        """Return the scale of a row's feature by the names that JSON and tables have, empty without one."""
        scale = self.scales.get(_feature_of(row, self.scales))
        found = {} if scale is None else asdict(scale)
        return {key: value for key, value in found.items() if value is not None}

    def notes(self, top: int | None) -> list[str]:
        """Return lines on what is not shown of the first ``top`` rows, and on the constant."""
        left, others = len(self.rows) - len(self.rows[:top]), self.n - len(self.rows)
        lines = [f"... and {left} more"] if left else []
        lines += [f"... and {others} of other features"] if others else []
        if self.constant is not None:
            what = "the same for all items: it changes no order in a list"
            lines.append(f"constant {self.constant:.6g}, {what}")
        return lines

    def fills(self, model: Model) -> list[tuple[str, float, int]]:
        """Return the rows of ``Imputation.rows`` of the features that were chosen."""
        rows = [] if model.imputation is None else model.imputation.rows(model.input_names)
        return [row for row in rows if self.features is None or row[0] in self.features]


def shown_weights(
    model: Model, features: Sequence[str] = (), unscaled: bool = False, source: str = "the model"
) -> ShownWeights:
    """Return the weights to show of a model.

    Parameters
    ----------
    model : a model.
    features : only rows of these features, items as ``--features`` takes them.
    unscaled : weights of the raw features.
    source : how errors begin.

    Raises
    ------
    ConfigError, DataError
        If the model has no weights of raw features, or an item matches no feature.
    """
    rows, constant, kind = model.explain(), None, "" if _is_raw(model) else SCALED
    scales = {} if unscaled else _scales(model)
    if unscaled:
        if not isinstance(model, Linear):
            raise ConfigError(f"{source}: a model of kind {model.kind} has no weights of raw features")
        raw = model.unscaled(source)
        own = set(raw.names)
        rest = [row for row in rows if row[0] not in own]  # thresholds
        rows, constant, kind = [*heaviest_first(raw.names, raw.weights), *rest], raw.constant, RAW
    elif scales:
        kind += ", (x - shift) / divisor" + (
            "; --unscaled: of the raw ones" if isinstance(model, Linear) else ""
        )
    n, wanted = len(rows), None
    if features:
        names = model.feature_names
        chosen = columns_matching(Columns(names, len(names)), features, source)
        wanted = frozenset(names[j] for j in np.flatnonzero(chosen).tolist())
        rows = [row for row in rows if _feature_of(row[0], set(names)) in wanted]
    return ShownWeights(rows, n, wanted, constant, kind, scales)


def _is_raw(model: Model) -> bool:
    return model.scaling is None or model.scaling.name == "none"


def _scales(model: Model) -> dict[str, Scale]:
    """The scales of features by name, none if they are scaled within lists, by ranks or not at all."""
    if model.scaling is None or "divisor" not in model.scaling.values:
        return {}
    divisors = model.scaling.values["divisor"]
    shifts = model.scaling.values.get("shift", np.zeros(len(divisors)))
    raw = [None] * len(divisors)
    if isinstance(model, Linear):
        with np.errstate(over="ignore"):
            raw = (model.weights / divisors).tolist()
    columns = zip(model.feature_names, shifts.tolist(), divisors.tolist(), raw, strict=True)
    return {name: Scale(*values) for name, *values in columns}


def _feature_of(row: str, names: Container[str]) -> str:
    """The feature of a row, which may go on after its name, as in ``length >= 3``; "" if it has none."""
    while row not in names:
        row, space, _ = row.rpartition(" ")
        if not space:
            return ""
    return row
