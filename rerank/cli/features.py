"""``rerank features``: features computed from the candidates themselves."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rerank.cli import completing
from rerank.cli.common import ClusterAddress, Commands, Jobs, inform, verb
from rerank.cli.convert import To
from rerank.cli.options import configures, reads
from rerank.data.reading import Reading
from rerank.features.qa.settings import QASettings

app = Commands("Features computed from the candidates themselves.")


@app.callback()
def root() -> None:
    """Features computed from the candidates themselves."""


@app.add("consensus")
@verb
@reads
def consensus(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    by: Annotated[
        list[str],
        typer.Option(
            "--by", "-b", metavar="WHAT", help="ngram1 .. ngram4, sBLEU, WER, GDT-TS, or a feature."
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="File to write; - is standard output.")
    ],
    statistic: Annotated[
        str,
        typer.Option(
            "--statistic",
            metavar="mean|median",
            autocompletion=completing.choices("mean|median"),
            help="Over the other candidates.",
        ),
    ] = "mean",
    to: To = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    *,
    reading: Reading,
) -> None:
    """Add the similarity of each candidate to the others of its list (minimum Bayes risk as a feature).

    \b
    rerank features consensus dev.nbest --by ngram1 --by WER --out dev.store
    rerank features consensus models --by GDT-TS --out models.store --jobs 0
    """
    from rerank.core.text import count
    from rerank.features.consensus import consensus_features
    from rerank.formats.base import format_for

    options: dict[str, Any] = {"statistic": statistic, "jobs": jobs, "cluster": cluster, "reading": reading}
    made = consensus_features(data, by, out, to, **options)
    items = count(made.n_items, "item")
    inform(f"{items} with {count(len(by), 'further feature')} to {out} ({to or format_for(out)})")


@app.add("parse")
@verb
@reads
def parse(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Parses on which features are chosen.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the stores.")],
    apply: Annotated[
        list[str] | None,
        typer.Option("--apply", "-a", metavar="FILE", help="Further parses. Repeatable."),
    ] = None,
    cutoff: Annotated[
        int, typer.Option("--cutoff", metavar="N", help="Lists of TRAIN in whose parses a feature occurs.")
    ] = 5,
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="NAMES", help="Only features of these types."),
    ] = None,
    values: Annotated[
        str,
        typer.Option(
            "--values",
            metavar="indicators|counts",
            autocompletion=completing.choices("indicators|counts"),
            help="What a feature's value is.",
        ),
    ] = "indicators",
    heads: Annotated[
        str | None, typer.Option("--heads", metavar="FILE", help="Head table [Collins'].")
    ] = None,
    closed_class: Annotated[
        str | None,
        typer.Option(
            "--closed-class",
            metavar="TAGS",
            help="Tags whose words the second pass adds to labels [DT, IN ...].",
        ),
    ] = None,
    left_out: Annotated[
        str | None,
        typer.Option("--left-out", metavar="TAGS", help="Tags whose words are ignored [. `` '']."),
    ] = None,
    keep_trees: Annotated[
        bool, typer.Option("--keep-trees", help="Keep trees and texts in the stores.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Remove features that were read, such as the log probability.")
    ] = False,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    *,
    reading: Reading,
) -> None:
    """Make the tree features of Collins & Koo (2005): DIR/NAME.store for each file, and DIR/features.json.

    NAMES and TAGS are separated by blanks; '' means none. With gold trees, labels are the paper's Score.
    Types: rule bigram grandparent-rule grandparent-bigram lexical-bigram two-level-rule two-level-bigram
    trigram head-modifier pp distance, and lexicalised, the second pass.

    \b
    rerank features parse train.nbest --apply dev.nbest --apply test.nbest --out parses
    """
    from rerank.core.text import count
    from rerank.features.parse_stores import parse_features, type_lines

    typed = {"types": types, "closed_class": closed_class, "left_out": left_out}
    words = {name: tuple(text.split()) for name, text in typed.items() if text is not None}
    made = parse_features(
        [train, *(apply or [])],
        out,
        settings={"cutoff": cutoff, "values": values, **words},
        heads=heads,
        keep_trees=keep_trees,
        alone=alone,
        jobs=jobs,
        cluster=cluster,
        reading=reading,
    )
    print("\n".join(type_lines(made.chosen)))
    for one in made.stores:
        share = 100 * one.unknown / max(1, one.known + one.unknown)
        size = f"{count(one.lists, 'list')}, {count(one.items, 'item')}, {one.values} values"
        inform(f"{one.store}: {size}; {share:.0f}% of features not chosen")


@app.add("qa")
@verb
@reads
@configures(QASettings)
def qa(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Lists with questions and passages; - is standard input.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="File to write; - is standard output.")
    ],
    questions: Annotated[
        str | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="Questions, id<TAB>text on each line; DATA then has lines of question, passage and score.",
        ),
    ] = None,
    passages: Annotated[
        str | None, typer.Option("--passages", metavar="FILE", help="Passages, id<TAB>text on each line.")
    ] = None,
    to: To = None,
    *,
    given: dict[str, Any],
    reading: Reading,
) -> None:
    """Make trees of questions and passages in which shared words are marked (REL), and overlap features.

    The trees are named question and passage (chunks), question_box and passage_box. Function words are never
    linked.

    \b
    rerank features qa train.jsonl --tagged _ --overlap --out train.store
    rerank features qa results.txt --questions questions.txt --passages answers.txt --most 15 \
      --tagger hanta --out train.store
    """
    from rerank.features.qa.apply import qa_features
    from rerank.formats.base import format_for
    from rerank.formats.sources import size_of

    made = qa_features(data, given, out, to, questions=questions, passages=passages, reading=reading)
    for line in made.statistics.lines(made.settings):
        inform(line)
    inform(f"{size_of(made.lists)} to {out} ({to or format_for(out)})")
