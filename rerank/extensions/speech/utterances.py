"""The common part of readers of recognisers' N-best lists: hypotheses become the candidates of a list."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import shown
from rerank.data.lists import CandidateLists
from rerank.extensions.speech.references import with_references
from rerank.formats.base import Format, ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import OF_ANY, finite, note, quoted
from rerank.formats.jsonl.read import ListReader
from rerank.formats.jsonl.schema import MisfitError


@dataclass(slots=True)
class Hypothesis:
    """One hypothesis: its text, the recogniser's total score (None = not known) and named features."""

    text: str
    score: float | None = None
    features: dict[str, float] = field(default_factory=dict)

    def candidate(self) -> dict[str, Any]:
        """Return it as a candidate of JSON Lines; lengths of the text are features too."""
        lengths = {"n_words": len(self.text.split()), "n_chars": len("".join(self.text.split()))}
        total = {} if self.score is None else {"score": self.score}
        return {"text": self.text, **total, "features": {**total, **self.features, **lengths}}


@dataclass(slots=True)
class Utterance:
    """The N-best list of one utterance, in the recogniser's order, and its reference if the file has it."""

    name: str
    hypotheses: list[Hypothesis]
    reference: str | None = None
    line: int = 0


class Recogniser(Format):
    """Base of formats of recognisers, which are only read.

    Each list has the id of its utterance. Features: ``score``, the recogniser's total, which is the base
    score too; what else the format has; ``n_words`` and ``n_chars`` (code points without white space).
    Texts are those of the file; see ``rerank help speech`` for normalisers. ``refs`` names references by
    utterance, see ``references.with_references``.
    """

    honours: ClassVar[frozenset[str]] = OF_ANY
    reads_references: ClassVar[bool] = True

    @abstractmethod
    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        """Yield the N-best lists of a file or folder; raises FormatError."""

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        reader = ListReader(shown(path), options, "hypotheses", "id")
        for utterance in self.utterances(path, options):
            known = {} if utterance.reference is None else {"reference": utterance.reference}
            candidates = [hypothesis.candidate() for hypothesis in utterance.hypotheses]
            try:
                reader.add({"id": utterance.name, **known, "hypotheses": candidates}, utterance.line)
            except MisfitError as misfit:
                raise misfit.at(shown(path), utterance.line or None) from None
        reader.flush()
        return with_references(reader.finish(), options.refs)

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: {self.name} is read only; write jsonl or store")


def merged(paths: Sequence[str], files: Sequence[dict[str, Utterance]]) -> Iterator[Utterance]:
    """Yield the utterances of several files, those of one id joined.

    Features file_1, file_2, ..., 1 for the file's own hypotheses, tell them apart if there are several.
    Raises FormatError if two files have different references of an utterance.
    """
    if len(files) == 1:
        yield from files[0].values()
        return
    lists: dict[str, Utterance] = {}
    for place, own in enumerate(files):
        for utterance in own.values():
            whole = lists.setdefault(utterance.name, Utterance(utterance.name, [], utterance.reference))
            if whole.reference != utterance.reference:
                found = f"another reference of {quoted(utterance.name)}"
                raise FormatError(shown(paths[place]), utterance.line or None, found, "one for all files")
            for hypothesis in utterance.hypotheses:
                hypothesis.features |= {f"file_{i + 1}": float(i == place) for i in range(len(files))}
            whole.hypotheses += utterance.hypotheses
    lacking = sum(len(own) < len(lists) for own in files)
    if lacking:
        note(f"{shown(paths[0])}: {lacking} of {len(files)} files lack utterances that others have")
    yield from lists.values()


def table_of(path: str) -> dict[str, tuple[str, int]]:
    """Return the rest of each line and its number by the line's first word, as Kaldi's text archives have it.

    Raises FormatError if a key occurs twice, the file is empty or its text is not UTF-8.
    """
    found: dict[str, tuple[str, int]] = {}
    for number, line in filled_lines(path):
        key, _, rest = decoded(line, path, number).strip().replace("\t", " ").partition(" ")
        if key in found:
            expected = f"each utterance once (it is on line {found[key][1]})"
            raise FormatError(shown(path), number, f"{quoted(key)} again", expected)
        found[key] = rest.strip(), number
    if not found:
        raise FormatError(shown(path), None, "an empty file", "lines of an utterance and its value")
    return found


def numbers_of(path: str, keys: dict[str, Any], other: str) -> dict[str, float]:
    """Return the number of each of ``keys`` in a file of a key and a number per line.

    A number may be printed as PyTorch does it, ``tensor(-1.5, device='cuda:0')``. Raises FormatError if a
    key of the file ``other`` is absent, or a value is not a finite number.
    """
    table = table_of(path)
    missing = next((key for key in keys if key not in table), None)
    if missing is not None:
        raise FormatError(shown(path), None, f"no line of {quoted(missing)}", f"one, as {other} has")
    extra = next((key for key in table if key not in keys), None)
    if extra is not None:
        found = f"{quoted(extra)}, which {other} lacks"
        raise FormatError(shown(path), table[extra][1], found, "the same utterances in both")
    return {key: finite(plain_number(table[key][0]), shown(path), table[key][1], "score") for key in keys}


def plain_number(text: str) -> bytes:
    """Return what is in the brackets of ``tensor(...)`` up to a comma, anything else as it is."""
    if text.startswith("tensor(") and text.endswith(")"):
        text = text[len("tensor(") : -1].partition(",")[0]
    return text.encode()


def decoded(line: bytes, path: str, number: int) -> str:
    """Return a line as text; raises FormatError if it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise FormatError(shown(path), number, "bytes that are not UTF-8", "text in UTF-8") from None


def files_in(folder: str) -> list[str]:
    """Return the names of the files in a folder, sorted, without hidden ones; raises FormatError."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise FormatError(folder, None, f"a folder that cannot be read ({error.strerror})", "files") from None
    return [name for name in names if name[0] != "." and os.path.isfile(os.path.join(folder, name))]
