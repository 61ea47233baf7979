"""Beams as JSON: Whisper, faster-whisper, transformers, pyctcdecode, flashlight and others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, read_head, shown
from rerank.core.system import added
from rerank.extensions.speech.references import utterance_of
from rerank.extensions.speech.utterances import Hypothesis, Recogniser, Utterance, files_in, merged
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.buffers import BOM
from rerank.formats.builders import filled_lines
from rerank.formats.jsonl.read import parsed
from rerank.formats.jsonl.schema import MisfitError, described, name_of, number_of

Row = dict[str, Any]
IDS = ("utt", "utt_id", "utterance", "utterance_id", "uttid", "key", "id")
FILES = ("audio_filepath", "audio", "audio_path", "file", "filename", "path")  # the id is the file's name
HYPOTHESES = ("hypotheses", "nbest", "n_best", "beams", "alternatives", "candidates")
TEXTS = ("sequences", "texts", "transcriptions", "predictions")
SCORES = ("sequences_scores", "scores")
TEXT = ("text", "transcript", "transcription", "sentence", "hypothesis", "hyp", "pred_text")
SCORE = ("score", "sequence_score", "sequences_score", "total_score")
REFERENCE = ("reference", "ref", "target", "ground_truth")
_WHAT = "an utterance: an object with one of " + ", ".join((*HYPOTHESES, *TEXTS, "segments"))
_HEAD = re.compile(rb'"(beams|alternatives|sequences_scores|segments)"\s*:\s*\[')
_BY_NAME = re.compile(  # {UTTERANCE: {"nbest": [...
    rb'\s*\{\s*"(?!mteb_)[^"]*"\s*:\s*\{\s*"(nbest|hypotheses|beams|alternatives|sequences|texts|segments)"\s*:\s*\['
)
_CTC = (4, 5)  # the parts of a beam of pyctcdecode, without and with the state of the language model


@FORMATS.register("asr-json", "whisper", "ctc")
class Beams(Recogniser):
    """Reader of JSON with the hypotheses of recognisers.

    An utterance per line; or one document: an array of utterances, an object of utterances by id, or one
    utterance. A folder has a document of one utterance in each file ``ID.json``. ``merge`` adds further files
    or folders, such as runs of Whisper at other temperatures; the hypotheses of one utterance are joined.

    An utterance has an id (``utt``, ``id``, ...; or the name of its audio file without suffix; or the line's
    number) and, under ``hypotheses``, ``nbest``, ``beams``, ``alternatives`` or ``candidates``, an array of

    - objects: a text under ``text``, ``transcript``, ...; or ``words``, as flashlight's and torchaudio's CTC
      decoders have them; ``score`` is the total, any other number a feature;
    - texts; or pairs of text and score;
    - beams of pyctcdecode, [text, state, frames, logit score, total]: features ``logit_score`` and
      ``lm_score``, the total less the logit score.

    Or it has parallel arrays ``sequences`` (or ``texts``) and ``sequences_scores`` (or ``scores``), as
    generate() of transformers returns them; or ``segments`` of Whisper, which make one hypothesis with the
    features ``avg_logprob`` (mean over tokens, also the score) and the largest ``no_speech_prob``,
    ``compression_ratio`` and ``temperature``. References: ``reference``, ``ref``, ``target``,
    ``ground_truth``, or ``text`` beside ``audio_filepath``.
    """

    name: ClassVar[str] = "asr-json"
    summary: ClassVar[str] = "JSON beams of Whisper, transformers, pyctcdecode, flashlight; only read"
    refines: ClassVar[str | None] = "jsonl"
    signs: ClassVar[tuple[bytes, ...]] = tuple(
        f'"{key}"'.encode()
        for key in (
            "beams",
            "alternatives",
            "sequences",
            "sequences_scores",
            "segments",
            "nbest",
            "hypotheses",
            "texts",
        )
    )
    folder: ClassVar[str] = "a folder of Whisper's JSON"
    honours: ClassVar[frozenset[str]] = Recogniser.honours | {"merge"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        if _BY_NAME.match(head):
            return True
        return head.lstrip()[:1] in (b"{", b"[") and _HEAD.search(head) is not None

    @classmethod
    def recognises_folder(cls, path: str) -> bool:
        first = next((name for name in files_in(path) if name.endswith(".json")), None)
        return first is not None and cls.recognises(read_head(os.path.join(path, first)))

    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        paths = [path, *options.merge]
        return merged(paths, [_read(name) for name in paths])


def _read(path: str) -> dict[str, Utterance]:
    """The utterances of a file or folder by id; raises FormatError."""
    lists: dict[str, Utterance] = {}
    if not os.path.isdir(path):
        found = _of_file(path)
    else:
        files = [os.path.join(path, name) for name in files_in(path) if name.endswith(".json")]
        found = (one for file in files for one in _of_file(file))
    for utterance in found:
        first = lists.setdefault(utterance.name, utterance)
        if first is not utterance:
            where = utterance.line or None
            raise FormatError(shown(path), where, f"utterance {utterance.name!r} again", "each once")
    if not lists:
        raise FormatError(shown(path), None, "no utterance", "JSON of a recogniser")
    return lists


def _of_file(path: str) -> Iterator[Utterance]:
    """The utterances of a file; raises FormatError."""
    line = 0
    try:
        lines = list(filled_lines(path))
        if len(lines) > 1 and _is_whole(lines[0][1]):
            for line, raw in lines:
                yield _utterance(parsed(raw, "a JSON object per line"), str(line), line)
            return
        document = parsed(bytes(read_bytes(path)).removeprefix(BOM), "JSON of a recogniser")
        if isinstance(document, list):
            for i, row in enumerate(document):
                yield _located(row, str(i + 1), f"[{i}]")
        elif isinstance(document, dict) and _has_hypotheses(document):
            yield _utterance(document, utterance_of(shown(path)), 0)
        elif isinstance(document, dict):
            for name, value in document.items():
                row = value if isinstance(value, dict) and _has_hypotheses(value) else {HYPOTHESES[0]: value}
                yield _located(row, name, name)
        else:
            raise MisfitError("", described(document), _WHAT)
    except MisfitError as misfit:
        raise misfit.at(shown(path), line or None) from None


def _is_whole(line: bytes) -> bool:
    """Return whether a line is a JSON object of its own."""
    try:
        return isinstance(parsed(line, ""), dict)
    except MisfitError:
        return False


def _located(row: Any, name: str, where: str) -> Utterance:
    """An utterance of a document; a MisfitError has its place."""
    try:
        return _utterance(row, name, 0)
    except MisfitError as misfit:
        misfit.where = f"{where}.{misfit.where}" if misfit.where else where
        raise


def _has_hypotheses(row: Row) -> bool:
    return _first(row, (*HYPOTHESES, *TEXTS, "segments")) is not None


def _first(row: Row, keys: Sequence[str]) -> str | None:
    return next((key for key in keys if row.get(key) is not None), None)


def _utterance(row: Any, name: str, line: int) -> Utterance:
    """An utterance and its hypotheses; ``name`` if it has no id. Raises MisfitError."""
    if not isinstance(row, dict) or not _has_hypotheses(row):
        raise MisfitError("", described(row), _WHAT)
    if (key := _first(row, IDS)) is not None:
        name = name_of(row[key], key)
    elif (key := _first(row, FILES)) is not None:
        name = utterance_of(name_of(row[key], key))
    reference = _first(row, REFERENCE)
    if reference is None and "audio_filepath" in row and isinstance(row.get("text"), str):
        reference = "text"
    if (key := _first(row, HYPOTHESES)) is not None:
        found = _array(row[key], key)
    elif (key := _first(row, TEXTS)) is not None:
        found = _parallel(row, key)
    else:
        found = [_whisper(row)]
    text = None if reference is None else _text(row[reference], reference)
    return Utterance(name, found, text, line)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise MisfitError(where, described(value), "a text")
    return value.strip()


def _array(value: Any, key: str) -> list[Hypothesis]:
    """The hypotheses of an array, or of an object of them."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        raise MisfitError(key, described(value), "an array of hypotheses")
    return [_hypothesis(one, f"{key}[{i}]") for i, one in enumerate(value)]


