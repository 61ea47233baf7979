"""What questions ask for, the types of words, and links between them."""

import re

import numpy as np
import pytest
from reference import qa as slow

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.questions.features import qa_features
from rerank.extensions.questions.focus import TYPES, Asked, asked, typed
from rerank.extensions.questions.settings import QASettings
from rerank.extensions.questions.text import Tokens, split_tags

ASKED = """
    Who_WP invented_VBD tea_NN ?_. | person Who
    Who_WP makes_VBZ tea_NN ?_. | maker Who
    Who_WP is_VBZ the_DT mayor_NN of_IN Rome_NNP ?_. | person mayor
    Who_WP was_VBD Cleveland_NNP 's_POS wife_NN ?_. | person wife
    Where_WRB is_VBZ Rome_NNP ?_. | place Where
    When_WRB did_VBD he_PRP die_VB ?_. | date When
    Why_WRB ?_. | other Why
    How_WRB many_JJ old_JJ cats_NNS are_VBP there_EX ?_. | number cats
    How_WRB much_JJ does_VBZ tea_NN cost_VB ?_. | money much
    How_WRB much_JJ does_VBZ tea_NN weigh_VB ?_. | number much
    How_WRB far_RB is_VBZ Rome_NNP ?_. | measure far
    How_WRB did_VBD he_PRP die_VB ?_. | other How
    In_IN what_WDT year_NN was_VBD it_PRP ?_. | date year
    What_WP countries_NNS drink_VBP tea_NN ?_. | place countries
    What_WP is_VBZ the_DT name_NN of_IN the_DT dog_NN ?_. | thing dog
    What_WP is_VBZ Twain_NNP 's_POS real_JJ name_NN ?_. | person name
    What_WP is_VBZ another_DT name_NN for_IN tea_NN ?_. | thing name
    What_WP kind_NN of_IN animal_NN is_VBZ it_PRP ?_. | animal animal
    What_WP is_VBZ Ohm_NNP and_CC Co_NNP 's_POS annual_JJ revenue_NN ?_. | money revenue
    What_WP is_VBZ the_DT Keystone_NNP Law_NNP ?_. | other Law
    What_WP does_VBZ CBS_NNP mean_VB ?_. | thing What
    Name_VB the_DT designer_NN of_IN shoes_NNS ._. | person designer
    Tell_VB me_PRP ._. | other Tell
    What_WP | thing What
    Who_WP is_VBZ | person Who
    How_WRB | other How
"""


@pytest.mark.parametrize("line", ASKED.strip().split("\n"))
def test_what_a_question_asks_for(line: str) -> None:
    text, expected = line.split("|")
    tokens = split_tags(text, "_")
    found = asked(tokens)
    assert [found.kind, tokens.forms[found.focus]] == expected.split()


def test_an_empty_question_asks_for_nothing() -> None:
    assert asked(Tokens([], [])) == Asked("other", 0)
    marks = ["", "REL"]
    assert Asked("other", 0).mark([""], marks, ["PERSON", "DATE"], classes=True) == 0
    assert Asked("person", 0).mark([], marks, ["PERSON", ""], classes=True) == 0
    assert marks == ["", "REL"]


def test_types_by_rules() -> None:
    text = """
        President_NNP Lee_NNP paid_VBD $_$ 3.5_CD million_CD for_IN 12_CD miles_NNS in_IN Quito_NNP on_IN
        May_NNP 3_CD ,_, 1994_CD ;_: 40_CD %_NN of_IN Acme_NNP Corp._NNP may_MD sell_VB seven_CD ships_NNS
        to_TO Zed_NNP
    """
    tokens = split_tags(text, "_")
    found = [f"{form}/{kind}" for form, kind in zip(tokens.forms, typed(tokens), strict=True) if kind]
    assert " ".join(found) == (
        "President/PERSON Lee/PERSON 3.5/MONEY million/MONEY 12/QUANTITY Quito/GPE May/DATE 3/DATE 1994/DATE "
        "40/PERCENT Acme/ORGANIZATION Corp./ORGANIZATION seven/CARDINAL Zed/NAME"
    )
    assert typed(Tokens([], [])) == []


def test_types_that_tokens_carry() -> None:
    tokens = split_tags("Rome_NNP#GPE-B is_VBZ#- C#_NN#O B-LOC_NNP#I-LOC x_CD#2", "_", "#")
    assert tokens.forms == ["Rome", "is", "C#", "B-LOC", "x"]
    assert typed(tokens) == ["GPE", "", "", "LOC", "2"]
    for wrong in ("Rome_NNP", "Rome_NNP#", "Rome#GPE", "#GPE"):
        with pytest.raises(DataError, match=re.escape("expected word_TAG#TYPE")):
            split_tags(wrong, "_", "#")


