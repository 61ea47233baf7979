"""Files of weights by feature name, as other tools' tuners and decoders read and write them."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import opening_once, read_bytes, read_head, shown
from rerank.core.files.write import write_lines
from rerank.core.registry import Registry
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.formats.buffers import BOM
from rerank.formats.common import finite, quoted


@dataclass(frozen=True)
class WeightOptions:
    """Options of some formats; a format that does not use an option refuses it.

    Attributes
    ----------
    feature_names : path of a list of names that gives each feature's id (bllip).
    ini : path of a file whose other content is kept when weights are written (moses-ini).
    """

    feature_names: str | None = None
    ini: str | None = None


class WeightsFormat(ABC):
    """A file format of weights. Register a subclass with ``WEIGHTS.register(name)``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    honours: ClassVar[frozenset[str]] = frozenset()  # the options that the format uses

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether content that starts with ``head`` can only be of this format."""
        return False

    @abstractmethod
    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        """Return names (n) and weights (n); raises FormatError at the first fault."""

    @abstractmethod
    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write finite weights (n) of the features ``names``; raises DataError if a name does not fit."""


WEIGHTS: Registry[type[WeightsFormat]] = Registry("weights format", "rerank.formats")


@opening_once
def read_weights(
    path: str, format: str | None = None, options: WeightOptions | None = None
) -> tuple[list[str], Floats]:
    """Return the names (n) and weights (n) of a file.

    format : None finds it by the content; tsv if no other one matches. Raises FormatError at the first fault.
    """
    if format is None:
        head = read_head(path)
        if head.startswith(b"PK\x03\x04"):
            raise FormatError(shown(path), None, "a model or another archive", "a file of weights")
        known = [name for name in WEIGHTS.names() if WEIGHTS.get(name).recognises(head)]
        format = known[0] if known else "tsv"
    return _checked(format, options).read(path, options or WeightOptions())


def write_weights(
    path: str, names: Sequence[str], weights: Floats, format: str, options: WeightOptions | None = None
) -> None:
    """Write weights by name.

    Parameters
    ----------
    path : the file, "-" = standard output.
    names, weights : the names of features (n) and their weights, float64 (n).
    format : name of the format of weights.
    options : what the format needs beside them, such as an ini file to change.

    Raises
    ------
    DataError
        If a weight is not finite, or the format cannot hold a name.
    """
    target = _checked(format, options)
    if len(names) != len(weights):
        raise DataError(f"{path}: {count(len(weights), 'weight')} for {count(len(names), 'feature')}")
    if not np.isfinite(weights).all():
        name = names[int(np.argmin(np.isfinite(weights)))]
        raise DataError(f"{path}: the weight of feature {name!r} is not finite")
    target.write(path, names, weights, options or WeightOptions())


def _checked(format: str, options: WeightOptions | None) -> WeightsFormat:
    found = WEIGHTS.get(format)()
    for name, value in vars(options or WeightOptions()).items():
        if value is not None and name not in found.honours:
            raise ConfigError(f"weights of format {found.name} do not use --{name.replace('_', '-')}")
    return found


def weight_lines(path: str, form: str) -> Iterator[tuple[str, int, bytes]]:
    """Yield the lines of ``form`` that are not blank: the file's name, the number from 1, the line.

    Raises FormatError if there are none.
    """
    source, empty = shown(path), True
    data = io.BytesIO(bytes(read_bytes(path)).removeprefix(BOM))
    for number, line in enumerate(data, start=1):
        if line.strip():
            empty = False
            yield source, number, line.removesuffix(b"\n").removesuffix(b"\r")
    if empty:
        raise FormatError(source, None, "no weights", f"lines '{form}'")


def weight_of(token: bytes, path: str, line: int) -> float:
    """Return the finite number that ``token`` spells; raises FormatError otherwise."""
    if not token:
        raise FormatError(path, line, "nothing", "a weight (a finite number)")
    return finite(token, path, line, "weight")


@WEIGHTS.register("tsv")
class Tsv(WeightsFormat):
    """Reader and writer of lines of a name, a tab and its weight."""

    name = "tsv"
    summary = "name<TAB>weight per line"

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        weights: dict[str, float] = {}
        for source, number, line in weight_lines(path, "name<TAB>weight"):
            name, tab, value = line.rpartition(b"\t")
            text = name.decode("utf-8", "surrogateescape")
            if not tab or not text:
                raise FormatError(source, number, quoted(line), "name<TAB>weight")
            if text in weights:
                raise FormatError(source, number, f"feature {quoted(name)} again", "each feature once")
            weights[text] = weight_of(value.strip(), source, number)
        return list(weights), np.array(list(weights.values()))

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        for name in names:
            if "\n" in name or not name:
                raise DataError(f"{path}: the feature name {name!r} does not fit on a line")
        write_lines(path, (f"{n}\t{w!r}" for n, w in zip(names, weights.tolist(), strict=True)))
