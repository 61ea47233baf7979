"""What every model shares, and the model file.

A model file is a zip archive as numpy's npz: ``meta.json`` (format version, kind, learner, settings,
feature names, scaling, training data, dev score) and one .npy member for each array. Nothing in it
is executed when it is read. The same model gives the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from rerank._version import __version__
from rerank.data.leads import with_margin
from rerank.data.lists import CandidateLists
from rerank.data.scaling import Scaling
from rerank.data.types import AnyArray, Floats
from rerank.errors import DataError, FormatError
from rerank.files import atomic_write, read_bytes, shown
from rerank.registry import Registry

FORMAT_VERSION = 1
Arrays = dict[str, AnyArray]

MODELS: Registry[type[Model]]


@dataclass
class Training:
    """Where a model came from: enough to train it again, or to see that it was not."""

    learner: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    dev: dict[str, Any] = field(default_factory=dict)
    rounds: dict[str, Any] = field(default_factory=dict)
    keep: dict[str, Any] = field(default_factory=dict)
    gains: list[dict[str, Any]] = field(default_factory=list)
    seeds: dict[str, Any] = field(default_factory=dict)


class Model(ABC):
    """A scorer of candidates: larger scores are better.

    ``feature_names`` are the features by column as the model knows them; data with other columns is
    brought into that order by name (by position where either has no names), absent features are 0.
    ``keep_margin``, in units of the scores, keeps a list's first-best on top unless another item leads it by
    more (see data.leads.with_margin); None where the model has none. ``initial`` are the weights (n_features)
    that a tuner started from, None where there were none; they are not saved.
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
        """Scores (n_items) of lists whose columns are the model's and whose features are scaled."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """What to save beside the metadata."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        """The inverse of ``arrays``."""

    @abstractmethod
    def explain(self) -> list[tuple[str, float]]:
        """(what, weight) rows for ``rerank show``, heaviest first."""

    def unknown_features(self, lists: CandidateLists) -> list[str]:
        """Names of features that occur in the data and that the model does not know, and so ignores."""
        unknown = np.flatnonzero(lists.places_in(self.feature_names) < 0)
        if len(unknown):
            unknown = np.intersect1d(unknown, lists.features.occurring())
        names = lists.names()
        return [names[j] for j in unknown]

    def score(self, lists: CandidateLists) -> Floats:
        """A score for each item, float64 (n_items), in the order of the items of ``lists``.

        With a keep margin, DataError where the lists have no first stage's order.
        """
        return self.with_keep_margin(lists, self.raw_score(lists))

    def with_keep_margin(self, lists: CandidateLists, scores: Floats) -> Floats:
        """Raw scores (n_items) with the model's keep margin, where it has one."""
        return scores if self.keep_margin is None else with_margin(lists, scores, self.keep_margin)

    def raw_score(self, lists: CandidateLists) -> Floats:
        """The scores (n_items) as if there were no keep margin."""
        lists = lists.with_columns(self.feature_names)
        if self.scaling is not None:
            lists = self.scaling.apply(lists)
        return self.score_aligned(lists)

    def save(self, path: str) -> None:
        """Writes the model file at ``path``, whole or not at all."""
        arrays = self.arrays()
        meta: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "rerank": __version__,
            "kind": self.kind,
            "training": vars(self.training),
            "feature_names": self.feature_names,
            "scaling": None,
            "keep_margin": "inf"
            if self.keep_margin == math.inf
            else self.keep_margin,  # JSON has no infinity
        }
        if self.scaling is not None:
            meta["scaling"] = self.scaling.to_meta()
            arrays |= {f"scaling.{name}": array for name, array in self.scaling.arrays().items()}
        whole = io.BytesIO()  # an archive is written by going back: no pipe or compressor can do that
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
            _add(archive, "meta.json", text.encode("utf-8", "surrogateescape"))
            for name in sorted(arrays):
                member = io.BytesIO()
                np.lib.format.write_array(member, np.ascontiguousarray(arrays[name]), allow_pickle=False)
                _add(archive, f"{name}.npy", member.getvalue())
        with atomic_write(path) as out:
            out.write(whole.getbuffer())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980: the same model, the same bytes
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=1)


def load_model(path: str) -> Model:
    """The model saved at ``path``; ``-`` is standard input.

    Raises FormatError where the file is no model of this package, or of a version it cannot read.
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
        version, kind = meta["format"], meta["kind"]
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, TypeError):
        raise FormatError(path, None, "something else, or a damaged file", expected) from None
    if version != FORMAT_VERSION:
        raise FormatError(path, None, f"model format {version}", f"format {FORMAT_VERSION}")
    try:
        return _rebuild(MODELS.get(kind), meta, arrays)
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise FormatError(path, None, f"a damaged model ({error})", expected) from None


def _rebuild(owner: type[Model], meta: dict[str, Any], arrays: Arrays) -> Model:
    model = owner.from_arrays(
        list(meta["feature_names"]), {n: a for n, a in arrays.items() if not n.startswith("scaling.")}
    )
    model.training = Training(**meta["training"])
    if meta["scaling"] is not None:
        members = {n.removeprefix("scaling."): a for n, a in arrays.items() if n.startswith("scaling.")}
        model.scaling = Scaling.restore(meta["scaling"], members)
    if meta.get("keep_margin") is not None:
        model.keep_margin = float(meta["keep_margin"])
        if not model.keep_margin >= 0:
            raise DataError(f"a keep margin of {model.keep_margin}")
    return model


MODELS = Registry("model", "rerank.models")
