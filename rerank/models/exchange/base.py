"""The registry of formats of other programs."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.registry import Registry
from rerank.data.names import numbered
from rerank.models.base import Model
from rerank.models.exchange.columns import without_first
from rerank.models.exchange.portable import Portable, portable

_PARSED = 20  # bytes of memory for a byte of a file, about
LINEAR, STEPS, TREES, COUNTED, BASE_SCORE = "linear", "steps", "trees", "combmnz", "base"
MIXED, MARGIN = "mixed", "margin"  # sums of several parts, and keep margins
_PARTS = {
    LINEAR: "weights of features",
    STEPS: "thresholds of features",
    TREES: "trees",
    COUNTED: "the number of systems that retrieved an item",
    BASE_SCORE: "a weight of the first stage's score",
}


@dataclass(frozen=True)
class ExportOptions:
    """Options of some formats; a format that does not use an option refuses it.

    name : what the function or model is called.
    dialect : dialect of SQL.
    ini : path of a moses.ini whose other content is kept.
    feature_names : path of a list of names that gives each feature's id (bllip).
    """

    name: str | None = None
    dialect: str | None = None
    ini: str | None = None
    feature_names: str | None = None


@dataclass(frozen=True)
class ImportOptions:
    """Options of some formats; a format that does not use an option refuses it.

    first_column : number of the first column of features without names, 0 or 1.
    feature_names : path of a list of names that gives each feature's id (bllip).
    tree_names : names of an item's trees, in the order of the file (svmtk).
    """

    first_column: int | None = None
    feature_names: str | None = None
    tree_names: Sequence[str] | None = None


class ExchangeFormat(ABC):
    """A format of models. Register a subclass with ``EXCHANGE.register(name)``.

    Attributes
    ----------
    summary : one line for lists.
    holds : parts of scorers that it can express: ``LINEAR`` and others of this module.
    writes : whether models are exported to it.
    reads : whether models are imported from it.
    columns_from_0 : whether its files number columns from 0, so that feature 1 of SVMlight files is column 1.
    honours : fields of ``ExportOptions`` and ``ImportOptions`` that it uses.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    holds: ClassVar[frozenset[str]] = frozenset()
    writes: ClassVar[bool] = False
    reads: ClassVar[bool] = False
    columns_from_0: ClassVar[bool] = False
    honours: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        """Return whether content can only be of this format."""
        return False

    @classmethod
    def without_values(cls, content: bytes) -> bool:
        """Return whether a file says that column 0 had no values in training."""
        return False

    def write(self, model: Model, source: str, out: str, options: ExportOptions) -> None:
        """Write a model to ``out``; ConfigError if the format cannot express a part of it.

        - ``source``: where the model is from, for messages.
        """
        scorer = portable(model, source)
        check_parts(scorer, self, source)
        text = self.text(scorer, options)
        with atomic_write(out) as file:
            file.write(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)

    def text(self, scorer: Portable, options: ExportOptions) -> str | bytes:
        """Return the content of a file; ConfigError if the format cannot express a part of the scorer."""
        raise NotImplementedError

    def read(self, path: str, options: ImportOptions, content: bytes | None = None) -> Model:
        """Return the model of a file; DataError or FormatError if it is damaged or has other parts.

        - ``content``: that of the file, if it was read.
        """
        content, source = bytes(read_bytes(path)) if content is None else content, shown(path)
        memory.require(_PARSED * len(content), f"a model of {len(content):,} bytes")
        with _errors_of(source):
            model = self.model(content, source)
            if self.columns_from_0 and model.feature_names == numbered(len(model.feature_names)):
                return _numbered_from(model, options.first_column, self.without_values(content), source)
            if options.first_column is not None:
                raise DataError("names of features, which --first-column would not change")
        return model

    def model(self, content: bytes, source: str) -> Model:
        """Return the model of a file's content; DataError or FormatError if it is damaged or has other parts.

        Nothing is executed, and sizes are checked before anything is allocated by them.
        """
        raise NotImplementedError


EXCHANGE: Registry[type[ExchangeFormat]] = Registry(
    "exchange",
    "rerank.models.exchange",
    "rerank.extensions",
    facts=("writes", "reads"),
    base=lambda: ExchangeFormat,
)


def check_parts(scorer: Portable, entry: ExchangeFormat, source: str) -> None:
    """Raise ConfigError if a format cannot express a part of a scorer."""
    parts = {
        LINEAR: bool(scorer.terms),
        STEPS: bool(scorer.steps),
        TREES: bool(scorer.trees),
        COUNTED: scorer.counted,
        BASE_SCORE: scorer.base_weight is not None,
    }
    lacking = [_PARTS[part] for part, there in parts.items() if there and part not in entry.holds]
    if lacking:
        needed = {p for p, there in parts.items() if there}
        fit = [name for name in EXCHANGE.names() if needed <= EXCHANGE.get(name).holds]
        raise ConfigError(f"{source}: {entry.name} cannot express {lacking[0]}; {', '.join(fit)} can")
    summed = parts[LINEAR] or parts[BASE_SCORE]
    if MIXED not in entry.holds and summed and (parts[STEPS] or parts[TREES]):
        raise ConfigError(f"{source}: {entry.name} cannot add weights of features to thresholds; python can")


def _numbered_from(model: Model, first: int | None, empty: bool, source: str) -> Model:
    """Return a model of columns without names with numbers from 1, or without column 0, which is not used.

    - ``empty``: whether the file says that column 0 had no values.
    """
    unused = portable(model, source).used()[:1] != [0]
    if first is None and unused and empty:
        text = f"{source}: column 0 had no values, so columns are numbered as in SVMlight files"
        note(f"{text}: --first-column 0")
        first = 0
    elif first is None and unused and len(model.feature_names) > 1:
        text = f"{source}: column 0 is feature 1, and nothing uses it; after training on an SVMlight file"
        note(f"{text}, whose numbers count from 1, column 1 is: --first-column 0")
    if first != 0:
        return model
    if not unused or len(model.feature_names) < 2:
        raise DataError("a model that uses column 0, which --first-column 0 leaves out")
    return without_first(model)


@contextmanager
def _errors_of(source: str) -> Iterator[None]:
    """Let errors begin with the file's name."""
    try:
        yield
    except DataError as error:
        raise FormatError(source, None, str(error), "a model that can be scored") from None
    except RecursionError:
        raise FormatError(source, None, "values nested too deeply", "a model that can be scored") from None


def note(text: str) -> None:
    """Warn with a DataNote."""
    warnings.warn(text, DataNote, stacklevel=3)
