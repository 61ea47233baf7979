"""The command line: thin verbs over rerank.experiment."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Entry point of ``rerank``; exits 0 done, 1 no, 2 wrong use or input, 130 Ctrl-C, 141 closed pipe."""
    _stand_in()
    # What goes through BLAS here is small: its waiting threads cost more than they do, and change last bits.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from rerank.cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _stand_in() -> None:
    """Stands in for streams that the caller closed: what is printed fails, what is said is lost."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:  # print(file=None) would put notes among the results
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
