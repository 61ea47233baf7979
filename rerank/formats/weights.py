"""Files of weights by feature name: what other tools' tuners and decoders read and write."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError, FormatError
from rerank.files import read_bytes, read_head, shown, write_lines
from rerank.native.data._number import parse
from rerank.registry import Registry

_BLLIP_LINE = re.compile(rb"\s*[0-9]+=[-+0-9.eE]+\s*$")


@dataclass(frozen=True)
class WeightOptions:
    """What some formats need beside the file; one that has no use for an option refuses it.

    feature_names : path of a list of names that says each feature's id (bllip).
    ini : path of a file whose other content is kept when weights are written (moses-ini).
    """

    feature_names: str | None = None
    ini: str | None = None


class WeightsFormat(ABC):
    """A file format of weights. Register a subclass with ``WEIGHTS.register(name)``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    honours: ClassVar[frozenset[str]] = frozenset()  # the options that mean something here

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Whether content that starts with ``head`` can only be of this format."""
        return False

    @abstractmethod
    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        """Names (n) and weights (n); raises FormatError at the first fault."""

    @abstractmethod
    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Writes weights (n), finite, of the features ``names``; DataError where a name does not fit."""


WEIGHTS: Registry[type[WeightsFormat]] = Registry("weights format", "rerank.formats")


def read_weights(
    path: str, format: str | None = None, options: WeightOptions | None = None
) -> tuple[list[str], Floats]:
    """Names (n) and weights (n) of a file, its format by content where none is given; tsv else."""
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
    """Writes weights (n) by name in a format; raises DataError where one is not finite."""
    target = _checked(format, options)
    if not np.isfinite(weights).all():
        name = names[int(np.argmin(np.isfinite(weights)))]
        raise DataError(f"{path}: the weight of feature {name!r} is not finite")
    target.write(path, names, weights, options or WeightOptions())


def _checked(format: str, options: WeightOptions | None) -> WeightsFormat:
    found = WEIGHTS.get(format)()
    for name, value in vars(options or WeightOptions()).items():
        if value is not None and name not in found.honours:
            raise ConfigError(f"weights of format {found.name} have no use for --{name.replace('_', '-')}")
    return found


def weight_of(token: bytes, path: str, line: int) -> float:
    """The finite number that ``token`` spells; FormatError else."""
    value = parse(token)
    if value is None or not np.isfinite(value):
        text = token.decode("utf-8", "backslashreplace")[:40]
        raise FormatError(path, line, repr(text) if text else "nothing", "a weight (a finite number)")
    return value


@WEIGHTS.register("tsv")
class Tsv(WeightsFormat):
    """A name, a tab and its weight on each line."""

    name = "tsv"
    summary = "name<TAB>weight a line"

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        source = shown(path)
        weights: dict[str, float] = {}
        data = bytes(read_bytes(path)).removeprefix(b"\xef\xbb\xbf")
        for number, line in enumerate(data.split(b"\n"), start=1):
            line = line.removesuffix(b"\r")
            if not line.strip():
                continue
            name, tab, value = line.rpartition(b"\t")
            text = name.decode("utf-8", "surrogateescape")
            if not tab or not text:
                found = line.decode("utf-8", "backslashreplace")[:40]
                raise FormatError(source, number, repr(found), "name<TAB>weight")
            if text in weights:
                raise FormatError(source, number, f"feature {text!r} again", "each feature once")
            weights[text] = weight_of(value.strip(), source, number)
        if not weights:
            raise FormatError(source, None, "no weights", "lines 'name<TAB>weight'")
        return list(weights), np.array(list(weights.values()))

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        for name in names:
            if "\n" in name or not name:
                raise DataError(f"{path}: the feature name {name!r} does not fit on a line")
        write_lines(path, (f"{n}\t{w!r}" for n, w in zip(names, weights.tolist(), strict=True)))


@WEIGHTS.register("bllip")
class Bllip(WeightsFormat):
    """BLLIP's reranker: id=weight a line."""

    name = "bllip"
    summary = "id=weight a line (BLLIP's reranker)"
    honours = frozenset({"feature_names"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(_BLLIP_LINE.match(head.split(b"\n", 1)[0]))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        from rerank.formats.bllip import weights as bllip_weights

        return bllip_weights.read_weights(path, options.feature_names)

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        from rerank.formats.bllip import weights as bllip_weights

        bllip_weights.write_weights(path, names, weights, options.feature_names)
