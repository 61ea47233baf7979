"""Small judged sets of lists with every column a metric may need, and the same as plain Python values."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from reference import trees

from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces, key_of
from rerank.data.lists import CandidateLists

NAN = float("nan")
WORDS = ("a", "B", "b", "c,", "d3.5", "e", "Über", "the-end", ".")


@dataclass
class PlainList:
    """One list: its items' values by position, and its references, gold tree and native structure.

    A structure is a dictionary of position by residue key.
    """

    labels: list
    scores: list
    ids: list
    texts: list
    answers: list
    trees: list
    references: list
    gold: object
    traces: list
    native: dict


def judged_lists(seed=0, sizes=(1, 4, 3, 2, 5, 3, 4), labels=None, n_words=8):
    """Lists of ``sizes`` with every column: graded labels with gaps unless ``labels`` are given.

    List 1 has no judged item, list 2 has equal labels, list 3 no relevant item. Texts and references have
    up to ``n_words`` words, also none. List 1 has no native structure, and some models lack residues.
    """
    rng = np.random.default_rng(seed)
    n, offsets = sum(sizes), np.r_[0, np.cumsum(sizes)]
    if labels is None:
        labels = rng.integers(0, 4, n).astype(float)
        labels[rng.random(n) < 0.15] = NAN
        for i, value in ((1, NAN), (2, 1.0), (3, 0.0)):
            if i < len(sizes):
                labels[offsets[i] : offsets[i + 1]] = value

    def texts(count):
        return StringColumn.from_strings(
            [" ".join(rng.choice(WORDS, rng.integers(0, n_words + 1))) for _ in range(count)]
        )

    def answers():
        """Answers whose judged items have equal labels; some items have none."""
        draw = np.random.default_rng(seed)
        known = np.where(np.isnan(labels), draw.integers(0, 4, n), labels)
        return StringColumn.from_strings(
            [f"{int(one)}{draw.choice(['', 'x'])}" * bool(draw.random() < 0.9) for one in known]
        )

    lengths = rng.integers(2, 7, len(sizes))
    candidates, references = texts(n), (texts(len(sizes)), texts(len(sizes)))
    ids = [f"d{k}" for k in rng.permutation(n)]
    draw = np.random.default_rng(seed)

    def subtopics(i):
        """Judgements of list i: none of list 1, none above 0 of list 3, some of documents in no list."""
        names = [*ids[offsets[i] : offsets[i + 1]], "lost-a", "lost-z"]
        drawn = draw.integers(-1, 3, (3, len(names))) * (i != 3)
        return "\n".join(
            f"s{j}\t{name}\t{drawn[j, k]}.0"
            for j in range(3)
            for k, name in enumerate(names)
            if i != 1 and draw.random() < 0.7
        )

    return replace(
        CandidateLists.from_arrays(
            np.zeros((n, 1)), np.asarray(labels, dtype=float), group=list(sizes), source="everything"
        ),
        texts=candidates,
        answers=answers(),
        references=references,
        item_ids=StringColumn.from_strings(ids),
        subtopics=StringColumn.from_strings([subtopics(i) for i in range(len(sizes))]),
        first_best=rng.permutation(n).astype(float),
        trees=Forest.from_strings([f"(S1 {_tree(rng, int(k))})" for k in np.repeat(lengths, sizes)]),
        gold=Forest.from_strings([f"(S1 {_tree(rng, int(k))})" for k in lengths]),
        **structures(np.random.default_rng(seed), sizes),
    )


def structures(rng, sizes, longest=7):
    """Natives of up to ``longest`` residues, none of list 1, and models like them, each where it likes.

    Residues are dropped, some models have others of their own, and about every eighth has none.
    """
    natives, models = [], []
    for i, size in enumerate(sizes):
        n = int(rng.integers(1, longest + 1))
        native = np.cumsum(rng.normal(0, 2.2, (n, 3)), axis=0)
        natives.append([(key_of("A", k + 5), xyz) for k, xyz in enumerate(native)] * (i != 1))
        for _ in range(size):
            turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            turn *= np.sign(np.linalg.det(turn))
            moved = (native + rng.normal(0, rng.choice([0.3, 2.0]), (n, 3))) @ turn + rng.normal(0, 30, 3)
            kept = rng.random(n) < 0.85
            own = [(key_of("A", k + 5), xyz) for k, xyz in enumerate(moved) if kept[k]]
            own += [(key_of("A", 99), moved[0] + 5.0)] * bool(rng.random() < 0.2)
            models.append(own * bool(rng.random() < 0.88))
    return {"traces": column_of(models), "natives": column_of(natives)}


def column_of(residues):
    """A column of structures, each given as pairs of key and position in the order of the keys."""
    keys = [key for one in residues for key, _ in one]
    return Traces(
        np.r_[0, np.cumsum([len(one) for one in residues])].astype(np.int64),
        np.array(keys, dtype=np.uint64),
        np.array([xyz for one in residues for _, xyz in one], dtype=float).reshape(-1, 3),
        np.full(len(keys), ord("A"), dtype=np.uint8),
    )


def _tree(rng, n_words):
    """A random binary tree over so many words, in brackets."""
    if n_words == 1:
        return f"({rng.choice(['N', 'V', ',', 'D'])} w)"
    left = int(rng.integers(1, n_words))
    label = rng.choice(["S", "NP", "NP-SBJ", "PRT", "ADVP"])
    return f"({label} {_tree(rng, left)} {_tree(rng, n_words - left)})"


def plain(lists, scores):
    """The lists as PlainLists, one after the other."""
    known = [trees.parse(text) for text in lists.trees.to_strings()]
    gold = [trees.parse(text) for text in lists.gold.to_strings()]
    out = []
    for i, (a, b) in enumerate(itertools.pairwise(lists.offsets.tolist())):
        columns = [
            list(column)[a:b]
            for column in (lists.labels.tolist(), scores, lists.item_ids, lists.texts, lists.answers)
        ]
        references = [column[i] for column in lists.references]
        models = [_plain_structure(lists.traces, k) for k in range(a, b)]
        native = _plain_structure(lists.natives, i)
        out.append(PlainList(*columns, known[a:b], references, gold[i], models, native))
    return out


def _plain_structure(traces, i):
    """The structure as a dictionary."""
    here = traces.of(i)
    return dict(zip(traces.keys[here].tolist(), traces.xyz[here].tolist(), strict=True))


def chosen(part):
    """The item of the largest score, the first on ties."""
    return max(range(len(part.scores)), key=lambda j: (part.scores[j], -j))


def mean(values):
    """The mean, NaN of nothing."""
    values = list(values)
    return sum(values) / len(values) if values else NAN
