"""Checkpoints of a training: kept in a file, found again by the same training only."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from rerank._version import __version__
from rerank.core.checkpoints import CheckpointStore, State, keeping
from rerank.core.errors import ConfigError, DataNote, Interrupted, RerankError
from rerank.core.workers.parallel import remote
from rerank.data.lists import CandidateLists
from rerank.data.shards.manifest import manifest_hash
from rerank.learners.base import LEARNERS
from rerank.models.archive import read_checkpoint, write_checkpoint
from rerank.training.data import SideInputs
from rerank.training.pipeline import Pipeline


def check_keeps(pipeline: Pipeline) -> None:
    """Raise ConfigError if a learner keeps no states, or its fits are done on a cluster, one each.

    Of a fit over shards the answers of the shards are kept, whatever the learner.
    """
    if not (pipeline.spread or pipeline.learner.resumable):
        known = ", ".join(name for name in LEARNERS.names() if LEARNERS.get(name).resumable)
        text = f"learner {pipeline.learner.name} keeps none; those that do: {known}"
        raise ConfigError(f"checkpoint: {text}")
    if remote() and not pipeline.spread:
        raise ConfigError("checkpoint: not used with a cluster, whose workers keep no states")


@contextmanager
def checkpointed(
    path: str | None, pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> Iterator[None]:
    """Keep the states of the loops of the block in a file, and go on from those that it has.

    The file stays; ``finished`` deletes it once the results are safe. None keeps nothing. A checkpoint
    belongs to a training: to all the other arguments.

    Raises
    ------
    ConfigError
        If the file is of another training.
    FormatError
        If it is no checkpoint, or damaged.
    Interrupted
        At Ctrl-C, after the states were written.
    """
    if path is None:
        yield
        return
    check_keeps(pipeline)
    prints = _fingerprint(pipeline, lists, dev, side)
    states: dict[str, State] = {}
    if os.path.lexists(path):
        known, states = read_checkpoint(path)
        differing = [name for name in prints if known.get(name) != prints[name]]
        if differing or len(known) != len(prints):
            found = " and ".join(differing[:2]) or "it"
            raise ConfigError(f"{path}: is of another training ({found} differ); delete it to start again")
        warnings.warn(f"{path}: training continues where it was interrupted", DataNote, stacklevel=3)
    store = CheckpointStore(path, states, lambda found: write_checkpoint(path, prints, found))
    try:
        with keeping(store):
            yield
    except KeyboardInterrupt:
        store.flush()
        if store.states:
            raise Interrupted(f"kept in {path}; the same command continues") from None
        raise
    except RerankError as error:
        if pipeline.spread:
            store.flush()
        if pipeline.spread and store.states and type(error) is RerankError:  # the data are as they were
            raise RerankError(f"{error}; kept in {path}: the same command continues") from None
        raise


def finished(path: str | None) -> None:
    """Delete the checkpoint of a training whose results are safe."""
    if path is not None:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _fingerprint(
    pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> dict[str, str]:
    """A hash of each thing that the model depends on, by its name in messages."""
    learner, options, initial = pipeline.learner, pipeline.options, side.initial
    shards = manifest_hash(lists.source) if pipeline.spread else ""  # lists are the first one of them
    steps = {name: getattr(one, name) for one in pipeline.steps for name in one.settings}
    select = options.select.get_params()
    return {
        "version": __version__,
        "learner": learner.name,
        "settings": _hash(learner.get_params()),
        "options such as metric and scaling": _hash(_plain([steps, select, options.grid, options.seeds])),
        "initial weights": "none" if initial is None else _hash(initial.names, initial.weights),
        "training lists": shards + _of_lists(lists),
        "development lists": _of_lists(dev),
        "unlabelled lists": _of_lists(side.unlabelled),
        "list weights": _hash(side.list_weights),
    }


def _plain(value: Any) -> Any:
    """A field of a plan as JSON; metrics by their names and settings."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else repr(value)


def _hash(*parts: Any) -> str:
    """A hash of arrays and of values that JSON can hold."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(json.dumps(part, sort_keys=True, default=repr).encode())
    return digest.hexdigest()


def _of_lists(lists: CandidateLists | None) -> str:
    """A hash of all that a learner or a metric can read of lists."""
    if lists is None:
        return "none"
    arrays = [lists.base_scores, lists.first_best]
    texts = [lists.texts, lists.answers, *lists.references]
    strings = ["none" if column is None else list(column) for column in texts]
    return _hash(lists.fingerprint(), *("none" if array is None else array for array in arrays), *strings)
