"""The lists that a system gained and lost most on, with what it and the baseline chose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np

from rerank.core.text import count
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.evaluation.by_list import extremes
from rerank.evaluation.results import FIRST_BEST, MetricResults, Part
from rerank.metrics.judges import first_stage
from rerank.metrics.selecting import SelectingJudge
from rerank.models.predictions import ranking, trec_ranking
from rerank.report.page.parts import Candidate, Cards, Choice, ListCard, Piece, Section, View, label, number

MOST = 10  # lists that gained, and lists that lost
_SYSTEMS = 2  # whose lists are shown
_RANKED = 5  # candidates of a ranking without texts
_WITH_TEXTS = 3
_REFERENCES = 3
_LONGEST = 600  # characters of a text
_WORDS = 300  # of two texts that are compared word by word


def lists_section(view: View) -> Section | None:
    """Return the lists with the largest gains and losses; None without a baseline or another system."""
    found: list[Cards] = []
    name, metric = next(iter(view.results.metrics.items()))
    for system in view.compared[:_SYSTEMS]:
        gains = view.gains(name, system)
        for title, which in zip(("gained", "lost"), extremes(gains, MOST), strict=True):
            if len(which):
                cards = [_card(view, name, metric, system, i, gains[i]) for i in which.tolist()]
                words = f"{system}: the {count(len(cards), 'list')} that {title} most"
                found.append(Cards(words, cards, opened=not found))
    if not found:
        return None
    lead = (
        f"The lists on which a system differs most from {label(str(view.baseline))} by {metric.typed}, "
        "and what both chose."
    )
    if any(piece.changed for group in found for card in group.cards for piece in _pieces(card)):
        lead += " Words that only one of two choices has are marked."
    seeds = max(len(fold) for system in view.compared for fold in view.results.runs_of(system))
    if seeds > 1:
        lead += " Values are means over seeds; the choices are those of the first seed."
    return Section("lists", "Lists that gained and lost most", lead, (), (), found)


def _pieces(card: ListCard) -> Iterator[Piece]:
    for choice in card.choices:
        for candidate in choice.candidates:
            yield from candidate.pieces


def _card(view: View, name: str, metric: MetricResults, system: str, at: int, gain: float) -> ListCard:
    """The list at a place among those of all parts."""
    starts = np.cumsum([0, *(part.lists.n_lists for part in view.results.parts)])
    k = int(np.searchsorted(starts, at, side="right")) - 1
    part, i = view.results.parts[k], int(at - starts[k])
    lists, digits = part.lists, metric.digits
    systems = (str(view.baseline), system)
    tops = [_ranked(view, part, name, k, one, i) for one in systems]
    shown = 1 if isinstance(view.results.metric(name).judges[0], SelectingJudge) else _RANKED
    if lists.texts is not None or lists.trees is not None:
        shown = min(shown, _WITH_TEXTS)
    texts = [[_text(lists, item) for item in order[:shown].tolist()] for order in tops]
    single = shown == 1 and all(texts)
    marked = _marked(*(_words(found[0]) for found in texts)) if single else None
    choices = []
    for c, (one, order) in enumerate(zip(systems, tops, strict=True)):
        pieces = [marked[c]] if marked is not None else [[Piece(text, False)] for text in texts[c]]
        candidates = [
            Candidate(parts, _label(lists, item), rank)
            for rank, (parts, item) in enumerate(zip(pieces, order[:shown].tolist(), strict=True), 1)
        ]
        value = number(float(view.results.list_values(one, name)[at]), digits)
        choices.append(Choice(label(one), value, candidates, _best_place(lists, order, i)))
    title = f"List {lists.list_id(i)}" + (f", fold {part.name}" if part.name else "")
    references = [_cut(column[i]) for column in lists.references[:_REFERENCES]]
    if not references and lists.gold is not None:
        references = [_cut(lists.gold[i])]
    prompt = "" if lists.prompts is None else _cut(lists.prompts[i])
    return ListCard(title, number(gain, digits, signed=True), prompt, references, choices)


def _ranked(view: View, part: Part, name: str, k: int, system: str, i: int) -> Index:
    """The items of list ``i`` of part ``k``, best first by the system's first seed, ties as the metric's.

    Items that the system did not return are left out.
    """
    lists, start, stop = part.lists, int(part.lists.offsets[i]), int(part.lists.offsets[i + 1])
    if system == FIRST_BEST:
        first = first_stage(lists)
        assert first is not None
        scores, by_id = first[start:stop], False
    else:
        scores = lists.from_input_order(view.results.runs_of(system)[k][0].scores)[start:stop]
        by_id = getattr(view.results.metric(name).judges[0].stage, "ties", None) == "trec"
    order = (trec_ranking if by_id else ranking)(lists.subset([i]), scores)
    return start + order[~np.isnan(scores[order])]


def _text(lists: CandidateLists, item: int) -> str:
    """An item's text, its tree, or its id."""
    if lists.texts is not None:
        return _cut(lists.texts[item])
    if lists.trees is not None:
        return _cut(lists.trees[item])
    if lists.item_ids is not None:
        return lists.item_ids[item]
    start = lists.offsets[np.searchsorted(lists.offsets, item, side="right") - 1]
    return f"item {item - int(start) + 1}"


def _label(lists: CandidateLists, item: int) -> str:
    if lists.labels is None:
        return ""
    value = float(lists.labels[item])
    return "not judged" if value != value else f"label {value:.4g}"


def _best_place(lists: CandidateLists, order: Index, i: int) -> str:
    """Return the place of the item with the largest label in the system's ranking."""
    if lists.labels is None:
        return ""
    labels = lists.labels[order]
    if np.isnan(labels).all():
        return ""  # also if nothing was returned
    place = int(np.flatnonzero(labels == np.nanmax(labels))[0]) + 1
    return f"best label at rank {place} of {len(order)}"


def _cut(text: str) -> str:
    """A text of at most 600 characters, cut in the middle."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 201]} … {text[-198:]}"


def _words(text: str) -> list[str]:
    return text.split(" ")


def _marked(a: Sequence[str], b: Sequence[str]) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, those that the other does not have marked."""
    if max(len(a), len(b)) > _WORDS:
        return [Piece(" ".join(a), False)], [Piece(" ".join(b), False)]
    out: tuple[list[Piece], list[Piece]] = ([], [])
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        for pieces, words in ((out[0], a[a0:a1]), (out[1], b[b0:b1])):
            if words:
                pieces.append(Piece(" ".join(words), kind != "equal"))
    return out
