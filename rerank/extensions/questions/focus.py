"""The focus of a question, and the words of a passage whose type could answer it.

A question has a kind of answer, found by the wh-word and the head noun of what it asks for with the word
lists below, and a focus: that noun, or the wh-word. The focus is linked to the words of a passage whose type
(person, place, date, number, ...) fits the kind, unless the question has these words itself.

References
----------
Severyn & Moschitti: Automatic feature engineering for answer selection and extraction. EMNLP 2013. The labels
are coarse classes of Li & Roth: Learning question classifiers. COLING 2002. Both train classifiers; these are
rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rerank.extensions.questions.text import Tokens
from rerank.extensions.questions.trees import REL

# Kind of answer: its coarse class and the types that fit, as in OntoNotes, BBN and CoNLL. NAME is a rule's.
_KINDS = """
    person HUM PERSON PER NAME
    maker HUM PERSON PER ORGANIZATION ORG NAME
    group HUM ORGANIZATION ORG NAME
    role HUM PER_DESC
    place LOC GPE LOCATION LOC FAC NAME
    date NUM DATE TIME
    money NUM MONEY
    percent NUM PERCENT CARDINAL
    measure NUM QUANTITY CARDINAL DATE TIME PERCENT
    number NUM CARDINAL QUANTITY
    people ENTY NATIONALITY NORP LANGUAGE NAME
    work ENTY WORK_OF_ART PRODUCT NAME
    event ENTY EVENT NAME
    animal ENTY ANIMAL
    plant ENTY PLANT SUBSTANCE
    disease ENTY DISEASE
    thing ENTY ORGANIZATION ORG PRODUCT WORK_OF_ART EVENT LANGUAGE LAW ANIMAL PLANT SUBSTANCE GAME MISC NAME
    other DESC
"""
# Kind of answer, and head nouns in the singular that ask for it. Other nouns ask for a thing.
_NOUNS = """
    person person man woman child boy girl president minister senator governor mayor king queen prince leader
    person author writer poet novelist composer artist painter singer musician actor actress player athlete
    person director chairman ceo chief executive officer manager head founder inventor designer architect god
    person pilot citizen chemist physicist biologist economist journalist politician minister widow heir
    person explorer scientist astronaut captain commander general judge lawyer doctor teacher coach hero owner
    person wife husband father mother son daughter brother sister partner successor winner killer assassin
    person member conductor spokesman spokesperson secretary candidate enemy rival goddess
    group company corporation organization organisation institution firm agency bank airline newspaper school
    group magazine publisher university college team club band group party church gang network branch league
    group manufacturer sponsor department union
    role occupation profession job rank title position career
    place country city town village state province county capital continent region island river lake sea ocean
    place mountain peak volcano desert peninsula valley planet place location site street address building
    place stadium hotel airport cathedral prison bridge dam museum park palace port base headquarters home
    place hometown birthplace destination nation territory tip body
    date year date day month century decade birthday anniversary season
    money cost price revenue salary income budget debt fee wage worth fine value sale
    percent percentage percent rate proportion share
    number number population total count amount odds
    measure age height length width depth weight speed temperature distance size diameter area range frequency
    measure duration capacity altitude elevation
    people nationality ethnicity language tribe race religion citizenship
    work book novel film movie song album play poem opera painting show product car ship
    event war battle conflict revolution festival disaster
    animal animal insect bird fish breed species
    plant plant crop tree flower substance element metal material
    disease disease disorder illness phobia condition
    other meaning definition reason purpose goal mission cause symptom way effect style nickname affiliation
    other color colour background symbol
