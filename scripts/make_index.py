#!/usr/bin/env python3
"""Write rerank/core/index.py: where the entries of each registry are, so that one can be imported alone.

With --check nothing is written: the exit code is 1 if the file is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rerank.core import index as made

made.INDEX.clear()  # what it says may be out of date

from rerank.core.registry import Registry  # noqa: E402
from rerank.data.scaling import SCALINGS  # noqa: E402
from rerank.formats.base import FORMATS  # noqa: E402
from rerank.formats.weights import WEIGHTS  # noqa: E402
from rerank.learners.base import LEARNERS  # noqa: E402
from rerank.metrics.base import FAMILIES  # noqa: E402
from rerank.metrics.judging import SETS  # noqa: E402
from rerank.metrics.signatures import NORMALISERS  # noqa: E402
from rerank.models.base import CALIBRATIONS, MODELS  # noqa: E402
from rerank.models.exchange.base import EXCHANGE  # noqa: E402
from rerank.models.feature_sources import SOURCES  # noqa: E402
from rerank.similarity.base import ITEM_KERNELS, KERNELS  # noqa: E402
from rerank.training.steps import STEPS  # noqa: E402

_OF_LISTS = (KERNELS, ITEM_KERNELS)
REGISTRIES: tuple[Registry[Any], ...] = (
    FORMATS,
    WEIGHTS,
    LEARNERS,
    FAMILIES,
    NORMALISERS,
    MODELS,
    EXCHANGE,
    CALIBRATIONS,
    SOURCES,
    *_OF_LISTS,
    STEPS,
)
PATH = Path(made.__file__)
HEAD = '''"""Places of the entries of the registries; made by ``make index``, and not edited by hand.

Kind of registry -> name -> module, other names, facts (see ``rerank.core.registry``).
"""

# fmt: off
# ruff: noqa: E501

from __future__ import annotations

INDEX: dict[str, dict[str, tuple[str, tuple[str, ...], tuple[object, ...]]]] = '''


def index() -> str:
    """Return the text of the file."""
    found = {
        registry.kind: {
            name: (
                entry.__module__,
                tuple(registry.aliases(name)),
                tuple(getattr(entry, fact) for fact in registry.facts),
            )
            for name, entry in registry.entries().items()
        }
        for registry in REGISTRIES
    }
    lines = [HEAD + "{"]
    for kind, entries in found.items():
        own = [f"        {name!r}: {entry!r}," for name, entry in entries.items()]
        own[0] = f'    "{kind}": {{ {own[0].lstrip()}'
        lines += [*own[:-1], own[-1] + " },"]
    # Not classes of a registry, but names to choose from.
    named = {"scaling": (("auto", *SCALINGS), "rerank.data.scaling")}
    named["preset of metrics"] = tuple(SETS), "rerank.metrics.judging"
    for kind, (names, module) in named.items():
        lines.append(f'    "{kind}": dict.fromkeys({names!r}, ({module!r}, (), ())),')
    return "\n".join([*lines, "}", ""])


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it is out of date")
    check = parser.parse_args().check
    text = index()
    if PATH.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{PATH.name} is out of date: run 'make index'", file=sys.stderr)
        return 1
    new = PATH.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(PATH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
