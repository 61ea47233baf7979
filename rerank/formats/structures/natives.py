"""Native structures beside models: which native is of which list, and which of its residues count."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.streams import os_error, plain_suffix, read_head
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.data.matching import METHODS, Method, given_keys, partners
from rerank.formats.common import note
from rerank.formats.structures.checks import check_chains, check_matched, note_copies
from rerank.formats.structures.domains import counted, named_chains, ranges_of, restricted_models
from rerank.formats.structures.read import SUFFIXES, note_left_out, read_file
from rerank.formats.structures.sources import stem_of
from rerank.formats.structures.tar import files_of, is_tar

_EMPTY = Traces(np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty((0, 3)), np.empty(0, np.uint8))


def attach_natives(
    lists: CandidateLists, native: str | None, residues: str | None, match: str, strict: bool = False
) -> CandidateLists:
    """Return lists of models with their natives; the models have the natives' residues and keys.

    Residues of a model without a residue of the native are dropped. A model without any other residue is an
    empty structure. How residues are matched: see ``rerank.data.matching``.

    Parameters
    ----------
    lists : CandidateLists
        With models (``traces``).
    native : the file of the only list's native, or a folder or archive (.tar) with a file for each list,
        named by its id; None = no natives.
    residues : ranges of the natives that count, or a file with such ranges for each list; None = all. Without
        natives they are ranges of the models.
    match : "number" or "sequence".
    strict : whether what is doubtful is an error instead of a note.

    Raises
    ------
    RerankError
        If natives or ranges do not fit the lists, or a file is not a structure.
    """
    if match not in METHODS:
        raise ConfigError(f"unknown match {match!r}; {did_you_mean(match, METHODS)}")
    method: Method = "sequence" if match == "sequence" else "number"
    if lists.traces is None:
        raise DataError(f"{lists.source}: natives and residues need models, found no structures")
    if native is None:
        if method != "number":
            raise ConfigError(f"match={match}: not used without natives (native)")
        return lists if residues is None else _only_ranges(lists, lists.traces, residues)
    whole = _natives(lists, native)
    ranges = [None] * lists.n_lists if residues is None else ranges_of(residues, lists)
    which = counted(whole, ranges, lists)  # before a chain is left out: errors name what there is
    chains = named_chains(whole, ranges)
    whole, which = whole.kept(chains), which[chains]
    found = partners(lists.traces, whole, lists.offsets, method, which)
    check_matched(lists, whole, which, found, method, strict)
    models = given_keys(lists.traces, whole, found, (whole.lengths > 0)[lists.list_index])
    out = lists.with_structures(traces=models, natives=whole.kept(which))
    check_chains(out, strict)
    note_copies(out)
    return out


def _only_ranges(lists: CandidateLists, models: Traces, residues: str) -> CandidateLists:
    out = restricted_models(lists, models, ranges_of(residues, lists))
    lost = np.flatnonzero((out.lengths == 0) & (models.lengths > 0))
    if len(lost):
        found = (
            f"{count(len(lost), 'model')} without a residue in the ranges ({lists.place_of(int(lost[0]))})"
        )
        note(f"{lists.source}: {found}")
    return lists.with_structures(traces=out)


def _natives(lists: CandidateLists, path: str) -> Traces:
    """The native of each list; an empty structure for a list without one."""
    left_out: Counter[str] = Counter()
    if not os.path.isdir(path) and not is_tar(read_head(path)):
        if lists.n_lists > 1:
            found = f"one native for {lists.n_lists} lists"
            raise DataError(f"{path}: {found}, expected a folder or .tar of natives named by the lists")
        native = _first_model(path, None, left_out)
        note_left_out(path, left_out)
        return native
    names = {stem_of(lists.list_id(i)): i for i in range(lists.n_lists)}
    if len(names) < lists.n_lists:
        raise DataError(f"{lists.source}: ids of lists that differ only in a suffix, such as .pdb")
    natives: list[Traces | None] = [None] * lists.n_lists
    places: dict[int, str] = {}
    strangers: list[str] = []
    for name, place, content in _files(path):
        i = names.get(stem_of(name))
        if i is None:
            if plain_suffix(name) in SUFFIXES:
                strangers.append(name)
            continue
        if i in places:
            raise DataError(f"{place}: a second native of list {lists.list_id(i)!r}, beside {places[i]}")
        natives[i], places[i] = _first_model(place, content, left_out), place
    without = [lists.list_id(i) for i, one in enumerate(natives) if one is None]
    if not places:
        found = f"natives {some(strangers)}" if strangers else "no structures"
        raise DataError(f"{path}: found {found}, expected files named by the lists: {some(without)}")
    if without:
        text = "without a native, not judged" if len(without) > 1 else "without a native, which is not judged"
        note(f"{path}: {count(len(without), 'list')} {text} ({some(without)})")
    if strangers:
        note(f"{path}: {count(len(strangers), 'native')} of no list ({some(strangers)})")
    note_left_out(path, left_out)
    return Traces.joined([_EMPTY if one is None else one for one in natives])


def _files(path: str) -> Iterator[tuple[str, str, bytes | None]]:
    """Yield name, place for messages and, from an archive, content of each file of a folder or archive."""
    if not os.path.isdir(path):
        for name, content in files_of(path):
            if not os.path.basename(name).startswith("."):
                yield os.path.basename(name), f"{path}/{name}", content
        return
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise os_error(path, error) from None
    for name in names:
        place = os.path.join(path, name)
        if os.path.isfile(place) and not name.startswith("."):
            yield name, place, None


def _first_model(place: str, content: bytes | None, left_out: Counter[str]) -> Traces:
    models = read_file(place, content, left_out)
    if len(models) > 1:
        note(f"{place}: {len(models)} models; the first one is the native")
    return models[0][1]
