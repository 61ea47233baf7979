"""Write manual pages and completions of the shells, which a wheel carries: what ``make man`` runs.

    python scripts/packaging/man_pages.py build/share

One page for ``rerank`` and one for each verb, from the same parsers as ``--help``; completions for bash, zsh
and fish are those of ``--install-completion``. The same release gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rerank._version import __version__
from rerank.cli.app import command
from rerank.cli.frame import COMPLETING


def roff(text: str) -> str:
    """Text in which roff finds no request and no escape; options keep their hyphens."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


class Page:
    """A formatter of help that writes roff: what the parsers ask of theirs."""

    width = 100_000  # roff breaks the lines

    def __init__(self, name: str, summary: str) -> None:
        self._lines = [
            f'.TH {roff(name.upper())} 1 "" "rerank {__version__}" "User Commands"',
            ".SH NAME",
            f"{roff(name)} \\- {roff(summary)}",
        ]

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis; the description follows."""
        self._lines += [".SH SYNOPSIS", f"\\fB{roff(prog)}\\fR {roff(args)}", ".SH DESCRIPTION"]

    def write_paragraph(self) -> None:
        """Begin a paragraph: texts do."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; those behind a line of \\b keep their lines."""
        for part in text.split("\n\n"):
            kept = part.startswith("\b")
            body = roff(part.lstrip("\b\n"))
            self._lines += [".PP", *([".nf", body, ".fi"] if kept else [body])]

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write options or verbs with what they are."""
        for name, text in rows:
            self._lines += [".TP", f"\\fB{roff(name)}\\fR", roff(text) or "\\&"]

    def write(self, text: str) -> None:
        """Write text as it is."""
        self._lines.append(roff(text))

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a heading and what is written inside."""
        self._lines.append(f".SH {roff(name.upper())}")
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        """Write without one: roff indents."""
        yield

    def text(self) -> str:
        """The page."""
        return "\n".join(self._lines) + "\n"


def pages(parser: Any, name: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """Yield name and text of the page of a command, then of those below it."""
    context = parser.make_context(name, ["--help"], parent=parent, resilient_parsing=True)
    summary = parser.get_short_help_str(limit=100_000).removesuffix(".")
    full = context.command_path.replace(" ", "-")
    page = Page(full, summary)
    parser.format_help(context, page)
    yield full, page.text()
    for verb in getattr(parser, "commands", ()):
        yield from pages(parser.commands[verb], verb, context)


def completions() -> Iterator[tuple[str, str]]:
    """Yield path and text of the completion of each shell."""
    from typer._completion_shared import get_completion_script

    places = {
        "bash": "bash-completion/completions/rerank",
        "zsh": "zsh/site-functions/_rerank",
        "fish": "fish/vendor_completions.d/rerank.fish",
    }
    for shell, place in places.items():
        text = get_completion_script(prog_name="rerank", complete_var=COMPLETING, shell=shell)
        if shell == "zsh":  # a file of this folder is the function that the first completion calls
            text += '\n_rerank_completion "$@"'
        yield place, f"{text}\n"


def main() -> None:
    """Write all files below a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    made = {f"man/man1/{name}.1": text for name, text in pages(command(), "rerank")} | dict(completions())
    for place, text in made.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    print(f"{len(made)} files in {folder}")


if __name__ == "__main__":
    main()