def lists_of(question: str, passages: list[str]) -> CandidateLists:
    return CandidateLists(
        np.array([0, len(passages)]),
        CandidateLists.from_arrays(np.zeros((len(passages), 1))).features,
        prompts=StringColumn.from_strings([question]),
        texts=StringColumn.from_strings(passages),
        feature_names=["engine"],
    )


SETTINGS = {"tagged": "_", "entities": "#", "match": "form", "leaves": "form", "trees": "both"}
PASSAGES = ["Ann_NNP#PERSON Lee_NNP#PERSON fed_VBD#- Tom_NNP#PERSON", "dogs_NNS#- in_IN#- Rome_NNP#GPE", ""]


def test_links_are_typed_and_leave_out_what_the_question_has() -> None:
    lists = lists_of("Who_WP#- fed_VBD#- Tom_NNP#PERSON ?_.#-", PASSAGES)
    found = qa_features(lists, QASettings(**SETTINGS, focus="typed", overlap=True))
    assert list(found.lists.forest("question").to_strings()) == [
        "(S (REL-FOCUS-HUM-NP (REL-FOCUS-HUM-WP Who)) (REL-VP (REL-VBD fed)) (REL-NP (REL-NNP Tom)) (. ?))",
        *["(S (NP (WP Who)) (VP (VBD fed)) (NP (NNP Tom)) (. ?))"] * 2,
    ]
    assert found.lists.forest("passage_box")[0] == (
        "(BOX (REL-FOCUS-HUM Ann) (REL-FOCUS-HUM Lee) (REL fed) (REL Tom))"
    )
    assert found.lists.forest("passage")[1] == "(S (NP (NNS dogs)) (PP (IN in)) (NP (NNP Rome)))"
    assert found.lists.names()[-1] == "overlap_focus"
    assert found.lists.features.column(9).tolist() == [1, 0, 0]
    assert (found.statistics.asked, found.statistics.focus_linked) == ({"person": 1}, 1)
    plain = qa_features(lists, QASettings(**SETTINGS, focus="plain")).lists
    for name in plain.tree_names():
        assert list(plain.forest(name).to_strings()) == [
            tree.replace("-HUM", "") for tree in found.lists.forest(name).to_strings()
        ]


def test_marks_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    words, types = ["Ann", "Rome", "1994", "fed", "the", "dog"], ["PERSON", "GPE", "DATE", "-", "-", "EVENT"]
    starts = ["Who_WP#-", "Where_WRB#-", "When_WRB#-", "Why_WRB#-", "What_WP#- city_NN#-"]
    for _ in range(60):

        def text(n: int) -> str:
            return " ".join(f"{rng.choice(words)}_NN#{rng.choice(types)}" for _ in range(n))

        question, passage = (
            f"{rng.choice(starts)} fed_VBD#- {text(rng.integers(0, 3))}",
            text(rng.integers(0, 7)),
        )
        found = qa_features(lists_of(question, [passage]), QASettings(**SETTINGS, focus="typed")).lists
        texts = [split_tags(one, "_", "#") for one in (question, passage)]
        asks = asked(texts[0])
        fits = {kind for kind in TYPES if asks.mark([""] * 9, [""], [kind], classes=False)}
        keys = [
            [(form, form not in ("the", "Who", "Where", "When", "Why", "What")) for form in one.forms]
            for one in texts
        ]
        marks = slow.focus_marks(f"REL-FOCUS-{asks.label}", fits, typed(texts[1]), *keys, asks.focus)
        for name, one, expected in zip(("question_box", "passage_box"), texts, marks, strict=True):
            inner = " ".join(f"({m} {w})" if m else w for w, m in zip(one.forms, expected, strict=True))
            assert found.forest(name)[0] == (f"(BOX {inner})" if inner else "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": "box", "focus": "plain"}, "focus: needs tags"),
        ({"tagged": "_", "rel": False, "focus": "plain"}, "focus: not used without links"),
        ({"trees": "box", "entities": "#"}, "entities: not used without tags"),
        ({"tagged": "_", "entities": "_"}, "entities: found '_', expected another separator"),
        ({"tagged": "_", "entities": "a b"}, "entities: found 'a b', expected a separator without blanks"),
        ({"tagged": "_", "focus": "hum"}, "focus: found 'hum'"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        QASettings.checked(settings, "features qa")


def test_types_of_another_set_are_noted() -> None:
    lists = lists_of("Who_WP#-", ["Ann_NNP#Name Tom_NNP#PERSON x_NN#Name"])
    with pytest.warns(DataNote, match="only 33% of the words of entities have a type that fits"):
        qa_features(lists, QASettings(**SETTINGS, focus="typed"))
