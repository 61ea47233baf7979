"""Lint the English of pages, messages and docstrings, as ``make lint`` does.

Pages are README, CHANGELOG, the manual and .github. A sentence has at most 30 words, a paragraph at most 120,
and a cell of a table in the README at most 15. Pages and the package's sources have none of the phrases of
``PHRASES``, each of which has a plainer one. Docstrings begin with a verb or a noun.

Vale could check pages with a style of our own, but its package fetches a binary when it first runs, and it
does not read docstrings. Proselint knows clichés of essays, and no lengths.

    python scripts/lint_prose.py [--pages] [--counts] [FILE...]
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_WORDS, MOST_IN_PARAGRAPH, MOST_IN_CELL = 30, 120, 15
PAGES = (
    *("README.md", "CHANGELOG.md", ".github/*.md"),
    *("rerank/docs/**/*.md", "rerank/extensions/*/*.md"),
)
# A phrase, and what to write.
PHRASES = {
    "in place of": "instead of",
    **dict.fromkeys(("take the place of", "takes the place of"), "replace"),
    "anew": "again",
    "meanwhile": "since, or in the meantime",
    "all the same": "still",
    "in vain": "without effect",
    "goes on": "continues",
    "but for": "except for, or up to",
    **dict.fromkeys(("is told", "are told"), "is reported"),
    "parted by": "separated by",
    **dict.fromkeys(("give up", "gives up"), "stop, or release"),
    "the least": "the smallest",
    "of the drawing": "random seed",
    **dict.fromkeys(("strength of a penalty", "strength of the penalty"), "regularisation"),
    "that is none": "that is not",
    "cheats": "oracle",
    "of what kind": "kind of",
    "whether nothing": "if nothing",
    **dict.fromkeys(("the answer is no", "the answer is yes"), "check failed, or passed"),
    "means nothing": "has no effect",
    "wrong use": "wrong usage",
}
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
_PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b(?! squares| common)", re.IGNORECASE)
_NO_NOUN = re.compile(
    r"(?:What|Whether|How|Why|Where|Which|Who|Of)\b|(?:By|In place of|With|For|From|To) (?:what|which|whom)\b"
)
_NO_DOCSTRING = re.compile(rf'"""\s*(?:{_NO_NOUN.pattern})')
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,]*")


@dataclass(frozen=True)
class Block:
    """A paragraph, an item of a list, or a cell of a table, with the line that it begins on."""

    line: int
    text: str
    is_cell: bool = False


@dataclass(frozen=True)
class Finding:
    """A fault in a line of a file: the rule and the words."""

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


def phrase_findings(path: Path, text: str) -> Iterator[Finding]:
    """Yield phrases of a page, or of the comments and strings of a source, that have a plainer one."""
    lower = text.lower()
    if any(phrase in lower for phrase in PHRASES):  # most files have none, and this takes no time
        for number, line in _prose(path, text):
            for found in _PHRASE.finditer(line):
                yield Finding(path, number, f"write {PHRASES[found[0].lower()]!r}", found[0])


def _prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; of Python only strings and comments."""
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield from enumerate(token.string.splitlines(), token.start[0])


def docstring_findings(path: Path, text: str) -> Iterator[Finding]:
    """Yield docstrings that begin with a question."""
    if not _NO_DOCSTRING.search(text):
        return  # in a tenth of the time
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            if _NO_NOUN.match(summary):
                yield Finding(path, node.body[0].lineno, "docstring without a verb or a noun first", summary)


def lint(paths: list[Path]) -> list[Finding]:
    """Return what is wrong with some pages and sources."""
    found: list[Finding] = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        found += page_findings(path, text) if path.suffix == ".md" else docstring_findings(path, text)
        found += phrase_findings(path, text)
    return found


def pages() -> list[Path]:
    """Return the pages of the repository."""
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def sources() -> list[Path]:
    """Return the sources of the package, except the registries' index, which is made."""
    return sorted(path for path in ROOT.glob("rerank/**/*.py") if path.name != "index.py")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 if something is wrong."""
    parser = argparse.ArgumentParser("lint_prose", description="Lint the English of pages and sources.")
    parser.add_argument("files", nargs="*", type=Path, help="pages and sources [all of the repository]")
    parser.add_argument("--pages", action="store_true", help="look at the lengths of pages alone")
    parser.add_argument("--counts", action="store_true", help="print the words and the findings of each file")
    asked = parser.parse_args(arguments)
    paths = [path.resolve() for path in asked.files] or (pages() if asked.pages else [*pages(), *sources()])
    found = [one for one in lint(paths) if not asked.pages or one.rule.endswith("words")]
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
