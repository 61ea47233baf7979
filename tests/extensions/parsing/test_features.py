"""Features of parse trees: the paper's examples, the slow twin, and what must not change them."""

import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import trees as brackets
from reference.tree_features import tree_features

from rerank.core.errors import ConfigError, DataError
from rerank.core.workers import parallel
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.parsing import features as parse
from rerank.extensions.parsing.features import TYPES, ParseSettings, choose
from rerank.extensions.parsing.heads import default_heads, parse_heads

EXAMPLE = (
    "(S (NP (NNP Clinton)) (VP (PP (IN on) (NP (NNP Monday))) (VBD told) (NP (DT the) (NN press))"
    " (NP (DT a) (NN story)) (SBAR (IN that) (S (NP (PRP it)) (VP (VBD knew))))))"
)
PRESIDENT = "(NP (NP (DT the) (NN president)) (PP (IN of) (NP (DT the) (NNP U.S.))))"


def lists_of(*groups, columns=0):
    """Lists of trees in brackets, with so many dense features."""
    texts = [text for group in groups for text in group]
    features = np.arange(len(texts) * columns, dtype=np.float64).reshape(len(texts), columns)
    return CandidateLists(
        offsets_of([len(group) for group in groups]), Dense(features), trees=Forest.from_strings(texts)
    )


def names_of(text, **settings):
    return set(choose(lists_of([text]), ParseSettings(cutoff=1, **settings)).names)


def starting(names, *starts):
    return {name for name in names if name.startswith(starts)}


class TestThePapersExamples:
    names = names_of(EXAMPLE, types=TYPES)

    def test_rules_with_what_is_above(self):
        rule = "VP PP VBD NP NP SBAR"
        assert starting(self.names, "rule VP PP") == {f"rule {rule}"}
        assert {f"grandparent-rule S {rule}", f"two-level-rule (S NP VP) {rule}"} <= self.names

    def test_bigrams_leave_the_head_out(self):
        pairs = {"right VP NP NP", "right VP NP SBAR", "right VP SBAR STOP", "left VP PP STOP"}
        assert starting(self.names, "bigram right VP", "bigram left VP") == {f"bigram {p}" for p in pairs}
        assert {
            "grandparent-bigram right S VP NP NP",
            "two-level-bigram (S NP VP) right VP NP NP",
        } <= self.names

    def test_lexical_bigrams_name_both_heads(self):
        assert starting(self.names, "lexical-bigram left VP", "lexical-bigram right VP") == {
            "lexical-bigram left VP PP on STOP",
            "lexical-bigram right VP NP press NP story",
            "lexical-bigram right VP NP story SBAR that",
            "lexical-bigram right VP SBAR that STOP",
        }

    def test_trigrams_mark_the_head(self):
        assert starting(self.names, "trigram VP") - {"trigram VP STOP VBD! STOP"} == {
            "trigram VP STOP PP VBD!",
            "trigram VP PP VBD! NP",
            "trigram VP VBD! NP NP",
            "trigram VP NP NP SBAR",
            "trigram VP NP SBAR STOP",
        }

    def test_head_modifiers_mark_which_is_adjacent(self):
        assert starting(self.names, "head-modifier left S VP", "head-modifier right S VP") == {
            "head-modifier left S VP VBD PP adj=1",
            "head-modifier right S VP VBD NP adj=1",
            "head-modifier right S VP VBD NP adj=0",
            "head-modifier right S VP VBD SBAR adj=0",
        }

    def test_prepositional_phrases_with_and_without_the_word_they_modify(self):
        assert starting(names_of(PRESIDENT), "pp ") == {
            "pp NP NP PP NP president of U.S.",
            "pp NP NP PP NP of U.S.",
        }

    def test_distances(self):
        """told the press a story that: four words are between told and that."""
        expected = {f"distance VP VBD SBAR {x}" for x in ("=4", *(f"<={x}" for x in range(4, 10)))}
        expected |= {f"distance VP VBD SBAR >={x}" for x in range(1, 5)}
        assert starting(self.names, "distance VP VBD SBAR") == expected

    def test_the_second_pass_adds_closed_class_heads_to_labels(self):
        more = names_of(EXAMPLE) - self.names
        assert starting(more, "rule ") == {
            "rule VP PP(on) VBD NP NP SBAR(that)",
            "rule PP(on) IN(on) NP",
            "rule SBAR(that) IN(that) S",
            "rule S NP(it) VP",
            "rule NP(it) PRP(it)",
            "rule NP DT(the) NN",
            "rule NP DT(a) NN",
        }
        assert not starting(more, "head-modifier", "pp", "distance")


