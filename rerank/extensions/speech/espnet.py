"""N-best lists of ESPnet: folders ``1best_recog``, ``2best_recog``, ..., and the JSON of ESPnet 1."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.extensions.speech.utterances import Hypothesis, Recogniser, Utterance, numbers_of, table_of
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.buffers import BOM
from rerank.formats.common import quoted
from rerank.formats.jsonl.read import parsed
from rerank.formats.jsonl.schema import MisfitError, described, number_of

_RANK = re.compile(r"(?P<rank>[1-9][0-9]{0,8})best_recog")
_JOB = re.compile(r"output\.[0-9]+")
_FOLDERS = "folders 1best_recog, 2best_recog, ... with the files text and score"


@FORMATS.register("espnet")
class ESPnet(Recogniser):
    """Reader of ESPnet 2's folders ``Nbest_recog``, of one job or of all jobs ``output.*`` in ``logdir``.

    Or of ESPnet 1's data.json after decoding: rec_text, score and the reference of each utterance.
    Features: ``score`` and, if tokens are there, ``n_tokens``.
    """

    name: ClassVar[str] = "espnet"
    summary: ClassVar[str] = (
        "N-best lists of ESPnet: folders (1best_recog/text, score), data.json of ESPnet 1; only read"
    )
    folder: ClassVar[str] = "a folder of ESPnet's N-best lists (1best_recog, ...)"

    refines: ClassVar[str | None] = "json-run"
    signs: ClassVar[tuple[bytes, ...]] = (b'"utts"',)

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return re.match(rb'\s*\{\s*"utts"\s*:\s*\{', head) is not None

    @classmethod
    def recognises_folder(cls, path: str) -> bool:
        return bool(_parts(path))

    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        if not os.path.isdir(path):
            return _of_json(path)
        parts = _parts(path)
        if not parts:
            raise FormatError(shown(path), None, "no folder 1best_recog", _FOLDERS)
        lists: dict[str, Utterance] = {}
        for part in parts:
            own = _of_job(part)
            again = next((name for name in own if name in lists), None)
            if again is not None:
                found = f"utterance {quoted(again)} of another job again"
                raise FormatError(shown(part), None, found, "each utterance in one job")
            lists |= own
        return iter(lists.values())


def _subfolders(path: str) -> list[str]:
    return [entry.name for entry in os.scandir(path) if entry.is_dir()] if os.path.isdir(path) else []


def _parts(path: str) -> list[str]:
    """The folders that hold ``1best_recog``: the path, or its jobs, or those of its ``logdir``."""
    for place in (path, os.path.join(path, "logdir")):
        inner = _subfolders(place)
        if any(map(_RANK.fullmatch, inner)):
            return [place]
        jobs = sorted(filter(_JOB.fullmatch, inner), key=lambda name: int(name.rpartition(".")[2]))
        if jobs:
            return [os.path.join(place, job) for job in jobs]
    return []


def _of_job(path: str) -> dict[str, Utterance]:
    """The lists of one job by utterance; raises FormatError."""
    ranks = sorted(int(match["rank"]) for match in map(_RANK.fullmatch, _subfolders(path)) if match)
    if not ranks or ranks[0] != 1:
        raise FormatError(shown(path), None, "no folder 1best_recog", _FOLDERS)
    lists: dict[str, Utterance] = {}
    for rank in ranks:
        folder = os.path.join(path, f"{rank}best_recog")
        texts = table_of(os.path.join(folder, "text"))
        scores = numbers_of(os.path.join(folder, "score"), texts, "text")
        tokens = os.path.join(folder, "token")
        lengths: dict[str, float] = {}
        if os.path.exists(tokens):
            lengths = {name: float(len(text.split())) for name, (text, _) in table_of(tokens).items()}
        for name, (text, line) in texts.items():
            if rank > 1 and len(lists.get(name, Utterance(name, [])).hypotheses) != rank - 1:
                found = f"{quoted(name)}, which {rank - 1}best_recog lacks"
                raise FormatError(shown(os.path.join(folder, "text")), line, found, "all better ranks too")
            features = {"n_tokens": lengths[name]} if name in lengths else {}
            one = Hypothesis(text, scores[name], features)
            lists.setdefault(name, Utterance(name, [], line=line)).hypotheses.append(one)
    return lists


def _of_json(path: str) -> Iterator[Utterance]:
    """The lists of ESPnet 1's JSON; raises FormatError."""
    try:
        document = parsed(bytes(read_bytes(path)).removeprefix(BOM), "the data.json of ESPnet 1")
    except MisfitError as misfit:
        raise misfit.at(shown(path), None) from None
    utterances = document.get("utts") if isinstance(document, dict) else None
    if not isinstance(utterances, dict) or not utterances:
        raise FormatError(shown(path), None, "no object 'utts'", "the data.json of ESPnet 1")
    for name, entry in utterances.items():
        output = entry.get("output") if isinstance(entry, dict) else None
        try:
            if not isinstance(output, list) or not output:
                raise MisfitError("output", "no hypothesis", "an array of them")
            found = [_hypothesis(one, f"output[{i}]") for i, one in enumerate(output)]
        except MisfitError as misfit:
            misfit.where = f"utts.{name}.{misfit.where}"
            raise misfit.at(shown(path), None) from None
        reference = output[0].get("text")
        yield Utterance(name, found, reference if isinstance(reference, str) else None)


def _hypothesis(entry: Any, where: str) -> Hypothesis:
    if not isinstance(entry, dict):
        raise MisfitError(where, described(entry), "an object")
    text = entry.get("rec_text")
    if not isinstance(text, str):
        raise MisfitError(f"{where}.rec_text", described(text), "a text: is the file decoded?")
    tokens = entry.get("rec_token")
    features = {"n_tokens": float(len(tokens.split()))} if isinstance(tokens, str) else {}
    score = number_of(entry.get("score"), f"{where}.score")
    return Hypothesis(text.replace("<eos>", "").strip(), score, features)
