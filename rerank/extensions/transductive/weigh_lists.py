"""Importance weights of training lists for the lists of another file, and their file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.files.write import write_lines
from rerank.core.tables.display import Display
from rerank.core.tables.table import Table, facts_table, table_of
from rerank.core.tables.text import facts
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.feature_ranges import note_uneven
from rerank.data.lists import without_labels
from rerank.data.overlap import note_shared
from rerank.data.reading import OF_JUDGED, Reading
from rerank.data.scaling import AUTO, fit_scaling
from rerank.extensions.transductive.importance import ListImportanceWeighting
from rerank.extensions.transductive.weighting.lists import ListWeighting
from rerank.formats.sources import Data, check_inputs, check_outputs, inputs_of, is_path, read_lists
from rerank.formats.weights import list_weight_lines
from rerank.training.data import SideInputs
from rerank.training.steps.features import ScaleFeatures

_MOST_ROWS = 50  # in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class ListWeights(Display):
    """A weight for each training list, and how it was found.

    Attributes
    ----------
    weights : float64 (n_lists)
        Of mean 1, in the order of the training lists.
    ids : list of str
        Of the training lists.
    figures : mapping of str to float
        See ``rerank.extensions.transductive.weighting.lists.WeighedLists``.
    settings : mapping of str to Any
        The kernel, the basis and their settings.
    scaling : str
        The scaling of features, fitted on the training lists.
    seed : int
    sources : (str, str)
        Names of the training lists and of the lists to be ranked.
    sizes : (int, int)
        How many there are of each.
    """

    weights: Floats
    ids: list[str]
    figures: Mapping[str, float]
    settings: Mapping[str, Any]
    scaling: str
    seed: int
    sources: tuple[str, str]
    sizes: tuple[int, int]

    def as_json(self) -> dict[str, Any]:
        """Return the figures with full precision."""
        return {
            "train": {"source": self.sources[0], "lists": self.sizes[0]},
            "test": {"source": self.sources[1], "lists": self.sizes[1]},
            "settings": {name: value for name, value in self.settings.items() if value is not None},
            "scaling": self.scaling,
            "seed": self.seed,
            "figures": {name: None if np.isnan(value) else value for name, value in self.figures.items()},
        }

    def tables(self) -> list[Table]:
        """Return the figures and the first weights as tables."""
        left = len(self.ids) - _MOST_ROWS
        rows = zip(self.ids[:_MOST_ROWS], self.weights.tolist(), strict=False)
        weights = table_of(
            [{"list": name, "weight": weight} for name, weight in rows],
            notes=[f"... and {left} more"] * (left > 0),
        )
        return [facts_table(_figures(self)), weights]

    def lines(self) -> list[str]:
        """Return the figures as text."""
        return facts(_figures(self))

    def frame_columns(self) -> dict[str, Any]:
        """Return the weights of the lists."""
        return {"list": self.ids, "weight": self.weights.tolist()}


def _figures(found: ListWeights) -> list[tuple[str, str]]:
    """The figures as names and texts."""
    figures, settings, (train, test) = found.figures, found.settings, found.sources
    own = [f"{name} {settings[name]:g}" for name in ("components", "ridge") if settings[name] is not None]
    kernel = settings["kernel"] + (f" ({', '.join(own)})" if own else "")
    used, centres = int(figures["active"]), count(int(figures["centres"]), "centre")
    rows = [
        ("lists", f"{found.sizes[0]} of {train}, weighted for {found.sizes[1]} of {test}"),
        ("kernel", f"{kernel}, scaling {found.scaling}"),
        ("basis", f"{settings['basis']}, {used} of {centres} used"),
    ]
    if settings["basis"] == "gaussian":
        left_out = f"mean log w of left-out lists {figures['held_out']:.4f}"
        rows.append(("width", f"{figures['width']:.6g}, {left_out}"))
    rows += [
        ("likelihood", f"mean log w {figures['likelihood']:.4f}"),
        ("quartiles", " ".join(f"{figures[name]:.4f}" for name in ("q25", "median", "q75"))),
        ("largest", f"{found.weights.max():.4f}"),
        ("effective", f"{figures['effective']:.1%} of the lists"),
        ("zeros", f"{figures['zeros']:.1%} of the weights are below 1e-6"),
    ]
    for name, source, what in (
        ("equal_items", train, "of equal items, similar to no list"),
        ("equal_items_unlabelled", test, "of equal items, left out"),
        ("unlike", test, "similar to no training list, left out"),
    ):
        if figures[name]:
            rows.append(("note", f"{source}: {count(int(figures[name]), 'list')} {what}"))
    return rows


def weigh_lists(
    train: Data,
    test: Data,
    out: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    scaling: str = AUTO,
    seed: int = 1,
    jobs: int | None = None,
    reading: Reading | None = None,
) -> ListWeights:
    """Weigh training lists by how much they look like the lists to be ranked; no label is used.

    These are the weights of the learner ``list-iw`` with the same settings, scaling and seed.

    Parameters
    ----------
    train, test : training lists and the lists to be ranked, files or CandidateLists; features of ``test`` are
        matched by name to those of ``train``.
    out : file for list id, number of items and weight, in the order of ``train`` (TSV); None = none.
    settings : of the learner list-iw, such as ``{"kernel": "angles"}``.
    scaling : a name of ``rerank list scalings``, fitted on ``train``; auto = zscore for dense features, none
        for sparse ones.
    seed : draws centres, and divides the lists to choose a width.
    jobs : threads; see ``core.workers.parallel.using``.
    reading : how the files are read.

    Returns
    -------
    ListWeights
        With ``weights``, float64 (n_lists) of mean 1 as ``rerank.train(..., list_weights=)`` takes them, and
        ``figures``.

    Raises
    ------
    RerankError
        If a file, a name or a setting is wrong, the lists allow no weights, or ``out`` cannot be written.

    Examples
    --------
    >>> import rerank
    >>> X = [[0, 0], [1, 5], [2, 1], [0, 0], [6, 1], [1, 2]]
    >>> train = rerank.CandidateLists.from_arrays(X, group=[3, 3])
    >>> test = rerank.CandidateLists.from_arrays([[1, 1], [1, 8], [3, 2]], group=[3])
    >>> found = rerank.weigh_lists(train, test, settings={"basis": "kernel"}, scaling="none")
    >>> found.weights.round(2).tolist()
    [1.7, 0.3]
    """
    made = ListWeighting.checked(settings or {}, "weigh-lists")
    if out is not None:
        files = inputs_of(train, reading, os.fspath(test) if is_path(test) else None)
        if files.count("-") > 1:
            raise ConfigError("TRAIN and TEST: found - twice, and standard input can be read only once")
        check_inputs(files)
        check_outputs({"--out": out}, files)
    lists = read_lists(train, reading)
    given = read_lists(test, _of_test(reading))
    note_shared(lists, given, "training lists")
    unlabelled = SideInputs(given).aligned(lists).unlabelled
    assert unlabelled is not None
    training = without_labels(lists, labels=False)
    learner = ListImportanceWeighting()
    name = ScaleFeatures(scaling).resolve(learner, training).scaling
    if name != "none":
        fitted = fit_scaling(name, training)
        training, unlabelled = fitted.apply(training), fitted.apply(unlabelled)
    else:
        note_uneven(training, f"learner {learner.name}")
    with parallel.using(jobs):
        found = made.weigh_lists(training, unlabelled, seed)
    if out is not None:
        write_lines(out, list_weight_lines(lists, found.weights))
    return ListWeights(
        weights=found.weights,
        ids=[lists.list_id(i) for i in range(lists.n_lists)],
        figures=found.figures,
        settings=made.get_params() | made.kernel_on_lists.get_params(),
        scaling=name,
        seed=seed,
        sources=(lists.source, given.source),
        sizes=(lists.n_lists, given.n_lists),
    )


def _of_test(reading: Reading | None) -> Reading | None:
    """Return the options of reading the lists to be ranked: without references, ids and judgements."""
    if reading is None:
        return None
    return Reading(**{name: value for name, value in reading.get_params().items() if name not in OF_JUDGED})
