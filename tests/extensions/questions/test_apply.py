"""Lists of questions and passages with trees and features."""

import dataclasses
import warnings

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.questions.features import first_items, qa_features
from rerank.extensions.questions.settings import QASettings

QUESTIONS = ["Who_WP feeds_VBZ the_DT dogs_NNS ?_.", "Where_WRB is_VBZ Rome_NNP ?_."]
PASSAGES = [
    "A_DT keeper_NN fed_VBD a_DT dog_NN ._.",
    "",
    "He_PRP slept_VBD",
    "Rome_NNP is_VBZ in_IN Italy_NNP",
    "Cats_NNS sleep_VBP",
]


def lists_of(
    questions: list[str] = QUESTIONS, passages: list[str] = PASSAGES, **more: object
) -> CandidateLists:
    return CandidateLists(
        np.array([0, 3, 5]),
        CandidateLists.from_arrays(np.arange(5.0).reshape(-1, 1)).features,
        prompts=StringColumn.from_strings(questions),
        texts=StringColumn.from_strings(passages),
        feature_names=["engine"],
        **more,
    )


def made(**settings: object):
    """What settings give for tagged texts, without a need for the extra."""
    chosen = {"tagged": "_", "match": "form", **settings}
    if chosen.get("trees") != "none":
        chosen.setdefault("leaves", "form")
    return qa_features(lists_of(), QASettings(**chosen))


def test_trees_of_both_kinds() -> None:
    found = made(trees="both").lists
    assert found.tree_names() == ["question", "question_box", "passage", "passage_box"]
    assert list(found.forest("question").to_strings()) == [
        *["(S (NP (WP Who)) (VP (VBZ feeds)) (NP (DT the) (NNS dogs)) (. ?))"] * 3,
        "(S (ADVP (WRB Where)) (VP (VBZ is)) (REL-NP (REL-NNP Rome)) (. ?))",
        "(S (ADVP (WRB Where)) (VP (VBZ is)) (NP (NNP Rome)) (. ?))",
    ]
    assert list(found.forest("passage").to_strings())[1:4] == [
        "",
        "(S (NP (PRP He)) (VP (VBD slept)))",
        "(S (REL-NP (REL-NNP Rome)) (VP (VBZ is)) (PP (IN in)) (NP (NNP Italy)))",
    ]
    assert found.forest("passage_box")[3] == "(BOX (REL Rome) is in Italy)"
    assert found.names() == ["engine"]


def test_kinds_of_trees_are_added_to_others() -> None:
    found = made(trees="both").lists
    settings = {"tagged": "_", "leaves": "form", "trees": "both", "rel": False}
    with pytest.raises(DataError, match="has trees named question already; --suffix"):
        qa_features(found, QASettings(**settings))
    both = qa_features(found, QASettings(**settings, suffix="_plain")).lists
    assert both.tree_names() == [name + end for end in ("", "_plain") for name in found.tree_names()]
    assert list(both.forest("passage_box")) == list(found.forest("passage_box"))  # other structures stay
    assert both.forest("passage_box_plain")[3] == "(BOX Rome is in Italy)"
    for wrong in ({"suffix": "a b"}, {"suffix": "x", "trees": "none", "overlap": True}):
        with pytest.raises(ConfigError, match="suffix"):
            QASettings(tagged="_", **wrong)


def test_without_marks() -> None:
    plain = made(rel=False, match=None).lists.forest("passage").to_strings()
    assert list(plain) == [tree.replace("REL-", "") for tree in made().lists.forest("passage").to_strings()]


def test_stems_link_other_forms() -> None:
    pytest.importorskip("snowballstemmer")
    settings = {"tagged": "_"}
    assert qa_features(lists_of(), QASettings(**settings)).lists.forest("question")[0] == (
        "(S (NP (WP who)) (VP (VBZ feed)) (REL-NP (DT the) (REL-NNS dog)) (. ?))"
    )


def test_lemmas_link_irregular_forms() -> None:
    pytest.importorskip("HanTa.HanoverTagger")
    found = qa_features(lists_of(), QASettings(tagged="_", match="lemma", leaves="lemma")).lists
    assert found.forest("passage")[0] == (
        "(S (NP (DT a) (NN keeper)) (REL-VP (REL-VBD feed)) (REL-NP (DT a) (REL-NN dog)) (. .))"
    )


def test_the_tagger_tags_plain_text() -> None:
    pytest.importorskip("HanTa.HanoverTagger")
    plain = lists_of(["Who feeds dogs?", "Where?"], ["The keeper feeds dogs.", "", "Sam", "x", "y"])
    found = qa_features(plain, QASettings(tagger="hanta", match="form", leaves="form")).lists
    assert found.forest("passage")[0] == (
        "(S (NP (DT The) (NN keeper)) (REL-VP (REL-VBZ feeds)) (REL-NP (REL-NNS dogs)) (. .))"
    )


