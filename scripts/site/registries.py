"""Pages of the site's reference, made from registries and docstrings: no setting is written down twice."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import rerank
from rerank.cli.listings import HEADS
from rerank.core.settings import Settings, describe
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES

MOST_PAGES = 4  # of the manual, that an entry links to


def pages(manual: Mapping[str, str]) -> dict[str, str]:
    """Return the reference: the text of each page by its path in the site.

    Parameters
    ----------
    manual : the text of each page of the manual by its path, such as "docs/linear.md".
    """
    found = {}
    for title, make, names in (
        ("learners", learner_page, LEARNERS.names()),
        ("metrics", metric_page, FAMILIES.names()),
        ("formats", format_page, FORMATS.names()),
    ):
        for name in names:
            found[f"reference/{title}/{file_name(name)}"] = make(name) + _seen_in(name, manual)
    found |= api_pages()
    found["reference/index.md"] = index_page(found)
    return found


def file_name(name: str) -> str:
    """Return the file of an entry: metrics may end with a full stop."""
    return f"{name.rstrip('.')}.md"


def learner_page(name: str) -> str:
    """Return what a learner optimises, how to call it, its settings and their defaults."""
    kind = LEARNERS.get(name)
    scaling = "needs none" if kind.scale_invariant else kind.default_scaling
    facts = [
        ("what", kind.summary),
        ("source", kind.source),
        ("other names", ", ".join(LEARNERS.aliases(name))),
        ("scaling of features", scaling),
    ]
    command = f"```sh\nrerank train --data train.txt --dev dev.txt --learner {name} --out model\n```\n"
    return (
        f"# {name}\n\n{_facts(facts)}\n{command}\n{_docstring(kind)}\n\n## Settings\n\n"
        f"Give them by `--set KEY=VALUE`, in YAML, or as keywords of `rerank.train`.\n\n{_settings(kind)}"
    )


def metric_page(name: str) -> str:
    """Return what a metric measures, its direction, source, needs and parameters."""
    kind = FAMILIES.get(name)
    better = "lower is better" if kind.better < 0 else "larger is better"
    facts = [
        ("what", kind.summary),
        ("meaning", kind.meaning),
        ("better", "as for the metric after the prefix" if "inner" in kind.settings else better),
        ("source", kind.source),
        ("elsewhere", kind.elsewhere),
        ("needs", ", ".join(kind.needs)),
        ("other names", ", ".join(FAMILIES.aliases(name))),
        ("examples", " ".join(f"`{example}`" for example in kind.examples)),
    ]
    command = f"```sh\nrerank eval data.txt scores.txt -m '{kind.examples[0]}'\n```\n"
    return f"# {name}\n\n{_facts(facts)}\n{command}\n## Parameters\n\n{_settings(kind)}"


def format_page(name: str) -> str:
    """Return what a format holds, the suffixes that it is known by, and how it is read."""
    kind = FORMATS.get(name)
    facts = [
        ("what", kind.summary),
        ("suffixes", " ".join(f"`{suffix}`" for suffix in kind.suffixes)),
        ("other names", ", ".join(FORMATS.aliases(name))),
    ]
    command = f"```sh\nrerank validate FILE --format {name}\n```\n"
    return f"# {name}\n\n{_facts(facts)}\n{command}\n{_docstring(kind)}\n"


def api_pages() -> dict[str, str]:
    """Return a page for each part of the package, with the public names that it defines."""
    parts: dict[str, list[str]] = defaultdict(list)
    for name in rerank.__all__:  # type: ignore[attr-defined]  # made from __init__.pyi
        thing = getattr(rerank, name)
        if callable(thing):
            path = thing.__module__.split(".")
            parts[path[2] if path[1] == "extensions" else path[1]].append(
                f"{thing.__module__}.{thing.__qualname__}"
            )
    return {
        f"reference/python/{part}.md": f"# Python: {part}\n\n"
        "Names of `import rerank`.\n\n" + "\n".join(f"::: {path}\n" for path in sorted(paths, key=_last))
        for part, paths in sorted(parts.items())
    }


def index_page(found: Iterable[str]) -> str:
    """Return the tables of all learners, metrics, formats and functions, with links."""
    kinds: dict[str, tuple[list[str], Callable[[str], str]]] = {
        "learners": (LEARNERS.names(), lambda name: LEARNERS.get(name).summary),
        "metrics": (FAMILIES.names(), lambda name: FAMILIES.get(name).summary),
        "formats": (FORMATS.names(), lambda name: FORMATS.get(name).summary),
    }
    text = "# Reference\n\nEvery learner, metric, format and public function, made from the code.\n"
    for title, (names, summary) in kinds.items():
        rows = [(f"[{name}]({title}/{file_name(name)})", summary(name)) for name in names]
        text += f"\n## {title.capitalize()}\n\n{_table(('name', 'what'), rows)}"
    text += "\n## Python\n\n"
    text += "".join(
        f"- [{Path(path).stem}]({path.removeprefix('reference/')})\n" for path in found if "/python/" in path
    )
    return text


def _last(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _settings(kind: type[Settings]) -> str:
    rows = [
        (f"`{name}`", f"`{type_}`", f"`{default}`", meaning)
        for name, type_, default, meaning in describe(kind)
    ]
    return _table(HEADS, rows) if rows else "None.\n"


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return the first fact as a sentence, the others as a list."""
    (_, what), *others = [(name, " ".join(fact.split())) for name, fact in rows if fact]
    return f"{_text(what[:1].upper() + what[1:])}.\n\n" + "".join(
        f"- {name}: {_text(fact)}\n" for name, fact in others
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(map(_cell, heads))
    lines = [head, ["---"] * len(head), *(map(_cell, row) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    """Escape what would end a cell or begin a tag; code and links stay as they are."""
    pieces = re.split(r"(`[^`]*`|\[\w[^]]*\]\([^)]*\.md\))", " ".join(text.split()))
    return "".join(piece if i % 2 else _escaped(piece) for i, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return re.sub(r"([<*_\[\]|])", r"\\\1", text)


def _docstring(kind: type) -> str:
    """Return a docstring as Markdown: the titles of its sections are in bold."""
    text = textwrap.dedent("    " + (kind.__doc__ or "").strip()).replace("``", "`").rstrip()
    main, _, references = text.partition("References\n----------\n")
    main = re.sub(r"^(\w+)\n-+$", r"**\1**\n", main.rstrip(), flags=re.M)
    paragraphs = [
        paragraph if paragraph.startswith("    ") else _text(paragraph) for paragraph in main.split("\n\n")
    ]
    if references:
        paragraphs.append("**References**\n\n" + _text(references))
    return "\n\n".join(paragraphs)


def _text(paragraph: str) -> str:
    pieces = re.split("(`[^`]*`)", paragraph)
    return "".join(piece if piece[:1] == "`" else re.sub(r"([<*\[\]])", r"\\\1", piece) for piece in pieces)


def _seen_in(name: str, manual: Mapping[str, str]) -> str:
    """Return links to the pages of the manual that name an entry.

    Those with a heading of it come first, then those that begin a line or an item with it. Results come last.
    """
    code = re.compile(rf"`{re.escape(name)}(@\w+)?`")
    heading = re.compile(rf"^#+ .*(?<![\w-]){re.escape(name)}(?![\w-])", re.M)
    subject = re.compile(rf"^(?:- )?\*{{0,2}}`?{re.escape(name)}`?\*{{0,2}}:? \w", re.M)
    ranked = []
    for path, text in manual.items():
        count = len(code.findall(text)) + 100 * bool(heading.search(text)) + 80 * bool(subject.search(text))
        if count:
            is_result = "/results/" in path or "reproducing" in path
            title = text.partition("\n")[0].removeprefix("# ")
            ranked.append((is_result, -count, f"- [{title}](../../{path})\n"))
    links = "".join(link for *_, link in sorted(ranked)[:MOST_PAGES])
    return f"\n## In the manual\n\n{links}" if links else ""
