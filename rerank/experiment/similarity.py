"""Which lists are alike: Gram matrices of files, the nearest lists, a map."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from rerank import parallel
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.scaling import AUTO, fit_scaling
from rerank.data.types import Floats, Index
from rerank.errors import ConfigError, DataError, DataNote
from rerank.experiment.outputs import all_or_none, check_outputs
from rerank.experiment.preparing import note_uneven
from rerank.experiment.sources import Data, check_inputs, inputs_of, read_lists
from rerank.files import atomic_write, write_lines
from rerank.placing import make_folder
from rerank.reading import Reading
from rerank.report import figures
from rerank.report import similarity as report
from rerank.report.similarity import Similarity
from rerank.similarity.base import KERNELS
from rerank.similarity.matrices import filled
from rerank.similarity.neighbours import nearest
from rerank.similarity.spectra import REPAIRS, plane, repaired, spectrum

MOST_FOR_SPECTRUM = 4000  # lists; the time of all eigenvalues grows with the cube
NEAREST = 5

Repair = Literal["none", "clip", "flip"]


def similarity(
    data: Data | Sequence[Data],
    kernel: str = "list",
    *,
    settings: Mapping[str, Any] | None = None,
    scaling: str = AUTO,
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> Similarity:
    """Compare every list of one or several files with every other.

    Parameters
    ----------
    data : files of lists, or CandidateLists; features are matched by name.
    kernel : a name of ``rerank list kernels``.
    settings : those of the kernel, such as ``{"components": 5}``.
    scaling : a name of ``rerank list scalings``, fitted on all lists together; auto = zscore for dense
        features, none for sparse ones.
    jobs, cluster : threads, or the workers of a cluster; see ``rerank.parallel.using``.
    reading : how the files are read.

    Returns
    -------
    Similarity
        The Gram matrix, the names of its lists, the spectrum and the coordinates of a map.

    Raises
    ------
    RerankError
        If a file, a name or a setting is wrong, features are missing or not shared by the files, or there is
        no memory for the matrix.
    """
    made = KERNELS.get(kernel).checked(settings or {}, f"kernel {kernel}")
    several = [data] if isinstance(data, str | os.PathLike | CandidateLists) else list(data)
    _check_different([os.fspath(one) for one in several if not isinstance(one, CandidateLists)])
    sets = [read_lists(one, reading) for one in several]
    sources = _sources(sets)
    names = _names(sets, sources)
    lists = _together(sets)
    if scaling == AUTO:
        scaling = "zscore" if isinstance(lists.features, Dense) else "none"
    if scaling == "none" and isinstance(lists.features, Dense):
        note_uneven(lists, f"kernel {kernel}")
    prepared, _ = made.prepare(lists if scaling == "none" else fit_scaling(scaling, lists).apply(lists))
    with parallel.using(jobs, cluster):
        gram = filled(prepared, prepared)
    if prepared.axes is not None:
        _note_nothing_alike(gram, sets, prepared.axes)
    return Similarity(
        kernel=made,
        scaling=scaling,
        sources=sources,
        source_of=np.repeat(np.arange(len(sets)), [one.n_lists for one in sets]),
        names=names,
        ids=[one.list_id(i) for one in sets for i in range(one.n_lists)],
        lengths=lists.lengths,
        prepared=prepared,
        gram=gram,
        spectrum=spectrum(gram) if len(gram) <= MOST_FOR_SPECTRUM else None,
        plane=plane(gram),
    )


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
    """Compare the lists of files; write the Gram matrix, the nearest lists and a map.

    Parameters
    ----------
    data, kernel, settings, scaling, jobs, cluster, reading : as for ``similarity``.
    out : a folder for ``gram.npy`` (float64), ``lists.tsv`` (a row for each row of the matrix: name, file,
        items, axes and the coordinates of the map) and ``nearest.tsv``, together or not at all.
    figure : the file of the map as SVG; needs the extra ``rerank[report]``.
    neighbours : rows of ``nearest.tsv`` for each list; None = 5.
    repair : ``clip`` or ``flip`` makes the matrix in ``gram.npy`` positive semi-definite; nearest lists and
        map are always those of the kernel itself.

    Raises
    ------
    RerankError
        As ``similarity``; also if an output cannot be written or is an input, or an option has no effect.
    """
    _check_options(out, neighbours, repair)
    check_inputs(data)
    sources = inputs_of(data[0], reading, *data[1:])
    paths = [os.path.join(out, name) for name in report.FILES] if out is not None else []
    with all_or_none():
        if out is not None:
            make_folder(out)
        check_outputs({"--out": paths, **({} if figure is None else {"--figure": figure})}, sources)
        if figure is not None:
            figures.check_figure(figure)
        found = similarity(
            data, kernel, settings=settings, scaling=scaling, jobs=jobs, cluster=cluster, reading=reading
        )
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
    """Write the matrix, the table of lists and that of the nearest ones."""
    matrix = found.gram if repair == "none" else repaired(found.gram, repair)
    with atomic_write(paths[0]) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(matrix), version=(1, 0), allow_pickle=False)
    write_lines(paths[1], report.list_rows(found))
    write_lines(paths[2], report.nearest_rows(found, *nearest(found.gram, neighbours)))


def _check_different(names: Sequence[str]) -> None:
    """Raise ConfigError if a file is given twice."""
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise ConfigError(f"{again} is given twice; the lists of one file are compared with each other")


def _sources(sets: Sequence[CandidateLists]) -> list[str]:
    """The names of the sets, numbered if two have the same, as sets that no file was read for."""
    names = [one.source for one in sets]
    return [f"{name} {k}" for k, name in enumerate(names, 1)] if len(set(names)) < len(names) else names


def _names(sets: Sequence[CandidateLists], sources: list[str]) -> list[str]:
    """The ids of all lists, each after the name of its file if two files share an id."""
    ids = [[one.list_id(i) for i in range(one.n_lists)] for one in sets]
    seen: set[str] = set()
    for some in ids:
        if not seen.isdisjoint(some):
            shown = report.short_names(sources)
            return [f"{name}:{one}" for name, some in zip(shown, ids, strict=True) for one in some]
        seen.update(some)
    return [one for some in ids for one in some]


def _together(sets: Sequence[CandidateLists]) -> CandidateLists:
    """The features of all sets as one set of lists.

    Raises DataError if two neighbouring sets have no feature in common.
    """
    bare = [
        CandidateLists(
            one.offsets,
            one.features,
            feature_names=one.feature_names,
            source=one.source,
            selection=one.selection,
        )
        for one in sets
    ]
    for a, b in pairwise(bare):
        common = set(a.names()).intersection(b.names())
        if a.n_features and b.n_features and not common:
            raise DataError(f"{b.source}: found no feature of {a.source}, expected some in common")
        widths = (a.n_features, b.n_features)
        if a.feature_names is None and b.feature_names is None and widths[0] != widths[1]:
            text = f"{a.source} has {widths[0]} features, {b.source} {widths[1]}; absent ones are 0"
            if isinstance(a.features, Dense) or isinstance(b.features, Dense):
                warnings.warn(text, DataNote, stacklevel=4)
    return joined(bare)