"""
# Words by their use in the rules; a use may have several lines.
_WORDS = """
    wh who whom whose what which when where why how
    be is are was were 's
    measured far tall long fast old big large often high deep heavy wide hot cold late close
    priced cost costs worth spend spent pay paid earn charge sell sold rent owe donate
    makes make makes made manufactures manufactured own owns publishes published produces
    sorts kind kinds type types sort sorts name names part
    own_name real full last first original maiden 's '
    inside_tags DT JJ JJR JJS CD PRP$ RB RBS RBR VBN VBG CC `` ''
    after_tags CC JJ `` ''
    months january february march april may june july august september october november december
    days monday tuesday wednesday thursday friday saturday sunday
    numbers two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen dozen
    numbers seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
    numbers million billion trillion
    units mile kilometer kilometre meter metre foot feet inch yard acre hectare pound kilogram ton tonne gram
    units ounce liter litre gallon degree mph knot mm cm km kg hour minute second week month year day decade
    currencies dollar cent euro yen franc mark peso
    titles mr. mrs. ms. dr. prof. sen. rep. gov. gen. president sir king queen prince captain
    groups inc. corp. co. ltd. inc corp company corporation university college institute bank party
    groups association committee department agency council union
    places river lake mount mountain mountains island islands county city street avenue sea ocean valley bay
    places peninsula africa asia europe america australia canada mexico brazil argentina england britain
    places scotland ireland france germany italy spain russia china japan india israel iraq iran egypt cuba
    places turkey greece poland sweden norway california texas florida ohio illinois michigan virginia georgia
    places kansas arizona colorado london paris washington chicago boston moscow tokyo rome berlin
"""
_DIGITS = re.compile(r"\d[\d,.]*(?:-\d[\d,.]*)?s?")
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:-\d+|s)?")


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().split("\n")]


_ANSWERS = {kind: (label, frozenset(types)) for kind, label, *types in _rows(_KINDS)}
_BY_NOUN = {noun: kind for kind, *nouns in _rows(_NOUNS) for noun in nouns}
_USE: dict[str, set[str]] = {}
for _use, *_words in _rows(_WORDS):
    _USE.setdefault(_use, set()).update(_words)
TYPES = frozenset().union(*(types for _, types in _ANSWERS.values()))


@dataclass(frozen=True)
class Asked:
    """The focus of a question, and the types that answer it.

    kind : of answer, such as "person", "date", "thing"; "other" has no type.
    focus : number of the focus token.
    """

    kind: str
    focus: int

    @property
    def label(self) -> str:
        """The coarse class: HUM, LOC, NUM, ENTY or DESC."""
        return _ANSWERS[self.kind][0]

    def mark(self, question: list[str], passage: list[str], types: Sequence[str], classes: bool) -> int:
        """Mark the focus, and the words of a passage that fit it and are not marked; return their runs.

        question, passage : marks of the tokens, "" = none; changed if a word fits.
        types : of the passage's tokens, "" = none.
        classes : whether the mark has the coarse class.
        """
        own = _ANSWERS[self.kind][1]
        fits = [kind in own and not mark for kind, mark in zip(types, passage, strict=True)]
        if not any(fits) or not question:
            return 0
        found = f"{REL}-FOCUS-{self.label}" if classes else f"{REL}-FOCUS"
        question[self.focus] = found
        passage[:] = [found if fit else mark for fit, mark in zip(fits, passage, strict=True)]
        return sum(fit for fit, _ in groupby(fits))


def asked(question: Tokens) -> Asked:
    """Return what a question asks for.

    The first wh-word counts; "Name the ..." asks as "What is the ..." does. Without one the kind is "other".
    Raises no error: an empty question has the focus 0, which no token has.

    question : its tokens with Penn tags.
    """
    words = [form.lower() for form in question.forms]
    tags = question.tags or [""] * len(words)
    if words[:1] == ["name"]:
        return _of_noun(words, tags, 1, 0, defines=False)
    wh = next((i for i, word in enumerate(words) if word in _USE["wh"]), None)
    if wh is None:
        return Asked("other", 0)
    after = words[wh + 1] if wh + 1 < len(words) else ""
    match words[wh]:
        case "who" | "whom" | "whose":
            head = _head(words, tags, wh + 2) if after in _USE["be"] else None
            common = head is not None and tags[head] in ("NN", "NNS")
            kind = "maker" if _USE["makes"].intersection(words) else "person"
            return Asked(kind, head if head is not None and common else wh)
        case "where":
            return Asked("place", wh)
        case "when":
            return Asked("date", wh)
        case "how" if after in ("many", "much"):
            head = _head(words, tags, wh + 2)
            kind = "money" if after == "much" and _USE["priced"].intersection(words) else "number"
            return Asked(kind, wh + 1 if head is None or after == "much" else head)
        case "how" if after in _USE["measured"]:
            return Asked("measure", wh + 1)
        case "why" | "how":
            return Asked("other", wh)
    return _of_noun(words, tags, wh + 1 + (after in _USE["be"]), wh, defines=after in _USE["be"])


def _of_noun(words: Sequence[str], tags: Sequence[str], first: int, wh: int, defines: bool) -> Asked:
    """Return what the phrase from ``first`` asks for; ``defines``: "What is X" may ask for a definition."""
    head = _head(words, tags, first)
    if head is not None and words[head] in _USE["sorts"]:
        inner = _head(words, tags, head + 2) if words[head + 1 : head + 2] == ["of"] else None
        if inner is None and words[head] == "name":
            return Asked("person" if words[head - 1] in _USE["own_name"] else "thing", head)
        head = inner if inner is not None else head
    if head is None:
        return Asked("thing", wh)
    word = words[head]
    known = (_BY_NOUN.get(one) for one in (word, word.removesuffix("s"), word.removesuffix("ies") + "y"))
    unknown = "other" if defines and tags[head].startswith("NNP") else "thing"
    return Asked(next(filter(None, known), unknown), head)


def _head(words: Sequence[str], tags: Sequence[str], first: int) -> int | None:
    """The last noun of the phrase that begins at ``first``; what stands before 's is not its head."""
    head = None
    for i in range(first, len(words)):
        if tags[i].startswith("NN"):
            head = i
        elif tags[i] == "POS" or words[i] in ("'s", "'"):
            head = None
        elif tags[i] not in _USE["inside_tags" if head is None else "after_tags"]:
            break
    return head


