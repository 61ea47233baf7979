"""Lists with features of their questions and texts: ``rerank features text``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.texts.extraction import TextFeatures, fit_text
from rerank.formats.base import save
from rerank.formats.sources import Data, checked_format, read_lists
from rerank.training.text_options import TextSettings


class TextLists(Struct, frozen=True, eq=False):
    """Lists with features of texts, and what computed these."""

    lists: CandidateLists
    fitted: TextFeatures


def text_features(
    data: Data,
    settings: TextSettings | Mapping[str, Any] | None = None,
    out: str | None = None,
    to: str | None = None,
    *,
    reading: Reading | None = None,
) -> TextLists:
    """Return lists with features of their questions and texts, named text_bm25 and so on.

    Words are counted in the texts of the lists themselves, or in the background that the settings name: give
    the same background for training and test lists, or let training compute the features
    (``features_from="text"``).

    Parameters
    ----------
    data : a file of lists with questions and texts, or CandidateLists.
    settings : of ``TextSettings``, such as ``{"stemmer": "english"}``.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    reading : how the file is read.

    Returns
    -------
    TextLists

    Raises
    ------
    RerankError
        If there are no questions or texts, a question has no word, a feature has the name of one that is
        there, or a setting or a file is wrong.
    """
    if not isinstance(settings, TextSettings):
        settings = TextSettings.checked(settings or {}, "features text")
    target = None if out is None else checked_format(out, to, data, reading, *settings.files())
    lists = read_lists(data, reading)
    fitted = fit_text(lists, settings, source=lists.source)
    made = TextLists(fitted.apply(lists), fitted)
    if out is not None and target is not None:
        save(made.lists, out, target)
    return made
