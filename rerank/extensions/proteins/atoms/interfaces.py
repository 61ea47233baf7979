"""Metrics of assemblies: DockQ and its parts, ICS and IPS, the QS-score, with a mapping of chains.

The counts of an item are float64 (n_items, 13), NaN without a native: interfaces of the native; sums over
them of DockQ, fnat, iRMSD and LRMSD (the RMSD are NaN if the model lacks an interface); contacts of the
native, of the model and of both; interface residues of either and of both; numerator and denominator of the
QS-score; residues that model and native share.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.assembly import BETA, CONTACT, Assembly, Matcher
from rerank.extensions.proteins.atoms.counted import CountedMetric, counts_called, has_atoms, structures_in
from rerank.extensions.proteins.atoms.docking import Interface, Mapping, interfaces_of
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.atoms.structures import Structure, structure_of
from rerank.metrics.base import register

WIDTH = 13
(INTERFACES, DOCKQ, FNAT, IRMSD, LRMSD, NATIVE, MODEL, BOTH, EITHER_PATCH, BOTH_PATCH, QS_ABOVE, QS_BELOW,
 SHARED) = range(WIDTH)  # fmt: skip
_ITEMS = 4  # models of a task


Further = Callable[[Assembly, Mapping], Floats]


class Native(NamedTuple):
    """A native with what is counted of it once."""

    assembly: Assembly
    interfaces: list[Interface]
    weight: float  # of its beta carbons, for the QS-score

    @classmethod
    def of(cls, structure: Structure) -> Native:
        """Return the native of a structure."""
        assembly = Assembly.of(structure)
        return cls(assembly, interfaces_of(assembly), _all_weights(assembly))


def qs_weight(distance: Floats) -> Floats:
    """Return the probability that residues interact whose beta carbons have this distance (n) in Å."""
    return np.where(distance <= 5.0, 1.0, np.exp(-2.0 * np.square((distance - 5.0) / 4.28)))


def _all_weights(assembly: Assembly) -> float:
    """The sum of the weights of all beta carbons of different chains below 12 Å."""
    total = 0.0
    for x, y in itertools.combinations(range(len(assembly.chains)), 2):
        if assembly.are_near(x, y, BETA):
            distances = assembly.betas(x, y)
            total += float(qs_weight(distances[distances < BETA]).sum())
    return total


def counts_of(native: Native, model: Assembly, mapping: Mapping) -> Floats:
    """Return the counts of a model, float64 (WIDTH)."""
    out = np.zeros(WIDTH)
    found = mapping.of_interfaces()
    out[INTERFACES] = len(found)
    out[DOCKQ : LRMSD + 1] = np.array(found).sum(axis=0)
    whole = native.assembly
    known = {(one.a, one.b): one.contacts for one in native.interfaces}
    patches = [np.zeros(len(whole.whole.keys), dtype=bool) for _ in range(2)]
    above = below = 0.0
    for a, b in itertools.combinations(range(len(whole.chains)), 2):
        one, other = whole.chains[a], whole.chains[b]
        x, y = mapping.chains[a], mapping.chains[b]
        theirs = np.zeros((one.size, other.size), dtype=bool)
        theirs[known.get((a, b), ([], []))] = True
        ours = np.zeros_like(theirs)
        if x >= 0 and y >= 0:
            of_a, of_b = mapping.partners[a, x], mapping.partners[b, y]
            i, j = np.flatnonzero(of_a >= 0), np.flatnonzero(of_b >= 0)
            ours[np.ix_(i, j)] = (model.squares(x, y, CONTACT) < CONTACT**2)[np.ix_(of_a[i], of_b[j])]
            if whole.are_near(a, b, BETA) and model.are_near(x, y, BETA):
                here, there = whole.betas(a, b)[np.ix_(i, j)], model.betas(x, y)[np.ix_(of_a[i], of_b[j])]
                shared = (here < BETA) & (there < BETA)
                here, there = here[shared], there[shared]
                weight = qs_weight(np.minimum(here, there))
                above += float((weight * (1.0 - np.abs(here - there) / BETA)).sum())
                below += float((weight - qs_weight(here) - qs_weight(there)).sum())
        out[NATIVE] += np.count_nonzero(theirs)
        out[MODEL] += np.count_nonzero(ours)
        out[BOTH] += np.count_nonzero(theirs & ours)
        for patch, contacts in zip(patches, (theirs, ours), strict=True):
            patch[one.first : one.last] |= contacts.any(axis=1)
            patch[other.first : other.last] |= contacts.any(axis=0)
    out[EITHER_PATCH] = np.count_nonzero(patches[0] | patches[1])
    out[BOTH_PATCH] = np.count_nonzero(patches[0] & patches[1])
    out[QS_ABOVE], out[QS_BELOW] = above, max(below + native.weight + _all_weights(model), 0.0)
    out[SHARED] = sum(
        np.count_nonzero(mapping.partners[a, x] >= 0) for a, x in enumerate(mapping.chains) if x >= 0
    )
    return out


def native_of(natives: Traces, i: int) -> Structure:
    """Return the residues of native ``i`` that count, with all atoms."""
    whole = structure_of(natives, i)
    if not isinstance(natives, FileTraces):
        return whole
    return whole.rows(np.flatnonzero(np.isin(whole.keys, natives.own[natives.of(i)])))


def _block(
    native: Native, models: Traces, items: list[int], further: Further | None
) -> list[tuple[Floats, bool, bool]]:
    """Counts of models, whether all assignments of chains were tried, and whether they are traces."""
    out, matcher = [], Matcher()
    for k in items:
        whole = structure_of(models, k)
        model = Assembly.of(whole)
        mapping = Mapping(native.assembly, native.interfaces, model, matcher)
        own = counts_of(native, model, mapping)
        own = own if further is None else np.r_[own, further(model, mapping)]
        out.append((own, mapping.exact, whole.is_trace))
    return out


def interface_counts(
    lists: CandidateLists, more: Callable[[Native], Further] | None = None, n_more: int = 0
) -> Floats:
    """Return the counts of all items, see above, and ``n_more`` that ``more`` gives of a model of a native.

    Lists whose native has no interface have 0 interfaces. Raises DataError if the lists lack models or
    natives, or hold alpha carbons alone and a native has several chains; RerankError if a file cannot be read
    again.
    """
    models, natives = structures_in(lists, "DockQ")
    out = np.full((lists.n_items, WIDTH + n_more), np.nan)
    sought, traces = list[str](), list[str]()
    for i in np.flatnonzero(natives.lengths).tolist():
        first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
        native = Native.of(native_of(natives, i))
        out[first:last] = 0.0
        out[first:last, IRMSD : LRMSD + 1] = np.nan
        if len(native.assembly.chains) > 1 and native.assembly.whole.is_trace:
            what = "the native has" if has_atoms(lists) else "the set, not its files, holds"
            text = f"{what} alpha carbons alone, expected all atoms"
            raise DataError(f"{lists.source}: list {lists.list_id(i)!r}: contacts of chains: {text}")
        if not native.interfaces:
            continue
        present = [k for k in range(first, last) if models.lengths[k]]
        blocks = [present[k : k + _ITEMS] for k in range(0, len(present), _ITEMS)]
        further = None if more is None else more(native)
        tasks = [(native, models, block, further) for block in blocks]
        found = parallel.each(_block, tasks, threads=True, step=("comparing interfaces", "block"))
        out[first:last, INTERFACES] = len(native.interfaces)
        out[first:last, NATIVE] = sum(len(one.contacts[0]) for one in native.interfaces)
        for k, (counts, exact, bare) in zip(present, itertools.chain.from_iterable(found), strict=True):
            out[k] = counts
            sought += [] if exact else [lists.place_of(k)]
            traces += [lists.place_of(k)] * bare
    if traces:
        what = f"{count(len(traces), 'model')} of alpha carbons alone ({some(traces)})"
        warnings.warn(f"{lists.source}: {what}: other atoms keep no contact", DataNote, stacklevel=5)
    if sought:
        what = (
            f"{count(len(sought), 'model')} with too many assignments of chains to try all ({some(sought)})"
        )
        warnings.warn(f"{lists.source}: {what}: a search found the mapping", DataNote, stacklevel=5)
    return out


class _OfInterfaces(CountedMetric):
    """A value of the interfaces of an assembly."""

    unjudged = "the native has no two chains in contact, or no model has a chain of it"
    of_arrays: ClassVar[bool] = False  # chains are read from files
    width, shared = WIDTH, SHARED
    counts_name = counts_called("interfaces")
    words: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def count(cls, lists: CandidateLists) -> Floats:
        return interface_counts(lists)

    def formula(self) -> list[str]:
        return [*self.words, "contact:5", "mapping:DockQ"]

    def values(self, counts: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts[:, INTERFACES] > 0, self.ratio(counts), np.nan)

    def ratio(self, counts: Floats) -> Floats:
        """Return the metric of items (n) whose native has an interface."""
        raise NotImplementedError


class _Mean(_OfInterfaces):
    """A mean over the native's interfaces."""

    column: ClassVar[int]
    words = ("interface:10", "mean:interfaces")

    def ratio(self, counts: Floats) -> Floats:
        return counts[:, self.column] / counts[:, INTERFACES]


