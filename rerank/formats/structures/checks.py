"""Doubts about matched residues: models of other numbering, chains or sequence, and copies of the native."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count, some
from rerank.core.types import Mask
from rerank.data.columns.traces import Traces, chain_codes, chain_name, residue_name
from rerank.data.lists import CandidateLists
from rerank.data.matching import Method, Partners, chains_of, first_difference, is_uniform, partners, shift
from rerank.data.residues import extent
from rerank.formats.common import note

# Shares of equal amino acids below which a model is reported. By number, models have the native's sequence
# but for a few mutations; one that is shifted has about 6 %, so part of a model that is shifted shows too. By
# sequence, alignments below 30 % are often wrong (the twilight zone of Rost 1999).
LEAST_IDENTITY: dict[Method, float] = {"number": 0.9, "sequence": 0.3}
_SAME_PROTEIN = 0.5  # share of equal amino acids of an alignment below which no matching is proposed
_SURE = 0.9  # share of equal amino acids, and of one shift, from which on a shift is named


def check_matched(
    lists: CandidateLists, natives: Traces, which: Mask, found: Partners, method: Method, strict: bool
) -> None:
    """Report models whose matched residues are doubtful.

    Parameters
    ----------
    lists : CandidateLists
        With the models as they were read.
    natives : Traces (n_lists)
    which : bool (residues of the natives), those that count.
    found : Partners
    method : how ``found`` was made.
    strict : whether a note is an error.

    Raises
    ------
    DataError
        If no model of a list has a residue of the native, or under ``strict``.
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
    """What matching by sequence would find for a model."""
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
