"""Lint the English of the pages; ``make lint`` runs it.

Pages are README, CHANGELOG, the manual and .github. A sentence has at most 30 words, a paragraph at most 120,
and a cell of a table in the README at most 15.

Vale could check this with a style of our own, but its package fetches a binary when it first runs. Proselint
knows clichés of essays, and no lengths.

    python scripts/lint_prose.py [--counts] [FILE...]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_WORDS, MOST_IN_PARAGRAPH, MOST_IN_CELL = 30, 120, 15
PAGES = (
    *("README.md", "CHANGELOG.md", ".github/*.md"),
    *("rerank/docs/**/*.md", "rerank/extensions/*/*.md"),
)
ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^ *(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
# Code, links, formulae in brackets and intervals are one word each.
_ONE_WORD = (
    (re.compile(r"``[^`]+``|`[^`\n]*`"), " Code "),
    (re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"\[[-+.,\d ±%]+\]"), " Interval "),
    (re.compile(r"<https?:[^>]*>|https?:\S+"), "Link"),
    (re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|no|Fig|Eq|Sect|approx|Dr|St)\. "), "Short "),
)
_END = re.compile(r"[.!?][\"')*]*\s+(?=[\"'(*\[]*[A-Z0-9])")
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,]*")


@dataclass(frozen=True)
class Block:
    """A paragraph, an item of a list, or a cell of a table, with the line that it begins on."""

    line: int
    text: str
    is_cell: bool = False


@dataclass(frozen=True)
class Finding:
    """What is wrong with a line of a file: a rule and the words."""

    path: Path
    line: int
    rule: str
    words: str

    def __str__(self) -> str:
        """Return the finding as compilers print theirs."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.words}"


def blocks(text: str) -> Iterator[Block]:
    """Yield what a Markdown page says, without code, HTML and headings."""
    held: list[str] = []
    begin, fence = 0, ""

    def flushed() -> Iterator[Block]:
        if held:
            yield Block(begin, " ".join(held))
            held.clear()

    for number, line in enumerate(text.splitlines(), 1):
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1] == fence):
            fence = "" if fence else opened[1]
            yield from flushed()
        elif fence:
            continue
        elif line.lstrip().startswith("|"):
            yield from flushed()
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            yield from (Block(number, cell.strip(), is_cell=True) for cell in cells if cell.strip(" :-"))
        elif not line.strip() or line.startswith(("#", "<", "!--")) or (not held and line.startswith("    ")):
            yield from flushed()
        else:
            if _ITEM.match(line):
                yield from flushed()
            if not held:
                begin = number
            held.append(_ITEM.sub("", line.strip()))
    yield from flushed()


def plain(text: str) -> str:
    """Return a text in which code, links and intervals are one word each."""
    for pattern, word in _ONE_WORD:
        text = pattern.sub(word, text)
    return text


def sentences(text: str) -> list[str]:
    """Return the sentences of a block; a semicolon ends none."""
    return [part for part in _END.split(plain(text)) if part.strip()]


def n_words(text: str) -> int:
    """Return the number of words and numbers of a text without markup."""
    return len(_WORD.findall(text))


def page_findings(path: Path, text: str) -> Iterator[Finding]:
    """Yield sentences, paragraphs and cells that are too long."""
    for block in blocks(text):
        for sentence in sentences(block.text):
            if (n := n_words(sentence)) > MOST_WORDS:
                yield Finding(path, block.line, f"sentence of {n} words", sentence.strip())
        n = n_words(plain(block.text))
        if block.is_cell and path.name == "README.md" and n > MOST_IN_CELL:
            yield Finding(path, block.line, f"cell of {n} words", block.text)
        if not block.is_cell and n > MOST_IN_PARAGRAPH:
            yield Finding(path, block.line, f"paragraph of {n} words", block.text[:60])


def lint(paths: list[Path]) -> list[Finding]:
    """Return what is wrong with some pages."""
    return [finding for path in paths for finding in page_findings(path, path.read_text(encoding="utf-8"))]


def pages() -> list[Path]:
    """Return the pages of the repository."""
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 if something is wrong."""
    parser = argparse.ArgumentParser("lint_prose", description="Lint the English of the pages.")
    parser.add_argument("files", nargs="*", type=Path, help="pages [all of the repository]")
    parser.add_argument("--counts", action="store_true", help="print the words and the findings of each page")
    asked = parser.parse_args(arguments)
    paths = [path.resolve() for path in asked.files] or pages()
    found = lint(paths)
    if asked.counts:
        counted = Counter(finding.path for finding in found)
        for path in paths:
            words = len(path.read_text(encoding="utf-8").split())
            print(f"{words:7,} words {counted[path]:4} findings  {path.relative_to(ROOT)}")
    else:
        print("".join(f"{finding}\n" for finding in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
