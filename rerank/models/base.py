"""What every model shares, and the model file.

A model file is a zip archive as numpy's npz: ``meta.json`` (format version, kind, learner, settings,
feature names, scaling, training data, dev score) and one .npy member for each array. Reading it runs no
code. The same model gives the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from rerank._version import __version__
from rerank.data.alignment import aligned
from rerank.data.leads import with_margin
from rerank.data.lists import CandidateLists
from rerank.data.scaling import Scaling
from rerank.data.types import AnyArray, Floats
from rerank.errors import ConfigError, DataError, FormatError
from rerank.files import atomic_write, read_bytes, shown
from rerank.models.training import Training
from rerank.records import Record
from rerank.registry import Registry

FORMAT_VERSION = 1
Arrays = dict[str, AnyArray]

MODELS: Registry[type[Model]]


class Model(ABC):
    """A scorer of candidates: larger scores are better.

    Attributes
    ----------
    feature_names : list of str
        The model's columns. Data with other columns is brought into that order by name, or by position if
        only one side has names; absent features are 0 (see data.alignment).
    scaling : Scaling or None
        Applied to features before they are scored.
    keep_margin : float or None
        In units of the scores: a list's first-best stays on top unless another item leads it by more
        (see data.leads.with_margin).
    initial : ndarray or None
        The weights that a tuner started from, float64 (n_features); they are not saved.
    training : Training
        Where the model came from.
    curve : list of dict
        The learning curve, a row for each round; it is not saved.
    """

    kind: ClassVar[str]

    def __init__(self, feature_names: list[str]) -> None:
        self.feature_names = feature_names
        self.scaling: Scaling | None = None
        self.keep_margin: float | None = None
        self.initial: Floats | None = None
        self.training = Training()
        self.curve: list[dict[str, float]] = []

    @abstractmethod
    def score_aligned(self, lists: CandidateLists) -> Floats:
        """Return the scores of lists with the model's columns and scaled features.

        They are float64 (n_items) in the order of the items of ``lists``, list by list.
        """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays to save, by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model whose ``arrays()`` these are.

        Raises
        ------
        KeyError, IndexError, TypeError, ValueError or DataError
            If arrays are absent or do not fit; ``load_model`` reports a damaged file.
        """

    @abstractmethod
    def explain(self) -> list[tuple[str, float]]:
        """Return (feature, weight) rows for ``rerank show``, largest magnitude first."""

    def score(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return a score for each item, float64 (n_items), in the order of the caller's rows.

        These are the lines of the file, or the rows given to ``CandidateLists.from_arrays``, whatever their
        grouping into lists; see ``CandidateLists.input_order``. ``rerank.evaluate`` takes scores in it.

        Parameters
        ----------
        lists
            Features are matched by name; what does not match is reported (data.alignment).
        strict
            Raise an error instead of a note.

        Raises
        ------
        DataError
            If the lists have no feature of the model, a score is not finite, or the model has a keep margin
            and the lists have no first-best.
        """
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

    def _raw(self, lists: CandidateLists, strict: bool) -> Floats:
        """The scores in the order of the items, without the keep margin."""
        ready = aligned(lists, self.feature_names, strict=strict)
        if self.scaling is not None:
            ready = self.scaling.apply(ready)
        scores = self.score_aligned(ready)
        if not np.all(np.isfinite(scores)):
            item = int(np.argmin(np.isfinite(scores)))
            cause = self._cause(ready.features.take(slice(item, item + 1)).to_dense()[0])
            found = f"the score of {lists.place_of(item)} is {scores[item]}"
            raise DataError(f"{lists.source}: {found}: {cause}")
        return scores

    def _cause(self, row: Floats) -> str:
        """Return why the score of an item with the features ``row`` (n_features) is not a number."""
        weights = getattr(self, "weights", np.ones(len(row)))
        missing = np.isnan(row) & (weights != 0)
        if np.any(missing):
            return f"its feature {self.feature_names[int(np.argmax(missing))]!r} is missing (NaN)"
        with np.errstate(over="ignore"):
            j = int(np.argmax(np.abs(row * weights)))
        return f"its feature {self.feature_names[j]!r} is {row[j]:g} and has the weight {weights[j]:g}"

    def save(self, path: str) -> None:
        """Write the model file at ``path``, whole or not at all."""
        arrays = self.arrays()
        meta: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "rerank": __version__,
            "kind": self.kind,
            "training": self.training.as_json(),
            "feature_names": self.feature_names,
            "scaling": None,
            "keep_margin": plain_margin(self.keep_margin),
        }
        if self.scaling is not None:
            meta["scaling"] = self.scaling.to_meta()
            arrays |= {f"scaling.{name}": array for name, array in self.scaling.arrays().items()}
        whole = io.BytesIO()  # zip archives are written with seeks, which pipes and compressors cannot do
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
            _add(archive, "meta.json", text.encode("utf-8", "surrogateescape"))
            for name in sorted(arrays):
                member = io.BytesIO()
                np.lib.format.write_array(member, np.ascontiguousarray(arrays[name]), allow_pickle=False)
                _add(archive, f"{name}.npy", member.getvalue())
        with atomic_write(path) as out:
            out.write(whole.getbuffer())


def heaviest_first(names: list[str], weights: Floats) -> list[tuple[str, float]]:
    """Return (name, weight) rows for ``Model.explain``: largest magnitude first, without zeros."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return [(names[j], float(weights[j])) for j in order if weights[j] != 0]


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds a member dated 1980, so that the same model gives the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=1)


def plain_margin(margin: float | None) -> float | str | None:
    """Return a keep margin as JSON has it, which has no infinity: "inf" instead."""
    return "inf" if margin == math.inf else margin


def load_model(path: str) -> Model:
    """Return the model saved at ``path``.

    Parameters
    ----------
    path
        A model file; ``-`` is standard input.

    Raises
    ------
    FormatError
        If the file is not a model of this package, is damaged, or has a format version that this
        release cannot read.
    """
    expected = "a model file written by rerank"
    content = bytes(read_bytes(path))
    path = shown(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            meta = json.loads(archive.read("meta.json").decode("utf-8", "surrogateescape"))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
        version = meta["format"]
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, TypeError):
        raise FormatError(path, None, "something else, or a damaged file", expected) from None
    if version != FORMAT_VERSION:
        raise FormatError(path, None, f"model format {version}", f"format {FORMAT_VERSION}")
    try:
        return _rebuild(_Metadata.from_json(meta), arrays)
    except (LookupError, TypeError, ValueError, DataError, ConfigError) as error:
        reason = f"no array {error}" if isinstance(error, KeyError) else error
        raise FormatError(path, None, f"a damaged model ({reason})", expected) from None


class _Metadata(Record):
    """meta.json of a model file."""

    format: int
    rerank: str
    kind: str
    training: Training
    feature_names: list[str]
    scaling: dict[str, Any] | None
    keep_margin: float | None = Field(None, ge=0)


def _rebuild(meta: _Metadata, arrays: Arrays) -> Model:
    """The model of a file's parts."""
    own = {name: array for name, array in arrays.items() if not name.startswith("scaling.")}
    model = MODELS.get(meta.kind).from_arrays(meta.feature_names, own)
    model.training = meta.training
    model.keep_margin = meta.keep_margin
    if meta.scaling is not None:
        members = {n.removeprefix("scaling."): a for n, a in arrays.items() if n.startswith("scaling.")}
        model.scaling = Scaling.restore(meta.scaling, members)
    return model


MODELS = Registry("model", "rerank.models")
