"""Inputs through pipes: what is read must be what the files hold, however the writer cuts it into blocks."""

import hashlib
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
from contracts.test_formats import EXAMPLES
from fuzz.corpus import Seed

from rerank.core.errors import DataNote, RerankError
from rerank.core.files.read import inputs_opened_once
from rerank.data.classes import read_predictions
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.heads import read_heads
from rerank.extensions.preferences.comparisons import comparisons_of
from rerank.formats import load
from rerank.formats.feature_columns import read_feature_names
from rerank.formats.scores import read_scores
from rerank.formats.trec.qrels import read_qrels
from rerank.formats.vector_files import read_vectors
from rerank.formats.weights import read_weights
from rerank.models.base import load_model
from rerank.models.exchange.calls import read_model
from rerank.training.config import read_config

FIVE = CandidateLists.from_arrays(np.zeros((5, 1)), group=[5])


@contextmanager
def pipe_of(content: bytes, block: int) -> Iterator[str]:
    """Yield the name of a pipe into which a thread writes ``content``, ``block`` bytes at a time."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError):
            for at in range(0, len(content), block):
                rest = content[at : at + block]
                while rest:
                    rest = rest[os.write(writing, rest) :]
        os.close(writing)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        thread.join()


@contextmanager
def all_piped(seed: Seed, folder: str, block: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of an input that is in ``folder``, and of the files beside it, as pipes."""
    with ExitStack() as stack:
        places = {name: stack.enter_context(pipe_of(content, block)) for name, content in seed.beside.items()}
        path = os.path.join(folder, "input")
        if set(seed.files) == {""}:
            path = stack.enter_context(pipe_of(seed.files[""], block))
        yield path, places


def check_pipes(target: str, seed: Seed, folder: str, block: int, by_content: bool = False) -> None:
    """Raise AssertionError if an input that is in ``folder`` gives something else through pipes."""
    if target == "text:vectors" and seed.files[""].startswith((b"\x93NUMPY", b"PAR1")):
        return  # these are read from files only
    places = {name: os.path.join(folder, name) for name in seed.beside}
    expected = outcome(target, seed, os.path.join(folder, "input"), places, by_content)
    with all_piped(seed, folder, block) as (pipe, pipes):
        found = outcome(target, seed, pipe, pipes, by_content)
    assert found == expected, f"{found} through pipes, {expected} from files"


def outcome(target: str, seed: Seed, path: str, places: dict[str, str], by_content: bool = False) -> str:
    """Return what reading gives, as text: a digest, or the error without the names of files."""
    kind, _, name = target.partition(":")
    options = {key: _placed(value, places) for key, value in seed.options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        try:
            with inputs_opened_once():
                found = _READ[kind](path, None if by_content else name, options)
        except RerankError as error:
            text = str(error)
            for place in (path, *places.values()):
                text = text.replace(place, "PATH")
            if "unknown format" in text:  # the known ones fill the message, so that a long name is cut
                return "unknown format"
            text = text.partition("...")[0][:60]  # where a line is cut depends on the length of its names
            return "refused" if name == "structures" else text  # lists are named by their files
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _placed(value: Any, places: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_placed(inner, places) for inner in value]
    return places.get(value, value) if isinstance(value, str) else value


def _format(path: str, name: str | None, options: dict[str, Any]) -> Any:
    lists = load(path, format=name, **options)
    scores = None if lists.base_scores is None else lists.base_scores.tobytes()
    return lists.fingerprint(), lists.n_items, lists.names(), scores


def _model(path: str, name: str | None, options: dict[str, Any]) -> Any:
    return load_model(path).explain()


def _weights(path: str, name: str | None, options: dict[str, Any]) -> Any:
    names, weights = read_weights(path, name)
    return names, weights.tobytes()


def _config(path: str, name: str | None, options: dict[str, Any]) -> Any:
    return read_config(path).learner


def _text(path: str, name: str | None, options: dict[str, Any]) -> Any:
    if name == "scores":
        return read_scores(path, FIVE).tobytes()
    if name == "predictions":
        return read_predictions(path, EXAMPLES).texts
    if name == "heads":
        return read_heads(path)
    if name == "qrels":
        found = read_qrels(path)
        return list(found.queries), list(found.documents), found.labels.tobytes()
    if name == "comparisons":
        given = comparisons_of(path)
        return given.items, given.list_ids, given.outcomes.tobytes()
    if name == "vectors":
        return read_vectors(path, None, 3, "item", "lists")[0].tobytes()
    return read_feature_names(path, 0).names


def _import(path: str, name: str | None, options: dict[str, Any]) -> Any:
    return read_model(path, name).explain()


_READ = {
    "format": _format,
    "model": _model,
    "import": _import,
    "weights": _weights,
    "config": _config,
    "text": _text,
}
