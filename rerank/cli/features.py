"""``rerank features``: features made from the candidates, or selected."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.feature_selection import select
from rerank.cli.frame import Verb, VerbGroup, Workers, Writes, inform, verb
from rerank.cli.text_features import text, vectors
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.extensions.questions.settings import QASettings


class Consensus(Writes, Workers, Verb):
    """Options of ``rerank features consensus``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")
    by: tuple[str, ...] = setting(
        ..., "utility: ngram1 .. ngram4, sBLEU, WER, GDT-TS, a feature", flags=("--by", "-b"), metavar="WHAT"
    )
    statistic: str = setting("mean", "statistic over the other candidates", metavar="mean|median")


@verb(Consensus)
def consensus(given: Consensus) -> None:
    """Add the similarity of each candidate to the others of its list (minimum Bayes risk as a feature).

    \b
    rerank features consensus dev.nbest --by ngram1 --by WER --out dev.store
    rerank features consensus models --by GDT-TS --out models.store --jobs 0
    """
    from rerank.extensions.decision.consensus import consensus_features
    from rerank.formats.base import format_for

    made = consensus_features(**given.others())
    added = f"{count(made.n_items, 'item')} with {count(len(given.by), 'further feature')}"
    inform(f"{added} to {given.out} ({given.to or format_for(given.out)})")


class Parse(Workers, Verb):
    """Options of ``rerank features parse``."""

    reads: ClassVar = True

    train: str = setting(..., "parses on which features are chosen", argument=True, metavar="TRAIN")
    out: str = setting(..., "folder for the stores", flags=("--out", "-o"), metavar="DIR")
    apply: tuple[str, ...] = setting((), "further parses", flags=("--apply", "-a"), metavar="FILE")
    cutoff: int = setting(5, "minimum number of lists of TRAIN with the feature", metavar="N")
    types: str | None = setting(None, "only features of these types", metavar="NAMES")
    values: str = setting("indicators", "value of a feature", metavar="indicators|counts")
    heads: str | None = setting(None, "head table [Collins']", metavar="FILE")
    closed_class: str | None = setting(
        None, "tags whose words the second pass adds to labels [DT, IN ...]", metavar="TAGS"
    )
    left_out: str | None = setting(None, "tags whose words are ignored [. `` '']", metavar="TAGS")
    keep_trees: bool = setting(False, "keep trees and texts in the stores")
    alone: bool = setting(False, "remove features that were read, such as the log probability")


@verb(Parse)
def parse(given: Parse) -> None:
    """Make the tree features of Collins & Koo (2005): DIR/NAME.store for each file, and DIR/features.json.

    NAMES and TAGS are separated by blanks; '' means none. With gold trees, labels are the paper's Score.
    Types: rule bigram grandparent-rule grandparent-bigram lexical-bigram two-level-rule two-level-bigram
    trigram head-modifier pp distance, and lexicalised, the second pass.

    \b
    rerank features parse train.nbest --apply dev.nbest --apply test.nbest --out parses
    """
    from rerank.extensions.parsing.feature_stores import parse_features, type_lines

    typed = {"types": given.types, "closed_class": given.closed_class, "left_out": given.left_out}
    words = {name: tuple(text.split()) for name, text in typed.items() if text is not None}
    made = parse_features(
        [given.train, *(given.apply or [])],
        given.out,
        settings={"cutoff": given.cutoff, "values": given.values, **words},
        **given.others("train", "apply", "out", "cutoff", "values", *typed),
    )
    print("\n".join(type_lines(made.chosen)))
    for one in made.stores:
        share = 100 * one.unknown / max(1, one.known + one.unknown)
        size = f"{count(one.lists, 'list')}, {count(one.items, 'item')}, {one.values} values"
        inform(f"{one.store}: {size}; {share:.0f}% of features not chosen")


class Qa(Writes, Verb):
    """Options of ``rerank features qa``."""

    reads: ClassVar = True
    configures: ClassVar = QASettings

    data: str = setting(
        ..., "lists with questions and passages; - is standard input", argument=True, metavar="DATA"
    )
    questions: str | None = setting(
        None,
        "questions, id<TAB>text on each line; DATA then has lines of question, passage and score",
        metavar="FILE",
    )
    passages: str | None = setting(None, "passages, id<TAB>text on each line", metavar="FILE")


@verb(Qa)
def qa(given: Qa) -> None:
    """Make trees of questions and passages in which shared words are marked (REL), and overlap features.

    The trees are named question and passage (chunks), question_box and passage_box. Function words are never
    linked.

    \b
    rerank features qa train.jsonl --tagged _ --overlap --out train.store
    rerank features qa results.txt --questions questions.txt --passages answers.txt --most 15 \
      --tagger hanta --out train.store
    """
    from rerank.extensions.questions.features import qa_features
    from rerank.formats.base import format_for
    from rerank.formats.sources import size_of

    made = qa_features(given.data, given.typed, **given.others("data"))
    for line in made.statistics.lines(made.settings):
        inform(line)
    inform(f"{size_of(made.lists)} to {given.out} ({given.to or format_for(given.out)})")


GROUP = VerbGroup(
    "Make or select features.",
    {"consensus": consensus, "parse": parse, "qa": qa, "select": select, "text": text, "vectors": vectors},
)
