"""The registry of formats of other programs, and the two calls: export and import."""

from __future__ import annotations

import warnings
from abc import ABC
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.core.files.read import opening_once, read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.registry import Registry, did_you_mean
from rerank.data.names import numbered
from rerank.formats.sources import check_outputs, inputs_of
from rerank.formats.weights import WEIGHTS
from rerank.models.base import Model, load_model
from rerank.models.exchange.columns import without_first
from rerank.models.exchange.portable import Portable, portable
from rerank.models.preference import PreferenceModel

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

    def read(self, path: str, options: ImportOptions) -> Model:
        """Return the model of a file; DataError or FormatError if it is damaged or has other parts."""
        content, source = bytes(read_bytes(path)), shown(path)
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


def writers() -> list[str]:
    """Return the names of the formats that are written."""
    return sorted([*(name for name in EXCHANGE.names() if EXCHANGE.fact(name, "writes")), *WEIGHTS.names()])


def readers() -> list[str]:
    """Return the names of the formats that are read."""
    return sorted([*(name for name in EXCHANGE.names() if EXCHANGE.fact(name, "reads")), *WEIGHTS.names()])


def _format(name: str, options: ExportOptions | ImportOptions) -> ExchangeFormat:
    """The format of a name; ConfigError if it is unknown, goes the other way alone, or lacks an option."""
    writing = isinstance(options, ExportOptions)
    known, verb = (writers(), "exported to") if writing else (readers(), "imported from")
    if name not in [*known, *EXCHANGE.offers()]:
        other = name in EXCHANGE.names()  # which goes the other way
        hint = f"known: {', '.join(known)}" if other else did_you_mean(name, known)
        raise ConfigError(f"models are not {verb} {name}; {hint}")
    if name in WEIGHTS.names():
        from rerank.models.exchange.weights import WeightFile

        found: ExchangeFormat = WeightFile(name)
    else:
        found = EXCHANGE.get(name)()
    if isinstance(options, ImportOptions) and options.first_column not in (None, 0, 1):
        raise ConfigError(f"--first-column: found {options.first_column}, expected 0 or 1")
    for option, value in vars(options).items():
        if value is not None and option not in found.honours:
            raise ConfigError(f"--{option.replace('_', '-')}: not used by the format {name}")
    return found


@opening_once
def export(
    model: Model | str,
    out: str,
    to: str,
    *,
    names: str | Mapping[str, str] | None = None,
    name: str | None = None,
    dialect: str | None = None,
    ini: str | None = None,
    feature_names: str | None = None,
) -> Model:
    """Write a model for another program.

    Parameters
    ----------
    model : Model or str
        A model, or the file of one.
    out : str
        The file to write; "-" is standard output.
    to : str
        A format; ``rerank help exchange`` describes them.
    names : str or mapping, optional
        Other names for features: a mapping, or a file with lines OLD<TAB>NEW.
    name : str, optional
        What the function or the model on a server is called.
    dialect : str, optional
        sqlite, duckdb or postgresql (sql).
    ini : str, optional
        A moses.ini whose other content is kept (moses-ini).
    feature_names : str, optional
        File with the id of each feature (bllip).

    Returns
    -------
    Model
        The model that was written.

    Raises
    ------
    RerankError
        If a file cannot be read or written, the format is unknown or does not use an option, or the model
        has a part that the format cannot express, such as a scaling within lists.

    Warns
    -----
    DataNote
        Of what the other program has to do by itself, such as the keep margin.
    """
    check_outputs(
        {"--out": out}, [path for path in (model, names, ini, feature_names) if isinstance(path, str)]
    )
    options = ExportOptions(name, dialect, ini, feature_names)
    format = _format(to, options)
    source = shown(model) if isinstance(model, str) else "the model"
    loaded = load_model(model) if isinstance(model, str) else model
    if names is not None:
        mapping = _read_names(names) if isinstance(names, str) else dict(names)
        loaded = _renamed(loaded, mapping)
    format.write(loaded, source, out, options)
    if loaded.calibration is not None and to != "json":
        note(f"{source}: its calibration is of choices in lists, not of scores, so it is left out")
    if loaded.keep_margin is not None and MARGIN not in format.holds:
        note(f"{source}: its keep margin {loaded.keep_margin:.6g} is no part of a score, so it is left out")
    return loaded


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


