"""``rerank features parse``: features of parse trees, chosen on a training set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rerank.cli.common import say, verb
from rerank.cli.options import Reading, reads


@verb
@reads
def parse(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Parses on which features are chosen.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the stores.")],
    apply: Annotated[
        list[str] | None,
        typer.Option("--apply", "-a", metavar="FILE", help="Further parses; repeat for more."),
    ] = None,
    cutoff: Annotated[
        int, typer.Option("--cutoff", metavar="N", help="Lists of TRAIN in whose parses a feature occurs.")
    ] = 5,
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="NAMES", help="Only features of these types."),
    ] = None,
    values: Annotated[
        str, typer.Option("--values", metavar="indicators|counts", help="What a feature's value is.")
    ] = "indicators",
    heads: Annotated[
        str | None, typer.Option("--heads", metavar="FILE", help="Head table; else Collins'.")
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
        typer.Option("--left-out", metavar="TAGS", help="Tags whose words are left out [. `` '']."),
    ] = None,
    keep_trees: Annotated[
        bool, typer.Option("--keep-trees", help="Keep trees and texts in the stores.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Leave out what was read as features, the log probability.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; 0 = one a core.")] = 1,
    *,
    reading: Reading,
) -> None:
    """Make the tree features of Collins & Koo (2005): DIR/NAME.store for each file, and DIR/features.json.

    NAMES and TAGS are separated by blanks, '' is none. With gold trees, labels are the paper's Score.
    Types: rule bigram grandparent-rule grandparent-bigram lexical-bigram two-level-rule two-level-bigram
    trigram head-modifier pp distance, and lexicalised, the second pass.

    \b
    rerank features parse train.nbest --apply dev.nbest --apply test.nbest --out parses
    """
    from rerank import parallel
    from rerank.data.store import check_place, placed_together, write_store
    from rerank.experiment import derive
    from rerank.features.heads import default_heads, read_heads
    from rerank.features.parse import ParseSettings
    from rerank.files import os_error, write_lines
    from rerank.report import record, tree_features
    from rerank.text import count

    given = {"types": types, "closed_class": closed_class, "left_out": left_out}
    words = {name: tuple(text.split()) for name, text in given.items() if text is not None}
    table = default_heads() if heads is None else read_heads(heads)
    settings = ParseSettings.checked({"cutoff": cutoff, "values": values, "heads": table, **words}, "parse")
    stores = stores_of([train, *(apply or [])], out)
    for path, store in stores.items():
        if path != "-" and not os.path.exists(path):
            raise os_error(path, FileNotFoundError())
        check_place(store)
    sets: list[dict[str, Any]] = []
    said: list[str] = []
    with parallel.using(jobs), placed_together(out) as stage:
        for made in derive.with_parse_features(
            list(stores), reading.load, settings, keep_trees=keep_trees, alone=alone
        ):
            lists, store = made.lists, stores[made.path]
            name = os.path.basename(store)
            write_store(lists, os.path.join(stage, name))
            sets.append({"path": made.path, "store": name, **tree_features.set_record(lists)})
            sets[-1] |= {"known": made.known, "unknown": made.unknown}
            share = 100 * made.unknown / max(1, made.known + made.unknown)
            size = f"{count(lists.n_lists, 'list')}, {count(lists.n_items, 'item')}"
            said.append(
                f"{store}: {size}, {lists.features.n_values} values; {share:.0f}% of features not chosen"
            )
            chosen = made.chosen
            del made, lists
        text = record.to_json(tree_features.record_of(chosen, sets))
        write_lines(os.path.join(stage, "features.json"), text.splitlines())
    print("\n".join(tree_features.type_lines(chosen)))
    for line in said:
        say(line)


def stores_of(paths: Sequence[str], folder: str) -> dict[str, str]:
    """The store of each file, named as it is without its last suffix; ConfigError where two are the same."""
    from rerank.errors import ConfigError
    from rerank.files import COMPRESSED_SUFFIXES

    stores: dict[str, str] = {}
    for path in paths:
        name = "stdin" if path == "-" else Path(path).name
        stem, suffix = os.path.splitext(name)
        if suffix.lower() in COMPRESSED_SUFFIXES:
            stem = os.path.splitext(stem)[0]
        store = os.path.join(folder, f"{stem}.store")
        if store in stores.values():
            other = next(p for p, s in stores.items() if s == store)
            raise ConfigError(
                f"{other} and {path} would both be written to {store}: give them different names"
            )
        stores[path] = store
    return stores
