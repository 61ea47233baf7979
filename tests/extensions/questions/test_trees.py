"""Trees of questions and passages; the lab's own files are the reference."""

import gzip
import json
import re
from pathlib import Path

import pytest

from rerank.data.columns.forests import Forest
from rerank.extensions.questions.text import Tokens, chunks, stemmer
from rerank.extensions.questions.trees import analysed, box_tree, chunk_tree, links


def test_phrases_are_runs_of_tags_of_a_kind() -> None:
    tags = ["DT", "JJ", "NN", "MD", "VB", "RB", "IN", "TO", "PRP$", "NN", "POS", "CC", "CC", "."]
    assert list(chunks(tags)) == [
        ("NP", 0, 3),
        ("VP", 3, 5),
        ("ADVP", 5, 6),
        ("PP", 6, 7),
        ("PP", 7, 8),
        ("NP", 8, 11),
        ("", 11, 12),
        ("", 12, 13),
        ("", 13, 14),
    ]
    assert list(chunks([])) == []


def test_trees_with_marks() -> None:
    leaves, marks = ["the", "dog", "bark", "."], ["", "REL", "", ""]
    tree = chunk_tree(leaves, ["DT", "NN", "VBZ", "."], marks)
    assert tree == "(S (REL-NP (DT the) (REL-NN dog)) (VP (VBZ bark)) (. .))"
    assert box_tree(leaves, marks) == "(BOX the (REL dog) bark .)"
    assert box_tree([], []) == chunk_tree([], [], []) == ""


def test_brackets_in_words_and_tags_are_escaped() -> None:
    leaves, tags = ["(", ")", "a(b"], ["(", ")", "NN"]
    tree = chunk_tree(leaves, tags, [""] * 3)
    assert tree == "(S (-LRB- -LRB-) (-RRB- -RRB-) (NP (NN a-LRB-b)))"
    assert list(Forest.from_strings([tree, box_tree(leaves, [""] * 3)]).to_strings()) == [
        tree,
        "(BOX -LRB- -RRB- a-LRB-b)",
    ]


def lab_pairs(path: Path) -> set[tuple[str, str]]:
    """Question and passage trees of a file for SVM-light-TK."""
    pairs = set()
    with gzip.open(path, "rt") as file:
        for line in file:
            parts = line.split("|ET|")[0].split("|BT|")[1:]
            trees = [part.strip().replace(")(", ") (") for part in parts]
            pairs |= {(trees[i], trees[i + 1]) for i in (0, 2) if trees[i]}
    return pairs


def test_the_trees_of_the_lab(shared_data: Path) -> None:
    """Marks differ only on function words, whose stems the lab did not recognise; its stem of s is empty."""
    pytest.importorskip("snowballstemmer")
    plain = stemmer("porter", "a test")

    def stem(word: str) -> str:
        return "" if word.lower() == "s" else plain(word)

    ours: dict[str, set[tuple[str, str]]] = {}
    with gzip.open(shared_data / "trecqa" / "test.jsonl.gz", "rt") as file:
        for entry in map(json.loads, file):
            texts = [
                analysed(Tokens(one["tok"], one["pos"]), lambda w, _: stem(w), lambda w, _: stem(w))
                for one in (entry["q"], *entry["c"])
            ]
            for passage in texts[1:]:
                marks = links(texts[0], passage)
                pair = tuple(
                    chunk_tree(text.leaves, text.tokens.tags or (), ["REL" if one else "" for one in linked])
                    for text, linked in zip((texts[0], passage), marks, strict=True)
                )
                ours.setdefault(without_marks(pair), set()).add(pair)
    theirs = lab_pairs(shared_data / "tree-kernels" / "pair.test.gz")
    assert len(theirs) > 500
    assert {without_marks(pair) for pair in theirs} <= set(ours)
    differing = [pair for pair in theirs if pair not in ours[without_marks(pair)]]
    words = {word for pair in differing for word in marked(pair)}
    both = {word for pair in differing for one in ours[without_marks(pair)] for word in marked(one)}
    assert words - both == {"ar", "dure", "into", "wa"}


def without_marks(pair: tuple[str, str]) -> str:
    return "\n".join(pair).replace("REL-", "")


def marked(pair: tuple[str, str]) -> set[str]:
    return set(re.findall(r"\(REL-\S+ ([^\s()]+)\)", "\n".join(pair)))