def _read_names(path: str) -> dict[str, str]:
    """The pairs of a file of names; FormatError at the first fault."""
    found: dict[str, str] = {}
    for number, line in enumerate(bytes(read_bytes(path)).decode("utf-8", "surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        old, tab, new = line.partition("\t")
        if not (old and tab and new) or "\t" in new:
            raise FormatError(shown(path), number, repr(line), "OLD<TAB>NEW")
        if old in found:
            raise FormatError(shown(path), number, f"feature {old!r} again", "each feature once")
        found[old] = new
    return found


@opening_once
def import_model(
    path: str,
    out: str,
    format: str | None = None,
    *,
    names: str | None = None,
    first_column: int | None = None,
    feature_names: str | None = None,
    tree_names: Sequence[str] | None = None,
) -> Model:
    """Make a model from a file of another program, and write it.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    out : str
        The model file.
    format : str, optional
        A format; None = by content.
    names : str, optional
        File with lines OLD<TAB>NEW: other names for features.
    first_column : int, optional
        Number of the first column of a model of LightGBM or XGBoost whose features have no names: 1, or 0 if
        it was trained on an SVMlight file, in which column 0 is never used. By default 1, but 0 if LightGBM's
        file says that column 0 had no values.
    feature_names : str, optional
        File with the id of each feature (bllip).
    tree_names : sequence of str, optional
        Names of an item's trees, in the order of the file (svmtk); by default tree, or tree1, tree2, ...

    Returns
    -------
    Model
        It scores, is judged, explained and exported as any other.

    Raises
    ------
    RerankError
        If a file cannot be read or written, is damaged, or has a part that no model of this package has.
    """
    check_outputs({"--out": out}, inputs_of(path, None, names, feature_names))
    model = read_model(
        path,
        format,
        names=names,
        first_column=first_column,
        feature_names=feature_names,
        tree_names=tree_names,
    )
    model.save(out)
    return model


@opening_once
def read_model(path: str, format: str | None = None, names: str | None = None, **options: Any) -> Model:
    """Return the model of a file of another program; options and errors are those of ``import_model``."""
    source, given = shown(path), ImportOptions(**options)
    if format is None:
        format = _recognised(path)
        note(f"{source}: read as {format} (by content)")
    model = _format(format, given).read(path, given)
    if names is not None:
        model = _renamed(model, _read_names(names))
    model.training.notes = {"imported from": format}
    return model


def _recognised(path: str) -> str:
    """The format of a file's content; FormatError if none or several match."""
    content = bytes(read_bytes(path))
    found = [
        name
        for name in readers()
        if (WEIGHTS if name in WEIGHTS.names() else EXCHANGE).get(name).recognises(content)
    ]
    if len(found) != 1:
        expected = f"--from with one of {', '.join(readers())}"
        raise FormatError(shown(path), None, "a model of unknown format", expected)
    return found[0]


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


def _renamed(model: Model, names: Mapping[str, str]) -> Model:
    """Return the model with other names of features; ConfigError if there is none, or two are equal."""
    if isinstance(model, PreferenceModel):
        raise ConfigError("--names: the features of support items keep their names")
    inputs = model.feature_names[: len(model.input_names) + sum(len(s.names) for s in model.chain.sources)]
    unknown = next((old for old in names if old not in set(inputs)), None)
    if unknown is not None:
        raise ConfigError(f"--names: the model has no feature {unknown!r}")
    new = [names.get(name, name) for name in inputs]
    if model.imputation is not None:
        new += model.imputation.indicators(new)
    if len(set(new)) < len(new):
        twice = next(name for name, n in Counter(new).items() if n > 1)
        raise ConfigError(f"--names: two features would be called {twice!r}")
    other = copy(model)
    other.feature_names = new
    return other


def note(text: str) -> None:
    """Warn with a DataNote."""
    warnings.warn(text, DataNote, stacklevel=3)