def twin(lists, **settings):
    """Features of each item of small lists by name, a Counter each."""
    heads = default_heads()
    trees = [brackets.parse(text) for text in lists.trees.to_strings()]
    return [tree_features(tree, heads, **settings) for tree in trees]


def frequent(found, lists, cutoff):
    sentences = Counter()
    for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        sentences.update(set().union(*found[first:last]))
    return {name for name, n in sentences.items() if n >= cutoff}


def check_against_twin(lists, cutoff):
    found = twin(lists)
    kept = frequent(found, lists, cutoff)
    for values in ("indicators", "counts"):
        settings = ParseSettings(cutoff=cutoff, values=values)
        if not kept:
            with pytest.raises(DataError, match="no feature occurs"):
                choose(lists, settings)
            return
        chosen = choose(lists, settings)
        assert set(chosen.names) == kept
        out = chosen.apply(lists)
        rows = out.features.to_dense()
        for row, expected in zip(rows, found, strict=True):
            got = {name: row[j] for j, name in enumerate(chosen.names) if row[j]}
            assert got == {
                name: float(n) if values == "counts" else 1.0 for name, n in expected.items() if name in kept
            }


# Labels and words that head rules, second pass, left-out punctuation and PPs have something to do with.
SOME = brackets.trees(
    labels=("S", "NP", "VP", "PP", "NP-SBJ", "PP-LOC", "X"),
    tags=("NN", "DT", "IN", "CC", ",", ".", "VBD"),
    strings=("a", "of", "the", ".", "NP"),
)
PARSE = st.one_of(SOME.map(brackets.brackets), st.just(""))


@given(st.lists(st.lists(PARSE, min_size=1, max_size=3), min_size=1, max_size=4), st.integers(1, 2))
def test_as_the_slow_twin_on_random_trees(groups, cutoff):
    check_against_twin(lists_of(*groups), cutoff)


def test_as_the_slow_twin_on_real_parses(shared_data):
    with gzip.open(shared_data / "parse-nbest" / "dev.nbest.gz", "rt") as file:
        blocks = file.read().split("\n\n")[:40:4]
    groups = [[line.split("\t")[1] for line in block.split("\n")[1:12]] for block in blocks]
    check_against_twin(lists_of(*groups), 2)


def wide(n):
    return f"(S (NP {' '.join(f'(NN w{i})' for i in range(n))}) (VP (VBD ran)))"


def deep(n):
    return "(X " * n + "(NN a)" + ")" * n


@pytest.mark.parametrize(
    "groups",
    [
        [["(NN dog)"], ["(S (NN dog))"]],  # a word with its tag has no rule
        [["(S dog)", "(S (NP dog))"]],
        [["(S (NP (NP (NP (NN dog)))))"]],
        [["", "(S (NN dog))"], [""]],
        [["(S (. .) (`` ``))", "(S (NP (. .)) (VP (VBD ran)))"]],
        [["(S (NP (DT the) dog) (VP . (VBD ran)))"]],
        [[wide(249), wide(2)]],
        [[wide(300)]],  # distances beyond the largest
        [["(S (NP (NN a)) " * 270 + "(VB b)" + ")" * 270]],
        [[deep(249), deep(1)]],
        [["(S (NN a) (FRAG! (STOP b) (TOP c)))"]],
    ],
)
def test_as_the_slow_twin_on_degenerate_trees(groups):
    check_against_twin(lists_of(*groups), 1)


