"""Lists with features of vectors: ``rerank features vectors``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.vectors.extraction import VectorFeatures
from rerank.formats.base import save
from rerank.formats.sources import Data, checked_format, read_lists
from rerank.training.text_options import VectorSettings


class VectorLists(Struct, frozen=True, eq=False):
    """Lists with features of vectors, and what computed these."""

    lists: CandidateLists
    fitted: VectorFeatures


def vector_features(
    data: Data,
    settings: VectorSettings | Mapping[str, Any] | None = None,
    out: str | None = None,
    to: str | None = None,
    *,
    reading: Reading | None = None,
) -> VectorLists:
    """Return lists with similarities of vectors as features, named vector_cosine and so on.

    Parameters
    ----------
    data : a file of lists, or CandidateLists with ``vectors`` and perhaps ``query_vectors``, or with
        questions and texts.
    settings : of ``VectorSettings``, such as ``{"encoder": "minilm", "vector_cache": "cache"}``.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    reading : how the file is read; ``vectors`` and ``query_vectors`` name the files of vectors.

    Returns
    -------
    VectorLists

    Raises
    ------
    RerankError
        If items have no vectors and there is no model that makes them, vectors do not fit the lists or each
        other, a feature has the name of one that is there, or a file or a model is wrong.
    """
    if not isinstance(settings, VectorSettings):
        settings = VectorSettings.checked(settings or {}, "features vectors")
    VectorFeatures.check_settings(settings)
    target = None if out is None else checked_format(out, to, data, reading)
    lists = read_lists(data, reading)
    fitted = VectorFeatures.fit(lists, settings)
    made = VectorLists(fitted.apply(lists), fitted)
    if out is not None and target is not None:
        save(made.lists, out, target)
    return made
