"""Hooks of mkdocs: which files are pages, pages that are made by each build, the navigation."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import registries  # noqa: E402 - it is beside this file

LESS_SOUGHT = (
    "reference/",
    "docs/results/",
    "docs/reproducing",
    "docs/architecture",
    "changelog",
    "contributing",
)
KEPT = "models/exchange/schema.json"  # the only file that pages link to


def on_files(files: Files, config: Any) -> Files:
    """Keep the pages of the manual, and add the others."""
    for file in [one for one in files if one.src_dir == config.docs_dir]:  # others are of the theme
        if file.src_uri.startswith(("native/", "report/")) or not file.src_uri.endswith((".md", KEPT)):
            files.remove(file)
    manual = {file.src_uri: file.content_string for file in files if file.src_uri.endswith(".md")}
    made = {
        "index.md": f"---\nhide: [navigation]\n---\n\n{from_root('README.md')}",
        "changelog.md": from_root("CHANGELOG.md"),
        "contributing.md": from_root(".github/CONTRIBUTING.md"),
        **registries.pages(manual),
    }
    for path in sorted((HERE / "notebooks").glob("*.ipynb")):
        # In a process of its own: what a notebook registers is no part of the reference.
        command = [sys.executable, str(HERE / "notebooks.py"), str(path)]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        made[f"notebooks/{path.stem}.md"] = run.stdout
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    for name in ("iframe-worker.js", "site.css"):
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(HERE / name)))
    files.append(File.generated(config, "spelling.svg", abs_src_path=str(ROOT / ".github" / "spelling.svg")))
    config.nav = expanded(config.nav, [file.src_uri for file in files if file.src_uri.endswith(".md")])
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let searches find the manual before tables of results."""
    if page.file.src_uri.startswith(LESS_SOUGHT):
        page.meta["search"] = {"boost": 0.3}
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Mark the cells of tables that hold numbers, which are not wrapped."""
    return re.sub(r"<td>(?=[^<]*\d)([^<A-Za-z]{1,40})</td>", r'<td class="number">\1</td>', html)


def from_root(name: str) -> str:
    """Return a page of the repository's root, with links as they are in the site."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\((\.\./)?rerank/", "](", text)
    text = re.sub(r"\]\((\.github/)?CONTRIBUTING\.md", "](contributing.md", text)
    return text.replace("](.github/", "](").replace("](CHANGELOG.md", "](changelog.md")


def expanded(nav: list[Any], pages: list[str]) -> list[Any]:
    """Return the navigation; a pattern becomes the pages that match it and that no other entry names."""
    named = set(_names(nav))

    def of(entry: Any) -> list[Any]:
        if isinstance(entry, dict):
            return [{title: [one for part in parts for one in of(part)]} for title, parts in entry.items()]
        if "*" not in entry:
            return [entry]
        found = sorted(page for page in pages if fnmatch.fnmatch(page, entry) and page not in named)
        named.update(found)
        return list(found)

    return [one for entry in nav for one in of(entry)]


def _names(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [name for part in (nav.values() if isinstance(nav, dict) else nav) for name in _names(part)]
