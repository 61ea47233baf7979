"""The command line: thin verbs over rerank.experiment."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Entry point of ``rerank``; exits 0 done, 1 no, 2 wrong use or input, 130 Ctrl-C, 141 closed pipe."""
    try:
        from rerank.cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
