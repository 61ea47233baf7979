"""PARSEVAL: against a slow twin, evalb's counts of real parses, and its rules one by one."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import trees as reference_trees
from reference.metrics import parseval as reference
from small_judging import evaluate

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import SelectingJudge, corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.parsing.parseval import counts_of
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.labelling import label

WORDS = ["a", "dog", "saw", ",", "it", "."]
MEASURES = ["PARSEVAL", *(f"PARSEVAL.{m}" for m in ("LR", "LP", "EX", "CB", "0CB", "2CB", "score"))]


def parse_lists(*lists, **columns):
    """Lists of (gold, parses), as strings of brackets."""
    trees = [tree for _, parses in lists for tree in parses]
    return CandidateLists(
        offsets_of([len(parses) for _, parses in lists]),
        Dense(np.zeros((len(trees), 1))),
        first_best=-np.arange(float(len(trees))),
        trees=Forest.from_strings(trees),
        gold=Forest.from_strings(gold for gold, _ in lists),
        source="made",
        **columns,
    )


def counts(gold, *parses):
    return counts_of(parse_lists((gold, parses))).astype(int).tolist()


@st.composite
def sentences(draw):
    strings = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))
    some = reference_trees.parses(strings)
    return draw(some), draw(st.lists(st.one_of(some, some, st.none()), min_size=1, max_size=4))


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_counts_equal_the_twin(drawn):
    write = reference_trees.brackets
    lists = parse_lists(*((write(gold), [write(tree) for tree in trees]) for gold, trees in drawn))
    expected = [reference.counts(gold, tree) for gold, trees in drawn for tree in trees]
    assert counts_of(lists).tolist() == expected
    alone = [counts_of(lists.subset([i])) for i in range(lists.n_lists)]
    assert np.concatenate(alone).tolist() == expected


@given(reference_trees.trees(), reference_trees.trees())
def test_counts_of_odd_trees_equal_the_twin_even_if_words_differ(gold, tree):
    write = reference_trees.brackets
    try:
        expected = [reference.counts(gold, tree)]
    except ValueError:
        with pytest.raises(
            DataError, match="parse 1 of list '1' and its gold tree have different numbers of words"
        ):
            counts(write(gold), write(tree))
        return
    assert counts(write(gold), write(tree)) == expected


@pytest.mark.parametrize(
    ("gold", "tree", "expected"),
    [
        # TOP, S1 and pre-terminals are no brackets.
        ("(S1 (S (NP (N a)) (VP (V b))))", "(TOP (S (NP (X a)) (VP (Y b))))", [3, 3, 3, 0, 2]),
        # A label counts: VP for NP is no match, and nothing crosses.
        ("(S (NP (N a)) (V b))", "(S (VP (N a)) (V b))", [1, 2, 2, 0, 2]),
        # Each bracket of gold matches once.
        ("(S (NP (N a)) (V b))", "(S (NP (NP (N a))) (V b))", [2, 2, 3, 0, 2]),
        ("(S (NP (NP (N a))) (V b))", "(S (NP (NP (N a))) (V b))", [3, 3, 3, 0, 2]),
        # PRT equals ADVP, also in one chain.
        ("(VP (V a) (PRT (R b)))", "(VP (V a) (ADVP (R b)))", [2, 2, 2, 0, 2]),
        ("(VP (ADVP (PRT (R b))) (V a))", "(VP (PRT (PRT (R b))) (V a))", [3, 3, 3, 0, 2]),
        # Function tags and indices are cut.
        ("(S (NP-SBJ=2 (N a)) (VP (V b)))", "(S-1 (NP (N a)) (VP-X (V b)))", [3, 3, 3, 0, 2]),
        # Punctuation by gold's tags shifts nothing, wherever it hangs; length counts it.
        ("(S (NP (N a) (, ,)) (VP (V b)))", "(S (NP (N a)) (VP (, ,) (V b)))", [3, 3, 3, 0, 3]),
        ("(S (NP (N a) (, ,)) (VP (V b)))", "(S (NP (N a)) (VP (N ,) (V b)))", [3, 3, 3, 0, 3]),
        ("(S (NP (N a) (N ,)) (VP (V b)))", "(S (NP (N a)) (VP (, ,) (V b)))", [1, 3, 3, 1, 3]),
        # A bracket with punctuation alone does not count.
        ("(S (NP (N a)) (X (. .)))", "(S (NP (N a)) (. .))", [2, 2, 2, 0, 2]),
        # Traces are no words, by each tree's own tags; length does not count them.
        ("(S (NP (-NONE- *)) (VP (V b)))", "(S (VP (V b)))", [2, 2, 2, 0, 1]),
        ("(S (VP (V b)))", "(S (NP (-NONE- *)) (VP (V b)))", [2, 2, 2, 0, 1]),
        # Crossing brackets are those of the parse, each counted once.
        ("(S (X (A a) (B b)) (C c))", "(S (A a) (Y (B b) (C c)))", [1, 2, 2, 1, 3]),
        ("(S (X (A a) (B b)) (C c))", "(S (A a) (Y (Z (B b) (C c))))", [1, 2, 3, 2, 3]),
        ("(S (Y (X (A a) (B b))) (C c))", "(S (A a) (Z (B b) (C c)))", [1, 3, 2, 1, 3]),
        # Nothing produced: a missing parse, or one of tags alone.
        ("(S (NP (N a)) (VP (V b)))", "", [0, 3, 0, 0, 2]),
        ("(S1 (S (NP (N a))))", "(S1 (N a))", [0, 2, 0, 0, 1]),
        ("(S1 (N a))", "(S1 (N a))", [0, 0, 0, 0, 1]),
        # An outer bracket without a label does not count.
        ("( (S (NP (N a))) (. .))", "(S1 (S (NP (N a)) (. .)))", [2, 2, 2, 0, 2]),
        # Words next to brackets are words.
        ("(S a (NP b) (, ,) c)", "(S (X a (NP b)) d c)", [1, 1, 2, 0, 4]),
    ],
)
def test_what_evalb_counts(gold, tree, expected):
    assert counts(gold, tree) == [expected]


def test_counts_of_deep_trees():
    n = 50_000
    right, left = "(A (B x) " * n + "(B y)" + ")" * n, "(A " * n + "(B y)" + " (B x))" * n
    found = counts(right, right, left)
    assert found[0] == [n, n, n, 0, n + 1]
    assert found[1] == [1, n, n, n - 1, n + 1]  # all but the root cross


def test_the_forests_need_not_share_a_vocabulary():
    lists = parse_lists(("(S (NP (N a)) (V b))", ["(S (NP (N a)) (V b))", "(S (N a) (VP (V b)))"]))
    order = np.array([1, 0])
    taken = replace(lists, trees=Forest.from_strings(lists.trees.to_strings()))
    assert counts_of(taken).tolist() == counts_of(lists).tolist() == [[2, 2, 2, 0, 2], [1, 2, 2, 0, 2]]
    assert counts_of(lists.reordered(order)).tolist() == counts_of(lists)[order].tolist()


def test_values_of_all_measures():
    lists = parse_lists(
        ("(S (X (A a) (B b)) (C c))", ["(S (A a) (Y (B b) (C c)))", "(S (X (A a) (B b)) (C c))"]),
        ("(S (NP (N a)) (VP (V b)))", ["(S (N a) (VP (V b)))", ""]),
    )
    values = [judge.item_values().tolist() for judge in prepare_all(lists, MEASURES)]
    assert values == [
        [50.0, 100.0, 80.0, 0.0],
        [50.0, 100.0, pytest.approx(200 / 3), 0.0],
        [50.0, 100.0, 100.0, 0.0],
        [0.0, 100.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 100.0, 100.0, 100.0],
        [100.0, 100.0, 100.0, 100.0],
        [1.0, 2.0, pytest.approx(2.4), 0.0],
    ]
    result = evaluate(lists, {"last": np.arange(4.0)}, MEASURES)
    first = [result.metrics[name].first_best for name in MEASURES]
    assert first == pytest.approx([200 * 3 / 9, 60, 75, 0, 0.5, 50, 100, 1.7])
    oracle = [result.metrics[name].oracle for name in MEASURES]
    assert oracle == pytest.approx([200 * 4 / 9, 80, 100, 50, 0, 100, 100, 2.2])
    for judge in prepare_all(lists, MEASURES):
        assert isinstance(judge, SelectingJudge)
        assert judge.better == (-1 if judge.name == "PARSEVAL.CB" else 1)


def test_only_short_sentences_count_on_request():
    lists = parse_lists(
        ("(S (A a) (, ,) (A a))", ["(S (A a) (, ,) (A a))"]),
        ("(S (A a) (-NONE- *) (A a))", ["(X (A a) (A a))"]),
    )
    for name, expected in (("PARSEVAL", 50.0), ("PARSEVAL(max=3)", 50.0), ("PARSEVAL(max=2)", 0.0)):
        judge = parse(name).prepare(lists)
        assert corpus_value(judge, judge.first_best()) == expected
        assert judge.name == name
    judge = parse("PARSEVAL.EX(max=2)").prepare(lists)
    assert judge.judged.tolist() == [False, True]
    assert corpus_value(judge, judge.first_best()) == 0.0
    assert corpus_value(parse("PARSEVAL(max=1)").prepare(lists), np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("parseval", "PARSEVAL"),
        ("PARSEVAL.F1", "PARSEVAL"),
        ("parseval.lr", "PARSEVAL.LR"),
        ("PARSEVAL.Score", "PARSEVAL.score"),
        ("PARSEVAL.2cb(max=40)", "PARSEVAL.2CB(max=40)"),
        ("oracle5.PARSEVAL.0CB", "oracle5.PARSEVAL.0CB"),
    ],
)
def test_names(typed, canonical):
    assert parse(typed).name == canonical
    assert parse(canonical) == parse(typed)


@pytest.mark.parametrize(
    "typed", ["PARSEVAL@40", "PARSEVAL(max=0)", "PARSEVAL(max=2.5)", "PARSEVAL(max=x)", "PARSEVAL(min=3)"]
)
def test_what_makes_no_sense_is_refused(typed):
    with pytest.raises(ConfigError):
        parse(typed)


def test_saved_counts_need_no_tree():
    lists = parse_lists(("(S (NP (N a)) (V b))", ["(S (NP (N a)) (V b))", "(S (N a) (VP (V b)))"]))
    saved = replace(lists, trees=None, gold=None, counts={"PARSEVAL": counts_of(lists)})
    for name in MEASURES:
        mine, theirs = parse(name).prepare(lists), parse(name).prepare(saved)
        assert mine.per_item.tolist() == theirs.per_item.tolist()
        assert "counts:saved" in theirs.signature
    unknown = counts_of(lists).astype(float)
    unknown[:, 3:] = np.nan
    partly = replace(saved, counts={"PARSEVAL": unknown})
    assert parse("PARSEVAL").prepare(partly).item_values().tolist() == [100.0, 50.0]
    for name, what in (("PARSEVAL.0CB", "crossing brackets"), ("PARSEVAL(max=40)", "lengths of sentences")):
        with pytest.raises(DataError, match=f"needs {what}, which the saved counts lack"):
            parse(name).prepare(partly)


def test_what_is_missing_is_reported():
    lists = parse_lists(("(S (NP (N a)))", ["(S (NP (N a)))"]))
    for changes, message in (
        ({"trees": None}, "made: PARSEVAL needs the candidates' trees or saved counts"),
        ({"gold": None}, "made: PARSEVAL needs the gold trees or saved counts"),
        ({"counts": {"PARSEVAL": np.ones((1, 4))}}, "made: the saved counts of PARSEVAL must be 5 numbers"),
        ({"counts": {"PARSEVAL": np.full((1, 5), np.nan)}}, "must be 5 numbers per item"),
    ):
        with pytest.raises(DataError, match=message):
            parse("PARSEVAL").prepare(replace(lists, **changes))


def test_labels_are_the_papers_score_and_the_counts_stay():
    lists = parse_lists(("(S (NP (N a)) (VP (V b)))", ["(S (N a) (VP (V b)))", "", "(S1 (N a) (N b))"]))
    made = label(lists, "PARSEVAL.score")
    assert made.labels.tolist() == pytest.approx([2.4, 0.0, 0.0])
    assert made.counts["PARSEVAL"].tolist() == counts_of(lists).tolist()
    assert label(lists, "PARSEVAL.CB").labels.tolist() == [0.0, 0.0, 0.0]


def shared_lists(folder, part):
    with gzip.open(folder / f"{part}.nbest.gz", "rt") as file:
        blocks = [block.split("\n") for block in file.read().strip().split("\n\n")]
    return parse_lists(*((block[0], [line.split("\t")[1] for line in block[1:]]) for block in blocks))


@pytest.mark.parametrize(
    ("part", "first", "oracle"), [("dev", 84.63, 94.46), ("test", 86.42, 94.92), ("train", None, None)]
)
def test_evalbs_counts_of_real_parses_are_reproduced(shared_data, part, first, oracle):
    folder = shared_data / "parse-nbest"
    lists = shared_lists(folder, part)
    with gzip.open(folder / f"{part}.labels.tsv.gz", "rt") as file:
        rows = np.loadtxt(file, skiprows=1, delimiter="\t", usecols=range(3, 8))
    assert np.array_equal(counts_of(lists)[:, :4], rows[:, :4])
    judge = parse("PARSEVAL").prepare(lists)
    assert np.array_equal(np.round(judge.item_values() / 100, 6), rows[:, 4])
    if first is not None:
        assert round(corpus_value(judge, judge.first_best()), 2) == first
        assert round(judge.oracle(), 2) == oracle
