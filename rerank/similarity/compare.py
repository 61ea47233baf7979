"""Similarity of lists or items: Gram matrices of files, the nearest ones, a map."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from rerank.core import figures
from rerank.core.errors import ConfigError, DataError, DataNote, RerankError
from rerank.core.files.write import atomic_write, make_folder, write_lines
from rerank.core.text import short_names
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.schema import TREE
from rerank.data.feature_ranges import note_uneven
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.npy import array_in_file
from rerank.data.reading import Reading
from rerank.data.scaling import AUTO, fit_scaling
from rerank.formats.sources import Data, all_or_none, check_inputs, check_outputs, is_path, read_lists
from rerank.similarity import results
from rerank.similarity.base import Kernel
from rerank.similarity.expression import ItemKernel, kernel_of
from rerank.similarity.gram_matrices import filled
from rerank.similarity.results import (
    MOST_FOR_SPECTRUM,
    ItemSimilarity,
    ListSimilarity,
    Similarity,
)
from rerank.similarity.spectra import REPAIRS, plane, repaired, spectrum

NEAREST = 5


Repair = Literal["none", "clip", "flip"]


Room = Callable[[int], Floats | None]  # where the matrix (n, n) goes, None = to memory


def list_similarity(
    data: Data | Sequence[Data],
    kernel: str = "list",
    out: str | None = None,
    figure: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    neighbours: int | None = None,
    repair: Repair = "none",
    scaling: str = AUTO,
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> Similarity:
    """Compare every list of one or several files with every other, or every item with every other.

    Parameters
    ----------
    data : files of lists, or CandidateLists; features are matched by name.
    kernel : a name of ``rerank list kernels``, or an expression over kernels of items, such as
        ``"ptk(question) + 0.5 * linear"``; see ``rerank.similarity.ItemKernel``.
    out : a folder for ``gram.npy`` (float64), ``lists.tsv`` or ``items.tsv`` (a row for each row of the
        matrix: names, file, and the coordinates of the map) and ``nearest.tsv``, all or none. Memory does not
        have to hold the matrix, which cannot be changed then. None = nothing is written.
    figure : the file of the map as SVG; needs the extra ``rerank[report]``.
    settings : those of a kernel given by its name, such as ``{"components": 5}``.
    neighbours : rows of ``nearest.tsv`` for each list or item; None = 5.
    repair : ``clip`` or ``flip`` makes the matrix in ``gram.npy`` positive semi-definite; nearest lists and
        map are always those of the kernel itself. Not for kernels of items, which need no repair.
    scaling : a name of ``rerank list scalings``, fitted on all lists together; auto = zscore for dense
        features, none for sparse ones and for kernels that compare trees alone.
    jobs, cluster : threads, or the workers of a cluster; see ``core.workers.parallel.using``.
    reading : how the files are read.

    Returns
    -------
    Similarity
        The Gram matrix, the names of its rows, the spectrum and the coordinates of a map. These two are None
        for more than 4,000 items.

    Raises
    ------
    RerankError
        If a file, a name or a setting is wrong, features or trees are missing or not shared by the files,
        there is no memory for the matrix, or an output cannot be written, is an input, or is not asked for by
        an option that needs it.
    """
    _check_options(out, neighbours, repair)
    made = kernel_of(kernel, settings)
    if isinstance(made, ItemKernel) and repair != "none":
        raise ConfigError(f"repair: not used with kernel {made.text}: kernels of items need none")
    several = [data] if isinstance(data, str | os.PathLike | CandidateLists) else list(data)
    files = [os.fspath(one) for one in several if is_path(one)]
    again = next((name for i, name in enumerate(files) if name in files[:i]), None)
    if again is not None:
        raise ConfigError(f"{again} is given twice; the lists of one file are compared with each other")
    check_inputs(files)
    names = results.files_of("list" if isinstance(made, Kernel) else "item")
    paths = [os.path.join(out, name) for name in names] if out is not None else []
    with all_or_none(), parallel.using(jobs, cluster), ExitStack() as stack:
        if out is not None:
            make_folder(out)
        outputs = {"--out": paths, **({} if figure is None else {"--figure": figure})}
        check_outputs(outputs, [*files, *([] if reading is None else reading.files())])
        if figure is not None:
            figures.check_figure(figure)

        def room(n: int) -> Floats | None:
            if figure is not None and isinstance(made, ItemKernel) and n > MOST_FOR_SPECTRUM:
                most = f"at most {MOST_FOR_SPECTRUM:,}"
                raise RerankError(f"figure: found {n:,} items, expected {most} for a map")
            if out is None or repair != "none":
                return None
            return stack.enter_context(array_in_file(paths[0], (n, n)))

        found = _compared(several, made, scaling, reading, room)
        if out is not None:
            _write(found, paths, neighbours or NEAREST, repair)
        stack.close()
        if figure is not None:
            results.draw(found, figure)
    return found


def _compared(
    several: Sequence[Data], kernel: Kernel | ItemKernel, scaling: str, reading: Reading | None, room: Room
) -> Similarity:
    """Return the result for ``list_similarity``."""
    sets = [read_lists(one, reading) for one in several]
    sources = [one.source for one in sets]
    if len(set(sources)) < len(sources):  # sets that no file was read for
        sources = [f"{name} {k}" for k, name in enumerate(sources, 1)]
    if isinstance(kernel, ItemKernel):
        kernel = kernel.resolved(sets[0])
    lists, scaling = _scaled(_merged([_only_compared(one, kernel) for one in sets]), kernel, scaling)
    prepared = kernel.prepare(lists)[0]
    gram = filled(prepared, prepared, room(prepared.n))
    small = len(gram) <= MOST_FOR_SPECTRUM
    sizes = [one.n_lists if isinstance(kernel, Kernel) else one.n_items for one in sets]
    ids = [_ids_of(one, isinstance(kernel, ItemKernel)) for one in sets]
    common: dict[str, Any] = {
        "scaling": scaling,
        "sources": sources,
        "source_of": np.repeat(np.arange(len(sets)), sizes),
        "names": _names_of(ids, sources),
        "ids": [name for some in ids for name in some],
        "gram": gram,
        "spectrum": spectrum(gram) if small else None,
        "plane": plane(gram) if small or isinstance(kernel, Kernel) else None,
    }
    if isinstance(kernel, ItemKernel):
        named = [name for one in sets for name in _ids_of(one, False)]
        list_of = [named[i] for i in lists.list_index.tolist()]
        return ItemSimilarity(**common, kernel=kernel, list_of=list_of, n_lists=lists.n_lists)
    if prepared.axes is not None:
        _note_nothing_alike(gram, sets, prepared.axes)
    return ListSimilarity(**common, kernel=kernel, lengths=lists.lengths, prepared=prepared)


def _scaled(lists: CandidateLists, kernel: Kernel | ItemKernel, scaling: str) -> tuple[CandidateLists, str]:
    """The lists with scaled features, and the name of the scaling."""
    named = f"kernel {kernel.name if isinstance(kernel, Kernel) else kernel.text}"
    if isinstance(kernel, ItemKernel) and not kernel.compares("features"):
        if scaling not in (AUTO, "none"):
            raise ConfigError(f"scaling {scaling}: not used by {named}, which compares no features")
        return lists, "none"
    if scaling == AUTO:
        scaling = "zscore" if isinstance(lists.features, Dense) else "none"
    if scaling != "none":
        return fit_scaling(scaling, lists).apply(lists), scaling
    if isinstance(lists.features, Dense):
        note_uneven(lists, named)
    return lists, scaling


def _note_nothing_alike(gram: Floats, sets: Sequence[CandidateLists], axes: Index) -> None:
    """Warn if every similarity of two files is 0, although both have lists of different items."""
    ends = np.cumsum([one.n_lists for one in sets])
    parts = [slice(end - one.n_lists, end) for one, end in zip(sets, ends, strict=True)]
    for i, j in combinations(range(len(sets)), 2):
        if axes[parts[i]].any() and axes[parts[j]].any() and not gram[parts[i], parts[j]].any():
            text = f"every similarity to lists of {sets[i].source} is 0: no feature varies in both"
            warnings.warn(f"{sets[j].source}: {text}", DataNote, stacklevel=4)


def _check_options(out: str | None, neighbours: int | None, repair: str) -> None:
    """Raise ConfigError for an option that would change nothing, or a wrong one."""
    if out == "":
        raise ConfigError("out: found no name, expected that of a folder")
    if repair not in ("none", *REPAIRS):
        raise ConfigError(f"repair: found {repair!r}, expected none, {' or '.join(REPAIRS)}")
    if neighbours is not None and neighbours < 1:
        raise ConfigError(f"nearest: found {neighbours}, expected 1 or more")
    for option, given in (("nearest", neighbours is not None), ("repair", repair != "none")):
        if given and out is None:
            raise ConfigError(f"{option}: not used without a folder for the matrix (--out, out=)")


def _write(found: Similarity, paths: Sequence[str], neighbours: int, repair: Repair) -> None:
    """Write the tables of lists and of the nearest ones, and a repaired matrix."""
    if repair != "none":
        matrix = np.ascontiguousarray(repaired(found.gram, repair))
        with atomic_write(paths[0]) as file:
            np.lib.format.write_array(file, matrix, version=(1, 0), allow_pickle=False)
    write_lines(paths[1], found.rows())
    write_lines(paths[2], found.nearest_rows(neighbours))


def _ids_of(lists: CandidateLists, items: bool) -> list[str]:
    """Return the ids of lists, or of items: the list's, and the item's or its number in the list."""
    named = [lists.list_id(i) for i in range(lists.n_lists)]
    if not items:
        return named
    list_of = lists.list_index.tolist()
    places = np.arange(lists.n_items) - lists.offsets[:-1][list_of] + 1
    own = map(str, places.tolist()) if lists.item_ids is None else lists.item_ids
    return [f"{named[i]}/{item}" for i, item in zip(list_of, own, strict=True)]


def _names_of(ids: Sequence[list[str]], sources: list[str]) -> list[str]:
    """Return the ids of all sets, each after the name of its file if two files share an id."""
    seen: set[str] = set()
    for some in ids:
        if not seen.isdisjoint(some):
            shown = short_names(sources)
            return [f"{name}:{one}" for name, some in zip(shown, ids, strict=True) for one in some]
        seen.update(some)
    return [one for some in ids for one in some]


def _only_compared(lists: CandidateLists, kernel: Kernel | ItemKernel) -> CandidateLists:
    """Return the lists with only what the kernel compares; raise DataError if they lack its trees."""
    trees = {} if isinstance(kernel, Kernel) else {name: lists.forest(name) for name in kernel.trees()}
    own = trees.pop(TREE, None)
    by_features = isinstance(kernel, Kernel) or kernel.compares("features")
    return CandidateLists(
        lists.offsets,
        lists.features if by_features else Dense(np.empty((lists.n_items, 0))),
        feature_names=lists.feature_names if by_features else None,
        trees=own,
        structures=trees,
        source=lists.source,
        selection=lists.selection,
    )


def _merged(sets: Sequence[CandidateLists]) -> CandidateLists:
    """Return what is compared of all sets as one set of lists.

    Raises DataError if two neighbouring sets have no feature in common.
    """
    for a, b in pairwise(sets):
        common = set(a.names()).intersection(b.names())
        if a.n_features and b.n_features and not common:
            raise DataError(f"{b.source}: found no feature of {a.source}, expected some in common")
        widths = (a.n_features, b.n_features)
        if a.feature_names is None and b.feature_names is None and widths[0] != widths[1]:
            text = f"{a.source} has {widths[0]} features, {b.source} {widths[1]}; absent ones are 0"
            if isinstance(a.features, Dense) or isinstance(b.features, Dense):
                warnings.warn(text, DataNote, stacklevel=4)
    return joined(sets)
