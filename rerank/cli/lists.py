"""Verbs about files of lists: ``validate``, ``pairs``, ``append``, ``split`` and ``label``."""

from __future__ import annotations

import os
from typing import ClassVar

from rerank.cli.comparisons import FromComparisons, by_comparisons
from rerank.cli.frame import EXIT_NO, OUTPUTS, Jobs, Output, Verb, Writes, inform, verb, write
from rerank.core.errors import FormatError
from rerank.core.settings import setting


class Validate(Output, Verb):
    """Options of ``rerank validate``."""

    reads: ClassVar = True

    data: str = setting(..., "lists to check; - is standard input", argument=True, metavar="DATA")


@verb(Validate)
def validate(given: Validate) -> int:
    """Report what a file holds: lists, items, features, labels, warnings. Exit 1 if it has faults.

    \b
    rerank validate train.txt
    """
    from rerank.data.describe import Contents
    from rerank.formats.sources import validate as validate_data

    given.check_out(given.data)
    try:
        contents = validate_data(given.data, reading=given.reading)
        lines = contents.lines()
    except FormatError as error:
        contents, lines = Contents([], [], [str(error)]), [f"fault  {error}"]
    write(given.as_, lambda: lines, contents.as_json, contents.tables, out=given.out)
    return EXIT_NO if contents.faults else 0


class Pairs(Output, Verb):
    """Options of ``rerank pairs``."""

    reads: ClassVar = True

    data: str = setting(..., "judged lists; - is standard input", argument=True, metavar="DATA")
    relation: tuple[str, ...] = setting(
        (),
        "only these: learner settings such as 'pairs=split split_top=5'",
        flags=("--relation", "-r"),
        metavar="SETTINGS",
    )
    quantise: tuple[str, ...] = setting(
        (),
        "also with quantised labels: best, above=T, model=FILE, top=P%, kmeans=K, list-kmeans=K",
        metavar="HOW",
    )


@verb(Pairs)
def pairs(given: Pairs) -> None:
    """Count the pairs of pair relations, with labels as they are and quantised.

    \b
    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1' --quantise top=30%
    """
    from rerank.models.pair_counts import count_pairs

    given.check_out(given.data)
    schemes = count_pairs(given.data, given.relation or [], given.quantise or [], reading=given.reading)
    write(given.as_, schemes.lines, lambda: [x.row() for x in schemes], schemes.tables, out=given.out)


class Append(Writes, Verb):
    """Options of ``rerank append``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")
    columns: tuple[str, ...] = setting(
        ...,
        "a feature's name and a file of its values, one per item line; or lists with further features",
        argument=True,
        metavar="NAME=FILE|LISTS",
    )


@verb(Append)
def append(given: Append) -> None:
    """Add named features from numbers that other programs wrote.

    Other sets of the same items add all their features.

    \b
    rerank append dev.letor lm=dev.lm length=dev.len --out dev2.letor
    rerank append trees.store words.store --out both.store
    """
    from rerank.extensions.decision.unions import append_typed

    for line in append_typed(given.data, given.columns, given.out, given.to, given.reading):
        inform(line)


class Split(Verb):
    """Options of ``rerank split``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")
    out: str = setting(..., "folder for the parts", flags=("--out", "-o"), metavar="DIR")
    part: tuple[str, ...] = setting(
        (), "a part and its share, as dev=0.1", flags=("--part", "-p"), metavar="NAME=SHARE"
    )
    folds: int | None = setting(None, "K folds of train and test", flags=("--folds", "-k"), metavar="K", ge=2)
    seed: int = setting(1, "random seed", metavar="N", ge=0)
    suffix: str = setting(".letor", "suffix of the files, which names their format", metavar=".EXT")


@verb(Split)
def split(given: Split) -> None:
    """Draw parts or folds of the lists; every list is whole in one part.

    \b
    rerank split all.letor --part train=0.8 --part dev=0.1 --part test=0.1 --out parts
    """
    from rerank.formats import convert
    from rerank.formats.sources import size_of

    for name, lists in convert.split(given.data, given.part, **given.others("data", "part")).items():
        inform(f"{os.path.join(given.out, name + given.suffix)}: {size_of(lists)}")


class Label(FromComparisons, Writes, Jobs, Verb):
    """Options of ``rerank label``."""

    reads: ClassVar = True

    data: str = setting(..., "lists to label; - is standard input", argument=True, metavar="DATA")
    metric: tuple[str, ...] = setting(
        (),
        "metrics: sBLEU, WER, TER, chrF, PARSEVAL.score, GDT-TS ... Repeatable: the first makes the labels",
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    out: str | None = setting(  # type: ignore[assignment]  # it may be left out
        None, "lists to write; - is standard output [print values]", flags=("--out", "-o"), metavar="OUT"
    )
    per_item: str | None = setting(
        None, "write every metric of each item (TSV); - is standard output", metavar="FILE", group=OUTPUTS
    )


@verb(Label)
def label(given: Label) -> None:
    """Make labels from references, gold trees, native structures or comparisons.

    Error rates are negated in labels, not in tables of values. Lists without a native are unjudged.

    \b
    rerank label dev.nbest --refs dev.ref --metric sBLEU --out dev.store
    rerank label dev.parses --metric PARSEVAL.score --out dev.store
    rerank label models/T0953 --native T0953.pdb -m GDT-TS -m TM --per-item values.tsv --out T0953.store
    rerank label lists.jsonl --from-comparisons preferences.tsv --out labelled.jsonl
    """
    from rerank.metrics.labelling import label_file  # from the package it would load every metric

    if not by_comparisons(given):
        per_item = "-" if given.out is None and given.per_item is None else given.per_item
        inform(label_file(per_item=per_item, **given.others("per_item", *FromComparisons.settings)))
