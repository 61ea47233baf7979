"""Lists of questions and passages with trees and overlap features."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.text import count
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.questions.focus import TYPES, asked, typed
from rerank.extensions.questions.results import read_results
from rerank.extensions.questions.settings import QASettings
from rerank.extensions.questions.text import KINDS, HanTa, Tokens, looks_tagged, split_tags, stemmer, tokenise
from rerank.extensions.questions.trees import (
    NAMES,
    REL,
    Analysis,
    Reduce,
    analysed,
    box_tree,
    chunk_tree,
    links,
    overlaps,
)
from rerank.formats.base import save
from rerank.formats.sources import Data, check_inputs, checked_format, read_lists

_FEW_TAGS = 0.5  # below this share of known tags, they are probably not Penn tags
_SHOWN = 10  # questions that are looked at for tags that nobody asked to read
Marks = tuple[list[str], ...]  # of the tokens of a question, and of a passage
FOCUS = "overlap_focus"


@dataclass
class QAStatistics:
    """Counts of linked words over candidates.

    Attributes
    ----------
    question_words, question_linked : int
        Content words of the question of each candidate, and those that are linked.
    passage_words, passage_linked : int
        The same of the passages.
    unlinked_items, unlinked_lists : int
        Candidates without a link, and lists in which no candidate has one.
    empty_questions, empty_passages : int
        Questions and passages without a token; their trees are missing.
    asked : Counter of str
        Questions by the kind of their answer, if the focus is linked.
    focus_linked : int
        Candidates with a word that is linked to the focus.
    """

    question_words: int = 0
    question_linked: int = 0
    passage_words: int = 0
    passage_linked: int = 0
    unlinked_items: int = 0
    unlinked_lists: int = 0
    empty_questions: int = 0
    empty_passages: int = 0
    tags: int = field(default=0, repr=False)
    known_tags: int = field(default=0, repr=False)
    types: int = field(default=0, repr=False)
    known_types: int = field(default=0, repr=False)
    asked: Counter[str] = field(default_factory=Counter)
    focus_linked: int = 0

    def lines(self, settings: QASettings) -> Iterator[str]:
        """Yield the counts in words."""
        if settings.links or settings.overlap:
            shares = (
                f"{100 * linked / max(1, words):.1f}% of {whose}"
                for linked, words, whose in (
                    (self.question_linked, self.question_words, "the questions' content words"),
                    (self.passage_linked, self.passage_words, "the passages'"),
                )
            )
            yield f"shared: {', '.join(shares)}"
            without = f"{count(self.unlinked_items, 'passage')}, {count(self.unlinked_lists, 'list')}"
            yield f"without a shared content word: {without}"
        if settings.focus is not None:
            kinds = ", ".join(f"{n} {kind}" for kind, n in self.asked.most_common())
            yield f"questions by what they ask for: {kinds}"
            yield f"with a word that fits the focus: {count(self.focus_linked, 'passage')}"
        if self.empty_questions or self.empty_passages:
            found = f"{count(self.empty_questions, 'question')}, {count(self.empty_passages, 'passage')}"
            yield f"without a token, so that trees are missing: {found}"


@dataclass(frozen=True, eq=False)
class QALists:
    """Lists with trees and features of questions and passages, what was linked, and the settings."""

    lists: CandidateLists
    statistics: QAStatistics
    settings: QASettings


def qa_features(
    data: Data,
    settings: QASettings | Mapping[str, Any] | None = None,
    out: str | None = None,
    to: str | None = None,
    *,
    questions: str | None = None,
    passages: str | None = None,
    reading: Reading | None = None,
) -> QALists:
    """Return lists with trees of their questions and passages, and with overlap features if they are wanted.

    Trees are the structures "question" and "passage" (chunks), "question_box" and "passage_box", with the
    suffix of the settings. The tree of a question belongs to a candidate, since its marks depend on the
    passage.

    Parameters
    ----------
    data : a file of lists with questions (prompts) and passages (texts), or CandidateLists; with
        ``questions`` a file of results, see ``rerank.extensions.questions.results``.
    settings : of ``rerank.extensions.questions.settings.QASettings``, such as ``{"trees": "box"}``.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    questions, passages : files of texts, ``id<TAB>text`` on each line.
    reading : how the file of lists is read.

    Returns
    -------
    QALists
        The lists, and what was linked.

    Raises
    ------
    RerankError
        If there are no questions or passages, a token has no tag, the lists have such trees already, a
        setting or a file is wrong, or a package of the extra rerank[qa] is needed and not installed.
    """
    if not isinstance(settings, QASettings):
        settings = QASettings.checked(settings or {}, "features qa")
    if (questions is None) != (passages is None):
        raise ConfigError("--questions and --passages: found one of them, expected both or none")
    files = [path for path in (questions, passages) if path is not None]
    target = None if out is None else checked_format(out, to, data, reading, *files)
    if questions is None or passages is None:
        lists = read_lists(data, reading)
    else:
        changed = [] if reading is None else sorted(name for name in reading.settings_given)
        if changed or not isinstance(data, str):
            found = f"--{changed[0].replace('_', '-')}" if changed else "lists"
            raise ConfigError(
                f"--questions: found {found}, expected a file of results and no option of reading"
            )
        check_inputs([data, *files])
        lists = read_results(data, questions, passages)
    made = _linked(lists, settings)
    if out is not None and target is not None:
        save(made.lists, out, target)
    return made


def _linked(lists: CandidateLists, settings: QASettings) -> QALists:
    """The lists with trees and features."""
    if lists.prompts is None:
        raise DataError(
            f"{lists.source}: found no questions, expected a 'question' of each list; --questions FILE and "
            "--passages FILE read them from files"
        )
    if lists.texts is None:
        raise DataError(f"{lists.source}: found no texts, expected the passages")
    again = next((name for name in settings.names if name in lists.structures), None)
    if again is not None:
        raise DataError(f"{lists.source}: has trees named {again} already; --suffix gives others")
    if settings.tagged is None and any(map(looks_tagged, itertools.islice(lists.prompts, _SHOWN))):
        text = "a question seems to have tags (word_TAG); --tagged _ reads them"
        warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=2)
    if settings.most is not None:
        lists = first_items(lists, settings.most)
    analyse = _Analyser(settings)
    statistics = QAStatistics()
    trees = _Trees(settings)
    values: list[list[float]] = []
    for i in progress.over(range(lists.n_lists), "linking questions and passages", lists.n_lists, "list"):
        question, passages = analyse.texts_of(lists, i)
        rows = overlaps(question, passages) if settings.overlap else [[] for _ in passages]
        statistics.empty_questions += not question.leaves
        asks = asked(question.tokens) if settings.focus is not None else None
        if asks is not None:
            statistics.asked[asks.kind] += 1
        anything = False
        for passage, row in zip(passages, rows, strict=True):
            linked = links(question, passage)
            _count(statistics, question, passage, linked)
            anything |= any(linked[0])
            marks = tuple([REL if one else "" for one in text] for text in linked)
            if asks is not None:
                types = typed(passage.tokens)
                found = asks.mark(marks[0], marks[1], types, settings.focus == "typed")
                row.append(float(found))
                statistics.focus_linked += found > 0
                statistics.types += sum(kind != "" for kind in types)
                statistics.known_types += sum(kind in TYPES for kind in types)
            trees.add(question, passage, marks)
        values += rows
        statistics.unlinked_lists += not anything
    _check_tags(lists, statistics, settings)
    if settings.overlap:
        names = NAMES if settings.focus is None else (*NAMES, FOCUS)
        lists = lists.with_added(dict(zip(names, np.array(values).T, strict=True)))
    forests = trees.forests()
    return QALists(
        dataclasses.replace(lists, structures={**lists.structures, **forests}) if forests else lists,
        statistics,
        settings,
    )


def first_items(lists: CandidateLists, most: int) -> CandidateLists:
    """Return the lists with only their first ``most`` candidates, in the first stage's order.

    Warns if relevant ones are left out: metrics do not count them as missed. Raises DataError if the lists
    have no such order.
    """
    if lists.first_best is None:
        raise DataError(
            f"{lists.source}: the first {most} candidates need the first stage's order; give --first-best "
            "input|FEATURE"
        )
    items = np.lexsort((-lists.first_best, lists.list_index))
    places = np.empty(lists.n_items, dtype=np.int64)
    places[items] = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lists.lengths)
    kept = places < most
    if lists.labels is not None:
        lost = int(np.sum(lists.labels[~kept] > 0))
        if lost:
            text = (
                f"{count(lost, 'relevant candidate')} not among the first {most}; metrics do not count them"
            )
            warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=2)
    return lists.kept(kept)


class _Trees:
    """The brackets of all trees that the settings ask for."""

    def __init__(self, settings: QASettings) -> None:
        self._marked = settings.links
        self._chunks = settings.needs_tags
        self._box = settings.trees in ("box", "both")
        self._brackets: dict[str, list[str]] = {name: [] for name in settings.names}
        self._suffix = settings.suffix

    def add(self, question: Analysis, passage: Analysis, marks: Marks) -> None:
        """Add the trees of a candidate."""
        for name, text, linked in zip(("question", "passage"), (question, passage), marks, strict=True):
            shown = linked if self._marked else [""] * len(linked)
            if self._chunks:
                tags = text.tokens.tags
                assert tags is not None  # the settings see to it
                self._brackets[name + self._suffix].append(chunk_tree(text.leaves, tags, shown))
            if self._box:
                self._brackets[f"{name}_box{self._suffix}"].append(box_tree(text.leaves, shown))

    def forests(self) -> dict[str, Forest]:
        """Return the trees by the name of their structure."""
        return {name: Forest.from_strings(brackets) for name, brackets in self._brackets.items()}


class _Analyser:
    """Makes tokens, tags, leaves and keys of texts."""

    def __init__(self, settings: QASettings) -> None:
        self._settings = settings
        lemmas = "lemma" in settings.reductions
        user = "--tagger hanta" if settings.tagger else "a lemma"
        self._hanta = HanTa(user) if settings.tagger or lemmas else None
        self._stem = (
            stemmer(settings.stemmer or "english", "a stem") if "stem" in settings.reductions else None
        )
        self._leaf = self._reduction(settings.leaves or "stem", str) if settings.trees != "none" else _form
        self._key = self._reduction(settings.match or "stem", str.lower)

    def _reduction(self, name: str, form: Callable[[str], str]) -> Reduce:
        stem, hanta = self._stem, self._hanta
        if name == "stem" and stem is not None:
            return lambda word, _: stem(word)
        if name == "lemma" and hanta is not None:
            return hanta.lemma
        return lambda word, _: form(word)

    def texts_of(self, lists: CandidateLists, i: int) -> tuple[Analysis, list[Analysis]]:
        """Return the question and the passages of list ``i``; raises DataError if a token has no tag."""
        assert lists.prompts is not None
        assert lists.texts is not None
        question = self._analysed(lists.prompts[i], f"{lists.source}: question of list {lists.list_id(i)!r}")
        items = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        return question, [
            self._analysed(lists.texts[k], f"{lists.source}: {lists.place_of(k)}") for k in items
        ]

    def _analysed(self, text: str, place: str) -> Analysis:
        try:
            return analysed(self._tokens(text), self._leaf, self._key)
        except DataError as error:
            raise DataError(f"{place}: {error}") from None

    def _tokens(self, text: str) -> Tokens:
        if self._settings.tagged is not None:
            return split_tags(text, self._settings.tagged, self._settings.entities)
        forms = tokenise(text)
        if self._settings.tagger is None or self._hanta is None:
            return Tokens(forms)
        return Tokens(forms, self._hanta.tags(forms))


def _form(word: str, _: str | None) -> str:
    return word


def _count(
    statistics: QAStatistics, question: Analysis, passage: Analysis, marks: tuple[list[bool], list[bool]]
) -> None:
    statistics.question_words += sum(question.content)
    statistics.passage_words += sum(passage.content)
    statistics.question_linked += sum(marks[0])
    statistics.passage_linked += sum(marks[1])
    statistics.unlinked_items += not any(marks[0])
    statistics.empty_passages += not passage.leaves
    if passage.tokens.tags is not None:
        words = [tag for tag, key in zip(passage.tokens.tags, passage.keys, strict=True) if key]
        statistics.tags += len(words)
        statistics.known_tags += sum(tag in KINDS for tag in words)


def _check_tags(lists: CandidateLists, statistics: QAStatistics, settings: QASettings) -> None:
    """Warn if tags or types seem to be of another set: trees would lack phrases, or links of the focus."""
    if settings.focus and settings.entities and statistics.known_types < _FEW_TAGS * statistics.types:
        share = f"{100 * statistics.known_types / statistics.types:.0f}%"
        text = f"only {share} of the words of entities have a type that fits a question (PERSON, GPE, DATE)"
        warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=2)
    if settings.needs_tags and settings.tagged and statistics.known_tags < _FEW_TAGS * statistics.tags:
        share = f"{100 * statistics.known_tags / statistics.tags:.0f}%"
        text = (
            f"only {share} of the words have a Penn tag of a phrase; chunk trees expect Penn tags (NN, VBD)"
        )
        warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=2)
