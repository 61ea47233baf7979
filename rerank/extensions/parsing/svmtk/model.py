"""Model files of SVM-light-TK: the parameters of the kernel, a threshold and support vectors as examples."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.core.files.write import atomic_write
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.svmtk import texts_of
from rerank.extensions.parsing.svmtk.examples import Lines, named_trees
from rerank.formats.base import ReadOptions
from rerank.formats.builders import each_line
from rerank.formats.common import finite, quoted

HEAD = b"SVM-light Version V5.01-TK-1.5"
_VERSION = re.compile(rb"SVM-light Version \S*TK\S*")
_NAMES = {
    "t": "kernel type",
    **{letter: f"kernel parameter -{letter}" for letter in "dgsruLTCFSMNVWU"},
    "features": "highest feature index",
    "documents": "number of training documents",
    "support": "number of support vectors plus 1",
    "b": "threshold b",
}
_MOST_HEADER = 100


@dataclass(frozen=True)
class SvmtkModel:
    """Content of a model file."""

    parameters: Mapping[str, str]  # of the kernel, by the letter of the option, such as "F", as text
    threshold: float  # b; the value of an example is the sum over support vectors less b
    pairs: bool  # whether support vectors are pairs, as -W R and -V R take them
    support: CandidateLists  # the support vectors as one list; of pairs, candidate one and two in turn
    coefficients: Floats  # alpha times y of each support vector
    n_documents: int = 0  # training examples


def is_model(content: bytes) -> bool:
    """Return whether content begins as a model of SVM-light-TK."""
    return _VERSION.match(content) is not None


def read_model(path: str) -> SvmtkModel:
    """Read a model file; raises FormatError at the first bad line."""
    source, lines = shown(path), each_line(path)
    first = next(lines, b"")
    if not _VERSION.match(first):
        raise FormatError(source, 1, quoted(first), f"a model of SVM-light-TK ({HEAD.decode()!r})")
    values, n_header = _header(lines, source)
    numbers = {
        name: finite(values[name].encode(), source, line, _NAMES[name])
        for line, name in enumerate(values, start=2)
        if name in ("b", "support", "documents")
    }
    parameters = {name: value for name, value in values.items() if len(name) == 1 and name != "b"}
    used = {"T": "W", "V": "V"}.get(parameters["C"], "WV")  # of trees, of vectors
    pairs = any(parameters[letter] == "R" for letter in used)
    body = itertools.chain([b"\n" * n_header], (line + b"\n" for line in lines))
    if numbers["support"] == 1:
        raise FormatError(source, n_header, "no support vector", "one at least")
    examples = Lines(_blocks(body), source, ReadOptions(), pairs=pairs)
    if examples.n != numbers["support"] - 1:
        expected = f"{numbers['support'] - 1:g}, as its header says"
        raise FormatError(source, None, f"{examples.n} support vectors", expected)
    _, items = examples.items()
    trees, structures = named_trees(examples.trees(), [], source)
    support = CandidateLists(
        np.array([0, items.features.n_items]),
        items.features,
        feature_names=items.names,
        trees=trees,
        structures=structures,
        source=source,
    )
    n_documents = int(numbers["documents"])
    return SvmtkModel(parameters, numbers["b"], pairs, support, items.labels, n_documents)


def _header(lines: Iterator[bytes], source: str) -> tuple[dict[str, str], int]:
    """The values of the header's lines by name, and how many lines there are with the first one."""
    names = {what: name for name, what in _NAMES.items()}
    values: dict[str, str] = {}
    for number, line in enumerate(itertools.islice(lines, _MOST_HEADER), start=2):
        value, hash_, comment = line.decode("utf-8", "backslashreplace").partition("#")
        what = comment.partition(",")[0].strip()
        if not hash_ or what not in names:
            raise FormatError(source, number, quoted(line), "VALUE # kernel parameter, as in a header")
        if names[what] in values:
            raise FormatError(source, number, f"{what} again", "each parameter once")
        values[names[what]] = value.strip()
        if names[what] == "b":
            break
    lacking = [what for name, what in _NAMES.items() if name not in values]
    if lacking:
        raise FormatError(source, None, f"no line '# {lacking[0]}'", "all lines of a header")
    return values, 1 + len(values)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in blocks."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if size > 1 << 20:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


def write_model(model: SvmtkModel, path: str) -> None:
    """Write a model file; raises DataError if a line cannot hold the trees or features.

    A pair is a candidate one and an empty candidate two: a support vector for each item of ``support``.
    """
    texts = texts_of(model.support, path, "svmtk")
    values = {
        **model.parameters,
        "features": str(max(model.support.n_features, 1)),
        "documents": str(model.n_documents),
        "support": str(model.support.n_items + 1),
        "b": f"{model.threshold!r}",
    }
    with atomic_write(path) as file:
        file.write(HEAD + b"\n")
        for name, what in _NAMES.items():
            blank = "" if name == "u" else " "  # the program reads -u up to the #
            ending = ", each following line is a SV (starting with alpha*y)" if name == "b" else ""
            file.write(f"{values[name]}{blank}# {what}{ending}\n".encode())
        for item, coefficient in enumerate(model.coefficients.tolist()):
            file.write(texts.line(repr(coefficient).encode(), [item], n_sides=1 + model.pairs) + b"\n")