GROUPS = [
    [EXAMPLE, PRESIDENT],
    ["(S (NP (PRP it)) (VP (VBD knew)))", "(S (NP (PRP it)) (ADJP (VBD knew)))"],
    [PRESIDENT],
    ["(S (NP (PRP it)) (VP (VBD told)))"],
]


def arrays_of(jobs=1, cutoff=2):
    with parallel.using(jobs):
        lists = lists_of(*GROUPS, columns=1)
        chosen = choose(lists, ParseSettings(cutoff=cutoff))
        features = chosen.apply(lists).features
    parts = (*features.arrays().values(), chosen.sentences, chosen.types)
    return [list(chosen.names), *(b"" if part is None else part.tobytes() for part in parts)]


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_colliding_keys_change_nothing(bits, monkeypatch):
    expected = arrays_of()
    monkeypatch.setattr(parse, "_KEY_BITS", bits)
    assert arrays_of() == expected
    assert arrays_of(2) == expected


def test_portions_change_nothing(monkeypatch):
    expected = arrays_of()
    monkeypatch.setattr(parse, "_PORTION", 1)
    assert arrays_of() == expected


def test_a_long_rule_has_features_in_proportion_to_its_words():
    found = choose(lists_of([wide(4000)]), ParseSettings(cutoff=1)).by_type()
    distances = 3999 + 10 + 255  # "= x" from 0 to 3998, "<= x", ">= x"
    assert found["distance"] == (distances + 11, distances + 11)  # and those of NP and VP
    assert found["lexical-bigram"] == (4000, 4000)


def test_features_that_would_not_fit_into_memory_are_refused(monkeypatch):
    trees, settings = lists_of([wide(100)]), ParseSettings(cutoff=1)
    chosen = choose(trees, settings)
    message = r"^arrays: the features of its parses need more memory than is left \(10 kB\); fewer --types"
    monkeypatch.setattr(parse, "available", lambda: 10_000)
    with pytest.raises(DataError, match=message):
        choose(trees, settings)
    with pytest.raises(DataError, match=message):
        chosen.rows(trees)
    monkeypatch.setattr(parse, "_most_features", lambda: 1 << 20)
    with pytest.raises(DataError, match=message):  # for their names
        choose(trees, settings)


def test_rows_need_room_for_their_own_features_only(monkeypatch):
    asked = []
    real = np.empty

    def empty(shape, *args, **kwargs):
        asked.append(int(np.prod(shape)))
        return real(shape, *args, **kwargs)

    parses = lists_of([f"(S (X{i} (NN a{i})))" for i in range(1000)])
    chosen = choose(parses, ParseSettings(cutoff=1))
    monkeypatch.setattr(parse, "_PORTION", 1)
    monkeypatch.setattr(np, "empty", empty)
    rows = chosen.rows(parses).onto(parses)
    assert max(asked) < 3 * rows.features.n_values < 1000 * len(chosen)


def test_the_cutoff_counts_sentences_not_parses():
    often = ["(S (X (NN a)))"] * 5
    rare = ["(S (Y (NN a)))"]
    names = set(choose(lists_of(often, rare, rare), ParseSettings(cutoff=2)).names)
    assert "rule S Y" in names
    assert "rule S X" not in names


def test_features_unknown_in_training_are_dropped_and_counted():
    chosen = choose(lists_of(["(S (X (NN a)))"]), ParseSettings(cutoff=1, types=("rule",)))
    lists = lists_of(["(S (Z (NN b)))", "(S (X (NN b)))"])
    rows = chosen.rows(lists)
    assert (rows.known, rows.unknown) == (2, 2)
    assert rows.onto(lists).features.to_dense().tolist() == [[0, 0], [1, 1]]


