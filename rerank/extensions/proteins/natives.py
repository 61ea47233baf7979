"""Native structures beside models: which native is of which list, and which of its residues count."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError, os_error
from rerank.core.files.read import is_file, plain_suffix, read_bytes, read_head
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Mask
from rerank.data.columns.traces import Traces, chain_codes, chain_name, residue_name, without_chain
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.matching import (
    METHODS,
    Method,
    Partners,
    Range,
    chains_of,
    extent,
    first_difference,
    given_keys,
    is_uniform,
    only_chains,
    parse_ranges,
    partners,
    shift,
    within,
)
from rerank.extensions.proteins.sources import (
    SUFFIXES,
    attach_structures,
    files_of,
    is_tar,
    note_left_out,
    read_file,
    stem_of,
)
from rerank.formats.buffers import BOM
from rerank.formats.common import note, quoted

Ranges = Sequence[tuple[Range, ...] | None]

_FILE = "a list and its ranges, separated by a tab or a blank"


def ranges_of(residues: str, lists: CandidateLists) -> Ranges:
    """Return the ranges of each list, None for a list whose residues all count.

    ``residues`` are ranges, which are those of every list, or the path of a file with the ranges of each
    list.
    Raises DataError if they are not ranges, or both ranges and the name of a file, FormatError if a line of
    the file is malformed or a list has two, or no line is of one of the lists.
    """
    try:
        common = parse_ranges(residues)
    except DataError:
        if not is_file(residues):
            raise
        return _of_file(residues, lists)
    if is_file(residues):
        text = f"expected one of the two: ./{residues} is the file, {residues}: the chain"
        raise DataError(f"residues: {residues!r} is a file and a range; {text}")
    return [common] * lists.n_lists


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Put a place before the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{place}: {error}") from None


def _of_file(path: str, lists: CandidateLists) -> Ranges:
    """The ranges of each list, by its id."""
    found: dict[str, tuple[Range, ...]] = {}
    line_of: dict[str, int] = {}
    content = bytes(read_bytes(path)).removeprefix(BOM)
    for number, raw in enumerate(content.split(b"\n"), 1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line or line.startswith("#"):
            continue
        name, *rest = line.split("\t", 1) if "\t" in line else line.split(None, 1)
        name = name.strip()
        if not rest:
            raise FormatError(path, number, quoted(line), _FILE)
        if name in found:
            raise FormatError(
                path, number, f"list {name!r} again", f"one line (it is in line {line_of[name]})"
            )
        with _naming(f"{path}:{number}"):
            found[name] = parse_ranges(rest[0])
        line_of[name] = number
    names = [lists.list_id(i) for i in range(lists.n_lists)]
    strangers = [name for name in found if name not in set(names)]
    without = [name for name in names if name not in found]
    if len(without) == len(names):
        raise FormatError(path, None, f"lists {some(strangers) or 'none'}", f"some of {some(names)}")
    if strangers:
        note(f"{path}: {count(len(strangers), 'line')} of lists that are not there ({some(strangers)})")
    if without:
        text = f"{count(len(without), 'list')} without a line ({some(without)}); all their residues count"
        note(f"{path}: {text}")
    return [found.get(name) for name in names]


def counted(natives: Traces, ranges: Ranges, lists: CandidateLists) -> Mask:
    """Return which residues of the natives count, bool (n_residues).

    Raises DataError, with the list, if ranges do not fit its native (see ``within``).
    """
    out = np.ones(len(natives.keys), dtype=bool)
    for i in np.flatnonzero(natives.lengths).tolist():
        own = ranges[i]
        if own is not None:
            with _naming(f"{lists.source}: list {lists.list_id(i)!r}, native"):
                out[natives.of(i)] = within(natives.keys[natives.of(i)], own)
    return out


def named_chains(natives: Traces, ranges: Ranges) -> Mask:
    """Return which residues of the natives are in a chain that the ranges name, bool (n_residues)."""
    out = np.ones(len(natives.keys), dtype=bool)
    for i, own in enumerate(ranges):
        names = {one.chain for one in own or ()} - {None}
        if names:
            codes = chain_codes(natives.keys[natives.of(i)])
            wanted = [code for code in np.unique(codes) if chain_name(code) in names]
            out[natives.of(i)] = np.isin(codes, np.array(wanted, dtype=np.uint64))
    return out


def restricted_models(lists: CandidateLists, models: Traces, ranges: Ranges) -> Traces:
    """Return the models with only the residues in the ranges of their lists.

    Raises DataError if a range contains no residue of any model of a list, or names no chain and a model has
    several.
    """
    kept = np.ones(len(models.keys), dtype=bool)
    chains = only_chains(models)
    for i, own in enumerate(ranges):
        if own is None:
            continue
        first, end = int(lists.offsets[i]), int(lists.offsets[i + 1])
        rows = slice(int(models.offsets[first]), int(models.offsets[end]))
        keys = models.keys[rows]
        if own[0].chain is None:
            several = np.flatnonzero((chains[first:end] < 0) & (models.lengths[first:end] > 0))
            if len(several):
                place = lists.place_of(first + int(several[0]))
                found = f"{place} has several chains, expected ranges with a chain, as in A:{own[0].text}"
                raise DataError(f"{lists.source}: residues {own[0].text}: {found}")
            keys = without_chain(keys)
        with _naming(f"{lists.source}: list {lists.list_id(i)!r}"):
            kept[rows] = within(keys, own)
    return models.kept(kept)


# Shares of equal amino acids below which a model is reported. By number, models have the native's sequence
# except for a few mutations; one that is shifted has about 6 %, so a part that is shifted shows too. By
# sequence, alignments below 30 % are often wrong (the twilight zone of Rost 1999).
LEAST_IDENTITY: dict[Method, float] = {"number": 0.9, "sequence": 0.3}
_SAME_PROTEIN = 0.5  # share of equal amino acids of an alignment below which no matching is proposed
_SURE = 0.9  # share of equal amino acids, and of one shift, from which on a shift is named


def check_matched(
    lists: CandidateLists, natives: Traces, which: Mask, found: Partners, method: Method, strict: bool
) -> None:
    """Report models whose matched residues are doubtful.

    ``which``, bool (residues of the natives), are those that count; ``found`` are the partners by ``method``.
    Raises DataError if no model of a list has a residue of the native, or for any note under ``strict``.
    """
    models = lists.traces
    assert models is not None
    item_list = lists.list_index
    there = (models.lengths > 0) & (natives.lengths > 0)[item_list]
    missed = np.flatnonzero(there & (found.matched == 0))
    for k in missed.tolist():
        i = int(item_list[k])
        hopeless = not found.matched[lists.offsets[i] : lists.offsets[i + 1]].any()
        if not hopeless and k != missed[0]:
            continue
        first = _nothing_shared(lists, models, natives.kept(which), k, i)
        hint = _hint(models, natives, k, i) if method == "number" else ""
        if hopeless:
            raise DataError(f"{lists.source}: no model has a residue of the native: {first}{hint}")
        what = f"{count(len(missed), 'model')} without a residue of the native, scored 0"
        _warn(f"{lists.source}: {what}: {first}{hint}", strict)
    _report_sequences(lists, natives, found, method, strict)


def _nothing_shared(lists: CandidateLists, models: Traces, natives: Traces, k: int, i: int) -> str:
    """Words for a model that shares no residue with the native."""
    ours, theirs = chains_of(models, k), chains_of(natives, i)
    spans = f"{extent(models.keys[models.of(k)])}, the native {extent(natives.keys[natives.of(i)])}"
    text = f"{lists.place_of(k)} has {spans}"
    several = len(ours) > 1 or len(theirs) > 1
    if several and not {chain.code for chain in ours} & {chain.code for chain in theirs}:
        return (
            f"{text}; no chain of the same name: choose one of the native by --residues, or --match sequence"
        )
    return text


def _report_sequences(
    lists: CandidateLists, natives: Traces, found: Partners, method: Method, strict: bool
) -> None:
    """Report models whose amino acids differ from those of the matched residues."""
    models = lists.traces
    assert models is not None
    doubtful = (found.matched > 0) & (found.identity < LEAST_IDENTITY[method])
    blind = (found.matched > 0) & (found.compared == 0) if method == "sequence" else np.zeros_like(doubtful)
    uniform = [is_uniform(natives.residues[natives.of(i)]) for i in range(lists.n_lists)]
    items = []
    for k in np.flatnonzero(doubtful | blind).tolist():
        told = not uniform[int(lists.list_index[k])] and not is_uniform(models.residues[models.of(k)])
        if told or method == "sequence":
            items.append(k)
    if not items:
        return
    k = items[0]
    i = int(lists.list_index[k])
    equal = f"{found.equal[k]} of {found.compared[k]} matched residues have the native's amino acid"
    text = f"{lists.place_of(k)}: {equal}"
    differing = first_difference(models, natives, found, k)
    if differing is not None:
        ours, theirs = differing
        names = [
            f"{residue_name(int(column.keys[row]))} is {chr(column.residues[row])}"
            for column, row in ((models, ours), (natives, theirs))
        ]
        text += f" ({names[0]}, the native's {names[1]})"
    hint = _hint(models, natives, k, i) if method == "number" else ""
    what = "numbering" if method == "number" else "sequence"
    _warn(f"{lists.source}: {count(len(items), 'model')} of doubtful {what}: {text}{hint}", strict)


def _hint(models: Traces, natives: Traces, k: int, i: int) -> str:
    """Return a hint at what matching by sequence would find for a model."""
    model, native = models.take(np.array([k])), natives.take(np.array([i]))
    if is_uniform(model.residues) or is_uniform(native.residues):
        return ""
    found = partners(model, native, np.array([0, 1]), "sequence")
    if found.identity[0] < _SAME_PROTEIN or found.compared[0] == 0:
        return "; their sequences do not align, is it the native of another protein?"
    by, share = shift(model, native, found, 0)
    matched = f"--match sequence matches {found.matched[0]} residues"
    if by and share >= _SURE and found.identity[0] >= _SURE:
        return f"; shifted by {abs(by)} ({'too low' if by > 0 else 'too high'}): {matched}"
    return f"; {matched}, {100 * found.identity[0]:.0f} % of them equal"


def note_copies(lists: CandidateLists) -> None:
    """Report models with exactly the coordinates of their native: the native itself among its models."""
    models, natives = lists.traces, lists.natives
    assert models is not None
    assert natives is not None
    copies = []
    starts = models.offsets[:-1]
    for i in np.flatnonzero(natives.lengths).tolist():
        first = natives.offsets[i]
        own = np.arange(lists.offsets[i], lists.offsets[i + 1])
        own = own[models.lengths[own] == natives.lengths[i]]
        own = own[(models.xyz[starts[own]] == natives.xyz[first]).all(axis=1)]  # few are left to compare
        copies += [
            k for k in own.tolist() if np.array_equal(models.xyz[models.of(k)], natives.xyz[natives.of(i)])
        ]
    if copies:
        first_copy = lists.place_of(copies[0])
        note(
            f"{lists.source}: {count(len(copies), 'model')} with the native's own coordinates ({first_copy})"
        )


def check_chains(lists: CandidateLists, strict: bool) -> None:
    """Report natives with a chain of which no model has a residue: a dimer, say, beside models of one chain.

    Raises DataError under ``strict``.
    """
    models, natives = lists.traces, lists.natives
    assert models is not None
    assert natives is not None
    found = []
    for i in np.flatnonzero(natives.lengths).tolist():
        first, last = models.offsets[lists.offsets[i : i + 2]]
        codes = chain_codes(natives.keys[natives.of(i)])
        lost = codes[~np.isin(codes, chain_codes(models.keys[first:last]))]
        if len(lost) and first < last:
            chains = some([chain_name(code) for code in np.unique(lost).tolist()])
            found.append(f"list {lists.list_id(i)!r}, chain {chains}: {len(lost)} of {len(codes)} residues")
    if found:
        what = f"{count(len(found), 'native')} with a chain of which no model has a residue"
        _warn(f"{lists.source}: {what}; it counts as wrong, --residues chooses chains ({found[0]})", strict)


def _warn(text: str, strict: bool) -> None:
    if strict:
        raise DataError(text)
    note(text)


_EMPTY = Traces(np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty((0, 3)), np.empty(0, np.uint8))


def attach_natives(
    lists: CandidateLists, native: str | None, residues: str | None, match: str, strict: bool = False
) -> CandidateLists:
    """Return lists of models with their natives; the models have the natives' residues and keys.

    Residues of a model without a residue of the native are dropped. A model without any other residue is an
    empty structure. How residues are matched: see ``matching``. Raises RerankError if natives or
    ranges do not fit the lists, or a file is not a structure.

    lists : CandidateLists, with models (``traces``).
    native : the file of the only list's native, or a folder or archive (.tar) with a file for each list,
        named by its id; None = no natives.
    residues : ranges of the natives that count, or a file with such ranges for each list; None = all. Without
        natives they are ranges of the models.
    match : "number" or "sequence".
    strict : whether what is doubtful is an error instead of a note.
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
    ranges: Ranges = [None] * lists.n_lists if residues is None else ranges_of(residues, lists)
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
    return FileTraces.joined([_EMPTY if one is None else one for one in natives])


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


def with_structures(lists: CandidateLists, options: ReadOptions) -> CandidateLists:
    """Return the lists with the structures, the natives, and the residues that count, as the options say.

    Raises ConfigError if the lists have natives already, or no structures for them.
    """
    if options.structures is not None:
        lists = attach_structures(lists, options.structures, strict=options.strict)
    given = [name for name in ("native", "residues", "match") if name in options.changed()]
    if not given:
        return lists
    asked = f"{given[0]}={getattr(options, given[0])!r}"
    if lists.natives is not None:
        raise ConfigError(f"{lists.source}: holds its own natives, so {asked} cannot be given")
    if lists.traces is None:
        raise ConfigError(f"{lists.source}: holds no structures for {asked}; give them by structures=PATH")
    return attach_natives(lists, options.native, options.residues, options.match, options.strict)
