"""``rerank list`` and ``rerank help``: what there is to choose from, and the manual.

The pages of the manual are Markdown files in rerank/docs and in the folders of the extensions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rerank.cli.frame import Output, Verb, verb, write
from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.settings import setting

KINDS = ("learners", "metrics", "formats", "scalings", "kernels")


def pages() -> dict[str, str]:
    """Return the text of every page of the manual by topic, sorted; a page begins with "# Title"."""
    return {name: path.read_text(encoding="utf-8") for name, path in paths().items()}


def paths() -> dict[str, Path]:
    """Return the files of the manual by topic, sorted."""
    package = Path(__file__).parent.parent
    files = (*package.glob("docs/**/*.md"), *package.glob("extensions/*/*.md"))
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


class Help(Verb):
    """Options of ``rerank help``."""

    topic: tuple[str, ...] = setting((), "a page, a verb, or a word to find", argument=True, metavar="TOPIC")


@verb(Help)
def help_(given: Help) -> None:
    """Read the manual; without a TOPIC, list its pages.

    A verb prints its help. Part of a page's name is enough; other words list the sections that have them.

    \b
    rerank help tutorial
    rerank help features text
    rerank help bootstrap
    """
    manual, typed = pages(), " ".join(given.topic)
    width = max(map(len, manual))
    if not typed:
        for name, page in manual.items():
            print(f"{name:{width}}  {page.split(chr(10), 3)[2]}")
        return
    found = [typed] if typed in manual else [name for name in manual if typed.lower() in name]
    if len(found) != 1:
        lines: list[str] = []
        for name, page in manual.items():
            parts = [part for part in re.split("^#+ ", page, flags=re.M) if typed.lower() in part.lower()]
            lines += [f"{name:{width}}  {part.partition(chr(10))[0]}" for part in parts]
        if not lines:
            raise ConfigError(f"no help on {typed!r}; {did_you_mean(typed, manual)}")
        print(*lines, sep="\n")
        return
    page = manual[found[0]]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        from rerank.core.files.write import unescaped

        Console(file=unescaped(sys.stdout)).print(Markdown(page))
    else:
        print(page, end="")


class List(Output, Verb):
    """Options of ``rerank list``."""

    kind: str = setting(..., "kind of component to list", argument=True, metavar="|".join(KINDS))
    name: str | None = setting(
        None, "one learner, metric or kernel: its settings, defaults, meanings", argument=True, metavar="NAME"
    )


@verb(List)
def list_(given: List) -> None:
    """List learners, metrics, formats, scalings or kernels; with a name, the settings of one.

    \b
    rerank list learners perceptron
    rerank list metrics nDCG
    """
    from rerank.cli import listings

    if given.kind not in KINDS:
        raise ConfigError(f"unknown kind {given.kind!r}; {did_you_mean(given.kind, KINDS)}")
    if given.name is None:
        table = listings.LISTINGS[given.kind]()
        lines = listings.lines_of(table)
    elif given.kind in listings.DETAILS:
        lines, table = listings.details(given.kind, given.name)
    else:
        raise ConfigError(f"'rerank list {given.kind}' takes no name")
    write(given.as_, lambda: lines, lambda: list(table.records()), lambda: [table], out=given.out)
