"""Which lists or items are alike: Gram matrices of files, the nearest ones, a map."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import Any, Literal

import numpy as np

from rerank.core import figures
from rerank.core.errors import ConfigError, DataNote, RerankError
from rerank.core.files.atomic_output import make_folder
from rerank.core.files.streams import atomic_write, write_lines
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.npy import array_in_file
from rerank.data.reading import Reading
from rerank.data.scaling import AUTO, fit_scaling
from rerank.experiment.outputs import all_or_none, check_outputs
from rerank.experiment.sources import Data, check_inputs, inputs_of, read_lists
from rerank.experiments.together import check_different, ids_of, names_of, only_compared, sources_of, together
from rerank.report import similarity as report
from rerank.report.compared import ItemSimilarity, ListSimilarity
from rerank.report.similarity import MOST_FOR_SPECTRUM, Similarity
from rerank.similarity.base import Kernel
from rerank.similarity.expression import ItemKernel, kernel_of
from rerank.similarity.gram_matrices import filled
from rerank.similarity.spectra import REPAIRS, plane, repaired, spectrum
from rerank.training.prepare import note_uneven

NEAREST = 5

Repair = Literal["none", "clip", "flip"]
Room = Callable[[int], Floats | None]  # where the matrix (n, n) goes, None = to memory


def list_similarity(
    data: Data | Sequence[Data],
    kernel: str = "list",
    *,
    settings: Mapping[str, Any] | None = None,
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
    settings : those of a kernel given by its name, such as ``{"components": 5}``.
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
        If a file, a name or a setting is wrong, features or trees are missing or not shared by the files, or
        there is no memory for the matrix.
    """
    with parallel.using(jobs, cluster):
        return _compared(data, kernel_of(kernel, settings), scaling, reading)


def _compared(
    data: Data | Sequence[Data],
    kernel: Kernel | ItemKernel,
    scaling: str,
    reading: Reading | None,
    room: Room | None = None,
) -> Similarity:
    """What ``similarity`` returns."""
    several = [data] if isinstance(data, str | os.PathLike | CandidateLists) else list(data)
    check_different([os.fspath(one) for one in several if not isinstance(one, CandidateLists)])
    sets = [read_lists(one, reading) for one in several]
    sources = sources_of(sets)
    if isinstance(kernel, ItemKernel):
        kernel = kernel.resolved(sets[0])
    lists, scaling = _scaled(together([only_compared(one, kernel) for one in sets]), kernel, scaling)
    prepared = kernel.prepare(lists)[0]
    gram = filled(prepared, prepared, None if room is None else room(prepared.n))
    small = len(gram) <= MOST_FOR_SPECTRUM
    sizes = [one.n_lists if isinstance(kernel, Kernel) else one.n_items for one in sets]
    ids = [ids_of(one, isinstance(kernel, ItemKernel)) for one in sets]
    common: dict[str, Any] = {
        "scaling": scaling,
        "sources": sources,
        "source_of": np.repeat(np.arange(len(sets)), sizes),
        "names": names_of(ids, sources),
        "ids": [name for some in ids for name in some],
        "gram": gram,
        "spectrum": spectrum(gram) if small else None,
        "plane": plane(gram) if small or isinstance(kernel, Kernel) else None,
    }
    if isinstance(kernel, ItemKernel):
        named = [name for one in sets for name in ids_of(one, False)]
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
        note_uneven(lists, named, stacklevel=5)
    return lists, scaling


def _note_nothing_alike(gram: Floats, sets: Sequence[CandidateLists], axes: Index) -> None:
    """Warn if every similarity of two files is 0, although both have lists of different items."""
    ends = np.cumsum([one.n_lists for one in sets])
    parts = [slice(end - one.n_lists, end) for one, end in zip(sets, ends, strict=True)]
    for i, j in combinations(range(len(sets)), 2):
        if axes[parts[i]].any() and axes[parts[j]].any() and not gram[parts[i], parts[j]].any():
            text = f"every similarity to lists of {sets[i].source} is 0: no feature varies in both"
            warnings.warn(f"{sets[j].source}: {text}", DataNote, stacklevel=4)


def similarity_files(
    data: Sequence[str],
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
    """Compare the lists of files, or their items; write the Gram matrix, the nearest ones and a map.

    Parameters
    ----------
    data, kernel, settings, scaling, jobs, cluster, reading : as for ``similarity``.
    out : a folder for ``gram.npy`` (float64), ``lists.tsv`` or ``items.tsv`` (a row for each row of the
        matrix: names, file, and the coordinates of the map) and ``nearest.tsv``, together or not at all.
        Memory does not have to hold the matrix.
    figure : the file of the map as SVG; needs the extra ``rerank[report]``.
    neighbours : rows of ``nearest.tsv`` for each list or item; None = 5.
    repair : ``clip`` or ``flip`` makes the matrix in ``gram.npy`` positive semi-definite; nearest lists and
        map are always those of the kernel itself. Not for kernels of items, which need no repair.

    Returns
    -------
    Similarity
        As ``similarity``; with ``out``, the matrix is the file and cannot be changed.

    Raises
    ------
    RerankError
        As ``similarity``; also if an output cannot be written or is an input, or an option has no effect.
    """
    _check_options(out, neighbours, repair)
    made = kernel_of(kernel, settings)
    if isinstance(made, ItemKernel) and repair != "none":
        raise ConfigError(f"repair: not used with kernel {made.text}: kernels of items need none")
    check_inputs(data)
    sources = inputs_of(data[0], reading, *data[1:])
    names = report.files_of("list" if isinstance(made, Kernel) else "item")
    paths = [os.path.join(out, name) for name in names] if out is not None else []
    with all_or_none(), parallel.using(jobs, cluster):
        if out is not None:
            make_folder(out)
        check_outputs({"--out": paths, **({} if figure is None else {"--figure": figure})}, sources)
        if figure is not None:
            figures.check_figure(figure)
        with ExitStack() as files:

            def room(n: int) -> Floats | None:
                if figure is not None and isinstance(made, ItemKernel) and n > MOST_FOR_SPECTRUM:
                    most = f"at most {MOST_FOR_SPECTRUM:,}"
                    raise RerankError(f"figure: found {n:,} items, expected {most} for a map")
                if out is None or repair != "none":
                    return None
                return files.enter_context(array_in_file(paths[0], (n, n)))

            found = _compared(data, made, scaling, reading, room)
            if out is not None:
                _write(found, paths, neighbours or NEAREST, repair)
        if figure is not None:
            report.draw(found, figure)
    return found


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