def test_features_and_statistics() -> None:
    found = made(trees="none", overlap=True)
    assert found.lists.names()[:3] == ["engine", "overlap_count", "overlap_share"]
    assert found.lists.features.column(1).tolist() == [0, 0, 0, 1, 0]
    assert found.lists.features.column(2).tolist() == [0, 0, 0, 1, 0]
    assert not found.lists.structures
    stats = found.statistics
    assert (stats.question_words, stats.question_linked) == (8, 1)
    assert (stats.passage_words, stats.passage_linked) == (8, 1)
    assert (stats.unlinked_items, stats.unlinked_lists) == (4, 1)
    assert (stats.empty_questions, stats.empty_passages) == (0, 1)
    assert list(stats.lines(QASettings(trees="none", overlap=True))) == [
        "shared: 12.5% of the questions' content words, 12.5% of the passages'",
        "without a shared content word: 4 passages, 1 list",
        "without a token, so that trees are missing: 0 questions, 1 passage",
    ]


def test_values_of_a_list_depend_on_it_alone() -> None:
    whole = made(trees="none", overlap=True).lists
    for i in range(2):
        part = qa_features(
            lists_of().subset([i]), QASettings(trees="none", overlap=True, tagged="_", match="form")
        )
        np.testing.assert_array_equal(part.lists.features.to_dense(), whole.subset([i]).features.to_dense())


def test_the_first_candidates() -> None:
    lists = lists_of(first_best=np.array([1.0, 3, 3, 1, 2]), labels=np.array([1.0, 0, 0, 1, np.nan]))
    with pytest.warns(DataNote, match="2 relevant candidates not among the first 1"):
        assert first_items(lists, 1).features.column(0).tolist() == [1, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first_items(dataclasses.replace(lists, labels=None), 2).features.column(0).tolist() == [
            1,
            2,
            3,
            4,
        ]
        assert first_items(lists, 3).n_items == 5
    with pytest.raises(DataError, match="the first 2 candidates need the first stage"):
        first_items(lists_of(), 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "chunk trees need tags: give --tagged SEP if tokens carry them, --tagger hanta"),
        ({"trees": "none"}, "expected trees or features"),
        ({"trees": "none", "overlap": True, "rel": True}, "rel: not used without trees"),
        ({"trees": "none", "overlap": True, "leaves": "form"}, "leaves: not used without trees"),
        ({"trees": "box", "rel": False, "match": "form"}, "match: not used without links"),
        ({"trees": "box", "match": "form", "leaves": "form", "stemmer": "porter"}, "stemmer: not used"),
        ({"trees": "box", "tagger": "hanta"}, "tagger: not used without chunk trees, focus or lemmas"),
        ({"tagger": "hanta", "tagged": "_"}, "tagger: not used if tokens carry tags"),
        ({"tagged": ""}, "tagged: found '', expected a separator"),
        ({"tagged": "a b"}, "tagged: found 'a b', expected a separator"),
        ({"tagged": "_", "most": 0}, "most: found 0, expected 1 or more"),
    ],
)
def test_settings_without_effect_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        QASettings(**settings)
    assert message in str(raised.value)


def test_faults_of_lists() -> None:
    settings = QASettings(tagged="_", match="form", leaves="form")
    for column, message in (("prompts", "found no questions"), ("texts", "found no texts")):
        with pytest.raises(DataError, match=message):
            qa_features(dataclasses.replace(lists_of(), **{column: None}), settings)
    with pytest.raises(
        DataError, match=r"^arrays: list '2', item 1: found the token 'Rome', expected word_TAG"
    ):
        qa_features(lists_of(passages=[*PASSAGES[:3], "Rome", "x_NN"]), settings)
    with pytest.raises(DataError, match=r"^arrays: question of list '1': found the token 'Who'"):
        qa_features(lists_of(questions=["Who ?", ""]), settings)


def test_tags_of_another_set_are_noted() -> None:
    other = [" ".join(f"{pair.split('_')[0]}_NOUN" for pair in text.split()) for text in PASSAGES]
    with pytest.warns(DataNote, match="only 0% of the words have a Penn tag of a phrase"):
        qa_features(lists_of(passages=other), QASettings(tagged="_", match="form", leaves="form"))


def test_tags_that_are_not_read_are_noted() -> None:
    with pytest.warns(DataNote, match="a question seems to have tags"):
        qa_features(lists_of(), QASettings(trees="box", match="form", leaves="form"))


def test_any_text_gives_trees_that_read_back() -> None:
    rng = np.random.default_rng(3)
    alphabet = list("\x00\x7fab(){}[]_-.'\"`,;:!? \t\u00a0\u2028\x1fé’|<>%$")
    texts = ["".join(rng.choice(alphabet, rng.integers(0, 30))) for _ in range(60)]
    for first in range(0, 56, 7):
        questions, passages = texts[first : first + 2], texts[first + 2 : first + 7]
        found = qa_features(
            lists_of(questions, passages), QASettings(trees="box", match="form", leaves="form")
        )
        for tree, text in zip(found.lists.forest("passage_box"), passages, strict=True):
            words = tree.replace("(REL", "").replace(")", "").removeprefix("(BOX").split()
            spelled = text.replace("(", "-LRB-").replace(")", "-RRB-")
            assert "".join(words) == "".join(spelled.split())