def _parallel(row: Row, key: str) -> list[Hypothesis]:
    texts = row[key]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise MisfitError(key, described(texts), "an array of texts (decode tokens first)")
    name = _first(row, SCORES)
    if name is None:
        return [Hypothesis(text.strip()) for text in texts]
    scores = row[name]
    if not isinstance(scores, list) or len(scores) != len(texts):
        raise MisfitError(name, described(scores), f"{len(texts)} numbers, as {key} has texts")
    return [
        Hypothesis(text.strip(), number_of(score, f"{name}[{i}]"))
        for i, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


def _hypothesis(value: Any, where: str) -> Hypothesis:
    if isinstance(value, str):
        return Hypothesis(value.strip())
    if isinstance(value, list) and len(value) == 2:
        return Hypothesis(_text(value[0], f"{where}[0]"), number_of(value[1], f"{where}[1]"))
    if isinstance(value, list) and len(value) in _CTC:
        logit, score = (number_of(value[place], f"{where}[{place}]") for place in (-2, -1))
        parts = {"logit_score": logit, "lm_score": score - logit}
        return Hypothesis(_text(value[0], f"{where}[0]"), score, parts)
    if not isinstance(value, dict):
        raise MisfitError(where, described(value), "a hypothesis: an object, a text, or [text, score]")
    text, of_score = _first(value, TEXT), _first(value, SCORE)
    if text is None and not isinstance(value.get("words"), list):
        raise MisfitError(where, "no text", f"one of {', '.join((*TEXT, 'words'))}")
    total: float | None = None
    features: dict[str, float] = {}
    for name, one in value.items():
        if name == of_score:
            total = number_of(one, f"{where}.{name}")
        elif type(one) in (int, float) and name not in ("rank", "index", "id"):
            features[name] = number_of(one, f"{where}.{name}")
    spelled = _spelled(value["words"], where) if text is None else _text(value[text], f"{where}.{text}")
    return Hypothesis(spelled, total, features)


def _spelled(words: list[Any], where: str) -> str:
    """The text of words, or of objects with a word each."""
    plain = [one.get("word") if isinstance(one, dict) else one for one in words]
    return " ".join(_text(one, f"{where}.words[{i}]") for i, one in enumerate(plain))


def _whisper(row: Row) -> Hypothesis:
    """The hypothesis of Whisper's segments."""
    segments = row["segments"]
    if not isinstance(segments, list) or not all(isinstance(one, dict) for one in segments):
        raise MisfitError("segments", described(segments), "an array of segments")
    texts = [_text(one.get("text"), f"segments[{i}].text") for i, one in enumerate(segments)]
    features: dict[str, float] = {}
    for name in ("avg_logprob", "no_speech_prob", "compression_ratio", "temperature"):
        known = [
            number_of(one[name], f"segments[{i}].{name}") for i, one in enumerate(segments) if name in one
        ]
        if known and len(known) == len(segments):
            features[name] = max(known)
            if name == "avg_logprob":
                sizes = [len(one["tokens"]) if isinstance(one.get("tokens"), list) else 1 for one in segments]
                logprob = added(size * value for size, value in zip(sizes, known, strict=True))
                features[name] = logprob / max(sum(sizes), 1)
    text = (
        _text(row["text"], "text")
        if isinstance(row.get("text"), str) and "audio_filepath" not in row
        else " ".join(texts)
    )
    return Hypothesis(text, features.get("avg_logprob"), features)