def test_columns_go_by_type_then_by_appearance_and_behind_the_lists_own():
    lists = lists_of(["(S (X (NN a)))", "(S (Y (NN a)))"], columns=2)
    chosen = choose(lists, ParseSettings(cutoff=1, types=("trigram", "rule")))
    out = chosen.apply(lists)
    assert out.names() == [
        *("1", "2"),
        *("rule S X", "rule X NN", "rule S Y", "rule Y NN"),
        *("trigram S STOP X! STOP", "trigram X STOP NN! STOP"),
        *("trigram S STOP Y! STOP", "trigram Y STOP NN! STOP"),
    ]
    assert out.features.to_dense().tolist() == [
        [0, 1, 1, 1, 0, 0, 1, 1, 0, 0],
        [2, 3, 0, 0, 1, 1, 0, 0, 1, 1],
    ]
    assert chosen.by_type() == {"rule": (4, 4), "trigram": (4, 4)}
    assert out.trees is lists.trees


def test_indicators_alone_need_no_values():
    lists = lists_of(["(S (X (NN a)))"])
    out = choose(lists, ParseSettings(cutoff=1)).apply(lists)
    assert out.features.data is None


def test_head_table_closed_class_and_what_is_left_out_are_settings():
    text = "(S (NP (DT the) (NN dog)) (. .))"
    right = parse_heads("* right\n", "t")
    assert "trigram S NP .! STOP" in names_of(text, heads=right, left_out=())
    assert "trigram S NP .! STOP" not in names_of(text, heads=right)
    assert "rule NP(dog) DT NN(dog)" in names_of(text, closed_class=("NN",))


def test_labels_called_stop_and_top_count_as_the_ends_and_what_is_above_the_root():
    lists = lists_of(
        ["(S (A a) (B b))", "(TOP (S (A a) (B b)))"], ["(S (STOP x) (A a) (STOP y))", "(A (S a))"]
    )
    chosen = choose(lists, ParseSettings(cutoff=1))
    assert "grandparent-rule TOP S A B" in chosen.names
    assert "bigram right S A STOP" in chosen.names
    assert set(chosen.names) == {name for found in twin(lists) for name in found}
    values = chosen.apply(lists).features.to_dense()
    for row, found in zip(values, twin(lists), strict=True):
        assert {name for name, value in zip(chosen.names, row, strict=True) if value} == set(found)


def test_a_cutoff_of_any_size_keeps_nothing_if_there_are_fewer_lists():
    lists = lists_of([EXAMPLE], [EXAMPLE])
    assert len(choose(lists, ParseSettings(cutoff=2)))
    for cutoff in (3, 1 << 31, (1 << 32) + 1, 1 << 70):
        with pytest.raises(DataError, match=f"no feature occurs in the parses of {cutoff} lists"):
            choose(lists, ParseSettings(cutoff=cutoff))


def test_two_features_of_one_name_are_refused():
    """A label that ends in ! looks like a head's."""
    lists = lists_of(["(S (A! a) (C c) (H h))", "(S (A a) (C c))"])
    with pytest.raises(DataError, match="two features are called 'trigram S STOP A! C'"):
        choose(lists, ParseSettings(cutoff=1, heads=parse_heads("* right A\n", "t")))


def test_ignored_punctuation_is_between_no_words():
    names = names_of("(S (NP (NN a)) (`` ``) (VP (VBD b)))")
    assert "distance S VP NP =0" in names
    assert "rule S NP VP" in names


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"types": ("rules",)}, "types: unknown 'rules'.*rule"),
        ({"types": ("lexicalised",)}, "types: found lexicalised, expected one of rule"),
        ({"cutoff": 0}, "cutoff: found 0"),
        ({"values": "binary"}, "values: found 'binary'"),
    ],
)
def test_wrong_settings_are_reported(settings, message):
    with pytest.raises(ConfigError, match=message):
        ParseSettings(**settings)


def test_lists_without_trees_or_with_sparse_features_are_refused():
    bare = CandidateLists.from_arrays(np.zeros((1, 1)))
    with pytest.raises(DataError, match="no trees"):
        choose(bare)
    lists = lists_of(["(S (X (NN a)))"])
    chosen = choose(lists, ParseSettings(cutoff=1))
    with pytest.raises(DataError, match="sparse features already"):
        chosen.apply(lists.with_features(chosen.apply(lists).features, None))
