"""``rerank help``: the manual, Markdown files in rerank/docs that are shipped with the package."""

from __future__ import annotations

import sys

from rerank.cli.frame import Verb, verb
from rerank.core.settings import setting


def pages() -> dict[str, str]:
    """Return the text of every page of the manual by topic, sorted; a page begins with "# Title"."""
    from importlib import resources

    files = (file for file in resources.files("rerank").joinpath("docs").iterdir())
    texts = {file.name: file.read_text(encoding="utf-8") for file in files if file.name.endswith(".md")}
    return {name.removesuffix(".md"): texts[name] for name in sorted(texts)}


class Help(Verb):
    """Options of ``rerank help``."""

    topic: str | None = setting(None, "a page", argument=True, metavar="TOPIC")


@verb(Help)
def help_(given: Help) -> None:
    """Read the manual; without a TOPIC, list its pages.

    \b
    rerank help tutorial
    """
    from rerank.core.errors import ConfigError
    from rerank.core.registry import did_you_mean

    manual = pages()
    if given.topic is None:
        width = max(map(len, manual))
        for name, text in manual.items():
            print(f"{name:{width}}  {text.split(chr(10), 3)[2]}")
        return
    if given.topic not in manual:
        raise ConfigError(f"no help on {given.topic!r}; {did_you_mean(given.topic, manual)}")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        from rerank.core.files.write import unescaped

        Console(file=unescaped(sys.stdout)).print(Markdown(manual[given.topic]))
    else:
        print(manual[given.topic], end="")
