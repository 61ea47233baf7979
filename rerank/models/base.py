"""Base of every model, and the model file.

A model file is an archive (see models.archive): ``meta.json`` (format version, kind, learner, settings,
feature names, scaling, training data, dev score) and arrays. Reading it runs no code. The same model gives
the same bytes.
"""

from __future__ import annotations

import io
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np

from rerank._version import __version__
from rerank.core import progress
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.records import Record, fact
from rerank.core.registry import Registry
from rerank.core.tables.data import columns_of
from rerank.core.tables.display import Display
from rerank.core.tables.table import Table
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats
from rerank.data import missing
from rerank.data.alignment import aligned
from rerank.data.base_scores import base_scores_of
from rerank.data.first_best import with_margin
from rerank.data.frames import is_frame
from rerank.data.lists import CandidateLists
from rerank.data.matrix import MAX_FEATURES
from rerank.data.missing import FILLS_IN_TRAINING, Imputation
from rerank.data.npy import ArrayForm
from rerank.data.reading import Missing
from rerank.data.scaling import Scaling, array_forms
from rerank.models.archive import ModelArchive, archive_of
from rerank.models.feature_sources import SOURCE, FeatureSource, forms_of, kept, restored
from rerank.models.learning_curve import LearningCurve
from rerank.models.pipeline import Chain, FittedStep
from rerank.models.training import Training, plain_margin

FORMAT_VERSION = 1
_WITH_BASE = 2  # the version of files with a base weight: a release that would ignore it refuses the file
_WITH_MISSING = 3  # the same of files with a policy for missing values, and with or without a base weight
_WITH_SOURCES = 4  # the same of files with sources of features, and with or without the others
_SCALING = "scaling."  # how the names of the scaling's arrays begin
_MISSING = "missing."  # and of those of what fills missing values
Arrays = dict[str, AnyArray]
ORACLE = "ORACLE"  # the mark of what reads the labels of the lists to be ranked
USES_TEST_LABELS = f"{ORACLE}: the model uses the labels of the lists that it ranks; it is a control"

MODELS: Registry[type[Model]]


class Calibration(Record, ABC):
    """Probabilities of a model's choices, which its file keeps."""

    kind: ClassVar[str]

    @abstractmethod
    def columns(self, lists: CandidateLists, scores: Floats) -> dict[str, Floats]:
        """Return values of each list (n_lists) by name; scores (n_items) are the model's."""

    @abstractmethod
    def summary(self) -> str:
        """Return what it tells, and from what, in a line."""