@register("DockQ", "GlobalDockQ")
class DockQ(_Mean):
    """DockQ."""

    summary = "quality of the interfaces of an assembly: mean DockQ of the native's interfaces, 0 to 1"
    meaning = (
        "The mean over the native's interfaces of a third of fnat + 1/(1 + (iRMSD/1.5)^2) + 1/(1 + "
        "(LRMSD/8.5)^2), by the mapping of chains for which it is largest. Chains with heavy atoms less than "
        "5 Å apart have an interface; one that the model lacks counts 0. 0 to 1."
    )
    source = "Basu & Wallner 2016; Mirabello & Wallner 2024"
    elsewhere = (
        "GlobalDockQ of DockQ 2: equal, but that it leaves out interfaces of chains that a model lacks"
    )
    examples = ("DockQ",)
    column = DOCKQ


@register("fnat")
class Fnat(_Mean):
    """Share of the native's contacts."""

    summary = "share of the native's contacts between chains that the model has, mean over interfaces, 0 to 1"
    meaning = (
        "Of the pairs of residues of an interface with heavy atoms less than 5 Å apart in the native, the "
        "share that is in the model, too; the mean over interfaces, by the mapping of DockQ. 0 to 1."
    )
    source = "Basu & Wallner 2016"
    elsewhere = "fnat of DockQ: equal"
    examples = ("fnat",)
    column = FNAT


