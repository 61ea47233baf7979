"""Questions, texts and vectors of lists: columns of them, and files that are joined by id or position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from rerank.core.errors import DataError
from rerank.core.settings import Settings, setting

if TYPE_CHECKING:
    from rerank.data.columns.strings import StringColumn
    from rerank.data.lists import CandidateLists


def _by_commas(given: Any) -> Any:
    """Names, of which a text may hold several separated by commas, as a tuple."""
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        return given
    return tuple(name for one in given for name in one.split(","))


Sources = Annotated[tuple[Literal["text", "vectors"], ...], _by_commas]


INPUTS = ("prompts", "texts", "vectors", "query_vectors")  # columns of lists that features are computed from


def inputs_of(lists: CandidateLists) -> dict[str, Any]:
    """Return the columns of lists that features are computed from, by name."""
    return {name: getattr(lists, name) for name in INPUTS if getattr(lists, name) is not None}


def has_inputs(lists: CandidateLists) -> bool:
    """Return whether features can be computed from lists that have none."""
    return bool(inputs_of(lists))


def to_rank(lists: CandidateLists) -> CandidateLists:
    """Return what a learner may see of lists to rank, and what features are still to be computed from."""
    from rerank.data.lists import without_labels

    return replace(without_labels(lists, labels=False), **inputs_of(lists))


class EncoderPlaces(Settings):
    """Folders of local models of texts, and of what they made."""

    help_group: ClassVar[str] = "Choice and tuning"

    encoder: str | None = setting(
        None,
        "folder of a local model that makes vectors of texts without any: ONNX, or static embeddings (extra "
        "rerank[vectors])",
        metavar="DIR",
    )
    cross_encoder: str | None = setting(
        None,
        "folder of a local model in ONNX that scores pairs of a question and a text (extra rerank[vectors])",
        metavar="DIR",
    )
    vector_cache: str | None = setting(
        None, "folder that keeps what local models make, so that no text is encoded twice", metavar="DIR"
    )


class TextReading(Settings):
    """Sources of the questions, texts and vectors of lists, besides the column of texts."""

    query_column: str | None = setting(
        None,
        "column of the questions, one for each list; without a column of lists, equal questions are a list",
        flags=("--query-column", "--query"),
    )
    queries: str | None = setting(
        None,
        "questions, joined by the id of the list: id<TAB>text on each line, or JSON Lines",
        path=True,
    )
    collection: str | None = setting(
        None,
        "texts, joined by the id of the item: id<TAB>text on each line, or JSON Lines",
        path=True,
    )
    vectors: str | None = setting(
        None,
        "vectors of the items (npy, Parquet, JSON Lines): joined by the item's id if the file has ids, "
        "otherwise a row for each line of items",
        path=True,
        per_part=True,
    )
    query_vectors: str | None = setting(
        None,
        "vectors of the questions, in the same forms: joined by the id of the list, otherwise a row for each "
        "list",
        path=True,
        per_part=True,
    )


class DevVectors(Settings):
    """Vectors of the development lists."""

    dev_vectors: str | None = setting(None, "vectors of the items of the development lists", path=True)
    dev_query_vectors: str | None = setting(
        None, "vectors of the questions of the development lists", path=True
    )


def with_text_columns(
    lists: CandidateLists, columns: Mapping[str, StringColumn], query: str | None
) -> CandidateLists:
    """Return the lists with the indicators of columns of categories, and with questions.

    Parameters
    ----------
    lists : as they were read.
    columns : the values of columns by name, in the order of the input.
    query : the column of the questions, which are the ids of the lists if ``columns`` lack it; None = none.

    Raises
    ------
    DataError
        If a column has more than 1,000 values, or items of a list have different questions.
    """
    others = {name: column for name, column in columns.items() if name != query}
    if others:
        from rerank.data.categories import indicators  # loads numpy, which --help does without

        added = indicators(others, lists.source)
        lists = lists.with_added({name: lists.from_input_order(values) for name, values in added.items()})
    if query is None:
        return lists
    if query not in columns:
        return replace(lists, prompts=lists.list_ids)
    texts = columns[query] if lists.rows is None else columns[query].take(lists.rows)
    prompts = texts.take(lists.offsets[:-1])
    if texts != prompts.take(lists.list_index):
        item = next(k for k, i in enumerate(lists.list_index.tolist()) if texts[k] != prompts[i])
        found = f"{lists.place_of(item)} has another question than the items before"
        raise DataError(f"{lists.source}: {found}, expected one of each list (column {query!r})")
    return replace(lists, prompts=prompts)