class Model(Display, ABC):
    """A scorer of candidates: larger scores are better.

    Attributes
    ----------
    feature_names : list of str
        The model's columns. Data with other columns is brought into that order by name, or by position if
        only one side has names; absent features are 0 (see data.alignment).
    chain : Chain
        The fitted steps that lists go through before they are scored: an Imputation fills missing values
        (its indicators are the last of the model's columns, and no columns of data), a Scaling scales them.
    base_weight : float or None
        If not None, the score is that of the features plus this times the base score, which lists must have.
        If a feature is the base score (data.base_scores.base_column), its weight takes this one's place.
    keep_margin : float or None
        In units of the scores: a list's first-best stays on top unless another item leads it by more
        (see data.first_best.with_margin).
    calibration : Calibration or None
        Probabilities of the model's choices, which ``rerank calibrate`` fits.
    initial : ndarray or None
        The weights that a tuner started from, float64 (n_features); they are not saved.
    training : Training
        Where the model came from.
    curve : LearningCurve
        A row for each round: a list of dictionaries with ``arrays()`` and ``plot()``; it is not saved.
    """

    kind: ClassVar[str]
    absent: float = 0.0  # ``fill`` of models without an imputation
    listwise: ClassVar[bool] = False  # whether the score of an item depends on the others of its list
    weighs_items: ClassVar[bool] = (
        False  # whether ``explain`` has coefficients of support items, not of features
    )
    adapts: ClassVar[bool] = False  # whether it makes a ranker for each list that it scores, see ``adapt``

    def __init__(self, feature_names: list[str]) -> None:
        self.feature_names = feature_names
        self.chain = Chain()
        self.base_weight: float | None = None
        self.keep_margin: float | None = None
        self.calibration: Calibration | None = None
        self.initial: Floats | None = None
        self.training = Training()
        self.curve = LearningCurve()

    def __repr__(self) -> str:
        learner = self.training.learner or "unknown learner"
        return f"{type(self).__name__}({learner}, {count(len(self.feature_names), 'feature')})"

    @property
    def imputation(self) -> Imputation | None:
        """Return the policy that fills missing values, None without one."""
        return self.chain.get(Imputation)

    @property
    def scaling(self) -> Scaling | None:
        """The fitted scaling, None without one."""
        return self.chain.get(Scaling)

    @property
    def scaling_name(self) -> str:
        """The name of the scaling, "none" without one."""
        return "none" if self.scaling is None else self.scaling.name

    @property
    def missing_policy(self) -> Missing | None:
        """The policy for missing values, a name of data.missing.POLICIES; None = as files are read."""
        return None if self.imputation is None else cast(Missing, self.imputation.name)

    @property
    def fill(self) -> float:
        """Fill value for features that dense input lacks: 0 or NaN."""
        return self.absent if self.imputation is None else self.imputation.absent

    @property
    def input_names(self) -> list[str]:
        """The names of the columns that data has: ``feature_names`` without those that steps add."""
        first = next((one for one in self.chain.fitted if isinstance(one, FeatureSource | Imputation)), None)
        return self.feature_names[: None if first is None else first.n_features]

    @abstractmethod
    def score_aligned(self, lists: CandidateLists) -> Floats:
        """Return the scores of lists with the model's columns and scaled features, without the base score.

        They are float64 (n_items) in the order of the items of ``lists``, list by list.
        """

    def score_prepared(self, lists: CandidateLists) -> Floats:
        """Return ``score_aligned`` plus the weighted base scores, if the model has a base weight.

        Raises
        ------
        DataError
            If it has one and the lists lack a base score.
        """
        return self.with_base(lists, self.score_aligned(lists))

    def with_base(self, lists: CandidateLists, scores: Floats) -> Floats:
        """Return scores as ``score_aligned`` returns them, plus the weighted base scores; see above."""
        if self.base_weight is None:
            return scores
        what = f"the model, which weights them by {self.base_weight:g},"
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            return scores + self.base_weight * base_scores_of(lists, what)

    def multiply_weight(self, column: int, factor: float) -> None:
        """Multiply the weight of one of the model's columns, which changes this model.

        Raises
        ------
        ConfigError
            If the model has no weight for each column.
        DataError
            If the weight would not be finite.
        """
        name = self.feature_names[column]
        raise ConfigError(f"a model of kind {self.kind} has no weight of feature {name!r} to multiply")

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays to save, by name."""

    @classmethod
    @abstractmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        """Return what each array of a model with so many features must be, by name."""

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        """Return the same of arrays that only some models of this kind have."""
        return {}

    @classmethod
    @abstractmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model whose ``arrays()`` these are, each as ``members`` describes it.

        Raises
        ------
        DataError
            If their lengths or values do not fit; ``load_model`` reports a damaged file.
        """

    @abstractmethod
    def explain(self) -> list[tuple[str, float]]:
        """Return (feature, weight) rows for ``rerank show``, largest magnitude first."""

    @property
    def uses_test_labels(self) -> bool:
        """Return whether it uses the labels of the lists that it ranks: a control, marked ORACLE."""
        return False

    def adapt(
        self, lists: CandidateLists, *, strict: bool = False, advance: Any = None, cache: Any = None
    ) -> Any:
        """Return scores by rankers made for these lists; see rerank.extensions.transductive.adapting."""
        raise ConfigError(f"a model of kind {self.kind} does not adapt to the lists that it scores")

    def open_cache(self, folder: str, nearest: int | None = None, by: Any = "list-kernel") -> Any:
        """Return a cache of rankers that were made for lists; see rerank.extensions.transductive.adapting."""
        raise ConfigError(
            f"--cache: not used by a model of kind {self.kind}, which makes no ranker of a list"
        )

    def training_lines(self) -> list[str]:
        """Return what ``rerank train`` prints of this kind of model, besides what it prints of all."""
        return [USES_TEST_LABELS] if self.uses_test_labels else []

    def tables(self) -> list[Table]:
        """Return the first weights, and what is known of the model in the notes."""
        from rerank.models.describe import notebook_table

        return [notebook_table(self)]

    def frame_columns(self) -> dict[str, list[Any]]:
        """Return the weights by feature, with their scales."""
        from rerank.models.describe import model_records

        return columns_of(model_records(self))

    def lines(self) -> list[str]:
        """Return what is known of the model and its first weights as text."""
        from rerank.models.describe import MOST_ROWS, model_lines

        return model_lines(self, 0 if self.weighs_items else MOST_ROWS)

    def remarks(self) -> dict[str, str]:
        """Return what ``rerank show`` prints after the weights of ``explain``, by feature."""
        return {}

    def described(self) -> dict[str, Any]:
        """Return further facts of this kind of model for ``rerank show``, by name."""
        return {}

    def step_shares(self) -> list[tuple[str, float]]:
        """Return each feature's share of the magnitudes of all steps, the largest first.

        Only models that are sums of steps, each of one feature, have shares. Features without a step are left
        out.
        """
        return []

    def n_weighted(self) -> int:
        """Return how many features have a weight that is not 0."""
        known = set(self.feature_names)
        return sum(name in known for name, _ in self.explain())

    def score(self, lists: CandidateLists | Any, *, strict: bool = False) -> Floats:
        """Return a score for each item, float64 (n_items), in the order of the caller's rows.

        These are the lines of the file, or the rows given to ``CandidateLists.from_arrays``, whatever their
        grouping into lists; see ``CandidateLists.input_order``. ``rerank.evaluate`` takes scores in it.

        Parameters
        ----------
        lists : CandidateLists, or a data frame with a column of lists
            Features are matched by name; what does not match is reported (data.alignment).
        strict
            Raise an error instead of a note.

        Raises
        ------
        DataError
            If the lists have no feature of the model, a score is not finite, or the model has a keep margin
            and the lists have no first-best.
        """
        if not isinstance(lists, CandidateLists):
            if not is_frame(lists):
                expected = "expected CandidateLists or a data frame; rerank.predict takes files and arrays"
                raise DataError(f"found {type(lists).__name__}, {expected}")
            lists = CandidateLists.from_frame(lists)
        return lists.input_order(self.score_items(lists, strict=strict))

    def score_items(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return ``score`` in the order of the items of ``lists``, list by list, as judges take it."""
        return self.with_keep_margin(lists, self._raw(lists, strict))

    def with_keep_margin(self, lists: CandidateLists, scores: Floats) -> Floats:
        """Return raw ``scores`` changed by the model's keep margin, if it has one.

        Both are float64 (n_items) in the order of the items of ``lists``.
        """
        return scores if self.keep_margin is None else with_margin(lists, scores, self.keep_margin)

    def raw_score(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return ``score`` without the keep margin, float64 (n_items), in the order of the caller's rows."""
        return lists.input_order(self._raw(lists, strict))

    def prepared(self, lists: CandidateLists, *, strict: bool = False) -> CandidateLists:
        """Return lists with the model's columns, filled and scaled; errors are those of ``score``."""
        selection = self.training.data.features or ""
        ready = aligned(lists, self.input_names, selection=selection, fill=self.fill, strict=strict)
        return self.chain.apply(ready, warn=True)

    def _raw(self, lists: CandidateLists, strict: bool) -> Floats:
        """The scores in the order of the items, without the keep margin."""
        with progress.step(f"scoring {os.path.basename(lists.source)}"):
            ready = self.prepared(lists, strict=strict)
            return self._finite(ready, self.score_prepared(ready))

    def _finite(self, ready: CandidateLists, scores: Floats) -> Floats:
        """The scores of prepared lists; raises DataError, with its cause, if one is not finite."""
        if not np.all(np.isfinite(scores)):
            item = int(np.argmin(np.isfinite(scores)))
            cause = self._cause(ready, item)
            found = f"the score of {ready.place_of(item)} is {scores[item]}"
            raise DataError(f"{ready.source}: {found}: {cause}")
        return scores

    def _cause(self, lists: CandidateLists, item: int) -> str:
        """Return why the score of an item of prepared lists is not a number."""
        row = lists.features.take(slice(item, item + 1)).to_dense()[0]
        if self.base_weight is not None and np.isfinite(self.score_aligned(lists)[item]):
            base = base_scores_of(lists, self.kind)[item]
            return f"its first-stage score is {base:g} and has the weight {self.base_weight:g}"
        weights = getattr(self, "weights", np.ones(len(row)))
        missing = np.isnan(row) & (weights != 0)
        if np.any(missing):
            name = self.feature_names[int(np.argmax(missing))]
            return f"its feature {name!r} is missing (NaN); {FILLS_IN_TRAINING}"
        with np.errstate(over="ignore"):
            j = int(np.argmax(np.abs(row * weights)))
        return f"its feature {self.feature_names[j]!r} is {row[j]:g} and has the weight {weights[j]:g}"

    def as_file(self) -> io.BytesIO:
        """Return the content of the model file; the same model gives the same bytes."""
        sources, of_sources = kept(self.chain.sources) if self.chain.sources else ([], {})
        arrays = self.arrays() | of_sources
        meta: dict[str, Any] = {
            "format": _format(self.base_weight is not None, self.imputation is not None, bool(sources)),
            "rerank": __version__,
            "kind": self.kind,
            "training": self.training.as_json(),
            "feature_names": self.feature_names,
            "scaling": None,
            "keep_margin": plain_margin(self.keep_margin),
        }
        meta |= {} if self.base_weight is None else {"base_weight": self.base_weight}
        meta |= {"sources": sources} if sources else {}
        for prefix, one in ((_MISSING, self.imputation), (_SCALING, self.scaling)):
            if one is not None:
                meta[prefix.rstrip(".")] = one.to_meta()
                arrays |= {f"{prefix}{name}": array for name, array in one.arrays().items()}
        if self.calibration is not None:
            meta["calibration"] = {"kind": self.calibration.kind, **self.calibration.as_json()}
        return archive_of(meta, arrays)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file at ``path``, whole or not at all."""
        with atomic_write(os.fspath(path)) as out:
            out.write(self.as_file().getbuffer())


def multiplied(weights: Floats, column: int, factor: float) -> Floats:
    """Return weights (..., n_features) with those of one column multiplied; DataError if one overflows."""
    new = weights.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        new[..., column] *= factor
    if not np.isfinite(new[..., column]).all():
        raise DataError(f"weight {column + 1} times {factor:g} is not finite")
    return new


def heaviest_first(names: list[str], weights: Floats) -> list[tuple[str, float]]:
    """Return (name, weight) rows for ``Model.explain``: largest magnitude first, without zeros."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return [(names[j], float(weights[j])) for j in order if weights[j] != 0]


def load_model(path: str) -> Model:
    """Return the model saved at ``path``.

    Parameters
    ----------
    path
        A model file; ``-`` is standard input.

    Returns
    -------
    Model

    Raises
    ------
    FormatError
        If the file is not a model of this package, is damaged, or has a format version that this
        release cannot read.
    """
    return model_of_file(bytes(read_bytes(path)), shown(path))


def model_of_file(content: bytes, path: str) -> Model:
    """Return the model of a file's ``content``; ``path`` is its name in errors, those of ``load_model``."""
    archive = ModelArchive(content, path)
    try:
        return _rebuild(_metadata(archive), archive)
    except (DataError, ConfigError) as error:
        raise archive.fault(None, f"a damaged model ({error})") from None


class _ScalingRecord(Record):
    """The scaling in meta.json."""

    name: str = fact(max_length=100)
    n_features: int = fact(ge=0, le=MAX_FEATURES)
    shifts: bool


class _MissingRecord(Record):
    """Fill values of missing features, in meta.json."""

    name: str = fact(max_length=100)
    n_features: int = fact(ge=0, le=MAX_FEATURES)
    n_items: int = fact(ge=0, lt=1 << 63)
    after: bool | None = None


class _Metadata(Record):
    """meta.json of a model file."""

    format: int
    rerank: str
    kind: str = fact(max_length=100)
    training: Training
    feature_names: tuple[str, ...] = fact(max_length=MAX_FEATURES)
    scaling: _ScalingRecord | None
    keep_margin: Annotated[float | None, lambda v: math.inf if v == "inf" else v] = fact(None, ge=0)
    base_weight: float | None = None
    missing: _MissingRecord | None = None
    sources: tuple[dict[str, Any], ...] = ()
    calibration: dict[str, Any] | None = None


def _metadata(archive: ModelArchive) -> _Metadata:
    """The checked metadata of a model file."""
    meta = archive.meta()
    version = meta.get("format") if isinstance(meta, dict) else None
    if type(version) is not int:
        raise archive.fault(None, "something else, or a damaged file")
    if not FORMAT_VERSION <= version <= _WITH_SOURCES:
        known = f"format {FORMAT_VERSION} to {_WITH_SOURCES}"
        raise FormatError(archive.path, None, f"model format {version}", known)
    checked = _Metadata.from_json(meta)
    policy, base = checked.missing is not None, checked.base_weight is not None
    if version != _format(base, policy, bool(checked.sources)):
        of_missing = policy or version == _WITH_MISSING
        part = "a policy for missing values" if of_missing else "a base weight"
        there = "with" if (policy if of_missing else base) else "without"
        raise archive.fault(None, f"a damaged model (format {version} {there} {part})")
    return checked


def _format(base_weight: bool, missing: bool, sources: bool) -> int:
    """The format version of a file with these parts."""
    return max(FORMAT_VERSION, _WITH_BASE * base_weight, _WITH_MISSING * missing, _WITH_SOURCES * sources)


def _rebuild(meta: _Metadata, archive: ModelArchive) -> Model:
    """The model of a file's parts."""
    kind = MODELS.get(meta.kind)
    names = list(meta.feature_names)
    wanted = kind.members(len(names))
    wanted |= {name: form for name, form in kind.optional_members(len(names)).items() if archive.has(name)}
    if meta.scaling is not None:
        if meta.scaling.n_features != len(names):
            raise DataError(f"a scaling of {meta.scaling.n_features} features for {len(names)}")
        forms = array_forms(meta.scaling.name, len(names))
        wanted |= {member: form for name, form in forms.items() if archive.has(member := f"{_SCALING}{name}")}
    if meta.missing is not None:
        forms = missing.array_forms(meta.missing.name, meta.missing.n_features)
        wanted |= {f"{_MISSING}{name}": form for name, form in forms.items()}
    arrays = archive.arrays(wanted | forms_of(meta.sources))
    own = {name: array for name, array in arrays.items() if not name.startswith((_SCALING, _MISSING, SOURCE))}
    model = kind.from_arrays(names, own)
    model.training = meta.training
    model.keep_margin = meta.keep_margin
    model.base_weight = meta.base_weight
    if meta.calibration is not None:
        record = dict(meta.calibration)
        model.calibration = CALIBRATIONS.get(str(record.pop("kind", ""))).from_json(record)
    fitted: list[FittedStep] = []
    if meta.missing is not None:
        imputation = Imputation.restore(meta.missing.as_json(), _with_prefix(arrays, _MISSING))
        inputs = names[: imputation.n_features]
        if len(names) != imputation.width or names != [*inputs, *imputation.indicators(inputs)]:
            raise DataError(f"what fills {len(inputs)} features, for {len(names)}")
        fitted.append(imputation)
    if meta.scaling is not None:
        scaling = Scaling.restore(meta.scaling.as_json(), _with_prefix(arrays, _SCALING))
        last = meta.missing is not None and imputation.after
        fitted.insert(0 if last else len(fitted), scaling)
    model.chain = Chain((*restored(meta.sources, arrays, names), *fitted))
    return model


def _with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


MODELS = Registry("model", "rerank.models", "rerank.extensions", base=lambda: Model)
CALIBRATIONS: Registry[type[Calibration]] = Registry("calibration", "rerank.extensions")