class _Deviation(_Mean):
    better = -1
    digits = 3
    absent = "worst"


@register("iRMSD", "i-RMSD", "irms")
class InterfaceDeviation(_Deviation):
    """RMSD of the interface's backbone."""

    summary = "RMSD of the backbone of an interface's residues, mean over interfaces, in Å"
    meaning = (
        "The RMSD of N, CA, C and O of the residues of an interface (heavy atoms less than 10 Å apart in the "
        "native) in the superposition of least squares; the mean over interfaces, by the mapping of DockQ. A "
        "model that lacks an interface counts as the worst other one of its list. 0 or more, in Å."
    )
    source = "Basu & Wallner 2016"
    elsewhere = "iRMSD of DockQ: equal"
    examples = ("iRMSD",)
    column = IRMSD


@register("LRMSD", "L-RMSD", "lrms")
class LigandDeviation(_Deviation):
    """RMSD of the smaller chain's backbone."""

    summary = (
        "RMSD of the smaller chain's backbone after the larger is superposed, mean over interfaces, in Å"
    )
    meaning = (
        "The RMSD of N, CA, C and O of the chain with fewer residues (the first one on ties) after the other "
        "is superposed by least squares; the mean over interfaces, by the mapping of DockQ. A model that "
        "lacks an interface counts as the worst other one of its list. 0 or more, in Å."
    )
    source = "Basu & Wallner 2016"
    elsewhere = "LRMSD of DockQ: equal"
    examples = ("LRMSD",)
    column = LRMSD


@register("ICS", "interface-contact-score")
class ContactScore(_OfInterfaces):
    """Interface contact score."""

    summary = "interface contact score: F1 of the contacts between chains, 0 to 1"
    meaning = (
        "The harmonic mean of precision and recall of the model's contacts between chains: pairs of residues "
        "with heavy atoms less than 5 Å apart. Contacts of residues that the native lacks do not count. "
        "Chains are mapped as for DockQ. 0 to 1."
    )
    source = "Lafita et al. 2018"
    elsewhere = "ics_trimmed of OpenStructure: equal under the same mapping; F1 of CASP's tables, times 100"
    examples = ("ICS",)
    words = ("model:trimmed",)

    def ratio(self, counts: Floats) -> Floats:
        return 2.0 * counts[:, BOTH] / (counts[:, NATIVE] + counts[:, MODEL])


@register("IPS", "interface-patch-score")
class PatchScore(_OfInterfaces):
    """Interface patch score."""

    summary = "interface patch score: Jaccard coefficient of the residues of interfaces, 0 to 1"
    meaning = (
        "Of the residues that have a contact to another chain in the native or in the model, the share that "
        "has one in both. Residues that the native lacks do not count. Contacts and the mapping of chains "
        "are those of ICS. 0 to 1."
    )
    source = "Lafita et al. 2018"
    elsewhere = "ips_trimmed of OpenStructure: equal under the same mapping"
    examples = ("IPS",)
    words = ("model:trimmed",)

    def ratio(self, counts: Floats) -> Floats:
        return counts[:, BOTH_PATCH] / counts[:, EITHER_PATCH]


@register("QS", "QS-score", "QSglob")
class QuaternaryScore(_OfInterfaces):
    """QS-score."""

    summary = "QS-score of an assembly: shared contacts of beta carbons by their distances, 0 to 1"
    meaning = (
        "Over pairs of residues of different chains with CB (CA of glycine) less than 12 Å apart: the sum of "
        "w (1 - |d - d'|/12) of pairs in model and native, divided by the sum of w of all pairs of either, "
        "where w is 1 up to 5 Å and exp(-2 ((d - 5)/4.28)^2) beyond. Chains are mapped as for DockQ. 0 to 1."
    )
    source = "Bertoni et al. 2017"
    elsewhere = "QS_global of OpenStructure: equal under the same mapping"
    examples = ("QS",)
    words = ("contact_cb:12",)

    def ratio(self, counts: Floats) -> Floats:
        return counts[:, QS_ABOVE] / counts[:, QS_BELOW]

    def formula(self) -> list[str]:
        return [*self.words, "mapping:DockQ"]
