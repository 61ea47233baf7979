"""Questions, texts and vectors of lists: columns of them, and files that are joined by id or position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import Settings, setting

if TYPE_CHECKING:
    from rerank.core.types import Index
    from rerank.data.columns.strings import StringColumn
    from rerank.data.lists import CandidateLists


def _by_commas(given: Any) -> Any:
    """Names, of which a text may hold several separated by commas, as a tuple."""
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        return given
    return tuple(name for one in given for name in one.split(","))


TEXT_COLUMN = """
column of texts; several are fields, such as a title and a body, of which features are computed one by one and
together; with --collection a key of its JSON Lines
"""
_FIELD = "text "  # how the roles of texts of JSON candidates begin after the first one
Sources = Annotated[tuple[Literal["text", "vectors"], ...], _by_commas]


# Columns of lists that features are computed from.
INPUTS = ("prompts", "texts", "fields", "vectors", "query_vectors")


def inputs_of(lists: CandidateLists) -> dict[str, Any]:
    """Return the columns of lists that features are computed from, by name."""
    found = {name: getattr(lists, name) for name in INPUTS}
    return {name: column for name, column in found.items() if column is not None and column != {}}


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
    """Sources of the questions, texts and vectors of lists."""

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

    if TYPE_CHECKING:
        text_column: tuple[str, ...] = ()

    def texts_of(self, *, collection: bool = False) -> tuple[str, ...]:
        """Return the columns of texts of the file of lists itself, or the keys of those of the collection.

        Raises ConfigError if one comes twice, or has no name.
        """
        names = self.text_column if (self.collection is not None) == collection else ()
        wrong = next((name for k, name in enumerate(names) if not name or name in names[:k]), None)
        if wrong is not None:
            found = f"{wrong!r} twice" if wrong else "an empty name"
            raise ConfigError(f"text_column: found {found}, expected each column of texts once")
        return names

    def text_keys(self) -> dict[str, str | None]:
        """Return the keys of the texts of JSON candidates by role; None = one of the usual ones."""
        first, *others = self.texts_of() or (None,)
        return {"text": first, **{f"{_FIELD}{name}": name for name in others}}

    def named_columns(self, options: Iterable[str]) -> dict[str, str]:
        """Return the columns that are given for ``options``; of several columns of texts the first."""
        given = {name: getattr(self, name) for name in options}
        given["text_column"] = next(iter(self.texts_of()), None)
        return {name: column for name, column in given.items() if column}


class DevVectors(Settings):
    """Vectors of the development lists."""

    dev_vectors: str | None = setting(None, "vectors of the items of the development lists", path=True)
    dev_query_vectors: str | None = setting(
        None, "vectors of the questions of the development lists", path=True
    )


def with_text_columns(
    lists: CandidateLists, columns: Mapping[str, StringColumn], options: TextReading
) -> CandidateLists:
    """Return the lists with the indicators of columns of categories, with questions and fields of texts.

    Parameters
    ----------
    lists : as they were read.
    columns : the values of columns by name, in the order of the input.
    options : name the column of the questions, which are the ids of the lists if ``columns`` lack it, and
        the fields, of which the first is the texts of the lists.

    Raises
    ------
    DataError
        If a column has more than 1,000 values, items of a list have different questions, or a field has
        another role.
    """
    query, (first, *fields) = options.query_column, options.texts_of() or ("",)
    if fields:
        parts: dict[str, StringColumn | None] = {first: lists.texts}
        for name in fields:
            column = columns.get(name)
            parts[name] = column if column is None or lists.rows is None else column.take(lists.rows)
        lists = replace(lists, **joined(parts, lists.source))
    others = {name: column for name, column in columns.items() if name not in (query, *fields)}
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


def own_name(role: str) -> str:
    """Return what a message calls a role of JSON candidates."""
    return role.removeprefix(_FIELD)


def own_texts(
    builders: Mapping[str, Any], rows: Index | None, options: TextReading, source: str
) -> dict[str, Any]:
    """Return the texts and fields of JSON candidates as columns of lists.

    Parameters
    ----------
    builders : those of ``TextReading.text_keys``, with ``column``, which returns what they hold.
    rows : the caller's row of each item; None = in order.
    options : name the fields.
    source : what errors call the lists.

    Raises
    ------
    DataError
        If there is no text of a field.
    """
    texts: dict[str, StringColumn | None] = {}
    for role, builder in builders.items():
        column = builder.column() if len(builder) else None
        texts["texts" if role == "text" else role] = (
            column if column is None or rows is None else column.take(rows)
        )
    if len(texts) == 1:
        return texts
    return joined(dict(zip(options.text_column, texts.values(), strict=True)), source)


def joined(columns: Mapping[str, StringColumn | None], source: str) -> dict[str, Any]:
    """Return fields of texts (n_items each), and texts that are these, a line each, as columns of lists.

    ``source`` is what errors call the lists. Raises DataError if a field has no texts.
    """
    from rerank.data.columns.strings import StringColumn

    fields = {name: column for name, column in columns.items() if column is not None}
    if len(fields) < len(columns):
        absent = next(name for name, column in columns.items() if column is None)
        raise DataError(f"{source}: found no texts in {absent!r}, expected a field of each item")
    rows = zip(*([column.bytes_at(i) for i in range(len(column))] for column in fields.values()), strict=True)
    return {
        "texts": StringColumn.from_strings(b"\n".join(filter(None, row)) for row in rows),
        "fields": fields,
    }
