"""CandidateLists: every reader makes them, every learner and every metric takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from rerank.core.errors import DataError
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import frame_of
from rerank.core.tables.display import Text, tables_text
from rerank.core.types import AnyArray, ArrayLike, Counts, Floats, Index, Mask
from rerank.data import array_inputs as given
from rerank.data import frames, views
from rerank.data.arrays import is_masked, real_array, without_missing
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import Ragged, grouped, offsets_of, places_of, renumbered
from rerank.data.columns.schema import TREE, check_lists, column, taken
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import SUPERPOSITIONS, Traces
from rerank.data.matrix import Dense, Features, NotFiniteError, as_features
from rerank.data.names import Columns, match, note_features, numbered
from rerank.data.npy import row_blocks
from rerank.data.views import CandidateList


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Lists of candidates with their features and, for some, judgements.

    Items of list i are the entries ``offsets[i]:offsets[i + 1]`` of every column of items: this is the order
    of the items. The order of the caller's rows (the lines of a file, the rows of arrays) is another one if
    the rows of a list were not contiguous. Scores are given and returned in the caller's order by
    ``Model.score``, ``rerank.evaluate``, ``rerank.compare`` and score files; columns, judges and kernels have
    the order of the items. ``input_order`` and ``from_input_order`` lead from one to the other.

    The invariants are checked once, on construction; kernels check nothing.

    Attributes
    ----------
    offsets : int64 (n_lists + 1)
        Strictly increasing: no list is empty.
    features : Dense, Sparse or Mixed
        One row per item.
    labels : float64 (n_items), optional
        Larger is better, NaN = unjudged. None = nothing is judged.
    base_scores : float64 (n_items), optional
        Scores of the first stage: numbers, never an order.
    first_best : float64 (n_items), optional
        Its order (largest first, ties by position) is the first stage's ranking.
    run_scores : float64 (n_items), optional
        Scores of the TREC run that ``first_best`` ranks, NaN for items that it did not return. With ties=trec
        ranking metrics break its ties as trec_eval does; items that it did not return are as if absent.
    classes : StringColumn (n_items), optional
        The classes of items that are examples for classification: names separated by commas, "" = none (see
        data.classes).
    list_ids, item_ids : StringColumn (n_lists) and (n_items), optional
    rows : int64 (n_items), optional
        The caller's row of each item, from 0: its line among the input's item lines. None = both orders are
        the same.
    feature_names : sequence of str, optional
        None = "1", "2", ...
    texts : StringColumn (n_items), optional
        The candidates' strings.
    fields : mapping of name to StringColumn (n_items)
        Their parts, such as "title" and "body", of which ``texts`` are made; empty = they have none.
    answers : StringColumn (n_items), optional
        The final answers of the candidates, for votes: equal strings, without blanks at their ends, are one
        answer, "" = none.
    prompts : StringColumn (n_lists), optional
        What the candidates of a list answer.
    references : tuple of StringColumn (n_lists)
    trees, gold : Forest (n_items) and (n_lists), optional
        Parses of the candidates, and the gold parses.
    structures : mapping of name to Forest (n_items)
        Further trees of each item, such as "question" and "passage". A name is a letter or _, then letters,
        digits, _ and -; "tree" stands for ``trees`` and is no name.
    traces, natives : Traces (n_items) and (n_lists), optional
        CA traces of protein models, and of the native structures. A residue of a model stands for the
        native's residue of the same key.
    counts : mapping of metric name to int32 or float64 (n_items, k)
        Statistics that the metric sums.
    unretrieved : Ragged (n_lists), optional
        Labels of judged items that are in no list, such as those that a TREC run missed; ranking metrics
        count them as never found.
    vectors, query_vectors : float32 or float64 (n_items, k) and (n_lists, k), optional
        Embeddings of the candidates, and of what they answer.
    subtopics : StringColumn (n_lists), optional
        Judgements of documents, in the list or not, by subtopic of the list's query: lines of subtopic,
        document id and judgement separated by tabs (see extensions.diversity).
    source : str
        Where the set came from, for messages.
    selection : str
        How the features were selected from those of a file, "" = all of them. Selected features are matched
        to other columns by name only (see data.selection).
    has_missing : bool
        Whether any feature is NaN.

    Raises
    ------
    DataError
        If the columns do not fit each other or break an invariant above.
    """

    offsets: Index
    features: Features
    labels: Floats | None = field(default=None, metadata=column("item", "numbers"))
    base_scores: Floats | None = field(default=None, metadata=column("item", "numbers"))
    first_best: Floats | None = field(default=None, metadata=column("item", "numbers"))
    run_scores: Floats | None = field(default=None, metadata=column("item", "numbers"))
    classes: StringColumn | None = field(default=None, metadata=column("item", "strings"))
    list_ids: StringColumn | None = field(default=None, metadata=column("list", "strings"))
    item_ids: StringColumn | None = field(default=None, metadata=column("item", "strings"))
    rows: Index | None = field(default=None, metadata=column("item", "positions"))
    feature_names: Sequence[str] | None = field(default=None, metadata=column("feature", "names"))
    texts: StringColumn | None = field(default=None, metadata=column("item", "strings"))
    fields: Mapping[str, StringColumn] = field(
        default_factory=dict, metadata=column("item", "strings", several=True)
    )
    answers: StringColumn | None = field(default=None, metadata=column("item", "strings"))
    prompts: StringColumn | None = field(default=None, metadata=column("list", "strings"))
    references: tuple[StringColumn, ...] = field(default=(), metadata=column("list", "strings", several=True))
    trees: Forest | None = field(default=None, metadata=column("item", "trees"))
    gold: Forest | None = field(default=None, metadata=column("list", "trees"))
    structures: Mapping[str, Forest] = field(
        default_factory=dict, metadata=column("item", "trees", several=True)
    )
    traces: Traces | None = field(default=None, metadata=column("item", "traces"))
    natives: Traces | None = field(default=None, metadata=column("list", "traces"))
    counts: Mapping[str, Counts] = field(
        default_factory=dict, metadata=column("item", "statistics", several=True)
    )
    unretrieved: Ragged | None = field(default=None, metadata=column("list", "ragged"))
    subtopics: StringColumn | None = field(default=None, metadata=column("list", "strings"))
    vectors: AnyArray | None = field(default=None, metadata=column("item", "reals"))
    query_vectors: AnyArray | None = field(default=None, metadata=column("list", "reals"))
    source: str = "arrays"
    selection: str = ""
    has_missing: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        for name in ("labels", "base_scores", "first_best", "run_scores"):
            if is_masked(getattr(self, name)):
                object.__setattr__(self, name, real_array(getattr(self, name), name))
        try:
            check_lists(self)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None
        object.__setattr__(self, "has_missing", self.features.check(nan_allowed=True))

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        classes: Any = None,
        feature_names: Sequence[str] | None = None,
        item_ids: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        answers: Sequence[str] | None = None,
        trees: Any = None,
        structures: Mapping[str, Any] | None = None,
        traces: Any = None,
        natives: Any = None,
        source: str = "arrays",
    ) -> CandidateLists:
        """Make lists from arrays, as other Python tools hold them.

        Entries belong together by position; frames and series of pandas with different indexes are refused.
        The rows of a list need not be contiguous; scores are given and returned in the order of these rows.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix (n_items, n_features)
            None = no features, only ``trees``, ``structures`` or ``traces``.
        y : array (n_items), optional
            Labels, NaN = unjudged.
        group : array of int, optional
            Lengths of consecutive lists. Without ``group`` and ``qid`` all items are one list, or with
            ``classes`` each item is a list of its own.
        qid : array (n_items), optional
            A list id for each item, see ``regrouped``; 1.0 is the id "1".
        classes : sequence (n_items), optional
            The class of each row, a name or a number, or a collection of them; several in a text are
            separated by commas.
        feature_names : sequence of str, optional
            None = the columns of a data frame, if they are strings.
        item_ids, texts : sequence of str (n_items), optional
        answers : sequence of str (n_items), optional
            Final answers, for votes; "" = none.
        trees : Forest or sequence (n_items), optional
            A tree for each row: a string in brackets, a tree of NLTK or a nested list, see
            ``data.array_inputs.forest_of``; "" or None = missing.
        structures : mapping of name to such trees, optional
            Further trees of each row.
        traces : Traces or sequence (n_items), optional
            Protein models: for each row the positions of alpha carbons in Å, array (n, 3), whose residues are
            numbered from 1 (a row of NaN = missing), or (numbers, positions), or None.
        natives : Traces or sequence (n_lists), optional
            The native structures, in the same form; lists come in the order of their first rows.
        source : str
            Where the arrays came from, for messages.

        Raises
        ------
        DataError
            If the arrays do not fit each other, an id or a class is missing, a tree is malformed, or both
            ``group`` and ``qid``, or ``y`` and ``classes``, are given.
        """
        strings = {"item_ids": item_ids, "texts": texts, "answers": answers}
        models = given.structures(traces, "traces", source)
        frames.refuse_other_rows(X=X, y=y, qid=qid, classes=classes, **strings)
        forest, named = given.forests(trees, structures or {}, source)
        if X is None:
            some = next((one for one in (forest, *named.values(), models) if one is not None), ())
            X = np.empty((len(some), 0))
        try:
            features = as_features(X)
        except DataError:
            if frames.is_frame(X):
                frames.check_numbers(X, source)  # names the column
            raise
        if feature_names is None and not isinstance(X, Features):
            feature_names = given.frame_names(X)
            note_features(source, feature_names or ())
        n_items = features.n_items
        if n_items == 0:
            raise DataError(f"{source}: no items")
        labels = None if y is None else given.vector(y, "y", n_items)
        if group is not None and qid is not None:
            raise DataError("give group or qid, not both")
        if y is not None and classes is not None:
            raise DataError("give y or classes, not both")
        if group is None:
            group = [n_items] if classes is None else np.ones(n_items, dtype=np.int64)
        found: dict[str, Any] = {
            name: given.strings(column, name, n_items, source, needed=name == "item_ids")
            for name, column in strings.items()
            if column is not None
        }
        lists = cls(
            given.group_offsets(group, n_items, source),
            features,
            labels=labels,
            classes=None if classes is None else given.class_texts(classes, n_items, source),
            feature_names=None if feature_names is None else list(feature_names),
            trees=forest,
            structures=named,
            traces=models,
            source=source,
            **found,
        )
        if qid is not None:
            lists = lists.regrouped(given.list_ids(qid, n_items, source))
        return replace(lists, natives=given.structures(natives, "natives", source))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        list_column: str | None = None,
        label_column: str | None = None,
        id_column: str | None = None,
        text_column: str | None = None,
        answer_column: str | None = None,
        classes_column: str | None = None,
        features: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        source: str = "data frame",
        **arrays: str,
    ) -> CandidateLists:
        """Make lists from a data frame of pandas or polars, an Arrow table or a mapping of columns.

        Columns that are not named are found by the names that tables have: qid, list, list_id, query,
        query_id or target for the list; label, is_correct, correct, passed, relevance or GDT_TS; id, item_id,
        docid, doc_id or docno; text, generated_text, completion or response; predicted_answer or answer.
        Rows of a list need not be contiguous.

        Parameters
        ----------
        frame : a row for each item.
        list_column, label_column, id_column, text_column, answer_column : names of columns; a missing label
            is unjudged, a missing answer none.
        classes_column : the column of classes of examples; without a column of lists each row is a list.
        features : names of the features; None = all other columns of numbers. Missing values are NaN.
        categorical : columns of categories: each value becomes a feature ``column=value``, 1 where it is the
            item's, else 0; a missing value is one of its own.
        source : what messages call the frame.
        arrays : columns by the names of ``from_arrays``: qid, y, item_ids, texts, answers, classes.

        Raises
        ------
        RerankError
            If there is no column of lists, a named column is not there, or one does not hold what it should.

        Examples
        --------
        >>> import rerank
        >>> columns = {"qid": ["a", "a", "b"], "label": [1, 0, 2], "bm25": [7.5, 3.0, 1.0]}
        >>> lists = rerank.CandidateLists.from_frame(columns)
        >>> lists, lists.feature_names
        (CandidateLists(2 lists, 3 items, 1 dense features), ['bm25'])
        """
        return cls.from_arrays(
            **frames.arguments_of(
                frame,
                source,
                list_column=list_column,
                label_column=label_column,
                id_column=id_column,
                text_column=text_column,
                answer_column=answer_column,
                classes_column=classes_column,
                features=features,
                categorical=categorical,
                **arrays,
            )
        )

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a row for each item, in the order of the caller's rows.

        The columns are list, id, text, answer and label, as far as the lists have them, and the features by
        name: what ``from_frame`` reads, and what tables (CSV, TSV) hold.

        Parameters
        ----------
        library : "pandas" or "polars".

        Raises
        ------
        RerankError
            If the library is not installed, or a feature has the name of another column.
        """
        return frame_of(frames.columns_of_lists(self), library)

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.offsets) - 1

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        """The number of feature columns."""
        return self.features.n_features

    def __len__(self) -> int:
        return self.n_lists

    def __iter__(self) -> Iterator[CandidateList]:
        return views.each_list(self)

    @overload
    def __getitem__(self, key: int | str) -> CandidateList: ...
    @overload
    def __getitem__(self, key: Any) -> CandidateList | CandidateLists: ...
    def __getitem__(self, key: Any) -> CandidateList | CandidateLists:
        """Return one list, by number or id, or some lists, by a slice, a mask, or numbers or ids.

        Raises
        ------
        DataError
            If there is no such list, which is an IndexError as well, or a slice is empty.
        """
        found = views.chosen(self, key)
        return views.CandidateList(self, found) if isinstance(found, int) else self.subset(found)

    def __repr__(self) -> str:
        size = (
            f"{self.n_lists} lists, {self.n_items} items, {self.n_features} {self.features.layout} features"
        )
        return f"CandidateLists({size})"

    def _repr_html_(self) -> str:
        from rerank.data.describe import first_items

        return tables_text([first_items(self)], "html")

    def summary(self) -> Text:
        """Return counts of lists, items, features and labels, and warnings, as ``rerank validate`` does."""
        from rerank.data.describe import describe

        return describe(self).summary()

    @property
    def lengths(self) -> Index:
        """Items of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    @property
    def list_index(self) -> Index:
        """The list of each item, int64 (n_items)."""
        return np.repeat(np.arange(self.n_lists, dtype=np.int64), self.lengths)

    def names(self) -> list[str]:
        """Return the feature names by column, "1", "2", ... if the set has none."""
        if self.feature_names is not None:
            return list(self.feature_names)
        return numbered(self.n_features)

    def columns(self) -> Columns:
        """Return the columns as ``data.names`` matches them."""
        return Columns(self.feature_names, self.n_features, self.selection)

    def column_of(self, name: str) -> int:
        """Return the column of the feature ``name``; raise DataError, with the nearest name, if unknown."""
        names = self.names()
        if name not in names:
            raise DataError(f"{self.source}: no feature {name!r}; {did_you_mean(name, names)}")
        return names.index(name)

    def list_id(self, i: int) -> str:
        """Return the id of list ``i``, its number from 1 if the set has no ids."""
        return self.list_ids[i] if self.list_ids is not None else str(i + 1)

    def place_of(self, item: int) -> str:
        """Return an item's list and its id for messages, its number in the list if there are no ids."""
        i = int(np.searchsorted(self.offsets, item, side="right")) - 1
        name = (
            repr(self.item_ids[item]) if self.item_ids is not None else str(item - int(self.offsets[i]) + 1)
        )
        return f"list {self.list_id(i)!r}, item {name}"

    def tree_names(self) -> list[str]:
        """Return the names of the trees that each item has, "tree" (its own parse) first."""
        return [TREE] * (self.trees is not None) + list(self.structures)

    def forest(self, name: str) -> Forest:
        """Return the trees ``name`` of the items; raise DataError, with the names there are, if unknown."""
        found = self.trees if name == TREE else self.structures.get(name)
        if found is None:
            names = self.tree_names()
            known = did_you_mean(name, names) if names else "the lists have no trees"
            raise DataError(f"{self.source}: no trees {name!r}; {known}")
        return found

    def judged_lists(self, *, unretrieved: bool = False) -> Mask:
        """Return whether each list has a judged item, bool (n_lists); ``unretrieved`` ones count if asked."""
        missed = self.unretrieved if unretrieved else None
        more = np.zeros(self.n_lists, dtype=bool) if missed is None else missed.lengths > 0
        if self.labels is None:
            return more
        return more | np.logical_or.reduceat(~np.isnan(self.labels), self.offsets[:-1])

    def input_order(self, values: AnyArray) -> AnyArray:
        """Return values of items (n_items, ...), such as ``labels``, in the order of the caller's rows.

        Raises DataError if there are more or fewer.
        """
        self._check_length(values)
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out

    def from_input_order(self, values: AnyArray) -> AnyArray:
        """Return values in the order of the caller's rows (n_items, ...), such as scores, by item.

        Raises DataError if there are more or fewer.
        """
        self._check_length(values)
        return values if self.rows is None else values[self.rows]

    def _check_length(self, values: AnyArray) -> None:
        if values.shape[:1] != (self.n_items,):
            raise DataError(f"values have shape {values.shape}, expected ({self.n_items}, ...)")

    def with_first_best(self, how: str) -> CandidateLists:
        """Return the same lists with a first-best: "input", or the name of a feature (larger first)."""
        if how == "input":
            first_best = -(np.arange(self.n_items) if self.rows is None else self.rows).astype(np.float64)
        else:
            first_best = self.features.column(self.column_of(how))
        return replace(self, first_best=first_best, run_scores=None)

    def with_columns(self, names: Sequence[str]) -> CandidateLists:
        """Return the same lists with the feature columns ``names``, in that order.

        Absent columns are 0, other columns are dropped; ``places_in`` matches them.
        """
        return self.with_columns_at(self.places_in(names), names)

    def with_columns_at(self, places: Index, names: Sequence[str]) -> CandidateLists:
        """Return the same lists with column j at ``places[j]`` of the columns ``names``, dropped if -1."""
        if len(places) == len(names) and np.array_equal(places, np.arange(len(names))):
            return self
        return self.with_features(self.features.select(places, len(names)), list(names))

    def places_in(self, names: Sequence[str]) -> Index:
        """Return the place of each feature column among ``names``, -1 if it has none: int64 (n_features).

        Columns are matched by name, or by position if only one side has names; see ``data.names``.
        """
        return match(self.columns(), Columns(names, len(names))).places

    def with_added(self, columns: Mapping[str, Floats]) -> CandidateLists:
        """Return the same lists with further features, name to values (n_items) in the order of the items.

        Raises DataError if a name exists already or a shape is wrong.
        """
        names = self.names()
        for name in columns:
            if name in names:
                raise DataError(f"{self.source}: feature {name!r} exists already")
        added = [given.vector(values, f"feature {name!r}", self.n_items) for name, values in columns.items()]
        features = self.features.with_columns(np.column_stack(added))
        return self.with_features(features, [*names, *columns])

    def with_features(self, features: Features, feature_names: Sequence[str] | None) -> CandidateLists:
        """Return the same lists with other features, one row per item."""
        return replace(self, features=features, feature_names=feature_names)

    def with_values(self, features: Features, how: str) -> CandidateLists:
        """Return the same lists with other values of the same features.

        Raises
        ------
        DataError
            If one overflowed; ``how`` names what did it.
        """
        try:
            return replace(self, features=features)
        except NotFiniteError as error:
            place = f"feature {self.names()[error.column]!r} of {self.place_of(error.item)}"
            raise DataError(f"{self.source}: after {how}: {place} is {error.value}") from None

    def give_up_features(self) -> None:
        """Make the features NaN, without memory: their array belongs to other lists now.

        For lists that nothing reads any more except for sizes, names and columns other than features.
        """
        shape, dtype = (self.n_items, self.n_features), self.features.dtype
        object.__setattr__(self, "features", Dense(np.broadcast_to(np.array(np.nan, dtype), shape)))

    def replace_labels(self, labels: Floats | None) -> CandidateLists:
        """Return the same lists with other labels (n_items) in the order of the items; None = none judged."""
        return replace(self, labels=labels)

    def with_structures(
        self, *, traces: Traces | None = None, natives: Traces | None = None
    ) -> CandidateLists:
        """Return the same lists with other models (n_items) or natives (n_lists); None = as they are.

        Counts that the set keeps of superpositions are dropped: they were of other structures.
        """
        return replace(
            self,
            traces=self.traces if traces is None else traces,
            natives=self.natives if natives is None else natives,
            counts={k: v for k, v in self.counts.items() if not k.startswith(SUPERPOSITIONS)},
        )

    def regrouped(self, ids: Sequence[str | bytes]) -> CandidateLists:
        """Return the same items in other lists.

        Parameters
        ----------
        ids
            The id of each item's new list (n_items). Lists come in the order of their first items, items
            in the order they have here. A column of lists keeps the entry of the first item's list.
        """
        numbers: dict[str | bytes, int] = {}
        codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in ids), np.int64, self.n_items)
        offsets, items = grouped(codes)
        firsts = offsets[:-1] if items is None else items[offsets[:-1]]
        rows = self.rows
        if items is not None:
            rows = items if rows is None else rows[items]
        list_ids = StringColumn.from_strings(numbers)
        return self._taken(offsets, items, self.list_index[firsts], rows=rows, list_ids=list_ids)

    def subset(self, chosen: ArrayLike) -> CandidateLists:
        """Return the lists at ``chosen`` (indices or a mask over lists), in that order.

        The caller's rows of the subset are those of its lists, in the order that they have here, renumbered;
        if ``rows`` is None, they are the items in the order chosen. Raises DataError if nothing is chosen, or
        a list that is not there.
        """
        which = without_missing(chosen, f"{self.source}: the lists of a subset")
        if which.dtype == bool and which.shape == (self.n_lists,):
            which = np.flatnonzero(which)
        if which.size == 0:
            raise DataError(f"{self.source}: a subset of no lists")
        if which.ndim != 1 or which.dtype.kind not in "iu" or which.min() < 0 or which.max() >= self.n_lists:
            expected = f"a mask over the lists or by numbers within 0..{self.n_lists - 1}"
            raise DataError(f"{self.source}: a subset is chosen by {expected}")
        which = which.astype(np.int64)
        items, offsets = places_of(self.offsets, which)
        return self._taken(offsets, items, which, rows=renumbered(self.rows, items))

    def kept(self, which: Mask) -> CandidateLists:
        """Return the same lists with only the items of the mask (n_items); DataError if a list loses all.

        The caller's rows are those that are kept, renumbered.
        """
        items = np.flatnonzero(which)
        sizes = np.add.reduceat(which, self.offsets[:-1], dtype=np.int64)
        return self._taken(
            offsets_of(sizes), items, np.arange(self.n_lists), rows=renumbered(self.rows, items)
        )

    def reordered(self, items: Index) -> CandidateLists:
        """Return the same lists with their items in a new order (n_items, a permutation within each list).

        ``rows`` are None: the items are as if read in this order.

        Raises
        ------
        DataError
            If ``items`` is not such a permutation.
        """
        whole = np.array_equal(np.sort(items), np.arange(self.n_items))
        if not whole or not np.array_equal(self.list_index[items], self.list_index):
            raise DataError(f"{self.source}: a new order must keep each item in its list")
        return self._taken(self.offsets, items, np.arange(self.n_lists), rows=None)

    def _taken(self, offsets: Index, items: Index | None, lists: Index, **changes: Any) -> CandidateLists:
        """The columns of items taken at ``items`` (None = all), those of lists at ``lists``, and changes."""
        features = self.features if items is None else self.features.take(items)
        columns = taken(self, {"item": items, "list": lists}) | changes
        return replace(self, offsets=offsets, features=features, **columns)

    def fingerprint(self) -> str:
        """Return a hash of lists, features, trees and judgements: a model's record of its training data."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.offsets, self.labels, *self.features.arrays().values()):
            if array is None:
                digest.update(b"none")
            else:
                array = np.ascontiguousarray(array)
                for rows in row_blocks(array):
                    digest.update(array[rows].data)
        for array in () if self.classes is None else self.classes.arrays().values():
            digest.update(np.ascontiguousarray(array).data)
        for name in sorted(self.tree_names()):
            digest.update(name.encode() + b"\0")
            for strings in self.forest(name).blocks_of_strings():  # however its symbols are numbered
                digest.update(strings.lengths().data)
                digest.update(strings.data.data)
        digest.update("\0".join(self.names()).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def without_labels(lists: CandidateLists, *, labels: bool) -> CandidateLists:
    """Return what a learner may see of lists to rank: features, base scores, ids; labels if asked for."""
    return CandidateLists(
        lists.offsets,
        lists.features,
        labels=lists.labels if labels else None,
        base_scores=lists.base_scores,
        list_ids=lists.list_ids,
        feature_names=lists.names(),
        source=lists.source,
        selection=lists.selection,
    )
