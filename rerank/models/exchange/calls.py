"""Export and import of models: the two calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.read import opening_once, read_bytes, shown
from rerank.core.registry import did_you_mean
from rerank.formats.sources import check_outputs, inputs_of
from rerank.formats.weights import WEIGHTS
from rerank.models.base import Model, load_model
from rerank.models.exchange.base import EXCHANGE, MARGIN, ExchangeFormat, ExportOptions, ImportOptions, note
from rerank.models.exchange.weights import WeightFile
from rerank.models.preference import PreferenceModel


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
    source, given, content = shown(path), ImportOptions(**options), None
    if format is None:
        content = bytes(read_bytes(path))
        format = _recognised(content, source)
        note(f"{source}: read as {format} (by content)")
    model = _format(format, given).read(path, given, content)
    if names is not None:
        model = _renamed(model, _read_names(names))
    model.training.notes = {"imported from": format}
    return model


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
        found: ExchangeFormat = WeightFile(name)
    else:
        found = EXCHANGE.get(name)()
    if isinstance(options, ImportOptions) and options.first_column not in (None, 0, 1):
        raise ConfigError(f"--first-column: found {options.first_column}, expected 0 or 1")
    for option, value in vars(options).items():
        if value is not None and option not in found.honours:
            raise ConfigError(f"--{option.replace('_', '-')}: not used by the format {name}")
    return found


def _recognised(content: bytes, source: str) -> str:
    """The format of a file's content; FormatError if none or several match."""
    found = [
        name
        for name in readers()
        if (WEIGHTS if name in WEIGHTS.names() else EXCHANGE).get(name).recognises(content)
    ]
    if len(found) != 1:
        expected = f"--from with one of {', '.join(readers())}"
        raise FormatError(source, None, "a model of unknown format", expected)
    return found[0]


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


def _renamed(model: Model, names: Mapping[str, str]) -> Model:
    """Return the model with other names of features; ConfigError if one is unknown, or two are equal."""
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