def typed(text: Tokens) -> list[str]:
    """Return the type of each token, "" for none: those that it carries, or by rules.

    Rules find numbers, money, percentages, quantities and dates by their forms. Runs of proper nouns (tags)
    are PERSON after a title, ORGANIZATION or GPE by a word, GPE after "in", and else NAME, which may be each
    of them.
    """
    if text.types is not None:
        return list(text.types)
    words = [form.lower() for form in text.forms]
    tags = text.tags or [""] * len(words)
    found = [""] * len(words)
    kinds = [_first_kind(form, tag) for form, tag in zip(text.forms, tags, strict=True)]
    for kind, run in groupby(range(len(words)), key=kinds.__getitem__):
        places = list(run)
        before = words[places[0] - 1] if places[0] else ""
        after = words[places[-1] + 1] if places[-1] + 1 < len(words) else ""
        if kind == "number":
            name = _number(words[places[0] : places[-1] + 1], before, after)
        elif kind == "name":
            name = _name({words[i] for i in places}, before)
        else:
            name = kind
        for i in places:
            found[i] = name
    return found


def _first_kind(form: str, tag: str) -> str:
    word = form.lower()
    if form[:1].isupper() and (word in _USE["days"] or (word in _USE["months"] and tag.startswith("NNP"))):
        return "DATE"
    if _DIGITS.fullmatch(form) or word in _USE["numbers"]:
        return "number"
    return "name" if tag.startswith("NNP") else ""


def _number(words: Sequence[str], before: str, after: str) -> str:
    unit = after.removesuffix("s")
    if before in ("$", "£", "€") or unit in _USE["currencies"]:
        return "MONEY"
    if after in ("%", "percent"):
        return "PERCENT"
    if before in _USE["months"] or after in _USE["months"] or (len(words) == 1 and _YEAR.fullmatch(words[0])):
        return "DATE"
    return "QUANTITY" if unit in _USE["units"] or after in _USE["units"] else "CARDINAL"


def _name(words: set[str], before: str) -> str:
    if before in _USE["titles"] or words & _USE["titles"]:
        return "PERSON"
    if words & _USE["groups"]:
        return "ORGANIZATION"
    return "GPE" if words & _USE["places"] or before == "in" else "NAME"
